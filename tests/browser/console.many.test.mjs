// SPDX-License-Identifier: Apache-2.0
// WEB-1: the console's inbox with ten thousand proposals that wait, all of them real.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { Desk, done } from './lib/desk.mjs';

const MANY = 10_000, AT_ONCE = 16;
let desk, ana;
before(async () => {
	desk = await Desk.open({ args: ['--open-proposals', `${2 * MANY}`] });
	ana = await desk.member('Ana Torres');
	const w = desk.world, agent = (await w.agentOf(await w.person(['admin']), { level: 'maintainer', ratePerMinute: 100_000 })).ask();
	let next = 0;
	const propose = async () => {
		while (next < MANY) await ok(agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: `Number ${next++}`, text: 'one of many' } }));
	};
	await Promise.all(Array.from({ length: AT_ONCE }, propose));
});
after(() => desk?.close());

test('WEB-1 ten thousand pending: few elements, a request a page and none a row, and nothing jumps', async () => {
	const page = await desk.page('/');
	await page.evaluate(() => {
		window.shift = 0;
		new PerformanceObserver((entries) => entries.getEntries().forEach((e) => (window.shift += e.hadRecentInput ? 0 : e.value))).observe({ type: 'layout-shift', buffered: true });
	});
	await desk.signIn(page, ana);
	await page.locator('.row').first().waitFor();
	const before = page.asked.length, asked = () => page.asked.slice(before);
	const count = page.getByText(MANY.toLocaleString('en-US'), { exact: true });
	for (let seen = -1, idle = 0; !(await count.count());) { // as long as something comes: how fast is the machine's affair
		await page.locator('.rows').evaluate((box) => box.scrollTo(0, box.scrollHeight));
		await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
		assert.ok((await page.locator('.row').count()) < 60);
		idle = asked().length === seen ? idle + 1 : 0;
		seen = asked().length;
		assert.ok(idle < 1000, `nothing more came after ${seen} requests`);
	}
	const lists = asked().filter((one) => one === 'GET /api/v1/proposals').length;
	assert.ok(lists >= MANY / 200 - 1 && lists <= 70, `${lists} pages`);
	assert.ok(asked().every((one) => !one.includes('/proposals/')), 'none a row');
	assert.ok((await page.evaluate(() => window.shift)) < 0.1);
	await done(page);
});
