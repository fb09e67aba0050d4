// SPDX-License-Identifier: Apache-2.0
// Names of people and agents: the log has ids only. Who may not list them sees the end of the id.
import { useEffect } from 'preact/hooks';

import { everything } from '../../lib/answer.ts';
import { people } from '../../lib/people.ts';
import { store, useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';

const agents = store<ReadonlyMap<string, string> | null>(null);

export interface Names {
	all: ReadonlyMap<string, string>;
	of: (id: string) => string;
	isAgent: (id: string) => boolean;
}

export function useNames(): Names {
	const persons = useStore(people), programs = useStore(agents);
	useEffect(() => {
		if (agents.get()) return;
		everything<{ id: string; name: string }>('/api/v1/agents').then((all) => agents.set(new Map(all.map(({ id, name }) => [id, visible(name, false)]))), () => agents.set(new Map()));
	}, []);
	const all = new Map([...persons, ...(programs ?? [])]);
	return { all, of: (id) => all.get(id) ?? `…${id.slice(-8)}`, isAgent: (id) => programs?.has(id) ?? false };
}
