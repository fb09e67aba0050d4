// SPDX-License-Identifier: Apache-2.0
// WEB-1: the console's settings: policy and what it would decide, members, roles, teams, one's own account.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { accessible, button, Desk, done, gone, looks, seen, usable } from './lib/desk.mjs';

let desk, w, ana;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
});
after(() => desk?.close());

/** Somebody opens their link, sets a password, and goes on to the console: their page. */
async function setPassword(link, who, { locale, words: [title, set, go] = ['Set your password', 'Set it', 'Go to the console'] } = {}) {
	const page = await desk.page(link.pathname + link.hash, { locale });
	await page.getByRole('heading', { name: title }).waitFor();
	assert.equal(new URL(page.url()).hash, '', 'the code is not kept in the address');
	await accessible(page, 'the page behind a link');
	await page.locator('#password').fill(who.password);
	await button(page, set).click();
	await page.getByRole('link', { name: go }).click();
	await page.locator('#inbox-title, .page').waitFor({ state: 'attached' }); // signed in already
	return page;
}

const dialog = (page) => page.getByRole('dialog');
const policy = async () => (await ok(w.admin.get('/api/v1/settings'))).policy;
const saved = (page) => page.getByText('Saved. It holds from now on.').waitFor();
const tool = (page) => page.getByRole('combobox', { name: /^Tool/ });
const votes = (page, risk) => page.getByRole('spinbutton', { name: risk });
const box = (page, name) => page.getByRole('checkbox', { name });
const part = (page, name) => page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true });

test('AP-8 policy is one form; saving is one new version, and somebody who saved meanwhile is not overwritten', async () => {
	const page = await desk.desk(ana, '/settings');
	await votes(page, 'High risk').waitFor();
	await usable(button(page, 'Save'), false);
	await box(page, 'GDPR').check();
	await page.getByText('0 tools on the allow-list').click();
	await page.getByRole('checkbox', { name: 'note.create' }).check();
	await page.getByText('they have to be proposed again').waitFor();
	await button(page, 'Save').click();
	await saved(page);
	const now = await policy();
	assert.deepEqual([now.gdpr, now.hipaa, now.allowListed], [true, false, ['note.create']]);
	await box(page, 'HIPAA').check();
	await ok(w.admin.put('/api/v1/settings', { policy: { ...now, overrides: false } }));
	await button(page, 'Save').click();
	await page.getByRole('alert').getByText('conflict', { exact: true }).waitFor();
	assert.deepEqual([(await policy()).overrides, (await policy()).hipaa], [false, false]);
	await accessible(page, 'a conflict');
	await button(page, 'Discard').click();
	await gone(page.getByRole('alert'));
	await done(page);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('ID-8 AP-4 who signed in more than ten minutes ago is asked for the password again, and what was asked is done; four eyes need another person', async () => {
	const page = await desk.desk(ana, '/settings');
	await votes(page, 'High risk').waitFor();
	await desk.change('UPDATE session SET authenticated_at = authenticated_at - 660000000');
	await box(page, 'GDPR').check();
	await button(page, 'Save').click();
	await dialog(page).getByLabel('Password').fill('not the password');
	await button(dialog(page), 'Go on').click();
	await dialog(page).getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await seen(page, 'step-up');
	assert.equal((await policy()).gdpr, false);
	await button(dialog(page), 'Close').click();
	await page.getByRole('alert').getByText('step_up_required', { exact: true }).waitFor();
	await button(page, 'Save').click();
	await dialog(page).getByLabel('Password').fill(ana.password);
	await button(dialog(page), 'Go on').click();
	await saved(page);
	assert.equal((await policy()).gdpr, true);
	await box(page, 'Four eyes').check();
	await button(page, 'Save').click();
	await until(async () => (await policy()).fourEyes, 'four eyes');
	await box(page, 'GDPR').uncheck();
	await button(page, 'Save').click();
	await page.getByRole('alert').getByText('approval_required', { exact: true }).waitFor();
	await done(page);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('AP-1 what policy would decide is said with every reason, before anybody asks', async () => {
	const page = await desk.desk(ana, '/settings/policy');
	await page.getByLabel('Who calls').selectOption('First agent');
	await tool(page).selectOption('note.delete');
	await button(page, 'Ask policy').click();
	await page.getByText('It would be asked: 1 person has to agree.').waitFor();
	await page.getByText('what destroys always needs a person').waitFor();
	await page.getByText('it destroys something', { exact: true }).waitFor();
	await tool(page).selectOption('note.list');
	await page.getByLabel('Input, as JSON').fill('{');
	await button(page, 'Ask policy').click();
	await page.getByRole('alert').getByText('This is not JSON.').waitFor();
	await page.getByLabel('Input, as JSON').fill('{}');
	await button(page, 'Ask policy').click();
	await page.getByText('It would run at once.').waitFor();
	await done(page);
});

test('ID-2 ID-8 add a person whose link is shown once and sets their password, change their roles, shut them out and let them in', async () => {
	const page = await desk.desk(ana, '/settings/members');
	await button(page, 'Add a person').click();
	await page.getByLabel('Name').fill('Bo Chen');
	await page.getByLabel('E-mail').fill('bo@example.org');
	await box(page, 'operator').check();
	await accessible(page, 'the dialog of a new person');
	await button(dialog(page), 'Add a person').click();
	const link = new URL(await page.getByLabel('Link', { exact: true }).innerText());
	await button(page, 'I have copied it').click();
	await page.getByRole('row', { name: /Bo Chen/ }).getByText(/^(proposer, operator|operator, proposer)$/).waitFor();
	const bo = { email: 'bo@example.org', password: 'a sentence of my own' };
	const other = await setPassword(link, bo);
	await button(page, 'Roles: Bo Chen').click();
	await box(page, 'operator').uncheck();
	await button(dialog(page), 'Save').click();
	await page.getByRole('row', { name: /Bo Chen/ }).getByText('proposer', { exact: true }).waitFor();
	await button(page, 'Shut out: Bo Chen').click();
	await button(dialog(page), 'Shut out').click();
	await page.getByRole('row', { name: /Bo Chen/ }).getByText('shut out', { exact: true }).waitFor();
	await other.getByText('Your session has ended').waitFor(); // at once, by itself
	await button(page, 'Let in again: Bo Chen').click();
	await button(dialog(page), 'Let in again').click();
	await button(page, 'Shut out: Bo Chen').waitFor();
	await desk.signIn(other, bo);
	await done(other);
	await done(page);
});

test('ID-8 a new link for somebody who forgot their password: shown once, in either language, and never for oneself', async () => {
	const lost = await desk.member('Lena Forgot', ['observer']);
	const there = await desk.desk(lost), page = await desk.desk(ana, '/settings/members');
	assert.equal(await button(page, 'New link: Ana Torres').count(), 0);
	await button(page, 'New link: Lena Forgot').click();
	await accessible(page, 'the dialog of a new link');
	await button(dialog(page), 'New link').click();
	const link = new URL(await page.getByLabel('Link', { exact: true }).innerText());
	await button(page, 'I have copied it').click();
	const again = { ...lost, password: 'una frase de las mías' };
	const spanish = await setPassword(link, again, { locale: 'es-ES', words: ['Pon tu contraseña', 'Ponerla', 'Ir a la consola'] });
	await there.getByText('Your session has ended').waitFor();
	await desk.signIn(there, again);
	const used = await desk.page(link.pathname + link.hash);
	await used.getByLabel('A password').fill('somebody else entirely');
	await button(used, 'Set it').click();
	await used.getByText('This link is not valid, or no longer.').waitFor();
	for (const one of [page, there, spanish, used]) await done(one);
});

test('ID-6 nobody gives more than they have: the refusal is next to the button', async () => {
	const page = await desk.desk(await desk.member('Max Ortiz', ['maintainer']), '/settings/members');
	await button(page, 'Add a person').click();
	await page.getByLabel('Name').fill('A friend');
	await page.getByLabel('E-mail').fill('friend@example.org');
	await box(page, 'admin').check();
	await button(dialog(page), 'Add a person').click();
	await dialog(page).getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await page.goto(`${desk.url}/settings`);
	await votes(page, 'High risk').fill('5');
	await button(page, 'Save').click();
	await page.getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	assert.equal((await policy()).votesHigh, 1);
	await done(page);
});

test('ID-3 roles are made of a level and rules, and removed; teams are made, changed, asked by policy, and removed', async () => {
	const page = await desk.desk(ana, '/settings/roles');
	await button(page, 'New role').click();
	await page.getByLabel('Name').fill('Releaser');
	await page.getByRole('combobox', { name: /^Level/ }).selectOption('proposer');
	await page.getByRole('textbox', { name: /^Rules/ }).fill('nonsense');
	await button(dialog(page), 'New role').click();
	await dialog(page).getByRole('alert').waitFor();
	await page.getByRole('textbox', { name: /^Rules/ }).fill('flag.flag.toggle');
	await button(dialog(page), 'New role').click();
	await page.getByRole('row', { name: /Releaser/ }).getByText('flag.flag.toggle').waitFor();
	await button(page, 'Remove: Releaser').click();
	await button(dialog(page), 'Remove').click();
	await gone(page.getByRole('row', { name: /Releaser/ }));
	await part(page, 'Teams').click();
	await page.getByText('There are no teams yet.').waitFor();
	await button(page, 'New team').click();
	await page.getByLabel('Name').fill('Finance');
	await box(page, 'Ana Torres').check();
	await accessible(page, 'the dialog of a team');
	await button(dialog(page), 'New team').click();
	await page.getByRole('row', { name: /Finance/ }).getByText('Ana Torres').waitFor();
	await button(page, 'Edit: Finance').click();
	await page.getByLabel('Name').fill('Treasury');
	await button(dialog(page), 'Save').click();
	await page.getByRole('row', { name: /Treasury/ }).getByText('Ana Torres').waitFor();
	await part(page, 'Policy').click();
	await button(page, 'Ask a team').click();
	await page.getByLabel('From risk').selectOption('high');
	await button(page, 'Save').click();
	await until(async () => JSON.stringify((await policy()).groups.map(({ votes, risk }) => [votes, risk])) === '[[1,"high"]]', 'the team is asked');
	await tool(page).selectOption('note.delete');
	await button(page, 'Ask policy').click();
	await page.getByText('1 vote of Treasury').waitFor();
	await seen(page, 'settings-groups-light');
	await button(page, 'Remove 1').click();
	await button(page, 'Save').click();
	await page.getByRole('alert').getByText('approval_required', { exact: true }).waitFor(); // with four eyes on, one person cannot switch it off
	await ok(w.admin.put('/api/v1/settings', { policy: {} })); // with Ana, who is of the team
	await page.goto(`${desk.url}/settings/teams`);
	await button(page, 'Remove: Treasury').click();
	await button(dialog(page), 'Remove').click();
	await page.getByText('There are no teams yet.').waitFor();
	await done(page);
});

test('ID-8 another password ends one\'s other sessions; a wrong one is said', async () => {
	const eve = await desk.member('Eva Lima', ['observer']);
	const page = await desk.desk(eve, '/settings/account'), other = await desk.desk(eve);
	await page.getByText('None is set up').waitFor();
	await page.getByLabel('The password until now').fill('not this one at all');
	await page.getByLabel('The new one').fill('another horse battery');
	await button(page, 'Change it').click();
	await page.getByRole('alert').waitFor();
	await page.getByLabel('The password until now').fill(eve.password);
	await button(page, 'Change it').click();
	await page.getByText('Changed. Your other sessions have ended.').waitFor();
	await other.getByText('Your session has ended').waitFor();
	await page.reload();
	await page.getByText('None is set up').waitFor(); // this one has not
	await done(other);
	await done(page);
});

test('WEB-1 notifications of the desktop come on request only, say what waits, and lead to it', async () => {
	const context = await desk.browser.newContext({ ...looks.light, locale: 'en-US' });
	await context.addInitScript(() => {
		window.noted = [];
		window.Notification = class {
			static permission = 'default';
			static requestPermission() {
				this.permission = window.name === 'refuse' ? 'denied' : 'granted';
				return Promise.resolve(this.permission);
			}
			constructor(title, options) {
				window.noted.push(Object.assign(this, { title, ...options }));
			}
			close() {}
		};
		document.hasFocus = () => window.looking === true;
	});
	const page = await desk.page('/settings/account', { context });
	await desk.signIn(page, ana);
	await page.locator('.link-live').waitFor();
	const noted = () => page.evaluate(() => window.noted.map(({ title, body }) => [title, body]));
	await page.evaluate(() => (window.name = 'refuse'));
	await page.getByLabel('Notify me').click();
	await page.getByRole('alert').getByText('The browser does not allow it').waitFor();
	await page.evaluate(() => { window.name = ''; window.Notification.permission = 'default'; });
	await page.getByLabel('Notify me').click();
	await until(() => page.getByLabel('Notify me').isChecked(), 'the switch');
	const p = await w.propose({ input: { title: 'Wake\u202E up', text: 'x' } });
	await until(async () => (await noted()).length === 1, 'a notification');
	assert.deepEqual(await noted(), [['Create the note "Wake\\u{202E} up"', 'First agent']]);
	await page.evaluate(() => window.noted[0].onclick());
	await page.getByRole('heading', { name: 'Wake' }).waitFor();
	await page.evaluate(() => (window.looking = true));
	const quiet = await w.propose();
	await page.locator(`#row-${quiet.proposalId}`).waitFor();
	assert.equal((await noted()).length, 1, 'who looks at it needs none');
	await done(page);
	for (const one of [p, quiet]) await ok(w.admin.post(`/api/v1/proposals/${one.proposalId}/cancel`));
});

test('ID-8 everybody is shown on every page that access was recovered', async () => {
	await w.change(`UPDATE org SET recovered_at = ${Date.now() * 1000}`);
	const page = await desk.desk(await desk.member('Olga Reads', ['observer']));
	for (const at of ['/', '/settings/account']) {
		await page.goto(desk.url + at);
		await page.getByText(/^Access was recovered on .*countersign recover/).waitFor();
	}
	await accessible(page, 'a page with the notice of a recovery');
	await w.change('UPDATE org SET recovered_at = NULL');
	await done(page);
});
