// SPDX-License-Identifier: Apache-2.0
// How the other systems are, and who has used how much of their budget, in one answer each (EX-5, TL-9).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { Receiver } from './lib/receiver.mjs';
import { until } from './lib/server.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let w, boss, up, receiver;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	up = await startUpstream({ tools: [tool('read_file'), tool('write_file')] });
	receiver = await Receiver.start();
});
after(async () => {
	await up?.stop();
	await receiver?.stop();
	await w?.stop();
});

const health = async (who = boss) => ok(who.get('/api/v1/outside/health')); // outside_health
const add = (name, url) => ok(boss.post('/api/v1/upstreams', { name, kind: 'http', url, networks: ['127.0.0.0/8'] }));

test('EX-5 outside_health: an organization without other systems has none', async () => {
	assert.deepEqual(await health(), { upstreams: [], connections: [] });
});

test('EX-3 EX-5 outside_health counts what waits to be accepted, and says when a server answered or what was wrong', async () => {
	const files = await add('files', up.url), gone = await add('gone', 'http://127.0.0.1:9/mcp');
	const { tools } = await ok(boss.post(`/api/v1/upstreams/${files.id}/refresh`));
	await ok(boss.post(`/api/v1/upstreams/${files.id}/tools/accept`, { tools: [{ name: tools[0].name, definitionHash: tools[0].definitionHash, effect: 'read' }] }));
	await until(async () => (await health()).upstreams.every(({ lookedAt }) => lookedAt), 'a first look at both');
	const { upstreams } = await health();
	assert.deepEqual(upstreams.map(({ id, name, kind, state, accepted, quarantined }) => ({ id, name, kind, state, accepted, quarantined })), [
		{ id: files.id, name: 'files', kind: 'http', state: 'active', accepted: 1, quarantined: 1 },
		{ id: gone.id, name: 'gone', kind: 'http', state: 'active', accepted: 0, quarantined: 0 },
	]);
	assert.equal(upstreams[0].breaker, 'closed');
	assert.equal(upstreams[0].problem, undefined);
	assert.ok(Date.parse(upstreams[0].answeredAt) > 0);
	assert.match(upstreams[1].problem, /\w/);
	assert.equal(upstreams[1].answeredAt, undefined);
	for (let i = 0; i < 8; i++) await boss.post(`/api/v1/upstreams/${gone.id}/refresh`);
	const broken = (await health()).upstreams[1];
	assert.equal(broken.breaker, 'open');
	assert.ok(broken.failures >= 5);
	assert.ok(Date.parse(broken.breakerSince) > 0);
});

test('EX-1 EX-5 outside_health counts notifications that wait or were given up, and who may not manage connections is told of none', async () => {
	receiver.answer = () => ({ status: 410 });
	const c = await ok(boss.post('/api/v1/connections', { name: 'told', url: receiver.url, allow: ['127.0.0.0/8'], mode: 'events', events: ['proposal.*'] }));
	await w.propose();
	await until(async () => (await health()).connections[0].dead === 1, 'a notification that was given up');
	const [told] = (await health()).connections;
	assert.deepEqual([told.id, told.name, told.kind, told.state, told.waiting, told.accepted], [c.id, 'told', 'events', 'active', 0, 0]);
	assert.match(told.problem, /410/);
	const deliveries = async (query) => (await ok(boss.get(`/api/v1/deliveries?state=dead&connectionId=${query}`))).items; // delivery_list
	assert.deepEqual((await deliveries(c.id)).map(({ connectionId }) => connectionId), [c.id]);
	assert.deepEqual(await deliveries('another'), []);
	const observer = await w.person(['observer']);
	assert.deepEqual((await health(observer)).connections, []);
	assert.equal((await health(observer)).upstreams.length, 2);
	await ok(boss.post('/api/v1/roles', { name: 'notes only', rules: ['note.note.read'] }));
	await refused((await w.person(['notes only'])).get('/api/v1/outside/health'), 403, 'forbidden', /mcp\.upstream\.read/);
});

test('TL-9 budget_list says who has called how often in the last minute, of how many calls', async () => {
	const agent = await w.agentOf(boss, { level: 'operator', ratePerMinute: 7 });
	for (let i = 0; i < 3; i++) await ok(agent.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} }));
	const { items } = await ok(boss.get('/api/v1/budgets'));
	const own = items.find(({ principalId }) => principalId === agent.id);
	assert.deepEqual([own.kind, own.used, own.cap], ['agent', 3, 7]);
	assert.ok(Date.parse(own.freeAt) > 0);
	assert.ok(items.every((one, i) => i === 0 || one.used <= items[i - 1].used), 'most calls first');
	await refused((await w.person(['notes only'])).get('/api/v1/budgets'), 403, 'forbidden', /access\.agent\.read/);
});
