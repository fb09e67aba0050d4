// SPDX-License-Identifier: Apache-2.0
// flagd files through our importer and our evaluator, beside npm's @openfeature/flagd-core: the same value for the
// same context, wherever flagd has one. FLAGD_SEED repeats a run, FLAGD_COUNT makes it longer.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { FlagdCore } from '@openfeature/flagd-core'
import { convert } from './lib/flagcat.mjs'

const seed = Number(process.env.FLAGD_SEED ?? randomInt(2 ** 31))
const count = Number(process.env.FLAGD_COUNT ?? 2000)
const quiet = { error() {}, warn() {}, info() {}, debug() {} }
const none = Symbol('no value')

function flagd(file) {
	const core = new FlagdCore(undefined, quiet)
	core.setConfigurations(JSON.stringify(file))
	return (key, context) => {
		const type = typeof Object.values(file.flags[key].variants)[0]
		const resolve = { boolean: 'resolveBooleanEvaluation', string: 'resolveStringEvaluation',
			number: 'resolveNumberEvaluation', object: 'resolveObjectEvaluation' }[type]
		const { value, reason } = core[resolve](key, none, context, quiet)
		return reason === 'ERROR' || value === none ? none : value
	}
}

const ask = (file, contexts) => convert([{ format: 'flagd', targetField: 'targetingKey', file, contexts }])[0]

// --- chance, repeatable (mulberry32) ---

function dice(start) {
	let a = start >>> 0
	const next = () => {
		a = (a + 0x6d2b79f5) >>> 0
		let t = Math.imul(a ^ (a >>> 15), a | 1)
		t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
	}
	return { below: n => Math.floor(next() * n), pick: list => list[Math.floor(next() * list.length)] }
}

const plans = ['free', 'pro', 'team', 'enterprise']
const versions = ['1.0.0', '1.2.3', '1.2.3-rc.1', '1.3.0', '2.0.0-beta', '2.0.0', '10.0.0']
const v = name => ({ var: name })

const leaves = [
	d => ({ [d.pick(['==', '===', '!=', '!=='])]: [v('plan'), d.pick([...plans, null])] }),
	d => ({ [d.pick(['==', '!='])]: [d.pick(['30', 30, 18.5]), v('age')] }),
	d => ({ [d.pick(['===', '!=='])]: [v('age'), d.pick([18, 30, '30', null])] }),
	d => ({ [d.pick(['<', '<=', '>', '>='])]: [v('age'), d.pick([-1, 0, 18, 18.5, 30])] }),
	d => ({ [d.pick(['<', '<=', '>', '>='])]: [d.pick([0, 18, 30]), v('age')] }),
	d => ({ [d.pick(['<', '<='])]: [d.pick([0, 18]), v('age'), d.pick([30, 99])] }),
	d => ({ [d.pick(['<', '<=', '>', '>='])]: [v('plan'), d.pick(['g', 'pro'])] }),
	d => ({ in: [v('plan'), [d.pick(plans), d.pick([...plans, null, 7])]] }),
	d => ({ in: [d.pick(['a', '@x', 'ex', '.org']), v('email')] }),
	d => ({ in: [d.pick(['red', 'blue']), v('tags')] }),
	d => ({ [d.pick(['starts_with', 'ends_with'])]: [v('email'), d.pick(['a', 'ab@', '@x.org', 'org', ''])] }),
	d => ({ sem_ver: [v('app.version'), d.pick(['=', '!=', '<', '<=', '>', '>=', '^', '~']), d.pick([...versions, 'v1.2', '2'])] }),
	d => ({ [d.pick(['!', '!!'])]: d.pick([v('beta'), [v('beta')], [v('plan')], v('nothing')]) }),
	() => v('beta'),
	d => ({ $ref: d.pick(['isPro', 'isAdult']) }),
	d => d.pick([true, false])
]

function condition(d, depth) {
	const kind = depth ? d.below(10) : 0
	if (kind < 6) return d.pick(leaves)(d)
	if (kind < 8) return { [d.pick(['and', 'or'])]: Array.from({ length: 1 + d.below(3) }, () => condition(d, depth - 1)) }
	if (kind < 9) return { '!': [condition(d, depth - 1)] }
	return { if: [condition(d, depth - 1), condition(d, depth - 1), condition(d, depth - 1)] }
}

function result(d, depth, variants) {
	const name = () => d.pick(variants), kind = d.below(10)
	if (depth && kind < 5) {
		const parts = Array.from({ length: 1 + d.below(3) }, () => [condition(d, 2), result(d, depth - 1, variants)]).flat()
		return { if: d.below(2) ? [...parts, result(d, depth - 1, variants)] : parts }
	}
	if (kind < 8) return d.below(8) ? name() : null
	const by = d.pick([[], [], [v('email')], [{ cat: [v('$flagd.flagKey'), v('targetingKey')] }], [{ cat: ['salt-', v('targetingKey')] }]])
	const shares = Array.from({ length: 1 + d.below(4) }, () => d.below(4) ? [name(), d.below(60)] : [name()])
	return { fractional: [...by, ...shares, [name(), 1]] }
}

const types = [
	() => ({ on: true, off: false, maybe: true }),
	() => ({ a: 'alpha', b: 'beta', c: 'gamma' }),
	() => ({ low: 1, high: 1e3, half: 0.5 }),
	() => ({ x: { n: 1 }, y: { n: [1, 2] }, z: {} })
]

function flag(d) {
	const variants = d.pick(types)(), names = Object.keys(variants)
	return { state: 'ENABLED', variants, defaultVariant: d.pick(names), targeting: result(d, 3, names) ?? {} }
}

function context(d) {
	const c = { targetingKey: `user-${d.below(10 ** 6)}` }
	if (d.below(4)) c.plan = d.pick(plans)
	if (d.below(4)) c.age = d.pick([-3, 0, 17, 18, 18.5, 30, 30.1, '30', '18.5', '99'])
	if (d.below(4)) c.email = d.pick(['a@x.org', 'ab@x.org', 'ada@ex.com', 'zoe@y.org'])
	if (d.below(4)) c.beta = d.pick([true, false])
	if (d.below(4)) c.app = { version: d.pick([...versions, 'none']) }
	if (d.below(4)) c.tags = d.pick([['red'], ['blue', 'green'], []])
	if (!d.below(8)) c.plan = null
	return c
}

const $evaluators = { isPro: { in: [v('plan'), ['pro', 'team']] }, isAdult: { '>=': [v('age'), 18] } }

test(`flags of chance answer as flagd does (seed ${seed})`, () => {
	const d = dice(seed)
	let compared = 0, refused = 0, values = new Set()
	for (let done = 0; done < count; done += 100) {
		const flags = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`flag-${done + i}`, flag(d)]))
		for (const f of Object.values(flags)) if (typeof f.targeting !== 'object') f.targeting = { if: [true, f.targeting] }
		const file = { flags, $evaluators }, contexts = Array.from({ length: 30 }, () => context(d))
		const got = ask(file, contexts), peer = flagd(file)
		assert.equal(got.error, undefined, `${got.error} ${got.issues}`)
		refused += new Set(got.remarks.filter(r => r.refused).map(r => r.item)).size
		for (const [i, c] of contexts.entries())
			for (const key of Object.keys(got.answers[i])) {
				const expected = peer(key, c)
				if (expected === none) continue // flagd fails, and the program's default holds
				compared++
				values.add(JSON.stringify(expected))
				assert.deepEqual(got.answers[i][key], expected, `seed ${seed} ${key} ${JSON.stringify(flags[key])}\n${
					JSON.stringify(c)}\n${JSON.stringify(got.ruleset.flags[key] ?? got.ruleset.configs[key])}`)
			}
	}
	assert.ok(compared > count * 10, `only ${compared} answers compared`)
	assert.ok(refused < count / 20, `${refused} of ${count} flags refused`)
	assert.equal(values.size, 2 + 3 + 3 + 3)
	console.log(`# ${compared} answers compared, ${refused} of ${count} flags refused`)
})

test('nobody who has a share of fractional moves', () => {
	const file = { flags: { checkout: { state: 'ENABLED', variants: { old: 'a', new: 'b', other: 'c' }, defaultVariant: 'old',
		targeting: { fractional: [['old', 50], ['new', 25], ['other', 25]] } } } }
	const contexts = Array.from({ length: 5000 }, (_, i) => ({ targetingKey: `user-${i}` })), peer = flagd(file)
	const { answers } = ask(file, [...contexts, {}])
	contexts.forEach((c, i) => assert.equal(answers[i].checkout, peer('checkout', c)))
	assert.equal(answers[5000].checkout, peer('checkout', {}))
})

test('a boolean result names the variants true and false', () => {
	const file = { flags: { f: { state: 'ENABLED', variants: { true: 'yes', false: 'no', maybe: 'm' }, defaultVariant: 'maybe',
		targeting: { and: [{ '==': [v('a'), 'b'] }, { '!': v('c') }] } } } }
	const contexts = [{}, { a: 'b' }, { a: 'b', c: 1 }], peer = flagd(file)
	assert.deepEqual(ask(file, contexts).answers.map(a => a.f), contexts.map(c => peer('f', c)))
})
