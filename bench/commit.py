# SPDX-License-Identifier: Apache-2.0
"""Durable transactions/s at 1, 8, 32 clients: group commit vs one per request; PostgreSQL vs pgbench.

bench/run commit [ROUNDS] [SECONDS]: one single-row INSERT per transaction. The variants of one
round run right after each other; the table has the medians over the rounds, ratios are taken in
each round. `+1 ms` makes every sync take a millisecond longer, as an ordinary disk would.
The goal: at 32 clients and +1 ms group commit is 3 times as fast, at 1 client no slower.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CLIENTS = (1, 8, 32)
GOAL = 3
ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ['COUNTERSIGN_BUILD'])
BODY = 'x' * 200
INSERT = 'INSERT INTO bench_row (client, n, body) VALUES (:client_id, :n, :body);\n'


def fsync_us(directory):
    """What one appended page and its fdatasync cost on this disk, now."""
    spent = []
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        for _ in range(300):
            os.write(file.fileno(), bytes(4096))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            spent.append((time.perf_counter() - start) * 1e6)
    return statistics.median(spent)


def ours(engine, where, clients, seconds, batch, delay_us=0):
    """(transactions/s, transactions per COMMIT)"""
    env = dict(os.environ)
    if delay_us:
        env |= dict(LD_PRELOAD=str(BUILD / 'bench/slow-sync.so'), SHIM_DIR=str(where), SHIM_SYNC_DELAY_US=str(delay_us))
    command = [BUILD / 'bench/bench-commit', engine, where, str(clients), str(seconds), str(batch)]
    done, us, batches = map(int, subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout.split())
    return done / us * 1e6, done / max(1, batches)


def sqlite(clients, seconds, batch, delay_us):
    where = tempfile.mkdtemp(prefix='commit-', dir=BUILD)  # the real disk, not a tmpfs
    try:
        return ours('sqlite', where, clients, seconds, batch, delay_us)
    finally:
        shutil.rmtree(where)


def pgbench(url, script, clients, seconds):
    command = ['pgbench', '-n', '-M', 'prepared', '-f', script, '-c', str(clients), '-j', str(min(2, clients)),
               '-T', str(seconds), '-D', 'n=1', '-D', f'body={BODY}', url]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(float(line.split()[2]) for line in out.splitlines() if line.startswith('tps = '))


def median(values):
    return statistics.median(list(values))


def compare_sqlite(rounds, seconds):
    got = {}
    for _ in range(rounds):
        for delay_us in (0, 1000):
            for clients in CLIENTS + (1, 1):  # one client differs least and waits for the disk most: look thrice
                pairs = got.setdefault((delay_us, clients), [])
                pair = {}  # who goes first changes, so that a slow spell of the disk does not choose a side
                for batch in (0, 1) if len(pairs) % 2 else (1, 0):
                    pair[batch] = sqlite(clients, seconds, batch, delay_us)
                pairs.append((pair[0], pair[1]))
    ratios = {}
    print(f'{"SQLite, FULL":<16}{"clients":>8}{"group/s":>10}{"per COMMIT":>12}{"one each/s":>12}{"ratio":>8}')
    for (delay_us, clients), pairs in got.items():
        ratios[delay_us, clients] = median(g[0] / o[0] for g, o in pairs)
        print(f'{"+1 ms per sync" if delay_us else "this disk":<16}{clients:>8}{median(g[0] for g, _ in pairs):>10.0f}'
              f'{median(g[1] for g, _ in pairs):>12.1f}{median(o[0] for _, o in pairs):>12.0f}'
              f'{ratios[delay_us, clients]:>8.2f}')
    return ratios


def compare_postgres(rounds, seconds, url, scripts):
    got = {}
    ours('postgres', url, 1, 1, 0)  # makes the table
    for _ in range(rounds):
        for clients in CLIENTS:
            row = (ours('postgres', url, clients, seconds, 0)[0],
                   *(pgbench(url, script, clients, seconds) for script in scripts))
            got.setdefault(clients, []).append(row)
    print(f'\n{"PostgreSQL":<16}{"clients":>8}{"tx_run/s":>10}{"pgbench/s":>12}{"ratio":>8}{"with BEGIN/s":>14}{"ratio":>8}')
    for clients, rows in got.items():
        print(f'{"":<16}{clients:>8}{median(r[0] for r in rows):>10.0f}{median(r[1] for r in rows):>12.0f}'
              f'{median(r[0] / r[1] for r in rows):>8.2f}{median(r[2] for r in rows):>14.0f}'
              f'{median(r[0] / r[2] for r in rows):>8.2f}')


def postgres(rounds, seconds):
    url = subprocess.run([ROOT / 'tests/lib/pg', 'start'], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        with tempfile.TemporaryDirectory() as where:
            scripts = [pathlib.Path(where) / 'single.sql', pathlib.Path(where) / 'begin.sql']
            scripts[0].write_text(INSERT)
            scripts[1].write_text(f'BEGIN;\n{INSERT}COMMIT;\n')
            compare_postgres(rounds, seconds, url, scripts)
    finally:
        subprocess.run([ROOT / 'tests/lib/pg', 'stop', url], check=True)


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['3', '1'][len(sys.argv) - 1:])[:2])
    print(f'{rounds} rounds of {seconds} s; a page and its fdatasync cost {fsync_us(BUILD):.0f} µs on this disk\n')
    ratios = compare_sqlite(rounds, seconds)
    postgres(rounds, seconds)
    print(f'\nat 1 client {ratios[0, 1]:.2f} (this disk) and {ratios[1000, 1]:.2f} (+1 ms) of one per request; '
          f'at 32 clients and +1 ms {ratios[1000, 32]:.1f} times, goal {GOAL}')
    print(f'commit ratio={ratios[1000, 32]:.2f}')


if __name__ == '__main__':
    main()
