// SPDX-License-Identifier: Apache-2.0
// What an environment says of an item, to be changed. The server looks at each step (it is the preview that a save would
// be held to), and what is wrong stands where it is. The change becomes a proposal; who may, can save it at once.
import { useCallback, useEffect, useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ApiError, ask, me, type FieldError } from '../../lib/api.ts';
import { canon, type Json } from '../../lib/canon.ts';
import { follow, go, pagePath, proposalPath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { visibleJson } from '../../lib/visible.ts';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Spots } from '../proposal/radius.tsx';
import { JsonField, ListField, Unreadable, ValueField } from './fields.tsx';
import { EnvironmentName } from './list.tsx';
import { singular, stateOf, type Environment, type Item, type Kind, type State } from './model.ts';
import type { Place } from './place.ts';
import { Rules, Wrong } from './rules.tsx';

const CALM_MS = 300;

interface Target {
	kind: Kind;
	item: Item;
	env: Environment;
	targetField: string;
	segments: readonly Item[];
}

interface Look {
	spots: Json | null;
	wrong: readonly FieldError[];
	error: unknown;
	of: string; // what was looked at, canonical: an answer about something else does not count
}

const same = (a: unknown, b: unknown): boolean => canon(a as Json) === canon(b as Json);

/** The server's opinion of a state: what is wrong with it, or what it would answer. */
function useLook({ kind, item, env }: Target, state: State, contexts: Json): Look & { current: boolean } {
	const asked = canon({ state, contexts } as unknown as Json);
	const [look, setLook] = useState<Look>({ spots: null, wrong: [], error: null, of: '' });
	useEffect(() => {
		let mine = true;
		const before = `/ruleset/${kind}/0`;
		const timer = setTimeout(() => {
			ask<{ spotCheck: Json }>('POST', `/api/v1/envs/${env.id}/evaluate/preview`, { spotCheck: contexts, ruleset: { [kind]: [{ key: item.key, ...state }] } }).then(
				(answer) => mine && setLook({ spots: answer.spotCheck, wrong: [], error: null, of: asked }),
				(error: unknown) => {
					const fields = error instanceof ApiError ? error.fields.map(({ path, message }) => ({ path: path.startsWith(before) ? path.slice(before.length) : path, message })) : [];
					if (mine) setLook({ spots: null, wrong: fields, error: fields.length > 0 ? null : error, of: asked });
				},
			);
		}, CALM_MS);
		return () => {
			mine = false;
			clearTimeout(timer);
		};
	}, [asked]);
	return { ...look, current: look.of === asked };
}

/** The segments that these rules look into, and those that these look into, as they are: a file stands by itself. */
function lookedInto(rules: Json, segments: readonly Item[], found = new Map<string, object>()): Map<string, object> {
	const named = [...canon(rules).matchAll(/"\$segment":("(?:[^"\\]|\\.)*")/g)].map(([, name]) => JSON.parse(name!) as string);
	for (const one of segments.filter(({ key }) => named.includes(key) && !found.has(key))) {
		const { description, rules: own, allowList, denyList } = one;
		found.set(one.key, { ...(description ? { description } : {}), rules: own, allowList, denyList });
		lookedInto(own as unknown as Json, segments, found);
	}
	return found;
}

/** One proposal, whatever of it was changed. */
function proposalOf({ kind, item, env, targetField, segments }: Target, state: State, before: State, spotCheck: Json, reason: string): object {
	const what = singular(kind), why = reason ? { reason } : {};
	const one = (name: string, diff: object) => ({ envId: env.id, kind: `${name}_${what}`, resourceKey: item.key, diff, spotCheck, ...why });
	if (kind === 'segments') return one('set_rules', state);
	if (same(state.rules, before.rules)) return one('set_default_value', { defaultValue: state.defaultValue });
	if (same(state.defaultValue, before.defaultValue)) return one('set_rules', { rules: state.rules });
	const { type, description, jsonSchema } = item; // what a file has of it, and what stays
	const all = { type, ...(description ? { description } : {}), ...(jsonSchema != null ? { schema: jsonSchema } : {}), ...state };
	const ruleset = { countersign: 'ruleset/1', targetField, [kind]: { [item.key]: all }, segments: Object.fromEntries(lookedInto(state.rules as unknown as Json, segments)) };
	return { tool: 'flag.import', input: { envId: env.id, ruleset, spotCheck }, ...(reason ? { intent: { summary: reason } } : {}) };
}

/** Whether this person may do it without asking anybody; who may not see policy is not told. */
function useDirect({ kind, env }: Target): boolean {
	const who = useStore(me);
	const [direct, setDirect] = useState(false);
	useEffect(() => {
		ask<{ hasVerb: boolean; votes: number; fourEyes: boolean; groups: unknown[] }>('POST', '/api/v1/policy/explain', { tool: `flag.set_rules_${singular(kind)}`, principalId: who?.id, environmentId: env.id })
			.then(({ hasVerb, votes, fourEyes, groups }) => setDirect(hasVerb && (!env.approvalGate || (votes <= 1 && !fourEyes)) && groups.length === 0), () => {});
	}, [env.id]);
	return direct;
}

function Form({ place, kind, item, env }: { place: Place; kind: Kind; item: Item; env: Environment }) {
	const w = useWords();
	const before = stateOf(kind, item);
	const [state, setState] = useState<State>(before);
	const [contexts, setContexts] = useState<Json>([{ [place.project.effectiveTargetIdField]: 'user-1' }, { [place.project.effectiveTargetIdField]: 'user-2' }]);
	const [reason, setReason] = useState(''), [unreadable, setUnreadable] = useState(0);
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const { data: known } = useAnswer<{ items: Item[] }>(`/api/v1/envs/${env.id}/segments?limit=200`);
	const segments = known?.items.map(({ key }) => key).filter((key) => kind !== 'segments' || key !== item.key) ?? [];
	const target = { kind, item, env, targetField: place.project.effectiveTargetIdField, segments: known?.items ?? [] };
	const look = useLook(target, state, contexts), direct = useDirect(target);
	const tell = useCallback((change: 1 | -1) => setUnreadable((n) => n + change), []);
	const changed = !same(state, before), wrong = look.current ? look.wrong : [];
	const ready = changed && unreadable === 0 && look.current && look.spots !== null && !working;
	const back = pagePath('flags', place.project.key, kind, item.key);
	const run = async (work: () => Promise<string>) => {
		setWorking(true);
		setError(null);
		await work().then(go, setError);
		setWorking(false);
	};
	const propose = () => run(async () => proposalPath((await ask<{ proposalId: string }>('POST', '/api/v1/proposals', proposalOf(target, state, before, contexts, reason))).proposalId, 'pending'));
	const save = () => run(async () => {
		await ask('PUT', `/api/v1/envs/${env.id}/${kind}/${encodeURIComponent(item.key)}/state`, state);
		say(w.flags.saved);
		return back;
	});
	return (
		<Unreadable.Provider value={tell}>
			{state.defaultValue !== undefined && item.type && (
				<section class="panel">
					<div class="panel-head"><h3>{w.flags.defaultValue}</h3></div>
					<div class="panel-body"><ValueField type={item.type} label={w.flags.defaultValue} value={state.defaultValue} onChange={(defaultValue) => setState({ ...state, defaultValue })} /><Wrong at="/defaultValue" of={wrong} /></div>
				</section>
			)}
			<section class="panel" aria-labelledby="rules-title">
				<div class="panel-head"><div><h3 id="rules-title">{w.flags.rules}</h3><p class="fine">{w.flags.rulesLead}</p></div></div>
				<div class="panel-body"><Rules item={item} rules={state.rules} segments={segments} wrong={wrong} onChange={(rules) => setState({ ...state, rules })} /></div>
			</section>
			{kind === 'segments' && (
				<section class="panel" aria-labelledby="lists-title">
					<div class="panel-head"><div><h3 id="lists-title">{w.flags.lists}</h3><p class="fine">{w.flags.listsLead}</p></div></div>
					<div class="panel-body">
						<span class="labelled"><span>{w.flags.allowList}</span><ListField texts label={w.flags.allowList} value={state.allowList ?? []} onChange={(list) => setState({ ...state, allowList: list as string[] })} /></span><Wrong at="/allowList" of={wrong} />
						<span class="labelled"><span>{w.flags.denyList}</span><ListField texts label={w.flags.denyList} value={state.denyList ?? []} onChange={(list) => setState({ ...state, denyList: list as string[] })} /></span><Wrong at="/denyList" of={wrong} />
					</div>
				</section>
			)}
			<section class="panel" aria-labelledby="impact-title" aria-busy={!look.current}>
				<div class="panel-head"><div><h3 id="impact-title">{w.flags.impact}</h3><p class="fine">{w.flags.impactLead}</p></div></div>
				<div class="panel-body impact">
					<JsonField label={w.flags.contexts} value={contexts} onChange={setContexts} rows={5} />
					{look.error !== null && look.current && <Failure error={look.error} />}
					<Wrong at="/spotCheck" of={wrong} />
					{wrong.length > 0 ? <Notice tone="bad"><p>{w.flags.invalid}</p></Notice> : look.spots !== null && <Spots of={visibleJson(look.spots)} />}
				</div>
			</section>
			{error !== null && <Failure error={error} />}
			<div class="actions editor-actions">
				<label class="grow">{w.flags.why}<input type="text" maxLength={400} value={reason} onInput={(event) => setReason(event.currentTarget.value)} /></label>
				<div class="buttons">
					{!changed && <span class="quiet">{w.flags.unchanged}</span>}
					{direct && <button type="button" disabled={!ready} onClick={() => void save()}>{w.flags.save}</button>}
					<button type="button" class="primary" disabled={!ready} onClick={() => void propose()}>{working ? w.act.working : w.flags.propose}</button>
				</div>
			</div>
		</Unreadable.Provider>
	);
}

export function Editor({ place, kind, name, env }: { place: Place; kind: Kind; name: string; env: Environment }) {
	const w = useWords();
	const { data, error, again } = useAnswer<Item>(`/api/v1/envs/${env.id}/${kind}/${encodeURIComponent(name)}`);
	return (
		<div class="sheet editor">
			<p class="crumb"><a href={pagePath('flags', place.project.key, kind, name)} onClick={follow}>← <code><Raw of={name} lines={false} /></code></a></p>
			<div class="sheet-head"><div><h2><code><Raw of={name} lines={false} /></code> · <EnvironmentName env={env} /></h2><p class="lead">{w.flags.editLead}</p></div></div>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!data && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{data && <Form place={place} kind={kind} item={data} env={env} />}
		</div>
	);
}
