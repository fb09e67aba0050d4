// SPDX-License-Identifier: Apache-2.0
// A program that speaks MCP on its standard input and output, offered over HTTP with the official SDK's two transports: each session has
// a program of its own, and every message passes as it is.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

/** Listens on this port; stop() ends the programs, too. */
export async function bridge([command, ...args], port) {
	const sessions = new Map();
	const open = async () => {
		const there = new StdioClientTransport({ command, args, stderr: 'ignore' });
		const here = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => void sessions.set(id, here) });
		here.onmessage = (message) => there.send(message);
		there.onmessage = (message) => here.send(message).catch(() => {}); // who asked may have left
		here.onclose = () => there.close();
		await there.start();
		await here.start();
		return here;
	};
	const server = createServer(async (request, response) => {
		const id = request.headers['mcp-session-id'];
		if (id && !sessions.has(id)) return response.writeHead(404).end();
		const here = id ? sessions.get(id) : await open();
		await here.handleRequest(request, response);
		if (!here.sessionId) await here.close(); // it was no initialize
	});
	server.listen(port, '127.0.0.1');
	await once(server, 'listening');
	const stop = async () => {
		for (const session of sessions.values()) await session.close();
		server.closeAllConnections();
		server.close();
		await once(server, 'close');
	};
	return { stop };
}
