// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { isOpen, type Risk } from '../../lib/model.ts';
import { follow, go, inboxPath, proposalPath, route, type View } from '../../lib/route.ts';
import { store, useStore } from '../../lib/store.ts';
import { tick } from '../../lib/time.ts';
import { useKeys } from '../../ui/keys.ts';
import { Failure } from '../../ui/notice.tsx';
import { useWords } from '../../words/words.ts';
import { DenyMany } from './denymany.tsx';
import { Empty } from './empty.tsx';
import { list, more, reload, select, sorts, type Filter, type Sort } from './list.ts';
import { Rows } from './rows.tsx';

const ALL: Filter = { text: '', risk: '', sort: 'newest' };

/** What is to be done with the proposal that is being opened. */
export const intent = store<{ id: string; act: 'approve' | 'deny' } | null>(null);

const wide = matchMedia('(min-width: 62rem)');

function Views({ view }: { view: View }) {
	const w = useWords();
	return (
		<nav class="views" aria-label={w.inbox.title}>
			{(['pending', 'approved', 'all'] as const).map((one) => (
				<a key={one} href={inboxPath(one)} onClick={follow} aria-current={one === view ? 'page' : undefined}>{w.inbox.views[one]}</a>
			))}
		</nav>
	);
}

function Filters({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
	const w = useWords();
	return (
		<div class="filters">
			<input type="search" id="filter" aria-label={w.inbox.filter} placeholder={w.inbox.filter} value={filter.text} onInput={(event) => onChange({ ...filter, text: event.currentTarget.value })} />
			<select aria-label={w.inbox.risk} value={filter.risk} onChange={(event) => onChange({ ...filter, risk: event.currentTarget.value as Risk | '' })}>
				<option value="">{w.inbox.anyRisk}</option>
				{(['high', 'medium', 'low'] as const).map((level) => <option key={level} value={level}>{w.risks[level]}</option>)}
			</select>
			<select aria-label={w.inbox.sort} value={filter.sort} onChange={(event) => onChange({ ...filter, sort: event.currentTarget.value as Sort })}>
				{sorts.map((one) => <option key={one} value={one}>{w.inbox.sorts[one]}</option>)}
			</select>
		</div>
	);
}

/** Where the cursor is: the open proposal, or on a narrow screen the row that was reached with j and k. */
function useCursor(ids: string[], view: View, opened: string | null) {
	const [cursor, setCursor] = useState<string | null>(null);
	const last = useRef(-1);
	const current = opened ?? cursor;
	const index = current ? ids.indexOf(current) : -1;
	if (index >= 0) last.current = index;
	const move = (by: 1 | -1) => {
		if (ids.length === 0) return;
		const from = index >= 0 ? index + by : by > 0 && last.current >= 0 ? last.current : last.current + by;
		const id = ids[Math.min(ids.length - 1, Math.max(0, from))]!;
		setCursor(id);
		if (wide.matches || opened) go(proposalPath(id, view), opened !== null);
		requestAnimationFrame(() => document.getElementById(`row-${id}`)?.focus({ preventScroll: true }));
	};
	return { current, move };
}

export function Inbox() {
	const w = useWords();
	const now = useStore(list), clock = useStore(tick), { view, proposal } = useStore(route);
	const [filter, setFilter] = useState(ALL);
	const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
	const [denying, setDenying] = useState(false);
	useEffect(() => setSelected(new Set()), [view]);
	const rows = select(now, filter, clock);
	const chosen = rows.filter((row) => selected.has(row.proposalId) && isOpen(row.status));
	const { current, move } = useCursor(rows.map((row) => row.proposalId), view, proposal);
	const toggle = useCallback((id: string) => setSelected((was) => {
		const next = new Set(was);
		if (!next.delete(id)) next.add(id);
		return next;
	}), []);
	const filtered = filter.text !== '' || filter.risk !== '';
	useEffect(() => {
		if (filtered && now.next) void more(); // a filter is about all of them
	}, [filtered, now.next]);

	useKeys((event) => {
		const row = rows.find((one) => one.proposalId === current);
		if (event.key === 'j') return move(1), true;
		if (event.key === 'k') return move(-1), true;
		if (event.key === '/') return document.getElementById('filter')?.focus(), true;
		if (event.key === 'x' && row && isOpen(row.status)) return toggle(row.proposalId), true;
		if ((event.key === 'a' || event.key === 'd') && row && !proposal) {
			intent.set({ id: row.proposalId, act: event.key === 'a' ? 'approve' : 'deny' });
			return go(proposalPath(row.proposalId, view)), true;
		}
		return false;
	});

	return (
		<section class="inbox" aria-labelledby="inbox-title">
			<div class="inbox-head">
				<h2 id="inbox-title">{w.inbox.title} <span class="count">{now.state === 'ready' ? w.inbox.count(rows.length, now.next !== null) : ''}</span></h2>
				<Views view={view} />
				<Filters filter={filter} onChange={setFilter} />
			</div>
			{chosen.length > 0 && (
				<div class="batch" role="region" aria-label={w.inbox.selected(chosen.length)}>
					<span>{w.inbox.selected(chosen.length)}</span>
					<button type="button" onClick={() => setSelected(new Set())}>{w.inbox.clear}</button>
					<button type="button" class="danger" onClick={() => setDenying(true)}>{w.inbox.denySelected}</button>
				</div>
			)}
			{now.error !== null && now.state === 'failed' && <Failure error={now.error} retry={() => void reload(view)} />}
			{now.state === 'loading' && <p class="quiet pad" role="status">{w.loading}</p>}
			{now.state === 'ready' && rows.length === 0 && !now.next && (filtered
				? <div class="empty"><h3>{w.inbox.nothingFits}</h3><button type="button" onClick={() => setFilter(ALL)}>{w.inbox.clearFilter}</button></div>
				: <Empty view={view} />)}
			{now.state === 'ready' && (rows.length > 0 || now.next) && <Rows rows={rows} view={view} current={current} selected={selected} onSelect={toggle} onEnd={more} />}
			{denying && <DenyMany rows={chosen} onClose={(denied) => { setDenying(false); setSelected((was) => new Set([...was].filter((id) => !denied.includes(id)))); void reload(view); }} />}
		</section>
	);
}
