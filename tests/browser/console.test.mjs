// SPDX-License-Identifier: Apache-2.0
// WEB-1, AP-5, AP-6, AP-7, ID-8: the console against the real server, in Chromium: its stories, what goes wrong in them,
// with the keyboard alone, and looked at by axe. Pictures of each page go to build/screenshots.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Shop } from '../api/lib/flags.mjs';
import { ok } from '../api/lib/flow.mjs';
import { signIn } from '../api/lib/people.mjs';
import { onPostgres, until } from '../api/lib/server.mjs';
import { accessible, Desk, picture } from './lib/desk.mjs';

let desk, w, ana;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
});
after(() => desk?.close());
beforeEach(async () => { // what a test that failed has left behind is not the next one's
	for (const status of ['pending', 'approved']) for (const p of (await ok(w.admin.get(`/api/v1/proposals?status=${status}`))).proposals) await w.admin.post(`/api/v1${at(p)}/cancel`);
});

const at = (p) => `/proposals/${p.proposalId}`;
const proposal = (p) => ok(w.admin.get(`/api/v1${at(p)}`));
const deny = (p, more = {}) => ok(w.admin.post(`/api/v1${at(p)}/deny`, { viewHash: p.viewHash, ...more }));
const row = (page, p) => page.locator(`#row-${p.proposalId}`);
const card = (page) => page.locator('.card');
const button = (page, name) => page.getByRole('button', { name });
/** A button that a person can press, or not: the page may need a moment to draw what has changed. */
const usable = (of, wanted = true) => until(async () => (await of.isEnabled()) === wanted, wanted ? 'a button to press' : 'a button that cannot be pressed');
const gone = (of) => of.waitFor({ state: 'detached' });
const opened = async (p, options) => {
	const page = await desk.desk(ana, at(p), options);
	await card(page).waitFor();
	return page;
};
/** Nothing went wrong in the page, and it is closed. */
async function done(page) {
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

/** The answer as it came over the wire: fetch would unpack it. */
const raw = (path, headers = {}) => new Promise((resolve, reject) => {
	http.get(desk.url + path, { headers }, (answer) => {
		const parts = [];
		answer.on('data', (part) => parts.push(part)).on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
	}).on('error', reject);
});

// --- what is served ---

test('WEB-1 the console is small, packed, kept by caches, and nothing in it is inline', async () => {
	const index = await raw('/', { 'accept-encoding': 'gzip' });
	const html = gunzipSync(index.body).toString();
	assert.equal(index.headers['cache-control'], 'no-cache');
	assert.equal(index.headers['x-content-type-options'], 'nosniff');
	for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'", "require-trusted-types-for 'script'"]) assert.ok(index.headers['content-security-policy'].includes(part), part);
	assert.doesNotMatch(index.headers['content-security-policy'], /unsafe/);
	assert.doesNotMatch(html, /<style|style=|<script(?![^>]* src=)| on\w+=/i);
	assert.equal((await raw('/', { 'accept-encoding': 'gzip', 'if-none-match': index.headers.etag })).status, 304);
	assert.notEqual((await raw('/')).headers.etag, index.headers.etag, 'packed and not are two things');
	const files = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, file]) => file);
	let script = 0;
	for (const file of files) {
		const answer = await raw(file, { 'accept-encoding': 'br, gzip;q=0.8' });
		assert.deepEqual([answer.status, answer.headers['content-encoding'], answer.headers.vary], [200, 'gzip', 'Accept-Encoding'], file);
		assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable');
		const plain = await raw(file, { 'accept-encoding': 'gzip;q=0' });
		assert.equal(plain.headers['content-encoding'], undefined);
		assert.deepEqual(gunzipSync(answer.body), plain.body);
		if (file.endsWith('.js')) script += answer.body.length;
	}
	assert.ok(script > 5000 && script <= 120_000, `${script} bytes of compressed JavaScript`);
	assert.equal((await raw('/console/nothing.js')).status, 404);
});

// --- signing in ---

test('ID-8 a wrong password is said with its code; the session is in a cookie that no script reads; signing out ends it', async () => {
	const page = await desk.page('/');
	await page.getByLabel('E-mail').fill(ana.email);
	assert.equal(await page.title(), 'Sign in · Countersign');
	await page.getByLabel('Password').fill('wrong');
	await button(page, 'Sign in').click();
	await page.getByRole('alert').getByText('unauthenticated').waitFor();
	await page.getByLabel('Password').fill(ana.password);
	await button(page, 'Sign in').click();
	await page.locator('#inbox-title').waitFor();
	assert.equal(await page.evaluate(() => document.cookie), '');
	await page.reload();
	await page.locator('#inbox-title').waitFor();
	await page.locator('.menu summary').click();
	await button(page, 'Sign out').click();
	await page.getByLabel('Password').waitFor();
	assert.equal(await page.getByText('Your session has ended').count(), 0, 'they know');
	await page.goto(desk.url);
	await page.getByLabel('Password').waitFor();
	await done(page);
});

test('ID-8 a session that ends elsewhere asks again, and goes on at the same place', async () => {
	const bea = await desk.member('Bea Ruiz'), p = await w.propose();
	const page = await desk.desk(bea, at(p));
	await card(page).waitFor();
	const elsewhere = await signIn(w.server, bea), changed = { current: bea.password, password: 'another horse battery' };
	await ok(w.server.request('PUT', '/api/v1/me/password', { body: changed, headers: elsewhere })); // ends all other sessions
	await page.getByText('Your session has ended').waitFor();
	await desk.signIn(page, { ...bea, password: 'another horse battery' });
	await card(page).waitFor();
	assert.equal(new URL(page.url()).pathname, at(p));
	await done(page);
	await deny(p);
});

// --- the inbox ---

test('WEB-1 an empty inbox teaches; what agents propose appears by itself, and what others decide goes', async () => {
	const page = await desk.desk(ana);
	await page.getByText('Nothing is waiting for you').waitFor();
	await page.getByText('/mcp').waitFor();
	await picture(page, 'inbox-empty-light');
	await accessible(page, 'the empty inbox');
	await page.locator('.link-live').waitFor();
	const one = await w.propose(), two = await w.propose();
	await row(page, two).waitFor();
	await until(async () => (await page.title()) === '(2) Inbox · Countersign', 'the count in the title');
	assert.match(await row(page, one).innerText(), /low risk\s+changes\s+Countersign's own notebook\s+First agent for Admin/);
	await deny(one);
	await row(page, one).waitFor({ state: 'detached' });
	await until(async () => (await page.title()).startsWith('(1)'), 'the smaller count');
	await page.getByRole('link', { name: 'All' }).click();
	await row(page, one).getByText('denied').waitFor();
	await page.goBack();
	await row(page, two).waitFor();
	await deny(two);
	await page.getByText('Nothing is waiting for you').waitFor();
	await done(page);
});

test('WEB-1 filters, order, and a batch that is denied with one reason', async () => {
	const page = await desk.desk(ana);
	const kept = await w.propose({ input: { title: 'Keep this', text: 'x' } });
	const risky = await w.propose({ input: { title: 'ev\u202Eil', text: 'x' } });
	const brief = await w.propose({ input: { title: 'Brief', text: 'x' }, expiresInSeconds: 300 });
	await row(page, brief).waitFor();
	const order = () => page.locator('.row-summary').allInnerTexts();
	await page.getByLabel('Order').selectOption('risk');
	await until(async () => /ev/.test((await order())[0]), 'the highest risk first');
	await page.getByLabel('Order').selectOption('ending');
	await until(async () => /Brief/.test((await order())[0]), 'what ends soonest first');
	await page.getByLabel('Risk').selectOption('high');
	await until(async () => (await order()).length === 1, 'only the risky one');
	await page.getByLabel('Filter').fill('nothing like it');
	await button(page, 'Show everything').click();
	await page.getByLabel('Filter').fill('keep');
	await until(async () => (await order()).length === 1, 'only what is to be kept');
	await page.getByLabel('Filter').fill('');
	for (const p of [risky, brief]) await page.locator('.row', { has: row(page, p) }).getByRole('checkbox').check();
	await button(page, 'Deny…').click();
	await page.getByLabel('Reason').fill('Not today');
	await accessible(page, 'the batch dialog');
	await button(page.getByRole('dialog'), 'Deny').click();
	await page.getByText('2 proposals denied.').waitFor();
	for (const p of [risky, brief]) assert.equal((await proposal(p)).approvals.votes[0].reason, 'Not today');
	assert.equal((await proposal(kept)).state, 'pending');
	await deny(kept);
	await done(page);
});

// --- deciding ---

test('AP-5 the vote carries the hash of the card as this browser has it; approve and apply', async () => {
	const p = await w.propose({ input: { title: 'Zahl \u{1F40D} "quoted"', text: 'a\tb\nüß\u{10FFFF}' }, intent: { summary: 'why', reasoning: 'because <b>bold</b>' } });
	const page = await opened(p);
	const [sent] = await Promise.all([
		page.waitForRequest((request) => request.url().endsWith('/approve')),
		(async () => {
			await button(page, 'Approve').click();
			await page.getByLabel('Apply it at once').check();
			await button(page.getByRole('dialog'), 'Approve').click();
		})(),
	]);
	assert.equal(sent.postDataJSON().viewHash, p.viewHash);
	assert.equal(sent.postDataJSON().apply, true);
	assert.match(sent.headers()['x-csrf-token'], /^[0-9a-f]{64}$/);
	await page.getByText('Applied.').waitFor();
	await page.locator('.crumb').getByText('applied').waitFor();
	assert.equal((await proposal(p)).state, 'applied');
	assert.match(await page.locator('.timeline').innerText(), /First agent proposed it[\s\S]*Ana Torres approved[\s\S]*Ana Torres applied it/);
	await done(page);
});

test('AP-5 numbers, keys and text of every kind have the same hash here and there', async () => {
	const shop = await Shop.open(w.admin, 'hashes');
	await shop.config('odd', { type: 'json', defaultValue: {} });
	const value = { 'é': 1e21, z: -0, '\u{1F600}': 1.5e-7, '\uFB33': [0.1, 1e16, 123456789012345680000, null, true], '': '\u007f\u0000'.slice(0, 1), deep: { b: {}, a: [] } };
	const p = await ok(w.agent.post('/api/v1/proposals', { envId: shop.staging.id, kind: 'set_default_value_config', resourceKey: 'odd', diff: { defaultValue: value }, spotCheck: [{ userId: 'u' }] }));
	const page = await opened(p);
	assert.equal(await page.getByText('It cannot be decided here').count(), 0);
	await page.locator('.proof summary').click();
	assert.equal(await page.locator('.proof').getByText('checked in this browser').count(), 2);
	await page.locator('.proof').getByText(p.viewHash).waitFor();
	await page.getByText('of 1 would be answered differently').waitFor();
	await done(page);
	await deny(p);
});

test('AP-5 an answer that was changed on its way cannot be decided; one that was changed well is refused by the server', async () => {
	const p = await w.propose();
	const page = await desk.desk(ana);
	await page.route(`**/api/v1${at(p)}`, async (route) => {
		const answer = await route.fetch(), json = await answer.json();
		json.card.summary = 'Something harmless';
		await route.fulfill({ response: answer, json });
	});
	await row(page, p).click();
	await page.getByRole('heading', { name: 'Something harmless' }).waitFor();
	await page.getByRole('alert').getByText('It cannot be decided here').waitFor();
	await usable(button(page, 'Approve'), false);
	await page.unroute(`**/api/v1${at(p)}`);
	let lies = true;
	await page.route(`**/api/v1${at(p)}`, async (route) => {
		const answer = await route.fetch(), json = await answer.json();
		if (lies) {
			json.card.summary = 'Something harmless';
			json.viewHash = await page.evaluate(async (card) => {
				const canon = (v) => (Array.isArray(v) ? `[${v.map(canon)}]` : v && typeof v === 'object' ? `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canon(v[k])}`)}}` : JSON.stringify(v));
				return [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canon(card))))].map((b) => b.toString(16).padStart(2, '0')).join('');
			}, json.card);
		}
		await route.fulfill({ response: answer, json });
	});
	await page.reload();
	await page.getByRole('heading', { name: 'Something harmless' }).waitFor();
	await button(page, 'Approve').click();
	lies = false;
	await button(page.getByRole('dialog'), 'Approve').click();
	await page.getByRole('alert').getByText('your vote was not counted').waitFor();
	await page.getByRole('heading', { name: p.summary }).waitFor();
	assert.equal((await proposal(p)).approvals.votes.length, 0);
	await done(page);
	await deny(p);
});

test('AP-5 a row that was changed in the database between view and click is refused, and it is said', async () => {
	const p = await w.propose();
	const page = await opened(p);
	await desk.change(`UPDATE proposal SET summary = 'Something harmless' WHERE proposal_id = '${p.proposalId}'`);
	await page.locator('.link-live').waitFor({ timeout: 60_000 });
	await button(page, 'Approve').click();
	await button(page.getByRole('dialog'), 'Approve').click();
	await page.getByRole('alert').getByText('changed outside of Countersign').first().waitFor();
	await page.goto(desk.url);
	await page.getByText('It cannot be decided.').waitFor();
	await accessible(page, 'an inbox with a tampered row');
	await desk.change(`UPDATE proposal SET summary = '${p.summary}' WHERE proposal_id = '${p.proposalId}'`);
	await deny(p);
	await done(page);
});

test('AP-6 the card has its order, and the agent\'s words are last, quoted and marked', async () => {
	const shop = await Shop.open(w.admin, 'order');
	await shop.flag('checkout', { rules: [{ if: { field: 'plan', $equals: 'pro' }, value: true }] });
	const p = await ok(w.agent.post('/api/v1/proposals', { envId: shop.live.id, kind: 'kill_flag', resourceKey: 'checkout', diff: {}, spotCheck: [{ userId: 'u1', plan: 'pro' }, { userId: 'u2', plan: 'free' }], reason: 'It hurts' }));
	const page = await opened(p);
	await card(page).getByText('for Admin').waitFor(); // people's names come after the card
	const text = await card(page).innerText();
	let from = -1;
	for (const part of [p.summary, 'Tool', 'flag.kill_flag', 'version 1', 'Target system', 'Affected data', 'Effect', 'What would change', 'rules', 'Who is affected', '1 of 2 would be answered differently', 'Risk', 'Can be undone', 'If it fails', 'Asked by', 'First agent (agent) for Admin', 'Expires', 'The agent says', 'It hurts', 'It was not checked']) {
		const next = text.indexOf(part, from + 1);
		assert.ok(next > from, `${part} is not behind what comes before it:\n${text}`);
		from = next;
	}
	assert.equal(await page.locator('.says blockquote').innerText(), 'It hurts');
	assert.equal(await page.locator('tr.flips').count(), 1);
	await page.locator('tr.flips').scrollIntoViewIfNeeded();
	await picture(page, 'proposal-flag-light');
	await accessible(page, 'a card with a blast radius');
	await done(page);
	await deny(p);
});

test('AP-6 nobody approves what is folded, and what destroys is typed first', async () => {
	const long = await w.propose({ input: { title: 'Long', text: Array.from({ length: 80 }, (_, i) => `line ${i}`).join('\n') } });
	const page = await opened(long);
	await usable(button(page, 'Approve'), false);
	await page.getByText('1 part of the card is folded').waitFor();
	await page.keyboard.press('a');
	assert.equal(await page.getByRole('dialog').count(), 0);
	await page.getByRole('button', { name: /more characters are folded/ }).click();
	await card(page).getByText('line 79').waitFor();
	await usable(button(page, 'Approve'));
	await page.goto(desk.url);
	await row(page, long).waitFor();
	await page.keyboard.press('j');
	await page.keyboard.press('a'); // from the inbox, too: the card opens, and nothing to agree with
	await page.getByText('1 part of the card is folded').waitFor();
	await gone(page.getByRole('dialog'));
	await deny(long);

	const note = await w.note();
	const end = await w.propose({ tool: 'note.delete', input: { id: note.id } });
	await page.goto(desk.url + at(end));
	await card(page).waitFor();
	await page.keyboard.press('a');
	const confirm = button(page.getByRole('dialog'), 'Approve');
	await usable(confirm, false);
	await page.keyboard.type('note.delet');
	await usable(confirm, false);
	await page.keyboard.type('e');
	await picture(page, 'dialog-destructive-light');
	await accessible(page, 'the dialog before something is destroyed');
	await page.keyboard.press('Enter');
	await page.getByText('Approved.').waitFor();
	await button(page, 'Apply').click();
	await page.keyboard.type('note.delete');
	await page.keyboard.press('Enter');
	await page.getByText('Applied.').waitFor();
	assert.equal((await w.notes()).some((one) => one.id === note.id), false);
	await done(page);
});

test('AP-3 who proposed cannot vote, and is told why before they try; they can take it back', async () => {
	const own = await desk.desk(await desk.member('Carl Vega', ['proposer']));
	const id = await own.evaluate(async () => {
		const me = await (await fetch('/api/v1/me')).json();
		const answer = await fetch('/api/v1/proposals', { method: 'POST', headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrfToken }, body: JSON.stringify({ tool: 'note.create', input: { title: 'Mine', text: 'x' } }) });
		return (await answer.json()).proposalId;
	});
	await own.goto(`${desk.url}/proposals/${id}`);
	await own.getByText('You proposed this: somebody else has to decide.').waitFor();
	for (const name of ['Approve', 'Deny']) await usable(button(own, name), false);
	await button(own, 'Take back').click();
	await accessible(own, 'the dialog to take back');
	await button(own.getByRole('dialog'), 'Take back').click();
	await own.getByText('Taken back.').waitFor();
	await own.locator('.crumb').getByText('cancelled').waitFor();
	await done(own);
});

// --- meanwhile ---

test('WEB-1 somebody else decides first: the dialog closes, and it is said what it became', async () => {
	const p = await w.propose();
	const page = await opened(p);
	await page.locator('.link-live').waitFor();
	await page.keyboard.press('d');
	await page.getByLabel('Reason').fill('I was about to');
	await deny(p, { reason: 'First!' });
	await page.getByText('While you were looking, this became: denied.').waitFor();
	await gone(page.getByRole('dialog'));
	await page.locator('.timeline').getByText('First!').waitFor();
	await gone(button(page, 'Approve'));
	await done(page);
});

test('WEB-1 a vote that comes too late is explained, where no news came', async () => {
	const p = await w.propose();
	const page = await desk.page('/');
	await page.route('**/api/v1/events', (route) => route.abort()); // no stream: it looks again by itself
	await desk.signIn(page, ana);
	await page.goto(desk.url + at(p));
	await card(page).waitFor();
	await page.keyboard.press('a');
	await deny(p);
	const confirm = button(page.getByRole('dialog'), 'Approve');
	if (await confirm.count()) await confirm.click({ timeout: 2000 }).catch(() => {}); // unless it has looked again just now
	await page.getByText('While you were looking, this became: denied.').waitFor();
	await page.locator('.link-polling').waitFor();
	const next = await w.propose();
	await page.goto(desk.url);
	await row(page, next).waitFor();
	await deny(next);
	await row(page, next).waitFor({ state: 'detached' });
	await done(page);
});

test('PA-6 drift while looking: nothing is done, and it is proposed again in one click', async () => {
	const note = await w.note('Drifting', 'one');
	const p = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'two' } });
	const other = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'three' } });
	const page = await opened(p);
	await w.approve(other, w.admin, { apply: true });
	await page.keyboard.press('a');
	await page.getByLabel('Apply it at once').check();
	await button(page.getByRole('dialog'), 'Approve').click();
	await page.getByRole('alert').getByText('it was not applied').waitFor();
	await button(page, 'Apply').click(); // the vote stands; to apply says the same
	await button(page.getByRole('dialog'), 'Apply').click();
	await page.getByRole('alert').getByText('no longer what was shown').waitFor();
	await picture(page, 'proposal-drift-light');
	await accessible(page, 'drift');
	await page.getByRole('alert').getByRole('button', { name: 'Propose again' }).click();
	await until(() => !page.url().includes(p.proposalId), 'the new proposal');
	await card(page).getByText('three').waitFor();
	await done(page);
	const id = page.url().split('/').at(-1);
	await deny(await ok(w.admin.get(`/api/v1/proposals/${id}`)));
	await deny(await proposal(p));
});

test('PA-5 expired while looking: it counts down, and then there is nothing to press', async () => {
	const page = await desk.desk(ana);
	await page.locator('.link-live').waitFor();
	const p = await w.propose({ expiresInSeconds: 15 });
	await row(page, p).click();
	await page.locator('.crumb .time-left.soon').waitFor();
	await page.keyboard.press('a');
	await page.getByText('The time to decide is over.').first().waitFor({ timeout: 60_000 });
	await gone(page.getByRole('dialog'));
	await page.locator('.crumb').getByText('expired').waitFor();
	await button(page, 'Propose again').waitFor();
	await row(page, p).waitFor({ state: 'detached' });
	await done(page);
});

test('WEB-1 a lost connection is said, nothing can be decided meanwhile, and what was missed arrives', async () => {
	const p = await w.propose();
	const page = await opened(p);
	await page.locator('.link-live').waitFor();
	await desk.stop();
	await page.getByRole('alert').getByText('The server cannot be reached').first().waitFor();
	for (const name of ['Approve', 'Deny', 'Take back']) await usable(button(page, name), false);
	await picture(page, 'offline-light');
	await accessible(page, 'offline');
	await desk.start();
	const missed = await w.propose();
	await row(page, missed).waitFor({ timeout: 60_000 });
	await page.locator('.link-live').waitFor();
	await usable(button(page, 'Approve'));
	await done(page);
	for (const one of [p, missed]) await deny(one);
});

test('WEB-1 two tabs share one stream, and the other takes over', async () => {
	const first = await desk.desk(ana);
	await first.locator('.link-live').waitFor();
	const second = await desk.page('/', { context: first.context() });
	await second.locator('.link-live').waitFor();
	const streams = (page) => page.asked.filter((asked) => asked === 'GET /api/v1/events').length;
	const p = await w.propose();
	await row(second, p).waitFor();
	assert.deepEqual([streams(first), streams(second)], [1, 0]);
	await first.close();
	await until(() => streams(second) === 1, 'the second tab\'s own stream');
	await deny(p);
	await row(second, p).waitFor({ state: 'detached' });
	await done(second);
});

test('WEB-1 another server of the same database decides, and this one\'s page knows', { skip: !onPostgres && 'needs PostgreSQL' }, async () => {
	const other = await w.another(), p = await w.propose();
	const page = await opened(p);
	await ok(other.as(w.first.adminToken).post(`/api/v1${at(p)}/deny`, { viewHash: p.viewHash }));
	await page.getByText('While you were looking, this became: denied.').waitFor();
	await other.stop();
	await done(page);
});

// --- by keyboard, by everybody ---

test('WEB-1 with the keyboard alone: sign in, walk, approve, deny with a reason, help, commands, Spanish', async () => {
	const made = [];
	for (let i = 0; i < 3; i++) made.push(await w.propose());
	const page = await desk.page('/');
	await page.locator('input[type=email]:focus').waitFor(); // the focus comes by itself
	await page.keyboard.type(ana.email);
	await page.keyboard.press('Tab');
	await page.keyboard.type(ana.password);
	await page.keyboard.press('Enter');
	await row(page, made[2]).waitFor();
	await page.keyboard.press('j');
	await page.getByRole('heading', { name: made[2].summary }).waitFor();
	await page.keyboard.press('j');
	await page.getByRole('heading', { name: made[1].summary }).waitFor();
	await page.keyboard.press('k');
	await page.getByRole('heading', { name: made[2].summary }).waitFor();
	await page.keyboard.press('a');
	await page.getByRole('dialog').waitFor();
	await page.keyboard.press('Enter');
	await page.getByText('Approved.').waitFor();
	await page.keyboard.press('j');
	await page.getByRole('heading', { name: made[1].summary }).waitFor();
	await page.keyboard.press('d');
	await page.getByRole('dialog').waitFor();
	await page.keyboard.type('No.');
	await page.keyboard.press('Tab');
	await page.keyboard.press('Tab');
	await page.keyboard.press('Enter');
	await page.getByText('Denied.').waitFor();
	assert.deepEqual([(await proposal(made[2])).state, (await proposal(made[1])).approvals.votes[0].reason], ['approved', 'No.']);
	await page.keyboard.press('?');
	await page.getByRole('dialog', { name: 'Keys' }).waitFor();
	await accessible(page, 'the keys');
	await page.keyboard.press('Escape');
	await page.keyboard.press('u');
	await until(() => new URL(page.url()).pathname === '/', 'the inbox');
	await page.keyboard.press('Control+k');
	await page.keyboard.type('espa');
	await page.getByRole('option', { name: 'Language: Español', selected: true }).waitFor();
	await accessible(page, 'the commands');
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { name: 'Bandeja' }).waitFor();
	assert.equal(await page.evaluate(() => document.documentElement.lang), 'es');
	await page.keyboard.press('Control+k');
	await page.keyboard.type(`${made[0].summary}`);
	await page.getByRole('option', { name: made[0].summary, selected: true }).waitFor();
	await page.keyboard.press('Enter');
	await page.getByRole('heading', { name: made[0].summary }).waitFor();
	await page.getByText('Permiso: Pedir aprobación').waitFor();
	await done(page);
	await deny(made[0]);
	await deny(await proposal(made[2]));
});
