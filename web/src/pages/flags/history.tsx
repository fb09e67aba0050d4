// SPDX-License-Identifier: Apache-2.0
// What one context was answered, and since when.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import type { Json } from '../../lib/canon.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime, serverNow } from '../../lib/time.ts';
import { Failure } from '../../ui/notice.tsx';
import { language, useWords } from '../../words/words.ts';
import { JsonField, Unreadable } from './fields.tsx';
import type { Place } from './place.ts';
import { Quoted } from './said.tsx';

interface Entry {
	asOf: string;
	version: number;
	value: Json;
	reason: { kind: string; ruleIndex?: number } | null;
}
interface Answer {
	primitives: Record<string, { entries: Entry[] }>;
	truncated: boolean;
}

const DAYS = [1, 7, 30, 90] as const;

function Entries({ of, name }: { of: Answer; name: string }) {
	const w = useWords();
	const lang = useStore(language);
	const entries = of.primitives[name]?.entries ?? [];
	return (
		<>
			{entries.length === 0 && <p class="quiet">{w.flags.history.none}</p>}
			<ol class="timeline">
				{entries.map((entry) => (
					<li key={entry.asOf}>
						<time dateTime={entry.asOf}>{clockTime(entry.asOf, lang)}</time>
						{entry.reason === null ? <em>{w.flags.history.deleted}</em> : <><strong><Quoted of={entry.value} /></strong> <span class="quiet">{entry.reason.kind === 'rule_match' ? w.flags.history.byRule((entry.reason.ruleIndex ?? 0) + 1) : w.flags.history.byDefault} · {w.card.version(entry.version)}</span></>}
					</li>
				))}
			</ol>
			{of.truncated && <p class="fine">{w.flags.history.truncated}</p>}
		</>
	);
}

export function History({ place, name }: { place: Place; name: string }) {
	const w = useWords();
	const [env, setEnv] = useState(place.environments[0]?.id ?? ''), [days, setDays] = useState(7);
	const [context, setContext] = useState<Json>({ [place.project.effectiveTargetIdField]: 'user-1' });
	const [unreadable, setUnreadable] = useState(0);
	const [state, setState] = useState<{ answer: Answer | null; error: unknown }>({ answer: null, error: null });
	const submit = (event: Event) => {
		event.preventDefault();
		const until = serverNow(), since = until - days * 86_400_000 + (days === 90 ? 60_000 : 0); // the oldest that is kept
		ask<Answer>('POST', `/api/v1/envs/${env}/evaluate/history`, { context, keys: [name], since: new Date(since).toISOString(), until: new Date(until).toISOString() }).then((answer) => setState({ answer, error: null }), (error: unknown) => setState({ answer: null, error }));
	};
	return (
		<section class="panel" aria-labelledby="history-title">
			<div class="panel-head"><div><h3 id="history-title">{w.flags.history.title}</h3><p class="fine">{w.flags.history.lead}</p></div></div>
			<form class="panel-body" onSubmit={submit}>
				<div class="rule-line">
					<label>{w.card.environment} <select value={env} onChange={(event) => setEnv(event.currentTarget.value)}>{place.environments.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}</select></label>
					<label>{w.flags.history.since} <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>{DAYS.map((n) => <option key={n} value={n}>{w.flags.history.days(n)}</option>)}</select></label>
				</div>
				<Unreadable.Provider value={(change) => setUnreadable((n) => n + change)}><JsonField label={w.card.context} value={context} onChange={setContext} rows={3} /></Unreadable.Provider>
				<p><button type="submit" disabled={unreadable > 0}>{w.flags.history.show}</button></p>
				{state.error !== null && <Failure error={state.error} />}
				{state.answer && <Entries of={state.answer} name={name} />}
			</form>
		</section>
	);
}
