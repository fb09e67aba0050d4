// SPDX-License-Identifier: Apache-2.0
// The other end of a webhook: keeps what came, answers as a test says, and signs by Standard Webhooks on its own.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';

const keyOf = (secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

export function sign(secret, id, seconds, body) {
	return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

/** Headers of a message that is signed now, or at that time. */
export function signed(secret, id, body, seconds = Math.floor(Date.now() / 1000)) {
	return { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': sign(secret, id, seconds, body) };
}

/** Was it signed with this secret, just now? */
export function isSigned(request, secret) {
	const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures } = request.headers;
	return Math.abs(Date.now() / 1000 - Number(seconds)) < 300 && signatures.split(' ').includes(sign(secret, id, seconds, request.body));
}

export class Receiver {
	/** answer(request) gives {status, type, body}, or takes the socket itself and gives nothing. */
	static async start(answer = () => ({})) {
		const receiver = Object.assign(new Receiver(), { requests: [], answer });
		receiver.server = http.createServer(async (req, res) => {
			let body = '';
			for await (const piece of req.setEncoding('utf8')) body += piece;
			const request = { method: req.method, url: req.url, headers: req.headers, body, json: body ? JSON.parse(body) : undefined, socket: req.socket };
			receiver.requests.push(request);
			const said = await receiver.answer(request);
			if (!said) return;
			res.writeHead(said.status ?? 200, { 'content-type': said.type ?? 'application/json', ...said.headers });
			res.end(said.body ?? '{}');
		});
		receiver.server.listen(0, '127.0.0.1');
		await once(receiver.server, 'listening');
		receiver.url = `http://127.0.0.1:${receiver.server.address().port}/hook`;
		return receiver;
	}

	get last() {
		return this.requests.at(-1);
	}

	async stop() {
		this.server.close();
		this.server.closeAllConnections();
		await once(this.server, 'close').catch(() => {});
	}
}
