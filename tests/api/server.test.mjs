// SPDX-License-Identifier: Apache-2.0
// What the server says about itself: server_health, server_ready, server_metrics, server_version,
// server_config, openapi; and the page at /.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { onPostgres, startSetUp } from './lib/server.mjs';

let server;
before(async () => (server = await startSetUp()));
after(() => server.stop());

test('server_health says that it is alive', async () => {
	const { status, json, headers } = await server.get('/healthz');
	assert.equal(status, 200);
	assert.deepEqual(json, { status: 'ok' });
	assert.match(headers.get('x-request-id'), /^[\w.-]{1,64}$/);
});

test('server_health answers HEAD without a body', async () => {
	const { status, text } = await server.request('HEAD', '/healthz');
	assert.equal(status, 200);
	assert.equal(text, '');
});

test('server_ready names the database and its schema', async () => {
	const { status, json } = await server.get('/readyz');
	assert.equal(status, 200);
	assert.equal(json.status, 'ready');
	assert.equal(json.database, onPostgres ? 'postgres' : 'sqlite');
	assert.ok(json.schemaVersion >= 1);
});

test('server_version says which version this is', async () => {
	const { status, json } = await server.get('/api/v1/version');
	assert.equal(status, 200);
	assert.equal(json.name, 'countersign');
	assert.match(json.version, /^\d+\.\d+\.\d+$/);
});

test('server_config needs somebody who may read it', async () => {
	for (const headers of [{}, { authorization: 'Bearer anything' }]) {
		const { status, json, headers: answered } = await server.get('/api/v1/config', { headers });
		assert.equal(status, 401);
		assert.equal(json.code, 'unauthenticated');
		assert.equal(answered.get('www-authenticate'), 'Bearer');
	}
});

test('server_config lists every setting and where it came from', async () => {
	const { status, json } = await server.as(server.first.adminToken).get('/api/v1/config');
	assert.equal(status, 200);
	const listen = json.settings.find(({ name }) => name === 'listen');
	assert.deepEqual(listen, { name: 'listen', value: '127.0.0.1:0', source: 'flag' });
	assert.equal(json.settings.find(({ name }) => name === 'workers').source, 'default');
});

/** The text format 0.0.4: families with HELP and TYPE before their samples, each sample once. */
function parseMetrics(text) {
	assert.ok(text.endsWith('\n'));
	const families = {}, samples = new Map();
	for (const line of text.trimEnd().split('\n')) {
		const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
		if (comment) {
			const [, kind, name, rest] = comment;
			families[name] ??= {};
			assert.ok(!(kind in families[name]), `${kind} ${name} twice`);
			families[name][kind] = rest;
			continue;
		}
		const sample = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$/.exec(line);
		assert.ok(sample, `not a line of the format: ${line}`);
		const [, name, labels = '', value] = sample;
		const family = families[name] ?? families[name.replace(/_(bucket|sum|count)$/, '')];
		assert.ok(family?.HELP && family.TYPE, `${name} has no HELP and TYPE before it`);
		assert.match(value, /^[+-]?(\d+(\.\d+)?|Inf)$/);
		assert.ok(!samples.has(name + labels), `${name}${labels} twice`);
		samples.set(name + labels, Number(value));
	}
	return { families, samples };
}

test('server_metrics is what Prometheus reads', async () => {
	const { status, headers, text } = await server.get('/metrics');
	assert.equal(status, 200);
	assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
	const { families, samples } = parseMetrics(text);
	assert.equal(families.countersign_http_answer_seconds.TYPE, 'histogram');
	for (const name of ['process_resident_memory_bytes', 'process_open_fds', 'process_start_time_seconds', 'countersign_http_connections'])
		assert.ok(samples.get(name) > 0, `${name} is ${samples.get(name)}`);
	for (const name of ['countersign_db_transactions_total', 'countersign_db_queue', 'countersign_http_jobs_waiting', 'countersign_draining'])
		assert.ok(samples.get(name) >= 0, `${name} is ${samples.get(name)}`);
});

test('server_metrics counts answers by operation and class, and buckets add up', async () => {
	const name = 'countersign_http_answers_total';
	const before_ = parseMetrics((await server.get('/metrics')).text).samples;
	await server.get('/api/v1/version');
	await server.get('/api/v1/version');
	await server.get('/nowhere');
	const { samples } = parseMetrics((await server.get('/metrics')).text);
	const grown = (labels) => samples.get(name + labels) - (before_.get(name + labels) ?? 0);
	assert.equal(grown('{op="server_version",status="2xx"}'), 2);
	assert.equal(grown('{op="none",status="4xx"}'), 1);
	const op = '{op="server_version"';
	assert.equal(samples.get(`countersign_http_answer_seconds_bucket${op},le="+Inf"}`), samples.get(`countersign_http_answer_seconds_count${op}}`));
	assert.ok(samples.get(`countersign_http_answer_seconds_bucket${op},le="0.0001"}`) <= samples.get(`countersign_http_answer_seconds_bucket${op},le="1"}`));
});

test('WEB-1 every page is the console\'s index, which needs nothing from elsewhere and says something without scripts', async () => {
	const { status, headers, text } = await server.get('/');
	assert.equal(status, 200);
	assert.match(headers.get('content-type'), /^text\/html/);
	assert.match(text, /<html lang="en">/);
	assert.match(text, /<title>[^<]+<\/title>/);
	assert.match(text, /<noscript>\s*<main/);
	assert.equal(text.match(/<h1>/g).length, 1);
	assert.doesNotMatch(text, /<script(?![^>]* src=)|<style|style=|https?:\/\/|onclick/i);
	const csp = headers.get('content-security-policy');
	assert.ok(csp && !csp.includes('unsafe-inline'), csp);
	assert.equal(headers.get('x-content-type-options'), 'nosniff');
	const links = [...text.matchAll(/(?:href|src)="([^"]+)"/g)];
	assert.ok(links.length, text);
	for (const [, link] of links) assert.equal((await server.get(link)).status, 200, link);
	assert.equal((await server.get('/proposals/01a1e390-87f9-7a7a-8000-00095816e59f')).text, text, 'approveUrl leads here');
});

test('a page that has not changed is not sent again', async () => {
	const first = await server.get('/assets/page.css');
	assert.equal(first.status, 200);
	const second = await server.get('/assets/page.css', { headers: { 'if-none-match': first.headers.get('etag') } });
	assert.equal(second.status, 304);
	assert.equal(second.text, '');
});

test('a page that does not exist is a 404 in the envelope', async () => {
	const { status, json } = await server.get('/assets/nothing.css');
	assert.equal(status, 404);
	assert.equal(json.code, 'not_found');
});
