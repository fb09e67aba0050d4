// SPDX-License-Identifier: Apache-2.0
// Unleash's client specification (npm @unleash/client-specification) through our importer and our evaluator (FL-2).
// docs/unleash.md lists by name what cannot be expressed, and why; UNLEASH_WRITE=1 writes it.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { test } from 'node:test'
import { convert, root } from './lib/flagcat.mjs'

const require = createRequire(import.meta.url)
const home = path.dirname(require.resolve('@unleash/client-specification/package.json'))
const { version } = JSON.parse(fs.readFileSync(path.join(home, 'package.json')))
const names = JSON.parse(fs.readFileSync(path.join(home, 'specifications/index.json')))
const page = path.join(root, 'docs/unleash.md')

// Fields of Unleash's own and properties are all fields of one context here.
const flat = ({ properties = {}, ...own }) => ({ ...properties, ...own })

// What an SDK would say, of what we answer. A flag that is not there is off; a feature without variants has no
// config of them.
function isEnabled(answers, name) {
	return answers[name] ?? false
}
function getVariant(answers, name) {
	return answers[`${name}:variant`] ?? { name: 'disabled', enabled: false, feature_enabled: isEnabled(answers, name) }
}

function run(name) {
	const spec = JSON.parse(fs.readFileSync(path.join(home, 'specifications', name)))
	const cases = [...(spec.tests ?? []).map(t => ({ ...t, ask: isEnabled })),
		...(spec.variantTests ?? []).map(t => ({ ...t, ask: getVariant }))]
	const [got] = convert([{ format: 'unleash', file: spec.state, contexts: cases.map(t => flat(t.context)) }])
	assert.equal(got.error, undefined, `${name}: ${got.error}`)
	return cases.map((t, i) => {
		const refused = got.remarks.find(r => r.refused && r.item === t.toggleName)
		const answer = t.ask(got.answers[i], t.toggleName)
		return { name: `${name.replace('.json', '')}: ${t.description}`, refused, answer, expected: t.expectedResult }
	})
}

const results = names.flatMap(run)
const passes = r => { try { assert.deepEqual(r.answer, r.expected); return true } catch { return false } }

function write(left) {
	const passed = results.length - left.length
	const lines = left.map(r => `| ${r.name} | ${r.refused.path} ${r.refused.message} |`.replaceAll(/\s+/g, ' '))
	return `# Unleash's client specification

Written by \`UNLEASH_WRITE=1 node --test tests/conformance/unleash.test.mjs\`, which also holds it to the truth: version ${version} of
the suite through \`countersign import --format unleash\` and our evaluator. **${passed} of ${results.length} tests pass.** These cannot
be expressed; the importer refuses their features by name, with this reason:

| test | the importer says |
|---|---|
${lines.join('\n')}

How a feature becomes flags, configs and segments: [import.md](import.md).
`
}

test(`every test of ${results.length} whose feature can be expressed passes`, () => {
	const failed = results.filter(r => !r.refused && !passes(r))
	assert.deepEqual(failed.map(r => ({ name: r.name, answer: r.answer, expected: r.expected })), [])
	assert.ok(results.length >= 279, 'the suite has 279 tests')
})

test('docs/unleash.md lists exactly those that cannot be expressed', () => {
	const text = write(results.filter(r => r.refused))
	if (process.env.UNLEASH_WRITE) fs.writeFileSync(page, text)
	assert.equal(fs.readFileSync(page, 'utf8'), text)
})
