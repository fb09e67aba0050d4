// SPDX-License-Identifier: Apache-2.0
// "What would happen if …": asks policy about a call that nobody makes.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask, me } from '../../lib/api.ts';
import type { Json } from '../../lib/canon.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { RiskMark } from '../../ui/marks.tsx';
import { Failure, Notice } from '../../ui/notice.tsx';
import { sentence, useWords } from '../../words/words.ts';
import type { Agent, Tool } from '../agents/model.ts';
import type { Explained } from './model.ts';

function Verdict({ said }: { said: Explained }) {
	const w = useWords();
	const line = (text: string) => <li key={text}>{sentence(w, visible(text))}</li>;
	return (
		<Notice tone={said.verdict === 'refuse' ? 'bad' : said.verdict === 'run' ? 'good' : 'info'}>
			<p><b>{said.verdict === 'ask' ? w.settings.asks(said.votes) : w.settings.verdicts[said.verdict]}</b> <RiskMark level={said.risk.level} /></p>
			{said.reasons.length > 0 && <ul>{said.reasons.map(line)}</ul>}
			{said.risk.reasons.length > 0 && <><p class="fine">{w.settings.riskBecause}</p><ul>{said.risk.reasons.map(line)}</ul></>}
			{said.groups.map((group) => <p key={group.teamId} class="fine">{w.settings.ofTeam(group.votes, visible(group.team, false))}</p>)}
			<p class="fine">{w.proposal.permission}: {w.tiers[said.permissionStatus]}</p>
		</Notice>
	);
}

export function Explain() {
	const w = useWords();
	const who = useStore(me)!;
	const agents = useAnswer<{ items: Agent[] }>('/api/v1/agents?limit=200').data?.items ?? [];
	const tools = useAnswer<{ tools: Tool[] }>('/api/v1/tools').data?.tools ?? [];
	const places = useAnswer<{ items: { id: string; name: string }[] }>('/api/v1/environments?limit=200').data?.items ?? [];
	const [principal, setPrincipal] = useState<string | null>(null), [tool, setTool] = useState(''), [place, setPlace] = useState(''), [input, setInput] = useState('');
	const [said, setSaid] = useState<Explained | null>(null), [error, setError] = useState<unknown>(null), [wrong, setWrong] = useState(false);
	const principalId = principal ?? agents[0]?.id ?? who.id, name = tool || tools[0]?.name || '';
	const submit = (event: Event) => {
		event.preventDefault();
		let given: Json | undefined;
		setSaid(null);
		setError(null);
		try {
			given = input.trim() ? (JSON.parse(input) as Json) : undefined;
			setWrong(false);
		} catch {
			return setWrong(true);
		}
		ask<Explained>('POST', '/api/v1/policy/explain', { tool: name, principalId, ...(place ? { environmentId: place } : {}), ...(given === undefined ? {} : { input: given }) }).then(setSaid, setError);
	};
	return (
		<section class="panel" aria-labelledby="explain-title">
			<div class="panel-head"><div><h3 id="explain-title">{w.settings.explain}</h3><p class="fine">{w.settings.explainText}</p></div></div>
			<form class="panel-body" onSubmit={submit}>
				<div class="explain">
					<label>{w.settings.who}<select value={principalId} onChange={(event) => setPrincipal(event.currentTarget.value)}>
						{agents.map((agent) => <option key={agent.id} value={agent.id}>{visible(agent.name, false)}</option>)}
						<option value={who.id}>{w.settings.you}</option>
					</select></label>
					<label>{w.card.tool}<select value={name} onChange={(event) => setTool(event.currentTarget.value)}>{tools.map((one) => <option key={one.name} value={one.name}>{visible(one.name, false)}</option>)}</select></label>
					<label>{w.settings.where}<select value={place} onChange={(event) => setPlace(event.currentTarget.value)}><option value="">{w.settings.anywhere}</option>{places.map((one) => <option key={one.id} value={one.id}>{visible(one.name, false)}</option>)}</select></label>
				</div>
				<label>{w.settings.input}<textarea rows={2} spellcheck={false} placeholder="{}" value={input} aria-invalid={wrong} aria-describedby={wrong ? 'input-wrong' : undefined} onInput={(event) => setInput(event.currentTarget.value)} /></label>
				{wrong && <p id="input-wrong" class="bad-text" role="alert">{w.settings.notJson}</p>}
				{error !== null && <Failure error={error} />}
				{said && <Verdict said={said} />}
				<div><button type="submit" disabled={name === ''}>{w.settings.ask}</button></div>
			</form>
		</section>
	);
}
