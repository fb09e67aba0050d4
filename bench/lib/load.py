# SPDX-License-Identifier: Apache-2.0
"""Our test server and nginx under the same wrk, in turns. What bench/http.py and bench/worker.py share."""
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ['COUNTERSIGN_BUILD'])
CONNECTIONS = 32
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]

NGINX = """
daemon off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off; server_tokens off; keepalive_requests 1000000000; keepalive_timeout 60s; tcp_nodelay on;
    client_body_temp_path {dir}/1; proxy_temp_path {dir}/2; fastcgi_temp_path {dir}/3; uwsgi_temp_path {dir}/4;
    scgi_temp_path {dir}/5; default_type application/json;
    server {{
        listen 127.0.0.1:{port};
        {headers}
        location / {{ return 200 '{body}'; }}
    }}
}}
"""
NGINX_HAS_ITS_OWN = {'date', 'content-type', 'content-length', 'connection'}


def get(port, path):
    """(headers, body) of one answer."""
    with socket.create_connection(('127.0.0.1', port), timeout=10) as s:
        s.sendall(f'GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n'.encode())
        data = b''.join(iter(lambda: s.recv(65536), b''))
    head, body = data.split(b'\r\n\r\n', 1)
    lines = head.decode().split('\r\n')
    assert ' 200 ' in lines[0], lines[0]
    return [line.split(': ', 1) for line in lines[1:]], body


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def pinned(cpu, command, **more):
    return subprocess.Popen(['taskset', '-c', str(cpu), *map(str, command)], **more)


def start_ours():
    server = pinned(SERVER_CPU, [BUILD / 'bench/bench-httpd'], stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline().split()[1])


def start_nginx(where, headers, body):
    """nginx that returns the same body and, where it lets one choose, the same headers."""
    port = free_port()
    added = '\n'.join(f"add_header {name} '{value}';" for name, value in headers
                      if name.lower() not in NGINX_HAS_ITS_OWN)
    config = where / 'nginx.conf'
    config.write_text(NGINX.format(dir=where, port=port, headers=added, body=body.decode()))
    program = shutil.which('nginx') or '/usr/sbin/nginx'
    server = pinned(SERVER_CPU, [program, '-c', config, '-e', where / 'error.log'])
    for _ in range(200):
        try:
            assert get(port, '/')[1] == body
            return server, port
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f'nginx does not answer: {(where / "error.log").read_text()}')


def family(pid):
    """pid and its children."""
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return [pid, *(int(c) for c in children)]


def cpu_us(pids):
    """Processor time of all threads of these processes so far."""
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1e6 / os.sysconf('SC_CLK_TCK')


def busy_us():
    """Processor time that anybody used so far."""
    user, nice, system, _, _, irq, softirq = map(int, pathlib.Path('/proc/stat').read_text().split()[1:8])
    return (user + nice + system + irq + softirq) * 1e6 / os.sysconf('SC_CLK_TCK')


def load(pid, port, path, seconds, script=None):
    """(requests/s, server's CPU us per request, cores that others used meanwhile). script: Lua for wrk."""
    pids = family(pid)
    before, all_before, children = cpu_us(pids), busy_us(), os.times()
    command = ['wrk', '-t1', f'-c{CONNECTIONS}', f'-d{seconds}s', *(['-s', script] if script else []),
               f'http://127.0.0.1:{port}{path}']
    with pinned(CLIENT_CPU, command, stdout=subprocess.PIPE, text=True) as wrk:
        out = wrk.communicate()[0]
    spent, now = cpu_us(pids) - before, os.times()
    client = (now.children_user + now.children_system - children.children_user - children.children_system) * 1e6
    others = max(0, busy_us() - all_before - spent - client) / (seconds * 1e6)
    assert 'Non-2xx' not in out and 'Socket errors' not in out, out
    requests = int(re.search(r'(\d+) requests in', out)[1])
    return float(re.search(r'Requests/sec:\s+([\d.]+)', out)[1]), spent / requests, others


def rounds(servers, count, seconds):
    """For each server's name the list of its (requests/s, us, others) over the rounds; nobody is always first.

    A server is (pid, port, path) or (pid, port, path, script)."""
    results = {name: [] for name in servers}
    for pid, port, path, *script in servers.values():
        load(pid, port, path, 1, *script)  # warm
    for i in range(count):
        for name in list(servers) if i % 2 == 0 else reversed(list(servers)):
            pid, port, path, *script = servers[name]
            results[name].append(load(pid, port, path, seconds, *script))
    return results


def compare(bench, path, goal):
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    where = pathlib.Path(tempfile.mkdtemp(prefix='bench-'))
    started = []
    try:
        ours, ours_port = start_ours()
        started.append(ours)
        headers, body = get(ours_port, path)
        nginx, nginx_port = start_nginx(where, headers, body)
        started.append(nginx)
        results = rounds({'nginx': (nginx.pid, nginx_port, '/'), 'ours': (ours.pid, ours_port, path)}, count, seconds)
    finally:
        for server in started:
            server.send_signal(signal.SIGTERM)
        for server in started:
            server.wait()
        shutil.rmtree(where)
    print(f'wrk -t1 -c{CONNECTIONS}, {count} rounds of {seconds} s, medians; '
          f'server on CPU {SERVER_CPU}, wrk on CPU {CLIENT_CPU}')
    print(f'{"":8}{"requests/s":>12}{"CPU us/request":>16}')
    for name, values in results.items():
        rate, us = (statistics.median(v[i] for v in values) for i in (0, 1))
        print(f'{name:8}{rate:12,.0f}{us:16.2f}')
    others = statistics.median(v[2] for values in results.values() for v in values)
    if others > 0.2:
        print(f'others used {others:.1f} cores meanwhile: who has more threads gets more of the rest. CPU is the fairer figure')
    ratios = [o[0] / n[0] for o, n in zip(results['ours'], results['nginx'])]
    cpu = [n[1] / o[1] for o, n in zip(results['ours'], results['nginx'])]
    print(f'ratio per round {" ".join(f"{r:.2f}" for r in ratios)}; by CPU {statistics.median(cpu):.2f}; goal {goal}')
    print(f'{bench} ratio={statistics.median(ratios):.2f}')
    return 0
