// SPDX-License-Identifier: Apache-2.0
// AP-7: over three hundred deceptive strings in every field that an agent fills: on the card each is flagged, and in
// Chromium each is shown whole, none is executed, and none hides what would be changed where.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from '../api/lib/flags.mjs';
import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { asShown, deceptive, unseen } from './lib/deceptive.mjs';
import { accessible, Desk, picture } from './lib/desk.mjs';

const BATCH = 20;
const batches = Array.from({ length: Math.ceil(deceptive.length / BATCH) }, (_, i) => deceptive.slice(i * BATCH, (i + 1) * BATCH).map(({ text }) => text));

let desk, w, shop, ana;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	shop = await Shop.open(w.admin, 'tricks');
	await shop.config('odd', { type: 'json', defaultValue: {} });
});
after(() => desk?.close());

const card = async (p) => (await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).card;
/** As much of a text as fits so many bytes. */
const cut = (text, bytes) => [...text].reduce((so, c) => (Buffer.byteLength(so + c) <= bytes ? so + c : so), '');
const title = (text) => (text !== '' && Buffer.byteLength(text) <= 200 && !text.includes('\n') ? text : 'Long');
const note = (title_, text, says = text) => w.propose({ input: { title: title_, text }, intent: { summary: cut(says, 500), reasoning: cut(says, 2000) } });
/** As the names and values of a configuration, as contexts to look at, and as the reason. */
const setting = (texts) => ok(w.agent.post('/api/v1/proposals', {
	envId: shop.staging.id, kind: 'set_default_value_config', resourceKey: 'odd', reason: cut(texts.join('\n'), 500),
	diff: { defaultValue: { names: Object.fromEntries(texts.map((text, i) => [`${i}${cut(text, 100)}`, true])), values: texts } },
	spotCheck: texts.slice(0, 10).map((text) => ({ userId: 'u', note: cut(text, 500) })),
}));

test(`AP-7 each of ${deceptive.length} deceptive strings is flagged on the card for what it is, in the agent's words, too`, async () => {
	assert.ok(deceptive.length >= 300);
	const missed = [];
	for (const { kind, warns, text } of deceptive) {
		const { warnings, agentSays, change, risk } = await card(await note(title(text), text));
		const said = (list) => (warns ? list.some((one) => warns.test(one)) : list.length === 0);
		if (!said(warnings) || !said(agentSays.warnings) || (warns && risk.level !== 'high') || change.after.text !== asShown(text)) missed.push([kind, text.slice(0, 40), warnings, agentSays.warnings, risk.level]);
	}
	assert.deepEqual(missed, []);
});

const hidden = (text) => unseen.exec(text)?.[0].codePointAt(0).toString(16);

/** What the page has, whatever is hidden in attributes, and what should not be there at all. */
const look = (page) => page.evaluate(() => ({
	text: document.body.textContent + [...document.querySelectorAll('[title],[aria-label],[placeholder]')].map((e) => `${e.title ?? ''}${e.ariaLabel ?? ''}${e.placeholder ?? ''}`).join(''),
	card: document.querySelector('.card').textContent,
	title: document.title,
	pwned: window.pwned,
	foreign: document.querySelectorAll('main :is(img, script, iframe, object, embed, style, base, meta, form, template, math, [onload], [onerror], [href^=javascript])').length,
}));

/** The target is on the page, and nothing lies over it. */
const uncovered = (page, target) => page.locator('.card').getByText(target, { exact: true }).first().evaluate((element) => {
	element.scrollIntoView({ block: 'center' });
	const { x, y, width, height } = element.getBoundingClientRect();
	return width > 0 && height > 0 && element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
});

async function open(page, p) {
	await page.goto(`${desk.url}/proposals/${p.proposalId}`);
	await page.locator('.card').waitFor();
	for (const fold = page.locator('.card .fold').first(); await fold.count();) await fold.click();
	await until(async () => (await page.locator('.card .fold').count()) === 0, 'nothing folded');
}

/** As a value in JSON stands: what stands for a hidden character keeps its one backslash. */
const inJson = (text) => JSON.stringify(asShown(text)).slice(1, -1).replaceAll(/\\\\(u\{[0-9A-F]{2,6}\})/g, '\\$1');

test('AP-7 in the browser each is shown whole, none is executed, none reaches another host, and the target stays in sight', async () => {
	const page = await desk.desk(ana);
	const elsewhere = [];
	page.on('request', (request) => request.url().startsWith(desk.url) || elsewhere.push(request.url()));
	for (const texts of batches) {
		const plain = texts.join('\n~\n');
		const notes = await note(title(texts.filter((text) => text.length < 20).join(' ')), plain), settings = await setting(texts);
		for (const [p, target, shown] of [[notes, "Countersign's own notebook", asShown], [settings, 'odd', inJson]]) {
			await open(page, p);
			await page.locator('.proof summary').click();
			const seen = await look(page);
			assert.deepEqual([seen.pwned, seen.foreign], [undefined, 0], p.summary);
			for (const text of texts) assert.ok(seen.card.includes(shown(text)), `not shown: ${JSON.stringify(text.slice(0, 80))}`);
			assert.equal(hidden(seen.text), undefined, p.summary);
			assert.equal(hidden(seen.title), undefined);
			assert.equal(await uncovered(page, target), true, `${target} is not in sight: ${p.summary}`);
		}
	}
	assert.deepEqual(elsewhere, []);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});

test('AP-7 the inbox, its commands and the dialogs show them as they are, too; a marked character is marked', async () => {
	const p = await note('pay\u202Egnp.exe', 'pay\u202Egnp.exe');
	const page = await desk.desk(ana);
	await page.locator(`#row-${p.proposalId} .hidden-char`).getByText('\\u{202E}').waitFor();
	assert.equal(hidden((await page.locator('.rows').textContent()) + (await page.title())), undefined);
	await page.keyboard.press('Control+k');
	await page.keyboard.type('gnp.exe');
	await page.getByRole('dialog').getByRole('option', { selected: true }).getByText('\\u{202E}gnp.exe').waitFor();
	assert.equal(hidden(await page.getByRole('dialog').textContent()), undefined);
	await page.keyboard.press('Enter');
	await page.locator('.card .hidden-char').getByText('\\u{202E}').first().waitFor();
	await page.locator('.card').getByText('change the reading order').first().waitFor();
	await page.locator('.crumb').getByText('high risk').waitFor();
	await picture(page, 'proposal-deceptive-light');
	await accessible(page, 'a deceptive card');
	await page.keyboard.press('d');
	await page.getByRole('dialog').locator('.hidden-char').waitFor();
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});
