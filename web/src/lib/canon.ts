// SPDX-License-Identifier: Apache-2.0
// The canonical form of a JSON document (RFC 8785) and its SHA-256: the same bytes as the server's json/canon.c.
// JavaScript is RFC 8785's reference for numbers, strings and the order of keys (UTF-16 code units).

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export function canon(value: Json): string {
	if (Array.isArray(value)) return `[${value.map(canon).join(',')}]`;
	if (value !== null && typeof value === 'object') {
		const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canon(value[key] as Json)}`);
		return `{${members.join(',')}}`;
	}
	if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('JSON has no such number');
	return JSON.stringify(value);
}

export async function sha256(text: string): Promise<string> {
	const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
	return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Nothing may change what was hashed before it is drawn, or after. */
export function freeze<T>(value: T): T {
	if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
		Object.freeze(value);
		for (const member of Object.values(value)) freeze(member);
	}
	return value;
}
