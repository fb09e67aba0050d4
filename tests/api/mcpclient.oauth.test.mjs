// SPDX-License-Identifier: Apache-2.0
// exec/mcp as a client of OAuth (EX-3): tokens are got, renewed and forgotten; who breaks the rules gets nothing.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { test } from 'node:test';

import { onPostgres } from './lib/server.mjs';
import { client, result, sendJson, serve } from './lib/mcpclient.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: there is no database in it';

// A server of the new era that wants tokens, and its authorization server, in one. `change` overrides a document.
async function protectedServer(t, change = {}) {
	const state = { tokens: new Set(), codes: new Map(), asked: [], executed: 0, refreshed: 0, registered: [], refuses: new Set(), life: 3600, count: 0 };
	const origin = () => server.origin;
	const documents = {
		'/.well-known/oauth-protected-resource/mcp': () => ({ resource: server.url, authorization_servers: [`${origin()}/as`], scopes_supported: ['read', 'write'] }),
		'/.well-known/oauth-authorization-server/as': () => ({ issuer: `${origin()}/as`, authorization_endpoint: `${origin()}/authorize?tenant=1`, token_endpoint: `${origin()}/token`, registration_endpoint: `${origin()}/register`, code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['client_secret_post'], authorization_response_iss_parameter_supported: true, scopes_supported: ['read', 'write', 'offline_access'] }),
		...change.documents,
	};
	const give = (response, scope) => {
		const access = `access-${++state.count}`;
		state.tokens.add(access);
		sendJson(response, 200, { access_token: access, token_type: 'bearer', expires_in: state.life, refresh_token: `refresh-${state.count}`, scope });
	};
	const paths = {
		'/register': (request, response, body) => {
			state.registered.push(body);
			sendJson(response, 201, { client_id: 'dynamic', client_secret: 'shh', token_endpoint_auth_method: 'client_secret_post' });
		},
		'/authorize': (request, response) => {
			const query = new URL(request.url, origin()).searchParams;
			const back = new URL(query.get('redirect_uri'));
			state.codes.set('code', query);
			for (const [key, value] of Object.entries({ code: 'code', state: query.get('state'), iss: `${origin()}/as`, ...change.back }))
				if (value !== null)
					back.searchParams.set(key, value);
			response.writeHead(302, { Location: back.href }).end();
		},
		'/token': (request, response, body, text) => {
			const form = new URLSearchParams(text);
			state.asked.push(Object.fromEntries(form));
			if (change.token)
				return change.token(response, form);
			if (form.get('grant_type') === 'refresh_token') {
				state.refreshed++;
				if (state.refuses.has(form.get('refresh_token')))
					return sendJson(response, 400, { error: 'invalid_grant' });
				return give(response);
			}
			const start = state.codes.get(form.get('code'));
			state.codes.delete(form.get('code'));
			assert.equal(crypto.createHash('sha256').update(form.get('code_verifier')).digest('base64url'), start.get('code_challenge'));
			return give(response, start.get('scope'));
		},
		'/mcp': (request, response, message) => {
			const token = (request.headers.authorization ?? '').replace('Bearer ', '');
			if (!state.tokens.has(token))
				return response.writeHead(401, { 'WWW-Authenticate': change.challenge?.(server) ?? 'Basic realm="x", Bearer error="invalid_token", scope="read"' }).end();
			if (message.method === 'tools/call')
				state.executed++;
			return sendJson(response, 200, result(message, message.method === 'tools/list' ? { resultType: 'complete', tools: [] } : { resultType: 'complete', content: [] }));
		},
	};
	const server = await serve(t, (request, response, body, text) => {
		const path = new URL(request.url, 'http://x').pathname;
		if (documents[path])
			return sendJson(response, 200, documents[path](server));
		if (paths[path])
			return paths[path](request, response, body, text);
		return response.writeHead(404).end();
	});
	return { ...server, state };
}
const open = (t, server, oauth) => client(t, server.url, { era: 'modern', options: { oauth: { visit: true, ...oauth } } });

test('EX-3 a token is asked for once, with PKCE, the resource and the scopes, and used from then on', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server);
	assert.equal((await c.call('x')).end, 'done');
	assert.equal((await c.call('x')).end, 'done');
	assert.deepEqual([server.state.executed, server.state.asked.length, server.state.registered.length], [2, 1, 1]);
	const [form] = server.state.asked;
	assert.deepEqual([form.grant_type, form.resource, form.client_id, form.client_secret, form.redirect_uri], ['authorization_code', server.url, 'dynamic', 'shh', 'https://countersign.example/callback']);
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
	server.state.refuses.add('refresh-1');
	assert.equal((await c.call('x')).end, 'done');
	assert.deepEqual(server.state.asked.map(({ grant_type: type }) => type), ['authorization_code', 'refresh_token', 'authorization_code']);
});

test('EX-3 where nobody is there the call is refused, and an administrator authorizes in two steps', { skip }, async (t) => {
	const server = await protectedServer(t);
	const c = open(t, server, { visit: false });
	const refused = await c.call('x');
	assert.equal(refused.end, 'refused'); // by the server: nothing was done
	assert.match(refused.why, /authorization that somebody has to give at http:.*\/as/);
	const { status, url } = await c.authorize();
	assert.equal(status, 'ok');
	const asked = new URL(url);
	assert.equal(asked.searchParams.get('tenant'), '1');
	assert.equal(asked.searchParams.get('scope'), 'read offline_access');
	assert.equal(asked.searchParams.get('prompt'), 'consent');
	const back = (await fetch(url, { redirect: 'manual' })).headers.get('location');
	const wrong = new URL(back);
	wrong.searchParams.set('state', 'other');
	assert.equal((await c.authorize(wrong.href)).status, 'unauthenticated');
	assert.equal((await c.authorize(`${back}&state=other`)).status, 'unauthenticated');
	assert.equal((await c.authorize(back)).status, 'ok');
	assert.equal((await c.authorize(back)).status, 'unauthenticated'); // once
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
