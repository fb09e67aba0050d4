// SPDX-License-Identifier: Apache-2.0
// Environments as files: environment_export, flag.import and flag.import_exact, `countersign export` and `import`, and
// files of flagd and Unleash that then answer as they did over there.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FlagdCore } from '@openfeature/flagd-core';

import { ok, refused, World } from './lib/flow.mjs';
import { run, temporaryDirectory } from './lib/server.mjs';

let w, production, staging, projectId, boss, folder;
before(async () => {
	w = await World.start();
	const { items } = await ok(w.admin.get('/api/v1/environments'));
	[production, staging] = [items.find((e) => e.production), items.find((e) => !e.production)];
	projectId = production.projectId;
	boss = await w.person(['admin']);
	folder = await temporaryDirectory();
});
after(() => w?.stop());

const exported = (env = production, who = w.admin) => ok(who.get(`/api/v1/envs/${env.id}/export`));
const version = async (env = production) => (await ok(w.admin.post('/api/v1/tools/call', { tool: 'flag.get_ruleset_version', input: { envId: env.id } }))).result.version;
const evaluate = async (context, env = production) => Object.fromEntries(Object.entries((await ok(w.admin.post(`/api/v1/envs/${env.id}/evaluate`, { context }))).evaluations).map(([k, e]) => [k, e.value]));
const importing = (ruleset, more = {}, env = production) => ({ tool: more.tool ?? 'flag.import', input: { envId: env.id, ruleset, ...more.input } });
const propose = (ruleset, more, env, who = w.agent) => ok(who.post('/api/v1/proposals', importing(ruleset, more, env)));
const own = (more = {}) => ({ countersign: 'ruleset/1', targetField: 'userId', ...more });

/** Approved and applied by a person. */
async function apply(p) {
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash }));
	return ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
}

const cli = (args, token = w.agentToken) => run(args, { env: { COUNTERSIGN_SERVER: w.server.url, COUNTERSIGN_TOKEN: token } });
async function file(name, content) {
	const where = path.join(folder, name);
	await writeFile(where, typeof content === 'string' ? content : JSON.stringify(content));
	return where;
}

const first = own({
	flags: {
		checkout: { type: 'boolean', defaultValue: false, description: 'the new one', rules: [{ if: { $segment: 'staff' }, value: true }, { value: true, rolloutPercent: 25.5 }] },
		theme: { type: 'string', defaultValue: 'classic' },
	},
	configs: { limit: { type: 'number', defaultValue: 1.50, schema: { maximum: 10 }, rules: [{ if: { field: 'plan', $equals: 'pro' }, value: 7 }] } },
	segments: { staff: { rules: [{ if: { field: 'email', $endsWith: '@example.com' } }], allowList: ['u1'], description: 'us' } },
});
const people = [{ userId: 'u1' }, { userId: 'u9', plan: 'pro' }];

test('FL-1 FL-5 an import is a proposal: it changes nothing until it is applied, and then what its blast radius said', async () => {
	const seen = await version(), other = await version(staging);
	const p = await propose(first, { input: { spotCheck: people } });
	assert.equal(p.summary, 'Import a file into production: 4 new, 0 changed, 0 deleted');
	assert.equal(p.liveVersion, seen);
	assert.deepEqual(p.blastRadius.map(({ live, preview }) => [live.checkout, preview.checkout.value, preview.limit.value]), [[null, true, 1.5], [null, false, 7]]);
	assert.match(p.card.affectedData, /4 new, 0 changed, 0 deleted in production, new, deleted and described ones in every environment/);
	assert.deepEqual([await version(), await version(staging)], [seen, other]);
	assert.deepEqual((await exported()).flags, {});
	const done = await apply(p);
	assert.deepEqual([done.result.created, done.result.changed, done.result.deleted, done.result.version], [4, 0, 0, seen + 1]);
	assert.deepEqual(await evaluate(people[0]), { checkout: true, theme: 'classic', limit: 1.5 });
	assert.deepEqual(await evaluate(people[0], staging), { checkout: false, theme: 'classic', limit: 1.5 }, 'elsewhere it begins without rules');
	const there = await exported(staging);
	assert.deepEqual(there.segments.staff, { rules: [], allowList: [], denyList: [], description: 'us' });
	assert.deepEqual(there.configs.limit.schema, { maximum: 10 });
});

test('FL-1 export | import is nothing new, and a round trip keeps every byte', async () => {
	const one = await cli(['export', '--env', 'production']);
	assert.equal(one.code, 0, one.stderr);
	assert.equal(one.stdout, `${JSON.stringify(sorted(JSON.parse(one.stdout)), null, 2)}\n`, 'sorted, one member on a line');
	assert.match(one.stdout, /"description": "the new one"/);
	const where = path.join(folder, 'production.json');
	assert.equal((await cli(['export', '--env', production.id, '--out', where])).code, 0);
	assert.equal(await readFile(where, 'utf8'), one.stdout);
	assert.equal((await cli(['import', '--print', where])).stdout, one.stdout);
	const again = await cli(['import', '--env', 'production', where]);
	assert.equal(again.code, 1);
	assert.match(again.stderr, /there is nothing to import: production says what the file says/);
});

const sorted = (v) => Array.isArray(v) ? v.map(sorted) : v && typeof v === 'object' ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v;

test('FL-5 import by the command line: remarks, proposal, approval, and the change is there', async () => {
	const where = await file('change.json', own({ flags: { theme: { type: 'string', defaultValue: 'midnight' } } }));
	const made = await cli(['import', '--env', 'production', '--intent', 'it is dark', '--spot-check', '[{"userId":"u1"}]', '--json', where]);
	assert.equal(made.code, 0, made.stderr);
	const p = JSON.parse(made.stdout);
	assert.equal(p.summary, 'Import a file into production: 0 new, 1 changed, 0 deleted');
	assert.equal(p.blastRadius[0].preview.theme.value, 'midnight');
	assert.equal(p.card.agentSays.summary, 'it is dark');
	await apply(p);
	assert.equal((await evaluate({})).theme, 'midnight');
	assert.equal((await evaluate({}, staging)).theme, 'classic', 'only here');
	const told = await cli(['import', '--env', 'staging', where]);
	assert.equal(told.code, 0, told.stderr);
	assert.match(told.stdout, /Import a file into staging: 0 new, 1 changed, 0 deleted/);
});

test('FL-1 a description is the project\'s, and needs no new version; what a file does not describe keeps its own', async () => {
	const all = await exported(), seen = await version();
	delete all.segments.staff.description;
	all.flags.checkout.description = 'the newest';
	const p = await propose(all);
	assert.equal(p.summary, 'Import a file into production: 0 new, 0 changed, 0 deleted, 1 described');
	assert.deepEqual(p.diff, [{ path: '/descriptions/flag checkout', before: 'the new one', after: 'the newest' }]);
	assert.equal((await apply(p)).result.described, 1);
	const there = await exported(staging);
	assert.deepEqual([there.flags.checkout.description, there.segments.staff.description, await version()], ['the newest', 'us', seen]);
});

test('FL-5 two imports against one version: the second is version_drift', async () => {
	const theme = (defaultValue) => own({ flags: { theme: { type: 'string', defaultValue } } });
	const [a, b] = [await propose(theme('a')), await propose(theme('b'))];
	await apply(a);
	await ok(boss.post(`/api/v1/proposals/${b.proposalId}/approve`, { viewHash: b.viewHash }));
	await refused(boss.post(`/api/v1/proposals/${b.proposalId}/apply`), 409, 'version_drift');
	assert.equal((await evaluate({})).theme, 'a');
});

test('FL-7 flag.import_exact deletes from the project what the file has not, and says so; what is used stays', async () => {
	const exact = { tool: 'flag.import_exact' };
	const all = await exported();
	await refused(w.agent.post('/api/v1/proposals', importing({ ...all, segments: {} }, exact)), 400, 'invalid_request', /staff/);
	const { theme, ...flags } = all.flags;
	const made = await cli(['import', '--env', 'production', '--prune', '--json', await file('pruned.json', { ...all, flags })]);
	assert.equal(made.code, 0, made.stderr);
	const p = JSON.parse(made.stdout);
	assert.deepEqual([p.tool, p.summary], ['flag.import_exact', 'Import a file into production: 0 new, 0 changed, 1 deleted']);
	await apply(p);
	assert.deepEqual(Object.keys((await exported(staging)).flags), ['checkout']);
	assert.ok(theme);
});

test('FL-1 FL-3 what cannot be is refused with a path', async () => {
	const rows = [
		[{ flags: {} }, '/ruleset/countersign'],
		[own({ targetField: 'email' }), '/ruleset/targetField'],
		[own({ flags: { checkout: { type: 'string', defaultValue: '' } } }), '/ruleset/flags/checkout/type'],
		[own({ configs: { limit: { type: 'number', defaultValue: 1 } } }), '/ruleset/configs/limit/schema'],
		[own({ flags: { 'no key': { type: 'boolean', defaultValue: true } } }), '/ruleset/flags/no key'],
		[own({ flags: { f: { type: 'boolean', defaultValue: true, rules: [{ value: true, if: { $segment: 'nowhere' } }] } } }), '/ruleset/flags/f/rules/0/if/$segment'],
		[own({ flags: [] }), '/ruleset/flags'],
	];
	for (const [ruleset, at] of rows) {
		const { fields } = await refused(w.agent.post('/api/v1/proposals', importing(ruleset)), 400, 'invalid_request');
		assert.equal(fields[0].path, at);
	}
	await refused(w.agent.post('/api/v1/proposals', importing(own({ flags: { limit: { type: 'boolean', defaultValue: true } } }))), 409, 'key_collision');
	await refused(w.agent.post('/api/v1/proposals', importing(own(), {}, { id: '0' })), 404, 'not_found');
	await refused(w.admin.get('/api/v1/envs/0/export'), 404, 'not_found');
});

test('ID-8 a scope holds for files, too: whole or not at all', async () => {
	const narrow = await w.agentOf(boss, { level: 'maintainer', keys: ['checkout', 'theme'], environments: 'all' });
	await refused(narrow.ask().get(`/api/v1/envs/${production.id}/export`), 403, 'scope_denied', /keys outside the scope/);
	await refused(narrow.ask().post('/api/v1/proposals', importing(own({ flags: { other: { type: 'boolean', defaultValue: true } } }))), 403, 'scope_denied', /other/);
	const here = await w.agentOf(boss, { level: 'maintainer', keys: 'all', environments: [staging.id] });
	await refused(here.ask().get(`/api/v1/envs/${production.id}/export`), 403, 'scope_denied');
	await ok(here.ask().get(`/api/v1/envs/${staging.id}/export`));
	await refused(here.ask().post('/api/v1/proposals', importing(own({ flags: { other: { type: 'boolean', defaultValue: true } } }), {}, staging)), 403, 'scope_denied');
	const change = own({ flags: { checkout: { type: 'boolean', defaultValue: true } } });
	await ok(here.ask().post('/api/v1/proposals', importing(change, {}, staging)));
	const watcher = await w.agentOf(boss, { rules: ['flag.flag.read'], keys: 'all', environments: 'all' });
	await refused(watcher.ask().get(`/api/v1/envs/${production.id}/export`), 403, 'forbidden', /flag\.config\.read/);
});

const flagdFile = {
	flags: {
		banner: { state: 'ENABLED', variants: { red: 'red', blue: 'blue', none: '' }, defaultVariant: 'none',
			targeting: { if: [{ in: [{ var: 'plan' }, ['pro', 'team']] }, 'red', { fractional: [['red', 30], ['blue', 30], ['none', 40]] }] } },
		'max-size': { state: 'ENABLED', variants: { small: 10, large: 500 }, defaultVariant: 'small', targeting: { if: [{ sem_ver: [{ var: 'version' }, '>=', '2.0.0'] }, 'large'] } },
		off: { state: 'DISABLED', variants: { on: true }, defaultVariant: 'on' },
	},
};

test('FL-2 a flagd file, imported, answers as flagd does; what cannot be expressed stops it unless skipped', async () => {
	const where = await file('flagd.json', flagdFile);
	const stopped = await cli(['import', '--env', 'production', '--format', 'flagd', where]);
	assert.equal(stopped.code, 1);
	assert.match(stopped.stderr, /^refused off: \/flags\/off\/state is DISABLED/m);
	assert.match(stopped.stderr, /^countersign: 1 of the file cannot be expressed; --skip-unsupported leaves them out$/m);
	const made = await cli(['import', '--env', 'production', '--format', 'flagd', '--skip-unsupported', '--json', where]);
	assert.equal(made.code, 0, made.stderr);
	assert.match(made.stderr, /^note max-size: \/flags\/max-size\/targeting\/if\/0\/sem_ver takes only whole versions/m);
	await apply(JSON.parse(made.stdout));
	const core = new FlagdCore(undefined, { error() {}, warn() {}, info() {}, debug() {} });
	core.setConfigurations(JSON.stringify(flagdFile));
	for (const context of [{}, { plan: 'pro' }, { version: '2.1.0' }, ...Array.from({ length: 30 }, (_, i) => ({ targetingKey: `user-${i}` }))]) {
		const { targetingKey, ...rest } = context;
		const got = await evaluate(targetingKey ? { ...rest, userId: targetingKey } : rest);
		assert.equal(got.banner, core.resolveStringEvaluation('banner', '?', context).value, JSON.stringify(context));
		assert.equal(got['max-size'], core.resolveNumberEvaluation('max-size', 0, context).value);
	}
});

test('FL-2 an Unleash file, imported: who is in a rollout there is in here (specification 03 and 08)', async () => {
	const features = [
		{ name: 'Feature.B3', enabled: true, strategies: [{ name: 'gradualRolloutUserId', parameters: { percentage: '50', groupId: 'AB12A' } }] },
		{ name: 'Feature.Variants.B', enabled: true, strategies: [], variants: [{ name: 'variant1', weight: 1 }, { name: 'variant2', weight: 1 }] },
	];
	const made = await cli(['import', '--env', 'production', '--format', 'unleash', '--json', await file('unleash.json', { version: 2, features })]);
	assert.equal(made.code, 0, made.stderr);
	await apply(JSON.parse(made.stdout));
	assert.deepEqual([(await evaluate({ userId: '122' }))['Feature.B3'], (await evaluate({ userId: '155' }))['Feature.B3']], [true, false]);
	assert.deepEqual([(await evaluate({ userId: '0' }))['Feature.Variants.B:variant'].name, (await evaluate({ userId: '2' }))['Feature.Variants.B:variant'].name], ['variant1', 'variant2']);
});

test('hostile files get a clear error', async () => {
	const refuses = async (args, pattern, code = 1) => {
		const got = await cli(args);
		assert.equal(got.code, code, got.stdout + got.stderr);
		assert.match(got.stderr, pattern);
		assert.ok(got.stderr.length < 3000);
	};
	const print = (format, where) => ['import', '--print', '--format', format, where];
	await refuses(print('flagd', await file('deep', '{"flags":'.repeat(10000))), /deep: line 1, column \d+: .*deep/);
	await refuses(print('unleash', await file('cut', '{"features":[')), /cut: line 1/);
	await refuses(print('unleash', await file('list', '[]')), /\/features must be an array/);
	await refuses(print('flagd', await file('wrong', '{"flags":[1]}')), /\/flags must be an object/);
	await refuses(print('countersign', await file('other', '{"flags":{}}')), /\/countersign must be "ruleset\/1"/);
	await refuses(print('countersign', await file('bad', own({ flags: { f: { type: 'x', defaultValue: 1 } } }))), /\/flags\/f\/type must be/);
	await refuses(print('unleash', await file('huge', `{"features":[${'0,'.repeat(17 * 2 ** 20)}0]}`)), /larger than \d+ bytes/, 2);
	await refuses(print('flagd', await file('escape', JSON.stringify({ flags: { 'a\u001b[2J\nb': 7 } }))), /^refused a[^\u001b]*b: [^\n]*must be an object\n/m);
	const wide = { flags: Object.fromEntries(Array.from({ length: 12000 }, (_, i) => [`flag-${i}`, { type: 'string', defaultValue: 'x'.repeat(60) }])) };
	await refuses(['import', '--env', 'production', await file('wide', own(wide))], /the server takes 1048576/);
	await refuses(['import', '--env', 'production', path.join(folder, 'nowhere')], /nowhere cannot be read/);
	await refuses(['import', '--env', 'nowhere', path.join(folder, 'bad')], /no environment called nowhere/);
	await refuses(['export', '--env', 'production', '--out', path.join(folder, 'no', 'such')], /cannot be written/);
	await refuses(['import', '--env', 'production'], /import what\?/, 2);
	await refuses(['import', path.join(folder, 'bad')], /which environment\?/, 2);
	await refuses(['export'], /which environment\?/, 2);
	await refuses(['import', '--print', '--format', 'yaml', path.join(folder, 'bad')], /countersign, flagd or unleash/, 2);
	await refuses(['import', '--env', 'production', '--spot-check', '{}', await file('fine', own())], /--spot-check is an array/, 2);
});
