// SPDX-License-Identifier: Apache-2.0
// "Approve always": what the reader has opted in to for this agent, and a way back.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { language, useWords } from '../../words/words.ts';
import type { Agent, Override } from './model.ts';

export function Overrides({ agent }: { agent: Agent }) {
	const w = useWords();
	const spoken = useStore(language);
	const { data, error, again } = useAnswer<{ overrides: Override[] }>('/api/v1/tool-overrides');
	const [failure, setFailure] = useState<unknown>(null);
	const mine = (data?.overrides ?? []).filter((one) => one.agentId === agent.id);
	const take = (toolName: string) => {
		setFailure(null);
		ask('DELETE', `/api/v1/tool-overrides?agentId=${encodeURIComponent(agent.id)}&toolName=${encodeURIComponent(toolName)}`).then(() => {
			say(w.agents.overrideGone);
			return again();
		}, setFailure);
	};
	return (
		<section class="panel" aria-labelledby="overrides-title">
			<div class="panel-head"><div><h3 id="overrides-title">{w.agents.overrides}</h3><p class="fine">{w.agents.overridesText}</p></div></div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{failure !== null && <div class="panel-body"><Failure error={failure} /></div>}
			{data && mine.length === 0 && <p class="panel-body quiet">{w.agents.noOverrides}</p>}
			{mine.length > 0 && (
				<table class="table">
					<tbody>{mine.map((one) => (
						<tr key={one.toolName}><th scope="row"><code>{one.toolName}</code></th><td class="quiet">{clockTime(one.createdAt, spoken)}</td><td class="end"><button type="button" aria-label={`${w.agents.takeBack}: ${one.toolName}`} onClick={() => take(one.toolName)}>{w.agents.takeBack}</button></td></tr>
					))}</tbody>
				</table>
			)}
		</section>
	);
}
