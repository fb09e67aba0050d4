// SPDX-License-Identifier: Apache-2.0
// AU-4, AU-5: the audit log over REST, and `countersign audit` on what the server left.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { freshDatabase, init, run, startServer, temporaryDirectory, until } from './lib/server.mjs';

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** RFC 9162, section 2.1.3.2, written down again: the root that an inclusion proof leads to. */
function rootOf({ leaf, leafIndex, size, path: hashes }) {
	let at = leafIndex, last = size - 1, hash = sha256(Buffer.from([0]), Buffer.from(leaf));
	for (const text of hashes) {
		const other = Buffer.from(text, 'base64');
		if (at % 2 === 1 || at === last) {
			hash = sha256(Buffer.from([1]), other, hash);
			while (at % 2 === 0 && at !== 0) (at >>= 1), (last >>= 1);
		} else {
			hash = sha256(Buffer.from([1]), hash, other);
		}
		(at >>= 1), (last >>= 1);
	}
	assert.equal(last, 0);
	return hash.toString('base64');
}

describe('audit', () => {
	let database, first, server, admin, slug;
	before(async () => {
		database = await freshDatabase();
		first = await init(database);
		server = Object.assign(await startServer({ database }), { first });
		admin = server.as(first.adminToken);
		slug = 'default';
	});
	after(async () => {
		if (server) await server.stop();
		await database.drop();
	});

	test('audit_list needs a credential and is only of one\'s own organization', async () => {
		assert.equal((await server.get(`/api/v1/orgs/${slug}/audit`)).status, 401);
		assert.equal((await admin.get('/api/v1/orgs/other/audit')).status, 404);
		const { status, json } = await admin.get(`/api/v1/orgs/${slug}/audit?limit=5&action=org.created`);
		assert.equal(status, 200);
		assert.ok(Array.isArray(json.entries));
		assert.equal((await admin.get(`/api/v1/orgs/${slug}/audit?cursor=nonsense`)).status, 400);
		assert.equal((await admin.get(`/api/v1/orgs/${slug}/audit?nonsense=1`)).status, 400);
	});

	test('audit_get and audit_proof do not know what is not there', async () => {
		assert.equal((await admin.get(`/api/v1/orgs/${slug}/audit/nothing`)).status, 404);
		assert.equal((await admin.get(`/api/v1/orgs/${slug}/audit/nothing/proof`)).status, 404);
	});

	test('audit_erase is for admins and needs a subject that is known', async () => {
		assert.equal((await admin.post(`/api/v1/orgs/${slug}/audit/erase`, { subject: 'nobody' })).status, 404);
		assert.equal((await admin.post(`/api/v1/orgs/${slug}/audit/erase`, {})).status, 400);
		const agent = server.as(first.agentToken);
		assert.equal((await agent.post(`/api/v1/orgs/${slug}/audit/erase`, { subject: 'nobody' })).status, 403);
	});

	/** The log as a file that is verified against a checkpoint which was kept before, and what it says. */
	const verified = async (t, kept) => {
		const dir = await temporaryDirectory(t), file = path.join(dir, 'log.jsonl');
		const { key } = (await admin.get(`/api/v1/orgs/${slug}/audit/checkpoint`)).json;
		const { text } = await admin.get(`/api/v1/orgs/${slug}/audit/export`);
		await writeFile(file, text);
		await writeFile(path.join(dir, 'kept'), kept);
		const { code, stdout, stderr } = await run(['audit', 'verify', file, '--key', key, '--checkpoint', path.join(dir, 'kept')]);
		assert.equal(code, 0, stdout + stderr);
		return text;
	};
	/** A checkpoint that has the newest entry in it. */
	const sealed = async () => {
		const newest = (await admin.get(`/api/v1/orgs/${slug}/audit?limit=1`)).json.entries[0].id;
		return until(async () => {
			const { status, json } = await admin.get(`/api/v1/orgs/${slug}/audit/${newest}/proof`);
			return status === 200 && json.checkpoint;
		}, 'the newest entry to be sealed');
	};
	const values = async (id) => (await admin.get(`/api/v1/orgs/${slug}/audit/${id}`)).json.values;

	test('AU-5 what a note said can be erased from the log, with all its versions; the log still verifies', async (t) => {
		const ask = async (tool, input) => {
			const { status, json, text } = await server.as(first.agentToken).post('/api/v1/proposals', { tool, input });
			assert.equal(status, 201, text);
			const done = await admin.post(`/api/v1/proposals/${json.proposalId}/approve`, { viewHash: json.viewHash, apply: true });
			assert.equal(done.json.status, 'applied', done.text);
			return done.json;
		};
		const one = await ask('note.create', { title: 'About Zoe', text: 'she is ill' }), other = await ask('note.create', { title: 'Other', text: 'stays' });
		const update = await ask('note.update', { id: one.result.id, text: 'she is well' });
		const entries = [one.appliedAuditId, update.appliedAuditId];
		assert.equal((await values(entries[0])).after.text, 'she is ill');
		assert.equal((await values(entries[1])).before.text, 'she is ill');
		const kept = await sealed();
		assert.equal((await admin.post(`/api/v1/orgs/${slug}/audit/erase`, { subject: `note:${one.result.id}` })).status, 200);
		for (const id of entries) assert.deepEqual(await values(id), { state: 'erased' });
		assert.equal((await values(other.appliedAuditId)).after.text, 'stays', 'nobody else\'s is touched');
		await sealed();
		const text = await verified(t, kept);
		for (const word of ['Zoe', 'she is']) assert.ok(!text.includes(word), `the log never had "${word}"`);
		assert.equal((await admin.get(`/api/v1/orgs/${slug}/audit?action=subject.erased&resourceId=note:${one.result.id}`)).json.entries.length, 1);
	});

	test('AU-5 a person\'s name and address can be erased; the log has only their id', async (t) => {
		const made = (await admin.post('/api/v1/members', { name: 'Zoe Quix', email: 'zoe@quix.example', roles: ['observer'] })).json;
		assert.equal((await admin.patch(`/api/v1/members/${made.id}`, { name: 'Zoe Other' })).status, 200);
		assert.equal((await admin.patch(`/api/v1/members/${made.id}`, { roles: ['operator'] })).status, 200);
		assert.equal((await admin.delete(`/api/v1/members/${made.id}`)).status, 200);
		const { entries } = (await admin.get(`/api/v1/orgs/${slug}/audit?resourceId=${made.id}`)).json;
		const of = (action) => entries.filter((entry) => entry.action === action);
		const [created] = of('principal.created'), [roles, renamed] = of('principal.changed');
		assert.equal((await values(created.id)).after.email, 'zoe@quix.example');
		assert.equal((await values(renamed.id)).before.name, 'Zoe Quix');
		const kept = await sealed();
		assert.equal((await admin.post(`/api/v1/orgs/${slug}/audit/erase`, { subject: made.id })).status, 200);
		assert.deepEqual([(await values(created.id)).state, (await values(renamed.id)).state], ['erased', 'erased']);
		assert.deepEqual((await values(roles.id)).after, { roles: ['operator'] }, 'what they might do stays on record');
		await sealed();
		const text = await verified(t, kept);
		for (const word of ['Zoe Quix', 'Zoe Other', 'zoe@quix']) assert.ok(!text.includes(word), `the log never had "${word}"`); // three letters alone stand in any long base64
		assert.ok(text.includes(made.id));
	});

	test('audit_checkpoint, audit_consistency and audit_export agree with each other', async (t) => {
		// what init recorded is sealed and signed soon after the server has started
		const checkpoint = await until(async () => {
			const answer = await admin.get(`/api/v1/orgs/${slug}/audit/checkpoint`);
			return answer.status === 200 && answer;
		}, 'a checkpoint');
		const exported = await admin.get(`/api/v1/orgs/${slug}/audit/export?size=${checkpoint.json.size}`);
		assert.equal(exported.status, 200);
		const dir = await temporaryDirectory(t);
		const file = path.join(dir, 'log.jsonl');
		await writeFile(file, exported.text);
		await writeFile(path.join(dir, 'kept'), checkpoint.json.checkpoint);
		const verified = await run(['audit', 'verify', file, '--key', checkpoint.json.key, '--checkpoint', path.join(dir, 'kept')]);
		assert.equal(verified.code, 0, verified.stdout + verified.stderr);
		await writeFile(path.join(dir, 'kept'), `${checkpoint.json.checkpoint}\n`); // as jq -r prints it
		assert.deepEqual(await run(['audit', 'verify', file, '--key', checkpoint.json.key, '--checkpoint', path.join(dir, 'kept')]), verified);
		await writeFile(path.join(dir, 'answer.json'), checkpoint.text);
		const byAnswer = await run(['audit', 'verify', file, '--checkpoint', path.join(dir, 'answer.json')]);
		assert.equal(byAnswer.code, 0, byAnswer.stdout + byAnswer.stderr);
		assert.doesNotMatch(byAnswer.stdout, /No checkpoint was given/);
		for (const none of ['{"checkpoint":7}', '{"checkpoint":"x"}', '{"check', '{}', 'a letter\n\nto you', checkpoint.json.checkpoint.split('\u2014')[0]]) {
			await writeFile(path.join(dir, 'none'), none);
			const { code, stdout, stderr } = await run(['audit', 'verify', file, '--checkpoint', path.join(dir, 'none')]);
			assert.equal(code, 2, none);
			assert.equal(stdout, '', 'nothing is said of the log');
			assert.match(stderr, /none is not a checkpoint: .*nothing was verified/);
		}
		const forged = JSON.stringify({ ...checkpoint.json, checkpoint: checkpoint.json.checkpoint.replace(/\n\d+\n/, '\n1\n') });
		await writeFile(path.join(dir, 'answer.json'), forged);
		assert.equal((await run(['audit', 'verify', file, '--checkpoint', path.join(dir, 'answer.json')])).code, 1);
		await writeFile(file, exported.text.replace(/"actorType":"\w/, '"actorType":"x'));
		assert.equal((await run(['audit', 'verify', file, '--key', checkpoint.json.key])).code, 1);
		const { json } = await admin.get(`/api/v1/orgs/${slug}/audit/consistency?from=1&to=${checkpoint.json.size}`);
		assert.equal(json.to, checkpoint.json.size);
	});

	test('audit_get and audit_proof tell of an entry, and its proof leads to the signed root', async () => {
		const { entries } = (await admin.get(`/api/v1/orgs/${slug}/audit?action=org.created`)).json;
		assert.equal(entries.length, 1);
		const { json: one } = await admin.get(`/api/v1/orgs/${slug}/audit/${entries[0].id}`);
		assert.equal(one.entry.action, 'org.created');
		const { json: proof } = await admin.get(`/api/v1/orgs/${slug}/audit/${entries[0].id}/proof`);
		assert.equal(rootOf(proof), proof.checkpoint.split('\n')[2]);
	});

	test('countersign audit looks at what a server left, and makes nothing', async () => {
		await server.stop();
		server = null;
		const verified = await run(['audit', 'verify', '--json', ...database.flags]);
		assert.equal(verified.code, 0, verified.stderr);
		assert.doesNotMatch(verified.stdout, /"verified":false/);
		const { code, stdout } = await run(['audit', 'export', '--org', slug, ...database.flags]);
		assert.equal(code, 0);
		assert.equal(stdout, (await run(['audit', 'export', '--org', first.orgId, ...database.flags])).stdout, 'by slug or by id');
		const named = await run(['audit', 'verify', '--org', slug, ...database.flags]);
		assert.equal(named.code, 0, named.stderr);
		assert.match(named.stdout, /, (1 signature|(?!1 )\d+ signatures)\.\n/);
		for (const what of ['export', 'tail', 'verify']) {
			const unknown = await run(['audit', what, '--org', 'elsewhere', ...database.flags]);
			assert.notEqual(unknown.code, 0);
			assert.match(unknown.stderr, /there is no organization "elsewhere"/);
		}
		assert.notEqual((await run(['audit', 'nonsense', ...database.flags])).code, 0);
		assert.notEqual((await run(['audit', 'tail', '--limit', '0', ...database.flags])).code, 0);
	});
});
