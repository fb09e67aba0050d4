// SPDX-License-Identifier: Apache-2.0
// Somebody who can write to the database, with full rights and without the key file: what they put in, take out or put back is
// noticed (AU-4). SQLite has one owner, so there the server is stopped meanwhile; on PostgreSQL it runs.
// Operations: proposal_get, proposal_apply, proposal_approve, proposal_deny, server_ready, server_metrics, audit_checkpoint.
import assert from 'node:assert/strict';
import { cp, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { World, ok, refused } from './lib/flow.mjs';
import { Receiver } from './lib/receiver.mjs';
import { behindTheBack, freshDatabase, init, lookBehind, onPostgres, run, startServer, temporaryDirectory, until } from './lib/server.mjs';

async function world(t, options) {
	const w = await World.start(options);
	t.after(() => w.stop());
	return w;
}

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;
const guards = ['audit_entry', 'audit_leaf', 'audit_node', 'audit_checkpoint'].flatMap((table) => [`${table}_no_update`, `${table}_no_delete`]);
const heldDir = ({ database }) => `${database.dir ? path.join(database.dir, 'keys') : database.flags[3]}-checkpoints`;

/** With all that guards the tables out of the way. */
const unguarded = (sql) => (onPostgres ? `SET session_replication_role = replica; ${sql}; SET session_replication_role = origin;` : `${guards.map((name) => `DROP TRIGGER IF EXISTS ${name};`).join(' ')} ${sql};`);

/** Everything that the database says about the proposal after it was kept is gone, and its row is as it was. */
const putBack = (p) => unguarded(`
	CREATE TABLE gone AS SELECT entry_id FROM audit_entry WHERE proposal_id = '${p.proposalId}' AND entry_id NOT IN (SELECT entry_id FROM kept_entry);
	DELETE FROM vote WHERE proposal_id = '${p.proposalId}' AND person_id NOT IN (SELECT person_id FROM kept_vote);
	DELETE FROM attempt WHERE proposal_id = '${p.proposalId}';
	DELETE FROM audit_pending WHERE entry_id IN (SELECT entry_id FROM gone);
	DELETE FROM audit_leaf WHERE entry_id IN (SELECT entry_id FROM gone);
	DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM gone);
	${putBackRow(p)}`);
const putBackRow = (p) => `DELETE FROM proposal WHERE proposal_id = '${p.proposalId}'; INSERT INTO proposal SELECT * FROM kept`;
const keep = (p) => `CREATE TABLE kept AS SELECT * FROM proposal WHERE proposal_id = '${p.proposalId}';
	CREATE TABLE kept_vote AS SELECT * FROM vote WHERE proposal_id = '${p.proposalId}';
	CREATE TABLE kept_entry AS SELECT entry_id FROM audit_entry WHERE proposal_id = '${p.proposalId}';`;

const sealed = (w) => until(async () => (await w.audit({})).length <= (await w.admin.get('/api/v1/orgs/default/audit/checkpoint')).json.size, 'everything to be sealed');

/** What the log of the server says, and what it tells those who watch it. */
async function refuses(w, message) {
	const event = await until(() => w.server.log().find(({ event, message: text }) => event === 'audit.refused' && message.test(text)), `audit.refused ${message}`);
	assert.equal(event.level, 'error');
	await until(async () => (await w.server.get('/readyz')).json.audit === 'refused', '/readyz to say so');
	assert.match((await w.server.get('/metrics')).text, /^countersign_audit_refused 1$/m);
}

/** `countersign audit verify` with the key says no, and why. */
async function verifies(w, problem) {
	const { database, first, options } = w.server;
	if (!onPostgres) await w.server.stop({ keep: true });
	const { code, stdout, stderr } = await run(['audit', 'verify', ...database.flags]);
	if (!onPostgres) w.server = Object.assign(await startServer({ ...options, database }), { first, database });
	if (!problem) return assert.equal(code, 0, stdout + stderr);
	assert.notEqual(code, 0, 'it verified');
	return assert.match(stdout + stderr, problem);
}

/** Kills the server before it has sealed what has just happened, changes the database, and starts it again. */
async function beforeItIsSealed(w, happens, sql) {
	for (let i = 0; ; i++) {
		const p = await happens();
		w.server.kill('SIGKILL');
		await w.server.ended();
		const { database, options } = w.server, first = w.first;
		const [waiting] = await lookBehind(w.server, `SELECT count(*) FROM audit_pending WHERE entry_id IN (SELECT entry_id FROM audit_entry WHERE proposal_id = '${p.proposalId}' AND number > 1)`);
		const again = async () => (w.server = Object.assign(await startServer({ ...options, database }), { first, database }));
		if (waiting === '0' && i < 10) {
			await again();
			continue;
		}
		if (onPostgres) await behindTheBack({ database }, sql(p));
		else await sqlite(database, sql(p));
		await again();
		return p;
	}
}

async function sqlite(database, sql) {
	const { execFile } = await import('node:child_process');
	const { promisify } = await import('node:util');
	await promisify(execFile)('python3', ['-c', 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()', path.join(database.dir, 'countersign.db'), sql]);
}

test('AU-4 an entry that Countersign did not write is never sealed: the server says so, and the verification names it', async (t) => {
	const w = await world(t);
	const p = await w.propose();
	await sealed(w);
	await verifies(w);
	await w.change(`CREATE TABLE forged AS SELECT * FROM audit_entry WHERE proposal_id = '${p.proposalId}';
		UPDATE forged SET entry_id = 'ffffffff-0000-7000-8000-000000000000', action = 'proposal.approved', actor_id = '${w.first.adminId}', decision = 'approved';
		INSERT INTO audit_entry SELECT * FROM forged;`);
	await refuses(w, /entry ffffffff-0000-7000-8000-000000000000 \(proposal\.approved\) was not written by Countersign/);
	await verifies(w, /ffffffff-0000-7000-8000-000000000000/);
	assert.equal((await w.admin.get('/api/v1/orgs/default/audit/ffffffff-0000-7000-8000-000000000000/proof')).status, 503, 'no proof for it');
});

test('AU-4 an entry without a MAC, as a version before wrote them, is not sealed either', async (t) => {
	const w = await world(t);
	const p = await w.propose();
	await w.change(`CREATE TABLE forged AS SELECT * FROM audit_entry WHERE proposal_id = '${p.proposalId}';
		UPDATE forged SET entry_id = 'ffffffff-0000-7000-8000-000000000001', action = 'proposal.approved', mac = '', number = 0;
		INSERT INTO audit_entry SELECT * FROM forged; UPDATE installation SET numbered = '';`);
	await refuses(w, /ffffffff-0000-7000-8000-000000000001/);
});

test('AU-4 what a version before left unsealed is sealed at the first start after the upgrade', async (t) => {
	const database = await freshDatabase(), first = await init(database);
	const guard = (sql) => (onPostgres ? behindTheBack({ database }, sql) : sqlite(database, sql));
	await guard(unguarded(`UPDATE audit_entry SET mac = '', number = 0`));
	const server = await startServer({ database });
	t.after(async () => {
		await server.stop({ keep: true });
		await database.drop();
	});
	const w = Object.assign(new World(), { server: Object.assign(server, { first, database }), count: 0 });
	await sealed(w);
	assert.equal((await server.get('/readyz')).json.audit, 'ok');
	assert.ok((await w.audit({ action: 'org.created' })).length, 'and it is there');
});

test('AU-4 an entry that was deleted before it was sealed is missed by the sealer and by the verification', async (t) => {
	const w = await world(t);
	const happens = async () => {
		const p = await w.propose();
		await w.approve(p, w.admin, { apply: true });
		return p;
	};
	const p = await beforeItIsSealed(w, happens, (p) => unguarded(`
		CREATE TABLE gone AS SELECT entry_id FROM audit_entry WHERE proposal_id = '${p.proposalId}' AND action = 'proposal.approved';
		DELETE FROM audit_pending WHERE entry_id IN (SELECT entry_id FROM gone);
		DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM gone)`));
	await refuses(w, /an entry is missing: number 2 of the proposal/);
	await verifies(w, /an entry is missing: number 2 of the proposal/);
	// the way back, for whoever has the folder beside the key
	const { size } = (await w.admin.get('/api/v1/orgs/default/audit/checkpoint')).json;
	await writeFile(path.join(heldDir(w.server), `${w.first.orgId}.missing`), `${p.proposalId} 2\n`);
	await until(async () => (await w.admin.get('/api/v1/orgs/default/audit/checkpoint')).json.size > size, 'sealing to go on');
	await until(async () => (await w.server.get('/readyz')).json.audit === 'ok', '/readyz to say so');
	await verifies(w, /an entry is missing: number 2 of the proposal/);
});

test('AU-4 an entry of which only the row was deleted is named', async (t) => {
	const w = await world(t);
	const happens = async () => {
		const p = await w.propose();
		await w.approve(p);
		return p;
	};
	await beforeItIsSealed(w, happens, (p) => unguarded(`DELETE FROM audit_entry WHERE proposal_id = '${p.proposalId}' AND action = 'proposal.approved'`));
	await refuses(w, /was deleted before it was sealed/);
});

test('AU-4 a proposal whose last entry was deleted is refused, and the verification names it', async (t) => {
	const w = await world(t);
	const happens = async () => {
		const p = await w.propose();
		await w.approve(p);
		return p;
	};
	const p = await beforeItIsSealed(w, happens, (q) => unguarded(`DELETE FROM audit_pending WHERE entry_id IN (SELECT entry_id FROM audit_entry WHERE proposal_id = '${q.proposalId}' AND action = 'proposal.approved');
		DELETE FROM audit_entry WHERE proposal_id = '${q.proposalId}' AND action = 'proposal.approved'`));
	const before = await w.notes();
	await refused(w.admin.post(at(p, '/apply')), 409, 'tampered', /does not fit its entries/);
	assert.deepEqual(await w.notes(), before);
	await verifies(w, new RegExp(`the proposal ${p.proposalId} does not fit its entries`));
});

for (const [what, sql] of [['row', (p) => unguarded(`DELETE FROM vote WHERE proposal_id = '${p.proposalId}'; ${putBackRow(p)}`)], ['row, veto, entry and leaf', putBack]])
	test(`AU-4 AP-4 a denied proposal whose old row was put back (${what}) is neither approved nor applied`, async (t) => {
		const w = await world(t);
		const voter = await w.person(['operator']);
		const p = await w.propose();
		await sealed(w);
		await w.change(keep(p));
		await ok(voter.post(at(p, '/deny'), { viewHash: p.viewHash }));
		await sealed(w);
		const before = await w.notes();
		await w.change(sql(p));
		await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash, apply: true }), 409, 'tampered', /does not fit its entries|was put back/);
		await refused(w.admin.post(at(p, '/apply')), 409, 'tampered');
		await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token }), 409, 'tampered');
		assert.deepEqual(await w.notes(), before);
		assert.ok((await w.audit({ proposalId: p.proposalId, action: 'request.refused' })).every(({ reason }) => reason === 'tampered'));
		await verifies(w, /./);
	});

test('AU-4 EX-4 an approved row that was put back after its webhook was sent, with every trace deleted, sends no second command', async (t) => {
	const receiver = await Receiver.start(() => ({ body: '{"invoice":41}' }));
	t.after(() => receiver.stop());
	const w = await world(t, { args: ['--public-url', 'https://countersign.example'] });
	const connection = await ok(w.admin.post('/api/v1/connections', { name: 'billing', url: receiver.url, allow: ['127.0.0.0/8'] }));
	const { tool } = await ok(w.admin.put(`/api/v1/connections/${connection.id}/tools/sendInvoice`, {
		title: 'Send an invoice', description: 'Sends an invoice to a customer.', effect: 'mutate', failure: 'The customer gets no invoice.',
		inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'], additionalProperties: false },
	}));
	const person = await w.person(['admin']);
	const p = await ok(w.agent.post('/api/v1/proposals', { tool, input: { amount: 7 } }));
	await w.approve(p, person);
	await sealed(w);
	await w.change(keep(p));
	await ok(person.post(at(p, '/apply')));
	await until(async () => (await ok(w.admin.get(at(p)))).status === 'applied', 'the webhook to be sent');
	assert.equal(receiver.requests.length, 1);
	await sealed(w);
	await w.change(putBack(p));
	await refused(person.post(at(p, '/apply')), 409, 'tampered', /was put back/);
	assert.equal(receiver.requests.length, 1, 'once');
});

test('AU-4 a change of rights whose entry was deleted is missed by the next one, and by the verification', async (t) => {
	const w = await world(t);
	await ok(w.admin.post('/api/v1/agents', { name: 'first' }));
	await ok(w.admin.post('/api/v1/agents', { name: 'second' }));
	await sealed(w);
	await w.change(unguarded(`CREATE TABLE gone AS SELECT entry_id FROM audit_entry WHERE proposal_id = '' AND number = (SELECT max(number) FROM audit_entry WHERE proposal_id = '');
		DELETE FROM audit_leaf WHERE entry_id IN (SELECT entry_id FROM gone); DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM gone)`));
	await refused(w.admin.post('/api/v1/agents', { name: 'third' }), 409, 'tampered', /change of rights was added or is missing/);
	await verifies(w, /./);
});

test('AU-4 one complaint of the sealer does not keep another one quiet', async (t) => {
	const w = await world(t), dir = heldDir(w.server);
	await sealed(w);
	await rename(dir, `${dir}.away`);
	await w.propose();
	await until(() => w.server.log().find(({ event }) => event === 'audit.seal'), 'the server to say that it cannot seal');
	await writeFile(path.join(`${dir}.away`, `${w.first.orgId}.checkpoint`), 'not one');
	await rename(`${dir}.away`, dir);
	await refuses(w, /checkpoint/);
});

test('AU-4 after a lost tail no server signs a fork of what another one has signed, and says so at once', { skip: !onPostgres }, async (t) => {
	const w = await world(t);
	const elsewhere = path.join(await temporaryDirectory(), 'keys');
	await cp(w.server.database.flags[3], elsewhere);
	const other = await startServer({ database: { ...w.server.database, flags: ['--database', w.server.database.url, '--keys', elsewhere], drop: async () => {} } });
	t.after(() => other.stop({ keep: true }));
	const checkpoint = async (server) => (await ok(server.as(w.first.adminToken).get('/api/v1/orgs/default/audit/checkpoint'))).size;
	await sealed(w);
	const size = await checkpoint(w.server);
	await w.change('CREATE TABLE kept AS SELECT * FROM audit_head');
	// everything is written and signed while the other one only looks
	await w.note();
	await sealed(w);
	const heldThere = async () => Number((await readFile(path.join(`${elsewhere}-checkpoints`, `${w.first.orgId}.checkpoint`), 'utf8').catch(() => '\n0')).split('\n')[1]);
	await until(async () => (await heldThere()) > size, 'the other server to hold it, which was asked for nothing');
	await w.server.stop({ keep: true });
	await behindTheBack({ database: w.server.database }, unguarded(`
		DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM audit_leaf WHERE leaf_index >= ${size});
		DELETE FROM audit_leaf WHERE leaf_index >= ${size}; DELETE FROM audit_node WHERE last_leaf >= ${size};
		DELETE FROM audit_checkpoint WHERE size > ${size}; DELETE FROM audit_pending;
		DELETE FROM audit_head; INSERT INTO audit_head SELECT * FROM kept`));
	const said = await until(() => other.log().find(({ event }) => event === 'audit.refused'), 'the other server to say so');
	assert.match(said.message, /smaller than a checkpoint that was signed/);
	await until(async () => (await other.get('/readyz')).json.audit === 'refused', '/readyz');
	await ok(other.as(w.agentToken).post('/api/v1/proposals', { tool: 'note.create', input: { title: 'after', text: '' } }));
	const rounds = async () => Number(/^countersign_audit_failures_total (\d+)$/m.exec((await other.get('/metrics')).text)[1]);
	const before = await rounds();
	await until(async () => (await rounds()) > before + 2, 'it to try');
	assert.equal(await checkpoint(other), size, 'no fork is signed');
	w.server = other;
});
