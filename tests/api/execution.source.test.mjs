// SPDX-License-Identifier: Apache-2.0
// The tool of another system that was approved is the one that runs: its source, address, credential and declaration are on the
// card and compared at the claim (PA-6, EX-3, EX-4).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { Receiver } from './lib/receiver.mjs';
import { secret } from './lib/secret.mjs';
import { until } from './lib/server.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let w, boss, first, second, count = 0;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	[first, second] = [await Receiver.start(), await Receiver.start()];
});
after(async () => {
	await first?.stop();
	await second?.stop();
	await w?.stop();
});

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;
const state = async (p) => (await ok(w.admin.get(at(p)))).state;
const connect = (more = {}) => ok(w.admin.post('/api/v1/connections', { name: `hook${++count}`, url: first.url, allow: ['127.0.0.0/8'], ...more }));
const message = {
	title: 'Send a message',
	description: 'Sends a message to a customer.',
	effect: 'mutate',
	inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'], additionalProperties: false },
	failure: 'The customer gets no message.',
};
const declare = (c, name, more = {}) => ok(w.admin.put(`/api/v1/connections/${c.id}/tools/${name}`, { ...message, ...more }));

async function approved(name, input = { amount: 7 }) {
	const p = await ok(w.agent.post('/api/v1/proposals', { tool: name, input }));
	await w.approve(p, boss);
	return p;
}

/** Nothing was sent, nothing has changed, and it is said why. */
async function hasDrifted(p, why = /is not what was shown/) {
	const before = [first.requests.length, second.requests.length];
	await refused(boss.post(at(p, '/apply')), 409, 'version_drift', why);
	assert.equal(await state(p), 'approved');
	assert.deepEqual([first.requests.length, second.requests.length], before);
}

test('PA-6 the card names the source: its id, its origin and not its address, its credential, what is declared of the tool', async () => {
	const path = `way-${randomBytes(8).toString('hex')}`, c = await connect({ url: `${first.url}/${path}?key=${path}`, auth: 'bearer', authSecret: secret('bearer') }), name = `send${++count}`;
	const declared = await declare(c, name, { personalData: true });
	const p = await ok(w.agent.post('/api/v1/proposals', { tool: declared.tool, input: { amount: 1 } }));
	const { source } = p.card;
	assert.equal(source.address, new URL(first.url).origin);
	assert.ok(!JSON.stringify(p).includes(path), 'what comes after the origin is often a secret');
	assert.match(source.addressHash, /^[0-9a-f]{64}$/);
	assert.ok(source.credential.length > 8);
	assert.match(source.definitionHash, /^[0-9a-f]{64}$/);
	assert.deepEqual([source.id, source.name, source.kind, source.version, source.effect, source.category, source.contract, source.rollbackSupported, source.financial, source.personalData, source.phi],
		[c.id, c.name, 'webhook', 1, 'mutate', 'C', 'blind', false, false, true, false]);
	const sameAddress = await connect({ url: `${first.url}/${path}?key=${path}` }), other = await declare(sameAddress, `send${++count}`);
	const q = await ok(w.agent.post('/api/v1/proposals', { tool: other.tool, input: { amount: 1 } }));
	assert.notEqual(q.card.source.addressHash, source.addressHash, 'nobody who sees two cards can tell that two addresses are the same one');
});

test('PA-6 EX-3 a server that was deleted and added again under its name, elsewhere, does not get what was approved for the first', async () => {
	const pay = () => tool('pay', { run: () => ({ content: [{ type: 'text', text: 'paid' }] }) });
	const [bank, thief] = [await startUpstream({ tools: [pay()] }), await startUpstream({ tools: [pay()] })];
	const add = async (up) => {
		const u = await ok(boss.post('/api/v1/upstreams', { name: 'bank', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] }));
		const { tools } = await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`));
		const { tools: [t] } = await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: [{ name: 'mcp__bank__pay', definitionHash: tools[0].definitionHash, effect: 'mutate' }] }));
		return { u, version: t.version };
	};
	const one = await add(bank);
	assert.equal(one.version, 1);
	const p = await approved('mcp__bank__pay', { path: 'invoice 7' });
	await ok(boss.delete(`/api/v1/upstreams/${one.u.id}`));
	const two = await add(thief);
	assert.equal(two.version, 2, 'the version of a deleted name does not come back');
	await hasDrifted(p, /another version now|is not what was shown/);
	assert.deepEqual([bank.calls, thief.calls], [[], []]);
	const q = await approved('mcp__bank__pay', { path: 'invoice 8' });
	assert.equal((await ok(boss.post(at(q, '/apply')))).state, 'applied');
	assert.equal(thief.calls.length, 1);
	await bank.stop();
	await thief.stop();
});

test('PA-6 EX-1 a webhook’s address that was changed after the vote gets neither the command nor the credential', async () => {
	const bearer = secret('bearer'), c = await connect({ auth: 'bearer', authSecret: bearer }), { tool: name } = await declare(c, `send${++count}`);
	const p = await approved(name);
	const moved = await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { url: second.url }));
	assert.deepEqual([moved.hasSecret, moved.needsSecret, moved.auth], [false, true, 'bearer']);
	await hasDrifted(p);
	assert.equal(second.requests.length, 0);

	const q = await approved(name);
	const failed = await ok(boss.post(at(q, '/apply')));
	assert.equal(failed.state, 'failed');
	assert.match(failed.error, /its credential was not entered again \(authSecret\); nothing was sent/);
	const ping = await ok(w.admin.post(`/api/v1/connections/${c.id}/test`));
	assert.deepEqual([ping.reached, ping.httpStatus], [false, 0]);
	assert.match(ping.why, /not entered again/);
	assert.equal(second.requests.length, 0, 'nothing was sent to it');

	await refused(w.admin.patch(`/api/v1/connections/${c.id}`, { auth: 'bearer' }), 400, 'invalid_request', /authSecret/);
	const renewed = secret('bearer-of-the-new-place');
	assert.equal((await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { authSecret: renewed }))).needsSecret, false);
	await hasDrifted(p);
	const r = await approved(name);
	assert.equal((await ok(boss.post(at(r, '/apply')))).state, 'applied');
	assert.equal(second.last.headers.authorization, `Bearer ${renewed}`);
});

test('PA-6 another credential at the same address is another source; the same address written once more is not', async () => {
	const c = await connect({ auth: 'bearer', authSecret: secret('one') }), { tool: name } = await declare(c, `send${++count}`);
	const p = await approved(name), q = await approved(name);
	await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { url: first.url, deadlineMs: 5000 }));
	assert.equal((await ok(boss.post(at(p, '/apply')))).state, 'applied');
	await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { authSecret: secret('two') }));
	await hasDrifted(q);
});

test('EX-1 a connection that needs no credential keeps working at its new address', async () => {
	const c = await connect(), { tool: name } = await declare(c, `send${++count}`);
	const moved = await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { url: second.url }));
	assert.deepEqual([moved.hasSecret, moved.needsSecret], [false, false]);
	assert.equal((await ok(boss.post(at(await approved(name), '/apply')))).state, 'applied');
});

test('PA-6 TL-1 a tool that was deleted and declared anew as something worse has a higher version, and is not what was approved', async () => {
	const c = await connect(), name = `send${++count}`, { tool: full, version } = await declare(c, name);
	assert.equal(version, 1);
	const p = await approved(full);
	await ok(w.admin.delete(`/api/v1/connections/${c.id}/tools/${name}`));
	const worse = await declare(c, name, { title: 'Wipe the account', effect: 'destructive', financial: true, phi: true });
	assert.equal(worse.version, 2);
	await hasDrifted(p, /another version now|is not what was shown/);
	await ok(w.admin.delete(`/api/v1/connections/${c.id}/tools/${name}`));
	assert.equal((await declare(c, name)).version, 3, 'as it was, and still another one');
	await hasDrifted(p, /another version now/);
});

test('TL-6 TL-7 what an agent was allowed of a tool ends with it; another one by its name asks again, and what was blocked stays blocked', async () => {
	const c = await connect(), name = `send${++count}`, lookup = `look${++count}`, { tool: full } = await declare(c, name), { tool: read } = await declare(c, lookup, { effect: 'read' });
	const stored = async (agent) => Object.fromEntries((await ok(w.admin.get(`/api/v1/agents/${agent.id}/tools`))).tools.filter((one) => one.stored).map(({ toolName, permissionStatus }) => [toolName, permissionStatus]));
	const trusted = await w.agentOf(boss, { level: 'maintainer' }), distrusted = await w.agentOf(boss, { level: 'maintainer' });
	const set = (agent, status) => ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [full, read].map((toolName) => ({ toolName, permissionStatus: status })) }));
	await set(trusted, 'always_allow');
	await set(distrusted, 'blocked');
	for (const one of [name, lookup]) {
		await ok(w.admin.delete(`/api/v1/connections/${c.id}/tools/${one}`));
		await declare(c, one, { effect: one === name ? 'mutate' : 'read' });
	}
	assert.deepEqual(await stored(trusted), {});
	assert.deepEqual(await stored(distrusted), { [full]: 'blocked', [read]: 'blocked' });
});

test('EX-4 what was changed between the claim and the send is not sent', async () => {
	const c = await connect(), { tool: name } = await declare(c, `send${++count}`), held = [], before = first.requests.length;
	const proposals = [];
	for (let i = 0; i < 9; i++) proposals.push(await approved(name));
	first.answer = () => new Promise((resolve) => held.push(() => resolve({})));
	const answers = proposals.slice(0, 8).map((p) => boss.post(at(p, '/apply')));
	await until(() => first.requests.length === before + 8, 'all places of its lane to be taken');
	const last = boss.post(at(proposals[8], '/apply'));
	await until(async () => (await state(proposals[8])) === 'executing', 'the claim of the one that waits for a place');
	await ok(w.admin.patch(`/api/v1/connections/${c.id}`, { url: second.url }));
	const elsewhere = second.requests.length;
	first.answer = () => ({});
	for (const release of held) release();
	const failed = await ok(last);
	assert.equal(failed.state, 'failed');
	assert.match(failed.error, /changed after it was claimed; nothing was sent/);
	for (const answer of answers) assert.equal((await ok(answer)).state, 'applied');
	assert.deepEqual([first.requests.length, second.requests.length], [before + 8, elsewhere]);
});
