// SPDX-License-Identifier: Apache-2.0
// WEB-1, FL-2, FL-3, FL-5: flags in the console: environments side by side, the rule builder that the server looks over, the preview of
// an impact, proposing and saving from the editor, making, switching off, promoting and deleting, and what a context was answered.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from '../api/lib/flags.mjs';
import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { accessible, button, Desk, done, seen, usable } from './lib/desk.mjs';

let desk, w, ana, shop;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	shop = await Shop.open(await w.person(['admin']), 'shop'); // behind a gate one writes in a session
	await ok(w.admin.post(`/api/v1/projects/${shop.project.id}/environments`, { key: 'production', name: 'Production' }));
	await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.org' } }], allowList: ['user-7'] });
	await shop.flag('checkout', { description: 'The new checkout', rules: [{ if: { $and: [{ field: 'plan', $in: ['pro', 'team'] }, { field: 'app.version', $semverGte: '2.4.0' }] }, value: true, rolloutPercent: 25 }, { if: { $segment: 'staff' }, value: true, description: 'we eat our own food' }] });
	await shop.put('flags', 'checkout', { defaultValue: true, rules: [] });
	await shop.flag('dark-mode', { defaultValue: true });
	await shop.flag('theme', { type: 'string', defaultValue: 'plain' });
	await shop.config('upload-limit', { defaultValue: 10, description: 'MB', jsonSchema: { maximum: 500 } });
	await shop.config('layout', { type: 'json', defaultValue: { columns: 2 } });
});
after(() => desk?.close());

const at = (...path) => `/flags/shop/${path.join('/')}`;
const rows = (page) => page.locator('.flag-table tbody tr');
const editor = async (path, who = ana, options) => {
	const page = await desk.desk(who, at(...path.split('/')), options);
	await page.getByRole('heading', { name: 'Preview impact' }).waitFor();
	return page;
};
const rule = (page, n) => page.getByRole('group', { name: `Rule ${n}` });
const impact = (page) => page.getByRole('region', { name: 'Preview impact' });
const state = (key, env, kind = 'flags') => ok(w.admin.get(`/api/v1/envs/${env.id}/${kind}/${key}`));

test('WEB-1 flags by project, environments side by side; configs, segments, a filter, and what is empty', async () => {
	const page = await desk.desk(ana, '/flags');
	await page.getByText('There are no flags yet').waitFor();
	await accessible(page, 'no flags');
	await page.getByLabel('Project').selectOption('Shop');
	await until(async () => (await rows(page).count()) === 3, 'three flags');
	assert.match(await rows(page).first().innerText(), /checkout\s+boolean\s+differs\s+The new checkout\s+true\s+no rules\s+false\s+2 rules\s+false\s+2 rules/);
	assert.match(await page.locator('.flag-table thead').innerText(), /staging\s+live\s+production\s+Production\s+production\s+asks for approval/);
	await page.getByLabel('Filter').fill('dark');
	await until(async () => (await rows(page).count()) === 1, 'one flag');
	await page.getByLabel('Filter').fill('nothing like it');
	await page.getByText('Nothing fits this filter.').waitFor();
	await page.getByRole('link', { name: 'Configs' }).click();
	await rows(page).getByText('upload-limit').waitFor();
	await page.getByRole('link', { name: 'Segments' }).click();
	await rows(page).getByText('staff').waitFor();
	await page.goto(desk.url + '/flags/none');
	await page.getByRole('alert').getByText('There is no such project.').waitFor();
	await page.goto(desk.url + at('flags', 'none'));
	await page.getByRole('alert').getByText('not_found').first().waitFor();
	await done(page);
});

test('WEB-1 an item says what each environment answers, in words, and what a context was answered', async () => {
	const page = await desk.desk(ana, at('flags', 'checkout'));
	await page.getByRole('region', { name: 'live' }).getByText('we eat our own food').waitFor();
	assert.match(await page.getByRole('region', { name: 'live' }).innerText(), /when \("plan" is one of \[ "pro", "team" \] and "app\.version" version ≥ "2\.4\.0"\)\s+25 % of them\s+→ true[\s\S]*when in segment "staff"\s+→ true[\s\S]*Otherwise false/);
	assert.match(await page.getByRole('region', { name: 'staging' }).innerText(), /Always true/);
	await page.getByRole('textbox', { name: 'Context' }).fill('{"userId": "user-7"}');
	await button(page, 'Show').click();
	await page.locator('.timeline').getByText('by rule 2').waitFor();
	await page.locator('.timeline').getByText('by default').waitFor();
	await page.getByRole('textbox', { name: 'Context' }).fill('{"userId": ');
	await page.getByText('This is not a value yet.').waitFor();
	await usable(button(page, 'Show'), false);
	await seen(page, 'flags-item-light');
	await done(page);
});

test('FL-3 the rule builder: what is wrong is said where it is, by the server, while one types; the impact follows', async () => {
	const page = await editor('flags/dark-mode/live');
	await usable(button(page, 'Propose'), false);
	await impact(page).getByText('0 of 2 would be answered differently').waitFor();
	await button(page, '+ Rule').click();
	await rule(page, 1).getByLabel('Field of the context').fill('plan');
	await rule(page, 1).getByLabel('Comparison').selectOption('$matches');
	await rule(page, 1).getByLabel('Compared with').fill('(');
	await rule(page, 1).getByRole('alert').getByText('missing )').waitFor();
	await impact(page).getByText('It cannot be saved like this').waitFor();
	await usable(button(page, 'Propose'), false);
	await seen(page, 'flags-editor-wrong-light');
	await rule(page, 1).getByLabel('Compared with').fill('pro|team');
	await rule(page, 1).getByLabel('Value').selectOption('false');
	await impact(page).getByLabel('Contexts, as a JSON list').fill('[{"userId": "a", "plan": "pro"}, {"userId": "b"}]');
	await impact(page).getByText('1 of 2 would be answered differently').waitFor();
	assert.equal(await page.locator('tr.flips').count(), 1);
	await usable(button(page, 'Propose'));
	await impact(page).getByLabel('Contexts, as a JSON list').fill('[');
	await usable(button(page, 'Propose'), false);
	await done(page);
});

test('FL-2 every form of a condition: groups in groups, segments, lists, numbers, everybody, a share; rules move and go', async () => {
	const page = await editor('flags/theme/live');
	await button(page, '+ Rule').click();
	const first = rule(page, 1);
	await first.getByLabel('Field of the context').fill('plan');
	await first.getByLabel('Comparison').selectOption('$in');
	await first.getByLabel('Compared with').fill('pro\n5\n"7"');
	await first.getByLabel('Kind of condition').selectOption('$or');
	await first.getByRole('button', { name: '+ condition' }).click();
	await first.getByLabel('Kind of condition').nth(2).selectOption('$not');
	await first.getByLabel('Kind of condition').nth(3).selectOption('$segment');
	await first.getByLabel('Segment').selectOption('staff');
	await first.getByLabel('Value').fill('dark');
	await first.getByLabel('only for a share').check();
	await first.getByLabel('Percent').fill('12.5');
	await first.getByLabel('Note').fill('try it');
	await button(page, '+ Rule').click();
	await rule(page, 2).getByLabel('for everybody').check();
	await rule(page, 2).getByLabel('Value').fill('light');
	await button(page, 'Up: Rule 2').click();
	await button(page, 'Down: Rule 1').click();
	await button(page, '+ Rule').click();
	await rule(page, 3).getByLabel('Comparison').selectOption('$exists');
	await button(page, 'Remove: Rule 3').click();
	await page.getByLabel('Why').fill('A darker theme');
	await usable(button(page, 'Propose'));
	const [sent] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/proposals')), button(page, 'Propose').click()]);
	const body = sent.postDataJSON();
	assert.deepEqual([body.kind, body.diff.rules], ['set_rules_flag', [
		{ if: { $or: [{ field: 'plan', $in: ['pro', 5, '7'] }, { $not: { $segment: 'staff' } }] }, value: 'dark', rolloutPercent: 12.5, description: 'try it' },
		{ value: 'light' },
	]]);
	await page.locator('.card').waitFor();
	await page.locator('.says').getByText('A darker theme').waitFor();
	await page.getByText('of 2 would be answered differently').waitFor();
	await done(page);
});

test('FL-5 one proposal, whatever was changed: the default, the rules, or both', async () => {
	const page = await editor('configs/upload-limit/live');
	await page.getByLabel('Default value').fill('many');
	await page.getByText('This is not a value yet.').waitFor();
	await page.getByLabel('Default value').fill('20');
	await usable(button(page, 'Propose'));
	await button(page, 'Propose').click();
	await page.locator('.card').getByText('flag.set_default_value_config').waitFor();
	await page.goto(desk.url + at('configs', 'upload-limit', 'live'));
	await page.getByLabel('Default value').fill('30');
	await button(page, '+ Rule').click();
	await rule(page, 1).getByLabel('Kind of condition').selectOption('$segment');
	await rule(page, 1).getByLabel('Segment').selectOption('staff');
	await rule(page, 1).getByRole('textbox', { name: 'Value' }).fill('600');
	await rule(page, 1).getByRole('alert').waitFor(); // the schema says 500
	await rule(page, 1).getByRole('textbox', { name: 'Value' }).fill('40');
	await usable(button(page, 'Propose'));
	await button(page, 'Propose').click();
	await page.locator('.card').getByText('flag.import', { exact: true }).waitFor();
	await page.locator('.card').getByText('40').first().waitFor();
	await done(page);
});

test('WEB-1 who may, saves at once; where somebody has a say it becomes a proposal; who may not, proposes', async () => {
	const page = await editor('configs/layout/staging');
	await page.getByLabel('Default value').fill('{"columns": 3}');
	await usable(button(page, 'Save now'));
	await button(page, 'Save now').click();
	await page.getByText('Saved.').waitFor();
	await page.getByRole('region', { name: 'staging' }).getByText('{ "columns": 3 }').waitFor();
	assert.deepEqual((await state('layout', shop.staging, 'configs')).defaultValue, { columns: 3 });
	await done(page);

	const own = await editor('flags/dark-mode/staging', await desk.member('Carl Vega', ['proposer']));
	await own.getByLabel('Default value').selectOption('false');
	await usable(button(own, 'Propose'));
	assert.equal(await button(own, 'Save now').count(), 0);
	await button(own, 'Propose').click();
	await own.locator('.card').getByText('flag.set_default_value_flag').waitFor();
	assert.equal((await state('dark-mode', shop.staging)).defaultValue, true);
	await done(own);
});

test('WEB-1 a segment: its rules and lists', async () => {
	const page = await editor('segments/staff/live');
	await page.getByLabel('Never in').fill('user-9\nuser-10');
	await usable(button(page, 'Save now'));
	await button(page, 'Save now').click();
	await page.getByText('Saved.').waitFor();
	assert.deepEqual((await state('staff', shop.live, 'segments')).denyList, ['user-9', 'user-10']);
	await done(page);
});

const dialog = (page) => page.getByRole('dialog');

test('FL-5 from the console: a flag is made, switched off, promoted and deleted; at once where one may, else as a proposal', async () => {
	const page = await desk.desk(ana, at('configs'));
	await button(page, 'New config').click();
	await usable(button(dialog(page), 'New config'), false);
	await page.getByLabel('Key').fill('not a key');
	await button(dialog(page), 'New config').click();
	await dialog(page).getByRole('alert').getByText('invalid_request').waitFor();
	await page.getByLabel('Key').fill('per-page');
	await page.getByLabel('Type').selectOption('number');
	await dialog(page).getByRole('textbox', { name: 'Default value' }).fill('many');
	await usable(button(dialog(page), 'New config'), false);
	await dialog(page).getByRole('textbox', { name: 'Default value' }).fill('25');
	await button(dialog(page), 'New config').click();
	await page.getByRole('region', { name: 'live' }).getByText('Always 25').waitFor();
	assert.equal(await page.getByRole('button', { name: /^Kill switch/ }).count(), 0, 'only a boolean flag has one');
	await button(page, 'Delete…').click();
	await page.getByLabel('Type', { exact: false }).last().fill('per-pag');
	await usable(button(dialog(page), 'Delete'), false);
	await page.getByLabel('Type', { exact: false }).last().fill('per-page');
	await button(dialog(page), 'Delete').click();
	await page.locator('.card').getByText('flag.delete_config', { exact: true }).waitFor(); // a gate is on: one confirms it on its card
	await page.getByText('You proposed this. To approve it is to confirm what the card shows.').waitFor();
	await usable(button(page, 'Deny D'), false);
	await button(page, 'Approve A').click();
	await dialog(page).getByLabel('Apply it at once', { exact: false }).check();
	await dialog(page).getByRole('textbox').fill('per-page');
	await button(dialog(page), 'Approve').click();
	await page.getByText('Applied.', { exact: true }).waitFor();
	await page.goto(desk.url + at('configs'));
	await until(async () => (await rows(page).count()) === 2, 'two configs');

	await page.goto(desk.url + at('segments', 'staff')); // others look into it
	await button(page, 'Delete…').click();
	await dialog(page).getByRole('textbox').first().fill('staff');
	await button(dialog(page), 'Delete').click();
	await dialog(page).getByRole('alert').getByText('in_use').waitFor();

	await page.goto(desk.url + at('flags', 'dark-mode'));
	await page.getByRole('button', { name: /^Kill switch.*live/ }).click();
	await button(dialog(page), 'Switch it off').click();
	await page.getByRole('region', { name: 'live' }).getByText('Always false').waitFor();
	await until(async () => (await page.getByRole('button', { name: /^Kill switch.*live/ }).count()) === 0, 'nothing to switch off');
	assert.equal((await state('dark-mode', shop.live)).defaultValue, false);
	await button(page, 'Promote…').click();
	await usable(button(dialog(page), 'Propose'));
	await dialog(page).getByLabel('From').selectOption('live');
	await dialog(page).getByLabel('To').selectOption('live');
	await usable(button(dialog(page), 'Propose'), false); // nowhere to go
	await dialog(page).getByLabel('To').selectOption('Production');
	await dialog(page).getByLabel('Why').fill('As in live');
	await button(dialog(page), 'Propose').click();
	await page.locator('.card').getByText('flag.promote', { exact: true }).waitFor();
	await page.locator('.says').getByText('As in live').waitFor();
	await done(page);

	const own = await desk.desk(await desk.member('Petra Paz', ['proposer']), at('flags'));
	await button(own, 'New flag').click(); // who may not, proposes
	await own.getByLabel('Key').fill('wished-for');
	await button(dialog(own), 'New flag').click();
	await own.locator('.card').getByText('flag.create_flag', { exact: true }).waitFor();
	await own.goto(desk.url + at('flags', 'checkout'));
	await own.getByRole('button', { name: /^Kill switch.*Production/ }).click();
	await dialog(own).getByLabel('Why').fill('It hurts');
	await button(dialog(own), 'Switch it off').click();
	await own.locator('.card').getByText('flag.kill_flag', { exact: true }).waitFor();
	await own.locator('.says').getByText('It hurts').waitFor();
	await own.goto(desk.url + at('flags', 'theme'));
	await button(own, 'Delete…').click();
	await dialog(own).getByRole('textbox').first().fill('theme');
	await button(dialog(own), 'Delete').click();
	await own.locator('.card').getByText('flag.delete_flag', { exact: true }).waitFor();
	assert.equal((await state('theme', shop.live)).defaultValue, 'plain');
	await done(own);

	const olga = await desk.desk(await desk.member('Olga Ríos', ['observer']), at('flags'));
	await button(olga, 'New flag').click();
	await olga.getByLabel('Key').fill('mine');
	await button(dialog(olga), 'New flag').click();
	await dialog(olga).getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await done(olga);
});

test('WEB-1 what was applied elsewhere is on the page of a flag by itself', async () => {
	const page = await desk.desk(ana, at('flags', 'theme'));
	await page.getByRole('region', { name: 'staging' }).getByText('Always "plain"').waitFor();
	await page.locator('.link-live').waitFor();
	const p = await ok(w.agent.post('/api/v1/proposals', { envId: shop.staging.id, kind: 'set_default_value_flag', resourceKey: 'theme', diff: { defaultValue: 'dark' } }));
	await w.approve(p, w.admin, { apply: true });
	await page.getByRole('region', { name: 'staging' }).getByText('Always "dark"').waitFor();
	await done(page);
});

test('WEB-1 what fails is said, and the work is kept', async () => {
	const page = await editor('flags/theme/staging');
	await page.getByLabel('Default value').fill('solar');
	await usable(button(page, 'Save now'));
	await page.route('**/state', (route) => route.abort());
	await button(page, 'Save now').click();
	await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
	assert.equal(await page.getByLabel('Default value').inputValue(), 'solar');
	await page.route('**/flags?limit=200', (route) => route.abort());
	await page.goto(desk.url + at('flags'));
	await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
	await page.unroute('**/flags?limit=200');
	await button(page, 'Try again').click();
	await until(async () => (await rows(page).count()) === 3, 'the flags');
	await done(page);
});
