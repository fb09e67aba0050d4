// SPDX-License-Identifier: Apache-2.0
// The engine's questions, dropped streams and tasks, by the fixture of `serve --conformance`: what the official suite
// does not look at (MCP-1).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { startServer } from './lib/server.mjs';

let server;
before(async () => (server = await startServer({ args: ['--conformance'] })));
after(() => server?.stop());

const accept = 'application/json, text/event-stream';

async function connect(capabilities = { sampling: {}, elicitation: {}, roots: {} }) {
	const client = new Client({ name: 'test', version: '1' }, { capabilities });
	if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }));
	if (capabilities.sampling) client.setRequestHandler(CreateMessageRequestSchema, async () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: 'Paris' } }));
	if (capabilities.roots) client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }));
	const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
	await client.connect(transport);
	return Object.assign(client, { session: transport.sessionId });
}

async function post(body, headers = {}) {
	const response = await fetch(`${server.url}/mcp`, { method: 'POST', headers: { accept, 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
	const text = await response.text();
	const data = text.startsWith('{') ? [text] : text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => line.slice(6));
	return { status: response.status, messages: data.map((one) => JSON.parse(one)) };
}

const everything = { sampling: {}, elicitation: {}, roots: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A modern request; its last message. */
async function modern(method, params, { capabilities = everything, meta = {}, name = params.name ?? params.taskId, headers = {} } = {}) {
	const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities, ...meta };
	const { status, messages } = await post({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name ? { 'mcp-name': name } : {}), ...headers });
	return { status, messages, ...messages.at(-1) };
}

const answers = (asks) => Object.fromEntries(Object.entries(asks ?? {}).map(([key, { method }]) => [key, { 'elicitation/create': { action: 'accept', content: { name: 'Ada', confirm: true } }, 'sampling/createMessage': { model: 'm', role: 'assistant', content: { type: 'text', text: 'Paris' } }, 'roots/list': { roots: [] } }[method]]));

test('MCP-1 a legacy client is asked on the stream, as often as a tool asks, and gets one answer', async () => {
	const client = await connect();
	const asking = (await client.listTools()).tools.filter((tool) => /^test_(sampling|elicitation|input)/.test(tool.name));
	assert.ok(asking.length > 5, JSON.stringify(asking));
	for (const { name } of asking) {
		const { content } = await client.callTool({ name, arguments: {} });
		assert.match(content[0].text, /answered|state-ok|both rounds/, name);
	}
	const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' });
	assert.equal(prompt.messages.length, 1);
	await client.close();
});

test('MCP-1 a legacy client that declared nothing is asked nothing', async () => {
	const client = await connect({});
	await assert.rejects(client.callTool({ name: 'test_sampling', arguments: {} }), { code: -32600 });
	await client.close();
});

test('MCP-1 a call that waits for an answer can be cancelled, and nobody else can answer it', async () => {
	const client = await connect(), other = await connect();
	const controller = new AbortController();
	const response = await fetch(`${server.url}/mcp`, { method: 'POST', signal: controller.signal, headers: { accept, 'content-type': 'application/json', 'mcp-session-id': client.session }, body: JSON.stringify({ jsonrpc: '2.0', id: 'held', method: 'tools/call', params: { name: 'test_elicitation', arguments: {} } }) });
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	const { id } = JSON.parse(/^data: (.*)$/m.exec((await reader.read()).value)[1]);
	const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: {} } };
	assert.equal((await post(answer, { 'mcp-session-id': other.session })).status, 202);
	assert.equal((await post({ ...answer, id: `${id}9` }, { 'mcp-session-id': client.session })).status, 202);
	assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'held' } }, { 'mcp-session-id': client.session })).status, 202);
	assert.equal((await reader.read()).done, true, 'the stream ends without an answer');
	assert.equal((await post(answer, { 'mcp-session-id': client.session })).status, 202);
	await Promise.all([client.close(), other.close()]);
});

test('MCP-1 an answer whose stream broke is fetched once more, by its own session only', async () => {
	const client = await connect(), other = await connect();
	const dropped = await fetch(`${server.url}/mcp`, { method: 'POST', headers: { accept, 'content-type': 'application/json', 'mcp-session-id': client.session }, body: JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'test_reconnection', arguments: {} } }) });
	const [, id] = /^id: (.*)$/m.exec(await dropped.text());
	const fetchAs = (session) => fetch(`${server.url}/mcp`, { headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': id } });
	assert.match(await (await fetchAs(client.session)).text(), /"id":5,"result"/);
	const foreign = await fetchAs(other.session); // an ordinary stream: it goes on
	assert.equal(foreign.status, 200);
	await foreign.body.cancel();
	await Promise.all([client.close(), other.close()]);
});

test('MCP-1 what travels with a modern client is bound to its call and cannot be changed', async () => {
	const name = 'test_input_required_result_request_state';
	const first = (await modern('tools/call', { name })).result;
	assert.equal(first.resultType, 'input_required');
	const inputResponses = answers(first.inputRequests), requestState = first.requestState;
	assert.match((await modern('tools/call', { name, inputResponses, requestState })).result.content[0].text, /state-ok/);
	for (const wrong of [`${requestState}0`, requestState.replace(/^./, (c) => (c === 'f' ? 'e' : 'f')), requestState.replace(/.$/, (c) => (c === '0' ? '1' : '0'))])
		assert.equal((await modern('tools/call', { name, inputResponses, requestState: wrong })).error.code, -32602);
	assert.equal((await modern('tools/call', { name: 'test_input_required_result_tampered_state', inputResponses, requestState })).error.code, -32602, 'another tool');
	assert.equal((await modern('tools/call', { name, arguments: { a: 1 }, inputResponses, requestState })).error.code, -32602, 'other arguments');
});

test('MCP-1 every tool of the fixture answers a modern client that can do everything', async () => {
	const { tools } = (await modern('tools/list', {})).result;
	assert.ok(tools.length > 10, JSON.stringify(tools));
	for (const { name } of tools) {
		let answer = await modern('tools/call', { name });
		for (let round = 0; answer.result?.resultType === 'input_required' && round < 5; round++)
			answer = await modern('tools/call', { name, inputResponses: answers(answer.result.inputRequests), requestState: answer.result.requestState });
		assert.match(answer.result?.resultType ?? '', /^(complete|task)$/, `${name}: ${JSON.stringify(answer)}`);
	}
	assert.equal((await modern('tools/call', { name: 'none' })).error.code, -32602);
	assert.equal((await modern('tools/call', { name: 'test_missing_capability' }, { capabilities: {} })).status, 400);
	const logged = await modern('tools/call', { name: 'test_logging_tool' }, { meta: { 'io.modelcontextprotocol/logLevel': 'info' } });
	assert.equal(logged.messages.length, 4);
	assert.equal((await modern('tools/call', { name: 'test_logging_tool' }, { meta: { 'io.modelcontextprotocol/logLevel': 'error' } })).messages.length, 1);
	const { messages } = await modern('tools/call', { name: 'test_tool_with_progress' }, { meta: { progressToken: 7 } });
	assert.deepEqual(messages.slice(0, 3).map(({ params }) => params.progress), [0, 50, 100]);
});

test('MCP-1 tasks: asked, answered in parts, cancelled, unknown', async () => {
	const { taskId } = (await modern('tools/call', { name: 'multi_input' })).result;
	const get = async () => (await modern('tasks/get', { taskId })).result;
	assert.deepEqual(Object.keys((await get()).inputRequests), ['first', 'second']);
	await modern('tasks/update', { taskId, inputResponses: { first: {} } });
	assert.deepEqual(Object.keys((await get()).inputRequests), ['second']);
	assert.equal((await modern('tasks/update', { taskId })).error.code, -32602);
	await modern('tasks/update', { taskId, inputResponses: { second: {} } });
	assert.equal((await get()).status, 'completed');
	const slow = (await modern('tools/call', { name: 'slow_compute', arguments: { seconds: 600, label: 'x' } })).result.taskId;
	assert.deepEqual((await modern('tasks/cancel', { taskId: slow })).result.resultType, 'complete');
	assert.equal((await modern('tasks/get', { taskId: slow })).result.status, 'cancelled');
	for (const name of ['failing_job', 'protocol_error_job']) {
		const id = (await modern('tools/call', { name })).result.taskId;
		const { status } = (await modern('tasks/get', { taskId: id })).result;
		assert.equal(status, name === 'failing_job' ? 'completed' : 'failed');
	}
	assert.equal((await modern('tasks/get', { taskId: 'none' })).error.code, -32602);
	assert.equal((await modern('tasks/get', { taskId }, { capabilities: {} })).error.code, -32021);
});

test('MCP-1 the fixture: resources, prompts, completion, subscriptions', async () => {
	const client = await connect();
	const { resources } = await client.listResources(), { prompts } = await client.listPrompts();
	assert.ok(resources.length && prompts.length);
	for (const { uri } of resources) assert.equal((await client.readResource({ uri })).contents.length, 1);
	assert.match((await client.readResource({ uri: 'test://template/7/data' })).contents[0].text, /7/);
	await assert.rejects(client.readResource({ uri: 'test://template//data' }), { code: -32002 });
	for (const { name } of prompts) assert.ok((await client.getPrompt({ name, arguments: { arg1: 'a', arg2: 'b', resourceUri: 'test://x' } })).messages.length);
	await assert.rejects(client.getPrompt({ name: 'none' }), { code: -32602 });
	assert.deepEqual((await client.complete({ ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'pa' } })).completion.values, ['paris']);
	await client.subscribeResource({ uri: 'test://watched-resource' });
	await client.unsubscribeResource({ uri: 'test://watched-resource' });
	await client.setLoggingLevel('error');
	assert.ok((await client.callTool({ name: 'test_tool_with_logging', arguments: {} })).content.length);
	await client.close();
});

test('MCP-1 a header that repeats an argument says the same, or the call is refused', async () => {
	const name = 'test_x_mcp_header';
	const ask = async (region, value) => (await modern('tools/call', { name, arguments: region === undefined ? {} : { region } }, { headers: value === undefined ? {} : { 'mcp-param-region': value } })).status;
	for (const [region, value] of [['eu', 'eu'], ['Grüße', `=?base64?${Buffer.from('Grüße').toString('base64')}?=`], [7, '7'], [true, 'true'], [null, undefined], [undefined, undefined]]) assert.equal(await ask(region, value), 200, `${region} ${value}`);
	for (const [region, value] of [['eu', undefined], ['eu', 'us'], ['eu', 'EU'], [undefined, 'eu'], [null, 'eu'], ['eu', '=?base64?ZXU?='], ['eu', '=?base64?!!!?='], ['\u00e9', '=?base64?6Q==?='], [7, '8'], [7, 'x'], [7.5, '7.5'], [true, 'false'], [{}, 'x']])
		assert.equal(await ask(region, value), 400, `${region} ${value}`);
});

test('MCP-1 a client that takes no stream is not asked, and gets whole answers', async () => {
	const client = await connect();
	const plain = { accept: 'application/json', 'mcp-session-id': client.session };
	const ask = (name, more = {}) => post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, ...more } }, plain);
	assert.equal((await ask('test_elicitation')).status, 406);
	assert.equal((await ask('test_tool_with_progress', { _meta: { progressToken: 1 } })).messages.length, 1);
	assert.equal((await ask('test_reconnection')).messages[0].id, 1);
	assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'x' } }, plain)).messages[0].error.code, -32602);
	await client.close();
});
