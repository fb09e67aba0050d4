// SPDX-License-Identifier: Apache-2.0
// Waiting for people over MCP: tasks, URL elicitation, the address in the result; restarts, other servers, rights that
// change (mcp.tools.test.mjs has an agent's day). A client's "accept" is never an approval (MCP-2, PA-8, AP-3).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { ask, legacy, listen, modern, said } from './lib/mcp-clients.mjs';
import { fixedAddress, onPostgres, startAgain, until } from './lib/server.mjs';

let w, boss, agent;
before(async () => {
	w = await World.start({ listen: await fixedAddress() });
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100000 });
});
after(() => w?.stop());

const TASKS = 'io.modelcontextprotocol/tasks';
const tasks = { extensions: { [TASKS]: {} } }, url = { elicitation: { url: {} } };
const both = { ...tasks, ...url };

let count = 0;
const note = () => ({ title: `Waits ${++count}`, text: 'text' });
const send = (method, params, capabilities, { token = agent.token, server = w.server } = {}) => ask(server.url, token, method, params, { capabilities });
const call = async (name, input, capabilities, more = {}, options) => (await send('tools/call', { name, arguments: input, ...more }, capabilities, options)).json;
const task = async (method, taskId, capabilities = tasks, more = {}, options) => (await send(`tasks/${method}`, { taskId, ...more }, capabilities, options)).json;
const deny = (p, reason) => ok(boss.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash, reason }));
const proposalOf = async (id) => ok(agent.ask().get(`/api/v1/proposals/${id}`));
const idOf = (taskId) => taskId.split('.')[0];
const pageOf = (p) => `${w.server.url}/proposals/${p.proposalId}`;
const mine = async () => (await ok(agent.ask().get('/api/v1/proposals?limit=200'))).proposals;

// --- tasks ---

test('MCP-2 a call that must be approved is a task for a client that has tasks: the address, the decision, the proposal', async () => {
	const { result } = (await send('server/discover', {}, {})).json;
	assert.deepEqual(result.capabilities.extensions, { [TASKS]: {} });
	const made = (await call('note_create', note(), both)).result;
	assert.equal(made.resultType, 'task');
	assert.equal(made.status, 'input_required');
	for (const absent of ['result', 'error', 'inputRequests', 'requestState', 'content']) assert.ok(!(absent in made), absent);
	const p = await proposalOf(idOf(made.taskId));
	assert.ok(made.statusMessage.includes(pageOf(p)));

	const pending = (await task('get', made.taskId, both)).result;
	assert.equal(pending.resultType, 'complete');
	assert.equal(pending.status, 'input_required');
	assert.deepEqual(Object.keys(pending.inputRequests), ['approval']);
	const { method, params } = pending.inputRequests.approval;
	assert.equal(method, 'elicitation/create');
	assert.deepEqual([params.mode, params.url], ['url', pageOf(p)]);
	const plain = (await task('get', made.taskId)).result; // a client that cannot open pages
	assert.equal(plain.status, 'working');
	assert.ok(plain.statusMessage.includes(pageOf(p)) && !plain.inputRequests);

	await w.approve(p, boss);
	const done = (await task('get', made.taskId, both)).result;
	assert.equal(done.status, 'completed');
	assert.equal(done.result.structuredContent.state, 'approved', 'looking executes nothing');
	assert.ok(!done.result.isError);
	assert.match(done.result.content[0].text, /apply_proposal/);
	const applied = (await call('apply_proposal', { id: p.proposalId }, both)).result;
	assert.equal(applied.structuredContent.state, 'applied');
	assert.equal((await task('get', made.taskId)).result.result.structuredContent.state, 'applied');
});

test('AP-5 where a person approves and applies, the task has the outcome', async () => {
	const { taskId } = (await call('note_create', note(), tasks)).result;
	await w.approve(await proposalOf(idOf(taskId)), boss, { apply: true });
	const { status, result } = (await task('get', taskId)).result;
	assert.equal(status, 'completed');
	assert.equal(result.structuredContent.state, 'applied');
	assert.match(result.structuredContent.result.title, /^Waits/);
});

test('PA-13 a task that is denied is completed with an error that says why; one that is cancelled is cancelled, once', async () => {
	const denied = (await call('note_create', note(), tasks)).result.taskId;
	await deny(await proposalOf(idOf(denied)), 'not today');
	const { status, result } = (await task('get', denied)).result;
	assert.deepEqual([status, result.isError, result.structuredContent.state], ['completed', true, 'denied']);
	assert.match(JSON.stringify(result.structuredContent), /not today/);

	const cancelled = (await call('note_create', note(), tasks)).result.taskId;
	for (let i = 0; i < 2; i++) assert.ok((await task('cancel', cancelled)).result, 'the second one is as good');
	assert.equal((await task('get', cancelled)).result.status, 'cancelled');
	assert.equal((await proposalOf(idOf(cancelled))).state, 'cancelled');
	assert.ok((await task('cancel', denied)).result, 'too late, and nothing happens');
	assert.equal((await proposalOf(idOf(denied))).state, 'denied');
});

test('MCP-2 PA-13 a task that is completed stays so: cancelling it is acknowledged and takes nothing back', async () => {
	const { taskId } = (await call('note_create', note(), tasks)).result;
	await w.approve(await proposalOf(idOf(taskId)), boss);
	assert.ok((await task('cancel', taskId)).result);
	assert.equal((await task('get', taskId)).result.status, 'completed');
	assert.equal((await proposalOf(idOf(taskId))).state, 'approved');
	assert.equal((await call('cancel_proposal', { id: idOf(taskId) }, tasks)).result.structuredContent.state, 'cancelled', 'who means the proposal says so');
});

test('MCP-2 a task is its principal’s: others, guesses and clients without the extension find none', async () => {
	const { taskId } = (await call('note_create', note(), tasks)).result;
	const other = await w.agentOf(boss, { level: 'admin', override: true }); // may see the proposal, and has not made this task
	const second = await ok(boss.post('/api/v1/tokens', { name: 'another', principalId: agent.id, level: 'maintainer' }));
	for (const method of ['get', 'cancel', 'update']) {
		const more = method === 'update' ? { inputResponses: {} } : {};
		assert.equal((await task(method, taskId, tasks, more, { token: other.token })).error.code, -32602, method);
		for (const wrong of ['x', 'x.y', idOf(taskId), `${idOf(taskId)}.`, taskId.slice(0, -1) + (taskId.endsWith('0') ? '1' : '0')]) assert.equal((await task(method, wrong, tasks, more)).error.code, -32602, wrong);
		const bare = await send(`tasks/${method}`, { taskId, ...more }, {});
		assert.deepEqual([bare.status, bare.json.error.code], [400, -32021]);
		assert.ok(TASKS in bare.json.error.data.requiredCapabilities.extensions);
	}
	assert.equal((await proposalOf(idOf(taskId))).state, 'pending');
	assert.equal((await task('get', taskId, tasks, {}, { token: second.token })).result.status, 'working', 'another token of the same agent');
	assert.equal((await task('update', taskId, tasks, { inputResponses: 7 })).error.code, -32602);
	for (const gone of ['tasks/list', 'tasks/result']) assert.equal((await send(gone, { taskId }, tasks)).json.error.code, -32601);
});

test('AP-3 a client that accepts everything achieves nothing, and a decline denies nothing but is said', async () => {
	const { taskId } = (await call('note_create', note(), both)).result;
	const form = { approval: { action: 'accept', content: { approve: true, approved: true } } };
	assert.ok((await task('update', taskId, both, { inputResponses: form })).result);
	let now = (await task('get', taskId, both)).result;
	assert.deepEqual([now.status, 'inputRequests' in now], ['working', false], 'it is not asked again');
	assert.equal((await proposalOf(idOf(taskId))).state, 'pending');
	assert.equal(said((await call('apply_proposal', { id: idOf(taskId) }, both)).result).code, 'approval_required');
	assert.ok((await task('update', taskId, both, { inputResponses: { approval: { action: 'decline' } } })).result);
	now = (await task('get', taskId, both)).result;
	assert.equal(now.status, 'working');
	assert.match(now.statusMessage, /declined[^]*denies nothing/);
	await w.approve(await proposalOf(idOf(taskId)), boss);
	assert.equal((await task('get', taskId, both)).result.status, 'completed');
});

test('MCP-2 who listens for a task hears it as a look would show it, and nothing before it changes', async () => {
	const { taskId } = (await call('note_create', note(), both)).result, p = await proposalOf(idOf(taskId));
	const uri = `countersign://proposals/${p.proposalId}`;
	const stream = await listen(w.server.url, agent.token, { taskIds: [taskId, 'none'], resourceSubscriptions: [uri] }, both);
	assert.deepEqual((await stream.next()).params.notifications, { resourceSubscriptions: [uri], taskIds: [taskId, 'none'] });
	const bare = await listen(w.server.url, agent.token, { taskIds: [taskId], toolsListChanged: true }); // it did not declare them
	assert.deepEqual((await bare.next()).params.notifications, { toolsListChanged: true });
	for (let i = 0; i < 3; i++) await ok(w.admin.post('/api/v1/tools/call', { tool: 'note.list', input: {} })); // things happen elsewhere
	await w.approve(p, boss);
	const heard = [await stream.next(), await stream.next()].sort((a, b) => (a.method < b.method ? -1 : 1));
	assert.deepEqual(heard.map(({ method }) => method), ['notifications/resources/updated', 'notifications/tasks']);
	const { _meta, ...shown } = heard[1].params;
	assert.equal(_meta['io.modelcontextprotocol/subscriptionId'], 'sub');
	const { resultType, _meta: own, ...looked } = (await task('get', taskId, both)).result;
	assert.equal(shown.status, 'completed');
	assert.deepEqual(shown, looked);
	assert.ok(stream.quiet() && bare.quiet());
	await stream.close();
	await bare.close();
});

// --- a question with an address ---

test('MCP-2 a client that opens pages is asked to; the call again finds the same proposal, never a second one', async () => {
	const input = note(), before = (await mine()).length;
	const asked = (await call('note_create', input, url)).result;
	assert.equal(asked.resultType, 'input_required');
	const { params } = asked.inputRequests.approval;
	assert.equal(params.mode, 'url');
	const p = (await mine())[0];
	assert.equal(params.url, pageOf(p));
	const again = (inputResponses, more = {}) => call('note_create', input, url, { requestState: asked.requestState, inputResponses, ...more });
	const declined = (await again({ approval: { action: 'decline' } })).result;
	assert.deepEqual([declined.resultType, declined.structuredContent.proposalId, declined.structuredContent.state, declined.isError], ['complete', p.proposalId, 'pending', undefined]);
	assert.equal(declined.structuredContent.status, 'awaiting_operator');
	assert.match(declined.content[0].text, /declined to open the page\. That denies nothing/);
	assert.equal((await again({})).result.structuredContent.state, 'pending', 'no answer is no answer');
	const waiting = again({ approval: { action: 'accept' } }); // waits for a decision, a while
	await w.approve(p, boss);
	assert.equal((await waiting).result.structuredContent.state, 'approved');
	assert.equal((await mine()).length, before + 1);
});

test('MCP-2 requestState is for this principal and this call, and for nothing else', async () => {
	const input = note();
	const { requestState } = (await call('note_create', input, url)).result;
	const retry = (name, given, token) => call(name, given, url, { requestState, inputResponses: { approval: { action: 'decline' } } }, { token });
	const other = await w.agentOf(boss, { level: 'maintainer' });
	const before = (await mine()).length;
	for (const [name, given, token] of [['note_create', note()], ['note_delete', input], ['note_list', {}], ['note_create', input, other.token]]) assert.equal((await retry(name, given, token)).error?.code, -32602, name);
	assert.equal((await mine()).length, before, 'and none of these proposed anything');
	assert.equal((await retry('note_create', input)).result.structuredContent.state, 'pending');
});

test('AP-3 the second SDK asks its person by itself: accept, and nothing is approved; form-only clients get the address', async () => {
	const client = await modern(w.server.url, agent.token, { elicitation: { url: {} } });
	const seen = [];
	client.client.setRequestHandler('elicitation/create', async ({ params }) => {
		seen.push(params);
		const [p] = await mine();
		await deny(p, 'while the page is open');
		return { action: 'accept' };
	});
	const result = await client.call('note_create', note());
	assert.equal(seen.length, 1);
	assert.equal(seen[0].mode, 'url');
	assert.deepEqual([result.isError, result.structuredContent.state], [true, 'denied']);
	await client.close();

	const formal = await modern(w.server.url, agent.token, { elicitation: { form: {} } });
	formal.client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { approve: true } }));
	const shown = await formal.call('note_create', note());
	assert.equal(shown.structuredContent.status, 'awaiting_operator');
	await formal.close();
});

test('MCP-2 a legacy client is never left hanging: it has the address in the result, whatever it can', async () => {
	const client = await legacy(w.server.url, agent.token, { elicitation: { url: {}, form: {} } });
	const { structuredContent, content } = await client.call('note_create', note());
	assert.equal(structuredContent.status, 'awaiting_operator');
	assert.ok(content[0].text.includes(structuredContent.approveUrl));
	assert.match(content[0].text, /Risk +[a-z]+/, 'the card');
	assert.deepEqual([content[1].type, content[1].uri], ['resource_link', `countersign://proposals/${structuredContent.proposalId}`]);
	await client.close();
});

// --- rights change ---

test('MCP-1 the SDK hears that the tools are others, as soon as rights change', async () => {
	const one = await w.agentOf(boss, { level: 'maintainer' });
	const client = await legacy(w.server.url, one.token);
	let heard = 0;
	const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
	client.client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard++);
	assert.ok((await client.list()).some(({ name }) => name === 'note_delete'));
	const set = (permissionStatus) => ok(w.admin.put(`/api/v1/agents/${one.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus }] }));
	for (let i = 0; !heard; i++) {
		await set(i % 2 ? 'needs_approval' : 'blocked'); // nobody says when its stream is open: another change, then
		await until(() => heard, 'list_changed', 2).catch((error) => assert.ok(i < 30, error));
	}
	await set('blocked');
	assert.ok(!(await client.list()).some(({ name }) => name === 'note_delete'));
	await client.close();
});

// --- the server dies ---

/** How many requests the server has had; to ask is one. */
const requests = async () => Number(/^countersign_http_requests_total (\d+)$/m.exec((await w.server.get('/metrics')).text)[1]);

/** The same database under another process: the first one is killed as it is. */
async function killAndStart() {
	w.server.child.kill('SIGKILL');
	await w.server.ended();
	w.server = await startAgain(w.server);
}

test('MCP-1 a server that is killed while clients wait, and started again, has lost nothing', async () => {
	const input = note(), client = await legacy(w.server.url, agent.token), newer = await modern(w.server.url, agent.token);
	const p = (await client.call('note_create', note())).structuredContent;
	const { taskId } = (await call('note_create', note(), both)).result;
	const { requestState } = (await call('note_create', input, url)).result;
	const before = await requests();
	const lost = [client, newer].map((one) => one.call('wait_proposal', { id: p.proposalId, timeout: 30 }).catch(() => 'lost'));
	const opened = call('note_create', input, url, { requestState, inputResponses: { approval: { action: 'accept' } } }).catch(() => 'lost');
	let looks = 0;
	await until(async () => (await requests()) >= before + ++looks + 3, 'all three to be there');
	await killAndStart();
	assert.equal(await opened, 'lost');
	await w.approve(p, boss);
	const resumed = await lost[0]; // a legacy client takes its stream up again, where the server is back before it gives up
	assert.ok(resumed === 'lost' || resumed.structuredContent.state === 'approved');
	for (const one of [client, newer]) assert.equal((await one.call('wait_proposal', { id: p.proposalId })).structuredContent.state, 'approved', one.era);
	assert.equal((await task('get', taskId, both)).result.status, 'input_required');
	await w.approve(await proposalOf(idOf(taskId)), boss);
	assert.equal((await task('get', taskId, both)).result.status, 'completed');
	const found = (await call('note_create', input, url, { requestState, inputResponses: { approval: { action: 'decline' } } })).result;
	assert.equal(found.structuredContent.state, 'pending');
	assert.equal((await client.call('apply_proposal', { id: p.proposalId })).structuredContent.state, 'applied');
	for (const one of [client, newer]) await one.close();
	assert.equal(await lost[1], 'lost'); // a modern one never hears of its stream again, and may not notice before it gives up
});

test('RUN-2 another server on the same database knows the task, the state and the session', { skip: !onPostgres && 'needs PostgreSQL' }, async () => {
	const input = note(), server = await w.another();
	try {
		const { taskId } = (await call('note_create', note(), both)).result;
		const { requestState } = (await call('note_create', input, url)).result;
		assert.equal((await task('get', taskId, both, {}, { server })).result.status, 'input_required');
		const there = (await call('note_create', input, url, { requestState, inputResponses: { approval: { action: 'decline' } } }, { server })).result;
		assert.equal(there.structuredContent.state, 'pending');
		const client = await modern(server.url, agent.token); // the answer may be a stream
		const waiting = client.call('wait_proposal', { id: idOf(taskId), timeout: 30 });
		await w.approve(await proposalOf(idOf(taskId)), boss);
		assert.equal((await waiting).structuredContent.state, 'approved');
		await client.close();
		assert.equal((await task('get', taskId, both, {}, { server })).result.status, 'completed');
	} finally {
		await server.stop();
	}
});
