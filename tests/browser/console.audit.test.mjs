// SPDX-License-Identifier: Apache-2.0
// AU-4, AU-5, AU-6, WEB-1: the console's audit pages: questions to the log, the chain of authority, the proof that the
// browser computes itself, and what it says when the server lies.
import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { run, until } from '../api/lib/server.mjs';
import { accessible, button, Desk, done, seen } from './lib/desk.mjs';

let desk, w, ana, applied, approver;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	const note = await w.note('Runbook', 'one');
	const bea = await w.person(['admin']);
	approver = w.count;
	applied = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'two\u202Eowt' } });
	await w.approve(applied, bea, { apply: true }); // high risk: a token's vote is none
});
after(() => desk?.close());

const LOG = '/api/v1/orgs/default/audit';
const entryOf = async (action, more = {}) => (await w.audit({ action, ...more }))[0];
/** An entry that a checkpoint covers: that takes two seconds at most. */
const sealed = async (action, more) => {
	const entry = await entryOf(action, more);
	await until(async () => (await w.admin.get(`${LOG}/${entry.id}/proof`)).status === 200, 'a checkpoint');
	return entry;
};
const rows = (page) => page.locator('.audit-table tbody tr');
const opened = async (entry, options) => {
	const page = await desk.desk(ana, `/audit/${entry.id}`, options);
	await page.locator('.chain svg').waitFor();
	return page;
};
const check = (page, name) => page.locator(`.check-${name}`);

test('AU-5 the log by actor, kind, time, resource and proposal; a question is an address; what does not fit says so', async () => {
	const page = await desk.desk(ana, '/audit');
	await rows(page).first().waitFor();
	await page.getByRole('searchbox', { name: 'Proposal', exact: true }).fill(applied.proposalId);
	await page.getByRole('searchbox', { name: 'Proposal', exact: true }).press('Enter');
	await until(async () => (await rows(page).count()) === 4, 'proposed, approved, changed, applied');
	assert.match(await rows(page).last().innerText(), /Proposed\s+First agent agent\s+proposal note\.update/);
	await page.getByLabel('Kind of actor').selectOption('agent');
	await until(async () => (await rows(page).count()) === 1, 'what the agent did');
	assert.match(page.url(), /actorType=agent_token/);
	await page.reload();
	await until(async () => (await rows(page).count()) === 1, 'the same after a reload');
	await page.getByLabel('Kind of actor').selectOption('Any');
	await page.getByRole('combobox', { name: /^Actor/ }).selectOption({ label: `Somebody ${approver}` });
	await until(async () => (await rows(page).count()) === 3, 'what the approver did');
	await page.getByLabel('Until').fill('2020-01-01');
	await page.getByText('No entry fits.').waitFor();
	await accessible(page, 'no entry');
	await button(page, 'Show everything').click();
	await until(async () => (await rows(page).count()) > 4, 'everything');
	await page.getByLabel('What happened').selectOption('Signed in');
	await until(async () => (await rows(page).allInnerTexts()).every((text) => /Signed in/.test(text)) && (await rows(page).count()) > 0, 'signing in');
	await page.goto(`${desk.url}/audit?resource=${(await entryOf('record.changed')).resourceId}`);
	await until(async () => (await rows(page).count()) === 2, 'the note that was made and changed');
	await done(page);
});

test('AU-5 an answer that comes late does not stand in for the question that is asked now', async () => {
	const page = await desk.desk(ana, '/audit');
	await rows(page).first().waitFor();
	const late = (url) => url.pathname === LOG && url.searchParams.get('actorType') === 'agent_token';
	const held = [];
	await page.route(late, (route) => void held.push(route));
	await page.getByLabel('Kind of actor').selectOption('agent');
	await until(() => held.length === 1, 'the first question on its way');
	await page.getByLabel('What happened').selectOption('Signed in'); // and a second, of the same agent: also late
	await until(() => held.length === 2, 'the second');
	await page.getByLabel('Kind of actor').selectOption('person');
	const signedIn = async () => (await rows(page).count()) > 0 && (await rows(page).allInnerTexts()).every((text) => /Signed in/.test(text));
	await until(signedIn, 'what people did');
	const before = await rows(page).allInnerTexts();
	for (const route of held) {
		const [answer] = await Promise.all([page.waitForResponse((one) => one.request() === route.request()), route.continue()]);
		await answer.finished();
		await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))); // it would be drawn by now
		assert.deepEqual(await rows(page).allInnerTexts(), before);
	}
	await page.unroute(late);
	await done(page);
});

test('WEB-1 pages of the log, and what happens meanwhile', async () => {
	for (let i = 0; i < 60; i++) await w.propose();
	const page = await desk.desk(ana, '/audit');
	await until(async () => (await rows(page).count()) === 50, 'a page');
	await page.locator('.link-live').waitFor();
	const p = await w.propose();
	await page.getByRole('button', { name: 'Something has happened since' }).click();
	await page.goto(`${desk.url}/audit?action=proposal.created`);
	await until(async () => (await rows(page).count()) === 50, 'a page of proposals');
	await button(page, 'Show older entries').click();
	await page.getByText('that is all').waitFor();
	assert.ok((await rows(page).count()) > 60);
	await ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/cancel`));
	await done(page);
});

test('AU-6 the chain of authority: person, token, agent, proposal, approver, applier, change; with a description', async () => {
	const entry = await sealed('record.changed');
	const page = await opened(entry);
	await page.getByRole('img', { name: /person Admin → token …[0-9a-f]{8} → agent First agent → proposal note\.update \(.+\) → approved by Somebody \d+ \(.+\) → applied by Somebody \d+ \(.+\) → change note …/ }).waitFor();
	assert.equal(await page.locator('.link-node').count(), 7);
	assert.equal(await page.locator('.link-node.is-here').count(), 1);
	await page.getByRole('heading', { name: 'What changed' }).waitFor();
	await page.locator('.field .hidden-char').getByText('\\u{202E}').waitFor();
	await page.getByRole('link', { name: applied.proposalId }).click();
	await page.locator('.card').waitFor();
	await page.goBack();
	const denied = await w.propose();
	await ok(w.admin.post(`/api/v1/proposals/${denied.proposalId}/deny`, { viewHash: denied.viewHash }));
	await page.goto(`${desk.url}/audit/${(await entryOf('proposal.denied')).id}`);
	await page.getByRole('img', { name: /proposal note\.create \(.+\) → denied by Admin/ }).waitFor();
	await page.goto(`${desk.url}/audit/${(await entryOf('session.started')).id}`);
	await page.getByRole('img', { name: /^person Ana Torres/ }).waitFor();
	await page.goto(`${desk.url}/audit/none`);
	await page.getByRole('alert').getByText('not_found').waitFor();
	await done(page);
});

test('AU-4 the browser verifies inclusion, signature, key and growth itself, and keeps what it saw', async () => {
	const page = await opened(await sealed('record.changed'));
	await button(page, 'Verify V').click();
	await page.getByText('Verified: this entry is in the sealed log').waitFor();
	assert.deepEqual([await check(page, 'good').count(), await check(page, 'first').count()], [3, 2]);
	for (let i = 0; i < 3; i++) await w.propose();
	const later = await sealed('proposal.created');
	await page.goto(`${desk.url}/audit/${later.id}`);
	await page.locator('.chain svg').waitFor();
	await button(page, 'Verify V').click();
	await page.getByText('the log only grew', { exact: false }).waitFor();
	await until(async () => (await check(page, 'good').count()) === 5, 'all five');
	await page.locator('.proof summary').first().click();
	await page.getByText(/leaf \d+ of \d+/).waitFor();
	await done(page);
});

test('AU-4 every size of a log proves every entry, as the browser computes it', async () => {
	const { entries } = await ok(w.admin.get(`${LOG}?limit=100`));
	const page = await opened(await sealed(entries[0].action));
	const some = entries.filter((_, i) => i % 12 === 0);
	assert.ok(some.length > 1, `${entries.length} entries`);
	for (const entry of some) {
		await page.goto(`${desk.url}/audit/${entry.id}`);
		await page.locator('.chain svg').waitFor();
		await button(page, 'Verify V').click();
		await page.getByText('Verified: this entry').waitFor();
	}
	await done(page);
});

/** Each a lie of the server's, and the check that finds it. */
const flip = (base64, at = 5) => base64.slice(0, at) + (base64[at] === 'A' ? 'B' : 'A') + base64.slice(at + 1);
const lies = {
	'an entry that says something else': { path: /\/audit\/[0-9a-f-]{36}$/, change: (json) => (json.entry.actorId = json.entry.orgId), found: 'is not the sealed one' },
	'a column more': { path: /\/audit\/[0-9a-f-]{36}$/, change: (json) => (json.entry.model = 'human'), found: 'is not the sealed one' },
	'another time': { path: /\/audit\/[0-9a-f-]{36}$/, change: (json) => (json.entry.time = '2020-01-01T00:00:00.000000Z'), found: 'is not the sealed one' },
	'another leaf': { path: /\/proof$/, change: (json) => (json.leaf = json.leaf.replace('"v":1', '"v":2')), found: 'is not in the tree' },
	'another place': { path: /\/proof$/, change: (json) => json.leafIndex--, found: 'is not in the tree' },
	'a wrong path': { path: /\/proof$/, change: (json) => (json.path[0] = flip(json.path[0])), found: 'is not in the tree' },
	'a path that is none': { path: /\/proof$/, change: (json) => (json.path[0] = '***'), found: 'is not in the tree' },
	'a checkpoint of another root': { path: /\/proof$/, change: (json) => (json.checkpoint = json.checkpoint.replace(/\n([^\n]{44})\n/, (_, root) => `\n${flip(root)}\n`)), found: 'is not signed by' },
	'a wrong signature': { path: /\/proof$/, change: (json) => (json.checkpoint = json.checkpoint.replace(/ (\S+)\n$/, (_, s) => ` ${flip(s, 20)}\n`)), found: 'is not signed by' },
	'no checkpoint at all': { path: /\/proof$/, change: (json) => (json.checkpoint = 'trust me'), found: 'is not signed by' },
	'another key': { path: /\/checkpoint$/, change: (json) => (json.key = flip(json.key, json.key.length - 5)), found: 'is not signed by' },
};

test('AU-4 a server that lies is found out, whatever it lies about', async () => {
	const entry = await sealed('record.changed');
	const page = await opened(entry);
	for (const [name, { path: at, change, found }] of Object.entries(lies)) {
		const lie = async (route) => {
			const answer = await route.fetch(), json = await answer.json();
			change(json);
			await route.fulfill({ response: answer, json });
		};
		const matches = (url) => url.pathname.startsWith(LOG) && at.test(url.pathname);
		await page.route(matches, lie);
		await page.reload();
		await page.locator('.chain svg').waitFor();
		await button(page, 'Verify V').click();
		await page.getByRole('alert').getByText('Not verified').waitFor();
		assert.ok((await check(page, 'bad').allInnerTexts()).some((text) => text.includes(found)), `${name}: ${await page.locator('.checks').innerText()}`);
		if (name === 'a wrong path') await seen(page, 'audit-tampered-light');
		await page.unroute(matches);
	}
	await done(page);
});

test('AU-4 a log that was rewritten is not the one this browser saw, even if all of it is signed', async () => {
	const entry = await sealed('record.changed');
	const page = await opened(entry);
	await button(page, 'Verify V').click();
	await page.getByText('Verified: this entry').waitFor();
	const store = (change) => page.evaluate(`(() => { const name = Object.keys(localStorage).find((key) => key.startsWith('audit-log:')); const kept = JSON.parse(localStorage[name]); (${change})(kept); localStorage[name] = JSON.stringify(kept); })()`);
	await store('(kept) => { kept.checkpoint = kept.checkpoint.replace(/\\n([^\\n]{44})\\n/, (_, root) => "\\n" + (root[0] === "A" ? "B" : "A") + root.slice(1) + "\\n"); }');
	await button(page, 'Verify V').click();
	await page.getByText('it was rewritten').waitFor();
	await page.getByRole('alert').getByText('Not verified').waitFor();
	await store('(kept) => { kept.key = "countersign/other+00000000+AQ=="; }');
	await button(page, 'Verify V').click();
	await page.getByText('The key is not the one this browser has known').waitFor();
	await button(page, 'Forget what this browser kept').click();
	await page.getByText('Verified: this entry').waitFor();
	await done(page);
});

test('AU-4 a browser without Ed25519 says what it could not check', async () => {
	const entry = await sealed('record.changed');
	const page = await desk.page('/');
	await page.addInitScript(() => {
		const real = crypto.subtle.importKey.bind(crypto.subtle);
		crypto.subtle.importKey = (...args) => (args[2] === 'Ed25519' ? Promise.reject(new DOMException('no', 'NotSupportedError')) : real(...args));
	});
	await desk.signIn(page, ana);
	await page.goto(`${desk.url}/audit/${entry.id}`);
	await page.locator('.chain svg').waitFor();
	await button(page, 'Verify V').click();
	await page.getByText('does not know Ed25519, so the signature was not checked').waitFor();
	assert.equal(await check(page, 'unable').count(), 1);
	await done(page);
});

test('AU-5 the exported file is the one that countersign audit verify reads; what fails says so', async () => {
	await sealed('record.changed');
	const page = await desk.desk(ana, '/audit');
	await rows(page).first().waitFor();
	const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export the log').click()]);
	const file = path.join(tmpdir(), `${process.pid}-${download.suggestedFilename()}`);
	await download.saveAs(file);
	const { stdout } = await run(['audit', 'verify', file]);
	assert.match(stdout, /verified|ok|agrees/i);
	await rm(file);
	const [csv] = await Promise.all([page.waitForEvent('download'), button(page, 'CSV').click()]);
	assert.match(await readFile(await csv.path(), 'utf8'), /^leafIndex,action/);
	await page.route('**/audit/export?**', (route) => route.abort());
	await button(page, 'Export the log').click();
	await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
	await done(page);
});

test('WEB-1 who may not read the log is told', async () => {
	await ok(w.admin.post('/api/v1/roles', { name: 'notes only', rules: ['note.note.read'] }));
	const page = await desk.desk(await desk.member('Nico Sol', ['notes only']), '/audit');
	await page.getByRole('alert').getByText('forbidden', { exact: true }).waitFor();
	await done(page);
});
