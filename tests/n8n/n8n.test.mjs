// SPDX-License-Identifier: Apache-2.0
// A real n8n as executor, with the workflows of docs/n8n (EX-1, EX-2): ./test n8n. It needs COUNTERSIGN_N8N, where it is installed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { World, ok, refused } from '../api/lib/flow.mjs';
import { signed } from '../api/lib/receiver.mjs';
import { root, until } from '../api/lib/server.mjs';

const home = process.env.COUNTERSIGN_N8N;
if (!home) throw new Error('COUNTERSIGN_N8N says where n8n is installed: COUNTERSIGN_N8N=$(tests/n8n/install)');

const header = randomBytes(12).toString('hex'), text = randomBytes(32).toString('hex');
const signing = `whsec_${Buffer.from(text).toString('base64')}`;
let world, person, dir, n8n, env, url;

async function freePort() {
	const server = net.createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address();
	server.close();
	await once(server, 'close');
	return port;
}

async function command(...args) {
	const child = spawn(path.join(home, 'node_modules/.bin/n8n'), args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
	let said = '';
	for (const out of [child.stdout, child.stderr]) out.setEncoding('utf8').on('data', (more) => (said += more));
	const [code] = await once(child, 'close');
	assert.equal(code, 0, said);
}

before(async () => {
	const port = await freePort(), own = await freePort();
	dir = await mkdtemp(path.join(os.tmpdir(), 'countersign-n8n-'));
	url = `http://127.0.0.1:${port}`;
	env = {
		PATH: process.env.PATH, HOME: dir, N8N_USER_FOLDER: dir, N8N_ENCRYPTION_KEY: 'for-this-test-only', DB_TYPE: 'sqlite', N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port),
		N8N_RUNNERS_BROKER_PORT: String(await freePort()), N8N_RUNNERS_BROKER_LISTEN_ADDRESS: '127.0.0.1', N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
		N8N_TEMPLATES_ENABLED: 'false', N8N_PERSONALIZATION_ENABLED: 'false', N8N_SECURE_COOKIE: 'false',
	};
	await mkdir(path.join(dir, 'in'));
	await writeFile(path.join(dir, 'in/credentials.json'), JSON.stringify([
		{ id: 'countersignheader', name: 'Countersign header', type: 'httpHeaderAuth', data: { name: 'X-Exec-Token', value: header } },
		{ id: 'countersignsigning', name: 'Countersign signing secret', type: 'crypto', data: { hmacSecret: text } },
	]));
	await command('import:credentials', `--input=${path.join(dir, 'in/credentials.json')}`);
	for (const name of ['sync', 'callback']) {
		const file = path.join(root, `docs/n8n/${name}.json`);
		await command('import:workflow', `--input=${file}`);
		await command('publish:workflow', `--id=${JSON.parse(await readFile(file, 'utf8')).id}`);
	}
	world = await World.start({ listen: `127.0.0.1:${own}`, args: ['--public-url', `http://127.0.0.1:${own}`] });
	person = await world.person(['admin']);
});

after(async () => {
	if (n8n && n8n.exitCode === null) {
		n8n.kill('SIGTERM');
		await once(n8n, 'exit');
	}
	await world?.stop();
	if (dir) await rm(dir, { recursive: true, force: true });
});

async function start() {
	n8n = spawn(path.join(home, 'node_modules/.bin/n8n'), ['start'], { env, stdio: 'ignore' });
	await once(n8n, 'spawn');
}

async function tool(name, connection) {
	const c = await ok(world.admin.post('/api/v1/connections', { name, allow: ['127.0.0.0/8'], auth: 'header', authName: 'X-Exec-Token', authSecret: header, signingSecret: signing, ...connection }));
	const declared = await ok(world.admin.put(`/api/v1/connections/${c.id}/tools/${name}`, { title: name, description: 'Asks n8n.', effect: 'mutate', failure: 'Nothing happens.', inputSchema: { type: 'object' } }));
	return declared.tool;
}

async function run(name, input) {
	const p = await ok(world.agent.post('/api/v1/proposals', { tool: name, input }));
	await world.approve(p, person);
	await person.post(`/api/v1/proposals/${p.proposalId}/apply`);
	return state(p.proposalId);
}
const state = (id) => ok(world.admin.get(`/api/v1/proposals/${id}`));

test('a real n8n: its start is no answer; it answers at once, and by a callback that only it can make', async () => {
	const sync = await tool('n8nSync', { url: `${url}/webhook/countersign-sync`, answer: 'command' });
	const later = await tool('n8nLater', { url: `${url}/webhook/countersign-callback`, mode: 'callback', deadlineMs: 120000 });
	assert.equal((await run(sync, { early: true })).state, 'failed'); // nobody listens yet

	await start();
	const seen = new Set();
	const live = await until(async () => {
		const p = await run(sync, { amount: 7 }); // while it starts: nobody, its page, 404 … and then an answer
		seen.add(p.state);
		return p.state === 'applied' && p;
	}, 'n8n to be live', 120);
	assert.deepEqual([...seen].filter((s) => !['failed', 'unknown', 'applied'].includes(s)), []);
	assert.deepEqual(live.result.result, { tool: 'n8nSync', got: { amount: 7 } });

	const p = await run(later, { amount: 9 });
	assert.ok(['executing', 'applied'].includes(p.state), JSON.stringify(p));
	const done = await until(async () => {
		const now = await state(p.proposalId ?? p.id);
		return now.state !== 'executing' && now;
	}, 'its callback', 60);
	assert.equal(done.state, 'applied', JSON.stringify(done));
	assert.deepEqual(done.result, { tool: 'n8nLater', got: { amount: 9 } });

	// without the header's value it is not even heard
	const stranger = await tool('n8nStranger', { url: `${url}/webhook/countersign-sync`, authSecret: 'another' });
	assert.equal((await run(stranger, {})).state, 'failed');
	const forged = '{"commandId":"x","status":"done"}';
	await refused(world.server.request('POST', `/callbacks/${'0'.repeat(64)}`, { body: forged, headers: signed(signing, 'x', forged), check: false }), 404, 'not_found');
});
