// SPDX-License-Identifier: Apache-2.0
// What happened of late, at one look. Everything leads to where it can be seen in full.
import type { ComponentChildren, FunctionComponent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { me } from '../../lib/api.ts';
import { onNews } from '../../lib/live.ts';
import { follow, inboxPath, pagePath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { serverNow, shortSpan } from '../../lib/time.ts';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { useNames } from '../audit/names.ts';
import { list } from '../inbox/list.ts';
import { figuresOf, loadStory, SERIES, type Figures } from './figures.ts';
import { BudgetPanel, SystemsPanel } from './systems.tsx';
import './overview.css';

const SPANS = { day: { ms: 86_400_000, step: 3600 }, week: { ms: 7 * 86_400_000, step: 86_400 } } as const;
type Span = keyof typeof SPANS;
const CALM_MS = 1500;

type Chart = FunctionComponent<{ of: Figures; step: number }>;
let chart: Chart | null = null;

/** The chart's script is as large as the rest of the console: it comes when everything else is there. */
function useChart(): Chart | null {
	const [, again] = useState(0);
	useEffect(() => {
		if (!chart) import('./chart.tsx').then((module) => { chart = module.default; again((n) => n + 1); }, () => {}); // the table says the same
	}, []);
	return chart;
}

interface Shown {
	figures: Figures;
	whole: boolean;
	span: Span;
}

function useFigures(slug: string, span: Span) {
	const [state, setState] = useState<{ shown: Shown | null; error: unknown }>({ shown: null, error: null });
	const [turn, setTurn] = useState(0);
	const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
	useEffect(() => {
		let mine = true;
		const to = serverNow(), from = to - SPANS[span].ms;
		loadStory(slug, from).then(({ entries, whole }) => mine && setState({ shown: { figures: figuresOf(entries, from, to, SPANS[span].step), whole, span }, error: null }), (error: unknown) => mine && setState((was) => ({ ...was, error })));
		return () => {
			mine = false;
		};
	}, [slug, span, turn]);
	useEffect(() => {
		const stop = onNews(() => {
			clearTimeout(timer.current);
			timer.current = setTimeout(() => setTurn((n) => n + 1), CALM_MS);
		});
		return () => {
			clearTimeout(timer.current);
			stop();
		};
	}, []);
	return { ...state, again: () => setTurn((n) => n + 1) };
}

const Tile = ({ name, tone = '', href, children }: { name: string; tone?: string; href?: string; children: ComponentChildren }) => (
	<div class={`tile ${tone}`}><dt>{href ? <a href={href} onClick={follow}>{name}</a> : name}</dt><dd>{children}</dd></div>
);

function Tiles({ of }: { of: Figures | null }) {
	const w = useWords();
	const lang = useStore(language), now = useStore(list);
	const number = (n: number | undefined) => (n === undefined ? '–' : n.toLocaleString(lang));
	const span = (seconds: number | null | undefined) => (seconds == null ? '–' : shortSpan(Math.round(seconds)));
	const log = (action: string) => `${pagePath('audit')}?action=${action}`;
	return (
		<dl class="tiles">
			<Tile name={w.overview.waiting} href={inboxPath('pending')}>{now.view === 'pending' && now.state === 'ready' ? w.inbox.count(now.rows.length, now.next !== null) : '–'}</Tile>
			<Tile name={w.overview.series.created} href={log('proposal.created')}>{number(of?.counts.created)}</Tile>
			<Tile name={w.overview.series.applied} href={log('proposal.applied')} tone={of?.counts.applied ? 'good' : ''}>{number(of?.counts.applied)}</Tile>
			<Tile name={w.overview.series.denied} href={log('proposal.denied')} tone={of?.counts.denied ? 'bad' : ''}>{number(of?.counts.denied)}</Tile>
			<Tile name={w.overview.refused} href={log('request.refused')} tone={of?.refused ? 'bad' : ''}>{number(of?.refused)}</Tile>
			<Tile name={w.overview.median}>{span(of?.median)}</Tile>
			<Tile name={w.overview.slowest}>{span(of?.slowest)}</Tile>
		</dl>
	);
}

const Bars = ({ title, none, rows }: { title: string; none: string; rows: { key: string; name: ComponentChildren; count: number }[] }) => {
	const whole = Math.max(1, ...rows.map(({ count }) => count));
	return (
		<section class="panel">
			<div class="panel-head"><h3>{title}</h3></div>
			<div class="panel-body">
				{rows.length === 0 ? <p class="quiet">{none}</p> : (
					<table class="bars"><thead class="unseen"><tr><th scope="col">{title}</th><th scope="col" colSpan={2}>n</th></tr></thead><tbody>
						{rows.map(({ key, name, count }) => <tr key={key}><th scope="row">{name}</th><td class="number">{count}</td><td class="bar-cell" aria-hidden="true"><svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none"><rect class="meter-whole" width="100" height="6" rx="1" /><rect class="meter-own" width={(100 * count) / whole} height="6" rx="1" /></svg></td></tr>)}
					</tbody></table>
				)}
			</div>
		</section>
	);
};

function Numbers({ of, step }: { of: Figures; step: number }) {
	const w = useWords();
	const lang = useStore(language);
	const clock = new Intl.DateTimeFormat(lang, step < 86_400 ? { dateStyle: 'short', timeStyle: 'short' } : { dateStyle: 'medium' });
	const rows = of.times.map((at, i) => ({ at, n: SERIES.map((name) => of.lines[name][i]!) })).filter(({ n }) => n.some((one) => one > 0));
	return (
		<details class="proof">
			<summary>{w.overview.table}</summary>
			<div class="wide-table" tabIndex={0} role="group" aria-label={w.overview.table}>
				<table class="table"><thead><tr><th scope="col">{w.audit.when}</th>{SERIES.map((name) => <th scope="col" key={name}>{w.overview.series[name]}</th>)}</tr></thead>
					<tbody>{rows.map(({ at, n }) => <tr key={at}><th scope="row">{clock.format(at * 1000)}</th>{n.map((one, i) => <td key={i}>{one}</td>)}</tr>)}</tbody></table>
			</div>
		</details>
	);
}

export default function Overview() {
	const w = useWords();
	const slug = useStore(me)?.orgSlug ?? '', names = useNames();
	const [span, setSpan] = useState<Span>('day');
	const { shown, error, again } = useFigures(slug, span);
	const Drawn = useChart();
	const figures = shown?.span === span ? shown.figures : null, { step } = SPANS[span];
	return (
		<div class="sheet">
			<div class="sheet-head">
				<div><h2>{w.pages.overview}</h2><p class="lead">{w.overview.lead}</p></div>
				<label>{w.overview.span} <select value={span} onChange={(event) => setSpan(event.currentTarget.value as Span)}>{(['day', 'week'] as const).map((one) => <option key={one} value={one}>{w.overview.spans[one]}</option>)}</select></label>
			</div>
			{error !== null && <Failure error={error} retry={again} />}
			<Tiles of={figures} />
			<section class="panel" aria-labelledby="chart-title">
				<div class="panel-head"><h3 id="chart-title">{w.overview.chart}</h3><ul class="legend">{SERIES.map((name) => <li key={name} class={`legend-${name}`}>{w.overview.series[name]}</li>)}</ul></div>
				<div class="panel-body">
					<div class="chart-place">{figures && Drawn ? <Drawn of={figures} step={step} /> : error === null && <p class="quiet" role="status">{w.loading}</p>}</div>
					{figures && <Numbers of={figures} step={step} />}
				</div>
			</section>
			<div class="two">
				<Bars title={w.overview.tools} none={figures ? w.overview.none : w.loading} rows={(figures?.tools ?? []).map(({ name, count }) => ({ key: name, name: <code><Raw of={name} lines={false} /></code>, count }))} />
				<Bars title={w.overview.agents} none={figures ? w.overview.none : w.loading} rows={(figures?.agents ?? []).map(({ id, count }) => ({ key: id, name: names.of(id), count }))} />
			</div>
			<div class="two"><SystemsPanel /><BudgetPanel /></div>
			{shown && !shown.whole && <p class="fine">{w.overview.partly}</p>}
		</div>
	);
}
