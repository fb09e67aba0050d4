// SPDX-License-Identifier: Apache-2.0
// exec/mcp as a client of OAuth (EX-3): tokens are got, renewed and forgotten; who breaks the rules gets nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onPostgres } from './lib/server.mjs';
import { client, sendJson } from './lib/mcpclient.mjs';
import { protectedServer } from './lib/protected.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: there is no database in it';

const open = (t, server, oauth) => client(t, server.url, { era: 'modern', options: { oauth: { visit: true, ...oauth } } });

test('EX-3 a token is asked for once, with PKCE, the resource and the scopes, and used from then on', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server);
	assert.equal((await c.call('x')).end, 'done');
	assert.equal((await c.call('x')).end, 'done');
	assert.deepEqual([server.state.executed, server.state.asked.length, server.state.registered.length], [2, 1, 1]);
	const [form] = server.state.asked;
	assert.deepEqual([form.grant_type, form.resource, form.client_id, form.client_secret, form.redirect_uri], ['authorization_code', server.url, 'dynamic', 'planted-client-secret', 'https://countersign.example/callback']);
	assert.deepEqual(server.state.registered[0].redirect_uris, ['https://countersign.example/callback']);
	assert.equal(server.state.registered[0].application_type, 'web');
});

test('EX-3 many calls without a token send one person away, not many', { skip }, async (t) => {
	const server = await protectedServer(t);
	const answers = await open(t, server).calls('x', { times: 8 });
	assert.ok(answers.every(({ end }) => end === 'done'), JSON.stringify(answers));
	assert.equal(server.state.asked.length, 1);
});

test('EX-3 a token that is over is renewed before it is used, and one that is refused after it', { skip }, async (t) => {
	const server = await protectedServer(t);
	server.state.life = 10; // as good as over
	const c = open(t, server);
	assert.equal((await c.call('x')).end, 'done');
	server.state.life = 3600;
	assert.equal((await c.call('x')).end, 'done');
	assert.equal(server.state.asked.at(-1).grant_type, 'refresh_token');
	const renewed = server.state.refreshed;
	server.state.tokens.clear(); // revoked
	assert.equal((await c.call('x')).end, 'done');
	assert.equal(server.state.refreshed, renewed + 1);
	assert.equal(server.state.executed, 3);
});

test('EX-3 a refresh token that is not taken is forgotten, and somebody is asked again', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server);
	assert.equal((await c.call('x')).end, 'done');
	server.state.tokens.clear();
	server.state.refuses.add('planted-refresh-2');
	assert.equal((await c.call('x')).end, 'done');
	assert.deepEqual(server.state.asked.map(({ grant_type: type }) => type), ['authorization_code', 'refresh_token', 'authorization_code']);
});

test('EX-3 where nobody is there the call is refused, and an administrator authorizes in two steps', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server, { visit: false });
	const refused = await c.call('x');
	assert.equal(refused.end, 'refused'); // by the server: nothing was done
	assert.match(refused.why, /authorization that somebody has to give at http:.*\/as/);
	const { status, url, kept } = await c.authorize();
	assert.equal(status, 'ok');
	const asked = new URL(url);
	assert.equal(asked.searchParams.get('tenant'), '1');
	assert.equal(asked.searchParams.get('scope'), 'read offline_access');
	assert.equal(asked.searchParams.get('prompt'), 'consent');
	const back = (await fetch(url, { redirect: 'manual' })).headers.get('location');
	const wrong = new URL(back);
	wrong.searchParams.set('state', 'other');
	assert.equal((await c.authorize(kept, wrong.href)).status, 'unauthenticated');
	assert.equal((await c.authorize(kept, `${back}&state=other`)).status, 'unauthenticated');
	assert.equal((await c.authorize('nonsense', back)).status, 'internal');
	assert.equal((await c.authorize(kept, back)).status, 'ok');
	assert.equal((await c.call('x')).end, 'done');
});

test('EX-3 registered by hand, or by a document, nobody is registered', { skip }, async (t) => {
	const server = await protectedServer(t);
	assert.equal((await open(t, server, { client_id: 'by hand', client_secret: 'se cret' }).call('x')).end, 'done');
	assert.deepEqual([server.state.asked[0].client_id, server.state.asked[0].client_secret, server.state.registered.length], ['by hand', 'se cret', 0]);
	const other = await protectedServer(t, { documents: { '/.well-known/oauth-authorization-server/as': ({ origin }) => ({ issuer: `${origin}/as`, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, code_challenge_methods_supported: ['S256'], client_id_metadata_document_supported: true }) } });
	assert.equal((await open(t, other, { document_url: 'https://countersign.example/client.json' }).call('x')).end, 'done');
	assert.equal(other.state.asked[0].client_id, 'https://countersign.example/client.json');
});

test('EX-3 a server from before the metadata is its own authorization server', { skip }, async (t) => {
	const server = await protectedServer(t, { documents: {
		'/.well-known/oauth-protected-resource/mcp': undefined,
		'/.well-known/openid-configuration': ({ origin }) => ({ issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`, code_challenge_methods_supported: ['S256'] }),
	}, back: { iss: null } });
	assert.equal((await open(t, server).call('x')).end, 'done');
});

const as = (more) => ({ '/.well-known/oauth-authorization-server/as': ({ origin }) => ({ issuer: `${origin}/as`, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`, code_challenge_methods_supported: ['S256'], ...more }) });
const rules = {
	'a resource elsewhere': [{ documents: { '/.well-known/oauth-protected-resource/mcp': ({ origin }) => ({ resource: `${origin}/mcpx`, authorization_servers: [`${origin}/as`] }) } }, /about another resource/],
	'no authorization server': [{ documents: { '/.well-known/oauth-protected-resource/mcp': ({ url }) => ({ resource: url, authorization_servers: [] }) } }, /names no authorization server/],
	'an authorization server that is no address': [{ documents: { '/.well-known/oauth-protected-resource/mcp': ({ url }) => ({ resource: url, authorization_servers: ['file:///etc'] }) } }, /not https/],
	'metadata elsewhere that is no address': [{ challenge: () => 'Bearer resource_metadata="ftp://x/y"' }, /not https/],
	'metadata that is no object': [{ documents: { '/.well-known/oauth-protected-resource/mcp': () => [] } }, /no JSON object/],
	'no description': [{ documents: { '/.well-known/oauth-authorization-server/as': undefined } }, /does not describe itself/],
	'another issuer': [{ documents: as({ issuer: 'https://evil.example' }) }, /another name/],
	'no PKCE': [{ documents: as({ code_challenge_methods_supported: undefined }) }, /PKCE/],
	'a token endpoint without protection': [{ documents: as({ token_endpoint: 'gopher://x' }) }, /missing or is not https/],
	'no registration': [{ documents: as({ registration_endpoint: undefined }) }, /registers nobody by itself/],
	'a registration that fails': [{ documents: { ...as({ registration_endpoint: 'http://127.0.0.1:1/register' }) } }, /does not answer/],
	'a refusal': [{ back: { error: 'access_denied' } }, /did not agree/],
	'another who answers': [{ back: { iss: 'https://evil.example' } }, /another authorization server/],
	'who does not say who answers': [{ back: { iss: null } }, /does not say which/],
	'another state': [{ back: { state: 'x' } }, /not the answer/],
	'no code': [{ back: { code: null } }, /did not agree/],
	'a token of another kind': [{ token: (response) => sendJson(response, 200, { access_token: 'a', token_type: 'mac' }) }, /kind that we do not know/],
	'no token': [{ token: (response) => sendJson(response, 500, {}) }, /gives no token: HTTP 500/],
	'a code that is not taken': [{ token: (response) => sendJson(response, 400, { error: 'invalid_grant' }) }, /begin again/],
};

for (const [name, [change, why]] of Object.entries(rules)) {
	test(`EX-3 OAuth ends at ${name}`, { skip }, async (t) => {
		const server = await protectedServer(t, change);
		const answer = await open(t, server).call('x');
		assert.match(answer.why, why, JSON.stringify(answer));
		assert.notEqual(answer.end, 'done');
		assert.notEqual(answer.end, 'lost');
		assert.equal(server.state.executed, 0);
	});
}

test('EX-3 a machine gets its token by its own word, and again when it is over', { skip }, async (t) => {
	const machine = { documents: { '/.well-known/oauth-authorization-server/as': ({ origin }) => ({ issuer: `${origin}/as`, token_endpoint: `${origin}/token` }) } };
	const server = await protectedServer(t, machine);
	server.state.life = 10; // as good as over
	const c = open(t, server, { visit: false, machine: true, client_id: 'robot', client_secret: 'beep boop', issuer: `${server.origin}/as`, scope: 'more' });
	assert.equal((await c.call('x')).end, 'done');
	const [form] = server.state.asked;
	assert.deepEqual([form.grant_type, form.scope, form.resource, form.client_secret], ['client_credentials', 'more read', server.url, undefined], 'the secret goes by Basic');
	assert.equal((await c.call('x')).end, 'done');
	assert.ok(server.state.asked.length > 1);
	server.state.tokens.clear();
	assert.equal((await c.call('x')).end, 'done');
});

test('EX-3 a machine that is refused, and one whose server names another authorization server, have told nobody their secret', { skip }, async (t) => {
	const server = await protectedServer(t, { token: (response) => sendJson(response, 401, { error: 'invalid_client' }) });
	const robot = { visit: false, machine: true, client_id: 'robot', client_secret: 'beep' };
	assert.match((await open(t, server, { ...robot, issuer: `${server.origin}/as` }).call('x')).why, /refuses it \(invalid_client\)/);
	const asked = server.state.asked.length;
	assert.match((await open(t, server, { ...robot, issuer: 'https://as.example' }).call('x')).why, /another authorization server than the one that knows us/);
	assert.equal(server.state.asked.length, asked);
	const never = await protectedServer(t, { refuses: true }); // whatever token it gives
	assert.match((await open(t, never, { ...robot, issuer: `${never.origin}/as` }).call('x')).why, /authorization that somebody has to give/);
	assert.equal(never.state.asked.length, 2, 'once for its list, once for the call');
});

test('EX-3 a server that refuses what it has just given is asked once, not again and again', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server, { visit: false });
	const { url, kept } = await c.authorize();
	assert.equal((await c.authorize(kept, (await fetch(url, { redirect: 'manual' })).headers.get('location'))).status, 'ok');
	assert.equal((await c.call('x')).end, 'done');
	server.state.never = true;
	assert.match((await c.call('x')).why, /authorization that somebody has to give/);
	assert.equal(server.state.refreshed, 1);
});

test('EX-3 who wants more scope than it has stops one call, and the next authorization asks for it', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server, { visit: false });
	const { url, kept } = await c.authorize();
	await c.authorize(kept, (await fetch(url, { redirect: 'manual' })).headers.get('location'));
	server.state.wants = 'delete';
	assert.match((await c.call('x')).why, /wants more than it was authorized for/);
	server.state.wants = undefined;
	assert.equal((await c.call('x')).end, 'done', 'what it has is as good as before');
	assert.match(new URL((await c.authorize()).url).searchParams.get('scope'), /\bdelete\b/);
});

test('EX-3 a server that wants credentials and says nothing of them is not taken for one of OAuth', { skip }, async (t) => {
	const server = await protectedServer(t, { documents: { '/.well-known/oauth-protected-resource/mcp': undefined } });
	assert.match((await open(t, server, { visit: false }).call('x')).why, /a token that somebody enters/);
});
