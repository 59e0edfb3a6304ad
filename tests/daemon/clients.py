# SPDX-License-Identifier: MIT
"""clients.py - slow, huge, malformed, half-closed and resetting clients; limits; waiting; what it costs the others."""
import random
import re
import resource
import signal
import socket
import struct
import threading
import time

from support import Daemon, closed, diag, drain, exactly, has_come, ok, parse, read_reply, resp, row, run, same, taken, until

ONE = b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALL = b"GET /ids?n=65365 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def deadlines():
    d = Daemon("--request-ms", "700", "--idle-ms", "1500")
    begin = time.monotonic()
    slow = d.connect()
    slow.sendall(b"GET /id HTTP/1.1\r\nX: ")
    idle = d.connect()

    def ended():
        try:
            slow.sendall(b"x")  # of a head that never ends
        except ConnectionError:
            pass
        return has_come(slow)

    ok(until(ended) and closed(slow), "a request that takes longer than --request-ms is closed, however often a byte comes")
    ok(time.monotonic() - begin > 0.5, "not before", time.monotonic() - begin)
    ok(closed(idle) and time.monotonic() - begin > 1.2, "an idle connection is closed after --idle-ms", time.monotonic() - begin)
    same(d.metrics()['sfid_rejected_total{reason="timeout"}'], 1, "the request is counted")
    d.stop()


def stalled():
    d = Daemon("--request-ms", "600")
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", d.port))
    s.settimeout(10)
    s.sendall(b"\0\0\xff\x55" * 20)
    ok(until(lambda: d.metrics()["sfid_connections"] == 1), "a client that takes no byte of its answer is closed")
    s.close()
    d.stop()
    d = Daemon("--request-ms", "600000")
    s = d.connect()
    s.setblocking(False)
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"  # no IDs, so nothing else has to wait
    other = d.connect()  # one for all questions: the loop takes up to 64 new ones before it looks at s again

    def count():
        other.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return int(re.search(rb'sfid_requests_total{protocol="http"} (\d+)', read_http(other)).group(1))

    sent = served = still = 0
    while still < 5 and sent < 48 << 20:
        try:
            sent += s.send((health * 1000)[sent % len(health):])  # from within the request that was cut
            still = 0
        except BlockingIOError:
            unread, before, served = row(s)[4].split(":")[1], served, count()
            still = still + 1 if unread != "00000000" and served == before + 1 else 0  # only the count itself was served
    ok(sent < 48 << 20, "reading stops while answers wait (%d KiB were taken)" % (sent >> 10))
    s.close()
    d.stop()


def hostile():
    d = Daemon("--request-ms", "2000")
    random.seed(17)
    pieces = [ONE, b"\0\0\0\5", resp("SFID.NEXT", 3), resp("PING"), b"GET ", b"\0", b"*", b"\r\n", b"$", b"HTTP/1.1",
              bytes(random.choices(range(256), k=40))]
    rest = []
    for i in range(1500):
        s = d.connect()
        data = b"".join(random.choice(pieces) for _ in range(random.randint(0, 6)))
        try:
            s.sendall(data[:random.randint(0, len(data))] if i % 2 else data)
            if i % 3 == 0:
                reset(s)
            elif i % 3 == 1:
                s.shutdown(socket.SHUT_WR)
                drain(s)
                s.close()
            else:
                rest.append(s)
        except ConnectionError:
            pass
    same(d.http("/id")[0], 200, "1500 malformed, half-closed and resetting clients later IDs are issued")
    for s in rest:
        s.close()
    for data in [b"\0\0\xff\x55" * 50, ALL * 50, resp("SFID.NEXT", 65365) * 50]:
        s = d.connect()
        s.sendall(data)
        s.recv(1)  # an answer is on its way
        reset(s)
    same(d.http("/id")[0], 200, "clients that reset under a large answer do no harm")
    ok(until(lambda: d.metrics()["sfid_connections"] == 1), "and no connection is left")
    same(d.ask(ONE + b"*1\r\n").count(b"HTTP/1.1 400"), 1, "another protocol on a connection is a malformed request")
    d.stop()


def memory():
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    d = Daemon("--max-connections", "6000", "--idle-ms", "600000")
    held = [d.connect() for _ in range(10)]
    before = d.metrics()["process_resident_memory_bytes"]
    held += [d.connect() for _ in range(1000)]
    fresh = d.metrics()["process_resident_memory_bytes"] - before
    for s in held:
        s.sendall(ONE)
        s.recv(4096)
    used = d.metrics()["process_resident_memory_bytes"] - before
    ok(used < 2 << 20, "1000 idle connections take under 2 MiB", used)
    diag("figure: 1000 idle connections: %d KiB, after a request each %d KiB" % (fresh >> 10 if isinstance(fresh, int) else fresh / 1024, used / 1024))
    begin, worst = time.monotonic(), 0.0
    while len(held) < 3000:
        held.append(d.connect())
        if len(held) % 50 == 0:
            at = time.monotonic()
            d.http("/id")
            worst = max(worst, time.monotonic() - at)
    same(d.metrics()["sfid_connections"], 3001, "3000 connections at once")
    diag("figure: the slowest of the others' requests meanwhile took %.1f ms" % (worst * 1000))
    for s in held:
        s.close()
    ok(until(lambda: d.metrics()["process_open_fds"] < 30), "and their descriptors are given back")
    d.stop()


def too_many():
    d = Daemon("--max-ids", "10")
    same((d.ask(b"\0\0\0\x0b"), d.http("/ids?n=11")[0], d.http("/ids?n=10")[0]), (b"", 400, 200), "--max-ids")
    d.stop()


def no_descriptors():
    d = Daemon()
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    held = [d.connect() for _ in range(60)]
    ok(until(lambda: "connections cannot be accepted" in d.log()), "without descriptors the log says so")

    def ticks():
        return sum(map(int, d.stat()[11:13]))

    before = ticks()
    ok(not until(lambda: ticks() >= before + 20, 1), "and the loop does not spin", "20 ticks of 10 ms in a second")
    for s in held:
        s.close()
    ok(until(lambda: b"200 OK" in d.ask(ONE)), "and goes on when there are some")
    d.stop()


# ---- the sequence used up: layout sfid has 131072 IDs a second ----

def used_up():
    d, begin = Daemon("--wait-ms", "400", "--max-memory", "1000000000", layout="sfid"), time.monotonic()
    d.freeze()  # so that all come at once, however slow this script is
    clients = [d.connect() for _ in range(12)]
    for s in clients:
        s.sendall(ALL)
    d.process.send_signal(signal.SIGCONT)
    ok(until(lambda: d.metrics()["sfid_waits_total"] > 0), "used up: requests wait")
    small = d.connect()
    small.sendall(resp("SFID.NEXT"))
    frames = d.connect()
    frames.sendall(b"\0\0\0\7")
    answers = []
    for s in clients:
        status, fields, body = parse(read_http(s))
        answers.append((status, fields, body))
    good = [a for a in answers if a[0] == 200]
    bad = [a for a in answers if a[0] == 503]
    ok(len(good) + len(bad) == 12 and good and bad, "some get all, the others 503", [a[0] for a in answers])
    ok(all(len(a[2].split()) == 65365 for a in good), "all or none")
    ok(all(a[1].get("retry-after") == "1" and b"SFID_EAGAIN" in a[2] for a in bad), "503 says when to come again")
    small_got = small.recv(100)
    ok(small_got.startswith((b"-TRYAGAIN ", b"$")), "RESP says TRYAGAIN", small_got)
    frames_got = exactly(frames, 230)
    ok(len(frames_got) in (0, 230), "flakeid: all, or closed without a byte", len(frames_got))
    metrics = d.metrics()
    same(metrics["sfid_ids_issued_total"], 65365 * len(good) + small_got.startswith(b"$") + (7 if frames_got else 0),
         "the count of issued IDs is exact")
    same(metrics['sfid_refused_total{reason="again"}'] >= len(bad), True, "refusals are counted")
    same(until(lambda: d.http("/id")[0] == 200), True, "and it goes on")
    ok("requests are refused: the sequence is used up" in d.log(), "the log says so")
    times = d.log().count("requests are refused")
    ok(times <= 1 + (time.monotonic() - begin) // 10, "once in 10 s", times)
    d.stop()


def ahead():
    """A pid that another host may have used up to some time ahead: why there are no IDs yet, and for how long."""
    for lead_ms, least, most in [(7200000, 3600, 3600), (60000, 20, 86)]:
        d = Daemon("--wait-ms", "100", store="ordinal:env=ORDINAL?lead_ms=%d" % lead_ms, env={"ORDINAL": "app-7"})
        for target in ["/readyz", "/id"]:
            status, fields, body = d.http(target)
            same((status, b'"SFID_EAGAIN"' in body, b"no IDs yet, earlier ones" in body, b"used up" in body), (503, True, True, False),
                 "%d ms ahead: %s says why" % (lead_ms, target))
            ok(least <= int(fields["retry-after"]) <= most, "and when to come again, within an hour", fields["retry-after"])
        ok(d.ask(resp("SFID.NEXT")).startswith(b"-TRYAGAIN no IDs yet, earlier ones"), "RESP says why")
        ok(until(lambda: re.search("requests are refused: no IDs yet, .*: IDs up to .* may have been issued", d.log())), "the log has the reason")
        ok(until(lambda: re.search("no IDs can be issued: IDs up to .* may have been issued", d.log())), "and that no ID can be issued")
        d.stop()


def read_http(s):
    data = s.recv(65536)
    while b"\r\n\r\n" not in data:
        data += s.recv(65536)
    length = int(re.search(rb"Content-Length: (\d+)", data).group(1))
    while len(data) < data.index(b"\r\n\r\n") + 4 + length:
        data += s.recv(1 << 20)
    return data


def patient():
    d = Daemon("--wait-ms", "60000", "--request-ms", "60000", layout="sfid")
    clients = [d.connect() for _ in range(6)]
    for s in clients:
        s.sendall(ALL)
        taken(s)
    ends, ids = [], []
    for s in clients:
        body = parse(read_http(s))[2].split()
        ids += body
        ends.append(max(map(int, body)))
    same((len(ids), len(set(ids))), (6 * 65365, 6 * 65365), "with time to wait all are answered, no ID twice")
    same(ends, sorted(ends), "first come, first served")
    clients = [d.connect() for _ in range(20)]
    d.freeze()  # so that all come at once: IDs run out while requests that came before are in turn
    for s in clients:
        s.sendall(b"GET /ids?n=8193 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    d.process.send_signal(signal.SIGCONT)
    spans = [[int(i) for i in parse(read_http(s))[2].split()] for s in clients]
    ends = [max(ids) for ids in sorted(spans, key=min)]  # in the order in which the daemon began with them
    same(ends, sorted(ends), "those that find no IDs wait behind those in turn")
    d.stop()


def gone():
    d = Daemon("--wait-ms", "60000", "--max-memory", "1000000000", layout="sfid")
    d.freeze()  # so that all come at once; they would have to wait for 20 s
    clients = [d.connect() for _ in range(40)]
    for s in clients:
        s.sendall(ALL)
    d.process.send_signal(signal.SIGCONT)
    until(lambda: d.metrics()["sfid_waits_total"] > 0)
    same((d.http("/healthz")[0], d.http("/readyz")[0]), (200, 200), "used up: /healthz and /readyz answer")
    ok(not all(map(has_come, clients)), "while requests for IDs wait")
    d.freeze()
    answered = sum(map(has_come, clients))
    for s in clients:
        reset(s)
    d.process.send_signal(signal.SIGCONT)
    same(d.http("/id")[0], 200, "a waiter whose client is gone")
    issued = d.metrics()["sfid_ids_issued_total"] - 1
    ok(issued <= 65365 * (answered + 1), "is given no IDs", issued, answered)  # one may have been on its way
    d.stop()


def crowded_memory():
    d = Daemon("--max-memory", "9000000", "--wait-ms", "300", "--request-ms", "600000", layout="twitter")
    slow = []
    for _ in range(4):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", d.port))
        s.sendall(b"\0\0\xff\x55" * 4)
        slow.append(s)
    ok(until(lambda: b"too many answers are under way" in d.http("/ids?n=65365")[2]),
       "over --max-memory a request is refused after --wait-ms")
    same((d.http("/id")[0], d.http("/healthz")[0]), (200, 200), "small ones are answered")
    same(d.metrics()['sfid_refused_total{reason="memory"}'] >= 1, True, "counted")
    for s in slow:
        s.close()
    same(until(lambda: d.http("/ids?n=65365")[0] == 200), True, "later it is answered")
    d.stop()
    d = Daemon("--max-memory", "0", "--wait-ms", "100")
    same((d.http("/id")[0], d.http("/ids?n=100")[0]), (200, 503), "without memory only small ones are answered")
    d.stop()


def order():
    d = Daemon()
    got, lock = [], threading.Lock()

    def draw(kind):
        s, mine = d.connect(), []
        f = s.makefile("rb")
        for i in range(300):
            if kind == "resp":
                s.sendall(resp("SFID.NEXT", 20))
                mine += [int(x) for x in read_reply(f)]
            else:
                s.sendall(b"\0\0\0\x14")
                mine += [int(x, 16) for x in f.read(20 * 33 - 1).split(b"\n")]
        with lock:
            got.append(mine)

    threads = [threading.Thread(target=draw, args=("resp" if i % 2 else "flakeid",), daemon=True) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    whole = [i for mine in got for i in mine]
    same((len(whole), len(set(whole))), (36000, 36000), "no ID twice over connections and protocols")
    ok(all(mine == sorted(mine) for mine in got), "increasing on each connection")
    same(d.metrics()["sfid_ids_issued_total"], 36000, "the count is exact")
    d.stop()


run(deadlines, stalled, hostile, memory, too_many, no_descriptors, used_up, ahead, patient, gone, crowded_memory, order)
