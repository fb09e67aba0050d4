// SPDX-License-Identifier: Apache-2.0
// Client ID metadata documents: a client whose name is the address of its own description (MCP-1; docs/oauth.md).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { World } from './lib/flow.mjs';
import { callback, Oauth, pkce } from './lib/oauth.mjs';
import { removeTree, temporaryDirectory, until } from './lib/process.mjs';

/** A site that serves what a test says, by path; `asked` has the paths. */
class Site {
	static async start(tls) {
		const site = Object.assign(new Site(), { says: {}, asked: [] });
		site.server = https.createServer(tls, (request, answer) => {
			site.asked.push(request.url);
			const said = site.says[request.url] ?? ((a) => a.writeHead(404).end());
			if (typeof said === 'function') said(answer);
			else answer.writeHead(200, { 'content-type': 'application/json' }).end(typeof said === 'string' ? said : JSON.stringify(said));
		});
		site.server.listen(0, '127.0.0.1');
		await once(site.server, 'listening');
		site.port = site.server.address().port;
		return site;
	}

	id(path, host = '127.0.0.1') {
		return `https://${host}:${this.port}${path}`;
	}

	/** A document at a path of its own, and its name. */
	describe(path, change = {}) {
		const client_id = this.id(path);
		this.says[path] = { client_id, client_name: 'Described', redirect_uris: ['http://localhost/callback', 'https://app.example/cb'], ...change };
		return client_id;
	}

	async stop() {
		this.server.closeAllConnections();
		await new Promise((resolve) => this.server.close(resolve));
	}
}

const skip = !existsSync('/usr/bin/openssl') && 'skipped: there is no openssl to make certificates with';
let dir, site, w, o, ada;
before(async () => {
	if (skip) return;
	dir = await temporaryDirectory();
	const [key, certificate] = ['key.pem', 'cert.pem'].map((name) => path.join(dir, name));
	execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' });
	site = await Site.start({ key: readFileSync(key), cert: readFileSync(certificate) });
	w = await World.start({ args: ['--oauth-document-hosts', 'intranet.example, 127.0.0.1', '--oauth-ca', certificate] });
	o = new Oauth(w.server.url);
	ada = await w.person(['maintainer']);
});
after(async () => {
	await w?.stop();
	await site?.stop();
	if (dir) await removeTree(dir);
});

const redirect_uri = 'http://localhost:4321/callback';
const page = (clientId, change = {}) => o.page(o.query(clientId, pkce(), { redirect_uri, ...change }), ada);
async function refuses(clientId, why, change) {
	const answer = await page(clientId, change);
	assert.ok(answer.status >= 400, `${clientId}: ${answer.status}`);
	assert.equal(answer.headers.get('location'), null);
	assert.match(answer.text, why);
}

test('a client that describes itself needs no registration; the page names its host', { skip }, async () => {
	const clientId = site.describe('/client.json'), keys = pkce();
	const shown = await page(clientId);
	assert.equal(shown.status, 200, shown.text);
	assert.match(shown.text, /Let “Described” act for you\?[^]*described at <strong>127\.0\.0\.1<\/strong>/);
	const back = Oauth.back(await o.decide(o.query(clientId, keys, { redirect_uri }), ada));
	const answer = await o.redeem(clientId, back.code, keys, { redirect_uri });
	assert.equal(answer.status, 200, answer.text);
	assert.equal((await o.mcp(answer.json.access_token)).status, 200);
	assert.equal((await o.refresh(clientId, answer.json.refresh_token)).status, 200);
	assert.equal(site.asked.filter((url) => url === '/client.json').length, 1, 'asked for once, and kept for a while');
});

test('its redirect URIs are exact, and only loopback ones have any port', { skip }, async () => {
	const clientId = site.describe('/redirects.json', { redirect_uris: ['http://localhost/callback', 'https://app.example/cb', 'javascript:alert(1)', 7] });
	for (const uri of ['http://localhost/callback', 'http://localhost:1/callback', 'https://app.example/cb']) assert.equal((await page(clientId, { redirect_uri: uri })).status, 200, uri);
	for (const uri of ['https://app.example:444/cb', 'https://app.example/cb/', 'http://127.0.0.1/callback', 'javascript:alert(1)', callback]) await refuses(clientId, /has not registered this redirect_uri/, { redirect_uri: uri });
});

test('a document that is another’s, none, too large, moved or too slow is refused', { skip }, async () => {
	await refuses(site.describe('/other.json', { client_id: 'https://app.example/client.json' }), /is of another client_id/);
	await refuses(site.describe('/prefix.json', { client_id: `${site.id('/prefix.json')}x` }), /is of another client_id/);
	await refuses(site.describe('/none.json', { client_id: undefined }), /is of another client_id/);
	await refuses(site.describe('/nowhere.json', { redirect_uris: undefined }), /has not registered this redirect_uri/);
	const says = { '/text': 'hello', '/array': '[]', '/large': JSON.stringify({ client_id: site.id('/large'), x: 'x'.repeat(20000) }) };
	Object.assign(site.says, says, {
		'/moved': (answer) => answer.writeHead(302, { location: site.id('/client.json') }).end(),
		'/broken': (answer) => answer.destroy(),
	});
	for (const path of Object.keys(says).slice(0, 2)) await refuses(site.id(path), /is no JSON object/);
	await refuses(site.id('/large'), /cannot be had: .*larger than/);
	await refuses(site.id('/moved'), /cannot be had: HTTP 302/);
	await refuses(site.id('/missing'), /cannot be had: HTTP 404/);
	await refuses(site.id('/broken'), /cannot be had/);
});

test('SSRF: what is not at a public address is not asked, by whatever name', { skip }, async () => {
	const before = site.asked.length;
	for (const host of ['localhost', '[::1]', '[::ffff:127.0.0.1]', '127.0.0.2', '169.254.169.254', '10.0.0.1', '192.168.1.1', '0.0.0.0', '[fd00::1]', '[fe80::1]']) await refuses(site.id('/client.json', host), /cannot be had: /);
	assert.equal(site.asked.length, before);
	const strict = await World.start({ args: ['--oauth-ca', path.join(dir, 'cert.pem')] });
	const answer = await new Oauth(strict.server.url).page(o.query(site.id('/client.json'), pkce(), { redirect_uri }), await strict.person());
	assert.equal(answer.status, 503);
	assert.match(answer.text, /its address is not public/);
	assert.equal(site.asked.length, before, 'and nothing of it is allowed unless the settings say so');
	await strict.stop();
});

test('a stranger makes us fetch nothing, and what is no address of a document is no client', { skip }, async () => {
	const clientId = site.describe('/stranger.json');
	const query = o.query(clientId, pkce(), { redirect_uri });
	assert.match((await o.page(query)).text, /Sign in/);
	await o.post(`/oauth/authorize?${query}`, { decision: 'allow', csrf: 'x' }, { origin: o.url });
	await o.redeem(clientId, 'cs_code_x', pkce());
	assert.ok(!site.asked.includes('/stranger.json'));
	const before = site.asked.length;
	for (const id of [`http://127.0.0.1:${site.port}/client.json`, site.id(''), site.id('/'), site.id('/a/../client.json'), site.id('/./client.json'), site.id('/client.json?x=1'), site.id('/client.json#x'), site.id('/client.json', 'user@127.0.0.1'), `file:///etc/passwd`, `${site.id('/')}${'x'.repeat(600)}`]) await refuses(id, /no application with this client_id/);
	assert.equal(site.asked.length, before);
});

test('a slow document holds up few: others are told to come again, and the rest of the server goes on', { skip }, async () => {
	const held = [];
	for (const n of [1, 2, 3]) site.says[`/slow${n}`] = (answer) => held.push(answer);
	await until(async () => {
		const first = [1, 2].map((n) => page(site.id(`/slow${n}`)));
		await until(() => held.length >= 2, 'two that are being fetched');
		const third = await page(site.id('/slow3'));
		assert.equal((await w.admin.get('/api/v1/me')).status, 200);
		held.splice(0).forEach((answer) => answer.destroy());
		for (const answer of await Promise.all(first)) assert.equal(answer.status, 503);
		return third.status === 503 && /too many applications are being looked at/.test(third.text); // or one of them was given up meanwhile
	}, 'a third to be told so');
});
