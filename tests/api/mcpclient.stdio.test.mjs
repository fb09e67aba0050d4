// SPDX-License-Identifier: Apache-2.0
// exec/mcp over a program's standard input and output (EX-3): its life, its death, and its walls.
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { onPostgres, root, run, temporaryDirectory, until } from './lib/server.mjs';
import { client, noSandbox, serve } from './lib/mcpclient.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: there is no database in it';
const walls = skip || noSandbox();
const lib = path.join(root, 'tests/api/lib');
const fixture = [process.execPath, path.join(lib, 'stdio-server.mjs')];
const text = (answer) => answer.result.content[0].text;
const value = (answer) => JSON.parse(text(answer));
// a Node that is not the system's is granted with its folder
const sandboxed = (...paths) => [lib, path.resolve(process.execPath, '../..'), ...paths].filter((one, i) => i !== 1 || one !== '/usr').join(',');
const alive = (pid) => fs.readFile(`/proc/${pid}/stat`, 'utf8').then((stat) => !/\) [ZX] /.test(stat), () => false);

test('EX-3 a program is asked over its pipes, and many calls at once find their answers', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	assert.ok((await c.list()).tools.some(({ name }) => name === 'echo'));
	assert.deepEqual(value(await c.call('echo', { a: [1, 2.5, 'é\n'] })), { a: [1, 2.5, 'é\n'] });
	const answers = await c.calls('together', { times: 20, input: { count: 20 } });
	assert.ok(answers.every((one) => one.end === 'done' && one.sent > 0 && one.status === 0));
	assert.equal((c.log().match(/event=upstream.started/g) ?? []).length, 1);
});

test('EX-3 a program of the new era only is spoken to in its way', { skip }, async (t) => {
	const c = client(t, [...fixture, '--modern'], { grant: 'off' });
	assert.equal(text(await c.call('echo', { a: 1 })), '{"a":1}');
});

test('EX-4 what a program refuses is refused; what it leaves unanswered is lost, and it hears of that', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	const refused = await c.call('error');
	assert.deepEqual([refused.end, refused.why], ['refused', 'the MCP server refused it: no']);
	const lost = await c.call('wait', {}, { deadline_ms: 1500 });
	assert.deepEqual([lost.end, lost.why], ['lost', 'no answer came in time']);
	await until(() => /line="cancelled \d+"/.test(c.log()), 'the cancellation');
});

test('EX-2 EX-4 an answer that is not quite JSON is an answer, whatever its form', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	for (const [form, said] of [['surrogate', 'cut \ufffd'], ['repeated', 'ok'], ['deep', 'ok'], ['bytes', 'not \ufffd UTF-8']]) {
		const answer = await c.call('odd', { form });
		assert.deepEqual([form, answer.end, answer.result.content[0].text, answer.result.isError], [form, 'done', said, form === 'repeated' ? false : undefined]);
	}
	for (const form of ['many', 'large', 'largeError'])
		assert.equal((await c.call('odd', { form })).end, 'done', form);
});

test('EX-4 a crash loses what is in flight, and the next call starts the program again', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	assert.equal((await c.call('echo')).end, 'done');
	const crash = await c.call('crash');
	assert.equal(crash.end, 'lost');
	assert.match(crash.why, /ended with code 3/);
	assert.equal((await c.call('echo')).end, 'done');
	assert.equal((c.log().match(/event=upstream.started/g) ?? []).length, 2);
});

test('EX-3 a program that fails and fails is left alone for a while, and says why', { skip }, async (t) => {
	const c = client(t, ['/bin/sh', '-c', 'echo "no licence" >&2; exit 9'], { grant: 'off' });
	const answers = [];
	for (let i = 0; i < 6; i++)
		answers.push(await c.call('echo'));
	assert.ok(answers.every(({ end, sent }) => end === 'not_sent' && sent === 0));
	assert.ok(answers.some(({ why }) => /ended with code 9; it last said: no licence/.test(why)), JSON.stringify(answers));
	assert.match(answers.at(-1).why, /in a row and is left alone for a while/);
	assert.ok(c.log().match(/event=upstream.started/g).length < 6);
});

test('EX-3 of a stack trace the line is told that names the error', { skip }, async (t) => {
	const trace = ['node:internal/loader:1', '  throw err;', "Error: Cannot find module 'x'", '    at Module._load (node:internal:922:27)', 'Node.js v20.11.0'];
	const answer = await client(t, ['/bin/sh', '-c', 'printf "%s\\n" "$@" >&2; exit 1', 'sh', ...trace], { grant: 'off' }).call('echo');
	assert.match(answer.why, /ended with code 1; it said: Error: Cannot find module 'x'$/);
});

test('EX-3 a program that is not there is not started, and the sentence says so', { skip }, async (t) => {
	const answer = await client(t, ['/nowhere/at/all'], { grant: 'off' }).call('echo');
	assert.deepEqual([answer.end, answer.sent], ['not_sent', 0]);
	assert.match(answer.why, /cannot be started: No such file/);
});

test('EX-3 its environment is what is granted, and its secrets do not come into the log', { skip }, async (t) => {
	process.env.UPSTREAM_TEST_LEAK = 'leak';
	const c = client(t, fixture, { grant: 'off', options: { secret: 'hunter2hunter2' } });
	assert.deepEqual(Object.keys(value(await c.call('environment'))).filter((name) => name !== 'PWD' && name !== 'SHLVL' && name !== '_').sort(), ['HOME', 'LANG', 'PATH', 'SECRET']);
	assert.equal((await c.call('complain')).end, 'done');
	await until(() => /the password is/.test(c.log()), 'the complaint');
	assert.match(c.log(), /the password is \*\*\* \?\[31mred/);
	assert.doesNotMatch(c.log(), /hunter2/);
});

test('EX-3 what is no message is passed over, changes are heard, questions are declined', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	assert.equal((await c.call('chatter')).end, 'done');
	assert.equal((await c.call('change')).end, 'done');
	await until(async () => (await c.changes()) === 1, 'the change');
	assert.equal(value(await c.call('ask')).error.code, -32601);
	assert.equal(await c.changes(), 1);
});

test('EX-3 a line without an end ends the program, and its calls are lost', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	const lost = await c.call('endless');
	assert.deepEqual([lost.end, lost.why], ['lost', 'the program was ended by signal 9']);
	assert.equal((await c.call('echo')).end, 'done');
});

test('EX-4 a program that does not read takes nothing, or half a line, after which it is ended', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	assert.equal((await c.call('deaf')).end, 'done');
	const big = await c.call('echo', { a: 'x'.repeat(900_000) }, { deadline_ms: 1500 });
	assert.equal(big.end, 'lost', JSON.stringify({ ...big, result: undefined }));
	assert.equal((await c.call('echo')).end, 'done');
});

test('EX-3 a stop ends the program and all that it has started', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	const { parent, child } = value(await c.call('children'));
	assert.ok(await alive(parent) && await alive(child));
	const [answer] = await c.stopped('wait', () => /line="it waits"/.test(c.log()));
	assert.equal(answer.end, 'lost');
	c.child.stdin.end();
	await c.ended;
	assert.deepEqual([await alive(parent), await alive(child)], [false, false]);
});

test('EX-3 a program dies with us, even when nobody could tell it', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	const { parent } = value(await c.call('children'));
	c.child.kill('SIGKILL');
	await c.ended;
	await until(async () => !(await alive(parent)), 'the end of the program');
});

test('EX-3 what a program has started, in a session of its own, ends with us, even when nobody could tell it', { skip }, async (t) => {
	const c = client(t, fixture, { grant: 'off' });
	const { pid } = value(await c.call('daemon'));
	assert.ok(await alive(pid));
	c.child.kill('SIGKILL');
	await c.ended;
	await until(async () => !(await alive(pid)), 'the end of what it has started');
});

test('EX-3 in the sandbox a program is nobody, sees nobody, and has the system read-only', { skip: walls }, async (t) => {
	const secret = path.join(await temporaryDirectory(t), 'secret');
	await fs.writeFile(secret, 'secret');
	const c = client(t, fixture, { grant: sandboxed() });
	const about = value(await c.call('about'));
	assert.equal(about.uid, 65534);
	assert.equal(about.directory, '/tmp');
	assert.ok(about.processes <= 3, JSON.stringify(about));
	assert.ok(!about.root.includes('home') && !about.root.includes('root') && !about.root.includes('var'), JSON.stringify(about));
	assert.equal(value(await c.call('read', { path: secret })).got, 'ENOENT');
	assert.equal(value(await c.call('read', { path: '/etc/passwd' })).got, 'ENOENT');
	assert.match(value(await c.call('write', { path: '/usr/bin/evil' })).got, /EROFS|EACCES/);
	assert.match(value(await c.call('write', { path: path.join(lib, 'evil') })).got, /EROFS|EACCES/);
	assert.equal(value(await c.call('write', { path: '/tmp/own' })).got, 'ok');
	await assert.rejects(fs.access(path.join(os.tmpdir(), 'own')));
	assert.deepEqual(Object.keys(value(await c.call('environment'))).filter((name) => name !== 'PWD').sort(), ['HOME', 'LANG', 'PATH']);
});

test('EX-3 in the sandbox only granted paths are there, read-only or to be written', { skip: walls }, async (t) => {
	const given = await temporaryDirectory(t), writable = await temporaryDirectory(t);
	await fs.writeFile(path.join(given, 'file'), 'given');
	await fs.chmod(writable, 0o777);
	await fs.chmod(given, 0o777);
	const c = client(t, fixture, { grant: sandboxed(given, `+${writable}`) });
	assert.equal(value(await c.call('read', { path: path.join(given, 'file') })).got, 'given');
	assert.equal(value(await c.call('write', { path: path.join(given, 'file') })).got, 'EROFS');
	assert.equal(value(await c.call('write', { path: path.join(writable, 'file') })).got, 'ok');
	assert.equal(await fs.readFile(path.join(writable, 'file'), 'utf8'), 'written');
});

test('EX-3 in the sandbox there is no network, unless it is granted', { skip: walls }, async (t) => {
	const server = await serve(t, (request, response) => response.end());
	const alone = client(t, fixture, { grant: sandboxed() });
	assert.match(text(await alone.call('connect', { port: server.port })), /ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL/);
	const granted = client(t, fixture, { grant: sandboxed('net') });
	assert.equal(text(await granted.call('connect', { port: server.port })), 'connected');
});

test('EX-3 where the sandbox cannot be set up the program is not started', { skip: walls }, async (t) => {
	const answer = await client(t, fixture, { grant: sandboxed('/nowhere/at/all') }).call('echo');
	assert.deepEqual([answer.end, answer.sent], ['not_sent', 0]);
	assert.match(answer.why, /there is no \/nowhere\/at\/all, so it cannot be shown to a program/);
});

test('EX-3 a sandboxed program dies with us, and so does what it has started', { skip: walls }, async (t) => {
	const c = client(t, fixture, { grant: sandboxed() });
	assert.equal((await c.call('children')).end, 'done');
	const pid = Number(/event=upstream.started .*pid=(\d+)/.exec(c.log())[1]);
	const tree = async (of) => (await fs.readFile(`/proc/${of}/task/${of}/children`, 'utf8').catch(() => '')).trim().split(' ').filter(Boolean);
	const all = [String(pid)];
	for (const one of all)
		all.push(...await tree(one));
	assert.ok(all.length >= 3, String(all));
	c.child.kill('SIGKILL');
	await c.ended;
	for (const one of all)
		await until(async () => !(await alive(one)), `the end of ${one}`);
});

// Number, arguments and what the kernel shall say (errno), for x86-64.
const calls = {
	ptrace: [101, [0], 1], process_vm_readv: [310, [1], 1], unshare_user: [272, [0x10000000], 1], unshare_mount: [272, [0x20000], 1], clone_user: [56, [0x10000011, 0, 0, 0, 0], 1],
	clone3: [435, [0, 0], 38], setns: [308, [0, 0], 1], mount: [165, [0, 0, 0, 0, 0], 1], move_mount: [429, [0], 1], pivot_root: [155, [0, 0], 1], chroot: [161, [0], 1],
	keyctl: [250, [0, -3, 1], 1], add_key: [248, [0], 1], request_key: [249, [0], 1], bpf: [321, [0], 1], perf_event_open: [298, [0], 1], userfaultfd: [323, [0], 1],
	open_by_handle_at: [304, [-100], 1], kexec_load: [246, [0], 1], init_module: [175, [0], 1], io_uring_setup: [425, [1, 0], 38], personality: [135, [8], 1],
	tiocsti: [16, [0, 0x5412, 0], 1], tiocsti_with_high_bits: [16, [0, 0x700005412, 0], 1], tioclinux: [16, [0, 0x541c, 0], 1],
	packet: [41, [17, 3, 0], 97], netlink_audit: [41, [16, 3, 9], 97], vsock: [41, [40, 1, 0], 97], alg: [41, [38, 5, 0], 97], key: [41, [15, 3, 2], 97], family_with_high_bits: [41, [0x100000011, 3, 0], 97],
};
const script = `import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
def call(number, words):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(w) for w in words])
    return ctypes.get_errno() if got == -1 else 0
calls = json.loads('${JSON.stringify(calls)}')
print(json.dumps({name: call(number, words) for name, (number, words, _) in calls.items()}))`;
const python = async (c, program) => value(await c.call('run', { argv: ['/usr/bin/python3', '-c', program] }));
const otherMachine = walls || (process.arch !== 'x64' && 'skipped: the numbers of the calls are those of x86-64');

test('EX-3 in the sandbox a program makes no namespaces, traces nobody, and has no door into the kernel that it does not need', { skip: otherMachine }, async (t) => {
	const expected = Object.fromEntries(Object.entries(calls).map(([name, [, , error]]) => [name, error]));
	const got = await python(client(t, fixture, { grant: sandboxed() }), script);
	assert.deepEqual(JSON.parse(got.stdout), expected, got.stderr);
});

test('EX-3 with the filter planted out such calls get through', { skip: otherMachine }, async (t) => {
	process.env.COUNTERSIGN_TEST_PLANT = 'programs_unfiltered';
	const c = client(t, fixture, { grant: sandboxed() });
	delete process.env.COUNTERSIGN_TEST_PLANT;
	const harmless = script.replace('in calls.items()', "in calls.items() if name in ('ptrace', 'personality', 'tiocsti', 'netlink_audit')");
	const { ptrace, personality, tiocsti } = JSON.parse((await python(c, harmless)).stdout);
	assert.deepEqual({ ptrace, personality }, { ptrace: 0, personality: 0 });
	assert.notEqual(tiocsti, 1, 'no terminal, which is another error');
});

test('EX-3 in the sandbox no descriptor leads out of it', { skip: walls }, async (t) => {
	const given = await temporaryDirectory(t);
	const all = value(await client(t, fixture, { grant: sandboxed(given) }).call('descriptors'));
	assert.deepEqual(all.filter((one) => one.startsWith('/') && !/^\/(dev\/null|proc\/)/.test(one)), [], String(all));
});

// What holds on this machine is what `countersign doctor` says of it.
const { checks } = JSON.parse((await run(['doctor', '--json'])).stdout);
const ungrouped = walls || (checks.find(({ name }) => name === 'control groups').level !== 'ok' && 'skipped: no control group may be made here, as doctor says');

test('EX-3 in the sandbox a program has a bounded number of processes, with all that it starts', { skip: ungrouped }, async (t) => {
	const bomb = `import os, signal
made = []
try:
    while len(made) < 1500:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        made.append(pid)
except OSError:
    pass
print(len(made))
for pid in made:
    os.kill(pid, signal.SIGKILL)`;
	const { stdout, stderr } = await python(client(t, fixture, { grant: sandboxed() }), bomb);
	assert.ok(Number(stdout) > 20 && Number(stdout) < 256, `${stdout} processes ${stderr}`);
});

test('EX-3 in the sandbox the memory of a program is bounded with that of all it starts', { skip: ungrouped }, async (t) => {
	const eater = `import os
made = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        held = [b'x' * (1 << 20) for _ in range(900)]
        os.kill(os.getpid(), 19)
    made.append(pid)
alive = [pid for pid in made if os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])]
print(len(alive))
for pid in alive:
    os.kill(pid, 9)`;
	const answer = await client(t, fixture, { grant: sandboxed() }).call('run', { argv: ['/usr/bin/python3', '-c', eater] });
	assert.ok(answer.end === 'lost' || Number(value(answer).stdout) < 3, JSON.stringify(answer)); // the kernel may choose any of them
});
