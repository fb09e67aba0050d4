// SPDX-License-Identifier: Apache-2.0
// What an environment answers (FL-2, FL-4): evaluate, evaluate_preview, evaluate_history.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from './lib/flags.mjs';
import { ok, refused, World } from './lib/flow.mjs';
import { onPostgres, startSetUp, until } from './lib/server.mjs';

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

// --- with flags in it ---

const checkout = { defaultValue: false, rules: [{ if: { field: 'plan', $in: ['pro', 'team'] }, value: true }, { value: true, rolloutPercent: 50 }] };
const reason = { default: { kind: 'default' }, rule: (ruleIndex, matchedValue) => ({ kind: 'rule_match', ruleIndex, matchedValue }) };

test('FL-2 FL-4 the first rule that matches gives its value, and the reason says which', async () => {
	const shop = await Shop.open(w.admin, 'rules');
	await shop.flag('checkout', checkout);
	await shop.config('limit', { defaultValue: 10, rules: [{ if: { field: 'plan', $equals: 'team' }, value: 200 }] });
	const { version, evaluations } = await shop.evaluate({ userId: 'u', plan: 'team' });
	assert.equal(version, 3);
	assert.deepEqual(evaluations, {
		checkout: { value: true, defaultValue: false, reason: reason.rule(0, true) },
		limit: { value: 200, defaultValue: 10, reason: reason.rule(0, 200) },
	});
	assert.deepEqual((await shop.evaluate({ plan: 'free' }, { keys: ['limit', 'none'] })).evaluations, { limit: { value: 10, defaultValue: 10, reason: reason.default }, none: null });
	const share = await Promise.all(Array.from({ length: 200 }, (_, i) => shop.evaluate({ userId: `user-${i}` }, { keys: ['checkout'] })));
	const on = share.filter((a) => a.evaluations.checkout.value).length;
	assert.ok(on > 60 && on < 140, `${on} of 200 are in a half`);
	const { trace } = (await shop.evaluate({ plan: 'x' }, { keys: ['checkout'], verboseReason: true })).evaluations.checkout.reason;
	assert.equal(trace.length, 2);
});

test('FL-4 what was written is what the next evaluation says, from memory and from the database', async () => {
	const shop = await Shop.open(w.admin, 'own-writes');
	await shop.config('n');
	for (let i = 1; i <= 40; i++) {
		await shop.put('configs', 'n', { defaultValue: i, rules: [] });
		const { version, evaluations } = await shop.evaluate({ userId: 'u' }, { keys: ['n'] });
		assert.deepEqual([version, evaluations.n.value], [i + 2, i]);
	}
});

test('FL-4 all leaves out what the token may not see; by name it is refused', async () => {
	const shop = await Shop.open(w.admin, 'scopes');
	for (const key of ['web.a', 'web.b', 'api.c']) await shop.flag(key);
	const minted = await ok(w.admin.post('/api/v1/tokens', { name: 'web', principalId: w.first.agentId, actions: ['read'], environments: [shop.staging.id], keys: ['web.*', 'none'] }));
	const who = w.server.as(minted.token);
	for (let i = 0; i < 3; i++) {
		assert.deepEqual(Object.keys((await shop.evaluate({}, {}, { who })).evaluations), ['web.a', 'web.b']);
		assert.deepEqual((await shop.evaluate({}, { keys: ['none', 'web.b'] }, { who })).evaluations.none, null);
		await refused(who.post(at(shop.staging.id), { context: {}, keys: ['web.a', 'api.c'] }), 403, 'scope_denied', /api\.c/);
	}
	const history = await ok(who.post(at(shop.staging.id, '/history'), { context: {}, since: hours(-1), until: hours(1) }));
	assert.deepEqual(Object.keys(history.primitives).sort(), ['web.a', 'web.b']);
});

test('FL-4 asOf answers with the ruleset of that time', async () => {
	const shop = await Shop.open(w.admin, 'past');
	await shop.config('n', { defaultValue: 1 });
	const times = [];
	for (let i = 2; i < 5; i++) {
		times.push([(await ok(w.admin.get(`/api/v1/envs/${shop.staging.id}`))).updatedAt, i - 1]);
		await shop.put('configs', 'n', { defaultValue: i, rules: [] });
	}
	await shop.remove('configs', 'n');
	for (const [asOf, value] of times) {
		const past = await shop.evaluate({}, { keys: ['n'], asOf });
		assert.deepEqual([past.evaluations.n.value, past.version], [value, value + 1]);
	}
	assert.equal((await shop.evaluate({}, { keys: ['n'] })).evaluations.n, null);
});

// A small generator of its own, so that a failure can be had again: print the seed.
const dice = (seed) => () => ((seed = (seed * 48271) % 0x7fffffff) / 0x7fffffff);
const seed = Number(process.env.COUNTERSIGN_TEST_SEED ?? 20261116);

function randomState(roll) {
	const rules = [];
	for (let i = Math.floor(roll() * 4); i > 0; i--) {
		const condition = [{ field: 'plan', $in: ['pro', 'team'] }, { field: 'age', $gte: Math.floor(roll() * 60) }, { $segment: 'staff' }, { $not: { field: 'plan', $equals: 'free' } }][Math.floor(roll() * 4)];
		rules.push({ if: condition, value: roll() < 0.5, ...(roll() < 0.4 ? { rolloutPercent: Math.floor(roll() * 1000) / 10 } : {}) });
	}
	return { defaultValue: roll() < 0.5, rules };
}
const contexts = Array.from({ length: 20 }, (_, i) => ({ userId: `user-${i}`, plan: ['free', 'pro', 'team'][i % 3], age: i * 4, email: i % 2 ? 'a@example.com' : 'b@example.org' }));

test(`FL-4 property: a preview equals the evaluation after the write (seed ${seed})`, async () => {
	const roll = dice(seed), shop = await Shop.open(w.admin, 'preview');
	await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.com' } }] });
	await shop.flag('f', randomState(roll));
	for (let i = 0; i < 15; i++) {
		const state = randomState(roll);
		const { spotCheck } = await ok(w.admin.post(at(shop.staging.id, '/preview'), { spotCheck: contexts, ruleset: { flags: [{ key: 'f', ...state }] } }));
		const before = await Promise.all(contexts.map((context) => shop.evaluate(context, { keys: ['f'] })));
		await shop.put('flags', 'f', state);
		const after = await Promise.all(contexts.map((context) => shop.evaluate(context, { keys: ['f'] })));
		assert.deepEqual(spotCheck.map((s) => s.live), before.map((a) => a.evaluations));
		assert.deepEqual(spotCheck.map((s) => s.preview), after.map((a) => a.evaluations));
	}
});

test(`FL-4 property: history equals the evaluations of the time (seed ${seed})`, async () => {
	const roll = dice(seed + 1), shop = await Shop.open(w.admin, 'history');
	const context = contexts[7], keys = ['f', 'g'], seen = { f: [], g: [] };
	const since = (await ok(w.admin.get(`/api/v1/envs/${shop.staging.id}`))).updatedAt;
	const note = async () => {
		const { version, evaluations } = await shop.evaluate(context, { keys });
		for (const key of keys) {
			const { value, reason } = evaluations[key] ?? { value: null, reason: null }, last = seen[key].at(-1);
			if (!last && !evaluations[key]) continue;
			if (JSON.stringify([last?.value, last?.reason]) !== JSON.stringify([value, reason])) seen[key].push({ version, value, reason });
		}
	};
	await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.com' } }] });
	await note();
	await shop.flag('f', randomState(roll));
	await note();
	await shop.flag('g', randomState(roll));
	await note();
	for (let i = 0; i < 25; i++) {
		await shop.put('flags', keys[i % 2], randomState(roll));
		await note();
	}
	await shop.remove('flags', 'g');
	await note();
	const history = await ok(w.admin.post(at(shop.staging.id, '/history'), { context, since, until: hours(1) }));
	assert.equal(history.truncated, false);
	for (const key of keys) {
		assert.equal(history.primitives[key].type, 'flag');
		assert.deepEqual(history.primitives[key].entries.map(({ asOf, ...entry }) => entry), seen[key]);
	}
	for (const { asOf, value } of history.primitives.f.entries) // and each can be visited
		assert.equal((await shop.evaluate(context, { keys: ['f'], asOf })).evaluations.f.value, value);
	const only = await ok(w.admin.post(at(shop.staging.id, '/history'), { context, since, until: hours(1), keys: ['g', 'none'] }));
	assert.deepEqual(Object.keys(only.primitives), ['g']);
});

test('FL-4 a history that is too long is cut off and goes on with next', async () => {
	const shop = await Shop.open(w.admin, 'long');
	const since = (await ok(w.admin.get(`/api/v1/envs/${shop.staging.id}`))).updatedAt;
	await shop.config('n');
	for (let i = 1; i <= 130; i++) await shop.put('configs', 'n', { defaultValue: i, rules: [] });
	const ask = (from) => ok(w.admin.post(at(shop.staging.id, '/history'), { context: {}, since: from, until: hours(1) }));
	const first = await ask(since), second = await ask(first.next);
	assert.deepEqual([first.truncated, second.truncated, second.next], [true, false, undefined]);
	const values = [...first.primitives.n.entries, ...second.primitives.n.entries].map((e) => e.value);
	assert.deepEqual(values, Array.from({ length: 131 }, (_, i) => i));
});

test('FL-2 evaluation is a pure function: every server gives the same answer, and sees a change', { skip: onPostgres ? false : 'two servers need PostgreSQL' }, async () => {
	const roll = dice(seed + 2), shop = await Shop.open(w.admin, 'pods'), other = await w.another();
	try {
		const there = other.as(w.first.adminToken);
		await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.com' } }] });
		await shop.flag('f', randomState(roll));
		for (let i = 0; i < 5; i++) {
			await shop.put('flags', 'f', randomState(roll));
			const here = await Promise.all(contexts.map((context) => shop.evaluate(context)));
			await until(async () => (await shop.evaluate({}, {}, { who: there })).version === here[0].version, 'the other server to see it');
			const back = await Promise.all([...contexts].reverse().map((context) => shop.evaluate(context, {}, { who: there })));
			assert.deepEqual(back.reverse(), here);
		}
	} finally {
		await other.stop({ keep: true });
	}
});

test('ID-6 on PostgreSQL a revocation acts on evaluations at another server, too', { skip: onPostgres ? false : 'two servers need PostgreSQL' }, async () => {
	const other = await w.another();
	try {
		const minted = await ok(w.admin.post('/api/v1/tokens', { name: 'far', principalId: w.first.agentId, actions: ['read'] })), far = other.as(minted.token);
		for (let i = 0; i < 4; i++) await ok(far.post(at(env.staging), { context: {}, keys: ['a'] }));
		await ok(w.admin.delete(`/api/v1/tokens/${minted.id}`));
		await until(async () => (await far.post(at(env.staging), { context: {}, keys: ['a'] })).status === 401, 'the refusal');
		await refused(far.post(at(env.staging), { context: {}, keys: ['a'] }), 401, 'unauthenticated');
	} finally {
		await other.stop({ keep: true });
	}
});

test('FL-4 a token that evaluates too often is told when to come again', async () => {
	const slow = await startSetUp({ args: ['--evaluations-per-second', '5'] });
	try {
		const env = (await ok(slow.as(slow.first.adminToken).get('/api/v1/environments'))).items[0].id, who = slow.as(slow.first.agentToken);
		const refusal = await until(async () => {
			const answers = await Promise.all(Array.from({ length: 12 }, () => who.post(at(env), { context: {}, keys: ['a'] })));
			return answers.find((a) => a.status === 429);
		}, 'a refusal');
		assert.equal(refusal.json.code, 'rate_limited');
		assert.equal(refusal.headers.get('retry-after'), '1');
		await until(async () => (await who.post(at(env), { context: {}, keys: ['a'] })).status === 200, 'the next second');
	} finally {
		await slow.stop();
	}
});

test('FL-4 many keys and long contexts are the same answer, made elsewhere', async () => {
	const shop = await Shop.open(w.admin, 'many'), keys = Array.from({ length: 60 }, (_, i) => `f${i}`);
	for (const key of keys) await shop.flag(key, checkout);
	const context = { userId: 'u', plan: 'pro' };
	const all = await shop.evaluate(context);
	assert.deepEqual(Object.keys(all.evaluations).sort(), [...keys].sort());
	const single = await Promise.all(keys.map((key) => shop.evaluate(context, { keys: [key] })));
	assert.deepEqual(Object.assign({}, ...single.map((a) => a.evaluations)), all.evaluations);
	assert.deepEqual(await shop.evaluate({ ...context, story: 'x'.repeat(20_000) }), all, 'a field that no rule looks at');
	const { flags } = (await w.server.request('POST', `/api/v1/envs/${shop.staging.id}/ofrep/v1/evaluate/flags`, { body: { context }, check: false, headers: { authorization: `Bearer ${w.first.adminToken}` } })).json;
	assert.deepEqual(flags.map((f) => [f.key, f.value]), Object.entries(all.evaluations).map(([key, e]) => [key, e.value]));
});

test('FL-5 ruleset_not_cached is said while a ruleset cannot be loaded, and only then', async () => {
	const own = await World.start();
	try {
		const shop = await Shop.open(own.admin, 'broken');
		await shop.flag('f');
		const doc = (text) => `UPDATE flag_state SET doc = '${text}' WHERE environment_id = '${shop.staging.id}' AND key = 'f'`;
		await own.change(doc('{"type":"boolean"}'));
		for (let i = 0; i < 2; i++) await refused(own.admin.post(at(shop.staging.id), { context: {}, keys: ['f'] }), 503, 'ruleset_not_cached', /cannot be loaded/);
		const ofrep = await own.server.request('POST', `/api/v1/envs/${shop.staging.id}/ofrep/v1/evaluate/flags/f`, { body: {}, check: false, headers: { authorization: `Bearer ${own.first.adminToken}` } });
		assert.deepEqual([ofrep.status, ofrep.json.errorCode, ofrep.json.key], [503, 'GENERAL', 'f']);
		assert.equal((await ok(own.admin.post(at(shop.live.id), { context: {}, keys: ['f'] }))).evaluations.f.value, false, 'the other environment is well');
		await own.change(doc('{"type":"boolean","defaultValue":true}'));
		assert.equal((await ok(own.admin.post(at(shop.staging.id), { context: {}, keys: ['f'] }))).evaluations.f.value, true);
	} finally {
		await own.stop();
	}
});

test('FL-3 a preview over what is live: members that are left out stay, a type does not change, and circles are found', async () => {
	const shop = await Shop.open(w.admin, 'over');
	await shop.flag('f', checkout);
	await shop.segment('a', { rules: [{ if: { field: 'x', $equals: 1 } }] });
	await shop.segment('b', { rules: [{ if: { $segment: 'a' } }] });
	await shop.config('n', { rules: [{ if: { $segment: 'b' }, value: 5 }] });
	const preview = (ruleset, spotCheck = [{ plan: 'pro', x: 1 }]) => w.admin.post(at(shop.staging.id, '/preview'), { spotCheck, ruleset });
	const [kept] = (await ok(preview({ flags: [{ key: 'f', defaultValue: true }] }))).spotCheck;
	assert.deepEqual(kept.preview.f.reason, reason.rule(0, true), 'its rules are still there');
	const [segment] = (await ok(preview({ segments: [{ key: 'a', rules: [] }] }))).spotCheck;
	assert.deepEqual([segment.live.n.value, segment.preview.n.value], [5, 0], 'who names it through another one is reported');
	const typed = await refused(preview({ flags: [{ key: 'f', type: 'string', defaultValue: 'x', rules: [] }] }), 400, 'invalid_request');
	assert.deepEqual(typed.fields.map((f) => f.path), ['/ruleset/flags/0/type']);
	const circle = await refused(preview({ segments: [{ key: 'a', rules: [{ if: { $segment: 'b' } }] }] }), 400, 'invalid_request', /a.*b|b.*a/);
	assert.match(circle.fields[0].path, /^\/ruleset/);
	await refused(preview({ configs: [{ key: 'f', type: 'number', defaultValue: 1 }] }), 400, 'invalid_request');
});
