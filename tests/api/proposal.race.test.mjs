// SPDX-License-Identifier: Apache-2.0
// Who comes first, and what must not be true afterwards: the races of DESIGN section 3, 64 applies at once, hints
// between servers. On PostgreSQL two servers share the database, and another session holds the lock that everybody
// has to wait for, so that the bad interleaving happens every time. SQLite has one writer: nothing can be held.
// Operations: proposal_apply_token, proposal_approve, proposal_create, proposal_wait, token_revoke, tool_call.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { Session } from './lib/psql.mjs';
import { onPostgres, run, until } from './lib/server.mjs';

const rounds = Number(process.env.COUNTERSIGN_TEST_ROUNDS ?? 20);
const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;

let w, second;
before(async () => {
	w = await World.start({ args: ['--max-connections-per-address', '4096'] });
	second = onPostgres ? await w.another() : w.server;
});
after(async () => {
	if (second !== w.server) await second.stop({ keep: true });
	await w.stop();
});

/** Takes a lock in a session of its own, runs `body`, releases the lock and gives the answers to the requests that body started. */
async function locked(sql, body) {
	const holder = new Session(w.server), watcher = new Session(w.server);
	try {
		await holder.run(`BEGIN; ${sql};`);
		const requests = await body(watcher);
		await holder.run('COMMIT;');
		return await Promise.all(requests);
	} finally {
		holder.end();
		watcher.end();
	}
}

/** Holds the row while `begin` starts requests and `waiting` of them queue up; then lets go and gives their answers. */
async function held(table, column, id, waiting, begin, meanwhile = async () => {}) {
	if (!onPostgres) return Promise.all(begin());
	return locked(`SELECT 1 FROM ${table} WHERE ${column} = '${id}' FOR UPDATE`, async (watcher) => {
		const requests = begin();
		await until(async () => (await watcher.waiting()) >= waiting, `${waiting} to wait`);
		await meanwhile(watcher);
		return requests;
	});
}

/**
 * Answers to requests that run at the same moment: all of them wait for the lock on the organization's rights. Those that `first`
 * starts are ahead of the others in the queue for that lock. On SQLite, where nothing can be held, they are answered before the others start.
 */
async function atOnce(begin, first = () => []) {
	if (!onPostgres) {
		await Promise.all(first());
		return Promise.all(begin());
	}
	let ahead;
	const answers = await locked(`SELECT pg_advisory_xact_lock(hashtextextended('${w.first.orgId}', 0))`, async (watcher) => {
		const allWait = (requests) => until(async () => (await watcher.waiting('pg_advisory')) === requests.length, `${requests.length} to wait`);
		ahead = first();
		await allWait(ahead);
		const requests = [...ahead, ...begin()];
		await allWait(requests);
		return requests;
	});
	return answers.slice(ahead.length);
}

/** Eight agents that both servers know already: each has proposed something at the server it will ask. */
async function knownAgents() {
	const agents = await Promise.all(Array.from({ length: 8 }, () => w.agentOf(w.admin, { ratePerMinute: 100000, actions: ['read', 'propose'] })));
	return Promise.all(agents.map(async (agent, i) => {
		const client = agent.ask(i % 2 ? second : w.server);
		await w.propose({}, client);
		return { ...agent, client, propose: (input) => client.post('/api/v1/proposals', { tool: 'note.create', input }) };
	}));
}

/**
 * A server of its own stops in the middle of `first`, at the fault point. `then` is asked of another one; when it has
 * been answered, or its statement waits for a lock, the first goes on. `overtook`: it was answered before that. With a
 * planted bug both servers have it.
 */
async function overtaken({ plant, point, first, then, waits }) {
	const env = plant ? { COUNTERSIGN_TEST_PLANT: plant } : {};
	const one = await w.another({ env: { ...env, COUNTERSIGN_FAULT: `${point}:1:stop` } }), two = await w.another({ env });
	const watcher = new Session(w.server);
	try {
		const beginning = first(one);
		await until(async () => (await readFile(`/proc/${one.child.pid}/stat`, 'utf8')).split(') ')[1].startsWith('T'), 'it to stop');
		let overtook = false;
		const following = then(two).then((answer) => ((overtook = true), answer));
		await until(async () => overtook || (await watcher.waiting(waits)) > 0, 'the other to answer or to wait');
		const before_ = overtook;
		one.kill('SIGCONT');
		return { answers: await Promise.all([beginning, following]), overtook: before_ };
	} finally {
		one.kill('SIGCONT');
		watcher.end();
		for (const server of [one, two]) await server.stop({ keep: true });
	}
}

/** Why a race cannot be staged here, or nothing. */
async function unstaged() {
	if (!onPostgres) return 'skipped: SQLite has one writer, nobody waits for a lock';
	return JSON.parse((await run(['version', '--json'])).stdout).faults ? undefined : 'skipped: fault points are not compiled in';
}

/** Each of the four races of DESIGN section 3, staged with its lock and without: what holds, and what went wrong. */
const votes = async (plant) => {
	await ok(w.admin.put('/api/v1/settings', { policy: { votesLow: 2 } }));
	const [a, b] = [await w.person(), await w.person()];
	const p = await w.propose();
	const vote = (who) => (server) => server.request('POST', at(p, '/approve'), { body: { viewHash: p.viewHash }, headers: { ...who.headers(), origin: server.url }, check: !plant });
	const { answers } = await overtaken({ plant, point: 'vote_after_step', first: vote(a), then: vote(b), waits: 'FROM proposal .*FOR UPDATE' });
	const { approvals, state } = await ok(w.admin.get(at(p)));
	assert.equal(approvals.valid, answers.filter(({ status }) => status === 200).length);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	return [state, ...answers.map(({ status }) => status)];
};

const versions = async (plant) => {
	const note = await w.note('Version', 'one');
	const changes = [];
	for (const text of ['left', 'right']) {
		const p = await w.propose({ tool: 'note.update', input: { id: note.id, text } });
		await w.approve(p);
		changes.push(p);
	}
	const apply = (p) => (server) => server.as(w.first.adminToken).post(at(p, '/apply'));
	const { answers } = await overtaken({ plant, point: 'apply_after_execute', first: apply(changes[0]), then: apply(changes[1]), waits: '(FROM|UPDATE) note ' });
	return answers.map(({ status }) => status);
};

const revocation = async (plant) => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	const { answers, overtook } = await overtaken({ plant, point: 'apply_after_step', waits: 'pg_advisory_xact_lock\\(hashtextextended\\(org_id',
		first: (server) => agent.ask(server).post(at(p, '/apply')), then: (server) => server.as(w.first.adminToken).delete(`/api/v1/tokens/${agent.tokenId}`) });
	assert.deepEqual(answers.map(({ status }) => status), [200, 200], answers.map(({ text }) => text).join('\n'));
	return overtook;
};

/** An apply that comes in time and gets its turn after the expiry. On a slow machine it may come too late: then with more time. */
async function applyPastExpiry(server) {
	for (let seconds = 2; seconds < 100; seconds *= 2) {
		const p = await w.approved({ expiresInSeconds: seconds });
		const isOver = async (watcher) => (await watcher.run(`SELECT clock_timestamp() >= '${p.expiresAt}';`)) === 't';
		let late;
		const [answer] = await held('proposal', 'proposal_id', p.proposalId, 1, () => [server.as(w.first.adminToken).post('/api/v1/proposals/apply', { token: p.token })], async (watcher) => {
			late = await isOver(watcher);
			await until(() => isOver(watcher), 'its time to be over');
		});
		if (!late) return answer;
	}
	return assert.fail('this machine is too slow to apply anything in time');
}

const lateness = async (plant) => {
	const server = await w.another({ env: plant ? { COUNTERSIGN_TEST_PLANT: plant } : {} });
	const { status } = await applyPastExpiry(server);
	await server.stop({ keep: true });
	return status;
};

const races = [
	// without the lock both count the same entries, and the database lets only one of them have the next number (AU-4)
	{ name: 'AP-4 two votes leave a quorum pending', stage: votes, plant: 'proposal_unlocked', holds: ['approved', 200, 200], breaks: ['pending', 409, 200] },
	{ name: 'PA-6 two applies write from one version', stage: versions, plant: 'note_unlocked', holds: [200, 409], breaks: [200, 200] },
	{ name: 'ID-6 an apply commits after an acknowledged revocation', stage: revocation, plant: 'rights_unlocked', holds: false, breaks: true },
	{ name: 'PA-4 a claim that waited wins after the expiry', stage: lateness, plant: 'clock_before_lock', holds: 410, breaks: 200 },
];
for (const { name, stage, plant, holds, breaks } of races)
	test(`${name}: not with its lock, and always without it (${plant})`, async (t) => {
		const why = await unstaged();
		if (why) return t.skip(why);
		assert.deepEqual(await stage(), holds);
		assert.deepEqual(await stage(plant), breaks, 'the staging no longer shows what the lock is for');
	});

test('PA-1 TL-5 AU-1 proposals and calls at once: each has its own answer, row, call and audit entry', async () => {
	const agents = await knownAgents();
	const input = (i) => ({ title: `At once ${i}`, text: 'text' });
	const calls = (i) => i > 4;
	const answers = await atOnce(() => agents.map((agent, i) => calls(i) ? agent.client.post('/api/v1/tools/call', { tool: 'note.create', input: input(i) }) : agent.propose(input(i))));
	const made = answers.map(({ status, text, json }, i) => {
		assert.equal(status, calls(i) ? 200 : 201, text);
		return calls(i) ? json.proposal : json;
	});
	assert.equal(new Set(made.map(({ proposalId }) => proposalId)).size, agents.length);
	for (const [i, p] of made.entries()) {
		assert.equal(p.payload.title, `At once ${i}`);
		const seen = await ok(w.admin.get(at(p)));
		assert.deepEqual([seen.viewHash, seen.toolCallId, seen.payloadHash], [p.viewHash, p.toolCallId, p.payloadHash]);
		assert.deepEqual((await w.audit({ proposalId: p.proposalId })).map(({ action, actorId }) => [action, actorId]), [['proposal.created', agents[i].id]]);
	}
	assert.equal(new Set(made.map(({ toolCallId }) => toolCallId)).size, agents.length);
	assert.equal((await w.notes()).filter(({ title }) => title.startsWith('At once')).length, 0, 'nothing is changed by a proposal');
});

test('PA-7 proposals at once: what is wrong with one of them is told to its own caller only', async () => {
	const agents = await knownAgents();
	const wrong = { 2: (agent) => agent.propose({ title: '' }), 6: (agent) => agent.client.post('/api/v1/proposals', { tool: 'note.delete', input: { id: 'no such note' } }) };
	const answers = await atOnce(() => agents.map((agent, i) => wrong[i]?.(agent) ?? agent.propose({ title: `Own ${i}`, text: 'text' })));
	for (const [i, { status, json }] of answers.entries()) assert.deepEqual([i, status, json.code], [i, { 2: 400, 6: 404 }[i] ?? 201, { 2: 'invalid_request', 6: 'not_found' }[i]]);
});

test('ID-6 a proposal that waits behind the revocation of its token is refused, and the others are not', async () => {
	const agents = await knownAgents();
	const lost = [0, 5];
	const answers = await atOnce(
		() => agents.map((agent, i) => agent.propose({ title: `Lost ${i}`, text: 'text' })),
		() => lost.map((i) => ok(w.admin.delete(`/api/v1/tokens/${agents[i].tokenId}`))),
	);
	assert.deepEqual(answers.map(({ status }) => status), agents.map((_, i) => (lost.includes(i) ? 401 : 201)));
});

test('two votes at once complete a quorum', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { votesLow: 2 } }));
	const [a, b] = [await w.person(), await w.person()];
	const p = await w.propose();
	const vote = (server, who) => server.request('POST', at(p, '/approve'), { body: { viewHash: p.viewHash }, headers: { ...who.headers(), origin: server.url } });
	const answers = await held('proposal', 'proposal_id', p.proposalId, 2, () => [vote(w.server, a), vote(second, b)]);
	assert.deepEqual(answers.map(({ status }) => status), [200, 200], answers.map(({ text }) => text).join('\n'));
	assert.deepEqual(answers.map(({ json }) => json.status).sort(), ['approved', 'pending']);
	assert.equal((await ok(w.admin.get(at(p)))).status, 'approved');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('two applies from one version: one is done, the other has drifted', async () => {
	const note = await w.note('Version', 'one');
	const changes = [];
	for (const text of ['left', 'right']) {
		const p = await w.propose({ tool: 'note.update', input: { id: note.id, text } });
		await w.approve(p);
		changes.push(p);
	}
	const apply = (server, p) => server.as(w.first.adminToken).post(at(p, '/apply'));
	const answers = await held('note', 'note_id', note.id, 2, () => [apply(w.server, changes[0]), apply(second, changes[1])]);
	assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], answers.map(({ text }) => text).join('\n'));
	assert.equal(answers.find(({ status }) => status === 409).json.code, 'version_drift');
	assert.equal((await w.notes()).find(({ id }) => id === note.id).version, 2);
});

test('ID-6 a revocation is not acknowledged while an apply by that token is on its way', async () => {
	const boss = await w.person(['admin']);
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const p = await w.propose({}, agent.ask());
	await w.approve(p);
	const order = [];
	const note = (name) => (answer) => (order.push(name), answer);
	let revoking;
	const [applied] = await held('proposal', 'proposal_id', p.proposalId, 1, () => [agent.ask(second).post(at(p, '/apply')).then(note('apply'))], async (watcher) => {
		revoking = w.admin.delete(`/api/v1/tokens/${agent.tokenId}`).then(note('revoke'));
		await until(async () => Number(await watcher.run(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted;`)) === 1, 'the revocation to wait for its turn');
		assert.deepEqual(order, [], 'nobody has been told anything');
	});
	await ok(revoking ?? w.admin.delete(`/api/v1/tokens/${agent.tokenId}`));
	assert.equal(applied.status, 200, applied.text);
	assert.equal((await agent.ask().post(at(p, '/apply'))).status, 401);
});

test('PA-4 a claim that waited past the expiry does not win', async (t) => {
	if (!onPostgres) return t.skip('skipped: SQLite has one writer, nobody waits for a lock');
	const before_ = (await w.notes()).length;
	const answer = await applyPastExpiry(second);
	assert.equal(answer.status, 410, answer.text);
	assert.equal(answer.json.details.status, 'expired');
	assert.equal((await w.notes()).length, before_);
});

test('TL-8 an override that is saved during a request counts from the next one', async () => {
	const boss = await w.person(['admin']);
	await ok(w.admin.put('/api/v1/settings', { policy: { allowListed: ['note.update'] } }));
	const note = await w.note();
	const agent = await w.agentOf(boss, { level: 'maintainer' });
	const ask = (server) => agent.ask(server).post('/api/v1/proposals', { tool: 'note.update', input: { id: note.id, text: 'new' } });
	let saving;
	// its snapshot is loaded, its dry-run waits for the note; who saves the override waits for it in turn
	const [during] = await held('note', 'note_id', note.id, 1, () => [ask(second)], async (watcher) => {
		saving = boss.post('/api/v1/tool-overrides', { agentId: agent.id, toolName: 'note.update' });
		await until(async () => Number(await watcher.run(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted;`)) === 1, 'the override to wait for its turn');
	});
	await ok(saving ?? boss.post('/api/v1/tool-overrides', { agentId: agent.id, toolName: 'note.update' }));
	assert.equal(during.json.state, 'pending', during.text);
	assert.equal((await ok(ask(second))).state, 'approved');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test(`PA-5 64 applies of one token at once: one winner, 63 gone, one execution (${rounds} rounds)`, async () => {
	for (let round = 0; round < rounds; round++) {
		const p = await w.propose();
		await w.approve(p);
		const answers = await Promise.all(Array.from({ length: 64 }, (_, i) => (i % 2 ? second : w.server).as(w.first.adminToken).post('/api/v1/proposals/apply', { token: p.token })));
		const count = (status) => answers.filter((answer) => answer.status === status).length;
		assert.deepEqual({ won: count(200), gone: count(410) }, { won: 1, gone: 63 }, answers.map(({ status, text }) => `${status} ${text}`).find((line) => !/^(200|410)/.test(line)));
		const { result } = answers.find(({ status }) => status === 200).json;
		for (const { status, json } of answers) if (status === 410) assert.deepEqual(json.details.result, result);
		assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.applied' })).length, 1);
		assert.equal((await w.audit({ proposalId: p.proposalId, action: 'record.created' })).length, 1);
	}
});

test('proposal_wait wakes on every server', async () => {
	const p = await w.propose();
	const waiting = ok(second.as(w.agentToken).get(at(p, '/wait?timeout=30')));
	await w.approve(p);
	assert.equal((await waiting).status, 'approved');
});
