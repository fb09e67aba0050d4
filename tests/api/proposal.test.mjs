// SPDX-License-Identifier: Apache-2.0
// Propose, approve, apply over REST: proposal_create, proposal_list, proposal_get, proposal_approve,
// proposal_deny, proposal_cancel, proposal_apply, proposal_apply_token.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { startSetUp } from './lib/server.mjs';

let server, agent, admin;
before(async () => {
	server = await startSetUp();
	agent = server.as(server.first.agentToken);
	admin = server.as(server.first.adminToken);
});
after(() => server.stop());

test('the whole flow: an agent proposes, a person approves, the stored payload is applied once (PA-1, PA-3, AP-5)', async () => {
	const made = await agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'Hello', text: 'World' } });
	assert.equal(made.status, 201, made.text);
	const p = made.json;
	assert.equal(p.status, 'pending');
	const voted = await admin.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash });
	assert.equal(voted.status, 200, voted.text);
	assert.equal(voted.json.status, 'approved');
	const applied = await admin.post('/api/v1/proposals/apply', { token: p.token });
	assert.equal(applied.status, 200, applied.text);
	assert.equal(applied.json.status, 'applied');
	assert.equal(applied.json.result.title, 'Hello');
	const again = await admin.post('/api/v1/proposals/apply', { token: p.token });
	assert.equal(again.status, 410, again.text);
});
