// SPDX-License-Identifier: Apache-2.0
// What only people in a fresh session may change (x-authority in /openapi.json), as a test asks for it: by the first admin's
// token. It is done in a session of that admin, and with the other admins that the organization's policy asks for.
import { operationOf } from './contract.mjs';
import { addPerson } from './people.mjs';

/** How many people it takes to change this policy again. */
function peopleFor({ fourEyes, groups, ...votes }) {
	const most = Math.max(groups?.length && !fourEyes ? 2 : 1, ...Object.entries(votes).filter(([name, n]) => name.startsWith('votes') && n <= 20).map(([, n]) => n));
	return most + (fourEyes === true ? 1 : 0);
}

export class Admins {
	/** others: further admins, each a function that gives the headers of a session of theirs. */
	constructor(server) {
		Object.assign(this, { server, count: 0, others: [] });
	}

	/** Headers of somebody who signs in now. */
	async signIn(email, secret) {
		const answer = await this.server.request('POST', '/api/v1/session', { body: { email, password: secret } });
		if (answer.status !== 200) throw new Error(`${email} cannot sign in: ${answer.text}`);
		return { cookie: answer.headers.get('set-cookie').split(';')[0], 'x-csrf-token': answer.json.csrfToken, origin: this.server.url };
	}

	/** As the first admin, in a session that begins with the first such request, and anew where it has ended or is too old. */
	async inSession(method, target, options = {}) {
		const { adminEmail, adminPassword } = this.server.first;
		const ask = async () => this.server.request(method, target, { ...options, headers: { ...(await this.session), origin: this.server.url, ...options.headers } });
		this.session ??= this.signIn(adminEmail, adminPassword);
		const answer = await ask();
		if (answer.status !== 401 && answer.json?.code !== 'step_up_required') return answer;
		this.session = this.signIn(adminEmail, adminPassword);
		return ask();
	}

	async request(method, target, options) {
		if (method === 'PUT' && target === '/api/v1/settings' && options.body?.policy) await this.gather(peopleFor(options.body.policy));
		let answer = await this.inSession(method, target, options);
		if (answer.json?.details?.propose === 'access.change') answer = await this.together(method, target, options);
		const lacks = /^this needs (\d+) admins who can sign in, and there (?:is|are) (\d+)/.exec(answer.json?.message);
		if (!lacks) return answer;
		for (let i = Number(lacks[2]); i < Number(lacks[1]); i++) await this.another();
		return this.request(method, target, options);
	}

	/** Those who will have to agree later cannot be added alone then. */
	async gather(people) {
		while (this.others.length < people - 1) await this.another();
	}

	async another() {
		const email = `another.admin${++this.count}@example.org`;
		const { password } = await addPerson(this.server, this.server.as(this.server.first.adminToken), { name: `Another admin ${this.count}`, email, roles: ['admin'] });
		const headers = await this.signIn(email, password);
		this.others.push(() => headers);
	}

	/** Proposed by the first admin, who confirms it where that counts, and approved by the others until it is done. */
	async together(method, target, { body = {} } = {}) {
		const { operationId, input, success } = this.operation(method, target, body);
		const proposed = await this.inSession('POST', '/api/v1/proposals', { body: { tool: 'access.change', input: { operation: operationId, input } } });
		if (proposed.status >= 300) return { ...proposed, json: JSON.parse(proposed.text.replaceAll('/input/', '/')) };
		const { proposalId, viewHash } = proposed.json;
		let answer = proposed;
		for (const headers of [() => this.session, ...this.others]) {
			if (answer.json.result) break;
			answer = await this.server.request('POST', `/api/v1/proposals/${proposalId}/approve`, { body: { viewHash, apply: true }, headers: { ...(await headers()), origin: this.server.url } });
		}
		if (!answer.json.result) return { ...answer, status: answer.status < 300 ? 409 : answer.status };
		return { ...answer, status: success, json: { ...answer.json.result.answer, ...answer.json.reveal, ...answer.json.secret } };
	}

	/** Its name, what it takes with what stands in its path, and how it succeeds. */
	operation(method, target, body) {
		const doc = this.server.openapi, path = target.split('?')[0];
		const operation = operationOf(doc, method, path);
		const template = Object.keys(doc.paths).find((one) => Object.values(doc.paths[one]).includes(operation));
		const input = { ...body }, parts = path.split('/');
		template.split('/').forEach((part, i) => {
			if (part.startsWith('{')) input[part.slice(1, -1)] = decodeURIComponent(parts[i]);
		});
		return { operationId: operation.operationId, input, success: Number(Object.keys(operation.responses).find((status) => status < 300)) };
	}
}
