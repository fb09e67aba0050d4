// SPDX-License-Identifier: Apache-2.0
// Names must show what they are (AP-7): of people, agents, teams, roles, systems, and e-mail addresses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';

let w, count = 0;
before(async () => {
	w = await World.start();
});
after(() => w.stop());

const email = () => `named${++count}@example.org`;
const deceptive = [' ', '\u00a0\u3000', '\u200b', '\u2800', '\u3164', 'Ad\u200bmin', '\u202enimdA', 'Аdmin', 'pаypal', 'Adm\u0456n', 'Admin\n', 'Admin\u0007'];
const ordinary = ['Ada Lovelace', 'O’Brien', 'Ólafur Örn', 'Đặng Thị Hà', 'Jean-Luc', 'Ελένη Παππά', 'Иван Петров', 'Анна Smith', '山田 太郎', '김민준', 'محمد علي', 'דוד כהן', 'आरती शर्मा', 'สมชาย', 'René R2-D2', '王小明 (Ops)', 'Ana 🦉'];

/** Every way to give somebody or something a name. */
async function ways() {
	const member = await ok(w.admin.post('/api/v1/members', { name: 'M', email: email() })), agent = await ok(w.admin.post('/api/v1/agents', { name: 'A' }));
	const role = await ok(w.admin.post('/api/v1/roles', { name: `r${++count}`, rules: [] })), team = await ok(w.admin.post('/api/v1/teams', { name: `t${++count}` }));
	return {
		'a person': (name) => w.admin.post('/api/v1/members', { name, email: email() }),
		'a person, renamed': (name) => w.admin.patch(`/api/v1/members/${member.id}`, { name }),
		'a service': (name) => w.admin.post('/api/v1/members', { kind: 'service', name }),
		'an agent': (name) => w.admin.post('/api/v1/agents', { name }),
		'an agent, renamed': (name) => w.admin.patch(`/api/v1/agents/${agent.id}`, { name }),
		'a role': (name) => w.admin.post('/api/v1/roles', { name, rules: [] }),
		'a role, renamed': (name) => w.admin.patch(`/api/v1/roles/${role.id}`, { name }),
		'a team': (name) => w.admin.post('/api/v1/teams', { name }),
		'a project': (name) => w.admin.post('/api/v1/orgs/default/projects', { key: `p-${++count}`, name }),
		'an environment': (name) => w.admin.post(`/api/v1/projects/${w.first.projectId}/environments`, { key: `e-${++count}`, name }),
		'a team, renamed': (name) => w.admin.put(`/api/v1/teams/${team.id}`, { name, members: [], grants: [] }),
	};
}

test('AP-7 nobody and nothing gets a name that cannot be seen or imitates another', async () => {
	for (const [what, name_] of Object.entries(await ways())) {
		for (const name of deceptive) {
			const { fields } = await refused(name_(name), 400, 'invalid_request');
			assert.deepEqual(fields.map(({ path }) => path), ['/name'], `${what} ${JSON.stringify(name)}`);
		}
	}
});

test('AP-7 ordinary names in any language are taken', async () => {
	for (const [what, name_] of Object.entries(await ways()))
		for (const name of ordinary) assert.ok((await name_(`${name} ${++count}`)).status < 300, `${what} ${name}`);
});

test('AP-7 systems and tools that people declare have plain names', async () => {
	const hook = await ok(w.admin.post('/api/v1/connections', { name: 'bank', url: 'https://hooks.example/x', mode: 'sync' }));
	const pay = { title: 'Pay', description: 'Pays.', effect: 'read', inputSchema: { type: 'object' } };
	await ok(w.admin.put(`/api/v1/connections/${hook.id}/tools/pay`, pay));
	for (const name of [' ', 'pаypal', 'Wiki\u200b']) {
		await refused(w.admin.post('/api/v1/connections', { name, url: 'https://hooks.example/x', mode: 'sync' }), 400, 'invalid_request');
		await refused(w.admin.put(`/api/v1/connections/${hook.id}/tools/pay`, { ...pay, title: name }), 400, 'invalid_request', /title/);
		await refused(w.admin.put(`/api/v1/connections/${hook.id}/tools/pay`, { ...pay, target: name }), 400, 'invalid_request', /target/);
		await refused(w.admin.post('/api/v1/upstreams', { name, kind: 'http', url: 'https://mcp.example/' }), 400, 'invalid_request');
	}
});

test('AP-7 nobody can ask for an agent with a name that deceives', async () => {
	await refused(w.admin.post('/api/v1/proposals', { tool: 'agent.create', input: { name: 'Аdmin' } }), 400, 'invalid_request');
});

test('ID-8 an e-mail address is ASCII: none in look-alike letters stands beside the one it imitates', async () => {
	for (const address of ['аdmin@localhost', 'admin@lоcalhost', 'ad\u200bmin@example.org', 'ada@пример.рф', 'jörg@example.org']) {
		const { fields } = await refused(w.admin.post('/api/v1/members', { name: 'X', email: address }), 400, 'invalid_request', /ASCII/);
		assert.deepEqual(fields.map(({ path }) => path), ['/email']);
	}
	assert.equal((await ok(w.admin.post('/api/v1/members', { name: 'X', email: 'Ada@xn--e1afmkfd.xn--p1ai' }))).email, 'ada@xn--e1afmkfd.xn--p1ai');
});
