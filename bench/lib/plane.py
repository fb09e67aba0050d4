# SPDX-License-Identifier: Apache-2.0
"""The real program on a fresh database, and clients that propose. What propose, flow and growth share."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ['COUNTERSIGN_BUILD'])
PROGRAM = BUILD / 'countersign'
# Calls a minute of one token. 100,000 is the most there is, so the budget is not what is measured. BENCH_RATE=1000 measures what a token
# of the default rate gets: below 1,024 a server borrows no calls in advance (docs/decisions/0021).
RATE = int(os.environ.get('BENCH_RATE', '100000'))
BUSY = RATE >= 1024


def environment(**more):
    """Ours without what is meant for a server of the user's own."""
    return {k: v for k, v in os.environ.items() if not k.startswith('COUNTERSIGN_')} | more


@contextlib.contextmanager
def postgres():
    """The URL of a cluster that is thrown away."""
    pg = ROOT / 'tests/lib/pg'
    url = subprocess.run([pg, 'start'], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        yield url
    finally:
        subprocess.run([pg, 'stop', url], check=True)


def age(url):
    """A server that has been at work has old segments of its log to use again. A new one makes each of them first, 16 MB of zeros and a
    sync, while everybody waits; which is not what is measured, and who writes more waits more often."""
    past = "CREATE TABLE past AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 900000)"
    subprocess.run(['psql', '-X', '-q', '-d', url, '-c', past, '-c', 'DROP TABLE past', '-c', 'CHECKPOINT'], check=True)


@contextlib.contextmanager
def directory():
    where = pathlib.Path(tempfile.mkdtemp(prefix='plane-', dir=BUILD))  # the real disk, not a tmpfs
    try:
        yield where
    finally:
        shutil.rmtree(where)


def flags(where, url=None):
    return ['--database', url, '--keys', where / 'keys'] if url else ['--data', where / 'data']


class Plane:
    """One server that is set up. where holds its files, url names PostgreSQL where it is not SQLite."""

    def __init__(self, where, url=None, args=(), first=None, **env):
        self.where, self.url = where, url
        self.first = first or self.init()
        # a bench's agents have more proposals open than anybody's
        command = [PROGRAM, 'serve', '--listen', '127.0.0.1:0', '--open-proposals', '1000000', *flags(where, url), *args]
        with open(where / 'log', 'ab') as log:
            self.server = subprocess.Popen(command, env=environment(**env), stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self.server.stdout:
            if ready := re.match(r'Countersign is ready at http://127\.0\.0\.1:(\d+)', line):
                self.port = int(ready[1])
                return
        raise SystemExit(f'the server does not start:\n{(where / "log").read_text()}')

    def init(self):
        command = [PROGRAM, 'init', '--json', *flags(self.where, self.url)]
        return json.loads(subprocess.run(command, env=environment(), check=True, stdout=subprocess.PIPE).stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.send_signal(signal.SIGTERM)
        self.server.stdout.close()
        if self.server.wait(60) != 0:
            raise SystemExit(f'the server did not end well:\n{(self.where / "log").read_text()[-4000:]}')

    def session(self):
        """Headers of the admin who has signed in: what a token may not do behind an approval gate."""
        who = {'email': self.first['adminEmail'], 'password': self.first['adminPassword']}
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/api/v1/session', json.dumps(who).encode(),
                                         {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return {'Cookie': answer.headers['Set-Cookie'].split(';')[0], 'X-CSRF-Token': json.load(answer)['csrfToken'],
                    'Origin': f'http://127.0.0.1:{self.port}'}

    def ask(self, method, path, body=None, token=None, session=None):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', method=method,
                                         data=None if body is None else json.dumps(body).encode())
        for name, value in (session or {'Authorization': f'Bearer {token or self.first["adminToken"]}'}).items():
            request.add_header(name, value)
        request.add_header('Content-Type', 'application/json')
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def agents(self, count):
        """Tokens of so many new agents that the budget does not get in the way of."""
        tokens = []
        for i in range(count):
            agent = json.loads(self.ask('POST', '/api/v1/agents', {'name': f'Bench {i}'}))
            minted = self.ask('POST', '/api/v1/tokens', {'name': 'bench', 'principalId': agent['id'],
                                                         'ratePerMinute': RATE, 'actions': ['read', 'propose']})
            tokens.append(json.loads(minted)['token'])
        return tokens

    def metric(self, name):
        text = self.ask('GET', '/metrics').decode()
        return int(re.search(rf'^countersign_{name} (\d+)$', text, re.M)[1])

    def load(self, what, clients, seconds, tokens, voter=None):
        """(turns/s, p50 us, p99 us)"""
        command = [BUILD / 'bench/bench-load', what, self.port, clients, seconds, *tokens, *([voter] if voter else [])]
        out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
        done, us, p50, p99 = map(int, out.split())
        return done / us * 1e6, p50, p99
