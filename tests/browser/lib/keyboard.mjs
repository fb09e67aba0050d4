// SPDX-License-Identifier: Apache-2.0
// Two hands on a keyboard and no mouse: what a person cannot reach with Tab, or cannot see while it has the focus, is an
// error. A story that is told through these hands needs no pointer; `done` makes sure that none was used.
import assert from 'node:assert/strict';

import { until } from '../../api/lib/server.mjs';
import { done as closed } from './desk.mjs';

const FAR = 150; // steps of Tab: more than any page of the console has

/** In the page: what has the focus, and why a person would not see that it has. */
function look() {
	const at = document.activeElement;
	if (!at || at === document.body) return { none: true };
	const name = `${at.tagName.toLowerCase()} ${at.ariaLabel || at.labels?.[0]?.textContent || at.textContent || at.id || ''}`.trim().slice(0, 60);
	const drawn = (element) => {
		const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
		return (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1) || boxShadow !== 'none';
	};
	let ring = at;
	for (let i = 0; i < 3 && ring && !drawn(ring); i++) ring = ring.parentElement; // a control may be drawn by its label
	const box = (ring && drawn(ring) ? ring : at).getBoundingClientRect();
	const inside = box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
	return { name, unseen: !ring || !drawn(ring) ? 'nothing is drawn around it' : inside ? null : 'it is outside of the window' };
}

export class Keyboard {
	constructor(page) {
		this.page = page;
	}

	/** A page for hands; from here on every press of a pointer is counted. */
	static async at(page) {
		await page.context().addInitScript(() => addEventListener('pointerdown', () => sessionStorage.setItem('pointer', 'used'), true));
		await page.evaluate(() => addEventListener('pointerdown', () => sessionStorage.setItem('pointer', 'used'), true));
		return new Keyboard(page);
	}

	press(key) {
		return this.page.keyboard.press(key);
	}

	type(text) {
		return this.page.keyboard.type(text);
	}

	/** Whether what a person looks for has the focus; they see that it has. */
	async has(target) {
		if (!(await target.evaluateAll((all) => all.includes(document.activeElement)))) return false;
		const { name, unseen } = await this.page.evaluate(look);
		assert.equal(unseen, null, `${name} has the focus, and ${unseen}`);
		return true;
	}

	/** To a control, by Tab alone (or Shift+Tab, backwards). A group of radio buttons is reached by its chosen one. */
	async to(target, { back = false } = {}) {
		await target.first().waitFor();
		if (await this.has(target)) return;
		let last = '';
		for (let i = 0; i < FAR; i++) {
			await this.press(back ? 'Shift+Tab' : 'Tab');
			if (await this.has(target)) return;
			last = (await this.page.evaluate(look)).name ?? last;
		}
		throw new Error(`no way to ${target} in ${FAR} steps; the last one was ${last}`);
	}

	/** The focus comes there by itself. */
	comes(target) {
		return until(() => this.has(target), `the focus at ${target}`);
	}

	/** A button or a link. */
	async act(target, options) {
		await until(() => target.first().isEnabled(), `${target} to be usable`);
		await this.to(target, options);
		await this.press('Enter');
	}

	/** A box to tick. */
	async tick(target, wanted = true) {
		await this.to(target);
		if ((await target.isChecked()) !== wanted) await this.press('Space');
		await until(async () => (await target.isChecked()) === wanted, `${target} to be ${wanted ? 'ticked' : 'empty'}`);
	}

	/** What stands in a field is replaced. */
	async fill(target, text) {
		await this.to(target);
		await this.press('Control+a');
		await (text === '' ? this.press('Delete') : this.type(text));
		await until(async () => (await target.inputValue()) === text, `${target} to hold ${text}`);
	}

	/** One of a list: the arrows walk through it. */
	async choose(target, label) {
		await this.to(target);
		const select = await target.elementHandle(); // its label may change with what is chosen
		const chosen = () => select.evaluate((of) => of.selectedOptions[0]?.textContent ?? '');
		const count = await select.evaluate((of) => of.options.length);
		await this.press('Home');
		for (let i = 0; i <= count; i++) {
			if ((await chosen()).startsWith(label)) return;
			await this.press('ArrowDown');
		}
		throw new Error(`${target} has no ${label}`);
	}

	/** One of a few: into the group by Tab, to the choice by the arrows. */
	async pick(group, name) {
		const wanted = group.getByRole('radio', { name });
		await this.to(group.getByRole('radio'));
		const count = await group.getByRole('radio').count();
		for (let i = 0; i < count; i++) {
			if (await this.has(wanted)) break;
			await this.press('ArrowRight');
		}
		if (!(await wanted.isChecked())) await this.press('Space');
		await until(() => wanted.isChecked(), `${name} to be chosen`);
	}

	/** A command by its name, from anywhere. */
	async command(words, name) {
		await this.press('Control+k');
		await this.page.getByRole('dialog').waitFor();
		await this.type(words);
		await this.page.getByRole('option', { name, selected: true }).waitFor();
		await this.press('Enter');
	}

	/** Nothing went wrong, no pointer was used, and the page is closed. */
	async done() {
		assert.equal(await this.page.evaluate(() => sessionStorage.getItem('pointer')), null, 'a pointer was used');
		await closed(this.page);
	}
}
