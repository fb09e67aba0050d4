// SPDX-License-Identifier: Apache-2.0
// Bytes that no honest client sends. http's own tests have the whole table; here a few go through the whole program.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { startServer } from './lib/server.mjs';

let server;
before(async () => (server = await startServer()));
after(() => server.stop());

const refused = {
	'Content-Length with Transfer-Encoding': 'POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
	'two different Content-Lengths': 'POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ',
	'a signed Content-Length': 'POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: +2\r\n\r\n{}',
	'no Host': 'GET /healthz HTTP/1.1\r\n\r\n',
	'two Hosts': 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
	'a space before the colon': 'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n',
	'a folded header': 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n',
	'a bare CR': 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\rc\r\n\r\n',
	'a bare LF': 'GET /healthz HTTP/1.1\nHost: x\n\n',
	'a NUL': 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n',
	'an unknown transfer coding': 'POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
	'a target that is no path': 'GET healthz HTTP/1.1\r\nHost: x\r\n\r\n',
	'an absolute target of another host than Host': 'GET http://y/healthz HTTP/1.1\r\nHost: x\r\n\r\n',
	'a Host with two ports': 'GET /healthz HTTP/1.1\r\nHost: x:1:2\r\n\r\n',
	'a Host with an open bracket': 'GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n',
	'another protocol': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
};
for (const [name, bytes] of Object.entries(refused)) {
	test(`${name} is 400 in the envelope, and nothing that follows is answered`, async () => {
		const follows = 'GET /api/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
		const answer = await server.raw(bytes + follows, { end: true });
		assert.match(answer, /^HTTP\/1\.1 400 /);
		const [head, body] = answer.split('\r\n\r\n');
		assert.match(head, /\r\nconnection: close/i);
		assert.equal(JSON.parse(body).code, 'bad_request');
		assert.equal(answer.match(/HTTP\/1\.1 /g).length, 1, answer);
	});
}

for (const path of ['/assets/../../etc/passwd', '/assets/%2e%2e/%2e%2e/etc/passwd', '/assets/.', '/%00', '/%ff', '/%zz']) {
	test(`the path ${path} is 400`, async () => {
		const answer = await server.raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
		assert.match(answer, /^HTTP\/1\.1 400 /);
		assert.equal(JSON.parse(answer.split('\r\n\r\n')[1]).code, 'bad_request');
	});
}

test('a chunked body is read as it should be', async () => {
	const answer = await server.raw('POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"doc\r\na;x=y\r\nument": 1}\r\n0\r\n\r\n');
	assert.match(answer, /^HTTP\/1\.1 200 /);
	assert.match(answer, /"canonical":"1"/);
});

test('requests sent in one piece are answered in order', async () => {
	const one = (path, last) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
	const answer = await server.raw(one('/readyz') + one('/healthz') + one('/api/v1/version', true));
	const order = ['"ready"', '"ok"', '"countersign"'].map((word) => answer.indexOf(word));
	assert.ok(order[0] > 0 && order[0] < order[1] && order[1] < order[2], answer);
});

test('100 MB of brackets are refused at the first megabyte', async () => {
	const answer = await server.raw(`POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${100 * 2 ** 20}\r\n\r\n${'['.repeat(65536)}`);
	assert.match(answer, /^HTTP\/1\.1 413 /);
});

test('after all that it is still well', async () => {
	assert.equal((await server.get('/readyz')).status, 200);
});

const at = (request) => server.raw(`${request}\r\nConnection: close\r\n\r\n`);
const withBody = (header) => server.raw(`POST /api/v1/json/canonicalize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n${header}\r\nContent-Length: 2\r\n\r\n{}`);
const codeOf = (answer) => [Number(answer.split(' ')[1]), JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).code];

test('a body in a coding that is not read is 415 and says which is; an Expect that nobody knows is 417', async () => {
	for (const coding of ['gzip', 'br', 'deflate', 'gzip, identity', 'x']) {
		const answer = await withBody(`Content-Encoding: ${coding}`);
		assert.deepEqual(codeOf(answer), [415, 'unsupported_media_type'], coding);
		assert.match(answer, /\r\nAccept-Encoding: identity\r\n/i);
	}
	assert.deepEqual(codeOf(await withBody('Content-Encoding: identity')), [400, 'invalid_request'], 'it is read');
	assert.deepEqual(codeOf(await withBody('Expect: 200-maybe')), [417, 'expectation_failed']);
});

test('an absolute target is taken where it names a host of ours: of public-url, localhost or an address', async (t) => {
	assert.match(await at('GET http://any.example/healthz HTTP/1.1\r\nHost: any.example'), /^HTTP\/1\.1 200 /, 'nobody has said which names are ours');
	const named = await startServer({ args: ['--public-url', 'https://ours.example'] });
	t.after(() => named.stop());
	const ask = (host) => named.raw(`GET http://${host}/healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
	for (const host of ['ours.example', 'OURS.example', '127.0.0.1:7700', '[::1]:7700', 'localhost']) assert.match(await ask(host), /^HTTP\/1\.1 200 /, host);
	for (const host of ['theirs.example', 'ours.example.theirs.example', 'localhost.theirs.example']) assert.deepEqual(codeOf(await ask(host)), [400, 'bad_request'], host);
});
