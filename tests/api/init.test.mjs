// SPDX-License-Identifier: Apache-2.0
// countersign init, and the key file that belongs to a database.
import assert from 'node:assert/strict';
import { copyFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import vm from 'node:vm';

import { behindTheBack, freshDatabase, init, onPostgres, run, startServer, startSetUp, temporaryDirectory, until } from './lib/server.mjs';

const keysOf = (database) => (onPostgres ? database.flags[3] : path.join(database.dir, 'keys'));

test('init prints exactly what the first people need, once', async (t) => {
	const database = await freshDatabase();
	t.after(() => database.drop());
	const first = await init(database, ['--email', 'Ada@Example.org']);
	assert.deepEqual(Object.keys(first), ['adminEmail', 'adminPassword', 'adminToken', 'agentToken', 'orgId', 'projectId', 'environments']);
	assert.deepEqual(Object.keys(first.environments), ['production', 'staging']);
	assert.equal(first.adminEmail, 'ada@example.org');
	assert.match(first.adminToken, /^cs_pat_[0-9A-Za-z]{49}$/);
	assert.match(first.agentToken, /^cs_agt_[0-9A-Za-z]{49}$/);
	assert.equal((await stat(keysOf(database))).mode & 0o777, 0o600);

	const again = await run(['init', '--json', ...database.flags]);
	assert.equal(again.code, 1);
	assert.equal(JSON.parse(again.stdout).code, 'already_exists');

	const server = await startServer({ database });
	assert.equal((await server.as(first.adminToken).get('/api/v1/me')).json.email, 'ada@example.org'); // nothing was changed
	await server.stop();
});

test('init for a person says what to keep, and no JSON', async (t) => {
	const database = await freshDatabase();
	t.after(() => database.drop());
	const { code, stdout } = await run(['init', ...database.flags]);
	assert.equal(code, 0);
	assert.match(stdout, /admin@localhost/);
	assert.match(stdout, /shown once/);
	assert.match(stdout, /key file/);
	assert.ok(stdout.endsWith(onPostgres ? 'Start it with `countersign serve` and the same settings.\n' : `Start it with \`countersign serve --data ${database.dir}\`.\n`), stdout);
});

test('init says how to start what it made, in words that can be typed', async (t) => {
	const dir = await temporaryDirectory(t);
	const spaced = await run(['init', '--data', path.join(dir, 'a b')]);
	assert.match(spaced.stdout, /Start it with `countersign serve` and the same settings\.\n$/);
	const plain = await run(['init'], { cwd: dir, env: { COUNTERSIGN_DATA: path.join(dir, 'c') } });
	assert.match(plain.stdout, /Start it with `countersign serve`\.\n$/);
});

test('an address that is none is refused before anything is made', async (t) => {
	const database = await freshDatabase();
	t.after(() => database.drop());
	for (const email of ['nobody', '@x', 'a@', 'a b@c', 'a@b@c']) assert.equal((await run(['init', '--email', email, ...database.flags])).code, 2, email);
	await init(database);
});

test('a server whose key file does not belong to the database does not start', async (t) => {
	const server = await startSetUp();
	await server.stop({ keep: true });
	t.after(() => server.database.drop());
	const other = path.join(await temporaryDirectory(t), 'keys');
	const another = await freshDatabase();
	t.after(() => another.drop());
	await init(another);
	await copyFile(keysOf(another), other);
	const flags = [...(onPostgres ? server.database.flags.slice(0, 2) : server.database.flags), '--keys', other];
	const { code, stderr } = await run(['serve', '--listen', '127.0.0.1:0', ...flags]);
	assert.equal(code, 1);
	assert.match(stderr, /does not belong to the database/);
	await writeFile(other, 'not a key file');
	assert.equal((await run(['serve', '--listen', '127.0.0.1:0', ...flags])).code, 2);
});

test('ID-8 a first start prints a link that sets it up, once', async () => {
	const server = await startServer();
	assert.equal((await server.get('/readyz')).status, 200);
	assert.equal((await server.get('/api/v1/me')).status, 401);
	const [, token] = await until(() => /\/setup#(cs_setup_\w{49})$/m.exec(server.stdout), 'the link');
	const setup = (more) => server.post('/api/v1/setup', { token, email: 'ada@example.org', password: 'correct horse battery', ...more });
	assert.equal((await setup({ token: token.replace(/.$/, (c) => (c === 'x' ? 'y' : 'x')) })).status, 401);
	assert.equal((await setup({ token: 'x' })).status, 401);
	assert.equal((await setup({ password: 'short' })).status, 400);
	for (const email of ['ada', 'a b@c']) {
		const { status, json } = await setup({ email });
		assert.deepEqual([status, json.fields.map(({ path }) => path)], [400, ['/email']]);
	}
	const answers = await Promise.all([setup(), setup(), setup()]); // exactly one wins
	assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
	const { json } = answers.find(({ status }) => status === 201);
	assert.equal((await server.as(json.adminToken).get('/api/v1/me')).json.email, 'ada@example.org');
	assert.equal((await server.post('/api/v1/session', { email: 'ada@example.org', password: 'correct horse battery' })).status, 200);
	assert.equal((await setup()).status, 409);
	assert.ok(!server.stderr.includes(token)); // not in the log
	await server.stop();
});

test('RUN-1 every start prints the line that connects an MCP client to it, with the address that others use', async () => {
	for (const [args, address] of [[[], null], [['--public-url', 'https://countersign.example'], 'https://countersign.example']]) {
		const server = await startServer({ args });
		const line = `  claude mcp add --transport http countersign ${address ?? server.url}/mcp --header "Authorization: Bearer $COUNTERSIGN_TOKEN"\n`;
		await until(() => server.stdout.includes(line), 'the line');
		await server.stop();
	}
});

test('RUN-1 a server that others reach by a name nobody has told it says so: a token is needed, and which setting is missing', async () => {
	const server = await startServer({ listen: '0.0.0.0:0' });
	await until(() => server.stdout.includes('--public-url https://countersign.example.org).\n'), 'the line');
	assert.match(server.stdout, new RegExp(`claude mcp add --transport http countersign http://THIS-MACHINE:${server.port}/mcp --header`));
	assert.match(server.stdout, /They need a token: OAuth is off/);
	assert.doesNotMatch(server.stdout, /0\.0\.0\.0:\d+\/mcp|without a token/);
	await server.stop();
	const named = await startServer({ listen: '0.0.0.0:0', args: ['--public-url', 'https://countersign.example'] });
	await until(() => named.stdout.includes(' https://countersign.example/mcp --header'), 'the line');
	assert.doesNotMatch(named.stdout, /OAuth is off/);
	await named.stop();
});

test('ID-8 the page behind the link sets it up: static, strict, and with the code that was printed', async () => {
	const server = await startServer({ args: ['--public-url', 'https://countersign.example'] });
	const [, link] = await until(() => /^ {2}(https:\/\/countersign\.example\/setup#cs_setup_\w{49})$/m.exec(server.stdout), 'the link');
	const page = await server.get('/setup'), script = await server.get('/assets/setup.js');
	assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
	assert.match(page.headers.get('content-security-policy'), /default-src 'none'; script-src 'self'/);
	assert.match(page.headers.get('content-security-policy'), /frame-ancestors 'none'/);
	assert.ok(!/unsafe/.test(page.headers.get('content-security-policy')));
	assert.ok(!/<script(?![^>]*src="\/assets\/setup\.js")|\son\w+=|style=|https?:/.test(page.text)); // nothing inline, nothing from elsewhere
	assert.deepEqual([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
	assert.equal((await server.post('/setup', {})).status, 405);

	// the script as a browser would run it: the elements of the page, and requests to the server
	const elements = Object.fromEntries([...page.text.matchAll(/id="([\w-]+)"( hidden)?/g)].map(([, id, hidden]) => [id, { hidden: Boolean(hidden), value: '', textContent: '' }]));
	const left = [];
	elements.form.addEventListener = (type, listener) => (elements.form[type] = listener);
	const location = new URL(link);
	const browser = { location, history: { replaceState: (...args) => left.push(args) }, document: { getElementById: (id) => elements[id] ?? assert.fail(`no #${id}`) }, fetch: (path, options) => fetch(server.url + path, options) };
	const submit = () => elements.form.submit({ preventDefault: () => {} });
	vm.runInNewContext(script.text, browser);
	assert.deepEqual(left, [[null, '', '/setup']]); // the code is not kept in the history
	assert.equal(elements.form.hidden, false);
	Object.assign(elements.email, { value: 'ada@example.org' });
	Object.assign(elements.password, { value: 'short' });
	await submit();
	assert.match(elements.said.textContent, /password/);
	elements.password.value = 'correct horse battery';
	await submit();
	assert.match(elements.said.textContent, /has been set up/);
	assert.deepEqual([elements.form.hidden, elements.result.hidden, elements['admin-email'].textContent], [true, false, 'ada@example.org']);
	assert.equal((await server.as(elements['admin-token'].textContent).get('/api/v1/me')).json.email, 'ada@example.org');
	assert.equal((await server.as(elements['agent-token'].textContent).get('/api/v1/me')).json.kind, 'agent');
	assert.equal(elements.connect.textContent, 'claude mcp add --transport http countersign https://countersign.example/mcp --header "Authorization: Bearer $COUNTERSIGN_TOKEN"');
	await submit();
	assert.match(elements.said.textContent, /set up before/);
	location.hash = '';
	vm.runInNewContext(script.text, browser);
	assert.match(elements.said.textContent, /Open the link/);
	assert.ok(!server.stderr.includes('cs_setup_'));
	await server.stop();
});

test('ID-8 the link of a first start is good for an hour', async () => {
	let server = await startServer();
	const printed = async () => (await until(() => /\/setup#(cs_setup_\w{49})$/m.exec(server.stdout), 'the link'))[1];
	const before = await printed();
	server = await behindTheBack(server, 'UPDATE installation SET setup_until = 1');
	const token = await printed();
	const setup = (secret) => server.post('/api/v1/setup', { token: secret, email: 'a@b', password: 'correct horse battery' });
	if (onPostgres) assert.equal((await setup(token)).status, 401);
	else assert.equal((await setup(before)).status, 401); // it was started again: a new link, and the old one is void
	await server.stop();
});

test('a server that has been set up prints no link', async () => {
	const server = await startSetUp();
	await server.stop(); // by then it has said all it says
	assert.ok(!server.stdout.includes('cs_setup_'));
});
