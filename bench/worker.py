# SPDX-License-Identifier: Apache-2.0
"""An answer through a worker thread vs nginx (one worker) returning the same bytes, same load.

bench/run worker [ROUNDS] [SECONDS]: as bench/run http, but each request is handed to the pool and
comes back to the loop. The server has one CPU for all its threads, like nginx. The goal: 0.5.
"""
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parent / 'lib')  # and not this folder: its http.py and json.py are no modules

import load

if __name__ == '__main__':
    sys.exit(load.compare('worker', '/worker', goal=0.5))
