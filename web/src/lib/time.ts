// SPDX-License-Identifier: Apache-2.0
// Time by the server's clock: a proposal runs out there, not here.
import { store } from './store.ts';

let ahead = 0; // how many milliseconds the server's clock is before ours

/** From each answer's Date header, which has whole seconds. */
export function setClock(date: string | null): void {
	const server = date ? Date.parse(date) : NaN;
	if (!Number.isNaN(server) && Math.abs(server - Date.now() - ahead) > 1500) ahead = server - Date.now();
}
export const serverNow = (): number => Date.now() + ahead;

/** Changes once a second: for what counts down. */
export const tick = store(serverNow());
setInterval(() => tick.set(serverNow()), 1000);

export const secondsLeft = (until: string, now: number): number => Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));

export function shortSpan(seconds: number): string {
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')}`;
	if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')}`;
	return `${Math.floor(seconds / 86400)} d`;
}

export const clockTime = (at: string | number, lang: string): string =>
	new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));
