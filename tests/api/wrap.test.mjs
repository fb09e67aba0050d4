// SPDX-License-Identifier: Apache-2.0
// `countersign wrap`: one line puts the gate in front of a program that speaks MCP (EX-3, CLI-1).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { removeTree } from './lib/process.mjs';
import { fixedAddress, onPostgres, program, root, run, startServer, startSetUp, temporaryDirectory, until } from './lib/server.mjs';
import { confinement, Place, processesOf } from './lib/wrap.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: the server of wrap is on SQLite';
const fixture = [process.execPath, path.join(root, 'tests/api/lib/stdio-server.mjs')];
const text = ({ content }) => JSON.parse(content[0].text);
const offered = (place) => place.admin('GET', '/api/v1/upstreams').then(({ upstreams }) => upstreams.map(({ name }) => name).sort());

/** A place, and a folder that the wrapped program is given. */
async function scene(t, options) {
	const place = await Place.make(t, options);
	const folder = path.join(place.dir, 'letters');
	await mkdir(folder, { recursive: true });
	return { place, folder, line: [...fixture, folder] };
}
const accept = (place, name, tool, ...more) => place.cli('upstream', 'accept', name, tool, '--yes', ...more);
const reads = ['--effect', 'read', '--tier', 'always_allow'];

test('EX-3 EX-4 one line: nothing before it is accepted, reads run, a write waits for a person and happens once', { skip }, async (t) => {
	const { place, folder, line } = await scene(t);
	const one = await place.wrap(line, { flags: ['--name', 'files'] });
	assert.deepEqual(await one.tools(), [], 'nobody has accepted anything');
	await assert.rejects(one.call('read', { path: '/' }), /no tool called/);
	await accept(place, 'files', 'read', ...reads);
	assert.match(await accept(place, 'files', 'write', '--effect', 'mutate'), /^accepted +mutate +needs_approval +mcp__files__write/m);
	await until(async () => (await one.tools()).length === 2, 'the tools');
	assert.deepEqual((await one.client.listTools()).tools.map(({ name }) => name).filter((name) => !name.includes('proposal')), ['mcp__files__read', 'mcp__files__write'], 'and none of Countersign’s own work');
	const file = path.join(folder, 'a.txt');
	assert.equal(text(await one.call('read', { path: file })).got, 'ENOENT');
	const { structuredContent: p } = await one.call('write', { path: file });
	assert.equal(p.status, 'awaiting_operator');
	assert.equal(text(await one.call('read', { path: file })).got, 'ENOENT', 'nothing has happened');
	assert.equal((await place.approve(p.proposalId)).state, 'applied');
	assert.equal(await readFile(file, 'utf8'), 'written');
	await rm(file);
	await assert.rejects(place.approve(p.proposalId), /proposal_gone|conflict/);
	await assert.rejects(stat(file), 'once');
	await one.close();
});

test('CLI-1 it says what the program is granted, where the console is, and no secret', { skip }, async (t) => {
	const { place, folder, line } = await scene(t, { env: { API_KEY: 'hunter2hunter2' } });
	const notes = path.join(place.dir, 'notes');
	await mkdir(notes);
	const one = await place.wrap(line, { flags: ['--read', notes, '--env', 'API_KEY'] });
	assert.equal(one.name, 'stdio-server');
	const { adminPassword, adminToken } = await place.json('first.json');
	for (const secret of [adminPassword, adminToken, 'hunter2', (await place.json('wrap.json')).agentToken]) assert.ok(!one.stderr.includes(secret));
	assert.match(one.stderr, /^Program +\S*node\S* \S+stdio-server\.mjs \S+letters$/m);
	assert.match(one.stderr, /^Variables +PATH, HOME, LANG, API_KEY$/m);
	assert.match(one.stderr, /^Tools +0 accepted; \d+ that no agent sees before an admin accepts them$/m);
	assert.match(one.stderr, new RegExp(`^Console +${await place.url()}$`, 'm'));
	assert.match(one.stderr, /^Sign in +as the first admin; \S+\/first\.json says how$/m);
	if (confinement.length) {
		assert.match(one.stderr, /^Sandbox +NONE/m);
	} else {
		assert.match(one.stderr, new RegExp(`^May write +${folder}$`, 'm'));
		assert.match(one.stderr, new RegExp(`^May read +the system's programs, .*${notes}`, 'm'));
		assert.match(one.stderr, /^Network +none$/m);
		await accept(place, one.name, 'write', ...reads);
		await accept(place, one.name, 'about', ...reads);
		await until(async () => (await one.tools()).length === 2, 'the tools');
		assert.equal(text(await one.call('about')).uid, 65534);
		assert.match(text(await one.call('write', { path: path.join(notes, 'x') })).got, /EROFS|EACCES/);
		assert.equal(text(await one.call('write', { path: path.join(folder, 'x') })).got, 'ok');
		assert.equal(text(await one.call('write', { path: path.join(place.data, 'x') })).got, 'ENOENT', 'our own data is not there');
	}
	for (const name of ['first.json', 'wrap.json', 'address', 'wrap.log', '.']) assert.equal((await stat(path.join(place.data, name))).mode & 0o077, 0, name);
	await one.close();
});

test('EX-3 a second wrap uses the server of the first, and outlives it; each shows its own tools', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const one = await place.wrap(line);
	await accept(place, one.name, 'echo', ...reads);
	const url = await place.url();
	const two = await place.wrap([...line, 'again']);
	const three = await place.wrap(line);
	assert.deepEqual([two.name, three.name, await place.url()], ['stdio-server-2', one.name, url]);
	await accept(place, two.name, 'echo', ...reads);
	await until(async () => (await two.tools()).length === 1, 'the tools');
	assert.deepEqual([await one.tools(), await two.tools(), await three.tools()], [['mcp__stdio-server__echo'], ['mcp__stdio-server-2__echo'], ['mcp__stdio-server__echo']]);
	await one.close();
	await three.close();
	assert.deepEqual(text(await two.call('echo', { a: 1 })), { a: 1 }, 'it goes on');
	await two.close();
	await until(() => fetch(url).then(() => false, () => true), 'the end of the server');
	const again = await place.wrap([...line, 'again']);
	assert.equal(again.name, 'stdio-server-2', 'it is known');
	assert.deepEqual(await again.tools(), ['mcp__stdio-server-2__echo'], 'and so is what was accepted');
	await again.close();
});

test('EX-3 many that begin at once have one server', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const all = await Promise.all([0, 1, 2].map((n) => place.wrap(line, { flags: ['--name', `n${n}`] })));
	assert.deepEqual(await offered(place), ['n0', 'n1', 'n2']);
	assert.equal((await readFile(path.join(place.data, 'wrap.log'), 'utf8')).match(/event=server\.ready/g).length, 1);
	await Promise.all(all.map((one) => one.close()));
});

test('EX-3 whoever is killed leaves nothing behind', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const one = await place.wrap(line), url = await place.url();
	assert.ok((await processesOf(place.dir)).length >= 2, 'wrap, its server, and the program');
	process.kill(one.transport.pid, 'SIGKILL');
	await until(async () => (await processesOf(place.dir)).length === 0, 'the end of all of them');
	await assert.rejects(fetch(url));
	const two = await place.wrap(line);
	assert.equal(two.name, one.name);
	await two.close();
	await one.client.close();
});

test('EX-3 EX-4 a shared server that is killed is started again by one of the wraps, and all go on', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const one = await place.wrap(line), two = await place.wrap([...line, 'again']);
	for (const { name } of [one, two]) await accept(place, name, 'echo', ...reads);
	await until(async () => (await one.tools()).length + (await two.tools()).length === 2, 'the tools');
	const clients = [one, two].map(({ transport }) => transport.pid);
	const server = async () => {
		const fresh = (await processesOf(place.data)).filter((pid) => !clients.includes(pid));
		return fresh.length === 1 && fresh[0];
	};
	const was = await server();
	assert.ok(was);
	for (const round of [1, 2]) {
		process.kill(await server(), 'SIGKILL');
		const echoed = await Promise.all([one, two].map((wrap) => wrap.call('echo', { round })));
		assert.deepEqual(echoed.map(text), [{ round }, { round }]);
		await until(server, 'one server again');
	}
	assert.notEqual(await server(), was);
	assert.match(one.stderr + two.stderr, /countersign: the server on \S+ has ended, and is started again/);
	const url = await place.url();
	await one.close();
	assert.deepEqual(text(await two.call('echo', { a: 1 })), { a: 1 });
	await two.close();
	await until(() => fetch(url).then(() => false, () => true), 'the end of the server, with the last of them');
});

test('EX-3 a shared server that cannot be started again is said at once, and where it can be it is', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const one = await place.wrap(line);
	await accept(place, one.name, 'echo', ...reads);
	await until(async () => (await one.tools()).length === 1, 'the tool');
	const kept = await readFile(path.join(place.data, 'wrap.json'));
	const [server] = (await processesOf(place.data)).filter((pid) => pid !== one.transport.pid);
	await writeFile(path.join(place.data, 'wrap.json'), '{}');
	process.kill(server, 'SIGKILL');
	await assert.rejects(one.call('echo'), /wrap\.json is not a file of wrap's/);
	await writeFile(path.join(place.data, 'wrap.json'), kept);
	assert.deepEqual(text(await one.call('echo', { a: 1 })), { a: 1 });
	await one.close();
});

test('EX-3 a server that somebody runs by hand is not started again by wraps, but waited for', { skip }, async (t) => {
	const { place, line } = await scene(t);
	await (await place.wrap(line)).close();
	await place.end();
	const serve = (listen) => startServer({ listen, database: { flags: ['--data', place.data], drop: async () => {} }, args: ['--stdio-upstreams', confinement.length ? 'unconfined' : 'sandboxed'] });
	const server = await serve(await fixedAddress());
	const one = await place.wrap(line);
	await accept(place, one.name, 'echo', ...reads);
	await until(async () => (await one.tools()).length === 1, 'the tool');
	await server.stop();
	const waits = one.call('echo', { a: 1 });
	await until(() => /does not answer/.test(one.stderr), 'the wrap has noticed');
	const again = await serve(server.options.listen);
	assert.deepEqual(text(await waits), { a: 1 });
	assert.doesNotMatch(one.stderr, /is started again/);
	await one.close();
	await again.stop();
});

test('CLI-1 EX-3 what a wrap waits for is said, and a program that never answered is not waited for', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const mute = spawn(program, ['wrap', ...place.flags, '--name', 'mute', '--', '/bin/sleep', '100'], { env: { HOME: place.dir, PATH: process.env.PATH }, stdio: 'ignore' });
	await until(async () => /event=upstream\.started/.test(await readFile(path.join(place.data, 'wrap.log'), 'utf8').catch(() => '')), 'the program');
	mute.kill('SIGKILL');
	await until(async () => (await processesOf(place.data)).length === 0, 'the end of its server', 25);
	const lock = path.join(place.data, 'wrap.start');
	const holder = spawn('flock', [lock, 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] });
	const isHeld = async () => (await once(spawn('flock', ['--nonblock', lock, 'true']), 'close'))[0] !== 0;
	await until(isHeld, 'the lock');
	const late = spawn(program, ['wrap', ...place.flags, '--', ...line], { env: { HOME: place.dir, PATH: process.env.PATH }, stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	late.stderr.setEncoding('utf8').on('data', (s) => (said += s));
	await until(() => /^countersign: \S+: waiting for another wrap that starts the server, or sets itself up$/m.test(said), 'what it waits for');
	holder.stdin.end();
	assert.deepEqual(await once(late, 'close'), [0, null], said);
	assert.match(said, /is behind Countersign's gate/);
});

test('EX-3 a line that is another one is another program: it is accepted anew, and never takes a name that is in use', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const named = { flags: ['--name', 'files'] };
	const one = await place.wrap(line, named);
	await accept(place, 'files', 'echo', ...reads);
	const busy = await place.fail([...line, 'other'], named.flags);
	assert.equal(busy.code, 1);
	assert.match(busy.stderr, /^countersign: the name "files" is another server's now; give this one another with --name\n$/);
	await one.close();
	const two = await place.wrap([...line, 'other'], named);
	assert.deepEqual([await two.tools(), await offered(place)], [[], ['files']]);
	await place.cli('upstream', 'add', 'byhand', '--', ...line);
	const theirs = await place.fail(line, ['--name', 'byhand']);
	assert.match(theirs.stderr, /the name "byhand" is another server's now/);
	await two.close();
	const env = { flags: ['--name', 'files', '--env', 'KEY'] };
	const three = await place.wrap([...line, 'other'], { ...env, env: { KEY: 'first' } });
	await accept(place, 'files', 'environment', ...reads);
	await until(async () => (await three.tools()).length === 1, 'the tool');
	assert.equal(text(await three.call('environment')).KEY, 'first');
	await three.close();
	const four = await place.wrap([...line, 'other'], { ...env, env: { KEY: 'second' } });
	assert.deepEqual(await four.tools(), [], 'another value is another line');
	await four.close();
});

test('CLI-1 mistakes are one sentence, and the exit status says whose', { skip }, async (t) => {
	const { place, folder, line } = await scene(t);
	const mistake = async (words, flags, pattern) => {
		const { code, stdout, stderr } = await place.fail(words, flags);
		assert.match(stderr, pattern);
		assert.match(stderr, /^countersign: [^\n]+\n$/);
		assert.deepEqual([code, stdout], [2, ''], stderr);
	};
	await mistake(null, [], /which program\? It comes last, after two dashes/);
	await mistake([''], [], /which program\?/);
	await mistake(line, ['--nmae', 'x'], /did you mean --name\?/);
	await mistake(['no-such-program-at-all'], [], /there is no program "no-such-program-at-all" in PATH/);
	await mistake([path.join(folder, 'none')], [], /there is no program .*none/);
	await mistake([folder], [], /cannot be run: it is not a program/);
	await mistake(line, ['--read', path.join(folder, 'none')], /--read \S+none: there is no such file or directory/);
	await mistake(line, ['--write', 'none'], /--write none: there is no such file/);
	await mistake(line, ['--env', 'NOT_THERE'], /--env NOT_THERE: there is no such variable here/);
	await mistake(line, ['--allow-network', '--no-network'], /which of them\?/);
	await mistake([...fixture, ...Array(70).fill('x')], [], /does not know what to do with|at most 64 words/);
	await mistake([...fixture, place.dir], [], /are in one another: a program that sees that needs nobody's approval/);
	await mistake([...fixture, '/'], [], /are in one another/);
	const link = path.join(folder, 'link');
	await mkdir(place.data, { recursive: true });
	await symlink(place.data, link);
	await mistake([...fixture, link], [], /are in one another/);
	await rm(link);
	const homeless = await run(['wrap', '--', ...line], { env: { HOME: '', XDG_DATA_HOME: '' } });
	assert.deepEqual([homeless.code, /there is no home directory; say where the data is with --data/.test(homeless.stderr)], [2, true], homeless.stderr);
});

test('EX-3 a program that is no MCP server leaves nothing behind but a sentence', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const dead = await place.fail(['/bin/sh', '-c', 'echo "no licence" >&2; exit 9'], ['--name', 'dead']);
	assert.equal(dead.code, 1, dead.stderr);
	assert.match(dead.stderr, /^countersign: \/bin\/sh does not run as an MCP server: .*ended with code 9; it last said: no licence/);
	const one = await place.wrap(line);
	assert.deepEqual(await offered(place), [one.name]);
	const name = path.join(place.dir, 'ignored');
	await writeFile(name, '#!/bin/sh\nexit 3\n');
	await chmod(name, 0o755);
	assert.match((await place.fail([name])).stderr, /does not run as an MCP server/);
	assert.deepEqual(await offered(place), [one.name]);
	await one.close();
});

test('CLI-1 the data is in the user’s directory unless said, and a place that cannot be is refused', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const flags = ['--listen', '127.0.0.1:0', ...confinement];
	for (const [env, dir] of [[{}, '.local/share/countersign'], [{ XDG_DATA_HOME: path.join(place.dir, 'xdg') }, 'xdg/countersign']]) {
		Object.assign(place, { flags, data: path.join(place.dir, dir) });
		const one = await place.wrap(line, { env });
		assert.ok((await place.url()).startsWith('http://127.0.0.1:'));
		await one.close();
		await place.end();
	}
	const file = path.join(place.dir, 'file');
	await writeFile(file, '');
	place.flags = ['--data', path.join(file, 'data'), ...flags];
	assert.match((await place.fail(line)).stderr, /^countersign: \S+\/file\S* cannot be made: /);
	place.flags = ['--data', path.join(place.dir, 'elsewhere'), '--listen', '192.0.2.1:1', ...confinement];
	const deaf = await place.fail(line);
	assert.equal(deaf.code, 1);
	assert.match(deaf.stderr, /^countersign: no server could be started on \S+elsewhere: .*192\.0\.2\.1/);
});

test('CLI-1 a server that somebody else runs on the directory is found, and its rules are its own', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const first = await place.wrap(line);
	await first.close();
	await place.end();
	const serve = (how) => startServer({ database: { flags: ['--data', place.data], drop: async () => {} }, args: ['--stdio-upstreams', how] });
	const off = await serve('off');
	assert.match((await place.fail([...line, 'new'], ['--name', 'new'])).stderr, /was started without programs; start it with `countersign serve --data \S+ --stdio-upstreams sandboxed`, or stop it, and wrap starts one\n$/);
	await off.stop();
	const how = confinement.length ? 'unconfined' : 'sandboxed';
	const on = await serve(how);
	const one = await place.wrap(line);
	assert.equal(await place.url(), on.url);
	await one.close();
	assert.equal((await on.get('/healthz')).status, 200, 'it is not ours to end');
	await on.stop();
	const open = await serve('unconfined');
	place.flags = ['--data', place.data];
	assert.match((await place.fail(line)).stderr, /starts programs without a sandbox; give --unconfined/);
	await open.stop();
});

test('CLI-1 a directory that was set up without wrap has no token for it', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const set = await run(['init', '--json', '--data', place.data]);
	assert.equal(set.code, 0, set.stderr);
	assert.match((await place.fail(line)).stderr, /was set up without wrap, so there is no token in it: start the server with `countersign serve --data/);
	const server = await startServer({ database: { flags: ['--data', place.data], drop: async () => {} } });
	assert.match((await place.fail(line)).stderr, /was set up without wrap, so there is no token in it: give wrap an agent's token/);
	await server.stop();
});

test('ID-5 its tokens are renewed before they end, the old ones end, and a file that is none is said to be', { skip }, async (t) => {
	const { place, line } = await scene(t);
	const one = await place.wrap(line), was = await place.json('wrap.json');
	await one.close();
	await place.end();
	await writeFile(path.join(place.data, 'wrap.json'), JSON.stringify({ ...was, expiresAt: 0 }));
	const two = await place.wrap(line), now = await place.json('wrap.json');
	assert.ok(now.expiresAt > was.expiresAt - 1 && now.agentToken !== was.agentToken && now.adminToken !== was.adminToken);
	const ask = async (token, target, method = 'GET', body) => (await fetch(`${await place.url()}${target}`, { method, body, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } })).status;
	assert.deepEqual([await ask(was.agentToken, '/api/v1/upstreams'), await ask(was.adminToken, '/api/v1/upstreams')], [401, 401]);
	assert.equal(await ask(now.adminToken, '/api/v1/upstreams'), 200);
	assert.equal(await ask(now.adminToken, '/api/v1/tokens', 'POST', '{"name":"more","level":"admin"}'), 403, 'it adds programs and does nothing else');
	assert.equal(await ask(now.agentToken, '/api/v1/upstreams', 'POST', '{"name":"x","kind":"http","url":"https://x.example"}'), 403);
	await two.close();
	await place.end();
	for (const broken of ['{', '{}', '{"expiresAt":1}']) {
		await writeFile(path.join(place.data, 'wrap.json'), broken);
		assert.match((await place.fail(line)).stderr, /wrap\.json is not a file of wrap's/);
	}
});

test('CLI-1 with a token it uses the server of the settings: an admin adds the program by the line that it prints', async (t) => {
	const folder = await temporaryDirectory();
	const listed = [`${folder}:rw`, path.resolve(fixture[1], '../../..'), path.resolve(process.execPath, '../..')];
	const server = await startSetUp({ args: ['--stdio-upstreams', confinement.length ? 'unconfined' : 'sandboxed', '--stdio-paths', listed.join(',')] });
	t.after(() => server.stop());
	t.after(() => removeTree(folder)); // whoever names it is ended then
	const as = (token) => ({ COUNTERSIGN_SERVER: server.url, COUNTERSIGN_TOKEN: token });
	const agent = as(server.first.agentToken), admin = { COUNTERSIGN_SERVER: server.url, COUNTERSIGN_EMAIL: server.first.adminEmail, COUNTERSIGN_PASSWORD: server.first.adminPassword };
	const line = [...fixture, folder], words = ['wrap', '--name', 'files', '--', ...line];
	const refused = await run(words, { env: agent });
	assert.equal(refused.code, 1, refused.stderr);
	const printed = /an admin runs: countersign (upstream add .*)\n$/.exec(refused.stderr)?.[1];
	assert.ok(printed, refused.stderr);
	const shell = spawn('/bin/sh', ['-c', `exec "${program}" ${printed}`], { env: { PATH: process.env.PATH, ...admin }, stdio: ['ignore', 'pipe', 'inherit'] });
	let told = '';
	shell.stdout.setEncoding('utf8').on('data', (s) => (told += s));
	assert.deepEqual(await once(shell, 'close'), [0, null]);
	assert.match(told, /^Name +files\nProgram /m);
	const byToken = await run(['upstream', 'add', 'more', '--', ...line], { env: as(server.first.adminToken) });
	assert.deepEqual([byToken.code, /a token does not change who may approve; propose the tool access\.change/.test(byToken.stderr)], [1, true], byToken.stderr);
	const place = new Place();
	Object.assign(place, { dir: folder, flags: [], env: agent });
	const one = await place.wrap(line, { flags: ['--name', 'files'] });
	assert.match(one.stderr, /^Tools +0 accepted/m);
	assert.match(one.stderr, /^Acts as +.+, whose token is in COUNTERSIGN_TOKEN$/m);
	assert.doesNotMatch(one.stderr, /Sign in/);
	await one.close();
	const other = await run([...words, 'more'], { env: agent });
	assert.match(other.stderr, /the upstream server "files" at \S+ is another program, or is granted something else/);
	assert.equal(other.code, 1);
	const person = await run([...words], { env: as(server.first.adminToken) });
	assert.deepEqual([person.code, person.stdout], [1, '']);
	assert.match(person.stderr, /^countersign: the token of COUNTERSIGN_TOKEN is of [^\n]+, a person, and the client would act as them: give wrap an agent's .*\n$/);
	assert.match((await run(['wrap', '--unconfined', '--', ...line], { env: agent })).stderr, /--unconfined is for a server that wrap starts/);
	const nobody = await run(words, { env: { ...agent, COUNTERSIGN_SERVER: 'http://127.0.0.1:1' } });
	assert.match(nobody.stderr, /the server at http:\/\/127\.0\.0\.1:1 cannot be reached/);
});

test('EX-3 a package runner has the network and a home that stays, and may be denied the network', { skip: skip || (confinement.length > 0 && 'skipped: there is no sandbox here') }, async (t) => {
	const { place } = await scene(t);
	const bin = path.join(place.dir, 'bin');
	await mkdir(bin);
	await writeFile(path.join(bin, 'npx'), `#!/bin/sh\necho kept >> "$HOME/cache"\nexec "${process.execPath}" "${fixture[1]}"\n`);
	await chmod(path.join(bin, 'npx'), 0o755);
	const flags = ['--read', path.dirname(fixture[1]), '--read', path.dirname(process.execPath)];
	const env = { PATH: `${bin}:${process.env.PATH}` };
	const one = await place.wrap(['npx', '-y', '@scope/thing@1'], { env, flags });
	assert.equal(one.name, 'thing');
	assert.match(one.stderr, /^Network +whatever this machine reaches, because it fetches what it runs/m);
	const home = /^May write +(\S+\/homes\/[0-9a-f]{16})$/m.exec(one.stderr)?.[1];
	assert.ok(home, one.stderr);
	await one.close();
	await place.end();
	const two = await place.wrap(['npx', '-y', '@scope/thing@1'], { env, flags });
	assert.ok((await readFile(path.join(home, 'cache'), 'utf8')).split('\n').length >= 3, 'the same home');
	await two.close();
	const three = await place.wrap(['npx', '-y', '@scope/thing@1'], { env, flags: [...flags, '--no-network'] });
	assert.match(three.stderr, /^Network +none$/m);
	await three.close();
});
