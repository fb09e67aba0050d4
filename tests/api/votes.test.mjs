// SPDX-License-Identifier: Apache-2.0
// Whose vote counts (AP-3, AP-4, docs/decisions/0032): with the right since before the proposal, in the scope of the token, and
// asking only in a session; and nobody takes rights from somebody who holds more (ID-6).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from './lib/flags.mjs';
import { ok, refused, World } from './lib/flow.mjs';
import { followLink } from './lib/people.mjs';
import { Receiver } from './lib/receiver.mjs';

const CHANGED = /was changed after this was proposed; propose it again, or ask somebody else/;
let w, boss;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']); // somebody who is signed in
});
after(() => w.stop());

const path = (p, act = '') => `/api/v1/proposals/${p.proposalId}${act && `/${act}`}`;
const approve = (p, who, more = {}) => who.post(path(p, 'approve'), { viewHash: p.viewHash, ...more });
const look = (p) => ok(w.admin.get(path(p)));
const member = (person, change) => ok(boss.patch(`/api/v1/members/${person.id}`, change));
const policy = (of) => ok(boss.put('/api/v1/settings', { policy: of }));
const role = async (rules, level = '') => ok(boss.post('/api/v1/roles', { name: `role ${++w.count}`, level, rules }));
const team = (members, name = `Team ${++w.count}`) => ok(boss.post('/api/v1/teams', { name, members }));
const setTeam = (t, members) => ok(boss.put(`/api/v1/teams/${t.id}`, { name: t.name, members, grants: [] }));

test('AP-3 AP-4 whoever becomes an admin after the proposal does not vote on it; who was there before does', async () => {
	const [first, second] = [await w.person(['admin']), await w.person(['observer'])];
	const p = await w.propose();
	await member(second, { roles: ['admin'] });
	for (const late of [await w.person(['admin']), await w.person(['admin']), second]) await refused(approve(p, late, { apply: true }), 403, 'forbidden', CHANGED);
	assert.deepEqual((await look(p)).approvals.votes, []);
	await refused(second.post(path(p, 'apply')), 409, 'approval_required');
	assert.equal((await ok(approve(p, first, { apply: true }))).state, 'applied');
});

test('AP-4 two votes: those of two people from before the proposal', async () => {
	const [first, second] = [await w.person(['admin']), await w.person(['operator'])];
	await policy({ fourEyes: true, votesLow: 2 });
	try {
		const p = await w.propose();
		await ok(approve(p, first));
		await refused(boss.post(path(p, 'apply')), 409, 'approval_required', /^1 of 2/);
		assert.equal((await ok(approve(p, second))).state, 'approved');
		assert.equal((await ok(boss.post(path(p, 'apply')))).state, 'applied');
	} finally {
		await policy({});
	}
});

/** What takes something from a person and gives it back, or makes them somebody else may be. */
const gaps = {
	'a role taken and given back': async (person) => {
		await member(person, { roles: ['observer'] });
		await member(person, { roles: ['operator'] });
	},
	'a role that gives more': (person) => member(person, { roles: ['operator', 'maintainer'] }),
	'shut out and let in': async (person) => {
		await member(person, { disabled: true });
		await member(person, { disabled: false });
	},
	'a password that was set by a link': async (person) => ok(followLink(w.server, (await ok(boss.post(`/api/v1/members/${person.id}/link`))).link, 'another horse battery')),
	'an account at the identity provider that was untied': (person) => ok(boss.delete(`/api/v1/members/${person.id}/identity`)),
	'a place in a team': (person) => team([person.id]),
};

for (const [name, gap] of Object.entries(gaps))
	test(`AP-3 a vote counts no longer, and none is taken, after a gap: ${name}`, async () => {
		const [person, other] = [await w.person(['operator']), await w.person(['operator'])];
		const [voted, open] = [await w.propose(), await w.propose()];
		assert.equal((await ok(approve(voted, person))).state, 'approved');
		await gap(person);
		const { approvals } = await look(voted);
		assert.equal(approvals.valid, 0);
		assert.equal(approvals.votes[0].counts, false);
		assert.match(approvals.votes[0].why, /was changed after it was proposed/);
		await refused(boss.post(path(voted, 'apply')), 409, 'approval_required', /^0 of 1 approvals/);
		if (name !== 'shut out and let in' && !/password|account/.test(name)) await refused(approve(open, person), 403, 'forbidden', CHANGED); // those have to sign in again
		assert.equal((await ok(approve(voted, other))).state, 'approved');
		assert.equal((await ok(boss.post(path(voted, 'apply')))).state, 'applied');
		if (!/shut out|password|account/.test(name)) assert.equal((await ok(approve(await w.propose(), person))).state, 'approved'); // what is proposed now
	});

test('AP-3 a rule that a role loses and gets back is a gap for everybody who has the role', async () => {
	const keeper = await role(['note.note.approve', 'note.note.read']), person = await w.person([keeper.name]);
	const p = await w.propose();
	assert.equal((await ok(approve(p, person))).state, 'approved');
	for (const rules of [['note.note.read'], ['note.note.approve', 'note.note.read']]) await ok(boss.patch(`/api/v1/roles/${keeper.id}`, { rules }));
	const { approvals } = await look(p);
	assert.deepEqual([approvals.valid, approvals.votes[0].counts], [0, false]);
	assert.equal((await ok(approve(await w.propose(), person))).state, 'approved'); // what is proposed now is theirs to vote on
});

test('AP-3 what gives nobody more than they had takes no vote away', async () => {
	const keeper = await role(['note.note.approve', 'note.note.read']), person = await w.person([keeper.name, 'operator']);
	const t = await team([person.id]);
	const p = await w.propose();
	await member(person, { name: 'Renamed' });
	await member(person, { roles: [keeper.name, 'operator', 'observer'] });
	await ok(boss.patch(`/api/v1/roles/${keeper.id}`, { name: 'other name', rules: ['note.note.approve'] }));
	await setTeam(t, [person.id, (await w.person(['observer'])).id]);
	assert.equal((await ok(approve(p, person))).state, 'approved');
	await setTeam(t, []);
	assert.equal((await look(p)).approvals.valid, 1);
});

test('AP-4 who joins a team after the proposal takes no place of it', async () => {
	const [inside, outside] = [await w.person(['operator']), await w.person(['operator'])], t = await team([inside.id]);
	await policy({ groups: [{ teamId: t.id, votes: 1 }] });
	try {
		const p = await w.propose();
		await setTeam(t, [inside.id, outside.id]);
		await refused(approve(p, outside), 403, 'forbidden', CHANGED);
		assert.equal((await ok(approve(p, inside))).state, 'approved');
	} finally {
		await policy({});
	}
});

test('AP-6 a denial is taken from whoever may vote now', async () => {
	const p = await w.propose(), late = await w.person(['operator']);
	assert.equal((await ok(late.post(path(p, 'deny'), { viewHash: p.viewHash }))).state, 'denied');
});

test('AP-2 AP-3 a token that may not vote does nothing with a category C tool of another system: its person looks at the card first, signed in', async (t) => {
	const receiver = await Receiver.start();
	t.after(() => receiver.stop());
	const connection = await ok(boss.post('/api/v1/connections', { name: 'bank', url: receiver.url, allow: ['127.0.0.0/8'], signingSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }));
	const schema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
	const tools = [];
	for (const [name, more] of [['pay', {}], ['tell', { category: 'B', rollback: true, contract: 'idempotent' }]]) tools.push((await ok(boss.put(`/api/v1/connections/${connection.id}/tools/${name}`, { title: name, description: 'Does it.', effect: 'mutate', inputSchema: schema, failure: 'Nothing.', ...more }))).tool);
	const { token } = await ok(boss.post('/api/v1/tokens', { name: 'no votes', level: 'admin' }));
	const machine = w.server.as(token);
	for (const tool of tools) {
		const p = await ok(machine.post('/api/v1/proposals', { tool, input: { amount: 7 } }));
		assert.equal(p.state, 'pending', tool);
		assert.equal(p.approvals.needed, 1);
		assert.equal(p.approvals.proposerMayConfirm, true);
		assert.equal(p.card.askedBy.agrees, 'confirming');
		await refused(machine.post(path(p, 'apply')), 409, 'approval_required');
		await refused(approve(p, machine, { apply: true }), 403, 'forbidden');
		assert.equal(receiver.requests.length, 0);
	}
	const voting = w.server.as((await ok(boss.post('/api/v1/tokens', { name: 'votes', level: 'admin', forVoting: true }))).token);
	const p = await ok(boss.post('/api/v1/proposals', { tool: tools[0], input: { amount: 8 } })); // in a session it waits, too
	assert.equal(p.state, 'pending');
	await refused(approve(p, voting), 403, 'forbidden');
	await refused(approve({ ...p, viewHash: '0'.repeat(64) }, boss), 409, 'view_mismatch');
	await ok(approve(p, boss, { apply: true }));
	assert.equal(receiver.requests.length, 1);
});

test('AP-3 AP-5 a person agrees by asking in a session; to category C by confirming the stored card', async () => {
	const note = await w.note();
	const asks = (tool, input, who = boss) => ok(who.post('/api/v1/proposals', { tool, input }));
	const update = await asks('note.update', { id: note.id, title: 'By asking' });
	assert.deepEqual([update.state, update.approvals.needed, update.approvals.proposerMayConfirm, update.card.askedBy.agrees], ['approved', 0, false, 'asking']);
	const byToken = await asks('note.update', { id: note.id, title: 'By a token' }, w.admin);
	assert.deepEqual([byToken.state, byToken.approvals.needed, byToken.card.askedBy.agrees], ['pending', 1, 'confirming']);
	await refused(approve(byToken, w.admin), 403, 'forbidden', /a token does not confirm/);
	assert.equal((await ok(boss.post(path(update, 'apply')))).state, 'applied');
	const remove = await asks('note.delete', { id: note.id });
	assert.deepEqual([remove.state, remove.approvals.needed, remove.approvals.proposerMayConfirm, remove.card.askedBy.agrees], ['pending', 1, true, 'confirming']);
	await refused(boss.post(path(remove, 'apply')), 409, 'approval_required');
	await refused(approve({ ...remove, viewHash: update.viewHash }, boss), 409, 'view_mismatch');
	await refused(boss.post(path(remove, 'deny'), { viewHash: remove.viewHash }), 403, 'forbidden', /cancel it/);
	const done = await ok(approve(remove, boss, { apply: true }));
	assert.equal(done.state, 'applied');
	assert.deepEqual(done.approvals.votes.map(({ personId, counts, viaToken }) => [personId, counts, viaToken]), [[boss.id, true, false]]);
	const said = await ok(boss.post('/api/v1/policy/explain', { tool: 'note.delete' }));
	assert.deepEqual([said.votes, said.proposerMayConfirm], [1, true]);
});

test('AP-3 AP-4 a confirmation is one vote: four eyes, a second vote, a token that asks for approval need somebody else', async () => {
	const other = await w.person(['admin']);
	const { id } = await w.note();
	const asks = (who = boss) => ok(who.post('/api/v1/proposals', { tool: 'note.delete', input: { id } }));
	await policy({ votesDestructive: 2, votesHigh: 2 });
	try {
		const two = await asks();
		assert.equal((await ok(approve(two, boss))).state, 'pending');
		await refused(boss.post(path(two, 'apply')), 409, 'approval_required', /^1 of 2/);
		assert.equal((await ok(approve(two, other))).state, 'approved');
		await policy({ fourEyes: true });
		const four = await asks();
		assert.equal(four.card.askedBy.agrees, undefined);
		await refused(approve(four, boss), 403, 'forbidden', /the one who proposed cannot vote/);
		assert.equal((await ok(approve(four, other))).state, 'approved');
	} finally {
		await policy({});
	}
	const careful = w.server.as((await ok(boss.post('/api/v1/tokens', { name: 'careful', level: 'admin', approvalRequired: true }))).token);
	await refused(approve(await asks(careful), boss), 403, 'forbidden', /the one who proposed cannot vote/);
	const writer = await role(['note.note.manage', 'note.note.read', 'proposal.proposal.read']), person = await w.person([writer.name]);
	assert.equal((await asks(person)).card.askedBy.agrees, 'confirming'); // manage holds approve
	const doer = await role(['note.note.delete', 'note.note.propose', 'note.note.read']), without = await w.person([doer.name]);
	const p = await asks(without);
	assert.equal(p.card.askedBy.agrees, undefined); // who may not approve agrees to nothing
	await refused(approve(p, without), 403, 'forbidden');
});

test('AP-3 that somebody agreed by asking counts no longer than a vote: after a gap it needs one', async () => {
	const person = await w.person(['operator']), other = await w.person(['operator']), note = await w.note();
	const p = await ok(person.post('/api/v1/proposals', { tool: 'note.update', input: { id: note.id, title: 'Mine' } }));
	assert.deepEqual([p.state, p.approvals.needed], ['approved', 0]);
	await gaps['a role taken and given back'](person);
	await refused(boss.post(path(p, 'apply')), 409, 'approval_required', /^0 of 1 approvals/);
	assert.equal((await look(p)).approvals.needed, 1);
	assert.equal((await ok(approve(p, other, { apply: true }))).state, 'applied');
});

test('ID-5 ID-6 a voting token for staging and payments.* votes on nothing else, for or against', async () => {
	const shop = await Shop.open(boss, `votes${++w.count}`);
	const agent = await w.agentOf(boss, { level: 'operator', actions: ['read', 'propose'] });
	for (const key of ['payments.card', 'search']) await shop.config(key);
	const { token } = await ok(boss.post('/api/v1/tokens', { name: 'votes', level: 'admin', forVoting: true, environments: [shop.staging.id], keys: ['payments.*'] }));
	const voter = w.server.as(token);
	const asks = (env, resourceKey) => ok(agent.ask().post('/api/v1/proposals', { envId: env.id, kind: 'set_default_value_config', resourceKey, diff: { defaultValue: ++w.count } }));
	const inside = await asks(shop.staging, 'payments.card');
	for (const p of [await asks(shop.live, 'payments.card'), await asks(shop.staging, 'search'), await w.propose()]) {
		await refused(approve(p, voter, { apply: true }), 404, 'not_found');
		await refused(voter.post(path(p, 'deny'), { viewHash: p.viewHash }), 404, 'not_found');
		assert.deepEqual([(await look(p)).state, (await look(p)).approvals.votes], ['pending', []]);
	}
	assert.equal((await ok(approve(inside, voter))).state, 'approved');
});

test('ID-6 nobody lowers, shuts out or removes somebody whose rules they do not all hold', async () => {
	const manage = ['access.member.manage', 'access.role.manage', 'access.team.manage', 'access.token.manage'];
	const keeper = await w.person([(await role(manage, 'operator')).name]), highest = await w.person(['admin']), low = await w.person(['observer']);
	const shared = await role(['note.note.read', 'note.note.write']);
	await member(highest, { roles: ['admin', shared.name] });
	const t = await ok(boss.post('/api/v1/teams', { name: `Team ${++w.count}`, members: [highest.id, low.id], grants: [{ resourceType: 'note', resourceId: 'n', verb: 'read' }] }));
	const ask = (method, target, body) => w.server.request(method, target, { body, headers: keeper.headers() });
	const put = (members, grants) => ask('PUT', `/api/v1/teams/${t.id}`, { name: t.name, members, grants });
	for (const [method, target, body] of [
		['PATCH', `/api/v1/members/${highest.id}`, { roles: ['observer'] }], ['PATCH', `/api/v1/members/${highest.id}`, { roles: [] }],
		['PATCH', `/api/v1/members/${highest.id}`, { disabled: true }], ['DELETE', `/api/v1/members/${highest.id}`],
		['DELETE', `/api/v1/members/${highest.id}/identity`], ['DELETE', `/api/v1/teams/${t.id}`], ['PATCH', `/api/v1/roles/${shared.id}`, { rules: ['note.note.read'] }],
	]) await refused(ask(method, target, body), 403, 'forbidden', /somebody who holds more than you \(missing permission: admin/);
	await refused(put([low.id], t.grants), 403, 'forbidden', /missing permission: admin/);
	await refused(put([highest.id, low.id], []), 403, 'forbidden', /missing permission: admin/);
	await member(highest, { disabled: true });
	await refused(ask('PATCH', `/api/v1/members/${highest.id}`, { disabled: false }), 403, 'forbidden', /missing permission: admin/);
	await member(highest, { disabled: false });
	await ok(put([highest.id], t.grants)); // of who holds less they may
	await ok(ask('PATCH', `/api/v1/members/${low.id}`, { roles: [] }));
	await ok(ask('DELETE', `/api/v1/members/${low.id}`));
	const { items } = await ok(boss.get('/api/v1/members?limit=200'));
	assert.deepEqual(items.filter(({ id }) => id === highest.id).map(({ roles, disabled }) => [roles, disabled]), [[['admin', shared.name], false]]);
	const { id } = await ok(boss.post('/api/v1/tokens', { name: 'leaked', level: 'admin' }));
	await ok(ask('DELETE', `/api/v1/tokens/${id}`)); // to stop a credential is always possible
});
