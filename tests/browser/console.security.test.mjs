// SPDX-License-Identifier: Apache-2.0
// WEB-1, ID-8: what another site in the same browser tries: forged requests, frames, planted sessions, redirects, script.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { ok } from '../api/lib/flow.mjs';
import { until } from '../api/lib/server.mjs';
import { Desk, done } from './lib/desk.mjs';

let desk, w, ana, site;
before(async () => {
	desk = await Desk.open();
	w = desk.world;
	ana = await desk.member('Ana Torres');
	site = { body: '', asked: [] };
	const server = http.createServer((request, response) => {
		site.asked.push(request.url);
		response.setHeader('content-type', 'text/html; charset=utf-8').end(`<!doctype html><title>Elsewhere</title>${site.body}`);
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address();
	// 127.0.0.1 is the same site on another port, to which cookies go; localhost is another site
	Object.assign(site, { near: `http://127.0.0.1:${port}`, far: `http://localhost:${port}`, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) });
});
after(async () => {
	await desk?.close();
	await site?.close();
});

const votes = async (p) => (await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).approvals.votes.length;

test('ID-8 CSRF: no form and no script of another page votes, changes or signs out, even from the same site', async () => {
	const page = await desk.desk(ana), p = await w.propose();
	const context = page.context();
	for (const origin of [site.near, site.far]) {
		site.body = `<form method="post" enctype="text/plain" action="${desk.url}/api/v1/proposals/${p.proposalId}/approve"><input name='{"viewHash":"${p.viewHash}","x":"' value='"}'></form>
			<form method="post" action="${desk.url}/api/v1/proposals/${p.proposalId}/cancel"></form>`;
		for (const n of [0, 1]) {
			const evil = await desk.page('/', { context });
			await evil.goto(origin);
			const answer = evil.waitForResponse((response) => response.request().method() === 'POST' && response.url().includes('/api/v1/proposals/'));
			await evil.evaluate((i) => document.forms[i].submit(), n);
			assert.ok([400, 401, 403, 415].includes((await answer).status()), `${(await answer).status()} to a form`);
			await evil.close();
		}
		const evil = await desk.page('/', { context });
		await evil.goto(origin);
		const said = await evil.evaluate(async ([url, id, viewHash]) => {
			const tries = [];
			for (const [method, path] of [['POST', `proposals/${id}/approve`], ['POST', `proposals/${id}/deny`], ['DELETE', 'session'], ['POST', 'tokens']]) {
				for (const mode of ['cors', 'no-cors']) {
					const body = JSON.stringify({ viewHash, name: 'stolen' });
					tries.push(await fetch(`${url}/api/v1/${path}`, { method, mode, credentials: 'include', headers: { 'content-type': mode === 'cors' ? 'application/json' : 'text/plain' }, ...(method === 'POST' ? { body } : {}) }).then((answer) => `${mode} ${answer.type}`, () => 'refused'));
				}
			}
			tries.push(await fetch(`${url}/api/v1/me`, { credentials: 'include' }).then(() => 'read it', () => 'refused'));
			return tries;
		}, [desk.url, p.proposalId, p.viewHash]);
		assert.ok(said.every((one) => one === 'refused' || one === 'no-cors opaque'), said.join());
		await evil.close();
	}
	assert.equal(await votes(p), 0);
	assert.equal((await ok(w.admin.get(`/api/v1/proposals/${p.proposalId}`))).state, 'pending');
	assert.ok(!(await ok(w.admin.get('/api/v1/tokens'))).items.some(({ name }) => name === 'stolen'));
	await page.reload();
	await page.locator(`#row-${p.proposalId}`).waitFor(); // still signed in
	await done(page);
	await ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/cancel`));
});

test('WEB-1 clickjacking: no page shows in a frame, not even of the same site', async () => {
	const page = await desk.desk(ana), p = await w.propose();
	const evil = await desk.page('/', { context: page.context() });
	const paths = ['/', `/proposals/${p.proposalId}`, '/agents', '/settings', '/start', '/setup'];
	for (const origin of [site.near, site.far]) {
		const refused = [];
		const note = (message) => /frame-ancestors|X-Frame-Options/i.test(message.text()) && refused.push(message.text());
		evil.on('console', note);
		site.body = paths.map((path) => `<iframe src="${desk.url}${path}" width="300" height="200"></iframe>`).join('');
		await evil.goto(origin);
		await until(() => refused.length >= paths.length, 'the browser to refuse each frame');
		for (const frame of evil.frames().slice(1)) assert.equal(await frame.locator('#app, form').count().catch(() => 0), 0, frame.url());
		evil.off('console', note);
	}
	await evil.close();
	await done(page);
	await ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/cancel`));
});

test('ID-8 session fixation: a session that was planted before is not the one that signing in gives', async () => {
	const mallory = await desk.member('Mallory', ['observer']);
	const own = await desk.desk(mallory);
	const [planted] = await own.context().cookies();
	const context = await desk.browser.newContext({ locale: 'en-US' });
	await context.addCookies([{ ...planted, domain: undefined, path: undefined, url: desk.url.replace('http:', 'https:') }].map(({ name, value, url }) => ({ name, value, url, httpOnly: true, secure: true, sameSite: 'Strict' })));
	const page = await desk.page('/', { context });
	await page.locator('.menu summary').getByText('Mallory').waitFor(); // the planted one works, as hers
	await page.locator('.menu summary').click();
	await page.getByRole('button', { name: 'Sign out' }).click();
	await desk.signIn(page, ana);
	const [now] = (await context.cookies()).filter(({ name }) => name === planted.name);
	assert.notEqual(now.value, planted.value);
	const me = (value) => w.server.request('GET', '/api/v1/me', { headers: { cookie: `${planted.name}=${value}` } });
	assert.equal((await me(now.value)).json.name, 'Ana Torres');
	assert.equal((await me(planted.value)).status, 401, 'hers ended when it was signed out');
	await own.context().close();
	await done(page);
});

test('ID-8 a sign-in that comes with somebody else\'s session replaces it', async () => {
	const mallory = await desk.member('Mallory', ['observer']);
	const own = await desk.desk(mallory), [planted] = await own.context().cookies();
	const answer = await w.server.request('POST', '/api/v1/session', { body: { email: ana.email, password: ana.password }, headers: { cookie: `${planted.name}=${planted.value}`, origin: desk.url } });
	assert.equal(answer.status, 200, answer.text);
	assert.ok(!answer.headers.get('set-cookie').includes(planted.value));
	const me = await w.server.request('GET', '/api/v1/me', { headers: { cookie: `${planted.name}=${planted.value}` } });
	assert.notEqual(me.json.name, 'Ana Torres');
	await own.context().close();
});

test('ID-8 the cookies are the host\'s own, out of reach of script and of other sites; nothing secret is kept in the browser', async () => {
	const page = await desk.desk(ana);
	const cookies = await page.context().cookies();
	assert.deepEqual(cookies.map(({ name }) => name).sort(), ['__Host-countersign_known', '__Host-sid']); // the session, and that somebody has signed in here
	for (const cookie of cookies)
		assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path], [true, true, 'Strict', '/']);
	const csrf = (await page.evaluate(async () => (await fetch('/api/v1/me')).json())).csrfToken;
	const kept = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + location.href + document.documentElement.outerHTML);
	assert.ok(cookies.every(({ value }) => !kept.includes(value)) && !kept.includes(csrf));
	const headers = (await page.goto(desk.url)).headers();
	assert.equal(headers['referrer-policy'], 'no-referrer');
	await done(page);
});

test('WEB-1 open redirect: no address of ours leads elsewhere, before or after signing in', async () => {
	const evil = 'evil.example', page = await desk.page('/');
	const left = [];
	page.on('request', (request) => !request.url().startsWith(desk.url) && left.push(request.url()));
	const queries = ['next', 'returnTo', 'redirect', 'url', 'return_to', 'continue'].map((name) => `${name}=https://${evil}/&${name}=//${evil}/`).join('&');
	await page.goto(`${desk.url}/?${queries}#https://${evil}/`);
	await desk.signIn(page, ana);
	assert.equal(new URL(page.url()).origin, desk.url);
	for (const path of [`//${evil}/`, `/\\${evil}`, `/%2F%2F${evil}`, `/agents/%2F%2F${evil}`, `/proposals/https:%2F%2F${evil}`, '/proposals/javascript:window.pwned=1', `/settings/..%2F..%2F${evil}`]) {
		const answer = await w.server.request('GET', path, { redirect: 'manual' });
		assert.ok(answer.status < 300 || answer.status >= 400, `${answer.status} to ${path}`);
		await page.goto(desk.url + path).catch(() => {});
		assert.equal(new URL(page.url()).origin, desk.url, path);
		for (const link of await page.locator('a[href]').evaluateAll((all) => all.map((one) => one.href))) assert.equal(new URL(link).origin, desk.url, link);
	}
	assert.equal(await page.evaluate(() => window.pwned), undefined);
	assert.deepEqual(left, []);
	await page.context().close();
});

test('WEB-1 script that got into the page anyway does nothing: no inline, no eval, nothing from elsewhere, no markup from text', async () => {
	const page = await desk.desk(ana);
	const tried = await page.evaluate(async (far) => {
		const outcome = {};
		await new Promise((resolve) => setTimeout(resolve)); // what the test's own call may, a page may not
		const attempt = (name, run) => {
			try {
				run();
				outcome[name] = 'ran';
			} catch (error) {
				outcome[name] = error.name;
			}
		};
		attempt('markup', () => { document.body.innerHTML = '<img src=x onerror="window.pwned=1">'; });
		attempt('write', () => document.write('<script>window.pwned=1</script>'));
		attempt('address', () => { document.createElement('script').src = `${far}/x.js`; });
		attempt('eval', () => { (0, eval)('window.pwned = 1'); });
		attempt('timer', () => { setTimeout('window.pwned = 1', 0); });
		outcome.fetch = await fetch(`${far}/leak`, { mode: 'no-cors' }).then(() => 'sent', () => 'refused');
		outcome.picture = await new Promise((resolve) => {
			const picture = new Image();
			picture.onload = () => resolve('sent');
			picture.onerror = () => resolve('refused');
			picture.src = `${far}/leak.png`;
		});
		return { ...outcome, pwned: window.pwned ?? null };
	}, site.far);
	for (const name of ['markup', 'write', 'address', 'eval', 'timer']) assert.notEqual(tried[name], 'ran', name);
	assert.deepEqual([tried.fetch, tried.picture, tried.pwned], ['refused', 'refused', null]);
	assert.ok(!site.asked.some((path) => path.startsWith('/leak')));
	await page.context().close();
});
