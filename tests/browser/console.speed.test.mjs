// SPDX-License-Identifier: Apache-2.0
// WEB-1: the console on a slow phone and on a slow connection: what is on the way is said, what comes moves nothing that
// is there (layout shift, as the browser measures it), and what is needed first comes first. No clock is looked at.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from '../api/lib/flags.mjs';
import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { button, Desk, done } from './lib/desk.mjs';

let desk, w, ana, proposal, entry;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	const note = await w.note('Runbook', 'one');
	for (let i = 0; i < 12; i++) await w.propose();
	proposal = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'two' }, expiresInSeconds: 600 });
	const shop = await Shop.open(w.admin, 'shop');
	await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.org' } }] });
	await shop.flag('checkout', { rules: [{ if: { field: 'plan', $in: ['pro', 'team'] }, value: true, rolloutPercent: 25 }, { if: { $segment: 'staff' }, value: true }] });
	[entry] = await w.audit({ action: 'record.created' });
});
after(() => desk?.close());

/** A phone of a few years ago on a mobile network. */
async function slow(page, { cpu = 4, latency = 150, bytes = 200_000 } = {}) {
	const session = await page.context().newCDPSession(page);
	await session.send('Network.enable');
	await session.send('Network.emulateNetworkConditions', { offline: false, latency, downloadThroughput: bytes, uploadThroughput: bytes / 2 });
	await session.send('Emulation.setCPUThrottlingRate', { rate: cpu });
}

/** From the first frame on, what moved although nobody touched anything. */
const watch = (page) => page.addInitScript(() => {
	window.shifts = [];
	new PerformanceObserver((list) => {
		for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts.push({ value: one.value, what: one.sources.map(({ node }) => node?.className || node?.nodeName) });
	}).observe({ type: 'layout-shift', buffered: true });
});
async function unmoved(page, what) {
	await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
	const shifts = await page.evaluate(() => window.shifts);
	const sum = shifts.reduce((n, { value }) => n + value, 0);
	assert.ok(sum < 0.1, `${what}: ${sum} ${JSON.stringify(shifts)}`);
}

const phone = async () => {
	const page = await desk.desk(ana, '/', { look: 'phone' });
	await watch(page);
	await slow(page);
	return page;
};

const places = {
	'the inbox': ['/', (page) => page.locator('.row').first().waitFor()],
	'a proposal': [() => `/proposals/${proposal.proposalId}`, (page) => page.locator('#why-title').waitFor()],
	'the overview': ['/overview', async (page) => {
		await page.locator('.uplot canvas').waitFor();
		await page.locator('.bars').first().waitFor();
	}],
	'the agents': ['/agents', (page) => page.getByRole('link', { name: 'First agent' }).waitFor()],
	'the flags': ['/flags/shop', (page) => page.locator('.flag-table tbody tr').first().waitFor()],
	'a flag': ['/flags/shop/flags/checkout', (page) => until(async () => (await page.locator('.env').count()) === 2 && (await page.locator('.env [role=status]').count()) === 0, 'both environments')],
	'an editor': ['/flags/shop/flags/checkout/live', (page) => page.getByText('would be answered differently').waitFor()],
	'the log': ['/audit', (page) => page.locator('.audit-table').waitFor()],
	'the settings': ['/settings', (page) => page.locator('.page .panel').nth(1).waitFor()],
	'an entry': [() => `/audit/${entry.id}`, (page) => page.locator('.chain svg').waitFor()],
};

test('WEB-1 on a slow phone every page draws without anything that moves', async () => {
	const page = await phone();
	for (const [name, [at, there]] of Object.entries(places)) {
		await page.goto(desk.url + (typeof at === 'function' ? at() : at));
		await there(page);
		await unmoved(page, name);
	}
	await done(page);
});

test('WEB-1 on a slow phone one decides: the card is there before anything else, and a tap opens the dialog', async () => {
	const page = await phone();
	await page.goto(`${desk.url}/proposals/${proposal.proposalId}`);
	await page.locator('.card').waitFor();
	assert.deepEqual(page.asked.filter((asked) => /\/console\/(agents|audit|flags|overview|chart|settings)-/.test(asked)), [], 'nothing of other pages');
	await page.getByRole('button', { name: 'Approve' }).tap();
	await page.getByRole('dialog').waitFor();
	await button(page.getByRole('dialog'), 'Approve').tap();
	await page.getByText('Approved.').waitFor();
	await done(page);
	await ok(w.admin.post(`/api/v1/proposals/${proposal.proposalId}/cancel`));
});

test('WEB-1 on a slow connection what is on its way is said; it comes without a jump; and a page can be left meanwhile', async () => {
	const page = await desk.desk(ana, '/', { look: 'phone' });
	await watch(page);
	const held = [];
	let hold = true;
	await page.route((url) => url.pathname.startsWith('/api/v1/orgs') || url.pathname === '/api/v1/proposals', (route) => (hold ? void held.push(route) : route.continue()));
	await slow(page, { cpu: 1, latency: 400, bytes: 50_000 });
	for (const at of ['/', '/overview', '/audit', '/flags']) {
		hold = true;
		await page.goto(desk.url + at);
		await page.getByRole('status').getByText('Loading…').first().waitFor();
		await page.locator('.bar').waitFor();
		hold = false;
		for (const route of held.splice(0)) await route.continue().catch(() => {});
		await until(async () => (await page.getByText('Loading…').count()) === 0, `${at} to be there`);
		await unmoved(page, at);
	}
	hold = true;
	await page.goto(`${desk.url}/audit`);
	await page.getByRole('status').getByText('Loading…').first().waitFor();
	await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Agents' }).click();
	await page.getByRole('link', { name: 'First agent' }).waitFor();
	hold = false;
	for (const route of held.splice(0)) await route.continue().catch(() => {});
	assert.equal(new URL(page.url()).pathname, '/agents');
	await done(page);
});
