// SPDX-License-Identifier: Apache-2.0
// The one way to the server: the session's cookie comes by itself, the CSRF token by us, and every failure is an
// ApiError with the server's code and sentence, or `offline` where there was no answer.
import { store } from './store.ts';
import { setClock } from './time.ts';
import type { Json } from './canon.ts';

/** A place in what was sent, and what is wrong there. */
export interface FieldError {
	path: string;
	message: string;
}

export class ApiError extends Error {
	constructor(readonly code: string, message: string, readonly status: number, readonly details: Json = null, readonly requestId = '', readonly fields: readonly FieldError[] = []) {
		super(message);
	}
}

export interface Me {
	id: string;
	name: string;
	email?: string;
	orgSlug: string;
	orgName: string;
	mayVote: boolean;
	csrfToken?: string;
	recoveredAt?: string; // for 30 days after `countersign recover`
}

/** undefined: not known yet; null: nobody is signed in. */
export const me = store<Me | null | undefined>(undefined);
/** A session was there and is over. */
export const sessionEnded = store(false);

function lose(): void {
	if (me.get()) sessionEnded.set(true);
	me.set(null);
}

async function read(response: Response): Promise<Json> {
	const text = await response.text();
	try {
		return text ? (JSON.parse(text) as Json) : null;
	} catch {
		throw new ApiError('bad_answer', '', response.status);
	}
}

function failure(response: Response, body: Json): ApiError {
	const said = (body ?? {}) as { code?: string; message?: string; details?: Json; fields?: FieldError[] };
	return new ApiError(said.code ?? 'bad_answer', said.message ?? '', response.status, said.details ?? null, response.headers.get('x-request-id') ?? '', said.fields ?? []);
}

/** The answer as it came, whatever it says. */
async function send(method: string, path: string, body?: object): Promise<Response> {
	const headers: Record<string, string> = { accept: 'application/json' };
	if (body) headers['content-type'] = 'application/json';
	if (method !== 'GET') headers['x-csrf-token'] = me.get()?.csrfToken ?? '';
	try {
		const response = await fetch(path, { method, headers, credentials: 'same-origin', ...(body ? { body: JSON.stringify(body) } : {}) });
		setClock(response.headers.get('date'));
		return response;
	} catch {
		throw new ApiError('offline', '', 0);
	}
}

async function refuse(response: Response, path: string): Promise<never> {
	const error = failure(response, await read(response));
	if (response.status === 401 && path !== '/api/v1/session') lose();
	throw error;
}

export async function ask<T>(method: string, path: string, body?: object): Promise<T> {
	const response = await send(method, path, body);
	return response.ok ? ((await read(response)) as T) : refuse(response, path);
}

/** A file of the server's, not JSON of its own. */
export async function askFile(path: string): Promise<Blob> {
	const response = await send('GET', path);
	return response.ok ? response.blob() : refuse(response, path);
}

export async function whoAmI(): Promise<void> {
	try {
		me.set(await ask<Me>('GET', '/api/v1/me'));
	} catch (error) {
		if (error instanceof ApiError && error.status === 401) me.set(null);
		else throw error;
	}
}

export async function signIn(email: string, password: string): Promise<void> {
	await ask('POST', '/api/v1/session', { email, password });
	sessionEnded.set(false);
	await whoAmI();
}

export async function signOut(): Promise<void> {
	await ask('DELETE', '/api/v1/session');
	me.set(null);
}
