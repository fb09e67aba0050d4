// SPDX-License-Identifier: Apache-2.0
// The command line: help that helps, mistakes that are explained, and the commands that end by themselves.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, open, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { freshDatabase, onPostgres, program, run, startServer, temporaryDirectory } from './lib/server.mjs';

const commands = ['serve', 'init', 'migrate', 'doctor', 'recover', 'audit', 'token', 'propose', 'proposals', 'approve', 'deny', 'apply', 'mcp', 'version', 'faults', 'help'];

/** A mistake: nothing on standard output, one line on standard error, exit code 2. */
async function assertMistake(args, pattern, options) {
	const { code, stdout, stderr } = await run(args, options);
	assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
	assert.equal(stdout, '');
	assert.match(stderr, /^countersign: [^\n]+\n$/);
	assert.match(stderr, pattern);
}

test('help lists every command and the exit codes', async () => {
	for (const args of [['help'], ['--help'], ['-h']]) {
		const { code, stdout, stderr } = await run(args);
		assert.equal(code, 0);
		assert.equal(stderr, '');
		for (const command of commands) assert.match(stdout, new RegExp(`^  ${command} +\\S`, 'm'));
		assert.match(stdout, /Exit codes: 0 .* 1 .* 2 /);
	}
});

test('every command explains itself in lines that fit a terminal', async () => {
	for (const command of commands) {
		const { code, stdout } = await run([command, '--help']);
		assert.equal(code, 0, command);
		assert.match(stdout, new RegExp(`Usage:\n  countersign ${command}`));
		assert.match(stdout, /--help/);
		for (const line of stdout.split('\n')) assert.ok(line.length <= 80 || line.startsWith('  countersign '), line);
		assert.equal((await run(['help', command])).stdout, stdout);
		assert.equal((await run([command, '-h'])).stdout, stdout);
	}
});

test('serve --help has settings in groups, defaults and examples', async () => {
	const { stdout } = await run(['serve', '--help']);
	for (const part of ['\nStorage:\n', '\nNetwork:\n', '\nExamples:\n', '--listen HOST:PORT', '[127.0.0.1:7700]']) assert.ok(stdout.includes(part), part);
});

test('wrap --help says where wrap has its data, which is not where the other commands have theirs', async () => {
	const { stdout } = await run(['wrap', '--help']);
	assert.match(stdout, /--data DIR [^[]*\[~\/\.local\/share\/countersign\]/);
	assert.doesNotMatch(stdout, /\[data\]/);
});

test('every group of settings stands once in the help and in docs/settings.md', async () => {
	for (const [args, heading] of [[['help', 'settings'], /^[A-Z].*(?=:$)/gm], [['help', 'settings', '--markdown'], /^## .*/gm]]) {
		const headings = (await run(args)).stdout.match(heading);
		assert.ok(headings.length > 5);
		assert.deepEqual(headings, [...new Set(headings)]);
	}
});

test('a command takes only the settings that mean something to it', async () => {
	assert.doesNotMatch((await run(['migrate', '--help'])).stdout, /--tls-key/);
	await assertMistake(['migrate', '--tls-key', 'x'], /migrate does not take --tls-key/);
	await assertMistake(['version', '--data', 'x'], /version does not take --data/);
});

test('mistakes are explained in one line', async () => {
	await assertMistake([], /help/);
	await assertMistake([''], /help/);
	await assertMistake(['--listen', '127.0.0.1:0'], /a command comes first, then flags such as "--listen"/);
	await assertMistake(['serv'], /did you mean "serve"/);
	await assertMistake(['migarte'], /did you mean "migrate"/);
	await assertMistake(['frobnicate'], /no command "frobnicate".*help/);
	await assertMistake(['serve', '--lisen', 'x'], /did you mean --listen/);
	await assertMistake(['serve', '--frobnicate'], /serve does not take --frobnicate.*--help/);
	await assertMistake(['serve', '-p', '1'], /two dashes/);
	await assertMistake(['serve', 'now'], /"now"/);
	await assertMistake(['serve', '--listen'], /needs a value/);
	await assertMistake(['serve', '--workers', '2', '--workers=3'], /twice/);
	await assertMistake(['version', '--json=yes'], /takes no value/);
	await assertMistake(['help', 'nothing'], /no command "nothing"/);
	await assertMistake(['help', 'serve', '--markdown'], /help settings/);
	await assertMistake(['help', 'a', 'b'], /"b"/);
});

test('version says it for people and for programs', async () => {
	const { stdout } = await run(['version']);
	assert.match(stdout, /^Countersign \d+\.\d+\.\d+\n$/);
	assert.equal((await run(['--version'])).stdout, stdout);
	const json = JSON.parse((await run(['version', '--json'])).stdout);
	assert.equal(`Countersign ${json.version}\n`, stdout);
});

test('faults lists the points, or says that there are none', async () => {
	const { faults } = JSON.parse((await run(['version', '--json'])).stdout);
	const { code, stdout, stderr } = await run(['faults']);
	assert.equal(code, faults ? 0 : 1);
	if (faults) assert.match(stdout, /^tx_before_commit +\S/m);
	else assert.match(stderr, /not compiled into this program/);
});

test('a fault that is none is a mistake', async (t) => {
	if (!JSON.parse((await run(['version', '--json'])).stdout).faults) return t.skip('skipped: fault points are not compiled in');
	for (const spec of ['nonsense', 'tx_before_commit:0:kill', 'tx_before_commit:1:maybe', ''])
		await assertMistake(['doctor'], /COUNTERSIGN_FAULT must be/, { env: { COUNTERSIGN_FAULT: spec } });
	await assertMistake(['doctor'], /names no bug/, { env: { COUNTERSIGN_TEST_PLANT: 'nonsense' } });
});

test('output that cannot be written is an error', async () => {
	const full = await open('/dev/full', 'w');
	const child = spawn(program, ['help'], { stdio: ['ignore', full.fd, 'pipe'] });
	let stderr = '';
	child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
	const [code] = await once(child, 'close');
	await full.close();
	assert.equal(code, 1);
	assert.match(stderr, /standard output cannot be written/);
});

test('migrate says what it did, and the second time that there was nothing to do', async () => {
	const database = await freshDatabase();
	assert.match((await run(['migrate', ...database.flags])).stdout, /from version 0 to [1-9]/);
	assert.match((await run(['migrate', ...database.flags])).stdout, /at version [1-9]\d*; there was nothing to do/);
	await database.drop();
});

const doctor = async (...args) => {
	const options = typeof args.at(-1) === 'object' ? args.pop() : {};
	const { code, stdout, stderr } = await run(['doctor', '--json', ...args], options);
	const report = JSON.parse(stdout);
	return { code, stderr, ok: report.ok, checks: Object.fromEntries(report.checks.map((check) => [check.name, check])) };
};

test('doctor finds nothing wrong with a database that works', async () => {
	const database = await freshDatabase();
	await run(['migrate', ...database.flags]);
	const { code, ok, checks } = await doctor('--listen', '127.0.0.1:0', ...database.flags);
	assert.equal(checks.database.level, 'ok', checks.database.message);
	assert.equal(checks.address.level, 'ok');
	for (const check of Object.values(checks)) assert.match(check.level, /^(ok|warn|fail)$/);
	assert.equal(code, ok ? 0 : 1);
	await database.drop();
});

test('doctor has a line for each check', async () => {
	const database = await freshDatabase();
	const { stdout } = await run(['doctor', ...database.flags]);
	const [first, ...lines] = stdout.trimEnd().split('\n');
	assert.match(first, /^Looked at --data \S+ .*--listen 127\.0\.0\.1:7700 \(/);
	for (const line of lines) assert.match(line, /^(ok|warn|fail) +[a-z ]+: \S/);
	for (const name of ['database', 'data directory', 'disk', 'clock', 'landlock', 'seccomp', 'user namespaces', 'open files', 'address']) assert.match(stdout, new RegExp(` ${name}: `));
	await database.drop();
});

test('doctor makes nothing', async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	const { checks } = await doctor('--data', dir);
	assert.equal(checks['data directory'].level, 'warn');
	assert.equal(checks.database.level, 'warn');
	await assert.rejects(stat(dir), { code: 'ENOENT' });
	await mkdir(dir, { mode: 0o700 });
	await doctor('--data', dir);
	await assert.rejects(stat(path.join(dir, 'countersign.db')), { code: 'ENOENT' });
});

test('doctor fails where others may enter the data directory', async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	await mkdir(dir);
	const { code, ok, checks, stderr } = await doctor('--data', dir);
	assert.equal(code, 1);
	assert.equal(ok, false);
	assert.equal(checks['data directory'].level, 'fail');
	assert.match(checks['data directory'].message, /chmod 700/);
	assert.match(stderr, /of the checks failed/);
});

test('doctor fails where the data directory is a file, or somebody else\'s', async (t) => {
	const dir = await temporaryDirectory(t);
	await writeFile(path.join(dir, 'file'), '');
	assert.match((await doctor('--data', path.join(dir, 'file'))).checks['data directory'].message, /is not a directory/);
	assert.equal((await doctor('--data', path.join(dir, 'file', 'data'))).checks['data directory'].level, 'fail');
	if (process.getuid() !== 0) return;
	await mkdir(path.join(dir, 'data'), { mode: 0o700 });
	await chown(path.join(dir, 'data'), 65534, 65534);
	assert.match((await doctor('--data', path.join(dir, 'data'))).checks['data directory'].message, /belongs to user 65534/);
});

test('doctor warns where few files may be open', async () => {
	const { checks } = await doctor({ first: 'ulimit -n 256' });
	assert.equal(checks['open files'].level, 'warn');
	assert.match(checks['open files'].message, /at most 256 may be open/);
});

test('doctor fails where the database cannot be reached, or the address is not ours', async () => {
	const { checks } = await doctor('--database', 'postgres://127.0.0.1:1/none', '--listen', '192.0.2.1:0');
	assert.equal(checks.database.level, 'fail');
	assert.equal(checks.address.level, 'fail');
});

test('doctor says that a schema is old', async (t) => {
	if (!onPostgres) return t.skip('skipped: on SQLite an empty directory has no database to be old');
	const database = await freshDatabase();
	assert.match((await doctor(...database.flags)).checks.database.message, /older than this program/);
	await database.drop();
});

test('doctor warns while the server runs', async () => {
	const server = await startServer();
	const { checks } = await doctor('--listen', `127.0.0.1:${server.port}`, ...server.database.flags);
	assert.equal(checks.address.level, 'warn');
	assert.match(checks.address.message, /in use/);
	if (!onPostgres) assert.match(checks.database.message, /another process/);
	await server.stop();
});
