// SPDX-License-Identifier: Apache-2.0
// Is the entry in the log, and is the log what was signed? Everything is computed here, with WebCrypto, from the bytes
// the server gave: RFC 6962 (leaf, inclusion, consistency), C2SP signed note (Ed25519). docs/audit.md has the formats.
// This browser keeps the key and the newest checkpoint it has verified: a server that shows another history later is
// found out, even by who has its signing key.
import { canon, type Json } from '../../lib/canon.ts';
import { keep, kept } from '../../lib/keep.ts';
import type { Entry } from './model.ts';

export interface Proof {
	leafIndex: number;
	size: number;
	leaf: string;
	path: string[];
	checkpoint: string;
}

/** first: there was nothing to compare with yet. unable: this browser has no Ed25519. */
export type Verdict = 'good' | 'bad' | 'first' | 'unable';
export const CHECKS = ['leaf', 'inclusion', 'signature', 'key', 'growth'] as const;
export type Checks = Record<(typeof CHECKS)[number], Verdict>;

type Bytes = Uint8Array<ArrayBuffer>;
const text = (s: string): Bytes => new TextEncoder().encode(s) as Bytes;

function join(...parts: Bytes[]): Bytes {
	const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.length;
	}
	return all;
}

const same = (a: Bytes, b: Bytes): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);
const hash = async (...parts: Bytes[]): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest('SHA-256', join(...parts)));
const leafHash = (leaf: string): Promise<Bytes> => hash(new Uint8Array([0]), text(leaf));
const node = (left: Bytes, right: Bytes): Promise<Bytes> => hash(new Uint8Array([1]), left, right);
/** Throws where it is no base64. */
const bytes = (base64: string): Bytes => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

const half = (n: number): number => Math.floor(n / 2);
const odd = (n: number): boolean => n % 2 === 1;

/** RFC 9162, 2.1.3.2. */
export async function included(leaf: string, index: number, size: number, path: Bytes[], root: Bytes): Promise<boolean> {
	if (index >= size) return false;
	let fn = index, sn = size - 1, r = await leafHash(leaf);
	for (const p of path) {
		if (sn === 0) return false;
		if (odd(fn) || fn === sn) {
			r = await node(p, r);
			while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
		} else r = await node(r, p);
		[fn, sn] = [half(fn), half(sn)];
	}
	return sn === 0 && same(r, root);
}

/** RFC 9162, 2.1.4.2: the tree of `to` leaves begins with the tree of `from`. */
export async function consistent(from: number, fromRoot: Bytes, to: number, toRoot: Bytes, given: Bytes[]): Promise<boolean> {
	if (from === to) return same(fromRoot, toRoot);
	const path = Number.isInteger(Math.log2(from)) ? [fromRoot, ...given] : given;
	if (from > to || path.length === 0) return false;
	let fn = from - 1, sn = to - 1;
	while (odd(fn)) [fn, sn] = [half(fn), half(sn)];
	let fr = path[0]!, sr = path[0]!;
	for (const c of path.slice(1)) {
		if (sn === 0) return false;
		if (odd(fn) || fn === sn) {
			fr = await node(c, fr);
			sr = await node(c, sr);
			while (!odd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
		} else sr = await node(sr, c);
		[fn, sn] = [half(fn), half(sn)];
	}
	return sn === 0 && same(fr, fromRoot) && same(sr, toRoot);
}

interface Checkpoint {
	origin: string;
	size: number;
	root: Bytes;
	signed: string; // the lines that the signature is over
	signatures: { name: string; id: Bytes; signature: Bytes }[];
}

/** Throws where it is no checkpoint. */
export function readCheckpoint(note: string): Checkpoint {
	const end = note.indexOf('\n\n');
	const [origin, size, root, ...more] = note.slice(0, end).split('\n');
	if (end < 0 || !origin || !/^[1-9][0-9]{0,14}$/.test(size ?? '') || root === undefined || more.length > 0) throw new TypeError('not a checkpoint');
	const signatures = note.slice(end + 2).split('\n').filter((line) => line !== '').map((line) => {
		const [, name, both] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
		const all = bytes(both ?? '!');
		return { name: name!, id: all.slice(0, 4), signature: all.slice(4) };
	});
	return { origin, size: Number(size), root: bytes(root), signed: note.slice(0, end + 1), signatures };
}

/** name+id+base64(0x01 | key), and the id is the first four bytes of SHA-256(name | 0x0a | 0x01 | key). */
async function readKey(key: string): Promise<{ name: string; id: Bytes; raw: Bytes }> {
	const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(key) ?? [];
	const raw = bytes(base64 ?? '!');
	const real = (await hash(text(`${name}\n`), raw)).slice(0, 4);
	if (raw.length !== 33 || raw[0] !== 1 || [...real].map((b) => b.toString(16).padStart(2, '0')).join('') !== id) throw new TypeError('not a key');
	return { name: name!, id: real, raw: raw.slice(1) };
}

async function signed(checkpoint: Checkpoint, keyText: string): Promise<Verdict> {
	const key = await readKey(keyText);
	const line = checkpoint.signatures.find((one) => one.name === key.name && same(one.id, key.id));
	if (!line || key.name !== checkpoint.origin) return 'bad';
	let verifier: CryptoKey;
	try {
		verifier = await crypto.subtle.importKey('raw', key.raw, 'Ed25519', false, ['verify']);
	} catch {
		return 'unable';
	}
	return (await crypto.subtle.verify('Ed25519', verifier, line.signature, text(checkpoint.signed))) ? 'good' : 'bad';
}

/** What the page shows is what the leaf says, no more and no less. */
function drawn(entry: Entry, leaf: string): boolean {
	const { time, ...columns } = entry;
	const micros = BigInt(Date.parse(time.replace(/(\.\d{3})\d*Z$/, '$1Z'))) / 1000n;
	return leaf === canon({ ...columns, v: 1 } as unknown as Json) && micros === BigInt(entry.at) / 1_000_000n;
}

interface Kept {
	key: string;
	checkpoint: string;
}
const place = (orgId: string): string => `audit-log:${orgId}`;
function remembered(orgId: string): Kept | null {
	try {
		return JSON.parse(kept(place(orgId)) ?? 'null') as Kept | null;
	} catch {
		return null;
	}
}
export const forget = (orgId: string): void => keep(place(orgId), null);

export interface Given {
	entry: Entry;
	proof: Proof;
	key: string;
	/** Asks for the proof that the log of `to` begins with the log of `from`. */
	grown: (from: number, to: number) => Promise<{ path: string[] }>;
}

async function grew(before: Kept | null, now: Checkpoint, grown: Given['grown']): Promise<Verdict> {
	if (!before) return 'first';
	const held = readCheckpoint(before.checkpoint);
	if (held.origin !== now.origin) return 'bad';
	const [old, young] = held.size <= now.size ? [held, now] : [now, held];
	const path = old.size === young.size ? [] : (await grown(old.size, young.size)).path.map(bytes);
	return (await consistent(old.size, old.root, young.size, young.root, path)) ? 'good' : 'bad';
}

/** What is malformed is as bad as what is wrong. What could not be asked for throws. */
export async function verify({ entry, proof, key, grown }: Given): Promise<Checks> {
	const soundly = async (check: () => Promise<Verdict>): Promise<Verdict> => check().catch((error: unknown) => {
		if (error instanceof TypeError || error instanceof DOMException) return 'bad';
		throw error;
	});
	const yes = (good: boolean): Verdict => (good ? 'good' : 'bad');
	const before = remembered(entry.orgId);
	const read = async () => readCheckpoint(proof.checkpoint);
	const checks: Checks = {
		leaf: await soundly(async () => yes(drawn(entry, proof.leaf))),
		inclusion: await soundly(async () => {
			const { origin, size, root } = await read();
			return yes(origin === `countersign/${entry.orgId}` && size === proof.size && (await included(proof.leaf, proof.leafIndex, size, proof.path.map(bytes), root)));
		}),
		signature: await soundly(async () => signed(await read(), key)),
		key: before ? yes(before.key === key) : 'first',
		growth: await soundly(async () => grew(before, await read(), grown)),
	};
	const sound = CHECKS.every((name) => checks[name] !== 'bad') && checks.signature === 'good';
	if (sound && (!before || readCheckpoint(before.checkpoint).size < proof.size)) keep(place(entry.orgId), JSON.stringify({ key, checkpoint: proof.checkpoint } satisfies Kept));
	return checks;
}
