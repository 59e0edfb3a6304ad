# SPDX-License-Identifier: MIT
"""python3 -m sfid: generates a few IDs and takes them apart."""
import argparse
import sys

from . import Error, Generator, to_text

parser = argparse.ArgumentParser(prog="python3 -m sfid", description="Generates a few IDs and takes them apart.")
parser.add_argument("-n", type=int, default=3, help="how many (%(default)s)")
parser.add_argument("--app", default="python", help="the app whose IDs they are (%(default)s)")
parser.add_argument("--store", default="local", help="where its pids are leased (%(default)s)")
parser.add_argument("--layout", default="sfid", help="a preset's name or TIME:PID:SEQ[/UNIT][@EPOCH_MS] (%(default)s)")
given = parser.parse_args()
try:
    with Generator(given.app, given.store, layout=given.layout) as generator:
        for id in generator.next_n(given.n):
            parts = generator.layout.decode(id)
            text = to_text(id, bits=128 if generator.layout.wide else 64)
            print(id, parts.time.isoformat(timespec="milliseconds"), f"pid {parts.pid} seq {parts.seq} base62 {text}")
except (Error, ValueError) as error:
    sys.exit(f"{parser.prog}: {error}")
