// SPDX-License-Identifier: Apache-2.0
// The same flag of three rules, with the same contexts, in the peers' own evaluators: prints one JSON object with the
// processor time of each in nanoseconds and the share that is on (rules that did not run would show there).
//
//	node evaluate.mjs ROUNDS
import { FlagdCore } from '@openfeature/flagd-core';
import { GrowthBookClient } from '@growthbook/growthbook';
import unleash from 'unleash-client';

const rounds = Number(process.argv[2]);
const BULK = 1000;
const quiet = { error() {}, warn() {}, info() {}, debug() {} };

// as bench/evaluate.c makes them
const contexts = Array.from({ length: 64 }, (_, i) => ({
	userId: `user-${i}`,
	country: ['DE', 'FR', 'US', 'IT'][i % 8 === 0 ? 2 : i % 2],
	email: `user-${i}@${i % 16 === 1 ? 'corp.com' : 'example.org'}`,
	plan: i % 4 ? 'pro' : 'free',
	age: 20 + i,
}));

function flagd(flags) {
	const core = new FlagdCore(undefined, quiet);
	const flag = {
		state: 'ENABLED',
		variants: { on: true, off: false },
		defaultVariant: 'off',
		targeting: {
			if: [
				{ in: [{ var: 'country' }, ['US', 'CA', 'MX']] }, 'on',
				{ ends_with: [{ var: 'email' }, '@corp.com'] }, 'on',
				{ '==': [{ var: 'plan' }, 'pro'] }, { fractional: [['on', 50], ['off', 50]] },
			],
		},
	};
	core.setConfigurations(JSON.stringify({ flags: Object.fromEntries(Array.from({ length: flags }, (_, i) => [`flag-${i}`, flag])) }));
	return core;
}

function flagdOne() {
	const core = flagd(1);
	const ready = contexts.map((c) => ({ ...c, targetingKey: c.userId }));
	return (i) => core.resolveBooleanEvaluation('flag-0', false, ready[i], quiet).value;
}

function growthbook() {
	const client = new GrowthBookClient();
	client.initSync({
		payload: {
			features: {
				'flag-0': {
					defaultValue: false,
					rules: [
						{ condition: { country: { $in: ['US', 'CA', 'MX'] } }, force: true },
						{ condition: { email: { $regex: '@corp\\.com$' } }, force: true },
						{ condition: { plan: 'pro' }, force: true, coverage: 0.5, hashAttribute: 'id' },
					],
				},
			},
		},
	});
	const ready = contexts.map((c) => ({ attributes: { ...c, id: c.userId } }));
	return (i) => client.evalFeature('flag-0', ready[i]).value;
}

async function unleashClient() {
	const rule = (constraint, rollout) => ({
		name: 'flexibleRollout',
		parameters: { rollout: String(rollout), stickiness: 'userId', groupId: 'flag-0' },
		constraints: [constraint],
	});
	const client = new unleash.Unleash({
		appName: 'bench',
		url: 'http://127.0.0.1:9/api', // nobody is there: the bootstrap is all it has
		refreshInterval: 0,
		disableMetrics: true,
		skipInstanceCountWarning: true,
		storageProvider: new unleash.InMemStorageProvider(),
		bootstrap: {
			data: [{
				name: 'flag-0',
				type: 'release',
				enabled: true,
				strategies: [
					rule({ contextName: 'country', operator: 'IN', values: ['US', 'CA', 'MX'] }, 100),
					rule({ contextName: 'email', operator: 'STR_ENDS_WITH', values: ['@corp.com'] }, 100),
					rule({ contextName: 'plan', operator: 'IN', values: ['pro'] }, 50),
				],
			}],
		},
	});
	for (const name of ['error', 'warn']) client.on(name, () => {});
	await new Promise((done) => client.once('ready', done));
	const ready = contexts.map(({ userId, ...properties }) => ({ userId, properties }));
	return (i) => client.isEnabled('flag-0', ready[i]);
}

// processor time: what other work on the machine does to the clock is not counted
function measure(evaluate, count) {
	let on = 0;
	for (let i = 0; i < Math.min(count, 20000); i++) evaluate(i & 63);
	const begin = process.cpuUsage();
	for (let i = 0; i < count; i++) on += evaluate(i & 63) === true;
	const used = process.cpuUsage(begin);
	return { ns: ((used.user + used.system) * 1000) / count, on: on / count };
}

function bulk() {
	const core = flagd(BULK);
	const ready = contexts.map((c) => ({ ...c, targetingKey: c.userId }));
	const all = (i) => JSON.stringify(core.resolveAll(ready[i], quiet)).length > 0; // with the answer as JSON, as ours
	return measure(all, Math.max(64, rounds / 2000));
}

const answer = {
	flagd: measure(flagdOne(), rounds),
	growthbook: measure(growthbook(), rounds / 4),
	unleash: measure(await unleashClient(), rounds / 4),
	flagdBulk: bulk(),
};
console.log(JSON.stringify(answer));
process.exit(0);
