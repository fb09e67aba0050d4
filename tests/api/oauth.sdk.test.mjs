// SPDX-License-Identifier: Apache-2.0
// OAuth as the official SDKs do it, v1 and v2, by their own code: 401, discovery, registration or a document, PKCE, code,
// token, call, step-up, refresh. Only the person is ours: a browser that reads the page and presses the button.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as v2 from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { ok, World } from './lib/flow.mjs';
import { callback, Oauth } from './lib/oauth.mjs';

let w, o, ada;
before(async () => {
	w = await World.start({ args: ['--oauth-registrations', '100000'] });
	o = new Oauth(w.server.url);
	ada = await w.person(['maintainer']);
});
after(() => w?.stop());

/** What an application keeps; `asked` has every address it sent its person to. */
class Application {
	constructor(person) {
		Object.assign(this, { person, asked: [], kept: {}, saved: 0 });
	}

	get redirectUrl() {
		return callback;
	}

	get clientMetadata() {
		return { client_name: 'An SDK', redirect_uris: [callback], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' };
	}

	state() {
		return 'from the SDK';
	}

	clientInformation() {
		return this.kept.client;
	}

	saveClientInformation(client) {
		this.kept.client = client;
	}

	tokens() {
		return this.kept.tokens;
	}

	saveTokens(tokens) {
		this.kept.tokens = tokens;
		this.saved++;
	}

	saveCodeVerifier(verifier) {
		this.kept.verifier = verifier;
	}

	codeVerifier() {
		return this.kept.verifier;
	}

	saveDiscoveryState(state) {
		this.kept.discovery = state;
	}

	discoveryState() {
		return this.kept.discovery;
	}

	redirectToAuthorization(url) {
		this.asked.push(url);
	}

	/** The person opens the last address and allows it: what comes back to the application. */
	async agree() {
		const { search } = this.asked.at(-1);
		const back = Oauth.back(await o.decide(search.slice(1), this.person));
		assert.equal(back.state, 'from the SDK');
		assert.equal(back.iss, o.url);
		return new URLSearchParams(back);
	}
}

const sdks = {
	v1: {
		client: () => new Client({ name: 'v1', version: '1' }),
		transport: (application) => new StreamableHTTPClientTransport(new URL(o.resource), { authProvider: application }),
		finish: (transport, back) => transport.finishAuth(back.get('code')),
		refused: UnauthorizedError,
	},
	v2: {
		client: () => new v2.Client({ name: 'v2', version: '1' }),
		transport: (application) => new v2.StreamableHTTPClientTransport(new URL(o.resource), { authProvider: application }),
		finish: (transport, back) => transport.finishAuth(back),
		refused: v2.UnauthorizedError,
	},
};

/** Connects, by way of the person where the server asks for one. */
async function connect(sdk, application) {
	const first = sdk.transport(application);
	try {
		const client = sdk.client();
		await client.connect(first);
		return client;
	} catch (error) {
		assert.ok(error instanceof sdk.refused, String(error));
	}
	await sdk.finish(first, await application.agree());
	const client = sdk.client();
	await client.connect(sdk.transport(application));
	return client;
}

for (const [name, sdk] of Object.entries(sdks)) {
	test(`MCP-1 ID-5 SDK ${name}: from 401 to tools, with registration, PKCE and the resource, and again by refresh`, async () => {
		const application = new Application(ada);
		const client = await connect(sdk, application);
		const asked = Object.fromEntries(application.asked[0].searchParams);
		assert.deepEqual([asked.scope, asked.resource, asked.code_challenge_method, asked.response_type], ['read propose', o.resource, 'S256', 'code']);
		assert.match(application.kept.client.client_id, /^client-/);
		const { tools } = await client.listTools();
		assert.ok(tools.some((tool) => tool.name === 'note_create'));
		const proposed = await client.callTool({ name: 'note_create', arguments: { title: 'By OAuth', text: 'text' } });
		assert.equal(proposed.structuredContent.status, 'awaiting_operator');

		// its hour is over: the SDK refreshes by itself, and what was proposed is still its own
		const before = application.kept.tokens;
		const [row] = (await ok(ada.get('/api/v1/tokens?limit=200'))).items.filter((t) => t.clientId === application.kept.client.client_id);
		application.kept.tokens = { ...before, access_token: before.access_token.replace(/.$/, (c) => (c === 'a' ? 'b' : 'a')) };
		const described = await client.callTool({ name: 'describe_proposal', arguments: { id: proposed.structuredContent.proposalId } });
		assert.equal(described.structuredContent.state, 'pending');
		assert.equal(application.asked.length, 1, 'nobody was asked again');
		assert.notEqual(application.kept.tokens.refresh_token, before.refresh_token);
		const [now] = (await ok(ada.get('/api/v1/tokens?limit=200'))).items.filter((t) => t.clientId === application.kept.client.client_id);
		assert.equal(now.id, row.id);
		await client.close();
	});

	test(`MCP-1 ID-9 SDK ${name}: step-up asks the person for what is missing, and then the call works`, async () => {
		const application = new Application(ada);
		const ask = application.redirectToAuthorization;
		application.redirectToAuthorization = function (url) {
			if (!this.asked.length) url.searchParams.set('scope', 'read'); // a careful application begins with little
			ask.call(this, url);
		};
		// v1 tries a refresh before it asks the person, and a refresh never gives more: one that keeps none asks at once
		if (name === 'v1') application.saveTokens = (tokens) => (application.kept.tokens = { ...tokens, refresh_token: undefined });
		const client = await connect(sdk, application);
		assert.equal(application.kept.tokens.scope, 'read');
		const call = (c) => c.callTool({ name: 'note_create', arguments: { title: 'Step', text: 'up' } });
		await assert.rejects(call(client));
		assert.equal(application.asked.length, 2);
		const scopes = application.asked[1].searchParams.get('scope').split(' ');
		assert.ok(scopes.includes('read') && scopes.some((scope) => /^note\..*\.propose$/.test(scope)), scopes.join(' '));
		const transport = sdk.transport(application);
		await client.close();
		await sdk.finish(transport, await application.agree());
		const again = sdk.client();
		await again.connect(sdk.transport(application));
		assert.equal((await call(again)).structuredContent.status, 'awaiting_operator');
		await again.close();
	});

	test(`ID-6 SDK ${name}: a consent that was withdrawn brings the application back to the person`, async () => {
		const application = new Application(ada);
		const client = await connect(sdk, application);
		const [row] = (await ok(ada.get('/api/v1/tokens?limit=200'))).items.filter((t) => t.clientId === application.kept.client.client_id);
		await ok(ada.delete(`/api/v1/tokens/${row.id}`));
		application.invalidateCredentials = function () {
			this.kept.tokens = undefined;
		};
		await assert.rejects(client.listTools(), (error) => error instanceof sdk.refused);
		// v1 opens its listening stream behind the caller's back: it may be refused as well, and ask as well
		assert.ok(application.asked.length >= 2, `asked ${application.asked.length} times`);
		await client.close();
	});
}
