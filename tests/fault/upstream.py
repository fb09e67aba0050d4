# SPDX-License-Identifier: Apache-2.0
"""The other systems of run-outside: one process with a log of its own, which does what it is told and misbehaves.

    upstream.py LOG FOLDER SECRET SEED

It prints its port, and ends with its standard input. FOLDER/ports has the ports of the servers that take callbacks; while there is a
FOLDER/calm it behaves. One port serves

    /hook/N    a webhook that answers with the outcome
    /later/N   a webhook that calls back: soon, before its answer, late, twice, after a forged one, never
    /mcp/N     an MCP server (2025-11-25, with sessions)
    /events    who wants to be told of everything

What is written to LOG, a JSON object a line: effects (`effect`), callbacks that are due and what became of them (`due`, `told`), and
events (`event`, and whether it was taken).
"""
import asyncio
import base64
import hashlib
import hmac
import json
import os
import pathlib
import random
import socket
import struct
import sys
import time

DEADLINE_MS = 1000  # the least that a tool can have
LATER_MS = 3000  # and where the outcome is told later
LEASE_S, SLACK_S = 5, 3  # base/limits.h: LIMIT_SEND_LEASE_US, LIMIT_SEND_SLACK_US
LATE_S = LATER_MS / 1000 + LEASE_S + SLACK_S + 2  # after which everybody has given it up
PATIENCE_S = 60  # a callback is repeated so long: servers die, and come back
# What it does, how often in a hundred, and whether the effect takes place.
FAULTS = {'error_after': (4, True), 'error_before': (3, False), 'drop_before': (4, False), 'drop_after': (5, True), 'reset_before': (3, False),
          'reset_after': (4, True), 'half': (4, True), 'garbage': (3, True), 'hang_after': (1, True), 'hang_before': (1, False)}
HOOK = {'done': (58, True), 'refused': (6, False), 'twice': (4, True), **FAULTS}
MCP = {'done': (48, True), 'streamed': (6, True), 'refused': (3, False), 'failed': (3, False), 'twice': (4, True), 'foreign': (2, True),
       'session_over': (2, False), **FAULTS}
LATER = {'done': (40, True), 'early': (8, True), 'twice': (8, True), 'forged': (8, True), 'late': (2, True), 'never': (3, True),
         'refused': (3, False), 'not_done': (6, False), **FAULTS}
EVENTS = {'done': (90, True), 'error_after': (4, True), 'drop_before': (3, True), 'reset_after': (3, True)}
CALLS_BACK = {'done', 'early', 'twice', 'forged', 'late', 'not_done', 'drop_after', 'reset_after', 'half'}
FORGED = 'whsec_' + base64.b64encode(b'this is not the secret that was agreed').decode()


def sign(secret, ident, seconds, body):
    key = base64.b64decode(secret.removeprefix('whsec_'))
    return 'v1,' + base64.b64encode(hmac.new(key, b'%s.%s.%s' % (ident.encode(), seconds.encode(), body), hashlib.sha256).digest()).decode()


class Upstream:
    def __init__(self, log, folder, secret, seed):
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.folder, self.secret, self.random = pathlib.Path(folder), secret, random.Random(seed)
        self.calling = set()  # whoever is about to call back

    def note(self, **line):
        os.write(self.log, (json.dumps(line) + '\n').encode())  # one write: there wholly or not at all

    def draw(self, modes):
        if (self.folder / 'calm').exists():
            return 'done'
        return self.random.choices(list(modes), [weight for weight, _ in modes.values()])[0]

    # --- HTTP ---

    @staticmethod
    async def read(reader):
        head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
        headers = {name.lower(): value.strip() for name, value in (line.split(':', 1) for line in head[1:] if line)}
        method, path, _ = head[0].split(' ', 2)
        return method, path, headers, await reader.readexactly(int(headers.get('content-length', 0)))

    async def serve(self, reader, writer):
        try:
            while await self.one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        """One request; False: the connection is over."""
        method, path, headers, body = await self.read(reader)
        where = path.split('/')[1]
        if method != 'POST':  # an MCP client may ask for a stream, or end its session
            return await self.answer(writer, 'done', b'', 405)
        return await getattr(self, f'take_{where}')(writer, headers, body)

    async def answer(self, writer, mode, body, status=200, kind='application/json', more=''):
        """As it should be, or as the mode says."""
        whole = f'HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {len(body)}\r\n\r\n'.encode() + body
        if mode.startswith('hang'):
            await asyncio.sleep(DEADLINE_MS / 1000 * 3)
        elif mode.startswith('reset'):
            writer.get_extra_info('socket').setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            writer.transport.abort()
            return False
        elif mode.startswith('error'):
            writer.write(b'HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n')
        elif mode == 'half':
            writer.write(whole[:-max(1, len(body) // 2)])
        elif mode == 'garbage':
            writer.write(b'\x16\x03\x01 HTTP/9 banana\r\n\r\n{}')
        elif not mode.startswith('drop'):
            writer.write(whole * (2 if mode == 'twice' else 1))
        await writer.drain()
        return not mode.startswith(('hang', 'half', 'garbage', 'drop', 'twice'))

    # --- webhooks ---

    def signed(self, headers, body):
        made = sign(self.secret, headers['webhook-id'], headers['webhook-timestamp'], body)
        return made in headers['webhook-signature'].split(' ')

    def do(self, headers, body, command, mode):
        self.note(effect=command['parameters']['n'], via=mode, signed=self.signed(headers, body), command=command['commandId'],
                  proposal=command['proposalId'], key=command['idempotencyKey'], parameters=command['parameters'],
                  approvals=len(command['approvals']))

    async def take_hook(self, writer, headers, body):
        command, mode = json.loads(body), self.draw(HOOK)
        if HOOK[mode][1]:
            self.do(headers, body, command, mode)
        if mode == 'refused':
            return await self.answer(writer, mode, b'{}', 422)
        return await self.answer(writer, mode, json.dumps({'did': command['commandId']}).encode())

    # --- webhooks that call back ---

    async def take_later(self, writer, headers, body):
        command, mode = json.loads(body), self.draw(LATER)
        if LATER[mode][1]:
            self.do(headers, body, command, mode)
        if mode in CALLS_BACK:
            self.note(due=command['commandId'])
            task = asyncio.ensure_future(self.call_back(command, mode))
            self.calling.add(task)
            task.add_done_callback(self.calling.discard)
            if mode == 'early':
                await asyncio.wait([task], timeout=DEADLINE_MS / 1000 / 2)
        if mode == 'refused':
            return await self.answer(writer, mode, b'{}', 422)
        return await self.answer(writer, 'done' if mode == 'twice' else mode, b'{"got": "it"}', 202)

    async def call_back(self, command, mode):
        path = '/' + command['callbackUrl'].split('/', 3)[3]
        body = json.dumps({'commandId': command['commandId'], 'status': 'refused' if mode == 'not_done' else 'done',
                           'result': {'n': command['parameters']['n']}}).encode()
        heard = []
        if mode != 'early':
            await asyncio.sleep(LATE_S if mode == 'late' else self.random.uniform(0, 0.4))
        if mode == 'forged':
            heard += [[*await self.post(path, body, FORGED, 'forged'), 'forged'], [*await self.post(path, body, None, 'bare'), 'forged']]
        for _ in range(2 if mode == 'twice' else 1):
            heard.append([*await self.post(path, body, self.secret, 'cb'), 'late' if mode == 'late' else 'genuine'])
        self.note(told=command['commandId'], proposal=command['proposalId'], heard=heard)

    async def post(self, path, body, secret, ident):
        """Until a server answers that knows; its status and what it says, and whether it may have heard an earlier try."""
        end, repeated = time.monotonic() + PATIENCE_S, False
        while time.monotonic() < end:
            try:
                status, said = await asyncio.wait_for(self.post_once(path, body, secret, ident), 10)
                if status < 500:
                    return status, said, repeated
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError, IndexError):
                pass
            repeated = True
            await asyncio.sleep(0.05)
        return 0, {}, True

    async def post_once(self, path, body, secret, ident):
        port = self.random.choice(json.loads((self.folder / 'ports').read_text()))
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        try:
            now = str(int(time.time()))
            headers = {'host': 'countersign', 'content-type': 'application/json', 'content-length': len(body)}
            if secret:
                headers |= {'webhook-id': ident, 'webhook-timestamp': now, 'webhook-signature': sign(secret, ident, now, body)}
            writer.write(f'POST {path} HTTP/1.1\r\n'.encode() + ''.join(f'{k}: {v}\r\n' for k, v in headers.items()).encode() +
                         b'\r\n' + body)
            head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1')
            length = next(int(line.split(':')[1]) for line in head.split('\r\n') if line.lower().startswith('content-length'))
            return int(head.split(' ')[1]), json.loads(await reader.readexactly(length))
        finally:
            writer.close()

    # --- MCP ---

    async def take_mcp(self, writer, headers, body):
        message = json.loads(body)
        if 'id' not in message:
            return await self.answer(writer, 'done', b'', 202)
        answers = {'initialize': {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'up', 'version': '1'}},
                   'tools/list': {'tools': [{'name': 'do', 'description': 'It does it.', 'inputSchema': {
                       'type': 'object', 'properties': {'n': {'type': 'string'}}, 'required': ['n']}}]}}
        if message['method'] == 'tools/call':
            return await self.call(writer, message)
        if message['method'] not in answers:
            error = {'jsonrpc': '2.0', 'id': message['id'], 'error': {'code': -32601, 'message': 'what?'}}
            return await self.answer(writer, 'done', json.dumps(error).encode())
        more = 'mcp-session-id: one\r\n' if message['method'] == 'initialize' else ''
        said = {'jsonrpc': '2.0', 'id': message['id'], 'result': answers[message['method']]}
        return await self.answer(writer, 'done', json.dumps(said).encode(), more=more)

    async def call(self, writer, message):
        mode, given = self.draw(MCP), message['params']['arguments']
        if MCP[mode][1]:
            self.note(effect=given['n'], via=mode, parameters=given)
        said = {'jsonrpc': '2.0', 'id': message['id'] + (mode == 'foreign'), 'result': {'content': [{'type': 'text', 'text': given['n']}]}}
        if mode == 'session_over':
            return await self.answer(writer, mode, b'', 404)
        if mode == 'failed':
            said['result']['isError'] = True
        elif mode == 'refused':
            said = {'jsonrpc': '2.0', 'id': message['id'], 'error': {'code': -32602, 'message': 'no'}}
        if mode == 'streamed':
            return await self.answer(writer, mode, f'data: {json.dumps(said)}\n\n'.encode(), kind='text/event-stream')
        return await self.answer(writer, mode, json.dumps(said).encode())

    # --- who wants to be told ---

    async def take_events(self, writer, headers, body):
        event, mode = json.loads(body), self.draw(EVENTS)
        self.note(event=event['id'], type=event['type'], subject=event['subject'], data=event['data'], taken=mode == 'done',
                  signed=self.signed(headers, body))
        return await self.answer(writer, mode, b'{}')


async def main(log, folder, secret, seed):
    asyncio.get_running_loop().add_reader(0, lambda: os._exit(0))  # whoever started us has gone
    server = await asyncio.start_server(Upstream(log, folder, secret, int(seed)).serve, '127.0.0.1', 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
