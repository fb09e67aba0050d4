// SPDX-License-Identifier: Apache-2.0
// Changes of flags, configs and segments as proposals: every kind, blast radius, drift and proposal_repropose, the
// small helpers (TL-5), promote, and what scopes and tiers say about them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { run } from './lib/server.mjs';

let w, projectId, production, staging, boss, count = 0;
before(async () => {
	w = await World.start();
	const { items } = await ok(w.admin.get('/api/v1/environments'));
	[production, staging] = [items.find((e) => e.production), items.find((e) => !e.production)];
	projectId = production.projectId;
	boss = await w.person(['admin']);
});
after(() => w.stop());

const at = (p, what = '') => `/api/v1/proposals/${p.proposalId ?? p}${what}`;
const key = (name = 'thing') => `${name}-${++count}`;
const call = async (tool, input, who = w.admin) => ok(who.post('/api/v1/tools/call', { tool: `flag.${tool}`, input }));
const read = async (tool, input, who) => (await call(tool, input, who)).result;
const describe = (type, resourceKey, env = production) => read(`describe_${type}`, { envId: env.id, resourceKey });
const version = async (env = production) => (await read('get_ruleset_version', { envId: env.id })).version;
const evaluate = async (context, keys, env = production) => (await read('evaluate_for_context', { envId: env.id, context, keys })).evaluations;

/** Made in all environments, by somebody who may. */
async function create(type, input) {
	const made = await call(`create_${type}`, { projectId, key: key(type), ...(type === 'segment' ? {} : { type: 'boolean' }), ...input }, boss);
	assert.equal((await ok(boss.post(at(made.proposal, '/apply')))).status, 'applied');
	return made.proposal.resourceKey;
}

const body = (kind, resourceKey, diff = {}, more = {}) => ({ envId: production.id, kind, resourceKey, diff, ...more });
const propose = (kind, resourceKey, diff, more, who = w.agent) => ok(who.post('/api/v1/proposals', body(kind, resourceKey, diff, more)));
const refusedKind = (code, status, kind, resourceKey, diff, more, who = w.agent) => refused(who.post('/api/v1/proposals', body(kind, resourceKey, diff, more)), status, code);

/** Approved and applied by a person. */
async function apply(p) {
	await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	return ok(boss.post(at(p, '/apply')));
}

/** What the card promised is what is answered now. */
async function keepsItsPromise(p, env = production) {
	assert.ok(p.blastRadius.length, 'it was asked for contexts');
	for (const { context, preview } of p.blastRadius)
		assert.deepEqual(await evaluate(context, Object.keys(preview), env), preview);
}

const people = [{ userId: 'u1', plan: 'pro' }, { userId: 'u2', plan: 'free' }];

test('FL-5 kill_flag: propose with its blast radius, approve, apply, evaluate; both halves of the story link (AU-6)', async () => {
	const flag = await create('flag', { defaultValue: true, rules: [{ if: { field: 'plan', $equals: 'free' }, value: false }] });
	const live = await version();
	const answer = await w.agent.post('/api/v1/proposals', body('kill_flag', flag, {}, { spotCheck: people, reason: 'it hurts' }));
	assert.equal(answer.status, 201, answer.text);
	assert.equal(answer.headers.get('location'), at(answer.json));
	const p = answer.json;
	assert.deepEqual([p.envId, p.kind, p.tool, p.resourceType, p.resourceKey, p.liveVersion], [production.id, 'kill_flag', 'flag.kill_flag', 'flag', flag, live]);
	assert.equal(p.summary, `Kill the flag ${flag} in production`);
	assert.equal(p.card.affectedData, `flag ${flag} in production; 1 of 2 spot checks change`);
	assert.equal(p.card.agentSays.summary, 'it hurts');
	assert.equal((new Date(p.expiresAt) - new Date(p.createdAt)) / 1000, 3600, 'an hour unless said (PA-4)');
	assert.deepEqual(p.blastRadius.map(({ context, live: l, preview }) => [context, l[flag].value, preview[flag].value]), [[people[0], true, false], [people[1], false, false]]);
	assert.deepEqual(p.blastRadius[1].live[flag].reason, { kind: 'rule_match', ruleIndex: 0, matchedValue: false });
	assert.deepEqual(p.card.blastRadius, p.blastRadius, 'a person decides on it');
	assert.deepEqual(p.diff[0], { path: '/defaultValue', before: true, after: false });
	assert.equal(await version(), live, 'a proposal changes nothing');
	assert.deepEqual((await ok(w.agent.get(at(p)))).blastRadius, p.blastRadius, 'it can be read again');
	const done = await apply(p);
	assert.deepEqual([done.status, done.appliedVersion, await version()], ['applied', live + 1, live + 1]);
	await keepsItsPromise(p);
	assert.deepEqual((({ defaultValue, rules }) => ({ defaultValue, rules }))(await describe('flag', flag)), { defaultValue: false, rules: [] });
	const timeline = await w.audit({ resourceType: 'flag', resourceKey: flag });
	assert.deepEqual(timeline.map(({ reason }) => reason).slice(0, 1), [`proposal:${p.proposalId}`]);
	assert.equal(timeline[0].id, done.appliedAuditId);
	assert.equal(timeline[0].version, live + 1);
	const life = await w.audit({ resourceType: 'proposal', resourceId: p.proposalId });
	assert.deepEqual(life.map(({ action }) => action).sort(), ['proposal.applied', 'proposal.approved', 'proposal.created']);
	const gone = await refused(boss.post(at(p, '/apply')), 410, 'proposal_gone');
	assert.equal(gone.details.status, 'applied');
	await refused(w.agent.post(at(p, '/cancel')), 410, 'proposal_gone');
});

const setters = {
	set_default_value_flag: ['flag', { type: 'string', defaultValue: 'classic' }, { defaultValue: 'midnight' }, (item) => item.defaultValue],
	set_rules_flag: ['flag', {}, { rules: [{ if: { field: 'plan', $equals: 'pro' }, value: true, rolloutPercent: 50 }] }, (item) => item.rules[0]?.rolloutPercent],
	set_default_value_config: ['config', { type: 'number', defaultValue: 1, jsonSchema: { maximum: 10 } }, { defaultValue: 7 }, (item) => item.defaultValue],
	set_rules_config: ['config', { type: 'json', defaultValue: null }, { rules: [{ if: { field: 'plan', $equals: 'pro' }, value: { a: [1] } }] }, (item) => item.rules[0]?.value.a[0]],
	set_rules_segment: ['segment', { allowList: ['u9'] }, { rules: [{ if: { field: 'plan', $equals: 'pro' } }], denyList: ['u1'] }, (item) => [item.rules.length, ...item.allowList, ...item.denyList].join()],
};
const expected = { set_default_value_flag: 'midnight', set_rules_flag: 50, set_default_value_config: 7, set_rules_config: 1, set_rules_segment: '1,u9,u1' };
for (const [kind, [type, input, diff, pick]] of Object.entries(setters)) {
	test(`FL-5 ${kind}: what the preview says is what apply gives`, async () => {
		const name = await create(type, input);
		const user = type === 'segment' ? await create('flag', { rules: [{ if: { $segment: name }, value: true }] }) : name;
		const p = await propose(kind, name, diff, { spotCheck: people });
		assert.deepEqual(Object.keys(p.blastRadius[0].preview), [user], 'a segment is seen through what depends on it');
		assert.equal(p.kind, kind);
		const done = await apply(p);
		assert.equal(done.result.version, p.liveVersion + 1);
		await keepsItsPromise(p);
		assert.equal(pick(await describe(type, name)), expected[kind]);
		assert.notEqual(pick(await describe(type, name, staging)), expected[kind], 'the other environment stays');
	});
}

test('FL-5 delete: from every environment, which the card shows; in_use names the referrers', async () => {
	const segment = await create('segment', { allowList: ['u1'] });
	const flag = await create('flag', { rules: [{ if: { $segment: segment }, value: true }] });
	const { fields } = await refusedKind('in_use', 409, 'delete_segment', segment);
	assert.deepEqual(fields.map(({ path }) => path), [`flag.${flag}`]);
	const p = await propose('delete_flag', flag, {}, { spotCheck: [{ userId: 'u1' }] });
	assert.equal(p.effect, 'destructive');
	assert.equal(p.risk.level, 'high');
	assert.match(p.summary, new RegExp(`^Delete the flag ${flag} from production and every other environment`));
	assert.deepEqual(Object.keys(p.card.change.before), ['production', 'staging']);
	assert.deepEqual(p.blastRadius[0].preview, { [flag]: null });
	assert.equal(p.blastRadius[0].live[flag].value, true);
	const before = [await version(), await version(staging)];
	assert.equal((await apply(p)).status, 'applied');
	assert.deepEqual([await version(), await version(staging)], before.map((n) => n + 1));
	await keepsItsPromise(p);
	await refusedKind('not_found', 404, 'kill_flag', flag);
	const config = await create('config', { type: 'string' });
	assert.equal((await apply(await propose('delete_config', config))).result.deleted, config);
	assert.equal((await apply(await propose('delete_segment', segment))).result.deleted, segment);
});

test('FL-5 in_use at apply, too: a referrer in another environment does not move this one\'s version', async () => {
	const segment = await create('segment', {});
	const flag = await create('flag', {});
	const p = await propose('delete_segment', segment);
	const rules = [{ if: { $segment: segment }, value: true }];
	await apply(await ok(w.agent.post('/api/v1/proposals', { ...body('set_rules_flag', flag, { rules }), envId: staging.id })));
	await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	const { fields } = await refused(boss.post(at(p, '/apply')), 409, 'in_use');
	assert.deepEqual(fields.map(({ path }) => path), [`flag.${flag}`]);
	assert.equal((await ok(boss.get(at(p)))).state, 'approved', 'its state is unchanged');
});

test('PA-6 two proposals against one version: the first applies, the second is version_drift and is proposed again in one call', async () => {
	const flag = await create('flag', { defaultValue: false });
	const other = await create('flag', { defaultValue: false });
	const one = await propose('set_default_value_flag', flag, { defaultValue: true }, { spotCheck: [people[0]] });
	const two = await propose('set_rules_flag', flag, { rules: [{ if: { field: 'plan', $equals: 'free' }, value: false }] }, { spotCheck: people, reason: 'for the free' });
	const three = await propose('kill_flag', other);
	for (const p of [one, two, three]) await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	assert.equal((await ok(boss.post(at(one, '/apply')))).status, 'applied');
	for (const p of [two, three]) {
		const { details } = await refused(boss.post(at(p, '/apply')), 409, 'version_drift');
		assert.deepEqual(details, { liveVersion: one.liveVersion + 1, proposedVersion: p.liveVersion });
		assert.equal((await ok(boss.get(at(p)))).state, 'approved', 'it keeps its state');
	}
	const answer = await w.agent.post(at(two, '/repropose'));
	assert.equal(answer.status, 201, answer.text);
	const again = answer.json;
	assert.notEqual(again.proposalId, two.proposalId);
	assert.equal(answer.headers.get('location'), at(again));
	assert.deepEqual(again.payload, two.payload);
	assert.equal(again.liveVersion, two.liveVersion + 1);
	assert.equal(again.card.agentSays.summary, 'for the free');
	assert.deepEqual([two, again].map((p) => p.blastRadius[0].live[flag].value), [false, true], 'the blast radius is fresh');
	assert.equal((await ok(boss.get(at(two)))).state, 'approved', 'the old one stays as it is');
	const [created] = (await w.audit({ resourceType: 'proposal', resourceId: again.proposalId, action: 'proposal.created' }));
	assert.equal(created.reason, `repropose:${two.proposalId}`);
	assert.equal((await apply(again)).status, 'applied');
	await keepsItsPromise(again);
});

test('PA-6 re-propose is for whoever may propose it, of every tool; of what is not theirs to see there is nothing', async () => {
	const p = await w.propose();
	await refused((await w.person(['observer'])).post(at(p, '/repropose')), 403, 'forbidden', /note\.note\.propose/);
	await refused((await w.agentOf(boss, { rules: ['flag.flag.read', 'flag.flag.propose'] })).ask().post(at(p, '/repropose')), 404, 'not_found');
	await refused(w.agent.post(at('none', '/repropose')), 404, 'not_found');
	const by = await ok(boss.post(at(p, '/repropose')));
	assert.equal(by.proposer.id, boss.id);
	assert.deepEqual(by.payload, p.payload);
	const keyed = () => w.agent.post(at(p, '/repropose'), undefined, { headers: { 'idempotency-key': 'again' } });
	assert.equal((await ok(keyed())).proposalId, (await ok(keyed())).proposalId);
});

test('FL-5 FL-3 what cannot be is refused at propose, with the same words as a save, below /diff', async () => {
	const flag = await create('flag', {}), text = await create('flag', { type: 'string' });
	const config = await create('config', { type: 'number', jsonSchema: { maximum: 10 } });
	const paths = async (kind, name, diff, more) => (await refusedKind('invalid_request', 400, kind, name, diff, more)).fields.map(({ path }) => path);
	assert.deepEqual(await paths('set_rules_flag', flag, { rules: [{ if: { field: 'a', $matches: '(' }, value: true }] }), ['/diff/rules/0/if/$matches']);
	assert.deepEqual(await paths('set_rules_flag', flag, { rules: [{ value: 'text' }] }), ['/diff/rules/0/value']);
	assert.deepEqual(await paths('set_default_value_flag', flag, { defaultValue: 'text' }), ['/diff/defaultValue']);
	assert.deepEqual(await paths('set_default_value_flag', flag, { defaultValue: 1 }), ['/diff/defaultValue']);
	assert.deepEqual(await paths('set_default_value_config', config, { defaultValue: 11 }), ['/diff/defaultValue']);
	assert.deepEqual(await paths('kill_flag', text), ['/resourceKey'], 'only boolean flags can be killed');
	assert.deepEqual(await paths('kill_flag', flag, { more: 1 }), ['/diff/more']);
	assert.deepEqual(await paths('set_rules_flag', flag, {}), ['/diff/rules']);
	assert.deepEqual(await paths('kill_flag', flag, {}, { spotCheck: Array(51).fill({}) }), ['/spotCheck']);
	assert.deepEqual(await paths('kill_flag', flag, {}, { spotCheck: [1] }), ['/spotCheck/0']);
	assert.deepEqual(await paths('kill_flag', flag, {}, { expiresInSeconds: 86401 }), ['/expiresInSeconds']);
	assert.deepEqual(await paths('kill_flag', flag, {}, { more: 1 }), ['/more']);
	const huge = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`f${i}`, i]));
	await refusedKind('too_large', 413, 'kill_flag', flag, {}, { spotCheck: [huge] });
	await refusedKind('not_found', 404, 'kill_flag', 'nothing');
	await refusedKind('not_found', 404, 'set_default_value_config', flag, { defaultValue: 1 });
	await refused(w.agent.post('/api/v1/proposals', { ...body('kill_flag', flag), envId: 'none' }), 404, 'not_found');
	await refusedKind('not_found', 404, 'kill_everything', flag);
	const circle = [await create('segment', {}), await create('segment', {})];
	await apply(await propose('set_rules_segment', circle[0], { rules: [{ if: { $segment: circle[1] } }] }));
	await refusedKind('invalid_request', 400, 'set_rules_segment', circle[1], { rules: [{ if: { $segment: circle[0] } }] });
});

test('FL-5 a blocked kind is answered exactly as one that does not exist (TL-2)', async () => {
	const flag = await create('flag', {});
	const agent = await w.agentOf(boss, { level: 'proposer' });
	await ok(boss.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'flag.kill_flag', permissionStatus: 'blocked' }] }));
	const blocked = await agent.ask().post('/api/v1/proposals', body('kill_flag', flag));
	const unknown = await agent.ask().post('/api/v1/proposals', body('kill_nobody', flag));
	assert.equal(blocked.status, 404);
	assert.equal(blocked.text.replaceAll('kill_flag', 'X'), unknown.text.replaceAll('kill_nobody', 'X'));
});

test('ID-5 a token for payments.* proposes nothing outside of it, nor in another environment: scope_denied', async () => {
	const [mine, other] = [await create('flag', { key: key('payments.fast') }), await create('flag', {})];
	const agent = await w.agentOf(boss, { level: 'proposer', keys: ['payments.*'], environments: [production.id] });
	assert.equal((await propose('kill_flag', mine, {}, {}, agent.ask())).state, 'pending');
	const out = await refusedKind('scope_denied', 403, 'kill_flag', other, {}, {}, agent.ask());
	assert.match(out.message, /the key .* is outside the token's scope/);
	assert.deepEqual(await refusedKind('scope_denied', 403, 'kill_flag', 'not-there', {}, {}, agent.ask()).then(({ code }) => code), 'scope_denied', 'nobody learns what exists');
	await refused(agent.ask().post('/api/v1/proposals', { ...body('kill_flag', mine), envId: staging.id }), 403, 'scope_denied');
	await refusedKind('scope_denied', 403, 'delete_flag', mine, {}, {}, agent.ask()); // it would go from staging, too
	const listed = await read('list_flags', { envId: production.id, limit: 200 }, agent.ask());
	assert.ok(listed.flags.every(({ key: k }) => k.startsWith('payments.')));
	const answers = await read('evaluate_for_context', { envId: production.id, context: {} }, agent.ask());
	assert.ok(Object.keys(answers.evaluations).includes(mine) && !Object.keys(answers.evaluations).includes(other));
	await refused(agent.ask().post('/api/v1/tools/call', { tool: 'flag.evaluate_for_context', input: { envId: production.id, context: {}, keys: [other] } }), 403, 'scope_denied');
	const p = await propose('kill_flag', other);
	await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	const narrow = await w.agentOf(boss, { level: 'operator', keys: ['payments.*'] });
	await refused(narrow.ask().post('/api/v1/proposals/apply', { token: p.token }), 403, 'scope_denied');
});

test('ID-7 verbs count by environment: write in staging is not write in production', async () => {
	const flag = await create('flag', { defaultValue: true });
	const agent = await w.agentOf(boss, {}); // the safe default
	const p = await ok(agent.ask().post('/api/v1/proposals', { ...body('kill_flag', flag), envId: staging.id }));
	await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	assert.equal((await ok(agent.ask().post(at(p, '/apply')))).status, 'applied', 'it holds write there');
	const q = await ok(agent.ask().post('/api/v1/proposals', body('kill_flag', flag)));
	await ok(boss.post(at(q, '/approve'), { viewHash: q.viewHash }));
	await refused(agent.ask().post(at(q, '/apply')), 403, 'forbidden', /flag\.flag\.write/);
});

test('TL-5 a helper is done at once for who holds the verb, where no gate is and the token does not ask; else it is a proposal', async () => {
	const flag = await create('flag', {});
	const append = (who, env, more = {}) => who.post('/api/v1/tools/call', { tool: 'flag.append_flag_rule', input: { envId: env.id, resourceKey: flag, rule: { if: { field: 'n', $equals: ++count }, value: true }, ...more } });
	const agent = await w.agentOf(boss, {});
	const direct = await ok(append(agent.ask(), staging, { spotCheck: people }));
	assert.equal(direct.status, 'applied', JSON.stringify(direct));
	assert.equal(direct.proposal.blastRadius.length, 2);
	assert.equal((await describe('flag', flag, staging)).rules.length, 1);
	assert.equal((await ok(append(agent.ask(), production))).status, 'awaiting_operator', 'the gate is on, and it only proposes there');
	const asks = await w.agentOf(boss, { approvalRequired: true });
	assert.equal((await ok(append(asks.ask(), staging))).status, 'awaiting_operator', 'the token asks');
	const proposer = await w.agentOf(boss, { level: 'proposer' });
	assert.equal((await ok(append(proposer.ask(), staging))).status, 'awaiting_operator', 'it has not the verb');
	await ok(boss.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: 'flag.append_flag_rule', permissionStatus: 'needs_approval' }] }));
	assert.equal((await ok(append(agent.ask(), staging))).status, 'awaiting_operator', 'an admin said so');
	assert.equal((await ok(append(boss, staging))).status, 'applied', 'people, too');
	assert.equal((await ok(append(boss, production))).status, 'approved', 'the gate asks; the one who asks has agreed');
	assert.equal((await describe('flag', flag)).rules.length, 0);
	const wrong = await refused(append(agent.ask(), staging, { rule: { if: { field: 'a', $gt: true }, value: true } }), 400, 'invalid_request');
	assert.deepEqual(wrong.fields.map(({ path }) => path), ['/rule/if/$gt']);
});

test('TL-5 create and describe: the whole project, with its errors', async () => {
	const name = await create('config', { type: 'number', defaultValue: 3, jsonSchema: { minimum: 0 }, description: 'how many' });
	for (const env of [production, staging]) assert.equal((await describe('config', name, env)).defaultValue, 3);
	await refused(boss.post('/api/v1/tools/call', { tool: 'flag.create_flag', input: { projectId, key: name, type: 'boolean' } }), 409, 'key_collision');
	await refused(boss.post('/api/v1/tools/call', { tool: 'flag.create_flag', input: { projectId: 'none', key: 'x', type: 'boolean' } }), 404, 'not_found');
	const wrong = await refused(boss.post('/api/v1/tools/call', { tool: 'flag.create_flag', input: { projectId, key: key(), type: 'boolean', defaultValue: 'text' } }), 400, 'invalid_request');
	assert.deepEqual(wrong.fields.map(({ path }) => path), ['/defaultValue']);
	const before = await version();
	const p = (await call('update_config_metadata', { projectId, resourceKey: name, description: 'how many of them', jsonSchema: { minimum: 1 } }, boss)).proposal;
	assert.deepEqual(p.diff.map(({ path }) => path), ['/description', '/jsonSchema/minimum']);
	await ok(boss.post(at(p, '/apply')));
	const now = await describe('config', name);
	assert.deepEqual([now.description, now.jsonSchema], ['how many of them', { minimum: 1 }]);
	assert.equal(await version(), before + 1, 'the schema is in the ruleset');
	const q = (await call('update_flag_metadata', { projectId, resourceKey: await create('flag', {}), description: 'words' }, boss)).proposal;
	const live = await version();
	await ok(boss.post(at(q, '/apply')));
	assert.equal(await version(), live, 'a description changes no answer');
	await refused(boss.post('/api/v1/tools/call', { tool: 'flag.update_flag_metadata', input: { projectId, resourceKey: 'none' } }), 400, 'invalid_request');
	const segment = await create('segment', { rules: [{ if: { field: 'a', $exists: true } }] });
	await ok(boss.post(at((await call('append_segment_rule', { envId: production.id, resourceKey: segment, rule: { if: { field: 'b', $exists: true } } }, boss)).proposal, '/apply')));
	await ok(boss.post(at((await call('append_config_rule', { envId: production.id, resourceKey: name, rule: { value: 5 } }, boss)).proposal, '/apply')));
	assert.equal((await describe('segment', segment)).rules.length, 2);
	assert.equal((await evaluate({}, [name]))[name].value, 5);
	await ok(boss.post(at((await call('update_segment_metadata', { projectId, resourceKey: segment, description: 'those' }, boss)).proposal, '/apply')));
	assert.equal((await describe('segment', segment)).description, 'those');
});

test('FL-7 a rollout is a toggle: only the share changes, and toggle is enough', async () => {
	const flag = await create('flag', { rules: [{ if: { field: 'plan', $equals: 'pro' }, value: true, rolloutPercent: 10 }, { value: false }] });
	const toggler = await w.agentOf(boss, { rules: ['flag.flag.read', 'flag.flag.propose', 'flag.flag.toggle'] });
	const p = (await call('set_rollout', { envId: production.id, resourceKey: flag, ruleIndex: 0, rolloutPercent: 25, spotCheck: people }, toggler.ask())).proposal;
	assert.deepEqual(p.diff, [{ path: '/rules/0/rolloutPercent', before: 10, after: 25 }]);
	await ok(boss.post(at(p, '/approve'), { viewHash: p.viewHash }));
	assert.equal((await ok(toggler.ask().post(at(p, '/apply')))).status, 'applied');
	await keepsItsPromise(p);
	await refused(w.agent.post('/api/v1/tools/call', { tool: 'flag.set_rollout', input: { envId: production.id, resourceKey: flag, ruleIndex: 2, rolloutPercent: 1 } }), 400, 'invalid_request', /no rule 2/);
	const kill = await ok(toggler.ask().post('/api/v1/proposals', body('kill_flag', flag)));
	await ok(boss.post(at(kill, '/approve'), { viewHash: kill.viewHash }));
	await refused(toggler.ask().post(at(kill, '/apply')), 403, 'forbidden', /flag\.flag\.write/);
});

test('TL-6 agents\' tiers: the changes need approval by default, the reads do not', async () => {
	const tiers = Object.fromEntries((await ok(boss.get(`/api/v1/agents/${w.first.agentId}/tools`))).tools.map(({ toolName, permissionStatus }) => [toolName, permissionStatus]));
	for (const tool of ['kill_flag', 'set_rules_segment', 'delete_config', 'create_flag', 'append_flag_rule', 'promote', 'set_rollout'])
		assert.equal(tiers[`flag.${tool}`], 'needs_approval', tool);
	for (const tool of ['list_flags', 'describe_flag', 'evaluate_for_context', 'get_ruleset_version'])
		assert.equal(tiers[`flag.${tool}`], 'always_allow', tool);
	const flag = await create('flag', { defaultValue: true });
	const found = await read('lookup_flags_for_target', { envId: production.id, targetId: 'u1', context: { plan: 'pro' } }, w.agent);
	assert.equal(found.evaluations[flag].value, true);
	const page = await read('list_flags', { envId: production.id, limit: 1 }, w.agent);
	assert.equal(page.flags.length, 1);
	assert.notEqual((await read('list_flags', { envId: production.id, limit: 1, after: page.next }, w.agent)).flags[0].key, page.flags[0].key);
	for (const plural of ['configs', 'segments']) assert.ok(Array.isArray((await read(`list_${plural}`, { envId: production.id }, w.agent))[plural]));
});

test('AP-6 the command line shows the blast radius', async () => {
	const flag = await create('flag', { defaultValue: true });
	const p = await propose('kill_flag', flag, {}, { spotCheck: people });
	const shown = await run(['proposals', p.proposalId], { env: { COUNTERSIGN_SERVER: w.server.url, COUNTERSIGN_TOKEN: w.first.adminToken } });
	assert.equal(shown.code, 0, shown.stderr);
	assert.match(shown.stdout, /Spot check +\{"plan":"pro","userId":"u1"\}/);
	assert.ok(shown.stdout.includes(`${flag}: true -> false`), shown.stdout);
});

// --- promote ---

const promote = (input, who = w.agent) => who.post('/api/v1/proposals', { tool: 'flag.promote', input: { fromEnvId: staging.id, toEnvId: production.id, ...input } });
const inStaging = async (kind, name, diff) => apply(await ok(w.agent.post('/api/v1/proposals', { ...body(kind, name, diff), envId: staging.id })));

test('FL-7 promote: the same there afterwards; a segment that differs is named, and comes only when it is asked for', async () => {
	const segment = await create('segment', {});
	const flag = await create('flag', { defaultValue: false });
	await inStaging('set_rules_segment', segment, { rules: [{ if: { field: 'plan', $equals: 'pro' } }] });
	await inStaging('set_rules_flag', flag, { rules: [{ if: { $segment: segment }, value: true }] });
	const alone = await ok(promote({ resources: [{ type: 'flag', key: flag }], spotCheck: people }));
	assert.equal(alone.summary, `Promote the flag ${flag} from staging to production`);
	assert.match(alone.card.affectedData, new RegExp(`0 of 2 spot checks change; not promoted, and not the same as in staging: segment ${segment}$`));
	assert.equal(alone.envId, production.id);
	const both = await ok(promote({ resources: [{ type: 'flag', key: flag }, { type: 'segment', key: segment }], spotCheck: people }));
	assert.match(both.card.affectedData, /1 of 2 spot checks change$/);
	assert.equal((await apply(both)).result.promoted, 2);
	await keepsItsPromise(both);
	for (const context of people) assert.deepEqual(await evaluate(context, [flag]), await evaluate(context, [flag], staging));
	await ok(boss.post(at(alone, '/approve'), { viewHash: alone.viewHash }));
	await refused(boss.post(at(alone, '/apply')), 409, 'version_drift');
	await refused(promote({ resources: [{ type: 'flag', key: flag }] }), 409, 'conflict', /nothing to promote/);
	await refused(promote({ resources: [{ type: 'flag', key: 'none' }] }), 404, 'not_found');
	await refused(promote({ toEnvId: staging.id }), 400, 'invalid_request', /itself/);
	await refused(promote({ fromEnvId: 'none' }), 404, 'not_found');
	await refused(promote({}, (await w.agentOf(boss, { level: 'proposer', environments: [production.id] })).ask()), 403, 'scope_denied');
});

// --- properties ---

/** A small generator that a seed decides: the same run can be had again. */
function random(seed) {
	let state = seed >>> 0;
	const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
	const one = (list) => list[Math.floor(next() * list.length)];
	const fields = ['plan', 'country', 'age'];
	const values = { plan: ['free', 'pro', 'team'], country: ['de', 'es', 'us'], age: [10, 20, 30] };
	const leaf = () => {
		const field = one(fields);
		return field === 'age' ? { field, [one(['$gt', '$lte', '$equals'])]: one(values.age) } : { field, ...one([{ $equals: one(values[field]) }, { $in: [one(values[field]), one(values[field])] }, { $exists: next() < 0.5 }]) };
	};
	const condition = (segments, depth = 2) => {
		const what = depth ? one(['leaf', 'leaf', '$and', '$or', '$not', segments.length ? '$segment' : 'leaf']) : 'leaf';
		if (what === 'leaf') return leaf();
		if (what === '$segment') return { $segment: one(segments) };
		return what === '$not' ? { $not: condition(segments, depth - 1) } : { [what]: [condition(segments, depth - 1), condition(segments, depth - 1)] };
	};
	const rules = (value, segments) => Array.from({ length: Math.floor(next() * 4) }, () => ({ if: condition(segments), ...(value ? { value: value() } : {}), ...(value && next() < 0.4 ? { rolloutPercent: Math.floor(next() * 100) } : {}) }));
	const context = () => Object.fromEntries([['userId', `u${Math.floor(next() * 1000)}`], ...fields.filter(() => next() < 0.8).map((f) => [f, one(values[f])])]);
	return { next, one, rules, context };
}

test('FL-5 PA-6 property: preview equals evaluate after apply, over random rulesets', async () => {
	const r = random(20261116);
	const segments = [await create('segment', {}), await create('segment', {})];
	const flag = await create('flag', {}), config = await create('config', { type: 'string' });
	const word = () => r.one(['a', 'b', 'c']);
	for (let round = 0; round < 12; round++) {
		const [kind, name, diff] = r.one([
			['set_rules_flag', flag, { rules: r.rules(() => r.next() < 0.5, segments) }],
			['set_default_value_flag', flag, { defaultValue: r.next() < 0.5 }],
			['set_rules_config', config, { rules: r.rules(word, segments) }],
			['set_default_value_config', config, { defaultValue: word() }],
			['set_rules_segment', segments[0], { rules: r.rules(null, [segments[1]]), allowList: ['u1', 'u2'] }],
			['set_rules_segment', segments[1], { rules: r.rules(null, []), denyList: ['u3'] }],
		]);
		const p = await propose(kind, name, diff, { spotCheck: Array.from({ length: 8 }, r.context) });
		assert.equal(p.blastRadius.length, 8);
		for (const { context, live } of p.blastRadius) assert.deepEqual(await evaluate(context, Object.keys(live)), live, 'live is what is answered now');
		await apply(p);
		await keepsItsPromise(p);
	}
});

test('FL-7 property: promote the whole environment, then both answer the same for everybody', async () => {
	const r = random(7);
	const segments = [await create('segment', {}), await create('segment', {})];
	const flags = [await create('flag', {}), await create('flag', {}), await create('config', { type: 'string' })];
	for (let round = 0; round < 3; round++) {
		await inStaging('set_rules_segment', segments[0], { rules: r.rules(null, []) });
		await inStaging('set_rules_segment', segments[1], { rules: r.rules(null, [segments[0]]) });
		for (const name of flags.slice(0, 2)) await inStaging('set_rules_flag', name, { rules: [...r.rules(() => r.next() < 0.5, segments), { value: true, rolloutPercent: 50 }] });
		await inStaging('set_rules_config', flags[2], { rules: r.rules(() => r.one(['a', 'b']), segments) });
		const spotCheck = Array.from({ length: 10 }, r.context);
		const p = await ok(promote({ spotCheck }));
		assert.equal((await apply(p)).status, 'applied');
		await keepsItsPromise(p);
		for (const context of spotCheck) assert.deepEqual(await evaluate(context), await evaluate(context, undefined, staging));
	}
});

test('FL-4 time travel: a change counts from when it was applied, not from when it was proposed', async () => {
	const flag = await create('flag', { defaultValue: true }), live = await version();
	const p = await propose('kill_flag', flag), later = await propose('kill_flag', flag); // its time lies between the two
	await apply(p);
	const then = await ok(w.admin.post(`/api/v1/envs/${production.id}/evaluate`, { context: {}, keys: [flag], asOf: later.createdAt }));
	assert.deepEqual([then.version, then.evaluations[flag].value], [live, true]);
	assert.ok((await ok(w.admin.get(`/api/v1/envs/${production.id}`))).updatedAt > later.createdAt);
	const file = { countersign: 'ruleset/1', flags: { [key('flag')]: { type: 'boolean', defaultValue: false } }, configs: {}, segments: {}, targetField: 'userId' };
	for (const [tool, input] of [['promote', { fromEnvId: staging.id, toEnvId: production.id, resources: [{ type: 'flag', key: flag }] }], ['import', { envId: production.id, ruleset: file }], ['delete_flag', { envId: production.id, resourceKey: flag, diff: {} }]]) {
		const mark = await create('flag', {}), { proposal } = await call(tool, input, w.agent), next = await propose('kill_flag', mark);
		await apply(proposal);
		assert.ok((await ok(w.admin.get(`/api/v1/envs/${production.id}`))).updatedAt > next.createdAt, tool);
	}
});

test('AU-6 what was changed by an import, or promoted with others, is in the story of each flag', async () => {
	const [one, two] = [await create('flag', { defaultValue: true }), await create('flag', { defaultValue: true })];
	const fresh = key('flag'), state = { type: 'boolean', defaultValue: false, rules: [] };
	const ruleset = { countersign: 'ruleset/1', flags: { [one]: state, [two]: state, [fresh]: state }, configs: {}, segments: {}, targetField: 'userId' };
	const { proposal } = await call('import', { envId: staging.id, ruleset }, w.agent);
	await apply(proposal);
	for (const [flag, action] of [[one, 'record.changed'], [two, 'record.changed'], [fresh, 'record.created']]) {
		const [entry] = await w.audit({ resourceType: 'flag', resourceKey: flag });
		assert.deepEqual([entry.action, entry.reason, entry.proposalId, entry.version], [action, `proposal:${proposal.proposalId}`, proposal.proposalId, await version(staging)], flag);
	}
	const up = (await call('promote', { fromEnvId: staging.id, toEnvId: production.id, resources: [one, two].map((k) => ({ type: 'flag', key: k })) }, w.agent)).proposal;
	await apply(up);
	for (const flag of [one, two]) assert.equal((await w.audit({ resourceType: 'flag', resourceKey: flag }))[0].reason, `proposal:${up.proposalId}`, flag);
});
