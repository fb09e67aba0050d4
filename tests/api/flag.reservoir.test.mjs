// SPDX-License-Identifier: Apache-2.0
// The reservoir: sampling_get, sampling_put, sampling_delete, sampling_erase_target, and what a card says of recent
// contexts. Opt-in, bounded, encrypted, erasable, never shown.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres, until } from './lib/server.mjs';

let w, production, staging, boss, evaluator;
before(async () => {
	w = await World.start();
	const { items } = await ok(w.admin.get('/api/v1/environments'));
	[production, staging] = [items.find((e) => e.production), items.find((e) => !e.production)];
	boss = await w.person(['admin']);
	evaluator = await w.agentOf(boss, { level: 'observer', ratePerMinute: 100000 });
	const made = await ok(boss.post('/api/v1/tools/call', { tool: 'flag.create_flag', input: { projectId: production.projectId, key: 'checkout', type: 'boolean' } }));
	await ok(boss.post(`/api/v1/proposals/${made.proposal.proposalId}/apply`));
});
after(() => w.stop());

const sampling = (env, what = '') => `/api/v1/envs/${env.id}/sampling${what}`;
const evaluate = (context, env = production) => ok(evaluator.ask().post(`/api/v1/envs/${env.id}/evaluate`, { context }));
const rules = (condition) => ({ rules: [{ if: condition, value: true }] });
const propose = (condition, env = production) => ok(w.agent.post('/api/v1/proposals', { envId: env.id, kind: 'set_rules_flag', resourceKey: 'checkout', diff: rules(condition) }));

const kept = async () => (await ok(w.admin.get(sampling(production)))).kept;

/** As many are kept as there should be. One may be dropped, where its lock is taken: then they are offered again. */
async function fill(contexts, count) {
	let offered = 0;
	await until(async () => {
		if (Date.now() > offered + 5000) {
			for (const context of contexts) await evaluate(context);
			offered = Date.now();
		}
		return (await kept()) >= count;
	}, 'the samples to be written');
	assert.equal(await kept(), count);
}

/** Every byte that the database keeps, as far as one can look at it. */
async function everything() {
	if (onPostgres) {
		const { stdout } = await promisify(execFile)('psql', ['-X', '-q', '-A', '-t', '-d', w.server.database.url, '-c', 'SELECT convert_from(decode(replace(encode(body, \'hex\'), \'00\', \'01\'), \'hex\'), \'latin1\') FROM flag_sample'], { maxBuffer: 2 ** 26 });
		return stdout;
	}
	const files = await readdir(w.server.database.dir);
	return (await Promise.all(files.filter((name) => name.startsWith('countersign.db')).map((name) => readFile(path.join(w.server.database.dir, name), 'latin1')))).join('\n');
}

test('nothing is kept unless somebody opts in, and then a card says nothing of recent contexts', async () => {
	for (let i = 0; i < 5; i++) await evaluate({ userId: `nobody-${i}` });
	assert.deepEqual(await ok(boss.get(sampling(production))), { percent: 0, kept: 0, most: 10000, days: 7 });
	const p = await propose({ field: 'plan', $equals: 'free' });
	assert.equal(p.recentContexts, undefined);
	assert.equal(p.card.recentContexts, undefined);
});

test('who opts in is a person with access.environment.write, in scope; it is on record', async () => {
	await refused(w.admin.put(sampling({ id: 'none' }), { percent: 1 }), 404, 'not_found');
	await refused((await w.person(['observer'])).put(sampling(production), { percent: 1 }), 403, 'forbidden', /access\.environment\.write/);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	await refused(agent.ask().put(sampling(staging), { percent: 1 }), 403, 'forbidden');
	const elsewhere = await w.agentOf(boss, { level: 'observer', environments: [staging.id] });
	await refused(elsewhere.ask().get(sampling(production)), 403, 'scope_denied');
	await refused(boss.put(sampling(production), { percent: 101 }), 400, 'invalid_request');
	await refused(boss.put(sampling(production), { percent: 1, keepFields: [1] }), 400, 'invalid_request');
	assert.equal((await ok(boss.put(sampling(production), { percent: 100 }))).percent, 100);
	const [entry] = await w.audit({ resourceType: 'sampling', resourceId: production.id });
	assert.equal(entry.action, 'record.changed');
});

test('a card says how many recent contexts change and which groups; a target counts once', async () => {
	const people = Array.from({ length: 40 }, (_, i) => ({ userId: `person-${i}`, plan: i < 10 ? 'enterprise' : 'free', country: ['de', 'es'][i % 2] }));
	await fill([...people, { ...people[0], again: true }], 40);
	const p = await propose({ $and: [{ field: 'plan', $equals: 'enterprise' }, { field: 'country', $equals: 'es' }] });
	assert.equal(p.recentContexts.sentence, '12.5 % of 40 recent contexts change, among them 5 with plan=enterprise and 5 with country=es');
	assert.deepEqual([p.recentContexts.contexts, p.recentContexts.changed], [40, 5]);
	assert.deepEqual(p.recentContexts.changes, [{ key: 'checkout', before: false, after: true, contexts: 5 }]);
	assert.deepEqual(p.recentContexts.groups[0], { field: 'plan', value: 'enterprise', changed: 5, contexts: 10 });
	assert.deepEqual(p.card.recentContexts, p.recentContexts, 'it is on the card, under the viewHash');
	assert.doesNotMatch(JSON.stringify(p), /person-/, 'never who');
	assert.equal((await propose({ field: 'plan', $equals: 'nobody has this' })).recentContexts.sentence, 'none of 40 recent contexts changes');
	assert.match((await propose({ field: 'userId', $exists: true })).recentContexts.sentence, /^100\.0 % of 40 /);
	const kill = await ok(w.agent.post('/api/v1/tools/call', { tool: 'flag.delete_flag', input: { envId: production.id, resourceKey: 'checkout', diff: {} } }));
	assert.equal(kill.proposal.recentContexts.changes[0].after, undefined, 'deleted: there is no answer then');
	assert.equal(kill.proposal.recentContexts.changed, 40);
});

test('it is what was seen when it was proposed: applying does not compare it, and re-proposing counts anew', async () => {
	const p = await propose({ field: 'plan', $equals: 'enterprise' });
	assert.equal(p.recentContexts.changed, 10);
	await fill([{ userId: 'late', plan: 'enterprise' }], 41);
	assert.equal((await ok(w.agent.post(`/api/v1/proposals/${p.proposalId}/repropose`))).recentContexts.changed, 11);
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash }));
	const done = await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
	assert.equal(done.status, 'applied');
	assert.equal(done.recentContexts.changed, 10);
});

test('small groups and targets are not named', async () => {
	await fill([{ userId: 'lonely', village: 'Hinterdorf' }], 42);
	const p = await propose({ field: 'village', $exists: true });
	assert.equal(p.recentContexts.sentence, '28.6 % of 42 recent contexts change, among them 11 with plan=enterprise');
	assert.doesNotMatch(JSON.stringify(p.recentContexts), /Hinterdorf|lonely/);
});

test('what is kept is encrypted: the database has no word of it', async () => {
	await fill([{ userId: 'find-me-not', secret: 'xyzzy-plugh-marker' }], 43);
	const all = await everything();
	assert.ok(all.length > 100);
	for (const word of ['xyzzy-plugh-marker', 'find-me-not', 'Hinterdorf']) assert.ok(!all.includes(word), word);
});

test('a target can be erased; the record does not say who', async () => {
	assert.deepEqual(await ok(boss.delete(sampling(production, '/targets/find-me-not'))), { erased: 1 });
	assert.deepEqual(await ok(boss.delete(sampling(production, '/targets/find-me-not'))), { erased: 0 });
	assert.equal(await kept(), 42);
	assert.doesNotMatch(JSON.stringify(await w.audit({ resourceType: 'sample' })), /find-me-not/);
	await fill([{ userId: 42, plan: 'number' }], 43);
	assert.deepEqual(await ok(boss.delete(sampling(production, '/targets/42'))), { erased: 1 }, 'a number is its digits');
});

test('keepFields keeps only those, and the target; other fields go when they are named', async () => {
	const on = await ok(boss.put(sampling(production), { percent: 100, keepFields: ['plan'] }));
	assert.deepEqual([on.keepFields, on.kept], [['plan'], 0], 'what had more is gone');
	await fill(Array.from({ length: 6 }, (_, i) => ({ userId: `kept-${i}`, plan: 'pro', country: 'es' })), 6);
	assert.equal((await propose({ field: 'country', $exists: true })).recentContexts.sentence, 'none of 6 recent contexts changes');
	assert.match((await propose({ $and: [{ field: 'plan', $equals: 'pro' }, { field: 'userId', $exists: true }] })).recentContexts.sentence, /^100\.0 % of 6 /);
});

test('what is older than a week is neither counted nor kept', async () => {
	await w.change('UPDATE flag_sample SET taken_at = taken_at - 700000000000');
	const p = await propose({ field: 'plan', $equals: 'pro' });
	assert.equal(p.recentContexts.sentence, 'no contexts have been sampled of late');
	await until(async () => (await kept()) === 0, 'old samples to be deleted');
});

test('FL-6 what OpenFeature asks is sampled, too, by its targetingKey', async () => {
	await until(async () => {
		await ok(evaluator.ask().post(`/api/v1/envs/${production.id}/ofrep/v1/evaluate/flags/checkout`, { context: { targetingKey: 'over-ofrep', plan: 'pro' } }));
		return (await kept()) > 0;
	}, 'a sample');
	assert.equal((await ok(w.admin.delete(sampling(production, '/targets/over-ofrep')))).erased, 1);
});

test('there are never more than there may be: those with the smallest places stay', async () => {
	const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)';
	const blob = onPostgres ? "decode('00', 'hex')" : "x'00'";
	await w.change(`${numbers} INSERT INTO flag_sample (org_id, environment_id, slot, target, taken_at, body) SELECT s.org_id, s.environment_id, n.i, '', ${Date.now()}000, ${blob} FROM flag_sampling s, n`);
	assert.equal(await kept(), 10050);
	await until(async () => {
		await evaluate({ userId: 'too late', plan: 'pro' });
		return (await kept()) === 10000;
	}, 'the sample to be cut');
	assert.equal((await propose({ field: 'plan', $equals: 'pro' })).recentContexts.contexts, 0, 'what does not open is not counted');
	await w.change('DELETE FROM flag_sample');
});

test('switched off, all of it is gone, and nothing more is kept', async () => {
	await until(async () => (await evaluate({ userId: 'last', plan: 'pro' })) && (await kept()) > 0, 'a sample');
	assert.deepEqual(await ok(w.admin.delete(sampling(production))), { percent: 0, kept: 0, most: 10000, days: 7 });
	for (let i = 0; i < 5; i++) await evaluate({ userId: `after-${i}`, plan: 'pro' });
	assert.equal((await propose({ field: 'plan', $equals: 'pro' })).recentContexts, undefined);
	assert.equal((await ok(w.admin.put(sampling(production), { percent: 0 }))).kept, 0);
});
