// SPDX-License-Identifier: Apache-2.0
// How many proposals somebody may have open, and that what they say can be erased (AP-8, docs/decisions/0040). How long they are
// kept is in tests/unit/core/attempt.c: a test cannot wait for a day.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { lookBehind, onPostgres } from './lib/server.mjs';

let w;
before(async () => (w = await World.start({ args: ['--open-proposals', '5'] })));
after(() => w?.stop());

const get = async (p, who = w.admin) => ok(who.get(`/api/v1/proposals/${p.proposalId}`));
const note = (id, input, tool = 'note.update') => w.propose({ tool, input: { id, ...input } });
const deny = (p) => ok(w.admin.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash }));

test('TL-9 an agent may have so many proposals open; the next is 429 and says what helps, and others are not held up', async () => {
	const { ask } = await w.agentOf(w.admin, { actions: ['read', 'propose'], ratePerMinute: 1000 });
	const open = [];
	for (let i = 0; i < 5; i++) open.push(await w.propose(i ? {} : { idempotencyKey: 'first', input: { title: 'First', text: '' } }, ask()));
	const form = { tool: 'note.create', input: { title: 'More', text: '' } };
	await refused(ask().post('/api/v1/proposals', form), 429, 'rate_limited', /5 proposals of yours are open.*wait until people have decided, or cancel some/);
	await refused(ask().post('/api/v1/tools/call', form), 429, 'rate_limited');
	assert.equal((await ok(ask().post('/api/v1/proposals', { ...form, input: { title: 'First', text: '' }, idempotencyKey: 'first' }))).proposalId, open[0].proposalId, 'a repetition is none more');
	await w.propose();
	await ok(ask().post(`/api/v1/proposals/${open[1].proposalId}/cancel`));
	const next = await w.propose({}, ask());
	await refused(ask().post('/api/v1/proposals', form), 429, 'rate_limited');
	await w.approve(next, w.admin, { apply: true });
	await w.propose({}, ask());
});

test('AP-8 erasing a subject takes payload, card and result out of its proposals; hashes, outcome and log stay', async () => {
	const secret = 'Ann-lives-in-Lund';
	const p = await w.propose({ input: { title: secret, text: `${secret} 1` }, intent: { summary: `${secret} 2`, reasoning: `${secret} 3` } });
	const made = await w.approve(p, w.admin, { apply: true }), id = made.result.id, other = await w.note('Other', 'other');
	const changed = await note(id, { title: secret, text: 'x' }), denied = await note(id, { text: `${secret} 4` });
	await w.approve(changed, w.admin, { apply: true });
	await deny(denied);
	const open = await note(id, { text: `${secret} 5` });
	const before = await Promise.all([p, changed, denied, open].map((one) => get(one)));

	const answer = await ok(w.admin.post('/api/v1/orgs/default/audit/erase', { subject: `note:${id}` }));
	assert.deepEqual([answer.proposals, answer.proposalsLeft, answer.more], [4, 0, false]);
	for (const [i, one] of [p, changed, denied, open].entries()) {
		const now = await get(one);
		assert.deepEqual([now.payload, now.erased.why, now.summary, now.result, now.document], [null, 'subject', 'erased', undefined, undefined]);
		assert.deepEqual([now.payloadHash, now.viewHash, now.tool, now.proposer.id], [before[i].payloadHash, before[i].viewHash, before[i].tool, before[i].proposer.id]);
		assert.deepEqual([now.state, now.approvals.votes.length], [['applied', 'applied', 'denied', 'cancelled'][i], [1, 1, 1, 0][i]]);
		assert.ok(!JSON.stringify(now).includes(secret));
		await refused(w.admin.post(`/api/v1/proposals/${one.proposalId}/approve`, { viewHash: one.viewHash }), 410, 'proposal_gone');
		await refused(w.agent.post(`/api/v1/proposals/${one.proposalId}/repropose`), 409, 'conflict', /was erased; propose it in full/);
	}
	assert.ok((await ok(w.admin.get('/api/v1/proposals?limit=100'))).proposals.some((one) => one.proposalId === p.proposalId));
	assert.equal((await get({ proposalId: (await ok(w.admin.get('/api/v1/proposals?status=applied'))).proposals.find((one) => one.summary.includes('Other')).proposalId })).payload.text, 'other', 'others are not touched');
	assert.equal(other.text, 'other');
	const entries = (await ok(w.admin.get('/api/v1/orgs/default/audit?action=proposal.erased'))).entries;
	assert.deepEqual(entries.map((one) => one.proposalId).sort(), [p, changed, denied, open].map((one) => one.proposalId).sort());
	await refused(w.admin.post('/api/v1/orgs/default/audit/erase', { subject: `note:${id}` }), 404, 'not_found');
});

test('AP-8 what was erased is not in the database, and what is put in its place is noticed', async () => {
	const secret = 'Bob-was-born-in-Bergen';
	const p = await w.propose({ input: { title: secret, text: secret } });
	const { result } = await w.approve(p, w.admin, { apply: true });
	await ok(w.admin.post('/api/v1/orgs/default/audit/erase', { subject: `note:${result.id}` }));
	if (!onPostgres) await w.change('SELECT 1'); // stopped and started again: what SQLite keeps is in its file
	const rows = await lookBehind(w.server, `SELECT payload, card, summary, result, error, provenance FROM proposal WHERE proposal_id = '${p.proposalId}'`);
	assert.equal(rows.length, 1);
	assert.ok(!rows[0].includes(secret), rows[0]);
	await w.change(`UPDATE proposal SET payload = '{"title":"forged"}' WHERE proposal_id = '${p.proposalId}'`);
	await refused(w.admin.get(`/api/v1/proposals/${p.proposalId}`), 409, 'tampered');
});

test('AP-8 erasing a person takes their name and words out of what they asked for', async () => {
	const ann = await w.person(['admin', 'maintainer']);
	const own = await w.propose({ input: { title: 'Mine', text: 'by me' }, intent: { summary: 'my very own words' } }, ann);
	assert.match((await get(own)).card.askedBy.name, /^Somebody/);
	const answer = await ok(w.admin.post('/api/v1/orgs/default/audit/erase', { subject: ann.id }));
	assert.deepEqual([answer.proposals, answer.proposalsLeft], [1, 0]);
	const now = await get(own);
	assert.deepEqual([now.state, now.payload, now.card.askedBy.name, now.card.askedBy.id], ['cancelled', null, '', ann.id]);
	assert.ok(!JSON.stringify(now).includes('very own words'));
});

test('AP-8 erasing a person who has more open proposals than one transaction holds is said to need another turn, and stops nobody', async () => {
	const own = await World.start(), bob = await own.person(['admin', 'maintainer']);
	const open = [];
	for (let i = 0; i < 120; i++) open.push(await own.propose({ input: { title: `Bob ${i}`, text: '' } }, bob));
	let turns = 0, erased = 0, more = true;
	while (more && turns++ < 10) {
		const answer = await ok(own.admin.post('/api/v1/orgs/default/audit/erase', { subject: bob.id }));
		assert.equal(answer.proposalsLeft, 0);
		({ more } = answer);
		erased += answer.proposals;
	}
	assert.deepEqual([more, erased], [false, open.length]);
	assert.ok(turns > 1);
	assert.equal((await get(open.at(-1), own.admin)).payload, null);
	await own.stop();
});
