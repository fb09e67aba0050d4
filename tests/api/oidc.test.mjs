// SPDX-License-Identifier: Apache-2.0
// Signing in at an identity provider (ID-8): session_oidc_start, session_oidc_callback, member_unbind.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ok, refused } from './lib/flow.mjs';
import { atHash, callback, clientId, clientSecret, driveReal, makeToken, newKey, noReal, publicUrl, Puppet, startReal } from './lib/idp.mjs';
import { onPostgres, run, startServer, startSetUp, temporaryDirectory } from './lib/server.mjs';

const settings = (issuer, more = {}) => ({
	args: Object.entries({ 'public-url': publicUrl, 'oidc-issuer': issuer, 'oidc-client-id': clientId, ...more }).flatMap(([name, value]) => [`--${name}`, value]),
	env: { COUNTERSIGN_OIDC_CLIENT_SECRET: clientSecret },
});

let puppet, server, admin;
before(async () => {
	puppet = await Puppet.start();
	server = await startSetUp(settings(puppet.issuer));
	admin = server.as(server.first.adminToken);
});
after(async () => {
	await server.stop();
	await puppet.stop();
});

let people = 0;
/** A member who has never signed in, and the claims of their account. */
async function person(roles = ['operator'], by = admin) {
	const n = ++people, email = `p${n}@example.org`;
	const { id } = await ok(by.post('/api/v1/members', { name: `Person ${n}`, email, signIn: 'provider', roles }));
	return { id, email, claims: { sub: `account-${n}`, email: email.toUpperCase(), email_verified: true } };
}

const cookies = (answer) => Object.fromEntries(answer.headers.getSetCookie().map((text) => [text.split('=')[0], text]));
const cookieOf = (answer, name) => cookies(answer)[name]?.split(';')[0];

async function begin({ at = server, query = '', headers } = {}) {
	const answer = await at.get(`/api/v1/session/oidc${query}`, { headers });
	assert.equal(answer.status, 303, answer.text);
	return { location: answer.headers.get('location'), cookie: cookieOf(answer, '__Host-oidc'), answer };
}
const comeBack = (query, cookie, at = server) => at.get(`${callback}?${new URLSearchParams(query)}`, { headers: cookie ? { cookie } : {} });

/** All of it with the puppet: says is how it answers, change what the browser brings back. */
async function signIn(says = {}, { at = server, idp = puppet, query, headers, change = {} } = {}) {
	const start = await begin({ at, query, headers });
	const back = { ...idp.approve(start.location), ...change };
	idp.says = says;
	return comeBack(back, start.cookie, at);
}
const me = (cookie, at = server) => at.get('/api/v1/me', { headers: { cookie } });
async function signedIn(answer, at = server) {
	assert.equal(answer.status, 303, answer.text);
	return ok(me(cookieOf(answer, '__Host-sid'), at));
}
const entries = async (filter) => (await ok(admin.get(`/api/v1/orgs/default/audit?limit=100&${new URLSearchParams(filter)}`))).entries;

test('ID-8 the start sends the browser to the provider with state, nonce and PKCE, and a cookie that comes back from there', async () => {
	assert.deepEqual((await server.get('/api/v1/session')).json, { password: true, oidc: true }); // a page may offer it
	const { location, answer } = await begin();
	const url = new URL(location), query = Object.fromEntries(url.searchParams);
	assert.equal(url.origin + url.pathname, `${puppet.issuer}/auth`);
	assert.match(query.state, /^[\w-]{43}$/);
	assert.match(query.nonce, /^[\w-]{43}$/);
	assert.match(query.code_challenge, /^[\w-]{43}$/);
	assert.equal(new Set([query.state, query.nonce, query.code_challenge]).size, 3);
	assert.deepEqual({ ...query, state: '', nonce: '', code_challenge: '' }, { already: 'there', response_type: 'code', client_id: clientId, redirect_uri: publicUrl + callback, scope: 'openid email', state: '', nonce: '', code_challenge: '', code_challenge_method: 'S256' });
	const [value, ...attributes] = cookies(answer)['__Host-oidc'].split('; ');
	assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure']);
	for (const secret of [query.state, query.nonce]) assert.ok(!value.includes(secret) && !Buffer.from(value, 'base64url').includes(secret));
	assert.equal(answer.headers.get('cache-control'), 'no-store');
	assert.notEqual(new URL((await begin()).location).searchParams.get('state'), query.state);
});

test('ID-8 who comes back has a session as with a password: same cookie, same limits, on record', async () => {
	const who = await person();
	puppet.problems = [];
	const answer = await signIn({ claims: who.claims });
	assert.equal(answer.headers.get('location'), '/');
	const [value, ...attributes] = cookies(answer)['__Host-sid'].split('; ');
	assert.match(value, /^__Host-sid=cs_ses_[0-9A-Za-z]{49}$/);
	assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Strict', 'Secure']);
	assert.match(cookies(answer)['__Host-oidc'], /^__Host-oidc=; .*Max-Age=0;/);
	const { id, email, credential, mayVote, csrfToken } = await signedIn(answer);
	assert.deepEqual({ id, email, credential, mayVote }, { id: who.id, email: who.email, credential: 'session', mayVote: true });
	assert.deepEqual(puppet.problems, []);
	const headers = { cookie: value, origin: publicUrl, 'x-csrf-token': csrfToken }; // the page is at the public URL
	assert.deepEqual((await server.request('DELETE', '/api/v1/session', { headers: { ...headers, origin: 'https://evil.example' } })).status, 403);
	assert.deepEqual((await server.request('DELETE', '/api/v1/session', { headers })).json, { ended: true });
	const started = (await entries({ action: 'session.started' })).filter(({ actorId }) => actorId === who.id);
	assert.deepEqual(started.map(({ reason }) => reason), ['oidc']);
});

test('ID-8 a session that the browser had at the start ends with the sign-in', async () => {
	const who = await person();
	const first = cookieOf(await signIn({ claims: who.claims }), '__Host-sid');
	const second = cookieOf(await signIn({ claims: who.claims }, { headers: { cookie: first } }), '__Host-sid'); // Strict: not sent on the way back
	assert.equal((await me(first)).status, 401);
	assert.equal((await me(second)).status, 200);
});

test('ID-8 ES256, a key without a name, several audiences and a matching at_hash are fine', async () => {
	const who = await person(), now = Math.floor(Date.now() / 1000);
	for (const says of [
		{ alg: 'ES256', key: puppet.ec },
		{ header: { kid: undefined } },
		{ claims: { aud: [clientId] } },
		{ claims: { aud: [clientId, 'another'], azp: clientId } },
		{ claims: { at_hash: atHash('access') } },
		{ claims: { iat: now + 30, nbf: now + 30 } },
		{ claims: { exp: now - 30 } },
		{ answer: { token_type: 'bearer', scope: 'openid' } },
	])
		assert.equal((await signedIn(await signIn({ ...says, claims: { ...who.claims, ...says.claims } }))).id, who.id);
});

test('ID-8 a token that is not for us, not now or not of this sign-in is refused, and nothing comes of it', async () => {
	const who = await person(), now = Math.floor(Date.now() / 1000);
	const cases = {
		'another issuer': [{ iss: 'https://evil.example' }, /\(iss\)/],
		'our issuer with a slash': [{ iss: `${puppet.issuer}/` }, /\(iss\)/],
		'no issuer': [{ iss: undefined }, /\(iss\)/],
		'another audience': [{ aud: 'another' }, /\(aud\)/],
		'audiences without us': [{ aud: ['a', 'b'] }, /\(aud\)/],
		'no audience': [{ aud: undefined }, /\(aud\)/],
		'an audience that is no text': [{ aud: { [clientId]: true } }, /\(aud\)/],
		'several audiences and nobody named': [{ aud: [clientId, 'b'] }, /\(azp\)/],
		'made for another party': [{ azp: 'another' }, /\(azp\)/],
		expired: [{ exp: now - 120 }, /\(exp\)/],
		'no end': [{ exp: undefined }, /\(exp\)/],
		'an end that is a text': [{ exp: String(now + 300) }, /\(exp\)/],
		'an end beyond all numbers': [{ exp: 1e300 }, /\(exp\)/],
		'made in the future': [{ iat: now + 600 }, /\(iat\)/],
		'no beginning': [{ iat: undefined }, /\(iat\)/],
		'not yet': [{ nbf: now + 600 }, /\(nbf\)/],
		'another nonce (a replayed token)': [{ nonce: 'A'.repeat(43) }, /\(nonce\)/],
		'no nonce': [{ nonce: undefined }, /\(nonce\)/],
		'an empty nonce': [{ nonce: '' }, /\(nonce\)/],
		'another access token': [{ at_hash: atHash('another') }, /\(at_hash\)/],
		'an at_hash that is no text': [{ at_hash: 1 }, /\(at_hash\)/],
		nobody: [{ sub: undefined }, /\(sub\)/],
		'a number': [{ sub: 7 }, /\(sub\)/],
		'an endless subject': [{ sub: 's'.repeat(256) }, /\(sub\)/],
	};
	for (const [what, [claims, message]] of Object.entries(cases)) {
		const answer = await signIn({ claims: { ...who.claims, ...claims } });
		await refused(answer, 401, 'unauthenticated', message).catch((error) => assert.fail(`${what}: ${error.message}`));
		assert.deepEqual(Object.keys(cookies(answer)), ['__Host-oidc'], what);
	}
	assert.equal((await signedIn(await signIn({ claims: who.claims }))).id, who.id);
});

test('ID-8 algorithm confusion: only the provider’s own keys, each with its own algorithm', async () => {
	const who = await person(), claims = who.claims, stranger = newKey('RSA', 'rsa-1'), strangeEc = newKey('EC', 'ec-1');
	const pem = puppet.rsa.publicKey.export({ type: 'spki', format: 'pem' });
	const whole = () => makeToken({ iss: puppet.issuer, aud: clientId, sub: claims.sub, nonce: puppet.nonce, iat: 1, exp: 4e9 }, { key: puppet.rsa });
	const cases = {
		none: { alg: 'none', key: { kid: 'rsa-1' } },
		'none, spelled otherwise': { alg: 'nOnE', by: 'none', key: { kid: 'rsa-1' } },
		'HS256 with the public key': { alg: 'HS256', key: { kid: 'rsa-1', secret: pem } },
		'HS256 with the modulus': { alg: 'HS256', key: { kid: 'rsa-1', secret: Buffer.from(puppet.rsa.jwk.n, 'base64url') } },
		'HMAC under the name of RS256': { alg: 'RS256', by: 'HS256', key: { kid: 'rsa-1', secret: pem } },
		'no signature under the name of RS256': { alg: 'RS256', by: 'none', key: { kid: 'rsa-1' } },
		'no signature under the name of ES256': { alg: 'ES256', by: 'none', key: { kid: 'ec-1' } },
		'another’s RSA key of the same name': { key: stranger },
		'another’s EC key of the same name': { alg: 'ES256', key: strangeEc },
		'the RSA key’s name on an EC signature': { alg: 'ES256', key: { ...puppet.ec, kid: 'rsa-1' } },
		'an EC signature under the name of RS256': { alg: 'RS256', by: 'ES256', key: { ...puppet.ec, kid: 'rsa-1' } },
		'ES256 in DER': { alg: 'ES256', by: 'ES256DER', key: puppet.ec },
		'RS512, which is not on our list': { alg: 'RS512', key: puppet.rsa },
		'a key of its own': { key: stranger, header: { jwk: stranger.jwk, kid: 'rsa-1' } },
		'extensions that must be understood': { header: { crit: ['b64'], b64: false } },
	};
	for (const [what, says] of Object.entries(cases)) await refused(signIn({ ...says, claims }), 401, 'unauthenticated', /token is refused/).catch((error) => assert.fail(`${what}: ${error.message}`));
	const texts = { 'two parts': (t) => t.split('.').slice(0, 2).join('.'), 'four parts': (t) => `${t}.x`, 'no base64url': (t) => `*${t}`, 'a bit more': (t) => `${t}A`, padding: (t) => `${t}==`, 'another content': (t) => t.replace(/\.([^.]*)\./, (_, body) => `.${Buffer.from(Buffer.from(body, 'base64url').toString().replace('}', ',"x":1}')).toString('base64url')}.`), empty: () => ' ', large: (t) => t + 'A'.repeat(70000) };
	for (const [what, change] of Object.entries(texts)) {
		const start = await begin(), back = puppet.approve(start.location);
		puppet.says = { raw: change(whole()) };
		await refused(comeBack(back, start.cookie), 401, 'unauthenticated', /token is refused/).catch((error) => assert.fail(`${what}: ${error.message}`));
	}
});

test('ID-8 an unknown key is asked for once, and then not again for a while', async () => {
	const idp = await Puppet.start(), own = await startSetUp(settings(idp.issuer));
	const who = await person(['operator'], own.as(own.first.adminToken)), claims = who.claims;
	assert.equal((await signedIn(await signIn({ claims }, { at: own, idp }), own)).id, who.id);
	assert.equal((await signedIn(await signIn({ claims }, { at: own, idp }), own)).id, who.id);
	assert.equal(idp.count('/jwks'), 1); // kept
	const next = newKey('RSA', 'rsa-2');
	idp.keys = [next.jwk];
	assert.equal((await signedIn(await signIn({ claims, key: next }, { at: own, idp }), own)).id, who.id); // rotated
	assert.equal(idp.count('/jwks'), 2);
	const unknown = newKey('RSA', 'rsa-3');
	await refused(signIn({ claims, key: unknown }, { at: own, idp }), 401, 'unauthenticated', /token is refused/);
	await refused(signIn({ claims, key: unknown }, { at: own, idp }), 401, 'unauthenticated', /token is refused/);
	await refused(signIn({ claims, key: idp.rsa }, { at: own, idp }), 401, 'unauthenticated', /token is refused/); // withdrawn
	assert.equal(idp.count('/jwks'), 2);
	assert.equal(idp.count('/.well-known/openid-configuration'), 1);
	await own.stop();
	await idp.stop();
});

test('ID-8 a key that is weak, broken or for something else verifies nothing', async () => {
	const idp = await Puppet.start(), own = await startSetUp(settings(idp.issuer));
	const who = await person(['operator'], own.as(own.first.adminToken)), claims = who.claims;
	const weak = newKey(1024, 'weak'), good = newKey('RSA', 'good'), ec = newKey('EC', 'curve');
	idp.keys = [weak.jwk, { ...good.jwk, use: 'enc', kid: 'for-encryption' }, { ...good.jwk, alg: 'RS512', kid: 'for-512' }, { ...good.jwk, e: 'AQ', kid: 'exponent-1' }, { ...good.jwk, n: '', kid: 'empty' }, { ...ec.jwk, x: ec.jwk.y, kid: 'off-the-curve' }, { ...ec.jwk, crv: 'P-384', kid: 'another-curve' }, { ...ec.jwk, y: 'AA', kid: 'short' }, 'no key', { kty: 'RSA', kid: 'bare' }];
	for (const says of [{ key: weak }, ...['for-encryption', 'for-512', 'exponent-1', 'empty', 'bare'].map((kid) => ({ key: { ...good, kid } })), ...['off-the-curve', 'another-curve', 'short'].map((kid) => ({ alg: 'ES256', key: { ...ec, kid } }))])
		await refused(signIn({ ...says, claims }, { at: own, idp }), 401, 'unauthenticated', /token is refused/).catch((error) => assert.fail(`${says.key.kid}: ${error.message}`));
	await own.stop();
	await idp.stop();
});

test('ID-8 a provider that says something else of itself, too much, nothing or nonsense signs nobody in', async () => {
	const idp = await Puppet.start(), own = await startSetUp(settings(idp.issuer));
	const who = await person(['operator'], own.as(own.first.adminToken)), claims = who.claims;
	const page = '/.well-known/openid-configuration', huge = { body: JSON.stringify({ keys: [], x: 'x'.repeat(300 * 1024) }) };
	const begun = () => own.get('/api/v1/session/oidc');
	for (const [what, change] of Object.entries({ issuer: 'https://evil.example', token_endpoint: 'ftp://127.0.0.1/', jwks_uri: 'file:///etc/passwd', authorization_endpoint: 'javascript:alert(1)', userinfo_endpoint: 'http://127.0.0.1/ with spaces', code_challenge_methods_supported: ['plain'] })) {
		idp.page = { [what]: change };
		await refused(begun(), 503, 'unavailable', /identity provider|address of the identity provider/);
	}
	idp.page = { jwks_uri: undefined };
	await refused(begun(), 503, 'unavailable', /missing/);
	idp.reset();
	for (const [what, answer] of Object.entries({ 'a redirect': { status: 302, body: {}, headers: { location: `${idp.issuer}/elsewhere` } }, 'too much': huge, 'no JSON': { body: '<html>' }, 'no object': { body: '[]' }, 'an error': { status: 500, body: {} }, 'a hang-up': (response) => response.destroy() })) {
		idp.answer = { [page]: answer };
		await refused(begun(), 503, 'unavailable', /identity provider/).catch((error) => assert.fail(`configuration, ${what}: ${error.message}`));
	}
	assert.equal(idp.count('/elsewhere'), 0);
	idp.reset();
	const hostile = { 'a redirect': { status: 307, body: {}, headers: { location: `${idp.issuer}/elsewhere` } }, 'too much': huge, 'no JSON': { body: 'x' }, 'an error': { status: 500, body: {} }, 'our fault, they say': { status: 401, body: { error: 'invalid_client', error_description: clientSecret } }, 'words that are none': { status: 400, body: { error: '<script>' } }, 'a hang-up': (response) => response.destroy(), 'no tokens': { body: {} }, 'another type': { body: { id_token: 'x', token_type: 'mac' } } };
	for (const [what, answer] of Object.entries(hostile)) {
		idp.answer = { '/token': answer };
		const { message } = await refused(signIn({ claims }, { at: own, idp }), 503, 'unavailable', /identity provider/).catch((error) => assert.fail(`token, ${what}: ${error.message}`));
		assert.ok(!message.includes('<') && !message.includes(clientSecret));
	}
	assert.equal(idp.count('/elsewhere'), 0); // the secret does not travel
	const keyless = { 'too many keys': { body: { keys: Array(51).fill(idp.rsa.jwk) } }, 'no list of keys': { body: { keys: {} } }, 'too much': huge, 'no JSON': { body: '' }, 'an error': { status: 404, body: {} } };
	for (const [what, answer] of Object.entries(keyless)) {
		idp.answer = { '/jwks': answer };
		await refused(signIn({ claims }, { at: own, idp }), 503, 'unavailable', /keys/).catch((error) => assert.fail(`keys, ${what}: ${error.message}`));
	}
	idp.reset();
	assert.equal((await signedIn(await signIn({ claims }, { at: own, idp }), own)).id, who.id); // nothing bad was kept
	await own.stop();
	await idp.stop();
});

test('ID-8 a provider that is slow never holds all workers, and is given up', async () => {
	const idp = await Puppet.start(), own = await startSetUp({ ...settings(idp.issuer, { workers: '2' }) });
	const asAdmin = own.as(own.first.adminToken), who = await person(['operator'], asAdmin);
	let release;
	const asked = new Promise((resolve) => (idp.answer['/token'] = (response) => ((release = response), resolve())));
	const start = await begin({ at: own }), other = await begin({ at: own });
	const back = idp.approve(start.location);
	idp.says = { claims: who.claims };
	const waiting = comeBack(back, start.cookie, own);
	await asked;
	await refused(comeBack({ code: 'x', state: new URL(other.location).searchParams.get('state') }, other.cookie, own), 503, 'busy');
	assert.equal((await asAdmin.get('/api/v1/me')).status, 200);
	release.end(JSON.stringify({ token_type: 'Bearer', id_token: idp.idToken() }));
	assert.equal((await signedIn(await waiting, own)).id, who.id);
	idp.answer['/token'] = () => {}; // never
	await refused(signIn({ claims: who.claims }, { at: own, idp }), 503, 'unavailable', /token cannot be had/);
	await own.stop();
	await idp.stop();
});

test('ID-8 CSRF: a way back that was not begun in this browser is refused before the provider is asked', async () => {
	const mine = await begin(), theirs = await begin();
	const back = puppet.approve(theirs.location), before = puppet.seen.length;
	const flip = (text, i) => text.slice(0, i) + (text[i] === 'A' ? 'B' : 'A') + text.slice(i + 1);
	for (const [what, cookie, query] of [
		['no cookie', undefined, back],
		['another browser’s cookie', mine.cookie, back],
		['an empty cookie', '__Host-oidc=', back],
		['a cookie that is no box', '__Host-oidc=AAAA', back],
		['a changed cookie', flip(theirs.cookie, 40), back],
		['a changed end', flip(theirs.cookie, theirs.cookie.length - 8), back],
		['a session’s cookie', theirs.cookie.replace('__Host-oidc', '__Host-sid'), back],
		['no state', theirs.cookie, { ...back, state: '' }],
		['another state', theirs.cookie, { ...back, state: flip(back.state, 3) }],
		['an error without a state', theirs.cookie, { error: 'access_denied' }],
	])
		await refused(comeBack(query, cookie), 401, 'unauthenticated', /not begun in this browser/).catch((error) => assert.fail(`${what}: ${error.message}`));
	assert.equal(puppet.seen.length, before);
	assert.equal((await server.get(`${callback}?state=a&state=b`)).status, 400);
});

test('ID-8 replay: a sign-in comes back once', async () => {
	const who = await person(), start = await begin(), back = puppet.approve(start.location);
	puppet.says = { claims: who.claims };
	const answers = await Promise.all([comeBack(back, start.cookie), comeBack(back, start.cookie), comeBack(back, start.cookie)]);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401, 401]);
	await refused(comeBack(back, start.cookie), 401, 'unauthenticated', /come back already/);
	const wrong = await begin(), code = { ...puppet.approve(wrong.location), code: 'another' };
	await refused(comeBack(code, wrong.cookie), 401, 'unauthenticated', /invalid_grant/);
	await refused(comeBack({ ...code, code: puppet.code }, wrong.cookie), 401, 'unauthenticated', /come back already/); // a failure, too
});

test('ID-8 mix-up: an answer of another provider is refused, and its code is given to nobody', async () => {
	const who = await person(), before = puppet.count('/token');
	await refused(signIn({ claims: who.claims }, { change: { iss: 'https://evil.example' } }), 401, 'unauthenticated', /another identity provider/);
	await refused(signIn({ claims: who.claims }, { change: { iss: '' } }), 401, 'unauthenticated', /another identity provider/);
	assert.equal(puppet.count('/token'), before);
	const other = await startServer({ ...settings(puppet.issuer, { 'oidc-client-id': 'another' }), database: onPostgres ? server.database : undefined });
	const start = await begin({ at: other });
	await refused(comeBack(puppet.approve(start.location), start.cookie), 401, 'unauthenticated', /not begun in this browser/); // sealed for another client
	await other.stop({ keep: onPostgres });
});

test('ID-8 open redirect: only a path of ours is gone on to', async () => {
	const who = await person();
	for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example', '\\\\evil.example', '/\t/evil.example', '/\n/evil.example', 'javascript:alert(1)', 'evil', ' /x', '/ü', `/${'x'.repeat(2000)}`])
		assert.equal((await server.get(`/api/v1/session/oidc?returnTo=${encodeURIComponent(to)}`)).status, 400, to);
	for (const to of ['/proposals/1?tab=card#x', '/.//evil.example', '/@evil.example']) {
		const location = (await signIn({ claims: who.claims }, { query: `?returnTo=${encodeURIComponent(to)}` })).headers.get('location');
		assert.equal(location, to);
		assert.equal(new URL(location, publicUrl).origin, publicUrl);
	}
});

test('ID-8 the provider’s refusal is said, and what we do not know in its answer is left alone', async () => {
	const who = await person();
	await refused(signIn({}, { change: { error: 'access_denied', code: '', error_description: 'no' } }), 401, 'unauthenticated', /\(access_denied\)/);
	const { message } = await refused(signIn({}, { change: { error: '<script>' } }), 401, 'unauthenticated', /not signed you in/);
	assert.ok(!message.includes('<'));
	await refused(signIn({}, { change: { code: '' } }), 401, 'unauthenticated', /no code/);
	assert.equal((await signedIn(await signIn({ claims: who.claims }, { change: { session_state: 'x', authuser: '0', scope: 'openid' } }))).id, who.id);
});

test('ID-8 an account is bound at the first sign-in; an address that changes at the provider moves nobody', async () => {
	const who = await person(), other = await person();
	assert.equal((await signedIn(await signIn({ claims: who.claims }))).id, who.id);
	assert.equal((await signedIn(await signIn({ claims: { ...who.claims, email: other.email } }))).id, who.id);
	assert.equal((await signedIn(await signIn({ claims: { ...who.claims, email: undefined, email_verified: false } }))).id, who.id);
	await refused(signIn({ claims: { sub: 'a new account', email: who.email, email_verified: true } }), 403, 'forbidden', /another account/);
	assert.equal((await signedIn(await signIn({ claims: other.claims }))).id, other.id);
	const of = async (action) => (await entries({ action })).filter(({ resourceId }) => resourceId === who.id).map(({ reason }) => reason);
	assert.ok((await of('principal.changed')).includes('oidc: bound'));
	assert.deepEqual(await of('request.refused'), ['oidc: bound to another account']);
});

test('ID-8 member_unbind lets the address decide again and ends the sessions; only who manages members may', async () => {
	const who = await person(), cookie = cookieOf(await signIn({ claims: who.claims }), '__Host-sid');
	assert.equal((await server.as(server.first.agentToken).delete(`/api/v1/members/${who.id}/identity`)).status, 403);
	assert.equal((await admin.delete('/api/v1/members/nobody/identity')).status, 404);
	assert.deepEqual((await admin.delete(`/api/v1/members/${who.id}/identity`)).json, { unbound: true });
	assert.equal((await me(cookie)).status, 401);
	assert.equal((await signedIn(await signIn({ claims: { ...who.claims, sub: `${who.claims.sub} anew` } }))).id, who.id);
});

test('ID-8 an address that the provider has not verified, or none, finds nobody', async () => {
	const who = await person();
	for (const email_verified of [false, undefined, null, 'true', 1]) await refused(signIn({ claims: { ...who.claims, email_verified } }), 403, 'forbidden', /not verified/);
	assert.equal((await entries({ action: 'request.refused' })).filter(({ resourceId, reason }) => resourceId === who.id && reason === 'oidc: the address is not verified').length, 5);
	for (const email of ['no address', 'two@at@example.org', `spaces ${who.email}`, 7]) await refused(signIn({ claims: { ...who.claims, email }, userinfo: { sub: who.claims.sub } }), 403, 'forbidden', /does not say your e-mail/);
	await refused(signIn({ claims: { sub: 'nobody', email: 'nobody@example.org', email_verified: true } }), 403, 'forbidden', /nobody has added you/);
	await refused(signIn({ claims: { sub: 'nobody', email: 'nobody@example.org', email_verified: false } }), 403, 'forbidden', /not verified/);
});

test('ID-8 where the ID token has no address the provider is asked for it, and it must be of the same person', async () => {
	const who = await person(), claims = { ...who.claims, email: undefined, email_verified: undefined };
	await refused(signIn({ claims, userinfo: { ...who.claims, sub: 'another' } }), 401, 'unauthenticated', /another one/);
	await refused(signIn({ claims, userinfo: { ...who.claims, email_verified: false } }), 403, 'forbidden', /not verified/);
	await refused(signIn({ claims, userinfo: { sub: who.claims.sub } }), 403, 'forbidden', /does not say your e-mail/);
	await refused(signIn({ claims, userinfo: who.claims, answer: { access_token: undefined } }), 403, 'forbidden', /does not say your e-mail/);
	await refused(signIn({ claims, answer: { access_token: 'two words\r\nEvil: header' } }), 503, 'unavailable');
	assert.equal((await signedIn(await signIn({ claims, userinfo: who.claims }))).id, who.id);
	const asked = puppet.count('/me');
	assert.equal((await signedIn(await signIn({ claims }))).id, who.id);
	assert.equal(puppet.count('/me'), asked); // bound: nobody needs the address
	assert.deepEqual(puppet.problems, []);
});

test('ID-8 a member who was shut out is refused, bound or not, and it is on record', async () => {
	const bound = await person(), fresh = await person();
	await signedIn(await signIn({ claims: bound.claims }));
	for (const who of [bound, fresh]) {
		await ok(admin.delete(`/api/v1/members/${who.id}`));
		const answer = await signIn({ claims: who.claims });
		await refused(answer, 403, 'forbidden', /shut out/);
		assert.equal(cookieOf(answer, '__Host-sid'), undefined);
		assert.equal((await entries({ action: 'request.refused' })).find(({ resourceId }) => resourceId === who.id).reason, 'oidc: disabled');
	}
	await ok(admin.patch(`/api/v1/members/${bound.id}`, { disabled: false }));
	assert.equal((await signedIn(await signIn({ claims: bound.claims }))).id, bound.id);
});

test('ID-8 another organization’s name opens nothing', async () => {
	const who = await person();
	await refused(signIn({ claims: who.claims }, { query: '?org=another' }), 403, 'forbidden', /nobody has added you/);
	assert.equal((await signedIn(await signIn({ claims: who.claims }, { query: '?org=default' }))).id, who.id);
});

test('ID-8 newcomers: only where the settings say so, of a listed domain, verified, with that role, never admin', async () => {
	const own = await startSetUp(settings(puppet.issuer, { 'oidc-newcomer-role': 'proposer', 'oidc-newcomer-domains': 'Example.org, example.net' }));
	const ask = (claims, more) => signIn({ claims: { email_verified: true, ...claims } }, { at: own, ...more });
	await refused(ask({ sub: 'n', email: 'n@example.com' }), 403, 'forbidden', /nobody has added you/);
	await refused(ask({ sub: 'n', email: 'n@sub.example.org' }), 403, 'forbidden', /nobody has added you/);
	await refused(ask({ sub: 'n', email: 'n@notexample.org' }), 403, 'forbidden', /nobody has added you/);
	await refused(ask({ sub: 'n', email: 'n@example.org', email_verified: false }), 403, 'forbidden', /not verified/);
	await refused(ask({ sub: 'n', email: 'n@example.org' }, { query: '?org=another' }), 403, 'forbidden', /nobody has added you/);
	const { id, name, email, level } = await signedIn(await ask({ sub: 'n', email: 'N@example.ORG', name: 'Admin' }), own);
	assert.deepEqual({ name, email, level }, { name: 'n@example.org', email: 'n@example.org', level: 'proposer' });
	assert.equal((await signedIn(await ask({ sub: 'n', email: 'elsewhere@example.com' }), own)).id, id);
	assert.equal((await own.post('/api/v1/session', { email: 'n@example.org', password: 'correct horse battery' })).status, 401);
	const members = await ok(own.as(own.first.adminToken).get('/api/v1/members'));
	assert.deepEqual(members.items.filter((member) => member.email === 'n@example.org').map(({ roles }) => roles), [['proposer']]);
	await own.stop();
	for (const role of ['chief', 'no such role']) {
		const wrong = await startSetUp(settings(puppet.issuer, { 'oidc-newcomer-role': role, 'oidc-newcomer-domains': 'example.org' }));
		if (role === 'chief')
			await ok(wrong.as(wrong.first.adminToken).post('/api/v1/roles', { name: role, level: 'admin' }));
		await refused(signIn({ claims: { sub: 'n', email: 'n@example.org' } }, { at: wrong }), 403, 'forbidden', /role for newcomers/);
		await wrong.stop();
	}
});

test('ID-8 a newcomer who comes back twice at once is one member', async () => {
	const own = await startSetUp(settings(puppet.issuer, { 'oidc-newcomer-role': 'observer', 'oidc-newcomer-domains': 'example.org' }));
	const starts = await Promise.all([begin({ at: own }), begin({ at: own }), begin({ at: own }), begin({ at: own })]);
	const nonces = starts.map(({ location }) => puppet.approve(location));
	puppet.answer['/token'] = undefined;
	puppet.token = function (request, form) {
		const i = nonces.findIndex(({ code }) => code === form.get('code'));
		this.nonce = new URL(starts[i].location).searchParams.get('nonce');
		return { body: { token_type: 'Bearer', id_token: this.idToken() } };
	};
	puppet.says = { claims: { sub: 'at once', email: 'at.once@example.org' } };
	const answers = await Promise.all(starts.map(({ cookie }, i) => comeBack(nonces[i], cookie, own)));
	delete puppet.token;
	const ids = await Promise.all(answers.map((answer) => signedIn(answer, own).then(({ id }) => id)));
	assert.equal(new Set(ids).size, 1);
	await own.stop();
});

test('ID-8 it may begin at one server and come back to another, once (PostgreSQL)', { skip: !onPostgres && 'SQLite has one server' }, async () => {
	const second = await startServer({ ...settings(puppet.issuer), database: server.database });
	const who = await person(), start = await begin(), back = puppet.approve(start.location);
	puppet.says = { claims: who.claims };
	assert.equal((await signedIn(await comeBack(back, start.cookie, second))).id, who.id); // known at the first server, too
	await refused(comeBack(back, start.cookie), 401, 'unauthenticated', /come back already/);
	await second.stop({ keep: true });
});

test('ID-8 neither codes nor secrets reach the log, and the setting is masked', async () => {
	const who = await person();
	const start = await begin(), back = puppet.approve(start.location);
	puppet.says = { claims: who.claims };
	await comeBack(back, start.cookie);
	const { code_verifier } = Object.fromEntries(new URLSearchParams(puppet.seen.filter(({ path }) => path === '/token').at(-1).text));
	for (const secret of [clientSecret, back.code, back.state, code_verifier, start.cookie.split('=')[1], puppet.nonce]) assert.ok(secret && !server.stderr.includes(secret) && !server.stdout.includes(secret));
	const shown = (await ok(admin.get('/api/v1/config'))).settings.find(({ name }) => name === 'oidc-client-secret');
	assert.deepEqual(shown, { name: 'oidc-client-secret', value: '***', source: 'environment' });
});

test('ID-8 the secret goes in the body where the provider wants it there, and nowhere from a public client', async () => {
	const idp = await Puppet.start();
	idp.page = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
	const own = await startSetUp(settings(idp.issuer)), who = await person(['operator'], own.as(own.first.adminToken));
	assert.equal((await signedIn(await signIn({ claims: who.claims }, { at: own, idp }), own)).id, who.id);
	assert.deepEqual(idp.problems, []);
	await own.stop();
	idp.reset();
	idp.publicClient = true;
	const bare = await startSetUp({ args: settings(idp.issuer).args }), they = await person(['operator'], bare.as(bare.first.adminToken));
	assert.equal((await signedIn(await signIn({ claims: they.claims }, { at: bare, idp }), bare)).id, they.id);
	assert.deepEqual(idp.problems, []);
	await bare.stop();
	await idp.stop();
});

const noOpenssl = !existsSync('/usr/bin/openssl') && 'skipped: there is no openssl to make certificates with';
test('ID-8 the provider’s certificate must be trusted', { skip: noOpenssl }, async (t) => {
	const dir = await temporaryDirectory(t), file = (name) => path.join(dir, name);
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=idp', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', file('key'), '-out', file('cert')], { stdio: 'ignore' });
	const idp = await Puppet.start({ tls: { key: readFileSync(file('key')), cert: readFileSync(file('cert')) } });
	const wary = await startSetUp(settings(idp.issuer));
	await refused(wary.get('/api/v1/session/oidc'), 503, 'unavailable', /certificate is not trusted/);
	assert.equal(idp.seen.length, 0);
	await wary.stop();
	const own = await startSetUp(settings(idp.issuer, { 'oidc-ca': file('cert') })), who = await person(['operator'], own.as(own.first.adminToken));
	idp.page = { jwks_uri: idp.issuer.replace('https:', 'http:') };
	await refused(own.get('/api/v1/session/oidc'), 503, 'unavailable', /not https/); // no step down
	idp.reset();
	assert.equal((await signedIn(await signIn({ claims: who.claims }, { at: own, idp }), own)).id, who.id);
	await own.stop();
	await idp.stop();
});

test('ID-8 without a provider there is nothing to sign in at', async () => {
	const own = await startSetUp();
	await refused(own.get('/api/v1/session/oidc'), 404, 'not_found', /no identity provider/);
	await refused(own.get(callback), 404, 'not_found', /no identity provider/);
	await own.stop();
});

test('settings that do not fit together are refused at the start, without repeating a secret', async () => {
	for (const [args, message] of [
		[['--oidc-issuer', 'https://idp.example'], /oidc-client-id is missing/],
		[['--oidc-client-id', 'x'], /oidc-issuer is missing/],
		[['--oidc-issuer', 'https://idp.example', '--oidc-client-id', 'x'], /needs public-url/],
		[['--oidc-issuer', 'http://idp.example', '--oidc-client-id', 'x'], /--oidc-issuer must be/],
		[['--oidc-issuer', 'https://user@idp.example'], /--oidc-issuer must be/],
		[['--oidc-newcomer-role', 'observer'], /oidc-newcomer-domains is missing/],
		[['--oidc-newcomer-role', 'admin', '--oidc-newcomer-domains', 'example.org'], /oidc-newcomer-role may not be admin/],
		[['--oidc-newcomer-domains', 'example.org,,'], /--oidc-newcomer-domains must be/],
		[['--public-url', 'http://countersign.example'], /--public-url must be/],
		[['--public-url', 'https://countersign.example/path'], /--public-url must be/],
		[['--public-url', 'https://countersign.example/'], /--public-url must be/],
		[['--oidc-client-secret', 'se\ncret'], /--oidc-client-secret must be/],
		[['--oidc-ca', '/does/not/exist'], /oidc-ca/],
	]) {
		const { code, stderr } = await run(['serve', '--listen', '127.0.0.1:0', ...args]);
		assert.equal(code, 2, `${args}: ${stderr}`);
		assert.match(stderr, message);
		assert.ok(!stderr.includes('cret"'));
	}
});

test('with a public URL the address where a person decides is a whole one', async () => {
	const asAgent = server.as(server.first.agentToken);
	const { proposalId, approveUrl } = await ok(asAgent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: 'y' } }));
	assert.equal(approveUrl, `${publicUrl}/proposals/${proposalId}`);
});

// --- against npm's oidc-provider ---

async function real(options, work) {
	const idp = await startReal(options), own = await startSetUp(settings(idp.issuer));
	try {
		await work(idp, own, own.as(own.first.adminToken));
	} finally {
		await own.stop();
		await idp.stop();
	}
}
async function signInAtReal(own, login) {
	const start = await begin({ at: own });
	const back = new URL(await driveReal(start.location, login));
	assert.equal(back.origin + back.pathname, publicUrl + callback);
	return { answer: await own.get(callback + back.search, { headers: { cookie: start.cookie } }), back };
}

test('ID-8 npm’s oidc-provider: code, PKCE, userinfo, a rotated key', { skip: noReal }, async () => {
	const accounts = { ada: { email: 'ada@example.org', email_verified: true }, bob: { email: 'bob@example.org', email_verified: false } };
	await real({ accounts }, async (idp, own, asAdmin) => {
		const { id } = await ok(asAdmin.post('/api/v1/members', { name: 'Ada', email: 'ada@example.org', roles: ['operator'] }));
		await ok(asAdmin.post('/api/v1/members', { name: 'Bob', email: 'bob@example.org', roles: ['operator'] }));
		const { answer, back } = await signInAtReal(own, 'ada');
		assert.equal((await signedIn(answer, own)).id, id);
		await refused((await signInAtReal(own, 'bob')).answer, 403, 'forbidden', /not verified/);
		await refused((await signInAtReal(own, 'eve')).answer, 403, 'forbidden', /does not say your e-mail/);
		const again = await begin({ at: own }); // its code in a sign-in of our own: another verifier
		await refused(comeBack({ code: back.searchParams.get('code'), state: new URL(again.location).searchParams.get('state'), iss: idp.issuer }, again.cookie, own), 401, 'unauthenticated', /invalid_grant/);
		await idp.stop();
		const rotated = await startReal({ port: idp.port, kid: 'two', accounts });
		idp.stop = rotated.stop;
		assert.equal((await signedIn((await signInAtReal(own, 'ada')).answer, own)).id, id);
	});
});

test('ID-8 npm’s oidc-provider: ES256, claims in the ID token', { skip: noReal }, async () => {
	const accounts = { ada: { email: 'ada@example.org', email_verified: true } };
	await real({ accounts, alg: 'ES256', claimsInToken: true }, async (idp, own, asAdmin) => {
		const { id } = await ok(asAdmin.post('/api/v1/members', { name: 'Ada', email: 'ada@example.org', roles: ['observer'] }));
		assert.equal((await signedIn((await signInAtReal(own, 'ada')).answer, own)).id, id);
	});
});
