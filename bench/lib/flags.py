# SPDX-License-Identifier: Apache-2.0
"""One flag asked for over HTTP: ours, nginx returning the same bytes, and Unleash's server."""
import json
import pathlib
import signal
import statistics

import load
import plane
import unleash

FLAG = {'key': 'flag-0', 'type': 'boolean', 'defaultValue': False, 'rules': [
    {'if': {'field': 'country', '$in': ['US', 'CA', 'MX']}, 'value': True},
    {'if': {'field': 'email', '$endsWith': '@corp.com'}, 'value': True},
    {'if': {'field': 'plan', '$equals': 'pro'}, 'value': True, 'rolloutPercent': 50}]}
CONTEXT = {'userId': 'user-1', 'country': 'FR', 'email': 'user-1@corp.com', 'plan': 'pro'}


def lua(where, name, method, headers, body=None):
    """A file that makes wrk ask so."""
    lines = [f'wrk.method = "{method}"', *(f'wrk.headers["{k}"] = {json.dumps(v)}' for k, v in headers.items())]
    if body is not None:
        lines.append(f'wrk.body = {json.dumps(json.dumps(body))}')
    (where / name).write_text('\n'.join(lines) + '\n')
    return where / name


def ask(port, path, headers, body):
    """(headers, body) of one answer to a POST, as load.get gives them."""
    import http.client
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    c.request('POST', path, json.dumps(body), headers)
    answer = c.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return answer.getheaders(), text


def measure(count, seconds):
    """Prints a table; gives the ratios to nginx and to Unleash."""
    # neither side writes a line for each request
    with plane.directory() as where, plane.Plane(where, args=['--log-level', 'warn']) as ours, plane.postgres() as url:
        ours.ask('POST', f'/api/v1/projects/{ours.first["projectId"]}/flags', FLAG, session=ours.session())
        env = ours.first['environments']['production']
        headers = {'Content-Type': 'application/json', 'Authorization': f'Bearer {ours.first["adminToken"]}'}
        path, body = f'/api/v1/envs/{env}/ofrep/v1/evaluate/flags/flag-0', {'context': CONTEXT | {'targetingKey': 'user-1'}}
        whole, bulk = f'/api/v1/envs/{env}/evaluate', {'context': CONTEXT, 'keys': ['flag-0']}
        answered, text = ask(ours.port, path, headers, body)
        assert json.loads(text)['value'] is True, text
        script, other = lua(where, 'ofrep.lua', 'POST', headers, body), lua(where, 'evaluate.lua', 'POST', headers, bulk)
        nginx, nginx_port = load.start_nginx(where, answered, text)
        port = load.free_port()
        try:
            with unleash.server(url, port, lambda c, **more: load.pinned(load.SERVER_CPU, c, **more), where) as peer:
                wanted = unleash.address(CONTEXT)
                unleash.patiently(lambda: b'flag-0' in unleash.ask(port, 'GET', wanted, token=unleash.FRONTEND), 'its flag')
                get = lua(where, 'get.lua', 'GET', {'Authorization': unleash.FRONTEND})
                load.load(peer.pid, port, wanted, 10, get)  # its compiler takes its time
                pin(ours.server.pid)
                results = load.rounds({
                    'nginx, the same bytes': (nginx.pid, nginx_port, '/', script),
                    'ours, OFREP': (ours.server.pid, ours.port, path, script),
                    'ours, evaluate': (ours.server.pid, ours.port, whole, other),
                    'unleash-server': (peer.pid, port, wanted, get)}, count, seconds)
        finally:
            nginx.send_signal(signal.SIGTERM)
            nginx.wait()
    return show(results, count, seconds)


def pin(pid):
    """Every thread of ours on the server's CPU, where the others are, too."""
    import os
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        os.sched_setaffinity(int(task.name), {load.SERVER_CPU})


def show(results, count, seconds):
    print(f'wrk -t1 -c{load.CONNECTIONS}, {count} rounds of {seconds} s, medians; servers on CPU {load.SERVER_CPU}')
    print(f'{"":24}{"requests/s":>12}{"CPU us/request":>16}')
    for name, values in results.items():
        rate, us = (statistics.median(v[i] for v in values) for i in (0, 1))
        print(f'{name:24}{rate:12,.0f}{us:16.2f}')

    def over(peer):
        return statistics.median(o[0] / p[0] for o, p in zip(results['ours, OFREP'], results[peer]))
    return over('nginx, the same bytes'), over('unleash-server')
