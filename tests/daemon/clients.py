# SPDX-License-Identifier: MIT
"""clients.py - slow, huge, malformed, half-closed and resetting clients; limits; waiting; what it costs the others."""
import os
import random
import re
import resource
import socket
import struct
import threading
import time

from support import Daemon, closed, diag, drain, exactly, ok, parse, read_reply, resp, run, same, until

ONE = b"GET /id HTTP/1.1\r\nHost: a\r\n\r\n"


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def deadlines():
    d = Daemon("--request-ms", "700", "--idle-ms", "1500")
    begin = time.monotonic()
    slow, idle, some = d.connect(), d.connect(), d.connect()
    some.sendall(ONE)
    some.recv(4096)
    some.sendall(b"*1\r\n")  # a second protocol on the connection: it was HTTP
    ended = None
    for byte in ONE * 3:
        try:
            slow.sendall(bytes([byte]))
        except ConnectionError:
            break
        time.sleep(0.05)
        if ended is None and time.monotonic() - begin > 1.3:
            break
    ok(closed(slow), "a request that takes longer than --request-ms is closed")
    ok(0.5 < time.monotonic() - begin < 2.5, "in time, however often a byte comes")
    ok(closed(idle) and 1.2 < time.monotonic() - begin < 3.5, "an idle connection is closed after --idle-ms")
    same(d.metrics()['sfid_rejected_total{reason="timeout"}'] >= 1, True, "counted")
    d.stop()


def stalled():
    d = Daemon("--request-ms", "600")
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", d.port))
    s.settimeout(10)
    for _ in range(20):
        s.sendall(b"\0\0\xff\x55")
    ok(until(lambda: d.metrics()["sfid_connections"] == 1, 8), "a client that takes no byte of its answer is closed")
    s.close()
    s = d.connect()
    s.setblocking(False)
    sent = 0
    try:
        while sent < 64 << 20:
            sent += s.send(ONE * 1000)
    except BlockingIOError:
        pass
    ok(sent < 48 << 20, "reading stops while answers wait (%d KiB were taken)" % (sent >> 10))
    s.close()
    d.stop()


def hostile():
    d = Daemon("--request-ms", "2000")
    random.seed(17)
    pieces = [ONE, b"\0\0\0\5", resp("SFID.NEXT", 3), resp("PING"), b"GET ", b"\0", b"*", b"\r\n", b"$", os.urandom(40), b"HTTP/1.1"]
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
    ok(until(lambda: d.metrics()["sfid_connections"] == 1), "and no connection is left")
    for data in [b"\0\0\xff\x55" * 50, b"GET /ids?n=65365 HTTP/1.1\r\nHost: a\r\n\r\n" * 50, resp("SFID.NEXT", 65365) * 50]:
        s = d.connect()
        s.sendall(data)
        time.sleep(0.02)
        reset(s)
    same(d.http("/id")[0], 200, "clients that reset under a large answer do no harm")
    d.stop()


def memory():
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    d = Daemon("--max-connections", "6000")
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
    d = Daemon("--max-connections", "3")
    held = [d.connect() for _ in range(3)]
    time.sleep(0.1)
    ok(closed(d.connect()), "the newest over --max-connections is closed without a byte")
    held[0].sendall(ONE)
    ok(held[0].recv(100).startswith(b"HTTP/1.1 200"), "the others are served")
    for s in held:
        s.close()
    until(lambda: b"200" in d.ask(ONE))
    same(d.metrics()['sfid_rejected_total{reason="connections"}'] >= 1, True, "counted")
    d.stop()
    d = Daemon("--max-ids", "10")
    same((d.ask(b"\0\0\0\x0b"), d.http("/ids?n=11")[0], d.http("/ids?n=10")[0]), (b"", 400, 200), "--max-ids")
    d.stop()


def no_descriptors():
    d = Daemon()
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (40, 40))
    held = [d.connect() for _ in range(60)]
    time.sleep(0.3)
    with open("/proc/%d/stat" % d.process.pid) as f:
        before = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    time.sleep(1)
    with open("/proc/%d/stat" % d.process.pid) as f:
        after = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    ok(after - before < 20, "without descriptors the loop does not spin", "%d ticks of 10 ms in a second" % (after - before))
    for s in held:
        s.close()
    ok(until(lambda: b"200 OK" in d.ask(ONE)), "and goes on when there are some")
    d.stop()


# ---- the sequence used up: layout sfid has 131072 IDs a second ----

def used_up():
    d = Daemon("--wait-ms", "400", layout="sfid")
    lot = b"GET /ids?n=65365 HTTP/1.1\r\nHost: a\r\n\r\n"
    clients = [d.connect() for _ in range(12)]
    time.sleep(1.05 - time.time() % 1)  # early in a second
    for s in clients:
        s.sendall(lot)
    time.sleep(0.1)
    begin = time.monotonic()
    same((d.http("/healthz")[0], d.http("/readyz")[0]), (200, 200), "used up: /healthz and /readyz answer")
    ok(time.monotonic() - begin < 0.2, "at once")
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
    ok(len(good) + len(bad) == 12 and 1 <= len(good) <= 5, "some get all, the others 503", [a[0] for a in answers])
    ok(all(len(a[2].split()) == 65365 for a in good), "all or none")
    ok(all(a[1].get("retry-after") == "1" and b"SFID_EAGAIN" in a[2] for a in bad), "503 says when to come again")
    ok(small.recv(100).startswith((b"-TRYAGAIN ", b"$")), "RESP says TRYAGAIN")
    frames_got = exactly(frames, 230)
    ok(len(frames_got) in (0, 230), "flakeid: all, or closed without a byte", len(frames_got))
    metrics = d.metrics()
    same(metrics["sfid_ids_issued_total"] % 65365 in (0, 1, 7, 8), True, "the count of issued IDs is exact")
    same(metrics['sfid_refused_total{reason="again"}'] >= len(bad), True, "refusals are counted")
    same(until(lambda: d.http("/id")[0] == 200), True, "and it goes on")
    ok("requests are refused: the sequence is used up" in d.log(), "the log says so")
    same(d.log().count("requests are refused"), 1, "once")
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
    d = Daemon("--wait-ms", "5000", layout="sfid")
    clients = [d.connect(20) for _ in range(6)]
    for s in clients:
        s.sendall(b"GET /ids?n=65365 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.01)
    ends, ids = [], []
    for s in clients:
        body = parse(read_http(s))[2].split()
        ids += body
        ends.append(max(map(int, body)))
    same((len(ids), len(set(ids))), (6 * 65365, 6 * 65365), "with time to wait all are answered, no ID twice")
    same(ends, sorted(ends), "first come, first served")
    d.stop()


def crowded_memory():
    d = Daemon("--max-memory", "9000000", "--wait-ms", "300", "--request-ms", "1500", layout="twitter")
    slow = []
    for _ in range(4):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", d.port))
        s.sendall(b"\0\0\xff\x55" * 4)
        slow.append(s)
    time.sleep(0.3)
    status, _, body = d.http("/ids?n=65365")
    ok(status == 503, "over --max-memory a request is refused after --wait-ms", status)
    same((d.http("/id")[0], d.http("/healthz")[0]), (200, 200), "small ones are answered")
    same(d.metrics()['sfid_refused_total{reason="memory"}'] >= 1, True, "counted")
    for s in slow:
        s.close()
    same(until(lambda: d.http("/ids?n=65365")[0] == 200), True, "later it is answered")
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

    threads = [threading.Thread(target=draw, args=("resp" if i % 2 else "flakeid",)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    whole = [i for mine in got for i in mine]
    same((len(whole), len(set(whole))), (36000, 36000), "no ID twice over connections and protocols")
    ok(all(mine == sorted(mine) for mine in got), "increasing on each connection")
    same(d.metrics()["sfid_ids_issued_total"], 36000, "the count is exact")
    d.stop()


run(deadlines, stalled, hostile, memory, too_many, no_descriptors, used_up, patient, crowded_memory, order)
