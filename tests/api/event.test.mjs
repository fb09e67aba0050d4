// SPDX-License-Identifier: Apache-2.0
// event_stream: what happens, told to those who may see it, from every server (TL-10, RUN-2).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres, streamEnded, until } from './lib/server.mjs';
import { modernHeaders, modernMessage, Wire } from './lib/wire.mjs';

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

/** Opens an event stream and leaves it open; gives what closes it, or the refusal. */
async function open(token) {
	const stop = new AbortController();
	const response = await fetch(`${w.server.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
	if (response.status !== 200) return { status: response.status, json: await response.json(), headers: response.headers };
	return { status: 200, response, stop: () => stop.abort() }; // without the response Node's garbage collector would close the stream
}
const held = async (kind) => Number(new RegExp(`^countersign_streams_held\\{kind="${kind}"\\} (\\d+)$`, 'm').exec((await w.server.get('/metrics')).text)[1]);

test('ID-6 one token holds 32 event streams at most, counted exactly though clients vanish; others still get theirs', async () => {
	await until(async () => (await held('events')) === 0, 'the streams of the tests before to be gone');
	const boss = await w.person(['admin']), [greedy, other] = [await w.agentOf(boss, { level: 'observer' }), await w.agentOf(boss, { level: 'observer' })];
	const open32 = await Promise.all(Array.from({ length: 40 }, () => open(greedy.token)));
	const [got, refusals] = [open32.filter(({ status }) => status === 200), open32.filter(({ status }) => status !== 200)];
	assert.deepEqual([got.length, refusals.length], [32, 8]);
	for (const { status, json, headers } of refusals) {
		assert.deepEqual([status, json.code], [429, 'rate_limited']);
		assert.match(json.message, /may hold 32 of these streams at once.*close one, or poll/);
		assert.ok(headers.get('retry-after'));
	}
	assert.equal(await held('events'), 32);
	const rest = [await open(other.token), await open(w.first.adminToken)];
	assert.deepEqual(rest.map(({ status }) => status), [200, 200]);
	got.pop().stop();
	await until(async () => (await held('events')) === 33, 'its place to be free again');
	got.push(await open(greedy.token));
	assert.equal(got.at(-1).status, 200);
	assert.equal((await open(greedy.token)).status, 429);
	for (const { stop } of [...got, ...rest]) stop();
	await until(async () => (await held('events')) === 0, 'all of them to be gone');
});

test('ID-6 MCP: one token holds 32 streams that listen, and the refusal says so', async () => {
	const { token } = await w.agentOf(await w.person(['admin']), { level: 'observer' });
	const wire = new Wire(w.server, token), message = modernMessage('subscriptions/listen', { notifications: { toolsListChanged: true } });
	const streams = await Promise.all(Array.from({ length: 32 }, () => wire.follow({ message, headers: modernHeaders(message) })));
	const { status, json } = await wire.post(message, modernHeaders(message));
	assert.equal(status, 429);
	assert.match(json.error.message, /may hold 32/);
	for (const stream of streams) await stream.close();
	await until(async () => (await held('mcp')) === 0, 'all of them to be gone');
});
