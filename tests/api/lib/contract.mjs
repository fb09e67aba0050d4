// SPDX-License-Identifier: Apache-2.0
// Is an answer what /openapi.json says? A small checker for the keywords that our field tables make;
// a keyword it does not know is an error, so that nothing passes unseen.
import assert from 'node:assert/strict';

const annotations = new Set(['description', 'title']);

function typeOf(value) {
	if (value === null) return 'null';
	if (Array.isArray(value)) return 'array';
	return Number.isInteger(value) ? 'integer' : typeof value;
}

const keywords = {
	type: (type, value) => typeOf(value) === type || (type === 'number' && typeof value === 'number'),
	enum: (values, value) => values.includes(value),
	minimum: (n, value) => typeof value !== 'number' || value >= n,
	maximum: (n, value) => typeof value !== 'number' || value <= n,
	minLength: (n, value) => typeof value !== 'string' || [...value].length >= n,
	maxLength: (n, value) => typeof value !== 'string' || [...value].length <= n,
	required: (names, value) => typeOf(value) !== 'object' || names.every((name) => Object.hasOwn(value, name)),
};

export function validate(doc, schema, value, at = '') {
	if (schema.$ref) {
		const target = schema.$ref.replace(/^#\//, '').split('/').reduce((node, key) => node[key], doc);
		return validate(doc, target, value, at);
	}
	for (const [keyword, expected] of Object.entries(schema)) {
		if (annotations.has(keyword)) continue;
		if (keyword === 'items') {
			if (Array.isArray(value)) value.forEach((item, i) => validate(doc, expected, item, `${at}/${i}`));
		} else if (keyword === 'properties') {
			for (const [name, member] of Object.entries(expected))
				if (typeOf(value) === 'object' && Object.hasOwn(value, name)) validate(doc, member, value[name], `${at}/${name}`);
		} else if (keyword === 'additionalProperties') {
			assert.equal(expected, false);
			const extra = Object.keys(value).filter((name) => !Object.hasOwn(schema.properties ?? {}, name));
			assert.deepEqual(extra, [], `${at || '/'} has members that are not documented`);
		} else {
			assert.ok(keywords[keyword], `the checker does not know "${keyword}"`);
			assert.ok(keywords[keyword](expected, value), `${at || '/'}: ${keyword} ${JSON.stringify(expected)} does not hold for ${JSON.stringify(value)}`);
		}
	}
}

/** The documented operation behind a method and a path, or undefined. */
export function operationOf(doc, method, path) {
	for (const [template, item] of Object.entries(doc.paths)) {
		const pattern = new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`);
		if (pattern.test(path)) return item[(method === 'HEAD' ? 'GET' : method).toLowerCase()];
	}
	return undefined;
}

/** Throws unless the answer is a documented one: its status, content type, body, and an error's code. */
export function checkAnswer(doc, method, path, answer) {
	const operation = operationOf(doc, method, path);
	if (!operation) {
		if (answer.status >= 400) validate(doc, doc.components.schemas.Error, answer.json);
		return;
	}
	const response = operation.responses[answer.status];
	assert.ok(response, `${operation.operationId} does not document ${answer.status}: ${answer.text}`);
	const type = answer.headers.get('content-type');
	const content = response.content[type];
	assert.ok(content, `${operation.operationId} answers ${answer.status} with ${type}, which is not documented`);
	if (method === 'HEAD') return;
	if (type === 'application/json') validate(doc, content.schema, answer.json);
	if (answer.status >= 400)
		assert.ok(response.description.includes(`\`${answer.json.code}\``), `${operation.operationId} does not document ${answer.json.code} as ${answer.status}`);
}
