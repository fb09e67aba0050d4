// SPDX-License-Identifier: Apache-2.0
// event_stream: what happens, told to those who may see it, from every server (TL-10, RUN-2).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres, streamEnded, until } from './lib/server.mjs';

let w, second;
before(async () => {
	w = await World.start();
	second = onPostgres ? await w.another() : w.server;
});
after(async () => {
	if (second !== w.server) await second.stop({ keep: true });
	await w.stop();
});

/** Follows the events as somebody: `events` grows, `ended` becomes true. */
async function follow(server, token) {
	const stop = new AbortController();
	const response = await fetch(`${server.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
	assert.equal(response.status, 200);
	assert.match(response.headers.get('content-type'), /^text\/event-stream/);
	const following = { events: [], ended: false, stop: () => stop.abort() };
	(async () => {
		let text = '';
		for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
			const parts = (text + chunk).split('\n\n');
			text = parts.pop();
			for (const part of parts) {
				const event = Object.fromEntries(part.split('\n').filter((line) => !line.startsWith(':')).map((line) => line.split(/: ?(.*)/s).slice(0, 2)));
				if (event.data) following.events.push({ type: event.event, id: event.id, ...JSON.parse(event.data) });
			}
		}
	})().catch(streamEnded).finally(() => (following.ended = true));
	return following;
}

const of = ({ events }, p) => events.filter(({ proposalId }) => proposalId === p.proposalId).map(({ type }) => type);

test('TL-10 the life of a proposal is told once, on every server, metadata only', async () => {
	const here = await follow(w.server, w.first.adminToken), there = await follow(second, w.first.adminToken);
	const p = await w.propose({ input: { title: 'Do not tell', text: 'secret' } });
	await w.approve(p, w.admin, { apply: true });
	const all = ['approval.decided', 'proposal.applied'];
	for (const one of [here, there]) {
		await until(() => all.every((type) => of(one, p).includes(type)), 'the news');
		assert.equal(of(one, p).filter((type) => type === 'proposal.applied').length, 1);
		await until(() => one.events.some(({ type, status }) => type === 'tool.called' && status === 'proposed'), 'the call');
		assert.ok(!JSON.stringify(one.events).match(/Do not tell|secret/));
	}
	const q = await w.propose();
	await until(() => of(here, q).includes('proposal.pending') && of(there, q).includes('proposal.pending'), 'pending');
	await ok(w.agent.post(`/api/v1/proposals/${q.proposalId}/cancel`));
	await until(() => of(there, q).includes('proposal.cancelled'), 'cancelled');
	here.stop();
	there.stop();
});

test('who may not see a proposal hears nothing of it; who is revoked hears nothing more', async () => {
	const boss = await w.person(['admin']);
	const narrow = await w.agentOf(boss, { rules: ['catalog.system.read'] });
	const [deaf, hears] = [await follow(w.server, narrow.token), await follow(w.server, w.first.adminToken)];
	const p = await w.propose();
	await until(() => of(hears, p).length > 0, 'the news');
	assert.deepEqual(deaf.events, []);
	await ok(w.admin.delete(`/api/v1/tokens/${narrow.tokenId}`));
	await until(() => deaf.ended, 'its end');
	hears.stop();
	await refused(w.server.get('/api/v1/events'), 401, 'unauthenticated');
});
