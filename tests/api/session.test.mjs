// SPDX-License-Identifier: Apache-2.0
// Signing in (ID-8): session_ways, session_start, session_end, me, me_password.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { addPerson } from './lib/people.mjs';
import { behindTheBack, startServer, startSetUp, onPostgres } from './lib/server.mjs';

let server, admin;
before(async () => {
	server = await startSetUp();
	admin = server.as(server.first.adminToken);
});
after(() => server.stop());

const change = async (sql) => {
	server = await behindTheBack(server, sql);
	admin = server.as(server.first.adminToken);
};

let people = 0;
async function person(roles = ['admin']) {
	const { email, password, id } = await addPerson(server, admin, { name: 'Someone', email: `someone${++people}@example.org`, roles });
	return { email, password, id };
}
const signIn = ({ email, password }, options) => server.post('/api/v1/session', { email, password }, options);
async function session(who) {
	const answer = await signIn(who);
	assert.equal(answer.status, 200, answer.text);
	const cookie = answer.headers.get('set-cookie').split(';')[0];
	return { cookie, csrf: answer.json.csrfToken, page: { cookie, origin: server.url, 'x-csrf-token': answer.json.csrfToken } };
}
const status = async (headers) => (await server.get('/api/v1/me', { headers })).status;

test('a right password starts a session in a cookie that scripts and other sites do not get', async () => {
	const who = await person();
	const { headers, json } = await signIn(who);
	const [value, ...attributes] = headers.getSetCookie()[0].split('; ');
	assert.match(value, /^__Host-sid=cs_ses_[0-9A-Za-z]{49}$/);
	assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Strict', 'Secure']);
	assert.match(json.csrfToken, /^[0-9a-f]{64}$/);
	const me = await server.get('/api/v1/me', { headers: { cookie: `a=b; ${value}; c=d` } });
	assert.equal(me.json.credential, 'session');
	assert.equal(me.json.email, who.email);
	assert.equal(me.json.mayVote, true);
	assert.equal(me.json.csrfToken, json.csrfToken); // a page that was loaded again can go on
});

test('a page can ask how people sign in here, before anybody has', async () => {
	assert.deepEqual((await server.get('/api/v1/session')).json, { password: true, oidc: false });
});

test('a wrong password, a person who does not exist and one without a password answer the same', async () => {
	const who = await person();
	const answers = await Promise.all([signIn({ ...who, password: 'wrong' }), signIn({ email: 'nobody@example.org', password: 'wrong' }), signIn({ ...who, password: `${who.password} ` })]);
	for (const answer of answers) assert.equal(answer.status, 401);
	assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
	assert.ok(answers.every(({ headers }) => !headers.has('set-cookie')));
});

test('the eleventh try from one address for one person waits, whatever its password, on every server', async () => {
	await change('DELETE FROM signin'); // of the tests before
	const who = await person(), other = await person();
	const tries = await Promise.all(Array.from({ length: 15 }, () => signIn({ ...who, password: 'wrong' }))); // at once: counted before they are made
	assert.equal(tries.filter(({ status }) => status === 401).length, 10);
	const late = tries.filter(({ status }) => status === 429);
	assert.equal(late.length, 5);
	assert.ok(Number(late[0].headers.get('retry-after')) > 60);
	assert.equal((await signIn(who)).status, 429);
	if (onPostgres) {
		const second = await startServer({ database: server.database });
		assert.equal((await second.post('/api/v1/session', { email: who.email.toUpperCase(), password: who.password })).status, 429);
		await second.stop({ keep: true });
	}
	assert.equal((await signIn(other)).status, 200);
	await change('UPDATE signin SET since = since - 900000001');
	assert.equal((await signIn(who)).status, 200);
});

test('AU-2 guessing at a password is on record: once, of whom there is, and not each wrong try', async () => {
	const who = await person();
	const guesses = async () => (await admin.get(`/api/v1/orgs/default/audit?action=request.refused&resourceId=${who.id}`)).json.entries;
	const total = async () => (await admin.get('/api/v1/orgs/default/audit?limit=500&action=request.refused')).json.entries.length;
	const was = await total();
	for (let i = 0; i < 10; i++) await signIn({ ...who, password: 'wrong' });
	assert.deepEqual(await guesses(), []);
	for (let i = 0; i < 5; i++) assert.equal((await signIn({ ...who, password: 'wrong' })).status, 429);
	const [entry, ...more] = await guesses();
	assert.deepEqual(more, []);
	assert.deepEqual([entry.actorType, entry.resourceType, entry.reason], ['system', 'member', 'too many tries to sign in']);
	for (let i = 0; i < 12; i++) await signIn({ email: 'nobody@example.org', password: 'wrong' });
	assert.equal(await total(), was + 1, 'of nobody there is nothing to say');
	await change('DELETE FROM signin');
});

test('ID-8 one network guesses at many people twenty times, not more; a browser that somebody has used before still lets them in', async (t) => {
	const who = await person(), newcomer = await person();
	const known = (await signIn(who)).headers.getSetCookie().find((cookie) => cookie.startsWith('__Host-countersign_known=')).split(';')[0];
	const guesses = [];
	for (let i = 0; i < 25; i++) guesses.push((await signIn({ email: `target${i}@example.org`, password: 'wrong' })).status);
	assert.deepEqual(guesses, [...Array(20).fill(401), ...Array(5).fill(429)]);
	assert.equal((await signIn(newcomer)).status, 429);
	const told = await signIn(who, { headers: { cookie: known } });
	assert.equal(told.status, 200);
	assert.equal((await signIn(newcomer, { headers: { cookie: known } })).status, 429, 'the cookie is of one person');
	assert.equal((await signIn(who, { headers: { cookie: `${known.slice(0, -1)}${known.endsWith('0') ? 1 : 0}` } })).status, 429, 'a cookie that was made up');
	for (let i = 0; i < 10; i++) assert.equal((await signIn({ ...who, password: 'wrong' }, { headers: { cookie: known } })).status, 401);
	assert.equal((await signIn(who, { headers: { cookie: known } })).status, 429, 'it is good for as many tries as anybody has');
	await change('DELETE FROM signin');
});

test('ID-8 one person is guessed at from many networks a hundred times, not more', async (t) => {
	const own = await startSetUp({ args: ['--trusted-proxies', '127.0.0.1,::1'] });
	t.after(() => own.stop());
	const from = (address) => own.post('/api/v1/session', { email: own.first.adminEmail, password: 'wrong' }, { headers: { 'x-forwarded-for': address } });
	const guesses = [];
	for (let i = 0; i < 102; i++) guesses.push((await from(`203.0.113.${i}`)).status);
	assert.equal(guesses.indexOf(429), 100);
});

test('ID-5 ID-8 behind a trusted proxy the client is who the proxy says; nobody else is believed', async (t) => {
	const own = await startSetUp({ args: ['--trusted-proxies', '127.0.0.0/8, 10.0.0.0/8'] });
	t.after(() => own.stop());
	const agent = await own.as(own.first.adminToken).post('/api/v1/agents', { name: 'Behind a proxy' });
	const minted = await own.as(own.first.adminToken).post('/api/v1/tokens', { name: 'there', principalId: agent.json.id, cidrs: ['203.0.113.0/24', '2001:db8::/64'] });
	assert.equal(minted.status, 201, minted.text);
	const asked = async (headers, at = own) => (await at.as(minted.json.token).get('/api/v1/me', { headers })).status;
	assert.equal(await asked({ 'x-forwarded-for': '203.0.113.9' }), 200);
	assert.equal(await asked({ 'x-forwarded-for': '198.51.100.1, 203.0.113.9, 10.1.2.3' }), 200, 'the nearest that is no proxy');
	assert.equal(await asked({ forwarded: 'for="[2001:db8::7]:4711";proto=https, for=10.0.0.1' }), 200);
	assert.equal(await asked({}), 401);
	assert.equal(await asked({ 'x-forwarded-for': '203.0.113.9, 198.51.100.1' }), 401, 'what the client wrote itself');
	assert.equal(await asked({ 'x-forwarded-for': '203.0.113.9, unknown' }), 401);
	assert.equal(await asked({ 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' }), 401, 'two headers: one of them may be the client’s');
	if (!onPostgres) return; // SQLite takes one server
	const plain = await startServer({ database: own.database });
	assert.equal(await asked({ 'x-forwarded-for': '203.0.113.9' }, plain), 401, 'nobody is trusted unless it is said');
	await plain.stop({ keep: true });
});

test('signing in counts anew after a success', async () => {
	const who = await person();
	for (let i = 0; i < 3; i++) {
		for (let k = 0; k < 6; k++) assert.equal((await signIn({ ...who, password: 'wrong' })).status, 401);
		assert.equal((await signIn(who)).status, 200);
	}
});

test('a change by session needs our own page and its token: CSRF is refused by both', async () => {
	const s = await session(await person());
	const ask = (headers) => server.post('/api/v1/agents', { name: 'x' }, { headers });
	const refused = {
		'the cookie alone': { cookie: s.cookie },
		'no token': { cookie: s.cookie, origin: server.url },
		'no origin': { cookie: s.cookie, 'x-csrf-token': s.csrf },
		'a wrong token': { ...s.page, 'x-csrf-token': s.csrf.replace(/./, (c) => (c === 'a' ? 'b' : 'a')) },
		'an empty token': { ...s.page, 'x-csrf-token': '' },
		'another origin': { ...s.page, origin: 'https://evil.example' },
		'an origin that begins like ours': { ...s.page, origin: `${server.url}.evil.example` },
		'the null origin': { ...s.page, origin: 'null' },
		'another site, says the browser': { ...s.page, 'sec-fetch-site': 'cross-site' },
		'the same site, but another origin': { ...s.page, 'sec-fetch-site': 'same-site' },
		'another session’s token': { ...s.page, 'x-csrf-token': (await session(await person())).csrf },
	};
	for (const [what, headers] of Object.entries(refused)) {
		const answer = await ask(headers);
		assert.equal(answer.status, 403, what);
		assert.match(answer.json.message, /X-CSRF-Token/, what);
	}
	assert.equal((await ask(s.page)).status, 201);
	assert.equal((await ask({ cookie: s.cookie, 'x-csrf-token': s.csrf, 'sec-fetch-site': 'same-origin' })).status, 201);
	assert.equal(await status({ cookie: s.cookie }), 200); // reading needs neither
});

test('a session ends after 30 minutes without use, and use keeps it', async () => {
	const who = await person(), s = await session(who);
	const age = (us) => change(`UPDATE session SET seen_at = seen_at - ${us} WHERE principal_id = '${who.id}'`);
	await age(29 * 60e6);
	assert.equal(await status({ cookie: s.cookie }), 200); // a read is a use
	await age(29 * 60e6);
	assert.equal(await status({ cookie: s.cookie }), 200);
	await age(31 * 60e6);
	assert.equal(await status({ cookie: s.cookie }), 401);
});

test('a session ends after 12 hours, used or not', async () => {
	const who = await person(), s = await session(who);
	await change(`UPDATE session SET created_at = created_at - ${12 * 3600e6 + 1} WHERE principal_id = '${who.id}'`);
	assert.equal(await status({ cookie: s.cookie }), 401);
});

test('signing out ends the session and clears the cookie; a token has none to end', async () => {
	const s = await session(await person());
	assert.equal((await server.request('DELETE', '/api/v1/session', { headers: { cookie: s.cookie } })).status, 403);
	const { json, headers } = await server.request('DELETE', '/api/v1/session', { headers: s.page });
	assert.deepEqual(json, { ended: true });
	assert.match(headers.get('set-cookie'), /^__Host-sid=; .*Max-Age=0/);
	assert.equal(await status({ cookie: s.cookie }), 401);
	assert.equal((await admin.delete('/api/v1/session')).status, 400);
});

test('signing in makes a new secret and ends the session that came with it', async () => {
	const who = await person(), first = await session(who);
	const again = await signIn(who, { headers: { cookie: first.cookie } });
	const cookie = again.headers.get('set-cookie').split(';')[0];
	assert.notEqual(cookie, first.cookie);
	assert.equal(await status({ cookie: first.cookie }), 401);
	assert.equal(await status({ cookie }), 200);
});

test('a session’s secret is no bearer token, and a token is no session', async () => {
	const s = await session(await person());
	assert.equal((await server.as(s.cookie.split('=')[1]).get('/api/v1/me')).status, 401);
	assert.equal(await status({ cookie: `__Host-sid=${server.first.adminToken}` }), 401);
});

test('me_password needs the current one and a session, and ends the other sessions', async () => {
	await change('DELETE FROM signin');
	const who = await person(), here = await session(who), there = await session(who);
	const put = (current, password, headers = here.page) => server.request('PUT', '/api/v1/me/password', { body: { current, password }, headers });
	assert.equal((await put('wrong', 'another good one')).status, 403);
	assert.equal((await put(who.password, 'short')).status, 400);
	assert.equal((await admin.put('/api/v1/me/password', { current: server.first.adminPassword, password: 'another good one' })).status, 403);
	assert.deepEqual((await put(who.password, 'another good one')).json, { changed: true });
	assert.equal(await status({ cookie: there.cookie }), 401);
	assert.equal(await status({ cookie: here.cookie }), 200);
	assert.equal((await signIn(who)).status, 401);
	assert.equal((await signIn({ ...who, password: 'another good one' })).status, 200);
});

test('ID-8 wrong tries to change a password count with those to sign in, and are on record', async () => {
	await change('DELETE FROM signin');
	const who = await person(), s = await session(who);
	const put = (current) => server.request('PUT', '/api/v1/me/password', { body: { current, password: 'another good one' }, headers: s.page });
	for (let i = 0; i < 9; i++) assert.equal((await put('wrong')).status, 403);
	assert.equal((await put(who.password)).status, 200); // the tenth: not one too many
	for (let i = 0; i < 10; i++) assert.equal((await put('wrong')).status, 403);
	const over = await put('another good one');
	assert.equal(over.status, 429);
	assert.ok(Number(over.headers.get('retry-after')) > 0);
	assert.equal((await signIn({ ...who, password: 'another good one' })).status, 429);
	const { entries } = (await admin.get(`/api/v1/orgs/default/audit?action=request.refused&resourceId=${who.id}`)).json;
	assert.deepEqual(entries.map(({ reason }) => reason), ['too many tries to change the password']);
	await change('DELETE FROM signin');
});
