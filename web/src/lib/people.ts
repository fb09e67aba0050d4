// SPDX-License-Identifier: Apache-2.0
// Names of people: a proposal says on whose behalf by id. Who may not list members sees the id.
import { ask } from './api.ts';
import { store } from './store.ts';
import { visible } from './visible.ts';

const PAGES = 5; // of 200: whoever is beyond is shown by id

export const people = store<ReadonlyMap<string, string>>(new Map());

export async function loadPeople(): Promise<void> {
	const names = new Map<string, string>();
	let after = '';
	try {
		for (let page = 0; page < PAGES; page++) {
			const answer = await ask<{ items: { id: string; name: string }[]; next?: string }>('GET', `/api/v1/members?limit=200${after && `&after=${encodeURIComponent(after)}`}`);
			for (const { id, name } of answer.items) names.set(id, visible(name, false));
			if (!answer.next) break;
			after = answer.next;
		}
	} catch {
		// not theirs to see: ids will do
	}
	people.set(names);
}

export const nameOf = (names: ReadonlyMap<string, string>, id: string): string => names.get(id) ?? `…${id.slice(-8)}`;
