// SPDX-License-Identifier: Apache-2.0
// What tests of exec/mcp share: the client as a program (mcpdriver), and servers that do what a test tells them.
import { spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import readline from 'node:readline';

import { killAtExit, until } from './process.mjs';
import { program } from './server.mjs';

export const driverProgram = path.join(path.dirname(program), 'tests/mcp/mcpdriver');

// The client of one server: target is a URL or [program, ...arguments].
export function client(t, target, { era, grant, options } = {}) {
	const args = Array.isArray(target) ? ['--', ...target] : [target];
	const env = { ...process.env, MCPDRIVER_ERA: era ?? '', MCPDRIVER_GRANT: grant ?? '', MCPDRIVER_OPTIONS: options ? JSON.stringify(options) : '' };
	const child = spawn(driverProgram, ['script', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
	killAtExit(child);
	const log = [];
	const waiting = [];
	child.stderr.on('data', (bytes) => log.push(bytes));
	readline.createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
	child.on('close', () => waiting.splice(0).forEach(({ reject }) => reject(new Error(`mcpdriver ended: ${Buffer.concat(log)}`))));
	const ended = new Promise((resolve) => child.on('close', (code) => resolve(code)));
	const ask = (question) => new Promise((resolve, reject) => {
		waiting.push({ resolve, reject });
		child.stdin.write(`${JSON.stringify(question)}\n`);
	});
	t.after(async () => {
		child.stdin.end();
		await until(() => child.exitCode !== null || child.signalCode !== null, 'mcpdriver to end').catch((error) => {
			child.kill('SIGKILL');
			throw new Error(`${error.message}: ${Buffer.concat(log)}`);
		});
		const code = await ended;
		if (code !== 0 && !child.killed) // sanitizers say it so
			throw new Error(`mcpdriver ended with ${code}: ${Buffer.concat(log)}`);
	});
	return {
		child,
		ended,
		log: () => Buffer.concat(log).toString(),
		list: () => ask({ op: 'list' }),
		changes: async () => (await ask({ op: 'changes' })).changes,
		authorize: (kept, back) => ask({ op: 'authorize', ...(back === undefined ? {} : { kept, back }) }),
		calls: async (tool, more) => (await ask({ op: 'call', tool, ...more })).calls,
		/** Calls that are under way until `arrived` is so; then the client is stopped. */
		stopped: async (tool, arrived, more) => {
			const asked = ask({ op: 'call', tool, stops: true, ...more });
			await until(arrived, 'the calls to arrive');
			child.stdin.write('stop\n');
			return (await asked).calls;
		},
		call: async (tool, input, more) => (await ask({ op: 'call', tool, input: input ?? {}, ...more })).calls[0],
	};
}

// An HTTP server on this machine: answer(request, response, body as JSON or undefined).
export async function serve(t, answer) {
	const connections = new Set();
	const server = http.createServer(async (request, response) => {
		const pieces = [];
		for await (const piece of request)
			pieces.push(piece);
		const text = Buffer.concat(pieces).toString();
		let body;
		try {
			body = JSON.parse(text);
		} catch {
			body = undefined;
		}
		await answer(request, response, body, text);
	});
	let opened = 0;
	server.on('connection', (socket) => {
		opened++;
		connections.add(socket);
		socket.on('close', () => connections.delete(socket));
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const close = () => new Promise((resolve) => {
		server.close(resolve);
		connections.forEach((socket) => socket.destroy());
	});
	t.after(close);
	return { port: server.address().port, url: `http://127.0.0.1:${server.address().port}/mcp`, origin: `http://127.0.0.1:${server.address().port}`, close, opened: () => opened };
}

export function sendJson(response, status, body, headers = {}) {
	response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
	response.end(JSON.stringify(body));
}

export const result = (message, value) => ({ jsonrpc: '2.0', id: message.id, result: value });
export const failure = (message, code, text = 'no', data) => ({ jsonrpc: '2.0', id: message.id, error: { code, message: text, ...(data ? { data } : {}) } });

// A server of the old era: tools by name, each (message, response, request) -> answers. Counts what it is asked.
export async function legacyServer(t, tools, { pages, before } = {}) {
	const asked = [];
	const state = { session: 1, sessions: 0 };
	const server = await serve(t, async (request, response, message) => {
		if (await before?.(request, response, message))
			return;
		if (request.method !== 'POST') {
			response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
			return;
		}
		asked.push({ method: message.method, name: message.params?.name, headers: request.headers, params: message.params, message });
		if (message.method === 'initialize') {
			state.sessions++;
			sendJson(response, 200, result(message, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } }), { 'Mcp-Session-Id': `s${state.session}` });
		} else if (request.headers['mcp-session-id'] === undefined) {
			sendJson(response, 400, { jsonrpc: '2.0', error: { code: -32000, message: 'no session' }, id: null });
		} else if (request.headers['mcp-session-id'] !== `s${state.session}`) {
			sendJson(response, 404, { jsonrpc: '2.0', error: { code: -32001, message: 'session not found' }, id: null });
		} else if (message.id === undefined || message.method === undefined) {
			response.writeHead(202).end();
		} else if (message.method === 'tools/list') {
			const at = Number(message.params.cursor ?? 0);
			const page = pages?.[at] ?? [];
			sendJson(response, 200, result(message, { tools: page, ...(at + 1 < (pages?.length ?? 0) ? { nextCursor: String(at + 1) } : {}) }));
		} else {
			await tools[message.params.name](message, response, request);
		}
	});
	return { ...server, asked, state, of: (method) => asked.filter((one) => one.method === method) };
}

// Can this machine confine a program? A sentence where it cannot.
export function noSandbox() {
	const { error, status, stderr } = spawnSync('/usr/bin/bwrap', ['--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '/bin/true'], { encoding: 'utf8' });
	if (!error && status === 0)
		return false;
	return `skipped: there is no sandbox here (${error?.message ?? stderr.trim()})`;
}
