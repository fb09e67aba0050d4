// SPDX-License-Identifier: Apache-2.0
// What happens, as it happens. One tab of a browser follows the server's events and tells the others: HTTP/1.1 lets a
// browser have six connections to a server, and a stream holds one. Where there is no stream everybody looks again
// every few seconds. Events are hints: whoever hears one asks for the truth.
import { ApiError, me, whoAmI, type Me } from './api.ts';
import { STATES } from './model.ts';
import { store } from './store.ts';

export type Connection = 'connecting' | 'live' | 'polling' | 'offline';
export const connection = store<Connection>('connecting');

/** type "resync": there may have been more than was heard. */
export interface News {
	type: string;
	id: string;
}

const LOOK_AGAIN_MS = 5000;
const listeners = new Set<(news: News) => void>();
export function onNews(listener: (news: News) => void): () => void {
	listeners.add(listener);
	return () => listeners.delete(listener);
}
const hear = (news: News): void => [...listeners].forEach((listener) => listener(news));

type Message = { news: News } | { connection: Connection } | { hello: true };
let channel: BroadcastChannel | undefined;
let stream: EventSource | undefined;
let leads = false;
let release: (() => void) | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

function become(state: Connection): void {
	connection.set(state);
	if (leads) channel?.postMessage({ connection: state } satisfies Message);
}
function tell(news: News): void {
	hear(news);
	channel?.postMessage({ news } satisfies Message);
}

/** Is it the way, the server, or the session? Says so, and hears what was missed. */
async function look(): Promise<void> {
	try {
		await whoAmI();
		if (!me.get()) return;
		if (connection.get() !== 'live') become('polling');
		tell({ type: 'resync', id: '' });
	} catch (error) {
		if (error instanceof ApiError) become('offline');
	}
}

function lost(): void {
	stream?.close();
	stream = undefined;
	if (connection.get() === 'live') connection.set('connecting');
	clearTimeout(timer);
	void look().then(() => {
		if (me.get() && leads) timer = setTimeout(follow, LOOK_AGAIN_MS);
	});
}

function follow(): void {
	clearTimeout(timer);
	stream?.close();
	const own = (stream = new EventSource('/api/v1/events'));
	own.onopen = () => {
		become('live');
		tell({ type: 'resync', id: '' }); // what happened before the stream began
	};
	own.onerror = lost;
	for (const type of [...STATES.map((state) => `proposal.${state}`), 'approval.decided'])
		own.addEventListener(type, (event) => tell({ type, id: String(JSON.parse((event as MessageEvent<string>).data).proposalId) }));
}

function listen(message: Message): void {
	if ('news' in message) hear(message.news);
	else if ('connection' in message) connection.set(message.connection);
	else if (leads) channel?.postMessage({ connection: connection.get() } satisfies Message);
}

function start(): void {
	channel = new BroadcastChannel('countersign');
	channel.onmessage = (event: MessageEvent<Message>) => listen(event.data);
	channel.postMessage({ hello: true } satisfies Message);
	void navigator.locks.request('countersign-events', () => {
		if (!me.get()) return undefined;
		leads = true;
		follow();
		return new Promise<void>((resolve) => (release = resolve));
	});
}

function stop(): void {
	clearTimeout(timer);
	stream?.close();
	stream = undefined;
	channel?.close();
	channel = undefined;
	leads = false;
	release?.();
	release = undefined;
	connection.set('connecting');
}

/** Follows while somebody is signed in. */
export function keepLive(): void {
	let before: Me | null | undefined;
	me.on(() => {
		const now = me.get();
		if (now && !before) start();
		if (!now && before) stop();
		before = now;
	});
	window.addEventListener('online', () => me.get() && (leads ? follow() : void look()));
	window.addEventListener('offline', () => connection.set('offline'));
}
