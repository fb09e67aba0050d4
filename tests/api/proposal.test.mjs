// SPDX-License-Identifier: Apache-2.0
// Propose, approve, apply over REST: proposal_create, proposal_list, proposal_get, proposal_approve,
// proposal_deny, proposal_cancel, proposal_apply, proposal_apply_token, proposal_wait, tool_call.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { freshDatabase, onPostgres, run, until } from './lib/server.mjs';

let w;
before(async () => (w = await World.start()));
after(() => w.stop());

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const canonical = (value) =>
	Array.isArray(value) ? `[${value.map(canonical)}]`
	: value && typeof value === 'object' ? `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`
	: JSON.stringify(value);
const at = (p, what = '') => `/api/v1/proposals/${p.proposalId}${what}`;

test('PA-1 PA-3 AP-5 an agent proposes, a person approves, the stored payload is applied once', async () => {
	const input = { title: 'Hello', text: 'World' };
	const answer = await w.agent.post('/api/v1/proposals', { tool: 'note.create', input });
	assert.equal(answer.status, 201, answer.text);
	const p = answer.json;
	assert.equal(answer.headers.get('location'), at(p));
	assert.deepEqual([p.state, p.status], ['pending', 'awaiting_operator'], 'for the model it is done (PA-8)');
	assert.match(p.token, new RegExp(`^propose:${p.proposalId}\\.[0-9a-f]{64}$`)); // PA-4
	assert.deepEqual(p.payload, input);
	assert.equal(p.payloadHash, sha256(canonical(input)));
	assert.equal(p.viewHash, sha256(canonical(p.card)));
	assert.deepEqual((await w.notes()).filter(({ title }) => title === 'Hello'), [], 'nothing is changed by a proposal');
	await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token }), 409, 'approval_required', /0 of 1/);
	assert.equal((await w.approve(p)).status, 'approved');
	assert.deepEqual((await w.notes()).filter(({ title }) => title === 'Hello'), [], 'approving does not execute');
	const applied = await ok(w.admin.post('/api/v1/proposals/apply', { token: p.token }));
	assert.equal(applied.status, 'applied');
	assert.deepEqual(applied.result, p.card.change.after, 'what was shown is what was done, ids and times included (PA-2)');
	assert.deepEqual((await w.notes()).filter(({ title }) => title === 'Hello'), [applied.result]);
	assert.equal(applied.applierId, w.first.adminId);
	assert.equal(applied.proposer.id, w.first.agentId);
	const again = await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token }), 410, 'proposal_gone', /applied/);
	assert.equal(again.details.status, 'applied'); // PA-5
	assert.deepEqual(again.details.result, applied.result);
	const [change] = await w.audit({ proposalId: p.proposalId, action: 'record.created' }); // AU-6
	assert.equal(change.id, applied.appliedAuditId);
	assert.equal(change.reason, `proposal:${p.proposalId}`);
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.applied' })).length, 1);
});

test('a proposal waits for PostgreSQL three times at most, with a token of the default rate', async (t) => {
	if (!onPostgres) return t.skip('skipped: SQLite is not waited for over a connection');
	const agent = (await w.agentOf(w.admin, { actions: ['read', 'propose'] })).ask();
	const roundTrips = async () => Number(/^countersign_db_round_trips_total (\d+)$/m.exec((await w.admin.get('/metrics')).text)[1]);
	const seen = [];
	for (let i = 0; i < 10; i++) {
		const from = await roundTrips();
		await w.propose({}, agent);
		seen.push((await roundTrips()) - from);
	}
	assert.ok(Math.min(...seen) <= 3, `${seen}`); // the least of several: background work counts, too
});

test('PA-10 an update shows each field before and after, a delete what goes; the card has all of AP-6', async () => {
	const note = await w.note('Plan', 'one');
	const update = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'two' }, intent: { summary: 'fix', reasoning: 'because' } });
	assert.deepEqual(update.diff.filter(({ path }) => path === '/text'), [{ path: '/text', before: 'one', after: 'two' }]);
	assert.deepEqual(update.card.agentSays, { summary: 'fix', reasoning: 'because', warnings: [] });
	const remove = await w.propose({ tool: 'note.delete', input: { id: note.id } });
	assert.equal(remove.card.change.before.title, 'Plan');
	assert.equal(remove.risk.level, 'high');
	for (const member of ['summary', 'tool', 'targetSystem', 'affectedData', 'effect', 'change', 'risk', 'rollbackSupported', 'failureImplications', 'askedBy', 'expiresAt', 'payloadHash', 'policyVersion'])
		assert.ok(member in remove.card, member);
	assert.equal(remove.card.askedBy.onBehalfOf, w.first.adminId);
	assert.equal((await w.notes()).find(({ id }) => id === note.id).text, 'one');
});

test('PA-7 input that can be repaired is feedback with its places; an unknown tool is not there', async () => {
	const wrong = await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: '', text: 1, more: true } }), 400, 'invalid_request', /note\.create/);
	assert.deepEqual(wrong.fields.map(({ path }) => path).sort(), ['/more', '/text', '/title']);
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.nothing', input: {} }), 404, 'not_found');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: {}, extra: 1 }), 400, 'invalid_request');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create' }), 400, 'invalid_request');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: '' }, expiresInSeconds: 86401 }), 400, 'invalid_request');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: '' }, riskLevel: 'none' }), 400, 'invalid_request');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.update', input: { id: 'none', text: 'x' } }), 404, 'not_found');
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'x', text: '' }, intent: { summary: 1 } }), 400, 'invalid_request');
});

test('PA-3 apply takes no arguments: a body is refused, audited, and changes nothing', async () => {
	const p = await w.propose();
	await w.approve(p);
	await refused(w.admin.post(at(p, '/apply'), { input: { title: 'other', text: '' } }), 400, 'invalid_request');
	await refused(w.admin.post('/api/v1/proposals/apply', { token: p.token, input: { title: 'other' } }), 400, 'invalid_request');
	const last = await w.audit({ action: 'request.refused' });
	assert.equal(last[0].reason, 'invalid_request');
	assert.equal((await ok(w.admin.get(at(p)))).status, 'approved');
	assert.equal((await ok(w.admin.post(at(p, '/apply'), undefined))).status, 'applied');
});

test('PA-12 the same key and request give the first answer, token included; another request collides', async () => {
	const body = { tool: 'note.create', input: { title: 'Once', text: '' }, idempotencyKey: 'key-1' };
	const [one, two] = await Promise.all([w.agent.post('/api/v1/proposals', body), w.agent.post('/api/v1/proposals', body)]);
	assert.equal(one.status, 201, one.text);
	assert.equal(two.status, 201, two.text);
	assert.equal(one.json.token, two.json.token);
	const header = await ok(w.agent.post('/api/v1/proposals', { ...body, idempotencyKey: undefined }, { headers: { 'idempotency-key': 'key-1' } }));
	assert.equal(header.token, one.json.token);
	await refused(w.agent.post('/api/v1/proposals', { ...body, input: { title: 'Twice', text: '' } }), 409, 'idempotency_collision');
	assert.equal((await w.audit({ action: 'request.refused' }))[0].reason, 'idempotency_collision');
	await refused(w.agent.post('/api/v1/proposals', body, { headers: { 'idempotency-key': 'key-2' } }), 400, 'invalid_request', /different keys/);
	const mine = await ok(w.admin.post('/api/v1/proposals', body)); // another principal's key is another key
	assert.notEqual(mine.proposalId, one.json.proposalId);
});

test('PA-12 many at once with one key make one proposal', async () => {
	const body = { tool: 'note.create', input: { title: 'Crowd', text: '' }, idempotencyKey: 'crowd' };
	const answers = await Promise.all(Array.from({ length: 16 }, () => w.agent.post('/api/v1/proposals', body)));
	assert.deepEqual(answers.map(({ status }) => status), Array(16).fill(201), answers.map(({ text }) => text).join('\n'));
	assert.equal(new Set(answers.map(({ json }) => json.proposalId)).size, 1);
});

test('AP-3 the author, the agent and a stranger to the tool cannot vote', async () => {
	const p = await w.propose();
	const vote = { viewHash: p.viewHash };
	await refused(w.agent.post(at(p, '/approve'), vote), 403, 'forbidden', /only people vote/);
	await refused(w.agent.post(at(p, '/deny'), vote), 403, 'forbidden', /only people vote/);
	const observer = await w.person(['observer']);
	await refused(observer.post(at(p, '/approve'), vote), 403, 'forbidden', /note\.note\.approve/);
	const author = await w.person(['operator']);
	await ok(w.admin.put('/api/v1/settings', { policy: { fourEyes: true } }));
	const own = await w.propose({}, author);
	assert.equal(own.state, 'pending');
	await refused(author.post(at(own, '/approve'), { viewHash: own.viewHash }), 403, 'forbidden', /proposed cannot vote/);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	const personal = await ok(w.admin.post('/api/v1/tokens', { name: 'not for voting' }));
	await refused(w.server.as(personal.token).post(at(p, '/approve'), vote), 403, 'forbidden', /minted for voting/);
	assert.equal((await ok(w.admin.get(at(p)))).approvals.votes.length, 0);
});

test('AP-3 a token never votes on what destroys; a signed-in person does', async () => {
	const note = await w.note();
	const boss = await w.person(['admin']);
	const p = await w.propose({ tool: 'note.delete', input: { id: note.id } });
	await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash }), 403, 'forbidden', /sign in/);
	assert.equal((await w.approve(p, boss, { apply: true })).status, 'applied');
	assert.ok(!(await w.notes()).some(({ id }) => id === note.id));
	const other = await w.note();
	const own = await ok(w.admin.post('/api/v1/proposals', { tool: 'note.delete', input: { id: other.id } }));
	assert.equal(own.state, 'pending', 'a token does not consent to its own destruction either');
	const signed = await ok(boss.post('/api/v1/proposals', { tool: 'note.delete', input: { id: other.id } }));
	assert.equal(signed.state, 'pending', 'category C: they look at the card first');
	assert.equal((await w.approve(signed, boss)).status, 'approved');
});

test('AP-3 four eyes: the person for whom the agent proposed cannot vote', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { fourEyes: true } }));
	const other = await w.person(['operator']), p = await w.propose();
	await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash }), 403, 'forbidden', /four eyes/);
	assert.equal((await w.approve(p, other)).status, 'approved');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('AP-4 a quorum of two needs two people; one veto denies', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { votesLow: 2 } }));
	const [a, b, c] = [await w.person(), await w.person(), await w.person()];
	const p = await w.propose();
	assert.equal((await w.approve(p, a)).status, 'pending');
	await refused(a.post(at(p, '/approve'), { viewHash: p.viewHash }), 409, 'conflict', /voted/);
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /1 of 2/);
	assert.equal((await w.approve(p, b)).status, 'approved');
	const denied = await ok(c.post(at(p, '/deny'), { viewHash: p.viewHash, reason: 'no' }));
	assert.equal(denied.status, 'denied');
	const gone = await refused(w.admin.post(at(p, '/apply')), 410, 'proposal_gone', /denied/);
	assert.equal(gone.details.status, 'denied');
	const [entry] = await w.audit({ proposalId: p.proposalId, action: 'proposal.denied' });
	assert.equal(entry.decision, 'denied_with_reason');
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('AP-4 the vote of somebody who lost the right no longer counts', async () => {
	const voter = await w.person(['operator']);
	const p = await w.propose();
	assert.equal((await w.approve(p, voter)).status, 'approved');
	await ok(w.admin.patch(`/api/v1/members/${voter.id}`, { roles: ['observer'] }));
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /0 of 1/);
	assert.equal((await ok(w.admin.get(at(p)))).approvals.valid, 0);
	await w.approve(p);
	assert.equal((await ok(w.admin.post(at(p, '/apply')))).status, 'applied');
});

test('AP-4 what is approved takes no more votes, except in place of one that no longer counts', async () => {
	await ok(w.admin.put('/api/v1/settings', { policy: { votesLow: 2 } }));
	const [a, b, c, d, e] = [await w.person(), await w.person(), await w.person(), await w.person(), await w.person()];
	const p = await w.propose();
	const vote = { viewHash: p.viewHash };
	await w.approve(p, a);
	assert.equal((await w.approve(p, b)).state, 'approved');
	await refused(c.post(at(p, '/approve'), vote), 409, 'conflict', /no vote is missing/);
	await refused(w.agent.post(at(p, '/approve'), vote), 403, 'forbidden', /only people vote/);
	await refused(c.post(at(p, '/approve'), { viewHash: '0'.repeat(64) }), 409, 'view_mismatch');
	assert.equal((await ok(w.admin.get(at(p)))).approvals.votes.length, 2);
	await ok(w.admin.patch(`/api/v1/members/${a.id}`, { roles: ['observer'] }));
	assert.equal((await w.approve(p, c)).state, 'approved', 'one is missing: this one completes it again');
	await refused(d.post(at(p, '/approve'), vote), 409, 'conflict', /no vote is missing/);
	for (const lost of [b, c]) await ok(w.admin.patch(`/api/v1/members/${lost.id}`, { roles: ['observer'] }));
	const waiting = await w.approve(p, d);
	assert.deepEqual([waiting.state, waiting.approvals.valid], ['pending', 1], 'still one is missing, and it says so');
	await refused(w.admin.post(at(p, '/apply')), 409, 'approval_required', /1 of 2/);
	assert.equal((await w.approve(p, e)).state, 'approved');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.approved' })).length, 5, 'an entry for each vote that was taken');
	assert.equal((await ok(w.admin.post(at(p, '/apply')))).state, 'applied');
	const boss = await w.person(['admin']), free = await w.propose({}, boss); // 2 people at low risk, of whom one is the one who asks
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
	assert.equal(free.state, 'pending');
	assert.equal(free.approvals.needed, 1);
	const none = await w.propose({}, boss);
	assert.equal(none.approvals.needed, 0);
	await refused(e.post(at(none, '/approve'), { viewHash: none.viewHash }), 409, 'conflict', /no vote is missing/);
	assert.equal((await ok(e.post(at(none, '/deny'), { viewHash: none.viewHash }))).state, 'denied', 'a veto is never too late');
});

test('AP-5 a vote about another card is refused', async () => {
	const p = await w.propose(), q = await w.propose();
	await refused(w.admin.post(at(p, '/approve'), { viewHash: q.viewHash }), 409, 'view_mismatch');
	await refused(w.admin.post(at(p, '/deny'), { viewHash: q.viewHash }), 409, 'view_mismatch');
	await refused(w.admin.post(at(p, '/approve'), { viewHash: 'short' }), 400, 'invalid_request');
	await refused(w.admin.post(at(p, '/deny'), { viewHash: p.viewHash, reason: 'é'.repeat(2001) }), 400, 'invalid_request', /2000/);
	assert.equal((await ok(w.admin.post(at(p, '/deny'), { viewHash: p.viewHash, reason: 'é'.repeat(2000) }))).status, 'denied');
});

test('AP-5 approve with apply: a failing apply does not undo the vote', async () => {
	const note = await w.note();
	const p = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'mine' } });
	const q = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'theirs' } });
	await w.approve(q, w.admin, { apply: true });
	const voted = await w.approve(p, w.admin, { apply: true });
	assert.equal(voted.status, 'approved');
	assert.equal(voted.apply.code, 'version_drift');
	assert.equal(voted.approvals.valid, 1);
});

test('PA-6 drift: what would happen is no longer what was shown; the state is unchanged and one call re-proposes', async () => {
	const note = await w.note('Drift', 'one');
	const update = { tool: 'note.update', input: { id: note.id, text: 'two' } };
	const p = await w.propose(update), q = await w.propose({ ...update, input: { id: note.id, title: 'Drifted' } });
	await w.approve(p);
	await w.approve(q, w.admin, { apply: true });
	await refused(w.admin.post(at(p, '/apply')), 409, 'version_drift');
	assert.equal((await ok(w.admin.get(at(p)))).status, 'approved');
	assert.equal((await w.notes()).find(({ id }) => id === note.id).text, 'one');
	const again = await w.propose(update);
	assert.equal((await w.approve(again, w.admin, { apply: true })).result.text, 'two');
	const gone = await w.propose({ ...update, input: { id: note.id, text: 'three' } });
	const boss = await w.person(['admin']);
	const remove = await ok(boss.post('/api/v1/proposals', { tool: 'note.delete', input: { id: note.id } }));
	assert.equal((await w.approve(remove, boss, { apply: true })).status, 'applied');
	await w.approve(gone);
	await refused(w.admin.post(at(gone, '/apply')), 409, 'version_drift', /no note/);
});

test('a policy that changed since is another card', async () => {
	const p = await w.propose();
	await w.approve(p);
	await ok(w.admin.put('/api/v1/settings', { policy: { votesLow: 3 } }));
	await refused(w.admin.post(at(p, '/apply')), 409, 'version_drift', /policy/);
	await ok(w.admin.put('/api/v1/settings', { policy: {} }));
});

test('PA-4 an expired proposal cannot be voted on, applied or cancelled, whoever has swept; expiry is audited and no refusal (PA-13)', async () => {
	const p = await w.propose({ expiresInSeconds: 1 }), q = await w.approved({ expiresInSeconds: 1 });
	for (const one of [p, q]) await until(async () => (await ok(w.admin.get(at(one)))).status === 'expired', 'its time');
	for (const [what, body] of [['approve', { viewHash: p.viewHash }], ['deny', { viewHash: p.viewHash }], ['cancel', {}], ['apply', {}]]) {
		const gone = await refused(w.admin.post(at(p, `/${what}`), body), 410, 'proposal_gone', /expired/);
		assert.equal(gone.details.status, 'expired');
	}
	await refused(w.admin.post('/api/v1/proposals/apply', { token: q.token }), 410, 'proposal_gone', /expired/);
	for (const { proposalId } of [p, q]) await until(async () => (await w.audit({ proposalId, action: 'proposal.expired' })).length === 1, 'the sweeper');
	assert.equal((await w.audit({ proposalId: p.proposalId, action: 'proposal.denied' })).length, 0);
});

test('PA-13 cancel by who proposed, or could apply; nobody else', async () => {
	const p = await w.propose();
	const observer = await w.person(['observer']);
	await refused(observer.post(at(p, '/cancel')), 403, 'forbidden');
	const done = await ok(w.agent.post(at(p, '/cancel'), { note: 'changed my mind' }));
	assert.equal(done.status, 'cancelled');
	assert.equal(done.error, 'changed my mind');
	await refused(w.admin.post(at(p, '/approve'), { viewHash: p.viewHash }), 410, 'proposal_gone', /cancelled/);
	assert.equal((await ok(w.admin.post(at(await w.propose(), '/cancel')))).status, 'cancelled');
});

test('a proposal that is not yours to see is not there: same answer as one that does not exist', async () => {
	const p = await w.propose();
	const boss = await w.person(['admin']);
	const narrow = await w.agentOf(boss, { rules: ['catalog.system.read'] });
	for (const [method, path, body] of [['get', '', undefined], ['post', '/approve', { viewHash: p.viewHash }], ['post', '/cancel', {}], ['post', '/apply', {}], ['get', '/wait?timeout=1', undefined]]) {
		const mine = await narrow.ask()[method](at(p, path), body);
		const none = await narrow.ask()[method](at({ proposalId: '00000000-0000-7000-8000-000000000000' }, path), body);
		assert.equal(mine.status, 404, mine.text);
		assert.equal(mine.text, none.text);
	}
	assert.deepEqual((await ok(narrow.ask().get('/api/v1/proposals'))).proposals, []);
	await refused(narrow.ask().post('/api/v1/proposals/apply', { token: p.token }), 403, 'forbidden', /note\.note\.create/);
	await refused(w.admin.post('/api/v1/proposals/apply', { token: `${p.token.slice(0, -1)}${p.token.endsWith('0') ? '1' : '0'}` }), 404, 'not_found');
	for (const token of ['x', 'propose:', `propose:${p.proposalId}`, `propose:${p.proposalId}.`]) await refused(w.admin.post('/api/v1/proposals/apply', { token }), 404, 'not_found');
});

test('proposal_list filters and pages', async () => {
	const p = await w.propose({ tool: 'note.create', input: { title: 'In a list', text: '' } });
	const list = async (query) => ok(w.admin.get(`/api/v1/proposals?${query}`));
	assert.equal((await list('limit=1')).proposals[0].proposalId, p.proposalId);
	const page = await list('limit=2'), next = await list(`limit=2&cursor=${page.nextCursor}`);
	assert.ok(next.proposals[0].proposalId < page.proposals[1].proposalId);
	assert.ok((await list('status=applied')).proposals.every(({ status }) => status === 'applied'));
	assert.ok((await list('tool=note.delete')).proposals.every(({ tool }) => tool === 'note.delete'));
	assert.ok((await list(`proposer=${w.first.agentId}`)).proposals.every(({ proposer }) => proposer.id === w.first.agentId));
	await refused(w.admin.get('/api/v1/proposals?status=nothing'), 400, 'invalid_request');
	for (const cursor of ['zzz', '0', 'after-2']) await refused(w.admin.get(`/api/v1/proposals?cursor=${cursor}`), 400, 'invalid_request');
});

test('PA-11 the canonical document is accepted and emitted; declared risk is a floor', async () => {
	const doc = { proposal_id: 'mine-1', proposed_by: 'agent', timestamp: '2026-01-01T00:00:00Z', domain: 'operations', tool: { name: 'note.create', version: '1.0' },
		intent: { summary: 'note it', reasoning: 'it matters' }, parameters: { title: 'Doc', text: 'x' }, risk_level: 'medium', approval_required: false,
		compliance_context: { gdpr: true, hipaa: false }, idempotency_key: 'doc-1', rollback_supported: true };
	const p = await ok(w.agent.post('/api/v1/proposals', doc));
	assert.equal(p.state, 'pending', 'approval_required false is honoured only where policy lets it run');
	assert.equal(p.risk.level, 'medium');
	assert.deepEqual({ ...p.document, proposal_id: 0, proposed_by: 0, timestamp: 0, tool: 0 }, { ...doc, proposal_id: 0, proposed_by: 0, timestamp: 0, tool: 0, approval_required: true });
	assert.equal((await ok(w.agent.post('/api/v1/proposals', doc))).proposalId, p.proposalId);
	for (const [change, path] of [[{ domain: 'sales' }, '/domain'], [{ domain: 'space' }, '/domain'], [{ tool: { name: 'note.create', version: 9 } }, '/tool/version'],
		[{ idempotency_key: undefined }, '/idempotency_key'], [{ riskLevel: 'low' }, undefined], [{ risk_level: 'none' }, '/risk_level'], [{ secret: 1 }, undefined]]) {
		const body = await refused(w.agent.post('/api/v1/proposals', { ...doc, idempotency_key: `doc-${path}`, ...change }), 400, 'invalid_request');
		if (path) assert.equal(body.fields[0].path, path);
	}
});

test('AP-7 characters that deceive are shown and flagged, and raise the risk', async () => {
	const p = await w.propose({ input: { title: 'Pay \u202egnp.exe', text: 'admin\u200b \u{e0041} pаypal' } });
	assert.equal(p.risk.level, 'high');
	assert.match(p.summary, /\\u\{202E\}/);
	assert.match(p.card.change.after.title, /\\u\{202E\}/);
	assert.match(p.card.change.after.text, /\\u\{200B\}.*\\u\{E0041\}/);
	assert.equal(p.card.warnings.length, 4);
	assert.equal(p.payload.title, 'Pay \u202egnp.exe', 'the payload itself is not touched');
	const line = await w.propose({ input: { title: 'one\ntwo', text: '' } });
	assert.match(line.summary, /one\\u\{000A\}two/);
});

test('TL-5 reads run at once and leave a row; changes become proposals', async () => {
	const note = await w.note('Read me', 'text');
	const read = await ok(w.agent.post('/api/v1/tools/call', { tool: 'note.get', input: { id: note.id } }));
	assert.equal(read.status, 'executed');
	assert.deepEqual(read.result, note);
	const made = await ok(w.agent.post('/api/v1/tools/call', { tool: 'note.create', input: { title: 'x', text: '' } }));
	assert.equal(made.status, 'awaiting_operator'); // PA-8
	assert.equal(made.proposal.state, 'pending');
	await refused(w.agent.post('/api/v1/tools/call', { tool: 'note.get', input: { id: 'none' } }), 404, 'not_found');
	await refused(w.agent.post('/api/v1/tools/call', { tool: 'note.get', input: {} }), 400, 'invalid_request');
});

test('proposal_wait wakes when it is decided, and gives up in time', async () => {
	const p = await w.propose();
	const waiting = ok(w.agent.get(at(p, '/wait?timeout=30')));
	await w.approve(p);
	assert.equal((await waiting).status, 'approved');
	const applied = ok(w.agent.get(at(p, '/wait?timeout=30&known=approved')));
	await ok(w.admin.post(at(p, '/apply')));
	assert.equal((await applied).status, 'applied');
	assert.equal((await ok(w.agent.get(at(p, '/wait?timeout=30')))).status, 'applied', 'it is decided already');
	const slow = await w.propose();
	assert.equal((await ok(w.agent.get(at(slow, '/wait?timeout=1')))).status, 'pending');
});

test('waiters never hold all workers', async () => {
	const p = await w.propose();
	const waiting = Array.from({ length: 80 }, () => ok(w.agent.get(at(p, '/wait?timeout=30'))));
	await until(async () => (await ok(w.admin.get(at(p)))).status === 'pending', 'an answer while many wait');
	await w.approve(p);
	for (const { status } of await Promise.all(waiting)) assert.ok(['pending', 'approved'].includes(status));
});

test('PA-8 a proposal that stands is a success that says awaiting_operator to who asked, and its state to who looks', async () => {
	const body = { tool: 'note.create', input: { title: 'Stands', text: '' }, idempotencyKey: 'stands' };
	const asked = await w.agent.post('/api/v1/proposals', body);
	assert.equal(asked.status, 201);
	const p = asked.json;
	assert.deepEqual([p.status, p.state], ['awaiting_operator', 'pending']);
	const called = await w.agent.post('/api/v1/tools/call', { tool: body.tool, input: body.input });
	assert.equal(called.status, 200, 'a success, not an error that a model would try again');
	assert.deepEqual([called.json.status, called.json.proposal.status, called.json.proposal.state], ['awaiting_operator', 'awaiting_operator', 'pending']);
	for (const who of [w.agent, w.admin]) {
		const seen = await ok(who.get(at(p)));
		assert.deepEqual([seen.status, seen.state], ['pending', 'pending']);
		const listed = (await ok(who.get('/api/v1/proposals?status=pending&limit=200'))).proposals.find(({ proposalId }) => proposalId === p.proposalId);
		assert.deepEqual([listed.status, listed.state], ['pending', 'pending']);
	}
	const replay = async () => (({ status, state }) => [status, state])(await ok(w.agent.post('/api/v1/proposals', body)));
	assert.deepEqual(await replay(), ['awaiting_operator', 'pending'], 'asking again with the same key is answered the same');
	await w.approve(p);
	assert.deepEqual(await replay(), ['approved', 'approved'], 'the operator has answered: nothing is awaited');
	await ok(w.admin.post(at(p, '/apply')));
	assert.deepEqual(await replay(), ['applied', 'applied']);
	await refused(w.agent.post('/api/v1/proposals', { tool: 'note.create', input: {} }), 400, 'invalid_request'); // feedback is no proposal
	assert.equal((await w.propose({}, await w.person(['admin']))).status, 'approved', 'who may decide by asking awaits nobody');
});

/** Everything that a call or a proposal leaves behind. */
async function traces() {
	const { proposals } = await ok(w.admin.get('/api/v1/proposals?limit=200'));
	const entries = await w.audit({});
	return { proposals: proposals.length, newest: entries[0].id, notes: (await w.notes()).length };
}

test('PA-14 applying one proposal makes one change and asks for nothing else', async () => {
	const p = await w.propose();
	await w.approve(p);
	const was = await traces();
	const done = await ok(w.admin.post(at(p, '/apply')));
	const is = await traces();
	assert.equal(is.proposals, was.proposals, 'no proposal came of it');
	assert.equal(is.notes, was.notes + 1);
	const entries = await w.audit({ proposalId: p.proposalId });
	assert.deepEqual(entries.map(({ action }) => action).sort(), ['proposal.applied', 'proposal.approved', 'proposal.created', 'record.created']);
	assert.deepEqual(new Set(entries.map(({ toolCallId }) => toolCallId)), new Set([p.toolCallId]), 'one call, from its first entry to its last');
	assert.equal(done.toolCallId, p.toolCallId);
});

test('PA-14 what fails stays failed, and what was refused is not tried again', async (t) => {
	if (!JSON.parse((await run(['version', '--json'])).stdout).faults) return t.skip('skipped: fault points are not compiled in');
	const database = await freshDatabase();
	t.after(() => database.drop());
	const own = await World.start({ database, env: { COUNTERSIGN_FAULT: 'apply_after_execute:1:fail' } });
	const p = await own.propose();
	await own.approve(p);
	await refused(own.admin.post(at(p, '/apply')), 503, 'unavailable');
	// a proposal and its expiry later, by the sweeper, every thread of the server has been round
	const short = await own.propose({ expiresInSeconds: 1 });
	await until(async () => (await own.audit({ proposalId: short.proposalId, action: 'proposal.expired' })).length === 1, 'the sweeper to have been round');
	assert.deepEqual(await own.notes(), [], 'nobody has done it in the meantime');
	assert.equal((await ok(own.admin.get(at(p)))).state, 'approved');
	assert.deepEqual((await own.audit({ proposalId: p.proposalId })).map(({ action }) => action).sort(), ['proposal.approved', 'proposal.created']);
	assert.equal((await ok(own.admin.post(at(p, '/apply')))).state, 'applied', 'a person who asks again is somebody who asks');
	await ok(own.admin.put(`/api/v1/agents/${own.first.agentId}/tools`, { tools: [{ toolName: 'note.get', permissionStatus: 'needs_approval' }] }));
	const { proposal: lost } = await ok(own.agent.post('/api/v1/tools/call', { tool: 'note.get', input: { id: 'none' } }));
	assert.equal((await own.approve(lost, own.admin, { apply: true })).state, 'failed');
	for (const again of [at(lost, '/apply'), at(lost, '/apply')]) await refused(own.admin.post(again), 410, 'proposal_gone', /failed/);
	assert.equal((await own.audit({ proposalId: lost.proposalId, action: 'proposal.failed' })).length, 1);
	await own.server.stop({ keep: true });
});
