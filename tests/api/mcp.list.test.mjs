// SPDX-License-Identifier: Apache-2.0
// tools/list: pages are kept ready for whoever has the same rights, and nobody gets another's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ok, World } from './lib/flow.mjs';
import { ask } from './lib/mcp-clients.mjs';

let w, boss;
before(async () => {
	w = await World.start();
	boss = await w.person(['admin']);
});
after(() => w?.stop());

const list = async (token, params = {}, options) => {
	const { status, headers, text, json } = await ask(w.server.url, token, 'tools/list', params, options);
	assert.equal(status, 200, text);
	assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)));
	return json;
};
const names = ({ result }) => result.tools.map(({ name }) => name);

test('TL-2 a cursor is a part of the same list, also where more pages are asked for than are kept', async () => {
	const { token } = await w.agentOf(boss, { level: 'maintainer' });
	const whole = await list(token);
	for (let round = 0; round < 2; round++)
		for (let from = 1; from <= 24; from++) assert.deepEqual((await list(token, { cursor: `after-${from}` })).result.tools, whole.result.tools.slice(from));
	assert.equal((await list(token, { cursor: `after-${names(whole).length}` })).error.code, -32602);
	assert.equal((await list(token, { cursor: 'after-0' })).error.code, -32602);
	assert.deepEqual(await list(token), whole);
});

test('TL-2 TL-8 who may see what is asked each time: another’s list, or one’s own of before, is never shown', async () => {
	const all = await w.agentOf(boss, { level: 'maintainer' }), few = await w.agentOf(boss, { level: 'observer' });
	const seen = names(await list(all.token)), read = names(await list(few.token));
	assert.ok(seen.includes('note_create') && !read.includes('note_create') && read.includes('note_get'));
	const set = (tools) => ok(w.admin.put(`/api/v1/agents/${all.id}/tools`, { tools }));
	await set([{ toolName: 'note.get', permissionStatus: 'blocked' }]);
	assert.deepEqual(names(await list(all.token)), seen.filter((name) => name !== 'note_get'));
	assert.deepEqual(names(await list(few.token)), read);
	await set([]);
	assert.deepEqual(names(await list(all.token)), seen);
});

test('MCP-1 the answer is one JSON document whatever the id is, and in a batch', async () => {
	const { token } = await w.agentOf(boss, { level: 'observer' }), whole = names(await list(token));
	for (const id of [0, 'x', 'é"\\', 'long '.repeat(20_000)]) {
		const answer = await list(token, {}, { id });
		assert.equal(answer.id, id);
		assert.equal(answer.result.resultType, 'complete');
		assert.deepEqual(names(answer), whole);
	}
	const post = (body, session) =>
		fetch(`${w.server.url}/mcp`, { method: 'POST', body: JSON.stringify(body), headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}`, ...(session ? { 'mcp-session-id': session } : {}) } });
	const opened = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
	const session = opened.headers.get('mcp-session-id');
	const lists = await (await post([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })), session)).json();
	assert.deepEqual(lists.map(({ id, result }) => [id, names({ result })]), [[1, whole], [2, whole]]);
	const one = await (await post({ jsonrpc: '2.0', id: 3, method: 'tools/list' }, session)).json();
	assert.deepEqual(one, { jsonrpc: '2.0', id: 3, result: { tools: one.result.tools } });
	assert.deepEqual(names(one), whole);
});
