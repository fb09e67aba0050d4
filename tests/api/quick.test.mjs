// SPDX-License-Identifier: Apache-2.0
// Reads that cost no transaction: calls of a large budget are lent, rows are written behind (TL-5, TL-9; docs/decisions/0021).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { lookBehind, onPostgres, until } from './lib/server.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let w, boss, up, upstream, read;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	up = await startUpstream({ tools: [tool('read_file', { run: ({ path }) => ({ content: [{ type: 'text', text: path }], isError: path === 'broken' }) })] });
	upstream = await ok(boss.post('/api/v1/upstreams', { name: 'files', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] }));
	const [seen] = (await ok(boss.post(`/api/v1/upstreams/${upstream.id}/refresh`))).tools;
	read = seen.name;
	await ok(boss.post(`/api/v1/upstreams/${upstream.id}/tools/accept`, { tools: [{ name: read, definitionHash: seen.definitionHash, effect: 'read', tier: 'always_allow' }] }));
});
after(async () => {
	await up?.stop();
	await w?.stop();
});

const BUSY = { level: 'maintainer', ratePerMinute: 2000 };
const call = (agent, name, input = {}, server = w.server) => agent.ask(server).post('/api/v1/tools/call', { tool: name, input });
/** Says the answer that so many are left? A lease that ended with calls in it, at most a slot's 16, is counted as spent for a moment. */
function left({ headers }, most) {
	const said = Number(headers.get('x-ratelimit-remaining'));
	assert.ok(said <= most && said >= most - 16, `${said}, and ${most} are left`);
}
/** So many calls that the later ones are had of a lease. */
async function warm(agent) {
	for (let i = 0; i < 5; i++) await ok(call(agent, 'note.list'));
}

test('TL-5 TL-9 busy reads, ours and others\', give what reads give, and every one says what is left', async () => {
	const agent = await w.agentOf(boss, BUSY);
	for (let i = 0; i < 30; i++) {
		const ours = await call(agent, 'note.list'), theirs = await call(agent, read, { path: `p${i}` });
		assert.equal((await ok(ours)).status, 'executed');
		assert.equal((await ok(theirs)).result.content[0].text, `p${i}`);
		assert.notEqual(ours.json.toolCallId, theirs.json.toolCallId);
		left(ours, 2000 - 2 * i - 1);
		left(theirs, 2000 - 2 * i - 2);
		assert.equal(theirs.headers.get('x-ratelimit-limit'), '2000');
	}
});

test('TL-2 ID-6 what a busy agent may do ends at once: blocked, quarantined, revoked, out of its input', async () => {
	const agent = await w.agentOf(boss, BUSY);
	await warm(agent);
	await refused(call(agent, 'note.get', { id: 'nothing' }), 404, 'not_found');
	await refused(call(agent, 'note.list', { nonsense: 1 }), 400, 'invalid_request');
	await refused(call(agent, 'note.none'), 404, 'not_found', /no tool called/);
	const p = await ok(call(agent, 'note.create', { title: 'x', text: 'y' }));
	assert.equal(p.status, 'awaiting_operator');
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.list', permissionStatus: 'blocked' }] }));
	await refused(call(agent, 'note.list'), 404, 'not_found', /no tool called/);
	await ok(call(agent, read, { path: 'x' }));
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: read, permissionStatus: 'needs_approval' }] }));
	assert.equal((await ok(call(agent, read, { path: 'x' }))).status, 'awaiting_operator');
	left(await call(agent, 'note.none'), 2000 - 13); // refusals are calls, too
	await ok(w.admin.delete(`/api/v1/tokens/${agent.tokenId}`));
	await refused(call(agent, 'note.list'), 401, 'unauthenticated');
});

test('TL-9 a large budget is exact as well: never more than the cap over all servers, and none is lost', async (t) => {
	const cap = 1024, began = performance.now(), inTime = () => performance.now() - began < 50_000; // of the window's 60 seconds
	const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: cap });
	const second = onPostgres ? await w.another() : w.server;
	let through = 0;
	const some = async (count) => {
		const answers = await Promise.all(Array.from({ length: count }, (_, i) => call(agent, i % 5 ? 'note.list' : 'note.none', {}, i % 2 ? second : w.server)));
		assert.ok(answers.every(({ status }) => [200, 404, 429].includes(status)), JSON.stringify(answers.map(({ status }) => status)));
		through += answers.filter(({ status }) => status !== 429).length;
		assert.ok(through <= cap || !inTime(), `${through} of ${cap}`);
	};
	for (let i = 0; i < 6; i++) await some(200);
	await until(async () => { await some(4); return through === cap || !inTime(); }, 'what a server held and did not use');
	await some(20);
	if (!inTime()) t.skip('this machine is too slow to use the budget up within its window');
	if (second !== w.server) await second.stop({ keep: true });
});

test('TL-5 every busy read leaves its row, executed or failed, and a stop loses none', async () => {
	const agent = await w.agentOf(boss, BUSY), ids = [];
	for (let i = 0; i < 20; i++) ids.push((await ok(call(agent, i % 2 ? 'note.list' : read, i % 2 ? {} : { path: 'x' }))).toolCallId);
	await up.stop();
	await refused(call(agent, read, { path: 'x' }), 502, 'outside_failed');
	for (let i = 0; i < 3; i++) ids.push((await ok(call(agent, 'note.list'))).toolCallId);
	await w.server.stop({ keep: true });
	const rows = (await lookBehind(w.server, `SELECT call_id, tool, status FROM call WHERE principal_id = '${agent.id}' ORDER BY call_id`)).map((row) => row.split('|'));
	assert.deepEqual(rows.filter(([, , status]) => status === 'executed').map(([id]) => id), ids);
	assert.deepEqual(rows.filter(([, , status]) => status !== 'executed').map(([, name, status]) => [name, status]), [[read, 'failed']]);
});
