// SPDX-License-Identifier: Apache-2.0
// The steps of OAuth by hand: register, authorize as a browser would, redeem. Each gives the answer as it is.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';

export const callback = 'http://127.0.0.1:7777/callback';

export function pkce() {
	const verifier = randomBytes(32).toString('base64url');
	return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

async function read(response) {
	const text = await response.text();
	const type = response.headers.get('content-type') ?? '';
	return { status: response.status, headers: response.headers, text, json: type === 'application/json' ? JSON.parse(text) : undefined };
}

const unescaped = (text) => text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&amp;', '&');

/** One authorization server, as its clients and people's browsers see it. */
export class Oauth {
	constructor(url) {
		this.url = url;
		this.resource = `${url}/mcp`;
	}

	async ask(target, options = {}) {
		return read(await fetch(this.url + target, { redirect: 'manual', ...options }));
	}

	post(target, form, headers = {}) {
		return this.ask(target, { method: 'POST', body: new URLSearchParams(form), headers });
	}

	register(metadata = {}, headers = {}) {
		return this.ask('/oauth/register', {
			method: 'POST',
			headers: { 'content-type': 'application/json', ...headers },
			body: JSON.stringify({ client_name: 'Test client', redirect_uris: [callback], ...metadata }),
		});
	}

	async client(metadata) {
		const answer = await this.register(metadata);
		assert.equal(answer.status, 201, answer.text);
		return answer.json.client_id;
	}

	/** The address a client sends a browser to; what is undefined in change is left out. */
	query(clientId, { challenge }, change = {}) {
		const all = { response_type: 'code', client_id: clientId, redirect_uri: callback, code_challenge: challenge, code_challenge_method: 'S256', state: 'the state', resource: this.resource, ...change };
		return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== undefined)).toString();
	}

	/** The page, for somebody with a session (World.person). */
	page(query, person, headers = {}) {
		return this.ask(`/oauth/authorize?${query}`, { headers: { ...(person ? { cookie: person.headers().cookie } : {}), 'sec-fetch-site': 'same-origin', ...headers } });
	}

	static form(page) {
		return { action: unescaped(/<form method="post" action="([^"]*)"/.exec(page.text)?.[1] ?? ''), csrf: /name="csrf" value="([^"]*)"/.exec(page.text)?.[1] };
	}

	/** The decision, as the page's form sends it. */
	async decide(query, person, decision = 'allow', { csrf, headers = {} } = {}) {
		const page = await this.page(query, person);
		if (page.status !== 200) return page;
		const form = Oauth.form(page);
		return this.post(form.action, { csrf: csrf ?? form.csrf, decision }, { cookie: person.headers().cookie, origin: this.url, 'sec-fetch-site': 'same-origin', ...headers });
	}

	/** Where a page goes on to by itself. */
	static leads(page) {
		const [, where] = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(page.text) ?? [];
		return where && unescaped(where);
	}

	/** What came back to the client: by a redirect of an address, or by the page that answers a form. */
	static back(answer) {
		assert.ok(answer.status === 303 || answer.status === 200, answer.text);
		assert.ok(!answer.headers.get('location') || answer.status === 303, 'no answer to a form is a redirect');
		const url = new URL(answer.headers.get('location') ?? Oauth.leads(answer));
		return { to: url.href.split('?')[0], ...Object.fromEntries(url.searchParams) };
	}

	async code(clientId, person, keys, change = {}) {
		const back = Oauth.back(await this.decide(this.query(clientId, keys, change), person));
		assert.ok(back.code, JSON.stringify(back));
		return back.code;
	}

	redeem(clientId, code, { verifier }, change = {}) {
		const all = { grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: callback, code_verifier: verifier, resource: this.resource, ...change };
		return this.post('/oauth/token', Object.entries(all).filter(([, value]) => value !== undefined));
	}

	refresh(clientId, token, change = {}) {
		return this.post('/oauth/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...change });
	}

	/** All of it: a client, a consent, tokens. */
	async tokens(person, { scope, clientId, ...metadata } = {}) {
		const id = clientId ?? (await this.client(metadata)), keys = pkce();
		const answer = await this.redeem(id, await this.code(id, person, keys, { scope }), keys);
		assert.equal(answer.status, 200, answer.text);
		return { clientId: id, ...answer.json };
	}

	/** A call of the modern era. */
	mcp(token, method = 'tools/list', params = {}, headers = {}) {
		const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
		return this.ask('/mcp', {
			method: 'POST',
			headers: {
				'content-type': 'application/json',
				accept: 'application/json, text/event-stream',
				'mcp-protocol-version': '2026-07-28',
				'mcp-method': method,
				...(params.name ? { 'mcp-name': params.name } : {}),
				...(token ? { authorization: `Bearer ${token}` } : {}),
				...headers,
			},
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
		});
	}
}
