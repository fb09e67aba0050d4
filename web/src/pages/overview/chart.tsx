// SPDX-License-Identifier: Apache-2.0
// Bars over time, side by side, drawn by uPlot, which comes only here. The same figures stand in a table below.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { useStore } from '../../lib/store.ts';
import { language, theme, useWords } from '../../words/words.ts';
import { SERIES, type Figures } from './figures.ts';

const HEIGHT = 240;
const COLOURS = { created: '--accent', applied: '--good', denied: '--bad', ended: '--warn' } as const;

/** A colour as it is now: a canvas knows no variables, and no light-dark(). */
function colour(name: string): string {
	const probe = document.createElement('span');
	probe.style.color = `var(${name})`;
	document.body.append(probe);
	const now = getComputedStyle(probe).color;
	probe.remove();
	return now;
}

function options(width: number, labels: readonly string[], lang: string, times: readonly number[], step: number): uPlot.Options {
	const ink = colour('--quiet'), grid = colour('--line');
	const clock = new Intl.DateTimeFormat(lang, step < 86_400 ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' });
	const axis = { stroke: ink, font: '12px system-ui, sans-serif', grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
	const first = times[0] ?? 0, bar = Math.max(1, Math.min(14, ((width - 60) / times.length) * 0.19));
	return {
		width, height: HEIGHT, padding: [12, 34, 0, 0],
		legend: { show: false },
		cursor: { show: false },
		scales: { x: { range: () => [first, first + times.length * step] }, y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] } },
		axes: [{ ...axis, values: (_, ticks) => ticks.map((at) => clock.format(at * 1000)), space: 70 }, { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }],
		series: [{}, ...SERIES.map((name, i) => ({ label: labels[i]!, stroke: colour(COLOURS[name]), fill: colour(COLOURS[name]), points: { show: false }, paths: uPlot.paths.bars!({ size: [1, bar], align: 1, gap: 0 }) }))],
	};
}

/** Bars of one step stand beside each other: each series a fifth of a step further right. */
const shifted = ({ times, lines }: Figures, step: number): uPlot.AlignedData => {
	const parts = SERIES.map((name, i) => [times.map((at) => at + (i * step) / 5), lines[name].map((n) => n || null)] as uPlot.AlignedData);
	return uPlot.join(parts);
};

export default function Chart({ of, step }: { of: Figures; step: number }) {
	const w = useWords();
	const lang = useStore(language), colours = useStore(theme);
	const box = useRef<HTMLDivElement>(null);
	useEffect(() => {
		const element = box.current!, dark = matchMedia('(prefers-color-scheme: dark)');
		let plot: uPlot | undefined;
		const draw = () => {
			plot?.destroy();
			plot = new uPlot(options(element.clientWidth, SERIES.map((name) => w.overview.series[name]), lang, of.times, step), shifted(of, step), element);
		};
		draw();
		const watch = new ResizeObserver(() => plot && plot.width !== element.clientWidth && plot.setSize({ width: element.clientWidth, height: HEIGHT }));
		watch.observe(element);
		dark.addEventListener('change', draw);
		return () => {
			watch.disconnect();
			dark.removeEventListener('change', draw);
			plot?.destroy();
		};
	}, [of, step, lang, colours]);
	return <div class="chart" ref={box} role="img" aria-label={w.overview.chartText(SERIES.map((name) => `${w.overview.series[name]} ${of.counts[name]}`).join(', '))} />;
}
