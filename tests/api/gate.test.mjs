// SPDX-License-Identifier: Apache-2.0
// The gate: tool_list, agent_tools, agent_tools_put, override_list, override_create, override_delete, tool_call (TL-*).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { freshDatabase, onPostgres, run, startServer } from './lib/server.mjs';

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

const faults = async () => JSON.parse((await run(['version', '--json'])).stdout).faults;

test('TL-1 the catalogue has all that a tool declares, and only tools the caller may run or propose', async () => {
	const { tools } = await ok(w.agent.get('/api/v1/tools'));
	assert.equal(tools.filter(({ name }) => name.startsWith('flag.')).length, 31, 'docs/flags.md has them');
	assert.deepEqual(tools.map(({ name }) => name).filter((name) => !name.startsWith('flag.')), ['access.change', 'agent.create', 'agent.disable', 'agent.list', 'audit.describe_event', 'audit.query', 'environment.list', 'note.create', 'note.delete', 'note.get', 'note.list', 'note.update', 'org.list', 'permission.list', 'permission.set', 'project.list', 'token.list', 'token.mint', 'token.revoke']);
	const tool = tools.find(({ name }) => name === 'note.create');
	assert.deepEqual({ ...tool, inputSchema: 0, outputSchema: 0, description: 0 }, {
		name: 'note.create', modelName: 'note_create', version: 1, title: 'Create a note', description: 0, effect: 'mutate', inputSchema: 0, outputSchema: 0,
		rules: ['note.note.create'], proposeRule: 'note.note.propose', category: 'B', domain: 'operations', targetSystem: 'Countersign\'s own notebook',
		rollbackSupported: true, financial: false, personalData: false, phi: false, contract: 'transactional', provider: 'builtin', permissionStatus: 'needs_approval', override: false });
	assert.deepEqual(tool.inputSchema.required, ['title', 'text']);
	assert.ok(tool.outputSchema.required.includes('version'));
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
		await refused(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools }), 400, 'invalid_request');
	const { fields } = await refused(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.get', permissionStatus: 'block' }] }), 400, 'invalid_request', /^\/tools\/0\/permissionStatus must be one of: always_allow, needs_approval, blocked$/);
	assert.deepEqual(fields.map(({ path }) => path), ['/tools/0/permissionStatus']);
	await refused(w.admin.put('/api/v1/agents/none/tools', { tools: [] }), 404, 'not_found');
	await refused(agent.ask().put(`/api/v1/agents/${agent.id}/tools`, { tools: [] }), 403, 'forbidden', /access\.agent\.manage/);
});

test('TL-6 a read that needs approval becomes a proposal that is not run before it is approved', async () => {
	const note = await w.note('Secret', 'text');
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await set(agent, { 'note.get': 'needs_approval' });
	const { proposal: p, status } = await ok(agent.ask().post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }));
	assert.equal(status, 'awaiting_operator');
	assert.ok(!JSON.stringify(p).includes('Secret'));
	await w.approve(p);
	assert.deepEqual((await ok(agent.ask().post('/api/v1/proposals/apply', { token: p.token }))).result, note);
});

test('TL-7 an override is made by the person it is of, lifts the prompt of their agents, and never that of what destroys', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create', 'note.delete'] } }));
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const one = { agentId: agent.id, toolName: 'note.create' };
	assert.equal((await w.propose({}, agent.ask())).state, 'pending');
	await refused(agent.ask().post('/api/v1/tool-overrides', one), 403, 'forbidden', /only a person/);
	await refused(boss.post('/api/v1/tool-overrides', { ...one, toolName: 'none' }), 404, 'not_found');
	await refused(boss.post('/api/v1/tool-overrides', { ...one, agentId: boss.id }), 404, 'not_found');
	await ok(w.admin.post('/api/v1/tool-overrides', one));
	assert.equal((await w.propose({}, agent.ask())).state, 'pending', 'somebody else\'s override is not the delegator\'s');
	await ok(boss.post('/api/v1/tool-overrides', one));
	await refused(boss.post('/api/v1/tool-overrides', { ...one, toolName: 'note.delete' }), 409, 'conflict', /never count for note\.delete: what destroys/);
	assert.deepEqual((await ok(boss.get('/api/v1/tool-overrides'))).overrides.map(({ toolName }) => toolName), ['note.create']);
	const p = await w.propose({}, agent.ask());
	assert.equal(p.status, 'approved');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.created' }))[0].withOverride, true); // AU-3
	assert.equal((await w.propose({ input: { title: 'a\u200bb', text: '' } }, agent.ask())).state, 'pending', 'high risk');
	const note = await w.note();
	assert.equal((await w.propose({ tool: 'note.delete', input: { id: note.id } }, agent.ask())).state, 'pending');
	await set(agent, { 'note.create': 'blocked' });
	await refused(agent.ask().post('/api/v1/proposals', create()), 404, 'not_found');
	await set(agent, {});
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create'], overrides: false } }));
	assert.equal((await w.propose({}, agent.ask())).state, 'pending', 'the organization can switch overrides off');
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
	assert.equal((await w.propose({ tool: 'note.delete', input: { id: p.result.id } }, agent.ask())).state, 'pending');
	const asks = await w.agentOf(boss, { level: 'maintainer', mode: 'auto', approvalRequired: true });
	assert.equal((await w.propose({}, asks.ask())).state, 'pending');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	assert.equal((await w.propose({}, agent.ask())).state, 'pending', 'not on the allow-list any more');
});

test('ID-5 a token sees and touches only the keys it is for', async () => {
	const [mine, other] = [await w.note(), await w.note()];
	const agent = await w.agentOf(boss, { level: 'maintainer', keys: [mine.id] });
	const call = (tool, input) => agent.ask().post('/api/v1/tools/call', { tool, input });
	assert.equal((await ok(call('note.get', { id: mine.id }))).result.id, mine.id);
	for (const [tool, input] of [['note.get', { id: other.id }], ['note.update', { id: other.id, text: '' }]]) {
		const { message } = await refused(call(tool, input), 403, 'scope_denied');
		assert.equal(message, `Forbidden: ${tool} (the key ${other.id} is outside the token's scope)`, 'said back: the caller sent it');
	}
	const { message } = await refused(call('note.create', { title: 'x', text: 'y' }), 403, 'scope_denied');
	assert.equal(message, 'Forbidden: note.create (the key of its resource is outside the token\'s scope)', 'an id that was made here is not said');
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
	await refused(agent.ask().post('/api/v1/proposals', 'not an object'.length), 400, 'invalid_request'); // charged, too
	const over = await call();
	assert.equal(over.status, 429, over.text);
	assert.ok(Number(over.headers.get('retry-after')) >= 1 && Number(over.headers.get('retry-after')) <= 60);
	assert.equal(over.headers.get('x-ratelimit-remaining'), '0');
	await refused(agent.ask().post('/api/v1/tools/call', { tool: 'none', input: {} }), 429, 'rate_limited');
	await w.approve(p);
	assert.equal((await ok(agent.ask().post('/api/v1/proposals/apply', { token: p.token }))).status, 'applied');
});

// COUNTERSIGN_TEST_TAKES=100000 for at least so many takes, in rounds that have a token each.
const takes = Number(process.env.COUNTERSIGN_TEST_TAKES ?? 350);
test(`TL-9 the budget is exact under contention, over all servers (${takes} takes)`, async () => {
	const second = onPostgres ? await w.another() : w.server;
	for (let taken = 0; taken < takes; )
		for (const cap of [40, 150]) taken += await contend(cap, second); // above 128 a slot holds several calls
	if (second !== w.server) await second.stop({ keep: true });
});

/** More takes at once than the cap allows, half of them at the second server; gives how many. */
async function contend(cap, second) {
	const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: cap });
	const answers = await Promise.all(Array.from({ length: cap + 80 }, (_, i) => agent.ask(i % 2 ? second : w.server).post('/api/v1/tools/call', { tool: i % 3 ? 'note.list' : 'note.none', input: {} })));
	const through = answers.filter(({ status }) => status === 200 || status === 404).length;
	assert.ok(answers.every(({ status }) => [200, 404, 429].includes(status)), JSON.stringify(answers.map(({ status }) => status)));
	assert.ok(through <= cap, `${through} of ${cap}`);
	if (!onPostgres) assert.equal(through, cap);
	const rest = [];
	for (let i = through; i <= cap; i++) rest.push(await agent.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} }));
	assert.equal(rest.filter(({ status }) => status === 200).length, cap - through, 'none over the cap, none lost');
	return answers.length + rest.length;
}

test('TL-9 a burst of first calls, at all servers at once, is not too many where there is room', async () => {
	const second = onPostgres ? await w.another() : w.server;
	for (let i = 0; i < 5; i++) {
		const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 1000 });
		const answers = await Promise.all(Array.from({ length: 32 }, (_, n) => agent.ask(n % 2 ? second : w.server).post('/api/v1/tools/call', { tool: 'note.list', input: {} })));
		assert.deepEqual(answers.filter(({ status }) => status !== 200).map(({ text }) => text), []);
	}
	if (second !== w.server) await second.stop({ keep: true });
});

test('TL-3 what an agent reads by a proposal is what it could read by itself, whoever applies it', async () => {
	const [mine, other] = [await w.note(), await w.note()];
	const agent = await w.agentOf(boss, { level: 'maintainer', keys: [mine.id] });
	await set(agent, { 'note.list': 'needs_approval', 'note.get': 'needs_approval', 'permission.list': 'needs_approval', 'note.delete': 'blocked' });
	const ask = async (tool, input) => (await ok(agent.ask().post('/api/v1/tools/call', { tool, input }))).proposal;
	const apply = (p) => w.approve(p, boss, { apply: true });
	const list = await apply(await ask('note.list', { limit: 200 }));
	assert.deepEqual(list.result.notes.map(({ id }) => id), [mine.id], 'a person with all rights applied it, for one who sees one note');
	assert.equal((await apply(await ask('note.get', { id: mine.id }))).result.id, mine.id);
	const p = await ask('note.get', { id: other.id });
	const failed = await apply(p);
	assert.equal(failed.status, 'failed');
	assert.match(failed.error, /scope/);
	assert.equal((await ok(agent.ask().get(`/api/v1/proposals/${p.proposalId}`))).result, undefined);
	const wide = await w.agentOf(boss, { level: 'maintainer' });
	await set(wide, { 'permission.list': 'needs_approval', 'note.delete': 'blocked' });
	const { proposal } = await ok(wide.ask().post('/api/v1/tools/call', { tool: 'permission.list', input: { agentId: wide.id } }));
	const names = (await apply(proposal)).result.tools.map(({ toolName }) => toolName);
	assert.ok(names.includes('note.create') && !names.includes('note.delete'), 'what is blocked for it stays unknown to it (TL-2)');
});

test('TL-3 a narrowed token does not run a wide read of somebody else', async () => {
	const note = await w.note();
	const wide = await w.agentOf(boss, { level: 'maintainer' }), narrow = await w.agentOf(boss, { level: 'maintainer', keys: ['none'] });
	await set(wide, { 'note.get': 'needs_approval' });
	const { proposal: p } = await ok(wide.ask().post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }));
	await w.approve(p);
	await refused(narrow.ask().post('/api/v1/proposals/apply', { token: p.token }), 403, 'scope_denied', /scope/);
	assert.equal((await ok(wide.ask().post('/api/v1/proposals/apply', { token: p.token }))).result.id, note.id);
});

/** Something to say to every tool about flags. */
async function flagInputs() {
	const { items } = await ok(boss.get('/api/v1/environments'));
	const envId = items.find((e) => e.production).id, projectId = items[0].projectId, other = items.find((e) => !e.production).id;
	const ruleset = { countersign: 'ruleset/1', flags: {}, configs: {}, segments: {}, targetField: 'userId' };
	const inputs = { 'flag.import': { envId, ruleset }, 'flag.import_exact': { envId, ruleset }, 'flag.promote': { fromEnvId: other, toEnvId: envId }, 'flag.evaluate_for_context': { envId, context: {} }, 'flag.lookup_flags_for_target': { envId, targetId: 'x' }, 'flag.get_ruleset_version': { envId },
		'flag.kill_flag': { envId, resourceKey: 'a-flag', diff: {} }, 'flag.set_rollout': { envId, resourceKey: 'a-flag', ruleIndex: 0, rolloutPercent: 5 } };
	for (const type of ['flag', 'config', 'segment']) {
		const resourceKey = `a-${type}`, rule = type === 'segment' ? {} : { value: true };
		const value = type === 'segment' ? {} : { type: 'boolean' };
		const made = await ok(boss.post('/api/v1/tools/call', { tool: `flag.create_${type}`, input: { projectId, key: resourceKey, ...value } }));
		await ok(boss.post(`/api/v1/proposals/${made.proposal.proposalId}/apply`));
		Object.assign(inputs, { [`flag.list_${type}s`]: { envId }, [`flag.describe_${type}`]: { envId, resourceKey }, [`flag.create_${type}`]: { projectId, key: `b-${type}`, ...value }, [`flag.delete_${type}`]: { envId, resourceKey, diff: {} },
			[`flag.update_${type}_metadata`]: { projectId, resourceKey, description: 'x' }, [`flag.append_${type}_rule`]: { envId, resourceKey, rule }, [`flag.set_rules_${type}`]: { envId, resourceKey, diff: { rules: [rule] } } });
		if (type !== 'segment') inputs[`flag.set_default_value_${type}`] = { envId, resourceKey, diff: { defaultValue: true } };
	}
	return inputs;
}

test('TL-3 an agent sees and may do at most what its person does: every tool, listed, called, proposed', async () => {
	const note = await w.note();
	const inputs = { 'note.list': {}, 'note.get': { id: note.id }, 'note.create': { title: 'x', text: '' }, 'note.update': { id: note.id, text: 'y' }, 'note.delete': { id: note.id },
		'access.change': { operation: 'team_create', input: { name: 'x' } }, 'agent.list': {}, 'agent.create': { name: 'x' }, 'agent.disable': { id: w.first.agentId }, 'permission.list': { agentId: w.first.agentId }, 'permission.set': { agentId: w.first.agentId, tool: 'note.get', status: 'blocked' },
		'token.list': {}, 'token.mint': { name: 'x', principalId: w.first.agentId, level: 'observer' }, 'token.revoke': { id: 'none' }, 'org.list': {}, 'project.list': {}, 'environment.list': {}, 'audit.query': { limit: 1 }, 'audit.describe_event': { id: 'none' }, ...await flagInputs() };
	const all = (await ok(boss.get('/api/v1/tools'))).tools.map(({ name }) => name);
	assert.deepEqual(all, Object.keys(inputs).sort(), 'a tool that is new needs its input here');
	const agents = {};
	let compared = 0;
	for (const role of ['observer', 'proposer', 'operator', 'maintainer', 'admin']) {
		const person = await w.person([role]);
		for (const level of ['observer', 'maintainer']) {
			const agent = (agents[level] ??= await ok(w.admin.post('/api/v1/agents', { name: `As ${level}` })));
			const minted = await person.post('/api/v1/tokens', { name: 'its token', principalId: agent.id, level, ratePerMinute: 1000 });
			if (minted.status === 403) continue; // nobody gives what they do not have
			const ask = w.server.as((await ok(minted)).token);
			const names = async (who) => new Set((await ok(who.get('/api/v1/tools'))).tools.map(({ name }) => name));
			const [hers, its] = [await names(person), await names(ask)];
			for (const name of its) assert.ok(hers.has(name), `${name}: ${level} of ${role}`);
			for (const tool of all) {
				const [she, it] = [await person.post('/api/v1/tools/call', { tool, input: inputs[tool] }), await ask.post('/api/v1/tools/call', { tool, input: inputs[tool] })];
				if (she.status >= 400) assert.ok(it.status >= 400, `${tool}: ${level} of ${role}: ${it.text}`);
				if (it.json.status !== 'executed') continue;
				compared++;
				assert.equal(she.json.status, 'executed', `${tool}: ${level} of ${role}`);
				if (tool !== 'token.list') assert.deepEqual(it.json.result, she.json.result, `${tool}: ${level} of ${role}`);
			}
		}
	}
	assert.ok(compared > 50, `${compared} answers of both were compared`);
});

test('TL-4 every tool has a name that models take, and no two have the same', async () => {
	const names = (await ok(boss.get('/api/v1/tools'))).tools.map(({ modelName }) => modelName);
	assert.equal(new Set(names).size, names.length);
	for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
});

test('TL-8 permissions that cannot be loaded fail the request: 500, never what would be allowed without them', async (t) => {
	if (!(await faults())) return t.skip('skipped: fault points are not compiled in');
	const database = await freshDatabase();
	t.after(() => database.drop());
	const own = await World.start({ database });
	const agent = await own.agentOf(own.admin, { level: 'maintainer', mode: 'auto' });
	await ok(own.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create', 'note.update'] } }));
	const note = await own.note();
	const p = await own.propose();
	await own.approve(p);
	await ok(own.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.create', permissionStatus: 'blocked' }, { toolName: 'note.get', permissionStatus: 'needs_approval' }] }));
	const notes = await own.notes();
	await own.server.stop({ keep: true });
	const broken = await startServer({ database, env: { COUNTERSIGN_FAULT: 'permission_load:1:break' } });
	const ask = broken.as(agent.token), admin = broken.as(own.first.adminToken);
	for (const answer of [
		await ask.post('/api/v1/proposals', create()), await ask.post('/api/v1/proposals', { tool: 'note.update', input: { id: note.id, text: 'x' } }),
		await ask.post('/api/v1/tools/call', create()), await ask.post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }), await ask.post('/api/v1/tools/call', { tool: 'note.list', input: {} }),
		await ask.get('/api/v1/tools'), await ask.post('/api/v1/policy/explain', { tool: 'note.create' }), await admin.post('/api/v1/proposals', create()),
		await admin.post(`/api/v1/proposals/${p.proposalId}/apply`), await admin.post('/api/v1/proposals/apply', { token: p.token })]) {
		assert.equal(answer.status, 500, answer.text);
		assert.equal(answer.json.code, 'internal');
	}
	await broken.stop({ keep: true });
	own.server = Object.assign(await startServer({ database }), { first: own.first });
	assert.deepEqual(await own.notes(), notes);
	const { proposals } = await ok(own.admin.get('/api/v1/proposals'));
	assert.equal(proposals.length, 2, 'the note, and the one that is approved');
	assert.equal((await ok(own.admin.post(`/api/v1/proposals/${p.proposalId}/apply`))).status, 'applied', 'and it is not used up');
	await own.server.stop({ keep: true });
});

test('TL-8 an override that is saved counts from the next request, on both sides of it', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.create'] } }));
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const one = { agentId: agent.id, toolName: 'note.create' };
	const before_ = await w.propose({}, agent.ask());
	await ok(boss.post('/api/v1/tool-overrides', one));
	assert.equal((await ok(w.admin.get(`/api/v1/proposals/${before_.proposalId}`))).status, 'pending', 'what stands stays as it was decided');
	const p = await w.propose({}, agent.ask());
	assert.equal(p.state, 'approved');
	await ok(boss.delete(`/api/v1/tool-overrides?${new URLSearchParams(one)}`));
	assert.equal((await w.propose({}, agent.ask())).state, 'pending');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});
