// SPDX-License-Identifier: Apache-2.0
// The proposals of a view, newest first, page by page; kept true by news. No request per row.
import { ask } from '../../lib/api.ts';
import { isOpen, type Risk, type Row } from '../../lib/model.ts';
import type { News } from '../../lib/live.ts';
import type { View } from '../../lib/route.ts';
import { store } from '../../lib/store.ts';

const PAGE = 200;
const CALM_MS = 300; // many news at once are one look

export interface List {
	view: View;
	rows: readonly Row[];
	next: string | null; // the cursor of the next page; null: that was all
	state: 'loading' | 'ready' | 'failed';
	error: unknown;
}

export const list = store<List>({ view: 'pending', rows: [], next: null, state: 'loading', error: null });

interface Page {
	proposals: Row[];
	nextCursor?: string;
}
const fetchPage = (view: View, cursor: string | null): Promise<Page> =>
	ask<Page>('GET', `/api/v1/proposals?limit=${PAGE}${view === 'all' ? '' : `&status=${view}`}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);

let asked = 0; // an answer to an older question is dropped
const gone = new Set<string>(); // news said that they left the view: an answer that was on its way may still have them
const there = (page: Page): Row[] => page.proposals.filter((row) => !gone.has(row.proposalId));

/** The first page anew. What was loaded beyond it stays, unless something may have been missed. */
export async function reload(view: View, missed = false): Promise<void> {
	const mine = ++asked, before = list.get();
	const fresh = before.view !== view;
	if (fresh || missed) gone.clear();
	if (fresh) list.set({ view, rows: [], next: null, state: 'loading', error: null });
	try {
		const page = await fetchPage(view, null);
		if (mine !== asked) return;
		const end = page.nextCursor ?? null;
		const now = list.get();
		const older = fresh || missed || end === null ? [] : now.rows.filter((row) => row.proposalId < end);
		list.set({ view, rows: [...there(page), ...older], next: older.length > 0 ? now.next : end, state: 'ready', error: null });
	} catch (error) {
		if (mine === asked) list.set({ ...list.get(), state: list.get().rows.length > 0 ? 'ready' : 'failed', error });
	}
}

let loadingMore = false;
export async function more(): Promise<void> {
	const { view, next } = list.get();
	if (!next || loadingMore) return;
	let mine = true;
	loadingMore = true;
	try {
		const page = await fetchPage(view, next), now = list.get();
		mine = now.view === view && now.next === next;
		if (mine) list.set({ ...now, rows: [...now.rows, ...there(page)], next: page.nextCursor ?? null });
	} catch {
		// the next scroll asks again
	} finally {
		loadingMore = false;
	}
	if (!mine) await more(); // begun anew meanwhile: whoever asked for more of that was turned away
}

let timer: ReturnType<typeof setTimeout> | undefined, missed = false;
function soon(): void {
	timer ??= setTimeout(() => {
		timer = undefined;
		void reload(list.get().view, missed);
		missed = false;
	}, CALM_MS);
}

export function hear({ type, id }: News): void {
	const now = list.get(), state = type.replace('proposal.', '');
	if (type === 'resync') missed = true;
	if (type === 'approval.decided') return;
	if (type !== 'resync' && now.view !== 'all' && state !== now.view) {
		gone.add(id);
		const rows = now.rows.filter((row) => row.proposalId !== id);
		if (rows.length !== now.rows.length) list.set({ ...now, rows });
		return;
	}
	gone.delete(id);
	soon();
}

export const sorts = ['newest', 'ending', 'risk'] as const;
export type Sort = (typeof sorts)[number];
export interface Filter {
	text: string;
	risk: Risk | '';
	sort: Sort;
}

const WEIGHT: Record<Risk, number> = { high: 0, medium: 1, low: 2 };

function fits(row: Row, filter: Filter): boolean {
	if (row.status === 'tampered') return filter.text === '' && filter.risk === '';
	if (filter.risk && row.risk.level !== filter.risk) return false;
	const text = `${row.summary} ${row.tool} ${row.targetSystem} ${row.proposer.name} ${row.resource.key}`.toLowerCase();
	return filter.text.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** What is shown: what has run out since is not waiting any more. */
export function select(from: List, filter: Filter, now: number): Row[] {
	const rows = from.rows.filter((row) => (from.view === 'all' || row.status === 'tampered' || (isOpen(row.status) && Date.parse(row.expiresAt) > now)) && fits(row, filter));
	if (filter.sort === 'ending') rows.sort((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1));
	if (filter.sort === 'risk') rows.sort((a, b) => WEIGHT[a.risk?.level ?? 'high'] - WEIGHT[b.risk?.level ?? 'high']);
	return rows;
}
