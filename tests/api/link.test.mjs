// SPDX-License-Identifier: Apache-2.0
// Nobody sets another person's password (ID-8): they get a one-time link. Operations: member_link, link_use.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { addPerson, adminSession, asSession, followLink, PASSWORD, signIn, tokenOf } from './lib/people.mjs';
import { onPostgres } from './lib/server.mjs';

let w, admin, count = 0;
before(async () => {
	w = await World.start();
	admin = await adminSession(w.server);
});
after(() => w.stop());

const change = async (sql) => {
	await w.change(sql);
	admin = await adminSession(w.server);
};
const address = () => `linked${++count}@example.org`;
const person = (roles = ['operator']) => addPerson(w.server, w.admin, { name: `Linked ${++count}`, email: address(), roles });
const invite = (more = {}) => ok(w.admin.post('/api/v1/members', { name: 'Invited', email: address(), roles: ['observer'], ...more }));
const newLink = async ({ id }) => (await ok(admin.post(`/api/v1/members/${id}/link`))).link;
const status = async (promise) => (await promise).status;
const session = async (who) => asSession(w.server, await signIn(w.server, who));

test('ID-8 no token and no session sets a password by adding or changing a member, its own included', async () => {
	const me = (await ok(w.admin.get('/api/v1/me'))).id, other = await person(['admin']);
	for (const who of [w.admin, admin]) {
		for (const id of [me, other.id]) {
			const { fields } = await refused(who.patch(`/api/v1/members/${id}`, { password: 'chosen by somebody' }), 400, 'invalid_request', /one-time link/);
			assert.deepEqual(fields.map(({ path }) => path), ['/password']);
			assert.match(fields[0].message, /link/);
		}
		const { fields } = await refused(who.post('/api/v1/members', { name: 'X', email: address(), password: 'chosen by somebody' }), 400, 'invalid_request', /one-time link/);
		assert.deepEqual(fields.map(({ path }) => path), ['/password']);
	}
	await session(other); // with the password that they set themselves
	await session({ email: w.first.adminEmail, password: w.first.adminPassword });
});

test('ID-8 a token makes no link: neither for its owner nor for another admin', async () => {
	const me = (await ok(w.admin.get('/api/v1/me'))).id, other = await person(['admin']);
	const { token } = await ok(w.admin.post('/api/v1/tokens', { name: 'of an admin' }));
	for (const id of [me, other.id]) assert.equal(await status(w.server.as(token).post(`/api/v1/members/${id}/link`)), 403);
	assert.equal(await status(w.agent.post(`/api/v1/members/${other.id}/link`)), 403);
});

test('ID-8 nobody makes a link for themselves, a service, somebody who is shut out, or somebody who may do more', async () => {
	const me = (await ok(admin.get('/api/v1/me'))).id;
	await refused(admin.post(`/api/v1/members/${me}/link`), 403, 'forbidden', /PUT \/api\/v1\/me\/password/);
	const service = await ok(w.admin.post('/api/v1/members', { kind: 'service', name: 'Back end' }));
	assert.equal(service.link, undefined);
	await refused(admin.post(`/api/v1/members/${service.id}/link`), 400, 'invalid_request', /service/);
	const out = await person();
	await ok(w.admin.delete(`/api/v1/members/${out.id}`));
	await refused(admin.post(`/api/v1/members/${out.id}/link`), 409, 'conflict', /shut out/);
	await refused(admin.post('/api/v1/members/nobody/link'), 404, 'not_found');
	await ok(w.admin.post('/api/v1/roles', { name: 'personnel', rules: ['access.member.manage'] }));
	const clerk = await session(await person(['personnel']));
	await refused(clerk.post(`/api/v1/members/${me}/link`), 403, 'forbidden', /more than they have/);
});

test('ID-8 a link sets a password once; what is stored opens nothing', async () => {
	const made = await invite();
	assert.match(made.link, /^\/link#cs_link_\w{49}$/);
	const hours = (Date.parse(made.linkExpiresAt) - Date.now()) / 3600e3;
	assert.ok(hours > 23.9 && hours <= 24.1, `${hours} hours`);
	await refused(w.server.post('/api/v1/session', { email: made.email, password: PASSWORD }), 401, 'unauthenticated');
	assert.equal(await status(followLink(w.server, made.link, 'short')), 400);
	for (const token of ['x', made.link.replace(/.$/, (c) => (c === 'x' ? 'y' : 'x')).split('#')[1], w.first.adminToken])
		await refused(w.server.post('/api/v1/link', { token, password: PASSWORD }), 401, 'unauthenticated', /not valid/);
	const answers = await Promise.all([1, 2, 3].map(() => followLink(w.server, made.link)));
	assert.deepEqual(answers.map(({ status: code }) => code).sort(), [200, 401, 401]);
	assert.deepEqual(answers.find(({ status: code }) => code === 200).json, { email: made.email, name: made.name, orgSlug: 'default' });
	await session(made);
	await refused(followLink(w.server, made.link, 'another good one'), 401, 'unauthenticated');
	assert.ok(!w.server.stderr.includes('cs_link_'), 'no link is in the log');
	const entries = await w.audit({ resourceId: made.id });
	const used = entries.filter(({ action }) => action === 'link.used');
	assert.deepEqual(used.map(({ actorType, actorId }) => [actorType, actorId]), [['user', made.id]]);
	assert.deepEqual(entries.filter(({ action }) => action === 'link.made').map(({ actorId }) => actorId), [w.first.adminId]);
});

test('ID-8 a new link ends the older one, and when it is used the sessions of the person', async () => {
	const who = await person(), there = await session(who);
	const first = await newLink(who), second = await newLink(who);
	await refused(followLink(w.server, first), 401, 'unauthenticated');
	assert.equal(await status(there.get('/api/v1/me')), 200, 'a link that nobody used changes nothing');
	await ok(followLink(w.server, second, 'another good one'));
	assert.equal(await status(there.get('/api/v1/me')), 401);
	await refused(w.server.post('/api/v1/session', { email: who.email, password: who.password }), 401, 'unauthenticated');
	await session({ email: who.email, password: 'another good one' });
});

test('ID-8 a link ends after 24 hours, and with its person being shut out', async () => {
	const late = await invite(), out = await invite();
	await ok(w.admin.delete(`/api/v1/members/${out.id}`));
	await refused(followLink(w.server, out.link), 401, 'unauthenticated');
	await ok(w.admin.patch(`/api/v1/members/${out.id}`, { disabled: false }));
	await refused(followLink(w.server, out.link), 401, 'unauthenticated');
	await change(`UPDATE member_link SET expires_at = created_at + 1 WHERE principal_id = '${late.id}'`);
	await refused(followLink(w.server, late.link), 401, 'unauthenticated');
});

test('ID-8 who signs in at the provider only gets no link, and may get one later', async () => {
	const made = await invite({ signIn: 'provider' });
	assert.deepEqual([made.link, made.linkExpiresAt], [undefined, undefined]);
	await ok(followLink(w.server, await newLink(made)));
	await session(made);
	await refused(w.admin.post('/api/v1/members', { kind: 'service', name: 'X', signIn: 'link' }), 400, 'invalid_request');
});

test('ID-8 on two servers a link works once', { skip: !onPostgres && 'SQLite has one server' }, async () => {
	const other = await w.another();
	for (let i = 0; i < 5; i++) {
		const made = await invite();
		const answers = await Promise.all([w.server, other, w.server, other].map((server) => followLink(server, made.link)));
		assert.deepEqual(answers.map(({ status: code }) => code).sort(), [200, 401, 401, 401]);
		await refused(followLink(other, made.link), 401, 'unauthenticated');
	}
	await other.stop({ keep: true });
});

test('ID-8 with public-url the link is an address, and the page behind it is static and strict', async () => {
	const page = await w.server.get('/link'), script = await w.server.get('/assets/link.js');
	assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
	assert.match(page.headers.get('content-security-policy'), /default-src 'none'; script-src 'self'/);
	assert.ok(!/<script(?![^>]*src="\/assets\/link\.js")|\son\w+=|style=|https?:/.test(page.text)); // nothing inline, nothing from elsewhere
	assert.deepEqual([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
	const named = await World.start({ args: ['--public-url', 'https://countersign.example'] });
	const made = await ok(named.admin.post('/api/v1/members', { name: 'Invited', email: address() }));
	assert.match(made.link, /^https:\/\/countersign\.example\/link#cs_link_/);
	assert.equal(tokenOf(made.link).length, 57);
	await named.stop();
});

test('AP-3 AP-4 after a link the person’s votes do not count for what was proposed before', async () => {
	const voter = await person(['admin']), early = await w.propose();
	await ok(followLink(w.server, await newLink(voter), 'another good one'));
	const again = await session({ email: voter.email, password: 'another good one' });
	const vote = (p) => again.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash });
	const stands = async (p) => (await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).status;
	await vote(early);
	assert.equal(await stands(early), 'pending');
	const late = await w.propose();
	await ok(vote(late));
	assert.equal(await stands(late), 'approved');
});
