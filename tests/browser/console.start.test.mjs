// SPDX-License-Identifier: Apache-2.0
// WEB-1, ID-8: the first minutes: from the link that a first start prints to an approved proposal.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { button, Desk, done, gone, seen, usable } from './lib/desk.mjs';

const open = [];
async function opened(options) {
	const desk = await Desk.open(options);
	open.push(desk);
	return desk;
}
after(() => Promise.all(open.map((desk) => desk.close())));

test('ID-8 from the link of a first start to an approved proposal, each step by hand', async () => {
	const desk = await opened({ setUp: false }), { server } = desk.world;
	const [, code] = await until(() => /\/setup#(cs_setup_\w{49})$/m.exec(server.stdout), 'the link');
	const page = await desk.page(`/setup#${code}`);
	await page.getByLabel('Your e-mail address').fill('ada@example.org');
	await page.getByLabel('A password').fill('correct horse battery');
	await page.getByLabel('Your organization\'s name').fill('Analytical Engines');
	await button(page, 'Set up').click();
	await page.getByRole('link', { name: 'Go on' }).waitFor();
	await usable(page.locator('#button')); // it has signed them in
	await seen(page, 'setup-done-light');
	await page.getByRole('link', { name: 'Go on' }).click();
	await page.getByRole('heading', { name: 'First steps' }).waitFor(); // and asks for no password
	await page.getByLabel('Which agent').selectOption('A new one…');
	await usable(button(page, 'Give it a token'), false);
	await page.getByLabel('Name').fill('Claude on my laptop');
	await seen(page, 'start-1-light');
	await button(page, 'Give it a token').click();
	const line = page.getByLabel('Claude Code', { exact: true });
	const [, token] = /Bearer (cs_agt_\w+)"$/.exec(await line.innerText());
	await seen(page, 'start-2-light');
	await button(page, 'Go on').click();
	await gone(line);
	await page.getByText('Ask your agent').waitFor();
	await seen(page, 'start-3-light');
	await button(page, 'Send a sample as the agent').click();
	await page.getByText('Create the note "Hello"').waitFor();
	await seen(page, 'start-4-light');
	await page.getByRole('link', { name: 'Open the proposal' }).click();
	await page.locator('.card').waitFor();
	await page.locator('.card').getByText('Claude on my laptop').first().waitFor();
	await button(page, 'Approve A').click();
	await page.getByLabel('Apply it at once').check();
	await button(page.getByRole('dialog'), 'Approve').click();
	await page.getByText('Applied.', { exact: true }).waitFor();
	await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'First steps' }).click();
	await page.getByText('That is all there is to it.').waitFor();
	await seen(page, 'start-done-light');
	const agent = server.as(token);
	assert.equal((await ok(agent.get('/api/v1/me'))).name, 'Claude on my laptop');
	const made = (await ok(agent.get('/api/v1/proposals'))).proposals;
	assert.deepEqual(made.map((p) => [p.status, p.proposer.name]), [['applied', 'Claude on my laptop']]);
	await page.getByRole('link', { name: 'What the agent may' }).click();
	await page.getByRole('heading', { name: 'Claude on my laptop' }).waitFor();
	assert.equal(await page.getByRole('link', { name: 'First steps' }).count(), 0, 'it is over');
	await done(page);
});

test('WEB-1 an empty inbox offers the same guide; what the agent proposes from its own client is heard', async () => {
	const desk = await opened(), ana = await desk.member('Ana Torres');
	const page = await desk.desk(ana);
	await page.getByRole('link', { name: 'Show me, in four steps' }).click();
	await page.getByRole('heading', { name: 'First steps' }).waitFor();
	await page.locator('.link-live').waitFor();
	await button(page, 'Give it a token').click(); // the agent that is there
	const [, token] = /Bearer (cs_agt_\w+)"$/.exec(await page.getByLabel('Claude Code', { exact: true }).innerText());
	await button(page, 'Go on').click();
	await page.getByText('Ask your agent').waitFor();
	const p = await ok(desk.world.server.as(token).post('/api/v1/proposals', { tool: 'note.create', input: { title: 'By itself', text: 'x' } }));
	await page.getByText('Create the note "By itself"').waitFor();
	await ok(desk.world.admin.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash }));
	await page.getByText('That is all there is to it.').waitFor(); // a decision is a decision
	await page.getByText('denied', { exact: true }).waitFor();
	await page.locator('.menu summary').click();
	await button(page, 'Sign out').click();
	await desk.signIn(page, ana);
	await button(page, 'Give it a token').waitFor(); // the token is nobody's any more
	await done(page);

	const olga = await desk.desk(await desk.member('Olga Ríos', ['observer']), '/start');
	await olga.getByLabel('Which agent').selectOption('A new one…');
	await olga.getByLabel('Name').fill('Mine');
	await button(olga, 'Give it a token').click();
	await olga.getByRole('alert').getByText('missing permission: access.agent.manage').waitFor();
	await done(olga);
});

test('ID-8 MCP-1 what the page gives to copy connects a real MCP client as it is: its proposal appears, is approved, and the client sees it done', async () => {
	const desk = await opened(), page = await desk.desk(await desk.member('Ana Torres'), '/start');
	await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
	await page.locator('.link-live').waitFor();
	await usable(button(page, 'Give it a token'));
	await button(page, 'Give it a token').click();
	await page.getByLabel('Your MCP client').selectOption('MCP Inspector');
	await page.getByLabel('MCP Inspector', { exact: true }).getByText(`--cli ${desk.url}/mcp --transport http --header "Authorization: Bearer cs_agt_`).waitFor();
	await page.getByLabel('Your MCP client').selectOption('Cursor');
	await button(page, 'Copy: Cursor').click();
	await button(page, 'Copied: Cursor').waitFor();
	const { url, headers } = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).mcpServers.countersign;
	await button(page, 'Go on').click();
	const client = new Client({ name: 'a client', version: '1' });
	await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
	const asked = await client.callTool({ name: 'note_create', arguments: { title: 'From a client', text: 'Hello.' } });
	assert.equal(asked.structuredContent.status, 'awaiting_operator');
	await page.getByText('Create the note "From a client"').waitFor();
	await page.getByRole('link', { name: 'Open the proposal' }).click();
	await page.locator('.card').waitFor();
	await button(page, 'Approve A').click();
	await page.getByLabel('Apply it at once').check();
	await button(page.getByRole('dialog'), 'Approve').click();
	await page.getByText('Applied.', { exact: true }).waitFor();
	const { structuredContent: now } = await client.callTool({ name: 'wait_proposal', arguments: { id: asked.structuredContent.proposalId } });
	assert.deepEqual([now.status, now.result.title], ['applied', 'From a client']);
	await client.close();
	await done(page);
});
