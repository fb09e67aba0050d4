// SPDX-License-Identifier: Apache-2.0
// What policy goes by, as one form, and below it what it would decide.
import { useEffect, useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { visible } from '../../lib/visible.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { useWords } from '../../words/words.ts';
import type { Tool } from '../agents/model.ts';
import { Explain } from './explain.tsx';
import type { Group, Policy, PolicyDocument } from './model.ts';

type Change = (part: Partial<Policy>) => void;

const VOTES = ['votesLow', 'votesMedium', 'votesHigh', 'votesDestructive'] as const;
const SWITCHES = ['fourEyes', 'overrides', 'autoExecute'] as const;
const MODES = ['gdpr', 'hipaa'] as const;

function Votes({ policy, onChange }: { policy: Policy; onChange: Change }) {
	const w = useWords();
	return (
		<fieldset class="votes">
			<legend>{w.settings.votes}</legend>
			{VOTES.map((one) => <label key={one}>{w.settings.votesOf[one]}<input type="number" min={1} max={20} required value={policy[one]} onInput={(event) => onChange({ [one]: event.currentTarget.valueAsNumber })} /></label>)}
		</fieldset>
	);
}

function Switches({ of, legend, policy, onChange }: { of: readonly ('fourEyes' | 'overrides' | 'autoExecute' | 'gdpr' | 'hipaa')[]; legend: string; policy: Policy; onChange: Change }) {
	const w = useWords();
	return (
		<fieldset class="checks">
			<legend>{legend}</legend>
			{of.map((one) => (
				<label key={one} class="check top"><input type="checkbox" checked={policy[one]} onChange={(event) => onChange({ [one]: event.currentTarget.checked })} />
					<span>{w.settings.switches[one]}<span class="hint-text">{w.settings.switchTexts[one]}</span></span></label>
			))}
		</fieldset>
	);
}

function AllowList({ policy, onChange }: { policy: Policy; onChange: Change }) {
	const w = useWords();
	const tools = useAnswer<{ tools: Tool[] }>('/api/v1/tools').data?.tools ?? [];
	const all = [...new Set([...policy.allowListed, ...tools.filter((tool) => tool.category === 'B').map((tool) => tool.name)])].sort();
	const toggle = (name: string, on: boolean) => onChange({ allowListed: on ? [...policy.allowListed, name] : policy.allowListed.filter((one) => one !== name) });
	return (
		<details class="allow-list">
			<summary>{w.settings.allowListed(policy.allowListed.length)}</summary>
			<fieldset class="checks columns">
				<legend class="fine">{w.settings.allowListedText}</legend>
				{all.map((name) => <label key={name} class="check"><input type="checkbox" checked={policy.allowListed.includes(name)} onChange={(event) => toggle(name, event.currentTarget.checked)} /> <code>{visible(name, false)}</code></label>)}
			</fieldset>
		</details>
	);
}

/** Which team has to be among those who agree, and about what. */
function Groups({ policy, onChange }: { policy: Policy; onChange: Change }) {
	const w = useWords();
	const teams = useAnswer<{ items: { id: string; name: string }[] }>('/api/v1/teams?limit=200').data?.items ?? [];
	const set = (at: number, part: Partial<Group>) => onChange({ groups: policy.groups.map((group, i) => {
		if (i !== at) return group;
		const next = { ...group, ...part };
		for (const key of ['risk', 'effect'] as const) if (!next[key]) delete next[key];
		if (!next.production) delete next.production;
		return next;
	}) });
	return (
		<fieldset class="groups">
			<legend>{w.settings.groups}</legend>
			{policy.groups.length === 0 && <p class="fine">{teams.length > 0 ? w.settings.noGroups : w.settings.noTeamsYet}</p>}
			{policy.groups.map((group, i) => (
				<div key={i} class="group-row" role="group" aria-label={`${w.settings.groups} ${i + 1}`}>
					<label>{w.settings.team}<select value={group.teamId} onChange={(event) => set(i, { teamId: event.currentTarget.value })}>{teams.map((team) => <option key={team.id} value={team.id}>{visible(team.name, false)}</option>)}</select></label>
					<label>{w.settings.groupVotes}<input type="number" min={1} max={20} required value={group.votes ?? 1} onInput={(event) => set(i, { votes: event.currentTarget.valueAsNumber })} /></label>
					<label>{w.settings.fromRisk}<select value={group.risk ?? ''} onChange={(event) => set(i, { risk: event.currentTarget.value as 'low' })}><option value="">{w.inbox.anyRisk}</option>{(['medium', 'high'] as const).map((one) => <option key={one} value={one}>{w.risks[one]}</option>)}</select></label>
					<label>{w.card.effect}<select value={group.effect ?? ''} onChange={(event) => set(i, { effect: event.currentTarget.value as 'mutate' })}><option value="">{w.settings.anyEffect}</option>{(['mutate', 'destructive'] as const).map((one) => <option key={one} value={one}>{w.effects[one]}</option>)}</select></label>
					<label class="check"><input type="checkbox" checked={group.production === true} onChange={(event) => set(i, { production: event.currentTarget.checked })} /> {w.settings.onlyProduction}</label>
					<button type="button" aria-label={`${w.settings.remove} ${i + 1}`} onClick={() => onChange({ groups: policy.groups.filter((_, n) => n !== i) })}>{w.settings.remove}</button>
				</div>
			))}
			{teams.length > 0 && <div><button type="button" onClick={() => onChange({ groups: [...policy.groups, { teamId: teams[0]!.id, votes: 1 }] })}>{w.settings.addGroup}</button></div>}
		</fieldset>
	);
}

export function PolicyPart() {
	const w = useWords();
	const { data, error, again, set } = useAnswer<PolicyDocument>('/api/v1/settings');
	const [draft, setDraft] = useState<Policy | null>(null);
	const [working, setWorking] = useState(false), [failure, setFailure] = useState<unknown>(null);
	useEffect(() => {
		if (data) setDraft(data.policy);
	}, [data]);
	const change: Change = (part) => setDraft((was) => was && { ...was, ...part });
	const dirty = data !== null && JSON.stringify(draft) !== JSON.stringify(data.policy);
	const save = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setFailure(null);
		await ask<PolicyDocument>('PUT', '/api/v1/settings', { policy: draft, policyVersion: data!.policyVersion }).then((now) => {
			set(now);
			say(w.agents.saved);
		}, setFailure);
		setWorking(false);
	};
	return (
		<>
			<section class="panel" aria-labelledby="policy-title">
				<div class="panel-head"><div><h3 id="policy-title">{w.settings.parts.policy}</h3><p class="fine">{w.settings.policyText}</p></div>{data && <span class="mark">{w.card.version(data.policyVersion)}</span>}</div>
				{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
				{!data && error === null && <p class="quiet pad" role="status">{w.loading}</p>}
				{data && draft && (
					<form onSubmit={save}>
						<div class="panel-body">
							<Votes policy={draft} onChange={change} />
							<Switches of={SWITCHES} legend={w.settings.rulesOf} policy={draft} onChange={change} />
							<Switches of={MODES} legend={w.settings.modes} policy={draft} onChange={change} />
							<Groups policy={draft} onChange={change} />
							<AllowList policy={draft} onChange={change} />
							{failure !== null && <Failure error={failure} />}
						</div>
						<div class={`save ${dirty ? 'dirty' : ''}`}>
							<span class="fine">{dirty ? w.settings.drift : ''}</span>
							<div class="buttons">
								{dirty && <button type="button" onClick={() => { setDraft(data.policy); setFailure(null); }}>{w.agents.discard}</button>}
								<button type="submit" class="primary" disabled={working || !dirty}>{w.agents.save}</button>
							</div>
						</div>
					</form>
				)}
			</section>
			{(draft || error !== null) && <Explain />}
		</>
	);
}
