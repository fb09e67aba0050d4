// SPDX-License-Identifier: Apache-2.0
// Other MCP servers: which there are, and how they are.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { follow, go, pagePath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { HealthMarks, HealthText, type AllHealth, type Health } from '../../ui/health.tsx';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { AddUpstream } from './addupstream.tsx';
import { useSystemWords, type Upstream } from './model.ts';

/** Its address, or the program. */
export const placeOf = (u: Upstream): string => u.url ?? u.program?.argv.join(' ') ?? '';

function Row({ u, health }: { u: Upstream; health: Health | undefined }) {
	const w = useWords(), s = useSystemWords();
	const lang = useStore(language);
	return (
		<tr>
			<th scope="row"><a href={pagePath('systems', 'servers', u.id)} onClick={follow}><Raw of={u.name} lines={false} /></a><div class="fine clip place"><Raw of={placeOf(u)} lines={false} /></div></th>
			<td>{u.authorization === 'needed' && <span class="mark state-pending">{w.health.authorize}</span>} {health && <><HealthMarks of={health} /><div class="fine"><HealthText of={health} /></div></>}</td>
			<td class="spare few">{health && s.offered(health.accepted)}</td>
			<td class="quiet spare">{health?.lookedAt ? clockTime(health.lookedAt, lang) : s.never}</td>
		</tr>
	);
}

export function Upstreams() {
	const w = useWords(), s = useSystemWords();
	const { data, error, again } = useLook<{ upstreams: Upstream[] }>('/api/v1/upstreams');
	const health = useLook<AllHealth>('/api/v1/outside/health').data?.upstreams ?? [];
	const [adding, setAdding] = useState(false);
	return (
		<section class="panel" aria-labelledby="servers-title">
			<div class="panel-head"><h3 id="servers-title">{s.parts.servers}</h3><button type="button" class="primary" onClick={() => setAdding(true)}>{s.servers.add}</button></div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{!data && error === null && <p class="panel-body quiet" role="status">{w.loading}</p>}
			{data && data.upstreams.length === 0 && <div class="empty"><h3>{s.servers.none}</h3><p>{s.servers.noneText}</p></div>}
			{data && data.upstreams.length > 0 && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{s.name}</th><th scope="col">{s.state}</th><th scope="col" class="spare">{s.tools}</th><th scope="col" class="spare">{s.looked}</th></tr></thead>
					<tbody>{data.upstreams.map((u) => <Row key={u.id} u={u} health={health.find(({ id }) => id === u.id)} />)}</tbody>
				</table></div>
			)}
			{adding && <AddUpstream onClose={() => setAdding(false)} onDone={(u) => go(pagePath('systems', 'servers', u.id))} />}
		</section>
	);
}
