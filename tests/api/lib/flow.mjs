// SPDX-License-Identifier: Apache-2.0
// People, agents and proposals for tests of the kernel, over the real API.
import assert from 'node:assert/strict';

import { addPerson } from './people.mjs';
import { behindTheBack, startServer, startSetUp } from './server.mjs';

/** The answer is this error; gives its body. */
export async function refused(promise, status, code, message = /./) {
	const answer = await promise;
	assert.equal(answer.status, status, answer.text);
	assert.equal(answer.json.code, code, answer.text);
	assert.match(answer.json.message, message);
	return answer.json;
}

/** The answer is a success; gives its body. */
export async function ok(promise) {
	const answer = await promise;
	assert.ok(answer.status < 300, `${answer.status} ${answer.text}`);
	return answer.json;
}

export class World {
	static async start(options) {
		const world = new World();
		world.server = await startSetUp(options);
		world.count = 0;
		for (const who of ['admin', 'agent']) world.server.first[`${who}Id`] = (await ok(world.server.as(world.first[`${who}Token`]).get('/api/v1/me'))).id;
		const busy = await ok(world.admin.post('/api/v1/tokens', { name: 'busy', principalId: world.first.agentId, ratePerMinute: 100000, actions: ['read', 'propose'] }));
		world.agentToken = busy.token;
		return world;
	}

	get first() {
		return this.server.first;
	}

	get admin() {
		return this.server.as(this.first.adminToken);
	}

	/** The agent of init with a token that is not short of calls: it may read and propose. */
	get agent() {
		return this.server.as(this.agentToken);
	}

	/** A second process on the same database (PostgreSQL). */
	async another(options = {}) {
		const server = await startServer({ ...options, database: this.server.database });
		return Object.assign(server, { first: this.first });
	}

	async change(sql) {
		this.server = await behindTheBack(this.server, sql);
	}

	stop() {
		return this.server.stop();
	}

	/** Somebody who is signed in; `as` asks as they do. */
	async person(roles = ['operator']) {
		const email = `somebody${++this.count}@example.org`;
		const { password, ...member } = await addPerson(this.server, this.admin, { name: `Somebody ${this.count}`, email, roles });
		const answer = await this.server.post('/api/v1/session', { email, password });
		assert.equal(answer.status, 200, answer.text);
		const headers = () => ({ cookie: answer.headers.get('set-cookie').split(';')[0], 'x-csrf-token': answer.json.csrfToken, origin: this.server.url });
		const ask = (method, target, body) => this.server.request(method, target, { body, headers: headers() });
		return {
			id: member.id,
			headers,
			get: (target) => ask('GET', target),
			post: (target, body = {}) => ask('POST', target, body),
			put: (target, body) => ask('PUT', target, body),
			patch: (target, body) => ask('PATCH', target, body),
			delete: (target) => ask('DELETE', target),
		};
	}

	/** A new agent whose token the person (an admin, unless said) delegates. */
	async agentOf(person, token = {}, profile = {}) {
		const agent = await ok(this.admin.post('/api/v1/agents', { name: `Agent ${++this.count}`, ...profile }));
		const minted = await ok(person.post('/api/v1/tokens', { name: 'its token', principalId: agent.id, ...token }));
		return { id: agent.id, token: minted.token, tokenId: minted.id, ask: (server = this.server) => server.as(minted.token) };
	}

	propose(input = {}, who = this.agent) {
		const n = ++this.count;
		return ok(who.post('/api/v1/proposals', { tool: 'note.create', input: { title: `Note ${n}`, text: 'text' }, ...input }));
	}

	async approve(p, who = this.admin, more = {}) {
		return ok(who.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash, ...more }));
	}

	/** One that was approved although it has little time: on a slow machine the first may be too late. */
	async approved(input) {
		for (;;) {
			const p = await this.propose(input);
			if ((await this.admin.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash })).status === 200) return p;
		}
	}

	/** A note that exists. */
	async note(title = `Note ${++this.count}`, text = 'text') {
		const p = await this.propose({ input: { title, text } });
		return (await this.approve(p, this.admin, { apply: true })).result;
	}

	async notes() {
		return (await ok(this.admin.post('/api/v1/tools/call', { tool: 'note.list', input: { limit: 200 } }))).result.notes;
	}

	async audit(filter) {
		return (await ok(this.admin.get(`/api/v1/orgs/default/audit?limit=100&${new URLSearchParams(filter)}`))).entries;
	}
}
