# SPDX-License-Identifier: Apache-2.0
"""An answer from the event loop vs nginx (one worker) returning the same bytes, same load.

bench/run http [ROUNDS] [SECONDS]: wrk with 32 connections on one CPU, the server on another where
there are two. nginx returns the same 200 bytes of JSON and the same headers. Each round runs both
right after each other, every other round in reverse; the ratio is the median of the rounds'.
CPU is what the server's process used, from /proc. The goal: 0.9.
"""
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import load

if __name__ == '__main__':
    sys.exit(load.compare('http', '/inline', goal=0.9))
