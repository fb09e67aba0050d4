// SPDX-License-Identifier: Apache-2.0
// WEB-1: every story of the console again, with the keyboard alone (lib/keyboard.mjs): what cannot be reached by Tab and
// the keys of the page, or has the focus without showing it, fails; so does any use of a pointer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from '../api/lib/flags.mjs';
import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { startUpstream, tool } from '../api/lib/upstream.mjs';
import { button, Desk, gone } from './lib/desk.mjs';
import { Keyboard } from './lib/keyboard.mjs';

let desk, w, ana, shop;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	shop = await Shop.open(w.admin, 'shop');
	await ok(w.admin.post(`/api/v1/projects/${shop.project.id}/environments`, { key: 'production', name: 'Production' }));
});
after(() => desk?.close());

const dialog = (page) => page.getByRole('dialog');
const row = (page, p) => page.locator(`#row-${p.proposalId}`);
const heading = (page, name) => page.getByRole('heading', { name }).first().waitFor();
const proposal = (p) => ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`));
const crumb = (page, state) => page.locator('.crumb').getByText(state).waitFor();
/** The dialog's last button, which does it. */
const does = (page, name) => button(dialog(page), name);

/** Somebody's own browser, signed in by hand. */
async function sitDown(at = '/', who = ana) {
	const page = await desk.page(at);
	const k = await Keyboard.at(page);
	await k.comes(page.locator('input[type=email]'));
	await k.type(who.email);
	await k.press('Tab');
	await k.type(who.password);
	await k.press('Enter');
	await page.locator('#inbox-title, .page').waitFor({ state: 'attached' });
	return { page, k };
}

test('WEB-1 by keyboard: a wrong password, the right one, colours and language, the keys, signing out', async () => {
	const page = await desk.page('/'), k = await Keyboard.at(page);
	await k.comes(page.getByLabel('E-mail'));
	await k.type(ana.email);
	await k.fill(page.getByLabel('Password'), 'wrong');
	await k.press('Enter');
	await page.getByRole('alert').getByText('unauthenticated').waitFor();
	await k.fill(page.getByLabel('Password'), ana.password);
	await k.press('Enter');
	await page.locator('#inbox-title').waitFor();
	await k.act(page.locator('.menu summary'));
	await k.choose(page.getByLabel('Colours'), 'Dark');
	await until(() => page.evaluate(() => document.documentElement.dataset.theme === 'dark'), 'the dark');
	await k.choose(page.getByLabel('Language'), 'Español');
	await page.getByRole('heading', { name: 'Bandeja' }).waitFor();
	await k.choose(page.getByLabel('Idioma'), 'English');
	await page.getByRole('heading', { name: 'Inbox' }).waitFor();
	await k.act(button(page, 'Keys ?'));
	await page.getByRole('dialog', { name: 'Keys' }).waitFor();
	await k.press('Escape');
	await gone(dialog(page));
	await k.act(page.locator('.menu summary'));
	await k.act(button(page, 'Sign out'));
	await page.getByLabel('Password').waitFor();
	await k.done();
});

test('WEB-1 by keyboard: the inbox is walked, filtered and ordered, and a batch is denied', async () => {
	const made = [];
	for (const title of ['One', 'Two', 'Three']) made.push(await w.propose({ input: { title, text: 'x' } }));
	const { page, k } = await sitDown();
	await row(page, made[2]).waitFor();
	await k.act(page.getByRole('link', { name: 'Skip to the content' }));
	await k.press('j');
	await heading(page, made[2].summary);
	await k.press('j');
	await heading(page, made[1].summary);
	await k.comes(row(page, made[1]));
	await k.press('k');
	await heading(page, made[2].summary);
	await k.press('u');
	await until(() => new URL(page.url()).pathname === '/', 'the inbox');
	await k.press('/');
	await k.comes(page.getByLabel('Filter'));
	await k.type('two');
	await until(async () => (await page.locator('.row').count()) === 1, 'one row');
	await k.fill(page.getByLabel('Filter'), '');
	await k.choose(page.getByLabel('Risk'), 'high');
	await k.act(button(page, 'Show everything'));
	await k.choose(page.getByLabel('Order'), 'Highest risk');
	await k.act(page.getByRole('link', { name: 'All', exact: true }), { back: true });
	await until(() => page.url().endsWith('?view=all'), 'all of them');
	await k.act(page.getByRole('link', { name: 'Waiting', exact: true }), { back: true });
	await row(page, made[0]).waitFor();
	for (const p of made.slice(1)) await k.tick(page.locator('.row', { has: row(page, p) }).getByRole('checkbox'));
	await k.act(button(page, 'Deny…'), { back: true });
	await k.comes(dialog(page).getByLabel('Reason'));
	await k.type('Not today');
	await k.act(does(page, 'Deny'));
	await page.getByText('2 proposals denied.').waitFor();
	assert.equal((await proposal(made[1])).approvals.votes[0].reason, 'Not today');
	await row(page, made[0]).waitFor();
	await k.to(row(page, made[0]));
	await k.press('Enter');
	await heading(page, made[0].summary);
	await k.press('d');
	await k.comes(dialog(page).getByLabel('Reason'));
	await k.type('Nor this');
	await k.act(does(page, 'Deny'));
	await page.getByText('Denied.', { exact: true }).waitFor(); // not what the batch said
	assert.equal((await proposal(made[0])).approvals.votes[0].reason, 'Nor this');
	await k.done();
});

test('WEB-1 by keyboard: unfold, approve what destroys by typing it, apply; take one back; propose again after a drift', async () => {
	const note = await w.note('Drifting', Array.from({ length: 60 }, (_, i) => `line ${i}`).join('\n'));
	const p = await w.propose({ tool: 'note.update', input: { id: note.id, text: Array.from({ length: 80 }, (_, i) => `other ${i}`).join('\n') } });
	const other = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'three' } });
	const { page, k } = await sitDown(`/proposals/${p.proposalId}`);
	await page.locator('.card').waitFor();
	const fold = page.locator('.card .fold').first();
	while (await fold.count()) await k.act(fold);
	await w.approve(other, w.admin, { apply: true });
	await until(() => button(page, 'Approve A').isEnabled(), 'nothing folded');
	await k.press('a');
	await k.tick(dialog(page).getByLabel('Apply it at once'));
	await k.act(does(page, 'Approve'));
	await page.getByRole('alert').getByText('it was not applied').waitFor();
	await k.act(page.getByRole('alert').getByRole('button', { name: 'Propose again' }));
	await until(() => !page.url().includes(p.proposalId), 'the new proposal');
	await page.locator('.card').waitFor();
	await k.act(button(page, 'Take back'));
	await k.act(does(page, 'Take back'));
	await page.getByText('Taken back.').waitFor();
	await crumb(page, 'cancelled');

	const end = await w.propose({ tool: 'note.delete', input: { id: note.id } });
	await k.press('u');
	await row(page, end).waitFor();
	await k.to(row(page, end));
	await k.press('Enter');
	await heading(page, end.summary);
	await k.press('a');
	await k.comes(dialog(page).getByRole('textbox'));
	await k.type('note.delete');
	await k.press('Enter');
	await page.getByText('Approved.', { exact: true }).waitFor();
	await gone(dialog(page));
	await k.press('a');
	await k.comes(dialog(page).getByRole('textbox'));
	await k.type('note.delete');
	await k.press('Enter');
	await page.getByText('Applied.', { exact: true }).waitFor();
	assert.equal((await w.notes()).some((one) => one.id === note.id), false);
	await k.done();
});

test('TL-7 EX-4 by keyboard: "approve always", and what nobody answered is settled', async () => {
	const bea = await desk.member('Bea Ruiz');
	const { page, k } = await sitDown('/', bea);
	const as = (method, path, body) => page.evaluate(async ([how, where, what]) => {
		const me = await (await fetch('/api/v1/me')).json();
		const answer = await fetch(`/api/v1/${where}`, { method: how, headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrfToken }, ...(what ? { body: JSON.stringify(what) } : {}) });
		return answer.json();
	}, [method, path, body]);
	const { id } = await as('POST', 'agents', { name: 'Bea\'s bot' });
	const { token } = await as('POST', 'tokens', { name: 'hers', principalId: id, ratePerMinute: 1000, level: 'operator' });
	const agent = w.server.as(token);
	const p = await ok(agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'Again', text: 'x' } }));
	const known = page.waitForResponse((answer) => answer.url().endsWith('/api/v1/policy/explain'));
	await row(page, p).waitFor();
	await k.to(row(page, p));
	await k.press('Enter');
	await known;
	await page.locator('.card').waitFor();
	await k.press('a');
	await k.tick(dialog(page).getByRole('checkbox', { name: /always when/ }));
	await k.act(does(page, 'Approve'));
	await page.getByText('you always approve this tool').waitFor();

	let up;
	const vanish = () => {
		void up.stop(); // it has heard the call, and says nothing
		return new Promise(() => {});
	};
	up = await startUpstream({ tools: [tool('write_file', { run: vanish })] });
	const u = await as('POST', 'upstreams', { name: 'files', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] });
	const { tools } = await as('POST', `upstreams/${u.id}/refresh`, {});
	await as('POST', `upstreams/${u.id}/tools/accept`, { tools: [{ name: tools[0].name, definitionHash: tools[0].definitionHash, effect: 'mutate' }] });
	const { proposal: sent } = await ok(agent.post('/api/v1/tools/call', { tool: tools[0].name, input: { path: 'b' } }));
	await row(page, sent).waitFor();
	await k.to(row(page, sent));
	await k.press('Enter');
	await heading(page, sent.summary);
	await k.press('a');
	await k.tick(dialog(page).getByLabel('Apply it at once'));
	await k.act(does(page, 'Approve'));
	await page.locator('.crumb').getByText('outcome unknown').waitFor({ timeout: 60_000 });
	await gone(dialog(page));
	await k.act(button(page, 'Settle…'));
	await k.pick(dialog(page).getByRole('group', { name: /./ }), 'it was done');
	await k.fill(page.getByLabel('How do you know?'), 'The file is there.');
	await k.act(does(page, 'Settle…'));
	await crumb(page, 'applied');
	assert.match(JSON.stringify((await proposal(sent)).attempt), /The file is there\./);
	await k.done();
});

test('ID-5 TL-6 by keyboard: an agent is made, gets a token, loses it, is bound tool by tool, shut out and let in', async () => {
	const { page, k } = await sitDown();
	await k.command('agents', 'Agents');
	await heading(page, 'Agents');
	await k.act(button(page, 'New agent'));
	await k.comes(dialog(page).getByLabel('Name'));
	await k.type('Keyboard bot');
	await k.act(does(page, 'Create an agent'));
	await heading(page, 'Keyboard bot');
	const id = new URL(page.url()).pathname.split('/').at(-1);
	await k.act(button(page, 'New token'));
	await k.comes(dialog(page).getByLabel('What it is for'));
	await k.type('by hand');
	await k.pick(dialog(page).getByRole('group'), /Proposer/);
	await k.choose(dialog(page).getByRole('combobox'), '30');
	await k.tick(dialog(page).getByRole('checkbox'));
	await k.act(does(page, 'New token'));
	const secret = await page.getByLabel('Token', { exact: true }).innerText();
	await k.choose(page.getByLabel('Your MCP client'), 'Cursor');
	await k.act(button(page, 'Copy: Cursor'));
	await k.act(button(page, 'I have copied it'));
	await gone(dialog(page));
	await k.comes(button(page, 'New token')); // where they were
	assert.equal((await ok(w.server.as(secret).get('/api/v1/me'))).level, 'proposer');
	await k.act(button(page, 'Revoke: by hand'));
	await k.act(does(page, 'Revoke'));
	await page.getByText('It has no token').waitFor();
	await k.tick(page.getByLabel('Show 1 token that has ended'));
	await page.getByRole('row', { name: /by hand/ }).getByText('revoked').waitFor();

	await k.act(page.getByRole('button', { name: /^Notebook/ }));
	await k.pick(page.getByRole('radiogroup', { name: 'note.create' }), 'Blocked');
	await page.getByText('1 change not saved').waitFor();
	await k.pick(page.getByRole('radiogroup', { name: 'note.delete' }), 'Blocked');
	await k.act(button(page, 'Save'));
	await page.getByText('Saved. It holds from now on.').waitFor();
	const stored = (await ok(w.admin.get(`/api/v1/agents/${id}/tools`))).tools.filter((one) => one.stored).map((one) => [one.toolName, one.permissionStatus]);
	assert.deepEqual(stored, [['note.create', 'blocked'], ['note.delete', 'blocked']]);
	await k.act(button(page, 'Shut out'), { back: true });
	await k.act(does(page, 'Shut out'));
	await k.act(button(page, 'Let in again'));
	await k.act(does(page, 'Let in again'));
	await button(page, 'Shut out').waitFor();
	await k.done();
});

test('FL-3 FL-5 by keyboard: a flag is made, given a rule, previewed, proposed, looked back at, promoted, switched off and deleted', async () => {
	const { page, k } = await sitDown();
	const proposed = async (name) => {
		await page.locator('.card').getByText(name, { exact: true }).waitFor();
		await k.command('flags', 'Flags');
		await k.choose(page.getByLabel('Project'), 'Shop');
		await k.act(page.getByRole('link', { name: 'by-hand', exact: true }));
		await page.getByRole('region', { name: 'live' }).waitFor();
	};
	await k.command('flags', 'Flags');
	await k.choose(page.getByLabel('Project'), 'Shop');
	await page.getByText('There are no flags yet').waitFor();
	await k.act(button(page, 'New flag'));
	await k.comes(dialog(page).getByLabel('Key'));
	await k.type('by-hand');
	await k.choose(dialog(page).getByLabel('Default value'), 'true');
	await k.act(does(page, 'New flag'));
	await page.getByRole('region', { name: 'live' }).getByText('Always true').waitFor();
	assert.equal((await ok(w.admin.get(`/api/v1/envs/${shop.live.id}/flags/by-hand`))).defaultValue, true);

	await k.act(page.getByRole('link', { name: /Edit.*live/ }));
	await k.act(button(page, '+ Rule'));
	const rule = page.getByRole('group', { name: 'Rule 1' });
	await k.fill(rule.getByLabel('Field of the context'), 'plan');
	await k.fill(rule.getByLabel('Compared with', { exact: true }), 'pro');
	await k.choose(rule.getByLabel('Value'), 'false');
	await k.tick(rule.getByLabel('only for a share'));
	await k.fill(rule.getByLabel('Percent'), '50');
	const impact = page.getByRole('region', { name: 'Preview impact' });
	await k.fill(impact.getByLabel('Contexts, as a JSON list'), '[{"userId": "a"}]');
	await impact.getByText('0 of 1 would be answered differently').waitFor();
	await k.fill(page.getByLabel('Why'), 'Half of them');
	await k.act(button(page, 'Propose'));
	await proposed('flag.set_rules_flag');

	await k.fill(page.getByRole('textbox', { name: 'Context' }), '{"userId": "a"}');
	await k.act(button(page, 'Show'));
	await page.locator('.timeline').getByText('by default').waitFor();
	await shop.put('flags', 'by-hand', { defaultValue: false, rules: [] });
	await k.act(button(page, 'Promote…'), { back: true });
	await k.choose(dialog(page).getByLabel('From'), 'staging');
	await k.choose(dialog(page).getByLabel('To'), 'Production');
	await k.fill(dialog(page).getByLabel('Why'), 'It is good');
	await k.act(does(page, 'Propose'));
	await proposed('flag.promote');

	await k.act(page.getByRole('button', { name: /^Kill switch.*live/ }));
	await k.fill(dialog(page).getByLabel('Why'), 'It hurts');
	await k.act(does(page, 'Switch it off'));
	await page.getByText('Switched off.').waitFor();
	await page.getByRole('region', { name: 'live' }).getByText('Always false').waitFor();
	await k.act(button(page, 'Delete…'), { back: true });
	await k.comes(dialog(page).getByRole('textbox').first());
	await k.type('by-hand');
	await k.act(does(page, 'Delete'));
	await page.locator('.card').getByText('flag.delete_flag', { exact: true }).waitFor(); // Production has a gate: one confirms it on its card
	await until(() => button(page, 'Approve A').isEnabled(), 'nothing folded');
	await k.press('a');
	await k.tick(dialog(page).getByLabel('Apply it at once'));
	await k.fill(dialog(page).getByRole('textbox'), 'by-hand');
	await k.act(does(page, 'Approve'));
	await page.getByText('Applied.', { exact: true }).waitFor();
	await k.command('flags', 'Flags');
	await k.choose(page.getByLabel('Project'), 'Shop');
	await page.getByText('There are no flags yet').waitFor();
	await k.done();
});

test('AU-4 AU-5 by keyboard: the log is filtered, exported, an entry opened and verified, and back', async () => {
	await w.note('Logged', 'x');
	const [entry] = await w.audit({ action: 'record.created' });
	await until(async () => (await w.admin.get(`/api/v1/orgs/default/audit/${entry.id}/proof`)).status === 200, 'a checkpoint');
	const { page, k } = await sitDown();
	await k.command('audit', 'Audit');
	await page.locator('.audit-table').waitFor();
	const [download] = await Promise.all([page.waitForEvent('download'), k.act(button(page, 'CSV'))]);
	assert.match(download.suggestedFilename(), /csv$/);
	await k.choose(page.getByLabel('Kind of actor'), 'person');
	await k.choose(page.getByLabel('What happened'), 'Created');
	await until(() => /action=record\.created/.test(page.url()), 'the question in the address');
	await k.choose(page.getByLabel('Kind of actor'), 'Any');
	await k.fill(page.getByRole('searchbox', { name: 'Proposal', exact: true }), entry.proposalId);
	await k.press('Enter');
	await until(async () => (await page.locator('.audit-table tbody tr').count()) === 1, 'the one entry');
	await k.act(page.locator(`.audit-table a[href="/audit/${entry.id}"]`));
	await page.locator('.chain svg').waitFor();
	await k.press('v');
	await page.getByText('Verified: this entry').waitFor();
	await k.to(page.getByRole('group', { name: 'Chain of authority' }));
	await k.press('u');
	await page.locator('.audit-table').waitFor();
	await k.done();
});

test('WEB-1 by keyboard: the overview by day and week, as a table', async () => {
	await w.note();
	const { page, k } = await sitDown();
	await k.act(page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }));
	await page.locator('.uplot canvas').waitFor();
	await k.choose(page.getByRole('combobox', { name: /^Time/ }), 'last 7 days');
	await page.locator('.uplot canvas').waitFor();
	await k.act(page.getByText('As a table'));
	await page.locator('.sheet .table').first().waitFor();
	await k.done();
});

test('AP-1 AP-8 ID-2 ID-3 by keyboard: policy saved and asked; a person added, changed, shut out; roles, teams, a password', async () => {
	const eva = await desk.member('Eva Lima');
	const { page, k } = await sitDown('/', eva);
	await k.command('settings', 'Settings');
	const part = (name) => page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true });
	await k.to(page.getByRole('spinbutton', { name: 'High risk' }));
	await k.press('ArrowUp');
	await k.press('ArrowDown');
	await k.tick(page.getByRole('checkbox', { name: 'GDPR' }));
	await k.act(button(page, 'Save'));
	await page.getByText('Saved. It holds from now on.').waitFor();
	assert.deepEqual((({ votesHigh, gdpr }) => [votesHigh, gdpr])((await ok(w.admin.get('/api/v1/settings'))).policy), [1, true]);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	await k.choose(page.getByLabel('Who calls'), 'First agent');
	await k.choose(page.getByRole('combobox', { name: /^Tool/ }), 'note.delete');
	await k.act(button(page, 'Ask policy'));
	await page.getByText('It would be asked').waitFor();

	await k.act(part('Members'), { back: true });
	await k.act(button(page, 'Add a person'));
	await k.comes(dialog(page).getByLabel('Name'));
	await k.type('Bo Chen');
	await k.fill(dialog(page).getByLabel('E-mail'), 'bo.keys@example.org');
	await k.tick(dialog(page).getByRole('checkbox', { name: 'operator' }));
	await k.act(does(page, 'Add a person'));
	await k.act(button(page, 'I have copied it'));
	await k.act(button(page, 'Roles: Bo Chen'));
	await k.tick(dialog(page).getByRole('checkbox', { name: 'operator' }), false);
	await k.act(does(page, 'Save'));
	await page.getByRole('row', { name: /Bo Chen/ }).getByText('proposer', { exact: true }).waitFor();
	await k.act(button(page, 'Shut out: Bo Chen'));
	await k.act(does(page, 'Shut out'));
	await button(page, 'Let in again: Bo Chen').waitFor();

	await k.act(part('Roles'), { back: true });
	await k.act(button(page, 'New role'));
	await k.fill(dialog(page).getByLabel('Name'), 'Releaser');
	await k.choose(dialog(page).getByRole('combobox', { name: /^Level/ }), 'proposer');
	await k.act(does(page, 'New role'));
	await k.act(button(page, 'Remove: Releaser'));
	await k.act(does(page, 'Remove'));
	await gone(page.getByRole('row', { name: /Releaser/ }));
	await k.act(part('Teams'), { back: true });
	await k.act(button(page, 'New team'));
	await k.fill(dialog(page).getByLabel('Name'), 'Finance');
	await k.tick(dialog(page).getByRole('checkbox', { name: 'Ana Torres' }));
	await k.act(does(page, 'New team'));
	await k.act(button(page, 'Remove: Finance'));
	await k.act(does(page, 'Remove'));
	await page.getByText('There are no teams yet.').waitFor();
	await k.act(part('You'), { back: true });
	await k.fill(page.getByLabel('The password until now'), eva.password);
	await k.fill(page.getByLabel('The new one'), 'another horse battery');
	await k.act(button(page, 'Change it'));
	await page.getByText('Changed. Your other sessions have ended.').waitFor();
	await k.done();
});

test('WEB-1 by keyboard: the first steps, from an empty inbox to a decision', async () => {
	for (const p of (await ok(w.admin.get('/api/v1/proposals?status=pending&limit=200'))).proposals) await w.admin.post(`/api/v1/proposals/${p.proposalId}/cancel`);
	const { page, k } = await sitDown();
	await k.act(page.getByRole('link', { name: 'Show me, in four steps' }));
	await heading(page, 'First steps');
	await k.choose(page.getByLabel('Which agent'), 'A new one…');
	await k.fill(page.getByLabel('Name'), 'My own');
	await k.act(button(page, 'Give it a token'));
	await k.act(button(page, 'Copy: Claude Code'));
	await k.act(button(page, 'Go on'));
	await k.act(button(page, 'Send a sample as the agent'));
	await k.act(page.getByRole('link', { name: 'Open the proposal' }));
	await page.locator('.card').waitFor();
	await k.press('a');
	await k.act(does(page, 'Approve'));
	await page.getByText('Approved.', { exact: true }).waitFor();
	await k.command('first steps', 'First steps');
	await page.getByText('That is all there is to it.').waitFor();
	await k.done();
});
