#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON in and out: ours against jansson and cJSON, 1 KB and 20 KB, processor time, interleaved rounds.

The goal is at least 5 x jansson and 2 x cJSON at both sizes; the last line's ratio is how much of it is reached
(1 or more: all of it). Needs libjansson-dev and libcjson-dev.
"""
import sys

sys.path = [p for p in sys.path if not p.endswith("bench")]  # this file is called json.py, and json is what we import

import json
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("COUNTERSIGN_BUILD", ROOT / "build-bench"))
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
GOALS = {"jansson": 5.0, "cJSON": 2.0}
WORDS = ["rollout", "Größe", "café", "line\nbreak", "say \"no\"", "back\\slash", "環境", "checkout", "on", "a" * 40,
         "payment-service", "eu-central-1", "Москва", "🚀 launch", "tab\there", "proposal", "2026-11-15T22:51:44Z"]


def document(size, seed=8785):
    """A tool call with nested arguments, about size bytes of UTF-8; the same every time."""
    r = random.Random(seed)

    def item(i):
        return {"id": i, "name": f"{r.choice(WORDS)} {r.choice(WORDS)}", "enabled": r.random() < 0.5,
                "weight": round(r.random() * 100, 3), "revision": r.randrange(10**9), "parent": None,
                "tags": [r.choice(WORDS) for _ in range(r.randrange(4))],
                "rule": {"attribute": "region", "operator": "in", "values": [r.choice(WORDS), r.randrange(1000)]}}

    call = {"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": {"name": "flag_update", "arguments": []}}
    while True:
        text = json.dumps(call, ensure_ascii=False, separators=(",", ":")).encode()
        if len(text) >= size - 100:
            return text
        call["params"]["arguments"].append(item(len(call["params"]["arguments"])))


def pkg(*names):
    return shlex.split(subprocess.check_output(["pkg-config", "--cflags", "--libs", *names], text=True))


def compile_programs(where):
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, "--buildtype=release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "libcountersign.a"], check=True, stdout=subprocess.DEVNULL)
    libraries = {
        "ours": ["-DOURS", f"-I{ROOT}/src", str(BUILD / "libcountersign.a"), *pkg("libsodium"), "-lm", "-lpthread"],
        "jansson": ["-DJANSSON", *pkg("jansson")],
        "cJSON": ["-DCJSON", *pkg("libcjson")],
    }
    for name, flags in libraries.items():
        subprocess.run(["cc", "-O2", "-std=gnu17", "-D_GNU_SOURCE", ROOT / "bench/json.c", "-o", where / name, *flags],
                       check=True)
    return list(libraries)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        where = pathlib.Path(scratch)
        names = compile_programs(where)
        ratio = float("inf")
        print(f"{'document':>10} {'ours':>10} {'jansson':>10} {'cJSON':>10} {'x jansson':>10} {'x cJSON':>10}   (ns, median of {ROUNDS})")
        for label, size in (("1 KB", 1000), ("20 KB", 20000)):
            text = document(size)
            (where / "doc").write_bytes(text)
            times = {name: [] for name in names}
            for turn in range(ROUNDS):
                for name in names if turn % 2 == 0 else reversed(names):
                    out = subprocess.check_output([where / name, where / "doc", str(20_000_000 // len(text))], text=True)
                    times[name].append(float(out))
            ns = {name: statistics.median(t) for name, t in times.items()}
            faster = {name: ns[name] / ns["ours"] for name in GOALS}
            ratio = min([ratio] + [faster[name] / goal for name, goal in GOALS.items()])
            print(f"{len(text):>8} B {ns['ours']:>10.0f} {ns['jansson']:>10.0f} {ns['cJSON']:>10.0f}"
                  f" {faster['jansson']:>10.1f} {faster['cJSON']:>10.1f}")
        print(f"json ratio={ratio:.2f}")


if __name__ == "__main__":
    main()
