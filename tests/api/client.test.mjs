// SPDX-License-Identifier: Apache-2.0
// CLI-1: token, propose, proposals, approve, deny and apply of the real program against a real server, and against
// servers that lie.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { program, run, startSetUp, temporaryDirectory } from './lib/server.mjs';

/** A mistake on the command line: one line on standard error, exit code 2. */
async function assertMistake(args, pattern, options) {
	const { code, stdout, stderr } = await run(args, options);
	assert.equal(code, 2, stderr);
	assert.equal(stdout, '');
	assert.match(stderr, /^countersign: [^\n]+\n$/);
	assert.match(stderr, pattern);
}

/** Something that did not work: one line on standard error, exit code 1. */
async function assertFailure(args, pattern, options) {
	const result = await run(args, options);
	assert.equal(result.code, 1, result.stdout + result.stderr);
	assert.match(result.stderr, /^countersign: [^\n]+\n$/);
	assert.match(result.stderr, pattern);
	return result;
}

const note = (title = 'Hello') => ['propose', 'note.create', '--input', JSON.stringify({ title, text: 'World' })];

describe('client', () => {
	let server, as, agent, admin;
	before(async () => {
		server = await startSetUp();
		as = (token) => ({ env: { COUNTERSIGN_SERVER: server.url, COUNTERSIGN_TOKEN: token } });
		agent = as(server.first.agentToken);
		admin = as(server.first.adminToken);
	});
	after(() => server?.stop());

	const propose = async (...more) => {
		const { code, stdout, stderr } = await run([...note(), '--json', ...more], agent);
		assert.equal(code, 0, stderr);
		return JSON.parse(stdout);
	};

	test('mint, list and revoke a token', async () => {
		const minted = await run(['token', 'mint', 'for voting', '--voting', '--json'], admin);
		assert.equal(minted.code, 0, minted.stderr);
		const { token, id } = JSON.parse(minted.stdout);
		const listed = await run(['token', 'list'], admin);
		assert.match(listed.stdout, /^ID +STATE +HINT +LEVEL +EXPIRES +FOR +NAME\n/);
		assert.match(listed.stdout, new RegExp(`^${id} +minted .* for voting$`, 'm'));
		assert.ok(!listed.stdout.includes(token));
		assert.equal(JSON.parse((await run(['token', 'list', '--json'], as(token))).stdout).items.some((t) => t.id === id), true);
		assert.match((await run(['token', 'revoke', id], admin)).stdout, /^Revoked: 1/);
		await assertFailure(['token', 'list'], /\(unauthenticated\); give a token that is valid/, as(token));
	});

	test('mint takes an agent’s name where only one has it', async () => {
		const twin = async () => (await server.as(server.first.adminToken).post('/api/v1/agents', { name: 'Night builds' })).json.id;
		const id = await twin();
		const minted = JSON.parse((await run(['token', 'mint', 'x', '--for', 'Night builds', '--json'], admin)).stdout);
		assert.equal(minted.principalId, id);
		await assertFailure(['token', 'mint', 'x', '--for', 'Nobody'], /\(not_found\)/, admin);
		await twin();
		await assertMistake(['token', 'mint', 'x', '--for', 'Night builds'], /more than one agent has this name; give its id/, admin);
	});

	test('mint says what it made, and takes lists and numbers', async () => {
		const { token } = JSON.parse((await run(['token', 'mint', 'x', '--json'], admin)).stdout);
		const { principalId } = (await server.as(server.first.adminToken).get('/api/v1/tokens')).json.items.find((t) => t.principalKind === 'agent');
		const made = await run(['token', 'mint', 'narrow', '--for', principalId, '--level', 'observer', '--keys', 'payments.*, web', '--environments', 'all', '--cidrs', '10.0.0.0/8', '--ttl', '7200'], as(token));
		assert.equal(made.code, 0, made.stderr);
		assert.match(made.stdout, /^Token +cs_\S+\n +It is shown here and never again\.\nId +\S+\nName +narrow\nFor +First agent \(agent\)\nExpires +\S+Z\n/);
		const { items } = JSON.parse((await run(['token', 'list', '--json'], admin)).stdout);
		const narrow = items.find((t) => t.name === 'narrow');
		assert.deepEqual(narrow.keys, ['payments.*', 'web']);
		assert.deepEqual(narrow.cidrs, ['10.0.0.0/8']);
		assert.equal(narrow.level, 'observer');
		await assertFailure(['token', 'mint', 'short', '--ttl', '1'], /\/ttlSeconds must be at least 3600 \(invalid_request\)/, admin);
		await assertMistake(['token', 'mint', 'short', '--ttl', 'soon'], /--ttl is a number/, admin);
		await assertFailure(['token', 'revoke', '../tokens'], /not_found/, admin);
		for (const words of [[], ['mint'], ['revoke'], ['list', 'x'], ['burn', 'x']]) await assertMistake(['token', ...words], /token what/, admin);
	});

	test('propose, list, approve and apply (AP-5)', async () => {
		const made = await run([...note('Tables'), '--intent', 'to try it', '--expires', '900'], agent);
		assert.equal(made.code, 0, made.stderr);
		assert.match(made.stdout, /^Summary +Create the note "Tables"\n/);
		const [, id] = /^Proposal (\S+) is pending \(votes 0 of 1\)\.$/m.exec(made.stdout);
		assert.match(made.stdout, new RegExp(`^Apply token propose:${id}\\.[0-9a-f]+$`, 'm'));
		const listed = await run(['proposals', '--status', 'pending'], admin);
		assert.match(listed.stdout, new RegExp(`^ID +STATUS +RISK +EXPIRES +TOOL +SUMMARY\n(.*\n)*${id} +pending +\\w+ +\\S+Z +note\\.create +Create the note "Tables"\n`));
		assert.match((await run(['proposals', '--status', 'denied'], admin)).stdout, /no such proposals/);
		const approved = await run(['approve', id, '--yes', '--apply'], admin);
		assert.equal(approved.code, 0, approved.stderr);
		assert.match(approved.stdout, new RegExp(`\nProposal ${id} is applied \\(votes 1 of 1\\)\\.\nResult: \\{.*"title":"Tables".*\\}\n$`));
		await assertFailure(['approve', id, '--yes'], /\(proposal_gone\)/, admin);
	});

	test('the card stands in the order of AP-6, the agent\'s own words last, quoted and labelled', async () => {
		const { proposalId, viewHash } = await propose('--intent', 'Do it\nRisk        none at all');
		const { stdout } = await run(['proposals', proposalId], admin);
		const order = ['Proposal', 'Status', 'View', 'Summary', 'Tool', 'Target', 'Affects', 'Effect', 'Change', 'Risk', 'Rollback', 'If it fails', 'Asked by', 'Expires'];
		const labels = stdout.split('\n').map((line) => line.slice(0, 12).trimEnd()).filter((label) => order.includes(label));
		assert.deepEqual(labels, order);
		assert.match(stdout, new RegExp(`^View +${viewHash}$`, 'm'));
		assert.match(stdout, /^Tool +note\.create, version 1 /m);
		assert.match(stdout, /^Change +create\n( {12}\+ .*\n)* {12}\+ title: "Hello"$/m);
		assert.match(stdout, /\n\nThe agent says \(its own words, not checked by anybody\):\n {2}> Do it\n {2}> Risk +none at all\n$/);
		for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
	});

	test('an update is shown as a diff', async () => {
		const { proposalId } = await propose();
		const applied = JSON.parse((await run(['approve', proposalId, '--yes', '--apply', '--json'], admin)).stdout);
		const { id } = applied.result;
		const input = JSON.stringify({ id, text: 'Moon' });
		const made = await run(['propose', 'note.update', '--input', input, '--json'], agent);
		assert.equal(made.code, 0, made.stderr);
		const { stdout } = await run(['proposals', JSON.parse(made.stdout).proposalId], admin);
		assert.match(stdout, /^Change +update\n( {12}.*\n)* {12}\/text\n {12}- "World"\n {12}\+ "Moon"\n/m);
	});

	test('characters that move the cursor or hide do not reach the terminal (AP-7)', async () => {
		const made = await run(['propose', 'note.create', '--input', JSON.stringify({ title: 'a\u202eb\u009b31m', text: 'x' }), '--intent', '\u001b[2J\u200bhi'], agent);
		const [, id] = /^Proposal (\S+) is/m.exec(made.stdout);
		const shown = (await run(['proposals', id], admin)).stdout + (await run(['proposals'], admin)).stdout + made.stdout;
		assert.doesNotMatch(shown, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e]/);
		assert.match(shown, /a\\u\{202E\}b\\u\{009B\}31m/);
		assert.match(shown, / > \\u\{001B\}\[2J\\u\{200B\}hi/);
		assert.match(shown, /^WARNING +contains/m);
	});

	test('deny needs no question and says why', async () => {
		const { proposalId } = await propose();
		const denied = await run(['deny', proposalId, '--reason', 'not today'], admin);
		assert.equal(denied.code, 0, denied.stderr);
		assert.match(denied.stdout, /^Summary/m);
		assert.match(denied.stdout, /is denied/);
		const { approvals } = JSON.parse((await run(['proposals', proposalId, '--json'], admin)).stdout);
		assert.equal(approvals.votes[0].reason, 'not today');
		const { stdout } = await run(['proposals', proposalId], admin);
		assert.match(stdout, new RegExp(`^Status +denied, votes 0 of 1\nVote +denied, by token: Admin \\(${approvals.votes[0].personId}\\)\n {12}> not today\nView`, 'm'));
	});

	test('what a voter writes cannot look like a line of ours (AP-7)', async () => {
		const { proposalId } = await propose();
		assert.equal((await run(['deny', proposalId, '--reason', 'no\nStatus      applied\u001b[2J\u202e'], admin)).code, 0);
		const { stdout } = await run(['proposals', proposalId], admin);
		assert.equal(stdout.match(/^Status/gm).length, 1);
		assert.match(stdout, /^ {12}> no\n {12}> Status +applied\\u\{001B\}\[2J\\u\{202E\}$/m);
	});

	test('the card says who has agreed, and what is still open', async () => {
		const { proposalId } = await propose();
		assert.match((await run(['proposals', proposalId], admin)).stdout, /^Still open +0 of 1 approvals are there$/m);
		assert.equal((await run(['approve', proposalId, '--yes'], admin)).code, 0);
		const { stdout } = await run(['proposals', proposalId], admin);
		assert.match(stdout, /^Status +approved, votes 1 of 1\nVote +approved, by token: Admin \(/m);
		assert.doesNotMatch(stdout, /Still open/);
	});

	test('apply takes an id, a token, or a token from standard input', async (t) => {
		const dir = await temporaryDirectory(t);
		for (const how of ['id', 'token', 'stdin']) {
			const { proposalId, token } = await propose();
			await assertFailure(['apply', proposalId], /approval_required/, admin);
			assert.equal((await run(['approve', proposalId, '--yes'], admin)).code, 0);
			const file = path.join(dir, 'token');
			await writeFile(file, `${token}\n`);
			const applied = await run(['apply', { id: proposalId, token, stdin: '-' }[how]], { ...admin, first: `exec <${file}` });
			assert.equal(applied.code, 0, applied.stderr);
			assert.match(applied.stdout, /is applied/);
			await assertFailure(['apply', token], /proposal_gone/, admin);
		}
	});

	test('input comes as text, from a file or from standard input, with its numbers as they are', async (t) => {
		const file = path.join(await temporaryDirectory(t), 'input.json');
		await writeFile(file, '{"title": "From a file", "text": "x"}');
		for (const input of [`@${file}`, '-', await readFile(file, 'utf8')]) {
			const made = await run(['propose', 'note.create', '--input', input, '--json'], { ...agent, first: `exec <${file}` });
			assert.equal(JSON.parse(made.stdout).payload.title, 'From a file', made.stderr);
		}
		await assertFailure(['propose', 'note.create', '--input', `@${file}.none`], /cannot be read: No such file/, agent);
		await assertMistake(['propose', 'note.create', '--input', '{title: 1}'], /--input is not JSON: .*line 1/, agent);
		await writeFile(file, 'x'.repeat(1100000));
		await assertMistake(['propose', 'note.create', '--input', `@${file}`], /larger than/, agent);
		await assertMistake(['propose', 'note.create', '--expires', 'soon'], /--expires is a number/, agent);
		await assertMistake(['propose'], /the name of a tool: `countersign propose TOOL`/, agent);
	});

	test('the same key is one proposal', async () => {
		const first = await propose('--key', 'build-17'), second = await propose('--key', 'build-17');
		assert.equal(second.proposalId, first.proposalId);
		await assertFailure(['propose', 'note.create', '--input', '{"title":"o","text":"o"}', '--key', 'build-17'], /idempotency_collision/, agent);
	});

	test('what the server refuses is one sentence with its code and what was wrong where', async () => {
		await assertFailure(['propose', 'note.create'], /\/title is required; \/text is required \(invalid_request\)/, agent);
		await assertFailure(['propose', 'nothing.there'], /no tool called "nothing\.there" \(not_found\)/, agent);
		await assertFailure(['proposals', 'nothing'], /not_found/, admin);
		await assertFailure(['proposals', '--status', 'odd&tool=x'], /\/status.*\(invalid_request\)/, admin);
		const { proposalId } = await propose();
		const { stdout } = await run(['approve', proposalId, '--yes', '--json'], agent); // agents never vote
		assert.equal(JSON.parse(stdout).code, 'forbidden');
		await assertFailure(['token', 'list', '--json'], /unauthenticated/, as('cs_pat_nonsense'));
	});

	test('--json is the server\'s answer as it is', async () => {
		const { proposalId } = await propose();
		const { text } = await server.as(server.first.adminToken).get(`/api/v1/proposals/${proposalId}`);
		assert.equal((await run(['proposals', proposalId, '--json'], admin)).stdout, `${text}\n`);
		const voted = await run(['approve', proposalId, '--yes', '--json'], admin);
		assert.equal(JSON.parse(voted.stdout).status, 'approved');
		assert.match(voted.stderr, /^Summary +Create the note/m); // a vote is about what was shown
	});

	test('approve asks on a terminal, and only yes is a yes', async () => {
		const { proposalId } = await propose();
		await assertMistake(['approve', proposalId], /on a terminal.*--yes/, admin);
		await assertMistake(['approve'], /the id of a proposal/, admin);
		const no = await onTerminal(['approve', proposalId], 'no\n', admin.env);
		assert.equal(no.code, 1);
		assert.match(no.output, /Approve exactly this\? Type yes: /);
		assert.match(no.output, /nothing was decided/);
		assert.equal(JSON.parse((await run(['proposals', proposalId, '--json'], admin)).stdout).approvals.valid, 0);
		const yes = await onTerminal(['approve', proposalId], 'yes\n', admin.env);
		assert.equal(yes.code, 0, yes.output);
		assert.match(yes.output, /is approved \(votes 1 of 1\)/);
	});

	test('what was done is in the audit log', async () => {
		const { proposalId } = await propose();
		assert.equal((await run(['approve', proposalId, '--yes', '--apply'], admin)).code, 0);
		const database = server.database; // SQLite has one owner
		await server.stop({ keep: true });
		server = null;
		const { code, stdout, stderr } = await run(['audit', 'tail', '--json', ...database.flags]);
		await database.drop();
		assert.equal(code, 0, stderr);
		const entries = stdout.trimEnd().split('\n').map((line) => JSON.parse(line)).filter((entry) => JSON.stringify(entry).includes(proposalId));
		assert.ok(entries.length >= 3, stdout); // proposed, approved, applied
	});
});

/** Runs the program on a terminal of its own and types the text when it is asked. */
async function onTerminal(args, typed, env) {
	const script = [
		'import os, pty, sys',
		'pid, fd = pty.fork()',
		'if pid == 0: os.execv(sys.argv[2], sys.argv[2:])',
		'seen = b""',
		'while True:',
		'    try: piece = os.read(fd, 4096)',
		'    except OSError: break',
		'    if not piece: break',
		'    before = b"Type yes: " in seen',
		'    seen += piece',
		'    if not before and b"Type yes: " in seen: os.write(fd, sys.argv[1].encode())',
		'sys.stdout.buffer.write(seen)',
		'sys.stdout.flush()',
		'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
	].join('\n');
	const child = spawn('python3', ['-c', script, typed, program, ...args], { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
	let output = '';
	child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
	const [code] = await once(child, 'close');
	return { code, output };
}

/** A server that answers as it is told, and remembers what it was asked. */
async function pretender(t, answer) {
	const asked = [];
	const server = http.createServer((request, response) => {
		asked.push({ method: request.method, url: request.url, authorization: request.headers.authorization });
		answer(request, response);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	t.after(() => (server.closeAllConnections(), server.close()));
	return { asked, env: { COUNTERSIGN_SERVER: `http://127.0.0.1:${server.address().port}`, COUNTERSIGN_TOKEN: 'cs_pat_geheim' } };
}
const json = (response, status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

test('a card that is not the one its viewHash names gets no vote', async (t) => {
	const { asked, env } = await pretender(t, (request, response) => json(response, 200, { proposalId: 'p', status: 'pending', viewHash: 'a'.repeat(64), card: { summary: 'harmless' } }));
	for (const command of [['approve', 'p', '--yes'], ['deny', 'p']]) {
		const { stdout } = await assertFailure(command, /not the one that its viewHash names; nothing was decided/, { env });
		assert.equal(stdout, '');
	}
	assert.ok(asked.every(({ method }) => method === 'GET'));
});

test('a vote names the hash of the card that was printed; that it was not applied is exit code 1', async (t) => {
	const card = { summary: 'harmless' }, viewHash = createHash('sha256').update(JSON.stringify(card)).digest('hex');
	const bodies = [];
	const { env } = await pretender(t, async (request, response) => {
		let text = '';
		for await (const piece of request) text += piece;
		if (text) bodies.push(JSON.parse(text));
		const apply = { code: 'approval_required', message: 'one more vote' };
		json(response, 200, { proposalId: 'p', status: 'pending', viewHash, card, ...(request.method === 'POST' ? { apply } : {}) });
	});
	const { stdout } = await assertFailure(['approve', 'p', '--yes', '--apply'], /the vote counts, but it was not applied: one more vote \(approval_required\)/, { env });
	assert.match(stdout, /^Summary +harmless$/m);
	assert.deepEqual(bodies, [{ viewHash, apply: true }]);
});

test('the card names the teams that are asked, and votes beyond the number that is needed (AP-4)', async (t) => {
	const votes = [{ decision: 'approved', name: 'Ann\nVote', personId: 'a', counts: true }, { decision: 'approved', name: 'Bob', personId: 'b', counts: false }];
	const card = { approvers: [{ team: 'Finance', votes: 2 }, { team: 'Legal\u001b', votes: 1 }] };
	const { env } = await pretender(t, (request, response) => json(response, 200, { proposalId: 'p', status: 'approved', approvals: { valid: 2, needed: 1, votes }, card }));
	const { stdout } = await run(['proposals', 'p'], { env });
	assert.match(stdout, /^Approvers +2 of the team "Finance"\n {12}1 of the team "Legal\\u\{001B\}"$/m);
	assert.match(stdout, /^Status +approved, 2 votes, at least 1 needed\nVote +approved: Ann Vote \(a\)\nVote +approved, no longer counts: Bob \(b\)$/m);
	assert.match((await run(['apply', 'p'], { env })).stdout, /^Proposal p is approved \(2 votes, at least 1 needed\)\.$/m);
});

test('applying that fails is exit code 1', async (t) => {
	const { env } = await pretender(t, (request, response) => json(response, 200, { proposalId: 'p', status: 'failed', error: 'the disk\nis full' }));
	await assertFailure(['apply', 'p'], /ended as failed: the disk is full/, { env });
});

test('an answer with nothing in it is shown without harm', async (t) => {
	const { env } = await pretender(t, (request, response) => json(response, 200, {}));
	for (const command of [['proposals'], ['proposals', 'p'], ['token', 'list'], ['token', 'mint', 'x'], ['token', 'revoke', 'x'], ['propose', 'x'], ['apply', 'x']]) assert.equal((await run(command, { env })).code, 0, command.join(' '));
	await assertFailure(['approve', 'p', '--yes'], /sent no card/, { env });
	for (const odd of [{ card: 7 }, { card: { change: [], risk: 1, askedBy: 'x', warnings: 3 } }, { approvals: 1, risk: [] }, { approvals: { votes: [1, {}], valid: 'x' }, card: { approvers: [2, {}] } }]) {
		const { env: other } = await pretender(t, (request, response) => json(response, 200, odd));
		assert.equal((await run(['proposals', 'p'], { env: other })).code, 0);
	}
});

test('a list that goes on says how', async (t) => {
	const { asked, env } = await pretender(t, (request, response) => json(response, 200, { proposals: [{ proposalId: 'p', summary: 'two\nlines' }], nextCursor: 'c/1', items: [{ id: 't' }], next: 't' }));
	assert.match((await run(['proposals', '--status', 'pending'], { env })).stdout, /\np .* two lines\nThere are more: --cursor c\/1\n$/);
	assert.match((await run(['token', 'list'], { env })).stdout, /There are more: --after t\n$/);
	for (const command of [['proposals', '--cursor', 'c/1'], ['proposals', '--status', 'a&b', '--cursor', 'c/1'], ['token', 'list', '--after', 't']]) await run(command, { env });
	assert.deepEqual(asked.slice(2).map(({ url }) => url), ['/api/v1/proposals?cursor=c%2F1', '/api/v1/proposals?status=a%26b&cursor=c%2F1', '/api/v1/tokens?after=t']);
});

test('what is not Countersign is recognised', async (t) => {
	for (const [status, type, body] of [[200, 'text/html', '<html>'], [404, 'text/plain', 'nothing'], [500, 'application/json', '{}'], [200, 'application/json', '[]']]) {
		const { env } = await pretender(t, (request, response) => response.writeHead(status, { 'content-type': type }).end(body));
		await assertFailure(['proposals'], new RegExp(`is not Countersign \\(HTTP ${status}`), { env });
	}
	const { asked, env } = await pretender(t, (request, response) => response.writeHead(302, { location: '/elsewhere' }).end());
	await assertFailure(['proposals'], /is not Countersign/, { env });
	assert.equal(asked.length, 1); // the token does not follow a redirect
});

test('an error of the server\'s cannot draw on the terminal', async (t) => {
	const { env } = await pretender(t, (request, response) => json(response, 403, { code: 'forbidden', message: '\u001b[31mred\nsecond line' }));
	await assertFailure(['proposals'], /\\u\{001B\}\[31mred second line \(forbidden\)/, { env });
});

test('a connection that breaks after the request leaves it unknown', async (t) => {
	const { env } = await pretender(t, (request) => request.socket.destroy());
	await assertFailure(['apply', 'p'], /not known whether this took effect/, { env });
	await assertFailure(['proposals'], /no whole answer/, { env });
});

test('where no server is, it says what to do, and never the token', async () => {
	const env = { COUNTERSIGN_SERVER: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'cs_pat_geheim' };
	for (const command of [['proposals'], ['token', 'list'], note(), ['approve', 'x', '--yes'], ['deny', 'x'], ['apply', 'x']]) {
		const { stdout, stderr } = await assertFailure(command, /http:\/\/127\.0\.0\.1:1 cannot be reached .*`countersign serve`.*--server/, { env });
		assert.doesNotMatch(stdout + stderr, /geheim/);
	}
});

test('settings of the client that are none are refused, a token without being repeated', async () => {
	await assertMistake(['proposals'], /no token.*COUNTERSIGN_TOKEN/);
	for (const server of ['127.0.0.1:7700', 'ftp://x', 'http://', 'http://a?b', 'http://me:geheim@a', 'http:///x', 'http://a b'])
		await assertMistake(['proposals', '--server', server], /--server must be a URL/);
	for (const token of ['geheim geheim', 'geheim\nX: y', 'gehe\u00efm']) {
		const { code, stdout, stderr } = await run(['proposals'], { env: { COUNTERSIGN_TOKEN: token } });
		assert.equal(code, 2);
		assert.doesNotMatch(stdout + stderr, /gehe/);
	}
	await assertMistake(['serve', '--token', 'x'], /serve does not take --token/);
});

test('a token that is given as a flag does not stay in the command line', async (t) => {
	let arrived;
	const { asked, env } = await pretender(t, (request, response) => arrived(response));
	for (const flag of [['--token', 'cs_pat_other'], ['--token=cs_pat_other']]) {
		const held = new Promise((resolve) => (arrived = resolve));
		const child = spawn(program, ['proposals', ...flag], { env: { COUNTERSIGN_SERVER: env.COUNTERSIGN_SERVER }, stdio: 'ignore' });
		const response = await held;
		const line = (await readFile(`/proc/${child.pid}/cmdline`, 'utf8')).split('\0').join(' ');
		json(response, 200, {});
		child.kill();
		await once(child, 'close');
		assert.doesNotMatch(line, /cs_pat_other/);
		assert.match(line, /proposals --token.\*+/);
		assert.equal(asked.at(-1).authorization, 'Bearer cs_pat_other');
	}
});
