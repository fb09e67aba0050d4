// SPDX-License-Identifier: Apache-2.0
// What is asked of the log. It lives in the address: a question can be sent to somebody.
import { useEffect, useState } from 'preact/hooks';

import { go, pagePath } from '../../lib/route.ts';
import { useWords } from '../../words/words.ts';
import { ACTORS } from './model.ts';
import type { Names } from './names.ts';

export const FIELDS = ['actorType', 'actor', 'from', 'to', 'action', 'resource', 'proposal'] as const;
export type Filter = Record<(typeof FIELDS)[number], string>;

export function readFilter(search: string): Filter {
	const query = new URLSearchParams(search);
	return Object.fromEntries(FIELDS.map((name) => [name, query.get(name)?.trim() ?? ''])) as Filter;
}

export function showFilter(filter: Filter): void {
	const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
	go(pagePath('audit') + (query.size > 0 ? `?${query}` : ''), true);
}

export const isEmpty = (filter: Filter): boolean => FIELDS.every((name) => filter[name] === '');

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Midnight of a day here, in microseconds. */
const midnight = (day: string, later = 0): number | null => {
	const [y, m, d] = day.split('-').map(Number);
	const at = new Date(y!, m! - 1, d! + later).getTime();
	return Number.isNaN(at) ? null : at * 1000;
};

/** As the server is asked. */
export function question(filter: Filter): URLSearchParams {
	const query = new URLSearchParams();
	const put = (name: string, value: string | number | null) => value !== null && value !== '' && query.set(name, String(value));
	put('actorType', filter.actorType);
	put('actorId', filter.actor);
	put('action', filter.action);
	put('from', filter.from && midnight(filter.from));
	put('to', filter.to && midnight(filter.to, 1)); // the day itself is in it
	put(ID.test(filter.resource) ? 'resourceId' : 'resourceKey', filter.resource);
	put('proposalId', filter.proposal);
	return query;
}

/** What is being typed is the field's own until it is done: names and news that arrive meanwhile draw the page again. */
function Search({ label, hint, value, onDone }: { label: string; hint: string; value: string; onDone: (event: Event) => void }) {
	const [text, setText] = useState(value);
	useEffect(() => setText(value), [value]);
	return <label>{label}<input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} onChange={onDone} placeholder={hint} /></label>;
}

export function Filters({ filter, names }: { filter: Filter; names: Names }) {
	const w = useWords();
	const a = w.audit;
	const change = (name: keyof Filter) => (event: Event) => showFilter({ ...filter, [name]: (event.currentTarget as HTMLInputElement).value.trim() });
	const people = [...names.all].sort(([, x], [, y]) => x.localeCompare(y));
	return (
		<form class="audit-filters" onSubmit={(event) => event.preventDefault()} aria-label={a.filters}>
			<label>{a.actorType}<select value={filter.actorType} onChange={change('actorType')}><option value="">{a.any}</option>{ACTORS.map((one) => <option key={one} value={one}>{a.actorTypes[one]}</option>)}</select></label>
			<label>{a.actor}<select value={filter.actor} onChange={change('actor')}><option value="">{a.anybody}</option>{filter.actor && !names.all.has(filter.actor) && <option value={filter.actor}>{names.of(filter.actor)}</option>}{people.map(([id, name]) => <option key={id} value={id}>{name}</option>)}</select></label>
			<label>{a.action}<select value={filter.action} onChange={change('action')}><option value="">{a.any}</option>{Object.entries(a.actions).map(([one, name]) => <option key={one} value={one}>{name}</option>)}</select></label>
			<label>{a.from}<input type="date" value={filter.from} onChange={change('from')} /></label>
			<label>{a.to}<input type="date" value={filter.to} onChange={change('to')} /></label>
			<Search label={a.resource} hint={a.resourceHint} value={filter.resource} onDone={change('resource')} />
			<Search label={a.proposal} hint={a.proposalHint} value={filter.proposal} onDone={change('proposal')} />
		</form>
	);
}
