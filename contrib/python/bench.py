# SPDX-License-Identifier: MIT
"""What an ID costs: nanoseconds beside uuid.uuid4(), medians of rounds that take turns. Needs an installed libsfid."""
import statistics
import time
import uuid

import sfid

ROUNDS, CALLS = 15, 3000  # fewer than a tick of the default layout has, so that nothing waits


def round_of(call):
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS


with sfid.Generator("bench", "local") as batched, sfid.Generator("bench", "local", batch=0) as single, \
        sfid.Generator("bench-n", "local") as many:
    id = batched.next()
    layout = sfid.Layout()
    rows = {
        "uuid.uuid4()": uuid.uuid4,
        "an empty call": lambda: None,
        "next()": batched.next,
        "next(), batch=0": single.next,
        "next_n(1000), an ID": lambda: None,
        "Layout.decode()": lambda: layout.decode(id),
        "to_text()": lambda: sfid.to_text(id),
    }
    times = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, call in rows.items():
            if name.startswith("next_n"):
                begin = time.perf_counter_ns()
                many.next_n(1000)
                times[name].append((time.perf_counter_ns() - begin) / 1000)
            else:
                times[name].append(round_of(call))
uuid4 = statistics.median(times["uuid.uuid4()"])
for name, ns in times.items():
    print(f"{name:22} {statistics.median(ns):8.0f} ns  {statistics.median(ns) / uuid4:6.2f} of uuid4()")
