// SPDX-License-Identifier: Apache-2.0
// The contract itself: the document that openapi serves is valid and complete, and the checker that all tests lean on can fail.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Validator } from '@seriousme/openapi-schema-validator';

import { checkAnswer, operationOf, validate } from './lib/contract.mjs';
import { startServer } from './lib/server.mjs';

let server, doc;
before(async () => {
	server = await startServer();
	doc = server.openapi;
});
after(() => server.stop());

const operations = () => Object.entries(doc.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })));

test('openapi is a 3.1 document with a title, a version and a licence', () => {
	assert.equal(doc.openapi, '3.1.0');
	assert.equal(doc.info.title, 'Countersign');
	assert.match(doc.info.version, /^\d+\.\d+\.\d+$/);
	assert.equal(doc.info.license.identifier, 'Apache-2.0');
	assert.deepEqual(Object.keys(doc).sort(), ['components', 'info', 'openapi', 'paths', 'servers']);
});

test('openapi is valid by the schema of the OpenAPI Initiative', async () => {
	const { valid, errors } = await new Validator().validate(structuredClone(doc));
	assert.ok(valid, JSON.stringify(errors, null, 2));
	const broken = structuredClone(doc);
	delete broken.paths['/healthz'].get.responses[200].description;
	assert.equal((await new Validator().validate(broken)).valid, false);
});

test('openapi describes every operation wholly', () => {
	const ids = new Set();
	for (const { path, method, operation } of operations()) {
		const id = operation.operationId;
		assert.match(id, /^[a-z][a-z0-9_]*$/);
		assert.ok(!ids.has(id), `${id} twice`);
		ids.add(id);
		assert.match(path, /^\//);
		assert.match(method, /^(get|post|put|patch|delete)$/);
		assert.ok(operation.summary && operation.description.startsWith(operation.summary), id);
		assert.ok(operation['x-rule'], id);
		assert.equal(operation.security.length === 0, operation['x-rule'] === 'public', id);
		assert.equal(method === 'post' && 'requestBody' in operation, method === 'post', id);
		const named = [...path.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]);
		const inPath = (operation.parameters ?? []).filter((p) => p.in === 'path').map((p) => p.name);
		assert.deepEqual(inPath.sort(), named.sort(), id);
		assert.ok(Object.keys(operation.responses).some((status) => /^(2|303)/.test(status)), id);
		for (const response of Object.values(operation.responses)) assert.ok(response.description && response.content, id);
	}
	for (const id of ['server_health', 'server_ready', 'server_metrics', 'server_version', 'server_config', 'openapi', 'json_canonicalize']) assert.ok(ids.has(id), id);
});

test('openapi refers only to what it holds', () => {
	let seen = 0;
	JSON.stringify(doc, (key, value) => {
		if (key === '$ref') assert.ok(++seen && value.slice(2).split('/').reduce((node, part) => node?.[part], doc), value);
		return value;
	});
	assert.ok(seen > 0, 'it refers to something');
});

test('every operation answers as documented when called without anything', async () => {
	assert.ok(operations().length > 100);
	for (const { path, method, operation } of operations()) {
		const answer = await server.request(method.toUpperCase(), path, { body: operation.requestBody ? {} : undefined });
		assert.ok(answer.status in operation.responses, operation.operationId); // the request checks the rest
	}
});

test('the checker sees what is not documented', async () => {
	const answer = await server.get('/healthz');
	const changed = (more) => ({ ...answer, ...more });
	assert.throws(() => checkAnswer(doc, 'GET', '/healthz', changed({ json: { status: 'dead' } })), /enum/);
	assert.throws(() => checkAnswer(doc, 'GET', '/healthz', changed({ json: {} })), /required/);
	assert.throws(() => checkAnswer(doc, 'GET', '/healthz', changed({ json: { status: 'ok', more: 1 } })), /not documented/);
	assert.throws(() => checkAnswer(doc, 'GET', '/healthz', changed({ status: 418 })), /does not document 418/);
	assert.throws(() => validate(doc, { nonsense: 1 }, 1), /does not know "nonsense"/);
	assert.throws(() => validate(doc, { type: 'array', items: { minimum: 3 } }, [4, 2]), /\/1: minimum/);
	assert.equal(operationOf(doc, 'GET', '/nowhere'), undefined);
});
