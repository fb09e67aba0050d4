// SPDX-License-Identifier: Apache-2.0
// A token sees only what it is for (ID-6, TL-2). The inventory: every operation of /openapi.json, every tool, resource and
// stream is asked by a narrowed token in a world with secrets planted outside its scope, and no answer holds one of them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Shop } from './lib/flags.mjs';
import { ok, refused, World } from './lib/flow.mjs';
import { ask as mcp } from './lib/mcp-clients.mjs';
import { program, streamEnded, temporaryDirectory, until } from './lib/server.mjs';

const OTHER = 'PLANTED-key';
let w, boss, shop, planted, wide;
const MARK = /PLANTED-[a-z-]+/g;
/** Markers that a text holds, but for the one that every token of this scope may see. */
const found = (text) => [...new Set(String(text).match(MARK) ?? [])].filter((mark) => mark !== 'PLANTED-in-scope');

before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	shop = await Shop.open(boss);
	wide = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
	planted = await plant();
});
after(() => w.stop());

const propose = (tool, input, who = wide.ask()) => ok(who.post('/api/v1/proposals', { tool, input }));
const config = (env, resourceKey, defaultValue) => ['flag.set_default_value_config', { envId: env.id, resourceKey, diff: { defaultValue } }];

/** What a token for staging and payments.* may not see, pending and applied; and one of each that it may. */
async function plant() {
	await shop.config('payments.limit', { type: 'string', defaultValue: 'PLANTED-in-scope' });
	await shop.config(OTHER, { type: 'string', defaultValue: 'PLANTED-other-key' });
	await shop.put('configs', 'payments.limit', { defaultValue: 'PLANTED-production-value', rules: [] }, shop.live);
	await ok(boss.post('/api/v1/orgs/default/projects', { key: 'hidden', name: 'PLANTED-project' }));
	await ok(boss.post(`/api/v1/projects/${shop.project.id}/environments`, { key: 'hidden', name: 'PLANTED-environment' }));
	const outside = [];
	for (const [tool, input] of [config(shop.live, 'payments.limit', 'PLANTED-production-payload'), config(shop.staging, OTHER, 'PLANTED-other-payload'), ['note.create', { title: 'PLANTED-note', text: 'PLANTED-note-text' }]]) {
		const applied = await propose(tool, input);
		await ok(boss.post(`/api/v1/proposals/${applied.proposalId}/approve`, { viewHash: applied.viewHash, apply: true }));
		outside.push(applied, await propose(tool, input.diff ? { ...input, diff: { defaultValue: `${input.diff.defaultValue}-again` } } : input));
	}
	const inside = await propose(...config(shop.staging, 'payments.limit', 'PLANTED-in-scope'));
	const { entries } = await ok(w.admin.get('/api/v1/orgs/default/audit?limit=500'));
	return { outside, inside, entries };
}

const scope = () => ({ environments: [shop.staging.id], keys: ['payments.*'] });
async function narrowed(kind) {
	if (kind === 'person') {
		const me = await ok(boss.get('/api/v1/me'));
		const { token } = await ok(boss.post('/api/v1/tokens', { name: 'narrow', principalId: me.id, level: 'observer', ...scope() }));
		return { token, ask: () => w.server.as(token) };
	}
	return w.agentOf(boss, { level: kind === 'admin agent' ? 'admin' : 'observer', ...(kind === 'admin agent' ? { override: true } : {}), ratePerMinute: 100000, ...scope() });
}

// --- the walk ---

/** What stands in the place of a parameter of a path: all of it is tried. */
async function values() {
	const items = async (target, name = 'items') => ((await ok(w.admin.get(target)))[name] ?? []).map(({ id }) => id);
	const proposals = [...planted.outside, planted.inside].map(({ proposalId }) => proposalId);
	const entries = planted.entries.filter(({ action }) => /^(record|proposal)\./.test(action)).map(({ id }) => id);
	return {
		'/api/v1/orgs/{slug}': { slug: ['default'], id: entries },
		'/api/v1/proposals/{id}': { id: proposals },
		'/api/v1/envs/{id}': { id: [shop.staging.id, shop.live.id] },
		'/api/v1/envs/{envId}': { envId: [shop.staging.id, shop.live.id], key: ['payments.limit', OTHER], id: ['none'] },
		'/api/v1/projects/{id}': { id: await items('/api/v1/projects'), key: ['payments.limit', OTHER] },
		'/api/v1/agents/{id}': { id: await items('/api/v1/agents') },
		'/api/v1/members/{id}': { id: await items('/api/v1/members') },
		'/api/v1/teams/{id}': { id: ['none'] },
		'/api/v1/upstreams/{id}': { id: ['none'] },
		'/api/v1/connections/{id}': { id: ['none'], tool: ['none'] },
	};
}

/** The body of an operation that reads and takes one. A new one has to be named here. */
function bodies() {
	const envs = [shop.staging.id, shop.live.id], keys = ['payments.limit', OTHER];
	const each = (of) => envs.flatMap((envId) => keys.map((key) => of(envId, key)));
	return {
		policy_explain: each((environmentId, resourceKey) => ({ tool: 'flag.set_default_value_config', environmentId, input: { envId: environmentId, resourceKey, diff: { defaultValue: 'x' } } })),
		evaluate: keys.flatMap((key) => [{ context: {} }, { context: {}, keys: [key], verboseReason: true }]),
		evaluate_preview: [{ contexts: [{}] }, { contexts: [{}], ruleset: { configs: { [OTHER]: { defaultValue: 'x' } } } }],
		evaluate_history: [{ context: {} }],
		tool_call: [
			...each((envId, resourceKey) => ({ tool: 'flag.describe_config', input: { envId, resourceKey } })),
			...envs.flatMap((envId) => [{ tool: 'flag.list_configs', input: { envId } }, { tool: 'flag.evaluate_for_context', input: { envId, context: {} } }, { tool: 'flag.lookup_flags_for_target', input: { envId, targetId: 'x' } }, { tool: 'flag.get_ruleset_version', input: { envId } }]),
			...['note.list', 'project.list', 'environment.list', 'token.list', 'agent.list', 'audit.query'].map((tool) => ({ tool, input: {} })),
			...planted.entries.slice(0, 20).map(({ id }) => ({ tool: 'audit.describe_event', input: { id } })),
		],
	};
}

const required = (operation) => (operation.parameters ?? []).filter((p) => p.in === 'query' && p.required).map((p) => p.name);
const QUERIES = { from: '1', ticket: 'x', agentId: 'none', toolName: 'none' };

/** Every address of an operation. */
function addresses(template, operation, all, otherwise) {
	const prefix = Object.keys(all).filter((one) => template === one || template.startsWith(`${one}/`)).at(-1);
	let made = [template];
	for (const [, name] of template.matchAll(/\{([^}]+)\}/g)) {
		const values = all[prefix]?.[name] ?? otherwise;
		assert.ok(values, `say what {${name}} of ${template} is tried with`);
		made = made.flatMap((one) => values.map((value) => one.replace(`{${name}}`, encodeURIComponent(value))));
	}
	const query = required(operation).map((name) => {
		assert.ok(QUERIES[name], `say what ?${name}= of ${template} is tried with`);
		return `${name}=${QUERIES[name]}`;
	});
	return made.map((one) => (query.length ? `${one}?${query.join('&')}` : one));
}

/** Asks all that reads, and gives how many answers were looked at. */
async function walk(who, look, { changes = false } = {}) {
	const ask = (who, method, target) => who[method](target, method === 'delete' ? undefined : {});
	const all = await values(), body = bodies(), reading = new Set(Object.keys(body));
	let count = 0;
	for (const [template, item] of Object.entries(w.server.openapi.paths))
		for (const [method, operation] of Object.entries(item)) {
			const id = operation.operationId;
			if ('text/event-stream' in (operation.responses[200]?.content ?? {})) continue; // its own test
			if (operation['x-rule'] === 'public' && method !== 'get') continue;
			if (method === 'get') {
				for (const target of addresses(template, operation, all)) {
					const answer = await who.get(/\/wait/.test(target) ? `${target}?timeout=1&known=executing` : target);
					look(id, answer, target);
					count++;
				}
			} else if (reading.has(id)) {
				reading.delete(id);
				for (const target of addresses(template, operation, all)) for (const one of body[id]) {
					look(id, await who.post(target, one), JSON.stringify(one));
					count++;
				}
			} else if (changes) {
				for (const target of addresses(template, operation, all, ['none'])) look(id, await ask(who, method, target), target);
			}
		}
	assert.deepEqual([...reading], [], 'operations that are not there');
	return count;
}

for (const kind of ['person', 'agent', 'admin agent'])
	test(`ID-6 the inventory: no operation shows a narrowed token (${kind}) what is outside its scope`, async () => {
		const who = (await narrowed(kind)).ask(), leaks = [];
		let inScope = 0;
		const count = await walk(who, (id, { text, status }, target) => {
			// what the caller named is said back to them
			if (found(text).some((mark) => !target.includes(mark))) leaks.push(`${id} ${target}: ${found(text)} (${status})`);
			inScope += text.includes('PLANTED-in-scope');
		}, { changes: kind === 'person' }); // what an observer tries to change is refused: errors are answers, too
		assert.deepEqual(leaks, []);
		assert.ok(inScope > 5, `what is in scope is shown (${inScope} of ${count} answers)`);
	});

test('the inventory finds what is not kept back: a token for everything sees every marker', async () => {
	const seen = new Set();
	await walk(w.admin, (id, { text }) => found(text).forEach((mark) => seen.add(mark)));
	assert.deepEqual([...seen].sort(), ['PLANTED-environment', 'PLANTED-key', 'PLANTED-note', 'PLANTED-note-text', 'PLANTED-other-key', 'PLANTED-other-payload', 'PLANTED-other-payload-again', 'PLANTED-production-payload', 'PLANTED-production-payload-again', 'PLANTED-production-value', 'PLANTED-project']);
});

test('ID-6 MCP shows a narrowed token no more: tools, resources, prompts, completions', async () => {
	const { token } = await narrowed('agent');
	const ask = (method, params) => mcp(w.server.url, token, method, params);
	const uris = [...planted.outside.map(({ proposalId }) => `countersign://proposals/${proposalId}`), ...planted.entries.map(({ id }) => `countersign://audit/${id}`)];
	const calls = [['tools/list'], ['resources/list'], ['resources/templates/list'], ['prompts/list'],
		['completion/complete', { ref: { type: 'ref/resource', uri: 'countersign://proposals/{id}' }, argument: { name: 'id', value: '' } }],
		...uris.map((uri) => ['resources/read', { uri }]),
		...planted.outside.flatMap(({ proposalId: id }) => ['describe_proposal', 'wait_proposal'].map((name) => ['tools/call', { name, arguments: { id, ...(name === 'wait_proposal' ? { timeout: 1 } : {}) } }])),
		...['list_proposals', 'audit_query', 'list_environments', 'list_projects'].map((name) => ['tools/call', { name, arguments: {} }])];
	for (const [method, params] of calls) {
		const { text } = await ask(method, params);
		assert.deepEqual(found(text), [], `${method} ${JSON.stringify(params)}`);
		for (const { proposalId } of planted.outside) assert.ok(!text.replaceAll(`${params?.uri ?? params?.arguments?.id}`, '').includes(proposalId), `${method} ${JSON.stringify(params)} names a proposal`);
	}
});

/** Reads an event stream until `last` has come. */
async function hear(token, act, last) {
	const stop = new AbortController();
	const response = await fetch(`${w.server.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal });
	let text = '';
	const reading = (async () => {
		for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) text += chunk;
	})().catch(streamEnded);
	const wanted = await act();
	await until(() => text.includes(wanted), last);
	stop.abort();
	await reading;
	return text;
}

test('ID-6 TL-10 an event stream tells a narrowed token of proposals and calls in its scope only', async () => {
	const hidden = [];
	const text = await hear((await narrowed('agent')).token, async () => {
		hidden.push((await propose(...config(shop.live, 'payments.limit', 'x'))).proposalId, (await propose('note.create', { title: 'x', text: '' })).proposalId);
		await ok(wide.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} }));
		return (await propose(...config(shop.staging, 'payments.limit', 'y'))).proposalId;
	}, 'the news in scope');
	for (const id of hidden) assert.ok(!text.includes(id));
	assert.ok(!text.includes('note.list') && !text.includes('tool.called'));
});

test('ID-6 pages are full, and their cursors and counts say nothing of what is kept back', async () => {
	const who = (await narrowed('person')).ask();
	for (let i = 0; i < 4; i++) {
		await propose(...config(shop.staging, 'payments.limit', `v${i}`));
		await propose(...config(shop.live, 'payments.limit', `v${i}`));
	}
	const ids = [];
	for (let cursor = ''; cursor !== undefined;) {
		const page = await ok(who.get(`/api/v1/proposals?limit=2${cursor && `&cursor=${cursor}`}`));
		ids.push(...page.proposals.map(({ proposalId }) => proposalId));
		assert.ok(page.nextCursor === undefined || page.proposals.length === 2, 'a page before the last is full');
		cursor = page.nextCursor;
	}
	const visible = [];
	for (let cursor = ''; cursor !== undefined;) {
		const page = await ok(w.admin.get(`/api/v1/proposals?limit=200${cursor && `&cursor=${cursor}`}`));
		for (const p of page.proposals) if ((await who.get(`/api/v1/proposals/${p.proposalId}`)).status === 200) visible.push(p.proposalId);
		cursor = page.nextCursor;
	}
	assert.deepEqual(ids, visible);
	const whole = [], paged = [];
	whole.push(...(await ok(who.get('/api/v1/orgs/default/audit?limit=500'))).entries.map(({ id }) => id));
	for (let cursor = ''; cursor !== undefined;) {
		const page = await ok(who.get(`/api/v1/orgs/default/audit?limit=3${cursor && `&cursor=${cursor}`}`));
		paged.push(...page.entries.map(({ id }) => id));
		assert.ok(page.nextCursor === undefined || page.entries.length === 3, 'so is one of the log');
		cursor = page.nextCursor;
	}
	assert.deepEqual(paged.filter((id) => whole.includes(id)), whole);
});

// --- the log ---

test('AU-4 ID-6 a narrowed token gets a selection of the log, which says so; no proof is offered, and verify refuses it', async () => {
	const who = (await narrowed('person')).ask();
	await until(async () => (await w.admin.get('/api/v1/orgs/default/audit/checkpoint')).status === 200, 'a checkpoint');
	const { text } = await who.get('/api/v1/orgs/default/audit/export');
	const [first, ...lines] = text.trim().split('\n').map((line) => JSON.parse(line));
	assert.equal(first.countersign, 'audit-selection');
	assert.match(first.note, /cannot be verified/);
	const { text: all } = await w.admin.get('/api/v1/orgs/default/audit/export');
	assert.equal(JSON.parse(all.split('\n')[0]).countersign, 'audit-export');
	assert.ok(lines.length > 0 && lines.length < all.trim().split('\n').length - 1);
	assert.deepEqual(found((await who.get('/api/v1/orgs/default/audit/export?format=csv')).text), []);
	for (const target of ['checkpoint', 'consistency?from=1', `${lines[0].id}/proof`]) await refused(who.get(`/api/v1/orgs/default/audit/${target}`), 403, 'forbidden', /selection/);
	assert.equal((await ok(who.get(`/api/v1/orgs/default/audit/${lines[0].id}`))).leafIndex, undefined);
	const file = path.join(await temporaryDirectory(), 'selection.jsonl');
	await writeFile(file, text);
	const { code, said } = await new Promise((resolve) => execFile(program, ['audit', 'verify', file], (error, stdout, stderr) => resolve({ code: error?.code, said: stdout + stderr })));
	assert.ok(code, 'it fails');
	assert.match(said, /selection of the log.*cannot be verified/s);
});

// --- tools that are blocked ---

test('TL-2 a blocked tool shows nowhere: its own old proposals, others’, the log, events, explain, errors, MCP', async () => {
	const agent = await w.agentOf(boss, { level: 'observer', actions: undefined, ratePerMinute: 100000 });
	const asks = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
	const own = await propose('note.update', { id: (await w.note()).id, text: 'PLANTED-blocked' }, asks.ask());
	const block = (id) => ok(w.admin.put(`/api/v1/agents/${id}/tools`, { tools: [{ toolName: 'note.update', permissionStatus: 'blocked' }] }));
	await block(agent.id);
	await block(asks.id);
	await ok(boss.post(`/api/v1/proposals/${own.proposalId}/approve`, { viewHash: own.viewHash, apply: true })).catch(() => {}); // the proposer lost it: 403
	for (const { token, ask } of [agent, asks]) {
		const who = ask(), seen = [];
		await walk(who, (id, { text }, target) => {
			if (/note[._]update|PLANTED-blocked/.test(text) && id !== 'server_config' && id !== 'openapi') seen.push(`${id} ${target}`);
		});
		assert.deepEqual(seen, []);
		for (const [method, params] of [['tools/list'], ['resources/list'], ['tools/call', { name: 'list_proposals', arguments: {} }], ['resources/read', { uri: `countersign://proposals/${own.proposalId}` }], ['tools/call', { name: 'audit_query', arguments: {} }]])
			assert.ok(!/note[._]update|PLANTED-blocked/.test((await mcp(w.server.url, token, method, params)).text), `${method} ${JSON.stringify(params)}`);
		const none = '00000000-0000-7000-8000-000000000000';
		for (const [method, target, body] of [['get', ''], ['post', '/cancel', {}], ['post', '/apply', {}], ['post', '/repropose', {}], ['get', '/wait?timeout=1']]) {
			const [mine, other] = [await who[method](`/api/v1/proposals/${own.proposalId}${target}`, body), await who[method](`/api/v1/proposals/${none}${target}`, body)];
			assert.deepEqual([mine.status, mine.text], [other.status, other.text], `${method} ${target}`);
		}
		await refused(who.post('/api/v1/proposals/apply', { token: own.token }), 404, 'not_found', /^there is no proposal with this token$/);
		const heard = await hear(token, async () => {
			await propose('note.update', { id: (await w.note()).id, text: 'PLANTED-blocked' });
			return 'note.create';
		}, 'other news').catch((error) => error.message);
		assert.ok(!/note[._]update/.test(heard), heard);
	}
});

// --- one agent, two people ---

test('ID-6 PA-12 an agent that two people use: what it asked for one is not the other’s to see, replay, cancel or apply', async () => {
	const [ann, ben] = [boss, await w.person(['proposer'])];
	const agent = await ok(w.admin.post('/api/v1/agents', { name: 'Shared' }));
	const rules = ['note.note.propose', 'note.note.read'];
	const tokenOf = async (person) => (await ok(person.post('/api/v1/tokens', { name: 'its', principalId: agent.id, rules }))).token;
	const [hers, his] = [w.server.as(await tokenOf(ann)), w.server.as(await tokenOf(ben))];
	const body = { tool: 'note.create', input: { title: 'PLANTED-of-ann', text: '' }, idempotencyKey: 'shared-key' };
	const p = await ok(hers.post('/api/v1/proposals', body));
	assert.equal((await ok(hers.post('/api/v1/proposals', body))).token, p.token, 'a replay with her token is answered as the first time');
	const collision = await refused(his.post('/api/v1/proposals', body), 409, 'idempotency_collision');
	assert.deepEqual(found(JSON.stringify(collision)), []);
	for (const [method, target, send] of [['get', ''], ['get', '/wait?timeout=1'], ['post', '/cancel', {}], ['post', '/repropose', {}], ['post', '/apply', {}]])
		await refused(his[method](`/api/v1/proposals/${p.proposalId}${target}`, send), 404, 'not_found');
	assert.deepEqual((await ok(his.get('/api/v1/proposals'))).proposals, []);
	assert.deepEqual((await ok(hers.get('/api/v1/proposals'))).proposals.map(({ proposalId }) => proposalId), [p.proposalId]);
	await ok(hers.post(`/api/v1/proposals/${p.proposalId}/cancel`));
});

test('PA-13 the proposer takes back what is outside the scope of the token it has now, and is not told what it was', async () => {
	const wideToken = wide.ask();
	const p = await propose('note.create', { title: 'PLANTED-taken-back', text: '' }, wideToken);
	const narrow = w.server.as((await ok(boss.post('/api/v1/tokens', { name: 'narrow', principalId: wide.id, level: 'proposer', ...scope() }))).token);
	await refused(narrow.get(`/api/v1/proposals/${p.proposalId}`), 404, 'not_found');
	const answer = await narrow.post(`/api/v1/proposals/${p.proposalId}/cancel`, { note: 'no' });
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual([answer.json.state, found(answer.text)], ['cancelled', []]);
});
