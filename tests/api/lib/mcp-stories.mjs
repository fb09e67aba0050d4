// SPDX-License-Identifier: Apache-2.0
// What agents do over MCP, as functions, whatever the SDK, its era and its transport are. Each takes { w, boss, connect, client }:
// the world, a person who decides, connect(token) gives a connected client (mcp-clients.mjs), and client is one of an agent that
// may do all with flags and notes.
import assert from 'node:assert/strict';

import { Shop } from './flags.mjs';
import { ok } from './flow.mjs';
import { said } from './mcp-clients.mjs';
import { until } from './server.mjs';

let count = 0;
const note = () => ({ title: `Story ${++count}`, text: 'text' });

async function propose(client, name = 'note_create', input = note()) {
	const result = await client.call(name, input);
	assert.ok(!result.isError, JSON.stringify(result));
	assert.equal(result.structuredContent.status, 'awaiting_operator');
	return result.structuredContent;
}

/** The result is a tool error with this code; gives what it says. */
function refused(result, code) {
	assert.equal(result.isError, true, JSON.stringify(result));
	assert.equal(said(result).code, code);
	return said(result);
}

const apply = (client, p) => client.call('apply_proposal', { id: p.proposalId });
const wait = async (client, p, more = {}) => (await client.call('wait_proposal', { id: p.proposalId, ...more })).structuredContent;
const open = async ({ boss }) => {
	const shop = await Shop.open(boss, `story-${++count}`);
	await shop.flag('f', { defaultValue: true });
	return shop;
};

export const stories = {
	async 'list and read'({ client }) {
		const tools = await client.list();
		for (const name of ['note_list', 'note_create', 'apply_proposal', 'cancel_proposal', 'describe_proposal', 'wait_proposal', 'list_proposals'])
			assert.ok(tools.some((tool) => tool.name === name), name);
		assert.ok(Array.isArray((await client.call('note_list')).structuredContent.notes));
	},

	async 'propose, wait, apply'({ w, boss, client }) {
		const p = await propose(client);
		refused(await apply(client, p), 'approval_required');
		const waiting = wait(client, p, { timeout: 30 });
		await w.approve(p, boss);
		assert.equal((await waiting).state, 'approved');
		assert.equal((await apply(client, p)).structuredContent.state, 'applied');
		refused(await apply(client, p), 'proposal_gone');
	},

	async 'denied, with its reason'({ boss, client }) {
		const p = await propose(client);
		const waiting = wait(client, p, { timeout: 30 });
		await ok(boss.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash, reason: 'not today' }));
		const end = await waiting;
		assert.equal(end.state, 'denied');
		assert.match(JSON.stringify(end), /not today/);
		refused(await apply(client, p), 'proposal_gone');
	},

	async 'cancelled, and listed as such'({ client }) {
		const p = await propose(client);
		assert.equal((await client.call('cancel_proposal', { id: p.proposalId, note: 'not needed' })).structuredContent.state, 'cancelled');
		const { proposals } = (await client.call('list_proposals', { limit: 200 })).structuredContent;
		assert.equal(proposals.find(({ proposalId }) => proposalId === p.proposalId).status, 'cancelled');
	},

	async 'expired'({ w, boss, connect }) {
		const agent = await w.agentOf(boss, { level: 'maintainer' });
		const client = await connect(agent.token);
		const p = await w.propose({ expiresInSeconds: 1 }, agent.ask());
		await until(async () => (await wait(client, p, { timeout: 2 })).state === 'expired', 'its expiry');
		refused(await apply(client, p), 'proposal_gone');
		await client.close();
	},

	async 'drift'({ w, boss, client }) {
		const shop = await open({ boss });
		const p = await propose(client, 'propose_kill_flag', { envId: shop.staging.id, resourceKey: 'f', diff: {} });
		await w.approve(p, boss);
		await shop.put('flags', 'f', { defaultValue: true, rules: [{ if: { field: 'country', $equals: 'de' }, value: false }] });
		const { details } = refused(await apply(client, p), 'version_drift');
		assert.equal(details.liveVersion, details.proposedVersion + 1);
	},

	async 'in use, and outside of the token'({ w, boss, client, connect }) {
		const shop = await open({ boss });
		await shop.segment('vip');
		await shop.put('flags', 'f', { defaultValue: false, rules: [{ if: { $segment: 'vip' }, value: true }] });
		refused(await client.call('propose_delete_segment', { envId: shop.staging.id, resourceKey: 'vip', diff: {} }), 'in_use');
		const narrow = await connect((await w.agentOf(boss, { level: 'maintainer', environments: [shop.staging.id] })).token);
		refused(await narrow.call('propose_kill_flag', { envId: shop.live.id, resourceKey: 'f', diff: {} }), 'scope_denied');
		await narrow.close();
	},

	async 'forbidden, with what is missing'({ w, boss, connect }) {
		const reader = await connect((await w.agentOf(boss, { rules: ['note.note.read'] })).token);
		assert.match(refused(await reader.call('note_create', note()), 'forbidden').message, /missing permission: note\.note\.create/);
		assert.ok(!(await reader.list()).some(({ name }) => name === 'note_create'));
		await reader.close();
	},

	async 'feedback'({ client }) {
		const { kind, issues } = refused(await client.call('note_create', { title: '', wrong: 1 }), 'invalid_request');
		assert.equal(kind, 'feedback');
		assert.ok(issues.length);
	},

	async 'a blocked tool is unknown, and the budget ends'({ w, boss, connect }) {
		const poor = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 3 });
		await ok(w.admin.put(`/api/v1/agents/${poor.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
		const client = await connect(poor.token);
		assert.ok(!(await client.list()).some(({ name }) => name === 'note_delete'));
		const wrong = (name) => client.call(name, { id: 'x' }).then(() => assert.fail('it was there'), ({ code, message }) => [code, message.replaceAll(name, 'X')]);
		assert.deepEqual(await wrong('note_delete'), await wrong('note_absent'));
		await client.call('note_list');
		await assert.rejects(client.call('note_list'), ({ code, message }) => code === 429 || /429/.test(message));
		await client.close();
	},

	async 'two clients at once: one applies, the other is told'({ w, boss, connect }) {
		const agent = await w.agentOf(boss, { level: 'maintainer', ratePerMinute: 1000 });
		const clients = [await connect(agent.token), await connect(agent.token)];
		for (let i = 0; i < 3; i++) {
			const p = await propose(clients[0]);
			await w.approve(p, boss);
			const results = await Promise.all(clients.map((client) => apply(client, p)));
			assert.deepEqual(results.map((result) => (result.isError ? said(result).code : result.structuredContent.state)).sort(), ['applied', 'proposal_gone']);
		}
		for (const client of clients) await client.close();
	},

	async 'resources and prompts'({ client }) {
		const p = await propose(client);
		const { resources } = await client.client.listResources();
		const uri = `countersign://proposals/${p.proposalId}`;
		assert.ok(resources.some((resource) => resource.uri === uri));
		assert.equal(JSON.parse((await client.client.readResource({ uri })).contents[0].text).proposalId, p.proposalId);
		const [page] = resources.filter((resource) => resource.uri === 'countersign://docs/concepts');
		assert.equal(page.mimeType, 'text/markdown');
		assert.match((await client.client.readResource({ uri: page.uri })).contents[0].text, /^# /);
		const { messages } = await client.client.getPrompt({ name: 'review_pending_proposals' });
		assert.match(messages[0].content.text, /list_proposals/);
		await client.call('cancel_proposal', { id: p.proposalId });
	},
};
