// SPDX-License-Identifier: Apache-2.0
// A page of docs/ does what it says: its ```sh blocks are run in order, in one shell, and what stands in the block right below is compared.
// Each of its lines must be in the output of that block, in this order; "…" stands for anything.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { closed, freePort, killAtExit, removeTree, temporaryDirectory } from './process.mjs';
import { lookAt } from './secret.mjs';
import { freshDatabase, onPostgres, program, root, sanitizer } from './server.mjs';

/** [{line, command, answer}] of a page. */
function stepsOf(text) {
	const blocks = [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
	return blocks.flatMap((b, i) => {
		if (b[1] !== 'sh') return [];
		const next = blocks[i + 1];
		const follows = next && next[1] === '' && text.slice(b.index + b[0].length, next.index).trim() === '';
		return [{ line: text.slice(0, b.index).split('\n').length, command: b[2], answer: follows ? next[2] : '' }];
	});
}

function compare(step, output, page) {
	let from = 0;
	for (const line of step.answer.split('\n').filter(Boolean)) {
		for (const piece of line.split('…').map((p) => p.trim())) {
			const at = output.indexOf(piece, from);
			assert.notEqual(at, -1, `${page}:${step.line} does not answer ${piece}\nbut, from there on:\n${output.slice(from)}`);
			from = at + piece.length;
		}
	}
}

/**
 * A place for a page's commands: a directory, a database, a port, and the environment in which they find the program. All of it is
 * gone at the end of the test, and before that whatever was started there.
 */
export async function pagePlace(t, more = {}) {
	const place = { port: await freePort(), dir: await temporaryDirectory(), database: await freshDatabase() };
	t.after(async () => {
		await removeTree(place.dir); // first, because what was started there uses the database
		await place.database.drop();
	});
	const env = Object.fromEntries(Object.entries(process.env).filter(([n]) => !n.startsWith('COUNTERSIGN_')));
	Object.assign(env, more, { PATH: `${path.dirname(program)}:${env.PATH}`, COUNTERSIGN_LISTEN: `127.0.0.1:${place.port}` });
	if (onPostgres) env.COUNTERSIGN_DATABASE = place.database.url;
	return { ...place, env };
}

/** Runs a script there to its end. What it has left in the background is ended and waited for: by then its files are whole. */
export async function runScript({ dir, env }, text, seconds) {
	await writeFile(path.join(dir, 'page.sh'), `set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n${text}`);
	const child = spawn('bash', ['page.sh'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
	killAtExit(child);
	let out = '', err = '';
	child.stdout.setEncoding('utf8').on('data', (s) => (out += s));
	child.stderr.setEncoding('utf8').on('data', (s) => (err += s));
	const [code] = await closed(child, 'the page', seconds).catch((error) => assert.fail(`${error.message}; it said so far:\n${out}${err}`));
	for (const name of await readdir(dir, { recursive: true })) {
		if (!/(^|\/)serve[r]?\.log$/.test(name)) continue;
		const log = await readFile(path.join(dir, name), 'utf8');
		assert.doesNotMatch(log, sanitizer, name);
		lookAt(name, log);
	}
	return { code, out, err };
}

/**
 * One shell for the whole page, in a directory of its own; a mark between the blocks tells their outputs apart. ports: which become of those
 * of others that the page names; env: more than the program itself needs.
 */
export async function follow(t, name, { ports = {}, env: more = {} } = {}) {
	const page = `docs/${name}`;
	const place = await pagePlace(t, more), { dir, env, port } = place;
	let text = (await readFile(path.join(root, page), 'utf8')).replaceAll('127.0.0.1:7700', `127.0.0.1:${port}`).replaceAll('../docs/', `${root}/docs/`);
	for (const [named, other] of Object.entries(ports)) text = text.replaceAll(named, other);
	const steps = stepsOf(text);
	const script = steps.map((s, i) => `${s.command}\nprintf '\\n=== end of ${i}\\n'\n`).join('');
	const { code, out, err } = await runScript(place, script, 600);
	const outputs = out.split(/\n=== end of \d+\n/);
	steps.forEach((s, i) => compare(s, outputs[i] ?? '', page));
	assert.equal(code, 0, `${page} ends with ${code}: ${err}`);
	assert.equal(outputs.length, steps.length + 1, `${page}: not every block was run`);
	assert.ok(steps.length > 3, `${page} has its commands`);
	await secretsStay(path.join(dir, path.basename(name, '.md'), 'first.json'), steps[0].command.split('\n')[0], { cwd: dir, env });
}

/** Who begins a page again loses nothing by it, and nobody else can read the secrets. */
async function secretsStay(file, line, options) {
	const before = await readFile(file, 'utf8');
	assert.match(before, /"adminToken":"cs_pat_/);
	assert.equal((await stat(file)).mode & 0o077, 0, `${file} is for its owner only`);
	const child = spawn('bash', ['-c', line], { ...options, stdio: 'ignore' });
	const [code] = await closed(child, line);
	assert.notEqual(code, 0, line);
	assert.equal(await readFile(file, 'utf8'), before);
}
