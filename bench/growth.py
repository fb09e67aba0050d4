# SPDX-License-Identifier: Apache-2.0
"""p99 of a proposal with 10,000 and with 1,000,000 calls on record, on both engines.

bench/run growth [ROUNDS] [SECONDS] [ROWS]: two servers, one on each database, asked in turns by 4 clients on
connections that are kept; the rows are put there by SQL and belong to the agents that ask. The ratio is the
median of the rounds' p99 with many rows over the median with few. The goal: at most 1.2 on each engine.
"""
import contextlib
import pathlib
import sqlite3
import statistics
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import plane

CLIENTS = 4
FEW, MANY, GOAL = 10_000, 1_000_000, 1.2
# Ids older than every new one, in the form that ids have.
ROW = """INSERT INTO call (org_id, call_id, principal_id, token_id, transport, tool, effect, status, args_hash, proposal_id, called_at)
SELECT p.org_id, {id}, p.principal_id, NULL, 'rest', 'note.create', 'mutate', 'proposed', {hash}, NULL, i
FROM {numbers} JOIN principal p ON p.name = {name} WHERE p.kind = 'agent'"""
POSTGRES = ROW.format(id="'00000000-0000-7000-8000-' || lpad(CAST(i AS text), 12, '0')", hash="repeat('0', 64)",
                      numbers='generate_series(1, {count}) i', name=f"'Bench ' || (i % {CLIENTS})")
SQLITE = ('WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < {count})\n'
          + ROW.format(id="printf('00000000-0000-7000-8000-%012d', i)", hash="hex(zeroblob(32))", numbers='numbers',
                       name=f"'Bench ' || (i % {CLIENTS})"))


def fill_sqlite(where, count):
    db = sqlite3.connect(where / 'data/countersign.db')
    db.execute(SQLITE.format(count=count))
    db.commit()
    added = db.total_changes
    db.close()
    return added


def fill_postgres(url, count):
    command = ['psql', '-X', '-d', url, '-v', 'ON_ERROR_STOP=1', '-c', POSTGRES.format(count=count), '-c', 'VACUUM ANALYZE', '-c', 'CHECKPOINT']
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(out.split()[2])


def prepare(stack, url, count):
    """A server on a database with that many calls, and the agents' tokens."""
    where = stack.enter_context(plane.directory())
    with plane.Plane(where, url) as server:  # SQLite has one owner: it is filled while nobody has it
        first, tokens = server.first, server.agents(CLIENTS)
    added = fill_postgres(url, count) if url else fill_sqlite(where, count)
    assert added == count, f'{added} rows came, not {count}'
    server = stack.enter_context(plane.Plane(where, url, first=first))
    server.load('propose', CLIENTS, 1, tokens)  # warm
    return server, tokens


def compare(engine, urls, rounds, seconds, many):
    with contextlib.ExitStack() as stack:
        sides = [prepare(stack, url, count) for url, count in zip(urls, (FEW, many))]
        got = [[], []]
        for i in range(rounds):
            for side in (0, 1) if i % 2 else (1, 0):
                server, tokens = sides[side]
                got[side].append(server.load('propose', CLIENTS, seconds, tokens))
    p99 = [statistics.median(row[2] for row in rows) for rows in got]
    for count, rows, last in zip((FEW, many), got, p99):
        print(f'{engine:<12}{count:>10,}{statistics.median(r[0] for r in rows):>11.0f}'
              f'{statistics.median(r[1] for r in rows) / 1000:>9.2f}{last / 1000:>9.2f}', flush=True)
    return p99[1] / p99[0]


def main():
    rounds, seconds, many = (int(a) for a in (sys.argv[1:] + ['9', '3', str(MANY)][len(sys.argv) - 1:])[:3])
    print(f'{CLIENTS} clients, {rounds} rounds of {seconds} s, medians')
    print(f'{"engine":<12}{"calls":>10}{"propose/s":>11}{"p50 ms":>9}{"p99 ms":>9}', flush=True)
    worst = compare('SQLite', (None, None), rounds, seconds, many)
    print(f'SQLite: p99 grows {worst:.2f} times')
    with plane.postgres() as url:
        for name in ('few', 'many'):
            subprocess.run(['psql', '-X', '-q', '-d', url, '-c', f'CREATE DATABASE {name}'], check=True)
        grows = compare('PostgreSQL', [url.replace('/postgres?', f'/{name}?') for name in ('few', 'many')], rounds,
                        seconds, many)
    print(f'PostgreSQL: p99 grows {grows:.2f} times; goal {GOAL}')
    print(f'growth ratio={max(worst, grows):.2f}')


if __name__ == '__main__':
    main()
