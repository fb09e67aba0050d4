// SPDX-License-Identifier: Apache-2.0
// Roles, teams and settings: role_list, role_create, role_change, role_delete, team_list, team_get, team_create,
// team_put, team_delete, team_only, settings_get, settings_put.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { addPerson, signIn } from './lib/people.mjs';
import { startSetUp } from './lib/server.mjs';

let server, admin;
before(async () => {
	server = await startSetUp();
	admin = server.as(server.first.adminToken);
});
after(() => server.stop());

async function refused(promise, status, code, message = /./) {
	const answer = await promise;
	assert.equal(answer.status, status, answer.text);
	assert.equal(answer.json.code, code);
	assert.match(answer.json.message, message);
	return answer.json;
}

test('ID-4 the five levels are roles that stay as they are', async () => {
	const { items } = (await admin.get('/api/v1/roles')).json;
	assert.deepEqual(items.map(({ name, builtin }) => [name, builtin]), ['observer', 'proposer', 'operator', 'maintainer', 'admin'].map((name) => [name, true]));
	await refused(admin.patch(`/api/v1/roles/${items[0].id}`, { rules: ['note.note.write'] }), 409, 'conflict', /built in/);
	await refused(admin.delete(`/api/v1/roles/${items[0].id}`), 409, 'conflict', /built in/);
});

test('ID-3 a role is a bundle of rules; a change of it holds at once for who has it', async () => {
	const role = (await admin.post('/api/v1/roles', { name: 'reader of settings', rules: ['server.config.read'] })).json;
	await refused(admin.post('/api/v1/roles', { name: 'reader of settings' }), 409, 'already_exists');
	const member = await addPerson(server, admin, { name: 'R', email: 'r@r', roles: [role.name] });
	const { cookie } = await signIn(server, member), headers = { cookie };
	const asked = async () => (await server.get('/api/v1/config', { headers })).status;
	assert.equal(await asked(), 200);
	assert.equal((await admin.patch(`/api/v1/roles/${role.id}`, { rules: ['server.metrics.read'] })).status, 200);
	assert.equal(await asked(), 403);
	assert.equal((await admin.patch(`/api/v1/roles/${role.id}`, { rules: ['server.config.manage'], name: 'settings' })).json.name, 'settings');
	assert.equal(await asked(), 200); // manage covers read
	assert.equal((await admin.patch(`/api/v1/roles/${role.id}`, { rules: [], level: 'observer' })).json.level, 'observer');
	assert.equal(await asked(), 200);
	await refused(admin.delete(`/api/v1/roles/${role.id}`), 409, 'referenced', /still has/);
	await admin.patch(`/api/v1/members/${member.id}`, { roles: [] });
	assert.equal(await asked(), 403);
	assert.equal((await admin.delete(`/api/v1/roles/${role.id}`)).status, 200);
	await refused(admin.delete(`/api/v1/roles/${role.id}`), 404, 'not_found');
});

test('what is not a rule is refused', async () => {
	for (const rules of [['read'], ['a.b'], ['a.b.fly'], ['a..read'], ['*.*.read'], [''], 'a.b.read', [1], [`a.${'b'.repeat(300)}.read`]])
		await refused(admin.post('/api/v1/roles', { name: 'x', rules }), 400, 'invalid_request');
	await refused(admin.post('/api/v1/roles', { name: 'x', level: 'god' }), 400, 'invalid_request');
	const role = (await admin.post('/api/v1/roles', { name: 'fine', rules: [] })).json;
	for (const level of ['god', 1, null]) await refused(admin.patch(`/api/v1/roles/${role.id}`, { level }), 400, 'invalid_request');
});

test('an observer reads all this and changes nothing of it', async () => {
	const { token } = (await admin.post('/api/v1/tokens', { name: 'x', level: 'observer' })).json;
	const observer = server.as(token);
	for (const list of ['members', 'roles', 'agents', 'teams', 'orgs', 'projects', 'environments', 'settings']) assert.equal((await observer.get(`/api/v1/${list}`)).status, 200, list);
	const { message } = await refused(observer.post('/api/v1/roles', { name: 'x' }), 403, 'forbidden');
	assert.equal(message, 'Forbidden: role_create (missing permission: access.role.manage)'); // ID-9
	for (const path of ['members', 'agents', 'teams']) await refused(observer.post(`/api/v1/${path}`, { name: 'x' }), 403, 'forbidden', /missing permission: access\.\w+\.manage/);
	await refused(observer.put('/api/v1/settings', { policy: {} }), 403, 'forbidden', /policy\.settings\.manage/);
});

test('ID-3 a team has people and grants, said as a whole', async () => {
	const me = (await admin.get('/api/v1/me')).json;
	const grants = [{ resourceType: 'note', resourceId: 'n1', verb: 'manage' }, { resourceType: 'note', resourceId: 'n2', verb: 'read' }];
	const { status, json: team } = await admin.post('/api/v1/teams', { name: 'Payments', members: [me.id], grants });
	assert.equal(status, 201);
	assert.deepEqual(team.grants, grants);
	assert.deepEqual((await admin.get(`/api/v1/teams/${team.id}`)).json, team);
	assert.ok((await admin.get('/api/v1/teams')).json.items.some(({ id }) => id === team.id));
	const changed = await admin.put(`/api/v1/teams/${team.id}`, { name: 'Pay', members: [], grants: grants.slice(1) });
	assert.deepEqual(changed.json, { id: team.id, name: 'Pay', members: [], grants: grants.slice(1) });
	const agent = (await admin.get('/api/v1/agents')).json.items[0];
	for (const wish of [{ members: [agent.id] }, { members: ['nobody'] }, { members: [me.id, me.id] }, { grants: [{ ...grants[0], verb: 'delete' }] }, { grants: [grants[0], grants[0]] }, { grants: {} }, { grants: [1] }])
		await refused(admin.put(`/api/v1/teams/${team.id}`, { name: 'Pay', members: [], grants: [], ...wish }), 400, 'invalid_request');
	for (const [wish, path] of [[{ members: [me.id, agent.id] }, '/members/1'], [{ grants: [grants[0], grants[0]] }, '/grants/1'], [{ grants: [{ ...grants[0], verb: 'delete' }] }, '/grants/0/verb']]) {
		const { fields, message } = await refused(admin.put(`/api/v1/teams/${team.id}`, { name: 'Pay', members: [], grants: [], ...wish }), 400, 'invalid_request');
		assert.deepEqual(fields.map((field) => field.path), [path]);
		assert.ok(message.startsWith(`${path} `), message);
	}
	await refused(admin.post('/api/v1/teams', { name: 'Pay' }), 409, 'already_exists');
	assert.deepEqual((await admin.put('/api/v1/team-only/note/n1', { teamOnly: true })).json, { type: 'note', id: 'n1', teamOnly: true });
	assert.equal((await admin.put('/api/v1/team-only/note/n1', { teamOnly: true })).status, 200);
	assert.equal((await admin.put('/api/v1/team-only/note/n1', { teamOnly: false })).status, 200);
	assert.equal((await admin.delete(`/api/v1/teams/${team.id}`)).json.name, 'Pay');
	await refused(admin.get(`/api/v1/teams/${team.id}`), 404, 'not_found');
});

test('settings have documented defaults, are replaced as a whole, and their version grows', async () => {
	const before_ = (await admin.get('/api/v1/settings')).json;
	assert.deepEqual(before_.policy, { votesLow: 1, votesMedium: 1, votesHigh: 1, votesDestructive: 1, fourEyes: false, overrides: true, autoExecute: true, gdpr: false, hipaa: false, allowListed: [], groups: [] });
	const changed = await admin.put('/api/v1/settings', { policy: { votesHigh: 2, fourEyes: true, allowListed: ['note.create'] } });
	assert.equal(changed.json.policyVersion, before_.policyVersion + 1);
	assert.deepEqual((await admin.get('/api/v1/settings')).json, changed.json);
	assert.deepEqual(changed.json.policy, { ...before_.policy, votesHigh: 2, fourEyes: true, allowListed: ['note.create'] });
	await refused(admin.put('/api/v1/settings', { policy: {}, policyVersion: before_.policyVersion }), 409, 'conflict');
	for (const policy of [{ votesLow: 0 }, { votesHigh: 21 }, { fourEyes: 'yes' }, { unknown: 1 }, { allowListed: 'x' }, { allowListed: [1] }, 1, []]) {
		const { fields } = await refused(admin.put('/api/v1/settings', { policy }), 400, 'invalid_request');
		assert.ok(!fields || fields[0].path.startsWith('/policy'), JSON.stringify(fields));
	}
	await refused(admin.put('/api/v1/settings', { policy: { votesLow: 0 } }), 400, 'invalid_request', /^\/policy\/votesLow must be at least 1$/);
	await refused(admin.put('/api/v1/settings', { policy: { groups: [{ teamId: 'x', votes: 0 }] } }), 400, 'invalid_request', /^\/policy\/groups\/0\/votes must be/);
	assert.deepEqual((await admin.get('/api/v1/settings')).json, changed.json);
	assert.equal((await admin.put('/api/v1/settings', { policy: {}, policyVersion: changed.json.policyVersion })).status, 200);
});
