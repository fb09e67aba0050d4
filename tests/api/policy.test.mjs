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
	assert.deepEqual(await explain({ tool: 'note.list' }), { verdict: 'run', reasons: [], risk: { level: 'low', reasons: [] }, votes: 0, groups: [], fourEyes: false, proposerMayConfirm: false, permissionStatus: 'always_allow', stored: false, hasVerb: true, policyVersion: 1 });
	const change = await explain({ tool: 'note.create', input: { title: 'x', text: '' } });
	assert.equal(change.verdict, 'ask');
	assert.equal(change.votes, 1);
	assert.deepEqual(change.reasons, ['the tool is not on the organization\'s allow-list', 'the caller may propose this, not do it', 'the tool needs approval for this agent']);
	const remove = await explain({ tool: 'note.delete' });
	assert.equal(remove.risk.level, 'high');
	assert.ok(remove.reasons.includes('what destroys always needs a person'));
	await refused(w.agent.post('/api/v1/policy/explain', { tool: 'note.create', input: {} }), 400, 'invalid_request');
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

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;
const team = async (name, ...people) => ok(w.admin.post('/api/v1/teams', { name, members: people.map(({ id }) => id) }));
const policy = (groups, more = {}) => w.admin.put('/api/v1/settings', { policy: { groups, ...more } });

test('AP-4 N of a team: explained, on the card, counted at every vote, and said what is missing', async () => {
	const [ann, bob, cleo, dan] = [await w.person(), await w.person(), await w.person(), await w.person()];
	const finance = await team('Finance', ann, bob), legal = await team('Legal', bob, cleo);
	const groups = [{ teamId: finance.id, votes: 1, tools: ['note.create'] }, { teamId: legal.id, votes: 1, tools: ['note.create'] }];
	await ok(policy(groups));
	assert.deepEqual((await ok(w.admin.get('/api/v1/settings'))).policy.groups, groups);
	const said = await explain({ tool: 'note.create' });
	assert.deepEqual(said.groups, [{ teamId: finance.id, team: 'Finance', votes: 1 }, { teamId: legal.id, team: 'Legal', votes: 1 }]);
	assert.equal(said.votes, 2);
	assert.ok(said.reasons.includes('the organization asks a team about this'));
	assert.deepEqual((await explain({ tool: 'note.update' })).groups, []);
	const p = await w.propose();
	assert.deepEqual(p.card.approvers, said.groups);
	assert.deepEqual(p.approvals.groups.map(({ team, needed, valid }) => [team, needed, valid]), [['Finance', 1, 0], ['Legal', 1, 0]]);
	assert.equal(p.approvals.missing, '0 of 2 approvals are there; 1 more must be of the team "Finance"');
	assert.equal((await w.approve(p, dan)).state, 'pending', 'anybody who may vote may, but it takes nobody\'s place');
	const second = await w.approve(p, bob);
	assert.equal(second.state, 'pending', 'two people, and one of them in both teams: he counts for one');
	assert.match(second.approvals.missing, /^2 of 2 approvals are there; 1 more must be of the team "Finance" or "Legal" \(a person counts for one of them\)$/);
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /1 more must be of the team/);
	const last = await w.approve(p, cleo);
	assert.equal(last.state, 'approved');
	assert.equal(last.approvals.missing, undefined);
	assert.equal((await ok(w.admin.post(at(p, '/apply')))).state, 'applied');
	await ok(policy([]));
});

test('AP-4 a policy names tools that there are: a slip in a name is refused, not kept as a rule about nothing', async () => {
	const one = await team('Careful', await w.person());
	const before_ = await ok(w.admin.get('/api/v1/settings'));
	const wrong = async (answer, path) => {
		const { fields } = await refused(answer, 400, 'invalid_request', /names a tool that there is not/);
		assert.deepEqual(fields.map((field) => field.path), [path]);
	};
	await wrong(policy([{ teamId: one.id, tools: ['note.create', 'note.creat'] }]), '/policy/groups/0/tools/1');
	await wrong(policy([], { allowListed: ['note.creat'] }), '/policy/allowListed/0');
	await refused(policy([{ teamId: 'nobody' }]), 400, 'invalid_request', /^\/policy\/groups\/0 is no team$/);
	assert.deepEqual(await ok(w.admin.get('/api/v1/settings')), before_);
});

test('AP-4 who was shut out is none of the people that a team can be asked for', async () => {
	const [ann, bob] = [await w.person(), await w.person()];
	const two = await team('Pair', ann, bob), asks = (votes) => policy([{ teamId: two.id, votes }]);
	await refused(asks(3), 400, 'invalid_request', /asks for more people than the team has/);
	const askNobody = () => w.change("UPDATE org SET settings = '{}', policy_version = policy_version + 1"); // the team has no say in access.change
	await ok(asks(2));
	await askNobody();
	await ok(w.admin.delete(`/api/v1/members/${bob.id}`));
	await refused(asks(2), 400, 'invalid_request', /asks for more people than the team has/);
	await ok(asks(1));
	await askNobody();
});

test('AP-4 who has left the team by the time it is applied no longer counts for it', async () => {
	const [ann, bob] = [await w.person(['admin']), await w.person(['admin'])];
	const ops = await team('Operations', ann, bob);
	const members = (...people) => w.admin.put(`/api/v1/teams/${ops.id}`, { name: 'Operations', members: people.map(({ id }) => id), grants: [] });
	await ok(policy([{ teamId: ops.id, votes: 1 }]));
	const p = await w.propose();
	assert.equal((await w.approve(p, ann)).state, 'approved');
	await ok(members(bob));
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /1 of 1 approvals are there; 1 more must be of the team "Operations"/);
	const seen = await ok(w.admin.get(at(p)));
	assert.deepEqual([seen.approvals.valid, seen.approvals.groups[0].valid], [1, 0]);
	await ok(members(ann, bob));
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /^0 of 1 approvals are there/); // who is back was not there all the time
	assert.equal((await w.approve(p, bob)).state, 'approved');
	assert.equal((await ok(w.admin.post(at(p, '/apply')))).state, 'applied');
	const q = await w.propose();
	await w.approve(q, ann);
	await ok(members(bob));
	assert.equal((await w.approve(q, bob)).state, 'approved', 'another of the team takes the place');
	await ok(w.admin.patch(`/api/v1/members/${bob.id}`, { roles: ['observer'] }));
	await refused(w.admin.post(at(q, '/apply')), 409, 'approval_required', /"Operations"/);
	await w.change("UPDATE org SET settings = '{}', policy_version = policy_version + 1"); // nobody of the team is left to agree to that
});

test('AP-4 a veto is anybody\'s; a person who asks does not fill a place; a change of the groups is drift', async () => {
	const [ann, bob] = [await w.person(['admin']), await w.person(['admin'])];
	const ops = await team('Two', ann, bob);
	await ok(policy([{ teamId: ops.id, votes: 1, effect: 'mutate', risk: 'low' }]));
	const own = await w.propose({}, ann);
	assert.deepEqual([own.state, own.approvals.needed], ['pending', 1], 'ann is of the team and may do it, but she asked');
	await refused(ann.post(at(own, '/approve'), { viewHash: own.viewHash }), 403, 'forbidden', /proposed cannot vote/);
	assert.equal((await w.approve(own, bob)).state, 'approved');
	const p = await w.propose();
	await w.approve(p, bob);
	const outsider = await w.person();
	assert.equal((await ok(outsider.post(at(p, '/deny'), { viewHash: p.viewHash }))).state, 'denied');
	await ok(policy([{ teamId: ops.id, votes: 2 }]));
	await refused(w.admin.post(at(own, '/apply')), 409, 'version_drift', /policy/);
	await ok(policy([]));
});

test('AP-4 groups that could never agree are refused when they are saved, and a team that is asked is not deleted', async () => {
	const ann = await w.person(['admin']);
	const one = await team('One', ann), empty = await team('Empty');
	const at = async (groups) => (await refused(policy(groups), 400, 'invalid_request')).fields.map(({ path }) => path);
	assert.deepEqual(await at([{ teamId: one.id }, { teamId: 'none' }]), ['/policy/groups/1']);
	assert.deepEqual(await at([{ teamId: one.id, votes: 2 }]), ['/policy/groups/0']);
	assert.deepEqual(await at([{ teamId: empty.id }]), ['/policy/groups/0']);
	assert.deepEqual(await at([{ teamId: one.id }, { teamId: one.id, votes: 0 }]), ['/policy/groups/1/votes']);
	assert.deepEqual(await at([{ teamId: one.id, who: 1 }]), ['/policy/groups/0/who']);
	assert.deepEqual(await at(Array(9).fill({ teamId: one.id })), ['/policy/groups']);
	await ok(policy([{ teamId: one.id }]));
	await refused(w.admin.delete(`/api/v1/teams/${one.id}`), 409, 'referenced', /policy asks this team/);
	await ok(policy([]));
	await ok(w.admin.delete(`/api/v1/teams/${one.id}`));
});
