// SPDX-License-Identifier: Apache-2.0
// The console's own words, read from its sources: what it says in English and in Spanish.
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { transform } from 'esbuild';

import { root } from '../../api/lib/server.mjs';

async function load(name) {
	const { code } = await transform(await readFile(path.join(root, 'web/src/words', `${name}.ts`), 'utf8'), { loader: 'ts', format: 'esm' });
	return (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`))[name];
}

export const en = await load('en'), es = await load('es');

/** Every word and sentence with the way to it, the same in both languages' order. */
export function leaves(of, at = []) {
	return Object.entries(of).flatMap(([key, one]) => (typeof one === 'object' && one !== null ? leaves(one, [...at, key]) : [[[...at, key].join(' › '), one]]));
}
const reach = (of, way) => way.split(' › ').reduce((o, key) => o?.[key], of);

/** What a sentence says with something in its gaps; the something is easy to find again. */
const GAP = 7654;
export const filled = (one) => (typeof one === 'function' ? String(one(...Array.from({ length: Math.max(one.length, 1) }, () => GAP))) : one);
const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** A sentence with whatever in its gaps. */
const pattern = (one) => new RegExp(`^${filled(one).split(/7[.,]?654/).map(escaped).join('.+')}$`, 'su');

/** What a reader of Spanish must not find on a page: the English that Spanish has another word for. */
const spanish = new Set(leaves(es).map(([, one]) => filled(one)));
const data = /^(audit › things|flags › types) ›/; // these are names in a card, too, which shows what the server stored
const english = leaves(en).filter(([way, one]) => !data.test(way) && filled(one) !== filled(reach(es, way)) && !spanish.has(filled(one)));
const exact = new Map(english.filter(([, one]) => typeof one === 'string').map(([way, one]) => [one, way]));
const loose = english.filter(([, one]) => typeof one === 'function' && /\p{L}{3}/u.test(filled(one))).map(([way, one]) => [pattern(one), way]);

/** The English among these texts, each with where it stands in the catalogue. */
export function englishIn(texts) {
	return [...new Set(texts)].flatMap((text) => {
		const way = exact.get(text) ?? loose.find(([like]) => like.test(text))?.[1];
		return way ? [`${text}  (${way})`] : [];
	});
}

/** In the page: every text a person can meet there, read or heard. */
export const textsOf = (page) => page.evaluate(() => {
	const found = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) if (!walk.currentNode.parentElement.closest('code, pre, kbd, .row-summary')) found.push(walk.currentNode.data);
	for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) for (const name of ['aria-label', 'title', 'placeholder', 'alt']) found.push(element.getAttribute(name) ?? '');
	return [...found, document.title.replace(/ · Countersign$/, '')].map((text) => text.trim()).filter((text) => text !== '');
});
