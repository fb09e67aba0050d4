# SPDX-License-Identifier: Apache-2.0
"""Proposals/s over REST on PostgreSQL vs pgbench -M prepared doing one INSERT, same clients.

bench/run propose [ROUNDS] [SECONDS]: 8 connections that are kept, one agent each. A proposal is gate,
budget, dry-run, policy, card, row, call and audit entry, durable. Both run right after each other, every
other round in reverse; ratios are taken in each round. The goals: a quarter of pgbench's rate, and at most 6
round trips to the database (one proposal alone, the least of several: sealing runs meanwhile and counts too).
"""
import pathlib
import statistics
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import plane

CLIENTS = 8
GOAL, TRIPS_GOAL = 0.25, 6
TABLE = 'CREATE TABLE bench_row (client bigint, n bigint, body text)'
INSERT = 'INSERT INTO bench_row (client, n, body) VALUES (:client_id, :n, :body);\n'


def pgbench(url, script, seconds):
    command = ['pgbench', '-n', '-M', 'prepared', '-f', script, '-c', str(CLIENTS), '-j', '2', '-T', str(seconds),
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


def measure(server, url, script, rounds, seconds):
    tokens = server.agents(CLIENTS)
    server.load('propose', CLIENTS, 1, tokens)  # warm
    trips, got = trips_of_one(server, tokens[0]), []
    for i in range(rounds):
        row = {}
        for who in ('ours', 'pgbench') if i % 2 else ('pgbench', 'ours'):
            row[who] = (server.load('propose', CLIENTS, seconds, tokens) if who == 'ours'
                        else (pgbench(url, script, seconds),))
        got.append((*row['ours'], row['pgbench'][0]))
    return trips, got


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['5', '5'][len(sys.argv) - 1:])[:2])
    with plane.postgres() as url, plane.directory() as where:
        script = where / 'insert.sql'
        script.write_text(INSERT)
        subprocess.run(['psql', '-X', '-q', '-d', url, '-c', TABLE], check=True)
        with plane.Plane(where, url) as server:
            trips, got = measure(server, url, script, rounds, seconds)
    rate, p50, p99, theirs = (statistics.median(column) for column in zip(*got))
    ratio = statistics.median(row[0] / row[3] for row in got)
    print(f'{CLIENTS} clients, {rounds} rounds of {seconds} s, medians')
    print(f'{"propose/s":>10}{"p50 ms":>8}{"p99 ms":>8}{"pgbench/s":>11}{"ratio":>8}{"goal":>6}{"round trips":>13}{"goal":>6}')
    print(f'{rate:>10.0f}{p50 / 1000:>8.1f}{p99 / 1000:>8.1f}{theirs:>11.0f}{ratio:>8.3f}{GOAL:>6}{trips:>13}{TRIPS_GOAL:>6}')
    print('ratio per round ' + ' '.join(f'{row[0] / row[3]:.3f}' for row in got))
    print(f'propose ratio={ratio:.3f}')


if __name__ == '__main__':
    main()
