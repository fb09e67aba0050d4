// SPDX-License-Identifier: Apache-2.0
// WEB-1: the overview: figures from the log, live, drawn and as a table.
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

const tile = (page, name) => page.locator('.tile', { has: page.getByText(name, { exact: true }) }).locator('dd');
const says = (page, name, wanted) => until(async () => wanted.test(await tile(page, name).innerText()), `${name}: ${wanted}`);
const deny = (p) => ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash }));

test('WEB-1 the overview of a day without anything says so; then it counts what happens, by itself', async () => {
	const page = await desk.desk(ana, '/overview');
	await says(page, 'Proposed', /^0$/);
	await page.getByText('Nothing happened in this time.').first().waitFor();
	assert.equal(await tile(page, 'Half were decided within').innerText(), '–');
	await page.locator('.link-live').waitFor();
	const one = await w.propose(), two = await w.propose();
	await w.propose();
	await w.approve(one, w.admin, { apply: true });
	await deny(two);
	await says(page, 'Proposed', /^3$/);
	await says(page, 'Applied', /^1$/);
	await says(page, 'Denied', /^1$/);
	await says(page, 'Waiting now', /^1$/);
	await says(page, 'Half were decided within', /^\d+ s$/);
	await page.locator('.bars').getByText('note.create').waitFor();
	await page.locator('.bars').getByText('First agent').waitFor();
	await page.locator('.uplot canvas').waitFor();
	await page.getByRole('img', { name: /^Proposals over time: Proposed 3, Applied 1, Denied 1/ }).waitFor();
	await page.getByText('As a table').click();
	const sums = await page.locator('.sheet .table tbody tr').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent))));
	assert.deepEqual(sums.reduce((a, b) => a.map((n, i) => n + b[i])), [3, 1, 1, 0]);
	await page.getByRole('combobox', { name: /^Time/ }).selectOption('last 7 days');
	await page.locator('.uplot canvas').waitFor();
	await says(page, 'Proposed', /^3$/);
	await page.getByRole('link', { name: 'Denied' }).click();
	await page.locator('.audit-table').waitFor();
	assert.match(page.url(), /action=proposal\.denied/);
	await done(page);
});

test('WEB-1 what the overview cannot have it says: no log, no chart', async () => {
	const page = await desk.page('/');
	await page.route('**/console/chart-*.js', (route) => route.abort());
	await desk.signIn(page, ana);
	await page.goto(`${desk.url}/overview`);
	await page.getByText('As a table').waitFor(); // the figures do not wait for the drawing
	await page.route('**/audit?**', (route) => route.abort());
	await page.reload();
	await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
	await page.unroute('**/audit?**');
	await button(page, 'Try again').click();
	await says(page, 'Proposed', /^\d+$/);
	await page.context().close();
	await ok(w.admin.post('/api/v1/roles', { name: 'notes only', rules: ['note.note.read'] }));
	const nico = await desk.desk(await desk.member('Nico Sol', ['notes only']), '/overview');
	await nico.getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await done(nico);
});
