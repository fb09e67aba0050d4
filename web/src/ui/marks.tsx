// SPDX-License-Identifier: Apache-2.0
// Small marks that say the same in shape, word and colour.
import type { Effect, Risk, State } from '../lib/model.ts';
import { secondsLeft, shortSpan, tick } from '../lib/time.ts';
import { useStore } from '../lib/store.ts';
import { useWords } from '../words/words.ts';

export function RiskMark({ level }: { level: Risk }) {
	const w = useWords();
	return <span class={`mark risk-${level}`}><span aria-hidden="true">{level === 'high' ? '▲' : level === 'medium' ? '◆' : '○'}</span> {w.risks[level]}</span>;
}

export function EffectMark({ effect }: { effect: Effect }) {
	const w = useWords();
	return <span class={`mark effect-${effect}`}>{w.effects[effect]}</span>;
}

export function StateMark({ state }: { state: State }) {
	const w = useWords();
	return <span class={`mark state-${state}`}>{w.states[state]}</span>;
}

export function TimeLeft({ until }: { until: string }) {
	const seconds = secondsLeft(until, useStore(tick));
	return <span class={`time-left ${seconds < 120 ? 'soon' : ''}`}>{shortSpan(seconds)}</span>;
}
