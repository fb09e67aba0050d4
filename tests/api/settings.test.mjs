// SPDX-License-Identifier: Apache-2.0
// Settings by flag, environment and file: who beats whom, and what is refused. `doctor` says which address it looked at.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { program, root, run, temporaryDirectory } from './lib/server.mjs';

async function settingsFile(t, content) {
	const file = path.join(await temporaryDirectory(t), 'settings.json');
	await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
	return file;
}

async function addressUsed(args, env) {
	const { stdout } = await run(['doctor', '--json', ...args], { env });
	return /(\S+:\d+) is free/.exec(JSON.parse(stdout).checks.find((check) => check.name === 'address').message)?.[1];
}

async function assertRefused(t, { args = [], env, file }, ...patterns) {
	const more = file === undefined ? [] : ['--config', await settingsFile(t, file)];
	const { code, stderr, stdout } = await run(['serve', ...more, ...args], { env });
	assert.equal(code, 2, stderr + stdout);
	assert.match(stderr, /^countersign: [^\n]+\n$/);
	for (const pattern of patterns) assert.match(stderr, pattern);
	return stderr;
}

test('a flag beats the environment, which beats the file, which beats the default', async (t) => {
	const file = await settingsFile(t, { listen: '127.0.0.2:0', 'log-level': 'error' });
	const env = { COUNTERSIGN_LISTEN: '127.0.0.3:0' };
	const inEnv = { COUNTERSIGN_CONFIG: file };
	assert.equal(await addressUsed(['--listen', '127.0.0.4:0', '--config', file], env), '127.0.0.4:0');
	assert.equal(await addressUsed(['--config', file], env), '127.0.0.3:0');
	assert.equal(await addressUsed(['--config', file], {}), '127.0.0.2:0');
	assert.equal(await addressUsed([], inEnv), '127.0.0.2:0');
	assert.equal(await addressUsed(['--config='], inEnv), await addressUsed([], {}));
});

test('what loses is checked all the same', async (t) => {
	await assertRefused(t, { args: ['--workers', '2'], env: { COUNTERSIGN_WORKERS: 'many' } }, /COUNTERSIGN_WORKERS must be a whole number from 1 to 256/);
	await assertRefused(t, { args: ['--workers', '2'], file: { workers: 0 } }, /"workers" in .*settings\.json must be/);
});

test('a name that is no setting is refused, with a guess', async (t) => {
	await assertRefused(t, { env: { COUNTERSIGN_LISEN: '127.0.0.1:0' } }, /COUNTERSIGN_LISEN is no setting; did you mean COUNTERSIGN_LISTEN\?/);
	await assertRefused(t, { env: { COUNTERSIGN_FROBNICATE: '' } }, /COUNTERSIGN_FROBNICATE is no setting; `countersign help settings`/);
	await assertRefused(t, { file: { logLevel: 'info' } }, /"logLevel" in .* is no setting; did you mean "log-level"\?/);
	await assertRefused(t, { file: { zzzzzz: 1 } }, /"zzzzzz" in .* is no setting; `countersign help settings`/);
	await assertRefused(t, { file: { config: 'other.json' } }, /"config" in .* is no setting/);
});

test('variables of others, and those of the tests, are left alone', async () => {
	const { code } = await run(['migrate', '--help'], { env: { COUNTERSIGN_TEST_ENGINE: 'x', COUNTERSIGN_BUILD: 'x', COUNTERSIGNED: 'x' } });
	assert.equal(code, 0);
	assert.ok(await addressUsed(['--listen', '127.0.0.1:0'], { COUNTERSIGN_TEST_ENGINE: 'x', COUNTERSIGN_BUILD: 'x', COUNTERSIGNED: 'x' }));
});

const badValues = [
	['listen', '7701', /HOST:PORT.*; did you mean 127\.0\.0\.1:7701\?$/m],
	['listen', '127.0.0.1', /HOST:PORT .*, such as 127\.0\.0\.1:7700/],
	['listen', '127.0.0.1:70000', /with a port from 0 to 65535, .*, not "127\.0\.0\.1:70000"$/m],
	['listen', ':80', /did you mean 127\.0\.0\.1:80\?/],
	['tls-key', 'a\nb', /the path of a file, or nothing/],
	['listen', 'a b:80', /HOST:PORT/],
	['listen', '::1:80', /\[::1\]:7700/],
	['workers', '0', /from 1 to 256/],
	['workers', '1.5', /whole number/],
	['workers', '', /whole number/],
	['workers', '99999999999999999999', /whole number/],
	['drain-seconds', '-1', /from 0 to 3600/],
	['log-level', 'loud', /debug, info, warn or error, not "loud"/],
	['data', '', /the path of a directory/],
	['database', 'mysql://root@db/x', /postgres:\/\//],
	['database', 'host=db password=geheim', /postgres:\/\//],
	['data', 'x'.repeat(5000), /longer than 4096/],
	['listen', 'a\nb:80', /HOST:PORT/],
];
for (const [name, value, pattern] of badValues) {
	test(`${name} ${JSON.stringify(value).slice(0, 30)} is refused everywhere it can be given`, async (t) => {
		const variable = `COUNTERSIGN_${name.toUpperCase().replaceAll('-', '_')}`;
		const texts = [
			await assertRefused(t, { args: [`--${name}`, value] }, pattern, new RegExp(`--${name}`)),
			await assertRefused(t, { env: { [variable]: value } }, pattern, new RegExp(variable)),
			await assertRefused(t, { file: { [name]: value } }, /^countersign: "/),
		];
		for (const text of texts) assert.doesNotMatch(text, /geheim/);
	});
}

test('in the file a number is a number and a text is a text', async (t) => {
	await assertRefused(t, { file: { workers: '2' } }, /must be a whole number/);
	await assertRefused(t, { file: { listen: 7700 } }, /must be a string/);
	await assertRefused(t, { file: { listen: null } }, /must be a string/);
	assert.equal(await addressUsed(['--config', await settingsFile(t, '{"workers": 2e0, "listen": "127.0.0.2:0"}')], {}), '127.0.0.2:0');
});

test('a file that is not one JSON object is refused with the place', async (t) => {
	await assertRefused(t, { file: '{"workers": 2,}' }, /settings\.json cannot be read as settings: .*line 1/);
	await assertRefused(t, { file: '{"workers": 2, "workers": 3}' }, /settings\.json/);
	await assertRefused(t, { file: '[]' }, /must hold a JSON object/);
	await assertRefused(t, { file: '' }, /cannot be read as settings/);
	await assertRefused(t, { file: `{"data":"${'x'.repeat(70000)}"}` }, /larger than 65536 bytes/);
});

test('a file that is not there is exit code 1: it is not the settings that are wrong', async (t) => {
	const dir = await temporaryDirectory(t);
	for (const file of [path.join(dir, 'none.json'), dir]) {
		const { code, stderr } = await run(['serve', '--config', file]);
		assert.equal(code, 1);
		assert.match(stderr, /the settings file .* cannot be (opened|read): /);
	}
});

test('a certificate and its key come together', async (t) => {
	await assertRefused(t, { args: ['--tls-certificate', 'c.pem'] }, /tls-key is missing/);
	await assertRefused(t, { args: ['--tls-key', 'k.pem'] }, /tls-certificate is missing/);
});

test('a certificate that cannot be read is said in one sentence', async (t) => {
	const dir = path.join(await temporaryDirectory(t), 'data');
	await mkdir(dir, { mode: 0o700 });
	await assertRefused(t, { args: ['--listen', '127.0.0.1:0', '--data', dir, '--tls-certificate', 'none.pem', '--tls-key', 'none.pem'] }, /none\.pem/);
});

test('docs/settings.md is what the program says', async () => {
	const { stdout } = await run(['help', 'settings', '--markdown']);
	assert.equal(await readFile(path.join(root, 'docs/settings.md'), 'utf8'), stdout, `make it again: ${path.relative(root, program)} help settings --markdown > docs/settings.md`);
});

test('help settings names each flag, variable and default', async () => {
	const { stdout } = await run(['help', 'settings']);
	for (const name of ['listen', 'data', 'database', 'log-level', 'workers', 'database-connections', 'max-connections', 'max-connections-per-address', 'tls-certificate', 'tls-key', 'drain-seconds', 'sqlite-batch', 'config', 'server', 'server-ca', 'token'])
		assert.match(stdout, new RegExp(`--${name} \\S+  COUNTERSIGN_${name.toUpperCase().replaceAll('-', '_')}\n`));
});
