// SPDX-License-Identifier: Apache-2.0
// The consent in Chromium (issue 5; ID-8): an SDK client, a person at a real browser, our pages as they are. COUNTERSIGN_TEST_SHOTS
// names a directory for pictures of them. CHROMIUM says where the browser is.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { chromium } from 'playwright-core';

import { ok, World } from '../api/lib/flow.mjs';
import { addPerson } from '../api/lib/people.mjs';
import { until } from '../api/lib/server.mjs';

const program = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(program)) throw new Error(`${program} does not exist; tools/install browser, or say where it is with CHROMIUM`);
const shots = process.env.COUNTERSIGN_TEST_SHOTS;

const password = 'correct horse battery';
let w, site, browser, base, people = 0;
before(async () => {
	w = await World.start({ args: ['--oauth-registrations', '1000'] });
	base = w.server.url.replace('127.0.0.1', 'localhost');
	// the client's own site: 127.0.0.1 and localhost are two sites, so that cookies and frames meet what they meet elsewhere
	site = createServer((request, answer) => {
		const url = new URL(request.url, site.url);
		site.asked.push(url);
		if (url.pathname === '/moves') return answer.writeHead(302, { location: `${site.url.replace('127.0.0.1', 'localhost')}/elsewhere${url.search}` }).end();
		answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html><title>client</title><p>You can go back.</p>${site.body ?? ''}`);
	});
	site.asked = [];
	await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
	site.url = `http://127.0.0.1:${site.address().port}`;
	browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
});
after(async () => {
	await browser?.close();
	site?.close();
	site?.closeAllConnections();
	await w?.stop();
});

async function member(roles = ['maintainer']) {
	const email = `browser${++people}@example.org`;
	const { id } = await addPerson(w.server, w.admin, { name: `Ada Nr. ${people}`, email, password, roles });
	return { id, email };
}

class Application {
	constructor(redirectUrl = `${site.url}/callback`) {
		Object.assign(this, { kept: {}, redirectUrl, clientMetadata: { client_name: 'Claude Code', redirect_uris: [redirectUrl] } });
		for (const name of ['clientInformation', 'tokens', 'codeVerifier', 'discoveryState']) this[name] = () => this.kept[name];
		for (const name of ['ClientInformation', 'Tokens', 'CodeVerifier', 'DiscoveryState']) this[`save${name}`] = (value) => (this.kept[name[0].toLowerCase() + name.slice(1)] = value);
	}

	state() {
		return 's';
	}

	redirectToAuthorization(url) {
		this.address = url;
	}
}

async function begin(application = new Application()) {
	const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: application });
	await assert.rejects(new Client({ name: 'browser', version: '1' }).connect(transport), (error) => error instanceof UnauthorizedError);
	return { application, transport };
}

/** A page that tells of everything that went wrong in it. */
async function open(context) {
	const own = context ?? (await browser.newContext());
	own.setDefaultTimeout(120_000); // the machine may be busy
	const page = Object.assign(await own.newPage(), { wrong: [] });
	page.on('pageerror', (error) => page.wrong.push(error.message));
	page.on('console', (message) => message.type() === 'error' && !/status of 40|favicon/.test(message.text()) && page.wrong.push(message.text()));
	return page;
}
const shoot = (page, name) => shots && page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: true });

async function signIn(page, email, secret = password) {
	await page.getByLabel('E-mail address').fill(email);
	await page.getByLabel('Password').fill(secret);
	await page.getByRole('button', { name: 'Sign in' }).click();
}

test('MCP-1 ID-8 an SDK client is let in by a person in a browser: sign in, read, allow; and it works', async () => {
	const { email } = await member(), { application, transport } = await begin(), page = await open();
	await page.goto(application.address.href);
	await shoot(page, 'sign-in');
	await signIn(page, email, 'not the password');
	await page.getByRole('alert').waitFor();
	await signIn(page, email);
	await page.getByRole('heading', { name: 'Let “Claude Code” act for you?' }).waitFor();
	await shoot(page, 'consent');
	const text = await page.locator('main').innerText();
	for (const part of ['Ada Nr. ', site.url.slice(7), 'Read what you may read', 'Approve or deny anything']) assert.ok(text.includes(part), part);
	await page.getByRole('button', { name: 'Allow' }).click();
	await page.waitForURL(`${site.url}/callback?*`);
	assert.deepEqual(page.wrong, [], 'the policy of the page lets its form end at the client');
	await transport.finishAuth(new URL(page.url()).searchParams);
	const client = new Client({ name: 'browser', version: '1' });
	await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: application }));
	assert.ok((await client.listTools()).tools.length > 5);
	await client.close();

	const again = await begin();
	await page.goto(again.application.address.href);
	await page.getByRole('button', { name: 'Deny' }).click();
	await page.waitForURL(`${site.url}/callback?*`);
	assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
	await page.context().close();
});

test('ID-8 who is signed in and comes from the client’s site is not asked to sign in again', async () => {
	const { email } = await member(), { application } = await begin(), page = await open();
	await page.goto(application.address.href);
	await signIn(page, email);
	await page.getByRole('button', { name: 'Allow' }).waitFor();
	const next = await begin();
	site.body = `<a id="go" href="${next.application.address.href.replaceAll('&', '&amp;')}">connect</a>`;
	await page.goto(site.url);
	await page.click('#go'); // another site leads here: the browser keeps the session's cookie back at first
	await page.getByRole('button', { name: 'Allow' }).waitFor();
	site.body = undefined;
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});

test('AP-7 the page shows in no frame, and a hostile name is text', async () => {
	const { email } = await member(), application = new Application();
	application.clientMetadata.client_name = '<img src=x onerror=alert(1)>\u202Egnp';
	await begin(application);
	const page = await open();
	await page.goto(application.address.href);
	await signIn(page, email);
	await page.getByRole('heading', { name: /<img src=x onerror=alert\(1\)>/ }).waitFor();
	await page.getByText('characters in it that deceive').waitFor();
	assert.equal(await page.locator('img').count(), 0);
	site.body = `<iframe src="${application.address.href.replaceAll('&', '&amp;')}"></iframe>`;
	const refused = [];
	page.on('console', (message) => refused.push(message.text()));
	await page.goto(site.url);
	await until(() => refused.some((text) => /frame-ancestors|X-Frame-Options/i.test(text)), 'the browser to refuse the frame');
	site.body = undefined;
	await page.context().close();
});

test('by keyboard alone, on a phone, in light and dark: nothing is cut off', async () => {
	const { email } = await member();
	for (const colorScheme of ['light', 'dark']) {
		const { application } = await begin();
		const page = await open(await browser.newContext({ colorScheme, viewport: { width: 360, height: 740 } }));
		application.address.searchParams.set('scope', 'read propose flag.flag.toggle flag.flag.write');
		await page.goto(application.address.href);
		await shoot(page, `sign-in-${colorScheme}`);
		await page.locator('input:focus').waitFor(); // the first field has the focus
		await page.keyboard.type(email);
		await page.keyboard.press('Tab');
		await page.keyboard.type(password);
		await page.keyboard.press('Enter');
		await page.getByRole('button', { name: 'Allow' }).waitFor();
		await shoot(page, `consent-${colorScheme}`);
		const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
		assert.equal(wide, 0, 'no scrolling sideways');
		await page.keyboard.press('Tab');
		assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Deny', 'the safe answer comes first');
		await page.keyboard.press('Tab');
		await page.keyboard.press('Enter');
		await page.waitForURL(`${site.url}/callback?code=*`);
		await page.context().close();
	}
});

test('what goes wrong is a page before anybody types a password, and leads nowhere by itself', async () => {
	const { application } = await begin(), page = await open();
	const wrong = (name, value) => {
		const address = new URL(application.address);
		value === undefined ? address.searchParams.delete(name) : address.searchParams.set(name, value);
		return address.href;
	};
	for (const [name, value] of [['redirect_uri', 'https://evil.example/'], ['client_id', 'client-nobody'], ['code_challenge'], ['scope', 'read flag.flag.fly']]) {
		await page.goto(wrong(name, value));
		await page.getByRole('heading', { name: 'This does not work' }).waitFor();
		await shoot(page, `problem-${name}`);
		assert.equal(new URL(page.url()).origin, base);
		assert.equal(await page.getByLabel('Password').count(), 0);
		assert.equal(await page.getByRole('link', { name: /Go back/ }).count(), name === 'code_challenge' || name === 'scope' ? 1 : 0);
	}
	await page.getByRole('link', { name: 'Go back to 127.0.0.1' }).click();
	await page.waitForURL(`${site.url}/callback?error=invalid_scope*`);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
});

test('an error that is known only after the sign-in reaches the client, and so does one of who is signed in', async () => {
	const { email } = await member(['observer']), { application } = await begin(), page = await open();
	application.address.searchParams.set('scope', 'flag.flag.toggle'); // a scope, but none of theirs
	await page.goto(application.address.href);
	await signIn(page, email);
	await page.waitForURL(`${site.url}/callback?error=invalid_scope*`);
	application.address.searchParams.delete('code_challenge');
	await page.goto(application.address.href);
	await page.waitForURL(`${site.url}/callback?error=invalid_request*`);
	assert.deepEqual(page.wrong, [], 'no policy of ours stood in the way');
	await page.context().close();
});

test('RFC 8252 the way back by any kind of redirect URI is open: loopback by name and number, moved on, an application’s own scheme', async () => {
	const { email } = await member(), context = await browser.newContext(), page = await open(context);
	const { port } = site.address(), first = await begin();
	await page.goto(first.application.address.href);
	await signIn(page, email);
	await page.getByRole('button', { name: 'Allow' }).waitFor();
	const decide = async (redirect, button, where = page) => {
		const { application } = await begin(new Application(redirect));
		await where.goto(application.address.href);
		await where.getByRole('button', { name: button }).click();
	};
	for (const [button, expected] of [['Allow', 'code'], ['Deny', 'error']]) {
		for (const redirect of [`http://127.0.0.1:${port}/cb`, `http://localhost:${port}/cb?x=1`]) {
			await decide(redirect, button);
			await page.waitForURL((url) => url.href.startsWith(redirect) && url.searchParams.has(expected));
		}
		await decide(`${site.url}/moves`, button); // to another origin, as clients do
		await page.waitForURL((url) => url.pathname === '/elsewhere' && url.searchParams.has(expected));
		assert.ok(page.url().startsWith('http://localhost'));
	}
	for (const redirect of ['cursor://anysphere.cursor-mcp/oauth/callback', 'com.example.app:/callback']) {
		const tab = await open(context), gone = []; // its own: the browser's question about the application stays open
		const watch = await context.newCDPSession(tab);
		await watch.send('Page.enable');
		watch.on('Page.frameRequestedNavigation', ({ url }) => gone.push(url));
		await decide(redirect, 'Allow', tab);
		await until(() => gone.some((url) => url.startsWith(`${redirect}?code=`)), `the browser to hand ${redirect} on`);
		await tab.getByRole('link', { name: /Go back to the application (cursor|com\.example\.app)/ }).waitFor(); // where no application answers
		await shoot(tab, 'back');
		page.wrong.push(...tab.wrong);
	}
	assert.deepEqual(page.wrong.filter((text) => /Content Security Policy|violates/i.test(text)), []);
	await context.close();
});
