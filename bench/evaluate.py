#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags in process and over HTTP, beside flagd, GrowthBook, Unleash and nginx.

bench/run evaluate [RUNS] [SECONDS]: first in process: one evaluation, a thousand, loading 10,000 flags. Then one flag
over HTTP (OFREP): 0.7 of nginx that returns the same bytes, 30 x unleash-server on PostgreSQL; 0 seconds leave that out.

The goals: 100 ns for the flag with three rules; 4 x @openfeature/flagd-core, 20 x @growthbook/growthbook and
unleash-client by the same call (the context made ready, the flag found by its key); 20 x flagd-core for 1,000 flags at
once; a load of less than 64 MiB that takes no longer than reading the JSON twice. All is processor time, in turns.
The last line's ratio is the one over flagd-core.
"""
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / "lib")  # and not this folder: its http.py and json.py are no modules

import json
import os
import statistics
import subprocess

import flags

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("COUNTERSIGN_BUILD", ROOT / "build-bench"))
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
ROUNDS = 400_000


PEERS = ROOT / "bench" / "peers"


def peers():
    if not (PEERS / "node_modules").is_dir():
        subprocess.check_call(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PEERS, stdout=2)


def main():
    peers()
    program = BUILD / "bench" / "bench-evaluate"
    runs, theirs = [], []
    for _ in range(RUNS):
        runs.append(json.loads(subprocess.check_output([program, str(ROUNDS)])))
        theirs.append(json.loads(subprocess.check_output(["node", PEERS / "evaluate.mjs", str(ROUNDS)])))

    def line(what, values, unit):
        print("%-48s %10.1f %10.1f %s" % (what, min(values), statistics.median(values), unit))

    def ours(what, name, unit):
        line(what, [r[name] for r in runs], unit)

    print("%-48s %10s %10s" % ("", "min", "median"))
    ours("one flag of three rules, context ready", "ns", "ns")
    ours("the same with making it ready and finding", "wholeNs", "ns")
    for name in ("flagd", "growthbook", "unleash"):
        line("  " + name, [t[name]["ns"] for t in theirs], "ns")
    ours("1,000 such flags for one context, as JSON", "bulkUs", "us")
    line("  flagd", [t["flagdBulk"]["ns"] / 1e3 for t in theirs], "us")
    ours("reading the JSON of 10,000 flags", "parseMs", "ms")
    ours("loading them: reading and compiling", "loadMs", "ms")
    last = runs[-1]
    print("document %.1f MiB, compiled %.1f MiB" % (last["documentBytes"] / 2**20, last["compiledBytes"] / 2**20))
    print("on: ours %.2f, %s" % (last["on"], ", ".join("%s %.2f" % (n, theirs[-1][n]["on"])
                                                       for n in ("flagd", "growthbook", "unleash"))))

    def over(pairs):
        return statistics.median(their / our for our, their in pairs)

    print("load is %.2f x reading (goal: at most 2)" % over([(r["parseMs"], r["loadMs"]) for r in runs]))
    for name, goal in (("growthbook", 20), ("unleash", 20)):
        print("%.1f x %s (goal: %d)" % (over([(r["wholeNs"], t[name]["ns"]) for r, t in zip(runs, theirs)]), name, goal))
    print("%.1f x flagd for 1,000 flags (goal: 20)" % over([(r["bulkUs"] * 1e3, t["flagdBulk"]["ns"])
                                                            for r, t in zip(runs, theirs)]))
    if SECONDS:
        print()
        nginx, unleash = flags.measure(RUNS, SECONDS)
        print("%.2f of nginx (goal: 0.7), %.1f x unleash-server (goal: 30)" % (nginx, unleash))
    print("evaluate ratio=%.1f" % over([(r["wholeNs"], t["flagd"]["ns"]) for r, t in zip(runs, theirs)]))


if __name__ == "__main__":
    main()
