// SPDX-License-Identifier: Apache-2.0
// What an environment answers (FL-2, FL-4): evaluate, evaluate_preview, evaluate_history.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';

let w, env;
before(async () => {
	w = await World.start();
	const { items } = await ok(w.admin.get('/api/v1/environments'));
	env = Object.fromEntries(items.map((e) => [e.slug, e.id]));
});
after(() => w.stop());

const at = (id, what = '') => `/api/v1/envs/${id}/evaluate${what}`;
const flag = { key: 'new-checkout', type: 'boolean', defaultValue: false, rules: [{ if: { field: 'plan', $in: ['pro', 'team'] }, value: true }] };
const hours = (n) => new Date(Date.now() + n * 3600_000).toISOString();

test('FL-4 a fresh environment answers at once', async () => {
	assert.deepEqual(await ok(w.admin.post(at(env.staging), { context: {} })), { environmentId: env.staging, version: 1, evaluations: {} });
	for (const keys of ['*', null]) assert.deepEqual((await ok(w.admin.post(at(env.staging), { context: { userId: 'u' }, keys }))).evaluations, {});
	const asked = await ok(w.admin.post(at(env.staging), { context: {}, keys: ['b', 'a'] }));
	assert.deepEqual(Object.entries(asked.evaluations), [['b', null], ['a', null]]);
});

test('FL-4 the first answer comes from the database and the next from memory: they are the same', async () => {
	const answers = [];
	for (let i = 0; i < 5; i++) answers.push((await w.admin.post(at(env.production), { context: { userId: 'u' }, keys: ['a'] })).text);
	assert.equal(new Set(answers).size, 1);
});

test('FL-4 what is no question is refused with its path', async () => {
	const path = async (body, what) => (await refused(w.admin.post(at(env.staging, what), body), 400, 'invalid_request')).fields.map((f) => f.path);
	assert.deepEqual(await path({}), ['/context']);
	assert.deepEqual(await path({ context: [] }), ['/context']);
	assert.deepEqual(await path({ context: {}, keys: 7 }), ['/keys']);
	assert.deepEqual(await path({ context: {}, keys: 'a' }), ['/keys']);
	assert.deepEqual(await path({ context: {}, keys: ['a', 'a'] }), ['/keys/1']);
	assert.deepEqual(await path({ context: {}, asOf: 'yesterday' }), ['/asOf']);
	assert.deepEqual(await path({ context: {}, asOf: hours(1) }), ['/asOf']);
	assert.deepEqual(await path({ context: {}, asOf: hours(-24 * 91) }), ['/asOf']);
	assert.deepEqual(await path({ context: {}, verbose: true }), ['/verbose']);
	await refused(w.admin.post(at(env.staging), { context: {}, asOf: hours(-24) }), 404, 'not_found', /did not exist/);
	await refused(w.admin.post(at('nothing'), { context: {} }), 404, 'not_found');
	const huge = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`f${i}`, i]));
	await refused(w.admin.post(at(env.staging), { context: huge }), 413, 'too_large');
});

test('FL-4 a preview is what a save would make of it, beside what is live, and stores nothing', async () => {
	const spotCheck = [{ plan: 'pro' }, { plan: 'free' }];
	const { spotCheck: answers, ...rest } = await ok(w.admin.post(at(env.staging, '/preview'), { spotCheck, ruleset: { flags: [flag] } }));
	assert.deepEqual(rest, { environmentId: env.staging, liveVersion: 1 });
	assert.deepEqual(answers.map((a) => a.context), spotCheck);
	assert.deepEqual(answers.map((a) => a.live), [{ 'new-checkout': null }, { 'new-checkout': null }]);
	assert.deepEqual(answers.map((a) => a.preview['new-checkout']), [
		{ value: true, defaultValue: false, reason: { kind: 'rule_match', ruleIndex: 0, matchedValue: true } },
		{ value: false, defaultValue: false, reason: { kind: 'default' } },
	]);
	assert.equal((await ok(w.admin.post(at(env.staging), { context: {}, keys: ['new-checkout'] }))).evaluations['new-checkout'], null);
});

test('FL-4 a preview says why where it is asked to', async () => {
	const body = { spotCheck: [{ plan: 'free' }], ruleset: { flags: [flag] }, verboseReason: true };
	const { reason } = (await ok(w.admin.post(at(env.staging, '/preview'), body))).spotCheck[0].preview['new-checkout'];
	assert.equal(reason.kind, 'default');
	assert.equal(reason.trace[0].condition.operator, '$in');
	assert.doesNotMatch(JSON.stringify(reason), /free/, 'a trace has no values of the context');
});

test('FL-4 a segment that is previewed reports who names it, also through another segment', async () => {
	const ruleset = {
		segments: [
			{ key: 'staff', rules: [{ if: { field: 'email', $endsWith: '@example.com' } }] },
			{ key: 'friends', rules: [{ if: { $segment: 'staff' } }] },
		],
		configs: [{ key: 'limit', type: 'number', defaultValue: 1, rules: [{ if: { $segment: 'friends' }, value: 9 }] }],
	};
	const [answer] = (await ok(w.admin.post(at(env.staging, '/preview'), { spotCheck: [{ email: 'a@example.com' }], ruleset }))).spotCheck;
	assert.deepEqual(Object.keys(answer.preview), ['limit']);
	assert.equal(answer.preview.limit.value, 9);
});

test('FL-3 a preview refuses what a save refuses, with a path into the body', async () => {
	const path = async (body) => (await refused(w.admin.post(at(env.staging, '/preview'), body), 400, 'invalid_request')).fields.map((f) => f.path);
	const rule = (condition) => ({ spotCheck: [{}], ruleset: { flags: [flag, { ...flag, key: 'b', rules: [{ if: condition, value: true }] }] } });
	assert.deepEqual(await path(rule({ field: 'x', $matches: '(' })), ['/ruleset/flags/1/rules/0/if/$matches']);
	assert.deepEqual(await path(rule({ $segment: 'none' })), ['/ruleset/flags/1/rules/0/if/$segment']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { flags: [{ ...flag, type: 'number' }] } }), ['/ruleset/flags/0/type']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { flags: [flag, flag] } }), ['/ruleset/flags/1']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { flags: [{ type: 'boolean' }] } }), ['/ruleset/flags/0']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { flags: {} } }), ['/ruleset/flags']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { rules: [] } }), ['/ruleset/rules']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: {} }), ['/ruleset']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: 7 }), ['/ruleset']);
	assert.deepEqual(await path({ spotCheck: [{}], ruleset: { flags: [flag] }, asOf: hours(-1) }), ['/asOf']);
	assert.deepEqual(await path({ spotCheck: [], ruleset: { flags: [flag] } }), ['/spotCheck']);
	assert.deepEqual(await path({ spotCheck: Array(51).fill({}), ruleset: { flags: [flag] } }), ['/spotCheck']);
	assert.deepEqual(await path({ spotCheck: [{}, 7], ruleset: { flags: [flag] } }), ['/spotCheck/1']);
	const circle = { segments: [{ key: 'a', rules: [{ if: { $segment: 'b' } }] }, { key: 'b', rules: [{ if: { $segment: 'a' } }] }] };
	assert.match((await path({ spotCheck: [{}], ruleset: circle }))[0], /^\/ruleset\/segments\/[01]/);
});

test('FL-4 history of an environment in which nothing has happened', async () => {
	const context = { userId: 'u' };
	const { until, since, ...rest } = await ok(w.admin.post(at(env.staging, '/history'), { context, since: hours(-24), until: hours(1) }));
	assert.deepEqual(rest, { context, primitives: {}, truncated: false });
	assert.ok(Date.parse(until) <= Date.now() + 60_000, 'what has not happened is not answered for');
	assert.ok(Date.parse(since) < Date.parse(until));
	const before = await ok(w.admin.post(at(env.staging, '/history'), { context, since: hours(-24), until: hours(-23) }));
	assert.deepEqual(before.primitives, {});
	const path = async (body) => (await refused(w.admin.post(at(env.staging, '/history'), { context, ...body }), 400, 'invalid_request')).fields.map((f) => f.path);
	assert.deepEqual(await path({ since: hours(-1), until: hours(-2) }), ['/until']);
	assert.deepEqual(await path({ since: hours(-24 * 91), until: hours(0) }), ['/since']);
	assert.deepEqual(await path({ since: hours(1), until: hours(2) }), ['/since']);
	assert.deepEqual(await path({ since: 'x', until: hours(2) }), ['/since']);
	assert.deepEqual(await path({ since: hours(-1), until: 'x' }), ['/until']);
	assert.deepEqual(await path({ since: hours(-1), until: hours(0), keys: 1 }), ['/keys']);
});

test('FL-4 who evaluates needs flag.flag.read, the environment and the keys in the scope', async () => {
	const token = (more) => ok(w.admin.post('/api/v1/tokens', { name: 'reader', principalId: w.first.agentId, actions: ['read'], ...more }));
	const narrow = w.server.as((await token({ environments: [env.staging], keys: ['web.*'] })).token);
	assert.deepEqual((await ok(narrow.post(at(env.staging), { context: {}, keys: ['web.a'] }))).evaluations, { 'web.a': null });
	for (let i = 0; i < 3; i++) { // from the database, and from memory
		await refused(narrow.post(at(env.staging), { context: {}, keys: ['web.a', 'api.b', 'api.c'] }), 403, 'scope_denied', /api\.b/);
		await refused(narrow.post(at(env.production), { context: {} }), 403, 'scope_denied');
	}
	await refused(narrow.post(at(env.staging, '/preview'), { spotCheck: [{}], ruleset: { flags: [flag] } }), 403, 'scope_denied', /new-checkout/);
	await refused(narrow.post(at(env.staging, '/history'), { context: {}, since: hours(-1), until: hours(0), keys: ['x'] }), 403, 'scope_denied');
	const blind = w.server.as((await token({ actions: ['propose'] })).token);
	await refused(blind.post(at(env.staging), { context: {} }), 403, 'forbidden', /flag\.flag\.read/);
	await refused(w.server.post(at(env.staging), { context: {} }), 401, 'unauthenticated');
	const operator = await w.person(['observer']);
	assert.equal((await ok(operator.post(at(env.staging), { context: {} }))).version, 1);
});

test('ID-6 a token that was revoked evaluates nothing from then on', async () => {
	const minted = await ok(w.admin.post('/api/v1/tokens', { name: 'gone', principalId: w.first.agentId, actions: ['read'] }));
	const gone = w.server.as(minted.token);
	for (let i = 0; i < 4; i++) await ok(gone.post(at(env.staging), { context: {}, keys: ['a'] }));
	await ok(w.admin.delete(`/api/v1/tokens/${minted.id}`));
	await refused(gone.post(at(env.staging), { context: {}, keys: ['a'] }), 401, 'unauthenticated');
});
