// SPDX-License-Identifier: Apache-2.0
// Clients of MCP for tests: both official SDKs behind one shape, and single messages of the modern era.
//
//   { era, list(), call(name, input), client, close() }
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { streamEnded, until } from './server.mjs';

/** A connected SDK client, whatever its transport is, as the stories take it. */
export function shape(era, client) {
	return {
		era,
		client,
		list: async () => {
			const tools = [];
			let cursor;
			do {
				const page = await client.listTools(cursor ? { cursor } : {});
				tools.push(...page.tools);
				cursor = page.nextCursor;
			} while (cursor);
			return tools;
		},
		call: (name, input = {}) => client.callTool({ name, arguments: input }),
		close: () => client.close(),
	};
}

const bearer = (token) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

/** SDK v1: 2025-11-25. */
export async function legacy(url, token, capabilities = {}) {
	const client = new Client({ name: 'legacy', version: '1' }, { capabilities });
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), bearer(token)));
	return shape('legacy', client);
}

/** SDK v2: 2026-07-28. */
export async function modern(url, token, capabilities = {}) {
	const client = new ModernClient({ name: 'modern', version: '2' }, { versionNegotiation: { mode: 'auto' }, capabilities });
	await client.connect(new ModernTransport(new URL(`${url}/mcp`), bearer(token)));
	return shape('modern', client);
}

/** One request of the modern era, with the headers that belong to it; the answer as it is. */
export async function ask(url, token, method, params = {}, { capabilities = {}, id = 1, headers = {} } = {}) {
	const name = params.name ?? params.uri ?? params.taskId;
	const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities };
	const response = await fetch(`${url}/mcp`, {
		method: 'POST',
		headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}`, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name ? { 'mcp-name': name } : {}), ...headers },
		body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }),
	});
	const text = await response.text();
	return { status: response.status, headers: response.headers, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
}

/** subscriptions/listen: `next` waits for a message, `quiet` says that there is none. */
export async function listen(url, token, notifications, capabilities = {}) {
	const abort = new AbortController(), messages = [];
	const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities };
	const response = await fetch(`${url}/mcp`, {
		method: 'POST',
		signal: abort.signal,
		headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}`, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
		body: JSON.stringify({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params: { notifications, _meta: meta } }),
	});
	let rest = '';
	const reading = (async () => {
		for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
			const events = (rest + chunk).split('\n\n');
			rest = events.pop();
			for (const event of events) {
				const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
				if (data) messages.push(JSON.parse(data));
			}
		}
	})().catch(streamEnded);
	return { next: () => until(() => messages.shift(), 'a message'), quiet: () => messages.length === 0, close: () => (abort.abort(), reading) };
}

/** What a tool error says: {kind, tool, code, message, …}. */
export const said = (result) => JSON.parse(result.content[0].text);
