// SPDX-License-Identifier: Apache-2.0
// Programs that the server starts: which paths of the machine they may be shown, and that they end with the server (EX-3).
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { noSandbox } from './lib/mcpclient.mjs';
import { processesOf, temporaryDirectory, until } from './lib/process.mjs';
import { freshDatabase, root } from './lib/server.mjs';

const skip = noSandbox();
const lib = path.join(root, 'tests/api/lib');
const server = path.join(lib, 'stdio-server.mjs');
const node = path.resolve(process.execPath, '../..'); // shown anyway, where it is the system's

/** A server whose operator lists a folder to be read, one in it to be written, and by mistake the folder with our own files. */
async function start(options = {}) {
	const given = await fs.realpath(await temporaryDirectory());
	const database = await freshDatabase();
	const keys = database.flags.includes('--keys') ? database.flags[database.flags.indexOf('--keys') + 1] : path.join(database.dir, 'keys');
	await fs.mkdir(path.join(given, 'out'), { mode: 0o777 });
	await fs.chmod(given, 0o755);
	await fs.chmod(path.join(given, 'out'), 0o777);
	const listed = [given, `${given}/out:rw`, lib, node, `${path.dirname(keys)}:rw`, ...(database.dir ? [path.dirname(database.dir)] : [])];
	const w = await World.start({ ...options, database, args: ['--stdio-upstreams', 'sandboxed', '--stdio-paths', listed.join(',')] });
	return { w, boss: await w.person(['admin']), given, keys };
}

let here, count = 0;
before(async () => {
	here = await start();
});
after(() => here?.w.stop());

const add = (paths, { argv = [process.execPath, server], at = here } = {}) =>
	at.boss.post('/api/v1/upstreams', { name: `program${++count}`, kind: 'stdio', program: { argv, paths } });
const runs = [{ path: lib }, { path: node }];

test('EX-3 a program is shown nothing of ours, whatever the operator has listed, and nothing that is not listed', { skip }, async () => {
	const { given, keys } = here;
	const data = path.dirname(keys);
	await fs.symlink(data, path.join(given, 'link'));
	await fs.symlink('/', path.join(given, 'root'));
	const ours = [data, keys, path.dirname(data), path.join(given, 'link'), path.join(given, 'link/keys'), `${keys}-checkpoints`, process.env.COUNTERSIGN_BUILD ? path.resolve(root, process.env.COUNTERSIGN_BUILD) : path.join(root, 'build-dev')];
	for (const one of ours) await refused(add([...runs, { path: one }]), 403, 'forbidden', /Countersign's own data, keys, configuration or program|does not list|not a path that/);
	for (const one of ['/', '/proc', '/proc/self/root', '/sys', '/dev', path.join(given, 'root')]) await refused(add([{ path: one }]), 403, 'forbidden', /no program is shown/);
	for (const one of ['/etc', '/etc/passwd', '/root', '/var', '/nowhere', `${given}x`, path.join(given, 'root/etc')]) await refused(add([{ path: one }]), 403, 'forbidden', /not a path that this server's operator lists for programs; add it to the setting stdio-paths/);
	for (const one of [`${given}/../x`, `${given}/./out`, `${given}/out/..`]) await refused(add([{ path: one }]), 400, 'invalid_request', /without dots/);
	await refused(add([{ path: given, writable: true }]), 403, 'forbidden', /for reading only/);
	await refused(add([{ path: path.join(given, 'nothing') }]), 400, 'invalid_request', /there is no /);
	assert.deepEqual((await ok(here.boss.get('/api/v1/upstreams'))).upstreams, []);
});

test('EX-3 what is listed can be chosen, and the program runs', { skip }, async () => {
	const u = await ok(add([...runs, { path: here.given }, { path: path.join(here.given, 'out'), writable: true }]));
	assert.ok((await ok(here.boss.post(`/api/v1/upstreams/${u.id}/refresh`))).tools.length > 3);
	await ok(here.boss.delete(`/api/v1/upstreams/${u.id}`));
});

test('EX-3 a link that is exchanged after a path was accepted leads nowhere: it is looked at again at each start', { skip }, async () => {
	const { given, keys, boss, w } = here;
	const link = path.join(given, 'later');
	await fs.symlink(path.join(given, 'out'), link);
	const u = await ok(add([...runs, { path: link }]));
	await fs.unlink(link);
	for (const [target, why] of [[path.dirname(keys), /Countersign's own data/], ['/etc', /not a path that this server's operator lists/], ['/', /no program is shown/]]) {
		await fs.symlink(target, link);
		await refused(boss.post(`/api/v1/upstreams/${u.id}/refresh`), 503, 'unavailable', why);
		await fs.unlink(link);
	}
	assert.doesNotMatch(w.server.stderr, new RegExp(`upstream.started .*program${count}\\b`));
	await fs.symlink(path.join(given, 'out'), link);
	await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`));
	await ok(boss.delete(`/api/v1/upstreams/${u.id}`));
});

test('EX-3 with the check of paths planted out the same program prints the key file', { skip }, async (t) => {
	const open = await start({ env: { COUNTERSIGN_TEST_PLANT: 'paths_unchecked' } });
	t.after(() => open.w.stop());
	const copy = path.join(open.given, 'out', 'copy');
	const argv = ['/bin/sh', '-c', `head -c 4 ${open.keys} | wc -c > ${copy}`];
	const u = await ok(add([{ path: path.dirname(open.keys) }, { path: path.dirname(copy), writable: true }], { argv, at: open }));
	await open.boss.post(`/api/v1/upstreams/${u.id}/refresh`);
	assert.equal((await fs.readFile(copy, 'utf8')).trim(), '4');
});

test('EX-3 a server that is killed leaves no program behind, started long ago or in that moment', { skip }, async () => {
	const one = await start();
	const { child } = one.w.server, mark = `killed-with-${process.pid}`;
	try {
		const programs = await Promise.all([1, 2, 3, 4].map(async () => ok(add(runs, { argv: [process.execPath, server, mark], at: one }))));
		await Promise.all(programs.slice(0, 3).map(({ id }) => one.boss.post(`/api/v1/upstreams/${id}/refresh`)));
		const starting = one.boss.post(`/api/v1/upstreams/${programs[3].id}/refresh`).catch(() => {});
		await until(async () => (await processesOf(mark)).length >= 4, 'the programs');
		child.kill('SIGKILL');
		await starting;
		await until(async () => (await processesOf(mark)).length === 0, 'the end of all programs');
	} finally {
		await one.w.server.database.drop();
	}
});
