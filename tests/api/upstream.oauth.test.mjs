// SPDX-License-Identifier: Apache-2.0
// Upstream servers that want OAuth (EX-3): upstream_authorize, upstream_authorized, upstream_unauthorize, and the way back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { sendJson } from './lib/mcpclient.mjs';
import { Oauth } from './lib/oauth.mjs';
import { protectedServer } from './lib/protected.mjs';
import { onPostgres, until } from './lib/server.mjs';
import { tool } from './lib/upstream.mjs';

const publicUrl = 'http://127.0.0.1:9'; // nobody is there: a test is the browser
const callback = '/oauth/upstream/callback';
const options = { args: ['--public-url', publicUrl] };

let w, boss, other, agent;
before(async () => {
	w = await World.start(options);
	boss = await w.person(['admin']);
	other = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'operator', ratePerMinute: 100000 });
});
after(async () => {
	const said = w.server.stdout + w.server.stderr;
	await w.stop();
	assert.doesNotMatch(said, /planted-/, 'no log line has a secret');
});

let count = 0;
const definition = (name) => (({ run, ...rest }) => rest)(tool(name));
const add = (server, more = {}) => boss.post('/api/v1/upstreams', { name: `guarded${++count}`, kind: 'http', url: server.url, networks: ['127.0.0.0/8'], ...more });
const get = (u, who = boss) => ok(who.get(`/api/v1/upstreams/${u.id}`));
const refresh = (u) => boss.post(`/api/v1/upstreams/${u.id}/refresh`);
const begin = (u, who = boss) => ok(who.post(`/api/v1/upstreams/${u.id}/authorize`));
const forget = (u) => boss.delete(`/api/v1/upstreams/${u.id}/authorization`);

/** Somebody opens the address and agrees: where the browser is sent back to. */
const visit = async (url) => (await fetch(url, { redirect: 'manual' })).headers.get('location');
/** The browser comes back to us, with the session of who is signed in there. */
async function comeBack(back, who = boss, headers = {}) {
	assert.ok(back.startsWith(publicUrl + callback), back);
	const response = await fetch(w.server.url + back.slice(publicUrl.length), { headers: { ...(who ? { cookie: who.headers().cookie } : {}), ...headers } });
	const text = await response.text();
	assert.doesNotMatch(text.replace(/content="0; url=[^"]*"|<a href="[^"]*"/, ''), /planted-/);
	return { status: response.status, text };
}
async function authorize(u, who = boss) {
	const answer = await comeBack(await visit((await begin(u, who)).url), who);
	assert.equal(answer.status, 200, answer.text);
	assert.match(answer.text, /Authorized/);
}
async function guarded(t, change, more) {
	const server = await protectedServer(t, change);
	server.state.tools = [definition('read_file')];
	return { server, u: await ok(add(server, more)) };
}
async function accepted(u) {
	const { tools } = await ok(refresh(u));
	await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: tools.map(({ name, definitionHash }) => ({ name, definitionHash, effect: 'read', tier: 'always_allow' })) }));
	return tools[0].name;
}
const call = (name, at = w.server, input = { path: 'a' }) => at.as(agent.token).post('/api/v1/tools/call', { tool: name, input });
const stored = async () => (await boss.get('/api/v1/orgs/default/audit?limit=100')).text + (await boss.get('/api/v1/upstreams')).text;

test('EX-3 a server that wants OAuth needs an authorization: it is said, on record, and nothing is sent again until there is one', async (t) => {
	const { server, u } = await guarded(t);
	assert.equal(u.authorization, 'none', 'nobody has asked it yet');
	await refused(refresh(u), 503, 'unavailable', /authorization that somebody has to give at http/);
	assert.equal((await get(u)).authorization, 'needed');
	assert.ok((await w.audit({ resourceType: 'upstream' })).some(({ resourceId, reason }) => resourceId === u.id && /needs to be authorized/.test(reason ?? '')));
	const asked = server.state.requests.length;
	await authorize(u);
	const name = await accepted(u);
	assert.equal((await get(u)).authorization, 'given');
	assert.ok(server.state.requests.length > asked);
	assert.equal((await ok(call(name))).status, 'executed');
	server.state.refuses.add([...server.state.refresh].at(-1));
	server.state.tokens.clear(); // revoked there, and the refresh token is not taken
	await refused(call(name), 502, 'outside_failed', /authorization that somebody has to give/);
	assert.equal((await get(u)).authorization, 'needed');
	const before = server.state.requests.length + server.state.asked.length;
	for (let i = 0; i < 20; i++) await refused(call(name), 502, 'outside_failed', /needs to be authorized by an admin/);
	assert.equal(server.state.requests.length + server.state.asked.length, before, 'no storm');
	assert.doesNotMatch(await stored(), /planted-/);
});

test('EX-3 ID-8 two Countersigns: one is the upstream of the other, and a person of it lets the other in', async (t) => {
	const far = await World.start();
	t.after(() => far.stop());
	const farOauth = new Oauth(far.server.url), owner = await far.person(['admin']);
	const u = await ok(add({ url: `${far.server.url}/mcp` }));
	await refused(refresh(u), 503, 'unavailable', /authorization/);
	const { url, expiresAt } = await begin(u);
	assert.ok(new Date(expiresAt) > new Date());
	const query = new URL(url).search.slice(1);
	assert.equal(new URLSearchParams(query).get('resource'), `${far.server.url}/mcp`);
	assert.equal(new URLSearchParams(query).get('code_challenge_method'), 'S256');
	const page = await farOauth.page(query, owner);
	assert.match(page.text, /Countersign/);
	const back = Oauth.leads(await farOauth.decide(query, owner));
	const first = await comeBack(back, null, { 'sec-fetch-site': 'cross-site' }); // a browser keeps our cookie back once
	assert.equal(first.status, 200);
	assert.match(first.text, /http-equiv="refresh" content="0; url=\/oauth\/upstream\/callback\?/);
	assert.match((await comeBack(back)).text, /Authorized/);
	const { tools } = await ok(refresh(u));
	const list = tools.find(({ remote }) => remote === 'note_list');
	assert.ok(list, JSON.stringify(tools.map(({ remote }) => remote)));
	await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: [{ name: list.name, definitionHash: list.definitionHash, effect: 'read', tier: 'always_allow' }] }));
	await far.note('From afar');
	const answer = await ok(call(list.name, w.server, {}));
	assert.match(JSON.stringify(answer.result), /From afar/);
	await ok(forget(u)); // RFC 7009: it is told
	assert.equal((await get(u)).authorization, 'needed');
	await refused(call(list.name, w.server, {}), 502, 'outside_failed', /authorized/);
	await ok(boss.delete(`/api/v1/upstreams/${u.id}`));
});

test('EX-3 a way back is good once, for who went, with what they went with, and for ten minutes', async (t) => {
	const { server, u } = await guarded(t);
	const { url } = await begin(u);
	const back = await visit(url), change = (key, value) => {
		const changed = new URL(back);
		if (value === null) changed.searchParams.delete(key);
		else changed.searchParams.set(key, value);
		return changed.href;
	};
	const refuses = async (answer, status, why) => {
		const { status: got, text } = await answer;
		assert.equal(got, status, text);
		assert.match(text, why);
		assert.notEqual((await get(u)).authorization, 'given');
	};
	await refuses(comeBack(change('state', 'x'.repeat(43))), 409, /not begun this authorization/);
	await refuses(comeBack(change('state', null)), 409, /not begun this authorization/);
	await refuses(comeBack(`${back}&state=other`), 409, /not begun this authorization/);
	await refuses(comeBack(back, other), 409, /not begun this authorization/); // another admin
	await refuses(comeBack(back, await w.person(['operator'])), 403, /Forbidden|manage/);
	await refuses(comeBack(back, null), 401, /Sign in/);
	await refused(boss.post('/api/v1/upstreams/authorization', { back: 'nonsense' }), 409, 'conflict');
	await refused(other.post('/api/v1/upstreams/authorization', { back }), 409, 'conflict');
	assert.equal(server.state.asked.length, 0, 'no code was shown to anybody');
	await ok(boss.post('/api/v1/upstreams/authorization', { back })); // as a program does it
	assert.equal((await get(u)).authorization, 'given');
	assert.equal(server.state.asked.length, 1);
	assert.equal((await comeBack(back)).status, 409, 'again');
	assert.equal((await comeBack(await visit(url))).status, 409, 'with another code');
	assert.equal(server.state.asked.length, 1, 'the code went there once');
	const late = await visit((await begin(u)).url);
	await w.change('UPDATE upstream_auth SET flow_until = 1');
	assert.equal((await comeBack(late)).status, 409);
	const [one, two] = [await begin(u), await begin(u, other)].map(({ url: address }) => visit(address));
	assert.equal((await comeBack(await one)).status, 409, 'who began last has the way back');
	assert.equal((await comeBack(await two, other)).status, 200);
	const twice = await visit((await begin(u)).url), before = server.state.asked.length;
	const answers = await Promise.all([comeBack(twice), comeBack(twice), comeBack(twice)]);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
	assert.equal(server.state.asked.length, before + 1);
});

const hostile = {
	'another issuer answers (mix-up)': [{ back: { iss: 'https://evil.example' } }, 409, /another authorization server/, 0],
	'who does not say who answers': [{ back: { iss: null } }, 409, /does not say which/, 0],
	'somebody says no': [{ back: { error: 'access_denied', code: null } }, 409, /did not agree/, 0],
	'the code is not taken': [{ token: (response) => sendJson(response, 400, { error: 'invalid_grant' }) }, 409, /refuses it/, 1],
	'the token endpoint says nonsense': [{ token: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token": [') }, 503, /gives no token/, 1],
	'the token endpoint gives a list': [{ token: (response) => sendJson(response, 200, ['planted-x']) }, 503, /gives no token/, 1],
	'the token endpoint sends us to a private address': [{ token: (response) => response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end() }, 503, /gives no token: HTTP 307/, 1],
	'the token is larger than a secret may be': [{ token: (response) => sendJson(response, 200, { access_token: 'x'.repeat(20000), token_type: 'bearer' }) }, 413, /./, 1],
	'the token endpoint never ends': [{ token: (response) => response.writeHead(200).end('x'.repeat(300000)) }, 503, /does not answer/, 1],
};
for (const [what, [change, status, why, asked]] of Object.entries(hostile)) {
	test(`EX-3 nothing comes of it where ${what}`, async (t) => {
		const { server, u } = await guarded(t, change);
		const answer = await comeBack(await visit((await begin(u)).url));
		assert.equal(answer.status, status, answer.text);
		assert.match(answer.text, why);
		assert.equal(server.state.asked.length, asked);
		assert.notEqual((await get(u)).authorization, 'given');
		assert.equal((await comeBack(`${publicUrl}${callback}?state=x`)).status, 409);
		await ok(boss.delete(`/api/v1/upstreams/${u.id}`));
	});
}

test('EX-3 EX-1 an authorization server in a network that was not granted is not asked', async (t) => {
	const documents = { '/.well-known/oauth-protected-resource/mcp': ({ url }) => ({ resource: url, authorization_servers: ['http://10.1.2.3/as'] }) };
	const { u } = await guarded(t, { documents });
	await refused(boss.post(`/api/v1/upstreams/${u.id}/authorize`), 503, 'unavailable', /not public|does not answer/);
	await refused(refresh(u), 503, 'unavailable');
	assert.equal((await get(u)).authorization, 'none', 'nobody can authorize it, so nobody is told to');
});

test('EX-3 tokens are renewed before they end, once however many ask, and a refresh token that rotates is not lost', async (t) => {
	const { server, u } = await guarded(t);
	server.state.rotates = true;
	server.state.life = 31; // renewed 30 seconds before its end
	await authorize(u);
	const name = await accepted(u);
	const pods = onPostgres ? [w.server, await w.another(options)] : [w.server];
	for (const pod of pods) await ok(call(name, pod));
	for (let round = 0; round < 3; round++) {
		server.state.life = 31;
		server.state.tokens.clear(); // refused from now on: all of them at once
		const many = await Promise.all(Array.from({ length: 8 }, (_, i) => call(name, pods[i % pods.length])));
		for (const answer of many) assert.equal(answer.status, 200, answer.text);
		const seen = server.state.refreshed;
		server.state.life = 3600;
		await until(async () => { // in a second it is as good as over
			await Promise.all(pods.map((pod) => ok(call(name, pod))));
			return server.state.refreshed > seen;
		}, 'the renewal');
		assert.equal(server.state.refreshed, seen + 1);
		assert.equal(server.state.reused, 0, 'no refresh token was used twice');
	}
	assert.equal((await get(u)).authorization, 'given');
	if (pods[1]) await pods[1].stop();
	assert.doesNotMatch(await stored(), /planted-/);
});

test('EX-3 a process that died with its turn holds up the others only until that is over', { skip: !onPostgres && 'skipped on SQLite: there is one process' }, async (t) => {
	const { server, u } = await guarded(t);
	await authorize(u);
	const name = await accepted(u);
	await w.change(`UPDATE upstream_auth SET turn_until = (extract(epoch from now()) * 1000000)::bigint + 1500000, fence = fence + 1 WHERE upstream_id = '${u.id}'`);
	server.state.tokens.clear();
	assert.equal((await ok(call(name))).status, 'executed');
	assert.equal(server.state.refreshed, 1);
});

test('EX-3 who forgets an authorization while it is renewed has forgotten it', async (t) => {
	let go, waits;
	const held = new Promise((resolve) => (go = resolve));
	const { server, u } = await guarded(t);
	await authorize(u);
	const name = await accepted(u);
	server.state.tokens.clear();
	server.state.hold = async () => {
		waits = true;
		await held;
	};
	const late = call(name);
	await until(() => waits, 'the renewal');
	const forgotten = await ok(forget(u));
	assert.equal(forgotten.authorization, 'needed');
	assert.deepEqual(server.state.revoked.map(({ token_type_hint: hint }) => hint), ['refresh_token']);
	go();
	assert.equal((await late).status, 502);
	assert.equal((await get(u)).authorization, 'needed', 'what came too late is not kept');
	await refused(forget(u), 409, 'conflict', /was not authorized/);
});

test('EX-3 a machine is let in by its own id and secret, for the authorization server they are for', async (t) => {
	const { server, u } = await guarded(t, {}, undefined), issuer = `${server.origin}/as`;
	const robot = { clientId: 'robot', clientSecret: 'planted-robot', issuer, grant: 'client_credentials' };
	for (const [oauth, why] of [[{ ...robot, clientSecret: undefined }, /clientSecret is needed/], [{ ...robot, issuer: undefined }, /issuer is needed/], [{ clientSecret: 'x' }, /clientId/], [{ ...robot, grant: 'password' }, /grant/], ['x', /oauth/]])
		await refused(add(server, { oauth }), 400, 'invalid_request', why);
	await refused(add(server, { oauth: robot, bearer: 'x' }), 400, 'invalid_request', /do not go together/);
	const m = await ok(add(server, { oauth: robot }));
	assert.deepEqual([m.oauth, m.secrets], [{ clientId: 'robot', issuer, grant: 'client_credentials', scope: '' }, ['oauth client secret']]);
	const name = await accepted(m);
	assert.equal((await get(m)).authorization, 'given');
	assert.equal(server.state.asked.at(-1).grant_type, 'client_credentials');
	assert.equal(server.state.asked.at(-1).resource, server.url);
	server.state.tokens.clear();
	assert.equal((await ok(call(name))).status, 'executed');
	await refused(boss.post(`/api/v1/upstreams/${m.id}/authorize`), 409, 'conflict', /machine/);
	const elsewhere = await ok(add(server, { oauth: { ...robot, issuer: 'https://as.example' } })), asked = server.state.asked.length;
	await refused(refresh(elsewhere), 503, 'unavailable', /another authorization server/);
	assert.equal(server.state.asked.length, asked, 'the secret stayed here');
	assert.doesNotMatch(await stored(), /planted-/);
	await ok(boss.delete(`/api/v1/upstreams/${m.id}`));
	assert.equal(server.state.revoked.at(-1).token_type_hint, 'access_token');
	await ok(boss.delete(`/api/v1/upstreams/${u.id}`));
});

test('EX-3 only who manages servers authorizes them, only where a way back is known, and only what wants it', async (t) => {
	const { server, u } = await guarded(t);
	const operator = await w.person(['operator']);
	await refused(operator.post(`/api/v1/upstreams/${u.id}/authorize`), 403, 'forbidden');
	await refused(operator.delete(`/api/v1/upstreams/${u.id}/authorization`), 403, 'forbidden');
	await refused(w.server.as(agent.token).post(`/api/v1/upstreams/${u.id}/authorize`), 403, 'forbidden');
	await refused(boss.post('/api/v1/upstreams/nothing/authorize'), 404, 'not_found');
	await refused(boss.delete('/api/v1/upstreams/nothing/authorization'), 404, 'not_found');
	const typed = await ok(add(server, { bearer: 'planted-typed' }));
	await refused(boss.post(`/api/v1/upstreams/${typed.id}/authorize`), 409, 'conflict', /credential that somebody has entered/);
	const header = await ok(add(server, { headers: { authorization: 'planted-header' } }));
	await refused(boss.post(`/api/v1/upstreams/${header.id}/authorize`), 409, 'conflict', /credential that somebody has entered/);
	await refused(refresh(header), 503, 'unavailable', /refuses our credentials/);
	await ok(w.server.request('PATCH', `/api/v1/upstreams/${u.id}`, { body: { disabled: true }, headers: boss.headers() }));
	await authorize(u);
	assert.equal((await get(u)).state, 'disabled');
	const nameless = await World.start();
	t.after(() => nameless.stop());
	const there = await ok(nameless.admin.post('/api/v1/upstreams', { name: 'x', kind: 'http', url: server.url, networks: ['127.0.0.0/8'] }));
	await refused(nameless.admin.post(`/api/v1/upstreams/${there.id}/authorize`), 409, 'conflict', /public-url/);
	await refused(nameless.admin.post(`/api/v1/upstreams/${there.id}/refresh`), 503, 'unavailable', /authorization/);
	assert.equal((await ok(nameless.admin.get(`/api/v1/upstreams/${there.id}`))).authorization, 'needed');
});

test('PA-6 EX-3 an authorization belongs to who gave it: tokens that renew themselves are the same credential, another authorization is not', async (t) => {
	const { server, u } = await guarded(t);
	await refused(refresh(u), 503, 'unavailable', /authorization/);
	await authorize(u);
	const { tools: [{ name, definitionHash }] } = await ok(refresh(u));
	await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: [{ name, definitionHash, effect: 'mutate' }] }));
	const approved = async () => {
		const p = await ok(agent.ask().post('/api/v1/proposals', { tool: name, input: { path: 'a' } }));
		await w.approve(p, other);
		return p;
	};
	const [p, q] = [await approved(), await approved()];
	server.state.tokens.clear();
	await ok(refresh(u)); // renews them
	assert.equal((await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`))).state, 'applied');
	await ok(forget(u));
	await refused(boss.post(`/api/v1/proposals/${q.proposalId}/apply`), 409, 'version_drift', /source .*credential/);
	await authorize(u, other);
	const asked = server.state.requests.length;
	await refused(boss.post(`/api/v1/proposals/${q.proposalId}/apply`), 409, 'version_drift', /source .*credential/);
	assert.equal(server.state.requests.length, asked);
	assert.equal((await ok(boss.post(`/api/v1/proposals/${(await approved()).proposalId}/apply`))).state, 'applied');
});
