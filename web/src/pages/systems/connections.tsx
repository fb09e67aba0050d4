// SPDX-License-Identifier: Apache-2.0
// Systems that are reached by webhook: which there are, and how they are.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { HealthMarks, HealthText, type AllHealth, type Health } from '../../ui/health.tsx';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { EditConnection } from './editconnection.tsx';
import { useSystemWords, type Connection } from './model.ts';

function Row({ c, health }: { c: Connection; health: Health | undefined }) {
	const s = useSystemWords();
	return (
		<tr>
			<th scope="row"><a href={pagePath('systems', 'webhooks', c.id)} onClick={follow}><Raw of={c.name} lines={false} /></a><div class="fine clip place"><Raw of={c.url} lines={false} /></div></th>
			<td>{health && <><HealthMarks of={health} /><div class="fine"><HealthText of={health} /></div></>}</td>
			<td class="spare few">{c.mode === 'events' ? <span class="quiet">{s.webhooks.modes.events}</span> : health && s.offered(health.accepted)}</td>
		</tr>
	);
}

export function Connections() {
	const w = useWords(), s = useSystemWords();
	const { data, error, again } = useLook<{ items: Connection[] }>('/api/v1/connections?limit=200');
	const health = useLook<AllHealth>('/api/v1/outside/health').data?.connections ?? [];
	const [adding, setAdding] = useState(false);
	return (
		<section class="panel" aria-labelledby="webhooks-title">
			<div class="panel-head"><h3 id="webhooks-title">{s.parts.webhooks}</h3><button type="button" class="primary" onClick={() => setAdding(true)}>{s.webhooks.add}</button></div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{!data && error === null && <p class="panel-body quiet" role="status">{w.loading}</p>}
			{data && data.items.length === 0 && <div class="empty"><h3>{s.webhooks.none}</h3><p>{s.webhooks.noneText}</p></div>}
			{data && data.items.length > 0 && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{s.name}</th><th scope="col">{s.state}</th><th scope="col" class="spare">{s.tools}</th></tr></thead>
					<tbody>{data.items.map((c) => <Row key={c.id} c={c} health={health.find(({ id }) => id === c.id)} />)}</tbody>
				</table></div>
			)}
			{adding && <EditConnection of={null} onClose={() => setAdding(false)} onDone={(c) => go(pagePath('systems', 'webhooks', c.id))} />}
		</section>
	);
}
