// SPDX-License-Identifier: Apache-2.0
// What was agreed to is what policy still asks for: it decides again at apply, on the facts of now (PA-3).
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Shop } from './lib/flags.mjs';
import { ok, refused, World } from './lib/flow.mjs';
import { behindTheBack, lookBehind, onPostgres, startServer } from './lib/server.mjs';

let w, boss, shop, count = 0;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	shop = await Shop.open(boss); // behind a gate one writes in a session
	const { policy } = await ok(w.admin.get('/api/v1/settings'));
	await ok(w.admin.put('/api/v1/settings', { policy: { ...policy, allowListed: ['note.create', 'note.update', 'flag.set_rules_flag'] } }));
});
after(() => w?.stop());

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId ?? p}${what}`;
const state = async (p) => (await ok(w.admin.get(at(p)))).state;
const patch = (target, body) => ok(w.server.request('PATCH', target, { body, headers: boss.headers() }));
const tiers = (agent, permissionStatus, toolName = 'note.create') => ok(boss.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName, permissionStatus }] }));
const fresh = () => ({ title: `Note ${++count}`, text: 'text' });

/** A proposal of an agent that policy asks nobody about. */
async function unasked(agent, more = {}) {
	const p = await ok(agent.ask().post('/api/v1/proposals', { tool: 'note.create', input: fresh(), ...more }));
	assert.deepEqual([p.state, p.approvals.needed], ['approved', 0], JSON.stringify(p.approvals));
	return p;
}

/** It asks for one vote now: it is pending, on record, and the vote that comes is enough. */
async function isAsked(p, who, why) {
	const error = await refused(who.post(at(p, '/apply')), 409, 'approval_required', why);
	assert.match(error.message, /more approvals are needed than when it was proposed/);
	const now = await ok(w.admin.get(at(p)));
	assert.deepEqual([now.state, now.approvals.needed, now.viewHash], ['pending', 1, p.viewHash]);
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.reopened' })).length, 1);
	await refused(who.post(at(p, '/apply')), 409, 'approval_required', /0 of 1 approvals are there/);
	assert.equal((await w.approve(p, boss)).state, 'approved');
	assert.equal((await ok(who.post(at(p, '/apply')))).state, 'applied');
}

test('PA-3 a tier that was tightened after a proposal without votes: apply asks for one, and goes on with it', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await tiers(agent, 'always_allow');
	const p = await unasked(agent);
	await tiers(agent, 'needs_approval');
	await isAsked(p, agent.ask(), /the tool needs approval for this agent/);
});

test('PA-3 TL-7 "approve always" that was taken back no longer stands for a vote', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await ok(boss.post('/api/v1/tool-overrides', { agentId: agent.id, toolName: 'note.create' }));
	const p = await unasked(agent);
	await ok(boss.delete(`/api/v1/tool-overrides?agentId=${agent.id}&toolName=note.create`));
	await isAsked(p, agent.ask(), /the tool needs approval for this agent/);
});

test('PA-3 ID-6 whose delegator may only propose by now has not agreed by the rights of then', async () => {
	const lead = await w.person(['admin']), agent = await w.agentOf(lead, { level: 'maintainer' });
	await tiers(agent, 'always_allow');
	const p = await unasked(agent);
	await patch(`/api/v1/members/${lead.id}`, { roles: ['proposer'] });
	await refused(agent.ask().post(at(p, '/apply')), 403, 'forbidden', /note\.note\.create/);
	assert.equal(await state(p), 'approved');
	await isAsked(p, boss, /the caller may propose this, not do it/);
});

const RULES = [{ if: { field: 'plan', $equals: 'free' }, value: true }];

/** A change of a flag in an environment of its own that is not production and has no gate. */
async function unaskedChange(agent) {
	const env = await ok(w.admin.post(`/api/v1/projects/${shop.project.id}/environments`, { key: `e${++count}`, name: 'One', production: false, approvalGate: false }));
	const flag = await shop.flag(`flag-${++count}`);
	await tiers(agent, 'always_allow', 'flag.set_rules_flag');
	const p = await ok(agent.ask().post('/api/v1/proposals', { envId: env.id, kind: 'set_rules_flag', resourceKey: flag.key, diff: { rules: RULES } }));
	assert.deepEqual([p.state, p.approvals.needed], ['approved', 0], JSON.stringify(p.approvals));
	return { env, p };
}

test('PA-3 an approval gate that was switched on after a proposal without votes asks for one', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const { env, p } = await unaskedChange(agent);
	await patch(`/api/v1/envs/${env.id}`, { approvalGate: true });
	await isAsked(p, agent.ask(), /the environment asks for approval/);
});

test('PA-3 an environment that became production asks about what an agent may only propose there', async () => {
	const agent = await w.agentOf(boss); // ID-7: read and propose in production, write elsewhere
	const { env, p } = await unaskedChange(agent);
	await patch(`/api/v1/envs/${env.id}`, { production: true });
	await refused(agent.ask().post(at(p, '/apply')), 403, 'forbidden');
	await isAsked(p, boss, /the caller may propose this, not do it/);
});

test('PA-3 a team that is asked in production is another card: version_drift, and the proposal stays as it was', async () => {
	const own = await World.start();
	const admin = await own.person(['admin']), other = await Shop.open(own.admin);
	const flag = await other.flag('one');
	const team = await ok(own.admin.post('/api/v1/teams', { name: 'Owners', members: [admin.id] }));
	const { policy } = await ok(own.admin.get('/api/v1/settings'));
	await ok(own.admin.put('/api/v1/settings', { policy: { ...policy, allowListed: ['flag.set_rules_flag'], groups: [{ teamId: team.id, votes: 1, production: true }] } }));
	const agent = await own.agentOf(admin, { level: 'maintainer' });
	await ok(own.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'flag.set_rules_flag', permissionStatus: 'always_allow' }] }));
	const p = await ok(agent.ask().post('/api/v1/proposals', { envId: other.staging.id, kind: 'set_rules_flag', resourceKey: flag.key, diff: { rules: RULES } }));
	if (p.state === 'pending') await own.approve(p, admin); // its gate may be on
	await ok(own.admin.patch(`/api/v1/envs/${other.staging.id}`, { production: true }));
	const another = await own.person(['admin']);
	await refused(another.post(at(p, '/apply')), 409, 'version_drift', /another team is asked now/);
	assert.equal((await ok(own.admin.get(at(p)))).state, 'approved');
	await own.stop();
});

test('PA-3 a change of several environments is decided again where it acts: what it did meanwhile is undone', async () => {
	const lead = await w.person(['admin']), key = `spanning-${++count}`, { project, staging } = await Shop.open(w.admin, 'gated');
	await patch(`/api/v1/envs/${staging.id}`, { approvalGate: true });
	const p = await ok(lead.post('/api/v1/proposals', { tool: 'flag.create_flag', input: { projectId: project.id, key, type: 'boolean', defaultValue: false } }));
	assert.deepEqual([p.state, p.approvals.needed], ['approved', 0], 'who may do it has agreed by asking');
	await patch(`/api/v1/members/${lead.id}`, { roles: ['proposer'] });
	const error = await refused(boss.post(at(p, '/apply')), 409, 'approval_required', /the caller may propose this, not do it/);
	assert.match(error.message, /more approvals are needed/);
	assert.ok(!(await w.admin.get(`/api/v1/projects/${project.id}/flags`)).text.includes(key), 'it was not made');
	assert.equal(await state(p), 'pending');
	await w.approve(p, boss);
	assert.equal((await ok(boss.post(at(p, '/apply')))).state, 'applied');
});

test('PA-3 applied by its token it is asked about, too, and goes on with the vote', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await tiers(agent, 'always_allow');
	const p = await unasked(agent);
	await tiers(agent, 'needs_approval');
	await refused(agent.ask().post('/api/v1/proposals/apply', { token: p.token }), 409, 'approval_required', /more approvals/);
	const done = await w.approve(p, boss, { apply: true });
	assert.equal(done.state, 'applied', JSON.stringify(done.apply));
});

test('PA-3 looser rules never lower what was agreed', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await ok(agent.ask().post('/api/v1/proposals', { tool: 'note.create', input: fresh() }));
	assert.equal(p.approvals.needed, 1);
	await tiers(agent, 'always_allow');
	await refused(agent.ask().post(at(p, '/apply')), 409, 'approval_required', /^0 of 1 approvals are there/);
	assert.equal(await state(p), 'pending');
});

test('PA-3 AU-4 the facts of a decision are sealed with it', async () => {
	const own = await World.start();
	const person = await own.person(['admin']), agent = await own.agentOf(person, { level: 'maintainer' });
	const p = await ok(agent.ask().post('/api/v1/proposals', { tool: 'note.create', input: fresh(), riskLevel: 'high' }));
	await own.change(`UPDATE proposal SET facts = replace(facts, '"high"', '"low"') WHERE proposal_id = '${p.proposalId}'`);
	await refused(own.admin.post(at(p, '/apply')), 409, 'tampered');
	await own.change(`UPDATE proposal SET facts = '' WHERE proposal_id = '${p.proposalId}'`);
	await refused(own.admin.post(at(p, '/apply')), 409, 'tampered');
	await own.stop();
});

// --- from before ---

/** What the seal of a row was made of before facts were kept. */
const SEALED = `org_id proposal_id state tool tool_version effect proposer_id proposer_kind delegator_id token_id payload_hash view_hash risk environment_id
	resource_type resource_key votes_needed four_eyes policy_version request_hash salt minted_id call_id transport summary provenance idempotency_key
	minted_at created_at expires_at applier_id applied_audit_id`.split(/\s+/);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

function seal(key, parts) {
	const mac = createHmac('sha256', Buffer.from(key, 'hex'));
	for (const part of parts) {
		const length = Buffer.alloc(8);
		length.writeBigUInt64LE(BigInt(Buffer.byteLength(part)));
		mac.update(length).update(part);
	}
	return mac.digest('hex');
}

/** The same server, with every proposal as an older program would have left it: no facts, no source on its card. */
async function asBefore(world) {
	const { database, options, first } = world.server;
	const file = onPostgres ? database.flags[3] : path.join(database.flags[1], 'keys');
	const key = /^mac ([0-9a-f]{64})$/m.exec(await readFile(file, 'utf8'))[1];
	await world.server.stop({ keep: true });
	const split = onPostgres ? 'chr(31)' : 'char(31)';
	const columns = [...SEALED, 'card'].map((name) => `COALESCE(CAST(${name} AS TEXT), '')`).join(` || ${split} || `);
	const changes = (await lookBehind({ database }, `SELECT ${columns} FROM proposal WHERE state IN ('pending', 'approved')`)).map((line) => {
		const values = line.split('\x1f'), row = Object.fromEntries(SEALED.map((name, i) => [name, values[i]]));
		const { source, ...card } = JSON.parse(values.at(-1));
		const text = JSON.stringify(card);
		row.view_hash = sha256(text);
		const mac = seal(key, ['proposal', ...SEALED.map((name) => row[name]), '0', sha256(''), sha256(''), '0']);
		return `UPDATE proposal SET facts = '', subject = NULL, entries = 0, card = '${text.replaceAll("'", "''")}', view_hash = '${row.view_hash}', mac = '${mac}' WHERE proposal_id = '${row.proposal_id}';`;
	});
	const again = await behindTheBack(world.server, changes.join('\n'));
	world.server = onPostgres ? Object.assign(await startServer({ ...options, database }), { first, database }) : again;
	return changes.length;
}

test('PA-3 PA-6 proposals from before an update: what another system does is proposed again, the rest is decided by the strictest reading', async () => {
	const own = await World.start(), person = await own.person(['admin']), agent = await own.agentOf(person, { level: 'maintainer' });
	const { policy } = await ok(own.admin.get('/api/v1/settings'));
	await ok(own.admin.put('/api/v1/settings', { policy: { ...policy, allowListed: ['note.create'] } }));
	await ok(person.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.create', permissionStatus: 'always_allow' }] }));
	const c = await ok(own.admin.post('/api/v1/connections', { name: 'old', url: 'http://127.0.0.1:1/old', allow: ['127.0.0.0/8'] }));
	const declared = await ok(own.admin.put(`/api/v1/connections/${c.id}/tools/send`, { title: 'Send', description: 'Sends.', effect: 'mutate', inputSchema: { type: 'object' }, failure: 'Nothing is sent.' }));
	const unaskedOne = await ok(agent.ask().post('/api/v1/proposals', { tool: 'note.create', input: fresh() }));
	assert.equal(unaskedOne.state, 'approved');
	const pending = await own.propose(), outside = await ok(own.agent.post('/api/v1/proposals', { tool: declared.tool, input: {} }));
	const mine = await ok(person.post('/api/v1/proposals', { tool: 'note.create', input: fresh() }));
	assert.equal(mine.state, 'approved');
	assert.equal(await asBefore(own), 4);
	const now = async (p) => ok(own.admin.get(at(p)));

	const error = await refused(agent.ask().post(at(unaskedOne, '/apply')), 409, 'approval_required', /the token asks for approval/);
	assert.match(error.message, /0 of 1/);
	assert.equal((await now(unaskedOne)).state, 'pending');
	await own.approve(await now(unaskedOne), person);
	assert.equal((await ok(agent.ask().post(at(unaskedOne, '/apply')))).state, 'applied');

	await own.approve(await now(pending), person);
	assert.equal((await ok(person.post(at(pending, '/apply')))).state, 'applied');
	await own.approve(await now(outside), person);
	await refused(person.post(at(outside, '/apply')), 409, 'version_drift', /propose again/);
	assert.equal((await now(outside)).state, 'approved');
	assert.equal((await ok(person.post(at(mine, '/apply')))).state, 'applied', 'a person has agreed by asking');
	await own.stop();
});
