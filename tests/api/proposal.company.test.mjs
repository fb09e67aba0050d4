// SPDX-License-Identifier: Apache-2.0
// Proposals that come at once are committed together (docs/decisions/0025): each has its own answer all the same. On PostgreSQL
// a session of ours holds the lock on rights, so that the first proposal waits for it, and the others with the first ones or for them.
// SQLite has one writer, and every transaction has company.
// Operations: proposal_create, tool_call.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { Session } from './lib/psql.mjs';
import { Receiver } from './lib/receiver.mjs';
import { onPostgres, until } from './lib/server.mjs';

let w, agents;
before(async () => {
	w = await World.start();
	agents = await Promise.all(Array.from({ length: 12 }, () => w.agentOf(w.admin, { ratePerMinute: 100000, actions: ['read', 'propose'] })));
});
after(() => w.stop());

const figure = async (name) => Number(new RegExp(`^countersign_${name} (\\d+)$`, 'm').exec((await w.admin.get('/metrics')).text)[1]);
const commits = async () => ({ transactions: await figure('db_transactions_total'), batches: await figure('db_batches_total') });

/** Who was there a moment ago is known, and has calls to spend, for a second: nobody else has company. */
const greet = (all) => Promise.all(all.map(async (a) => {
	for (const n of [1, 2]) await w.propose({ input: { title: `${n}`, text: '' } }, a.ask());
}));

/** Has them all wait for one lock, and then go on; `meanwhile` is SQL that the holder of the lock runs. */
async function atOnce(requests, meanwhile = '') {
	if (!onPostgres) return Promise.all(requests.map((ask) => ask()));
	const holder = new Session(w.server), watcher = new Session(w.server);
	try {
		await holder.run(`BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${w.first.orgId}', 0));`);
		const first = requests[0]();
		await until(async () => (await watcher.waiting('pg_advisory')) === 1, 'the first to wait');
		const others = requests.slice(1).map((ask) => ask());
		await until(async () => (await watcher.waiting('pg_advisory')) + (await figure('db_queue')) >= requests.length, 'the others to wait');
		await holder.run(`${meanwhile} COMMIT;`);
		return await Promise.all([first, ...others]);
	} finally {
		holder.end();
		watcher.end();
	}
}

const proposing = (a, title) => () => a.ask().post('/api/v1/proposals', { tool: 'note.create', input: { title, text: 'text' } });

test('PA-1 AU-1 proposals that come at once are one COMMIT, and each has its answer, its row, its call and its entry', async () => {
	let answers;
	await until(async () => {
		await greet(agents);
		const before = await commits();
		answers = await atOnce(agents.map((a, i) => proposing(a, `Together ${i}`)));
		const after = await commits(); // 1, 1, 2, 4 and the rest, as they come; sealing goes on meanwhile
		return !onPostgres || after.batches - before.batches <= after.transactions - before.transactions - (agents.length - 5);
	}, 'all to be known and to have calls, so that they are committed together');
	const ids = new Set(answers.map(({ json }) => json.proposalId));
	assert.equal(ids.size, agents.length);
	for (const [i, { status, json }] of answers.entries()) {
		assert.equal(status, 201);
		assert.equal(json.payload.title, `Together ${i}`);
		const seen = await ok(w.admin.get(`/api/v1/proposals/${json.proposalId}`));
		assert.deepEqual([seen.viewHash, seen.toolCallId, seen.payloadHash], [json.viewHash, json.toolCallId, json.payloadHash]);
		const entries = await w.audit({ proposalId: json.proposalId });
		assert.deepEqual(entries.map(({ action, actorId }) => [action, actorId]), [['proposal.created', agents[i].id]]);
	}
	assert.equal((await w.notes()).filter(({ title }) => title.startsWith('Together')).length, 0, 'nothing is changed by a proposal');
});

test('PA-7 what is wrong with one of them is its own', async () => {
	await greet(agents);
	const wrong = () => agents[2].ask().post('/api/v1/proposals', { tool: 'note.create', input: { title: '' } });
	const missing = () => agents[6].ask().post('/api/v1/proposals', { tool: 'note.delete', input: { id: 'no such note' } });
	const requests = agents.map((a, i) => ({ 2: wrong, 6: missing })[i] ?? proposing(a, `Own ${i}`));
	const answers = await atOnce(requests);
	for (const [i, { status, json }] of answers.entries()) assert.deepEqual([i, status, json.code], [i, { 2: 400, 6: 404 }[i] ?? 201, { 2: 'invalid_request', 6: 'not_found' }[i]]);
});

test('ID-6 who lost the token while they waited is refused, and the others are not', async () => {
	await greet(agents);
	const answers = await atOnce(
		agents.map((a, i) => proposing(a, `Lost ${i}`)),
		`UPDATE token SET revoked_at = 1 WHERE token_id IN ('${agents[0].tokenId}', '${agents[5].tokenId}');`,
	);
	const lost = onPostgres ? [0, 5] : [];
	for (const [i, { status }] of answers.entries()) assert.deepEqual([i, status], [i, lost.includes(i) ? 401 : 201]);
});

test('PA-1 TL-5 a call of a tool that changes something has company, too', async () => {
	const calling = (a, title) => () => a.ask().post('/api/v1/tools/call', { tool: 'note.create', input: { title, text: 'text' } });
	const some = agents.filter((_, i) => !onPostgres || ![0, 5].includes(i));
	await greet(some);
	for (const [i, { status, json }] of (await atOnce(some.map((a, i) => calling(a, `Called ${i}`)))).entries()) {
		assert.equal(status, 200);
		assert.deepEqual([json.status, json.proposal.payload.title], ['awaiting_operator', `Called ${i}`]);
	}
});

test('TL-10 EX-5 who wants to be told is told of each of them, and of its call', async () => {
	const listener = await Receiver.start();
	const some = agents.filter((_, i) => !onPostgres || ![0, 5].includes(i));
	try {
		await ok(w.admin.post('/api/v1/connections', { name: 'told', url: listener.url, allow: ['127.0.0.0/8'], mode: 'events', events: ['proposal.*', 'tool.called'] }));
		await greet(some);
		const made = await atOnce(some.map((a, i) => proposing(a, `Told ${i}`)));
		const heard = () => new Set(listener.requests.map(({ json }) => `${json.type} ${json.subject}`));
		const wanted = made.flatMap(({ json }) => [`proposal.pending ${json.proposalId}`, `tool.called ${json.toolCallId}`]);
		await until(() => wanted.every((one) => heard().has(one)), 'everything to be told');
	} finally {
		await listener.stop();
	}
});
