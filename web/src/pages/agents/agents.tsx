// SPDX-License-Identifier: Apache-2.0
// Agents: who they are. A page for each says what it may.
import { useState } from 'preact/hooks';

import { useAnswer, useFresh } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { AgentPage } from './agent.tsx';
import { DOMAINS, type Agent } from './model.ts';
import './agents.css';

export function CreateAgent({ onDone, onClose }: { onDone: (agent: Agent) => void; onClose: () => void }) {
	const w = useWords();
	const [name, setName] = useState(''), [domain, setDomain] = useState('operations');
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const submit = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setError(null);
		await ask<Agent>('POST', '/api/v1/agents', { name, domain }).then(onDone, setError);
		setWorking(false);
	};
	return (
		<Dialog title={w.agents.createTitle} onClose={onClose}>
			<form onSubmit={submit}>
				<label>{w.agents.name}<input type="text" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} autofocus /><span class="hint-text">{w.agents.nameHint}</span></label>
				<label>{w.agents.domain} <select value={domain} onChange={(event) => setDomain(event.currentTarget.value)}>{DOMAINS.map((one) => <option key={one} value={one}>{w.agents.domains[one]}</option>)}</select></label>
				{error !== null && <Failure error={error} />}
				<div class="buttons">
					<button type="button" onClick={onClose}>{w.close}</button>
					<button type="submit" class="primary" disabled={working || name.trim() === ''}>{w.agents.createTitle}</button>
				</div>
			</form>
		</Dialog>
	);
}

function Row({ agent }: { agent: Agent }) {
	const w = useWords();
	const spoken = useStore(language);
	return (
		<tr>
			<th scope="row"><a href={pagePath('agents', agent.id)} onClick={follow}><Raw of={agent.name} lines={false} /></a></th>
			<td class="spare">{w.agents.domains[agent.domain]}</td>
			<td><span class={`mark ${agent.disabled ? 'state-denied' : 'state-approved'}`}>{agent.disabled ? w.agents.disabled : w.agents.active}</span></td>
			<td class="quiet spare">{clockTime(agent.createdAt, spoken)}</td>
		</tr>
	);
}

function List() {
	const w = useWords();
	const { data, error, again } = useAnswer<{ items: Agent[] }>('/api/v1/agents?limit=200');
	const [creating, setCreating] = useState(false);
	useFresh(again);
	return (
		<div class="sheet">
			<div class="sheet-head">
				<div><h2>{w.pages.agents}</h2><p class="lead">{w.agents.lead}</p></div>
				<button type="button" class="primary" onClick={() => setCreating(true)}>{w.agents.create}</button>
			</div>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!data && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{data && (
				<div class="panel wide-table">
					{data.items.length === 0 ? <div class="empty"><h3>{w.agents.none}</h3><p>{w.agents.noneText}</p></div> : (
						<table class="table">
							<thead><tr><th scope="col">{w.agents.name}</th><th scope="col" class="spare">{w.agents.domain}</th><th scope="col">{w.agents.state}</th><th scope="col" class="spare">{w.agents.created}</th></tr></thead>
							<tbody>{data.items.map((agent) => <Row key={agent.id} agent={agent} />)}</tbody>
						</table>
					)}
				</div>
			)}
			{creating && <CreateAgent onClose={() => setCreating(false)} onDone={(agent) => go(pagePath('agents', agent.id))} />}
		</div>
	);
}

export default function Agents({ path }: { path: readonly string[] }) {
	return path.length > 0 ? <AgentPage key={path[0]} id={path[0]!} /> : <List />;
}
