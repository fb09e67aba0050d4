// SPDX-License-Identifier: Apache-2.0
// The tools of MCP as clients see them: names, schemas, results (MCP-2).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import Ajv2020 from 'ajv/dist/2020.js';

import { Shop } from './lib/flags.mjs';
import { ok, World } from './lib/flow.mjs';
import { ask, legacy, modern, said, shape } from './lib/mcp-clients.mjs';
import { stories } from './lib/mcp-stories.mjs';
import { connectLegacy, connectModern } from './lib/stdio.mjs';

let w, boss, agent, shop, clients;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	shop = await Shop.open(boss);
	agent = await w.agentOf(boss, { level: 'admin', override: true, ratePerMinute: 100000 });
	clients = [await legacy(w.server.url, agent.token), await modern(w.server.url, agent.token)];
});
after(async () => {
	for (const client of clients ?? []) await client.close();
	await w?.stop();
});

const call = async (name, input = {}, { token = agent.token, ...options } = {}) => (await ask(w.server.url, token, 'tools/call', { name, arguments: input }, options)).json;

// --- names ---

const S4 = `list_organizations list_projects list_environments list_flags list_configs list_segments
	describe_flag describe_config describe_segment evaluate_for_context lookup_flags_for_target get_ruleset_version
	audit_query describe_audit_event
	propose_set_default_value propose_set_default_value_config propose_set_rules_flag propose_set_rules_config propose_set_rules_segment
	propose_kill_flag propose_delete_flag propose_delete_config propose_delete_segment
	apply_proposal cancel_proposal describe_proposal wait_proposal list_proposals
	create_flag create_config create_segment update_flag_metadata update_config_metadata update_segment_metadata
	append_flag_rule append_config_rule append_segment_rule`.split(/\s+/);

test('MCP-2 TL-4 every tool of the list has exactly its name, and REST calls it by the registry’s', async () => {
	for (const client of clients) {
		const names = (await client.list()).map(({ name }) => name);
		assert.deepEqual(S4.filter((name) => !names.includes(name)), []);
		assert.equal(new Set(names).size, names.length);
		for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
	}
	const { tools } = await ok(agent.ask().get('/api/v1/tools'));
	const named = Object.fromEntries(tools.map(({ name, modelName }) => [modelName, name]));
	assert.equal(named.propose_kill_flag, 'flag.kill_flag');
	assert.equal(named.list_projects, 'project.list');
	assert.ok((await ok(agent.ask().post('/api/v1/tools/call', { tool: 'project.list', input: {} }))).result.items.some(({ id }) => id === shop.project.id));
	assert.ok((await call('project.list')).result.structuredContent.items, 'and so does MCP');
});

test('REST-1 everything that MCP can do REST can do: the same tools, and a path for what one does with a proposal', async () => {
	const own = { apply_proposal: 'post /api/v1/proposals/{id}/apply', cancel_proposal: 'post /api/v1/proposals/{id}/cancel',
		describe_proposal: 'get /api/v1/proposals/{id}', wait_proposal: 'get /api/v1/proposals/{id}/wait', list_proposals: 'get /api/v1/proposals' };
	const { paths } = (await agent.ask().get('/openapi.json')).json;
	for (const [name, way] of Object.entries(own)) {
		const [method, path] = way.split(' ');
		assert.ok(paths[path]?.[method], name);
	}
	const { tools } = await ok(agent.ask().get('/api/v1/tools'));
	const there = [...tools.map(({ modelName }) => modelName), ...Object.keys(own)].sort();
	for (const client of clients) assert.deepEqual((await client.list()).map(({ name }) => name).sort(), there);
});

test('MCP-2 TL-5 TL-9 where things are and what has happened are tools of the registry: rules, budget and a row', async () => {
	const plain = await w.agentOf(boss, { level: 'observer', ratePerMinute: 6 });
	const read = async (name, input) => (await call(name, input, { token: plain.token })).result;
	assert.deepEqual((await read('list_organizations')).structuredContent.items.map(({ slug }) => slug), ['default']);
	assert.ok((await read('list_projects', { limit: 1 })).structuredContent.next, 'pages');
	const { items } = (await read('list_environments', { projectId: shop.project.id })).structuredContent;
	assert.deepEqual(items.map(({ slug }) => slug).sort(), ['live', 'staging']);
	const { entries } = (await read('audit_query', { action: 'record.created', resourceType: 'project', limit: 5 })).structuredContent;
	assert.equal(entries[0].resourceKey, 'shop');
	assert.equal((await read('describe_audit_event', { id: entries[0].id })).structuredContent.entry.id, entries[0].id);
	assert.equal(said(await read('audit_query', { slug: 'other' })).kind, 'feedback', 'whose log it is, is not asked');
	assert.equal((await call('list_projects', {}, { token: plain.token })).error.code, 429);
	const none = await w.agentOf(boss, { rules: ['note.note.read'] });
	const refused = (await call('audit_query', {}, { token: none.token })).result;
	assert.equal(said(refused).code, 'forbidden');
	assert.match(said(refused).message, /audit\.entry\.read/);
});

test('AP-3 a person’s own token in a model’s hands agrees to nothing: over MCP asking is not agreeing', async () => {
	const own = await ok(boss.post('/api/v1/tokens', { name: 'mine' }));
	const wish = { title: 'Mine', text: '' };
	const { structuredContent: asked } = (await call('note_create', wish, { token: own.token })).result;
	assert.equal(asked.state, 'pending');
	const applied = (await call('apply_proposal', { id: asked.proposalId }, { token: own.token })).result;
	assert.equal(said(applied).code, 'approval_required');
	const asks = w.server.as(own.token);
	assert.equal((await ok(asks.post('/api/v1/proposals', { tool: 'note.create', input: wish }))).state, 'pending', 'by REST neither: it is a token');
	assert.equal((await ok(boss.post('/api/v1/proposals', { tool: 'note.create', input: wish }))).state, 'approved', 'in a session it is the person who asks');
});

test('MCP-2 TL-4 the names are as docs/mcp.md says, and its requests work as they stand', async () => {
	const page = await readFile(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
	const said = Object.fromEntries([...page.matchAll(/`(\w+)` is\s+`([\w.]+)`/g)].map(([, model, name]) => [model, name]));
	const { tools } = await ok(agent.ask().get('/api/v1/tools'));
	for (const { name, modelName } of tools) assert.ok([said[modelName], modelName.replace('_', '.'), `flag.${modelName.replace(/^propose_/, '')}`].includes(name), `${modelName}: ${name}`);
	const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, text]) => text).filter((text) => text.includes('"jsonrpc"'));
	assert.equal(blocks.length, 2, 'one of each era');
	for (const block of blocks) {
		const { stdout } = await promisify(execFile)('sh', ['-euc', block.replaceAll('http://127.0.0.1:7700', w.server.url)], { env: { PATH: process.env.PATH, COUNTERSIGN_TOKEN: agent.token } });
		assert.ok(JSON.parse(stdout).result.structuredContent.notes, stdout);
	}
});

// --- schemas ---

/** An input that each tool takes, so that it does something: a tool that is not here fails the test. */
async function inputs() {
	const n = Math.random().toString(36).slice(2);
	for (const kind of ['flag', 'config', 'segment']) await shop[kind](`${kind}-${n}`);
	await shop.put('flags', `flag-${n}`, { defaultValue: true, rules: [{ if: { field: 'country', $equals: 'de' }, value: false }] });
	const envId = shop.staging.id, projectId = shop.project.id, rule = { if: { field: 'country', $equals: 'at' } };
	const of = (kind, more) => ({ envId, resourceKey: `${kind}-${n}`, ...more });
	const create = (kind, more) => ({ projectId, key: `new-${kind}-${n}`, ...more });
	const describe = (kind) => ({ projectId, resourceKey: `${kind}-${n}`, description: 'new' });
	const written = await w.note();
	const pending = await w.propose({}, agent.ask()), again = await w.propose({}, agent.ask());
	const approved = await w.propose({}, agent.ask());
	await w.approve(approved, boss);
	const other = await w.agentOf(boss, { level: 'observer' });
	const [entry] = await w.audit({});
	return {
		list_organizations: {}, list_projects: {}, list_environments: { projectId },
		list_flags: { envId }, list_configs: { envId }, list_segments: { envId, limit: 1 },
		describe_flag: of('flag'), describe_config: of('config'), describe_segment: of('segment'),
		evaluate_for_context: { envId, context: { userId: 'u', country: 'de' }, keys: [`flag-${n}`, 'absent'], verboseReason: true },
		lookup_flags_for_target: { envId, targetId: 'u' }, get_ruleset_version: { envId },
		audit_query: { limit: 3 }, describe_audit_event: { id: entry.id },
		propose_set_default_value: of('flag', { diff: { defaultValue: false }, spotCheck: [{ userId: 'u' }] }),
		propose_set_default_value_config: of('config', { diff: { defaultValue: 7 } }),
		propose_set_rules_flag: of('flag', { diff: { rules: [{ ...rule, value: true }] } }),
		propose_set_rules_config: of('config', { diff: { rules: [{ ...rule, value: 1 }] } }),
		propose_set_rules_segment: of('segment', { diff: { rules: [rule] } }),
		propose_kill_flag: of('flag', { diff: {} }), propose_delete_flag: of('flag', { diff: {} }),
		propose_delete_config: of('config', { diff: {} }), propose_delete_segment: of('segment', { diff: {} }),
		create_flag: create('flag', { type: 'boolean', defaultValue: false }), create_config: create('config', { type: 'number', defaultValue: 0 }), create_segment: create('segment'),
		update_flag_metadata: describe('flag'), update_config_metadata: describe('config'), update_segment_metadata: describe('segment'),
		append_flag_rule: of('flag', { rule: { ...rule, value: true } }), append_config_rule: of('config', { rule: { ...rule, value: 1 } }), append_segment_rule: of('segment', { rule }),
		set_rollout: of('flag', { ruleIndex: 0, rolloutPercent: 50 }),
		flag_promote: { fromEnvId: envId, toEnvId: shop.live.id, resources: [{ type: 'flag', key: `flag-${n}` }] },
		flag_import: { envId, ruleset: { countersign: 'ruleset/1', flags: { [`flag-${n}`]: { type: 'boolean', defaultValue: false, rules: [] } } } },
		flag_import_exact: { envId, ruleset: { countersign: 'ruleset/1', flags: { [`flag-${n}`]: { type: 'boolean', defaultValue: false, rules: [] } } } },
		note_list: { limit: 1 }, note_get: { id: written.id }, note_create: { title: 't', text: 'x' }, note_update: { id: written.id, text: 'y' }, note_delete: { id: written.id },
		agent_list: {}, agent_create: { name: 'New' }, agent_disable: { id: other.id },
		permission_list: { agentId: other.id }, permission_set: { agentId: other.id, tool: 'note.list', status: 'blocked' },
		token_list: {}, token_mint: { name: 'New', principalId: other.id, level: 'observer' }, token_revoke: { id: other.tokenId },
		describe_proposal: { id: pending.proposalId }, wait_proposal: { id: pending.proposalId, timeout: 1 }, list_proposals: { limit: 5 },
		cancel_proposal: { id: again.proposalId }, apply_proposal: { id: approved.proposalId },
	};
}

test('MCP-1 MCP-2 every tool, in both eras: title, icon, annotations, and structured content that is what it publishes', async () => {
	const effects = Object.fromEntries((await ok(agent.ask().get('/api/v1/tools'))).tools.map(({ modelName, effect }) => [modelName, effect]));
	for (const client of clients) {
		const given = await inputs();
		for (const tool of await client.list()) {
			const what = `${client.era} ${tool.name}`, ajv = new Ajv2020({ strict: false });
			assert.ok(tool.title && tool.description, what);
			assert.match(tool.icons[0].src, /^data:image\/svg\+xml,[^ "<>]+$/, what);
			const effect = effects[tool.name] ?? (/^(apply|cancel)/.test(tool.name) ? 'mutate' : 'read');
			assert.deepEqual([tool.annotations.readOnlyHint, tool.annotations.destructiveHint, tool.annotations.openWorldHint], [effect === 'read', effect === 'destructive', false], what);
			assert.equal(tool.outputSchema.type, 'object', what);
			assert.ok(given[tool.name], `${what}: the test knows no input for it`);
			assert.ok(ajv.compile(tool.inputSchema)(given[tool.name]), what);
			const result = await client.call(tool.name, given[tool.name]);
			assert.ok(!result.isError && result.structuredContent, `${what}: ${JSON.stringify(result)}`);
			const valid = ajv.compile(tool.outputSchema);
			assert.ok(valid(result.structuredContent), `${what}: ${JSON.stringify(valid.errors)} ${JSON.stringify(result.structuredContent)}`);
			assert.equal('proposalId' in result.structuredContent, effect !== 'read' || /^(describe|wait)_proposal$/.test(tool.name), what);
		}
	}
});

test('MCP-2 what is applied gives what its tool publishes', async () => {
	const { tools } = await ok(agent.ask().get('/api/v1/tools')), given = await inputs();
	const order = ['note_create', 'note_update', 'note_delete', 'agent_create', 'permission_set', 'create_flag', 'create_config', 'create_segment', 'update_flag_metadata', 'update_config_metadata',
		'append_flag_rule', 'append_config_rule', 'append_segment_rule', 'set_rollout', 'propose_set_default_value', 'propose_set_rules_config', 'propose_set_rules_segment', 'flag_promote', 'flag_import',
		'propose_kill_flag', 'propose_delete_segment', 'flag_import_exact', 'token_revoke', 'token_mint', 'agent_disable'];
	for (const name of order) {
		const tool = tools.find(({ modelName }) => modelName === name);
		const answer = (await call(name, given[name])).result;
		assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
		let p = answer.structuredContent;
		if (p.state === 'pending') p = await w.approve(p, boss, { apply: true });
		if (p.state === 'approved') p = await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
		assert.equal(p.state, 'applied', `${name}: ${JSON.stringify(p.apply ?? p.error)}`);
		const valid = new Ajv2020({ strict: false }).compile(tool.outputSchema);
		assert.ok(valid(p.result), `${name}: ${JSON.stringify(valid.errors)} ${JSON.stringify(p.result)}`);
	}
});

// --- why, in the agent's own words ---

test('MCP-2 PA-11 every tool of the registry takes `intent`: on the card as the agent’s words, and no part of what is executed', async () => {
	const { tools } = await ok(agent.ask().get('/api/v1/tools')), known = new Set(tools.map(({ modelName }) => modelName));
	const [first, ...others] = clients;
	const listed = await first.list();
	for (const { name, inputSchema: { properties, required = [] } } of listed) {
		assert.equal(properties?.intent?.type, known.has(name) ? 'string' : undefined, name);
		assert.ok(!required.includes('intent'), name);
	}
	assert.deepEqual((await others[0].list()).map(({ inputSchema }) => inputSchema), listed.map(({ inputSchema }) => inputSchema));
	for (const client of clients) {
		const { content, structuredContent: p } = await client.call('note_create', { title: 't', text: 'x', intent: 'the customer asked for it' });
		assert.deepEqual(p.payload, { title: 't', text: 'x' });
		assert.equal(p.card.agentSays.summary, 'the customer asked for it');
		assert.match(content[0].text, /The agent says \(its own words, not checked by anybody\):\n +> the customer asked for it/);
	}
	const shown = await ok(agent.ask().post('/api/v1/tools/call', { tool: 'note.create', input: { title: 't', text: 'x' }, intent: { summary: 'S', reasoning: 'R' } }));
	assert.deepEqual([shown.proposal.card.agentSays.summary, shown.proposal.card.agentSays.reasoning], ['S', 'R'], 'over REST as in a proposal');
	assert.ok((await call('note_list', { intent: 'to see' })).result.structuredContent.notes, 'a read that runs has no card');
});

test('MCP-2 TL-2 an intent that is none is feedback, and says nothing about which tools there are', async () => {
	for (const intent of [7, false, {}, ['x'], 'x'.repeat(501)]) {
		const { result } = await call('note_create', { title: 't', text: 'x', intent });
		assert.deepEqual([said(result).kind, said(result).issues.map(({ path }) => path)], ['feedback', ['/intent']], JSON.stringify(intent).slice(0, 20));
	}
	const one = await w.agentOf(boss, { level: 'maintainer' });
	await ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note_delete', permissionStatus: 'blocked' }] })); // by what models call it
	assert.deepEqual((await ok(w.admin.get(`/api/v1/agents/${one.id}/tools`))).tools.filter(({ stored }) => stored).map(({ toolName }) => toolName), ['note.delete']);
	for (const intent of ['x', 7]) {
		const answers = [];
		for (const name of ['note_delete', 'note_absent']) answers.push(JSON.stringify(await call(name, { id: 'x', intent }, { token: one.token })).replaceAll(name, 'X'));
		assert.equal(answers[0], answers[1]);
	}
});

// --- what the text tells a model to do ---

test('MCP-2 ID-9 who may not apply is not told to: a person does; and what is over is gone, whatever one may', async () => {
	const weak = await w.agentOf(boss, { level: 'proposer', ratePerMinute: 1000 });
	const client = await modern(w.server.url, weak.token);
	const asks = (name, input) => client.call(name, input);
	const propose = async () => asks('note_create', { title: 't', text: 'x' });
	const made = await propose(), p = made.structuredContent;
	assert.equal(p.mayApply, false);
	assert.match(made.content[0].text, /wait_proposal[^]*until a person has applied it: your token may not apply it/);
	assert.doesNotMatch(made.content[0].text, /apply_proposal/);
	await w.approve(p, boss);
	const waited = await asks('wait_proposal', { id: p.proposalId });
	assert.match(waited.content[0].text, /a person does, at\n\S+\nCall wait_proposal with \{"id":"[^"]+","known":"approved"\}/);
	assert.doesNotMatch(waited.content[0].text, /apply_proposal/);
	assert.equal(said(await asks('apply_proposal', { id: p.proposalId })).code, 'forbidden');
	const waiting = asks('wait_proposal', { id: p.proposalId, known: 'approved', timeout: 30 });
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
	const end = (await waiting).structuredContent;
	assert.deepEqual([end.state, 'mayApply' in end], ['applied', false]);
	assert.equal(said(await asks('apply_proposal', { id: p.proposalId })).code, 'proposal_gone');

	const other = (await propose()).structuredContent;
	await ok(boss.post(`/api/v1/proposals/${other.proposalId}/deny`, { viewHash: other.viewHash, reason: 'not "today"' }));
	assert.match((await asks('wait_proposal', { id: other.proposalId })).content[0].text, /is denied: nothing has been changed\.[^]*The reason that was given: "not \\"today\\""\./);
	assert.equal(said(await asks('apply_proposal', { id: other.proposalId })).code, 'proposal_gone');
	const stranger = await w.agentOf(boss, { rules: ['note.note.read'] });
	assert.equal(said((await call('apply_proposal', { id: other.proposalId }, { token: stranger.token })).result).code, 'not_found', 'to others it never was');

	const strong = (await call('note_create', { title: 't', text: 'x' })).result;
	assert.equal(strong.structuredContent.mayApply, true);
	assert.match(strong.content[0].text, /then apply_proposal with the same/);
	const secret = (await call('token_mint', { name: 'New', principalId: weak.id, level: 'observer' })).result.structuredContent;
	assert.equal(secret.mayApply, false, 'what makes a secret is applied by a person');
	const gone = (await propose()).structuredContent;
	assert.match((await asks('cancel_proposal', { id: gone.proposalId, note: 'a mistake' })).content[0].text, /is cancelled[^]*"a mistake"/);
	await client.close();
});

test('MCP-2 in production the default agent may propose, and is told that a person applies it', async () => {
	await shop.flag('told', { defaultValue: true });
	const plain = await w.agentOf(boss);
	const kill = async (env) => (await call('propose_kill_flag', { envId: env.id, resourceKey: 'told', diff: {} }, { token: plain.token })).result.structuredContent;
	const there = await kill(shop.live), here = await kill(shop.staging);
	for (const [p, may] of [[there, false], [here, true]]) {
		assert.equal(p.mayApply, may, p.envId);
		assert.equal((await call('describe_proposal', { id: p.proposalId }, { token: plain.token })).result.structuredContent.mayApply, may);
	}
});

// --- an agent's day ---

const transports = {
	'SDK v1': (token) => legacy(w.server.url, token),
	'SDK v2, modern': (token) => modern(w.server.url, token),
	'SDK v1 over stdio': async (token) => shape('legacy', await connectLegacy(w.server.url, token)),
	'SDK v2, modern, over stdio': async (token) => shape('modern', await connectModern(w.server.url, token)),
};

for (const [name, connect] of Object.entries(transports))
	test(`MCP-1 MCP-2 ${name}: ${Object.keys(stories).join('; ')}`, async (t) => {
		const client = await connect(agent.token);
		for (const [title, story] of Object.entries(stories)) await t.test(title, () => story({ w, boss, connect, client }));
		await client.close();
	});
