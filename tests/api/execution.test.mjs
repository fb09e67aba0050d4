// SPDX-License-Identifier: Apache-2.0
// What another system does, as people and models see it: proposal_settle, proposal_probe. (What is sent, and what becomes of it,
// is proved by tests/unit/core/attempt.c, tests/api/webhook.test.mjs and tests/fault/run-outside.)
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { ask } from './lib/mcp-clients.mjs';
import { Receiver } from './lib/receiver.mjs';
import { run, until } from './lib/server.mjs';

let w, receiver, ada, tool;
before(async () => {
	w = await World.start();
	receiver = await Receiver.start();
	ada = await w.person(['admin']);
	const { id } = await ok(w.admin.post('/api/v1/connections', { name: 'billing', url: receiver.url, allow: ['127.0.0.0/8'] }));
	const inputSchema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'], additionalProperties: false };
	tool = (await ok(w.admin.put(`/api/v1/connections/${id}/tools/sendInvoice`, { title: 'Send an invoice', description: 'It sends one.', effect: 'mutate', inputSchema, failure: 'No invoice.' }))).tool;
});
after(async () => {
	await receiver.stop();
	await w.stop();
});

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;

async function approved() {
	const p = await w.propose({ tool, input: { amount: 7 } });
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
