// SPDX-License-Identifier: Apache-2.0
// WEB-1: the console's navigation, and agents with what they may.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { accessible, button, Desk, done, gone, seen, usable } from './lib/desk.mjs';

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

// --- agents ---

const dialog = (page) => page.getByRole('dialog');
/** The three states of a tool or of a group. */
const three = (page, name) => page.getByRole('radiogroup', { name });
/** A choice of several: the input lies over its label. */
const choose = (page, name, tier) => three(page, name).getByRole('radio', { name: tier }).check();
const agentPage = (id) => `/agents/${id}`;
async function newAgent(name) {
	return (await ok(w.admin.post('/api/v1/agents', { name }))).id;
}
const stored = async (id) => Object.fromEntries((await ok(w.admin.get(`/api/v1/agents/${id}/tools`))).tools.filter((one) => one.stored).map((one) => [one.toolName, one.permissionStatus]));

test('ID-5 create an agent, mint a token that is shown once with the line for the client, use it, revoke it', async () => {
	const page = await desk.desk(ana, '/agents');
	await button(page, 'New agent').click();
	await page.getByLabel('Name').fill('Release bot');
	await accessible(page, 'the dialog of a new agent');
	await button(dialog(page), 'Create an agent').click();
	await page.getByRole('heading', { name: 'Release bot' }).waitFor();
	await page.getByText('It has no token').waitFor();
	const id = new URL(page.url()).pathname.split('/').at(-1);
	await button(page, 'New token').click();
	await usable(button(dialog(page), 'New token'), false);
	await page.getByLabel('What it is for').fill('my laptop');
	await page.getByRole('radio', { name: /Proposer/ }).check();
	await seen(page, 'agent-mint-light');
	await button(dialog(page), 'New token').click();
	const secret = await page.getByLabel('Token', { exact: true }).innerText();
	assert.match(secret, /^cs_agt_/);
	assert.ok((await page.getByLabel('Claude Code', { exact: true }).innerText()).includes(`${desk.url}/mcp --header "Authorization: Bearer ${secret}"`));
	for (const [client, part] of [['VS Code', '"servers"'], ['Cursor', '"mcpServers"'], ['curl', '/api/v1/proposals']]) {
		await page.getByLabel('Your MCP client').selectOption(client);
		await page.getByLabel(client, { exact: true }).getByText(part).waitFor();
	}
	await page.keyboard.press('Escape'); // a slip must not lose it
	await page.getByText('Copy the token now').waitFor();
	await accessible(page, 'the token, once');
	await button(page, 'I have copied it').click();
	await gone(dialog(page));
	assert.equal((await page.content()).includes(secret), false);
	const me = await ok(w.server.as(secret).get('/api/v1/me'));
	assert.deepEqual([me.id, me.level], [id, 'proposer']);
	await page.getByRole('row', { name: /my laptop/ }).getByText('Proposer').waitFor();
	await page.getByRole('button', { name: 'Revoke: my laptop' }).click();
	await accessible(page, 'the dialog to revoke');
	await button(dialog(page), 'Revoke').click();
	await page.getByText('It has no token').waitFor();
	await page.getByLabel('Show 1 token that has ended').check();
	await page.getByRole('row', { name: /my laptop/ }).getByText('revoked').waitFor();
	assert.equal((await w.server.as(secret).get('/api/v1/me')).status, 401);
	await button(page, 'Shut out').click();
	await button(dialog(page), 'Shut out').click();
	await button(page, 'Let in again').waitFor();
	await usable(button(page, 'New token'), false);
	await button(page, 'Let in again').click();
	await button(dialog(page), 'Let in again').click();
	await usable(button(page, 'New token'));
	await done(page);
});

test('TL-6 three states a tool, a master row for a provider and one for all; what is saved is all that is stored', async () => {
	const id = await newAgent('Matrix bot');
	const page = await desk.desk(ana, agentPage(id));
	await page.getByRole('button', { name: /^Notebook/ }).click();
	await usable(button(page, 'Save'), false);
	await choose(page, 'note.create', 'Always allow');
	await page.getByText('1 change not saved').waitFor();
	await choose(page, 'note.delete', 'Blocked');
	await page.getByText('2 changes not saved').waitFor();
	await choose(page, 'note.delete', 'Needs approval'); // as it was: nothing to save
	await page.getByText('1 change not saved').waitFor();
	await button(page, 'Save').click();
	await page.getByText('Saved. It holds from now on.').waitFor();
	assert.deepEqual(await stored(id), { 'note.create': 'always_allow' });
	await choose(page, 'All of Notebook', 'Blocked');
	await three(page, 'note.list').getByRole('radio', { name: 'Blocked', checked: true }).waitFor();
	await choose(page, 'note.get', 'Always allow');
	await three(page, 'All of Notebook (different below)').waitFor();
	await button(page, 'Save').click();
	await gone(page.getByText(/changes? not saved/));
	assert.deepEqual(await stored(id), { 'note.create': 'blocked', 'note.delete': 'blocked', 'note.list': 'blocked', 'note.update': 'blocked' }, 'note.get has its default');
	await page.reload();
	await page.getByLabel('Find a tool').fill('note.list');
	await three(page, 'note.list').getByRole('radio', { name: 'Blocked', checked: true }).waitFor();
	await page.getByLabel('Find a tool').fill('no such tool');
	await page.getByText('Nothing fits').waitFor();
	await page.getByLabel('Find a tool').fill('');
	await choose(page, 'Every tool', 'Always allow');
	await page.getByLabel('Find a tool').fill('delete a note');
	await page.getByText('Policy still asks a person').first().waitFor();
	await button(page, 'Discard').click();
	await page.getByText('Policy still asks a person').first().waitFor({ state: 'detached' });
	assert.equal((await stored(id))['note.delete'], 'blocked');
	await button(page, 'All back to the defaults').click();
	await gone(button(page, 'All back to the defaults'));
	assert.deepEqual(await stored(id), {});
	await done(page);
});

test('TL-7 what one always approves for an agent is on its page, and can be taken back', async () => {
	const id = await newAgent('Trusted bot');
	const page = await desk.desk(ana, agentPage(id));
	await page.getByText('Nothing.').waitFor();
	const said = await page.evaluate(async (agentId) => {
		const me = await (await fetch('/api/v1/me')).json();
		const post = async (path, body) => (await fetch(`/api/v1/${path}`, { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrfToken }, body: JSON.stringify(body) })).status;
		return [await post('tokens', { name: 'hers', principalId: agentId }), await post('tool-overrides', { agentId, toolName: 'note.create' })];
	}, id);
	assert.deepEqual(said, [201, 201]);
	await page.reload();
	await page.getByRole('button', { name: 'Take back: note.create' }).click();
	await page.getByText('you will be asked again').waitFor();
	await page.getByText('Nothing.').waitFor();
	await done(page);
});

test('ID-9 who may not is told why, next to what they tried; what does not exist says so', async () => {
	const id = await newAgent('Watched bot');
	const page = await desk.desk(await desk.member('Olga Ríos', ['observer']), '/agents');
	await button(page, 'New agent').click();
	await page.getByLabel('Name').fill('Mine');
	await button(dialog(page), 'Create an agent').click();
	await dialog(page).getByRole('alert').getByText('missing permission: access.agent.manage').waitFor();
	await page.goto(desk.url + agentPage(id));
	await button(page, 'New token').click();
	await page.getByLabel('What it is for').fill('mine');
	await page.getByRole('radio', { name: /Maintainer/ }).check();
	await button(dialog(page), 'New token').click();
	await dialog(page).getByRole('alert').waitFor();
	await button(dialog(page), 'Close').click();
	await page.getByLabel('Find a tool').fill('note.list');
	await choose(page, 'note.list', 'Blocked');
	await button(page, 'Save').click();
	await page.locator('.matrix').getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await page.getByText('1 change not saved').waitFor();
	await accessible(page, 'refused');
	assert.deepEqual(await stored(id), {});
	await page.goto(desk.url + agentPage('00000000-0000-7000-8000-000000000000'));
	await page.getByRole('alert').getByText('not_found').waitFor();
	await done(page);
});

test('AP-7 an agent\'s name that could deceive is refused; one from before that is shown with what hides in it', async () => {
	const name = 'Admin\u202Etob <script>window.pwned=1</script>', id = await newAgent('Tob');
	await refused(w.admin.post('/api/v1/agents', { name }), 400, 'invalid_request', /reading order/);
	await desk.change(`UPDATE principal SET name = '${name}' WHERE principal_id = '${id}'`);
	const page = await desk.desk(ana, '/agents');
	await page.locator('.hidden-char').getByText('\\u{202E}').first().waitFor();
	await page.goto(desk.url + agentPage(id));
	await page.locator('h2 .hidden-char').waitFor();
	assert.equal(await page.evaluate(() => window.pwned), undefined);
	await done(page);
	await ok(w.admin.delete(`/api/v1/agents/${id}`));
});
