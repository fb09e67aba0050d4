// SPDX-License-Identifier: Apache-2.0
// Systems that are reached by webhook: connections and their secrets, commands, callbacks, notifications (EX-1, EX-2, EX-5).
// Operations: connection_create, connection_get, connection_list, connection_change, connection_rotate, connection_delete,
// connection_test, connection_tool_put, connection_tool_list, connection_tool_delete, delivery_list, delivery_retry.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { World, ok, refused } from './lib/flow.mjs';
import { Receiver, isSigned, signed } from './lib/receiver.mjs';
import { until } from './lib/server.mjs';

const SECRET = 'planted-credential-91c2', SIGNING = `whsec_${Buffer.from('planted-signing-secret-of-a-test').toString('base64')}`;
let world, receiver, person, count = 0;

before(async () => {
	world = await World.start({ args: ['--public-url', 'https://countersign.example'] });
	receiver = await Receiver.start();
	person = await world.person(['admin']); // what is of high risk needs somebody who has signed in
});

after(async () => {
	const said = world.server.stderr;
	await receiver.stop();
	await world.stop();
	for (const planted of [SECRET, SIGNING.slice(6)]) assert.ok(!said.includes(planted), 'a secret is in the log');
});

const connect = (more = {}) =>
	ok(world.admin.post('/api/v1/connections', { name: `hook${++count}`, url: receiver.url, allow: ['127.0.0.0/8'], signingSecret: SIGNING, ...more }));

const invoice = {
	title: 'Send an invoice',
	description: 'Sends an invoice to a customer.',
	effect: 'mutate',
	inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'], additionalProperties: false },
	failure: 'The customer gets no invoice.',
};

/** A connection with one tool; its name without webhook. is unique. */
async function tool(more = {}, connection = {}) {
	const c = await connect(connection), name = `sendInvoice${++count}`;
	const declared = await ok(world.admin.put(`/api/v1/connections/${c.id}/tools/${name}`, { ...invoice, ...more }));
	return { connection: c, name, tool: declared.tool };
}

/** Proposes, approves and applies; gives the proposal as it is then. */
async function run(name, amount = 7) {
	const p = await ok(world.agent.post('/api/v1/proposals', { tool: name, input: { amount } }));
	await world.approve(p, person);
	const answer = await person.post(`/api/v1/proposals/${p.proposalId}/apply`);
	return { ...(await state(p.proposalId)), answer };
}

const state = (id) => ok(world.admin.get(`/api/v1/proposals/${id}`));

/** What the next request is answered with. */
function answers(answer) {
	receiver.answer = typeof answer === 'function' ? answer : () => answer;
}

// --- connections ---

test('a connection is made, read, changed, listed and deleted, and never shows a secret (EX-1)', async () => {
	const made = await connect({ auth: 'header', authName: 'X-Exec-Token', authSecret: SECRET });
	assert.equal(made.signingSecret, undefined);
	assert.equal(made.hasSecret, true);
	const path = `/api/v1/connections/${made.id}`;
	const texts = [made, await ok(world.admin.get(path)), await ok(world.admin.get('/api/v1/connections')), await ok(world.admin.patch(path, { state: 'disabled', deadlineMs: 5000 })), await world.audit({ resourceType: 'connection' })].map((x) => JSON.stringify(x));
	for (const text of texts) for (const planted of [SECRET, SIGNING.slice(6)]) assert.ok(!text.includes(planted), text);
	assert.equal((await ok(world.admin.get(path))).state, 'disabled');
	const rotated = await ok(world.admin.post(`${path}/rotate`, {}));
	assert.match(rotated.signingSecret, /^whsec_/);
	assert.equal(rotated.rotating, true);
	assert.equal((await ok(world.admin.get(path))).signingSecret, undefined);
	await ok(world.admin.patch(path, { auth: 'none' }));
	assert.equal((await ok(world.admin.get(path))).hasSecret, false);
	await ok(world.admin.delete(path));
	await refused(world.admin.get(path), 404, 'not_found');
});

test('a secret that is made for you is shown once', async () => {
	const made = await connect({ signingSecret: undefined });
	assert.match(made.signingSecret, /^whsec_[A-Za-z0-9+/]{86}==$/);
	assert.match(Buffer.from(made.signingSecret.slice(6), 'base64').toString(), /^[0-9a-f]{64}$/); // text, for who takes only text
	assert.equal((await ok(world.admin.get(`/api/v1/connections/${made.id}`))).signingSecret, undefined);
});

test('what is not of one piece is refused with the place it is at', async () => {
	const base = { name: 'wrong', url: receiver.url, allow: ['127.0.0.0/8'] };
	for (const [more, path] of [
		[{ url: 'ftp://x/' }, '/url'], [{ url: 'http://me:pw@127.0.0.1/' }, '/url'], [{ url: 'https://x/#y' }, '/url'], [{ allow: undefined }, '/url'],
		[{ name: 'a b' }, '/name'], [{ allow: ['10.0.0.1/8'] }, '/allow/0'], [{ allow: ['nonsense'] }, '/allow/0'],
		[{ auth: 'header', authSecret: 'x' }, '/authName'], [{ auth: 'header', authName: 'Host', authSecret: 'x' }, '/authName'], [{ auth: 'bearer' }, '/authSecret'],
		[{ authSecret: 'x' }, '/authSecret'], [{ auth: 'bearer', authSecret: 'a\r\nX: y' }, '/authSecret'], [{ mode: 'events' }, '/events'], [{ events: ['tool.called'] }, '/events'],
		[{ mode: 'events', events: ['nonsense'] }, '/events/0'], [{ signingSecret: 'whsec_short' }, '/signingSecret'], [{ deadlineMs: 600000 }, '/deadlineMs'],
	]) {
		const body = await refused(world.admin.post('/api/v1/connections', { ...base, ...more }), 400, 'invalid_request');
		assert.equal(body.fields[0].path, path, JSON.stringify(more));
	}
	await connect({ name: 'taken' });
	await refused(world.admin.post('/api/v1/connections', { ...base, name: 'taken' }), 409, 'already_exists');
});

test('only admins manage connections, and no agent does', async () => {
	const operator = await world.person(['maintainer']);
	await refused(operator.get('/api/v1/connections'), 403, 'forbidden');
	await refused(operator.post('/api/v1/connections', { name: 'mine', url: receiver.url }), 403, 'forbidden');
	await refused(world.agent.get('/api/v1/connections'), 403, 'forbidden');
	await refused(world.agent.get('/api/v1/deliveries'), 403, 'forbidden');
});

test('a ping is signed, is no command, and says what came back', async () => {
	const c = await connect({ auth: 'basic', authName: 'me', authSecret: SECRET });
	answers({ status: 418 });
	assert.deepEqual(await ok(world.admin.post(`/api/v1/connections/${c.id}/test`)), { reached: true, httpStatus: 418, why: '' });
	assert.ok(isSigned(receiver.last, SIGNING));
	assert.equal(receiver.last.json.type, 'ping');
	assert.equal(receiver.last.headers.authorization, `Basic ${Buffer.from(`me:${SECRET}`).toString('base64')}`);
	await ok(world.admin.patch(`/api/v1/connections/${c.id}`, { allow: ['10.0.0.0/8'] })); // not where it is
	const before = receiver.requests.length;
	const tried = await ok(world.admin.post(`/api/v1/connections/${c.id}/test`));
	assert.equal(tried.reached, false);
	assert.match(tried.why, /its address is not public, and not in its `allow`/);
	assert.equal(receiver.requests.length, before);
	const dead = await connect({ url: 'http://127.0.0.1:1/' });
	assert.deepEqual(await ok(world.admin.post(`/api/v1/connections/${dead.id}/test`)), { reached: false, httpStatus: 0, why: 'it could not be reached: connection refused' });
	await refused(world.admin.post('/api/v1/connections/nothing/test'), 404, 'not_found');
});

test('EX-2 EX-4 a 2xx that is not quite JSON is an outcome; what came is kept byte for byte as evidence', async () => {
	const { tool: name } = await tool();
	for (const [body, result, what] of [
		['{"said":"cut \\ud83d"}', { said: 'cut \ufffd' }, /half of a surrogate pair/],
		['{"said":1,"said":2}', { said: 2 }, /its form/],
		[`{"deep":${'['.repeat(70)}${']'.repeat(70)}}`, undefined, /nested too deeply/],
		[Buffer.from('{"said":"\xff"}', 'latin1'), { said: '\ufffd' }, /not UTF-8/],
	]) {
		answers({ body });
		const { status, attempt, result: kept } = await run(name);
		assert.equal(status, 'applied', String(body));
		if (result) assert.deepEqual(kept, result);
		assert.match(attempt.why, what);
		assert.deepEqual(Buffer.from(attempt.evidence[0].base64url, 'base64url'), Buffer.from(body));
	}
	answers({ body: JSON.stringify({ said: 'x'.repeat(5 << 20) }) });
	const large = await run(name);
	assert.equal(large.status, 'applied');
	assert.match(large.result, /^Its answer of 52\d{5} bytes is larger than is kept\.$/);
	answers({ body: '<html>starting</html>', type: 'text/html' });
	assert.equal((await run(name)).status, 'unknown');
});

test('EX-5 systems that never answered and were deleted do not use up the places of those that do', async () => {
	const places = 256; // LIMIT_LANES
	for (let i = 0; i < places + 4; i++) {
		const gone = await connect({ url: 'http://127.0.0.1:9/' });
		assert.equal((await ok(world.admin.post(`/api/v1/connections/${gone.id}/test`))).reached, false);
		await ok(world.admin.delete(`/api/v1/connections/${gone.id}`));
	}
	answers({ status: 200 });
	const healthy = await connect();
	assert.deepEqual(await ok(world.admin.post(`/api/v1/connections/${healthy.id}/test`)), { reached: true, httpStatus: 200, why: '' });
	assert.match(await (await fetch(`${world.server.url}/metrics`)).text(), /^countersign_outside_refused_total 0$/m);
});

// --- tools ---

test('a declared tool is offered at once, and its version counts up', async () => {
	const { connection, name, tool: full } = await tool();
	const path = `/api/v1/connections/${connection.id}/tools`;
	assert.ok((await ok(world.agent.get('/api/v1/tools'))).tools.some((t) => t.name === full));
	assert.equal((await ok(world.admin.put(`${path}/${name}`, { ...invoice, title: 'Again' }))).version, 2);
	const listed = (await ok(world.admin.get(path))).items;
	assert.equal(listed.length, 1);
	assert.equal(listed[0].title, 'Again');
	await refused(world.admin.delete(`/api/v1/connections/${connection.id}`), 409, 'in_use');
	const other = await connect();
	await refused(world.admin.put(`/api/v1/connections/${other.id}/tools/${name}`, invoice), 409, 'already_exists');
	await refused(world.admin.delete(`/api/v1/connections/${other.id}/tools/${name}`), 404, 'not_found');
	await ok(world.admin.delete(`${path}/${name}`));
	assert.ok(!(await ok(world.agent.get('/api/v1/tools'))).tools.some((t) => t.name === full));
	await ok(world.admin.delete(`/api/v1/connections/${connection.id}`));
});

test('a tool that could not be offered is refused', async () => {
	const c = await connect(), later = await connect({ mode: 'callback' }), news = await connect({ mode: 'events', events: ['tool.called'] });
	const put = (id, name, more) => world.admin.put(`/api/v1/connections/${id}/tools/${name}`, { ...invoice, ...more });
	await refused(put(c.id, 'bad', { inputSchema: { type: 'nonsense' } }), 400, 'invalid_request');
	await refused(put(c.id, 'not.a.word', {}), 400, 'invalid_request');
	await refused(put(c.id, 'bad', { failure: undefined }), 400, 'invalid_request', /failure/);
	await refused(put(c.id, 'bad', { deadlineMs: 400000 }), 400, 'invalid_request', /deadlineMs/);
	await refused(put(later.id, 'bad', { effect: 'read' }), 400, 'invalid_request', /effect/);
	await refused(put(news.id, 'bad', {}), 409, 'conflict');
	await refused(put('nothing', 'bad', {}), 404, 'not_found');
	await ok(world.admin.delete(`/api/v1/connections/${news.id}`));
});

test('where nobody has said what our address is, no connection is told to call back there (EX-2)', async (t) => {
	const nameless = await World.start();
	t.after(() => nameless.stop());
	const later = { name: 'later', url: receiver.url, allow: ['127.0.0.0/8'], signingSecret: SIGNING, mode: 'callback' };
	const { fields } = await refused(nameless.admin.post('/api/v1/connections', later), 400, 'invalid_request', /public-url/);
	assert.ok(JSON.stringify(fields).includes('mode'));
	const c = await ok(nameless.admin.post('/api/v1/connections', { ...later, mode: 'sync' }));
	await refused(nameless.admin.patch(`/api/v1/connections/${c.id}`, { mode: 'callback' }), 400, 'invalid_request', /public-url/);
	assert.equal((await ok(nameless.admin.get(`/api/v1/connections/${c.id}`))).mode, 'sync');
});

// --- commands ---

test('an approved command goes out once, signed, with all that its executor needs, and the answer is the result verbatim (EX-1, EX-2)', async () => {
	const { name, tool: full } = await tool({}, { auth: 'header', authName: 'X-Exec-Token', authSecret: SECRET });
	answers({ status: 201, body: '{"sent": 1.50, "to":"ada"}' });
	const before = receiver.requests.length;
	const p = await run(full);
	assert.equal(p.state, 'applied', JSON.stringify(p));
	assert.equal(receiver.requests.length, before + 1);
	const { headers, json } = receiver.last;
	assert.ok(isSigned(receiver.last, SIGNING));
	assert.equal(headers['x-exec-token'], SECRET);
	assert.equal(headers['webhook-id'], json.commandId);
	assert.equal(headers['idempotency-key'], `"${json.idempotencyKey}"`);
	assert.equal(json.type, 'command');
	assert.equal(json.proposalId, p.id ?? p.proposalId);
	assert.equal(json.tool, name);
	assert.equal(json.toolVersion, 1);
	assert.deepEqual(json.parameters, { amount: 7 });
	assert.equal(json.approvals.length, 1);
	assert.equal(json.approvals[0].personId, person.id);
	assert.ok(json.correlationId);
	assert.equal(json.callbackUrl, undefined);
	assert.deepEqual(p.result, { sent: 1.5, to: 'ada' });
});

test('while a signing secret is replaced both sign', async () => {
	const { connection, tool: full } = await tool();
	const rotated = await ok(world.admin.post(`/api/v1/connections/${connection.id}/rotate`, {}));
	answers({});
	await run(full);
	assert.ok(isSigned(receiver.last, SIGNING) && isSigned(receiver.last, rotated.signingSecret));
});

for (const [what, answer, expected] of [
	['a 4xx', { status: 403, type: 'text/plain', body: 'Authorization data is wrong!' }, 'failed'],
	['a 404', { status: 404, body: '{"code":404}' }, 'failed'],
	['a 307', { status: 307, headers: { location: '/elsewhere' } }, 'failed'],
	['a 303', { status: 303, headers: { location: '/elsewhere' } }, 'unknown'],
	['a 5xx', { status: 500 }, 'unknown'],
	["n8n's page while it starts", { type: 'text/html', body: '<html>n8n is starting up. Please wait</html>' }, 'unknown'],
	['an empty 200', { body: '' }, 'unknown'],
	['a 202', { status: 202 }, 'unknown'],
	['a 204', { status: 204, body: '' }, 'applied'],
	['JSON of another form than promised', { body: '[1,2]' }, 'applied'],
]) {
	test(`${what} is ${expected} (EX-4)`, async () => {
		const { tool: full } = await tool();
		answers(answer);
		const before = receiver.requests.length;
		const p = await run(full);
		assert.equal(p.state, expected, JSON.stringify(p));
		assert.equal(receiver.requests.length, before + 1); // and never again, nor anywhere else
	});
}

test('what hangs up after it has read is unknown; where nobody listens it has failed', async () => {
	const { tool: full } = await tool();
	answers((request) => void request.socket.destroy());
	const lost = await run(full);
	assert.equal(lost.state, 'unknown');
	assert.match(lost.attempt.why, /it ended the connection before its answer was complete/);
	const again = await world.admin.post(`/api/v1/proposals/${lost.proposalId}/apply`, {});
	assert.equal(again.status, 410);
	assert.match(again.json.message, /^the proposal is unknown: nobody can say whether it took effect; .*settle/);
	const { tool: nobody } = await tool({}, { url: 'http://127.0.0.1:1/' });
	assert.equal((await run(nobody)).state, 'failed');
});

test('a server error is a refusal where the tool promises it, and a taken key is looked up', async () => {
	answers({ status: 503 });
	assert.equal((await run((await tool({ serverError: 'refused' })).tool)).state, 'failed');
	answers({ status: 409 });
	assert.equal((await run((await tool({ contract: 'keyed' })).tool)).state, 'unknown');
	assert.equal((await run((await tool()).tool)).state, 'failed');
});

test('with answer command only one that names the command counts', async () => {
	const { tool: full } = await tool({}, { answer: 'command' });
	answers({ body: '{"message":"Workflow was started"}' });
	assert.equal((await run(full)).state, 'unknown');
	answers(({ json }) => ({ body: JSON.stringify({ commandId: json.commandId, result: { id: 9 } }) }));
	assert.equal((await run(full)).state, 'applied');
	answers(({ json }) => ({ body: JSON.stringify({ commandId: json.commandId, status: 'refused', message: 'no such customer' }) }));
	const p = await run(full);
	assert.equal(p.state, 'failed');
	assert.match(JSON.stringify(p), /no such customer/);
});

test('a disabled connection is sent nothing', async () => {
	const { connection, tool: full } = await tool();
	await ok(world.admin.patch(`/api/v1/connections/${connection.id}`, { state: 'disabled' }));
	const before = receiver.requests.length;
	assert.equal((await run(full)).state, 'failed');
	assert.equal(receiver.requests.length, before);
});

test('a read is asked at once, and is no command', async () => {
	const { tool: full } = await tool({ effect: 'read', failure: undefined });
	answers({ body: '{"open":3}' });
	const called = await ok(world.agent.post('/api/v1/tools/call', { tool: full, input: { amount: 1 } }));
	assert.deepEqual(called.result, { open: 3 });
	assert.equal(receiver.last.json.type, 'read');
	assert.equal(receiver.last.json.idempotencyKey, undefined);
	assert.ok(isSigned(receiver.last, SIGNING));
});

// --- callbacks ---

/** Applies a command of a callback connection; gives the command as it came. */
async function waiting(more = {}) {
	const { tool: full, connection } = await tool(more, { mode: 'callback', deadlineMs: 600000 });
	answers({ status: 202, body: '{"message":"Workflow was started"}' });
	const p = await run(full);
	assert.equal(p.state, 'executing', JSON.stringify(p));
	const command = receiver.last.json;
	return { command, connection, path: new URL(command.callbackUrl).pathname, id: command.proposalId };
}

const tell = (path, body, headers) => world.server.request('POST', path, { body, headers: { 'content-type': 'application/json', ...headers }, check: false });

test('a callback tells the outcome once; forged, replayed, stale and unsigned ones are refused and on record (EX-2)', async () => {
	const { command, path, id } = await waiting();
	assert.match(command.callbackUrl, /^https:\/\/countersign\.example\/callbacks\/[0-9a-f]{64}$/);
	const body = JSON.stringify({ commandId: command.commandId, status: 'done', result: { sent: true } });
	const now = Math.floor(Date.now() / 1000), other = `whsec_${Buffer.from('another secret that is long enough').toString('base64')}`;
	await refused(tell(path, body, {}), 401, 'unauthenticated', /not signed/);
	await refused(tell(path, body, signed(other, 'cb1', body)), 401, 'unauthenticated', /does not fit/);
	await refused(tell(path, body, signed(SIGNING, 'cb1', `${body} `)), 401, 'unauthenticated', /does not fit/);
	await refused(tell(path, body, signed(SIGNING, 'cb1', body, now - 301)), 401, 'unauthenticated', /timestamp/);
	await refused(tell(path, body, signed(SIGNING, 'cb1', body, now + 400)), 401, 'unauthenticated', /timestamp/);
	const stranger = JSON.stringify({ commandId: 'another', status: 'done' });
	await refused(tell(path, stranger, signed(SIGNING, 'cb1', stranger)), 409, 'conflict', /another command/);
	for (const wrong of ['[]', '{}', '{"commandId":1}', JSON.stringify({ commandId: command.commandId, status: 'maybe' })])
		await refused(tell(path, wrong, signed(SIGNING, 'cb1', wrong)), 400, 'invalid_request');
	await refused(tell(`/callbacks/${'0'.repeat(64)}`, body, signed(SIGNING, 'cb1', body)), 404, 'not_found');
	assert.equal((await state(id)).state, 'executing');

	assert.deepEqual(await ok(tell(path, body, signed(SIGNING, 'cb1', body))), { status: 'applied' });
	const p = await state(id);
	assert.equal(p.state, 'applied');
	assert.deepEqual(p.result, { sent: true });
	await refused(tell(path, body, signed(SIGNING, 'cb1', body)), 409, 'conflict', /used already/);
	await refused(tell(path, body, signed(SIGNING, 'cb2', body)), 409, 'conflict', /used already/);
	await refused(world.server.get(path), 405, 'method_not_allowed');
	await until(() => world.server.stderr.split(' path=/callbacks/{id} ').length > 15, 'the lines of the log');
	assert.ok(!world.server.stderr.includes(path), 'a one-time address is not in the log');
	const kept = (await world.audit({ action: 'request.refused' })).filter((e) => e.resourceType === 'callback');
	assert.ok(kept.length >= 10, JSON.stringify(kept.length));
});

test('a callback can say that it was not done', async () => {
	const { command, path, id } = await waiting();
	const body = JSON.stringify({ commandId: command.commandId, status: 'refused', message: 'no such customer' });
	assert.deepEqual(await ok(tell(path, body, signed(SIGNING, 'cb', body))), { status: 'failed' });
	assert.equal((await state(id)).state, 'failed');
});

test('a callback that comes before the answer to its command counts', async () => {
	const { tool: full } = await tool({}, { mode: 'callback', deadlineMs: 600000 });
	answers(async ({ json }) => {
		const body = JSON.stringify({ commandId: json.commandId, status: 'done', result: 1 });
		await ok(tell(new URL(json.callbackUrl).pathname, body, signed(SIGNING, 'early', body)));
		return { status: 202 };
	});
	assert.equal((await run(full)).state, 'applied');
});

test('the page of a system that starts is not "it will tell later"', async () => {
	const { tool: full } = await tool({}, { mode: 'callback' });
	answers({ type: 'text/html', body: '<html>n8n is starting up. Please wait</html>' });
	assert.equal((await run(full)).state, 'unknown');
});

test('a callback that comes too late is evidence only', async () => {
	const { command, path, id } = await waiting();
	await world.change(`UPDATE callback SET expires_at = ${(Date.now() - 1000) * 1000} WHERE attempt_id = '${command.commandId}'`);
	const body = JSON.stringify({ commandId: command.commandId, status: 'done', result: 'late' });
	await refused(tell(path, body, signed(SIGNING, 'late', body)), 410, 'proposal_gone', /too late/);
	assert.notEqual((await state(id)).state, 'applied');
});

// --- notifications ---

const events = (listener) => listener.requests.map((r) => r.json);

test('what happens is told as CloudEvents, signed, metadata only (TL-10)', async () => {
	const listener = await Receiver.start();
	const c = await connect({ mode: 'events', url: listener.url, events: ['proposal.*', 'approval.decided', 'tool.called'] });
	const p = await world.propose({ input: { title: 'secret title', text: 'secret text' } });
	await world.approve(p, world.admin, { apply: true });
	const of = (type) => events(listener).filter((e) => e.type === type && (e.subject === p.proposalId || type === 'tool.called'));
	for (const type of ['proposal.pending', 'approval.decided', 'proposal.approved', 'proposal.applied', 'tool.called']) await until(() => of(type).length, type);
	const applied = of('proposal.applied')[0], request = listener.requests.find((r) => r.json.id === applied.id);
	assert.equal(request.headers['content-type'], 'application/cloudevents+json; charset=utf-8');
	assert.equal(request.headers['webhook-id'], applied.id);
	assert.ok(!applied.id.includes('.'));
	assert.ok(isSigned(request, SIGNING));
	assert.equal(applied.specversion, '1.0');
	assert.match(applied.source, /^urn:countersign:/);
	assert.ok(!Number.isNaN(Date.parse(applied.time)));
	assert.deepEqual(applied.data, { proposalId: p.proposalId, tool: 'note.create', status: 'applied', risk: applied.data.risk });
	assert.ok(!JSON.stringify(events(listener)).includes('secret t'));
	await ok(world.admin.patch(`/api/v1/connections/${c.id}`, { state: 'disabled' }));
	await listener.stop();
});

test('a proposal and its call are each told once, to who wants to hear of it (TL-10)', async () => {
	const listening = {};
	for (const wanted of ['proposal.*', 'approval.decided', 'tool.called']) {
		const listener = await Receiver.start();
		listening[wanted] = { listener, ...await connect({ mode: 'events', url: listener.url, events: [wanted] }) };
	}
	const p = await world.propose(), read = await ok(world.admin.post('/api/v1/tools/call', { tool: 'note.list', input: {} }));
	await world.approve(p);
	const heard = (wanted) => events(listening[wanted].listener).map((e) => `${e.type} ${e.subject}`).sort();
	for (const [wanted, expected] of Object.entries({
		'proposal.*': [`proposal.approved ${p.proposalId}`, `proposal.pending ${p.proposalId}`],
		'approval.decided': [`approval.decided ${p.proposalId}`],
		'tool.called': [`tool.called ${p.toolCallId}`, `tool.called ${read.toolCallId}`].sort(),
	})) {
		await until(() => heard(wanted).length >= expected.length, wanted);
		assert.deepEqual(heard(wanted), expected);
	}
	const called = events(listening['tool.called'].listener).find((e) => e.subject === p.toolCallId);
	assert.equal(called.data.status, 'proposed');
	assert.equal(called.data.tool, 'note.create');
	assert.equal(called.data.effect, 'mutate');
	for (const { id, listener } of Object.values(listening)) {
		await ok(world.admin.delete(`/api/v1/connections/${id}`));
		await listener.stop();
	}
});

test('what was not taken is told again; what was given up an admin sees and retries', async () => {
	let answer = { status: 500 };
	const listener = await Receiver.start(() => answer);
	const c = await connect({ mode: 'events', url: listener.url, events: ['approval.decided'] });
	const decide = async () => world.approve(await world.propose());
	await decide();
	await until(async () => (await ok(world.admin.get('/api/v1/deliveries?state=waiting'))).items.some((d) => d.connectionId === c.id && d.lastStatus === 500), 'a delivery that waits');
	answer = { status: 410 }; // never again
	await decide();
	const dead = () => world.admin.get('/api/v1/deliveries').then(ok).then((list) => list.items.filter((d) => d.connectionId === c.id));
	await until(async () => (await dead()).length === 1, 'a delivery that was given up');
	assert.equal((await dead())[0].lastStatus, 410);
	answer = {};
	const [{ eventId }] = await dead(), before = listener.requests.length;
	assert.deepEqual(await ok(world.admin.post(`/api/v1/connections/${c.id}/retry`)), { retried: 1 });
	await until(() => listener.requests.slice(before).some((r) => r.json.id === eventId), 'it to be told');
	await until(async () => !(await dead()).length, 'none to be given up');
	await refused(world.admin.post('/api/v1/connections/nothing/retry'), 404, 'not_found');
	await listener.stop();
});

test('EX-1 secrets that notifications are signed with do not stay in memory', { skip: process.platform !== 'linux' && 'skipped: there is no /proc' }, async () => {
	const listener = await Receiver.start();
	const c = await connect({ mode: 'events', url: listener.url, events: ['approval.decided'] });
	// a secret that is taken out of the safe lies between guard pages
	const guards = async () => (await readFile(`/proc/${world.server.child.pid}/maps`, 'utf8')).match(/ ---p /g).length;
	let told = 0;
	const tell = async () => {
		await world.approve(await world.propose());
		told++;
		await until(() => listener.requests.length >= told, 'it to be told');
	};
	await tell();
	const before = await guards();
	for (let i = 0; i < 6; i++) await tell();
	await until(async () => (await guards()) <= before + 4, 'the pages to be given back');
	await ok(world.admin.delete(`/api/v1/connections/${c.id}`));
	await listener.stop();
});

test('a receiver that hangs holds up no other', async () => {
	const hanging = await Receiver.start(() => undefined), quick = await Receiver.start();
	const both = [];
	for (const r of [hanging, quick]) both.push(await connect({ mode: 'events', url: r.url, events: ['approval.decided'] }));
	for (let i = 0; i < 8; i++) await world.approve(await world.propose());
	await until(() => quick.requests.length >= 8 && hanging.requests.length, 'the quick one to hear all');
	assert.deepEqual(hanging.requests.filter((r) => r.socket.destroyed), [], 'before any that hangs was given up');
	assert.ok(hanging.requests.length <= 4);
	for (const c of both) await ok(world.admin.delete(`/api/v1/connections/${c.id}`));
	await Promise.all([hanging.stop(), quick.stop()]);
});
