// SPDX-License-Identifier: Apache-2.0
// FL-6: the published OpenFeature SDK for the web with its OFREP provider, unchanged, in Chromium, on a page of another
// origin: CORS, ETag, and news by Server-Sent Events instead of polling. CHROMIUM says where the browser is.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { build } from 'esbuild';
import { chromium } from 'playwright-core';

import { Shop } from '../api/lib/flags.mjs';
import { ok, World } from '../api/lib/flow.mjs';
import { fixedAddress, root, startAgain, until } from '../api/lib/server.mjs';

const program = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(program)) throw new Error(`${program} does not exist; tools/install browser, or say where it is with CHROMIUM`);

let w, shop, token, site, browser;
before(async () => {
	w = await World.start({ listen: await fixedAddress() });
	shop = await Shop.open(w.admin);
	await shop.flag('checkout', { rules: [{ if: { field: 'plan', $equals: 'pro' }, value: true }] });
	await shop.flag('colour', { type: 'string', defaultValue: 'red' });
	await shop.config('limits', { type: 'json', defaultValue: { max: 3 } });
	token = (await mint()).token;
	const bundle = await build({ entryPoints: [path.join(root, 'tests/browser/page.mjs')], bundle: true, write: false, format: 'iife', logLevel: 'silent' });
	const script = bundle.outputFiles[0].text;
	site = createServer((request, answer) => {
		const isScript = request.url === '/page.js';
		answer.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8' });
		answer.end(isScript ? script : '<!doctype html><title>shop</title><script src="/page.js"></script>');
	});
	await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
	browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
});
after(async () => {
	await browser?.close();
	site?.close();
	site?.closeAllConnections();
	await w?.stop();
});

const mint = () => ok(w.admin.post('/api/v1/tokens', { name: 'page', principalId: w.first.agentId, actions: ['read'], environments: [shop.staging.id] }));

/** A page of another origin; what it asked the server for is in page.asked. */
async function open(context = undefined) {
	const own = context ?? (await browser.newContext());
	own.setDefaultTimeout(120_000); // the machine may be busy
	const page = Object.assign(await own.newPage(), { asked: [], wrong: [] });
	page.on('response', (response) => response.url().includes('/ofrep/') && page.asked.push({ method: response.request().method(), url: response.url(), status: response.status() }));
	page.on('pageerror', (error) => page.wrong.push(error.message));
	await page.goto(`http://127.0.0.1:${site.address().port}/`);
	return page;
}
const begin = (page, context = { targetingKey: 'u' }, options = {}, as = token) => page.evaluate(([url, ...rest]) => window.countersign.begin(url, ...rest), [w.server.url, as, context, options]);
const details = (page, kind, key, otherwise) => page.evaluate((args) => window.countersign.details(...args), [kind, key, otherwise]);
const value = async (page, kind, key, otherwise) => (await details(page, kind, key, otherwise)).value;
const seen = (page, event) => page.evaluate((name) => window.countersign.seen.filter((s) => s.event === name), event);
const follows = (page) => until(() => page.asked.some((a) => a.url.includes('/events') && a.status === 200), 'the stream');
const posts = (page) => page.asked.filter((a) => a.method === 'POST');

test('FL-6 web SDK: all values at once, from another origin', async () => {
	const page = await open();
	await begin(page, { targetingKey: 'u', plan: 'pro' });
	const checkout = await details(page, 'Boolean', 'checkout', false);
	assert.deepEqual([checkout.value, checkout.reason], [true, 'TARGETING_MATCH']);
	assert.equal(await value(page, 'String', 'colour', 'none'), 'red');
	assert.deepEqual(await value(page, 'Object', 'limits', {}), { max: 3 });
	const missing = await details(page, 'Boolean', 'none', true);
	assert.deepEqual([missing.value, missing.errorCode], [true, 'FLAG_NOT_FOUND']);
	assert.equal(posts(page).length, 1, 'one request has answered all of it');
	await page.evaluate(() => window.countersign.become({ targetingKey: 'u', plan: 'free' }));
	// the provider sends the ETag it has along with the new context, and shows what it has meanwhile
	await until(async () => (await value(page, 'Boolean', 'checkout', true)) === false, 'the answer to the other context');
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});

test('FL-6 web SDK: a change arrives by the stream, without polling', async () => {
	const page = await open();
	await begin(page);
	await follows(page);
	const before = posts(page).length;
	await shop.put('flags', 'colour', { defaultValue: 'blue', rules: [] });
	await until(async () => (await value(page, 'String', 'colour', 'none')) === 'blue', 'the new value');
	const [changed] = await seen(page, 'PROVIDER_CONFIGURATION_CHANGED');
	assert.deepEqual(changed.changed, ['colour'], 'and only what changed is named');
	const refetch = posts(page).slice(before);
	assert.ok(refetch.length >= 1 && refetch.every((a) => a.url.includes('flagConfigEtag=')), JSON.stringify(refetch));
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});

test('FL-6 web SDK: what the page has not to fetch again is 304', async () => {
	const page = await open();
	await begin(page, { targetingKey: 'u' }, { pollInterval: 50, changeDetection: 'polling' });
	await until(() => posts(page).filter((a) => a.status === 304).length > 2, 'some answers without a body');
	await shop.put('flags', 'colour', { defaultValue: 'green', rules: [] });
	await until(async () => (await value(page, 'String', 'colour', 'none')) === 'green', 'the new value');
	await page.context().close();
});

test('FL-6 web SDK: a server that was away is found again, and what was missed arrives', async () => {
	const page = await open();
	await begin(page);
	await follows(page);
	await w.server.stop({ keep: true });
	await until(async () => (await seen(page, 'PROVIDER_STALE')).length > 0, 'the page to notice');
	w.server = await startAgain(w.server);
	shop.who = w.admin;
	await shop.put('flags', 'colour', { defaultValue: 'violet', rules: [] });
	await until(async () => (await value(page, 'String', 'colour', 'none')) === 'violet', 'what was missed');
	await page.context().close();
});

test('FL-6 web SDK: a token that was revoked ends the stream and is an error at the next start', async () => {
	const own = await mint(), page = await open();
	await begin(page, { targetingKey: 'u' }, {}, own.token);
	await follows(page);
	await ok(w.admin.delete(`/api/v1/tokens/${own.id}`));
	await shop.put('flags', 'colour', { defaultValue: 'black', rules: [] });
	await until(() => page.asked.some((a) => a.url.includes('/events') && a.status === 401), 'the end of the stream');
	const again = await open(await browser.newContext());
	await assert.rejects(begin(again, { targetingKey: 'u' }, {}, own.token), /ProviderFatalError/);
	await again.context().close();
	await page.context().close();
});
