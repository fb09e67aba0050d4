// SPDX-License-Identifier: Apache-2.0
// MCP at /mcp, by the official SDK (the legacy era) and message by message (both eras): MCP-1, MCP-2, and what the
// conformance suite does not look at.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { ok, World } from './lib/flow.mjs';
import { onPostgres, run, streamEnded, until } from './lib/server.mjs';

let w, boss, agent;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
});
after(() => w?.stop());

// --- clients ---

async function connect(token, server = w.server) {
	const client = new Client({ name: 'test', version: '1' });
	const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${token}` } } });
	await client.connect(transport);
	return Object.assign(client, { session: transport.sessionId, call: (name, input = {}) => client.callTool({ name, arguments: input }) });
}

const accept = 'application/json, text/event-stream';

/** One message as it is; the answer as it is. */
async function send(body, { token = agent.token, headers = {}, method = 'POST', server = w.server } = {}) {
	const response = await fetch(`${server.url}/mcp`, {
		method,
		headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
		body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
	});
	const text = await response.text();
	const last = text.split('\n').filter((line) => line.startsWith('data: {')).at(-1)?.slice(6); // of a stream
	return { status: response.status, headers: response.headers, text, json: text.startsWith('{') || last ? JSON.parse(last ?? text) : undefined };
}

const request = (method, params = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const initialize = (protocolVersion = '2025-11-25') => request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } });

async function session(options) {
	const answer = await send(initialize(), options);
	assert.equal(answer.status, 200, answer.text);
	return answer.headers.get('mcp-session-id');
}

/** A request of the modern era, with the headers that belong to it unless said otherwise. */
function modern(method, params = {}, { headers = {}, capabilities = {}, version = '2026-07-28', ...options } = {}) {
	const meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': capabilities };
	const name = params.name ?? params.uri;
	const own = { 'mcp-protocol-version': version, 'mcp-method': method, ...(name ? { 'mcp-name': name } : {}) };
	return send(request(method, { ...params, _meta: meta }), { ...options, headers: { ...own, ...headers } });
}

const call = async (name, input = {}, options) => (await modern('tools/call', { name, arguments: input }, options)).json;
const said = (result) => JSON.parse(result.content[0].text);

// --- an agent's day, by the official SDK ---

test('MCP-1 MCP-2 an SDK client lists, reads, proposes, waits, and applies what a person approved', async () => {
	const client = await connect(agent.token);
	const { tools } = await client.listTools();
	const names = tools.map((tool) => tool.name);
	for (const name of ['apply_proposal', 'cancel_proposal', 'describe_proposal', 'wait_proposal', 'list_proposals', 'note_list', 'note_create']) assert.ok(names.includes(name), name);
	assert.equal(tools.find((tool) => tool.name === 'note_list').annotations.readOnlyHint, true);
	assert.equal(tools.find((tool) => tool.name === 'note_delete').annotations.destructiveHint, true);

	const proposed = await client.call('note_create', { title: 'By MCP', text: 'text' });
	assert.ok(!proposed.isError);
	const p = proposed.structuredContent;
	assert.equal(p.status, 'awaiting_operator');
	assert.equal(p.approveUrl, `${w.server.url}/proposals/${p.proposalId}`);
	assert.match(proposed.content[0].text, new RegExp(`awaiting_operator[^]*${p.approveUrl}`));

	const early = await client.call('apply_proposal', { id: p.proposalId });
	assert.equal(early.isError, true);
	assert.equal(said(early).code, 'approval_required');

	const waiting = client.call('wait_proposal', { id: p.proposalId, timeout: 30 });
	await w.approve(p, boss);
	assert.equal((await waiting).structuredContent.state, 'approved');
	const applied = await client.call('apply_proposal', { id: p.proposalId });
	assert.equal(applied.structuredContent.state, 'applied');
	assert.equal((await client.call('describe_proposal', { id: p.proposalId })).structuredContent.result.title, 'By MCP');

	const read = await client.call('note_list', { limit: 200 });
	assert.ok(read.structuredContent.notes.some((note) => note.title === 'By MCP'));
	assert.deepEqual(said(read), read.structuredContent);
	const again = await client.call('apply_proposal', { id: p.proposalId });
	assert.equal(said(again).code, 'proposal_gone');
	assert.ok((await w.audit({ proposalId: p.proposalId })).every(({ transport }) => ['mcp', 'rest'].includes(transport)));
	assert.ok((await w.audit({ proposalId: p.proposalId, transport: 'mcp' })).length >= 2, 'proposed and applied');
	await client.close();
});

test('MCP-2 what is denied stays undone, and cancel and list are there', async () => {
	const client = await connect(agent.token);
	const p = (await client.call('note_create', { title: 'Denied', text: 'text' })).structuredContent;
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash, reason: 'no' }));
	assert.equal((await client.call('wait_proposal', { id: p.proposalId })).structuredContent.state, 'denied');
	assert.equal(said(await client.call('apply_proposal', { id: p.proposalId })).code, 'proposal_gone');
	const q = (await client.call('note_create', { title: 'Taken back', text: 'text' })).structuredContent;
	assert.equal((await client.call('cancel_proposal', { id: q.proposalId, note: 'not needed' })).structuredContent.state, 'cancelled');
	const { proposals } = (await client.call('list_proposals', { limit: 200 })).structuredContent;
	assert.deepEqual([p, q].map(({ proposalId }) => proposals.find((one) => one.proposalId === proposalId).status), ['denied', 'cancelled']);
	await client.close();
});

test('PA-7 feedback is a tool error with issues; so is what the tool did not find, and both eras say it', async () => {
	const client = await connect(agent.token);
	for (const result of [await client.call('note_create', { title: '', wrong: 1 }), (await call('note_create', { title: '', wrong: 1 })).result]) {
		assert.equal(result.isError, true);
		const { kind, tool, issues } = said(result);
		assert.equal(kind, 'feedback');
		assert.equal(tool, 'note_create');
		assert.ok(issues.some(({ path }) => path === '/wrong' || path === ''), JSON.stringify(issues));
	}
	assert.equal(said((await call('note_get', { id: 'none' })).result).code, 'not_found');
	assert.equal(said((await call('describe_proposal', { id: 'none' })).result).code, 'not_found');
	assert.equal(said((await call('wait_proposal', {})).result).kind, 'feedback');
	await client.close();
});

test('ID-9 a tool that the caller may not use is a tool error that names the rule, and is not listed', async () => {
	const reader = await w.agentOf(boss, { rules: ['note.note.read'] });
	const { result } = await call('note_create', { title: 'x', text: 'y' }, { token: reader.token });
	assert.equal(said(result).code, 'forbidden');
	assert.match(said(result).message, /missing permission: note\.note\.create/);
	const { tools } = (await modern('tools/list', {}, { token: reader.token })).json.result;
	assert.ok(!tools.some(({ name }) => name === 'note_create'));
});

test('TL-2 a blocked tool is exactly one that does not exist, in both eras', async () => {
	const blocked = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 50 }), free = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 50 });
	await ok(w.admin.put(`/api/v1/agents/${blocked.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	const plain = ({ status, headers, text }, name) => ({ status, text: text.replaceAll(name, 'X'), headers: [...headers].filter(([key]) => !['date', 'x-request-id', 'content-length'].includes(key)) });
	for (const name of ['note_delete', 'note.delete']) {
		const a = await modern('tools/call', { name, arguments: { id: 'x' } }, { token: blocked.token });
		const b = await modern('tools/call', { name: 'note_absent', arguments: { id: 'x' } }, { token: free.token });
		assert.deepEqual(plain(a, name), plain(b, 'note_absent'));
		assert.equal(a.json.error.code, -32602);
	}
	assert.ok(!(await modern('tools/list', {}, { token: blocked.token })).json.result.tools.some(({ name }) => name === 'note_delete'));
	const client = await connect(blocked.token);
	await assert.rejects(client.call('note_delete', { id: 'x' }), /there is no tool called "note_delete"/);
	await client.close();
});

test('TL-9 over budget is a JSON-RPC error with HTTP 429 and Retry-After, over all transports', async () => {
	const poor = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 2 });
	await call('note_list', {}, { token: poor.token });
	await poor.ask().post('/api/v1/tools/call', { tool: 'note.list', input: {} });
	const answer = await modern('tools/call', { name: 'note_list', arguments: {} }, { token: poor.token });
	assert.equal(answer.status, 429);
	assert.equal(answer.json.error.code, 429);
	assert.ok(Number(answer.headers.get('retry-after')) > 0);
	const list = await modern('tools/list', {}, { token: poor.token });
	assert.equal(list.status, 200, 'lists cost nothing');
});

test('MCP-1 every structured result is what the tool publishes', async () => {
	const client = await connect(agent.token); // the SDK checks each against the outputSchema of the list
	await client.listTools();
	for (const [name, input] of [['note_list', {}], ['agent_list', {}], ['permission_list', { agentId: agent.id }], ['token_list', {}], ['note_create', { title: 'a', text: 'b' }], ['list_proposals', {}]]) {
		const result = await client.call(name, input);
		assert.ok(result.isError || result.structuredContent, name);
	}
	await client.close();
});

test('MCP-1 resources, prompts and completion: proposals and audit entries by their address', async () => {
	const client = await connect(agent.token);
	const p = (await client.call('note_create', { title: 'A resource', text: 'text' })).structuredContent;
	const uri = `countersign://proposals/${p.proposalId}`;
	assert.ok((await client.listResources()).resources.some((resource) => resource.uri === uri));
	assert.deepEqual((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['countersign://proposals/{id}', 'countersign://audit/{id}']);
	assert.equal(JSON.parse((await client.readResource({ uri })).contents[0].text).proposalId, p.proposalId);
	for (const missing of ['countersign://proposals/none', 'countersign://docs/none', 'countersign://docs/', 'countersign://elsewhere', `countersign://proposals/${'x'.repeat(80)}`]) {
		await assert.rejects(client.readResource({ uri: missing }), { code: -32002 });
		const { error } = (await modern('resources/read', { uri: missing })).json;
		assert.equal(error.code, -32602);
		assert.equal(error.data.uri, missing);
	}
	const { prompts } = await client.listPrompts();
	assert.deepEqual(prompts.map(({ name }) => name), ['review_pending_proposals', 'follow_proposal']);
	assert.match((await client.getPrompt({ name: 'follow_proposal', arguments: { id: p.proposalId } })).messages[0].content.text, new RegExp(p.proposalId));
	await assert.rejects(client.getPrompt({ name: 'follow_proposal' }), { code: -32602 });
	await assert.rejects(client.getPrompt({ name: 'none' }), { code: -32602 });
	const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'follow_proposal' }, argument: { name: 'id', value: p.proposalId.slice(0, 8) } });
	assert.ok(completion.values.includes(p.proposalId));
	await client.close();
	const reader = await w.agentOf(boss, { level: 'admin', override: true });
	const [entry] = await w.audit({ proposalId: p.proposalId });
	const shown = (await modern('resources/read', { uri: `countersign://audit/${entry.id}` }, { token: reader.token })).json;
	assert.ok(shown.result?.contents[0].text.includes(p.proposalId), JSON.stringify(shown));
});

test('MCP-1 the second SDK speaks the modern era with us: list, read, propose, wait, apply', async () => {
	const client = new ModernClient({ name: 'modern', version: '2' }, { versionNegotiation: { mode: 'auto' } });
	await client.connect(new ModernTransport(new URL(`${w.server.url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${agent.token}` } } }));
	assert.equal(client.getNegotiatedProtocolVersion?.() ?? client.negotiatedProtocolVersion, '2026-07-28');
	assert.ok((await client.listTools()).tools.some(({ name }) => name === 'note_create'));
	const p = (await client.callTool({ name: 'note_create', arguments: { title: 'Modern', text: 'text' } })).structuredContent;
	assert.equal(p.status, 'awaiting_operator');
	const waiting = client.callTool({ name: 'wait_proposal', arguments: { id: p.proposalId } });
	await w.approve(p, boss);
	assert.equal((await waiting).structuredContent.state, 'approved');
	assert.equal((await client.callTool({ name: 'apply_proposal', arguments: { id: p.proposalId } })).structuredContent.state, 'applied');
	assert.ok((await client.callTool({ name: 'note_list', arguments: { limit: 200 } })).structuredContent.notes.some(({ title }) => title === 'Modern'));
	assert.equal(JSON.parse((await client.readResource({ uri: `countersign://proposals/${p.proposalId}` })).contents[0].text).state, 'applied');
	await assert.rejects(client.callTool({ name: 'none', arguments: {} }), { code: -32602 });
	await client.close();
});

// --- the protocol ---

test('MCP-1 framing: one message, JSON, not too deep, not too large', async () => {
	const id = await session();
	const headers = { 'mcp-session-id': id };
	for (const [body, status, code] of [
		['[]', 400, -32600],
		[JSON.stringify([request('ping')]), 400, -32600],
		['', 400, -32700],
		['{"jsonrpc":"2.0"', 400, -32700],
		['{"a":1,"a":2}', 400, -32700],
		[`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(100)}${']'.repeat(100)}}`, 400, -32700],
		['7', 400, -32600],
		['{"id":1,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":1}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}', 400, -32602],
	]) {
		const answer = await send(body, { headers });
		assert.equal(answer.status, status, `${body.slice(0, 60)}: ${answer.text}`);
		assert.equal(answer.json.error.code, code, body.slice(0, 60));
		assert.notEqual(answer.json.id, null, 'an error without an id has none');
	}
	assert.equal((await send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${'x'.repeat(1 << 20)}"}}`, { headers })).status, 413);
	assert.equal((await send(request('ping'), { headers: { ...headers, 'content-type': 'text/plain' } })).status, 415);
	assert.equal((await send(request('ping'), { headers: { ...headers, accept: 'text/html' } })).status, 406);
	assert.equal((await send(request('ping'), { headers: { ...headers, accept: 'application/json;q=0.9' } })).status, 200);
	assert.equal((await send(undefined, { method: 'PUT' })).status, 405);
	const ping = await send(request('ping', {}, 'text id'), { headers });
	assert.deepEqual(ping.json, { jsonrpc: '2.0', id: 'text id', result: {} });
});

test('MCP-1 pages from elsewhere are refused: Host and Origin', async () => {
	const ask = (lines) => w.server.raw(`POST /mcp HTTP/1.1\r\n${lines}\r\nAuthorization: Bearer ${agent.token}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`);
	for (const lines of ['Host: evil.example.com', `Host: localhost:${w.server.port}\r\nOrigin: http://evil.example.com`, 'Host: localhost\r\nOrigin: null', 'Host: 127.0.0.1.evil.example.com', 'Host: localhost\r\nOrigin: http://localhost.evil.example.com'])
		assert.match(await ask(lines), /^HTTP\/1\.1 403 /, lines);
	for (const lines of ['Host: localhost', 'Host: [::1]:80\r\nOrigin: http://[::1]:3000', `Host: 127.0.0.1:1\r\nOrigin: https://localhost`])
		assert.match(await ask(lines), /^HTTP\/1\.1 400 /, lines);
});

test('MCP-1 without a valid token there is nothing here, whatever is asked', async () => {
	for (const token of [null, 'cs_wrong', 'x']) {
		for (const answer of [await send(initialize(), { token }), await modern('server/discover', {}, { token }), await modern('none', {}, { token }), await modern('tasks/get', {}, { token, headers: { 'mcp-name': '' } }), await modern('tools/call', { name: 'note_list' }, { token }), await modern('tools/list', {}, { token }), await modern('resources/read', { uri: 'countersign://proposals/x' }, { token })]) {
			assert.equal(answer.status, 401, answer.text);
			assert.match(answer.headers.get('www-authenticate'), /^Bearer .*resource_metadata="/);
		}
		assert.equal((await send(undefined, { token, method: 'GET', headers: { 'mcp-session-id': 'x' } })).status, 401);
	}
	const cookie = boss.headers();
	assert.equal((await send(initialize(), { token: null, headers: cookie })).status, 401, 'a browser session is no MCP credential');
});

test('MCP-1 versions are negotiated back to 2025-03-26, and an unknown one gets our newest', async () => {
	for (const [wanted, got] of [['2025-11-25', '2025-11-25'], ['2025-06-18', '2025-06-18'], ['2025-03-26', '2025-03-26'], ['2024-11-05', '2025-11-25'], ['2030-01-01', '2025-11-25']])
		assert.equal((await send(initialize(wanted))).json.result.protocolVersion, got);
	assert.equal((await send(request('initialize', {}))).json.error.code, -32602);
	const headers = { 'mcp-session-id': await session() };
	assert.equal((await send(request('ping'), { headers: { ...headers, 'mcp-protocol-version': '2025-06-18' } })).status, 200);
	assert.equal((await send(request('ping'), { headers: { ...headers, 'mcp-protocol-version': 'v0' } })).status, 400);
	const unknown = await send(request('unknown/method'), { headers });
	assert.equal(unknown.status, 200);
	assert.equal(unknown.json.error.code, -32601);
	assert.equal((await send(request('resources/subscribe', { uri: 'countersign://proposals/x' }), { headers })).json.error.code, -32002);
	assert.equal((await send(request('server/discover'), { headers })).json.error.code, -32601);
	assert.equal((await send(request('logging/setLevel', { level: 'debug' }), { headers })).json.error, undefined);
	assert.equal((await send(request('logging/setLevel', { level: 'loud' }), { headers })).json.error.code, -32602);
	assert.equal((await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, { headers })).status, 202);
	assert.equal((await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, { headers })).status, 202);
	assert.equal((await send({ jsonrpc: '2.0', id: 'x.0', result: {} }, { headers })).status, 202);
	assert.equal((await send({ jsonrpc: '2.0', id: 7, error: { code: 1, message: 'x' } }, { headers })).status, 202);
});

test('MCP-1 a session belongs to its principal, can be ended, and is no credential', async () => {
	const other = await w.agentOf(boss, { level: 'maintainer' });
	const id = await session();
	const as = (token, value = id, message = request('ping')) => send(message, { token, headers: { 'mcp-session-id': value } });
	assert.match(id, /^[\x21-\x7e]+$/);
	assert.equal((await as(agent.token)).status, 200);
	for (const message of [request('ping'), request('tools/list'), request('tools/call', { name: 'note_list', arguments: {} }), request('tools/call', { name: 'wait_proposal', arguments: { id: 'x' } }), { jsonrpc: '2.0', method: 'notifications/initialized' }])
		assert.equal((await as(other.token, id, message)).status, 404, message.method);
	assert.equal((await as(null)).status, 401);
	const flipped = id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
	for (const wrong of [flipped, `1${id.slice(1)}`, `${id}0`, 'x', id.toUpperCase() === id ? 'y' : id.toUpperCase()]) assert.equal((await as(agent.token, wrong)).status, 404, wrong);
	assert.equal((await send(request('ping'))).status, 400, 'none at all');
	assert.equal((await send(undefined, { token: other.token, method: 'DELETE', headers: { 'mcp-session-id': id } })).status, 404);
	assert.equal((await send(undefined, { method: 'DELETE', headers: { 'mcp-session-id': id } })).status, 204);
	assert.equal((await as(agent.token)).status, 404);
	assert.equal((await send(undefined, { method: 'DELETE' })).status, 400);
});

test('MCP-1 another server, or the same one started again, takes the session and finds the proposal', { skip: !onPostgres && 'needs PostgreSQL' }, async () => {
	const id = await session();
	const { proposalId } = (await call('note_create', { title: 'Before', text: 'text' })).result.structuredContent;
	const second = await w.another();
	try {
		const answer = await send(request('tools/call', { name: 'wait_proposal', arguments: { id: proposalId, timeout: 1 } }), { server: second, headers: { 'mcp-session-id': id } });
		assert.equal(answer.json.result.structuredContent.state, 'pending', answer.text);
	} finally {
		await second.stop();
	}
});

test('MCP-1 the modern era: headers say what the body says, and errors have their codes', async () => {
	const list = await modern('tools/list');
	assert.equal(list.json.result.resultType, 'complete');
	assert.equal(list.json.result.cacheScope, 'private');
	assert.ok(Number.isInteger(list.json.result.ttlMs));
	assert.equal(list.json.result._meta['io.modelcontextprotocol/serverInfo'].name, 'countersign');
	assert.equal(list.headers.get('mcp-session-id'), null);
	const refused = async (answer, status, code) => {
		const { status: got, json } = await answer;
		assert.equal(got, status, JSON.stringify(json));
		assert.equal(json.error.code, code);
	};
	await refused(modern('tools/list', {}, { headers: { 'mcp-method': 'tools/call' } }), 400, -32020);
	await refused(modern('tools/list', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } }), 400, -32020);
	await refused(modern('tools/call', { name: 'note_list' }, { headers: { 'mcp-name': 'note_get' } }), 400, -32020);
	await refused(modern('tools/call', { name: 'note_list' }, { headers: { 'mcp-name': '=?base64?bm90ZV9saXN0' } }), 400, -32020);
	assert.equal((await modern('tools/call', { name: 'note_list' }, { headers: { 'mcp-name': '=?base64?bm90ZV9saXN0?=' } })).status, 200);
	await refused(modern('tools/list', {}, { version: 'v9' }), 400, -32022);
	await refused(modern('tools/list', {}, { capabilities: 7 }), 400, -32602);
	await refused(send(request('tools/list'), { headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' } }), 400, -32602);
	await refused(modern('tasks/get', { taskId: 'x' }, { headers: { 'mcp-name': 'x' } }), 400, -32021);
	for (const method of ['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'none']) await refused(modern(method), 404, -32601);
	await refused(send({ jsonrpc: '2.0', id: 1, result: {} }, { headers: { 'mcp-protocol-version': '2026-07-28' } }), 400, -32600);
	await refused(modern('tools/call', { name: 'note_list', arguments: [] }), 200, -32602);
	await refused(modern('completion/complete', {}), 200, -32602);
	await refused(modern('subscriptions/listen', {}), 200, -32602);
	const { result } = (await modern('server/discover')).json;
	assert.deepEqual(result.supportedVersions, ['2026-07-28']);
	assert.match(result.instructions, /propose/);
});

test('MCP-1 cursors are ours or refused', async () => {
	for (const cursor of ['', 'x', 'after-', 'after-0', 'after--1', 'after-99999', 'after-1e3', 7])
		assert.equal((await modern('tools/list', { cursor })).json.error?.code, -32602, String(cursor));
	const page = (await modern('tools/list', { cursor: 'after-2' })).json.result.tools.map(({ name }) => name);
	assert.deepEqual(page, (await modern('tools/list')).json.result.tools.map(({ name }) => name).slice(2));
	assert.equal((await modern('resources/list', { cursor: 'after-1' })).json.error.code, -32602);
});

test('MCP-1 requestState that is not ours is refused', async () => {
	for (const requestState of ['x', 'a.b.c', '7fffffff..00'])
		assert.equal((await modern('tools/call', { name: 'note_list', arguments: {}, requestState })).json.error?.code, -32602, requestState);
	assert.equal((await modern('tools/call', { name: 'note_list', arguments: {}, inputResponses: 7 })).json.error.code, -32602);
});

// --- streams ---

/** Messages of an event stream as they come; `next` waits for one. */
async function follow(body, options = {}) {
	const abort = new AbortController();
	const response = await fetch(`${w.server.url}/mcp`, { ...options, body, signal: abort.signal });
	assert.equal(response.status, 200);
	assert.match(response.headers.get('content-type'), /^text\/event-stream/);
	const messages = [];
	let rest = '', ended = false;
	const reading = (async () => {
		for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
			const events = (rest + chunk).split('\n\n');
			rest = events.pop();
			for (const event of events) {
				const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
				if (data) messages.push(JSON.parse(data));
			}
		}
	})().catch(streamEnded).finally(() => (ended = true));
	return {
		next: () => until(() => messages.shift(), 'a message'),
		ended: () => until(() => ended, 'the end of the stream'),
		close: () => (abort.abort(), reading),
	};
}

const listen = (notifications, token = agent.token) => follow(JSON.stringify(request('subscriptions/listen', { notifications, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } }, 'sub')), {
	method: 'POST',
	headers: { accept, 'content-type': 'application/json', authorization: `Bearer ${token}`, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
});

test('MCP-1 tool lists change live, in both eras, and a revoked token hears nothing more', async () => {
	const one = await w.agentOf(boss, { level: 'maintainer' });
	const stream = await listen({ toolsListChanged: true }, one.token);
	const first = await stream.next();
	assert.equal(first.method, 'notifications/subscriptions/acknowledged');
	assert.deepEqual(first.params.notifications, { toolsListChanged: true });
	const id = await session({ token: one.token });
	const legacy = await follow(undefined, { method: 'GET', headers: { accept: 'text/event-stream', authorization: `Bearer ${one.token}`, 'mcp-session-id': id } });
	await ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	const changed = await stream.next();
	assert.equal(changed.method, 'notifications/tools/list_changed');
	assert.equal(changed.params._meta['io.modelcontextprotocol/subscriptionId'], 'sub');
	assert.equal((await legacy.next()).method, 'notifications/tools/list_changed');
	assert.equal((await w.admin.delete(`/api/v1/tokens/${one.tokenId}`)).status < 300, true);
	await stream.ended();
	await legacy.ended();
});

test('MCP-1 a resource that is followed says when it changed', async () => {
	const p = (await call('note_create', { title: 'Followed', text: 'text' })).result.structuredContent;
	const uri = `countersign://proposals/${p.proposalId}`;
	const stream = await listen({ resourceSubscriptions: [uri, 'countersign://proposals/none'] });
	assert.deepEqual((await stream.next()).params.notifications.resourceSubscriptions, [uri, 'countersign://proposals/none']);
	await w.approve(p, boss);
	const updated = await stream.next();
	assert.equal(updated.method, 'notifications/resources/updated');
	assert.equal(updated.params.uri, uri);
	await stream.close();
});

test('MCP-1 a legacy stream needs its session, and Accept', async () => {
	const id = await session();
	assert.equal((await send(undefined, { method: 'GET', headers: { accept: 'application/json', 'mcp-session-id': id } })).status, 406);
	assert.equal((await send(undefined, { method: 'GET', headers: { 'mcp-session-id': 'x' } })).status, 404);
	assert.equal((await send(undefined, { method: 'GET' })).status, 400);
});

test('MCP-1 a restart loses no session, and the next call finds the proposal', { skip: onPostgres && 'another server takes it there' }, async () => {
	const id = await session();
	const p = (await call('note_create', { title: 'Over a restart', text: 'text' })).result.structuredContent;
	const waiting = send(request('tools/call', { name: 'wait_proposal', arguments: { id: p.proposalId, timeout: 30 } }), { headers: { 'mcp-session-id': id } }).catch(() => {});
	await w.change('SELECT 1'); // stops the server, and starts it again
	await waiting;
	await w.approve(p);
	const answer = await send(request('tools/call', { name: 'wait_proposal', arguments: { id: p.proposalId } }), { headers: { 'mcp-session-id': id } });
	assert.equal(answer.json.result?.structuredContent.state, 'approved', answer.text);
});

// --- the fixture is not for others ---

test('MCP-1 --conformance refuses to start where other machines could reach it', async () => {
	const { code, stderr } = await run(['serve', '--conformance', '--listen', '0.0.0.0:0', '--data', '/nonexistent/data']);
	assert.equal(code !== 0, true);
	assert.match(stderr, /--conformance is for this machine only/);
});
