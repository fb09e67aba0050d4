// SPDX-License-Identifier: Apache-2.0
// MCP message by message: what goes over the wire, as it is.
import assert from 'node:assert/strict';
import net from 'node:net';

import { streamEnded, until } from './server.mjs';

export const accept = 'application/json, text/event-stream';
export const request = (method, params = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
export const initialize = (protocolVersion = '2025-11-25', capabilities = {}) => request('initialize', { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } });
export const envelope = (capabilities = {}, more = {}) => ({ 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': capabilities, ...more });

/** The headers of a modern request, made of its message. */
export function modernHeaders({ method, params = {} }) {
	const name = { 'tools/call': params.name, 'prompts/get': params.name, 'resources/read': params.uri }[method] ?? params.taskId;
	return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': name }) };
}
export const modernMessage = (method, params = {}, { id = 1, capabilities, meta } = {}) => request(method, { ...params, _meta: envelope(capabilities, meta) }, id);

/** Talks to one server as one token. */
export class Wire {
	constructor(server, token) {
		Object.assign(this, { server, token });
	}

	headers(more = {}) {
		return { accept, 'content-type': 'application/json', ...(this.token ? { authorization: `Bearer ${this.token}` } : {}), ...more };
	}

	/** One message; the whole answer. Events are in `messages`. */
	async post(message, headers = {}) {
		const body = typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message);
		const response = await fetch(`${this.server.url}/mcp`, { method: 'POST', headers: this.headers(headers), body });
		const text = await response.text();
		const events = text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
		const json = /^[[{]/.test(text) ? JSON.parse(text) : undefined;
		return { status: response.status, headers: response.headers, text, json: json ?? events.at(-1), messages: json ? [json] : events };
	}

	modern(method, params = {}, { headers = {}, ...options } = {}) {
		const message = modernMessage(method, params, options);
		return this.post(message, { ...modernHeaders(message), ...headers });
	}

	call(name, input = {}, options) {
		return this.modern('tools/call', { name, arguments: input }, options);
	}

	/** A legacy session; posts with its id. */
	async session(version, capabilities) {
		const { headers, json } = await this.post(initialize(version, capabilities));
		const id = headers.get('mcp-session-id');
		return { id, result: json.result, headers: { 'mcp-session-id': id }, post: (message, more = {}) => this.post(message, { 'mcp-session-id': id, ...more }) };
	}

	/** An event stream: its messages and comments as they come. */
	async follow({ method = 'POST', message, headers = {} } = {}) {
		const abort = new AbortController();
		const body = message === undefined ? undefined : JSON.stringify(message);
		const { 'content-type': type, ...rest } = this.headers(headers);
		const response = await fetch(`${this.server.url}/mcp`, { method, headers: body === undefined ? rest : { 'content-type': type, ...rest }, body, signal: abort.signal });
		assert.equal(response.status, 200);
		assert.match(response.headers.get('content-type'), /^text\/event-stream/);
		const stream = { messages: [], ids: [], text: '', ended: false, response };
		const reading = (async () => {
			for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
				stream.text += chunk;
				const events = stream.text.split('\n\n').slice(0, -1);
				stream.ids = events.flatMap((event) => event.split('\n').filter((line) => line.startsWith('id: ')).map((line) => line.slice(4)));
				stream.messages = events.map((event) => event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n')).filter(Boolean).map((data) => JSON.parse(data));
			}
		})().catch(streamEnded).finally(() => (stream.ended = true));
		let taken = 0;
		return Object.assign(stream, {
			next: () => until(() => stream.messages.length > taken && stream.messages[taken++], 'a message'),
			over: () => until(() => stream.ended, 'the end of the stream'),
			close: () => (abort.abort(), reading),
		});
	}

	listen(notifications, id = 'sub') {
		const message = modernMessage('subscriptions/listen', { notifications }, { id });
		return this.follow({ message, headers: modernHeaders(message) });
	}

	/** A connection of our own: bytes in, and what came back so far. */
	socket() {
		const socket = net.connect(this.server.port, '127.0.0.1');
		const one = { socket, text: '', closed: false };
		socket.setEncoding('latin1').on('data', (chunk) => (one.text += chunk));
		socket.on('error', () => {}).on('close', () => (one.closed = true));
		return one;
	}

	head(length, more = '') {
		return `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: ${accept}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${this.token}\r\n${more}Content-Length: ${length}\r\n\r\n`;
	}
}
