// SPDX-License-Identifier: Apache-2.0
// MCP over standard input and output: `countersign mcp` before a running server (MCP-1, CLI-1).
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { fixedAddress, run, startAgain, startServer, until } from './lib/server.mjs';
import { connectLegacy, connectModern, Lines } from './lib/stdio.mjs';

let w, boss, agent;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
});
after(() => w?.stop());

const eras = { legacy: connectLegacy, modern: connectModern };
const request = (method, params = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const initialize = (protocolVersion = '2025-11-25', id = 'init', capabilities = {}) => request('initialize', { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } }, id);
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const meta = (more = {}) => ({ _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, ...more } });
const modern = (method, params = {}, id = 1) => request(method, { ...params, ...meta(params._meta) }, id);
const lines = (t, { token = agent.token, url = w.server.url } = {}) => {
	const one = new Lines(url, token);
	t.after(() => one.child.kill('SIGKILL'));
	return one;
};
/** A legacy session, opened. */
async function opened(t, version, options) {
	const one = lines(t, options);
	one.send(initialize(version));
	await one.answer('init');
	one.send(initialized);
	return one;
}
/** Changes the agent's tools until all have heard of it: nobody says when a legacy stream is open. */
async function heardBy(world, id, all) {
	const heard = () => all.every((one) => one.messages().some(({ method }) => method === 'notifications/tools/list_changed'));
	for (let i = 0; !heard(); i++) {
		await ok(world.admin.put(`/api/v1/agents/${id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: i % 2 ? 'needs_approval' : 'blocked' }] }));
		await until(heard, 'all to hear of it', 2).catch((error) => assert.ok(i < 30, error));
	}
}
const said = (result) => JSON.parse(result.content[0].text);

// --- the official SDKs ---

for (const [era, connect] of Object.entries(eras)) {
	test(`MCP-1 CLI-1 the SDK over stdio, ${era}: list, read, propose, wait, apply`, async () => {
		const client = await connect(w.server.url, agent.token);
		const call = (name, input = {}) => client.callTool({ name, arguments: input });
		assert.ok((await client.listTools()).tools.some(({ name }) => name === 'note_create'));
		const p = (await call('note_create', { title: `Over stdio, ${era}`, text: 'text' })).structuredContent;
		assert.equal(p.status, 'awaiting_operator');
		assert.equal(said(await call('apply_proposal', { id: p.proposalId })).code, 'approval_required');
		const waiting = call('wait_proposal', { id: p.proposalId });
		assert.ok((await call('note_list')).structuredContent.notes, 'a wait holds nobody else up');
		await w.approve(p, boss);
		assert.equal((await waiting).structuredContent.state, 'approved');
		assert.equal((await call('apply_proposal', { id: p.proposalId })).structuredContent.state, 'applied');
		assert.equal(JSON.parse((await client.readResource({ uri: `countersign://proposals/${p.proposalId}` })).contents[0].text).state, 'applied');
		assert.ok((await client.listPrompts()).prompts.length);
		await assert.rejects(call('none'), { code: -32602 });
		await client.close();
	});
}

test('MCP-1 two clients at once, each over its own program, decide the same proposal once', async () => {
	const [one, two] = await Promise.all([connectLegacy(w.server.url, agent.token), connectModern(w.server.url, agent.token)]);
	const p = (await one.callTool({ name: 'note_create', arguments: { title: 'Twice', text: 'text' } })).structuredContent;
	await w.approve(p, boss);
	const answers = await Promise.all([one, two].map((client) => client.callTool({ name: 'apply_proposal', arguments: { id: p.proposalId } })));
	assert.equal(answers.filter(({ structuredContent }) => structuredContent?.state === 'applied').length >= 1, true);
	assert.equal((await w.notes()).filter(({ title }) => title === 'Twice').length, 1);
	await Promise.all([one.close(), two.close()]);
});

test('MCP-1 lists that change are told over stdio: the legacy stream of news, the modern listen', async (t) => {
	const other = await w.agentOf(boss, { level: 'maintainer' });
	const legacy = await opened(t, '2025-11-25', { token: other.token });
	const now = lines(t, { token: other.token });
	now.send(modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'sub'));
	await now.find(({ method }) => method === 'notifications/subscriptions/acknowledged');
	await heardBy(w, other.id, [legacy, now]);
	now.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } });
	now.send(modern('tools/list', {}, 'after'));
	await now.answer('after');
	assert.equal((await now.end()).code, 0);
	assert.ok(!now.messages().some(({ id }) => id === 'sub'), 'what was cancelled is not answered');
	assert.equal((await legacy.end()).code, 0);
});

// --- what is on the lines ---

test('MCP-1 hostile lines are answered as JSON-RPC errors, and the next one is served', async (t) => {
	const one = await opened(t);
	const count = () => one.messages().length;
	let before = count();
	for (const [line, code] of [
		['garbage', -32700],
		['{"jsonrpc":"2.0","id":1', -32700],
		['{"a":1,"a":2}', -32700],
		[Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), -32700],
		[Buffer.from([0x00, 0x0a]), -32700],
		['['.repeat(100), -32700],
		['[]', -32600],
		['7', -32600],
		['null', -32600],
		['"text"', -32600],
		[JSON.stringify([request('ping')]), -32600],
		['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
		['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
		['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
		['{"jsonrpc":"1.0","id":77,"method":"ping"}', -32600],
		[JSON.stringify(request('ping', { a: 'x'.repeat(1 << 20) })), -32600],
	]) {
		one.send(line);
		await until(() => count() > before, `an answer to ${String(line).slice(0, 40)}`);
		const message = one.messages()[before];
		assert.equal(message.error?.code, code, `${String(line).slice(0, 40)}: ${JSON.stringify(message)}`);
		assert.notEqual(message.id, null);
		before = count();
	}
	one.send('');
	one.send('   ');
	one.send(request('ping', {}, 'last'));
	assert.deepEqual((await one.answer('last')).result, {});
	one.send(JSON.stringify(request('ping', {}, 'pretty'), null, 1).replaceAll('\n', '\r'));
	assert.deepEqual((await one.answer('pretty')).result, {}, 'a line ends with a line feed only');
	assert.equal((await one.end()).code, 0);
});

test('MCP-1 a batch is one of 2025-03-26 over stdio, too, and its answers come as one', async (t) => {
	const one = await opened(t, '2025-03-26');
	one.send([request('ping', {}, 'a'), initialized, request('none', {}, 'b'), request('tools/call', { name: 'note_list', arguments: {} }, 'c')]);
	const batch = await one.find((message) => Array.isArray(message));
	assert.deepEqual(batch.map(({ id }) => id).sort(), ['a', 'b', 'c']);
	assert.equal(batch.find(({ id }) => id === 'b').error.code, -32601);
	one.send([initialized]);
	one.send(request('ping', {}, 'after'));
	await one.answer('after');
	await one.end();
	assert.equal(one.messages().filter((message) => Array.isArray(message)).length, 1);
});

test('MCP-1 many requests under way at once: each gets its own answer, however they are pipelined', async (t) => {
	const one = lines(t);
	one.send([initialize(), initialized, ...Array.from({ length: 60 }, (_, i) => request(i % 2 ? 'ping' : 'tools/call', i % 2 ? {} : { name: 'note_list', arguments: {} }, i))].map((message) => JSON.stringify(message)).join('\n'));
	await until(() => one.messages().length >= 61, 'all answers');
	assert.equal((await one.end()).code, 0);
	const answers = one.messages();
	assert.deepEqual(answers.map(({ id }) => String(id)).sort(), [...Array(60).keys(), 'init'].map(String).sort());
	assert.ok(answers.every(({ result }) => result));
});

test('MCP-1 more than can be under way is refused, not kept', async (t) => {
	const p = await w.propose({}, agent.ask());
	const one = lines(t);
	for (let i = 0; i < 200; i++) one.send(modern('subscriptions/listen', { notifications: { resourceSubscriptions: [`countersign://proposals/${p.proposalId}`] } }, i));
	await one.find(({ error }) => error?.code === 503);
	for (let i = 0; i < 200; i++) one.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: i } });
	one.send(modern('tools/list', {}, 'after'));
	assert.ok((await one.answer('after')).result);
	assert.equal((await one.end()).code, 0);
});

test('MCP-1 a question of the server goes to the client, and its answer back; a broken stream is taken up again', async (t) => {
	const server = await startServer({ args: ['--conformance'] });
	t.after(() => server.stop());
	const one = lines(t, { url: server.url, token: 'any' });
	one.send(initialize('2025-11-25', 'init', { elicitation: {}, sampling: {} }));
	await one.answer('init');
	one.send(initialized);
	one.send(request('tools/call', { name: 'test_elicitation', arguments: { message: 'Who?' } }, 'asks'));
	const question = await one.find(({ method }) => method === 'elicitation/create');
	one.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { username: 'ada' } } });
	assert.ok((await one.answer('asks')).result.content.length);
	one.send(request('tools/call', { name: 'test_reconnection', arguments: {} }, 'broken'));
	assert.ok((await one.answer('broken')).result.content.length, 'fetched by its Last-Event-ID');
	one.send(request('tools/call', { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } }, 'progress'));
	await one.answer('progress');
	assert.equal(one.messages().filter(({ method, params }) => method === 'notifications/progress' && params.progressToken === 'p').length, 3);
	// a call that asks can be cancelled: it gets no answer
	one.send(request('tools/call', { name: 'test_elicitation', arguments: {} }, 'cancelled'));
	await until(() => one.messages().filter(({ method }) => method === 'elicitation/create').length === 2, 'the second question');
	one.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'cancelled' } });
	one.send(request('ping', {}, 'ping'));
	await one.answer('ping');
	assert.equal((await one.end()).code, 0);
	assert.ok(!one.messages().some(({ id }) => id === 'cancelled'));
});

test('MCP-1 the modern headers are made of the body, those of arguments too', async (t) => {
	const server = await startServer({ args: ['--conformance'] });
	t.after(() => server.stop());
	const one = lines(t, { url: server.url, token: 'any' });
	one.send(modern('tools/list', {}, 'list'));
	await one.answer('list');
	let id = 0;
	for (const region of ['eu', ' eu ', 'Grüße', '', 'a\nb', '=?base64?ZXU=?=', 7, true, null]) {
		one.send(modern('tools/call', { name: 'test_x_mcp_header', arguments: { region } }, ++id));
		const answer = await one.answer(id);
		assert.ok(answer.result, `${JSON.stringify(region)}: ${JSON.stringify(answer)}`);
	}
	one.send(modern('tools/call', { name: 'Grüße\n', arguments: {} }, 'odd'));
	assert.equal((await one.answer('odd')).error.code, -32602, 'there is no such tool: the headers were right');
	one.send(modern('resources/read', { uri: 'test://template/ü/data' }, 'uri'));
	assert.ok((await one.answer('uri')).result);
	one.send(modern('none\r\nX: y', {}, 'injected'));
	assert.equal((await one.answer('injected')).error.code, -32601);
	assert.equal((await one.end()).code, 0);
});

test('CLI-1 MCP-1 before initialize a legacy message is refused in words of this transport', async (t) => {
	const one = lines(t);
	one.send(initialized);
	one.send(request('tools/list', {}, 'early'));
	assert.deepEqual((await one.answer('early')).error, { code: -32600, message: 'there is no session yet: initialize first' });
	one.send({ jsonrpc: '2.0', id: 'nobody asked', result: {} });
	await one.find(({ id, error }) => id === undefined && error?.code === -32600);
	one.send(initialize());
	await one.answer('init');
	one.send(request('ping', {}, 'ping'));
	assert.deepEqual((await one.answer('ping')).result, {});
	assert.equal((await one.end()).code, 0);
	assert.match(one.stderr, /^countersign mcp: there is no session yet: initialize first$/m);
});

test('CLI-1 MCP-1 --server may be the address of MCP itself, as clients that speak HTTP have it', async (t) => {
	for (const end of ['/mcp', '/mcp/', '/', '']) {
		const one = lines(t, { url: w.server.url + end });
		one.send(modern('tools/list', {}, end));
		assert.ok((await one.answer(end)).result, end);
		assert.equal((await one.end()).code, 0);
		assert.equal(one.stderr, '', 'and to this machine without TLS nothing is to be said');
	}
});

test('CLI-1 ID-5 a token that leaves the machine without TLS is worth a warning', async (t) => {
	for (const [url, warns] of [['http://countersign.invalid:1', true], ['http://192.0.2.1:1/mcp', true], ['http://localhost.invalid', true], ['http://[2001:db8::1]:1/', true], ['https://countersign.invalid:1', false], ['http://localhost:1', false], ['http://127.0.0.2:1/x', false], ['http://[::1]:1', false]]) {
		const one = lines(t, { url });
		assert.equal((await one.end()).code, 0, url);
		assert.equal(/is not https: whoever is on the way there can read the token/.test(one.stderr), warns, `${url}: ${one.stderr}`);
		assert.ok(!one.stderr.includes(agent.token));
	}
});

// --- when the server is not there ---

test('CLI-1 MCP-1 without a server or a token that is valid, people and the client are told', async (t) => {
	const away = lines(t, { url: 'http://127.0.0.1:1' });
	away.send(initialize());
	assert.match((await away.answer('init')).error.message, /cannot be reached .* `countersign serve`/);
	away.send(modern('tools/list', {}, 'modern'));
	assert.equal((await away.answer('modern')).error.code, 503);
	assert.equal((await away.end()).code, 0);
	assert.match(away.stderr, /^countersign mcp: the server at http:\/\/127\.0\.0\.1:1 does not answer/);
	const wrong = lines(t, { token: 'cs_wrong' });
	wrong.send(initialize());
	assert.equal((await wrong.answer('init')).error.code, 401);
	wrong.send(modern('tools/list', {}, 2));
	assert.equal((await wrong.answer(2)).error.code, 401);
	await wrong.end();
	assert.match(wrong.stderr, /the token is not valid; give one that is with COUNTERSIGN_TOKEN/);
	assert.ok(!`${wrong.stdout}${wrong.stderr}`.includes('cs_wrong'), 'it is never printed');
	const none = await run(['mcp', '--server', w.server.url]);
	assert.equal(none.code, 2);
	assert.equal(none.stdout, '');
	assert.match(none.stderr, /there is no token; put one into COUNTERSIGN_TOKEN/);
});

test('MCP-1 what answers there and is not Countersign becomes an error of the client’s request', async (t) => {
	const answers = { '/plain/mcp': [502, 'text/html', '<html>'], '/json/mcp': [200, 'application/json', '{"a":1}'], '/list/mcp': [200, 'application/json', '[]'], '/empty/mcp': [200, 'application/json', ''], '/accepted/mcp': [202, 'text/plain', ''], '/events/mcp': [200, 'text/event-stream', 'data: no message\n\n'], '/envelope/mcp': [413, 'application/json', '{"code":"too_large","message":"it is too large"}'], '/moved/mcp': [302, 'text/plain', ''] };
	const server = http.createServer((req, res) => {
		const [status, type, body] = answers[req.url];
		req.resume().on('end', () => res.writeHead(status, { 'content-type': type, location: '/json/mcp' }).end(body));
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	t.after(() => server.close());
	for (const path of Object.keys(answers)) {
		const one = lines(t, { url: `http://127.0.0.1:${server.address().port}${path.slice(0, -4)}` });
		one.send(modern('tools/list', {}, path));
		const { error } = await one.answer(path);
		assert.ok(error, path);
		if (path.startsWith('/envelope')) assert.deepEqual(error, { code: 413, message: 'it is too large' });
		one.send(initialized);
		assert.equal((await one.end()).code, 0);
	}
});

test('MCP-1 a server that is started again loses nothing: the wait goes on, the session is taken, news come', async (t) => {
	const own = await World.start({ listen: await fixedAddress() });
	t.after(() => own.stop());
	const admin = await own.person(['admin']);
	const { id, token } = await own.agentOf(admin, { level: 'maintainer', ratePerMinute: 100000 });
	const legacy = await opened(t, '2025-11-25', { token, url: own.server.url });
	const now = lines(t, { token, url: own.server.url });
	legacy.send(request('tools/call', { name: 'note_create', arguments: { title: 'Before', text: 'text' } }, 'propose'));
	const p = (await legacy.answer('propose')).result.structuredContent;
	now.send(modern('tools/call', { name: 'describe_proposal', arguments: { id: p.proposalId } }, 'describe'));
	assert.equal((await now.answer('describe')).result.structuredContent.state, 'pending');
	const wait = { name: 'wait_proposal', arguments: { id: p.proposalId } };
	legacy.send(request('tools/call', wait, 'wait'));
	now.send(modern('tools/call', wait, 'wait'));
	legacy.send(request('ping', {}, 'sent'));
	await legacy.answer('sent');
	own.server.kill('SIGKILL');
	await own.server.ended();
	own.server = await startAgain(own.server);
	await own.approve(p); // the admin of init
	assert.equal((await legacy.answer('wait')).result.structuredContent.state, 'approved');
	assert.equal((await now.answer('wait')).result.structuredContent.state, 'approved');
	legacy.send(request('tools/call', { name: 'apply_proposal', arguments: { id: p.proposalId } }, 'apply'));
	assert.equal((await legacy.answer('apply')).result.structuredContent.state, 'applied');
	await heardBy(own, id, [legacy]);
	assert.equal((await legacy.end()).code, 0);
	assert.equal((await now.end()).code, 0);
});

test('MCP-1 a session that is over is opened again, unseen', async (t) => {
	const one = await opened(t);
	// the proxy in between says so: what the server calls ended is ended
	const ids = new Set();
	let ends = true;
	const proxy = http.createServer((req, res) => {
		const session = req.headers['mcp-session-id'];
		if (session) ids.add(session);
		if (session && ends && req.method === 'POST') {
			ends = false;
			req.resume().on('end', () => res.writeHead(404, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"over"}}'));
			return;
		}
		const onward = http.request(`${w.server.url}/mcp`, { method: req.method, headers: req.headers }, (answer) => {
			res.writeHead(answer.statusCode, answer.headers);
			answer.pipe(res);
		});
		res.on('close', () => onward.destroy());
		onward.on('error', () => res.destroy());
		req.pipe(onward);
	});
	await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
	t.after(() => (proxy.closeAllConnections(), proxy.close()));
	const through = lines(t, { url: `http://127.0.0.1:${proxy.address().port}` });
	through.send(initialize());
	await through.answer('init');
	for (let i = 0; i < 5; i++) through.send(request('ping', {}, i));
	for (let i = 0; i < 5; i++) assert.deepEqual((await through.answer(i)).result, {});
	assert.equal((await through.end()).code, 0);
	assert.ok(ids.size >= 2, 'another session');
	assert.equal(through.messages().length, 6, 'and the client saw nothing of it');
	await one.end();
});

test('MCP-1 the end of the input ends it and its session, whatever is under way', async (t) => {
	const p = await w.propose({}, agent.ask());
	const one = await opened(t);
	one.send(request('tools/call', { name: 'wait_proposal', arguments: { id: p.proposalId } }, 'wait'));
	one.send(modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, 'sub'));
	await one.find(({ method }) => method === 'notifications/subscriptions/acknowledged');
	assert.deepEqual(await one.end(), { code: 0, signal: null });
	const last = await run(['mcp', '--help']);
	assert.match(last.stdout, /standard input and output/);
});
