// SPDX-License-Identifier: Apache-2.0
// What another system does, as people and models see it: proposal_settle, proposal_probe. (What is sent, and what becomes of it,
// is proved by tests/unit/core/attempt.c, tests/api/webhook.test.mjs and tests/fault/run-outside.)
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { ask } from './lib/mcp-clients.mjs';
import { Receiver } from './lib/receiver.mjs';
import { run, until } from './lib/server.mjs';

let w, receiver, ada, tool, connection;
before(async () => {
	w = await World.start();
	receiver = await Receiver.start();
	ada = await w.person(['admin']);
	connection = (await ok(w.admin.post('/api/v1/connections', { name: 'billing', url: receiver.url, allow: ['127.0.0.0/8'] }))).id;
	tool = (await ok(declare('sendInvoice', invoice))).tool;
});
after(async () => {
	await receiver.stop();
	await w.stop();
});

const takes = (...names) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: ['number', 'string'] }])), additionalProperties: false });
const invoice = { title: 'Send an invoice', description: 'It sends one.', effect: 'mutate', inputSchema: { ...takes('amount'), required: ['amount'] }, failure: 'No invoice.' };
const wasSent = { title: 'Was it sent?', description: 'Says whether an invoice was sent.', effect: 'read', inputSchema: takes('idempotencyKey', 'amount', 'other') };
const declare = (name, said) => w.admin.put(`/api/v1/connections/${connection}/tools/${name}`, said);
const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;

async function approved(name = tool) {
	const p = await w.propose({ tool: name, input: { amount: 7 } });
	await w.approve(p, ada);
	return p;
}

test('EX-4 only what is unknown is settled or probed, by a person who is signed in, with a reason', async () => {
	const p = await w.propose({ tool: 'note.create', input: { title: 'Ours', text: '' } });
	const says = { outcome: 'applied', reason: 'I have seen it' };
	await refused(ada.post(at(p, '/settle'), says), 409, 'conflict', /pending: only what is unknown/);
	await refused(ada.post(at(p, '/probe')), 409, 'conflict', /only what is unknown/);
	await refused(ada.post(at(p, '/settle'), { ...says, reason: '' }), 400, 'invalid_request');
	await refused(ada.post(at(p, '/settle'), { outcome: 'unknown', reason: 'x' }), 400, 'invalid_request');
	await refused(w.agent.post(at(p, '/settle'), says), 403, 'forbidden', /signed in/);
	await refused(w.admin.post(at(p, '/settle'), says), 403, 'forbidden', /signed in/);
	const observer = await w.person(['observer']);
	await refused(observer.post(at(p, '/settle'), says), 403, 'forbidden', /note\.note\.approve/);
	await refused(ada.post('/api/v1/proposals/nothing/settle', says), 404, 'not_found');
});

test('EX-4 EX-5 while it is executing everybody hears so; who waits hears what became of it; nothing is sent twice', async () => {
	const p = await approved(), before = receiver.requests.length;
	let release;
	receiver.answer = () => new Promise((resolve) => (release = () => resolve({ body: '{"invoice":41}' })));
	const applying = ada.post(at(p, '/apply'));
	await until(() => release, 'the command to arrive');
	assert.equal((await refused(ada.post(at(p, '/apply')), 410, 'proposal_gone', /executing/)).details.status, 'executing');
	const shown = await ok(ada.get(at(p)));
	assert.deepEqual([shown.state, shown.attempt.outcome], ['executing', 'open']);
	const told = (await ask(w.server.url, w.agentToken, 'tools/call', { name: 'describe_proposal', arguments: { id: p.proposalId } })).json.result;
	assert.match(told.content[0].text, /another system is doing it\. Call wait_proposal/);
	const waiting = ada.get(at(p, '/wait?known=executing&timeout=20'));
	release();
	assert.equal((await ok(applying)).state, 'applied');
	assert.equal((await ok(waiting)).state, 'applied');
	const after = await ok(ada.get(at(p)));
	assert.deepEqual([after.result, after.attempt.outcome, after.attempt.httpStatus], [{ invoice: 41 }, 'done', 200]);
	assert.ok(after.attempt.sentBytes > 0);
	assert.equal(receiver.requests.length, before + 1);
	for (const action of ['proposal.executing', 'tool.executed', 'proposal.applied']) assert.equal((await w.audit({ proposalId: p.proposalId, action })).length, 1, action);
});

test('EX-4 CLI-1 what is unknown is said to be so by every face, and stays so until a person settles it', async () => {
	const p = await approved();
	receiver.answer = (request) => void request.socket.destroy();
	assert.equal((await ok(ada.post(at(p, '/apply')))).state, 'unknown');
	const told = (await ask(w.server.url, w.agentToken, 'tools/call', { name: 'describe_proposal', arguments: { id: p.proposalId } })).json.result;
	assert.match(told.content[0].text, /whether it has happened is not known\. A person settles it/);
	await refused(ada.post(at(p, '/probe')), 409, 'conflict', /no tool that could tell/);
	const settled = await ok(ada.post(at(p, '/settle'), { outcome: 'failed', reason: 'no invoice over there' }));
	assert.deepEqual([settled.state, settled.attempt.outcome, settled.attempt.settledBy], ['failed', 'lost', ada.id]);
	const { stdout } = await run(['proposals', p.proposalId], { env: { COUNTERSIGN_SERVER: w.server.url, COUNTERSIGN_TOKEN: w.first.adminToken } });
	for (const line of [/Attempt\s+lost, claimed .* bytes sent/, /Settled\s+.*, by /, /> no invoice over there/, /Done by\s+another system \(blind\)/, /Preview\s+It cannot be previewed/]) assert.match(stdout, line);
	const [entry] = await w.audit({ proposalId: p.proposalId, action: 'proposal.settled' });
	assert.deepEqual([entry.actorId, entry.decision], [ada.id, 'failed']);
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.failed' })).length, 1);
});

/** One whose outcome is unknown, of a tool whose probe answers as it is said. */
async function unknown(name = 'webhook.sendProbed') {
	const p = await approved(name);
	receiver.answer = (request) => void request.socket.destroy();
	assert.equal((await ok(ada.post(at(p, '/apply')))).state, 'unknown');
	return p;
}

async function probe(p, answer) {
	const before = receiver.requests.length;
	receiver.answer = answer;
	const now = await ok(ada.post(at(p, '/probe')));
	assert.equal(receiver.requests.length, before + 1, 'asked once');
	const { json, headers } = receiver.last;
	assert.deepEqual([json.type, json.tool, json.parameters], ['read', 'wasSent', { amount: 7, idempotencyKey: p.proposalId }]);
	assert.equal(headers['idempotency-key'], undefined, 'a question is no command');
	assert.equal(now.attempt.evidence.at(-1).from, 'probe');
	return now;
}

test('EX-4 a probe is declared with the tool: it is there, it reads, and it can be asked by the key', async () => {
	await refused(declare('sendProbed', { ...invoice, contract: 'probe' }), 400, 'invalid_request', /probe is needed/);
	await refused(declare('sendProbed', { ...invoice, contract: 'probe', probe: 'webhook.wasSent' }), 400, 'invalid_request', /names no tool/);
	for (const name of [tool, 'note.list']) await refused(declare('sendProbed', { ...invoice, contract: 'probe', probe: name }), 400, 'invalid_request', /names no tool of another system that reads/);
	for (const inputSchema of [takes('amount'), { type: 'object' }]) {
		await ok(declare('wasSent', { ...wasSent, inputSchema }));
		await refused(declare('sendProbed', { ...invoice, contract: 'probe', probe: 'webhook.wasSent' }), 400, 'invalid_request', /does not take idempotencyKey/);
	}
	await ok(declare('wasSent', wasSent));
	await refused(declare('wasRead', { ...wasSent, probe: 'webhook.wasSent' }), 400, 'invalid_request', /of what changes/);
	const said = await ok(declare('sendProbed', { ...invoice, contract: 'probe', probe: 'webhook.wasSent', affects: 'the mailbox of a customer', serverError: 'refused' }));
	assert.deepEqual([said.probe, said.affects, said.serverError], ['webhook.wasSent', 'the mailbox of a customer', 'refused']);
	const listed = (await ok(w.admin.get(`/api/v1/connections/${connection}/tools`))).items.find((one) => one.tool === said.tool);
	assert.deepEqual(listed, said);
	const p = await w.propose({ tool: said.tool, input: { amount: 7 } });
	assert.equal(p.card.affectedData, 'the mailbox of a customer');
});

test('EX-4 a probe that says done settles it as applied, one that says refused as failed, on record with who asked', async () => {
	for (const [outcome, state, wrap] of [['done', 'applied', (said) => said], ['refused', 'failed', (said) => ({ result: said })], ['done', 'applied', (said) => ({ structuredContent: said })]]) {
		const p = await unknown();
		const settled = await probe(p, ({ json }) => ({ body: JSON.stringify(wrap({ idempotencyKey: json.parameters.idempotencyKey, outcome })) }));
		assert.deepEqual([settled.state, settled.attempt.outcome, settled.attempt.settledBy], [state, 'lost', ada.id]);
		const [{ outcome: told, question }] = settled.attempt.evidence.slice(-1);
		assert.deepEqual([told, question], [outcome, 'done'], 'what it says of the proposal, and that the question was answered');
		assert.match(settled.attempt.settledReason, new RegExp(`webhook\\.wasSent was asked, and answered: ${outcome}`));
		const [entry] = await w.audit({ proposalId: p.proposalId, action: 'proposal.settled' });
		assert.deepEqual([entry.actorId, entry.decision], [ada.id, state]);
		await refused(ada.post(at(p, '/probe')), 409, 'conflict', /only what is unknown/);
		await refused(ada.post(at(p, '/settle'), { outcome: 'failed', reason: 'no' }), 409, 'conflict');
		await refused(ada.post(at(p, '/apply')), 410, 'proposal_gone');
		if (state === 'failed') assert.equal((await ok(ada.post(at(p, '/repropose')))).tool, 'webhook.sendProbed', 'another try is another proposal');
	}
});

test('EX-4 a probe that does not say so in this form leaves it unknown, and its answer is evidence', async () => {
	const p = await unknown(), key = p.proposalId;
	const says = (body, more = {}) => () => ({ body: typeof body === 'string' ? body : JSON.stringify(body), ...more });
	for (const answer of [
		says({ idempotencyKey: key, outcome: 'unknown' }), says({ idempotencyKey: key, outcome: 'DONE' }), says({ idempotencyKey: key, outcome: true }), says({ idempotencyKey: key }),
		says({ outcome: 'done' }), says({ idempotencyKey: 'another', outcome: 'done' }), says({ idempotencyKey: 7, outcome: 'done' }), says({ result: [{ idempotencyKey: key, outcome: 'done' }] }),
		says([]), says('null'), says('"done"'), says(''), says('<html>n8n is starting up. Please wait</html>', { type: 'text/html' }), says({}, { status: 204 }),
		says({ idempotencyKey: key, outcome: 'done' }, { status: 202 }), says({ idempotencyKey: key, outcome: 'refused' }, { status: 404 }), says({ idempotencyKey: key, outcome: 'done' }, { status: 500 }),
		(request) => void request.socket.destroy(),
	]) assert.equal((await probe(p, answer)).state, 'unknown');
	const shown = await ok(ada.get(at(p)));
	assert.equal(shown.attempt.evidence.length, 18);
	assert.ok(shown.attempt.evidence.every(({ outcome }) => outcome === 'unknown'));
	assert.equal(shown.attempt.evidence.at(-1).question, 'lost');
	assert.equal(shown.attempt.settledAt, undefined);
	assert.equal((await w.audit({ proposalId: key, action: 'proposal.settled' })).length, 0);
	await refused(w.admin.post(at(p, '/probe')), 403, 'forbidden', /signed in/); // a token is no person who has looked
	await ok(w.admin.delete(`/api/v1/connections/${connection}/tools/wasSent`));
	await refused(ada.post(at(p, '/probe')), 409, 'conflict', /no tool that could tell/);
});

test('EX-4 a person who settles while a probe is under way is not overruled by it', async () => {
	await ok(declare('wasSent', wasSent));
	const p = await unknown();
	let release;
	receiver.answer = () => new Promise((resolve) => (release = () => resolve({ body: JSON.stringify({ idempotencyKey: p.proposalId, outcome: 'done' }) })));
	const probing = ada.post(at(p, '/probe'));
	await until(() => release, 'the question to arrive');
	await ok(ada.post(at(p, '/settle'), { outcome: 'failed', reason: 'I have looked' }));
	release();
	const now = await ok(probing);
	assert.deepEqual([now.state, now.attempt.settledReason], ['failed', 'I have looked']);
	assert.equal(now.attempt.evidence.at(-1).from, 'probe', 'what it said is kept');
});
