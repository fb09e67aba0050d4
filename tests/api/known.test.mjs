// SPDX-License-Identifier: Apache-2.0
// What a server remembers of a caller must not outlive a change (ID-6): a request that begins after the change was
// answered is decided by it, on every server, however busy the caller was until then. On PostgreSQL the change is made
// on one server and the request comes to another, which knows the caller well.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { onPostgres } from './lib/server.mjs';

const rounds = Number(process.env.COUNTERSIGN_TEST_ROUNDS ?? 20);

let w, second, third;
before(async () => {
	w = await World.start();
	second = onPostgres ? await w.another() : w.server;
	third = onPostgres ? await w.another() : w.server;
});
after(async () => {
	for (const server of [second, third]) if (server !== w.server) await server.stop({ keep: true });
	await w.stop();
});

const wish = { tool: 'note.create', input: { title: 'x', text: '' } };
const propose = (server, token) => server.as(token).post('/api/v1/proposals', wish);

/** Asks without a pause on both other servers while `change` is made on the first; gives the first answer of each after it. */
async function afterChange(token, change) {
	let changed = false;
	const ask = async (server) => {
		for (;;) {
			const late = changed, answer = await propose(server, token);
			if (late) return answer;
			assert.ok([201, 200, 401, 403, 404].includes(answer.status), answer.text);
		}
	};
	for (const server of [second, third]) await ok(propose(server, token)); // they know the caller now
	const asking = [second, third, second, third].map(ask);
	try {
		await ok(change());
	} finally {
		changed = true;
	}
	return Promise.all(asking);
}

const all = (answers, status, message = /./) => {
	for (const answer of answers) {
		assert.equal(answer.status, status, answer.text);
		assert.match(answer.text, message);
	}
};

const rate = { ratePerMinute: 100000 };

test('ID-6 a revoked token is refused by every server that knew it, at once', async () => {
	for (let i = 0; i < rounds; i++) {
		const agent = await w.agentOf(w.admin, rate);
		all(await afterChange(agent.token, () => w.admin.delete(`/api/v1/tokens/${agent.tokenId}`)), 401);
	}
});

test('ID-6 an agent that is disabled is refused, and its delegator, too', async () => {
	const agent = await w.agentOf(w.admin, rate);
	all(await afterChange(agent.token, () => w.admin.delete(`/api/v1/agents/${agent.id}`)), 401);
	const person = await w.person(['operator']), theirs = await w.agentOf(person, rate);
	all(await afterChange(theirs.token, () => w.admin.delete(`/api/v1/members/${person.id}`)), 401);
});

test('ID-6 a delegator who loses a role takes the right from the agent at once, and gives it back', async () => {
	const person = await w.person(['operator']), agent = await w.agentOf(person, rate);
	const roles = (list) => () => w.admin.patch(`/api/v1/members/${person.id}`, { roles: list });
	for (let i = 0; i < rounds / 4; i++) {
		all(await afterChange(agent.token, roles([])), 403);
		await ok(roles(['operator'])());
		for (const server of [second, third]) await ok(propose(server, agent.token));
	}
});

test('TL-6 a tool that is blocked is gone for the agent at once, and comes back', async () => {
	const agent = await w.agentOf(w.admin, rate);
	const tier = (permissionStatus) => () => w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.create', permissionStatus }] });
	for (let i = 0; i < rounds / 4; i++) {
		all(await afterChange(agent.token, tier('blocked')), 404);
		await ok(tier('needs_approval')());
	}
});

test('AP-1 a policy that changed decides the next proposal on every server', async () => {
	const agent = await w.agentOf(w.admin, rate);
	for (const votesLow of [3, 2, 1])
		for (const answer of await afterChange(agent.token, () => w.admin.put('/api/v1/settings', { policy: { votesLow } })))
			assert.equal(answer.json.approvals.needed, votesLow, answer.text);
});
