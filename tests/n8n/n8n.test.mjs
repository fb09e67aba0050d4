// SPDX-License-Identifier: Apache-2.0
// A real n8n as executor, with the workflows of docs/n8n (EX-1, EX-2): ./test n8n. It needs COUNTERSIGN_N8N, where it is installed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { World, ok, refused } from '../api/lib/flow.mjs';
import { follow } from '../api/lib/page.mjs';
import { freePort, removeTree, temporaryDirectory } from '../api/lib/process.mjs';
import { Receiver, sign, signed } from '../api/lib/receiver.mjs';
import { root, until } from '../api/lib/server.mjs';

const home = process.env.COUNTERSIGN_N8N;
if (!home) throw new Error('COUNTERSIGN_N8N says where n8n is installed: COUNTERSIGN_N8N=$(tests/n8n/install)');

const header = randomBytes(12).toString('hex'), text = randomBytes(32).toString('hex');
const whsec = (key) => `whsec_${Buffer.from(key).toString('base64')}`, signing = whsec(text);
let world, person, dir, n8n, env, url, postbox;

const program = path.join(home, 'node_modules/.bin/n8n');

async function command(...args) {
	const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
	let said = '';
	for (const out of [child.stdout, child.stderr]) out.setEncoding('utf8').on('data', (more) => (said += more));
	const [code] = await once(child, 'close');
	assert.equal(code, 0, said);
}

/** n8n begins to start. With another folder its database is new, as after an upgrade it has much to do first. */
async function start(folder = dir) {
	n8n = spawn(program, ['start'], { env: { ...env, N8N_USER_FOLDER: folder }, stdio: 'ignore' });
	await once(n8n, 'spawn');
}

async function stop() {
	if (!n8n || n8n.exitCode !== null || n8n.signalCode !== null) return;
	n8n.kill('SIGTERM');
	await once(n8n, 'exit');
}

before(async () => {
	const port = await freePort(), own = await freePort();
	dir = await temporaryDirectory(undefined, 'n8n');
	url = `http://127.0.0.1:${port}`;
	env = {
		PATH: `${path.dirname(program)}:${process.env.PATH}`, HOME: dir, N8N_USER_FOLDER: dir, N8N_ENCRYPTION_KEY: 'for-this-test-only', DB_TYPE: 'sqlite', N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(port),
		N8N_RUNNERS_BROKER_PORT: String(await freePort()), N8N_RUNNERS_BROKER_LISTEN_ADDRESS: '127.0.0.1', N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
		N8N_TEMPLATES_ENABLED: 'false', N8N_PERSONALIZATION_ENABLED: 'false', N8N_SECURE_COOKIE: 'false',
	};
	await mkdir(path.join(dir, 'in'));
	await writeFile(path.join(dir, 'in/credentials.json'), JSON.stringify([
		{ id: 'countersignheader', name: 'Countersign header', type: 'httpHeaderAuth', data: { name: 'X-Exec-Token', value: header } },
		{ id: 'countersignsigning', name: 'Countersign signing secret', type: 'crypto', data: { hmacSecret: text } },
	]));
	await command('import:credentials', `--input=${path.join(dir, 'in/credentials.json')}`);
	for (const name of ['sync', 'callback']) {
		const file = path.join(root, `docs/n8n/${name}.json`);
		await command('import:workflow', `--input=${file}`);
		await command('publish:workflow', `--id=${JSON.parse(await readFile(file, 'utf8')).id}`);
	}
	postbox = await Receiver.start(() => ({ status: 202 })); // n8n posts its callbacks here; a test hands them on when it likes
	world = await World.start({ listen: `127.0.0.1:${own}`, args: ['--public-url', new URL(postbox.url).origin] });
	person = await world.person(['admin']);
});

after(async () => {
	await stop();
	await postbox?.stop();
	await world?.stop();
	if (dir) await removeTree(dir);
});

const sync = () => ({ url: `${url}/webhook/countersign-sync`, answer: 'command' });
const later = () => ({ url: `${url}/webhook/countersign-callback`, mode: 'callback', deadlineMs: 600000 });

async function tool(name, connection) {
	const c = await ok(world.admin.post('/api/v1/connections', { name, allow: ['127.0.0.0/8'], auth: 'header', authName: 'X-Exec-Token', authSecret: header, signingSecret: signing, ...connection }));
	const declared = await ok(world.admin.put(`/api/v1/connections/${c.id}/tools/${name}`, { title: name, description: 'Asks n8n.', effect: 'mutate', failure: 'Nothing happens.', inputSchema: { type: 'object' } }));
	return declared.tool;
}

const state = (id) => ok(world.admin.get(`/api/v1/proposals/${id}`));

async function approved(name, input) {
	const p = await ok(world.agent.post('/api/v1/proposals', { tool: name, input }));
	await world.approve(p, person);
	return p.proposalId;
}
async function apply(id) {
	await person.post(`/api/v1/proposals/${id}/apply`);
	return state(id);
}
const run = async (name, input) => apply(await approved(name, input));

test('EX-4 what n8n says while it starts, 200 and a page, is no answer: the outcome is unknown, and nothing is sent again', async () => {
	const asks = [await tool('startSync', sync()), await tool('startJson', { ...sync(), answer: 'json' }), await tool('startLater', later())];
	const nobody = await run(asks[0], { early: true });
	assert.deepEqual([nobody.state, nobody.attempt.outcome], ['failed', 'not_sent'], 'nobody listens yet');

	const ids = [];
	for (const name of asks) ids.push(await approved(name, { early: true }));
	await start(path.join(dir, 'new'));
	await until(async () => {
		const answer = await fetch(`${url}/webhook/countersign-sync`, { method: 'POST' }).catch(() => null);
		return answer?.status === 200 && /starting up/.test(await answer.text());
	}, 'the page that n8n shows while it starts', 300);
	for (const p of await Promise.all(ids.map(apply))) {
		assert.deepEqual([p.state, p.attempt.outcome, p.attempt.httpStatus], ['unknown', 'lost', 200], JSON.stringify(p));
		assert.match(p.attempt.why, /not JSON/);
	}
	await stop();

	await start();
	const live = await tool('live', sync());
	await until(async () => {
		const p = await run(live, { amount: 7 }); // nobody, its page, 503, 404 … and then an answer
		assert.ok(['failed', 'unknown', 'applied'].includes(p.state), JSON.stringify(p));
		if (p.state !== 'applied') assert.notEqual(p.attempt.outcome, 'done');
		return p.state === 'applied';
	}, 'n8n to be live', 300);
	for (const id of ids) {
		await refused(person.post(`/api/v1/proposals/${id}/apply`), 410, 'proposal_gone', /unknown/);
		assert.equal((await state(id)).state, 'unknown');
	}
	assert.equal(postbox.requests.length, 0, 'its workflow never heard of the one that it would have called back for');
});

test('EX-1 n8n takes an approved command with header auth, and answers at once; without the value it does not hear', async () => {
	const p = await run(await tool('n8nSync', sync()), { amount: 7 });
	assert.equal(p.state, 'applied', JSON.stringify(p));
	assert.deepEqual(p.result.result, { tool: 'n8nSync', got: { amount: 7 } });

	const stranger = await run(await tool('n8nStranger', { ...sync(), authSecret: 'another' }), {});
	assert.deepEqual([stranger.state, stranger.attempt.outcome, stranger.attempt.httpStatus], ['failed', 'refused', 403]);
});

/** A command that n8n has taken, and the callback that it has made, which waits in the postbox. */
async function called(name, input) {
	const before = postbox.requests.length, p = await run(name, input);
	assert.deepEqual([p.state, p.attempt.outcome], ['executing', 'waiting'], JSON.stringify(p));
	await until(() => postbox.requests.length > before, 'its callback', 300);
	assert.equal(postbox.requests.length, before + 1);
	return { id: p.proposalId, made: postbox.last };
}

const part = ({ headers }) => Object.fromEntries(['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headers[name]]));
const tell = (made, headers = part(made), body = made.body) => world.server.request('POST', made.url, { body, headers, check: false });

test("EX-2 n8n's callback counts once: a forged, altered, stale or unsigned one is refused before, a replayed one after", async () => {
	const { id, made } = await called(await tool('n8nLater', later()), { amount: 9 });
	const own = part(made), name = own['webhook-id'], now = Math.floor(Date.now() / 1000);
	const without = (header) => Object.fromEntries(Object.entries(own).filter(([key]) => key !== header));
	const altered = made.body.replace('"amount":9', '"amount":9000');
	assert.notEqual(altered, made.body);
	const bad = [
		['forged with another secret', signed(whsec('x'.repeat(32)), name, made.body)],
		['forged: a signature of the right form', { ...own, 'webhook-signature': `v1,${randomBytes(32).toString('base64')}` }],
		['its own signature under another id', { ...own, 'webhook-id': 'callback_another' }],
		['its own signature under a later time', { ...own, 'webhook-timestamp': String(Number(own['webhook-timestamp']) + 1) }],
		['its own signature over another body', own, altered],
		['stale, and signed by them', signed(signing, name, made.body, now - 3600)],
		['of the future, and signed by them', signed(signing, name, made.body, now + 3600)],
		['unsigned', without('webhook-signature')],
		['without its time', without('webhook-timestamp')],
		['without its id', without('webhook-id')],
		['signed with nothing', { ...own, 'webhook-signature': '' }],
		['of a version that is none', { ...own, 'webhook-signature': sign(signing, name, own['webhook-timestamp'], made.body).replace('v1,', 'v0,') }],
	];
	for (const [what, headers, body] of bad) {
		const answer = await tell(made, headers, body);
		assert.deepEqual([answer.status, answer.json.code], [401, 'unauthenticated'], `${what}: ${answer.text}`);
		assert.equal((await state(id)).state, 'executing', what);
	}
	await refused(tell({ ...made, url: `/callbacks/${'0'.repeat(64)}` }), 404, 'not_found');
	const kept = (await world.audit({ action: 'request.refused' })).filter((entry) => entry.resourceType === 'callback');
	assert.ok(kept.length >= bad.length, `${kept.length} refusals are on record`);

	assert.deepEqual((await ok(tell(made))).status, 'applied');
	const done = await state(id);
	assert.deepEqual([done.state, done.result], ['applied', { tool: 'n8nLater', got: { amount: 9 } }]);
	await refused(tell(made), 409, 'conflict'); // the same message again
	const no = JSON.stringify({ ...JSON.parse(made.body), status: 'refused', result: undefined });
	await refused(tell(made, signed(signing, 'callback_second', no), no), 409, 'conflict'); // a new one, signed by them
	assert.deepEqual(await state(id), done, 'nothing has changed');
});

test('EX-2 a callback that n8n signs with a secret that is not the connection\'s is refused, and so is one for another command', async () => {
	const stranger = await called(await tool('n8nForger', { ...later(), signingSecret: whsec('y'.repeat(32)) }), {});
	await refused(tell(stranger.made), 401, 'unauthenticated');
	assert.equal((await state(stranger.id)).state, 'executing');

	const name = await tool('n8nTwice', later()), one = await called(name, { n: 1 }), two = await called(name, { n: 2 });
	await refused(tell({ ...two.made, url: one.made.url }), 409, 'conflict');
	assert.deepEqual([(await state(one.id)).state, (await state(two.id)).state], ['executing', 'executing']);
	for (const { id, made } of [two, one]) {
		await ok(tell(made));
		assert.equal((await state(id)).state, 'applied');
	}
});

test('EX-1 EX-2 docs/n8n.md does what it says, with an n8n of its own', async (t) => {
	const port = await freePort();
	await follow(t, 'n8n.md', { ports: { 5678: port }, env: { ...env, N8N_PORT: String(port), N8N_RUNNERS_BROKER_PORT: String(await freePort()) } });
});
