// SPDX-License-Identifier: Apache-2.0
// One agent: its tokens, and what it may.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, pagePath } from '../../lib/route.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Matrix } from './matrix.tsx';
import type { Agent } from './model.ts';
import { Overrides } from './overrides.tsx';
import { Tokens } from './tokens.tsx';

function ShutOut({ agent, onDone, onClose }: { agent: Agent; onDone: (agent: Agent) => void; onClose: () => void }) {
	const w = useWords();
	const [error, setError] = useState<unknown>(null);
	const disabled = !agent.disabled;
	const submit = (event: Event) => {
		event.preventDefault();
		ask<Agent>('PATCH', `/api/v1/agents/${encodeURIComponent(agent.id)}`, { disabled }).then((now) => {
			say(disabled ? w.agents.isShutOut : w.agents.isLetIn);
			onDone(now);
		}, setError);
	};
	return (
		<Dialog title={disabled ? w.agents.shutOutTitle : w.agents.letInTitle} onClose={onClose}>
			<form onSubmit={submit}>
				<p class="dialog-summary"><Raw of={agent.name} lines={false} /></p>
				<p>{disabled ? w.agents.shutOutText : w.agents.letInText}</p>
				{error !== null && <Failure error={error} />}
				<div class="buttons"><button type="button" onClick={onClose}>{w.close}</button><button type="submit" class={disabled ? 'danger' : 'primary'} autofocus>{disabled ? w.agents.shutOut : w.agents.letIn}</button></div>
			</form>
		</Dialog>
	);
}

export function AgentPage({ id }: { id: string }) {
	const w = useWords();
	const { data: agent, error, again, set } = useAnswer<Agent>(`/api/v1/agents/${encodeURIComponent(id)}`);
	const [asking, setAsking] = useState(false);
	return (
		<div class="sheet">
			<p class="crumb"><a href={pagePath('agents')} onClick={follow}>← {w.pages.agents}</a></p>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!agent && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{agent && (
				<>
					<div class="sheet-head">
						<div>
							<h2><Raw of={agent.name} lines={false} /></h2>
							<p class="quiet"><span class={`mark ${agent.disabled ? 'state-denied' : 'state-approved'}`}>{agent.disabled ? w.agents.disabled : w.agents.active}</span> {w.agents.domains[agent.domain]} · <code>{agent.id}</code></p>
						</div>
						<button type="button" class={agent.disabled ? '' : 'danger'} onClick={() => setAsking(true)}>{agent.disabled ? w.agents.letIn : w.agents.shutOut}</button>
					</div>
					<Tokens agent={agent} />
					<Matrix agent={agent} />
					<Overrides agent={agent} />
					{asking && <ShutOut agent={agent} onClose={() => setAsking(false)} onDone={(now) => { set(now); setAsking(false); }} />}
				</>
			)}
		</div>
	);
}
