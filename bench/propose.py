# SPDX-License-Identifier: Apache-2.0
"""Proposals/s over REST on PostgreSQL vs pgbench -M prepared doing one INSERT, same clients.

bench/run propose [ROUNDS] [SECONDS]: 8 and 32 connections that are kept, one agent each. A proposal is gate,
budget, dry-run, policy, card, row, call and audit entry, durable. The server has been at work before (plane.age). Both run right after each other, every
other round in reverse; ratios are taken in each round, and the lesser median counts. The goals: 0.12 of pgbench's rate, and at
most 4 round trips to the database (one proposal alone, the least of several: sealing runs meanwhile and counts too).
BENCH_RATE=1000 measures tokens of a small budget.
"""
import pathlib
import statistics
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import plane

CLIENTS = (8, 32)
GOAL, TRIPS_GOAL = 0.12, 4
TABLE = 'CREATE TABLE bench_row (client bigint, n bigint, body text)'
INSERT = 'INSERT INTO bench_row (client, n, body) VALUES (:client_id, :n, :body);\n'


def pgbench(url, script, clients, seconds):
    command = ['pgbench', '-n', '-M', 'prepared', '-f', script, '-c', str(clients), '-j', '2', '-T', str(seconds),
               '-D', 'n=1', '-D', f'body={"x" * 200}', url]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(float(line.split()[2]) for line in out.splitlines() if line.startswith('tps = '))


def trips_of_one(server, token):
    """Round trips of one proposal: the least of several, the sealer's own are in between."""
    seen = []
    for i in range(30):
        before = server.metric('db_round_trips_total')
        server.ask('POST', '/api/v1/proposals', {'tool': 'note.create', 'input': {'title': f'{i}', 'text': ''}}, token)
        seen.append(server.metric('db_round_trips_total') - before)
    return min(seen)


def measure(server, url, script, tokens, clients, rounds, seconds):
    got = []
    for i in range(rounds):
        row = {}
        for who in ('ours', 'pgbench') if i % 2 else ('pgbench', 'ours'):
            mine = tokens[:clients] if plane.BUSY else server.agents(clients)  # a small budget is used up in one round
            row[who] = (server.load('propose', clients, seconds, mine) if who == 'ours'
                        else (pgbench(url, script, clients, seconds),))
        got.append((*row['ours'], row['pgbench'][0]))
    return got


def report(clients, got):
    rate, p50, p99, theirs = (statistics.median(column) for column in zip(*got))
    ratios = [row[0] / row[3] for row in got]
    ratio = statistics.median(ratios)
    print(f'{clients:>8}{rate:>10.0f}{p50 / 1000:>8.1f}{p99 / 1000:>8.1f}{theirs:>11.0f}{ratio:>8.3f}{GOAL:>6}'
          f'   {" ".join(f"{r:.3f}" for r in ratios)}')
    return ratio


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['5', '5'][len(sys.argv) - 1:])[:2])
    with plane.postgres() as url, plane.directory() as where:
        plane.age(url)
        script = where / 'insert.sql'
        script.write_text(INSERT)
        subprocess.run(['psql', '-X', '-q', '-d', url, '-c', TABLE], check=True)
        with plane.Plane(where, url) as server:
            tokens = server.agents(max(CLIENTS))
            server.load('propose', max(CLIENTS), 1, tokens)  # warm
            trips = trips_of_one(server, tokens[0])
            got = {clients: measure(server, url, script, tokens, clients, rounds, seconds) for clients in CLIENTS}
    print(f'{rounds} rounds of {seconds} s, medians; a proposal alone takes {trips} round trips (goal {TRIPS_GOAL})')
    print(f'{"clients":>8}{"propose/s":>10}{"p50 ms":>8}{"p99 ms":>8}{"pgbench/s":>11}{"ratio":>8}{"goal":>6}   per round')
    print(f'propose ratio={min(report(clients, rows) for clients, rows in got.items()):.3f}')


if __name__ == '__main__':
    main()
