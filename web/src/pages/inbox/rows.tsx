// SPDX-License-Identifier: Apache-2.0
// A long list with few elements: rows of one height, and only those near the window exist.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { isOpen, type Row } from '../../lib/model.ts';
import { nameOf, people } from '../../lib/people.ts';
import { follow, proposalPath, type View } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { EffectMark, RiskMark, StateMark, TimeLeft } from '../../ui/marks.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';

export const ROW_HEIGHT = 84; // the style sheet's --row
const SPARE = 6; // rows beyond each edge

interface Props {
	rows: Row[];
	view: View;
	current: string | null;
	selected: ReadonlySet<string>;
	onSelect: (id: string) => void;
	onEnd: () => void;
}

const Tampered = ({ row }: { row: Row }) => {
	const w = useWords();
	return <div class="row-text"><div class="row-summary"><StateMark state="tampered" /></div><div class="row-line">{w.inbox.tampered} <code>{row.proposalId.slice(-8)}</code></div></div>;
};

function Line({ row, view, current }: { row: Row; view: View; current: boolean }) {
	const w = useWords();
	const names = useStore(people);
	return (
		<a class="row-text" id={`row-${row.proposalId}`} href={proposalPath(row.proposalId, view)} onClick={follow} aria-current={current ? 'true' : undefined}>
			<span class="row-summary" title={visible(row.summary, false)}><Raw of={row.summary} lines={false} /></span>
			<span class="row-line">
				<RiskMark level={row.risk.level} /> <EffectMark effect={row.effect} /> <span class="clip"><Raw of={row.targetSystem} lines={false} /></span>
			</span>
			<span class="row-line quiet">
				<span class="clip"><Raw of={row.proposer.name} lines={false} />{row.proposer.onBehalfOf && <> {w.inbox.forWhom(nameOf(names, row.proposer.onBehalfOf))}</>}</span>
				<span class="row-end">{isOpen(row.status) && view !== 'all' ? <TimeLeft until={row.expiresAt} /> : <StateMark state={row.status} />}</span>
			</span>
		</a>
	);
}

function Item({ row, at, of, ...more }: Omit<Props, 'rows' | 'onEnd'> & { row: Row; at: number; of: number }) {
	const w = useWords();
	const current = more.current === row.proposalId;
	return (
		<li class={`row ${current ? 'current' : ''}`} style={{ top: `${at * ROW_HEIGHT}px` }} aria-setsize={of} aria-posinset={at + 1}>
			{isOpen(row.status) && (
				<input type="checkbox" aria-label={w.inbox.select(visible(row.summary, false))} checked={more.selected.has(row.proposalId)} onChange={() => more.onSelect(row.proposalId)} />
			)}
			{row.status === 'tampered' ? <Tampered row={row} /> : <Line row={row} view={more.view} current={current} />}
		</li>
	);
}

export function Rows({ rows, onEnd, ...more }: Props) {
	const box = useRef<HTMLDivElement>(null);
	const w = useWords();
	const [top, setTop] = useState(0);
	const [height, setHeight] = useState(800);
	useLayoutEffect(() => {
		const watch = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 800));
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE);
	const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + SPARE);
	useEffect(() => {
		if (last >= rows.length - SPARE) onEnd();
	}, [last, rows.length, onEnd]);
	const index = rows.findIndex((row) => row.proposalId === more.current);
	useLayoutEffect(() => {
		const element = box.current!;
		if (index < 0 || element.clientHeight === 0) return;
		if (index * ROW_HEIGHT < element.scrollTop) element.scrollTop = index * ROW_HEIGHT;
		if ((index + 1) * ROW_HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = (index + 1) * ROW_HEIGHT - element.clientHeight;
	}, [index]);
	return (
		<div class="rows" ref={box} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
			<ul style={{ height: `${rows.length * ROW_HEIGHT}px` }} aria-label={w.inbox.shown(rows.length)}>
				{rows.slice(first, last).map((row, i) => <Item key={row.proposalId} row={row} at={first + i} of={rows.length} {...more} />)}
			</ul>
		</div>
	);
}
