// SPDX-License-Identifier: Apache-2.0
// The administration of Countersign as tools: agent.*, token.*, permission.* (TL-5, ID-6, ID-9, TL-2). Even an agent's
// wish for more rights is a proposal, which a person decides. Operations: tool_call, proposal_create, proposal_approve,
// proposal_apply, agent_tools, agent_create, token_list.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres, until } from './lib/server.mjs';

let w, boss;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
});
after(() => w.stop());

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;
const set = (agentId, tool, status) => ({ tool: 'permission.set', input: { agentId, tool, status } });
const call = (who, tool, input) => ok(who.post('/api/v1/tools/call', { tool, input }));
const tiers = async (id) => Object.fromEntries((await ok(w.admin.get(`/api/v1/agents/${id}/tools`))).tools.map(({ toolName, permissionStatus }) => [toolName, permissionStatus]));

test('TL-5 an agent that wants more rights proposes them; a person decides, and the permission acts at once', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose(set(agent.id, 'note.get', 'blocked'), agent.ask());
	assert.equal(p.state, 'pending');
	assert.equal(p.card.targetSystem, 'Countersign itself');
	assert.deepEqual(p.diff.filter((d) => d.path === '/status'), [{ path: '/status', before: 'always_allow', after: 'blocked' }]);
	await refused(agent.ask().post(at(p, '/approve'), { viewHash: p.viewHash }), 403, 'forbidden', /only people vote/);
	const operator = await w.person(['operator']);
	await refused(operator.post(at(p, '/approve'), { viewHash: p.viewHash }), 403, 'forbidden', /access\.permission\.approve/);
	await refused(agent.ask().post(at(p, '/apply')), 403, 'forbidden', /access\.permission\.manage/);
	assert.equal((await tiers(agent.id))['note.get'], 'always_allow', 'proposing changes nothing');
	const note = await w.note();
	await call(agent.ask(), 'note.get', { id: note.id });
	assert.equal((await w.approve(p, boss)).status, 'approved');
	const applied = await ok(boss.post(at(p, '/apply')));
	assert.deepEqual(applied.result, { agentId: agent.id, tool: 'note.get', status: 'blocked', stored: true });
	await refused(agent.ask().post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }), 404, 'not_found');
	assert.equal((await w.audit({ action: 'permission.changed', resourceId: agent.id })).length, 1, 'a dry-run leaves no record');
	const [change] = await w.audit({ proposalId: p.proposalId, action: 'record.changed' });
	assert.equal(change.id, applied.appliedAuditId);
	assert.equal(change.agentId, agent.id);
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.applied' })).length, 1);
	await refused(boss.post(at(p, '/apply')), 410, 'proposal_gone');
});

test('TL-5 category C: no stored tier, override or auto mode makes it run without a person', async () => {
	const agent = await w.agentOf(boss, { level: 'admin', override: true, mode: 'auto' });
	await ok(w.admin.put('/api/v1/settings', { policy: { autoExecute: true, overrides: true } }));
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'permission.set', permissionStatus: 'always_allow' }] }));
	await refused(boss.post('/api/v1/tool-overrides', { agentId: agent.id, toolName: 'permission.set' }), 409, 'conflict', /category C/);
	const p = await w.propose(set(agent.id, 'note.delete', 'always_allow'), agent.ask());
	assert.equal(p.state, 'pending');
	assert.equal(p.approvals.needed, 1);
	assert.equal((await tiers(agent.id))['note.delete'], 'needs_approval');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('TL-5 AP-3 a permission that a person asks for with a token, in auto mode or not, waits until they confirm it, signed in', async () => {
	const agent = await w.agentOf(boss);
	const mine = await ok(boss.post('/api/v1/tokens', { name: 'auto', mode: 'auto' }));
	const p = await w.propose(set(agent.id, 'note.update', 'blocked'), w.server.as(mine.token));
	assert.equal(p.state, 'pending', JSON.stringify(p.apply));
	assert.equal((await tiers(agent.id))['note.update'], 'needs_approval');
	assert.equal((await w.approve(p, boss, { apply: true })).state, 'applied');
	assert.equal((await tiers(agent.id))['note.update'], 'blocked');
});

test('TL-2 a tool that is blocked for an agent is not there to wish for, nor in its list', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }] }));
	const answer = async (tool) => (await refused(agent.ask().post('/api/v1/proposals', set(agent.id, tool, 'always_allow')), 404, 'not_found')).message.replace(tool, '');
	assert.equal(await answer('note.delete'), await answer('note.absent'));
	for (const about of [agent.id, w.first.agentId]) {
		const { result } = await call(agent.ask(), 'permission.list', { agentId: about });
		assert.deepEqual(result.tools.map(({ toolName }) => toolName).filter((name) => /^note\.(delete|create)$/.test(name)), ['note.create']);
		assert.ok(!(await agent.ask().get(`/api/v1/agents/${about}/tools`)).text.includes('note.delete'));
	}
	await refused(agent.ask().post('/api/v1/proposals', set('none', 'note.get', 'blocked')), 404, 'not_found');
	await refused(agent.ask().post('/api/v1/proposals', set(agent.id, 'note.get', 'sometimes')), 400, 'invalid_request');
	// the administration itself can be blocked, and then is as absent as anything
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'permission.set', permissionStatus: 'blocked' }] }));
	await refused(agent.ask().post('/api/v1/proposals', set(agent.id, 'note.get', 'blocked')), 404, 'not_found');
});

test('PA-6 somebody changed the permission meanwhile: drift, and nothing is overwritten', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose(set(agent.id, 'note.update', 'always_allow'), agent.ask());
	await w.approve(p, boss);
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.update', permissionStatus: 'blocked' }] }));
	await refused(boss.post(at(p, '/apply')), 409, 'version_drift');
	assert.equal((await tiers(agent.id))['note.update'], 'blocked');
	assert.equal((await ok(boss.get(at(p)))).status, 'approved');
});

test('PA-2 an agent is created with the id that was shown, and shut out with all its tokens', async () => {
	const p = await w.propose({ tool: 'agent.create', input: { name: 'Helper', domain: 'sales' } });
	assert.ok(!(await ok(w.admin.get('/api/v1/agents'))).items.some(({ name }) => name === 'Helper'));
	const { result } = await w.approve(p, boss, { apply: true });
	assert.deepEqual(result, p.card.change.after);
	const { items } = (await call(w.agent, 'agent.list', {})).result;
	assert.deepEqual(items.find(({ id }) => id === result.id)?.name, 'Helper');
	const minted = await ok(boss.post('/api/v1/tokens', { name: 'x', principalId: result.id }));
	await ok(w.server.as(minted.token).get('/api/v1/me'));
	const end = await w.propose({ tool: 'agent.disable', input: { id: result.id } });
	assert.equal(end.effect, 'destructive');
	await refused(w.admin.post(at(end, '/approve'), { viewHash: end.viewHash }), 403, 'forbidden', /sign in/);
	await ok(w.server.as(minted.token).get('/api/v1/me'));
	assert.equal((await w.approve(end, boss, { apply: true })).status, 'applied');
	assert.equal((await w.server.as(minted.token).get('/api/v1/me')).status, 401);
	await refused(w.agent.post('/api/v1/proposals', { tool: 'agent.disable', input: { id: result.id } }), 409, 'conflict');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'agent.disable', input: { id: boss.id } }), 404, 'not_found');
});

test('ID-6 a token is revoked by proposal, with what was minted from it; a new child in between is drift', async () => {
	const parent = await ok(boss.post('/api/v1/tokens', { name: 'parent' }));
	const p = await w.propose({ tool: 'token.revoke', input: { id: parent.id } });
	assert.match(p.card.affectedData, /^1 token:/);
	await w.approve(p, boss);
	const child = await ok(w.server.as(parent.token).post('/api/v1/tokens', { name: 'child' }));
	await refused(boss.post(at(p, '/apply')), 409, 'version_drift');
	const q = await w.propose({ tool: 'token.revoke', input: { id: parent.id } });
	assert.match(q.card.affectedData, /^2 tokens:/);
	assert.equal((await w.approve(q, boss, { apply: true })).status, 'applied');
	for (const { token } of [parent, child]) assert.equal((await w.server.as(token).get('/api/v1/me')).status, 401);
	await refused(w.agent.post('/api/v1/proposals', { tool: 'token.revoke', input: { id: parent.id } }), 409, 'conflict');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'token.revoke', input: { id: 'none' } }), 404, 'not_found');
	assert.ok((await call(w.agent, 'token.list', {})).result.items.every(({ principalId }) => principalId === w.first.agentId), 'an agent sees its own');
});

/** Everything that is kept: the database as bytes or as a dump. */
async function everything() {
	if (onPostgres) return (await promisify(execFile)('pg_dump', ['-d', w.server.database.url, '--inserts'], { maxBuffer: 1 << 30 })).stdout;
	const files = (await readdir(w.server.database.dir, { recursive: true, withFileTypes: true })).filter((f) => f.isFile());
	return (await Promise.all(files.map((f) => readFile(path.join(f.parentPath ?? f.path, f.name), 'latin1')))).join('\n');
}

test('ID-6 AU-2 a proposed token has the rights of who applies it; its secret is answered once and kept nowhere', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const input = { name: 'more', principalId: agent.id, rules: ['note.note.read', 'note.note.delete', 'note.note.approve'] };
	const p = await w.propose({ tool: 'token.mint', input }, agent.ask());
	assert.equal(p.risk.level, 'high');
	assert.equal(p.card.change.after.environments, 'all');
	assert.equal(p.card.change.after.ttlSeconds, 7 * 86400);
	await w.approve(p, boss);
	const chief = await w.agentOf(boss, { level: 'admin', override: true });
	await refused(chief.ask().post(at(p, '/apply')), 403, 'forbidden', /a person applies it/);
	const applied = await ok(boss.post(at(p, '/apply')));
	assert.equal(applied.status, 'applied');
	const secret = applied.reveal.token;
	assert.match(secret, /^cs_/);
	assert.deepEqual(Object.keys(applied.result).sort(), ['hint', 'tokenId']);
	assert.equal(applied.result.tokenId, p.card.change.after.id);
	const token = (await ok(boss.get('/api/v1/tokens'))).items.find(({ id }) => id === applied.result.tokenId);
	assert.equal(token.delegatorId, boss.id);
	assert.deepEqual(token.rules, ['note.note.read', 'note.note.delete'], 'approve is never an agent\'s');
	await ok(w.server.as(secret).get('/api/v1/me'));
	// never again, for nobody
	for (const who of [boss, w.admin, agent.ask()]) {
		const answer = await who.get(at(p));
		assert.ok(answer.json.proposalId && !('reveal' in answer.json) && !answer.text.includes(secret));
	}
	const gone = await boss.post(at(p, '/apply'));
	assert.equal(gone.status, 410);
	assert.ok(!gone.text.includes(secret));
	assert.equal((await w.audit({ action: 'token.minted', resourceId: token.id })).length, 1);
	const kept = await everything();
	assert.ok(kept.includes(token.id), 'we look at the right thing');
	assert.ok(!kept.includes(secret), 'the secret is in the database');
	assert.ok(!kept.includes(secret.slice(0, -4).slice(-24)), 'a part of the secret is in the database');
	assert.ok(!(w.server.stdout + w.server.stderr).includes(secret), 'the secret is in the log');
});

test('ID-6 nobody gives more than they have, also by applying; what a token must not be is refused at once', async () => {
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const mint = (input) => agent.ask().post('/api/v1/proposals', { tool: 'token.mint', input: { name: 'n', principalId: agent.id, ...input } });
	for (const input of [{}, { level: 'admin' }, { rules: ['*'] }, { rules: ['x'] }, { rules: 1 }, { level: 'observer', forVoting: true }, { level: 'observer', mode: 'auto' }, { level: 'observer', ttlSeconds: 1 }])
		await refused(mint(input), 400, 'invalid_request');
	await refused(mint({ level: 'observer', principalId: boss.id }), 404, 'not_found');
	const role = await ok(w.admin.post('/api/v1/roles', { name: 'registrar', rules: ['access.token.manage', 'note.note.read'] }));
	const registrar = await w.person([role.name]);
	const p = await ok(mint({ rules: ['note.note.delete'] }));
	await w.approve(p, registrar);
	const failed = await ok(registrar.post(at(p, '/apply')));
	assert.equal(failed.status, 'failed');
	assert.match(failed.error, /nobody gives more than they have/);
	assert.ok(!('reveal' in failed));
	const q = await ok(mint({ rules: ['note.note.read'] }));
	await w.approve(q, registrar);
	assert.match((await ok(registrar.post(at(q, '/apply')))).reveal.token, /^cs_/);
});

test('ID-9 who may only read is told how to propose it', async () => {
	const reader = await w.agentOf(boss, { rules: ['note.note.read', 'access.permission.read'] });
	await refused(reader.ask().post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: '' } }), 403, 'forbidden', /^Forbidden: note\.create \(missing permission: note\.note\.create\); with note\.note\.propose you could propose it \(proposal_create\)$/);
	await refused(reader.ask().post('/api/v1/proposals', set(reader.id, 'note.get', 'blocked')), 403, 'forbidden', /access\.permission\.propose/);
	const observer = await w.person(['observer']);
	await refused(observer.post('/api/v1/agents', { name: 'x' }), 403, 'forbidden', /missing permission: access\.agent\.manage\); propose the tool agent\.create/);
	const chief = await w.agentOf(boss, { level: 'admin', override: true });
	await refused(chief.ask().post('/api/v1/agents', { name: 'x' }), 403, 'forbidden', /propose the tool agent\.create/);
});

test('while rights change by a proposal nobody decides, and a decision is not overtaken by one', async (t) => {
	if (!onPostgres) return t.skip('skipped: SQLite has one writer, nobody waits for a lock');
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'note.create', permissionStatus: 'needs_approval' }] }));
	const change = await w.propose(set(agent.id, 'note.create', 'blocked'), agent.ask());
	await w.approve(change, boss);
	const note = await w.propose({}, agent.ask());
	await w.approve(note, boss);
	const psql = spawn('psql', ['-X', '-q', '-A', '-t', '-d', w.server.database.url], { stdio: ['pipe', 'pipe', 'inherit'] });
	let out = '', marks = 0;
	psql.stdout.setEncoding('utf8').on('data', (text) => (out += text));
	const run = async (sql) => {
		const from = out.length, mark = `done ${++marks}\n`;
		psql.stdin.write(`${sql}\n\\echo ${mark}`);
		await until(() => out.includes(mark, from), sql);
		return out.slice(from).replace(mark, '').trim();
	};
	const waiting = async (where) => Number(await run(`SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() AND NOT l.granted AND ${where};`));
	try {
		// the handler that changes rights runs under the exclusive lock: while it waits for a row, a decision waits for it
		await run(`BEGIN; SELECT 1 FROM agent_tool WHERE agent_id = '${agent.id}' FOR UPDATE;`);
		const changing = boss.post(at(change, '/apply'));
		await until(() => waiting(`l.locktype IN ('transactionid', 'tuple')`), 'the change to wait for its row');
		const behind = boss.post(at(note, '/apply'));
		await until(() => waiting(`l.locktype = 'advisory'`), 'the decision to wait for the change');
		await run('COMMIT;');
		assert.equal((await changing).status, 200);
		await refused(behind, 403, 'forbidden', /blocked for the agent/);
		// a decision that is on its way holds it shared: the change waits for it, at the first lock
		await ok(w.admin.put(`/api/v1/agents/${agent.id}/tools`, { tools: [] }));
		const again = await w.propose(set(agent.id, 'note.create', 'blocked'), agent.ask());
		await w.approve(again, boss);
		await run(`BEGIN; SELECT 1 FROM proposal WHERE proposal_id = '${note.proposalId}' FOR UPDATE;`);
		const order = [];
		const deciding = boss.post(at(note, '/apply')).then((answer) => (order.push('decision'), answer));
		await until(() => waiting(`l.locktype IN ('transactionid', 'tuple')`), 'the decision to wait for its row');
		const second = boss.post(at(again, '/apply')).then((answer) => (order.push('change'), answer));
		await until(() => waiting(`l.locktype = 'advisory'`), 'the change to wait for the decision');
		assert.deepEqual(order, []);
		// and whoever comes now waits behind the change
		const third = w.agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'late', text: '' } });
		await run('COMMIT;');
		const answers = await Promise.all([deciding, second, third]);
		assert.deepEqual(answers.map(({ status }) => status), [200, 200, 201], answers.map(({ text }) => text).join('\n'));
		assert.equal(answers[0].json.status, 'applied');
		assert.equal((await tiers(agent.id))['note.create'], 'blocked');
	} finally {
		psql.stdin.end();
	}
});
