// SPDX-License-Identifier: Apache-2.0
// OAuth (issue 5; ID-3 to ID-9): metadata, registration, consent, tokens, and what must not work. The flow by the
// official SDKs is in oauth.sdk.test.mjs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { callback as oidcCallback, publicUrl, Puppet } from './lib/idp.mjs';
import { callback, Oauth, pkce } from './lib/oauth.mjs';
import { addPerson } from './lib/people.mjs';
import { behindTheBack, onPostgres, run, startServer, startSetUp, until } from './lib/server.mjs';

let w, o, ada;
before(async () => {
	w = await World.start({ args: ['--oauth-registrations', '100000'] });
	o = new Oauth(w.server.url);
	ada = await w.person(['maintainer']);
});
after(() => w?.stop());

/** The error of a token endpoint. */
function wrong(answer, error, status = 400) {
	assert.equal(answer.status, status, answer.text);
	assert.equal(answer.json.error, error, answer.text);
	assert.ok(answer.json.error_description);
	return answer;
}
const works = async (token) => (await o.mcp(token)).status === 200;
const tokenOf = async (clientId, who = ada) => (await ok(who.get('/api/v1/tokens?limit=200'))).items.filter((t) => t.clientId === clientId);

// --- metadata ---

test('MCP-1 metadata: the resource names its authorization server, which is this one, under the name it was asked by', async () => {
	for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
		const { json, headers } = await o.ask(path);
		assert.deepEqual(json, { resource: o.resource, authorization_servers: [o.url], scopes_supported: ['read', 'propose'], bearer_methods_supported: ['header'], resource_name: 'Countersign' });
		assert.equal(headers.get('access-control-allow-origin'), '*');
	}
	const { json } = await o.ask('/.well-known/oauth-authorization-server');
	assert.equal(json.issuer, o.url);
	for (const [name, path] of Object.entries({ authorization: 'authorize', token: 'token', registration: 'register', revocation: 'revoke' })) assert.equal(json[`${name}_endpoint`], `${o.url}/oauth/${path}`);
	assert.deepEqual(json.code_challenge_methods_supported, ['S256']);
	assert.deepEqual(json.token_endpoint_auth_methods_supported, ['none']);
	assert.equal(json.authorization_response_iss_parameter_supported, true);
	assert.equal(json.client_id_metadata_document_supported, true);

	const byName = new Oauth(o.url.replace('127.0.0.1', 'localhost'));
	assert.equal((await byName.ask('/.well-known/oauth-authorization-server')).json.issuer, byName.url);
});

test('a name that is not ours gives no metadata: no issuer of somebody else’s', async () => {
	const answer = await w.server.raw(`GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
	assert.match(answer, /^HTTP\/1.1 404 /);
	assert.doesNotMatch(answer, /evil\.example/);
});

test('public-url is the issuer, whatever Host says', async () => {
	const server = await startServer({ args: ['--public-url', 'https://cs.example'] });
	const { json } = await new Oauth(server.url).ask('/.well-known/oauth-protected-resource');
	assert.deepEqual([json.resource, json.authorization_servers], ['https://cs.example/mcp', ['https://cs.example']]);
	const refusal = await new Oauth(server.url).mcp();
	assert.match(refusal.headers.get('www-authenticate'), /resource_metadata="https:\/\/cs\.example\/\.well-known\/oauth-protected-resource\/mcp"/);
	await server.stop();
});

test('a server that others reach under a name nobody has told it has bearer tokens only', async () => {
	const server = await startServer({ listen: '0.0.0.0:0' });
	const there = new Oauth(`http://127.0.0.1:${server.port}`);
	assert.equal((await there.ask('/.well-known/oauth-protected-resource')).status, 404);
	assert.equal((await there.register()).status, 404);
	assert.equal((await there.mcp()).headers.get('www-authenticate'), 'Bearer');
	await server.stop();
});

test('pages of other origins may read the metadata and ask for tokens, and never the consent', async () => {
	const preflight = (path, method) => o.ask(path, { method: 'OPTIONS', headers: { origin: 'https://inspector.example', 'access-control-request-method': method, 'access-control-request-headers': 'content-type,mcp-protocol-version' } });
	for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server', '/oauth/register', '/oauth/token', '/oauth/revoke']) {
		const answer = await preflight(path, 'POST');
		assert.equal(answer.status, 204, path);
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		assert.match(answer.headers.get('access-control-allow-headers'), /Content-Type.*MCP-Protocol-Version/);
		assert.equal(answer.headers.get('access-control-allow-credentials'), null);
	}
	assert.equal((await preflight('/oauth/authorize', 'POST')).status, 405);
	wrong(await o.redeem('nobody', 'cs_code_x', pkce()), 'invalid_grant').headers.get('access-control-allow-origin');
});

// --- challenges ---

test('MCP-1 /mcp without a token says where to get one, and for what', async () => {
	const none = await o.mcp();
	assert.equal(none.status, 401);
	assert.equal(none.headers.get('www-authenticate'), `Bearer scope="read propose", resource_metadata="${o.url}/.well-known/oauth-protected-resource/mcp"`);
	const bad = await o.mcp('cs_agt_nothing');
	assert.equal(bad.status, 401);
	assert.match(bad.headers.get('www-authenticate'), /^Bearer error="invalid_token", scope="read propose", resource_metadata=/);
});

test('ID-9 step-up: a scope that the token lacks and its person holds is 403 with all that is needed; else it is a tool error', async () => {
	const call = (token) => o.mcp(token, 'tools/call', { name: 'note_create', arguments: { title: 'T', text: 't' } });
	const { access_token: reads } = await o.tokens(ada, { scope: 'read' });
	const names = (await o.mcp(reads)).json.result.tools.map(({ name }) => name);
	assert.ok(names.includes('note_list') && !names.includes('note_create'));
	const more = await call(reads);
	assert.equal(more.status, 403, more.text);
	const challenge = more.headers.get('www-authenticate');
	assert.match(challenge, /^Bearer error="insufficient_scope", scope="read note\.\S+\.propose", resource_metadata="/);

	const scope = /scope="([^"]*)"/.exec(challenge)[1];
	const { access_token: proposes, scope: given } = await o.tokens(ada, { scope });
	assert.equal(given, scope);
	assert.equal((await call(proposes)).json.result.structuredContent.status, 'awaiting_operator');

	const watcher = await w.person(['observer']);
	const { access_token: cannot } = await o.tokens(watcher, { scope: 'read' });
	const refusal = await call(cannot);
	assert.equal(refusal.status, 200, refusal.text);
	assert.equal(refusal.json.result.isError, true);
	assert.equal(JSON.parse(refusal.json.result.content[0].text).code, 'forbidden');
});

// --- the flow ---

test('ID-5 ID-6 a consent gives an agent token with the person as delegator, for /mcp and nowhere else', async () => {
	const { clientId, ...t } = await o.tokens(ada, { client_name: 'Claude Code' });
	assert.match(t.access_token, /^cs_agt_/);
	assert.deepEqual([t.token_type, t.expires_in, t.scope], ['Bearer', 3600, 'read propose']);
	assert.ok(await works(t.access_token));

	for (const path of ['/api/v1/me', '/api/v1/tokens', '/api/v1/proposals']) {
		const { details } = await refused(w.server.as(t.access_token).get(path), 403, 'forbidden', /is for http:\/\/127\.0\.0\.1:\d+\/mcp only/);
		assert.deepEqual(details, { reason: 'wrong_audience' });
	}
	await refused(w.server.as(t.access_token).post('/api/v1/tools/call', { tool: 'note.list', input: {} }), 403, 'forbidden');
	const evaluation = (path) => o.ask(path, { method: 'POST', headers: { authorization: `Bearer ${t.access_token}`, 'content-type': 'application/json' }, body: '{"context":{}}' });
	assert.equal((await evaluation('/ofrep/v1/evaluate/flags')).status, 403);
	assert.equal((await evaluation(`/api/v1/envs/${w.first.stagingId ?? 'x'}/evaluate`)).status, 403);
	const byName = new Oauth(o.url.replace('127.0.0.1', 'localhost'));
	const elsewhere = await byName.mcp(t.access_token);
	assert.equal(elsewhere.status, 401, 'another name is another audience');
	assert.match(elsewhere.text, new RegExp(`was issued for ${o.resource}, which is another name`), 'who holds a good token learns why');
	for (const guess of ['cs_agt_nothing', t.access_token.replace(/.$/, (c) => (c === 'a' ? 'b' : 'a'))]) assert.doesNotMatch((await byName.mcp(guess)).text, /issued for/);
	assert.ok(await works(t.access_token));

	const [row] = await tokenOf(clientId);
	assert.deepEqual([row.name, row.principalKind, row.principalName, row.delegatorId, row.level, row.audience], ['Claude Code', 'agent', 'Claude Code (OAuth)', ada.id, 'proposer', o.resource]);
	assert.ok(!row.actions.includes('approve'));
	assert.ok((await ok(w.admin.get('/api/v1/agents?limit=200'))).items.some(({ id, name }) => id === row.principalId && name === 'Claude Code (OAuth)'));
	await refused(ada.post(`/api/v1/tokens/${row.id}/renew`, {}), 409, 'conflict', /its client refreshes/);

	const entries = [...(await w.audit({ action: 'grant.given' })), ...(await w.audit({ action: 'token.minted' }))].filter(({ actorId, delegatorId }) => actorId === ada.id || delegatorId === ada.id);
	assert.ok(entries.some(({ action, transport }) => action === 'grant.given' && transport === 'oauth'));
	assert.ok(entries.some(({ action, actorId, delegatorId }) => action === 'token.minted' && actorId === row.principalId && delegatorId === ada.id));
});

test('RFC 8707 a token for another resource, or of another server, is none here', async () => {
	const t = await o.tokens(ada), [row] = await tokenOf(t.clientId), other = await World.start();
	const there = new Oauth(other.server.url), foreign = await there.tokens(await other.person(['maintainer']));
	assert.equal((await o.mcp(foreign.access_token)).status, 401);
	wrong(await o.refresh(foreign.clientId, foreign.refresh_token), 'invalid_grant');
	await other.stop();
	await w.change(`UPDATE token SET audience = 'https://other.example/mcp' WHERE token_id = '${row.id}'`);
	o = new Oauth(w.server.url);
	const answer = await o.mcp(t.access_token);
	assert.equal(answer.status, 401);
	assert.match(answer.headers.get('www-authenticate'), /error="invalid_token"/);
});

test('one agent for a person and a client, however often they agree, and another for another person', async () => {
	const clientId = await o.client(), bob = await w.person(['proposer']);
	for (const who of [ada, ada, bob]) await o.tokens(who, { clientId });
	const own = await tokenOf(clientId);
	assert.equal(own.length, 2);
	assert.equal(new Set(own.map((t) => t.principalId)).size, 1);
	const [his] = await tokenOf(clientId, bob);
	assert.notEqual(his.principalId, own[0].principalId);
});

test('TL-3 another consent of the same person and client leaves the former: what was proposed with it can still be applied', async () => {
	const first = await o.tokens(ada), { clientId } = first;
	const { json } = await o.mcp(first.access_token, 'tools/call', { name: 'note_create', arguments: { title: 'Before', text: 'the step-up' } });
	const { proposalId } = json.result.structuredContent;
	const second = await o.tokens(ada, { clientId, scope: 'read propose note.note.write' });
	assert.ok((await works(first.access_token)) && (await works(second.access_token)));
	const { viewHash } = await ok(w.admin.get(`/api/v1/proposals/${proposalId}`));
	assert.equal((await w.approve({ proposalId, viewHash }, w.admin, { apply: true })).state, 'applied');
	const rows = await tokenOf(clientId);
	assert.equal(rows.length, 2);

	const { code, stdout, stderr } = await run(['token', 'list'], { env: { COUNTERSIGN_SERVER: w.server.url, COUNTERSIGN_TOKEN: w.first.adminToken } });
	assert.equal(code, 0, stderr);
	for (const { id } of rows) assert.match(stdout, new RegExp(`^${id} .* Test client \\(OAuth: ${clientId}\\)$`, 'm'), 'whose it is');
});

test('a refresh gives new secrets for the same token, and the old access token ends', async () => {
	const first = await o.tokens(ada);
	const [before] = await tokenOf(first.clientId);
	const answer = await o.refresh(first.clientId, first.refresh_token);
	assert.equal(answer.status, 200, answer.text);
	assert.equal(answer.headers.get('cache-control'), 'no-store');
	assert.notEqual(answer.json.access_token, first.access_token);
	assert.notEqual(answer.json.refresh_token, first.refresh_token);
	assert.equal(answer.json.scope, 'read propose');
	assert.ok(await works(answer.json.access_token));
	assert.ok(!(await works(first.access_token)));
	const [now, ...others] = await tokenOf(first.clientId);
	assert.deepEqual([now.id, others], [before.id, []]);
	assert.ok((await w.audit({ action: 'token.renewed', resourceId: now.id })).length === 1);
	assert.equal((await o.refresh(first.clientId, answer.json.refresh_token, { scope: 'read' })).status, 200);
});

test('a refresh gives no more than was agreed to, and only to its client, for its resource', async () => {
	const t = await o.tokens(ada, { scope: 'read' }), other = await o.client();
	wrong(await o.refresh(t.clientId, t.refresh_token, { scope: 'read propose' }), 'invalid_scope');
	wrong(await o.refresh(t.clientId, t.refresh_token, { scope: '*' }), 'invalid_scope');
	wrong(await o.refresh(other, t.refresh_token), 'invalid_grant');
	wrong(await o.refresh(t.clientId, t.refresh_token, { resource: 'https://other.example/mcp' }), 'invalid_target');
	wrong(await o.refresh(t.clientId, t.access_token), 'invalid_grant');
	wrong(await o.refresh(t.clientId, ''), 'invalid_request');
	assert.equal((await o.refresh(t.clientId, t.refresh_token)).status, 200, 'none of it has used it up');
});

test('a refresh token that is used twice ends everything that came of the consent, on record', async () => {
	const t = await o.tokens(ada);
	const { json: next } = await o.refresh(t.clientId, t.refresh_token);
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
	assert.ok(!(await works(next.access_token)));
	wrong(await o.refresh(t.clientId, next.refresh_token), 'invalid_grant');
	const [row] = await tokenOf(t.clientId);
	assert.ok(row.revokedAt);
	assert.ok((await w.audit({ action: 'request.refused' })).some(({ reason, delegatorId }) => reason === 'a refresh token was used twice' && delegatorId === ada.id));
});

test('a code that is used twice is refused, and ends what it gave', async () => {
	const clientId = await o.client(), keys = pkce(), code = await o.code(clientId, ada, keys);
	const { json } = await o.redeem(clientId, code, keys);
	assert.ok(await works(json.access_token));
	wrong(await o.redeem(clientId, code, keys), 'invalid_grant');
	assert.ok(!(await works(json.access_token)));
	wrong(await o.refresh(clientId, json.refresh_token), 'invalid_grant');
	assert.ok((await w.audit({ action: 'request.refused' })).some(({ reason }) => reason === 'a code was used twice'));
});

test('of two who redeem one code at once, one at most has tokens', async () => {
	for (let round = 0; round < 5; round++) {
		const clientId = await o.client(), keys = pkce(), code = await o.code(clientId, ada, keys);
		const answers = await Promise.all([1, 2, 3].map(() => o.redeem(clientId, code, keys)));
		assert.equal(answers.filter(({ status }) => status === 200).length, 1);
		for (const answer of answers.filter(({ status }) => status !== 200)) wrong(answer, 'invalid_grant');
	}
});

test('a code is for its client, redirect URI, resource and verifier', async () => {
	const clientId = await o.client(), other = await o.client(), keys = pkce(), code = await o.code(clientId, ada, keys);
	wrong(await o.redeem(other, code, keys), 'invalid_grant');
	wrong(await o.redeem(clientId, code, keys, { redirect_uri: 'http://127.0.0.1:7778/callback' }), 'invalid_grant');
	wrong(await o.redeem(clientId, code, keys, { redirect_uri: undefined }), 'invalid_request');
	wrong(await o.redeem(clientId, code, pkce()), 'invalid_grant');
	wrong(await o.redeem(clientId, code, { verifier: keys.challenge }), 'invalid_grant');
	wrong(await o.redeem(clientId, code, { verifier: undefined }), 'invalid_request');
	wrong(await o.redeem(clientId, code, { verifier: 'short' }), 'invalid_grant');
	wrong(await o.redeem(clientId, code, keys, { resource: 'https://other.example/mcp' }), 'invalid_target');
	wrong(await o.redeem(clientId, `${code}x`, keys), 'invalid_grant');
	wrong(await o.redeem(clientId, undefined, keys), 'invalid_request');
	wrong(await o.redeem(clientId, code, keys, { grant_type: 'password' }), 'unsupported_grant_type');
	wrong(await o.post('/oauth/token', [['client_id', clientId], ['client_id', other], ['grant_type', 'refresh_token']]), 'invalid_request');
	assert.equal((await o.redeem(clientId, code, keys, { resource: undefined })).status, 200, 'and who asked for it still gets what it gives');
});

test('a code is good for two minutes', async () => {
	const clientId = await o.client(), keys = pkce(), code = await o.code(clientId, ada, keys);
	await w.change('UPDATE oauth_grant SET code_until = code_until - 121000000');
	o = new Oauth(w.server.url);
	wrong(await o.redeem(clientId, code, keys, { resource: undefined }), 'invalid_grant');
});

test('ID-6 a revoked person: their codes, tokens and refresh tokens end in that moment', async () => {
	const eve = await w.person(['maintainer']), keys = pkce();
	const t = await o.tokens(eve), clientId = await o.client(), code = await o.code(clientId, eve, keys);
	assert.ok(await works(t.access_token));
	await ok(w.admin.delete(`/api/v1/members/${eve.id}`));
	assert.ok(!(await works(t.access_token)));
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
	wrong(await o.redeem(clientId, code, keys), 'invalid_grant');
	await ok(w.server.request('PATCH', `/api/v1/members/${eve.id}`, { body: { disabled: false }, headers: { authorization: `Bearer ${w.first.adminToken}` } }));
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
	wrong(await o.redeem(clientId, code, keys), 'invalid_grant');
});

test('ID-6 a disabled agent ends at once, and nobody agrees to it again', async () => {
	const t = await o.tokens(ada), [row] = await tokenOf(t.clientId);
	await ok(w.admin.delete(`/api/v1/agents/${row.principalId}`));
	assert.ok(!(await works(t.access_token)));
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
	const again = await o.decide(o.query(t.clientId, pkce()), ada);
	assert.equal(again.status, 403);
	assert.match(again.text, /has been disabled by an admin/);
});

test('ID-6 a rule that the person loses is lost to the token at once', async () => {
	const role = await ok(w.admin.post('/api/v1/roles', { name: 'writer', rules: ['note.note.propose', 'note.note.read', 'note.item.propose', 'note.item.read'] }));
	const may = await w.person(['writer', 'observer']);
	const t = await o.tokens(may);
	const call = () => o.mcp(t.access_token, 'tools/call', { name: 'note_create', arguments: { title: 'T', text: 't' } });
	assert.equal((await call()).json.result.isError, undefined);
	await ok(w.server.request('PATCH', `/api/v1/roles/${role.id}`, { body: { rules: ['note.note.read', 'note.item.read'] }, headers: { authorization: `Bearer ${w.first.adminToken}` } }));
	const after = await call();
	assert.equal(after.status, 200);
	assert.equal(JSON.parse(after.json.result.content[0].text).code, 'forbidden');
});

test('what a person agreed to is in their list of tokens, and they end it there', async () => {
	const t = await o.tokens(ada), [row] = await tokenOf(t.clientId);
	const bob = await w.person(['observer']);
	await refused(bob.delete(`/api/v1/tokens/${row.id}`), 403, 'forbidden');
	await ok(ada.delete(`/api/v1/tokens/${row.id}`));
	assert.ok(!(await works(t.access_token)));
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
});

test('RFC 7009 a client gives its tokens back; nobody else can, and a wrong one is no news', async () => {
	for (const name of ['access_token', 'refresh_token']) {
		const t = await o.tokens(ada), other = await o.client();
		assert.equal((await o.post('/oauth/revoke', { token: t[name], client_id: other })).status, 200);
		assert.ok(await works(t.access_token), 'another client has not ended it');
		assert.equal((await o.post('/oauth/revoke', { token: t[name], client_id: t.clientId, token_type_hint: 'whatever' })).status, 200);
		assert.ok(!(await works(t.access_token)));
		wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
		assert.equal((await o.post('/oauth/revoke', { token: t[name], client_id: t.clientId })).status, 200);
	}
	assert.equal((await o.post('/oauth/revoke', { token: w.first.adminToken, client_id: 'x' })).status, 200);
	assert.equal((await w.admin.get('/api/v1/me')).status, 200, 'tokens that are not OAuth’s are left alone');
	wrong(await o.post('/oauth/revoke', { client_id: 'x' }), 'invalid_request');
});

test('a consent ends after 90 days, and after 30 without use', async () => {
	const t = await o.tokens(ada), old = await o.tokens(ada);
	const [row] = await tokenOf(old.clientId);
	await w.change(`UPDATE oauth_grant SET expires_at = 1 WHERE token_id = '${row.id}'; UPDATE oauth_refresh SET expires_at = 1 WHERE grant_id NOT IN (SELECT grant_id FROM oauth_grant WHERE token_id = '${row.id}')`);
	o = new Oauth(w.server.url);
	wrong(await o.refresh(t.clientId, t.refresh_token), 'invalid_grant');
	wrong(await o.refresh(old.clientId, old.refresh_token), 'invalid_grant');
});

// --- scopes ---

test('ID-3 ID-4 scopes are rules and two bundles; approve and * are none; a person gives what they hold', async () => {
	const clientId = await o.client();
	const ask = async (scope, who = ada) => Oauth.back(await o.decide(o.query(clientId, pkce(), { scope }), who));
	for (const scope of ['approve', '*', 'proposal.proposal.approve', 'flag.flag.approve', 'read *', 'admin', 'Read', 'flag.flag', 'read\tpropose', Array.from({ length: 60 }, (_, i) => `a.b${i}.read`).join(' ')]) {
		const back = await ask(scope);
		assert.deepEqual([back.error, back.state, back.iss, back.code], ['invalid_scope', 'the state', o.url, undefined], scope);
	}
	const given = async (scope, who) => (await o.tokens(who ?? ada, { clientId, scope })).scope;
	assert.equal(await given(undefined), 'read propose');
	assert.equal(await given('propose'), 'read propose');
	assert.equal(await given('read flag.flag.toggle flag.flag.toggle offline_access'), 'read flag.flag.toggle');
	const bob = await w.person(['observer']);
	assert.equal(await given('read flag.flag.toggle', bob), 'read', 'what he does not hold is left out');
	assert.equal((await ask('flag.flag.toggle', bob)).error, 'invalid_scope');
	const [row] = (await tokenOf(clientId)).filter((t) => t.rules.includes('flag.flag.toggle'));
	assert.equal(row.level, 'observer');
});

// --- where a code goes ---

test('a redirect URI matches byte by byte; only a loopback one may have another port', async () => {
	const site = 'https://app.example/cb', local = 'http://localhost:1234/callback?x=1', scheme = 'com.example.app:/callback';
	const clientId = await o.client({ redirect_uris: [site, local, scheme, callback, 'http://[::1]/cb'] });
	for (const uri of [site, local, scheme, callback, 'http://localhost:5555/callback?x=1', 'http://localhost/callback?x=1', 'http://127.0.0.1/callback', 'http://[::1]:99/cb']) {
		const answer = await o.decide(o.query(clientId, pkce(), { redirect_uri: uri }), ada);
		assert.equal(answer.status, 200, `${uri}: ${answer.text}`);
		const where = Oauth.leads(answer);
		assert.ok(where.startsWith(uri), where);
		assert.match(where, uri.includes('?') ? /\?x=1&code=/ : /\?code=/);
	}
	for (const uri of [`${site}/more`, `${site}?x=1`, 'https://app.example/c', 'https://app.example/CB', 'https://APP.example/cb', 'https://app.example:444/cb', 'https://app.example:443/cb', 'http://app.example/cb', 'https://user@app.example/cb', 'https://app.example@evil.example/cb', 'https://app.example.evil.example/cb', `${site}#x`, 'https://app.example/./cb', 'https://app.example\\@evil.example/cb', 'http://localhost:1234/callback', 'https://localhost:1234/callback?x=1', 'http://127.0.0.2:7777/callback', 'http://127.0.0.1:7777@evil.example/callback', 'http://127.0.0.1:0/callback', 'http://127.0.0.1:99999/callback', 'com.example.app:/callback2', 'COM.example.app:/callback', 'javascript:alert(1)', ' ', '/oauth/authorize', '//evil.example/cb']) {
		const answer = await o.page(o.query(clientId, pkce(), { redirect_uri: uri }), ada);
		assert.equal(answer.status, 400, `${uri}: ${answer.status}`);
		assert.equal(answer.headers.get('location'), null, 'no open redirect');
		assert.match(answer.text, /has not registered this redirect_uri|are needed/);
	}
});

test('before the redirect URI is known to be the client’s, what is wrong is a page; afterwards the client hears it, with iss', async () => {
	const clientId = await o.client(), keys = pkce();
	const page = async (query) => {
		const answer = await o.page(query, ada);
		assert.ok(answer.status >= 400 && !answer.headers.get('location'), answer.text);
		return answer.text;
	};
	assert.match(await page(o.query('client-nobody', keys)), /no application with this client_id/);
	assert.match(await page(o.query(undefined, keys)), /client_id and redirect_uri are needed/);
	assert.match(await page(o.query(clientId, keys, { redirect_uri: undefined })), /client_id and redirect_uri are needed/);
	assert.match(await page(`${o.query(clientId, keys)}&redirect_uri=https://evil.example`), /redirect_uri is given twice/);
	assert.match(await page(`${o.query(clientId, keys)}&x=%ff`), /cannot be decoded/);
	assert.match(await page(o.query(clientId, keys, { state: 'x'.repeat(1001) })), /state is longer/);
	const client = async (change, error) => {
		const back = Oauth.back(await o.page(o.query(clientId, keys, change), ada));
		assert.deepEqual([back.to, back.error, back.state, back.iss, back.code], [callback, error, 'the state', o.url, undefined]);
	};
	await client({ response_type: 'token' }, 'unsupported_response_type');
	await client({ response_type: undefined }, 'unsupported_response_type');
	await client({ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request');
	await client({ code_challenge_method: 'plain' }, 'invalid_request');
	await client({ code_challenge_method: undefined }, 'invalid_request');
	await client({ code_challenge: 'short' }, 'invalid_request');
	await client({ resource: 'https://other.example/mcp' }, 'invalid_target');
	await client({ resource: o.url }, 'invalid_target');
	await client({ scope: 'approve' }, 'invalid_scope');
	assert.equal(Oauth.back(await o.decide(o.query(clientId, keys, { resource: undefined, state: undefined }), ada)).state, undefined);
});

test('RFC 9700 4.11.2 what cannot work is said before anybody signs in, and a stranger is redirected nowhere', async () => {
	const clientId = await o.client(), keys = pkce();
	const told = async (query, why) => {
		const page = await o.page(query);
		assert.deepEqual([page.status >= 400 && page.status < 500, page.headers.get('location'), Oauth.leads(page)], [true, null, undefined], query);
		assert.match(page.text, why);
		assert.doesNotMatch(page.text, /<form|Sign in/);
		return /<a href="([^"]*)">Go back to ([^<]*)</.exec(page.text)?.slice(1).map((text) => text.replaceAll('&amp;', '&'));
	};
	for (const [change, error, why] of [
		[{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request', /PKCE with S256 is needed/],
		[{ response_type: 'token' }, 'unsupported_response_type', /response_type must be code/],
		[{ scope: 'read flag.flag.fly' }, 'invalid_scope', /./],
		[{ resource: 'https://other.example/mcp' }, 'invalid_target', /its own resource only/],
	]) {
		const [where, name] = await told(o.query(clientId, keys, change), why), back = new URL(where);
		assert.deepEqual([where.split('?')[0], name], [callback, '127.0.0.1:7777 (this computer)'], 'a link tells the client');
		assert.deepEqual([back.searchParams.get('error'), back.searchParams.get('state'), back.searchParams.get('iss')], [error, 'the state', o.url]);
	}
	assert.equal(await told(o.query('client-nobody', keys), /no application with this client_id/), undefined);
	assert.equal(await told(o.query(clientId, keys, { redirect_uri: 'https://evil.example/' }), /has not registered this redirect_uri/), undefined);
	assert.equal(await told(o.query(undefined, keys), /are needed/), undefined);
	// whose the redirect URI is, a document would say; it is not fetched for a stranger, so nobody is sent there
	const described = 'https://client.example/client.json';
	assert.equal(await told(o.query(described, keys, { code_challenge: 'short' }), /PKCE with S256 is needed/), undefined);
	assert.equal(await told(o.query(described, keys, { redirect_uri: 'javascript:alert(1)' }), /has not registered this redirect_uri/), undefined);
	assert.match((await o.page(o.query(described, keys))).text, /Sign in to let an application in/);
});

// --- consent ---

test('the page says who, what, where to and for how long; it runs no script and shows in no frame', async () => {
	const clientId = await o.client({ client_name: 'Claude Code' });
	const page = await o.page(o.query(clientId, pkce(), { scope: 'read propose flag.flag.toggle' }), ada);
	assert.equal(page.status, 200);
	for (const part of [/Let “Claude Code” act for you\?/, /Somebody \d+ \(somebody\d+@example\.org\)/, /Organization/, /introduced itself; nobody has checked its name/, /127\.0\.0\.1:7777 \(this computer\)/, /Read what you may read/, /Propose what you may propose/, /Switch on and off[^<]*: <code>flag\.flag\.toggle<\/code>/, /never be able to[^]*Approve or deny anything/, /90 days at most, 30 without use/]) assert.match(page.text, part);
	assert.doesNotMatch(page.text, /<script|javascript:| on\w+=|style="/i);
	const policy = page.headers.get('content-security-policy');
	assert.equal(policy, "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
	assert.equal(page.headers.get('x-frame-options'), 'DENY');
	assert.equal(page.headers.get('cache-control'), 'no-store');
	assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
	assert.equal((await o.ask('/oauth/style.css')).headers.get('content-type'), 'text/css; charset=utf-8');
});

test('AP-7 a name cannot lie: markup, reversed and invisible characters, look-alikes, length', async () => {
	const show = async (client_name) => (await o.page(o.query(await o.client({ client_name }), pkce()), ada)).text;
	const html = await show('<script>alert(1)</script>"\'&');
	assert.ok(html.includes('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;') && !html.includes('<script>'));
	const bidi = await show('Safe\u202Eevil\u200B');
	assert.ok(!bidi.includes('\u202E') && !bidi.includes('\u200B'));
	assert.match(bidi, /Its name has characters in it that deceive/);
	assert.match(await show('Сlaude'), /deceive/, 'a Cyrillic С');
	assert.match(await show('a\nb'), /deceive/);
	const long = await show('x'.repeat(500));
	assert.ok(long.includes(`${'x'.repeat(80)}…`) && !long.includes('x'.repeat(81)));
	assert.match(await show(' '), /An application without a name/);
	assert.match(await show(undefined), /Test client|without a name/);
});

test('ID-8 no consent without our page and its token; none by another’s session, a token, or a stranger', async () => {
	const clientId = await o.client(), query = o.query(clientId, pkce()), bob = await w.person(['maintainer']);
	const { csrf, action } = Oauth.form(await o.page(query, ada)), { cookie } = ada.headers();
	assert.equal(action, `/oauth/authorize?${query}`);
	const send = (form, headers) => o.post(action, form, headers);
	const own = { cookie, origin: o.url, 'sec-fetch-site': 'same-origin' };
	const tries = {
		'without a token': [{ decision: 'allow' }, own],
		'with a wrong one': [{ decision: 'allow', csrf: 'x' }, own],
		'with that of another session': [{ decision: 'allow', csrf: Oauth.form(await o.page(query, bob)).csrf }, own],
		'from another site': [{ decision: 'allow', csrf }, { ...own, 'sec-fetch-site': 'cross-site' }],
		'from another origin': [{ decision: 'allow', csrf }, { cookie, origin: 'https://evil.example' }],
		'from nowhere': [{ decision: 'allow', csrf }, { cookie }],
		'no, without a token': [{ decision: 'deny' }, own],
	};
	for (const [what, args] of Object.entries(tries)) {
		const answer = await send(...args);
		assert.deepEqual([answer.status, answer.headers.get('location')], [403, null], what);
	}
	const stranger = await send({ decision: 'allow', csrf }, { origin: o.url });
	assert.equal(stranger.status, 401);
	const byToken = await send({ decision: 'allow', csrf }, { origin: o.url, authorization: `Bearer ${w.first.adminToken}` });
	assert.equal(byToken.status, 401, 'nobody agrees with a token');
	assert.equal((await send({ decision: 'maybe', csrf }, own)).status, 400);
	assert.equal((await o.ask(action, { method: 'POST', body: JSON.stringify({ decision: 'allow', csrf }), headers: { ...own, 'content-type': 'application/json' } })).status, 415);
	assert.deepEqual(await tokenOf(clientId), []);
	assert.equal(Oauth.back(await send({ decision: 'allow', csrf }, own)).to, callback);
});

test('no is an answer, too', async () => {
	const clientId = await o.client(), before = (await ok(w.admin.get('/api/v1/agents?limit=200'))).items.length;
	const back = Oauth.back(await o.decide(o.query(clientId, pkce()), ada, 'deny'));
	assert.deepEqual([back.to, back.error, back.state, back.iss, back.code], [callback, 'access_denied', 'the state', o.url, undefined]);
	assert.equal((await ok(w.admin.get('/api/v1/agents?limit=200'))).items.length, before, 'and nobody was added');
});

test('ID-8 who is not signed in signs in first, and sees nothing of the request before', async () => {
	const clientId = await o.client({ client_name: 'Secret plan' }), query = o.query(clientId, pkce());
	const { email, password } = await addPerson(w.server, w.admin, { name: 'Signs In', email: 'signs-in@example.org', roles: ['proposer'] });
	const page = await o.page(query);
	assert.equal(page.status, 200);
	assert.match(page.text, /Sign in to let an application in/);
	assert.doesNotMatch(page.text, /Secret plan/);
	const { action } = Oauth.form(page);
	assert.equal(action, `/oauth/sign-in?${query}`);
	const own = { origin: o.url, 'sec-fetch-site': 'same-origin' };
	const bad = await o.post(action, { email, password: 'wrong password' }, own);
	assert.equal(bad.status, 401);
	assert.match(bad.text, /do not belong together/);
	assert.equal((await o.post(action, { email: '', password: '' }, own)).status, 400);
	assert.equal((await o.post(action, { email, password }, { origin: 'https://evil.example' })).status, 403, 'login CSRF');
	const good = await o.post(action, { email, password }, own);
	assert.deepEqual([good.status, good.headers.get('location'), Oauth.leads(good)], [200, null, `/oauth/authorize?${query}`], 'no redirect out of a form: what it ends at is not our policy’s to stop');
	const cookie = good.headers.get('set-cookie');
	assert.match(cookie, /^__Host-sid=.*HttpOnly; SameSite=Strict$/);
	assert.match((await o.page(query, { headers: () => ({ cookie: cookie.split(';')[0] }) })).text, /Let “Secret plan” act for you\?/);
});

test('ID-8 guesses on this page are counted with those of the API', async () => {
	const email = 'guessed@example.org', own = { origin: o.url };
	const answers = [];
	for (let i = 0; i < 11; i++) answers.push((await o.post('/oauth/sign-in?x=1', { email, password: 'a wrong password' }, own)).status);
	assert.deepEqual([...new Set(answers.slice(0, 10)), answers[10]], [401, 429]);
	assert.equal((await w.server.post('/api/v1/session', { email, password: 'a wrong password' })).status, 429);
});

test('a browser that comes from elsewhere without our cookie is sent round once by our own page', async () => {
	const query = o.query(await o.client(), pkce());
	const page = await o.page(query, undefined, { 'sec-fetch-site': 'cross-site' });
	assert.equal(page.status, 200);
	assert.ok(page.text.includes(`<meta http-equiv="refresh" content="0; url=/oauth/authorize?${query.replaceAll('&', '&amp;')}">`));
	assert.doesNotMatch((await o.page(query)).text, /http-equiv/);
});

test('ID-8 where there is an identity provider the page leads there, and it leads back to the request', async () => {
	const puppet = await Puppet.start();
	const server = await startSetUp({ args: ['--public-url', publicUrl, '--oidc-issuer', puppet.issuer, '--oidc-client-id', 'countersign'] });
	const there = new Oauth(server.url);
	there.resource = `${publicUrl}/mcp`;
	const query = there.query(await there.client(), pkce());
	const link = /href="(\/api\/v1\/session\/oidc\?[^"]*)"/.exec((await there.page(query)).text)[1];
	const start = await there.ask(link.replaceAll('&amp;', '&'));
	assert.equal(start.status, 303, start.text);
	const email = 'by-provider@example.org';
	await ok(server.as(server.first.adminToken).post('/api/v1/members', { name: 'P', email, signIn: 'provider', roles: ['proposer'] }));
	const back = new URLSearchParams(puppet.approve(start.headers.get('location')));
	puppet.says = { claims: { sub: 'p', email, email_verified: true } };
	const end = await there.ask(`${oidcCallback}?${back}`, { headers: { cookie: start.headers.get('set-cookie').split(';')[0] } });
	assert.equal(end.headers.get('location'), `/oauth/authorize?${query}`, end.text);
	const cookie = end.headers.getSetCookie().find((text) => text.startsWith('__Host-sid=')).split(';')[0];
	assert.match((await there.page(query, { headers: () => ({ cookie }) })).text, /act for you\?/);
	const long = await there.page(there.query(await there.client(), pkce(), { state: '<'.repeat(900) }));
	assert.match(long.text, /Sign in to let/);
	assert.doesNotMatch(long.text, /session\/oidc/, 'what does not fit the cookie is not offered');
	await server.stop();
	await puppet.stop();
});

// --- registration ---

test('registration: public clients, with redirect URIs that are sound', async () => {
	const good = await o.register({ token_endpoint_auth_method: 'client_secret_post', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], application_type: 'native', unknown: { a: 1 } });
	assert.equal(good.status, 201);
	assert.equal(good.headers.get('access-control-allow-origin'), '*');
	assert.deepEqual({ ...good.json, client_id: '', client_id_issued_at: 0 }, { client_id: '', client_id_issued_at: 0, client_name: 'Test client', redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' });
	assert.equal((await o.register({ redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'https://app.example/cb', 'com.example.app:/cb'] })).status, 201);
	for (const uri of ['http://app.example/cb', 'https://app.example/cb#x', 'https://user@app.example/', 'javascript:alert(1)', 'data:text/html,x', 'myapp:/cb', 'HTTPS://app.example/', 'https://', 'https:/x', 'http://127.0.0.1.evil.example/', 'http://127.1/', 'https://a b/', 'https://ä.example/', `https://app.example/${'x'.repeat(600)}`, '', 7, null])
		wrong(await o.register({ redirect_uris: [callback, uri] }), 'invalid_redirect_uri');
	for (const redirect_uris of [[], 'x', undefined, Array(11).fill(callback)]) wrong(await o.register({ redirect_uris }), 'invalid_redirect_uri');
	wrong(await o.register({ grant_types: ['client_credentials'] }), 'invalid_client_metadata');
	wrong(await o.register({ response_types: ['token'] }), 'invalid_client_metadata');
	wrong(await o.register({ client_name: 7 }), 'invalid_client_metadata');
	wrong(await o.register({ client_name: 'x'.repeat(600) }), 'invalid_client_metadata');
	for (const body of ['[]', '{', '"x"']) wrong(await o.ask('/oauth/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body }), 'invalid_client_metadata');
	assert.equal((await o.ask('/oauth/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"x":"${'x'.repeat(20000)}"}` })).status, 413);
});

test('a flood of registrations from one address is throttled, exactly, over all servers, with Retry-After', async () => {
	const most = 7, server = await startSetUp({ args: ['--oauth-registrations', String(most)] });
	const others = onPostgres ? [await startServer({ ...server.options, database: server.database })] : [];
	const sites = [server, ...others].map(({ url }) => new Oauth(url));
	const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => sites[i % sites.length].register()));
	assert.equal(answers.filter(({ status }) => status === 201).length, most);
	for (const answer of answers.filter(({ status }) => status !== 201)) {
		wrong(answer, 'too_many_requests', 429);
		const wait = Number(answer.headers.get('retry-after'));
		assert.ok(wait > 3500 && wait <= 3601, String(wait));
	}
	for (const one of others) await one.stop();
	const later = await behindTheBack(server, 'UPDATE oauth_try SET since = since - 3601000000');
	assert.equal((await new Oauth(later.url).register()).status, 201, 'an hour later there is room again');
	await later.stop();
});

test('what nobody has agreed to is bounded over all addresses: a full house is 429, and the sweep makes room', async () => {
	const server = await startSetUp({ args: ['--oauth-registrations', '100000'] });
	const many = (at) => `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO oauth_client (client_id, name, redirect_uris, created_at) SELECT 'x' || i, '', '[]', ${at} FROM n`;
	const full = await behindTheBack(server, many(Date.now() * 1000)), there = new Oauth(full.url);
	assert.equal(wrong(await there.register(), 'too_many_requests', 429).headers.get('retry-after'), '600');
	const later = await behindTheBack(full, 'UPDATE oauth_client SET created_at = 1');
	await until(async () => (await new Oauth(later.url).register()).status === 201, 'room');
	await later.stop();
});

test('registration can be switched off; clients that are known go on', async () => {
	const server = await startSetUp(), there = new Oauth(server.url), clientId = await there.client();
	await server.stop({ keep: true });
	const off = Object.assign(await startServer({ database: server.database, args: ['--oauth-registrations', '0'] }), { database: server.database });
	const now = new Oauth(off.url);
	assert.equal((await now.ask('/.well-known/oauth-authorization-server')).json.registration_endpoint, undefined);
	wrong(await now.register(), 'access_denied', 403);
	const admin = await off.post('/api/v1/session', { email: server.first.adminEmail, password: server.first.adminPassword });
	const person = { headers: () => ({ cookie: admin.headers.get('set-cookie').split(';')[0] }) };
	assert.ok(Oauth.back(await now.decide(now.query(clientId, pkce()), person)).code);
	await off.stop();
});

test('clients that nobody agreed to are forgotten after a day; others stay', async () => {
	const unused = await o.client(), used = (await o.tokens(ada)).clientId;
	await w.change('UPDATE oauth_client SET created_at = created_at - 86401000000');
	o = new Oauth(w.server.url);
	const known = async (id) => (await o.page(o.query(id, pkce()), ada)).status === 200;
	await until(async () => !(await known(unused)), 'the sweep');
	assert.ok(await known(used));
});
