// SPDX-License-Identifier: Apache-2.0
// `countersign wrap` as an MCP client starts it, by the official SDK, on a data directory of the test's own.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { noSandbox } from './mcpclient.mjs';
import { processesOf, temporaryDirectory, until } from './process.mjs';
import { program, run } from './server.mjs';

export { processesOf };

/** Where programs cannot be confined they are started as they are, and said. */
const without = noSandbox();
if (without) console.log(`# ${without}: programs are started unconfined`);
export const confinement = without ? ['--unconfined'] : [];

const sanitizer = /(Address|Thread|Leak|Memory|UndefinedBehavior)Sanitizer|runtime error:/;

/** One client with its wrap: client is the SDK's; stderr what people are told. */
class Wrap {
	constructor(place, line, flags, env) {
		this.place = place;
		this.transport = new StdioClientTransport({
			command: program,
			args: ['wrap', ...place.flags, ...flags, '--', ...line],
			env: { HOME: place.dir, PATH: process.env.PATH, ...place.env, ...env },
			stderr: 'pipe',
		});
		this.stderr = '';
		this.transport.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
		this.client = new Client({ name: 'wrapped', version: '1' });
	}

	async connect() {
		try {
			await this.client.connect(this.transport);
		} catch (error) {
			throw new Error(`${error.message}: ${this.stderr}`);
		}
		await until(() => /^Console .*\n/m.test(this.stderr), 'what people are told'); // another pipe than the client's
		this.name = /^(\S+) is behind Countersign's gate\.$/m.exec(this.stderr)[1];
		return this;
	}

	async tools() {
		return (await this.client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('mcp__'));
	}

	/** Of the wrapped server's tool. */
	call(tool, input = {}) {
		return this.client.callTool({ name: `mcp__${this.name}__${tool}`, arguments: input });
	}

	/** Its input ends; so does it. */
	async close() {
		const { pid } = this.transport;
		await this.client.close();
		await until(() => !existsSync(`/proc/${pid}`), 'the end of wrap');
	}
}

/** A directory that wraps share. */
export class Place {
	static async make(t, { dir, env = {} } = {}) {
		const place = new Place();
		t.after(() => place.end()); // before its directory goes
		place.dir = dir ?? (await temporaryDirectory(t));
		place.data = path.join(place.dir, 'data');
		place.env = env;
		place.flags = ['--data', place.data, '--listen', '127.0.0.1:0', ...confinement];
		return place;
	}

	wraps = [];

	wrap(line, { flags = [], env = {} } = {}) {
		const one = new Wrap(this, line, flags, env);
		this.wraps.push(one);
		return one.connect();
	}

	/** To its end, for what goes wrong. */
	fail(line, flags = [], env = {}) {
		return run(['wrap', ...this.flags, ...flags, ...(line ? ['--', ...line] : [])], { env: { HOME: this.dir, ...this.env, ...env } });
	}

	async json(name) {
		return JSON.parse(await readFile(path.join(this.data, name), 'utf8'));
	}

	async url() {
		return (await readFile(path.join(this.data, 'address'), 'utf8')).split('\n')[0];
	}

	/** A request as the first admin, with the token. */
	async admin(method, target, body) {
		const { adminToken } = await this.json('first.json');
		const response = await fetch((await this.url()) + target, {
			method,
			headers: { authorization: `Bearer ${adminToken}`, ...(body ? { 'content-type': 'application/json' } : {}) },
			body: body && JSON.stringify(body),
		});
		const json = await response.json();
		if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${JSON.stringify(json)}`);
		return json;
	}

	/** The command line as the first admin, who signs in. */
	async cli(...args) {
		const { adminEmail, adminPassword } = await this.json('first.json');
		const result = await run(args, { env: { COUNTERSIGN_SERVER: await this.url(), COUNTERSIGN_EMAIL: adminEmail, COUNTERSIGN_PASSWORD: adminPassword } });
		if (result.code !== 0) throw new Error(`${args.join(' ')} ended with ${result.code}: ${result.stderr}`);
		return result.stdout;
	}

	/** As the first admin, who signs in: a token decides nothing that is of high risk. */
	async approve(id) {
		const { adminEmail, adminPassword } = await this.json('first.json');
		const url = await this.url();
		const send = (target, body, headers = {}) => fetch(url + target, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', origin: url, ...headers } });
		const session = await send('/api/v1/session', { email: adminEmail, password: adminPassword });
		const cookie = session.headers.get('set-cookie').split(';')[0];
		const { viewHash } = await this.admin('GET', `/api/v1/proposals/${id}`);
		const voted = await send(`/api/v1/proposals/${id}/approve`, { viewHash, apply: true }, { cookie, 'x-csrf-token': (await session.json()).csrfToken });
		const json = await voted.json();
		if (!voted.ok) throw new Error(JSON.stringify(json));
		return json;
	}

	/** Nothing that was started here is left, and no sanitizer has spoken. */
	async end() {
		const wraps = this.wraps.splice(0);
		for (const one of wraps) await one.client.close();
		await until(async () => (await processesOf(this.dir)).length === 0, 'the end of all that was started');
		const log = await readFile(path.join(this.data, 'wrap.log'), 'utf8').catch(() => ''); // where it got as far as that
		for (const text of [log, ...wraps.map(({ stderr }) => stderr)]) if (sanitizer.test(text)) throw new Error(`a sanitizer spoke:\n${text}`);
	}
}
