// SPDX-License-Identifier: Apache-2.0
// The gate: tool_list, agent_tools, agent_tools_put, override_list, override_create, override_delete, tool_call (TL-*).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres } from './lib/server.mjs';

let w, boss;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
});
after(() => w.stop());

const create = (title = 'x') => ({ tool: 'note.create', input: { title, text: '' } });
const set = (agent, tools) => ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: Object.entries(tools).map(([toolName, permissionStatus]) => ({ toolName, permissionStatus })) }));
/** What of an answer anybody could tell apart. */
const trace = ({ status, text, headers }) => ({ status, text, headers: [...headers].filter(([name]) => !['date', 'x-request-id', 'x-ratelimit-reset'].includes(name)) });

test('TL-1 the catalogue has all that a tool declares, and only tools the caller may run or propose', async () => {
	const { tools } = await ok(w.agent.get('/api/v1/tools'));
	assert.deepEqual(tools.map(({ name }) => name), ['agent.create', 'agent.disable', 'agent.list', 'note.create', 'note.delete', 'note.get', 'note.list', 'note.update', 'permission.list', 'permission.set', 'token.list', 'token.mint', 'token.revoke']);
	const tool = tools.find(({ name }) => name === 'note.create');
	assert.deepEqual({ ...tool, inputSchema: 0, description: 0 }, {
		name: 'note.create', modelName: 'note_create', version: 1, title: 'Create a note', description: 0, effect: 'mutate', inputSchema: 0,
		rules: ['note.note.create'], proposeRule: 'note.note.propose', category: 'B', domain: 'operations', targetSystem: 'Countersign\'s own notebook',
		rollbackSupported: true, financial: false, personalData: false, phi: false, contract: 'transactional', provider: 'builtin', permissionStatus: 'needs_approval', override: false });
	assert.deepEqual(tool.inputSchema.required, ['title', 'text']);
	const reader = await w.agentOf(boss, { rules: ['note.note.read'] });
	assert.deepEqual((await ok(reader.ask().get('/api/v1/tools'))).tools.map(({ name }) => name), ['note.get', 'note.list']);
});

test('TL-2 a blocked tool is exactly one that does not exist: body, status, headers, budget, listing', async () => {
	const [a, b] = [await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 10 }), await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 10 })];
	await set(a, { 'note.delete': 'blocked' });
	const ask = async (agent, path, body) => trace(await agent.ask().post(path, body));
	for (const [path, of] of [['/api/v1/proposals', (tool) => ({ tool, input: { id: 'x' } })], ['/api/v1/tools/call', (tool) => ({ tool, input: { id: 'x' } })], ['/api/v1/policy/explain', (tool) => ({ tool })], ['/api/v1/proposals', (tool) => ({ tool, input: { wrong: 1 } })]]) {
		const blocked = await ask(a, path, of('note.delete')), unknown = await ask(b, path, of('note.absent'));
		assert.equal(blocked.status, 404);
		assert.deepEqual(JSON.parse(JSON.stringify(blocked).replaceAll('note.delete', 'note.absent').replace(/\["content-length","\d+"\],/, '')), JSON.parse(JSON.stringify(unknown).replace(/\["content-length","\d+"\],/, '')));
	}
	const names = (await ok(a.ask().get('/api/v1/tools'))).tools.map(({ name }) => name);
	assert.ok(!names.includes('note.delete') && names.includes('note.create'));
	const left = (await a.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} })).headers.get('x-ratelimit-remaining');
	assert.equal(left, (await b.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} })).headers.get('x-ratelimit-remaining'));
	assert.equal(left, '6', 'three refusals and this call were charged; explaining costs nothing');
});

test('ID-9 a missing rule is a 403 that names it', async () => {
	const reader = await w.agentOf(boss, { rules: ['note.note.read'] });
	await refused(reader.ask().post('/api/v1/proposals', create()), 403, 'forbidden', /^Forbidden: note\.create \(missing permission: note\.note\.create\); with note\.note\.propose you could/);
});

test('TL-6 defaults by verb and effect; the full set is what is stored', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const stored = async () => Object.fromEntries((await ok(w.admin.get(`/api/v1/agents/${agent.id}/tools`))).tools.filter(({ toolName }) => toolName.startsWith('note.')).map(({ toolName, permissionStatus, stored }) => [toolName, stored ? permissionStatus : `(${permissionStatus})`]));
	assert.deepEqual(await stored(), { 'note.create': '(needs_approval)', 'note.delete': '(needs_approval)', 'note.get': '(always_allow)', 'note.list': '(always_allow)', 'note.update': '(needs_approval)' });
	await set(agent, { 'note.create': 'blocked', 'note.get': 'needs_approval' });
	await set(agent, { 'note.get': 'needs_approval' });
	assert.deepEqual(await stored(), { 'note.create': '(needs_approval)', 'note.delete': '(needs_approval)', 'note.get': 'needs_approval', 'note.list': '(always_allow)', 'note.update': '(needs_approval)' });
	assert.ok((await w.audit({ action: 'permission.changed', resourceId: agent.id })).length === 2);
	for (const tools of ['x', [1], [{}], [{ toolName: 'note.create', permissionStatus: 'maybe' }], [{ toolName: 'none', permissionStatus: 'blocked' }], Array(2).fill({ toolName: 'note.get', permissionStatus: 'blocked' })])
		await refused(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools }), 400, 'invalid');
	await refused(w.admin.put('/api/v1/agents/none/tools', { tools: [] }), 404, 'not_found');
	await refused(agent.ask().put(`/api/v1/agents/${agent.id}/tools`, { tools: [] }), 403, 'forbidden', /access\.agent\.manage/);
});

test('TL-6 a read that needs approval becomes a proposal that is not run before it is approved', async () => {
	const note = await w.note('Secret', 'text');
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await set(agent, { 'note.get': 'needs_approval' });
	const { proposal: p, status } = await ok(agent.ask().post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }));
	assert.equal(status, 'pending');
	assert.ok(!JSON.stringify(p).includes('Secret'));
	await w.approve(p);
	assert.deepEqual((await ok(agent.ask().post('/api/v1/proposals/apply', { token: p.token }))).result, note);
});

test('TL-7 an override is made by the person it is of, lifts the prompt of their agents, and never that of what destroys', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create', 'note.delete'] } }));
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const one = { agentId: agent.id, toolName: 'note.create' };
	assert.equal((await w.propose({}, agent.ask())).status, 'pending');
	await refused(agent.ask().post('/api/v1/tool-overrides', one), 403, 'forbidden', /only a person/);
	await refused(boss.post('/api/v1/tool-overrides', { ...one, toolName: 'none' }), 404, 'not_found');
	await refused(boss.post('/api/v1/tool-overrides', { ...one, agentId: boss.id }), 404, 'not_found');
	await ok(w.admin.post('/api/v1/tool-overrides', one));
	assert.equal((await w.propose({}, agent.ask())).status, 'pending', 'somebody else\'s override is not the delegator\'s');
	await ok(boss.post('/api/v1/tool-overrides', one));
	await ok(boss.post('/api/v1/tool-overrides', { ...one, toolName: 'note.delete' }));
	assert.deepEqual((await ok(boss.get('/api/v1/tool-overrides'))).overrides.map(({ toolName }) => toolName), ['note.create', 'note.delete']);
	const p = await w.propose({}, agent.ask());
	assert.equal(p.status, 'approved');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.created' }))[0].withOverride, true); // AU-3
	assert.equal((await w.propose({ input: { title: 'a\u200bb', text: '' } }, agent.ask())).status, 'pending', 'high risk');
	const note = await w.note();
	assert.equal((await w.propose({ tool: 'note.delete', input: { id: note.id } }, agent.ask())).status, 'pending');
	await set(agent, { 'note.create': 'blocked' });
	await refused(agent.ask().post('/api/v1/proposals', create()), 404, 'not_found');
	await set(agent, {});
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create'], overrides: false } }));
	assert.equal((await w.propose({}, agent.ask())).status, 'pending', 'the organization can switch overrides off');
	await ok(boss.delete(`/api/v1/tool-overrides?${new URLSearchParams(one)}`));
	await refused(boss.delete(`/api/v1/tool-overrides?${new URLSearchParams(one)}`), 404, 'not_found');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('PA-9 in auto mode what policy lets run is applied at once; what destroys never', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create', 'note.update', 'note.delete'] } }));
	const agent = await w.agentOf(boss, { level: 'maintainer', mode: 'auto' });
	const p = await w.propose({}, agent.ask());
	assert.equal(p.status, 'applied');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.applied' })).length, 1);
	const update = await w.propose({ tool: 'note.update', input: { id: p.result.id, text: 'new' } }, agent.ask());
	assert.equal(update.status, 'applied');
	assert.ok(update.diff.some(({ path }) => path === '/text'));
	assert.equal((await w.propose({ tool: 'note.delete', input: { id: p.result.id } }, agent.ask())).status, 'pending');
	const asks = await w.agentOf(boss, { level: 'maintainer', mode: 'auto', approvalRequired: true });
	assert.equal((await w.propose({}, asks.ask())).status, 'pending');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	assert.equal((await w.propose({}, agent.ask())).status, 'pending', 'not on the allow-list any more');
});

test('ID-5 a token sees and touches only the keys it is for', async () => {
	const [mine, other] = [await w.note(), await w.note()];
	const agent = await w.agentOf(boss, { level: 'maintainer', keys: [mine.id] });
	const call = (tool, input) => agent.ask().post('/api/v1/tools/call', { tool, input });
	assert.equal((await ok(call('note.get', { id: mine.id }))).result.id, mine.id);
	await refused(call('note.get', { id: other.id }), 403, 'forbidden', /scope/);
	await refused(call('note.update', { id: other.id, text: '' }), 403, 'forbidden', /scope/);
	assert.deepEqual((await ok(call('note.list', {}))).result.notes.map(({ id }) => id), [mine.id]);
});

test('TL-9 the budget: every call says what is left, the last one how long to wait; decisions are free', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 3 });
	const call = () => agent.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} });
	const first = await call();
	assert.equal(first.headers.get('x-ratelimit-limit'), '3');
	assert.equal(first.headers.get('x-ratelimit-remaining'), '2');
	assert.equal(first.headers.get('retry-after'), null);
	const p = await w.propose({}, agent.ask());
	await refused(agent.ask().post('/api/v1/proposals', 'not an object'.length), 400, 'invalid'); // charged, too
	const over = await call();
	assert.equal(over.status, 429, over.text);
	assert.ok(Number(over.headers.get('retry-after')) >= 1 && Number(over.headers.get('retry-after')) <= 60);
	assert.equal(over.headers.get('x-ratelimit-remaining'), '0');
	await refused(agent.ask().post('/api/v1/tools/call', { tool: 'none', input: {} }), 429, 'rate_limited');
	await w.approve(p);
	assert.equal((await ok(agent.ask().post('/api/v1/proposals/apply', { token: p.token }))).status, 'applied');
});

test('TL-9 the budget is exact under contention, over all servers', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 40 });
	const second = onPostgres ? await w.another() : w.server;
	const answers = await Promise.all(Array.from({ length: 120 }, (_, i) => agent.ask(i % 2 ? second : w.server).post('/api/v1/tools/call', { tool: i % 3 ? 'note.list' : 'note.none', input: {} })));
	const through = answers.filter(({ status }) => status === 200 || status === 404).length;
	assert.ok(answers.every(({ status }) => [200, 404, 429].includes(status)), JSON.stringify(answers.map(({ status }) => status)));
	assert.ok(through <= 40, `${through} of 40`);
	if (!onPostgres) assert.equal(through, 40);
	const rest = await Promise.all(Array.from({ length: 41 - through }, () => agent.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} })));
	assert.equal(rest.filter(({ status }) => status === 200).length, 40 - through, 'none over the cap, none lost');
	if (second !== w.server) await second.stop({ keep: true });
});
