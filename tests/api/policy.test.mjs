// SPDX-License-Identifier: Apache-2.0
// policy_explain: what would be decided, and why (AP-1, AP-2, AP-8).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';

let w, boss;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
});
after(() => w.stop());
const explain = (body, who = w.agent) => ok(who.post('/api/v1/policy/explain', body));

test('AP-2 reads run, changes ask, with every reason', async () => {
	assert.deepEqual(await explain({ tool: 'note.list' }), { verdict: 'run', reasons: [], risk: { level: 'low', reasons: [] }, votes: 0, fourEyes: false, permissionStatus: 'always_allow', stored: false, hasVerb: true, policyVersion: 1 });
	const change = await explain({ tool: 'note.create', input: { title: 'x', text: '' } });
	assert.equal(change.verdict, 'ask');
	assert.equal(change.votes, 1);
	assert.deepEqual(change.reasons, ['the tool is not on the organization\'s allow-list', 'the caller may propose this, not do it', 'the tool needs approval for this agent']);
	const remove = await explain({ tool: 'note.delete' });
	assert.equal(remove.risk.level, 'high');
	assert.ok(remove.reasons.includes('what destroys always needs a person'));
	await refused(w.agent.post('/api/v1/policy/explain', { tool: 'note.create', input: {} }), 400, 'invalid');
	assert.equal((await explain({ tool: 'note.create', input: { title: '\u202e', text: '' } })).risk.level, 'high');
});

test('it explains what is then decided', async () => {
	for (const tool of ['note.create', 'note.delete']) {
		const note = await w.note();
		const input = tool === 'note.create' ? { title: 'x', text: '' } : { id: note.id };
		for (const who of [w.agent, w.admin, boss]) {
			const said = await explain({ tool, input }, who);
			const done = await w.propose({ tool, input }, who);
			assert.equal(done.approvals.needed, said.votes, `${tool} ${JSON.stringify(said)}`);
			assert.deepEqual(done.risk, said.risk);
		}
	}
});

test('for another principal it takes the right to read the policy', async () => {
	const agent = await w.agentOf(boss);
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.list', permissionStatus: 'blocked' }] }));
	const said = await explain({ principalId: agent.id, tool: 'note.list' }, w.admin);
	assert.equal(said.verdict, 'refuse');
	assert.deepEqual(said.reasons, ['the tool is blocked for this agent']);
	assert.equal((await explain({ principalId: boss.id, tool: 'note.create' }, w.admin)).hasVerb, true);
	await refused(w.admin.post('/api/v1/policy/explain', { principalId: 'none', tool: 'note.list' }), 404, 'not_found');
	const narrow = await w.agentOf(boss, { rules: ['note.note.read'] });
	await refused(narrow.ask().post('/api/v1/policy/explain', { principalId: agent.id, tool: 'note.list' }), 403, 'forbidden', /policy\.settings\.read/);
	await refused(agent.ask().post('/api/v1/policy/explain', { tool: 'note.list' }), 404, 'not_found');
});

test('an environment decides whether it is production', async () => {
	assert.equal((await explain({ tool: 'note.delete', environmentId: w.first.stagingId ?? 'unknown' })).verdict, 'ask');
});
