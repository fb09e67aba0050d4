// SPDX-License-Identifier: Apache-2.0
// Processes, directories and ports of tests: how they begin, and how they end although the machine is busy.
//
// removeTree removes a directory when the last process that uses it is gone, so nothing is written into it meanwhile. Hooks of node:test run in the order in which they were added, and
// one that throws keeps the next from running: what must happen in an order is one hook.
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

/** Waits until the condition is truthy and gives it; never by a fixed time. */
export async function until(condition, what, seconds = 60) {
	const end = Date.now() + seconds * 1000;
	for (;;) {
		const value = await condition();
		if (value) return value;
		if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

// --- processes ---

// A test that fails leaves its processes behind: they must neither keep this one alive nor outlive it.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Kills the child when this process ends, unless it has ended before. */
export function killAtExit(child) {
	running.add(child);
	child.on('exit', () => running.delete(child));
}

/** Exit code and signal of a child that was just started, once it has ended and all that it said is read. After these seconds it is killed. */
export function closed(child, what, seconds = 180) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			child.kill('SIGKILL');
			reject(new Error(`${what} did not end within ${seconds} s`));
		}, seconds * 1000);
		child.on('error', reject).on('close', (code, signal) => {
			clearTimeout(timer);
			resolve([code, signal]);
		});
	});
}

/** Ends a child and waits until it is gone; it may have ended before. */
export async function stopped(child, signal = 'SIGKILL') {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exit = once(child, 'exit');
	child.kill(signal);
	await exit;
}

/** Those of all processes but this one for which it is so; one that has ended meanwhile is none. */
async function processes(isSo) {
	const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
	const are = await Promise.all(pids.map((pid) => isSo(pid).catch(() => false)));
	return pids.filter((_, i) => are[i]).map(Number);
}

/** The processes whose command line names this directory. */
export const processesOf = (dir) => processes(async (pid) => (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes(dir));
const processesIn = (dir) => processes(async (pid) => `${await readlink(`/proc/${pid}/cwd`)}/`.startsWith(`${dir}/`));

function kill(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch (error) {
		if (error.code !== 'ESRCH') throw error; // it has ended
	}
}

// --- directories ---

/** Removes a directory of a test's own. Whoever still uses it is killed, and waited for. */
export async function removeTree(dir) {
	await until(async () => {
		const left = [...(await processesOf(dir)), ...(await processesIn(dir))];
		left.forEach(kill);
		return left.length === 0;
	}, `the end of all that uses ${dir}`);
	await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** With t it is removed at the end of the test. */
export async function temporaryDirectory(t, name = 'api') {
	const dir = await mkdtemp(path.join(os.tmpdir(), `countersign-${name}-`));
	t?.after(() => removeTree(dir));
	return dir;
}

// --- ports ---

const held = []; // until this process ends

/** Listens where it is told to; false where somebody else does. */
function listens(where) {
	const server = net.createServer();
	return new Promise((resolve, reject) => {
		server.on('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
		server.listen(where, () => resolve(server));
	});
}

/**
 * A port for a program that must be told one, or that comes back at the same. Nobody gets it by chance: it is below those that the
 * kernel gives out (32768 and up) and those of tests/lib/pg (20000 and up), and until this process ends no other test is given
 * it: a socket in Linux's abstract namespace, which has no file, stands for it.
 */
export async function freePort() {
	for (let tries = 0; tries < 1000; tries++) {
		const port = randomInt(11000, 20000);
		const ours = await listens({ path: `\0countersign-test-port-${port}` });
		if (!ours) continue;
		held.push(ours.unref());
		const server = await listens({ port, host: '127.0.0.1' });
		if (!server) continue;
		await new Promise((resolve) => server.close(resolve));
		return port;
	}
	throw new Error('no free port was found');
}
