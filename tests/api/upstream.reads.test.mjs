// SPDX-License-Identifier: Apache-2.0
// Reads of other MCP servers over MCP, by agents with a large budget: such a read needs no write transaction
// (EX-3, EX-5; docs/decisions/0021). What is promised of reads holds for them, too.
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { ask } from './lib/mcp-clients.mjs';
import { lookBehind, root, until } from './lib/server.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let w, boss, up, names;
const waiting = [];
const text = (value) => ({ content: [{ type: 'text', text: value }] });
async function mount(name, where, grants) {
	const u = await ok(boss.post('/api/v1/upstreams', { name, ...where }));
	const seen = (await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`))).tools.filter(({ remote }) => grants[remote]);
	await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: seen.map(({ name, remote, definitionHash }) => ({ name, definitionHash, effect: 'read', tier: 'always_allow', ...grants[remote] })) }));
	return Object.fromEntries(seen.map(({ name, remote }) => [remote, name]));
}
before(async () => {
	w = await World.start({ args: ['--stdio-upstreams', 'unconfined', '--workers', '2'] });
	boss = await w.person(['admin']);
	up = await startUpstream({ tools: [
		tool('read', { run: ({ path }) => text(`read ${path}`) }),
		tool('patient', { run: ({ path }) => text(`patient ${path}`) }),
		tool('big', { run: ({ path }) => text(`${path} ${'x'.repeat(200_000)}`) }),
		tool('slow', { run: ({ path }) => new Promise((resolve) => waiting.push(() => resolve(text(`slow ${path}`)))) }),
	] });
	names = await mount('files', { kind: 'http', url: up.url, networks: ['127.0.0.0/8'] }, { read: {}, big: {}, patient: { personalData: true }, slow: {} });
	Object.assign(names, await mount('program', { kind: 'stdio', program: { argv: [process.execPath, path.join(root, 'tests/api/lib/stdio-server.mjs')] } }, { echo: {}, crash: {}, odd: {} }));
});
after(async () => {
	for (const release of waiting) release();
	await up?.stop();
	await w?.stop();
});

const call = (agent, name, input) => ask(w.server.url, agent.token, 'tools/call', { name: names[name], arguments: input });
async function said(answer) {
	const { status, json, text } = await answer;
	assert.equal(status, 200, text);
	assert.ok(json.result, text);
	return json.result;
}
/** An agent whose calls are paid from a lease (docs/decisions/0021). */
async function busy() {
	const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 100_000 });
	for (let i = 0; i < 5; i++) await said(call(agent, 'read', { path: 'warm' }));
	return agent;
}
const asked = (name, input) => up.calls.filter((c) => c.name === name && c.arguments.path === input).length;

test('EX-3 a read gives what the other server gave, marked as its words, asks it once and leaves its row', async () => {
	const agent = await busy();
	for (let i = 0; i < 40; i++) {
		const result = await said(call(agent, 'read', { path: `p${i}` }));
		assert.equal(result.content[0].text, `read p${i}`);
		assert.equal(result._meta['countersign/source'], 'files');
		assert.equal(asked('read', `p${i}`), 1);
	}
	await until(async () => (await lookBehind(w.server, `SELECT count(*) FROM call WHERE principal_id = '${agent.id}' AND status = 'executed'`))[0] === '45', 'its rows');
});

test('EX-3 many reads at once, of a program and over HTTP, each have their own answer', async () => {
	const agent = await busy();
	const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => said(i % 2 ? call(agent, 'read', { path: `m${i}` }) : call(agent, 'echo', { value: `e${i}` }))));
	answers.forEach(({ content: [{ text }] }, i) => assert.equal(text, i % 2 ? `read m${i}` : JSON.stringify({ value: `e${i}` })));
	for (let i = 1; i < 60; i += 2) assert.equal(asked('read', `m${i}`), 1);
});

test('TL-5 TL-10 a read of personal data is on record before it is answered, and asked for once', async () => {
	const agent = await busy();
	for (let i = 0; i < 10; i++) {
		assert.equal((await said(call(agent, 'patient', { path: `x${i}` }))).content[0].text, `patient x${i}`);
		assert.equal(asked('patient', `x${i}`), 1);
		const [rows] = await lookBehind(w.server, `SELECT count(*) FROM call WHERE principal_id = '${agent.id}' AND tool = '${names.patient}'`);
		assert.equal(rows, String(i + 1));
	}
});

test('EX-5 a server that hangs holds up nobody: not other servers\' reads, not decisions, though there are two workers', async () => {
	const agent = await busy(), other = await busy(), before = waiting.length;
	const hanging = Array.from({ length: 20 }, (_, i) => said(call(agent, 'slow', { path: `s${i}` })));
	await until(() => waiting.length === before + 8, 'all places of the lane'); // LIMIT_LANE_CALLS
	for (let i = 0; i < 10; i++) assert.equal((await said(call(other, 'echo', { value: i }))).content[0].text, JSON.stringify({ value: i }));
	const p = await w.propose();
	await w.approve(p, w.admin, { apply: true });
	for (let i = 0; i < 20; i++) {
		await until(() => waiting.length > before + i, 'the next one');
		waiting[before + i]();
	}
	(await Promise.all(hanging)).forEach(({ content: [{ text }] }, i) => assert.equal(text, `slow s${i}`));
	for (let i = 0; i < 20; i++) assert.equal(asked('slow', `s${i}`), 1);
});

test('EX-3 a program that has ended is started again for the next read, and a call that is too long for a pipe is sent', async () => {
	const agent = await busy();
	await said(call(agent, 'echo', { value: 'before' }));
	assert.match((await call(agent, 'crash', {})).json.error.message, /did not answer crash: the program ended with code 3/);
	assert.equal((await said(call(agent, 'echo', { value: 'after' }))).content[0].text, '{"value":"after"}');
	const long = 'x'.repeat(100_000); // more than a pipe takes at once
	assert.equal((await said(call(agent, 'echo', { value: long }))).content[0].text, JSON.stringify({ value: long }));
});

test('EX-3 a program that ends again and again leaves no pipe open behind it', { skip: process.platform !== 'linux' && 'skipped: there is no /proc' }, async () => {
	const agent = await busy();
	const folder = `/proc/${w.server.child.pid}/fd`;
	const pipes = async () => {
		const targets = await Promise.all((await fs.readdir(folder)).map((fd) => fs.readlink(`${folder}/${fd}`).catch(() => '')));
		return targets.filter((target) => target.startsWith('pipe:')).length;
	};
	const round = async () => {
		await call(agent, 'crash', {});
		await said(call(agent, 'echo', { value: 'up' }));
	};
	await round();
	const before = await pipes();
	for (let i = 0; i < 4; i++) await round();
	await until(async () => (await pipes()) <= before, 'no more pipes than before');
});

test('EX-3 a large answer arrives whole, and a kept connection that was closed meanwhile is replaced', async () => {
	const agent = await busy();
	for (let i = 0; i < 5; i++) {
		assert.equal((await said(call(agent, 'big', { path: `b${i}` }))).content[0].text.length, 200_003);
		assert.equal(asked('big', `b${i}`), 1);
	}
	for (let i = 0; i < 5; i++) {
		up.hangUp();
		assert.equal((await said(call(agent, 'read', { path: `again${i}` }))).content[0].text, `read again${i}`);
	}
});

test('EX-2 EX-4 what a program answers reaches the agent whatever its form, and what is too large is said to be so', async () => {
	const agent = await busy();
	assert.equal((await said(call(agent, 'odd', { form: 'surrogate' }))).content[0].text, 'cut \ufffd');
	assert.match((await said(call(agent, 'odd', { form: 'large' }))).content[0].text, /^It was done; its answer of 52\d{5} bytes is larger than is handed on\.$/);
	const failed = await said(call(agent, 'odd', { form: 'largeError' }));
	assert.equal(failed.isError, true);
	assert.match(failed.content[0].text, /^It failed; its answer of/);
});

test('TL-2 ID-6 rights that are taken away are gone with the next read', async () => {
	const agent = await busy();
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: names.read, permissionStatus: 'blocked' }] }));
	const blocked = await call(agent, 'read', { path: 'no' });
	assert.match(blocked.json.error.message, /there is no tool called/);
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: names.read, permissionStatus: 'needs_approval' }] }));
	assert.equal((await said(call(agent, 'read', { path: 'no' }))).structuredContent.status, 'awaiting_operator');
	await ok(w.admin.delete(`/api/v1/tokens/${agent.tokenId}`));
	assert.equal((await call(agent, 'read', { path: 'no' })).status, 401);
	assert.equal(asked('read', 'no'), 0);
});

test('EX-4 EX-5 a server that is gone is said to be so, its lane rests, and it is asked again afterwards', async () => {
	const agent = await busy(), one = await startUpstream({ tools: [tool('brief')] });
	Object.assign(names, await mount('brief', { kind: 'http', url: one.url, networks: ['127.0.0.0/8'] }, { brief: {} }));
	await said(call(agent, 'brief', { path: 'a' }));
	await one.stop();
	for (let i = 0; i < 7; i++) {
		const { json } = await call(agent, 'brief', { path: 'b' });
		const why = json.error?.message ?? json.result.content[0].text;
		assert.match(why, i < 5 ? /did not answer brief/ : /has not answered 5 times in a row/, `${i}: ${why}`);
	}
});
