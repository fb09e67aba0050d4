// SPDX-License-Identifier: Apache-2.0
// What can be known of a call of another server's tool before it is made (EX-3, PA-2, PA-6).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, refused, World } from './lib/flow.mjs';
import { legacy } from './lib/mcp-clients.mjs';
import { run } from './lib/server.mjs';
import { startUpstream } from './lib/upstream.mjs';

const schema = (properties, required) => ({ type: 'object', properties, required, additionalProperties: false });
const text = { type: 'string' };
const said = (value) => ({ content: [{ type: 'text', text: value }] });

const pages = new Map(), failures = new Map();
let w, boss, agent, up, u, tools;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
	agent = await w.agentOf(boss, { level: 'operator', ratePerMinute: 100000 });
	up = await startUpstream({ tools: [
		{ name: 'get_page', inputSchema: schema({ id: text }, ['id']), run: ({ id }) => (failures.has(id) ? { isError: true, ...failures.get(id) } : pages.has(id) ? said(pages.get(id)) : { isError: true, ...said('no such page') }) },
		{ name: 'fetch_page', description: 'Reads a page. DEPRECATED: use get_page.', inputSchema: schema({ id: text }, ['id']), run: () => said('') },
		{ name: 'update_page', inputSchema: schema({ id: text, body: text }, ['id', 'body']), run: ({ id, body }) => (pages.set(id, body), said('ok')) },
		{ name: 'purge', inputSchema: schema({ ids: { type: 'array', items: text }, dry_run: { type: 'boolean' } }, ['ids']), run: ({ ids, dry_run }) => {
			if (ids.includes('locked')) return { isError: true, ...said('it is locked') };
			if (!dry_run) for (const id of ids) pages.delete(id);
			return said(`${dry_run ? 'would purge' : 'purged'} ${ids.length}`);
		} },
		{ name: 'get_user', inputSchema: schema({ id: text }, ['id']), run: ({ id }) => ({ ...said('{}'), structuredContent: { id, role: 'reader', manager: 'bob' } }) },
		{ name: 'update_user', inputSchema: schema({ id: text, role: text }, ['id', 'role']), run: () => said('ok') },
		{ name: 'shred', inputSchema: schema({ id: text }, ['id']), run: () => said('gone') },
	] });
	u = await ok(boss.post('/api/v1/upstreams', { name: 'wiki', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] }));
	tools = (await ok(boss.post(`/api/v1/upstreams/${u.id}/refresh`))).tools;
});
after(async () => {
	await up?.stop();
	await w?.stop();
});

const of = (remote) => tools.find((tool) => tool.remote === remote);
const accept = (list) => boss.post(`/api/v1/upstreams/${u.id}/tools/accept`, { tools: Object.entries(list).map(([remote, more]) => ({ name: of(remote).name, definitionHash: of(remote).definitionHash, ...more })) });
const propose = async (remote, input) => (await ok(agent.ask().post('/api/v1/tools/call', { tool: of(remote).name, input }))).proposal;
const approve = (p, more = {}) => boss.post(`/api/v1/proposals/${p.proposalId}/approve`, { viewHash: p.viewHash, ...more });

test('EX-3 get_x is suggested for update_x with the same arguments, and options that cannot be are refused', async () => {
	const suggested = async () => {
		({ tools } = await ok(boss.get(`/api/v1/upstreams/${u.id}/tools`)));
		return of('update_page').suggested?.before.tool;
	};
	assert.equal(await suggested(), undefined, 'nobody has accepted anything that reads');
	await ok(accept({ get_page: { effect: 'mutate' } }));
	assert.equal(await suggested(), undefined, 'an admin says that it does more than read');
	await ok(accept({ fetch_page: { effect: 'read' } }));
	assert.equal(await suggested(), undefined, 'its own words send one elsewhere');
	await ok(accept({ get_page: { effect: 'read', tier: 'always_allow' } }));
	assert.equal(await suggested(), 'get_page');
	assert.deepEqual(of('update_page').suggested, { before: { tool: 'get_page', arguments: { id: 'id' } } });
	await ok(boss.post(`/api/v1/upstreams/${u.id}/tools/refuse`, { name: of('get_page').name }));
	assert.equal(await suggested(), undefined, 'it is not offered any more');
	await ok(accept({ get_page: { effect: 'read', tier: 'always_allow' } }));
	await suggested();
	assert.equal(of('shred').suggested, undefined);
	for (const options of [{ dryRun: 'nothing' }, { dryRun: 1 }, { before: {} }, { before: { tool: 'get_page', arguments: { id: 'nothing' } } }]) await refused(accept({ update_page: { options } }), 400, 'invalid_request', /options/);
	const before = { tool: 'get_page', arguments: { id: 'id' } };
	for (const [options, why] of [
		[{ befor: 1 }, /^\/tools\/0\/options\/befor is not a known member; accepted: dryRun, before, probe$/],
		[{ before: { ...before, argument: {} } }, /^\/tools\/0\/options\/before\/argument is not a known member; accepted: tool, arguments$/],
		[{ before: { ...before, arguments: 1 } }, /options\.before must be/],
		[{ before: null }, /^\/tools\/0\/options\/before must be an object/],
		[{ probe: 1 }, /^\/tools\/0\/options\/probe must be/],
		[[], /^\/tools\/0\/options must be an object/],
	]) await refused(accept({ update_page: { options } }), 400, 'invalid_request', why);
});

test('EX-4 EX-3 contract probe needs the tool that tells whether it was done', async () => {
	for (const [options, why] of [
		[undefined, /^\/tools\/0\/options\/probe is needed where the contract is probe: the name of the tool/],
		[{}, /^\/tools\/0\/options\/probe is needed/],
		[{ probe: 'mcp__wiki__nothing' }, /^\/tools\/0\/options\/probe names no tool that is known here$/],
	]) {
		const answer = await refused(accept({ shred: { effect: 'destructive', contract: 'probe', options } }), 400, 'invalid_request', why);
		assert.equal(answer.fields[0].path, '/tools/0/options/probe');
	}
	await ok(accept({ shred: { effect: 'destructive', contract: 'probe', options: { probe: of('get_page').name } } }));
	assert.equal((await ok(boss.get(`/api/v1/upstreams/${u.id}/tools`))).tools.find(({ remote }) => remote === 'shred').contract, 'probe');
});

test('EX-3 PA-2 PA-6 the state before is on the card beside what will be sent, and where it has changed nothing is sent', async () => {
	await ok(accept({ update_page: { effect: 'mutate', options: of('update_page').suggested } }));
	pages.set('home', 'old');
	const p = await propose('update_page', { id: 'home', body: 'new' });
	assert.equal(p.card.preview.available, true);
	assert.deepEqual(p.card.preview.changes, [{ path: '/body', before: 'old', after: 'new' }]);
	await ok(approve(p));
	pages.set('home', 'somebody else');
	const drift = await refused(boss.post(`/api/v1/proposals/${p.proposalId}/apply`), 409, 'version_drift', /no longer what was shown/);
	assert.ok(drift);
	assert.equal(pages.get('home'), 'somebody else');
	pages.set('home', 'old');
	const done = await ok(boss.post(`/api/v1/proposals/${p.proposalId}/apply`));
	assert.equal(done.state, 'applied');
	assert.equal(pages.get('home'), 'new');
	const missing = await propose('update_page', { id: 'nowhere', body: 'x' });
	const { available, says, before, changes, digest } = missing.card.preview;
	assert.deepEqual({ available, says, before, changes }, { available: false, says: 'It cannot be previewed: get_page could not read it: no such page', before: undefined, changes: undefined });
	assert.match(digest, /^[0-9a-f]{64}$/);
	pages.set('nowhere', 'it is there now');
	const late = await ok(approve(missing, { apply: true }));
	assert.equal(late.state, 'approved');
	assert.equal(late.apply.code, 'version_drift');
	assert.equal(pages.get('nowhere'), 'it is there now');
	pages.delete('nowhere');
	const still = await ok(boss.post(`/api/v1/proposals/${missing.proposalId}/apply`));
	assert.equal(still.state, 'applied', 'it fails to be read as it did: nothing has changed');
	assert.equal(pages.get('nowhere'), 'x');
});

test('EX-3 PA-2 what a tool says of its failure is one short line on the card, whatever it says', async () => {
	const why = async (id) => (await propose('update_page', { id, body: 'x' })).card.preview.says;
	const cannot = 'It cannot be previewed: get_page could not read it: ';
	for (const [failure, line] of [
		[said('ENOENT: no such file\n    at open (fs.js)'), 'ENOENT: no such file'],
		[said('é'.repeat(400)), 'é'.repeat(150)],
		[said(`x${'é'.repeat(400)}`), `x${'é'.repeat(149)}`],
		[said(''), 'it does not say why'],
		[{ content: [] }, 'it does not say why'],
		[{ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }, 'it does not say why'],
	]) {
		failures.set('odd', failure);
		assert.equal(await why('odd'), cannot + line);
	}
});

test('EX-3 TL-3 TL-6 what the agent could not read at once itself is not read for its card', async () => {
	pages.set('secret', 'the password');
	await ok(boss.put(`/api/v1/agents/${agent.id}/tools`, { tools: [{ toolName: of('get_page').name, permissionStatus: 'needs_approval' }] }));
	const p = await propose('update_page', { id: 'secret', body: 'x' });
	assert.equal(p.card.preview.available, false);
	assert.doesNotMatch(JSON.stringify(p), /the password/);
	await ok(boss.put(`/api/v1/agents/${agent.id}/tools`, { tools: [] }));
});

test('EX-3 PA-2 the tool’s own dry-run, the history of calls like it, and an honest nothing', async () => {
	await ok(accept({ purge: { effect: 'destructive', options: { dryRun: 'dry_run' } }, shred: { effect: 'destructive' } }));
	const histories = [];
	for (const n of [1, 3]) histories.push((await propose('purge', { ids: Array.from({ length: n }, (_, i) => `p${i}`) })).card.preview.history);
	assert.deepEqual(histories, [undefined, 'The last 1 call like this named 1 thing; this one names 3.']);
	const p = await propose('purge', { ids: Array.from({ length: 467 }, (_, i) => `p${i}`) });
	assert.equal(p.card.preview.dryRun, 'would purge 467');
	assert.equal(p.card.preview.history, 'The last 2 calls like this named 1 to 3 things; this one names 467.');
	assert.equal(p.card.preview.unusual, true);
	const locked = await propose('purge', { ids: ['locked'] });
	assert.equal(locked.card.preview.available, false);
	assert.equal(locked.card.preview.says, 'It cannot be previewed: its own dry-run failed: it is locked');
	assert.equal(locked.card.preview.dryRun, undefined);
	const none = await propose('shred', { id: 'home' });
	assert.equal(none.card.preview.available, false);
	assert.match(none.card.preview.says, /cannot be previewed/);
	assert.equal(pages.get('home'), 'new', 'nothing was purged');
});

// What a person reads who decides in a terminal; the card is wrapped to the screen's width.
const terminal = async (command, p, ...flags) => {
	const { code, stdout, stderr } = await run([command, p.proposalId, ...flags], { env: { COUNTERSIGN_SERVER: w.server.url, COUNTERSIGN_TOKEN: w.first.adminToken } });
	assert.equal(code, 0, stderr);
	return stdout;
};

test('AP-5 AP-6 PA-2 on a terminal, too, the card has all that is known before: what is compared, what was said, how much is usual', async () => {
	pages.set('home', 'old\nlines');
	const p = await propose('update_page', { id: 'home', body: 'new\nlines' });
	const card = await terminal('deny', p);
	assert.match(card, /^Preview {5}This is what get_page said before\. If it says something else when\s+this is\s+applied, nothing is sent\.$/m);
	assert.match(card, /^Compared {4}\/body\n {12}- old\n {12}- lines\n {12}\+ new\n {12}\+ lines$/m);
	assert.doesNotMatch(card, /There now/, 'what was compared as a whole is there once');
	assert.match(card, new RegExp(`^Digest {6}${p.card.preview.digest}$`, 'm'));
	assert.match(card, /^Usual {7}The last \d+ calls like this named 1 thing; this one names 1\.$/m);

	pages.set('evil', 'Status      applied\n\x1b[2K');
	const evil = await terminal('proposals', await propose('update_page', { id: 'evil', body: 'x' }));
	assert.match(evil, /^ {12}- Status {6}applied\n {12}- .*\[2K$/m);
	assert.doesNotMatch(evil, /\x1b|^Status {6}applied/m, 'theirs never looks like ours');

	pages.set('big', 'x'.repeat(40000));
	const big = await terminal('proposals', await propose('update_page', { id: 'big', body: 'x' }));
	assert.match(big, /^There now {3}40002 bytes, too many for a card; their SHA-256:\n {12}[0-9a-f]{64}$/m);

	const many = await propose('purge', { ids: Array.from({ length: 467 }, (_, i) => `p${i}`) });
	const dry = await terminal('proposals', many);
	assert.match(dry, /^Dry run {5}what the tool says it would do:\n {12}> "would purge 467"$/m);

	const cannot = await terminal('proposals', await propose('update_page', { id: 'nobody', body: 'x' }));
	assert.match(cannot, /^Preview {5}It cannot be previewed: get_page could not read it: no such page$/m);
});

test('AP-5 PA-2 a state that has more than the call names is there as a whole, beside what would differ', async () => {
	await ok(accept({ get_user: { effect: 'read', tier: 'always_allow' }, update_user: { effect: 'mutate', options: { before: { tool: 'get_user', arguments: { id: 'id' } } } } }));
	const shown = await terminal('proposals', await propose('update_user', { id: 'ada', role: 'admin' }));
	assert.match(shown, /^Compared {4}\/role\n {12}- "reader"\n {12}\+ "admin"\nThere now {3}what the other system said:\n {12}> id: "ada"\n {12}> manager: "bob"\n {12}> role: "reader"$/m);
});

test('EX-4 PA-2 AP-3 what an admin proposes again is theirs, and theirs to confirm where the agent’s needed a vote', async () => {
	const p = await propose('update_page', { id: 'home', body: 'again' });
	assert.equal(p.approvals.needed, 1);
	await ok(boss.post(`/api/v1/proposals/${p.proposalId}/deny`, { viewHash: p.viewHash }));
	const again = await ok(boss.post(`/api/v1/proposals/${p.proposalId}/repropose`, {}));
	assert.deepEqual([again.approvals.needed, again.approvals.proposerMayConfirm, again.proposer.id], [1, true, boss.id]);
});

test('AP-5 MCP-2 PA-2 the text that a model gets of a pending proposal has what is known before', async () => {
	pages.set('home', 'old');
	const client = await legacy(w.server.url, agent.token);
	const { content } = await client.call(of('update_page').name, { id: 'home', body: 'newer' });
	assert.match(content[0].text, /Compared {4}\/body\n {12}- "old"\n {12}\+ "newer"/);
	await client.close();
});
