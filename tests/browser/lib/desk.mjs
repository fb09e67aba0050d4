// SPDX-License-Identifier: Apache-2.0
// A person at the console: the real server, Debian's Chromium, axe. CHROMIUM says where the browser is.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';

import { chromium } from 'playwright-core';

import { World } from '../../api/lib/flow.mjs';
import { addPerson } from '../../api/lib/people.mjs';
import { fixedAddress, onPostgres, root, startAgain, startServer, until } from '../../api/lib/server.mjs';

const program = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(program)) throw new Error(`${program} does not exist; tools/install browser, or say where it is with CHROMIUM`);

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const pictures = path.join(root, 'build/screenshots');
/** How long a page is waited for: what takes longer is broken, not slow. */
export const PATIENCE_MS = 120_000;

export const looks = {
	light: { viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
	dark: { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
	phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};

export class Desk {
	/** setUp false: a first start, which nobody has set up yet. */
	static async open({ setUp = true, args } = {}) {
		const desk = new Desk();
		desk.world = setUp ? await World.start({ listen: await fixedAddress(), args }) : { server: await startServer(), stop() { return this.server.stop(); } };
		desk.browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
		return desk;
	}

	get url() {
		return this.world.server.url;
	}

	async close() {
		await this.browser?.close();
		await this.world?.stop();
	}

	/** A member who can sign in. */
	async member(name, roles = ['admin']) {
		const email = `${name.toLowerCase().replaceAll(/[^a-z]+/g, '.')}.${++this.world.count}@example.org`;
		const { id, password } = await addPerson(this.world.server, this.world.admin, { name, email, roles });
		if (roles.includes('admin')) this.world.server.admins.others.push(() => this.world.server.signIn(email, password));
		return { id, name, email, password };
	}

	/** A browser of somebody's own; what went wrong in its pages is in page.wrong. */
	async page(at = '/', { look = 'light', locale = 'en-US', context } = {}) {
		const own = context ?? (await this.browser.newContext({ ...looks[look], locale }));
		own.setDefaultTimeout(PATIENCE_MS);
		const page = Object.assign(await own.newPage(), { wrong: [], asked: [] });
		page.on('pageerror', (error) => page.wrong.push(error.message));
		page.on('console', (message) => message.type() === 'error' && /Content Security Policy|Trusted/i.test(message.text()) && page.wrong.push(message.text()));
		page.on('request', (request) => page.asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
		await page.goto(this.url + at);
		return page;
	}

	async signIn(page, who) {
		await page.locator('input[type=email]').fill(who.email);
		await page.locator('input[type=password]').fill(who.password);
		await page.locator('button[type=submit]').click();
		await page.locator('#inbox-title, .page').waitFor({ state: 'attached' });
	}

	/** A signed-in browser at a page. */
	async desk(who, at = '/', options = {}) {
		const page = await this.page(at, options);
		await this.signIn(page, who);
		return page;
	}

	/** Stops the server; start() brings it back at the same address. */
	stop() {
		return this.world.server.stop({ keep: true });
	}

	async start() {
		this.world.server = await startAgain(this.world.server);
	}

	/** Changes the database behind the server's back. SQLite has one owner: there the server is away meanwhile. */
	async change(sql) {
		if (onPostgres) return void await promisify(execFile)('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', this.world.server.database.url, '-c', sql]);
		await this.stop();
		const script = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()';
		await promisify(execFile)('python3', ['-c', script, path.join(this.world.server.database.dir, 'countersign.db'), sql]).finally(() => this.start());
	}
}

/** What moves has come to rest. */
const still = (page) => page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));

/** What a page looks like does not depend on the database: on SQLite it is looked at, on PostgreSQL only its stories are told. */
export const looked = !onPostgres;
/** For tests that only look. */
export const onceOnly = { skip: onPostgres && 'looked at on SQLite' };

/** No violation of WCAG 2.2 A and AA, nor of axe's best practices. only: this rule of axe's. */
export async function accessible(page, what, only = '') {
	if (!looked) return;
	await still(page);
	const session = await page.context().newCDPSession(page); // the pages' policy would refuse a script of ours
	await session.send('Runtime.evaluate', { expression: await readFile(axeFile, 'utf8') });
	const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression: `axe.run(document, { resultTypes: ["violations"]${only && `, runOnly: ["${only}"]`} }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary)])))`, awaitPromise: true });
	await session.detach();
	assert.ok(!exceptionDetails, JSON.stringify(exceptionDetails));
	assert.deepEqual(JSON.parse(result.value), [], what);
}

/** A picture for people to look at, in build/screenshots. */
export async function picture(page, name) {
	if (!looked) return;
	await mkdir(pictures, { recursive: true });
	await still(page);
	await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

export const button = (page, name) => page.getByRole('button', { name, exact: true });
/** A button that a person can press, or not: the page may need a moment to draw what has changed. */
export const usable = (of, wanted = true) => until(async () => (await of.isEnabled()) === wanted, wanted ? 'a button to press' : 'a button that cannot be pressed');
export const gone = (of) => of.waitFor({ state: 'detached' });
/** Nothing went wrong in the page, and it is closed. */
export async function done(page) {
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}
/** A page looked at by axe and, as a picture, by people. */
export async function seen(page, name) {
	await picture(page, name);
	await accessible(page, name);
}
