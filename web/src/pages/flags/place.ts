// SPDX-License-Identifier: Apache-2.0
// Which project, and what its environments say of its things.
import { useCallback, useEffect, useState } from 'preact/hooks';

import { everything } from '../../lib/answer.ts';
import { ApiError, me } from '../../lib/api.ts';
import { words } from '../../words/words.ts';
import type { Environment, Item, Kind, Project } from './model.ts';

export interface Place {
	projects: readonly Project[];
	project: Project;
	environments: readonly Environment[];
}

/** What is asked for when a page opens, its failure, and a way to ask again. */
export function useLoad<T>(load: () => Promise<T>, when: readonly unknown[]): { data: T | null; error: unknown; again: () => void } {
	const [state, setState] = useState<{ data: T | null; error: unknown }>({ data: null, error: null });
	const [turn, setTurn] = useState(0);
	useEffect(() => {
		let mine = true;
		load().then((data) => mine && setState({ data, error: null }), (error: unknown) => mine && setState((was) => ({ ...was, error })));
		return () => {
			mine = false;
		};
	}, [turn, ...when]);
	return { ...state, again: useCallback(() => setTurn((n) => n + 1), []) };
}

/** key: of the project; without one, the first that has environments. */
export async function loadPlace(key: string | undefined): Promise<Place> {
	const projects = await everything<Project>(`/api/v1/orgs/${encodeURIComponent(me.get()?.orgSlug ?? '')}/projects`);
	const wanted = key === undefined ? projects : projects.filter((one) => one.key === key);
	for (const project of wanted) {
		const environments = await everything<Environment>(`/api/v1/projects/${project.id}/environments`);
		if (environments.length > 0 || project === wanted.at(-1)) return { projects, project, environments };
	}
	throw new ApiError('not_found', words().flags.noProject, 404);
}

export type Table = readonly { key: string; description: string; type?: string; in: readonly (Item | null)[] }[];

/** A row for each thing, a column for each environment. */
export async function loadTable(kind: Kind, environments: readonly Environment[]): Promise<Table> {
	const columns = await Promise.all(environments.map(({ id }) => everything<Item>(`/api/v1/envs/${id}/${kind}`)));
	const found = columns.map((items) => new Map(items.map((item) => [item.key, item])));
	const keys = [...new Set(columns.flat().map(({ key }) => key))].sort();
	return keys.map((key) => {
		const states = found.map((items) => items.get(key) ?? null), any = states.find((one) => one !== null)!;
		return { key, description: any.description, ...(any.type ? { type: any.type } : {}), in: states };
	});
}
