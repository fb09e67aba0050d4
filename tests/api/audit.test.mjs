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
		server = await startServer({ database });
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
		assert.notEqual((await run(['audit', 'nonsense', ...database.flags])).code, 0);
		assert.notEqual((await run(['audit', 'tail', '--limit', '0', ...database.flags])).code, 0);
	});
});
