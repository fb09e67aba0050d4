// SPDX-License-Identifier: Apache-2.0
// Another MCP server, made with the official SDK, whose tools a test can change.
import { createServer } from 'node:http';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** tools: [{name, ..., run(arguments)}], which may be replaced; calls: what it was asked to do; token: what it wants. */
export async function startUpstream({ tools = [], token } = {}) {
	const up = { tools, calls: [], headers: [] };
	const make = () => {
		const server = new Server({ name: 'upstream', version: '1.0.0' }, { capabilities: { tools: {} } });
		server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: up.tools.map(({ run, ...definition }) => definition) }));
		server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
			up.calls.push(params);
			return up.tools.find(({ name }) => name === params.name).run(params.arguments);
		});
		return server;
	};
	const http = createServer(async (request, response) => {
		up.headers.push(request.headers);
		if (token && request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
		const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
		const server = make();
		response.on('close', () => server.close());
		await server.connect(transport);
		await transport.handleRequest(request, response);
	});
	await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
	up.url = `http://127.0.0.1:${http.address().port}/mcp`;
	up.hangUp = () => http.closeIdleConnections();
	up.stop = () => new Promise((resolve) => { http.close(resolve); http.closeAllConnections(); });
	return up;
}

export const tool = (name, more = {}) => ({
	name,
	description: `Does ${name}.`,
	inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
	run: (input) => ({ content: [{ type: 'text', text: `${name} ${input.path}` }] }),
	...more,
});
