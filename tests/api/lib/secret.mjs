// SPDX-License-Identifier: Apache-2.0
// Planted secrets: whatever a test gives the program as a credential is called `planted-…`, and must not come out of it again.
//
//   const key = secret('api-key');          // planted-api-key-3f9c…
//   secretToo(first.adminPassword);         // one that is called otherwise
//
// Everything that the servers of lib/server.mjs send to this process is looked through as it comes (answers, streams, errors; what
// is encrypted is not), and so is what they and other runs of the program print, and when a server is stopped all of its database; also
// in base64 and in hex. Tokens of ours and cookies are shown once by contract, in answers; elsewhere they are looked for,
// too. What was found fails the next stop of a server, or else the process.
import { channel } from 'node:diagnostics_channel';
import { randomBytes } from 'node:crypto';

const MARK = 'planted-';
const TOKEN = /cs_[a-z]+_[0-9A-Za-z]{40,}|whsec_[0-9A-Za-z+/]{80,}/;
const LONGEST = 200; // a secret that comes in two pieces is found if it is not longer

/** What of a text's base64 is the same wherever in a longer text it stands: three forms. */
function codings(text) {
	const bytes = Buffer.from(text);
	const cores = [0, 1, 2].map((skip) => {
		const shifted = Buffer.concat([Buffer.alloc(skip), bytes]).toString('base64').replace(/=+$/, '');
		return shifted.slice(skip && skip + 1, Math.floor(((skip + bytes.length) * 8) / 6));
	});
	return [text, bytes.toString('hex'), ...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
}

const everywhere = new Set([...codings(MARK), ...codings('correct horse battery')]);
const notPrinted = new Set(); // allowed in answers only
let findings = [];

/** A new one. */
export const secret = (name) => `${MARK}${name}-${randomBytes(12).toString('hex')}`;

/** One that has another name; with `shown` it may be in answers, which show it once. */
export function secretToo(text, { shown = false } = {}) {
	if (!text) return;
	for (const form of [...codings(text), encodeURIComponent(text), JSON.stringify(text).slice(1, -1)]) (shown ? notPrinted : everywhere).add(form);
}

function note(where, text, at, length) {
	const form = text.slice(at, at + Math.min(length, 12));
	findings.push(`${where} has ${form}…: ${JSON.stringify(text.slice(Math.max(0, at - 80), at))}`);
}

function look(where, text, forms) {
	for (const form of forms) {
		const at = text.indexOf(form);
		if (at >= 0) note(where, text, at, form.length);
	}
}

/** Something that the program printed or stored. `tokens` false: it prints tokens by contract. */
export function lookAt(where, text, { tokens = true } = {}) {
	look(where, text, everywhere);
	if (!tokens) return;
	look(where, text, notPrinted);
	const token = TOKEN.exec(text);
	if (token) note(where, text, token.index, token[0].length);
}

/** All that was found since the last time. */
export function found() {
	const all = findings;
	findings = [];
	return all;
}

const ports = new Map(); // of our servers, and what they are called

/** From now on what comes from this port is looked at. */
export const watch = (port, name) => ports.set(port, name);

channel('net.client.socket').subscribe(({ socket }) => {
	const { push } = socket;
	let end = '';
	socket.push = function (chunk, ...rest) {
		const name = chunk && ports.get(socket.remotePort);
		if (name) {
			const text = end + Buffer.from(chunk).toString('latin1');
			look(`an answer of ${name}`, text, everywhere);
			end = text.slice(-LONGEST);
		}
		return push.call(this, chunk, ...rest);
	};
});

process.on('exit', () => {
	const all = found();
	if (!all.length) return;
	console.error(`a secret came out:\n${all.join('\n')}`);
	process.exitCode = 1;
});
