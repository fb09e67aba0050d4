// SPDX-License-Identifier: Apache-2.0
// Unleash files through our importer and our evaluator, beside npm's unleash-client: the same answer for the same
// context. UNLEASH_SEED repeats a run, UNLEASH_COUNT makes it longer.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { convert } from './lib/flagcat.mjs'

const require = createRequire(import.meta.url)
const { default: UnleashClient } = require('unleash-client/lib/client.js')
const { defaultStrategies } = require('unleash-client/lib/strategy/index.js')

const seed = Number(process.env.UNLEASH_SEED ?? randomInt(2 ** 31))
const count = Number(process.env.UNLEASH_COUNT ?? 1000)

// --- chance, repeatable (mulberry32) ---

function dice(start) {
	let a = start >>> 0
	const next = () => {
		a = (a + 0x6d2b79f5) >>> 0
		let t = Math.imul(a ^ (a >>> 15), a | 1)
		t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
	}
	const below = n => Math.floor(next() * n), pick = list => list[below(list.length)]
	return { below, pick, some: (most, make) => Array.from({ length: below(most + 1) }, make) }
}

const plans = ['free', 'pro', 'team', 'Enterprise', '7'], numbers = ['-1', '0', '12', '12.5', '100'],
	versions = ['1.0.0', '1.2.3', '1.2.3-rc.1', '2.0.0'], addresses = ['10.0.0.1', '10.1.2.3', '192.168.1.9', '2001:db8::1'],
	times = ['2022-01-22T13:00:00.000Z', '2024-01-22T13:00:00.000+02:00']
const operators = [
	d => ({ contextName: 'plan', operator: d.pick(['IN', 'NOT_IN']), values: d.some(3, () => d.pick(plans)) }),
	d => ({ contextName: 'email', operator: d.pick(['STR_STARTS_WITH', 'STR_ENDS_WITH', 'STR_CONTAINS']), values: d.some(2, () => d.pick(['A', '@x.', '.org', 'a'])), caseInsensitive: d.pick([true, false]) }),
	d => ({ contextName: 'score', operator: d.pick(['NUM_EQ', 'NUM_GT', 'NUM_GTE', 'NUM_LT', 'NUM_LTE']), value: d.pick(numbers) }),
	d => ({ contextName: 'currentTime', operator: d.pick(['DATE_AFTER', 'DATE_BEFORE']), value: d.pick(times) }),
	d => ({ contextName: 'version', operator: d.pick(['SEMVER_EQ', 'SEMVER_GT', 'SEMVER_GTE', 'SEMVER_LT', 'SEMVER_LTE']), value: d.pick(versions) }),
	d => ({ contextName: 'email', operator: 'REGEX', value: d.pick(['^a', 'x|y', '[0-9]+', '(?i)ADA', '.org$']), caseInsensitive: d.pick([true, false]) }),
	d => ({ contextName: 'remoteAddress', operator: 'IN_CIDR', values: d.some(2, () => d.pick(['10.0.0.0/8', '10.0.0.1', '192.168.1.0/24', '2001:db8::/32', 'x'])) })
]
// What is malformed and inverted is refused: SDKs do not agree on it.
const constraint = d => {
	const c = d.pick(operators)(d), whole = c.values ? c.operator.endsWith('IN') || c.values.some(v => v !== 'x') : true
	return whole && !d.below(4) ? { ...c, inverted: true } : c
}

const stickiness = d => d.pick(['default', 'default', 'userId', 'sessionId', 'plan'])
const variants = d => Array.from({ length: 1 + d.below(4) }, (_, i) => ({ name: `v${i}`, weight: d.below(5) * 10,
	...(d.below(2) ? { payload: { type: 'string', value: `p${i}` } } : {}),
	...(d.below(4) ? {} : { overrides: [{ contextName: 'userId', values: [`${d.below(20)}`] }] }) }))

const strategies = [
	() => ({ name: 'default', parameters: {} }),
	d => ({ name: 'userWithId', parameters: { userIds: d.some(5, () => d.below(20)).join(', ') } }),
	d => ({ name: 'remoteAddress', parameters: { IPs: d.some(2, () => d.pick(['10.0.0.1', '10.0.0.0/8'])).join(',') } }),
	d => ({ name: 'gradualRolloutUserId', parameters: { percentage: `${d.below(101)}`, groupId: d.pick(['g', 'h']) } }),
	d => ({ name: 'gradualRolloutSessionId', parameters: { percentage: `${d.below(101)}`, groupId: 'g' } }),
	d => ({ name: 'flexibleRollout', parameters: { rollout: `${d.below(101)}`, stickiness: stickiness(d), groupId: d.pick(['g', 'i']) },
		...(d.below(2) ? { variants: variants(d).map(v => d.below(2) ? v : { ...v, stickiness: stickiness(d) }) } : {}) })
]
const strategy = d => ({ ...d.pick(strategies)(d), constraints: d.some(2, () => constraint(d)), segments: d.below(4) ? [] : [d.pick([1, 2, 3, 404])] })

function feature(d, i) {
	return { name: `f${i}`, enabled: d.below(8) > 0, strategies: d.some(3, () => strategy(d)), variants: d.below(2) ? variants(d) : [],
		dependencies: i % 10 < 7 ? [] : d.some(2, () => ({ feature: `f${i - (i % 10) + d.below(8)}`, ...(d.below(3) ? {} : { enabled: false }),
			...(d.below(3) ? {} : { variants: [d.pick(['v0', 'v1', 'disabled'])] }) })) }
}

function context(d) {
	const c = { userId: `${d.below(100)}`, currentTime: d.pick(['2021-01-01T00:00:00Z', '2023-01-01T00:00:00Z', '2025-01-01T00:00:00Z']) }
	if (d.below(3)) c.sessionId = `${d.below(100)}`
	if (d.below(3)) c.remoteAddress = d.pick(addresses)
	if (c.sessionId && !d.below(4)) delete c.userId
	if (c.sessionId && !d.below(8)) c.userId = ''
	const properties = { plan: d.pick([...plans, 7]) }
	if (d.below(3)) properties.email = d.pick(['ada@x.org', 'ADA@X.ORG', 'b@y.com', 'x1'])
	if (d.below(3)) properties.score = d.pick([...numbers, 12, 12.5, 'many'])
	if (d.below(3)) properties.version = d.pick([...versions, 'none'])
	return { ...c, properties }
}

const segments = d => [1, 2, 3].map(id => ({ id, name: `segment ${id}`, constraints: d.some(2, () => constraint(d)) }))
const seen = answer => JSON.parse(JSON.stringify((({ name, payload, enabled, feature_enabled }) => ({ name, payload, enabled, feature_enabled }))(answer)))

test(`features of chance answer as unleash-client does (seed ${seed})`, () => {
	const d = dice(seed)
	let compared = 0, refused = 0, on = 0
	for (let done = 0; done < count; done += 50) {
		const file = { version: 2, features: Array.from({ length: 50 }, (_, i) => feature(d, i)), segments: segments(d) }
		const client = new UnleashClient({ getToggle: n => file.features.find(f => f.name === n), getSegment: id => file.segments.find(s => s.id === id) }, defaultStrategies)
		const contexts = Array.from({ length: 30 }, () => context(d))
		const [got] = convert([{ format: 'unleash', file, contexts: contexts.map(({ properties, ...own }) => ({ ...properties, ...own })) }])
		assert.equal(got.error, undefined, `${got.error} ${got.issues}`)
		const out = new Set(got.remarks.filter(r => r.refused).map(r => r.item))
		refused += out.size
		for (const [i, c] of contexts.entries())
			for (const f of file.features.filter(one => !out.has(one.name))) {
				const why = () => `seed ${seed} ${JSON.stringify(f)}\n${JSON.stringify(c)}\n${JSON.stringify(file.segments)}\n${
					JSON.stringify(got.ruleset.flags[f.name])}\n${JSON.stringify(got.ruleset.configs[`${f.name}:variant`])}`
				const enabled = client.isEnabled(f.name, c, () => false), variant = got.answers[i][`${f.name}:variant`]
				// without an id SDKs draw variants anew each time
				const drawn = c.userId && c.sessionId
				if (!drawn && f.dependencies.some(p => p.variants)) continue
				assert.equal(got.answers[i][f.name], enabled, why())
				if (variant && drawn) assert.deepEqual(variant, seen(client.getVariant(f.name, c)), why())
				compared += variant && drawn ? 2 : 1
				on += enabled
			}
	}
	assert.ok(on > compared / 20 && on < compared * 19 / 20, `${on} of ${compared} on`)
	assert.ok(refused < count / 5, `${refused} of ${count} features refused`)
	console.log(`# ${compared} answers compared, ${refused} of ${count} features refused`)
})
