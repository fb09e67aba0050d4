// SPDX-License-Identifier: Apache-2.0
// Projects, environments, flags, configs and segments over REST (FL-1, FL-3, FL-7): what each operation does, what it
// refuses and with which path, who may, and that versions and ETags hold when many write at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';

let world, admin, project, staging, live;

const rule = (value, condition) => ({ if: condition, value });
const names = (items) => items.map((item) => item.key);
const flags = (env = staging) => `/api/v1/envs/${env.id}/flags`;
const newFlag = (key, more = {}, who = admin) => who.post(`/api/v1/projects/${project.id}/flags`, { key, type: 'boolean', defaultValue: false, ...more });
const newConfig = (key, more = {}, who = admin) => who.post(`/api/v1/projects/${project.id}/configs`, { key, type: 'number', defaultValue: 0, ...more });
const newSegment = (key, more = {}, who = admin) => who.post(`/api/v1/projects/${project.id}/segments`, { key, ...more });
const put = (kind, key, state, { env = staging, who = admin, match } = {}) =>
	who.put(`/api/v1/envs/${env.id}/${kind}/${key}/state`, state, match ? { headers: { 'if-match': match } } : {});
const version = async (env = staging) => (await ok(admin.get(`/api/v1/envs/${env.id}`))).version;
const token = async (more) => world.server.as((await ok(admin.post('/api/v1/tokens', { name: 'narrow', ...more }))).token);
const paths = (body) => body.fields.map((field) => field.path);

/** A project with two environments in which one writes at once. */
async function makeProject(key) {
	const made = await ok(admin.post('/api/v1/orgs/default/projects', { key, name: 'Shop' }));
	const environment = (slug, more) => ok(admin.post(`/api/v1/projects/${made.id}/environments`, { key: slug, name: slug, ...more }));
	return [made, await environment('staging', { production: false }), await environment('live', { approvalGate: false })];
}

before(async () => {
	world = await World.start();
	admin = world.admin;
	[project, staging, live] = await makeProject('shop');
});
after(() => world?.stop());

// --- projects and environments ---

test('FL-1 project_create, project_get, org_projects: a project has its key, its name and its target field', async () => {
	const made = await admin.post('/api/v1/orgs/default/projects', { key: 'billing', name: 'Billing', targetIdField: 'accountId' });
	assert.equal(made.status, 201, made.text);
	assert.match(made.headers.get('etag'), /^W\/"\d+"$/);
	const { createdAt, updatedAt, id, ...rest } = made.json;
	assert.deepEqual(rest, { key: 'billing', name: 'Billing', targetIdField: 'accountId', effectiveTargetIdField: 'accountId' });
	assert.equal(createdAt, updatedAt);
	assert.deepEqual(await ok(admin.get(`/api/v1/projects/${id}`)), made.json);
	const listed = await ok(admin.get('/api/v1/orgs/default/projects'));
	assert.deepEqual(names(listed.items).sort(), ['billing', 'default', 'shop']);
	assert.deepEqual([project.targetIdField, project.effectiveTargetIdField], [null, 'userId']);
	await refused(admin.post('/api/v1/orgs/default/projects', { key: 'billing', name: 'Again' }), 409, 'key_collision');
	await refused(admin.post('/api/v1/orgs/other/projects', { key: 'x', name: 'X' }), 404, 'not_found');
	await refused(admin.get('/api/v1/orgs/other/projects'), 404, 'not_found');
	await refused(admin.get('/api/v1/projects/none'), 404, 'not_found');
	for (const [body, path] of [[{ key: 'A b' }, '/key'], [{ key: 'x', targetIdField: 7 }, '/targetIdField'], [{ key: 'x', targetIdField: '' }, '/targetIdField'], [{ key: 'x', targetIdField: 'x'.repeat(5000) }, '/targetIdField']])
		assert.deepEqual(paths(await refused(admin.post('/api/v1/orgs/default/projects', { name: 'X', ...body }), 400, 'invalid_request')), [path]);
});

test('FL-1 environment_create, environment_get, project_environments: a fresh environment is evaluable at once', async () => {
	const [own] = await makeProject('fresh');
	const post = (body) => admin.post(`/api/v1/projects/${own.id}/environments`, body);
	await ok(admin.post(`/api/v1/projects/${own.id}/flags`, { key: 'on', type: 'boolean', defaultValue: true, rules: [rule(false)] }));
	await ok(admin.post(`/api/v1/projects/${own.id}/flags`, { key: 'word', type: 'string', defaultValue: 'x' }));
	for (const [type, defaultValue] of [['number', 7], ['boolean', true], ['string', 'x'], ['json', { a: 1 }]])
		await ok(admin.post(`/api/v1/projects/${own.id}/configs`, { key: `c-${type}`, type, defaultValue }));
	await ok(admin.post(`/api/v1/projects/${own.id}/configs`, { key: 'held', type: 'number', defaultValue: 7, jsonSchema: { minimum: 5 } }));
	await ok(admin.post(`/api/v1/projects/${own.id}/segments`, { key: 'staff', allowList: ['u1'] }));
	const made = await post({ key: 'qa', name: 'QA' });
	assert.equal(made.status, 201, made.text);
	const { id, createdAt, updatedAt, ...rest } = made.json;
	assert.deepEqual(rest, { projectId: own.id, key: 'qa', name: 'QA', version: 1, production: true, approvalGate: true });
	assert.deepEqual(await ok(admin.get(`/api/v1/envs/${id}`)), made.json);
	const value = async (kind, key) => (await ok(admin.get(`/api/v1/envs/${id}/${kind}/${key}`))).defaultValue;
	assert.deepEqual([await value('flags', 'on'), await value('flags', 'word')], [false, '']);
	assert.deepEqual([await value('configs', 'c-number'), await value('configs', 'c-boolean'), await value('configs', 'c-string'), await value('configs', 'c-json')], [0, false, '', null]);
	assert.equal(await value('configs', 'held'), 7, 'what must fit a schema is as in the first environment');
	assert.deepEqual((await ok(admin.get(`/api/v1/envs/${id}/flags/on`))).rules, []);
	assert.deepEqual((await ok(admin.get(`/api/v1/envs/${id}/segments/staff`))).allowList, []);
	assert.deepEqual(names((await ok(admin.get(`/api/v1/projects/${own.id}/environments`))).items), ['staging', 'live', 'qa']);
	const page = await ok(admin.get(`/api/v1/projects/${own.id}/environments?limit=2`));
	assert.deepEqual(names((await ok(admin.get(`/api/v1/projects/${own.id}/environments?limit=2&after=${page.next}`))).items), ['qa']);
	await refused(post({ key: 'qa', name: 'QA' }), 409, 'key_collision');
	assert.deepEqual(paths(await refused(post({ key: '-', name: 'QA' }), 400, 'invalid_request')), ['/key']);
	assert.deepEqual(paths(await refused(post({ key: 'x', name: 'QA', production: 1 }), 400, 'invalid_request')), ['/production']);
	assert.deepEqual(paths(await refused(post({ key: 'x', name: 'QA', approvalGate: null }), 400, 'invalid_request')), ['/approvalGate']);
	await refused(admin.post('/api/v1/projects/none/environments', { key: 'x', name: 'X' }), 404, 'not_found');
	await refused(admin.get('/api/v1/projects/none/environments'), 404, 'not_found');
	await refused(admin.get('/api/v1/envs/none'), 404, 'not_found');
});

test('a project has at most 50 environments, and none means no flags', async () => {
	const own = await ok(admin.post('/api/v1/orgs/default/projects', { key: 'crowd', name: 'Crowd' }));
	await refused(admin.post(`/api/v1/projects/${own.id}/flags`, { key: 'a', type: 'boolean', defaultValue: true }), 409, 'conflict', /no environment/);
	for (let i = 0; i < 50; i++) await ok(admin.post(`/api/v1/projects/${own.id}/environments`, { key: `e${i}`, name: 'E', production: false }));
	await refused(admin.post(`/api/v1/projects/${own.id}/environments`, { key: 'more', name: 'E' }), 409, 'conflict', /50/);
	const made = await ok(admin.post(`/api/v1/projects/${own.id}/flags`, { key: 'a', type: 'boolean', defaultValue: true }));
	assert.equal(made.environments.length, 50);
	assert.ok(made.environments.every((environment) => environment.version === 2));
});

test('FL-7 environment_change: a name, production and the gate change without a version, and If-Match holds', async () => {
	const [, env] = await makeProject('rename');
	const read = await admin.get(`/api/v1/envs/${env.id}`), etag = read.headers.get('etag');
	const change = (body, match) => admin.patch(`/api/v1/envs/${env.id}`, body, match ? { headers: { 'if-match': match } } : {});
	const changed = await change({ name: 'Stage' }, etag);
	assert.equal(changed.status, 200, changed.text);
	assert.deepEqual([changed.json.name, changed.json.version, changed.json.key], ['Stage', 1, 'staging']);
	assert.notEqual(changed.headers.get('etag'), etag);
	await refused(change({ name: 'Again' }, etag), 412, 'precondition_failed');
	assert.equal((await ok(change({ production: true, approvalGate: true }, '*'))).approvalGate, true);
	await refused(change({ key: 'other' }), 400, 'invalid_request', /key/);
	await refused(change({ production: 'yes' }), 400, 'invalid_request');
	await refused(admin.patch('/api/v1/envs/none', { name: 'X' }), 404, 'not_found');
	const operator = await world.person(['operator']);
	await refused(operator.get('/api/v1/envs/none'), 404, 'not_found');
	await refused(world.agent.patch(`/api/v1/envs/${env.id}`, { approvalGate: false }), 403, 'forbidden');
	const [entry] = await world.audit({ resourceType: 'environment', resourceKey: 'staging' });
	assert.equal(entry.action, 'record.changed');
});

test('FL-1 project_change: another target field is a new version of every environment, the same one is none', async () => {
	const [own, one, two] = await makeProject('target');
	const versions = async () => [await version(one), await version(two)];
	const change = (body, options) => admin.patch(`/api/v1/projects/${own.id}`, body, options);
	assert.equal((await ok(change({ name: 'Renamed' }))).name, 'Renamed');
	assert.deepEqual(await versions(), [1, 1]);
	assert.equal((await ok(change({ targetIdField: 'userId' }))).targetIdField, 'userId');
	assert.deepEqual(await versions(), [1, 1], 'userId is what it was');
	assert.equal((await ok(change({ targetIdField: 'account.id' }))).effectiveTargetIdField, 'account.id');
	assert.deepEqual(await versions(), [2, 2]);
	assert.equal((await ok(change({ targetIdField: null }))).effectiveTargetIdField, 'userId');
	assert.deepEqual(await versions(), [3, 3]);
	const { headers } = await admin.get(`/api/v1/projects/${own.id}`);
	await ok(change({ name: 'Once' }, { headers: { 'if-match': headers.get('etag') } }));
	await refused(change({ name: 'Twice' }, { headers: { 'if-match': headers.get('etag') } }), 412, 'precondition_failed');
	await refused(change({ targetIdField: 'x'.repeat(9000) }), 400, 'invalid_request', /targetIdField/);
	await refused(admin.patch('/api/v1/projects/none', { name: 'x' }), 404, 'not_found');
	assert.ok((await world.audit({ resourceType: 'project', resourceKey: 'target' })).length >= 5);
});

// --- flags ---

test('FL-1 flag_create, flag_get, flag_list: identity is the project’s, the state is in every environment', async () => {
	const before = [await version(staging), await version(live)];
	const made = await newFlag('checkout', { defaultValue: true, rules: [rule(false, { field: 'plan', $equals: 'free' })], description: 'The new one.' });
	assert.equal(made.status, 201, made.text);
	assert.deepEqual(made.json.environments.map((e) => e.version), before.map((v) => v + 1));
	for (const env of [staging, live]) {
		const answer = await admin.get(`${flags(env)}/checkout`);
		assert.match(answer.headers.get('etag'), /^W\/"\d+"$/);
		const { id, createdAt, updatedAt, ...rest } = answer.json;
		assert.deepEqual(rest, { projectId: project.id, envId: env.id, key: 'checkout', type: 'boolean', description: 'The new one.', defaultValue: true, rules: [rule(false, { field: 'plan', $equals: 'free' })] });
	}
	const listed = (await ok(admin.get(flags()))).items.find((item) => item.key === 'checkout');
	assert.deepEqual(listed, await ok(admin.get(`${flags()}/checkout`)));
	await refused(admin.get(`${flags()}/none`), 404, 'not_found');
	await refused(admin.get('/api/v1/envs/none/flags'), 404, 'not_found');
	await refused(admin.get('/api/v1/envs/none/flags/checkout'), 404, 'not_found');
	const entries = await world.audit({ resourceType: 'flag', resourceKey: 'checkout' });
	assert.deepEqual(entries.map((entry) => entry.action), ['record.created', 'record.created']);
	assert.deepEqual(entries.map((entry) => entry.version).sort(), before.map((v) => v + 1).sort());
});

test('FL-1 key_collision: flags and configs share their names, segments have their own', async () => {
	await ok(newFlag('shared'));
	await refused(newFlag('shared'), 409, 'key_collision');
	await refused(newConfig('shared'), 409, 'key_collision');
	await ok(newSegment('shared'));
	await refused(newSegment('shared'), 409, 'key_collision');
	await refused(admin.post('/api/v1/projects/none/flags', { key: 'a', type: 'boolean', defaultValue: true }), 404, 'not_found');
});

test('FL-1 flag_state_put replaces the state in one environment; FL-7 with If-Match only what was read', async () => {
	await ok(newFlag('put'));
	const was = [await version(staging), await version(live)];
	const read = await admin.get(`${flags()}/put`);
	const state = { defaultValue: true, rules: [] };
	const written = await put('flags', 'put', state, { match: read.headers.get('etag') });
	assert.equal(written.status, 200, written.text);
	assert.deepEqual([written.json.defaultValue, written.json.version], [true, was[0] + 1]);
	assert.notEqual(written.headers.get('etag'), read.headers.get('etag'));
	assert.equal((await admin.get(`${flags()}/put`)).headers.get('etag'), written.headers.get('etag'));
	assert.deepEqual([await version(staging), await version(live)], [was[0] + 1, was[1]]);
	await refused(put('flags', 'put', { defaultValue: false, rules: [] }, { match: read.headers.get('etag') }), 412, 'precondition_failed');
	for (const match of ['"x"', 'W/"1"', 'nonsense', '""', ','])
		await refused(put('flags', 'put', { defaultValue: false, rules: [] }, { match }), 412, 'precondition_failed');
	await ok(put('flags', 'put', state, { match: `W/"1", ${written.headers.get('etag')}` }));
	assert.equal(await version(staging), was[0] + 1, 'the same again is no new version');
	await ok(put('flags', 'put', { defaultValue: false, rules: [] }, { match: '*' }));
	assert.equal(await version(staging), was[0] + 2);
	await refused(put('flags', 'none', state), 404, 'not_found');
	await refused(put('flags', 'put', state, { env: { id: 'none' } }), 404, 'not_found');
	const missing = await refused(put('flags', 'put', { defaultValue: true }), 400, 'invalid_request');
	assert.deepEqual(paths(missing), ['/rules']);
	const [entry] = await world.audit({ resourceType: 'flag', resourceKey: 'put' });
	assert.equal(entry.action, 'record.changed');
	assert.equal(entry.version, was[0] + 2);
});

test('FL-1 flag_change: a description is no new version, and a newer ETag', async () => {
	await ok(newFlag('described'));
	const was = await version(), read = await admin.get(`${flags()}/described`);
	const change = (body, match) => admin.patch(`/api/v1/projects/${project.id}/flags/described`, body, match ? { headers: { 'if-match': match } } : {});
	const changed = await change({ description: 'Ours.' }, read.headers.get('etag'));
	assert.equal(changed.status, 200, changed.text);
	assert.equal(changed.json.description, 'Ours.');
	assert.equal(await version(), was);
	const now = await admin.get(`${flags()}/described`);
	assert.equal(now.json.description, 'Ours.');
	assert.equal(now.headers.get('etag'), changed.headers.get('etag'));
	await refused(change({ description: 'x' }, read.headers.get('etag')), 412, 'precondition_failed');
	await ok(change({ description: 'Ours.' }, changed.headers.get('etag')));
	assert.equal((await admin.get(`${flags()}/described`)).headers.get('etag'), changed.headers.get('etag'), 'the same again changes nothing');
	assert.equal((await ok(change({ description: '' }))).description, '');
	await refused(change({ description: 'x'.repeat(5000) }), 400, 'invalid_request', /description/);
	await refused(change({ type: 'string' }), 400, 'invalid_request', /type/);
	await refused(admin.patch(`/api/v1/projects/${project.id}/flags/none`, { description: 'x' }), 404, 'not_found');
	const [entry] = await world.audit({ resourceType: 'flag', resourceKey: 'described' });
	assert.equal(entry.action, 'record.changed');
});

test('FL-1 flag_delete: it goes from every environment, and its name is free again', async () => {
	await ok(newFlag('gone'));
	const was = [await version(staging), await version(live)], { headers } = await admin.get(`${flags(live)}/gone`);
	await ok(put('flags', 'gone', { defaultValue: true, rules: [] }, { env: live }));
	const remove = (match) => admin.delete(`/api/v1/projects/${project.id}/flags/gone`, match ? { headers: { 'if-match': match } } : {});
	await refused(remove('W/"7"'), 412, 'precondition_failed');
	const removed = await ok(remove((await admin.get(`${flags(live)}/gone`)).headers.get('etag')));
	assert.deepEqual(removed.environments.map((e) => e.version), [was[0] + 1, was[1] + 2]);
	assert.ok(headers.get('etag'));
	await refused(remove(), 404, 'not_found');
	for (const env of [staging, live]) await refused(admin.get(`${flags(env)}/gone`), 404, 'not_found');
	await ok(newConfig('gone'));
	const entries = await world.audit({ resourceType: 'flag', resourceKey: 'gone' });
	assert.equal(entries.filter((entry) => entry.action === 'record.deleted').length, 2);
});

// --- configs ---

test('FL-1 config_create, config_get, config_list, config_state_put, config_change, config_delete: values fit their JSON Schema', async () => {
	const path = `/api/v1/projects/${project.id}/configs/limit`;
	assert.equal((await newConfig('limit', { defaultValue: 5, jsonSchema: { maximum: 10 } })).status, 201);
	const read = await ok(admin.get(`/api/v1/envs/${staging.id}/configs/limit`));
	assert.deepEqual([read.jsonSchema, read.defaultValue, read.type], [{ maximum: 10 }, 5, 'number']);
	assert.ok(names((await ok(admin.get(`/api/v1/envs/${staging.id}/configs`))).items).includes('limit'));
	assert.deepEqual(paths(await refused(put('configs', 'limit', { defaultValue: 11, rules: [] }), 400, 'invalid_request')), ['/defaultValue']);
	await ok(put('configs', 'limit', { defaultValue: 8, rules: [{ value: 9 }] }));
	const was = [await version(staging), await version(live)];
	assert.deepEqual(paths(await refused(admin.patch(path, { jsonSchema: { maximum: 8 } }), 400, 'invalid_request')), ['/rules/0/value']);
	assert.deepEqual(paths(await refused(admin.patch(path, { jsonSchema: { type: 'nonsense' } }), 400, 'invalid_request')), ['/jsonSchema/type']);
	assert.deepEqual([await version(staging), await version(live)], was);
	assert.deepEqual((await ok(admin.patch(path, { jsonSchema: { maximum: 9 }, description: 'of days' }))).jsonSchema, { maximum: 9 });
	assert.deepEqual([await version(staging), await version(live)], was.map((v) => v + 1));
	assert.equal((await ok(admin.get(`/api/v1/envs/${live.id}/configs/limit`))).jsonSchema.maximum, 9);
	await ok(admin.patch(path, { jsonSchema: { maximum: 9.0 } }));
	assert.deepEqual([await version(staging), await version(live)], was.map((v) => v + 1), 'the same again is no version');
	assert.equal((await ok(admin.patch(path, { jsonSchema: null }))).jsonSchema, null);
	await ok(put('configs', 'limit', { defaultValue: 800, rules: [] }));
	await ok(admin.delete(path));
	await refused(admin.get(`/api/v1/envs/${staging.id}/configs/limit`), 404, 'not_found');
	assert.deepEqual(paths(await refused(newConfig('bad', { jsonSchema: { minimum: 'x' } }), 400, 'invalid_request')), ['/jsonSchema/minimum']);
	assert.deepEqual(paths(await refused(newConfig('bad', { defaultValue: null }), 400, 'invalid_request')), ['/defaultValue']);
	assert.equal((await newConfig('nothing', { type: 'json', defaultValue: null })).status, 201);
});

// --- segments ---

test('FL-7 segment_create, segment_get, segment_list, segment_state_put, segment_change, segment_references, segment_delete', async () => {
	const path = `/api/v1/projects/${project.id}/segments/staff`;
	assert.equal((await newSegment('staff', { allowList: ['u1'], description: 'Us.' })).status, 201);
	await ok(newFlag('for-staff', { rules: [rule(true), rule(true, { $not: { $or: [{ $segment: 'staff' }] } })] }));
	await ok(newConfig('n-staff', { rules: [rule(1, { $and: [{ field: 'a', $exists: true }, { $segment: 'staff' }] })] }));
	await ok(newSegment('managers', { rules: [{ if: { $segment: 'staff' } }] }));
	const read = await ok(admin.get(`/api/v1/envs/${staging.id}/segments/staff`));
	assert.deepEqual([read.allowList, read.denyList, read.rules, read.description, 'type' in read], [['u1'], [], [], 'Us.', false]);
	assert.ok(names((await ok(admin.get(`/api/v1/envs/${staging.id}/segments`))).items).includes('staff'));
	const references = (who = admin) => who.get(`/api/v1/envs/${staging.id}/segments/staff/references`);
	assert.deepEqual(await ok(references()), { flags: [{ key: 'for-staff', ruleIndex: 1 }], configs: [{ key: 'n-staff', ruleIndex: 0 }], segments: [{ key: 'managers', ruleIndex: 0 }] });
	await refused(admin.get(`/api/v1/envs/${staging.id}/segments/none/references`), 404, 'not_found');
	const inUse = await refused(admin.delete(path), 409, 'in_use');
	assert.deepEqual(paths(inUse), ['flag.for-staff', 'config.n-staff', 'segment.managers']);
	// who may not see them is told of none
	const narrow = await token({ keys: ['staff', 'n-*', 'n-staff'] });
	assert.deepEqual(paths(await refused(narrow.delete(path), 409, 'in_use')), ['config.n-staff']);
	assert.deepEqual(await ok(references(narrow)), { flags: [], configs: [{ key: 'n-staff', ruleIndex: 0 }], segments: [] });
	const alone = await token({ keys: ['staff'] });
	assert.equal((await refused(alone.delete(path), 409, 'in_use')).fields, undefined);
	await ok(put('segments', 'staff', { rules: [], allowList: ['u2', 7], denyList: ['u1'] }));
	assert.deepEqual((await ok(admin.get(`/api/v1/envs/${staging.id}/segments/staff`))).allowList, ['u2', 7]);
	assert.deepEqual(paths(await refused(put('segments', 'staff', { rules: [], allowList: [true], denyList: [] }), 400, 'invalid_request')), ['/allowList/0']);
	assert.equal((await ok(admin.patch(path, { description: 'All of us.' }))).description, 'All of us.');
	for (const other of ['flags/for-staff', 'configs/n-staff', 'segments/managers']) await ok(admin.delete(`/api/v1/projects/${project.id}/${other}`));
	await ok(admin.delete(path));
	await refused(references(), 404, 'not_found');
});

test('a segment that only one environment’s rules name is in use in the whole project', async () => {
	await ok(newSegment('only-live'));
	await ok(newFlag('in-live'));
	await ok(put('flags', 'in-live', { defaultValue: false, rules: [rule(true, { $segment: 'only-live' })] }, { env: live }));
	const was = await version(staging);
	const body = await refused(admin.delete(`/api/v1/projects/${project.id}/segments/only-live`), 409, 'in_use', /live/);
	assert.deepEqual(paths(body), ['flag.in-live']);
	assert.equal(await version(staging), was, 'all or nothing');
});

// --- pages ---

test('a list has pages, by key, and those out of scope are not in it', async () => {
	const [own, env] = await makeProject('pages');
	for (let i = 0; i < 12; i++) await ok(admin.post(`/api/v1/projects/${own.id}/flags`, { key: `${i % 2 ? 'Odd' : 'even'}.${i}`, type: 'boolean', defaultValue: true }));
	const all = [];
	let next = '', pages = 0;
	do {
		const page = await ok(admin.get(`/api/v1/envs/${env.id}/flags?limit=5&after=${next}`));
		all.push(...names(page.items));
		next = page.next;
		pages++;
	} while (next);
	assert.equal(pages, 3);
	assert.deepEqual(all, [...all].sort(), 'in the order of their bytes on both databases');
	assert.equal(all.length, 12);
	const odd = await token({ keys: ['Odd.*'] });
	const first = await ok(odd.get(`/api/v1/envs/${env.id}/flags?limit=5`));
	assert.deepEqual(names(first.items), ['Odd.1', 'Odd.11', 'Odd.3', 'Odd.5', 'Odd.7']);
	const rest = await ok(odd.get(`/api/v1/envs/${env.id}/flags?limit=5&after=${first.next}`));
	assert.deepEqual([names(rest.items), rest.next], [['Odd.9'], undefined]);
	assert.deepEqual((await ok(admin.get(`/api/v1/envs/${env.id}/flags?limit=12`))).next, undefined);
	await refused(admin.get(`/api/v1/envs/${env.id}/flags?limit=0`), 400, 'invalid_request');
});

// --- who may ---

test('scope_denied: a token for some keys or environments stays there', async () => {
	await ok(newFlag('pay.card'));
	await ok(newFlag('other'));
	const pay = await token({ keys: ['pay.*'] });
	await ok(pay.get(`${flags()}/pay.card`));
	await refused(pay.get(`${flags()}/other`), 403, 'scope_denied', /other/);
	await refused(pay.get(`${flags()}/not-there`), 403, 'scope_denied');
	await refused(put('flags', 'other', { defaultValue: true, rules: [] }, { who: pay }), 403, 'scope_denied');
	await refused(newFlag('elsewhere', {}, pay), 403, 'scope_denied');
	assert.equal((await newFlag('pay.cash', {}, pay)).status, 201);
	await refused(pay.patch(`/api/v1/projects/${project.id}/flags/other`, { description: 'x' }), 403, 'scope_denied');
	await refused(pay.delete(`/api/v1/projects/${project.id}/flags/other`), 403, 'scope_denied');
	const here = await token({ environments: [staging.id] });
	await ok(put('flags', 'other', { defaultValue: true, rules: [] }, { who: here }));
	await refused(put('flags', 'other', { defaultValue: true, rules: [] }, { who: here, env: live }), 403, 'scope_denied', /this environment is outside/);
	await refused(here.get(`${flags(live)}/other`), 403, 'scope_denied');
	assert.deepEqual((await ok(here.get(flags(live)))).items, []);
	await refused(newFlag('everywhere', {}, here), 403, 'scope_denied');
	await refused(here.post('/api/v1/orgs/default/projects', { key: 'mine', name: 'Mine' }), 403, 'scope_denied');
	await refused(here.post(`/api/v1/projects/${project.id}/environments`, { key: 'mine', name: 'Mine' }), 403, 'scope_denied');
	await refused(here.patch(`/api/v1/projects/${project.id}`, { name: 'Mine' }), 403, 'scope_denied');
	await refused(here.patch(`/api/v1/envs/${live.id}`, { name: 'Mine' }), 403, 'forbidden', /access\.change/);
});

test('ID-7 an agent writes where it is not production, and hears which proposal does the rest', async () => {
	await ok(newFlag('agents'));
	const agent = (await world.agentOf(admin)).ask();
	await ok(put('flags', 'agents', { defaultValue: true, rules: [] }, { who: agent }));
	await refused(put('flags', 'agents', { defaultValue: true, rules: [] }, { who: agent, env: live }), 403, 'forbidden', /flag\.flag\.write.*set_rules_flag/);
	await refused(newFlag('its-own', {}, agent), 403, 'forbidden', /flag\.flag\.create.*create_flag/);
	await refused(agent.delete(`/api/v1/projects/${project.id}/flags/agents`), 403, 'forbidden', /delete_flag/);
	await refused(agent.post('/api/v1/orgs/default/projects', { key: 'x', name: 'X' }), 403, 'forbidden');
	const observer = await token({ level: 'observer' });
	await ok(observer.get(`${flags()}/agents`));
	await refused(put('flags', 'agents', { defaultValue: true, rules: [] }, { who: observer }), 403, 'forbidden', /flag\.flag\.write/);
	const blind = await token({ rules: ['note.note.read'] });
	for (const path of [flags(), `${flags()}/agents`, `/api/v1/envs/${staging.id}/segments/x/references`]) await refused(blind.get(path), 403, 'forbidden', /read/);
	assert.equal((await world.server.get(flags())).status, 401);
});

test('approval_required: a gate, or the token’s own wish, sends changes to a proposal of the matching kind', async () => {
	const [own, env] = await makeProject('gated');
	await ok(admin.post(`/api/v1/projects/${own.id}/flags`, { key: 'a', type: 'boolean', defaultValue: true }));
	await ok(admin.post(`/api/v1/projects/${own.id}/configs`, { key: 'b', type: 'number', defaultValue: 1 }));
	await ok(admin.post(`/api/v1/projects/${own.id}/segments`, { key: 'c' }));
	const careful = await token({ approvalRequired: true });
	const state = { defaultValue: false, rules: [] };
	await refused(put('flags', 'a', state, { env, who: careful }), 409, 'approval_required', /token.*set_rules_flag/);
	await refused(careful.patch(`/api/v1/projects/${own.id}/flags/a`, { description: 'x' }), 409, 'approval_required', /update_flag_metadata/);
	await ok(admin.patch(`/api/v1/envs/${env.id}`, { approvalGate: true }));
	const robot = await ok(admin.post('/api/v1/agents', { name: 'Maintainer' }));
	const agent = await token({ principalId: robot.id, level: 'maintainer' });
	const stopped = async (who) => {
		await refused(put('flags', 'a', state, { env, who }), 409, 'approval_required', /environment staging.*set_rules_flag/);
		await refused(put('configs', 'b', state, { env, who }), 409, 'approval_required', /set_rules_config/);
		await refused(put('segments', 'c', { rules: [], allowList: [], denyList: [] }, { env, who }), 409, 'approval_required', /set_rules_segment/);
		await refused(who.post(`/api/v1/projects/${own.id}/flags`, { key: 'd', type: 'boolean', defaultValue: true }), 409, 'approval_required', /create_flag/);
		await refused(who.delete(`/api/v1/projects/${own.id}/segments/c`), 409, 'approval_required', /delete_segment/);
		await refused(who.patch(`/api/v1/projects/${own.id}/configs/b`, { jsonSchema: {} }), 409, 'approval_required', /update_config_metadata/);
	};
	await stopped(agent);
	await stopped(admin); // a token never agrees for its person (AP-3)
	// a person has agreed by asking in a session, unless policy wants somebody else: then the gate is one for them, too (decisions 12, 32)
	const boss = await world.person(['admin']);
	const settings = await ok(admin.get('/api/v1/settings'));
	await ok(admin.put('/api/v1/settings', { policy: { ...settings.policy, fourEyes: true } }));
	await stopped(boss);
	await ok(admin.put('/api/v1/settings', { policy: settings.policy }));
	const team = await ok(admin.post('/api/v1/teams', { name: 'Flag owners', members: [(await ok(admin.get('/api/v1/me'))).id, (await world.person(['admin'])).id] })); // one to ask, one to agree
	await ok(admin.put('/api/v1/settings', { policy: { ...settings.policy, groups: [{ teamId: team.id, votes: 1 }] } }));
	await stopped(boss);
	await ok(admin.patch(`/api/v1/envs/${env.id}`, { approvalGate: false }));
	await stopped(agent); // a team is asked where there is no gate
	await ok(admin.put('/api/v1/settings', { policy: settings.policy }));
	await ok(admin.patch(`/api/v1/envs/${env.id}`, { approvalGate: true }));
	assert.equal((await ok(admin.patch(`/api/v1/projects/${own.id}/configs/b`, { description: 'changes no answer' }))).description, 'changes no answer');
	assert.equal(await version(env), 4);
	await ok(put('flags', 'a', state, { env, who: boss }));
	assert.equal(await version(env), 5, 'the person’s own');
	await refused(boss.delete(`/api/v1/projects/${own.id}/segments/c`), 409, 'approval_required', /delete_segment/); // category C: on the card
	const tools = new Set((await ok(admin.get('/api/v1/tools'))).tools.map((tool) => tool.name));
	for (const kind of ['flag', 'config', 'segment'].flatMap((r) => [`set_rules_${r}`, `create_${r}`, `update_${r}_metadata`, `delete_${r}`])) assert.ok(tools.has(`flag.${kind}`), `what a refusal names is a tool: flag.${kind}`);
});

test('FL-1 another tenant’s rows are 404, never 403, and are in no list', async () => {
	await world.change(`
		INSERT INTO org (org_id, slug, name, settings, policy_version, created_at) VALUES ('o2', 'other', 'Other', '{}', 1, 1);
		INSERT INTO project (org_id, project_id, slug, name, created_at) VALUES ('o2', 'p2', 'theirs', 'Theirs', 1);
		INSERT INTO environment (org_id, environment_id, project_id, slug, name, production, approval_gate, created_at) VALUES ('o2', 'e2', 'p2', 'live', 'Live', 0, 0, 1);
		INSERT INTO flag_item (org_id, project_id, space, key, item_id, kind, type, description, schema, created_at, updated_at) VALUES ('o2', 'p2', 'value', 'a', 'i2', 'flag', 'boolean', '', '', 1, 1);
		INSERT INTO flag_state (org_id, environment_id, kind, key, version, valid_from, doc) VALUES ('o2', 'e2', 'flag', 'a', 1, 1, '{"type":"boolean","defaultValue":true,"rules":[]}');`);
	admin = world.admin;
	const state = { defaultValue: true, rules: [] };
	for (const answer of [
		admin.get('/api/v1/projects/p2'), admin.patch('/api/v1/projects/p2', { name: 'x' }), admin.get('/api/v1/projects/p2/environments'),
		admin.post('/api/v1/projects/p2/environments', { key: 'x', name: 'x' }), admin.get('/api/v1/envs/e2'), admin.patch('/api/v1/envs/e2', { name: 'x' }),
		admin.get('/api/v1/envs/e2/flags'), admin.get('/api/v1/envs/e2/flags/a'), admin.put('/api/v1/envs/e2/flags/a/state', state),
		admin.post('/api/v1/projects/p2/flags', { key: 'b', type: 'boolean', defaultValue: true }), admin.patch('/api/v1/projects/p2/flags/a', { description: 'x' }),
		admin.delete('/api/v1/projects/p2/flags/a'), admin.get('/api/v1/envs/e2/segments/a/references'), admin.get('/api/v1/orgs/other/projects'),
	])
		await refused(answer, 404, 'not_found');
	assert.ok(!names((await ok(admin.get('/api/v1/orgs/default/projects'))).items).includes('theirs'));
});

// --- many at once ---

test('FL-7 of two writers who read the same, one is told', async () => {
	await ok(newFlag('race'));
	for (let round = 0; round < 10; round++) {
		const { headers } = await admin.get(`${flags()}/race`);
		const writes = [1, 2, 3].map((n) => put('flags', 'race', { defaultValue: false, rules: [rule(true, { field: 'n', $equals: `${round}.${n}` })] }, { match: headers.get('etag') }));
		const answers = await Promise.all(writes);
		assert.deepEqual(answers.map((a) => a.status).sort(), [200, 412, 412]);
		const winner = answers.find((a) => a.status === 200);
		assert.deepEqual((await ok(admin.get(`${flags()}/race`))).rules, winner.json.rules);
	}
});

test('FL-1 versions of many writers have neither gaps nor duplicates', async () => {
	const [own, one, two] = await makeProject('busy');
	const path = `/api/v1/projects/${own.id}`;
	for (let i = 0; i < 4; i++) await ok(admin.post(`${path}/flags`, { key: `f${i}`, type: 'string', defaultValue: '' }));
	const work = [];
	for (let i = 0; i < 40; i++) work.push(put('flags', `f${i % 4}`, { defaultValue: `${i}`, rules: [] }, { env: i % 2 ? one : two }));
	for (let i = 0; i < 8; i++) work.push(admin.post(`${path}/segments`, { key: `s${i}` }));
	const answers = await Promise.all(work);
	for (const answer of answers) assert.ok(answer.status < 300, answer.text);
	for (const env of [one, two]) {
		const seen = answers.flatMap(({ json }) => (json.environments ? json.environments.filter((e) => e.id === env.id).map((e) => e.version) : json.envId === env.id ? [json.version] : []));
		assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 28 }, (_, i) => 6 + i));
		assert.equal(await version(env), 33);
	}
});

test('an environment and a flag made at once know each other', async () => {
	const [own] = await makeProject('together');
	const made = await Promise.all([
		...[1, 2, 3].map((i) => admin.post(`/api/v1/projects/${own.id}/environments`, { key: `e${i}`, name: 'E', production: false })),
		...[1, 2, 3].map((i) => admin.post(`/api/v1/projects/${own.id}/flags`, { key: `f${i}`, type: 'boolean', defaultValue: true })),
		...[1, 2].map(() => admin.post(`/api/v1/projects/${own.id}/environments`, { key: 'same', name: 'E', production: false })),
		...[1, 2].map(() => admin.post(`/api/v1/projects/${own.id}/configs`, { key: 'same', type: 'number', defaultValue: 1 })),
	]);
	assert.deepEqual(made.map((a) => a.status).sort(), [201, 201, 201, 201, 201, 201, 201, 201, 409, 409]);
	for (const env of (await ok(admin.get(`/api/v1/projects/${own.id}/environments`))).items) {
		assert.deepEqual(names((await ok(admin.get(`/api/v1/envs/${env.id}/flags`))).items), ['f1', 'f2', 'f3']);
		assert.deepEqual(names((await ok(admin.get(`/api/v1/envs/${env.id}/configs`))).items), ['same']);
	}
});

// --- hostile ---

const nested = (depth) => Array.from({ length: depth }).reduce((inner) => ({ $not: inner }), { field: 'a', $exists: true });
const hostile = [
	['a regex bomb', { rules: [rule(true, { field: 'a', $matches: '((a{1,100}){1,100}){1,100}' })] }, ['/rules/0/if/$matches']],
	['a pattern that is none', { rules: [rule(true, { field: 'a', $matches: '(' })] }, ['/rules/0/if/$matches']],
	['a deep tree', { rules: [rule(true, nested(17))] }, [`/rules/0/if${'/$not'.repeat(16)}`]],
	['a number beyond a double', { rules: [rule(true, { field: 'a', $gt: 'X309' })] }, ['/rules/0/if/$gt'], (text) => text.replace('"X309"', '1e309')],
	['a number that no record keeps', { rules: [rule(true, { field: 'a', $gt: 'XBIG' })] }, ['/rules/0/if/$gt'], (text) => text.replace('"XBIG"', '9007199254740993')],
	['another type', { rules: [rule('yes')] }, ['/rules/0/value']],
	['an unknown segment', { rules: [rule(true, { $segment: 'nobody' })] }, ['/rules/0/if/$segment']],
	['an unknown member', { rules: [{ value: true, then: 1 }] }, ['/rules/0/then']],
	['rules that are no list', { rules: {} }, ['/rules']],
	['rules that are null', { rules: null }, ['/rules']],
	['too many rules', { rules: Array.from({ length: 201 }, () => rule(true)) }, ['/rules']],
	['a rollout beyond all', { rules: [{ value: true, rolloutPercent: 101 }] }, ['/rules/0/rolloutPercent']],
];

for (const [name, state, expected, edit = (text) => text] of hostile) {
	test(`FL-3 ${name} is refused with a path into the body, when it is made and when it is replaced`, async () => {
		const key = `hostile-${hostile.findIndex(([n]) => n === name)}`;
		const whole = edit(JSON.stringify({ defaultValue: false, ...state }));
		const made = await refused(admin.post(`/api/v1/projects/${project.id}/flags`, edit(JSON.stringify({ key, type: 'boolean', defaultValue: false, ...state }))), 400, 'invalid_request');
		assert.deepEqual(paths(made), expected);
		await ok(newFlag(key));
		const was = await version();
		const replaced = await refused(put('flags', key, whole), 400, 'invalid_request');
		assert.deepEqual(replaced.fields, made.fields, 'the same words for both');
		assert.equal(await version(), was);
	});
}

test('FL-3 keys, texts and lists that cannot be are refused before they reach the database', async () => {
	for (const key of ['', 'a b', '/x', '.x', 'ü', 'x'.repeat(201)]) assert.deepEqual(paths(await refused(newFlag(key), 400, 'invalid_request')), ['/key'], key);
	await refused(admin.post(`/api/v1/projects/${project.id}/flags`, '{"key":"nul","type":"string","defaultValue":"\\u0000"}'), 400, 'bad_json');
	await refused(admin.post(`/api/v1/projects/${project.id}/flags`, '{"key":"lone","type":"string","defaultValue":"\\ud800"}'), 400, 'bad_json');
	const long = await newSegment('long', { allowList: Array.from({ length: 100001 }, (_, i) => i) });
	assert.ok([400, 413].includes(long.status), long.text);
	assert.equal((await newSegment('full', { allowList: Array.from({ length: 90000 }, (_, i) => i) })).status, 201);
	assert.equal((await ok(admin.get(`/api/v1/envs/${staging.id}/segments/full`))).allowList.length, 90000);
	await ok(admin.delete(`/api/v1/projects/${project.id}/segments/full`));
	await refused(newFlag('odd', { type: 'json' }), 400, 'invalid_request', /type/);
	await refused(newSegment('typed', { type: 'boolean' }), 400, 'invalid_request', /type/);
	await refused(admin.get(`${flags()}/${'x'.repeat(201)}`), 400, 'invalid_request');
});

test('FL-3 a circle through three segments is refused by name, and nothing is written', async () => {
	await ok(newSegment('c1'));
	await ok(newSegment('c2', { rules: [{ if: { $segment: 'c1' } }] }));
	await ok(newSegment('c3', { rules: [{ if: { $segment: 'c2' } }] }));
	const was = await version();
	const body = await refused(put('segments', 'c1', { rules: [{ if: { $segment: 'c3' } }], allowList: [], denyList: [] }), 400, 'invalid_request', /c1 -> c3 -> c2 -> c1/);
	assert.deepEqual(paths(body), ['']);
	await refused(put('segments', 'c2', { rules: [{ if: { $segment: 'c3' } }], allowList: [], denyList: [] }), 400, 'invalid_request', /circle: /);
	assert.equal(await version(), was);
	await ok(newSegment('z1'));
	await ok(newSegment('b1', { rules: [{ if: { $segment: 'z1' } }] }));
	const elsewhere = await refused(put('segments', 'z1', { rules: [{ if: { $segment: 'b1' } }], allowList: [], denyList: [] }), 400, 'invalid_request', /^\/segments\/b1 .*b1 -> z1 -> b1/);
	assert.deepEqual(paths(elsewhere), [''], 'found from the other end, it is still this body that is wrong');
	assert.equal((await refused(newSegment('self', { rules: [{ if: { $segment: 'self' } }] }), 400, 'invalid_request', /self -> self/)).fields.length, 1);
});
