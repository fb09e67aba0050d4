// SPDX-License-Identifier: Apache-2.0
// The reader and the canonical form against Node's JSON and npm's canonicalize, on generated documents.
// CANON_SEED repeats a run, CANON_COUNT makes it longer.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import canonicalize from 'canonicalize'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const jsoncat = path.join(path.resolve(root, process.env.COUNTERSIGN_BUILD ?? 'build-test/gcc'), 'tests/tools/jsoncat')
const seed = Number(process.env.CANON_SEED ?? randomInt(2 ** 31))
const count = Number(process.env.CANON_COUNT ?? 100_000)
const batch = 5_000

// --- chance, repeatable (mulberry32) ---

function dice(start) {
	let a = start >>> 0
	const next = () => {
		a = (a + 0x6d2b79f5) >>> 0
		let t = Math.imul(a ^ (a >>> 15), a | 1)
		t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
	}
	return { next, below: n => Math.floor(next() * n), pick: list => list[Math.floor(next() * list.length)] }
}

// --- documents, as text: every value in one of the ways it can be written ---

const characters = [
	d => String.fromCodePoint(0x20 + d.below(0x5f)),
	d => String.fromCodePoint(0x20 + d.below(0x5f)),
	d => d.pick(['"', '\\', '/', '\b', '\f', '\n', '\r', '\t', '\x01', '\x1f', '\x7f', '\u2028', '\u00e9']),
	d => String.fromCodePoint(0x80 + d.below(0x780)),
	d => String.fromCodePoint(0x800 + d.below(0xd000)),
	d => String.fromCodePoint(0xe000 + d.below(0x2000)), // where UTF-16 and UTF-8 sort differently ...
	d => String.fromCodePoint(0x10000 + d.below(0x100000)) // ... from these
]
const short = { '"': '\\"', '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const units = c => [...Array(c.length).keys()].map(i => '\\u' + c.charCodeAt(i).toString(16).padStart(4, '0'))

function writeCharacter(d, c) {
	if (d.below(12) === 0) return d.below(2) ? units(c).join('') : units(c).join('').toUpperCase().replaceAll('\\U', '\\u')
	if (c === '/' && d.below(2)) return '\\/'
	return short[c] ?? (c < ' ' ? units(c).join('') : c)
}

function text(d) {
	const length = d.pick([0, 1, 3, 7, 8, 9, 15, 30])
	return '"' + Array.from({ length }, () => writeCharacter(d, d.pick(characters)(d))).join('') + '"'
}

function double(d) {
	const bytes = new DataView(new ArrayBuffer(8))
	for (;;) {
		bytes.setUint32(0, d.below(2 ** 32))
		bytes.setUint32(4, d.pick([0, d.below(2 ** 32)]))
		if (Number.isFinite(bytes.getFloat64(0))) return bytes.getFloat64(0)
	}
}

const numbers = [
	d => d.below(1000),
	d => -d.below(2 ** 32),
	d => d.below(2 ** 26) * 2 ** 27 + d.below(2 ** 27),
	d => d.below(10 ** 6) / 10 ** d.below(9),
	d => d.next(),
	double,
	d => 2 ** (d.below(2098) - 1074),
	d => Number('1e' + (d.below(632) - 323)),
	d => Number(d.below(10 ** 9) + 'e' + (d.below(40) - 20))
]

function number(d) {
	const n = d.pick(numbers)(d), plain = Object.is(n, -0) ? '-0' : String(n)
	const exponential = n.toExponential()
	const forms = [plain, plain, exponential, exponential.toUpperCase(), exponential.replace(/e[-+]/, m => m + '00'),
		exponential.replace(/[.][0-9]+/, m => m + '000')]
	if (!/[.e]/.test(plain)) forms.push(plain + '.0', plain + 'e0', plain + '.000e+00')
	if (!/[.e]/.test(plain) && n !== 0) forms.push(plain + '00E-2')
	return d.pick(forms)
}

const space = d => d.below(8) ? '' : d.pick([' ', '\n', '\t', '\r\n', '   '])
const spaced = (d, s) => space(d) + s + space(d)

function value(d, depth) {
	const kind = d.below(depth > 0 ? 10 : 7)
	if (kind < 3) return number(d)
	if (kind < 6) return text(d)
	if (kind === 6) return d.pick(['true', 'false', 'null'])
	const length = d.pick([0, 1, 2, 3, 5, 20])
	if (kind === 7) return '[' + Array.from({ length }, () => spaced(d, value(d, depth - 1))).join(',') + ']'
	const members = new Map()
	for (let i = 0; i < length; i++) {
		const key = d.below(20) ? text(d) : d.pick(['"__proto__"', '"10"', '"9"', '"constructor"', '""'])
		members.set(JSON.parse(key), `${spaced(d, key)}:${spaced(d, value(d, depth - 1))}`)
	}
	return '{' + [...members.values()].join(',') + '}'
}

const document = d => spaced(d, value(d, d.below(5)))

// --- asking jsoncat ---

function ask(mode, input) {
	const run = spawnSync(jsoncat, [mode], { input, maxBuffer: 2 ** 30 })
	if (run.error) throw run.error
	assert.equal(run.status, 0, `jsoncat ${mode}: status ${run.status} signal ${run.signal} ${run.stderr}`)
	return run.stdout.toString('utf8').split('\n').slice(0, -1)
}

const framed = documents => Buffer.concat(documents.flatMap(doc => [Buffer.from(`${doc.length}\n`), doc]))

// Makes count documents, asks in batches, and hands each with its answer to judge.
function each(make, judge) {
	for (let done = 0; done < count; done += batch) {
		const documents = Array.from({ length: Math.min(batch, count - done) }, make)
		const answers = ask('canon', framed(documents))
		assert.equal(answers.length, documents.length)
		documents.forEach((doc, i) => judge(doc, answers[i]))
	}
}

// --- what we refuse and JSON.parse takes (json.h), found by reading the tokens of a text that is valid JSON ---

function strictRules(source) {
	const broken = new Set(), open = []
	let before = ''
	for (const [t] of source.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"]/g)) {
		if (t === '{' || t === '[') open.push({ object: t === '{', names: new Set() })
		if (open.length > 64) broken.add('depth')
		if (t === '}' || t === ']') open.pop()
		if (t[0] === '"') {
			const s = JSON.parse(t), inside = open.at(-1)
			if (s.includes('\0')) broken.add('NUL')
			if (/\p{Surrogate}/u.test(s)) broken.add('surrogate')
			if (inside?.object && (before === '{' || before === ',')) {
				if (inside.names.has(s)) broken.add('twice')
				inside.names.add(s)
			}
		}
		before = t
	}
	for (const [, digits] of source.replace(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[eE][-+]?0*([0-9]*)/g))
		if (digits.length > 15) broken.add('exponent')
	return broken
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function expected(bytes) {
	try {
		const source = decoder.decode(bytes)
		JSON.parse(source)
		return strictRules(source).size === 0
	} catch {
		return false
	}
}

// --- mutations ---

const pieces = ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '\\ud800', '\\udc00', '\\u0000', '\\u0041', 'e', 'E', '.', '-',
	'+', '0', '00', '1', '9', 'true', 'false', 'null', 'nul', ' ', '\n', '\t', '\0', '\x0b', '\xa0', '\ufeff', '\u2028', '/**/',
	'"a":1,', '1e400', '1e9999999999999999', '[[[[[[[[[[[[[[[[', ']]]]]]]]]]]]]]]]', 'NaN', "'", '{"":0,"":0}', '[0]', '"\\ud83d\\ude00"', '"\\udc00\\udc00"', '"\\ud800\\ud800"', members(20), members(20, 7)].map(s => Buffer.from(s))

// {"k0":0,...}: n members, and one name again
function members(n, again = n) {
	return `{${[...Array(n).keys(), again].map(i => `"k${i}":0`)}}`
}

function mutate(d, bytes) {
	const at = d.below(bytes.length + 1), cut = d.below(4), head = bytes.subarray(0, at)
	switch (d.below(8)) {
	case 0: return Buffer.concat([head, d.pick(pieces), bytes.subarray(at)])
	case 1: return Buffer.concat([head, d.pick(pieces), bytes.subarray(at + 1 + cut)])
	case 2: return Buffer.concat([head, bytes.subarray(at + 1 + cut)])
	case 3: return head
	case 4: return Buffer.concat([head, Buffer.from([d.below(256)]), bytes.subarray(at + 1)])
	case 5:
	case 6: { // in the place of a whole value: much of this stays valid
		const values = [...bytes.toString('latin1').matchAll(/\b(true|false|null|[0-9]+)\b/g)]
		if (values.length === 0) return bytes
		const { index, 0: { length } } = d.pick(values)
		return Buffer.concat([bytes.subarray(0, index), d.pick(pieces), bytes.subarray(index + length)])
	}
	default: { // a piece of the text again somewhere else: names stand twice, brackets do not close
		const from = d.below(bytes.length + 1)
		return Buffer.concat([head, bytes.subarray(from, from + d.below(40)), bytes.subarray(at)])
	}
	}
}

const shown = bytes => JSON.stringify(bytes.toString('latin1').slice(0, 500))

test(`canonical form equals canonicalize on ${count} documents (CANON_SEED=${seed})`, () => {
	const d = dice(seed)
	each(() => Buffer.from(document(d)), (doc, answer) => {
		const want = canonicalize(JSON.parse(doc.toString()))
		if (answer !== want) assert.equal(answer, want, `seed ${seed}: ${shown(doc)}`)
	})
})

test(`what is accepted equals JSON.parse and our stricter rules on ${count} mutated texts (CANON_SEED=${seed})`, () => {
	const d = dice(seed + 1), seen = { accepted: 0, refused: 0 }
	each(() => {
		let bytes = Buffer.from(spaced(d, value(d, d.below(3))))
		for (let n = 1 + d.below(3); n > 0; n--) bytes = mutate(d, bytes)
		return bytes
	}, (doc, answer) => {
		// a number may be accepted and still not survive the canonical form: then the reader has not refused it
		const accepted = !answer.startsWith('!bad_json') && !answer.startsWith('!too_large')
		seen[accepted ? 'accepted' : 'refused']++
		if (accepted !== expected(doc)) assert.fail(`seed ${seed}: ${shown(doc)}: ${answer.slice(0, 200)}`)
	})
	assert.ok(seen.accepted > count / 100 && seen.refused > count / 10, `both happen: ${JSON.stringify(seen)}`)
})

test(`canon_double equals String() on ${count} doubles and all powers of two and ten (CANON_SEED=${seed})`, () => {
	const d = dice(seed + 2), doubles = []
	for (let e = -1074; e < 1024; e++) doubles.push(2 ** e, -(2 ** e), 2 ** e * (1 - 2 ** -53), 2 ** e * (1 + 2 ** -52))
	for (let e = -324; e < 309; e++) doubles.push(Number(`1e${e}`), Number(`9.5e${e}`))
	while (doubles.length < count) doubles.push(d.pick(numbers)(d))
	const view = new DataView(new ArrayBuffer(8))
	const finite = doubles.filter(Number.isFinite)
	const answers = ask('doubles', finite.map(n => {
		view.setFloat64(0, n)
		return view.getBigUint64(0).toString(16).padStart(16, '0')
	}).join('\n'))
	assert.equal(answers.length, finite.length)
	finite.forEach((n, i) => answers[i] === String(n) || assert.equal(answers[i], String(n)))
})
