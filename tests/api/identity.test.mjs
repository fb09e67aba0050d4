// SPDX-License-Identifier: Apache-2.0
// Who is asking: tokens, delegation, minting (ID-1 to ID-7, ID-9). Operations: me, token_list, token_mint,
// token_renew, token_revoke, member_list, member_create, member_change, member_disable, agent_list, agent_get,
// agent_create, agent_change, agent_disable, org_list, project_list, environment_list.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { addPerson, followLink, signIn } from './lib/people.mjs';
import { behindTheBack, onPostgres, startServer, startSetUp } from './lib/server.mjs';

let server, admin;
before(async () => {
	server = await startSetUp();
	admin = server.as(server.first.adminToken);
});
after(() => server.stop());

const me = async (token) => (await server.as(token).get('/api/v1/me')).status;
const change = async (sql) => {
	server = await behindTheBack(server, sql);
	admin = server.as(server.first.adminToken);
};

async function created(promise) {
	const answer = await promise;
	assert.equal(answer.status, 201, answer.text);
	return answer.json;
}
async function refused(promise, status, code, message = /./) {
	const answer = await promise;
	assert.equal(answer.status, status, answer.text);
	assert.equal(answer.json.code, code);
	assert.match(answer.json.message, message);
	return answer.json;
}

let people = 0;
/** A person with these roles and a personal token of theirs. */
async function person(roles, token = {}) {
	const email = `person${++people}@example.org`;
	const member = await addPerson(server, admin, { name: `Person ${people}`, email, roles });
	const headers = await signIn(server, member);
	const minted = await created(server.post('/api/v1/tokens', { name: 'mine', ...token }, { headers }));
	return { ...member, token: minted.token, tokenId: minted.id, session: headers, ask: () => server.as(minted.token) };
}
const agent = (name = 'An agent') => created(admin.post('/api/v1/agents', { name }));

test('ID-1 the first organization has a project, production and staging', async () => {
	const [org] = (await admin.get('/api/v1/orgs')).json.items;
	assert.equal(org.id, server.first.orgId);
	assert.equal((await admin.get('/api/v1/projects')).json.items[0].id, server.first.projectId);
	const { items } = (await admin.get(`/api/v1/environments?projectId=${server.first.projectId}`)).json;
	assert.deepEqual(items.map(({ slug, production }) => [slug, production]), [['production', true], ['staging', false]]);
	assert.deepEqual((await admin.get('/api/v1/environments?projectId=none')).json.items, []);
});

test('ID-2 ID-7 the first agent reads and proposes in production, and writes and toggles elsewhere', async () => {
	const { json } = await server.as(server.first.agentToken).get('/api/v1/me');
	assert.equal(json.kind, 'agent');
	assert.equal(json.delegatorId, (await admin.get('/api/v1/me')).json.id);
	assert.deepEqual(json.scope.productionActions, ['read', 'propose']);
	assert.deepEqual(json.scope.actions, ['read', 'propose', 'toggle', 'write']);
	assert.equal(json.ratePerMinute, 60);
	assert.equal(json.mayVote, false);
	const days = (Date.parse(json.expiresAt) - Date.now()) / 86400e3;
	assert.ok(days > 6.9 && days <= 7, `${days} days`);
});

test('ID-5 ID-7 a token with rules has all verbs but approve, in production too, not the default ones', async () => {
	const [{ id: principalId }] = (await admin.get('/api/v1/agents')).json.items;
	const { token } = await created(admin.post('/api/v1/tokens', { name: 'rules', principalId, rules: ['note.note.create'] }));
	const { scope } = (await server.as(token).get('/api/v1/me')).json;
	assert.deepEqual(scope.actions, ['read', 'propose', 'toggle', 'write', 'create', 'promote', 'delete', 'manage']);
	assert.deepEqual(scope.productionActions ?? scope.actions, scope.actions);
});

test('ID-5 a wrong token is 401, whatever is wrong with it, in the same words', async () => {
	const good = server.first.adminToken;
	const flip = (at) => good.slice(0, at) + (good[at] === 'x' ? 'y' : 'x') + good.slice(at + 1);
	const wrong = ['', 'x', 'cs_pat_', flip(10), flip(good.length - 1), good.slice(0, -1), `${good}0`, good.toUpperCase(), good.replace('pat', 'agt'), 'cs_pat_' + '0'.repeat(49)];
	const texts = new Set();
	for (const token of wrong) {
		const { status, text, headers } = await server.as(token).get('/api/v1/me');
		assert.equal(status, 401, token);
		assert.equal(headers.get('www-authenticate'), 'Bearer');
		texts.add(text);
	}
	texts.add((await server.get('/api/v1/me', { headers: { authorization: `Basic ${good}` } })).text);
	assert.equal(texts.size, 1);
	assert.equal(await me(good), 200);
});

test('ID-5 only the SHA-256 of a token is stored, and lists never show it', async () => {
	const { token, id } = await created(admin.post('/api/v1/tokens', { name: 'secret' }));
	const list = await admin.get('/api/v1/tokens?limit=200');
	assert.ok(!list.text.includes(token) && !list.text.includes(token.slice(7, 40)));
	assert.ok(list.json.items.some((item) => item.id === id && item.hint.endsWith(token.slice(-4))));
	await change(`UPDATE token SET hash = '${createHash('sha256').update(token).digest('hex')}' WHERE token_id = '${id}'`); // what is there already
	assert.equal(await me(token), 200);
	await change(`UPDATE token SET hash = '${token}' WHERE token_id = '${id}'`);
	assert.equal(await me(token), 401);
	await change(`UPDATE token SET hash = 'nothing' WHERE token_id = '${id}'${onPostgres ? '' : '; VACUUM'}`); // it is looked for (lib/secret.mjs)
});

test('ID-5 lists come page by page', async () => {
	const seen = [];
	for (let next = ''; next !== undefined; ) {
		const { json } = await admin.get(`/api/v1/tokens?limit=2${next && `&after=${next}`}`);
		assert.ok(json.items.length <= 2);
		seen.push(...json.items.map(({ id }) => id));
		next = json.next;
	}
	assert.deepEqual(seen, [...seen].sort());
	assert.equal(new Set(seen).size, (await admin.get('/api/v1/tokens?limit=200')).json.items.length);
});

test('ID-5 an expired token is 401', async () => {
	const { token, id } = await created(admin.post('/api/v1/tokens', { name: 'short', ttlSeconds: 3600 }));
	assert.equal(await me(token), 200);
	await change(`UPDATE token SET expires_at = created_at + 1 WHERE token_id = '${id}'`);
	assert.equal(await me(token), 401);
	await refused(admin.post(`/api/v1/tokens/${id}/renew`), 409, 'conflict');
});

test('ID-5 a token from a foreign address is 401', async () => {
	const near = await created(admin.post('/api/v1/tokens', { name: 'near', cidrs: ['127.0.0.0/8', '::1/128'] }));
	const far = await created(admin.post('/api/v1/tokens', { name: 'far', cidrs: ['10.0.0.0/8'] }));
	assert.equal(await me(near.token), 200);
	assert.equal(await me(far.token), 401);
	await refused(admin.post('/api/v1/tokens', { name: 'x', cidrs: ['10.0.0.0/33'] }), 400, 'invalid_request');
	await refused(server.as(near.token).post('/api/v1/tokens', { name: 'wider', cidrs: ['0.0.0.0/0'] }), 403, 'forbidden', /may not come from/);
	const child = await created(server.as(near.token).post('/api/v1/tokens', { name: 'inherits' }));
	assert.deepEqual(child.cidrs, ['127.0.0.0/8', '::1/128']);
});

test('ID-5 a token lives an hour to 90 days, and a token gives no more time than it has', async () => {
	for (const ttlSeconds of [3599, 90 * 86400 + 1, 0, -1, 1.5]) await refused(admin.post('/api/v1/tokens', { name: 'x', ttlSeconds }), 400, 'invalid_request');
	const hour = await created(admin.post('/api/v1/tokens', { name: 'hour', ttlSeconds: 3600 }));
	const child = await created(server.as(hour.token).post('/api/v1/tokens', { name: 'child', ttlSeconds: 86400 }));
	assert.equal(child.expiresAt, hour.expiresAt);
	const { json } = await server.as(hour.token).post(`/api/v1/tokens/${hour.id}/renew`, { ttlSeconds: 86400 });
	assert.equal(json.expiresAt, hour.expiresAt); // not by itself
	const longer = await admin.post(`/api/v1/tokens/${hour.id}/renew`, { ttlSeconds: 86400 });
	assert.ok(longer.json.expiresAt > hour.expiresAt);
});

test('ID-6 a revoked token and all that was minted with it are 401 at once', async () => {
	const { id } = await agent();
	const parent = await created(admin.post('/api/v1/tokens', { name: 'parent' }));
	const child = await created(server.as(parent.token).post('/api/v1/tokens', { name: 'child' }));
	const grandchild = await created(server.as(child.token).post('/api/v1/tokens', { name: 'grandchild', principalId: id }));
	const other = await created(admin.post('/api/v1/tokens', { name: 'other' }));
	assert.deepEqual((await admin.delete(`/api/v1/tokens/${parent.id}`)).json, { revoked: 3 });
	for (const { token } of [parent, child, grandchild]) assert.equal(await me(token), 401);
	assert.equal(await me(other.token), 200);
	await refused(admin.delete(`/api/v1/tokens/${parent.id}`), 404, 'not_found');
});

test('ID-6 nobody mints above their own rights', async () => {
	const operator = await person(['operator']);
	const { id } = await agent();
	const ask = operator.ask();
	for (const wish of [{ level: 'maintainer' }, { level: 'admin' }, { rules: ['note.note.delete'] }, { rules: ['note.note.manage'] }, { rules: ['access.token.manage'] }])
		await refused(ask.post('/api/v1/tokens', { name: 'x', principalId: id, override: true, ...wish }), 403, 'forbidden', /more than they have/);
	const ok = await created(ask.post('/api/v1/tokens', { name: 'x', principalId: id, level: 'operator', rules: ['note.note.write'] }));
	assert.equal(ok.level, 'operator');
	await refused(ask.post('/api/v1/tokens', { name: 'x', principalId: (await admin.get('/api/v1/me')).json.id }), 403, 'forbidden', /another person/);
	await refused(ask.post('/api/v1/tokens', { name: 'x', principalId: 'nobody' }), 404, 'not_found');
});

test('ID-6 a token mints inside what it declares: actions, environments, keys', async () => {
	const { production, staging } = server.first.environments;
	const narrow = await created(admin.post('/api/v1/tokens', { name: 'narrow', level: 'operator', environments: [staging], keys: ['payments.*', 'one'], actions: ['read', 'propose'] }));
	const ask = server.as(narrow.token);
	const child = await created(ask.post('/api/v1/tokens', { name: 'inherits' }));
	assert.deepEqual([child.environments, child.keys, child.actions], [[staging], ['payments.*', 'one'], ['read', 'propose']]);
	await created(ask.post('/api/v1/tokens', { name: 'inside', keys: ['payments.eu.*', 'payments.x'], actions: ['read'] }));
	for (const wish of [{ environments: [production] }, { environments: 'all' }, { keys: 'all' }, { keys: ['pay*'] }, { keys: ['payments'] }, { keys: ['one.*'] }, { actions: ['write'] }, { productionActions: ['read', 'write'] }])
		await refused(ask.post('/api/v1/tokens', { name: 'x', ...wish }), 403, 'forbidden', /more than they have/);
	for (const wish of [{ environments: ['nowhere'] }, { environments: [] }, { environments: 'some' }, { keys: ['*'] }, { keys: [''] }, { actions: ['fly'] }, { actions: [] }, { rules: ['x'] }, { rules: [1] }, { rules: 'x' }, { projectId: 'none' }, { projectId: server.first.projectId, environments: [staging] }])
		await refused(admin.post('/api/v1/tokens', { name: 'x', ...wish }), 400, 'invalid_request');
	await refused(admin.post('/api/v1/tokens', { name: 'x', environments: ['production'] }), 400, 'invalid_request', /ids of environments; GET \/api\/v1\/environments lists them/);
	const project = await created(admin.post('/api/v1/tokens', { name: 'project', projectId: server.first.projectId }));
	assert.deepEqual(project.environments.sort(), [production, staging].sort());
});

test('ID-3 "*" is never stored in a token, and a person who has it mints admin', async () => {
	const role = await created(admin.post('/api/v1/roles', { name: 'everything', rules: ['*'] }));
	assert.deepEqual(role.rules, ['*']);
	const everything = await person(['everything']);
	assert.equal((await everything.ask().get('/api/v1/me')).json.level, 'admin');
	await refused(admin.post('/api/v1/tokens', { name: 'x', rules: ['*'] }), 400, 'invalid_request');
	const { items } = (await admin.get('/api/v1/tokens?limit=200')).json;
	assert.ok(items.length && items.every(({ rules }) => !rules.includes('*')));
});

test('ID-4 approve is stripped from every agent token, and the answer says so', async () => {
	const { id } = await agent();
	const minted = await created(admin.post('/api/v1/tokens', { name: 'x', principalId: id, level: 'operator', rules: ['note.note.approve', 'note.note.read'], actions: ['read', 'approve'] }));
	assert.deepEqual(minted.rules, ['note.note.read']);
	assert.deepEqual(minted.actions, ['read']);
	assert.ok(minted.warnings.some((text) => /approve/.test(text)));
	const whole = await created(admin.post('/api/v1/tokens', { name: 'x', principalId: id, level: 'operator' }));
	assert.ok(!whole.actions.includes('approve'));
	assert.equal((await server.as(whole.token).get('/api/v1/me')).json.mayVote, false);
});

test('ID-5 ID-7 actions are the only verbs of a token, in production too', async () => {
	const { id } = await agent(), mint = (more) => admin.post('/api/v1/tokens', { name: 'x', principalId: id, ...more });
	assert.deepEqual((await created(mint({}))).productionActions, ['read', 'propose']);
	assert.deepEqual((await created(mint({ actions: ['read'] }))).productionActions, ['read']);
	assert.deepEqual((await created(mint({ actions: ['read', 'write'], productionActions: ['read', 'propose'] }))).productionActions, ['read', 'propose']);
	const { fields } = await refused(mint({ actions: ['toggle'] }), 400, 'invalid_request');
	assert.equal(fields[0].path, '/productionActions');
});

test('ID-4 admin for an agent needs an override, warns, and is on record', async () => {
	const { id } = await agent();
	const wish = { name: 'root', principalId: id, level: 'admin' };
	const { fields } = await refused(admin.post('/api/v1/tokens', wish), 400, 'invalid_request');
	assert.equal(fields[0].path, '/override');
	const minted = await created(admin.post('/api/v1/tokens', { ...wish, override: true }));
	assert.ok(minted.warnings.some((text) => text.startsWith('WARNING')));
	const root = server.as(minted.token);
	await refused(root.post('/api/v1/tokens', { name: 'x' }), 403, 'forbidden', /only people mint/);
	assert.equal((await root.get('/api/v1/members')).status, 200);
	for (const change of [root.post('/api/v1/agents', { name: 'x' }), root.delete(`/api/v1/agents/${id}`), root.put('/api/v1/settings', { policy: {} }), root.post('/api/v1/roles', { name: 'x' })])
		await refused(change, 403, 'forbidden', /propose it/); // TL-5: no side door, whatever its level
	const { entries } = (await admin.get('/api/v1/orgs/default/audit?action=token.minted&limit=1')).json;
	const entry = JSON.stringify((await admin.get(`/api/v1/orgs/default/audit/${entries[0].id}`)).json);
	assert.match(entry, /WARNING/);
});

test('ID-6 every change of rights is on record, and no secret is', async () => {
	const count = async (action) => (await admin.get(`/api/v1/orgs/default/audit?action=${action}&limit=200`)).json.entries.length;
	const did = {
		'principal.created': () => agent('Recorded'),
		'token.minted': () => admin.post('/api/v1/tokens', { name: 'recorded' }),
		'role.created': () => admin.post('/api/v1/roles', { name: 'recorded', rules: [] }),
		'team.changed': () => admin.post('/api/v1/teams', { name: 'recorded' }),
		'settings.changed': () => admin.put('/api/v1/settings', { policy: {} }),
		'session.started': () => server.post('/api/v1/session', { email: 'admin@localhost', password: server.first.adminPassword }),
	};
	for (const [action, act] of Object.entries(did)) {
		const before_ = await count(action);
		const { text = '' } = await act();
		assert.equal(await count(action), before_ + 1, action);
		const [latest] = (await admin.get(`/api/v1/orgs/default/audit?action=${action}&limit=1`)).json.entries;
		const whole = (await admin.get(`/api/v1/orgs/default/audit/${latest.id}`)).text;
		for (const secret of text.match(/cs_[a-z]+_\w{49}/g) ?? []) assert.ok(!whole.includes(secret.slice(7, 30)), action);
		assert.ok(!whole.includes(server.first.adminPassword), action);
	}
	const before_ = await count('token.minted');
	await refused(admin.post('/api/v1/tokens', { name: 'x', rules: ['*'] }), 400, 'invalid_request');
	assert.equal(await count('token.minted'), before_); // nothing happened
});

test('AP-3 a token that may vote is one’s own, for an hour, and minted by somebody who may vote', async () => {
	const { id } = await agent();
	const voting = await created(admin.post('/api/v1/tokens', { name: 'vote', forVoting: true }));
	assert.equal((await server.as(voting.token).get('/api/v1/me')).json.mayVote, true);
	assert.ok(Date.parse(voting.voteUntil) - Date.parse(voting.createdAt) <= 3600e3);
	const first = (await admin.get('/api/v1/tokens')).json.items.find(({ name }) => name === 'First admin token');
	assert.ok(voting.voteUntil <= first.voteUntil); // no chain of tokens votes longer than the first of it
	await refused(admin.post('/api/v1/tokens', { name: 'x', forVoting: true, ttlSeconds: 7200 }), 400, 'invalid_request');
	await refused(admin.post('/api/v1/tokens', { name: 'x', forVoting: true, principalId: id }), 400, 'invalid_request');
	const plain = await created(admin.post('/api/v1/tokens', { name: 'plain' }));
	assert.equal((await server.as(plain.token).get('/api/v1/me')).json.mayVote, false);
	await refused(server.as(plain.token).post('/api/v1/tokens', { name: 'x', forVoting: true }), 403, 'forbidden', /may vote/);
	await refused(admin.post(`/api/v1/tokens/${voting.id}/renew`), 409, 'conflict');
	await change(`UPDATE token SET vote_until = created_at + 1 WHERE token_id = '${voting.id}'`);
	assert.equal((await server.as(voting.token).get('/api/v1/me')).json.mayVote, false);
});

test('ID-6 ID-9 who is demoted loses at once, and so does every agent they delegated to', async () => {
	const boss = await person(['admin']);
	const { id } = await agent();
	const delegated = await created(boss.ask().post('/api/v1/tokens', { name: 'x', principalId: id, level: 'admin', override: true }));
	assert.equal((await server.as(delegated.token).get('/api/v1/config')).status, 200);
	await admin.patch(`/api/v1/members/${boss.id}`, { roles: [] });
	const { message } = await refused(server.as(delegated.token).get('/api/v1/config'), 403, 'forbidden');
	assert.equal(message, 'Forbidden: server_config (missing permission: server.config.read)');
	await refused(boss.ask().get('/api/v1/config'), 403, 'forbidden', /missing permission/);
	await admin.patch(`/api/v1/members/${boss.id}`, { roles: ['observer'] });
	assert.equal((await server.as(delegated.token).get('/api/v1/config')).status, 200);
});

test('ID-6 on PostgreSQL a demotion acts at once on every other server', { skip: !onPostgres && 'SQLite has one server' }, async () => {
	const other = await startServer({ database: server.database });
	const boss = await person(['admin']);
	const asked = () => other.as(boss.token).get('/api/v1/members');
	assert.equal((await asked()).status, 200);
	await admin.patch(`/api/v1/members/${boss.id}`, { roles: [] });
	assert.equal((await asked()).status, 403);
	await admin.delete(`/api/v1/members/${boss.id}`);
	assert.equal((await asked()).status, 401);
	await other.stop({ keep: true });
});

test('ID-6 disabling a person ends their sessions, their tokens and all they delegated, in one go', async () => {
	const boss = await person(['admin']);
	const { id } = await agent();
	const delegated = await created(boss.ask().post('/api/v1/tokens', { name: 'x', principalId: id }));
	assert.equal((await admin.delete(`/api/v1/members/${boss.id}`)).json.disabled, true);
	assert.equal(await me(boss.token), 401);
	assert.equal(await me(delegated.token), 401);
	assert.equal((await server.get('/api/v1/me', { headers: boss.session })).status, 401);
	await refused(server.post('/api/v1/session', { email: boss.email, password: 'correct horse battery' }), 401, 'unauthenticated');
	await admin.patch(`/api/v1/members/${boss.id}`, { disabled: false });
	assert.equal(await me(boss.token), 401); // what was revoked stays revoked
	assert.equal((await server.post('/api/v1/session', { email: boss.email, password: 'correct horse battery' })).status, 200);
});

test('ID-6 disabling an agent ends its tokens', async () => {
	const { id } = await agent('Short-lived');
	const { token } = await created(admin.post('/api/v1/tokens', { name: 'x', principalId: id }));
	assert.equal((await admin.patch(`/api/v1/agents/${id}`, { name: 'Renamed', domain: 'sales' })).json.name, 'Renamed');
	assert.equal(await me(token), 200);
	assert.equal((await admin.delete(`/api/v1/agents/${id}`)).json.disabled, true);
	assert.equal(await me(token), 401);
	assert.equal((await admin.get(`/api/v1/agents/${id}`)).json.domain, 'sales');
	await refused(admin.post('/api/v1/tokens', { name: 'x', principalId: id }), 404, 'not_found');
	assert.ok((await admin.get('/api/v1/agents')).json.items.some((item) => item.id === id));
});

test('the last admin can be neither demoted nor disabled', async () => {
	const { id } = (await admin.get('/api/v1/me')).json;
	const others = (await admin.get('/api/v1/members?limit=200')).json.items.filter((m) => m.id !== id && m.roles.includes('admin') && !m.disabled);
	for (const other of others) await admin.patch(`/api/v1/members/${other.id}`, { roles: [] });
	await refused(admin.delete(`/api/v1/members/${id}`), 409, 'conflict', /last admin/);
	await refused(admin.patch(`/api/v1/members/${id}`, { roles: ['operator'] }), 409, 'conflict', /last admin/);
	await refused(admin.patch(`/api/v1/members/${id}`, { disabled: true }), 409, 'conflict', /last admin/);
	assert.equal((await admin.get('/api/v1/config')).status, 200);
});

test('members: nobody gives a role above themselves', async () => {
	await admin.post('/api/v1/roles', { name: 'personnel', rules: ['access.member.manage', 'access.role.manage'] });
	const clerk = await person(['personnel']);
	const ask = clerk.ask();
	await refused(ask.patch(`/api/v1/members/${clerk.id}`, { roles: ['admin'] }), 403, 'forbidden', /more than they have/);
	await refused(ask.post('/api/v1/members', { name: 'x', email: 'x@y', roles: ['operator'] }), 403, 'forbidden');
	await refused(ask.post('/api/v1/roles', { name: 'x', rules: ['*'] }), 403, 'forbidden');
	await refused(ask.post('/api/v1/roles', { name: 'x', level: 'observer' }), 403, 'forbidden');
	const { id } = (await admin.get('/api/v1/me')).json;
	await refused(ask.patch(`/api/v1/members/${id}`, { password: 'a password of mine' }), 400, 'invalid_request');
	const friend = await created(ask.post('/api/v1/members', { name: 'Friend', email: 'friend@y', roles: ['personnel'] }));
	assert.equal((await followLink(server, friend.link)).status, 200);
	await signIn(server, { email: 'FRIEND@y' });
	await refused(ask.post('/api/v1/members', { name: 'x', email: 'Friend@Y' }), 409, 'already_exists');
	for (const wish of [{ email: 'z@z', roles: ['nothing'] }, { email: 'z@z', roles: ['personnel', 'personnel'] }, { email: 'z' }, {}, { email: 'z@z', password: 'short' }, { kind: 'service', email: 'z@z' }])
		await refused(ask.post('/api/v1/members', { name: 'x', ...wish }), 400, 'invalid_request');
	await refused(ask.patch('/api/v1/members/nobody', { name: 'x' }), 404, 'not_found');
	await refused(ask.patch(`/api/v1/members/${friend.id}`, { disabled: 'yes' }), 400, 'invalid_request');
});

test('ID-2 a service has tokens and no password', async () => {
	const service = await created(admin.post('/api/v1/members', { kind: 'service', name: 'Back end' }));
	const { token } = await created(admin.post('/api/v1/tokens', { name: 'x', principalId: service.id }));
	assert.match(token, /^cs_svc_/);
	assert.equal((await server.as(token).get('/api/v1/me')).json.kind, 'service');
	await refused(admin.patch(`/api/v1/members/${service.id}`, { password: 'a password of mine' }), 400, 'invalid_request');
});

test('ID-1 another tenant’s rows are 404, never 403, and are in no list', async () => {
	const secret = 'cs_pat_' + 'A'.repeat(43);
	const crc = (text) => { // CRC-32, as a scanner of secrets would check it
		let c = 0xffffffff;
		for (const byte of Buffer.from(text)) {
			c ^= byte;
			for (let bit = 0; bit < 8; bit++) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0);
		}
		return (~c >>> 0);
	};
	const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
	let sum = '';
	for (let n = crc(secret), i = 0; i < 6; i++, n = Math.floor(n / 62)) sum = digits[n % 62] + sum;
	const theirs = secret + sum, hash = createHash('sha256').update(theirs).digest('hex'), now = Date.now() * 1000;
	await change(`
		INSERT INTO org (org_id, slug, name, settings, policy_version, created_at) VALUES ('o2', 'other', 'Other', '{}', 1, ${now});
		INSERT INTO principal (org_id, principal_id, kind, name, email, domain, created_at) VALUES ('o2', 'p2', 'user', 'Eve', 'eve@other', '', ${now}), ('o2', 'a2', 'agent', 'Theirs', NULL, 'sales', ${now});
		INSERT INTO role (org_id, role_id, name, level, rules, builtin) VALUES ('o2', 'r2', 'admin', 'admin', '[]', 1), ('o2', 'r3', 'custom', '', '[]', 0);
		INSERT INTO principal_role (org_id, principal_id, role_id) VALUES ('o2', 'p2', 'r2');
		INSERT INTO team (org_id, team_id, name) VALUES ('o2', 't2', 'theirs');
		INSERT INTO token (org_id, token_id, hash, hint, name, principal_id, level, rules, environments, keys, verbs, production_verbs, rate_per_minute, approval_required, auto_mode, cidrs, ttl_us, expires_at, created_at)
			VALUES ('o2', 'k2', '${hash}', 'pat', 'theirs', 'p2', 'admin', '[]', '"all"', '"all"', 0, 0, 60, 0, 0, '[]', 3600000000, ${now + 3600e6}, ${now});`);
	const eve = server.as(theirs);
	assert.equal((await eve.get('/api/v1/me')).json.orgSlug, 'other');
	const mine = { agent: (await agent()).id, token: (await admin.get('/api/v1/tokens')).json.items[0].id, member: (await admin.get('/api/v1/me')).json.id };
	for (const [who, ids] of [[admin, { agent: 'a2', token: 'k2', member: 'p2', role: 'r3', team: 't2' }], [eve, { ...mine, role: 'none', team: 'none' }]]) {
		await refused(who.get(`/api/v1/agents/${ids.agent}`), 404, 'not_found');
		await refused(who.patch(`/api/v1/agents/${ids.agent}`, { name: 'x' }), 404, 'not_found');
		await refused(who.delete(`/api/v1/agents/${ids.agent}`), 404, 'not_found');
		await refused(who.delete(`/api/v1/members/${ids.member}`), 404, 'not_found');
		await refused(who.delete(`/api/v1/tokens/${ids.token}`), 404, 'not_found');
		await refused(who.post(`/api/v1/tokens/${ids.token}/renew`), 404, 'not_found');
		await refused(who.post('/api/v1/tokens', { name: 'x', principalId: ids.agent }), 404, 'not_found');
		await refused(who.delete(`/api/v1/roles/${ids.role}`), 404, 'not_found');
		await refused(who.get(`/api/v1/teams/${ids.team}`), 404, 'not_found');
	}
	for (const list of ['orgs', 'members', 'agents', 'tokens', 'roles', 'teams', 'projects', 'environments']) {
		const ours = (await admin.get(`/api/v1/${list}`)).json.items.map(({ id }) => id);
		const theirs = (await eve.get(`/api/v1/${list}`)).json.items.map(({ id }) => id);
		assert.ok(ours.length, list);
		for (const id of theirs) assert.ok(!ours.includes(id), `${list} ${id}`);
	}
	await refused(eve.post('/api/v1/tokens', { name: 'x', environments: [server.first.environments.staging] }), 400, 'invalid_request');
});

test('ID-6 tokens: people see their own, and end their own; others need access.token.manage', async () => {
	const one = await person(['operator']), two = await person(['operator']);
	const seen = (await one.ask().get('/api/v1/tokens')).json.items;
	assert.deepEqual(seen.map(({ id }) => id), [one.tokenId]);
	await refused(one.ask().delete(`/api/v1/tokens/${two.tokenId}`), 403, 'forbidden', /access\.token\.manage/);
	await refused(one.ask().post(`/api/v1/tokens/${two.tokenId}/renew`), 403, 'forbidden', /access\.token\.manage/);
	assert.equal((await one.ask().delete(`/api/v1/tokens/${one.tokenId}`)).json.revoked, 1);
	assert.equal(await me(one.token), 401);
	assert.equal((await admin.delete(`/api/v1/tokens/${two.tokenId}`)).status, 200);
	const { id } = await agent();
	const a = await created(admin.post('/api/v1/tokens', { name: 'a', principalId: id })), b = await created(admin.post('/api/v1/tokens', { name: 'b', principalId: id }));
	await refused(server.as(a.token).delete(`/api/v1/tokens/${b.id}`), 403, 'forbidden');
	await refused(server.as(a.token).post(`/api/v1/tokens/${a.id}/renew`), 403, 'forbidden', /only people/);
	assert.equal((await server.as(a.token).delete(`/api/v1/tokens/${a.id}`)).json.revoked, 1);
});
