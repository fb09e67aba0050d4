# SPDX-License-Identifier: Apache-2.0
"""Propose, approve, apply at 32 clients on SQLite, +1 ms per sync: default batches vs --sqlite-batch 1.

bench/run flow [ROUNDS] [SECONDS]: three requests a turn on a connection that is kept. Each measurement has a
database of its own. The variants of a round run right after each other, every other round in reverse; the
ratio is the median of the rounds'. `+1 ms` makes every sync take a millisecond longer, as an ordinary disk
would. The goal: three times as fast.
"""
import pathlib
import statistics
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import plane

CLIENTS, AGENTS = 32, 8
GOAL = 3
VARIANTS = {'default': (), 'one each': ('--sqlite-batch', '1')}


def measure(args, seconds):
    """(turns/s, p50 us, p99 us, transactions per COMMIT)"""
    with plane.directory() as where:
        env = dict(LD_PRELOAD=str(plane.BUILD / 'bench/slow-sync.so'), SHIM_DIR=str(where / 'data'),
                   SHIM_SYNC_DELAY_US='1000')
        with plane.Plane(where, args=('--workers', str(CLIENTS), *args), **env) as server:
            tokens = server.agents(AGENTS)
            before = [server.metric(f'db_{what}_total') for what in ('transactions', 'batches')]
            got = server.load('flow', CLIENTS, seconds, tokens, server.first['adminToken'])
            after = [server.metric(f'db_{what}_total') for what in ('transactions', 'batches')]
            return *got, (after[0] - before[0]) / max(1, after[1] - before[1])


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ['5', '5'][len(sys.argv) - 1:])[:2])
    got = {name: [] for name in VARIANTS}
    for i in range(rounds):
        for name in list(VARIANTS) if i % 2 else reversed(VARIANTS):
            got[name].append(measure(VARIANTS[name], seconds))
    print(f'{CLIENTS} clients, +1 ms per sync, {rounds} rounds of {seconds} s, medians')
    print(f'{"batches":<10}{"flows/s":>9}{"p50 ms":>9}{"p99 ms":>9}{"per COMMIT":>12}')
    for name, rows in got.items():
        rate, p50, p99, per = (statistics.median(column) for column in zip(*rows))
        print(f'{name:<10}{rate:>9.0f}{p50 / 1000:>9.1f}{p99 / 1000:>9.1f}{per:>12.1f}')
    ratios = [a[0] / b[0] for a, b in zip(*got.values())]
    print(f'speed-up per round {" ".join(f"{r:.2f}" for r in ratios)}; goal {GOAL}')
    print(f'flow ratio={statistics.median(ratios):.2f}')


if __name__ == '__main__':
    main()
