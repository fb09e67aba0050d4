// SPDX-License-Identifier: Apache-2.0
// `countersign recover` (ID-8): the way back in for who has the database and the key file.
import assert from 'node:assert/strict';
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { addPerson, followLink, signIn } from './lib/people.mjs';
import { freshDatabase, init, onPostgres, run, startServer, temporaryDirectory } from './lib/server.mjs';

async function start(w) {
	const { database, first } = w.server;
	w.server = Object.assign(await startServer({ database }), { first, database });
}

/** A server that is set up; recover() runs beside it on PostgreSQL, and while it is stopped on SQLite. */
async function installation(t) {
	const w = await World.start();
	let running = true;
	t.after(() => w.stop());
	const recover = async (...args) => {
		if (!onPostgres && running) await w.server.stop({ keep: true });
		running = onPostgres;
		return run(['recover', ...args, ...w.server.database.flags]);
	};
	const again = async () => {
		if (running) return;
		await start(w);
		running = true;
	};
	const recovered = async (...args) => {
		const { code, stdout, stderr } = await recover('--json', ...args);
		assert.equal(code, 0, stderr);
		await again();
		return JSON.parse(stdout);
	};
	return { w, recover, again, recovered };
}
const me = (w, token) => w.server.as(token).get('/api/v1/me');

test('ID-8 recover gives the only admin a link; it is on record as the system’s, and everybody is shown it', async (t) => {
	const { w, recovered } = await installation(t);
	assert.equal((await me(w, w.first.agentToken)).json.recoveredAt, undefined);
	const done = await recovered('--email', w.first.adminEmail.toUpperCase());
	assert.deepEqual([done.org, done.email, done.madeAdmin, done.policyChanged], ['default', w.first.adminEmail, false, false]);
	assert.equal((await followLink(w.server, done.link, 'found it again')).status, 200);
	assert.equal((await w.server.post('/api/v1/session', { email: w.first.adminEmail, password: w.first.adminPassword })).status, 401);
	w.first.adminPassword = 'found it again';
	await signIn(w.server, { email: w.first.adminEmail, password: w.first.adminPassword });
	const [entry, ...more] = await w.audit({ action: 'access.recovered' });
	assert.deepEqual(more, []);
	assert.deepEqual([entry.actorType, entry.resourceId, entry.reason], ['system', w.first.adminId, 'countersign recover: a link']);
	const observer = await w.person(['observer']);
	for (const { json } of [await me(w, w.first.adminToken), await me(w, w.first.agentToken), await observer.get('/api/v1/me')])
		assert.ok(Math.abs(Date.parse(json.recoveredAt) - Date.now()) < 600e3, JSON.stringify(json.recoveredAt));
	await w.change(`UPDATE org SET recovered_at = recovered_at - ${31 * 86400e6}`);
	assert.equal((await me(w, w.first.agentToken)).json.recoveredAt, undefined, 'for 30 days');
});

test('ID-8 doctor says that access was recovered', async (t) => {
	const { w, recovered } = await installation(t);
	const check = async () => JSON.parse((await run(['doctor', '--json', '--listen', '127.0.0.1:0', ...w.server.database.flags])).stdout).checks.find(({ name }) => name === 'recovery');
	if (onPostgres) assert.equal((await check()).level, 'ok');
	await recovered('--switch-off-four-eyes');
	if (!onPostgres) await w.server.stop({ keep: true });
	const { level, message } = await check();
	assert.equal(level, 'warn');
	assert.match(message, /access was recovered on \d{4}-\d\d-\d\dT/);
	if (!onPostgres) await start(w);
});

test('AP-4 recover switches four eyes and quorum off only when told to', async (t) => {
	const { w, recovered } = await installation(t);
	await w.change(`UPDATE org SET settings = '{"policy":{"fourEyes":true,"votesHigh":2,"gdpr":true}}', policy_version = policy_version + 1`);
	const policy = async () => (await ok(w.admin.get('/api/v1/settings'))).policy;
	assert.equal((await recovered('--email', w.first.adminEmail)).policyChanged, false);
	assert.deepEqual([(await policy()).fourEyes, (await policy()).votesHigh], [true, 2]);
	const done = await recovered('--switch-off-four-eyes');
	assert.deepEqual([done.policyChanged, done.link], [true, undefined]);
	const now = await policy();
	assert.deepEqual([now.fourEyes, now.votesHigh, now.gdpr], [false, 1, true]);
	assert.deepEqual((await w.audit({ action: 'settings.changed' }))[0].actorType, 'system');
	assert.match((await w.audit({ action: 'access.recovered' }))[0].reason, /four eyes and quorum switched off/);
});

test('ID-8 recover makes somebody admin only where nobody is', async (t) => {
	const { w, recover, again, recovered } = await installation(t);
	const ada = await addPerson(w.server, w.admin, { name: 'Ada', email: 'ada@example.org', roles: ['observer'] });
	const early = await recover('--email', ada.email);
	assert.equal(early.code, 1);
	assert.match(early.stderr, /not an admin.*there is another admin/);
	await again();
	assert.deepEqual(await w.audit({ action: 'access.recovered' }), []);
	await w.change(`UPDATE principal SET disabled_at = 1 WHERE email IN ('${w.first.adminEmail}', '${ada.email}')`);
	const done = await recovered('--email', ada.email);
	assert.equal(done.madeAdmin, true);
	assert.equal((await followLink(w.server, done.link)).status, 200);
	const headers = await signIn(w.server, ada);
	const { level } = await ok(w.server.get('/api/v1/me', { headers }));
	assert.equal(level, 'admin');
	const { entries } = await ok(w.server.get('/api/v1/orgs/default/audit?action=access.recovered', { headers }));
	assert.match(entries[0].reason, /made admin/);
});

test('ID-8 recover needs the key file of this database, somebody who is there, and to be told what', async (t) => {
	const { w, recover, again } = await installation(t);
	const said = async (args, message, flags = w.server.database.flags) => {
		const { code, stdout, stderr } = await run(['recover', ...args, ...flags]);
		assert.ok(code > 0, stdout);
		assert.equal(stdout, '');
		assert.match(stderr, message);
	};
	if (!onPostgres) await said(['--email', w.first.adminEmail], /open in another process/);
	assert.match((await recover('--email', 'nobody@example.org')).stderr, /nobody signs in as nobody@example\.org/);
	await said([], /recover what\?/);
	await said(['--email', w.first.adminEmail, '--org', 'other'], /no such organization/);
	const dir = await temporaryDirectory(t), other = await freshDatabase(), wrong = path.join(dir, 'keys');
	t.after(() => other.drop());
	const base = onPostgres ? w.server.database.flags.slice(0, 2) : w.server.database.flags;
	await said(['--email', w.first.adminEmail], /no key file/, [...base, '--keys', wrong]);
	await init(other);
	await copyFile(onPostgres ? other.flags[3] : path.join(other.dir, 'keys'), wrong);
	await said(['--email', w.first.adminEmail], /does not belong to the database/, [...base, '--keys', wrong]);
	await rm(wrong);
	await again();
	assert.deepEqual(await w.audit({ action: 'access.recovered' }), []);
});
