// SPDX-License-Identifier: Apache-2.0
// FL-6: the published OpenFeature SDK for servers with its OFREP provider, unchanged, against the real program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { OFREPProvider } from '@openfeature/ofrep-provider';
import { ErrorCode, OpenFeature, StandardResolutionReasons } from '@openfeature/server-sdk';

import { Shop } from '../api/lib/flags.mjs';
import { ok, World } from '../api/lib/flow.mjs';
import { startSetUp, until } from '../api/lib/server.mjs';

let w, shop, token;
before(async () => {
	w = await World.start();
	shop = await Shop.open(w.admin);
	await shop.flag('bool-flag', { defaultValue: false, rules: [{ if: { field: 'plan', $equals: 'pro' }, value: true }] });
	await shop.flag('str-flag', { type: 'string', defaultValue: 'grün' });
	await shop.flag('half', { rules: [{ value: true, rolloutPercent: 50 }] });
	await shop.config('num-flag', { defaultValue: 2.5 });
	await shop.config('obj-flag', { type: 'json', defaultValue: { a: [1, { b: null }] } });
	token = await mint({ environments: [shop.staging.id] });
});
after(async () => {
	await OpenFeature.close();
	await w.stop();
});

const mint = async (more) => (await ok(w.admin.post('/api/v1/tokens', { name: 'sdk', principalId: w.first.agentId, actions: ['read'], ...more }))).token;

/** A client of its own: `name` keeps the providers of these tests apart. */
async function client(name, { as = token, server = w.server, base = server.url } = {}) {
	const provider = new OFREPProvider({ baseUrl: base, headers: [['Authorization', `Bearer ${as}`]] });
	await OpenFeature.setProviderAndWait(name, provider);
	return OpenFeature.getClient(name);
}

test('FL-6 server SDK: every type of value, with its reason', async () => {
	const c = await client('types');
	assert.equal(await c.getBooleanValue('bool-flag', false, { targetingKey: 'u', plan: 'pro' }), true);
	const details = await c.getBooleanDetails('bool-flag', true, { targetingKey: 'u' });
	assert.deepEqual([details.value, details.reason, details.errorCode], [false, StandardResolutionReasons.DEFAULT, undefined]);
	assert.equal((await c.getBooleanDetails('bool-flag', false, { plan: 'pro' })).reason, StandardResolutionReasons.TARGETING_MATCH);
	assert.equal(await c.getStringValue('str-flag', 'x'), 'grün');
	assert.equal((await c.getStringDetails('str-flag', 'x')).reason, StandardResolutionReasons.STATIC);
	assert.equal(await c.getNumberValue('num-flag', 0), 2.5);
	assert.deepEqual(await c.getObjectValue('obj-flag', {}), { a: [1, { b: null }] });
});

test('FL-6 server SDK: a share is SPLIT, and the targeting key is the project\'s target', async () => {
	const c = await client('split');
	for (let i = 0; i < 20; i++) {
		const { value, reason } = await c.getBooleanDetails('half', false, { targetingKey: `user-${i}` });
		assert.equal(reason, value ? StandardResolutionReasons.SPLIT : StandardResolutionReasons.DEFAULT);
		assert.equal((await shop.evaluate({ userId: `user-${i}` }, { keys: ['half'] })).evaluations.half.value, value);
	}
});

test('FL-6 server SDK: what is not there, or of another type, or not allowed, is the default with a code', async () => {
	const c = await client('errors');
	const missing = await c.getBooleanDetails('none', true);
	assert.deepEqual([missing.value, missing.errorCode], [true, ErrorCode.FLAG_NOT_FOUND]);
	const mistyped = await c.getBooleanDetails('str-flag', true);
	assert.deepEqual([mistyped.value, mistyped.errorCode], [true, ErrorCode.TYPE_MISMATCH]);
	const stranger = await (await client('stranger', { as: 'cs_agt_nobody' })).getBooleanDetails('bool-flag', true);
	assert.deepEqual([stranger.value, stranger.errorCode], [true, ErrorCode.GENERAL]);
	const narrow = await (await client('narrow', { as: await mint({ environments: [shop.staging.id], keys: ['web.*'] }) })).getBooleanDetails('bool-flag', true);
	assert.deepEqual([narrow.value, narrow.errorCode], [true, ErrorCode.GENERAL]);
});

test('FL-6 server SDK: an environment in the base URL, for a token of many', async () => {
	const c = await client('named', { as: w.first.adminToken, base: `${w.server.url}/api/v1/envs/${shop.live.id}` });
	assert.equal(await c.getStringValue('str-flag', 'x'), 'grün');
	await shop.put('flags', 'str-flag', { defaultValue: 'blau', rules: [] }, shop.live);
	assert.equal(await c.getStringValue('str-flag', 'x'), 'blau', 'the next evaluation has it');
	assert.equal(await (await client('other')).getStringValue('str-flag', 'x'), 'grün');
});

test('FL-6 server SDK: after a 429 it waits as long as it was told', async () => {
	const slow = await startSetUp({ args: ['--evaluations-per-second', '2'] });
	try {
		const own = await Shop.open(slow.as(slow.first.adminToken), 'slow');
		await own.flag('f', { defaultValue: true });
		const c = await client('slow', { as: slow.first.agentToken, server: slow, base: `${slow.url}/api/v1/envs/${own.staging.id}` });
		await until(async () => (await c.getBooleanDetails('f', false)).errorCode === ErrorCode.GENERAL, 'a refusal');
		await until(async () => (await c.getBooleanDetails('f', false)).value === true, 'its end');
	} finally {
		await slow.stop();
	}
});
