// SPDX-License-Identifier: Apache-2.0
// What the conformance suite does not look at: MCP message by message (MCP-1).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { onPostgres, startServer, until } from './lib/server.mjs';
import { initialize, modernHeaders, modernMessage, request, Wire } from './lib/wire.mjs';

let w, boss, agent, wire, quiet, patient;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
	wire = new Wire(w.server, agent.token);
	quiet = await wire.listen({ promptsListChanged: true }); // looked at by the last test: that takes time
	const message = modernWait((await propose('Patience')).proposalId, { meta: { progressToken: 7 } });
	patient = await wire.follow({ message, headers: modernHeaders(message) });
});
after(() => w?.stop());

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const cancelled = (requestId) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const propose = async (title = 'A proposal') => (await wire.call('note_create', { title, text: 'text' })).json.result.structuredContent;
const waiting = (id, { timeout = 30, progress, request: name = 'wait' } = {}) => request('tools/call', { name: 'wait_proposal', arguments: { id, timeout }, ...(progress ? { _meta: { progressToken: progress } } : {}) }, name);
const modernWait = (id, { timeout = 30, meta } = {}) => modernMessage('tools/call', { name: 'wait_proposal', arguments: { id, timeout } }, { id: 'wait', meta });
const streams = async () => Number(/^countersign_http_streams (\d+)$/m.exec((await w.admin.get('/metrics', { check: false })).text)?.[1]);

// --- batches ---

test('MCP-1 batches: 2025-03-26 takes up to 16 messages and answers as one; every later revision refuses them', async () => {
	const old = await wire.session('2025-03-26');
	const answer = await old.post([request('ping', {}, 1), initialized, request('none', {}, 'two'), request('tools/call', { name: 'note_list', arguments: {} }, 3), request('tools/call', { name: 'none', arguments: {} }, 4), { jsonrpc: '2.0', id: 'nobody.0', result: {} }, { jsonrpc: '2.0', id: null, method: 'ping' }, 7, request('initialize', {}, 5)]);
	assert.equal(answer.status, 200, answer.text);
	const by = (id) => answer.json.find((one) => one.id === id);
	assert.equal(answer.json.length, 7);
	assert.deepEqual(by(1).result, {});
	assert.equal(by('two').error.code, -32601);
	assert.ok(by(3).result.structuredContent.notes);
	assert.equal(by(4).error.code, -32602);
	assert.equal(by(5).error.code, -32600, 'initialize is not part of a batch');
	assert.equal(answer.json.filter(({ id, error }) => id === undefined && error.code === -32600).length, 2);
	const quiet = await old.post([initialized, cancelled(9), { jsonrpc: '2.0', id: 'x.0', result: {} }]);
	assert.deepEqual([quiet.status, quiet.text], [202, '']);
	for (const [batch, code] of [[[], -32600], [Array.from({ length: 17 }, (_, id) => request('ping', {}, id)), -32600]]) {
		const { status, json } = await old.post(batch);
		assert.deepEqual([status, json.error.code], [400, code]);
	}
	assert.equal((await old.post(Array.from({ length: 16 }, (_, id) => request('ping', {}, id)))).json.length, 16);
	for (const version of ['2025-11-25', '2025-06-18']) {
		const { status, json } = await (await wire.session(version)).post([request('ping')]);
		assert.deepEqual([status, json.error.code], [400, -32600], version);
	}
	for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28' }]) {
		const { status, json } = await wire.post([modernMessage('tools/list')], headers);
		assert.deepEqual([status, json.error.code], [400, -32600]);
	}
	assert.equal((await new Wire(w.server, 'cs_wrong').post([request('ping')], old.headers)).status, 401);
	const other = await w.agentOf(boss, { level: 'maintainer' });
	assert.equal((await new Wire(w.server, other.token).post([request('ping')], old.headers)).status, 404, 'another principal’s session');
});

test('MCP-1 a wait in a batch answers with what there is, and a batch costs the budget of all its calls', async () => {
	const p = await propose('In a batch');
	const old = await wire.session('2025-03-26');
	const { json } = await old.post([waiting(p.proposalId, { request: 1 }), waiting(p.proposalId, { request: 2 }), request('ping', {}, 3)]);
	assert.deepEqual(json.map(({ result }) => result.structuredContent?.state), ['pending', 'pending', undefined]);
	const poor = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 2 });
	const session = await new Wire(w.server, poor.token).session('2025-03-26');
	const answers = (await session.post(Array.from({ length: 4 }, (_, id) => request('tools/call', { name: 'note_list', arguments: {} }, id)))).json;
	assert.deepEqual(answers.map(({ error }) => error?.code), [undefined, undefined, 429, 429]);
});

// --- who asks ---

test('MCP-1 ID-5 the credential is judged first: whatever else is wrong, a stranger hears 401 and nothing more', async () => {
	const stranger = new Wire(w.server, `cs_agt_${'0'.repeat(49)}`);
	const { headers } = await wire.session();
	const wrong = modernMessage('tools/list');
	for (const [what, body, more] of [
		['no session', request('tools/list')],
		['a session that is none', request('tools/list'), { 'mcp-session-id': 'x' }],
		['another’s session', request('tools/list'), headers],
		['a notification', initialized],
		['no JSON', '{'],
		['no message', '7'],
		['no method', request('none'), headers],
		['a revision', request('ping'), { ...headers, 'mcp-protocol-version': '1999-01-01' }],
		['a modern header', wrong, { ...modernHeaders(wrong), 'mcp-method': 'tools/call' }],
		['an argument', request('initialize', {})],
		['Accept', request('ping'), { ...headers, accept: 'text/html' }],
	]) {
		const { status, json, headers: said } = await stranger.post(body, more);
		assert.equal(status, 401, `${what}: ${JSON.stringify(json)}`);
		assert.deepEqual(json.error, { code: 401, message: 'this needs a valid credential: Authorization: Bearer cs_…' }, what); // /mcp takes no sessions of browsers
		assert.match(said.get('www-authenticate'), /^Bearer error="invalid_token", /, what);
	}
	assert.equal((await wire.post(request('tools/list'))).json.error.message, 'Mcp-Session-Id is missing; initialize first');
});

// --- what is in a request ---

test('MCP-1 Accept and Content-Type in every spelling', async () => {
	const { headers } = await wire.session();
	const ask = async (more) => (await wire.post(request('ping'), { ...headers, ...more })).status;
	for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="utf-8"']) assert.equal(await ask({ 'content-type': type }), 200, type);
	for (const type of ['text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/event-stream']) assert.equal(await ask({ 'content-type': type }), 415, type);
	for (const value of ['application/json', 'application/json, text/event-stream', 'text/event-stream,application/json', '*/*', 'application/*', 'text/html, application/json;q=0.1', 'APPLICATION/JSON', '  application/json  ,x/y']) assert.equal(await ask({ accept: value }), 200, value);
	for (const value of ['text/html', 'text/event-stream', 'application/jsonp', 'json', ',', ';']) assert.equal(await ask({ accept: value }), 406, value);
	const listen = modernMessage('subscriptions/listen', { notifications: {} });
	assert.equal((await wire.post(listen, { ...modernHeaders(listen), accept: 'application/json' })).status, 406, 'listening needs a stream');
});

test('MCP-1 hostile JSON-RPC: ids, duplicates, wrong versions, params that are none, depth, size', async () => {
	const { post } = await wire.session();
	const deep = (n) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`;
	for (const [body, status, code] of [
		['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
		['{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', 400, -32700],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}}', 400, -32700],
		['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
		['{"jsonrpc":2.0,"id":1,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":[1],"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":0.1,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":""}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":null,"result":{}}', 202],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 400, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}', 400, -32602],
		[`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${deep(70)}}}`, 400, -32700],
		[`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${deep(50)}}}`, 200],
		['\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32700],
		['{"jsonrpc":"2.0","id":1,"method":"ping"}{}', 400, -32700],
		[Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"ping"}', 'latin1'), 400, -32700],
		['{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', 400, -32700],
		['{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":[1,2,3]}}', 200],
		['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":{}}}', 200, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{}}', 200, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":7}}', 200, -32602],
		['{"jsonrpc":"2.0","id":1,"method":"notifications/none"}', 200, -32601],
		['{"jsonrpc":"2.0","method":"notifications/none"}', 202],
		['{"jsonrpc":"2.0","method":"notifications/cancelled"}', 202],
		['{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}', 202],
		['{"jsonrpc":"2.0","id":"never asked","result":{"a":1}}', 202],
		['{"jsonrpc":"2.0","id":"a.b","error":{"code":1,"message":"x"}}', 202],
		['{"jsonrpc":"2.0","id":"0123456789abcdef.0","result":{}}', 202],
		['{"jsonrpc":"2.0","id":"0123456789abcdef.99999999999999999999","result":{}}', 202],
	]) {
		const answer = await post(body);
		const what = String(body).slice(0, 80);
		assert.equal(answer.status, status, `${what}: ${answer.text}`);
		assert.equal(answer.json?.error?.code, code, what);
		assert.notEqual(answer.json?.id, null, what);
	}
	for (const id of [0, -1, 9007199254740993n, 'x'.repeat(4000), '', '\u0001', '💥', '"']) {
		const text = typeof id === 'bigint' ? String(id) : JSON.stringify(id);
		const answer = await post(`{"jsonrpc":"2.0","id":${text},"method":"ping"}`);
		assert.match(answer.text, new RegExp(`^\\{"jsonrpc":"2\\.0","id":(${text.replace(/[\\"$^*+?.()|[\]{}]/g, '\\$&')}|"\\\\u0001"),"result":\\{\\}\\}$`), 'the id comes back as it was');
	}
	const large = await post(request('ping', { a: 'x'.repeat(1 << 20) }));
	assert.deepEqual([large.status, large.json.message], [413, 'the body is larger than 1048576 bytes']);
	const long = 'x'.repeat(100000); // what nobody can have meant is not sent back
	for (const [method, params] of [['tools/call', { name: long }], ['resources/read', { uri: long }], ['resources/read', { uri: `countersign://${long}` }], ['prompts/get', { name: long }], [long, {}]]) {
		const { text, json } = await post(request(method, params));
		assert.ok(json.error && text.length < 400, `${method.slice(0, 40)}: ${text.slice(0, 400)}`);
	}
	assert.equal((await post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${'0,'.repeat(110000)}0]}}`)).status, 413, 'too many values');
});

test('MCP-1 the modern headers in every spelling: names in any case, blanks around values, base64, no second value', async () => {
	const uri = 'countersign://proposals/none';
	const ask = async (method, params, headers) => {
		const { status, json } = await wire.modern(method, params, { headers });
		return [status, json.error?.code];
	};
	assert.deepEqual(await ask('resources/read', { uri }, { 'mcp-name': `=?base64?${Buffer.from(uri).toString('base64')}?=` }), [200, -32602]);
	for (const name of [`=?BASE64?${Buffer.from(uri).toString('base64')}?=`, `=?base64?${Buffer.from(uri).toString('base64url')}?= x`, `${uri} `.replace(' ', '\u00a0'), `"${uri}"`, encodeURIComponent(uri), uri.toUpperCase(), '', '=?base64??='])
		assert.deepEqual(await ask('resources/read', { uri }, { 'mcp-name': name }), [400, -32020], name);
	for (const method of ['Tools/List', 'tools/list,tools/list', 'tools%2Flist', 'tools/lis', '']) assert.deepEqual(await ask('tools/list', {}, { 'mcp-method': method }), [400, -32020], method);
	for (const version of ['2026-07-28, 2026-07-28', '2026-7-28', '2025-11-25', '']) assert.deepEqual(await ask('tools/list', {}, { 'mcp-protocol-version': version }), [400, -32020], version);
	const raw = (lines) => w.server.raw(`${wire.head(Buffer.byteLength(JSON.stringify(modernMessage('tools/list'))), `${lines}\r\nConnection: close\r\n`)}${JSON.stringify(modernMessage('tools/list'))}`);
	assert.match(await raw('MCP-METHOD:tools/list\r\nmCp-pRoToCoL-vErSiOn: \t 2026-07-28 \t'), /^HTTP\/1\.1 200 /);
	for (const lines of ['MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nMcp-Method: tools/call', 'MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nMcp-Method: tools/list', 'MCP-Protocol-Version: 2026-07-28\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list', 'MCP-Protocol-Version: 2026-07-28'])
		assert.match(await raw(lines), /^HTTP\/1\.1 400 [^]*-32020/, 'a header that says two things says neither');
	for (const method of ['subscriptions/listen', 'none']) {
		const { status } = await wire.modern(method, { notifications: {} }, { headers: { 'mcp-method': 'tools/list' } });
		assert.equal(status, 400, method);
	}
	const legacy = await wire.session();
	const { status } = await legacy.post(modernMessage('tools/list'), modernHeaders(modernMessage('tools/list')));
	assert.equal(status, 200, 'the body says the era; a session id is ignored');
});

test('MCP-1 Host and Origin in every spelling', async () => {
	const body = JSON.stringify(request('ping'));
	const ask = async (lines) => {
		const answer = await w.server.raw(`POST /mcp HTTP/1.1\r\n${lines}\r\nAuthorization: Bearer ${agent.token}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
		return answer.includes('Mcp-Session-Id is missing') ? 'served' : Number(answer.slice(9, 12));
	};
	for (const lines of ['Host: LOCALHOST', 'Host: localhost:1', 'Host: 127.0.0.1', 'Host: [::1]', 'Host: localhost\r\nOrigin: http://LOCALHOST:99', 'Host: localhost\r\nOrigin: https://127.0.0.1']) assert.equal(await ask(lines), 'served', lines);
	for (const lines of ['Host: localhost.', 'Host: localhost.example.com', 'Host: 127.0.0.1.nip.io', 'Host: 127.1', 'Host: 2130706433', 'Host: 0.0.0.0', 'Host: [::ffff:127.0.0.1]', 'Host: 127.0.0.2', 'Host: evil.example:7700', 'Host: localhost\r\nOrigin: null', 'Host: localhost\r\nOrigin: file://', 'Host: localhost\r\nOrigin: http://localhost@evil.example', 'Host: localhost\r\nOrigin: http://localhost.evil.example', 'Host: localhost\r\nOrigin: http://evil.example/?http://localhost', 'Host: localhost\r\nOrigin: ftp://localhost', 'Host: localhost\r\nOrigin: localhost', 'Host: localhost\r\nOrigin: http://[::1].evil.example', 'Host: localhost\r\nOrigin: http://[::1]evil.example', 'Host: localhost\r\nOrigin: http://localhost:99@evil.example', 'Host: localhost\r\nOrigin: http://localhost:1/'])
		assert.equal(await ask(lines), 403, lines);
	assert.equal(await ask('Host: localhost:x'), 400, 'that is no host and port');
	for (const lines of ['X: y', 'Host: localhost\r\nHost: localhost', 'Host: ', 'Host: localhost@evil.example', 'Host: localhost:1@evil.example']) assert.ok([400, 403].includes(await ask(lines)), lines);
});

test('MCP-1 a body that does not come is closed, and meanwhile others are served', async () => {
	const slow = Array.from({ length: 20 }, () => wire.socket());
	for (const { socket } of slow) socket.write(`${wire.head(1000)}{"jsonrpc"`);
	const heads = Array.from({ length: 5 }, () => wire.socket());
	for (const { socket } of heads) socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
	for (let i = 0; i < 20; i++) assert.equal((await wire.modern('tools/list')).status, 200);
	await until(() => slow.every(({ closed }) => closed), 'slow bodies to be closed');
	assert.ok(slow.every(({ text }) => text.startsWith('HTTP/1.1 408 ')));
	await until(() => heads.every(({ closed }) => closed), 'slow heads to be closed');
});

// --- lists ---

test('MCP-1 walking the pages gives each tool once, in the same order, and another principal’s cursor is no secret', async () => {
	const all = [], seen = new Set();
	for (let cursor; ; ) {
		const { tools, nextCursor } = (await wire.modern('tools/list', cursor === undefined ? {} : { cursor })).json.result;
		all.push(...tools.map(({ name }) => name));
		if (nextCursor === undefined) break;
		assert.ok(!seen.has(nextCursor), 'a cursor leads on');
		seen.add((cursor = nextCursor));
	}
	assert.equal(new Set(all).size, all.length);
	const legacy = (await (await wire.session()).post(request('tools/list'))).json.result.tools.map(({ name }) => name);
	assert.deepEqual(legacy, all.slice(0, legacy.length));
	const reader = new Wire(w.server, (await w.agentOf(boss, { rules: ['note.note.read'] })).token);
	const few = (await reader.modern('tools/list')).json.result.tools.map(({ name }) => name);
	const rest = (await reader.modern('tools/list', { cursor: 'after-1' })).json.result.tools.map(({ name }) => name);
	assert.deepEqual(rest, few.slice(1), 'a cursor is a place in one’s own list');
	for (const method of ['tools/list', 'resources/list', 'prompts/list', 'resources/templates/list'])
		for (const cursor of ['x', 7, {}, 'after-9999999999999999999999', 'after-999999'])
			assert.equal((await wire.modern(method, { cursor })).json.error?.code, -32602, `${method} ${cursor}`);
});

// --- waiting, cancelling ---

test('MCP-1 a wait is a stream: progress to its token, then the answer; no worker is held', async () => {
	const p = await propose('Waited for');
	const { post, headers } = await wire.session();
	// more waits than there are workers, in both eras
	const many = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? wire.follow({ message: modernWait(p.proposalId), headers: modernHeaders(modernWait(p.proposalId)) }) : wire.follow({ message: waiting(p.proposalId, { progress: `p${i}`, request: i }), headers }))));
	assert.equal((await post(request('ping'))).status, 200, 'others are served');
	for (const stream of many.filter((_, i) => i % 2 === 0)) {
		const { method, params } = await stream.next();
		assert.equal(method, 'notifications/progress');
		assert.deepEqual([typeof params.progressToken, params.progress, params.total], ['string', 0, 30]);
	}
	await w.approve(p, boss);
	for (const [i, stream] of many.entries()) {
		const { id, result } = await stream.next();
		assert.equal(id, i % 2 ? 'wait' : i);
		assert.equal(result.structuredContent.state, 'approved');
		assert.equal(result.resultType, i % 2 ? 'complete' : undefined);
		await stream.over();
	}
	const decided = await post(waiting(p.proposalId));
	assert.equal(decided.headers.get('content-type'), 'application/json', 'nothing to wait for');
	const soon = await wire.post(modernWait((await propose()).proposalId, { timeout: 1 }), modernHeaders(modernWait('')));
	assert.equal(soon.json.result.structuredContent.state, 'pending', 'its time is over');
	const plain = await wire.post(modernWait((await propose()).proposalId, { timeout: 1 }), { ...modernHeaders(modernWait('')), accept: 'application/json' });
	assert.equal(plain.json.result.structuredContent.state, 'pending', 'without a stream it is held');
});

test('MCP-1 modern: a client that closes the stream has cancelled', async () => {
	const p = await propose();
	const before = await streams();
	const all = await Promise.all(Array.from({ length: 10 }, () => wire.follow({ message: modernWait(p.proposalId), headers: modernHeaders(modernWait(p.proposalId)) })));
	await until(async () => (await streams()) >= before + 10, 'streams to be open');
	for (const stream of all) await stream.close();
	await until(async () => (await streams()) <= before, 'them to be gone');
	assert.ok(all.every(({ messages }) => messages.length === 0));
});

test('MCP-1 legacy: notifications/cancelled ends a wait without an answer, of its own session only', async () => {
	const p = await propose();
	const mine = await wire.session(), other = await wire.session();
	const stream = await wire.follow({ message: waiting(p.proposalId, { request: 'x' }), headers: mine.headers });
	const number = await wire.follow({ message: waiting(p.proposalId, { request: 7 }), headers: mine.headers });
	for (const id of ['x', 7]) assert.equal((await other.post(cancelled(id))).status, 202);
	assert.equal((await mine.post(cancelled('7'))).status, 202);
	assert.equal((await mine.post(cancelled('y'))).status, 202);
	assert.equal((await mine.post(cancelled('x'))).status, 202);
	await stream.over();
	assert.deepEqual(stream.messages, []);
	assert.equal(number.ended, false, '7 is not "7"');
	await w.approve(p, boss);
	assert.equal((await number.next()).result.structuredContent.state, 'approved');
});

test('MCP-1 legacy: a client that lost the stream of a wait goes on with it, on its own session only', async () => {
	const p = await propose();
	const mine = await wire.session(), foreign = await w.agentOf(boss, { level: 'maintainer' });
	const stream = await wire.follow({ message: waiting(p.proposalId, { request: 'x' }), headers: mine.headers });
	const id = await until(() => stream.ids[0], 'its id');
	assert.match(stream.text, /^id: w\S+\nretry: \d+\ndata: \n\n/, 'an event with an id and without data comes first');
	await stream.close();
	const resume = (headers, event = id, as = wire) => as.follow({ method: 'GET', headers: { ...headers, 'last-event-id': event } });
	const changed = await resume(mine.headers, id.replace(/.$/, (c) => (c === '0' ? '1' : '0'))); // an ordinary stream
	const elsewhere = await resume((await wire.session()).headers);
	const stranger = await resume((await new Wire(w.server, foreign.token).session()).headers, id, new Wire(w.server, foreign.token));
	const again = await resume(mine.headers);
	await w.approve(p, boss);
	const answer = await again.next();
	assert.deepEqual([answer.id, answer.result.structuredContent.state], ['x', 'approved']);
	await again.over();
	const late = await resume(mine.headers); // also after the answer: it is the same question
	assert.equal((await late.next()).result.structuredContent.state, 'approved');
	for (const one of [changed, elsewhere, stranger]) {
		assert.ok(one.messages.every(({ id: of }) => of === undefined));
		await one.close();
	}
	const old = await wire.session('2025-06-18');
	const unprimed = await wire.follow({ message: waiting((await propose()).proposalId, { timeout: 1 }), headers: old.headers });
	await unprimed.next();
	assert.deepEqual(unprimed.ids, [], 'older revisions know no event without data');
});

test('MCP-1 a token that is revoked ends a wait, a listen and a session at once', async () => {
	const p = await propose();
	const doomed = await w.agentOf(boss, { level: 'admin', override: true });
	const own = new Wire(w.server, doomed.token);
	const session = await own.session();
	const wait = await own.follow({ message: waiting(p.proposalId), headers: session.headers });
	const listen = await own.listen({ toolsListChanged: true });
	await listen.next();
	assert.ok((await w.admin.delete(`/api/v1/tokens/${doomed.tokenId}`)).status < 300);
	await listen.over();
	await wait.over();
	assert.equal(wait.messages.at(-1)?.error?.code ?? 401, 401);
	assert.equal((await session.post(request('ping'))).status, 401);
	assert.equal((await own.modern('tools/list')).status, 401);
});

test('MCP-1 a session and what waits are known to another server, and to one that is started again', { skip: !onPostgres && 'needs PostgreSQL' }, async (t) => {
	const p = await propose('Two servers');
	const second = await w.another();
	t.after(() => second.stop());
	const there = new Wire(second, agent.token), session = await wire.session();
	assert.deepEqual((await there.post(request('ping'), session.headers)).json.result, {});
	const stream = await wire.follow({ message: waiting(p.proposalId, { request: 'x' }), headers: session.headers });
	const id = await until(() => stream.ids[0], 'its id');
	await stream.close();
	const again = await there.follow({ method: 'GET', headers: { ...session.headers, 'last-event-id': id } });
	const modern = await there.follow({ message: modernWait(p.proposalId), headers: modernHeaders(modernWait(p.proposalId)) });
	await w.approve(p, boss); // on the first
	assert.equal((await again.next()).result.structuredContent.state, 'approved');
	assert.equal((await modern.next()).result.structuredContent.state, 'approved');
	const one = await w.agentOf(boss, { level: 'maintainer' });
	const news = await new Wire(second, one.token).listen({ toolsListChanged: true });
	await news.next();
	await ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	assert.equal((await news.next()).method, 'notifications/tools/list_changed');
	await news.close();
});

// --- news ---

test('MCP-1 legacy: resources/subscribe tells on the stream of news, once, and unsubscribe ends it', async () => {
	const p = await propose(), q = await propose();
	const uri = (one) => `countersign://proposals/${one.proposalId}`;
	const { result, headers, post } = await wire.session();
	assert.equal(result.capabilities.resources.subscribe, true);
	const subscribe = (one, method = 'resources/subscribe') => post(request(method, { uri: one }));
	assert.deepEqual((await subscribe(uri(p))).json.result, {});
	assert.deepEqual((await subscribe(uri(p))).json.result, {}, 'twice is once');
	assert.deepEqual((await subscribe(uri(q))).json.result, {});
	assert.deepEqual((await subscribe(uri(q), 'resources/unsubscribe')).json.result, {});
	assert.equal((await subscribe('countersign://proposals/none')).json.error.code, -32002);
	const news = await wire.follow({ method: 'GET', headers }), second = await wire.follow({ method: 'GET', headers });
	await w.approve(q, boss);
	await w.approve(p, boss);
	await until(() => news.messages.length + second.messages.length, 'one of them to hear of it');
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
	await until(() => news.messages.length + second.messages.length === 2, 'the next');
	for (const { method, params } of [...news.messages, ...second.messages]) assert.deepEqual([method, params.uri], ['notifications/resources/updated', uri(p)]);
	await news.close();
	await second.close();
	for (let i = 0; i < 16; i++) assert.ok((await subscribe(uri(await propose()))).json.result || i === 15);
	assert.equal((await subscribe(uri(await propose()))).json.error.code, -32602, 'so many and no more');
});

test('MCP-1 legacy: a client that comes back to its stream of news is told what changed meanwhile', async () => {
	const one = await w.agentOf(boss, { level: 'maintainer' });
	const own = new Wire(w.server, one.token), { headers } = await own.session();
	const first = await own.follow({ method: 'GET', headers });
	const id = await until(() => first.ids.at(-1), 'its id');
	await first.close();
	await ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	const back = await own.follow({ method: 'GET', headers: { ...headers, 'last-event-id': id } });
	assert.equal((await back.next()).method, 'notifications/tools/list_changed');
	const now = await until(() => back.ids.at(-1) !== id && back.ids.at(-1), 'another id');
	await back.close();
	for (const event of [now, 'n', 'nx.y.z.', 'unknown', 'x'.repeat(500)]) {
		const quiet = await own.follow({ method: 'GET', headers: { ...headers, 'last-event-id': event } });
		await until(() => quiet.ids.length, 'the beginning');
		assert.deepEqual(quiet.messages, [], event);
		await quiet.close();
	}
});

test('MCP-1 listen hears what its filter names and nothing else; several at once', async () => {
	const p = await propose(), q = await propose();
	const uri = (one) => `countersign://proposals/${one.proposalId}`;
	const one = await w.agentOf(boss, { level: 'admin', override: true });
	const own = new Wire(w.server, one.token);
	const tools = await own.listen({ toolsListChanged: true, unknown: true }, 7), resource = await own.listen({ resourceSubscriptions: [uri(p), 8], promptsListChanged: 'yes', toolsListChanged: false }, 'r'), nothing = await own.listen({}, 'n');
	assert.deepEqual((await tools.next()).params, { _meta: { 'io.modelcontextprotocol/subscriptionId': 7 }, notifications: { toolsListChanged: true } });
	assert.deepEqual((await resource.next()).params.notifications, { resourceSubscriptions: [uri(p)] });
	assert.deepEqual((await nothing.next()).params.notifications, {});
	await w.approve(q, boss);
	await w.approve(p, boss);
	await ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	assert.equal((await tools.next()).method, 'notifications/tools/list_changed');
	const { method, params } = await resource.next();
	assert.deepEqual([method, params.uri, params._meta['io.modelcontextprotocol/subscriptionId']], ['notifications/resources/updated', uri(p), 'r']);
	assert.ok(resource.messages.slice(1).every((one) => one.params.uri === uri(p)));
	assert.deepEqual([tools.messages.length, nothing.messages.length], [2, 1]);
	for (const stream of [tools, resource, nothing]) await stream.close();
	for (const notifications of [undefined, null, [], 7]) assert.equal((await wire.modern('subscriptions/listen', { notifications })).json.error.code, -32602);
});

test('MCP-1 a server that stops ends what listens with its result, and what waits with what there is', async (t) => {
	const own = await World.start();
	const admin = await own.person(['admin']);
	const { token } = await own.agentOf(admin, { level: 'maintainer' });
	const there = new Wire(own.server, token);
	const p = (await there.call('note_create', { title: 'Stop', text: 'text' })).json.result.structuredContent;
	const { headers } = await there.session();
	const modern = await there.listen({ toolsListChanged: true }, 'sub');
	await modern.next();
	const legacy = await there.follow({ method: 'GET', headers });
	const wait = await there.follow({ message: waiting(p.proposalId), headers });
	await until(() => wait.ids.length && legacy.ids.length, 'all to be open');
	await own.stop();
	const { id, result } = await modern.next();
	assert.deepEqual([id, result.resultType, result._meta['io.modelcontextprotocol/subscriptionId']], ['sub', 'complete', 'sub']);
	assert.equal((await wait.next()).result.structuredContent.state, 'pending');
	for (const stream of [modern, legacy, wait]) await stream.over();
	assert.deepEqual(legacy.messages, []);
	t.diagnostic('all streams ended');
});

// --- what is sealed ---

test('MCP-1 requestState is bound to its call, to its principal and to its time', async (t) => {
	const server = await startServer({ args: ['--conformance'] });
	t.after(() => server.stop());
	const there = new Wire(server, null);
	const everything = { capabilities: { elicitation: {}, sampling: {}, roots: {} } };
	const name = 'test_input_required_result_request_state';
	const first = (await there.modern('tools/call', { name, arguments: {} }, everything)).json.result;
	const inputResponses = Object.fromEntries(Object.keys(first.inputRequests).map((key) => [key, { action: 'accept', content: {} }]));
	const retry = (params) => there.modern('tools/call', { name, arguments: {}, inputResponses, requestState: first.requestState, ...params }, everything);
	for (let i = 0; i < 2; i++) assert.ok((await retry()).json.result, 'it is no permission: sent again, it decides again');
	const [until_, text, mac] = first.requestState.split('.');
	const later = (parseInt(until_, 16) + 600).toString(16);
	for (const params of [{ requestState: [later, text, mac].join('.') }, { requestState: `${until_}.${text}` }, { requestState: `${until_}..${mac}` }, { arguments: { a: 1 } }, { name: 'test_input_required_result_multi_round' }, { requestState: first.requestState.toUpperCase() }, { requestState: ` ${first.requestState}` }])
		assert.equal((await retry(params)).json.error?.code, -32602, JSON.stringify(params));
	assert.equal((await wire.modern('tools/call', { name, arguments: {}, inputResponses, requestState: first.requestState }, everything)).json.error.code, -32602, 'another principal, and another server’s key');
	assert.equal((await there.modern('prompts/get', { name, inputResponses, requestState: first.requestState }, everything)).json.error.code, -32602, 'another method');
});

test('MCP-1 a session id is no credential, and is bound to the principal, not to the token', async () => {
	const mine = await wire.session();
	const second = await ok(boss.post('/api/v1/tokens', { name: 'second', principalId: agent.id, level: 'maintainer' }));
	assert.equal((await new Wire(w.server, second.token).post(request('ping'), mine.headers)).status, 200, 'the same agent');
	assert.equal((await new Wire(w.server, w.agentToken).post(request('ping'), mine.headers)).status, 404, 'another one');
	assert.equal((await new Wire(w.server, null).post(request('ping'), mine.headers)).status, 401);
	for (const method of ['GET', 'DELETE']) {
		const response = await fetch(`${w.server.url}/mcp`, { method, headers: { ...mine.headers, accept: 'text/event-stream', authorization: `Bearer ${w.agentToken}` } });
		assert.equal(response.status, 404, method);
		await response.body?.cancel();
	}
	assert.equal((await mine.post(initialize())).status, 200, 'initialize begins another one');
});

test('MCP-1 a stream on which nothing happens has comments, and a long wait has progress that grows', async () => {
	await until(() => /^:/m.test(quiet.text), 'a comment');
	assert.equal(quiet.messages.length, 1);
	const values = () => patient.messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params.progress);
	await until(() => values().length > 1, 'progress');
	assert.ok(values().every((value, i, all) => i === 0 || value > all[i - 1]), values().join());
	assert.ok(patient.messages.every(({ params, result }) => result || params.progressToken === 7));
	await Promise.all([quiet.close(), patient.close()]);
});

test('MCP-1 PA-8 a stop waits for nobody who waits: each is answered at once, with the proposal as it is', async (t) => {
	const own = await World.start({ args: ['--drain-seconds', '600'] });
	t.after(() => own.stop());
	const { token } = await own.agentOf(await own.person(['admin']), { level: 'maintainer', ratePerMinute: 100000 });
	const client = new Wire(own.server, token);
	const requests = async () => Number(/^countersign_http_requests_total (\d+)$/m.exec((await own.server.get('/metrics')).text)[1]);
	const url = { capabilities: { elicitation: { url: {} } } };
	const input = { title: 'Asked for', text: 'text' };
	const { proposalId } = (await client.call('note_create', input)).json.result.structuredContent;
	const { requestState } = (await client.call('note_create', input, url)).json.result;
	const opened = { name: 'note_create', arguments: input, requestState, inputResponses: { approval: { action: 'accept' } } };
	const wait = { id: proposalId, timeout: 30 };
	let probed = await requests();
	const waits = [
		own.server.as(token).get(`/api/v1/proposals/${proposalId}/wait?timeout=30`).then(({ json }) => json),
		...[client.call('wait_proposal', wait), client.call('wait_proposal', wait, { headers: { accept: 'application/json' } }), client.modern('tools/call', opened, url)].map((one) => one.then(({ json }) => json.result.structuredContent)),
	];
	await until(async () => (await requests()) >= ++probed + waits.length, 'all of them to be there');
	own.server.kill('SIGTERM');
	await until(() => own.server.exited, 'its end', 15); // they would have waited for 20 and 30 seconds
	assert.deepEqual((await Promise.all(waits)).map(({ state }) => state), waits.map(() => 'pending'));
});
