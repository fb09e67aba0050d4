// SPDX-License-Identifier: Apache-2.0
// A project of flags for tests: two environments in which one writes at once, and short words for what is done there.
import { ok } from './flow.mjs';

export class Shop {
	/** who: somebody with all rights, as server.as gives it. */
	static async open(who, key = 'shop') {
		const shop = Object.assign(new Shop(), { who });
		shop.project = await ok(who.post('/api/v1/orgs/default/projects', { key, name: 'Shop' }));
		const environment = (slug, more) => ok(who.post(`/api/v1/projects/${shop.project.id}/environments`, { key: slug, name: slug, ...more }));
		shop.staging = await environment('staging', { production: false });
		shop.live = await environment('live', { approvalGate: false });
		return shop;
	}

	flag(key, more = {}) {
		return ok(this.who.post(`/api/v1/projects/${this.project.id}/flags`, { key, type: 'boolean', defaultValue: false, ...more }));
	}

	config(key, more = {}) {
		return ok(this.who.post(`/api/v1/projects/${this.project.id}/configs`, { key, type: 'number', defaultValue: 0, ...more }));
	}

	segment(key, more = {}) {
		return ok(this.who.post(`/api/v1/projects/${this.project.id}/segments`, { key, ...more }));
	}

	put(kind, key, state, env = this.staging) {
		return ok(this.who.put(`/api/v1/envs/${env.id}/${kind}/${key}/state`, state));
	}

	remove(kind, key) {
		return ok(this.who.delete(`/api/v1/projects/${this.project.id}/${kind}/${key}`));
	}

	/** The whole answer for a context. */
	evaluate(context, more = {}, { who = this.who, env = this.staging } = {}) {
		return ok(who.post(`/api/v1/envs/${env.id}/evaluate`, { context, ...more }));
	}
}
