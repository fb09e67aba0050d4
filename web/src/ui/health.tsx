// SPDX-License-Identifier: Apache-2.0
// How another system is, in words: the same here and in the overview.
import { useStore } from '../lib/store.ts';
import { clockTime } from '../lib/time.ts';
import { language, useWords } from '../words/words.ts';
import { Raw } from './text.tsx';

/** As the server says it (outside_health). */
export interface Health {
	id: string;
	name: string;
	kind: 'http' | 'stdio' | 'sync' | 'callback' | 'events';
	state: 'active' | 'disabled';
	breaker: 'closed' | 'open' | 'trying';
	breakerSince?: string;
	answeredAt?: string;
	problem?: string;
	lookedAt?: string;
	accepted: number;
	quarantined: number;
	waiting: number;
	dead: number;
}
export interface AllHealth {
	upstreams: Health[];
	connections: Health[];
}

type Way = 'disabled' | 'open' | 'trying' | 'problem' | 'never' | 'told' | 'good';
const MARKS: Record<Way, string> = { disabled: '', open: 'state-failed', trying: 'state-unknown', problem: 'state-failed', never: '', told: 'state-approved', good: 'state-approved' };

export function wayOf(h: Health): Way {
	if (h.state === 'disabled') return 'disabled';
	if (h.breaker !== 'closed') return h.breaker;
	if (h.problem) return 'problem';
	if (h.kind === 'events' && h.waiting === 0) return 'told'; // what it took is not kept, so this is all that is known
	return h.lookedAt || h.answeredAt ? 'good' : 'never';
}

export function HealthMarks({ of: h }: { of: Health }) {
	const w = useWords();
	const way = wayOf(h);
	return (
		<span class="marks">
			<span class={`mark ${MARKS[way]}`}>{w.health[way]}</span>
			{h.quarantined > 0 && <span class="mark state-pending">{w.health.quarantined(h.quarantined)}</span>}
			{h.waiting > 0 && <span class="mark">{w.health.waiting(h.waiting)}</span>}
			{h.dead > 0 && <span class="mark state-unknown">{w.health.dead(h.dead)}</span>}
		</span>
	);
}

/** Since when, and what was said; nothing where all is well. */
export function HealthText({ of: h }: { of: Health }) {
	const w = useWords();
	const lang = useStore(language);
	if (h.state === 'disabled') return null;
	if (h.breakerSince) return <>{w.health.openSince(clockTime(h.breakerSince, lang))}</>;
	return h.problem ? <Raw of={h.problem} lines={false} /> : null;
}
