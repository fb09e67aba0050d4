// SPDX-License-Identifier: Apache-2.0
// An MCP server on the official SDK, stateless, as its documentation shows it: what bench/mcp.py measures beside ours.
//
//	node server.mjs SETUP.json	{tokens: [...], tools: [as tools/list gave them], notes: {id: note}}
//
// It does what a caller can see of ours, in memory: Host and Origin, the bearer token, the input against its schema,
// the note, its structured content against the output schema. Schemas are compiled once, not for each request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer, OAuthError, OAuthErrorCode, verifyBearerToken }
	from '@modelcontextprotocol/server';

const setup = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const tokens = new Set(setup.tokens), notes = new Map(Object.entries(setup.notes));
const tools = setup.tools.map(({ name, inputSchema, outputSchema, ...more }) => [name, {
	...more, inputSchema: fromJsonSchema(inputSchema), outputSchema: outputSchema && fromJsonSchema(outputSchema) }]);

const text = value => [{ type: 'text', text: JSON.stringify(value) }];

function call({ id }) {
	const note = notes.get(id);
	return note ? { content: text(note), structuredContent: note } : { content: text('there is no such note'), isError: true };
}

function make() {
	const server = new McpServer({ name: 'peer', version: '1.0.0' }, { instructions: 'An equal server.' });
	for (const [name, config] of tools)
		server.registerTool(name, config, call);
	return server;
}

const verifier = {
	async verifyAccessToken(token) {
		if (!tokens.has(token))
			throw new OAuthError(OAuthErrorCode.InvalidToken, 'no such token');
		return { token, clientId: 'bench', scopes: [], expiresAt: Date.now() / 1000 + 3600 };
	},
};
const host = localhostHostValidation(), origin = localhostOriginValidation();
const mcp = toNodeHandler(createMcpHandler(make));

const http = createServer(async (req, res) => {
	if (!host(req, res) || !origin(req, res))
		return;
	try {
		req.auth = await verifyBearerToken(req.headers.authorization, { verifier });
	} catch {
		res.writeHead(401).end();
		return;
	}
	await mcp(req, res);
});
http.keepAliveTimeout = 0;
http.listen(0, '127.0.0.1', () => console.log(`ready ${http.address().port} node ${process.version}`));
