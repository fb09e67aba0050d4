// SPDX-License-Identifier: Apache-2.0
// Identity providers for tests: npm's oidc-provider, and one that says whatever a test wants it to say.
import crypto, { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';

import { secretToo } from './secret.mjs';

export const clientId = 'countersign', clientSecret = 'a secret: with/odd?characters&% +~"';
secretToo(clientSecret);
export const publicUrl = 'https://countersign.example';
export const callback = '/api/v1/session/oidc/callback';

const b64 = (value) => Buffer.from(typeof value === 'object' && !Buffer.isBuffer(value) ? JSON.stringify(value) : value).toString('base64url');
const keyPairs = { RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }), EC: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }) };

/** A key with its JWK; more overrides members of the JWK. */
export function newKey(kty, kid, more = {}) {
	const { publicKey, privateKey } = keyPairs[kty] ? keyPairs[kty]() : generateKeyPairSync('rsa', { modulusLength: kty });
	return { publicKey, privateKey, kid, jwk: { ...publicKey.export({ format: 'jwk' }), kid, ...more } };
}

const signers = {
	RS256: (text, key) => sign('sha256', text, key.privateKey),
	RS512: (text, key) => sign('sha512', text, key.privateKey),
	ES256: (text, key) => sign('sha256', text, { key: key.privateKey, dsaEncoding: 'ieee-p1363' }),
	ES256DER: (text, key) => sign('sha256', text, key.privateKey),
	HS256: (text, key) => createHmac('sha256', key.secret).update(text).digest(),
	none: () => Buffer.alloc(0),
};

export function makeToken(claims, { alg = 'RS256', by = alg, key, header = {} }) {
	const text = `${b64({ alg, kid: key?.kid, ...header })}.${b64(claims)}`;
	return `${text}.${b64(signers[by](Buffer.from(text), key))}`;
}

export const atHash = (token) => b64(createHash('sha256').update(token).digest().subarray(0, 16));

/**
 * A provider whose every answer a test can change: `says` is what the next tokens hold and how they are signed,
 * `answer` replaces the answer of a path. It checks what it is sent as a real one does.
 */
export class Puppet {
	static async start({ tls } = {}) {
		const p = new Puppet();
		p.rsa = newKey('RSA', 'rsa-1');
		p.ec = newKey('EC', 'ec-1');
		p.keys = [p.rsa.jwk, p.ec.jwk, { kty: 'OKP', crv: 'Ed25519', kid: 'of-another-kind', x: 'AA' }];
		p.server = tls ? https.createServer(tls) : http.createServer();
		p.server.on('request', (request, response) => p.serve(request, response).catch((error) => response.destroy(error)));
		p.server.listen(0, '127.0.0.1');
		await once(p.server, 'listening');
		p.issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${p.server.address().port}`;
		p.reset();
		return p;
	}

	reset() {
		Object.assign(this, { answer: {}, page: {}, says: {}, seen: [], problems: [] });
	}

	async stop() {
		this.server.closeAllConnections();
		this.server.close();
		await once(this.server, 'close');
	}

	count(path) {
		return this.seen.filter((request) => request.path === path).length;
	}

	describe() {
		const at = (path) => this.issuer + path;
		return { issuer: this.issuer, authorization_endpoint: at('/auth?already=there'), token_endpoint: at('/token'), jwks_uri: at('/jwks'), userinfo_endpoint: at('/me'), code_challenge_methods_supported: ['S256'], authorization_response_iss_parameter_supported: true, ...this.page };
	}

	idToken() {
		const now = Math.floor(Date.now() / 1000), { claims = {}, key = this.rsa, raw } = this.says;
		if (raw) return raw;
		const all = { iss: this.issuer, aud: clientId, sub: 'subject-1', nonce: this.nonce, iat: now, exp: now + 300, email: 'nobody@example.org', email_verified: true, ...claims };
		return makeToken(all, { ...this.says, key });
	}

	check(what, good) {
		if (!good) this.problems.push(what);
	}

	token(request, form) {
		const escaped = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
		const basic = `Basic ${Buffer.from(`${escaped(clientId)}:${escaped(clientSecret)}`).toString('base64')}`;
		if (this.publicClient) this.check('a public client names itself', form.get('client_id') === clientId && !request.headers.authorization);
		else if (this.page.token_endpoint_auth_methods_supported) this.check('the secret in the body', form.get('client_secret') === clientSecret && form.get('client_id') === clientId && !request.headers.authorization);
		else this.check('the secret by Basic, escaped', request.headers.authorization === basic && !form.has('client_secret'));
		this.check('the type of the form', request.headers['content-type'] === 'application/x-www-form-urlencoded');
		this.check('the grant', form.get('grant_type') === 'authorization_code');
		this.check('the redirect URI', form.get('redirect_uri') === publicUrl + callback);
		this.check('PKCE', createHash('sha256').update(form.get('code_verifier')).digest('base64url') === this.challenge);
		if (form.get('code') !== this.code) return { status: 400, body: { error: 'invalid_grant' } };
		return { body: { token_type: 'Bearer', access_token: 'access', expires_in: 60, id_token: this.idToken(), ...this.says.answer } };
	}

	me(request) {
		this.check('the access token', request.headers.authorization === 'Bearer access');
		return { body: { sub: 'subject-1', ...this.says.userinfo } };
	}

	async serve(request, response) {
		const path = new URL(request.url, this.issuer).pathname;
		let text = '';
		for await (const chunk of request.setEncoding('utf8')) text += chunk;
		this.seen.push({ path, text, headers: request.headers });
		const replaced = this.answer[path];
		if (typeof replaced === 'function') return replaced(response);
		const { status = 200, body, headers = {} } = replaced ?? this.route(path, request, new URLSearchParams(text));
		response.writeHead(status, { 'content-type': 'application/json', ...headers });
		response.end(typeof body === 'string' ? body : JSON.stringify(body));
	}

	route(path, request, form) {
		if (path === '/.well-known/openid-configuration') return { body: this.describe() };
		if (path === '/jwks') return { body: { keys: this.keys } };
		if (path === '/token') return this.token(request, form);
		if (path === '/me') return this.me(request);
		return { status: 404, body: {} };
	}

	/** The browser has signed in here: gives the query that it brings back. */
	approve(location) {
		const url = new URL(location), query = url.searchParams;
		this.nonce = query.get('nonce');
		this.challenge = query.get('code_challenge');
		this.code = randomBytes(8).toString('hex');
		return { code: this.code, state: query.get('state'), iss: this.issuer };
	}
}

// --- npm's ---

/** Why npm's oidc-provider cannot run here (Debian 12's Node 18), or false. */
export const noReal = typeof crypto.hash !== 'function' && `skipped: npm's oidc-provider needs Node 20.12 or later, this is ${process.version}`;

/** npm's oidc-provider. It asks for Node 22; what early versions of 20 miss is lent to it. */
export async function startReal({ port = 0, kid = 'one', alg = 'RS256', claimsInToken = false, accounts = {} } = {}) {
	URL.parse ??= (text, base) => {
		try {
			return new URL(text, base);
		} catch {
			return null;
		}
	};
	const warn = console.warn;
	console.warn = console.info = () => {}; // about its age, and that it is for development
	const { Provider } = await import('oidc-provider');
	const listener = http.createServer();
	listener.listen(port, '127.0.0.1');
	await once(listener, 'listening');
	const issuer = `http://127.0.0.1:${listener.address().port}`;
	const { privateKey } = keyPairs[alg === 'ES256' ? 'EC' : 'RSA']();
	const provider = new Provider(issuer, {
		clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [publicUrl + callback], grant_types: ['authorization_code'], response_types: ['code'], token_endpoint_auth_method: 'client_secret_basic', id_token_signed_response_alg: alg }],
		jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg, kid }] },
		cookies: { keys: ['a key for cookies'] },
		pkce: { required: () => true },
		claims: { openid: ['sub'], email: ['email', 'email_verified'] },
		conformIdTokenClaims: !claimsInToken,
		findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...accounts[sub] }) }),
	});
	console.warn = warn;
	listener.on('request', provider.callback());
	const stop = async () => {
		listener.closeAllConnections();
		listener.close();
		await once(listener, 'close');
	};
	return { issuer, port: listener.address().port, stop };
}

/** Signs in at the real one as a browser would, from our redirect to the redirect back; gives that address. */
export async function driveReal(location, login) {
	const jar = new Map();
	const visit = async (url, options = {}) => {
		const response = await fetch(url, { redirect: 'manual', ...options, headers: { ...options.headers, cookie: [...jar].map((pair) => pair.join('=')).join('; ') } });
		for (const cookie of response.headers.getSetCookie()) {
			const [name, ...value] = cookie.split(';')[0].split('=');
			jar.set(name, value.join('='));
		}
		return response;
	};
	const form = (fields) => ({ method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams(fields).toString() });
	let url = location;
	for (let steps = 0; steps < 20; steps++) {
		const response = await visit(url);
		const text = await response.text();
		let next = response.headers.get('location');
		if (!next) {
			const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
			if (!prompt) throw new Error(`no way on at ${url}: ${response.status} ${text}`);
			const posted = await visit(url, form(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt }));
			next = posted.headers.get('location');
		}
		url = new URL(next, url).href;
		if (url.startsWith(publicUrl)) return url;
	}
	throw new Error('the provider sends the browser around in circles');
}
