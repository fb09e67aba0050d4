// SPDX-License-Identifier: Apache-2.0
// What happened, counted from the audit log's own entries: the figures are as true as the log. A long log is read up to
// a bound, and the page says so.
import { ask } from '../../lib/api.ts';
import { logPath, type Entry } from '../audit/model.ts';

const PAGE = 500;
const PAGES = 10;

export interface Story {
	entries: readonly Entry[]; // newest first
	whole: boolean; // false: there are older ones in this time
}

export async function loadStory(slug: string, from: number): Promise<Story> {
	const entries: Entry[] = [];
	let cursor = '';
	for (let page = 0; page < PAGES; page++) {
		const answer = await ask<{ entries: Entry[]; nextCursor?: string }>('GET', logPath(slug, `?limit=${PAGE}&from=${from * 1000}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`));
		entries.push(...answer.entries);
		if (!answer.nextCursor) return { entries, whole: true };
		cursor = answer.nextCursor;
	}
	return { entries, whole: false };
}

export const SERIES = ['created', 'applied', 'denied', 'ended'] as const;
export type Series = (typeof SERIES)[number];

/** Which line of the chart an entry belongs to. */
function seriesOf(action: string): Series | null {
	if (action === 'proposal.created') return 'created';
	if (action === 'proposal.applied') return 'applied';
	if (action === 'proposal.denied') return 'denied';
	return /^proposal\.(failed|unknown|cancelled|expired)$/.test(action) ? 'ended' : null;
}

export interface Figures {
	counts: Record<Series, number>;
	refused: number;
	median: number | null; // seconds from the proposal to the first vote
	slowest: number | null;
	tools: { name: string; count: number }[];
	agents: { id: string; count: number }[];
	times: number[]; // the beginning of each step, in seconds
	lines: Record<Series, number[]>;
}

function most(names: readonly string[]): { name: string; count: number }[] {
	const counts = new Map<string, number>();
	for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
	return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)).slice(0, 8);
}

/** From being proposed to the first vote, in seconds, sorted. */
function decisions(entries: readonly Entry[]): number[] {
	const asked = new Map<string, number>(), decided = new Map<string, number>();
	for (const { action, proposalId = '', at } of entries) {
		if (action === 'proposal.created') asked.set(proposalId, at);
		else if (action === 'proposal.approved' || action === 'proposal.denied') decided.set(proposalId, Math.min(at, decided.get(proposalId) ?? Infinity));
	}
	return [...decided].filter(([id]) => asked.has(id)).map(([id, at]) => (at - asked.get(id)!) / 1e6).sort((a, b) => a - b);
}

/** from, to: milliseconds; step: seconds. */
export function figuresOf(entries: readonly Entry[], from: number, to: number, step: number): Figures {
	const begin = Math.floor(from / 1000 / step) * step, n = Math.floor(to / 1000 / step) - begin / step + 1;
	const lines = Object.fromEntries(SERIES.map((name) => [name, new Array<number>(n).fill(0)])) as Record<Series, number[]>;
	for (const entry of entries) {
		const name = seriesOf(entry.action), at = Math.floor((entry.at / 1e6 - begin) / step);
		if (name && at >= 0 && at < n) lines[name][at]!++;
	}
	const sorted = decisions(entries), created = entries.filter(({ action }) => action === 'proposal.created');
	return {
		counts: Object.fromEntries(SERIES.map((name) => [name, entries.filter(({ action }) => seriesOf(action) === name).length])) as Record<Series, number>,
		refused: entries.filter(({ action }) => action === 'request.refused').length,
		median: sorted[Math.floor((sorted.length - 1) / 2)] ?? null,
		slowest: sorted.at(-1) ?? null,
		tools: most([...created, ...entries.filter(({ action }) => action === 'tool.executed')].map(({ tool = '' }) => tool)),
		agents: most(created.map(({ agentId, actorId = '' }) => agentId ?? actorId)).map(({ name, count }) => ({ id: name, count })),
		times: Array.from({ length: n }, (_, i) => begin + i * step),
		lines,
	};
}
