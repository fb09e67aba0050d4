// SPDX-License-Identifier: Apache-2.0
// WEB-1: the console's navigation, and agents with what they may.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { button, Desk, done } from './lib/desk.mjs';

let desk, w, ana;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
});
after(() => desk?.close());

const nav = (page) => page.getByRole('navigation', { name: 'Pages' });
const entry = (page, name) => nav(page).getByRole('link', { name });

test('WEB-1 the bar leads to each page, says where one is and how much waits; back and a fresh load come to the same place', async () => {
	const page = await desk.desk(ana);
	await page.locator('.link-live').waitFor();
	await entry(page, 'Agents').click();
	await page.getByRole('heading', { name: 'Agents' }).waitFor();
	await page.locator('main:focus').waitFor(); // whoever listens hears the new page
	await until(async () => (await page.title()) === 'Agents · Countersign', 'the title');
	assert.equal(await entry(page, 'Agents').getAttribute('aria-current'), 'page');
	const p = await w.propose();
	await entry(page, 'Inbox').getByText('1', { exact: true }).waitFor();
	await until(async () => (await page.title()) === '(1) Agents · Countersign', 'the count in the title');
	await entry(page, 'Inbox').click();
	await page.locator(`#row-${p.proposalId}`).waitFor();
	await page.goBack();
	await page.getByRole('heading', { name: 'Agents' }).waitFor();
	await page.reload();
	await page.getByRole('link', { name: 'First agent' }).waitFor();
	await page.keyboard.press('Control+k');
	await page.keyboard.type('inbox: wait');
	await page.getByRole('option', { name: 'Inbox: Waiting', selected: true }).waitFor();
	await page.keyboard.press('Enter');
	await page.locator(`#row-${p.proposalId}`).waitFor();
	await done(page);
	await ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/cancel`));
});

test('WEB-1 a page whose script does not come says so, and a fresh start helps', async () => {
	const page = await desk.page('/');
	await page.route('**/console/agents-*.js', (route) => route.abort());
	await desk.signIn(page, ana);
	await entry(page, 'Agents').click();
	await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
	await page.unroute('**/console/agents-*.js');
	await button(page, 'Try again').click();
	await page.getByRole('link', { name: 'First agent' }).waitFor();
	await page.context().close();
});
