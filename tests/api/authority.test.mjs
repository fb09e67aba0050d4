// SPDX-License-Identifier: Apache-2.0
// Who may approve is changed only by a person in a session who has authenticated within ten minutes (ID-6, ID-8, AP-3, AP-4):
// session_step_up, and what a token and an old session hear.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let w, up;
before(async () => {
	w = Object.assign(await World.start(), { ages: true });
	up = await startUpstream({ tools: [tool('read_file')] });
});
after(async () => {
	await up?.stop();
	await w?.stop();
});

/** The admin's token, and nothing but it. */
const byToken = (method, target, body) => w.server.request(method.toUpperCase(), target, { body: body ?? (method === 'post' ? {} : undefined), headers: { authorization: `Bearer ${w.first.adminToken}` } });
const forbidden = (answer, operation) => refused(answer, 403, 'forbidden', new RegExp(`^Forbidden: ${operation} \\(a token does not change who may approve; propose the tool access\\.change with \\{"operation": "${operation}"`));

/** Somebody signed in, and their headers. */
async function session(email = w.first.adminEmail, password = w.first.adminPassword) {
	const headers = await w.server.signIn(email, password);
	const ask = (method, target, body) => w.server.request(method, target, { body, headers });
	return { headers, get: (target) => ask('GET', target), post: (target, body) => ask('POST', target, body), put: (target, body) => ask('PUT', target, body), patch: (target, body) => ask('PATCH', target, body), delete: (target) => ask('DELETE', target) };
}
const elevenMinutesLater = () => w.change('UPDATE session SET authenticated_at = authenticated_at - 660000000');

test('ID-6 AP-3 an API token, an admin’s too, changes no members, roles, teams, policy or tiers', async () => {
	const { id } = await ok(w.admin.get('/api/v1/me'));
	const member = { name: 'Eve', email: 'eve@example.org', roles: ['admin'] };
	await forbidden(byToken('post', '/api/v1/members', member), 'member_create');
	await forbidden(byToken('patch', `/api/v1/members/${id}`, { name: 'Eve' }), 'member_change');
	await forbidden(byToken('delete', `/api/v1/members/${id}`), 'member_disable');
	await forbidden(byToken('delete', `/api/v1/members/${id}/identity`), 'member_unbind');
	await forbidden(byToken('post', '/api/v1/roles', { name: 'eve', level: 'admin' }), 'role_create');
	await forbidden(byToken('patch', '/api/v1/roles/x', { name: 'eve' }), 'role_change');
	await forbidden(byToken('delete', '/api/v1/roles/x'), 'role_delete');
	await forbidden(byToken('post', '/api/v1/teams', { name: 'eves' }), 'team_create');
	await forbidden(byToken('put', '/api/v1/teams/x', { name: 'eves', members: [], grants: [] }), 'team_put');
	await forbidden(byToken('delete', '/api/v1/teams/x'), 'team_delete');
	await forbidden(byToken('put', '/api/v1/settings', { policy: {} }), 'settings_put');
	await forbidden(byToken('put', `/api/v1/agents/${w.first.agentId}/tools`, { tools: [] }), 'agent_tools_put');
	const { items } = await ok(w.admin.get('/api/v1/members'));
	assert.equal(items.length, 1, 'nobody was added');
	assert.equal((await ok(w.admin.get('/api/v1/settings'))).policyVersion, 1);
});

test('ID-6 a token that may vote does not, either, nor an agent’s that is admin', async () => {
	const mine = await session();
	const voting = await ok(mine.post('/api/v1/tokens', { name: 'votes', forVoting: true, ttlSeconds: 3600 }));
	await forbidden(w.server.as(voting.token).put('/api/v1/settings', { policy: {} }), 'settings_put');
	const { token } = await ok(mine.post('/api/v1/tokens', { name: 'admin', principalId: w.first.agentId, level: 'admin', override: true }));
	await forbidden(w.server.as(token).put('/api/v1/settings', { policy: {} }), 'settings_put');
	const { token: observer } = await ok(mine.post('/api/v1/tokens', { name: 'observer', level: 'observer' }));
	await refused(w.server.as(observer).put('/api/v1/settings', { policy: {} }), 403, 'forbidden', /missing permission: policy\.settings\.manage/);
});

test('ID-6 EX-1 EX-3 a token accepts and declares no tool of another system; connections and agents it still makes', async () => {
	const at = await ok(byToken('post', '/api/v1/upstreams', { name: 'files', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] }));
	const { tools } = await ok(byToken('post', `/api/v1/upstreams/${at.id}/refresh`));
	const said = { tools: [{ name: tools[0].name, definitionHash: tools[0].definitionHash, effect: 'read' }] };
	await forbidden(byToken('post', `/api/v1/upstreams/${at.id}/tools/accept`, said), 'upstream_tools_accept');
	assert.equal((await ok((await session()).post(`/api/v1/upstreams/${at.id}/tools/accept`, said))).tools[0].state, 'accepted');
	await forbidden(byToken('put', '/api/v1/connections/x/tools/sendMail', { title: 'Send', description: 'Sends.', effect: 'mutate', inputSchema: {} }), 'connection_tool_put');
	await forbidden(byToken('post', '/api/v1/upstreams', { name: 'sh', kind: 'stdio', program: { argv: ['/bin/sh'] } }), 'upstream_create');
	const agent = await ok(byToken('post', '/api/v1/agents', { name: 'Bot' }));
	await ok(byToken('post', '/api/v1/tokens', { name: 'for the bot', principalId: agent.id }));
});

test('ID-6 FL-3 a token does not say whether an environment is production or needs approval, nor how it is called on a card', async () => {
	const project = await ok(byToken('post', '/api/v1/orgs/default/projects', { key: 'shop', name: 'Shop' }));
	const live = await ok(byToken('post', `/api/v1/projects/${project.id}/environments`, { key: 'live', name: 'Live' }));
	for (const body of [{ production: false }, { approvalGate: false }, { name: 'Not live', approvalGate: false }, { name: 'Staging' }])
		await forbidden(byToken('patch', `/api/v1/envs/${live.id}`, body), 'environment_change');
	assert.equal((await ok((await session()).patch(`/api/v1/envs/${live.id}`, { approvalGate: false }))).approvalGate, false);
});

test('ID-6 EX-1 FL-7 AP-8 a token moves no gated flag by its target field, no tool to another address, and erases nothing', async () => {
	const project = await ok(byToken('post', '/api/v1/orgs/default/projects', { key: 'targets', name: 'Targets' }));
	await forbidden(byToken('patch', `/api/v1/projects/${project.id}`, { targetIdField: 'plan' }), 'project_change');
	assert.equal((await ok(byToken('patch', `/api/v1/projects/${project.id}`, { name: 'Targets!' }))).name, 'Targets!');
	const c = await ok(byToken('post', '/api/v1/connections', { name: 'moving', url: 'http://127.0.0.1:1/', allow: ['127.0.0.0/8'] }));
	await forbidden(byToken('patch', `/api/v1/connections/${c.id}`, { url: 'http://127.0.0.1:2/' }), 'connection_change');
	await refused(byToken('post', '/api/v1/orgs/default/audit/erase', { subject: w.first.adminId }), 403, 'forbidden', /a person decides this in a session/);
});

test('ID-8 after ten minutes a session has to step up: step_up_required, then the password, then it works', async () => {
	const mine = await session();
	assert.equal((await ok(mine.put('/api/v1/settings', { policy: {} }))).policy.fourEyes, false);
	await elevenMinutesLater();
	const late = { ...mine.headers, origin: w.server.url };
	const put = () => w.server.request('PUT', '/api/v1/settings', { body: { policy: {} }, headers: late });
	const stepUp = (password) => w.server.post('/api/v1/session/step-up', { password }, { headers: late });
	await refused(put(), 403, 'step_up_required', /POST \/api\/v1\/session\/step-up with your password, or sign in again/);
	await refused(stepUp('not the password'), 403, 'forbidden', /this is not your password/);
	await refused(put(), 403, 'step_up_required');
	assert.equal((await ok(w.server.get('/api/v1/me', { headers: late }))).credential, 'session', 'everything else goes on');
	const fresh = await ok(stepUp(w.first.adminPassword));
	assert.equal(Date.parse(fresh.freshUntil) - Date.parse(fresh.authenticatedAt), 600_000);
	assert.equal((await ok(w.server.get('/api/v1/me', { headers: late }))).authenticatedAt, fresh.authenticatedAt);
	await ok(put());
	const entries = await w.audit({ action: 'session.started' });
	assert.equal(entries[0].reason, 'step-up', 'it is on record');
	await refused(w.admin.post('/api/v1/session/step-up', { password: w.first.adminPassword }), 403, 'forbidden', /a token cannot step up/);
	await refused(w.server.post('/api/v1/session/step-up', { password: w.first.adminPassword }), 401, 'unauthenticated');
	const { 'x-csrf-token': _, ...forged } = late;
	await refused(w.server.post('/api/v1/session/step-up', { password: w.first.adminPassword }, { headers: forged }), 403, 'forbidden', /own page/);
});

test('ID-8 tries to step up are counted with those of signing in', async () => {
	await w.change('DELETE FROM signin');
	const mine = await session();
	const stepUp = (password) => mine.post('/api/v1/session/step-up', { password });
	for (let i = 0; i < 10; i++) await refused(stepUp('wrong'), 403, 'forbidden');
	await refused(stepUp(w.first.adminPassword), 429, 'rate_limited', /too many tries/);
	assert.equal((await w.audit({ action: 'request.refused' }))[0].reason, 'too many tries to step up');
	await w.change('DELETE FROM signin');
});

// --- access.change ---

/** Proposes it with the admin's token; gives the proposal. */
const wish = (operation, input, who = w.admin) => who.post('/api/v1/proposals', { tool: 'access.change', input: { operation, input } });
const decide = (who, p) => who.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash, apply: true });

test('AP-4 TL-5 a token proposes it with access.change; the card shows what changes, and another admin decides it in a fresh session', async () => {
	const bob = await w.person(['admin']);
	const p = await ok(wish('role_create', { name: 'auditor', level: 'observer', rules: ['note.note.propose'] }));
	assert.equal(p.risk.level, 'high');
	assert.equal(p.card.summary, 'Change who may approve: role create, "auditor"');
	assert.deepEqual(JSON.parse(p.card.change.after.rules), ['note.note.propose']);
	const roles = async () => (await ok(w.admin.get('/api/v1/roles'))).items.map(({ name }) => name);
	assert.ok(!(await roles()).includes('auditor'), 'nothing has happened');
	const voting = await ok(bob.post('/api/v1/tokens', { name: 'votes', forVoting: true, ttlSeconds: 3600 }));
	await refused(decide(w.server.as(voting.token), p), 403, 'forbidden', /sign in|not with a token/);
	await elevenMinutesLater();
	await refused(decide(bob, p), 403, 'step_up_required');
	await ok(bob.post('/api/v1/session/step-up', { password: bob.password }));
	const done = await ok(decide(bob, p));
	assert.equal(done.state, 'applied');
	assert.equal(done.result.answer.name, 'auditor');
	assert.ok((await roles()).includes('auditor'));
	const [made] = await w.audit({ action: 'role.created' });
	assert.equal(made.actorId, bob.id);
});

test('AP-4 access.change of a policy, an environment, a member: each field before and after, and drift where it moved on', async () => {
	const bob = await w.person(['admin']), ann = await w.person(['observer']);
	const p = await ok(wish('member_change', { id: ann.id, roles: ['operator'] }));
	const changes = ({ card }) => card.change.diff.filter(({ path }) => path !== '/asked');
	assert.deepEqual(changes(p), [{ path: '/roles/0', before: 'observer', after: 'operator' }]);
	assert.deepEqual(p.card.change.diff.find(({ path }) => path === '/asked').after, { id: ann.id, roles: ['operator'] });
	assert.match(p.summary, new RegExp(`"Somebody \\d+" \\(${ann.id}\\)`));
	await ok((await session()).patch(`/api/v1/members/${ann.id}`, { roles: ['maintainer'] }));
	assert.equal((await ok(decide(bob, p))).apply.code, 'version_drift', 'the member has another role by now');
	const s = await ok(wish('settings_put', { policy: { autoExecute: false } }));
	assert.deepEqual(changes(s), [{ path: '/autoExecute', before: true, after: false }]);
	assert.equal((await ok(decide(bob, s))).state, 'applied');
	await ok((await session()).put('/api/v1/settings', { policy: {} }));
});

test('AP-6 PA-10 a card of access.change says whom it is about and all that is asked, not only what the log records', async () => {
	const tools = [{ toolName: 'note.create', permissionStatus: 'always_allow' }, { toolName: 'note.delete', permissionStatus: 'always_allow' }];
	const p = await ok(wish('agent_tools_put', { id: w.first.agentId, tools }));
	assert.ok(p.summary.includes(w.first.agentId), p.summary);
	assert.deepEqual(p.card.change.diff.find(({ path }) => path === '/asked').after, { id: w.first.agentId, tools });
});

test('AP-4 TL-2 who may not propose or decide the operation itself, does not by access.change', async () => {
	const { token } = await ok((await session()).post('/api/v1/tokens', { name: 'may propose members', principalId: w.first.agentId, rules: ['access.change.propose', 'access.member.propose'] }));
	const agent = w.server.as(token);
	await refused(wish('settings_put', { policy: {} }, agent), 403, 'forbidden', /missing permission: policy\.settings\.propose/);
	const half = await ok((await session()).post('/api/v1/roles', { name: 'half', rules: ['access.change.approve', 'access.change.manage', 'proposal.proposal.read'] }));
	const dave = await w.person([half.name]), bob = await w.person(['admin']); // before it is proposed, or their votes would not count
	const p = await ok(wish('member_create', { name: 'Carl', email: 'carl@example.org', roles: ['observer'] }, agent));
	await refused(decide(dave, p), 403, 'forbidden', /missing permission: access\.member\.manage/);
	assert.equal((await ok(decide(bob, p))).state, 'applied');
});

test('AP-4 access.change takes operations of its list only, no credentials, and what the operation takes', async () => {
	await refused(wish('token_mint', {}), 400, 'invalid_request');
	await refused(wish('member_create', { name: 'X', email: 'x@example.org', password: 'correct horse battery' }), 400, 'invalid_request', /is a secret/);
	await refused(wish('role_create', { nmae: 'x' }), 400, 'invalid_request', /\/input/);
	await refused(wish('settings_put', { policy: { votesLow: 0 } }), 400, 'invalid_request', /votesLow must be at least 1/);
});

test('AP-4 four eyes: one admin in a fresh session neither adds members nor switches it off; two can; it needs two to be switched on', async () => {
	const other = await World.start();
	try {
		const signedIn = async () => {
			const headers = await other.server.signIn(other.first.adminEmail, other.first.adminPassword);
			const ask = (method) => (target, body) => other.server.request(method, target, { body, headers });
			return { post: ask('POST'), put: ask('PUT'), delete: ask('DELETE') };
		};
		const ada = await signedIn(), fourEyes = { policy: { fourEyes: true } };
		await refused(ada.put('/api/v1/settings', fourEyes), 409, 'conflict', /^this needs 2 admins who can sign in, and there is 1/);
		await refused(ada.put('/api/v1/settings', { policy: { votesHigh: 3 } }), 409, 'conflict', /^this needs 3 admins/);
		const bob = await other.person(['admin']);
		const on = await ok(ada.put('/api/v1/settings', fourEyes));
		assert.deepEqual([on.peopleNeeded, on.peopleThere], [2, 2]);
		const eve = { name: 'Eve', email: 'eve@example.org', roles: ['admin'] };
		for (const [method, target, body, operation] of [['post', '/api/v1/members', eve, 'member_create'], ['put', '/api/v1/settings', { policy: {} }, 'settings_put'], ['delete', `/api/v1/members/${bob.id}`, undefined, 'member_disable']])
			await refused(ada[method](target, body), 409, 'approval_required', new RegExp(`^${operation} needs another person here`));
		const p = await ok(ada.post('/api/v1/proposals', { tool: 'access.change', input: { operation: 'settings_put', input: { policy: {} } } }));
		assert.deepEqual([p.state, p.approvals.needed], ['pending', 1]);
		await refused(decide(ada, p), 403, 'forbidden', /the one who proposed cannot vote/);
		await refused(ada.post(`/api/v1/proposals/${p.proposalId}/apply`), 409, 'approval_required');
		await refused(ada.post('/api/v1/proposals', { tool: 'access.change', input: { operation: 'member_disable', input: { id: bob.id } } }), 409, 'conflict', /^this needs 2 admins who can sign in, and there is 1/);
		assert.equal((await ok(decide(bob, p))).state, 'applied');
		await ok(ada.post('/api/v1/members', eve));
	} finally {
		await other.stop();
	}
});

test('AP-4 a quorum of two: who asks in a session is one of them; an agent’s wish needs two others', async () => {
	const other = await World.start();
	try {
		const headers = await other.server.signIn(other.first.adminEmail, other.first.adminPassword);
		const ada = { post: (target, body) => other.server.request('POST', target, { body, headers }), put: (target, body) => other.server.request('PUT', target, { body, headers }) };
		const bob = await other.person(['admin']);
		await ok(ada.put('/api/v1/settings', { policy: { votesLow: 2 } }));
		await refused(ada.put('/api/v1/settings', { policy: {} }), 409, 'approval_required');
		const p = await ok(ada.post('/api/v1/proposals', { tool: 'access.change', input: { operation: 'settings_put', input: { policy: {} } } }));
		assert.equal(p.approvals.needed, 2, 'the most that is asked for anything');
		const { viewHash, proposalId } = p;
		assert.equal((await ok(ada.post(`/api/v1/proposals/${proposalId}/approve`, { viewHash }))).state, 'pending', 'Ada confirms what she asked for: one of two');
		assert.equal((await ok(decide(bob, p))).state, 'applied');
	} finally {
		await other.stop();
	}
});
