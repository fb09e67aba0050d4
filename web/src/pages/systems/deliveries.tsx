// SPDX-License-Identifier: Apache-2.0
// What a connection has not been told yet, and what was given up.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { follow, proposalPath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { connectionPath, useSystemWords, type Connection, type Delivery } from './model.ts';

const MOST = 50;
const listPath = (id: string, state: Delivery['state']): string => `/api/v1/deliveries?state=${state}&connectionId=${encodeURIComponent(id)}&limit=${MOST}`;

function Row({ of: d }: { of: Delivery }) {
	const s = useSystemWords();
	const lang = useStore(language), dead = d.state === 'dead';
	const said = d.lastError || (d.lastStatus > 0 ? String(d.lastStatus) : '');
	return (
		<tr>
			<th scope="row"><code><Raw of={d.type} lines={false} /></code>{d.type !== 'tool.called' && <div class="fine"><a href={proposalPath(d.subject, 'pending')} onClick={follow}>…{d.subject.slice(-8)}</a></div>}</th>
			<td class="spare quiet">{clockTime(d.happenedAt, lang)}</td>
			<td>{d.tries}</td>
			<td>{dead ? <span class="mark state-unknown">{s.webhooks.givenUp}</span> : clockTime(d.dueAt, lang)}</td>
			<td class="fine">{said ? <Raw of={said} lines={false} /> : '—'}</td>
		</tr>
	);
}

export function Deliveries({ of: c, onChanged }: { of: Connection; onChanged: () => void }) {
	const w = useWords(), s = useSystemWords();
	const waiting = useLook<{ items: Delivery[]; next?: string }>(listPath(c.id, 'waiting')), dead = useLook<{ items: Delivery[]; next?: string }>(listPath(c.id, 'dead'));
	const [error, setError] = useState<unknown>(null);
	const rows = [...(dead.data?.items ?? []), ...(waiting.data?.items ?? [])], failed = error ?? waiting.error ?? dead.error, ready = waiting.data && dead.data;
	const again = async () => {
		setError(null);
		await Promise.all([waiting.again(), dead.again()]);
		onChanged();
	};
	const retry = () => ask<{ retried: number }>('POST', `${connectionPath(c.id)}/retry`).then(async ({ retried }) => {
		say(s.webhooks.retried(retried));
		await again();
	}, setError);
	return (
		<section class="panel" aria-labelledby="deliveries-title">
			<div class="panel-head">
				<div><h3 id="deliveries-title">{s.webhooks.deliveries}</h3><p class="fine">{s.webhooks.deliveriesText}</p></div>
				{(dead.data?.items.length ?? 0) > 0 && <button type="button" onClick={() => void retry()}>{s.webhooks.retry}</button>}
			</div>
			{failed !== null && <div class="panel-body"><Failure error={failed} retry={() => void again()} /></div>}
			{!ready && failed === null && <p class="panel-body quiet" role="status">{w.loading}</p>}
			{ready && rows.length === 0 && <p class="panel-body quiet">{s.webhooks.noDeliveries}</p>}
			{rows.length > 0 && (
				<div class="wide-table" tabIndex={0} role="group" aria-labelledby="deliveries-title"><table class="table">
					<thead><tr><th scope="col">{s.webhooks.what}</th><th scope="col" class="spare">{s.webhooks.when}</th><th scope="col">{s.webhooks.tries}</th><th scope="col">{s.webhooks.next}</th><th scope="col">{s.webhooks.said}</th></tr></thead>
					<tbody>{rows.map((d) => <Row key={`${d.eventId} ${d.state}`} of={d} />)}</tbody>
				</table></div>
			)}
			{(waiting.data?.next || dead.data?.next) && <p class="panel-body fine">{s.webhooks.moreDeliveries}</p>}
		</section>
	);
}
