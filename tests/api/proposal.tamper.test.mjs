// SPDX-License-Identifier: Apache-2.0
// What was changed in the database behind our back is noticed before it is acted on, refused and audited (AU-4);
// and what was taken away between propose and apply is gone (ID-6, TL-2, TL-3).
// Operations: proposal_get, proposal_apply, proposal_approve, proposal_list.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';

let w;
before(async () => (w = await World.start()));
after(() => w.stop());

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;

const edits = {
	'the payload': () => `payload = '{"text":"text","title":"evil"}'`,
	'the payload with its hash recomputed': () => `payload = '{"text":"text","title":"evil"}', payload_hash = '${sha256('{"text":"text","title":"evil"}')}'`,
	'the card': () => `card = '{"summary":"harmless"}'`,
	'the card with its hash recomputed': () => `card = '{"summary":"harmless"}', view_hash = '${sha256('{"summary":"harmless"}')}'`,
	'the summary of the list': () => `summary = 'harmless'`,
	'the state': () => `state = 'pending'`,
	'the votes it needs': () => 'votes_needed = 0',
	'the time it has': () => 'expires_at = expires_at + 86400000000',
	'the tool': () => `tool = 'note.update'`,
	'who proposed it': () => `proposer_id = '${w.first.adminId}'`,
	'the risk': () => `risk = 'high'`,
	'the id it will get': () => `minted_id = 'x'`,
	'the seal': () => `mac = '${'0'.repeat(64)}'`,
	'its state to applied, with a result': () => `state = 'applied', result = '{}'`,
};

test('AU-4 a row that was edited is refused wherever it is used, nothing happens, and it is on record', async () => {
	const victims = [];
	for (const name of Object.keys(edits)) {
		const p = await w.propose();
		await w.approve(p);
		victims.push({ name, p });
	}
	const before_ = await w.notes();
	await w.change(victims.map(({ name, p }) => `UPDATE proposal SET ${edits[name]()} WHERE proposal_id = '${p.proposalId}';`).join('\n'));
	for (const { name, p } of victims) {
		await refused(w.admin.post(at(p, '/apply')), 409, 'tampered');
		await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token }), 409, 'tampered');
		await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash }), 409, 'tampered');
		await refused(w.admin.get(at(p)), 409, 'tampered');
		const entries = await w.audit({ proposalId: p.proposalId, action: 'request.refused' });
		assert.equal(entries.length, 4, name);
		assert.ok(entries.every(({ reason }) => reason === 'tampered'), name);
		const { proposals } = await ok(w.admin.get('/api/v1/proposals?limit=200'));
		assert.deepEqual(proposals.find(({ proposalId }) => proposalId === p.proposalId), { proposalId: p.proposalId, status: 'tampered' }, name);
	}
	assert.deepEqual(await w.notes(), before_);
});

test('AU-4 a forged vote is refused, and so is one that was copied from another proposal', async () => {
	const voter = await w.person(['operator']);
	const p = await w.propose(), q = await w.propose();
	await w.approve(q, voter);
	await w.change(`INSERT INTO vote (org_id, proposal_id, person_id, decision, view_hash, via_token, voted_at, mac)
		SELECT org_id, '${p.proposalId}', person_id, decision, '${p.viewHash}', via_token, voted_at, mac FROM vote WHERE proposal_id = '${q.proposalId}';`);
	await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash }), 409, 'tampered');
	await refused(w.admin.post(at(p, '/apply')), 409, 'tampered');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'request.refused' })).length, 2);
	assert.equal((await ok(w.admin.get(at(q)))).approvals.valid, 1);
});

test('AP-4 a vote that was deleted does not count', async () => {
	const p = await w.propose();
	await w.approve(p);
	await w.change(`DELETE FROM vote WHERE proposal_id = '${p.proposalId}';`);
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /0 of 1/);
});

test('ID-6 a token revoked between propose and apply: neither its agent nor anybody else applies what it asked for', async () => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	await ok(w.admin.delete(`/api/v1/tokens/${agent.tokenId}`));
	await refused(agent.ask().post(at(p, '/apply')), 401, 'unauthenticated');
	await refused(w.admin.post(at(p, '/apply')), 403, 'forbidden', /revoked/);
	assert.equal((await ok(w.admin.get(at(p)))).status, 'approved');
});

test('ID-6 a person who is shut out takes everything they delegated along', async () => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	await ok(w.admin.delete(`/api/v1/members/${boss.id}`));
	await refused(agent.ask().post(at(p, '/apply')), 401, 'unauthenticated');
	await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token }), 403, 'forbidden', /revoked/);
});

test('ID-6 a delegator who lost the rule takes it from the agent at once', async () => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	await ok(w.admin.patch(`/api/v1/members/${boss.id}`, { roles: ['observer'] }));
	await refused(agent.ask().post(at(p, '/apply')), 403, 'forbidden', /missing permission: note\.note\.create/);
	await refused(w.admin.post(at(p, '/apply')), 403, 'forbidden', /no longer/);
});

test('TL-2 a tool blocked after the proposal is not there for the agent, and nobody applies it for it', async () => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.create', permissionStatus: 'blocked' }] }));
	await refused(agent.ask().post(at(p, '/apply')), 404, 'not_found');
	await refused(w.admin.post(at(p, '/apply')), 403, 'forbidden', /blocked/);
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [] }));
	assert.equal((await ok(agent.ask().post(at(p, '/apply')))).status, 'applied');
});

test('ID-2 a service principal can neither propose nor apply', async () => {
	const boss = await w.person(['admin']);
	const service = await ok(w.admin.post('/api/v1/members', { name: 'Back end', kind: 'service' }));
	const minted = await ok(boss.post('/api/v1/tokens', { name: 'svc', principalId: service.id, level: 'maintainer' }));
	const ask = w.server.as(minted.token);
	const p = await w.propose();
	await w.approve(p);
	await refused(ask.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: '' } }), 403, 'forbidden', /service/);
	await refused(ask.post('/api/v1/tools/call', { tool: 'note.list', input: {} }), 403, 'forbidden', /service/);
	await refused(ask.post('/api/v1/proposals/apply', { token: p.token }), 403, 'forbidden', /service/);
	assert.deepEqual((await ok(ask.get('/api/v1/tools'))).tools, []);
});
