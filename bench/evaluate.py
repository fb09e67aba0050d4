#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags in process: one evaluation, a thousand, and loading 10,000 flags with 50 segments.

The goals: 100 ns for the flag with three rules (context made ready), a load of less than 64 MiB that takes no longer
than reading the JSON twice. The last line's ratio is how much of the first is reached (1 or more: all of it).
"""
import sys

sys.path = [p for p in sys.path if not p.endswith("bench")]  # there is a json.py beside this file

import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("COUNTERSIGN_BUILD", ROOT / "build-bench"))
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
ROUNDS = 400_000


def main():
    program = BUILD / "bench" / "bench-evaluate"
    runs = [json.loads(subprocess.check_output([program, str(ROUNDS)])) for _ in range(RUNS)]

    def both(name):
        values = [r[name] for r in runs]
        return "%10.1f %10.1f" % (min(values), statistics.median(values))

    print("%-44s %10s %10s" % ("", "min", "median"))
    print("%-44s %s ns" % ("one flag of three rules, context ready", both("ns")))
    print("%-44s %s ns" % ("the same with making it ready and finding", both("wholeNs")))
    print("%-44s %s us" % ("1,000 flags of four rules for one context", both("bulkUs")))
    print("%-44s %s ms" % ("reading the JSON of 10,000 flags", both("parseMs")))
    print("%-44s %s ms" % ("loading them: reading and compiling", both("loadMs")))
    last = runs[-1]
    print("document %.1f MiB, compiled %.1f MiB, on %.2f" % (last["documentBytes"] / 2**20,
                                                            last["compiledBytes"] / 2**20, last["on"]))
    ns = statistics.median(r["ns"] for r in runs)
    twice = statistics.median(r["loadMs"] / r["parseMs"] for r in runs)
    print("load is %.2f x reading (goal: at most 2)" % twice)
    print("evaluate ratio=%.2f" % (100 / ns))


if __name__ == "__main__":
    main()
