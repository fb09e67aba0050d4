// SPDX-License-Identifier: Apache-2.0
// A server of the new era that wants tokens, and its authorization server, in one.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';

import { result, sendJson, serve } from './mcpclient.mjs';

/**
 * change: documents, by path, in place of its own; back: parameters of the way back; token(response, form); challenge.
 * state: what it was asked, and what a test can set: tools, life (of a token), rotates (a refresh token is good once, and
 * ends everything when it comes again), hold (before a token is given), refuses, never (whatever the token), wants (a scope).
 */
export async function protectedServer(t, change = {}) {
	const state = { tokens: new Set(), refresh: new Set(), codes: new Map(), asked: [], revoked: [], requests: [], executed: 0, refreshed: 0, reused: 0, registered: [], refuses: new Set(), life: 3600, count: 0, tools: [], never: change.refuses };
	const origin = () => server.origin;
	const documents = {
		'/.well-known/oauth-protected-resource/mcp': () => ({ resource: server.url, authorization_servers: [`${origin()}/as`], scopes_supported: ['read', 'write'] }),
		'/.well-known/oauth-authorization-server/as': () => ({ issuer: `${origin()}/as`, authorization_endpoint: `${origin()}/authorize?tenant=1`, token_endpoint: `${origin()}/token`, registration_endpoint: `${origin()}/register`, revocation_endpoint: `${origin()}/revoke`, code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: ['client_secret_post'], authorization_response_iss_parameter_supported: true, scopes_supported: ['read', 'write', 'offline_access'] }),
		...change.documents,
	};
	const give = (response, scope, refreshes = true) => {
		const access = `planted-access-${++state.count}`, refresh = `planted-refresh-${state.count}`;
		state.tokens.add(access);
		state.refresh.add(refresh);
		sendJson(response, 200, { access_token: access, token_type: 'bearer', expires_in: state.life, ...(refreshes ? { refresh_token: refresh } : {}), scope });
	};
	const renew = (response, token) => {
		state.refreshed++;
		if (state.rotates && !state.refresh.delete(token)) {
			state.reused++;
			state.tokens.clear();
			state.refresh.clear();
		} else if (!state.refuses.has(token)) {
			return give(response);
		}
		return sendJson(response, 400, { error: 'invalid_grant' });
	};
	const paths = {
		'/register': (request, response, body) => {
			state.registered.push(body);
			sendJson(response, 201, { client_id: 'dynamic', client_secret: 'planted-client-secret', token_endpoint_auth_method: 'client_secret_post' });
		},
		'/authorize': (request, response) => {
			const query = new URL(request.url, origin()).searchParams;
			const back = new URL(query.get('redirect_uri')), code = `planted-code-${++state.count}`;
			state.codes.set(code, query);
			for (const [key, value] of Object.entries({ code, state: query.get('state'), iss: `${origin()}/as`, ...change.back }))
				if (value !== null)
					back.searchParams.set(key, value);
			response.writeHead(302, { Location: back.href }).end();
		},
		'/token': async (request, response, body, text) => {
			const form = new URLSearchParams(text);
			state.asked.push(Object.fromEntries(form));
			if (change.token)
				return change.token(response, form);
			await state.hold?.();
			if (form.get('grant_type') === 'client_credentials')
				return give(response, form.get('scope'), false);
			if (form.get('grant_type') === 'refresh_token')
				return renew(response, form.get('refresh_token'));
			const start = state.codes.get(form.get('code'));
			state.codes.delete(form.get('code'));
			assert.equal(crypto.createHash('sha256').update(form.get('code_verifier')).digest('base64url'), start.get('code_challenge'));
			return give(response, start.get('scope'));
		},
		'/revoke': (request, response, body, text) => {
			state.revoked.push(Object.fromEntries(new URLSearchParams(text)));
			response.writeHead(200).end();
		},
		'/mcp': (request, response, message) => {
			const token = (request.headers.authorization ?? '').replace('Bearer ', '');
			state.requests.push({ method: message.method, token });
			if (!state.tokens.has(token) || state.never)
				return response.writeHead(401, { 'WWW-Authenticate': change.challenge?.(server) ?? 'Basic realm="x", Bearer error="invalid_token", scope="read"' }).end();
			if (state.wants && message.method === 'tools/call')
				return response.writeHead(403, { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${state.wants}"` }).end();
			if (message.method === 'server/discover')
				return sendJson(response, 200, result(message, { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }));
			if (message.method === 'tools/call')
				state.executed++;
			return sendJson(response, 200, result(message, message.method === 'tools/list' ? { resultType: 'complete', tools: state.tools } : { resultType: 'complete', content: [] }));
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
