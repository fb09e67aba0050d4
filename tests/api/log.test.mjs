// SPDX-License-Identifier: Apache-2.0
// The log: each request once, one line each, and never a secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onPostgres, startServer, until } from './lib/server.mjs';

/** The lines of requests with that id, once there is one. */
const linesOf = (server, id) => until(() => {
	const lines = server.log().filter((line) => line.event === 'http.request' && line.id === id);
	return lines.length && lines;
}, `the log line of ${id}`);

test('each request is logged once with what happened', async () => {
	const server = await startServer();
	await server.get('/readyz', { headers: { 'x-request-id': 'first' } });
	await server.get('/nowhere', { headers: { 'x-request-id': 'second' } });
	const [first, ...more] = await linesOf(server, 'first');
	assert.deepEqual(more, []);
	assert.equal(first.level, 'info');
	assert.equal(first.method, 'GET');
	assert.equal(first.path, '/readyz');
	assert.equal(first.status, '200');
	assert.equal(first.op, 'server_ready');
	assert.equal(first.peer, '127.0.0.1');
	assert.match(first.us, /^\d+$/);
	const [second] = await linesOf(server, 'second');
	assert.equal(second.status, '404');
	assert.equal(second.code, 'not_found');
	await server.stop();
});

test('the id of the log is the one that the client is told', async () => {
	const server = await startServer();
	const { headers } = await server.get('/healthz');
	assert.equal((await linesOf(server, headers.get('x-request-id'))).length, 1);
	await server.stop();
});

test('an event stays one line whatever the path holds', async () => {
	const server = await startServer();
	await server.raw('GET /a"b\\c= HTTP/1.1\r\nHost: x\r\nX-Request-Id: quotes\r\nConnection: close\r\n\r\n');
	await server.get('/a%20b%0ac', { headers: { 'x-request-id': 'odd' } });
	const [line] = await linesOf(server, 'odd');
	assert.doesNotMatch(line.path, /\n/);
	const [quoted] = await linesOf(server, 'quotes');
	assert.match(quoted.path, /^\/a.*b.*c/);
	await server.stop();
	server.log(); // throws where a line is not one
});

test('what is sent in headers, queries and bodies never reaches the log or an error', async () => {
	const server = await startServer({ args: ['--log-level', 'debug'] });
	const secret = 'hunter2-very-secret';
	const answers = [
		await server.get(`/api/v1/version?token=${secret}`, { headers: { 'x-request-id': 'last' } }),
		await server.get('/api/v1/config', { headers: { authorization: `Bearer ${secret}`, cookie: `session=${secret}` } }),
		await server.post('/api/v1/json/canonicalize', `{"document": "${secret}"`),
		await server.post('/api/v1/json/canonicalize', `{"document": "${secret}", "other": "${secret}"}`),
	];
	await linesOf(server, 'last');
	await server.stop();
	for (const { status, text } of answers) {
		assert.ok(status >= 400);
		assert.ok(!text.includes(secret), text);
	}
	assert.ok(!server.stderr.includes(secret));
	assert.ok(!server.stdout.includes(secret));
});

test('the database password is in no output', { skip: !onPostgres && 'skipped: SQLite has no password' }, async () => {
	const url = new URL((process.env.COUNTERSIGN_TEST_POSTGRES ?? '').replace('@/', '@localhost/'));
	const password = 'geheim-und-lang';
	const direct = process.env.COUNTERSIGN_TEST_POSTGRES.replace(`${url.username}@`, `${url.username}:${password}@`);
	const database = { flags: [], drop: async () => {} };
	const server = await startServer({ database, env: { COUNTERSIGN_DATABASE: direct } });
	await server.get('/readyz');
	await server.stop();
	assert.ok(!(server.stdout + server.stderr).includes(password));
	assert.match(server.stdout, /:\*\*\*@/);
});

test('a level leaves out what is below it', async () => {
	const server = await startServer({ args: ['--log-level', 'warn'] });
	await server.get('/healthz');
	await server.stop();
	assert.equal(server.stderr, '');
});
