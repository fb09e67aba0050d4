// SPDX-License-Identifier: Apache-2.0
// What a page asks the server for when it opens, and again when it says so.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { ask } from './api.ts';
import { connection, onNews } from './live.ts';

export interface Answer<T> {
	data: T | null;
	error: unknown;
	again: () => Promise<void>;
	set: (data: T) => void; // what a change answered, which is the truth now
}

/** path null: not yet. What is there stays while it is asked for again. */
export function useAnswer<T>(path: string | null): Answer<T> {
	const [state, setState] = useState<{ path: string | null; data: T | null; error: unknown }>({ path, data: null, error: null });
	const asked = useRef(0);
	const again = useCallback(async () => {
		if (path === null) return;
		const mine = ++asked.current;
		const show = (data: T | null, error: unknown) => mine === asked.current && setState((was) => ({ path, data: data ?? (was.path === path ? was.data : null), error }));
		await ask<T>('GET', path).then((data) => show(data, null), (error: unknown) => show(null, error));
	}, [path]);
	useEffect(() => {
		void again();
		return () => void asked.current++;
	}, [again]);
	const set = useCallback((data: T) => {
		asked.current++;
		setState({ path, data, error: null });
	}, [path]);
	return state.path === path ? { ...state, again, set } : { data: null, error: null, again, set };
}

const LOOK_AGAIN_MS = 5000;

/** What no event tells of, asked for again every few seconds while somebody looks: another person, another server or the
 * system itself may have changed it. */
export function useLook<T>(path: string | null): Answer<T> {
	const answer = useAnswer<T>(path), { again } = answer;
	useEffect(() => {
		const timer = setInterval(() => document.visibilityState === 'visible' && connection.get() !== 'offline' && void again(), LOOK_AGAIN_MS);
		return () => clearInterval(timer);
	}, [again]);
	return answer;
}

/** Something was applied, or may have been: what stands here may be old. */
export function useFresh(again: () => void): void {
	useEffect(() => onNews(({ type }) => {
		if (type === 'proposal.applied' || type === 'resync') again();
	}), [again]);
}

const MOST_PAGES = 20;

/** All of a list that comes in pages (`items`, `next`). */
export async function everything<T>(path: string): Promise<T[]> {
	const all: T[] = [];
	let after = '';
	for (let page = 0; page < MOST_PAGES; page++) {
		const answer = await ask<{ items: T[]; next?: string }>('GET', `${path}?limit=200${after && `&after=${encodeURIComponent(after)}`}`);
		all.push(...answer.items);
		if (!answer.next) break;
		after = answer.next;
	}
	return all;
}
