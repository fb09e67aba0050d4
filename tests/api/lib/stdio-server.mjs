// SPDX-License-Identifier: Apache-2.0
// A program that speaks MCP on its standard input and output, and misbehaves when a test asks it to. No packages: it
// runs in a sandbox that has nothing but this folder.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import readline from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const text = (value) => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] });
const attempt = (what) => {
	try {
		return what();
	} catch (error) {
		return error.code;
	}
};
const held = [];
const tools = {
	echo: (input) => text(input),
	environment: () => text(process.env),
	about: () => text({ uid: process.getuid(), directory: process.cwd(), root: fs.readdirSync('/').sort(), processes: fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length }),
	read: ({ path }) => text({ got: attempt(() => fs.readFileSync(path, 'utf8')) }),
	write: ({ path }) => text({ got: attempt(() => fs.writeFileSync(path, 'written') ?? 'ok') }),
	connect: ({ port }) => new Promise((resolve) => {
		const socket = net.connect(port, '127.0.0.1');
		socket.on('connect', () => { socket.destroy(); resolve(text('connected')); });
		socket.on('error', ({ code }) => resolve(text(code)));
	}),
	run: ({ argv }) => {
		const { status, signal, stdout, stderr } = spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' });
		return text({ status, signal, stdout, stderr });
	},
	daemon: () => {
		const child = spawn('/bin/sleep', ['1000'], { stdio: 'ignore', detached: true });
		child.unref();
		return text({ pid: child.pid });
	},
	descriptors: () => text(fs.readdirSync('/proc/self/fd').map((fd) => attempt(() => fs.readlinkSync(`/proc/self/fd/${fd}`)))),
	crash: () => process.exit(3),
	wait: () => {
		process.stderr.write('it waits\n');
		return new Promise(() => {});
	},
	together: ({ count }) => new Promise((resolve) => {
		held.push(() => resolve(text('together')));
		if (held.length === count)
			held.splice(0).reverse().forEach((go) => go());
	}),
	complain: () => {
		process.stderr.write(`the password is ${process.env.SECRET} \u001b[31mred\n`);
		return text('complained');
	},
	change: () => {
		say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
		return text('changed');
	},
	chatter: () => {
		process.stdout.write('this is no message\n{"jsonrpc":"2.0","id":999999,"result":{}}\n[]\n');
		return text('chattered');
	},
	ask: () => new Promise((resolve) => {
		waiting.set('q', (answer) => resolve(text(answer)));
		say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} });
	}),
	endless: () => {
		const piece = 'x'.repeat(1 << 20);
		for (let i = 0; i < 10; i++)
			process.stdout.write(piece); // all of it: writeSync would stop where the pipe is full
		return text('never');
	},
	children: () => {
		const child = spawn('/bin/sleep', ['1000'], { stdio: 'ignore' });
		return text({ parent: process.pid, child: child.pid });
	},
	deaf: () => {
		process.stdin.pause();
		lines.pause();
		return text('deaf');
	},
	error: () => { throw new Error('no'); },
};
// Answers that are not quite JSON as Countersign accepts it, by form.
const content = (inside) => `"content":[{"type":"text","text":${inside}}]`;
const forms = {
	surrogate: () => content('"cut \\ud83d"'),
	repeated: () => `"isError":true,${content('"ok"')},"isError":false`,
	deep: () => `${content('"ok"')},"structuredContent":{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
	bytes: () => content('"not \xff UTF-8"'),
	many: () => `${content('"ok"')},"structuredContent":{"all":[${'0,'.repeat(100_000)}0]}`,
	large: () => content(`"${'x'.repeat(5 << 20)}"`),
	largeError: () => `${content(`"${'x'.repeat(5 << 20)}"`)},"isError":true`,
};
const odd = (id, { form }) => process.stdout.write(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{${forms[form]()}}}\n`, 'latin1'));
tools.odd = () => {}; // by `odd` above: its answers cannot be written with JSON.stringify
const waiting = new Map();

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', async (line) => {
	const message = JSON.parse(line);
	if (message.method === undefined)
		waiting.get(message.id)?.(message);
	else if (message.method === 'initialize' && process.argv.includes('--modern'))
		say({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } });
	else if (message.method === 'initialize')
		say({ jsonrpc: '2.0', id: message.id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'fixture', version: '1' } } });
	else if (message.method === 'server/discover')
		say({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: {} } });
	else if (message.method === 'tools/list')
		say({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) } });
	else if (message.method === 'tools/call' && message.params.name === 'odd')
		odd(message.id, message.params.arguments);
	else if (message.method === 'tools/call')
		try {
			say({ jsonrpc: '2.0', id: message.id, result: await tools[message.params.name](message.params.arguments) });
		} catch (error) {
			say({ jsonrpc: '2.0', id: message.id, error: { code: -32602, message: error.message } });
		}
	else if (message.method === 'notifications/cancelled')
		process.stderr.write(`cancelled ${message.params.requestId}\n`);
});
lines.on('close', () => process.exit(0));
