// SPDX-License-Identifier: Apache-2.0
// exec/mcp over HTTP against servers that misbehave (EX-3): what is known of a call, and that it is sent once.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onPostgres, until } from './lib/server.mjs';
import { client, failure, legacyServer, result, sendJson, serve } from './lib/mcpclient.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: there is no database in it';
const done = (message) => result(message, { content: [{ type: 'text', text: 'ok' }] });
const modern = 'io.modelcontextprotocol/';

test('EX-3 all pages of the tools are listed as they came, and malformed ones are left out', { skip }, async (t) => {
	const odd = { name: 'odd', inputSchema: { type: 'object', properties: { n: { type: 'number', maximum: 1.5e3 } }, $ref: 'http://127.0.0.1:1/never' }, description: 'z', annotations: {} };
	const server = await legacyServer(t, {}, { pages: [[{ name: 'a', inputSchema: {} }, odd], [{ description: 'nameless' }, { name: 'bad', inputSchema: { properties: { x: { type: 'number', 'x-mcp-header': 'X' } } } }], [{ name: 'z', inputSchema: {} }]] });
	const c = client(t, server.url);
	const { status, tools, dropped } = await c.list();
	assert.equal(status, 'ok');
	assert.deepEqual(tools.map(({ name }) => name), ['a', 'odd', 'z']);
	assert.equal(JSON.stringify(tools[1]), JSON.stringify(odd));
	assert.equal(dropped, 2);
	assert.deepEqual(server.of('tools/list').map(({ params }) => params.cursor), [undefined, '1', '2']);
	assert.equal(server.of('server/discover').length, 1); // it was asked which era it is of
	assert.equal(server.of('initialize').length, 1);
	assert.equal(server.of('notifications/initialized').length, 1);
	assert.deepEqual(server.of('initialize')[0].params.capabilities, {});
	assert.ok(server.of('tools/list').every(({ headers }) => headers['mcp-session-id'] === 's1' && headers['mcp-protocol-version'] === '2025-11-25'));
});

test('EX-3 a list without an end, or that is none, is refused', { skip }, async (t) => {
	const endless = await serve(t, (request, response, message) => sendJson(response, 200, result(message, { tools: [], nextCursor: '' })));
	const none = await serve(t, (request, response, message) => sendJson(response, 200, result(message, { tools: 7 })));
	const refused = await serve(t, (request, response, message) => sendJson(response, 200, failure(message, -32603, 'broken')));
	assert.equal((await client(t, endless.url, { era: 'modern' }).list()).status, 'too_large');
	assert.match((await client(t, none.url, { era: 'modern' }).list()).why, /is none/);
	assert.match((await client(t, refused.url, { era: 'modern' }).list()).why, /does not list its tools: broken/);
});

const stream = (response, ...events) => {
	response.writeHead(200, { 'Content-Type': 'text/event-stream' });
	for (const event of events)
		response.write(event);
};
const event = (message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

const behaviours = {
	fine: (m, r) => sendJson(r, 200, done(m)),
	failing: (m, r) => sendJson(r, 200, result(m, { isError: true, content: [] })),
	streaming: (m, r) => { stream(r, ': hello\n\n', event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} }), event(done(m))); r.end(); },
	lingering: (m, r) => stream(r, event(done(m))), // the stream stays open
	invalid: (m, r) => sendJson(r, 200, failure(m, -32602, 'no such tool')),
	nameless: (m, r) => sendJson(r, 400, { jsonrpc: '2.0', error: { code: -32600, message: 'what?' } }),
	internal: (m, r) => sendJson(r, 200, failure(m, -32603, 'halfway')),
	odd: (m, r) => sendJson(r, 200, failure(m, 17, 'seventeen')),
	bad: (m, r) => r.writeHead(400).end(),
	many: (m, r) => r.writeHead(429).end('slow down'),
	elsewhere: (m, r, request) => r.writeHead(307, { Location: `http://${request.headers.host}/other` }).end(),
	broken: (m, r) => r.writeHead(500).end(),
	down: (m, r) => r.writeHead(503).end(),
	garbage: (m, r) => { r.writeHead(200, { 'Content-Type': 'application/json' }); r.end('{"jsonrpc":'); },
	foreign: (m, r) => sendJson(r, 200, { jsonrpc: '2.0', id: 'another', result: {} }),
	silent: (m, r) => r.writeHead(202).end(),
	hangup: (m, r, request) => request.socket.destroy(),
	half: (m, r, request) => { r.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' }); r.write('{"json'); setTimeout(() => request.socket.destroy(), 50); },
	cut: (m, r) => { stream(r, event({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })); r.end(); },
	slow: () => {},
	task: (m, r) => sendJson(r, 200, result(m, { resultType: 'task', taskId: '1' })),
};

const gone = /it ended the connection before its answer was complete$/;
const expected = {
	fine: ['done', 200], failing: ['done', 200], streaming: ['done', 200], lingering: ['done', 200],
	invalid: ['refused', 200, /refused it: no such tool/], nameless: ['refused', 400, /what\?/], bad: ['refused', 400, /HTTP 400/], many: ['refused', 429], elsewhere: ['refused', 307],
	internal: ['lost', 200, /halfway/], odd: ['lost', 200], broken: ['lost', 500, /HTTP 500/], down: ['lost', 503], garbage: ['lost', 200], foreign: ['lost', 200],
	silent: ['lost', 202], hangup: ['lost', 0, gone], half: ['lost', 200, gone], cut: ['lost', 200], slow: ['lost', 0, /no answer came in time/], task: ['lost', 200],
};

for (const reads of [false, true]) {
	test(`EX-4 what is known of a ${reads ? 'read' : 'change'} is said, and how often it is sent`, { skip }, async (t) => {
		const server = await legacyServer(t, behaviours);
		const c = client(t, server.url, { era: 'legacy' });
		for (const [tool, [end, status, why]] of Object.entries(expected)) {
			const answer = await c.call(tool, {}, { deadline_ms: tool === 'slow' ? 1500 : 20000, reads });
			assert.equal(answer.end, end, `${tool}: ${JSON.stringify(answer)}`);
			assert.equal(answer.status, status, tool);
			assert.ok(answer.sent > 0, tool);
			assert.match(answer.why, why ?? /(?:)/, tool);
			// who reads over a connection that was open already may come again where that one dies
			const times = server.asked.filter(({ name }) => name === tool).length;
			assert.ok(times === 1 || (reads && tool === 'hangup' && times === 2), `${tool}: ${times}`);
		}
		assert.equal(server.of('initialize').length, 1);
	});
}

test('EX-4 a change has a connection of its own; reads share one', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url, { era: 'legacy' });
	await c.call('fine');
	const start = server.opened();
	for (let i = 0; i < 3; i++)
		assert.equal((await c.call('fine')).end, 'done');
	assert.equal(server.opened() - start, 3);
	for (let i = 0; i < 5; i++)
		assert.equal((await c.call('fine', {}, { reads: true })).end, 'done');
	assert.equal(server.opened() - start, 4);
});

test('EX-4 a second answer that nobody asked for is never taken for another read\'s, and ends its connection', { skip }, async (t) => {
	const second = JSON.stringify({ jsonrpc: '2.0', id: 'another', result: { content: [{ type: 'text', text: 'poisoned' }] } });
	const server = await legacyServer(t, { ...behaviours, twice: (m, r, request) => {
		sendJson(r, 200, done(m));
		r.on('finish', () => setTimeout(() => request.socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${second.length}\r\n\r\n${second}`, () => { server.state.twice = true; }), 50));
	} });
	const c = client(t, server.url, { era: 'legacy' });
	const read = (tool) => c.call(tool, {}, { reads: true });
	assert.equal((await read('twice')).end, 'done');
	await until(() => server.state.twice, 'the second answer');
	assert.ok(!JSON.stringify(await read('fine')).includes('poisoned')); // libcurl before 8.0 sends it over that connection, and it is lost
	for (let i = 0; i < 3; i++)
		assert.equal((await read('fine')).end, 'done');
});

test('EX-4 where nobody listens, or the time is over, nothing was sent', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url, { era: 'legacy' });
	assert.equal((await c.call('fine')).end, 'done');
	const late = await c.call('fine', {}, { deadline_ms: -1 });
	assert.deepEqual([late.end, late.sent], ['not_sent', 0]);
	await server.close();
	const gone = await c.call('fine');
	assert.deepEqual([gone.end, gone.sent, gone.status], ['not_sent', 0, 0]);
	assert.match(gone.why, /it could not be reached: connection refused/);
	assert.equal(server.asked.filter(({ name }) => name === 'fine').length, 1);
});

test('EX-3 a session that is over is opened again, and the call is done once', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url, { era: 'legacy' });
	await c.call('fine');
	server.state.session = 2;
	assert.equal((await c.call('fine')).end, 'done');
	assert.equal(server.of('initialize').length, 2);
	assert.deepEqual(server.of('tools/call').map(({ headers }) => headers['mcp-session-id']), ['s1', 's1', 's2']); // the second was refused
});

test('EX-3 many calls run at the same time, in one session', { skip }, async (t) => {
	let running = 0, most = 0;
	const held = [];
	const server = await legacyServer(t, { wait: (m, r) => {
		most = Math.max(most, ++running);
		held.push(() => { running--; sendJson(r, 200, done(m)); });
		if (held.length === 20)
			held.splice(0).forEach((go) => go());
	} });
	const c = client(t, server.url);
	const answers = await c.calls('wait', { times: 20 });
	assert.ok(answers.every(({ end }) => end === 'done'));
	assert.equal(most, 20);
	assert.equal(server.of('initialize').length, 1);
});

test('EX-3 a stop ends what is under way, and nothing is sent after it', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url);
	await c.call('fine');
	const slow = () => server.asked.filter(({ name }) => name === 'slow').length;
	const answers = await c.stopped('slow', () => slow() === 3, { times: 3 });
	assert.ok(answers.every(({ end }) => end === 'lost'), JSON.stringify(answers));
	assert.equal((await c.call('fine')).end, 'not_sent');
	assert.equal(server.asked.filter(({ name }) => name === 'fine').length, 1);
});

test('EX-3 no address of this machine is reached unless the options name its network', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url, { options: { allow_none: true } });
	const answer = await c.call('fine');
	assert.deepEqual([answer.end, answer.sent], ['not_sent', 0]);
	assert.match(answer.why, /its address is not public, and not in its `networks`/);
	assert.equal(server.opened(), 0);
});

test('EX-3 the token and the headers of the options go along', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours);
	const c = client(t, server.url, { options: { bearer: 'tok', api_key: 'k1' } });
	assert.equal((await c.call('fine')).end, 'done');
	assert.ok(server.asked.every(({ headers }) => headers.authorization === 'Bearer tok' && headers['x-api-key'] === 'k1'));
});

test('EX-3 the era is asked for; a refusal or a failure is no answer to that', { skip }, async (t) => {
	const asked = [];
	const answers = { discover: null };
	const server = await serve(t, (request, response, message) => {
		asked.push([message.method, request.headers['mcp-protocol-version'], message.params?._meta?.[`${modern}protocolVersion`]]);
		if (message.method === 'server/discover')
			answers.discover(message, response);
		else if (message.method === 'tools/list')
			sendJson(response, 200, result(message, { resultType: 'complete', tools: [] }));
		else
			sendJson(response, 200, done(message));
	});
	const c = client(t, server.url);
	for (const status of [401, 403, 500, 503]) {
		answers.discover = (m, r) => r.writeHead(status).end();
		const answer = await c.call('x');
		assert.equal(answer.end, 'not_sent', JSON.stringify(answer));
		assert.equal(answer.sent, 0);
	}
	assert.ok(asked.every(([method]) => method === 'server/discover'));
	answers.discover = (m, r) => sendJson(r, 200, result(m, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} }));
	assert.equal((await c.call('x')).end, 'done');
	assert.ok(asked.every(([, header, meta]) => header === '2026-07-28' && meta === '2026-07-28'));
	const before = asked.length;
	assert.equal((await c.call('x')).end, 'done');
	assert.equal(asked.length, before + 1); // it is known now
});

test('EX-3 a version that the server does not know is replaced by one that it names', { skip }, async (t) => {
	const server = await legacyServer(t, behaviours, { before: (request, response, message) => {
		if (request.headers['mcp-protocol-version'] !== '2026-07-28')
			return false;
		sendJson(response, 400, failure(message, -32022, 'unsupported', { supported: ['2025-11-25'], requested: '2026-07-28' }));
		return true;
	} });
	assert.equal((await client(t, server.url).call('fine')).end, 'done');
	assert.equal(server.of('initialize').length, 1);
});

test('EX-3 a server of an unknown version, and one that refuses to begin, are not called', { skip }, async (t) => {
	const strange = await serve(t, (request, response, message) => sendJson(response, 200, result(message, { protocolVersion: '1999-01-01', capabilities: {} })));
	const closed = await serve(t, (request, response, message) => sendJson(response, 200, failure(message, -32603, 'closed today')));
	assert.match((await client(t, strange.url, { era: 'legacy' }).call('x')).why, /version that we do not know/);
	assert.match((await client(t, closed.url, { era: 'legacy' }).call('x')).why, /refuses to begin: closed today/);
});

test('EX-3 what a server says of changed tools beside an answer is heard', { skip }, async (t) => {
	const server = await serve(t, (request, response, message) => {
		stream(response, event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }), event({ jsonrpc: '2.0', method: 'notifications/other' }), event(result(message, { resultType: 'complete', content: [], tools: [] })));
		response.end();
	});
	const c = client(t, server.url, { era: 'modern' });
	assert.equal(await c.changes(), 0);
	assert.equal((await c.call('x')).end, 'done');
	assert.equal(await c.changes(), 2, 'with its list, and with its answer');
});

test('EX-3 what the server asks is answered: ping, and no to all else', { skip }, async (t) => {
	const answers = [];
	let finish;
	const server = await legacyServer(t, { asks: (m, r) => {
		stream(r, event({ jsonrpc: '2.0', id: 'p', method: 'ping' }), event({ jsonrpc: '2.0', id: 7, method: 'sampling/createMessage', params: {} }));
		finish = () => { r.write(event(done(m))); r.end(); };
	} }, { before: (request, response, message) => {
		if (message?.method !== undefined || message === undefined)
			return false;
		answers.push(message);
		response.writeHead(202).end();
		if (answers.length === 2)
			finish();
		return true;
	} });
	assert.equal((await client(t, server.url, { era: 'legacy' }).call('asks')).end, 'done');
	answers.sort((a, b) => String(a.id).localeCompare(String(b.id)));
	assert.deepEqual(answers[1], { jsonrpc: '2.0', id: 'p', result: {} });
	assert.equal(answers[0].error.code, -32601);
});

test('EX-3 a stream that breaks is taken up again where it said; where that is refused nobody knows', { skip }, async (t) => {
	const gets = [];
	let call;
	const server = await legacyServer(t, { breaks: (m, r) => { call = m; stream(r, 'id: one\nretry: 10\ndata: \n\n'); r.end(); } }, { before: (request, response) => {
		if (request.method !== 'GET')
			return false;
		gets.push(request.headers['last-event-id']);
		if (gets.length === 1) {
			stream(response, 'id: two\ndata: \n\n');
			setTimeout(() => request.socket.destroy(), 20);
		} else if (gets.length === 2) {
			stream(response, event(done(call)));
			response.end();
		} else {
			response.writeHead(404).end();
		}
		return true;
	} });
	const c = client(t, server.url, { era: 'legacy' });
	assert.equal((await c.call('breaks')).end, 'done');
	assert.deepEqual(gets, ['one', 'two']);
	const lost = await c.call('breaks');
	assert.deepEqual([lost.end, lost.status], ['lost', 200]);
	assert.match(lost.why, /rest of the answer is refused with HTTP 404/);
	assert.equal(server.of('tools/call').length, 2);
});

test('EX-4 a server that dies in the middle of its answer has ended it, and is not called unreachable only', { skip }, async (t) => {
	const server = await legacyServer(t, { dies: (m, r) => { stream(r, 'id: one\nretry: 10\ndata: \n\n'); setTimeout(() => server.close(), 20); } });
	const lost = await client(t, server.url, { era: 'legacy' }).call('dies');
	assert.equal(lost.end, 'lost');
	assert.ok(lost.sent > 0);
	assert.match(lost.why, /^it ended the connection before its answer was complete, and then it could not be reached: connection refused$/);
});

test('EX-3 a question before the answer is refused where nobody can answer, and a state alone is brought back', { skip }, async (t) => {
	const calls = [];
	const server = await serve(t, (request, response, message) => {
		if (message.method === 'tools/list')
			return sendJson(response, 200, result(message, { resultType: 'complete', tools: [] }));
		calls.push(message);
		if (message.params.name === 'asks')
			return sendJson(response, 200, result(message, { resultType: 'input_required', inputRequests: { a: { method: 'elicitation/create', params: {} } } }));
		if (message.params.name === 'never')
			return sendJson(response, 200, result(message, { resultType: 'input_required', requestState: 's' }));
		return sendJson(response, 200, message.params.requestState === 'é"x' ? result(message, { resultType: 'complete', content: [] }) : result(message, { resultType: 'input_required', requestState: 'é"x' }));
	});
	const c = client(t, server.url, { era: 'modern' });
	const asks = await c.call('asks');
	assert.equal(asks.end, 'refused');
	assert.match(asks.why, /wants answers first/);
	assert.equal((await c.call('waits', { n: 1 })).end, 'done');
	assert.deepEqual(calls.at(-1).params.arguments, { n: 1 });
	assert.notEqual(calls.at(-1).id, calls.at(-2).id);
	const before = calls.length;
	assert.equal((await c.call('never')).end, 'refused');
	assert.equal(calls.length - before, 10);
});

test('EX-3 questions are answered where the options say so, in both eras', { skip }, async (t) => {
	const schema = { type: 'object', properties: { name: { type: 'string', default: 'John' }, age: { type: 'integer' } } };
	const options = { capabilities: '{"elicitation":{}}' };
	const calls = [];
	const server = await serve(t, (request, response, message) => {
		if (message.method === 'tools/list')
			return sendJson(response, 200, result(message, { resultType: 'complete', tools: [] }));
		calls.push(message);
		assert.deepEqual(message.params._meta[`${modern}clientCapabilities`], { elicitation: {} });
		if (!message.params.inputResponses)
			return sendJson(response, 200, result(message, { resultType: 'input_required', inputRequests: { a: { method: 'elicitation/create', params: { requestedSchema: schema } } } }));
		return sendJson(response, 200, result(message, { resultType: 'complete', content: [] }));
	});
	assert.equal((await client(t, server.url, { era: 'modern', options }).call('asks')).end, 'done');
	assert.deepEqual(calls[1].params.inputResponses, { a: { action: 'accept', content: { name: 'John' } } });
});
