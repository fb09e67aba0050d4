// SPDX-License-Identifier: Apache-2.0
// Starting and stopping: what is in the way is said in one sentence, and what was accepted is finished.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { freshDatabase, onPostgres, program, run, startServer, temporaryDirectory, until } from './lib/server.mjs';

const hasFaults = JSON.parse(execFileSync(program, ['version', '--json'])).faults;

/** One sentence on standard error, from us and not from a library, and the exit code. */
function assertOneSentence({ code, stderr }, expected, ...patterns) {
	assert.equal(code, expected, stderr);
	const spoken = stderr.trimEnd().split('\n').filter((line) => !line.startsWith('time='));
	assert.equal(spoken.length, 1, stderr);
	assert.match(spoken[0], /^countersign: /);
	for (const pattern of patterns) assert.match(spoken[0], pattern);
}

for (const signal of ['SIGTERM', 'SIGINT']) {
	test(`${signal} ends it with 0 and says so in the log`, async () => {
		const server = await startServer();
		await server.stop({ signal });
		const events = server.log().map((line) => line.event);
		assert.ok(events.includes('server.stopping') && events.at(-1) === 'server.stopped', events.join(' '));
	});
}

/**
 * A request whose head the server has read and whose body is not whole: a stop waits for it. `ended` gives all that
 * was answered; the connection is watched from the beginning, because a close that nobody saw is waited for in vain.
 */
async function slowRequest(server, length) {
	const socket = net.connect(server.port, '127.0.0.1');
	let text = '';
	socket.setEncoding('latin1').on('error', () => {}).on('data', (more) => (text += more));
	const closed = new Promise((resolve) => socket.on('close', resolve));
	socket.write(`POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`);
	const hundred = 'HTTP/1.1 100 Continue\r\n\r\n';
	await until(() => text === hundred, 'the 100 Continue');
	return { socket, ended: () => closed.then(() => text.slice(hundred.length)) };
}

test('a request whose body is still coming when it is told to stop is answered', async () => {
	const server = await startServer();
	const body = '{"document":[1,2,3]}';
	const slow = await slowRequest(server, body.length);
	slow.socket.write(body.slice(0, 5));
	server.kill('SIGTERM');
	await until(() => server.log().some((line) => line.event === 'server.stopping'), 'the stop');
	slow.socket.write(body.slice(5));
	const answer = await slow.ended();
	assert.match(answer, /^HTTP\/1\.1 200 /);
	assert.match(answer, /\r\nconnection: close\r\n/i);
	assert.match(answer, /"canonical":"\[1,2,3\]"/);
	await server.stop();
});

test('a request that a worker has when it is told to stop is answered', { skip: !hasFaults && 'skipped: fault points are not compiled in' }, async () => {
	const server = await startServer({ env: { COUNTERSIGN_FAULT: 'http_before_answer:2:stop' } }); // the first was /openapi.json
	const state = async () => /\) (\S) /.exec(await readFile(`/proc/${server.child.pid}/stat`, 'utf8'))[1];
	const asked = server.post('/api/v1/json/canonicalize', { document: 'held' });
	await until(async () => (await state()) === 'T', 'it to stop itself at the fault point');
	server.kill('SIGTERM');
	server.kill('SIGCONT');
	const { status, json } = await asked;
	assert.equal(status, 200);
	assert.equal(json.canonical, '"held"');
	await server.stop();
});

test('a stop does not wait for a client that says nothing', async () => {
	const server = await startServer({ args: ['--drain-seconds', '600'] });
	const idle = net.connect(server.port, '127.0.0.1').on('error', () => {});
	const closed = new Promise((resolve) => idle.on('close', resolve));
	await once(idle, 'connect');
	await until(async () => /countersign_http_connections [2-9]/.test((await server.get('/metrics')).text), 'the connection');
	await server.stop();
	await closed;
});

test('two signals in the same moment are one wish', async () => {
	const server = await startServer({ args: ['--drain-seconds', '600'] });
	const body = '{"document":1}';
	const slow = await slowRequest(server, body.length);
	server.kill('SIGSTOP'); // so that both are there when it looks
	server.kill('SIGTERM');
	server.kill('SIGINT');
	server.kill('SIGCONT');
	await until(() => server.log().some((line) => line.event === 'server.stopping'), 'the stop');
	slow.socket.write(body);
	assert.match(await slow.ended(), /^HTTP\/1\.1 200 /);
	await server.stop();
	assert.ok(!server.log().some((line) => line.event === 'server.forced'));
});

test('a second signal that comes later ends it at once', async () => {
	const server = await startServer({ args: ['--drain-seconds', '600'] });
	const slow = await slowRequest(server, 100);
	await until(() => {
		server.kill('SIGTERM');
		return server.exited;
	}, 'its end');
	assert.equal(server.exited.code, 1);
	assert.ok(server.log().some((line) => line.event === 'server.forced'));
	slow.socket.destroy();
	await server.database.drop();
});

test('SIGHUP without TLS changes nothing', async () => {
	const server = await startServer();
	server.kill('SIGHUP');
	await until(() => server.log().some((line) => line.event === 'server.reload'), 'the reload');
	assert.equal((await server.get('/healthz')).status, 200);
	await server.stop();
});

test('a port in use is one sentence and exit code 1', async () => {
	const server = await startServer();
	const database = await freshDatabase();
	const result = await run(['serve', '--listen', `127.0.0.1:${server.port}`, ...database.flags]);
	assertOneSentence(result, 1, /in use; stop what listens there, or choose another with --listen/, new RegExp(String(server.port)));
	assert.equal(result.stdout, '');
	assert.match((await run(['migrate', ...database.flags])).stdout, /from version 0 /, 'the failed start left the schema alone');
	await database.drop();
	await server.stop();
});

test('an address that is not ours is one sentence and exit code 1', async () => {
	const database = await freshDatabase();
	assertOneSentence(await run(['serve', '--listen', '192.0.2.1:0', ...database.flags]), 1, /192\.0\.2\.1/);
	await database.drop();
});

test('a data directory in use is one sentence and exit code 1', { skip: onPostgres && 'skipped: PostgreSQL takes several servers' }, async () => {
	const server = await startServer();
	for (const command of ['serve', 'init', 'migrate'])
		assertOneSentence(await run([command, ...server.database.flags, ...(command === 'serve' ? ['--listen', '127.0.0.1:0'] : [])]), 1, /the data directory ".+" is open in another process; stop it, or choose another with --data$/);
	assert.equal((await server.get('/readyz')).status, 200);
	await server.stop();
});

test('the data directory is made for its owner alone', { skip: onPostgres && 'skipped: PostgreSQL has none' }, async () => {
	const server = await startServer();
	assert.equal((await stat(server.database.dir)).mode & 0o777, 0o700);
	assert.equal((await stat(path.join(server.database.dir, 'countersign.db'))).mode & 0o077, 0);
	await server.stop();
});

test('a data directory that cannot be made is one sentence and exit code 1', async (t) => {
	const dir = await temporaryDirectory(t);
	await writeFile(path.join(dir, 'file'), '');
	for (const place of ['missing/data', 'file/data', 'file'])
		assertOneSentence(await run(['serve', '--listen', '127.0.0.1:0', '--data', path.join(dir, place)]), 1, /data/);
});

test('a database that cannot be reached is one sentence and exit code 1', async () => {
	const result = await run(['serve', '--listen', '127.0.0.1:0'], { env: { COUNTERSIGN_DATABASE: 'postgres://somebody:geheim@127.0.0.1:1/none' } });
	assertOneSentence(result, 1, /cannot reach PostgreSQL: .*refused; Is the server running .*\?$/);
	assert.doesNotMatch(result.stderr + result.stdout, /geheim/);
});

test('a file that is no database is one sentence and exit code 1', async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	await mkdir(dir, { mode: 0o700 });
	await writeFile(path.join(dir, 'countersign.db'), 'this is not a database, it is a sentence. '.repeat(200));
	assertOneSentence(await run(['serve', '--listen', '127.0.0.1:0', '--data', dir]), 1, /database/);
});

test('a directory that cannot be written is one sentence and exit code 1', { skip: process.getuid() === 0 && 'skipped: root may write everywhere' }, async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	await mkdir(dir, { mode: 0o500 });
	assertOneSentence(await run(['serve', '--listen', '127.0.0.1:0', '--data', dir]), 1, /written|permission/i);
	await chmod(dir, 0o700);
});

test('an address that others can reach is served with a warning', async () => {
	const server = await startServer({ listen: '0.0.0.0:0' });
	await server.stop(); // by then it has said all it says
	assert.match(server.stdout, /Warning: .*TLS is off/);
	assert.ok(server.log().some((line) => line.event === 'server.exposed' && line.level === 'warn'));
});

test('loopback is served without a warning, IPv6 too', async (t) => {
	const hasV6 = await new Promise((resolve) => {
		const probe = net.createServer().on('error', () => resolve(false)).listen(0, '::1', () => probe.close(() => resolve(true)));
	});
	if (!hasV6) return t.skip('skipped: this machine has no ::1');
	const server = await startServer({ listen: '[::1]:0' });
	assert.match(server.url, /^http:\/\/\[::1\]:\d+$/);
	await server.stop();
	assert.doesNotMatch(server.stdout, /Warning/);
});

test('a second start finds what the first one made', async () => {
	const database = await freshDatabase();
	const made = JSON.parse((await run(['init', '--json', ...database.flags])).stdout);
	assert.ok(made.orgId);
	for (let round = 0; round < 2; round++) {
		const server = await startServer({ database });
		assert.equal((await server.get('/readyz')).json.status, 'ready');
		await server.stop({ keep: true });
		assert.ok(!server.log().some((line) => line.event === 'database.migrated'));
	}
	await database.drop();
});

test('server_ready is 503 when the database has gone, and the log says why', { skip: !onPostgres && 'skipped: SQLite does not go away' }, async () => {
	const database = await freshDatabase();
	const server = await startServer({ database });
	assert.equal((await server.get('/readyz')).status, 200);
	await database.vanish();
	const { status, json, headers } = await server.get('/readyz');
	assert.equal(status, 503);
	assert.equal(json.code, 'unavailable');
	assert.equal((await server.get('/healthz')).status, 200);
	const line = await until(() => server.log().find((event) => event.id === headers.get('x-request-id')), 'its log line');
	assert.equal(line.level, 'error');
	assert.match(line.error, /\S+ \S+/);
	await server.stop();
	await database.drop();
});

test('a limit of open files that is too low for its settings is in the log', async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	const { code, stderr } = await run(['serve', '--listen', '192.0.2.1:0', '--data', dir], { first: 'ulimit -n 256' });
	assert.equal(code, 1);
	assert.match(stderr, /event=server\.file_limit limit=256 needed=\d+/);
});

test('its memory is nobody else\'s: no core file, and no other process of the same user looks into it', async (t) => {
	const dir = await temporaryDirectory(t);
	const asRoot = process.getuid() === 0; // root looks anywhere: then it runs as nobody
	if (asRoot) await chown(dir, 65534, 65534);
	const child = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--data', path.join(dir, 'data')], {
		env: { PATH: process.env.PATH },
		stdio: ['ignore', 'pipe', 'ignore'],
		...(asRoot ? { uid: 65534, gid: 65534 } : {}),
	});
	t.after(() => child.kill('SIGKILL'));
	let said = '';
	child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
	await until(() => said.includes('Countersign is ready'), 'the ready line');
	assert.match(await readFile(`/proc/${child.pid}/limits`, 'utf8'), /^Max core file size +0 +0 /m);
	assert.equal((await stat(`/proc/${child.pid}/environ`)).uid, 0); // what cannot be dumped belongs to root
	child.kill('SIGTERM');
	await once(child, 'exit');
});
