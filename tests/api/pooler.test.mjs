// SPDX-License-Identifier: Apache-2.0
// PostgreSQL behind PgBouncer: session mode works, the other modes are refused in words. And PostgreSQL that does not answer commits,
// since a synchronous standby is missing: reads go on.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmod, chown, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { freePort, killAtExit, stopped } from './lib/process.mjs';
import { freshDatabase, init, onPostgres, root, run, startServer, temporaryDirectory, until } from './lib/server.mjs';

const ask = promisify(execFile);
const skip = onPostgres ? false : 'it is about PostgreSQL';
const pg = async (...words) => (await ask(path.join(root, 'tests/lib/pg'), words)).stdout.trim();
const psql = (url, sql) => ask('psql', ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql]);

let cluster;
before(async () => (cluster = onPostgres ? await pg('start') : null));
after(() => cluster && pg('stop', cluster));

/** PgBouncer in front of the cluster; it refuses to run as root, so it runs as the cluster's owner. */
async function pooler(t, mode, settings = []) {
	const dir = await temporaryDirectory(t), port = await freePort(), words = new URLSearchParams(cluster.split('?')[1]);
	const asRoot = process.getuid() === 0;
	await writeFile(path.join(dir, 'users.txt'), '"postgres" ""\n');
	await writeFile(path.join(dir, 'pgbouncer.ini'), ['[databases]', `* = host=${words.get('host')} port=${words.get('port')}`, '[pgbouncer]', 'listen_addr = 127.0.0.1',
		`listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = trust', `auth_file = ${dir}/users.txt`, `pool_mode = ${mode}`, ...settings, ''].join('\n'));
	if (asRoot) {
		const owner = (await ask('id', ['-u', 'postgres'])).stdout.trim();
		for (const file of ['', 'users.txt', 'pgbouncer.ini']) await chown(path.join(dir, file), Number(owner), 0);
		await chmod(dir, 0o755);
	}
	const command = ['pgbouncer', path.join(dir, 'pgbouncer.ini')];
	const child = spawn(...(asRoot ? ['runuser', ['-u', 'postgres', '--', ...command]] : [command[0], command.slice(1)]), { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });
	let said = '';
	child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
	killAtExit(child);
	t.after(() => stopped(child, 'SIGTERM'));
	await until(() => {
		assert.equal(child.exitCode, null, said);
		return /process up/.test(said);
	}, 'PgBouncer');
	return port;
}

async function database(t, port) {
	const name = `pooled_${port}`, dir = await temporaryDirectory(t);
	await psql(cluster, `CREATE DATABASE ${name}`);
	return { flags: ['--database', `postgresql://postgres@127.0.0.1:${port}/${name}`, '--keys', path.join(dir, 'keys')], drop: async () => {} };
}

for (const [mode, settings] of [['transaction', []], ['transaction', ['server_round_robin = 1']], ['statement', []]])
	test(`RUN-2 PgBouncer with ${[`pool_mode=${mode}`, ...settings].join(', ')} is refused by init, serve and doctor, with what to set`, { skip }, async (t) => {
		const { flags } = await database(t, await pooler(t, mode, settings));
		for (const command of [['init', '--json'], ['serve', '--listen', '127.0.0.1:0'], ['doctor']]) {
			const { code, stdout, stderr } = await run([...command, ...flags]);
			assert.notEqual(code, 0, command[0]);
			assert.match(stdout + stderr, /pool_mode = session/, command[0]);
		}
	});

test('RUN-2 PgBouncer with pool_mode=session works', { skip }, async (t) => {
	const own = await database(t, await pooler(t, 'session'));
	const first = await init(own);
	const server = await startServer({ database: own });
	const made = await server.as(first.agentToken).post('/api/v1/proposals', { tool: 'note.create', input: { title: 'Pooled', text: '' } });
	assert.equal(made.status, 201, made.text);
	await server.stop();
});

test('RUN-2 commits that wait for a missing standby leave connections for reads, and /readyz says so', { skip }, async (t) => {
	const own = { ...(await freshDatabase()) };
	const name = 'waiting', dir = await temporaryDirectory(t);
	await psql(cluster, `CREATE DATABASE ${name}`);
	own.flags = ['--database', cluster.replace('/postgres?', `/${name}?`), '--keys', path.join(dir, 'keys')];
	const first = await init(own);
	const server = await startServer({ database: own });
	const admin = server.as(first.adminToken);
	const reload = async (value) => {
		await psql(cluster, `ALTER SYSTEM SET synchronous_standby_names = '${value}'`);
		await psql(cluster, 'SELECT pg_reload_conf()');
	};
	await reload('nobody');
	const writes = Array.from({ length: 16 }, (_, i) => admin.post('/api/v1/agents', { name: `Agent ${i}` }));
	await until(async () => (await admin.get('/readyz')).json.status === 'reads_only', 'the commits that wait to be noticed');
	const { json } = await admin.get('/readyz');
	assert.ok(json.commitsWaiting >= 1 && json.commitsWaiting < 8, `${json.commitsWaiting} of 8 connections`);
	assert.equal((await admin.get('/api/v1/agents')).status, 200);
	assert.match((await server.get('/metrics')).text, /^countersign_db_commits_waiting [1-7]$/m);
	await reload('');
	for (const { status } of await Promise.all(writes)) assert.ok([201, 503].includes(status), `${status}`); // 503: no connection became free in time
	await until(async () => (await admin.get('/readyz')).json.status === 'ready', 'the commits to be through');
	await server.stop();
});
