// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with a request, the answer is the envelope. json_canonicalize is the operation that reads.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { startServer } from './lib/server.mjs';

const target = '/api/v1/json/canonicalize';
let server;
before(async () => (server = await startServer()));
after(() => server.stop());

function assertError(answer, status, code) {
	assert.equal(answer.status, status, answer.text);
	assert.equal(answer.headers.get('content-type'), 'application/json');
	assert.equal(answer.json.code, code);
	assert.match(answer.json.message, /\S+ \S+/);
	return answer.json;
}

const canonical = [
	['members are sorted', { document: { b: 1, a: [true, null] } }, '{"a":[true,null],"b":1}'],
	['numbers are written as ECMAScript does', '{"document":[1.0,1e2,-0,0.10,1e21]}', '[1,100,0,0.1,1e+21]'],
	['any document will do: a string', { document: 'é\u0001' }, '"é\\u0001"'],
	['any document will do: null', { document: null }, 'null'],
	['any document will do: false', { document: false }, 'false'],
];
for (const [name, body, text] of canonical) {
	test(`json_canonicalize: ${name}`, async () => {
		const { status, json } = await server.post(target, body);
		assert.equal(status, 200);
		assert.equal(json.canonical, text);
		assert.equal(json.sha256, createHash('sha256').update(text).digest('hex'));
	});
}

test('a number that does not survive is refused with its path', async () => {
	const json = assertError(await server.post(target, '{"document":{"a":[1,12345678901234567890]}}'), 400, 'invalid_request');
	assert.match(json.fields[0].path, /\/a\/1$/);
});

test('an unknown path is 404', async () => {
	for (const path of ['/nowhere', '/api/v1', '/api/v1/version/', '/healthz/x'])
		assert.match(assertError(await server.get(path), 404, 'not_found').message, /\/openapi\.json/);
});

test('a method that the path does not take is 405 and says which it takes', async () => {
	const answer = await server.request('DELETE', '/api/v1/version', { check: false });
	assert.match(assertError(answer, 405, 'method_not_allowed').message, /does not take DELETE, but GET, HEAD$/);
	assert.deepEqual(answer.headers.get('allow').split(/, */).sort(), ['GET', 'HEAD']);
	const post = await server.get(target, { check: false });
	assertError(post, 405, 'method_not_allowed');
	assert.equal(post.headers.get('allow'), 'POST');
});

test('a body that does not say it is JSON is 415', async () => {
	for (const type of ['text/plain', 'application/xml', 'application/jsonp', 'multipart/form-data', ''])
		assertError(await server.post(target, '{"document":1}', { headers: { 'content-type': type } }), 415, 'unsupported_media_type');
});

test('a charset on JSON is accepted', async () => {
	const { status } = await server.post(target, '{"document":1}', { headers: { 'content-type': 'application/json; charset=utf-8' } });
	assert.equal(status, 200);
});

const malformed = [
	['nothing', '', /line 1/],
	['cut off', '{"document":', /line 1, column 13/],
	['a comma too many', '{"document":1,\n}', /line 2/],
	['a member twice', '{"document":1,"document":2}', /line 1/],
	['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /line 1/],
	['something after it', '{"document":1} x', /line 1, column 16/],
	['too deep', `{"document":${'['.repeat(100)}`, /deep|nest/i],
	['half a surrogate pair', '{"document":"\\ud800"}', /line 1/],
	['a zero character', '{"document":"\\u0000"}', /line 1/],
];
for (const [name, body, where] of malformed) {
	test(`malformed JSON (${name}) is 400 and says where`, async () => {
		const json = assertError(await server.post(target, body), 400, 'bad_json');
		assert.match(json.message, where);
	});
}

test('an unknown member is named, and so is what is missing', async () => {
	const json = assertError(await server.post(target, { doc: 1, other: 2 }), 400, 'invalid_request');
	assert.deepEqual(json.fields.map((field) => field.path).sort(), ['/doc', '/document', '/other']);
	assert.match(json.fields.find((field) => field.path === '/doc').message, /accepted: document/);
});

test('a body that is not an object is invalid', async () => {
	for (const body of ['[]', '1', '"document"', 'null']) assertError(await server.post(target, body), 400, 'invalid_request');
});

test('an unknown query parameter is named', async () => {
	for (const path of ['/api/v1/version?verbose=1', '/healthz?x', '/openapi.json?a=1&b=2']) {
		const json = assertError(await server.get(path), 400, 'invalid_request');
		assert.equal(json.fields.length, path.includes('&') ? 2 : 1);
		assert.match(json.message, /accepted: none/);
	}
	const json = assertError(await server.post(`${target}?document=1`, { document: 1 }), 400, 'invalid_request');
	assert.equal(json.fields[0].path, '/document');
	assert.match(json.message, /in the body/);
});

test('a query that cannot be decoded is invalid', async () => {
	assertError(await server.get('/api/v1/version?%zz=1'), 400, 'invalid_request');
	assertError(await server.get('/api/v1/version?a=%ff'), 400, 'invalid_request');
	assert.match(assertError(await server.get('/api/v1/version?a=%00'), 400, 'invalid_request').message, /must not contain NUL/);
});

test('a body beyond the limit is 413', async () => {
	const answer = await server.raw(
		`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${100 * 1024 * 1024}\r\n\r\n[`,
	);
	assert.match(answer, /^HTTP\/1\.1 413 /);
	assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]).code, 'too_large');
});

test('a body just within the limit is read', async () => {
	const frame = '{"document":""}'.length;
	const { status, json } = await server.post(target, JSON.stringify({ document: 'x'.repeat(1024 * 1024 - frame) }));
	assert.equal(status, 200);
	assert.equal(json.canonical.length, 1024 * 1024 - frame + 2);
});

test('a body where none is taken is 400', async () => {
	const answer = await server.raw('GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
	assert.match(answer, /^HTTP\/1\.1 400 /);
	assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]).code, 'bad_request');
});

test('a head beyond the limit is 431', async () => {
	const answer = await server.raw(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20000)}\r\n\r\n`);
	assert.match(answer, /^HTTP\/1\.1 431 /);
	assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]).code, 'head_too_large');
});
