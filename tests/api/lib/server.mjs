// SPDX-License-Identifier: Apache-2.0
// Starts the real program for a test: on a fresh data directory, or on a fresh PostgreSQL database
// (COUNTERSIGN_TEST_ENGINE=postgres with COUNTERSIGN_TEST_POSTGRES=URL of a server that we may use).
//
//   const server = await startServer();
//   const { status, json } = await server.get('/healthz');
//   await server.stop();               // exit code 0, nothing from a sanitizer, or it throws
//
// Every JSON answer is checked against the server's own /openapi.json, and everything that comes out of the program for planted
// secrets (secret.mjs).
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { checkAnswer } from './contract.mjs';
import { closed, freePort, killAtExit, removeTree, stopped, temporaryDirectory, until } from './process.mjs';
import { found, lookAt, secret, secretToo, watch } from './secret.mjs';

export { temporaryDirectory, until };

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const build = path.resolve(root, process.env.COUNTERSIGN_BUILD ?? 'build-dev');
export const program = path.join(build, 'countersign');
export const onPostgres = process.env.COUNTERSIGN_TEST_ENGINE === 'postgres';

if (!existsSync(program))
	throw new Error(`${program} does not exist; build it, or say where it is with COUNTERSIGN_BUILD`);

/** Our own variables belong to this process; the program under test gets only what a test gives it. */
function environment(extra = {}) {
	const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('COUNTERSIGN_'));
	return { ...Object.fromEntries(kept), ...extra };
}

/** What a build with a sanitizer says when it found something. */
export const sanitizer = /(Address|Thread|Leak|Memory|UndefinedBehavior)Sanitizer|runtime error:/;

/** For what reads a stream: that ends when we leave or the server dies. Text that is not of its form is the server's fault and fails the test. */
export function streamEnded(error) {
	if (error instanceof SyntaxError) throw error;
}

/** Runs the program to its end; `first` is a line of shell that comes before it, such as a ulimit. */
export async function run(args, { env, cwd, first } = {}) {
	const words = first ? ['/bin/sh', '-c', `${first}; exec "$@"`, 'sh', program, ...args] : [program, ...args];
	const child = spawn(words[0], words.slice(1), { env: environment(env), cwd, stdio: ['ignore', 'pipe', 'pipe'] });
	const out = { stdout: '', stderr: '' };
	for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (out[name] += text));
	const [code, signal] = await closed(child, `countersign ${args[0]}`);
	if (sanitizer.test(out.stderr)) throw new Error(`a sanitizer spoke:\n${out.stderr}`);
	lookAt(`countersign ${args[0]}`, out.stdout + out.stderr, { tokens: !['init', 'token', 'serve', 'recover'].includes(args[0]) }); // which print one
	return { code, signal, ...out };
}

/** All that a data directory holds, but for the file of keys. */
async function lookAtFiles(dir) {
	for (const name of await readdir(dir).catch(() => []))
		if (/\.db/.test(name)) lookAt(`the database (${name})`, (await readFile(path.join(dir, name))).toString('latin1'));
}

/** A database of our own: flags for the program, and how to get rid of it. */
export async function freshDatabase() {
	if (!onPostgres) {
		const dir = await temporaryDirectory();
		const data = path.join(dir, 'data');
		return { flags: ['--data', data], dir: data, look: () => lookAtFiles(data), drop: () => removeTree(dir) };
	}
	const server = process.env.COUNTERSIGN_TEST_POSTGRES;
	if (!server) throw new Error('COUNTERSIGN_TEST_ENGINE=postgres needs COUNTERSIGN_TEST_POSTGRES');
	const name = `api_${randomBytes(8).toString('hex')}`;
	const psql = (sql) => promisify(execFile)('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', server, '-c', sql]);
	await psql(`CREATE DATABASE ${name}`);
	const url = server.replace(/^(postgres(?:ql)?:\/\/)([^/?@:]*)@([^/?]*)(\/[^?]*)?/, `$1$2:${secret('database')}@$3/${name}`);
	const dir = await temporaryDirectory(); // the key file is not in the database
	const vanish = () => psql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
	const drop = async () => {
		await removeTree(dir); // whoever still has the database open is gone with it
		await vanish();
	};
	const look = async () => lookAt('the database', (await promisify(execFile)('pg_dump', ['--data-only', '-d', url], { maxBuffer: 1e9 })).stdout);
	return { flags: ['--database', url, '--keys', path.join(dir, 'keys')], url, look, drop, vanish };
}

/** A test that fails leaves its server behind: it must neither keep this process alive nor outlive it. */
function letGo(child) {
	killAtExit(child);
	for (const handle of [child, child.stdout, child.stderr]) handle.unref();
}

class Server {
	constructor(child, database) {
		Object.assign(this, { child, database, stdout: '', stderr: '', exited: null });
		child.stdout.setEncoding('utf8').on('data', (text) => (this.stdout += text));
		child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
		child.on('close', (code, signal) => (this.exited = { code, signal }));
	}

	async ready() {
		const line = await until(() => {
			if (this.exited) throw new Error(`it ended (${JSON.stringify(this.exited)}):\n${this.stdout}${this.stderr}`);
			return /^Countersign is ready at (\S+)$/m.exec(this.stdout);
		}, 'the ready line');
		this.url = line[1];
		this.port = Number(new URL(this.url).port);
		watch(this.port, 'a server');
		if (this.url.startsWith('https:')) return; // a test of TLS brings its own client
		this.openapi = (await this.request('GET', '/openapi.json', { check: false })).json;
	}

	/** One request. The answer's JSON is checked against the contract unless check is false. */
	async request(method, target, { body, headers = {}, check = true } = {}) {
		const isText = typeof body === 'string' || body instanceof Uint8Array;
		const response = await fetch(this.url + target, {
			method,
			headers: { ...(body !== undefined ? { 'content-type': 'application/json' } : {}), ...headers },
			body: body === undefined || isText ? body : JSON.stringify(body),
			redirect: 'manual',
		});
		const text = await response.text();
		const isJson = response.headers.get('content-type') === 'application/json';
		const answer = { status: response.status, headers: response.headers, text, json: isJson && text ? JSON.parse(text) : undefined };
		for (const cookie of response.headers.getSetCookie()) secretToo(/^[^=]+=([^;]{20,})/.exec(cookie)?.[1], { shown: true });
		if (method === 'GET') lookAt(`GET ${target}`, text); // no token either: only what makes one shows it
		if (check) checkAnswer(this.openapi, method, target.split('?')[0], answer);
		return answer;
	}

	get(target, options) {
		return this.request('GET', target, options);
	}

	post(target, body, options) {
		return this.request('POST', target, { body, ...options });
	}

	/** The same requests with a bearer token. */
	as(token) {
		const authorized = (options = {}) => ({ ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
		const ask = (method, target, body, options) => this.request(method, target, authorized({ body, ...options }));
		return {
			get: (target, options) => ask('GET', target, undefined, options),
			delete: (target, options) => ask('DELETE', target, undefined, options),
			post: (target, body = {}, options) => ask('POST', target, body, options),
			put: (target, body, options) => ask('PUT', target, body, options),
			patch: (target, body, options) => ask('PATCH', target, body, options),
		};
	}

	/** Sends bytes as they are and gives all that comes back until the server closes. */
	async raw(bytes, { end = false } = {}) {
		const socket = net.connect(this.port, '127.0.0.1');
		const closed = new Promise((resolve) => socket.on('close', resolve));
		socket.on('error', () => {}); // a reset after the answer is the server's right
		let text = '';
		socket.setEncoding('latin1').on('data', (chunk) => (text += chunk));
		socket.write(Buffer.from(bytes, 'latin1'));
		if (end) socket.end();
		await closed;
		return text;
	}

	/** The events of the log so far: one object per line of standard error. */
	log() {
		return this.stderr.split('\n').filter(Boolean).map(parseLogLine);
	}

	kill(signal) {
		this.told ||= signal === 'SIGTERM' || signal === 'SIGINT';
		this.child.kill(signal);
	}

	async ended() {
		return until(() => this.exited, 'its end');
	}

	/** Asks it to stop (once: a second signal would force it) and insists on a clean end. */
	async stop({ signal = 'SIGTERM', keep = false } = {}) {
		if (!this.exited && !this.told) this.kill(signal);
		const { code, signal: by } = await this.ended();
		lookAt('the log', this.stderr);
		lookAt('standard output', this.stdout, { tokens: false }); // the link of a first start
		if (!keep) await this.database.look?.();
		if (!keep) await this.database.drop();
		const leaks = found();
		if (sanitizer.test(this.stderr)) throw new Error(`a sanitizer spoke:\n${this.stderr}`);
		if (code !== 0) throw new Error(`it ended with ${code ?? by}:\n${this.stderr}`);
		if (leaks.length) throw new Error(`a secret came out:\n${leaks.join('\n')}`);
	}
}

/** Sets the database up and gives what `init --json` printed: adminToken, agentToken, orgId … */
export async function init(database, args = []) {
	const { code, stdout, stderr } = await run(['init', '--json', ...database.flags, ...args]);
	if (code !== 0) throw new Error(`init ended with ${code}:\n${stderr}`);
	return JSON.parse(stdout);
}

/**
 * Changes the database behind the program's back: for what cannot be waited for (time) or asked for (another
 * tenant). SQLite has one owner, so there the server is stopped meanwhile. Gives the server to go on with.
 */
export async function behindTheBack(server, sql) {
	const { database, first } = server;
	if (onPostgres) {
		await promisify(execFile)('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', database.url, '-c', sql]);
		return server;
	}
	await server.stop({ keep: true });
	const script = 'import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.commit()';
	await promisify(execFile)('python3', ['-c', script, path.join(database.dir, 'countersign.db'), sql]);
	const again = await startServer({ ...server.options, database });
	return Object.assign(again, { first, database });
}

/** What the database holds, as lines of "a|b"; on SQLite, which has one owner, the server must have been stopped. */
export async function lookBehind({ database }, sql) {
	if (onPostgres) return (await promisify(execFile)('psql', ['-X', '-q', '-A', '-t', '-d', database.url, '-c', sql])).stdout.trim().split('\n');
	const script = 'import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print("|".join(map(str, row)))';
	return (await promisify(execFile)('python3', ['-c', script, path.join(database.dir, 'countersign.db'), sql])).stdout.trim().split('\n');
}

/** A server on a database that has been set up: server.first is what init printed, server.as(token) asks as somebody. */
export async function startSetUp(options = {}) {
	const database = options.database ?? (await freshDatabase());
	const first = await init(database);
	const server = await startServer({ ...options, database });
	return Object.assign(server, { first, database });
}

/** Starts a server on any free port and waits until it says that it is ready. */
export async function startServer({ args = [], env, listen = '127.0.0.1:0', database } = {}) {
	const own = database ?? (await freshDatabase());
	const child = spawn(program, ['serve', '--listen', listen, ...own.flags, ...args], { env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
	letGo(child);
	const server = Object.assign(new Server(child, database ? { drop: async () => {} } : own), { options: { args, env, listen } });
	try {
		await server.ready();
	} catch (error) {
		await stopped(child);
		if (!database) await own.drop();
		throw error;
	}
	return server;
}

/** Where a server listens that will be started again at the same address. */
export const fixedAddress = async () => `127.0.0.1:${await freePort()}`;

/** A server that has ended, again: on its database and at its address, which was a fixed one. */
export async function startAgain({ options, database, first }) {
	if (/:0$/.test(options.listen)) throw new Error('its port may be somebody else\'s by now; start it with listen: await fixedAddress()');
	return Object.assign(await startServer({ ...options, database }), { first, database });
}

/** key=value, key="quoted \"text\"": the log's one format. Throws where a line is not in it. */
export function parseLogLine(line) {
	const event = {};
	let rest = line;
	while (rest) {
		const m = /^([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"=]*)(?: |$)/.exec(rest);
		if (!m) throw new Error(`not a log line: ${line}`);
		event[m[1]] = m[2].startsWith('"') ? m[2].slice(1, -1) : m[2];
		rest = rest.slice(m[0].length);
	}
	if (!event.time || !event.level || !event.event) throw new Error(`a log line without time, level, event: ${line}`);
	return event;
}
