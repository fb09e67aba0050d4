// SPDX-License-Identifier: Apache-2.0
// OFREP 0.3 (FL-6) as its document says it: both requests, their codes and bodies, ETag and 304, CORS, and the stream that
// says when to ask again. What the published SDKs make of it is in tests/conformance and ./test browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Shop } from './lib/flags.mjs';
import { ok, World } from './lib/flow.mjs';
import { onPostgres, startSetUp, until } from './lib/server.mjs';

let w, shop, one, many;
before(async () => {
	w = await World.start();
	shop = await Shop.open(w.admin);
	await shop.flag('plain', { defaultValue: true });
	await shop.flag('web.checkout', { type: 'string', defaultValue: 'old', rules: [{ if: { field: 'plan', $equals: 'pro' }, value: 'new' }] });
	await shop.flag('half', { rules: [{ value: true, rolloutPercent: 50 }] });
	await shop.config('limits', { type: 'json', defaultValue: { max: [1, 2.5, null] } });
	await shop.config('who', { type: 'string', defaultValue: 'nobody', rules: [{ if: { field: 'userId', $equals: 'ada' }, value: 'ada' }, { if: { field: 'targetingKey', $equals: 'bob' }, value: 'bob' }] });
	one = await token({ environments: [shop.staging.id] });
	many = w.first.adminToken;
});
after(() => w.stop());

const token = async (more) => (await ok(w.admin.post('/api/v1/tokens', { name: 'ofrep', principalId: w.first.agentId, actions: ['read'], ...more }))).token;
const base = '/ofrep/v1/evaluate/flags';
const named = () => `/api/v1/envs/${shop.staging.id}${base}`;
const ask = (path, body, { as = one, headers, server = w.server } = {}) => server.request('POST', path, { body, check: false, headers: { ...(as ? { authorization: `Bearer ${as}` } : {}), ...headers } });
const flag = (key, context = {}, options) => ask(`${base}/${key}`, { context }, options);
const bulk = (context = {}, options) => ask(base, { context }, options);

test('FL-6 one flag: key, reason and value; a config is one, too', async () => {
	for (let i = 0; i < 3; i++) { // from the database, and from memory
		const answer = await flag('plain', { targetingKey: 'u' });
		assert.equal(answer.status, 200);
		assert.equal(answer.headers.get('content-type'), 'application/json');
		assert.deepEqual(answer.json, { key: 'plain', reason: 'STATIC', value: true });
		assert.deepEqual((await flag('web.checkout', { plan: 'pro' })).json, { key: 'web.checkout', reason: 'TARGETING_MATCH', value: 'new' });
		assert.deepEqual((await flag('web.checkout', { plan: 'free' })).json, { key: 'web.checkout', reason: 'DEFAULT', value: 'old' });
		assert.deepEqual((await flag('limits')).json, { key: 'limits', reason: 'STATIC', value: { max: [1, 2.5, null] } });
		assert.deepEqual((await flag('web%2Echeckout')).json.key, 'web.checkout');
	}
});

test('FL-6 a share is SPLIT, and sticky by the targeting key', async () => {
	const reasons = new Set();
	for (let i = 0; i < 40; i++) {
		const { value, reason } = (await flag('half', { targetingKey: `user-${i}` })).json;
		assert.equal(reason, value ? 'SPLIT' : 'DEFAULT');
		assert.deepEqual((await shop.evaluate({ userId: `user-${i}` }, { keys: ['half'] })).evaluations.half.value, value, 'the same person as in our own API');
		reasons.add(reason);
	}
	assert.deepEqual([...reasons].sort(), ['DEFAULT', 'SPLIT']);
});

test('FL-6 targetingKey is the target field where that is not given, and stays what it is', async () => {
	const who = async (context) => (await flag('who', context)).json.value;
	assert.equal(await who({ targetingKey: 'ada' }), 'ada');
	assert.equal(await who({ targetingKey: 'bob' }), 'bob');
	assert.equal(await who({ targetingKey: 'eve', userId: 'ada' }), 'ada');
	assert.equal(await who({ targetingKey: 'ada', userId: 'eve' }), 'nobody');
});

test('FL-6 no body, and no context, is a context without members', async () => {
	assert.equal((await w.server.request('POST', `${base}/plain`, { check: false, headers: { authorization: `Bearer ${one}` } })).json.value, true);
	assert.equal((await ask(`${base}/plain`, {})).json.value, true);
	assert.equal((await ask(`${base}/plain`, { context: { deep: { a: [{}] }, when: new Date(), nothing: null }, more: 1 })).json.value, true);
});

test('FL-6 errors are the protocol\'s: a code that the SDKs know, and the key', async () => {
	const error = async (promise, status, errorCode, key) => {
		const answer = await promise;
		assert.equal(answer.status, status, answer.text);
		assert.equal(answer.json.errorCode, errorCode, answer.text);
		assert.equal(answer.json.key, key);
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		assert.match(answer.json.errorDetails, /\w/);
		return answer;
	};
	for (let i = 0; i < 2; i++) await error(flag('none'), 404, 'FLAG_NOT_FOUND', 'none');
	await error(ask(`${base}/plain`, '{"context":'), 400, 'PARSE_ERROR', 'plain');
	await error(ask(`${base}/plain`, '[]'), 400, 'INVALID_CONTEXT', 'plain');
	await error(ask(`${base}/plain`, { context: 7 }), 400, 'INVALID_CONTEXT', 'plain');
	await error(ask(base, { context: 7 }), 400, 'INVALID_CONTEXT', '');
	await error(ask(`${base}/plain`, { context: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`f${i}`, i])) }), 413, 'INVALID_CONTEXT', 'plain');
	await error(flag('plain', {}, { as: null }), 401, 'GENERAL', 'plain');
	await error(flag('plain', {}, { as: 'cs_agt_wrong' }), 401, 'GENERAL', 'plain');
	await error(bulk({}, { as: null }), 401, 'GENERAL', '');
	await error(ask(`${base}/plain`, 'x', { headers: { 'content-type': 'text/plain' } }), 415, 'GENERAL', 'plain');
	await error(ask(`/api/v1/envs/none${base}/plain`, {}, { as: many }), 404, 'FLAG_NOT_FOUND', 'plain');
	await error(ask(`/api/v1/envs/none${base}`, {}, { as: many }), 404, 'GENERAL', '');
	await error(ask(`/api/v1/envs/${shop.live.id}${base}/plain`, {}), 403, 'GENERAL', 'plain');
	const narrow = await token({ environments: [shop.staging.id], keys: ['web.*'] });
	for (let i = 0; i < 2; i++) await error(flag('plain', {}, { as: narrow }), 403, 'GENERAL', 'plain');
	assert.deepEqual((await bulk({}, { as: narrow })).json.flags.map((f) => f.key), ['web.checkout']);
});

test('FL-6 a token for one environment needs no more; any other has it in the base URL', async () => {
	assert.deepEqual((await ask(`${named()}/plain`, {}, { as: many })).json, (await flag('plain')).json);
	assert.deepEqual((await ask(named(), {}, { as: many })).json.flags, (await bulk()).json.flags);
	assert.equal((await ask(`${named()}/plain`, {})).status, 200, 'it may name it, too');
	const refused = await flag('plain', {}, { as: many });
	assert.deepEqual([refused.status, refused.json.errorCode], [400, 'GENERAL']);
	assert.match(refused.json.errorDetails, /\/api\/v1\/envs\/\{id\}/);
	const keyed = await w.server.request('POST', `${base}/plain`, { body: {}, check: false, headers: { 'x-api-key': one } });
	assert.equal(keyed.json.value, true);
});

test('FL-6 all of them: every flag and config, in a stable order, with a strong ETag', async () => {
	const answer = await bulk({ targetingKey: 'u', plan: 'pro' });
	assert.equal(answer.status, 200);
	assert.match(answer.headers.get('etag'), /^"[0-9a-f]{32}"$/);
	assert.deepEqual(answer.json.flags.map((f) => f.key), ['half', 'plain', 'web.checkout', 'limits', 'who']);
	assert.ok(answer.json.flags.every((f) => f.reason && 'value' in f));
	for (let i = 0; i < 3; i++) assert.equal((await bulk({ targetingKey: 'u', plan: 'pro' })).text, answer.text);
	assert.equal((await ask(`${base}/`, { context: { targetingKey: 'u', plan: 'pro' } })).text, answer.text, 'flagd takes the slash, so do we');
});

test('FL-6 304 while ruleset, context and token are the same', async () => {
	const context = { targetingKey: 'u' };
	const etag = (await bulk(context)).headers.get('etag');
	const again = (tag, c = context, options = {}) => bulk(c, { ...options, headers: { 'if-none-match': tag } });
	for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
		const known = await again(tag);
		assert.deepEqual([known.status, known.text, known.headers.get('etag')], [304, '', etag]);
		assert.match(known.headers.get('access-control-expose-headers'), /ETag/);
	}
	assert.equal((await again('"x"')).status, 200);
	assert.equal((await again(etag, { targetingKey: 'u', plan: 'pro' })).status, 200, 'another context');
	const narrow = await token({ environments: [shop.staging.id], keys: ['web.*'] });
	assert.equal((await again(etag, context, { as: narrow })).status, 200, 'another scope');
	await shop.put('flags', 'plain', { defaultValue: false, rules: [] });
	assert.equal((await again(etag)).status, 200, 'another ruleset');
	await shop.put('flags', 'plain', { defaultValue: true, rules: [] });
});

test('FL-6 pages of any origin may ask', async () => {
	for (const path of [base, `${base}/plain`, named(), `${named()}/plain`, '/ofrep/v1/events']) {
		const answer = await w.server.request('OPTIONS', path, { check: false, headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' } });
		assert.equal(answer.status, 204);
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
		assert.match(answer.headers.get('access-control-allow-methods'), /POST/);
		for (const name of ['Content-Type', 'If-None-Match', 'Authorization', 'X-API-Key']) assert.ok(answer.headers.get('access-control-allow-headers').includes(name));
	}
	const answer = await bulk({}, { headers: { origin: 'https://shop.example' } });
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	assert.match(answer.headers.get('access-control-expose-headers'), /ETag, Retry-After/);
	const own = await w.server.get('/api/v1/version');
	assert.equal(own.headers.get('access-control-allow-origin'), null, 'our own API is not meant');
});

test('FL-6 429 says when to come again', async () => {
	const slow = await startSetUp({ args: ['--evaluations-per-second', '3'] });
	try {
		const env = (await ok(slow.as(slow.first.adminToken).get('/api/v1/environments'))).items[0].id;
		const refusal = await until(async () => {
			const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`/api/v1/envs/${env}${base}/x`, {}, { as: slow.first.agentToken, server: slow })));
			return answers.find((a) => a.status === 429);
		}, 'a refusal');
		assert.deepEqual([refusal.headers.get('retry-after'), refusal.json.errorCode], ['1', 'GENERAL']);
	} finally {
		await slow.stop();
	}
});

// --- the stream ---

/** Follows an event stream: events so far, and its end. */
async function follow(url, headers = {}) {
	const control = new AbortController();
	const response = await fetch(url, { headers, signal: control.signal });
	const f = { status: response.status, headers: response.headers, events: [], over: false, text: '', stop: () => control.abort() };
	if (response.status !== 200) return Object.assign(f, { over: true, body: await response.json() });
	(async () => {
		try {
			for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
				f.text += chunk;
				f.events = f.text.split('\n\n').slice(0, -1).map((e) => Object.fromEntries(e.split('\n').filter((l) => !l.startsWith(':')).map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)])));
			}
		} catch { /* we have left */ }
		f.over = true;
	})();
	return f;
}
const streamOf = async (as = one) => {
	const [stream] = (await bulk({}, { as })).json.eventStreams;
	assert.equal(stream.type, 'sse');
	assert.ok(stream.inactivityDelaySec >= 1);
	return stream.endpoint.requestUri;
};
const change = (n) => shop.put('configs', 'who', { defaultValue: `nobody ${n}`, rules: [] });

test('FL-6 the stream says when to ask again, and nothing else', async () => {
	const uri = await streamOf();
	assert.ok(!uri.includes(one), 'the token itself is in no address');
	const f = await follow(w.server.url + uri);
	assert.equal(f.headers.get('content-type'), 'text/event-stream');
	assert.equal(f.headers.get('access-control-allow-origin'), '*');
	const { version } = await ok(w.admin.get(`/api/v1/envs/${shop.staging.id}`));
	await change(1);
	await until(() => f.events.length > 0, 'the news');
	assert.deepEqual(f.events, [{ id: `${version + 1}`, data: JSON.stringify({ type: 'refetchEvaluation', etag: `"${version + 1}"` }) }]);
	await shop.put('flags', 'plain', { defaultValue: true, rules: [] }, shop.live); // another environment
	await change(2);
	await until(() => f.events.length > 1, 'more news');
	assert.deepEqual(f.events.map((e) => e.id), [`${version + 1}`, `${version + 2}`]);
	f.stop();
	assert.equal((await ask(`${base}?flagConfigEtag=%22${version + 2}%22&flagConfigLastModified=1`, {})).status, 200, 'what comes back is taken');
	assert.ok(!w.server.stderr.includes('ticket'), 'and not logged');
});

test('FL-6 what was missed is told: by Last-Event-ID, and by where the evaluation stood', async () => {
	const uri = await streamOf(), since = /since=(\d+)/.exec(uri)[1];
	await change(3);
	const late = await follow(w.server.url + uri);
	await until(() => late.events.length, 'what came between the evaluation and the stream');
	late.stop();
	assert.ok(Number(late.events[0].id) > Number(since));
	const back = await follow(w.server.url + uri, { 'last-event-id': since });
	await until(() => back.events.length, 'what came while away');
	back.stop();
	const current = await follow(w.server.url + uri, { 'last-event-id': late.events[0].id });
	await change(4);
	await until(() => current.events.length, 'the next one');
	assert.equal(Number(current.events[0].id), Number(late.events[0].id) + 1, 'and nothing twice');
	current.stop();
});

test('FL-6 the address of a stream stays the same, so that it is not opened anew', async () => {
	assert.equal(await streamOf(), await streamOf());
	assert.notEqual(await streamOf(), await streamOf(await token({ environments: [shop.staging.id] })));
});

test('FL-6 nobody makes such an address but the server', async () => {
	const uri = await streamOf(), ticket = /ticket=([^&]+)/.exec(uri)[1], parts = ticket.split('.');
	const bad = [uri.replace(parts[4], parts[4].replace(/^./, (c) => (c === '0' ? '1' : '0'))), uri.replace(parts[2], shop.live.id), uri.replace(parts[3], `${Number(parts[3]) + 1}`), '/ofrep/v1/events', '/ofrep/v1/events?ticket=x', '/ofrep/v1/events?ticket=a.b.c.d.e', '/ofrep/v1/events?ticket=%'];
	for (const address of bad) {
		const f = await follow(w.server.url + address);
		assert.deepEqual([f.status, f.body.errorCode], [401, 'GENERAL'], address);
	}
});

test('FL-6 ID-6 a stream ends with the token behind it, and does not begin again', async () => {
	const minted = await ok(w.admin.post('/api/v1/tokens', { name: 'gone', principalId: w.first.agentId, actions: ['read'], environments: [shop.staging.id] }));
	const uri = await streamOf(minted.token);
	const f = await follow(w.server.url + uri);
	await ok(w.admin.delete(`/api/v1/tokens/${minted.id}`));
	await change(5);
	await until(() => f.over, 'its end');
	assert.deepEqual(f.events, [], 'it hears nothing more');
	assert.equal((await follow(w.server.url + uri)).status, 401);
	assert.equal((await bulk({}, { as: minted.token })).status, 401);
});

test('FL-6 a page that follows one server hears what another has changed, and gets it there', { skip: onPostgres ? false : 'two servers need PostgreSQL' }, async () => {
	const other = await w.another();
	try {
		const f = await follow(other.url + (await streamOf()));
		await change(6);
		await until(() => f.events.length, 'the news');
		const { etag } = JSON.parse(f.events[0].data);
		// a server that has not noticed yet must not answer with what was before
		const { flags } = (await ask(`${base}?flagConfigEtag=${encodeURIComponent(etag)}`, {}, { server: other })).json;
		assert.equal(flags.find((x) => x.key === 'who').value, 'nobody 6');
		f.stop();
	} finally {
		await other.stop({ keep: true });
	}
});

test('FL-6 with a public URL the stream has a whole address', async () => {
	const server = await startSetUp({ args: ['--public-url', 'https://flags.example'] });
	try {
		const env = (await ok(server.as(server.first.adminToken).get('/api/v1/environments'))).items[0].id;
		const [stream] = (await ask(`/api/v1/envs/${env}${base}`, {}, { as: server.first.agentToken, server })).json.eventStreams;
		assert.match(stream.url, /^https:\/\/flags\.example\/ofrep\/v1\/events\?ticket=/);
		assert.equal(stream.endpoint, undefined);
	} finally {
		await server.stop();
	}
});
