// SPDX-License-Identifier: Apache-2.0
// AP-7: what a card says of text that deceives, and that it says nothing of ordinary text. The table of ways to deceive is
// tests/browser/lib/deceptive.mjs; here the whole program is asked about those that docs/threats.md names.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { root } from './lib/server.mjs';

let w;
before(async () => (w = await World.start()));
after(() => w?.stop());

const card = async (text, title = 'Words', more = {}, who = w.agent) => (await w.propose({ input: { title, text }, ...more }, who)).card;

const deceptive = {
	'a Roman numeral among letters': 'paypa\u217c.com', 'all Cyrillic beside Latin': 'Transfer it to \u0430\u0441\u0435', 'a Cyrillic O for a zero': 'Pay 1\u041e\u041e euro',
	'a Greek O for a zero': 'Pay 1\u039f\u039f euro', Lisu: '\ua4d1aypal', Coptic: 'p\u2c81ypal', Deseret: 'g\u{1042c}ogle', 'a full-width dot': 'https://good.example\uff0eevil',
	'a full-width slash': 'https://good.example\uff0fevil', 'an ideographic full stop': 'https://good.example\u3002evil', 'a click for an exclamation mark': 'Stop\u01c3now',
	'a format character of hieroglyphs': 'a\u{13430}b', 'a format character of Kaithi': 'a\u{110bd}b', 'a format character of Syriac': 'a\u070fb', 'letters struck out': 'a\u0336d\u0336',
	'a letter struck through': 'p\u0338ay', 'narrow no-break spaces': `a${'\u202f'.repeat(300)}b`, 'mathematical spaces': `a${'\u205f'.repeat(300)}b`, 'Ogham spaces': `a${'\u1680'.repeat(300)}b`,
	'a dot on a dot': 'admi\u0307n', 'heaped marks': `a${'\u0300\u0301'.repeat(20)}`, 'digits of two scripts': 'Pay 1\u0660\u0660',
};
for (const [name, text] of Object.entries(deceptive))
	test(`AP-7 what deceives is flagged, and the risk is high: ${name}`, async () => {
		const { warnings, risk } = await card(text);
		assert.equal(warnings.length > 0, true, text);
		assert.equal(risk.level, 'high');
	});

test('AP-7 ordinary sentences of many languages are not flagged', async () => {
	const lines = (await readFile(`${root}/tests/lib/ordinary.txt`, 'utf8')).split('\n');
	const languages = lines.filter((line) => line.startsWith('# ')).length, sentences = lines.filter((line) => line !== '' && !line.startsWith('#'));
	assert.ok(languages > 40 && sentences.length > 60);
	const flagged = [];
	for (const text of sentences) {
		const { warnings, agentSays, change } = await card(text, 'Words', { intent: { summary: text } });
		if (warnings.length > 0 || agentSays.warnings.length > 0 || change.after.text !== text) flagged.push([text, warnings, change.after.text]);
	}
	assert.deepEqual(flagged, []);
});

test('AP-7 a warning stands where the text stands that deceives: a name is not the agent\'s words', async () => {
	const admin = await w.person(['admin']);
	const plain = await card('Nothing special.');
	assert.deepEqual([plain.warnings, plain.agentSays.warnings, plain.warningsOf], [[], [], undefined]);
	const says = await card('Nothing special.', 'Words', { intent: { summary: 'p\u0430ypal' } });
	assert.deepEqual([says.warnings, says.agentSays.warnings.length, says.warningsOf], [[], 1, undefined]);
	const made = await admin.post('/api/v1/agents', { name: 'p\u0430ypal' });
	if (made.status === 400) return; // such a name is not to be had
	const minted = await ok(admin.post('/api/v1/tokens', { name: 'x', principalId: made.json.id, actions: ['read', 'propose'] }));
	const named = await card('Nothing special.', 'Words', {}, w.server.as(minted.token));
	assert.deepEqual([named.warnings, named.agentSays.warnings], [[], []]);
	assert.deepEqual(named.warningsOf, { askedBy: ['has a word that mixes scripts which look alike'] });
	assert.equal(named.risk.level, 'high');
});

test('PA-12 an Idempotency-Key that is empty is an error, not a request without one', async () => {
	const form = { tool: 'note.create', input: { title: 'Once', text: '' } };
	for (const key of ['', '""']) await refused(w.agent.post('/api/v1/proposals', form, { headers: { 'idempotency-key': key } }), 400, 'invalid_request', /Idempotency-Key is empty/);
	await ok(w.agent.post('/api/v1/proposals', form, { headers: { 'idempotency-key': 'once' } }));
});
