# SPDX-License-Identifier: MIT
"""calls.py - calls that fail for a moment are made again, and each descriptor is given back."""
import fcntl
import os
import signal
import socket
import struct

from support import Daemon, closed, drain, exactly, ok, resp, row, run, same, scratch, skip, taken, until

ONE = b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALL = b"GET /ids?n=65365 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def failing(calls):
    """What makes every second one of these calls fail, with EINTR unless they say EAGAIN."""
    library = os.path.join(os.environ.get("builddir", "."), "tests/.libs/interrupts.so")
    if not os.path.exists(library):
        raise RuntimeError("no interrupts")
    return {"LD_PRELOAD": library, "SFID_INTERRUPTED": calls}


# ---- connections ----

def only_listeners(d):
    """Whether a daemon comes to have no socket open but the two that it listens on."""
    return until(lambda: sum(name.startswith("socket:") for name in d.descriptors()) == 2)


def descriptors():
    """However a connection ends, its descriptor is given back."""
    d = Daemon("--max-connections", "4", "--request-ms", "600000")
    for _ in range(5):
        d.ask(b"?")  # no protocol
        d.ask(ONE[:-2])  # half a request
        d.ask(b"GET /nothing HTTP/1.1\r\n\r\n")
        for request in ONE + b"GET ", ALL:
            s = d.connect()
            s.sendall(request)
            s.recv(1)
            reset(s)
    ok(only_listeners(d), "answered, refused, reset: no connection is left", d.descriptors())
    for _ in range(5):
        held = [d.connect() for _ in range(4)]
        taken(*held)
        held.append(d.connect())
        ok(closed(held[0]), "with one too many one is closed")
        for s in held:
            s.close()
        ok(only_listeners(d), "and leaves none", d.descriptors())
    d.metrics()
    ok(until(lambda: not any(name.startswith("/proc/") for name in d.descriptors())), "nor does /metrics leave a file open", d.descriptors())
    d.stop()
    d = Daemon("--request-ms", "100")
    late = [d.connect() for _ in range(5)]
    for s in late:
        s.sendall(ONE[:-2])
    ok(all(map(closed, late)) and only_listeners(d), "those whose requests take too long leave none", d.descriptors())
    d.stop()


def again(errno):
    """accept, recv and send fail every second time."""
    d = Daemon("--wait-ms", "60000", "--request-ms", "60000", "--grace-ms", "60000", layout="sfid",
               env=failing("accept recv send " + errno))
    for _ in range(3):
        same((d.http("/id")[0], d.ask(resp("SFID.NEXT"))[:1], len(d.ask(b"\0\0\0\7"))), (200, b"$", 230),
             "accept, recv and send fail with %s: each protocol has its answer" % errno)
    clients = [d.connect() for _ in range(4)]  # too many for a second, so some wait
    for s in clients:
        s.sendall(b"\0\0\xff\x55")
    same([len(exactly(s, 65365 * 33 - 1)) for s in clients], [65365 * 33 - 1] * 4, "large answers come, and waiters stay")

    def is_open(r):
        return r is not None and r[9] != "0"

    def read(r):
        return not is_open(r) or r[4].endswith(":00000000")

    def lingers():
        """A rejected client may go on sending for a second."""
        with d.connect() as s:
            try:
                s.sendall(b"?")
                closed(s)
                for _ in range(3):
                    s.sendall(b"?")
                    until(lambda: read(row(s)))
                return is_open(row(s))
            except OSError:
                return False

    ok(any(lingers() for _ in range(20)), "a rejected client is not reset at once")
    if errno == "EINTR":  # with EAGAIN nobody is there
        d.freeze()
        clients = [d.connect() for _ in range(100)]  # more than are taken at a time
        for s in clients:
            s.sendall(ONE)
        d.process.terminate()
        d.process.send_signal(signal.SIGCONT)
        same([drain(s)[:12] for s in clients], [b"HTTP/1.1 200"] * 100, "at the stop those that had connected are answered")
    same(d.stop(), 0, "status 0")


def interrupted():
    again("EINTR")
    again("EAGAIN")


# ---- listeners ----

def sockets():
    """What is looked at before a socket is bound, and how long."""
    listen = "unix:%s/first.sock" % scratch
    first = Daemon(listen=[listen], name="sockets")
    lock = scratch + "/first.sock.lock"
    ok(os.path.exists(lock) and lock not in first.descriptors(), "the lock of a Unix socket is given back", first.descriptors())
    first.process.kill()
    first.process.wait()
    again = Daemon(listen=[listen], name="sockets")
    same(sum(name.startswith("socket:") for name in again.descriptors()), 1, "a dead socket that is replaced is not left open")
    again.stop()
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        late = Daemon(listen=[listen], name="sockets", wait=False, env=failing("flock"))
        ok(not until(lambda: os.path.exists(scratch + "/first.sock") or late.process.poll() is not None, 0.5),
           "who waits for the lock goes on waiting when a signal comes", late.log())
    ok(until(lambda: "ready:" in late.log()), "until it is free", late.log())
    late.stop()


def closing():
    """A daemon that waits for the rest of a request has given up its addresses: another may have them."""
    d = Daemon("--request-ms", "600000", "--grace-ms", "600000")
    half = d.connect()
    half.sendall(ONE[:-2])
    taken(half)
    d.process.terminate()

    def refuses():
        try:
            d.connect().close()
        except ConnectionRefusedError:
            return True
        return False

    ok(until(refuses) and d.process.poll() is None, "while it stops nobody can connect", d.descriptors())
    half.sendall(b"\r\n")
    ok(drain(half).startswith(b"HTTP/1.1 200"), "the request is answered")
    same(d.process.wait(120), 0, "then it ends, with status 0")


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def by_default():
    """Without --listen. Another test may have the port for a while."""
    usual, started = "127.0.0.1:3525" + " [::1]:3525" * has_ipv6(), []

    def begins():
        started.append(Daemon(listen=[], wait=False, name="usual"))
        until(lambda: "sfid: ready:" in started[-1].log() or started[-1].process.poll() is not None)
        return started[-1].process.poll() != 75

    if not until(begins):
        skip("port 3525 is taken here")
        return
    d = started[-1]
    ok("ready: %s, app" % usual in d.log(), "without --listen it is %s" % usual, d.log())
    same(sum(name.startswith("socket:") for name in d.descriptors()), usual.count(":3525"), "and no other socket is open")
    d.stop()


run(descriptors, interrupted, sockets, closing, by_default)
