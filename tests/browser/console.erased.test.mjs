// SPDX-License-Identifier: Apache-2.0
// A proposal whose words were erased (AP-8).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { accessible, Desk } from './lib/desk.mjs';

let desk, w, ana;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
});
after(() => desk?.close());

test('AP-8 the page of an erased proposal says so, shows what is left, and does not call it forged', async () => {
	const p = await w.propose({ input: { title: 'Rota', text: 'Ann, then Ben' } });
	const made = await w.approve(p, w.admin, { apply: true });
	await ok(w.admin.post('/api/v1/orgs/default/audit/erase', { subject: `note:${made.result.id}` }));
	const page = await desk.desk(ana);
	await page.goto(`${desk.url}/proposals/${p.proposalId}`);
	await page.getByText('What this proposal said was erased').waitFor();
	await page.locator('.card .kind').getByText('Erased').waitFor();
	const text = await page.locator('main').textContent();
	assert.doesNotMatch(text, /Ann, then Ben|Rota/);
	assert.equal(await page.locator('.notice.bad').count(), 0);
	assert.equal(await page.locator('.proof').count(), 0);
	await accessible(page, 'an erased proposal');
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});
