// SPDX-License-Identifier: Apache-2.0
// `countersign upstream`: other MCP servers from the command line (EX-3, CLI-1).
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { removeTree, temporaryDirectory } from './lib/process.mjs';
import { run, startSetUp } from './lib/server.mjs';
import { startUpstream, tool } from './lib/upstream.mjs';

let server, up, admin, agent, folder;
before(async () => {
	folder = await fs.realpath(await temporaryDirectory());
	server = await startSetUp({ args: ['--stdio-upstreams', 'sandboxed', '--stdio-paths', `/etc/hostname,${folder}:rw`] });
	up = await startUpstream({ tools: [tool('get_file'), tool('write_file'), tool('gеt_file')], token: 'sesame' });
	const as = (token) => ({ env: { COUNTERSIGN_SERVER: server.url, COUNTERSIGN_TOKEN: token, THEIR_TOKEN: 'sesame' } });
	admin = { env: { ...as('').env, COUNTERSIGN_TOKEN: undefined, COUNTERSIGN_EMAIL: server.first.adminEmail, COUNTERSIGN_PASSWORD: server.first.adminPassword } };
	agent = as(server.first.agentToken);
});
after(async () => {
	await up?.stop();
	await server?.stop();
	if (folder) await removeTree(folder);
});

const upstream = async (...args) => {
	const { code, stdout, stderr } = await run(['upstream', ...args], admin);
	assert.equal(code, 0, stderr);
	return stdout;
};
const json = async (...args) => JSON.parse(await upstream(...args, '--json'));
/** It did not work (1), or was not said right (2): one line on standard error. */
async function fails(code, args, pattern, options = admin) {
	const result = await run(['upstream', ...args], options);
	assert.equal(result.code, code, result.stdout + result.stderr);
	assert.match(result.stderr, pattern);
	assert.match(result.stderr, /^countersign: [^\n]+\n$/);
}
const local = ['--network', '127.0.0.0/8'];

test('CLI-1 EX-3 add, refresh, accept, refuse, disable, enable, remove', async () => {
	assert.equal(await upstream('list'), 'There are no upstream servers.\n');
	assert.match(await upstream('add', 'files', '--url', up.url, '--bearer', 'THEIR_TOKEN', ...local), /^Id +\S+\nName +files\nRead what it offers with `countersign upstream refresh files`\.\n$/);
	assert.match(await upstream('list'), /^ID +NAME +KIND +STATE +BREAKER +PROBLEM\n\S+ +files +http +active +closed +\n$/);
	const offered = await upstream('refresh', 'files');
	assert.match(offered, /^STATE +EFFECT +TIER +NAME +REMARK\n/);
	assert.match(offered, /^quarantined +- +- +mcp__files__get_file +Does get_file\.$/m);
	assert.match(offered, /^quarantined +.* refused: /m, 'a look-alike');
	const accepted = await upstream('accept', 'files', 'get_file', 'mcp__files__write_file', '--effect', 'mutate', '--yes');
	assert.match(accepted, /^Tool +mcp__files__get_file\nDefinition +\{"description":"Does get_file\."/m, 'it shows what it accepts');
	assert.match(accepted, /^accepted +mutate +needs_approval +mcp__files__write_file *$/m);
	up.tools = [tool('get_file', { description: 'Does something else.' }), tool('write_file')];
	assert.match(await upstream('refresh', 'files'), /^quarantined .*mcp__files__get_file +defined otherwise than accepted, at 1 place$/m);
	const options = { before: { tool: 'get_file', arguments: { path: 'path' } } };
	const again = await upstream('accept', 'files', 'get_file', '--effect', 'read', '--tier', 'always_allow', '--yes');
	assert.match(again, /^Changed +\[.*"\/description"/m);
	assert.deepEqual(again.match(/mcp__files__\w+/g), ['mcp__files__get_file', 'mcp__files__get_file'], 'the one that was accepted, and no other');
	const wrong = JSON.stringify({ before: { ...options.before, tool: 'nope' } });
	await fails(1, ['accept', 'files', 'write_file', '--effect', 'mutate', '--options', wrong, '--yes'], /options\/before\/tool names no tool of this server/);
	const shown = await json('accept', 'files', 'write_file', '--effect', 'mutate', '--options', JSON.stringify(options), '--yes');
	assert.deepEqual(shown.tools.find(({ remote }) => remote === 'write_file').options, options);
	assert.match(await upstream('refuse', 'files', 'write_file'), /^quarantined .*mcp__files__write_file/m);
	assert.equal((await json('refuse', 'files', 'mcp__files__get_file')).tools.find(({ remote }) => remote === 'get_file').state, 'quarantined');
	assert.equal(await upstream('disable', 'files'), 'Switched off: files\n');
	assert.equal((await json('enable', 'files')).state, 'active');
	assert.equal((await json('list')).upstreams[0].name, 'files');
	assert.equal((await json('tools', 'files')).tools.length, 3);
	const [{ id }] = (await json('list')).upstreams;
	assert.equal(await upstream('remove', id), 'Removed, with its tools and credentials: files\n');
	assert.equal(await upstream('list'), 'There are no upstream servers.\n');
});

test('CLI-1 EX-3 a program is added with what it is granted', async () => {
	const told = await upstream('add', 'shell', '--read', '/etc/hostname', '--allow-network', '--', 'sh', folder);
	assert.match(told, new RegExp(`^Program +\\S+/sh ${folder}$`, 'm'));
	assert.match(told, new RegExp(`^May write +${folder}$`, 'm'));
	assert.match(told, /^Network +whatever this machine reaches$/m);
	const { program } = (await json('list')).upstreams.find(({ name }) => name === 'shell');
	assert.deepEqual(program.paths.toSorted((a, b) => a.writable - b.writable), [{ path: '/etc/hostname', writable: false }, { path: folder, writable: true }]);
	assert.equal(program.network, true);
	await upstream('remove', 'shell');
	await fails(1, ['add', 'shell', '--read', '/etc/passwd', '--', 'sh'], /\/etc\/passwd is not a path that this server's operator lists for programs; add it to the setting stdio-paths/);
});

test('CLI-1 what the server refuses is said with its fields', async () => {
	await fails(1, ['add', 'Not A Slug', '--url', 'https://x.example'], /\/name must be lower-case letters/);
	await fails(1, ['add', 'x', '--url', 'https://x.example', '--network', 'everywhere'], /\/networks must be networks/);
	await fails(1, ['add', 'x', '--url', 'https://x.example'], /\(forbidden\)/, agent);
	await upstream('add', 'x', '--url', up.url, ...local); // without the token that it wants
	assert.equal(await upstream('tools', 'x'), 'It has no tools that are known here.\n');
	await fails(1, ['add', 'x', '--url', 'https://x.example'], /\(already_exists\)/);
	await fails(1, ['refresh', 'x'], /\(unavailable\)|\(outside_failed\)/);
	await fails(1, ['accept', 'x', 'none', '--yes'], /the server offers no tool "none"/);
	await fails(1, ['refuse', 'x', 'none'], /has no tool called "none"/);
	await upstream('remove', 'x');
	for (const verb of ['tools', 'refresh', 'remove', 'disable', 'enable']) await fails(1, [verb, 'none'], /there is no upstream server "none"; `upstream list` shows them/);
	await fails(1, ['accept', 'none', 'x', '--yes'], /there is no upstream server "none"/);
	await fails(1, ['refuse', 'none', 'x'], /there is no upstream server "none"/);
});

test('CLI-1 mistakes of the command line', async () => {
	for (const args of [[], ['list', 'x'], ['tools'], ['accept', 'x'], ['refuse', 'x'], ['frobnicate', 'x'], ['add']]) await fails(2, args, /upstream what\? `upstream list`, `add NAME`/);
	await fails(2, ['add', 'x'], /which program\? It comes last, after two dashes/);
	await fails(2, ['add', 'x', '--url', 'https://x.example', '--', 'sh'], /a server has --url or a program, not both/);
	await fails(2, ['add', 'x', '--url', 'https://x.example', '--bearer', 'NOT_THERE'], /--bearer NOT_THERE: there is no such variable/);
	await fails(2, ['accept', 'x', 'y'], /accept asks on a terminal; where there is none, say --yes/);
	await upstream('add', 'x', '--url', up.url, '--bearer', 'THEIR_TOKEN', ...local);
	await upstream('refresh', 'x');
	const wrong = await run(['upstream', 'accept', 'x', 'get_file', '--options', '{', '--yes'], admin);
	assert.deepEqual([wrong.code, /--options is not JSON/.test(wrong.stderr)], [2, true], wrong.stderr);
	const broken = await run(['upstream', 'accept', 'x', 'get_file', '--effect', 'magic', '--yes', '--json'], admin);
	assert.equal(broken.code, 1);
	assert.equal(JSON.parse(broken.stdout).code, 'invalid_request');
	await upstream('remove', 'x');
});
