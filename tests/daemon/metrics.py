# SPDX-License-Identifier: MIT
"""metrics.py - /metrics in both forms, and a lease that is lost and had again under load."""
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from support import Daemon, SFID, SOURCE, diag, exactly, ok, parse, resp, run, same, scratch, until

NAMES = """sfid_build_info sfid_ids_issued_total sfid_requests_total sfid_waits_total sfid_refused_total sfid_rejected_total
sfid_connections sfid_ready sfid_pid sfid_window_seconds sfid_ahead_seconds sfid_connected sfid_clock_skew_seconds
sfid_lease_losses_total sfid_renewals_total sfid_renew_failures sfid_clock_regressions_total sfid_events_total
sfid_layout_left_seconds sfid_crossing_left_seconds process_cpu_seconds_total process_resident_memory_bytes process_open_fds
process_start_time_seconds""".split()


def faults(text, openmetrics):
    """What is wrong with a page; the rules of promtool and of OpenMetrics 1.0 that concern it."""
    wrong, kind, seen = [], None, {}
    lines = text.split("\n")
    if lines.pop() != "":
        wrong.append("no newline at the end")
    if openmetrics and lines.pop() != "# EOF":
        wrong.append("no # EOF")
    for line in lines:
        meta = re.match(r"^# (TYPE|HELP|UNIT) ([a-z_]+) (.+)$", line)
        sample = re.match(r'^([a-z_]+)(\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})? (\+Inf|-?\d+(?:\.\d+)?)$', line)
        if meta:
            if meta[1] == "TYPE":
                if meta[2] in seen:
                    wrong.append("twice: " + line)
                kind = seen[meta[2]] = meta[3]
                family = meta[2]
            elif meta[2] != family:
                wrong.append("of another family: " + line)
            if meta[1] == "UNIT" and not family.endswith("_" + meta[3]):
                wrong.append("unit: " + line)
        elif not sample:
            wrong.append("no sample: " + line)
        else:
            suffix = {"counter": "_total", "info": "_info"}.get(kind, "") if openmetrics else ""
            if sample[1] != family + suffix:
                wrong.append("not of %s: %s" % (family, line))
            if (kind == "counter") != sample[1].endswith("_total"):
                wrong.append("suffix: " + line)
    return wrong


def pages():
    d = Daemon()
    d.http("/id")
    status, fields, body = d.http("/metrics")
    same((status, fields["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"), "/metrics")
    same(faults(body.decode(), False), [], "is Prometheus text")
    same(sorted(set(re.findall(r"^([a-z_]+)[{ ]", body.decode(), re.M))), sorted(NAMES), "with these names")
    for accept, wanted in [("application/openmetrics-text", True), ("text/plain, application/openmetrics-text; version=1.0.0; q=0.1", True),
                           ("application/openmetrics-text;q=0", False), ("text/plain", False)]:
        status, fields, body = d.http("/metrics", headers="Accept: %s\r\n" % accept)
        same(fields["content-type"].startswith("application/openmetrics-text; version=1.0.0"), wanted, "Accept: %s" % accept)
        same(faults(body.decode(), wanted), [], "and it is well-formed")
    for data in [b"GET /" + b"\"x{}" * 5 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", resp("SETNAME", "\"x"), resp("CLIENT", "SETNAME", "evil\"")]:
        d.ask(data)
    ok(b"evil" not in d.http("/metrics")[2], "no label has a value from a client")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=d.http("/metrics")[2], capture_output=True)
        same((done.returncode, done.stderr), (0, b""), "promtool finds no fault")
    metrics = d.metrics()
    ok(metrics["sfid_ready"] == 1 and metrics["sfid_window_seconds"] > 1 and 0 <= time.time() - metrics["process_start_time_seconds"] < 60,
       "values", metrics)
    events = {k: v for k, v in metrics.items() if k.startswith("sfid_events_total")}
    with open(os.path.join(SOURCE, "include/sfid/event.h")) as f:
        kinds = len(re.findall(r"^    X\(", f.read(), re.M))
    same((len(events), metrics['sfid_events_total{event="LEASED"}'], metrics['sfid_events_total{event="LOST"}']), (kinds, 1, 0), "each event is counted")
    d.stop()


def lasts():
    """How long a layout lasts, and when its IDs grow."""
    now = int(time.time())
    # One that ends in 100 s; IDs that reach 2^53, 10^16 and 10^17 in 1000 s.
    for layout, end, exact, digit in [("twitter", None, math.inf, math.inf), ("js53", None, math.inf, None), ("uuid7", None, math.inf, math.inf),
                                      ("24:11:17/1s@%d000" % (now + 100 - 2 ** 24), 100, math.inf, None),
                                      ("36:11:17/1s@%d000" % (now + 1000 - 2 ** 25), 2 ** 35 - 2 ** 25 + 1000, 1000, None),
                                      ("36:11:17/1s@%d000" % (now + 1000 - 10 ** 16 // 2 ** 28), None, math.inf, 1000),
                                      ("36:11:17/1s@%d000" % (now + 1000 - 10 ** 17 // 2 ** 28), None, math.inf, 1000)]:
        d = Daemon(layout=layout)
        m = d.metrics()
        got = m["sfid_layout_left_seconds"], m['sfid_crossing_left_seconds{at="2^53"}'], m['sfid_crossing_left_seconds{at="digit"}']
        gone = time.time() - now
        ok(all(w is None and g > 0 or w == g == math.inf or w is not None and w - gone - 1.1 <= g <= w + 1.1 for g, w in zip(got, (end, exact, digit))),
           "%s: what is left" % layout, got, (end, exact, digit), gone)
        d.stop()


def redis(path):
    """A server of the test's own, which answers."""
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", scratch],
                              stdout=subprocess.DEVNULL)

    def answers():
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(30)
            return s.connect_ex(path) == 0 and not s.sendall(b"PING\r\n") and s.recv(7) == b"+PONG\r\n"

    until(answers)
    return server


def lost():
    path = scratch + "/redis.sock"
    server = redis(path)
    try:
        store = "unix://%s?timeout=1s" % path
        terms = ["--ttl-ms", "4000", "--skew-budget-ms", "500", "--short-ms", "0"]
        subprocess.run([SFID, "init", "--app", "tests", "--store", store, "--layout", "twitter"] + terms, stdout=subprocess.DEVNULL, check=True)
        d = Daemon(*terms, store=store)
        ids, statuses, over = [], [], threading.Event()

        def load():
            while not over.is_set():
                status, _, body = d.http("/id")
                statuses.append((status, b"SFID_ELEASE" in body))
                ids.extend([int(body)] if status == 200 else [])
                time.sleep(0.005)

        threads = [threading.Thread(target=load, daemon=True) for _ in range(2)]
        for t in threads:
            t.start()
        until(lambda: len(ids) > 20)
        server.send_signal(signal.SIGSTOP)
        ok(until(lambda: d.http("/readyz")[0] == 503), "with the server away /readyz is 503 after the window")
        same(d.http("/healthz")[0], 200, "/healthz stays 200")
        same(parse(d.ask(b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"))[0], 503, "/id is 503")
        ok(d.ask(resp("SFID.NEXT")).startswith(b"-UNAVAILABLE "), "SFID.NEXT is -UNAVAILABLE")
        ok(path.encode() not in d.ask(b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"), "clients are not told where the store is")
        m = d.metrics()
        ok(m["sfid_ready"] == 0 and m['sfid_events_total{event="RENEW_FAILED"}'] > 0, "sfid_ready is 0, and the event is counted", m)
        until(lambda: any(s[0] != 200 for s in statuses))
        server.send_signal(signal.SIGCONT)
        ok(until(lambda: d.http("/readyz")[0] == 200), "with the server back it goes on by itself")
        before = len(ids)
        ok(until(lambda: len(ids) > before + 20), "and issues IDs")
        over.set()
        for t in threads:
            t.join()
        same(set(s for s in statuses if s[0] != 200), {(503, True)}, "meanwhile every refusal was 503 with SFID_ELEASE")
        same(len(set(ids)), len(ids), "no ID came twice")
        ok("requests are refused: no right to issue IDs now" in d.log() and "requests are answered again" in d.log(), "the log says so", d.log())
        events = ["LEASED: pid [0-9]+ is held", "RENEW_FAILED: .*no answer in time", "RENEWED: the window was extended"]
        ok(until(lambda: all(re.search("^sfid: " + event, d.log(), re.M) for event in events)), "what the library reports is in the log", d.log())
        same(d.stop(), 0, "status 0")
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


def left():
    """TERM while the server is silent, then away: the pid is left to the next start, which goes on with it."""
    path = scratch + "/redis3.sock"
    server = redis(path)
    try:
        store = "unix://%s?timeout=1s" % path
        subprocess.run([SFID, "init", "--app", "tests", "--store", store, "--layout", "twitter"], stdout=subprocess.DEVNULL, check=True)
        d = Daemon(store=store, name="left")
        first = int(d.http("/id")[2])
        server.send_signal(signal.SIGSTOP)
        same(d.stop(), 0, "TERM while the server is silent: status 0")
        ok(re.search("^sfid: LEFT: pid [0-9]+ is left resumable until .*no answer in time", d.log(), re.M), "the log says what is left", d.log())
        d = Daemon(store=store, name="left")
        second = int(d.http("/id")[2])
        ok(second > first and second >> 12 & 1023 == first >> 12 & 1023, "the next start goes on with it", first, second)
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()
        same(d.stop(), 0, "TERM while it is away: status 0")
        ok(re.search("^sfid: LEFT: pid [0-9]+ is left resumable until ", d.log(), re.M), "the log says so", d.log())
        d = Daemon(store=store, name="left")
        third = int(d.http("/id")[2])
        ok(third > second and third >> 12 & 1023 == first >> 12 & 1023, "and the next start goes on", second, third)
        d.stop()
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


def unknown():
    """An app that the server does not know: the daemon waits, and tells the service manager."""
    path, notify = scratch + "/redis2.sock", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server, begin = redis(path), time.monotonic()
    try:
        notify.bind(scratch + "/notify")
        notify.settimeout(30)
        d = Daemon("--ttl-ms", "11000", "--skew-budget-ms", "500", "--short-ms", "0", "--timeout-ms", "2000", store="unix://%s?timeout=2s" % path,
                   env={"NOTIFY_SOCKET": scratch + "/notify"}, wait=False)
        first = notify.recv(4096)
        ok(re.match(rb"^EXTEND_TIMEOUT_USEC=[0-9]+\nSTATUS=waiting for a pid: ", first), "an unknown app is waited out", first)
        while first.startswith(b"EXTEND"):
            first = notify.recv(4096)
        ok(first.startswith(b"READY=1"), "then it is ready", first)
        times = d.log().count("waiting for a pid")
        ok(1 <= times <= 1 + (time.monotonic() - begin) // 10, "the wait is logged once in 10 s", d.log())
        same(d.stop(), 0, "status 0")
        d = Daemon("--ttl-ms", "60000", "--skew-budget-ms", "500", "--short-ms", "0", "--timeout-ms", "2000", "--max-ids", "5",
                   store="unix://%s?timeout=2s" % path, app="other", wait=False)
        until(lambda: "waiting for a pid" in d.log())
        same((d.http("/healthz")[0], d.http("/metrics")[0]), (200, 200), "meanwhile it says that it is alive, and is measured")
        same([d.metrics().get(name) for name in ("sfid_ready", "sfid_pid")], [0, -1], "and that there is no pid")
        for target in "/readyz", "/id":
            status, fields, body = d.http(target)
            same((status, fields.get("retry-after"), json.loads(body)["message"]), (503, "1", "no IDs yet, a pid is waited for; the log says why"),
                 "%s has no IDs yet, and says why" % target)
        same((d.ask(resp("PING")), d.ask(resp("SFID.NEXT"))), (b"+PONG\r\n", b"-TRYAGAIN no IDs yet, a pid is waited for; the log says why\r\n"), "so does RESP")
        ok(d.http("/decode/4611686018427387904")[0] == 200, "an ID is taken apart without a pid")
        waiting = d.connect()
        waiting.sendall(resp("SFID.NEXT"))
        same((d.stop(), "ready:" in d.log()), (0, False), "TERM ends the wait")
        ok(exactly(waiting, 1) == b"-", "a request that waits then has an answer")
    finally:
        server.kill()
        server.wait()


if shutil.which("redis-server"):
    run(pages, lasts, lost, left, unknown)
else:
    run(pages, lasts)
