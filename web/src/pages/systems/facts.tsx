// SPDX-License-Identifier: Apache-2.0
// What is known of one system, one line each.
import type { ComponentChildren } from 'preact';

import { nameOf, people } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import type { Health } from '../../ui/health.tsx';
import { Raw } from '../../ui/text.tsx';
import { language } from '../../words/words.ts';
import { useSystemWords } from './model.ts';

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
	<div class="fact"><dt>{name}</dt><dd>{children}</dd></div>
);

/** Who added it; when it answered; what was wrong. */
export function Common({ of, health }: { of: { createdBy: string; createdAt: string }; health: Health | undefined }) {
	const s = useSystemWords();
	const lang = useStore(language), names = useStore(people);
	return (
		<>
			{health && health.kind !== 'events' && <Fact name={s.answered}>{health.answeredAt ? <>{clockTime(health.answeredAt, lang)} <span class="quiet">({s.answeredHere})</span></> : s.never}</Fact>}
			{health?.problem && <Fact name={s.problem}><span class="bad-text"><Raw of={health.problem} lines={false} /></span></Fact>}
			<Fact name={s.addedBy}>{nameOf(names, of.createdBy)} <span class="quiet">{clockTime(of.createdAt, lang)}</span></Fact>
		</>
	);
}

export const Networks = ({ of }: { of: readonly string[] }) => {
	const s = useSystemWords();
	return <Fact name={s.mayBeIn}>{of.length === 0 ? s.onlyPublic : <Raw of={s.publicAnd(of.join(', '))} lines={false} />}</Fact>;
};
