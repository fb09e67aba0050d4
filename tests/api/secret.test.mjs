// SPDX-License-Identifier: Apache-2.0
// Secrets that tests plant are looked for in everything that comes out of the program (lib/secret.mjs). Here some do come out, on
// purpose: that must be noticed, or the looking would be worth nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { Receiver } from './lib/receiver.mjs';
import { found, lookAt, secret, secretToo, watch } from './lib/secret.mjs';
import { onPostgres, run, until } from './lib/server.mjs';

let w;
before(async () => (w = await World.start()));
after(async () => {
	found(); // of which all was meant
	await w.stop().catch((error) => assert.match(error.message, /^a secret came out/));
});

/** What was found of it, and where; nothing else was. */
function leaks(where) {
	const all = found();
	assert.ok(all.length, 'it was noticed');
	for (const one of all) assert.match(one, where);
}

test('secrets: nothing is found where there is none', async () => {
	await w.propose();
	await ok(w.admin.get('/api/v1/orgs/default/audit'));
	assert.deepEqual(found(), []);
});

test('secrets: one in an answer is noticed, as it is, in base64 and in hex', async () => {
	const key = secret('note');
	for (const text of [key, Buffer.from(`user:${key}`).toString('base64'), Buffer.from(`x${key}`).toString('base64url'), Buffer.from(key).toString('hex')]) {
		await w.propose({ input: { title: 'A title', text } });
		leaks(/^an answer of a server has /);
	}
});

test('secrets: one in a stream that goes on is noticed, also where it comes in two pieces', async (t) => {
	const key = secret('stream');
	const other = http.createServer((request, response) => {
		response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': 100000 });
		response.write(`data: ${key.slice(0, 4)}`, () => setImmediate(() => response.write(key.slice(4))));
	});
	await once(other.listen(0, '127.0.0.1'), 'listening');
	t.after(() => other.closeAllConnections() ?? other.close());
	watch(other.address().port, 'a stream');
	const stop = new AbortController();
	const reading = fetch(`http://127.0.0.1:${other.address().port}/`, { signal: stop.signal }).then((response) => response.text()).catch(() => {});
	let all = [];
	await until(() => (all = all.concat(found())).length, 'what is found');
	assert.match(all[0], /^an answer of a stream has planted-/);
	stop.abort();
	await reading;
});

test('secrets: one in the log is noticed, and so is a cookie there', async () => {
	const key = secret('path');
	await w.server.get(`/nothing/${key}`, { check: false });
	await until(() => w.server.stderr.includes(key), 'its line');
	found(); // in the answer, it may be
	lookAt('the log', w.server.stderr);
	leaks(/^the log has /);
	secretToo('a-cookie-that-was-set', { shown: true });
	lookAt('an answer', 'cs_agent_', { tokens: false });
	assert.deepEqual(found(), []);
	lookAt('the log', 'path=/a-cookie-that-was-set');
	leaks(/^the log has /);
});

test('secrets: a token of ours is noticed where none is shown', async () => {
	lookAt('the log', w.agentToken);
	leaks(/^the log has cs_/);
	lookAt('init', w.agentToken, { tokens: false });
	assert.deepEqual(found(), []);
});

test('secrets: one that is stored in plain text is noticed', async () => {
	await w.propose({ input: { title: 'A title', text: secret('stored') } });
	found();
	await w.server.database.look();
	leaks(/^the database .*has /);
});

test('secrets: one that a command prints is noticed', async () => {
	await run(['doctor', '--data', `/nowhere/${secret('directory')}`]);
	leaks(/^countersign doctor has /);
});

test('EX-1 EX-3 ID-8 secrets: whatever is given as a credential does not come out again, also where everything fails', async (t) => {
	const world = await World.start({ args: ['--stdio-upstreams', 'unconfined', '--oidc-issuer', 'https://127.0.0.1:9', '--oidc-client-id', 'us', '--public-url', 'https://countersign.example', '--log-level', 'debug'], env: { COUNTERSIGN_OIDC_CLIENT_SECRET: secret('oidc') } });
	const boss = await world.person(['admin']);
	const key = `whsec_${Buffer.from(secret('signing')).toString('base64')}`;
	const refusing = await Receiver.start(({ headers, body }) => ({ status: 500, body: JSON.stringify({ you: 'said nothing' }), headers: { 'x-got': String(headers['x-key'] !== undefined && body.length > 0) } }));
	t.after(() => refusing.stop());
	const paths = [];
	for (const auth of [{ auth: 'header', authName: 'X-Key', authSecret: secret('header') }, { auth: 'basic', authName: 'me', authSecret: secret('basic') }, { auth: 'bearer', authSecret: secret('bearer') }])
		for (const url of [refusing.url, 'http://127.0.0.1:9/', `http://me:${secret('in-a-url')}@127.0.0.1:9/`]) {
			const made = await boss.post('/api/v1/connections', { name: `c${paths.length}`, url, allow: ['127.0.0.0/8'], signingSecret: key, ...auth });
			if (made.status < 300) paths.push(`/api/v1/connections/${made.json.id}`);
		}
	assert.equal(paths.length, 6, 'all but those with a secret in the address');
	const script = 'env >&2; echo "{\\"jsonrpc\\": \\"$KEY\\"}"; echo "$KEY"; exit 3'; // it says all that it knows
	for (const upstream of [{ kind: 'http', url: refusing.url, networks: ['127.0.0.0/8'], bearer: secret('up'), headers: { 'X-Key': secret('up-header') } }, { kind: 'stdio', program: { argv: ['/bin/sh', '-c', script] }, env: { KEY: secret('up-env') } }])
		paths.push(`/api/v1/upstreams/${(await ok(boss.post('/api/v1/upstreams', { name: `u${paths.length}`, ...upstream }))).id}`);
	for (const path of paths) await boss.post(`${path}/${path.includes('upstreams') ? 'refresh' : 'test'}`);
	await world.server.post('/api/v1/session', { email: secret('as-a-name'), password: secret('wrong-password') });
	for (const path of [...paths, '/api/v1/connections', '/api/v1/upstreams', '/api/v1/deliveries', '/api/v1/config', '/api/v1/me', '/api/v1/tokens', '/api/v1/orgs/default/audit?limit=200', '/api/v1/orgs/default/audit/export', '/metrics']) await boss.get(path);
	await world.server.get('/api/v1/session/oidc', { check: false });
	const said = await run(['doctor', ...world.server.database.flags.filter(() => onPostgres), '--oidc-client-secret', secret('flag')]);
	assert.ok(said.stdout.length + said.stderr.length > 0);
	assert.deepEqual(found(), []);
	await world.stop(); // which looks at the log and the database
});
