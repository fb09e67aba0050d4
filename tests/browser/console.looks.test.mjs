// SPDX-License-Identifier: Apache-2.0
// WEB-1: every page and every dialog (lib/places.mjs) in light, dark and on a phone: no violation by axe, and a picture
// in build/screenshots; and in Spanish, where no English may be left.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { onPostgres } from '../api/lib/server.mjs';
import { accessible, Desk, done, looks, onceOnly, picture, seen } from './lib/desk.mjs';
import { furnish, places } from './lib/places.mjs';
import { en, englishIn, es, filled, leaves, textsOf } from './lib/words.mjs';

let desk, ana, x;
before(async () => {
	if (onPostgres) return;
	desk = await Desk.open();
	ana = await desk.member('Ana Torres');
	x = await furnish(desk, ana);
});
after(() => desk?.close());

/** Goes to each place; what is open there is gone with the page. */
async function visit(page, t, look) {
	const wrong = [];
	for (const [name, [where, open]] of Object.entries(places)) {
		try {
			await page.goto(desk.url + (typeof where === 'function' ? where(x) : where));
			await open(page, t);
			await look(name);
		} catch (error) {
			wrong.push(`${name}: ${error.message}`);
		}
	}
	assert.deepEqual(wrong, []);
}

/** One place in every look: the window and its colours change under the page, as a person's do. */
async function seenInAll(page, name) {
	await seen(page, `${name}-light`);
	await page.emulateMedia({ colorScheme: 'dark' });
	await picture(page, `${name}-dark`);
	await accessible(page, `${name} in the dark`, 'color-contrast'); // what else there is has not changed
	await page.emulateMedia({ colorScheme: 'light' });
	await page.setViewportSize(looks.phone.viewport);
	await seen(page, `${name}-phone`);
	await page.setViewportSize(looks.light.viewport);
}

test(`WEB-1 each of ${Object.keys(places).length + 1} pages and dialogs in light, dark and on a phone: no violation by axe, and a picture`, onceOnly, async () => {
	const page = await desk.page('/');
	await page.getByLabel(en.signIn.password).waitFor();
	await seenInAll(page, 'sign-in');
	await desk.signIn(page, ana);
	await page.locator('.link-live').waitFor();
	page.on('dialog', (one) => one.accept()); // a matrix that was not saved asks before one leaves
	await visit(page, en, (name) => seenInAll(page, name));
	await done(page);
});

test('WEB-1 in Spanish no page and no dialog says anything in English that the console has a Spanish word for', onceOnly, async () => {
	const page = await desk.page('/', { locale: 'es-ES', look: 'phone' });
	await page.getByLabel(es.signIn.password).waitFor();
	assert.deepEqual(englishIn(await textsOf(page)), [], 'sign-in');
	await desk.signIn(page, ana);
	page.on('dialog', (one) => one.accept());
	await visit(page, es, async (name) => {
		await picture(page, `${name}-spanish`);
		assert.deepEqual(englishIn(await textsOf(page)), []);
	});
	await done(page);
});

/** Words that both languages share; everything else is translated, or forgotten. */
const SHARED = /^(?:.{0,3}|Countersign|[Tt]okens?|Actor|Roles|Marketing|CSV|JSON|GDPR|HIPAA|Error|Total|Plan|Chat|curl|OIDC|Webhook|URL|SHA-256|Email|No|[^\p{L}]*)$/u;

test('WEB-1 Spanish has every word and sentence of English, with the same gaps, and says it in Spanish', () => {
	const spanish = new Map(leaves(es)), english = leaves(en);
	assert.ok(english.length > 400);
	assert.deepEqual(Object.values(es.tiers), ['Permitir siempre', 'Pedir aprobación', 'Bloqueado']);
	assert.deepEqual(english.map(([way]) => way).filter((way) => !spanish.has(way)), [], 'missing');
	assert.deepEqual([...spanish.keys()].filter((way) => !new Map(english).has(way)), [], 'nothing of English');
	const wrong = english.filter(([way, one]) => {
		const other = spanish.get(way), said = filled(other);
		return typeof one !== typeof other || (said.trim() === '') !== (filled(one).trim() === '') || (said === filled(one) && !SHARED.test(said)) || (typeof one === 'function' && /7[.,]?654/.test(filled(one)) && !/7[.,]?654/.test(said));
	});
	assert.deepEqual(wrong.map(([way, one]) => `${way}: ${filled(one)}`), []);
});
