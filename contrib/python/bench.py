# SPDX-License-Identifier: MIT
"""What an ID costs: nanoseconds beside uuid.uuid4(), medians of rounds that take turns. Needs an installed libsfid."""
import os
import statistics
import time
import uuid

import sfid

ROUNDS, CALLS = 25, 2000  # all of them fewer than a tick of the default layout has, so that nothing waits
generator, many, layout = sfid.Generator("bench", "local"), sfid.Generator("bench", "local"), sfid.Layout()
id = generator.next()
stock, owner, until = list(range(ROUNDS * CALLS)), os.getpid(), time.time() + 1e9


def from_stock():
    """What next() would be if it had IDs in advance: with a look at the clock, and a guard against fork."""
    if time.time() < until and os.getpid() == owner:
        return stock.pop()


def times(call):
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS


def times_many():
    begin = time.perf_counter_ns()
    many.next_n(CALLS)
    return (time.perf_counter_ns() - begin) / CALLS


rows = {
    "uuid.uuid4()": lambda: times(uuid.uuid4),
    "next()": lambda: times(generator.next),
    "next_n(2000), an ID": times_many,
    "an ID out of a stock": lambda: times(from_stock),
    "Layout.decode()": lambda: times(lambda: layout.decode(id)),
    "to_text()": lambda: times(lambda: sfid.to_text(id)),
}
measured = {name: [] for name in rows}
for _ in range(ROUNDS):
    for name, row in rows.items():
        measured[name].append(row())
medians = {name: statistics.median(ns) for name, ns in measured.items()}
for name, ns in medians.items():
    print(f"{name:22} {ns:8.0f} ns  {ns / medians['uuid.uuid4()']:6.3f} of uuid4()")
