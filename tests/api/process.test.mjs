// SPDX-License-Identifier: Apache-2.0
// What the tests themselves stand on (lib/process.mjs): nothing is left, and nothing is removed under somebody's hands.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { closed, freePort, processesOf, removeTree, stopped, temporaryDirectory, until } from './lib/process.mjs';

const alive = ({ exitCode, signalCode }) => exitCode === null && signalCode === null;

test('a directory goes with whoever still writes into it: by its working directory, or by its command line', async () => {
	const busy = 'while :; do mkdir -p "$1/a/$RANDOM"; done';
	for (const where of ['inside', 'named']) {
		const dir = await temporaryDirectory();
		await mkdir(path.join(dir, 'a'));
		const child = spawn('bash', ['-c', busy, 'busy', where === 'named' ? dir : '.'], { cwd: where === 'named' ? '/' : dir, stdio: 'ignore' });
		await until(async () => (await readdir(path.join(dir, 'a'))).length > 10, 'it to write');
		await removeTree(dir);
		assert.ok(!existsSync(dir), where);
		await until(() => !alive(child), 'its end');
		assert.equal(child.signalCode, 'SIGKILL');
	}
});

test('who has nothing to do with a directory is left alone', async () => {
	const dir = await temporaryDirectory(), child = spawn('sleep', ['100'], { cwd: '/', stdio: 'ignore' });
	await removeTree(dir);
	assert.ok(alive(child));
	assert.deepEqual(await processesOf(dir), []);
	await stopped(child);
	assert.ok(!alive(child));
	await stopped(child); // it may have ended before
});

test('a child that does not end is killed, and it is said which', async () => {
	const child = spawn('sleep', ['100'], { stdio: 'ignore' });
	await assert.rejects(closed(child, 'the sleeper', 0.05), /the sleeper did not end within 0\.05 s/);
	await until(() => !alive(child), 'its end');
	assert.deepEqual(await closed(spawn('sh', ['-c', 'exit 7']), 'sh'), [7, null]);
	await assert.rejects(closed(spawn('/nowhere/program'), 'nothing'), { code: 'ENOENT' });
});

test('a port is given once, is free, and is none that the kernel gives out', async () => {
	const ports = await Promise.all(Array.from({ length: 50 }, freePort));
	assert.equal(new Set(ports).size, ports.length);
	assert.ok(ports.every((port) => port >= 11000 && port < 20000));
	const server = net.createServer();
	await new Promise((resolve, reject) => server.on('error', reject).listen(ports[0], '127.0.0.1', resolve));
	await new Promise((resolve) => server.close(resolve));
	const other = spawn(process.execPath, ['--input-type=module', '-e', `
		import { freePort } from ${JSON.stringify(new URL('./lib/process.mjs', import.meta.url).href)};
		const given = new Set();
		for (let i = 0; i < 500; i++) given.add(await freePort());
		console.log([...given].join(' '));
		process.exit(0);`], { stdio: ['ignore', 'pipe', 'inherit'] });
	let said = '';
	other.stdout.setEncoding('utf8').on('data', (text) => (said += text));
	assert.deepEqual(await closed(other, 'the other process'), [0, null]);
	assert.equal(said.split(' ').length, 500);
	assert.ok(!said.split(' ').some((port) => ports.includes(Number(port))), 'another process is given others');
});
