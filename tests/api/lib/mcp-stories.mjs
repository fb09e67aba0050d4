// SPDX-License-Identifier: Apache-2.0
// What an agent does over MCP, as functions of a connected client (mcp-clients.mjs), whatever its SDK, its era and its
// transport are. Each takes { w, boss, client }: the world, a person who decides, the agent's client.
import assert from 'node:assert/strict';

import { ok } from './flow.mjs';
import { said } from './mcp-clients.mjs';

let count = 0;
const note = () => ({ title: `Story ${++count}`, text: 'text' });

async function propose(client, input = note()) {
	const result = await client.call('note_create', input);
	assert.ok(!result.isError, JSON.stringify(result));
	assert.equal(result.structuredContent.status, 'awaiting_operator');
	return result.structuredContent;
}

const deny = (boss, p, reason) => ok(boss.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash, ...(reason ? { reason } : {}) }));

export const stories = {
	async 'list and read'({ client }) {
		const tools = await client.list();
		for (const name of ['note_list', 'note_create', 'apply_proposal', 'cancel_proposal', 'describe_proposal', 'wait_proposal', 'list_proposals'])
			assert.ok(tools.some((tool) => tool.name === name), name);
		assert.ok(Array.isArray((await client.call('note_list')).structuredContent.notes));
	},

	async 'propose, wait, apply'({ w, boss, client }) {
		const p = await propose(client);
		const early = await client.call('apply_proposal', { id: p.proposalId });
		assert.equal(early.isError, true);
		assert.equal(said(early).code, 'approval_required');
		const waiting = client.call('wait_proposal', { id: p.proposalId, timeout: 30 });
		await w.approve(p, boss);
		assert.equal((await waiting).structuredContent.state, 'approved');
		const applied = await client.call('apply_proposal', { id: p.proposalId });
		assert.equal(applied.structuredContent.state, 'applied');
		assert.equal(said(await client.call('apply_proposal', { id: p.proposalId })).code, 'proposal_gone');
	},

	async 'denied'({ boss, client }) {
		const p = await propose(client);
		const waiting = client.call('wait_proposal', { id: p.proposalId, timeout: 30 });
		await deny(boss, p, 'not today');
		const { structuredContent } = await waiting;
		assert.equal(structuredContent.state, 'denied');
		assert.match(JSON.stringify(structuredContent), /not today/);
		assert.equal(said(await client.call('apply_proposal', { id: p.proposalId })).code, 'proposal_gone');
	},

	async 'cancelled, and listed as such'({ client }) {
		const p = await propose(client);
		assert.equal((await client.call('cancel_proposal', { id: p.proposalId, note: 'not needed' })).structuredContent.state, 'cancelled');
		const { proposals } = (await client.call('list_proposals', { limit: 200 })).structuredContent;
		assert.equal(proposals.find(({ proposalId }) => proposalId === p.proposalId).status, 'cancelled');
	},

	async 'feedback'({ client }) {
		const result = await client.call('note_create', { title: '', wrong: 1 });
		assert.equal(result.isError, true);
		assert.equal(said(result).kind, 'feedback');
		assert.ok(said(result).issues.length);
	},
};
