// SPDX-License-Identifier: Apache-2.0
// WEB-1: decisions beyond yes and no: "approve always", and what became of a call that nobody answered.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { startUpstream, tool } from '../api/lib/upstream.mjs';
import { accessible, button, Desk, done, gone, seen, usable } from './lib/desk.mjs';

let desk, w, bea;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	bea = await desk.member('Bea Ruiz');
});
after(() => desk?.close());

const dialog = (page) => page.getByRole('dialog');
const always = (page) => dialog(page).getByRole('checkbox', { name: /always when/ });

/** Asks as the person who is signed in at the page. */
const as = (page, method, path, body) => page.evaluate(async ([how, where, what]) => {
	const me = await (await fetch('/api/v1/me')).json();
	const answer = await fetch(`/api/v1/${where}`, { method: how, headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrfToken }, ...(what ? { body: JSON.stringify(what) } : {}) });
	return answer.json();
}, [method, path, body]);

/** An agent that acts for the person at the page; asks as it does. */
async function agentOf(page, more = {}) {
	const { id } = await as(page, 'POST', 'agents', { name: 'Bea\'s bot' });
	const { token } = await as(page, 'POST', 'tokens', { name: 'hers', principalId: id, ratePerMinute: 1000, ...more });
	return { id, ...w.server.as(token) };
}

test('TL-7 "approve always" goes with the approval of whom the agent acts for, and stands on the agent\'s page', async () => {
	const page = await desk.desk(bea), agent = await agentOf(page);
	const propose = (name = 'note.create', input = { title: 'Again', text: 'x' }) => ok(agent.post('/api/v1/proposals', { tool: name, input }));
	/** The dialog to approve; asks: whether it can be chosen is asked for, and known. */
	const open = async (p, asks) => {
		const known = asks && page.waitForResponse((answer) => answer.url().endsWith('/api/v1/policy/explain'));
		await page.goto(`${desk.url}/proposals/${p.proposalId}`);
		await known;
		await page.locator('.card').waitFor();
		await page.keyboard.press('a');
		await dialog(page).waitFor();
	};
	const p = await propose();
	await open(p, true);
	await always(page).check();
	await seen(page, 'dialog-always-light');
	await button(dialog(page), 'Approve').click();
	await page.getByText('you always approve this tool').waitFor();
	const { overrides } = await as(page, 'GET', 'tool-overrides');
	assert.deepEqual(overrides.map(({ agentId, toolName }) => [agentId, toolName]), [[agent.id, 'note.create']]);
	assert.equal((await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).state, 'approved');
	await page.goto(`${desk.url}/agents/${agent.id}`);
	await button(page, 'Take back: note.create').waitFor();

	const end = await propose('note.delete', { id: (await w.note()).id }); // what destroys never has it
	const other = await w.propose(); // an agent that acts for somebody else
	for (const one of [end, other]) {
		await open(one, false);
		assert.equal(await always(page).count(), 0);
	}
	await ok(w.admin.put('/api/v1/settings', { policy: { overrides: false } })); // the organization does not want it
	await open(await propose(), true);
	assert.equal(await always(page).count(), 0);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	await done(page);
});

test('TL-7 where the wish is refused the vote stands, and both are said', async () => {
	const page = await desk.desk(bea), agent = await agentOf(page);
	const p = await ok(agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'Once', text: 'x' } }));
	await page.route('**/api/v1/tool-overrides', (route) => route.fulfill({ status: 403, json: { code: 'forbidden', message: 'Forbidden: not you' } }));
	const known = page.waitForResponse((answer) => answer.url().endsWith('/api/v1/policy/explain'));
	await page.goto(`${desk.url}/proposals/${p.proposalId}`);
	await known;
	await page.locator('.card').waitFor();
	await page.keyboard.press('a');
	await always(page).check();
	await button(dialog(page), 'Approve').click();
	await page.getByRole('alert').getByText('Your vote counts').waitFor();
	await page.getByRole('alert').getByText('Forbidden: not you').waitFor();
	await accessible(page, 'a wish that was refused');
	assert.equal((await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).approvals.valid, 1);
	await done(page);
});

test('EX-4 a call that nobody answered is unknown: a person looks, settles it with a reason, and it is on record', async () => {
	let up;
	const vanish = () => {
		void up.stop(); // it has heard the call, and says nothing
		return new Promise(() => {});
	};
	const page = await desk.desk(bea), agent = await agentOf(page, { level: 'operator' });
	up = await startUpstream({ tools: [tool('write_file', { run: vanish })] });
	const u = await as(page, 'POST', 'upstreams', { name: 'files', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] });
	const { tools } = await as(page, 'POST', `upstreams/${u.id}/refresh`, {});
	await as(page, 'POST', `upstreams/${u.id}/tools/accept`, { tools: [{ name: tools[0].name, definitionHash: tools[0].definitionHash, effect: 'mutate' }] });
	const { proposal: p } = await ok(agent.post('/api/v1/tools/call', { tool: tools[0].name, input: { path: 'b' } }));
	const own = await desk.desk(bea, `/proposals/${p.proposalId}`);
	await own.locator('.card').waitFor();
	await own.keyboard.press('a');
	await own.getByLabel('Apply it at once').check();
	await button(dialog(own), 'Approve').click();
	await own.locator('.crumb').getByText('outcome unknown').waitFor({ timeout: 60_000 });
	await gone(dialog(own));
	await accessible(own, 'an outcome that nobody knows');
	await button(own, 'Settle…').click();
	await usable(button(dialog(own), 'Settle…'), false);
	await own.getByRole('radio', { name: 'it was done' }).check();
	await usable(button(dialog(own), 'Settle…'), false); // not without a reason
	await own.getByLabel('How do you know?').fill('The file is there.');
	await button(dialog(own), 'Settle…').click();
	await own.locator('.crumb').getByText('applied').waitFor();
	const now = await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`));
	assert.equal(now.state, 'applied');
	assert.match(JSON.stringify(now.attempt), /The file is there\./);
	await done(own);
	await done(page);
});
