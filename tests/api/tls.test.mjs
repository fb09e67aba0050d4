// SPDX-License-Identifier: Apache-2.0
// TLS from files, and a certificate that changes while the server runs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';

import { startServer, temporaryDirectory, until } from './lib/server.mjs';

const noOpenssl = !existsSync('/usr/bin/openssl') && 'skipped: there is no openssl to make certificates with';

function makeCertificate(dir, name) {
	const certificate = path.join(dir, `${name}.pem`), key = path.join(dir, `${name}.key`);
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
	return { certificate, key };
}

/** One request over TLS: who answered, and what. */
function ask(server, options = {}) {
	return new Promise((resolve, reject) => {
		const socket = tls.connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
			const name = socket.getPeerCertificate().subject.CN;
			let text = '';
			socket.setEncoding('latin1').on('data', (chunk) => (text += chunk)).on('end', () => resolve({ name, text, protocol: socket.getProtocol() }));
			socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
		});
		socket.on('error', reject);
	});
}

test('it serves over TLS, says https, and takes a new certificate on SIGHUP', { skip: noOpenssl }, async (t) => {
	const dir = await temporaryDirectory(t);
	const [first, second] = ['first', 'second'].map((name) => makeCertificate(dir, name));
	const used = { certificate: path.join(dir, 'used.pem'), key: path.join(dir, 'used.key') };
	const use = async (pair) => {
		await copyFile(pair.certificate, used.certificate);
		await copyFile(pair.key, used.key);
	};
	await use(first);
	const server = await startServer({ args: ['--tls-certificate', used.certificate, '--tls-key', used.key], listen: '0.0.0.0:0' });
	assert.match(server.url, /^https:/);
	assert.doesNotMatch(server.stdout, /Warning/);
	const answer = await ask(server);
	assert.equal(answer.name, 'first');
	assert.match(answer.text, /^HTTP\/1\.1 200 [^]*strict-transport-security: [^]*\{"status":"ok"\}/i);

	await use(second);
	server.kill('SIGHUP');
	await until(() => server.log().some((line) => line.event === 'tls.reloaded'), 'the reload');
	assert.equal((await ask(server)).name, 'second');

	await writeFile(used.certificate, 'this is no certificate');
	server.kill('SIGHUP');
	await until(() => server.log().some((line) => line.event === 'tls.not_reloaded'), 'the refusal');
	assert.equal((await ask(server)).name, 'second'); // what worked goes on working
	await assert.rejects(ask(server, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }));
	await server.stop();
});

test('plain HTTP on a TLS port gets no answer that could be taken for one', { skip: noOpenssl }, async (t) => {
	const pair = makeCertificate(await temporaryDirectory(t), 'plain');
	const server = await startServer({ args: ['--tls-certificate', pair.certificate, '--tls-key', pair.key] });
	assert.doesNotMatch(await server.raw('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'), /200/);
	assert.equal((await ask(server)).name, 'plain');
	await server.stop();
});
