// SPDX-License-Identifier: Apache-2.0
// `countersign mcp` as a client starts it: by the official SDKs, or line by line.
import { spawn } from 'node:child_process';

import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { program, until } from './server.mjs';

const parameters = (url, token) => ({ command: program, args: ['mcp', '--server', url], env: { COUNTERSIGN_TOKEN: token }, stderr: 'ignore' });

/** A connected client of the first SDK; the legacy era. */
export async function connectLegacy(url, token, options) {
	const client = new Client({ name: 'stdio', version: '1' }, options);
	await client.connect(new StdioClientTransport(parameters(url, token)));
	return client;
}

/** A connected client of the second SDK; the modern era. */
export async function connectModern(url, token, options = {}) {
	const client = new ModernClient({ name: 'stdio', version: '2' }, { versionNegotiation: { mode: 'auto' }, ...options });
	await client.connect(new ModernStdio(parameters(url, token)));
	return client;
}

// What a failed test leaves behind must not keep this process alive, nor outlive it.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** The program itself, line by line. */
export class Lines {
	constructor(url, token, args = []) {
		this.child = spawn(program, ['mcp', '--server', url, ...args], { env: { ...(token ? { COUNTERSIGN_TOKEN: token } : {}) }, stdio: ['pipe', 'pipe', 'pipe'] });
		running.add(this.child);
		Object.assign(this, { stdout: '', stderr: '', exited: null, taken: 0 });
		this.child.stdout.setEncoding('utf8').on('data', (text) => (this.stdout += text));
		this.child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
		this.child.stdin.on('error', () => {}); // it may have ended
		this.child.on('close', (code, signal) => {
			this.exited = { code, signal };
			running.delete(this.child);
		});
	}

	send(message) {
		this.child.stdin.write(message instanceof Uint8Array ? message : `${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
	}

	/** All messages so far; a line that is none throws. */
	messages() {
		return this.stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
	}

	/** The first message that fits, once it is there. */
	async find(fits, what = 'a message') {
		try {
			return await until(() => this.messages().find(fits), what);
		} catch (error) {
			throw new Error(`${error.message}; so far:\n${this.stdout}${this.stderr}`);
		}
	}

	answer(id) {
		return this.find((message) => message.id === id && !message.method, `the answer to ${id}`);
	}

	/** Ends its input; how it ended. */
	async end() {
		this.child.stdin.end();
		return until(() => this.exited, 'its end');
	}
}
