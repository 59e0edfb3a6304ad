# SPDX-License-Identifier: MIT
"""crowd.py - clients that hold connections and ask for nothing: silent, slow, half, deaf; and the hosts that are asked for."""
import re
import resource
import signal
import socket
import subprocess
import sys
import time

from support import Daemon, closed, drain, exactly, has_come, ok, parse, resp, run, same, scratch, skip, taken, until

ONE = b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"
STARVED = ["--max-memory", "0", "--wait-ms", "600000"]  # a request for more than some IDs waits
HUNDRED = b"GET /ids?n=100 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def all_answer(d, name):
    """A newcomer of each protocol, and the probes."""
    same((d.http("/healthz")[0], d.http("/readyz")[0], d.http("/id")[0], d.ask(resp("PING")), len(d.ask(b"\0\0\0\2"))),
         (200, 200, 200, b"+PONG\r\n", 65), name)


def ends(s):
    """Waits until the other side ends the connection."""
    return until(lambda: has_come(s)) and closed(s)


def beginning(d, data, n):
    """So many connections that have sent this, in the order in which the daemon took them."""
    held = []
    for _ in range(n):
        held.append(d.connect())
        held[-1].sendall(data)
        if data == ONE:
            held[-1].recv(4096)
        else:
            taken(held[-1])
    return held


def silent():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most), most))
    d = Daemon("--idle-ms", "600000")
    held = [d.connect() for _ in range(1100)]
    all_answer(d, "beside 1100 silent connections everybody is answered")
    m = d.metrics()
    ok(m["sfid_connections"] <= 1024 and m['sfid_rejected_total{reason="connections"}'] >= 76, "--max-connections holds; those closed are counted", m)
    ok("over --max-connections 1024: the longest idle one is closed" in d.log(), "and logged", d.log())
    for s in held:
        s.close()
    d.stop()


def in_turn():
    """The longest idle goes first, whatever it has or has not sent."""
    for name, data in [("silent", b""), ("with an answer each", ONE), ("half heads", ONE[:-2]), ("half commands", b"*1\r\n$4\r\nPI"), ("half frames", b"\0\0")]:
        d = Daemon("--max-connections", "6", "--idle-ms", "600000", "--request-ms", "600000", "--grace-ms", "0")
        held = beginning(d, data, 6)
        if data == ONE:
            held[0].sendall(ONE)  # it is the last now
            held[0].recv(4096)
            held.append(held.pop(0))
        all_answer(d, "%s: a newcomer is answered" % name)  # each of five has ended before the next comes
        ok(ends(held[0]) and not any(map(has_come, held[1:])), "the longest idle one is closed, and no other", list(map(has_come, held)))
        d.stop()
    d = Daemon("--max-connections", "3", "--idle-ms", "600000", "--request-ms", "500000", "--grace-ms", "0")
    oldest, half = beginning(d, ONE, 1)[0], beginning(d, ONE[:-2], 1)[0]
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.002)  # the daemon counts milliseconds
    silent_one = d.connect()
    taken(silent_one)
    newer = []
    for s, what in [(oldest, "one with an answer"), (half, "half a head"), (silent_one, "a silent one")]:
        newer.append(d.connect())
        ok(ends(s), "among different ones time decides, too: %s" % what)
    d.stop()


def on_the_way():
    """A request that has come, and that the daemon has not read yet."""
    d = Daemon("--max-connections", "3", "--idle-ms", "600000")
    held = beginning(d, ONE, 3)
    d.freeze()
    newest = d.connect()
    held[0].sendall(ONE)
    newest.sendall(ONE)
    d.process.send_signal(signal.SIGCONT)
    ok(newest.recv(100).startswith(b"HTTP/1.1 200"), "a newcomer is answered")
    ok(held[0].recv(100).startswith(b"HTTP/1.1 200") and ends(held[1]) and not has_come(held[2]), "the one whose request has come is not closed for it")
    d.stop()


def under_way():
    """A connection whose request waits is never closed, and cannot take the last places."""
    d = Daemon("--max-connections", "18", "--idle-ms", "600000", *STARVED)
    waiting = []
    for _ in range(16):
        waiting.append(d.connect())
        waiting[-1].sendall(HUNDRED)
    ok(until(lambda: d.metrics()["sfid_waits_total"] == 16), "requests wait in nearly all places")
    held = [d.connect() for _ in range(5)]
    all_answer(d, "newcomers are answered")
    status, fields, body = parse(d.ask(HUNDRED))
    same((status, fields.get("retry-after"), b"too many requests wait" in body), (503, "1", True), "one more that would wait is refused at once")
    ok(d.ask(resp("SFID.NEXT", 100)).startswith(b"-TRYAGAIN too many requests wait"), "TRYAGAIN, in RESP")
    same(d.metrics()['sfid_refused_total{reason="connections"}'], 2, "counted")
    for s in held:
        s.close()
    d.stop()
    same([parse(drain(s))[0] for s in waiting], [503] * 16, "those that waited have stayed, and are answered at the stop")


def addresses():
    d = Daemon("--max-connections", "64", "--max-per-address", "4", "--idle-ms", "600000")

    def connect(host):
        s = socket.socket()
        s.settimeout(30)
        s.bind((host, 0))
        s.connect(("127.0.0.1", d.port))
        taken(s)
        return s

    other = connect("127.0.0.2")
    held = [connect("127.0.0.1") for _ in range(5)]
    ok(ends(held[0]) and not any(map(has_come, held[1:] + [other])), "an address has --max-per-address: its own longest idle one is closed")
    same(d.metrics()['sfid_rejected_total{reason="address"}'], 2, "counted; the question was one too many as well")
    ok(re.search(r"127\.0\.0\.1:\d+ is one more than --max-per-address 4:", d.log()), "and logged", d.log())
    local = []
    for _ in range(6):
        local.append(socket.socket(socket.AF_UNIX))
        local[-1].connect(d.unix)
        local[-1].sendall(resp("PING"))
        exactly(local[-1], 7)
    ok(not any(map(has_come, local)), "Unix sockets have no address, and no such limit")
    for s in held:
        s.close()
    ok(until(lambda: d.metrics()["sfid_connections"] == 8), "when they have gone")
    again = [connect("127.0.0.1") for _ in range(4)]
    ok(not any(map(has_come, again + [other])), "as many may come again")
    d.stop()
    for options, most in [(["--expose"], 4), (["--expose", "--max-per-address", "7"], 7), ([], 8)]:
        d = Daemon("--max-connections", "8", "--idle-ms", "600000", *options)
        held = beginning(d, b"", most)
        same(any(map(has_come, held)), False, "%d of 8 may be of one address: %s" % (most, " ".join(options) or "no option"))
        one_more = d.connect()
        ok(ends(held[0]), "not one more")
        one_more.close()
        d.stop()
    d = Daemon("--max-connections", "64", "--max-per-address", "4", *STARVED)
    held = [connect("127.0.0.1") for _ in range(4)]
    for s in held:
        s.sendall(HUNDRED)
    ok(until(lambda: d.metrics()['sfid_refused_total{reason="connections"}'] == 1), "nor can requests of one address that wait take its last place")
    d.stop()


# Four come: which of them has been closed? In a network of its own.
COME = """
import select, socket
held = [socket.create_connection(("::1", 3525), 30, (host, 0)) for host in ("fd00:0:0:2::1", "fd00:0:0:1::1", "fd00:0:0:1::2", "fd00:0:0:1::3")]
select.select(held, [], [], 30)
print([s in select.select(held, [], [], 0)[0] for s in held])
"""


def ipv6():
    try:
        dual = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except OSError:
        skip("no IPv6 here")
        return
    d = Daemon("--max-per-address", "2", "--idle-ms", "600000", listen=[], fds=[dual.fileno()])
    held = []
    for host in ["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.1"]:
        held.append(socket.create_connection(("127.0.0.1", dual.getsockname()[1]), 30, (host, 0)))
        held[-1].sendall(resp("PING"))
        exactly(held[-1], 7)
    ok(ends(held[1]) and not any(map(has_come, [held[0]] + held[2:])), "IPv4 over a socket of IPv6: each address counts for itself")
    d.stop()
    network = "ip link set lo up && for a in 1::1 1::2 1::3 2::1; do ip addr add fd00:0:0:$a/128 dev lo || exit 99; done && exec"
    if subprocess.run(["unshare", "-rn", "sh", "-c", network + " true"], capture_output=True).returncode:
        skip("cannot make a network namespace here")
        return
    d = Daemon("--max-per-address", "2", "--idle-ms", "600000", listen=["[::1]:3525"], prefix=["unshare", "-rn", "sh", "-c", network + ' "$@"', "sh"])
    inside = ["nsenter", "-t", str(d.process.pid), "-U", "-n", "--preserve-credentials", sys.executable, "-c", COME]
    same(subprocess.run(inside, capture_output=True, text=True).stdout, "[False, True, False, False]\n", "IPv6: addresses that begin alike count as one")
    d.stop()


def descriptors():
    """The limit of descriptors may be the lower one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    d = Daemon("--idle-ms", "600000")
    same(resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)[0], min(1024 + 64, hard), "a low soft limit is raised")
    d.stop()
    d = Daemon("--idle-ms", "600000", prefix=["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    ok("--max-connections is 136 here: RLIMIT_NOFILE allows 200 descriptors" in d.log(), "a low hard one is minded", d.log())
    held = [d.connect() for _ in range(220)]
    all_answer(d, "so silent connections do not take the last descriptor")
    ok("cannot be accepted" not in d.log(), "nor a part of them", d.log())
    for s in held:
        s.close()
    d.stop()


# ---- the deaf ----

def deaf_one(d, data):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(30)
    s.connect(("127.0.0.1", d.port))
    s.sendall(data)
    return s


def was_reset(s):
    try:
        while s.recv(1 << 20):
            pass
    except ConnectionResetError:
        return True
    return False


def deaf():
    d = Daemon("--request-ms", "500", "--wait-ms", "600000", "--idle-ms", "600000")
    kinds = [b"GET /ids?n=2000 HTTP/1.1\r\nHost: localhost\r\n\r\n", resp("SFID.NEXT", 2000), b"\0\0\7\xd0"]
    clients = [deaf_one(d, kind * n) for kind in kinds for n in (1, 20)]
    ok(until(lambda: d.metrics()["sfid_connections"] == 1), "who takes no byte of an answer that the kernel has is closed after --request-ms")
    same(d.metrics()['sfid_rejected_total{reason="timeout"}'], len(clients), "counted")
    ok(all(map(was_reset, clients)), "and reset, so that the kernel keeps nothing for them")
    d.stop()
    d = Daemon("--request-ms", "500", "--idle-ms", "600000", *STARVED)
    clients = [deaf_one(d, ONE * 100 + HUNDRED) for _ in range(4)]
    ok(until(lambda: d.metrics()["sfid_connections"] == 1), "also while a request of it waits")
    d.stop()
    d = Daemon("--max-connections", "2", "--request-ms", "600000", "--idle-ms", "600000")
    s = deaf_one(d, b"\0\0\1\xf4")
    until(lambda: d.metrics()["sfid_ids_issued_total"] == 500)
    beginning(d, ONE, 2)
    same((d.metrics()['sfid_rejected_total{reason="connections"}'] > 0, len(drain(s))), (True, 500 * 33 - 1),
         "who is closed for another, and has been answered has its answer")
    d.stop()
    d = Daemon("--request-ms", "4000", "--idle-ms", "100")
    s, got, begin = deaf_one(d, b"\0\0\xff\x55" * 4), 0, time.monotonic()  # more than the kernel takes at once
    wanted, slowly = 4 * (65365 * 33 - 1), time.monotonic() + 6  # longer than --request-ms
    while got < wanted:
        try:
            data = s.recv(wanted - got if time.monotonic() > slowly else 4096)
        except ConnectionError:
            data = b""
        if not data:
            break
        got += len(data)
        until(lambda: time.monotonic() > begin + got / 4096 * 0.05 or time.monotonic() > slowly)
    same(got, wanted, "who takes some bytes at a time has all of them, however long it lasts")
    d.stop()


# ---- hosts ----

def asks(d, host, version="1.1", target="/id"):
    fields = "" if host is None else "Host: %s\r\n" % host
    return d.ask(("GET %s HTTP/%s\r\n%sConnection: close\r\n\r\n" % (target, version, fields)).encode())


def hosts():
    d = Daemon()
    local = ["localhost", "localhost:%d" % d.port, "LocalHost:1", "localhost.", "localhost.:80", "localhost:", "127.0.0.1", "127.0.0.1:%d" % d.port,
             "127.8.9.1", "[::1]", "[::1]:%d" % d.port, "[0:0:0:0:0:0:0:1]", ""]
    foreign = ["evil.example", "evil.example:%d" % d.port, "localhost.evil.example", "evil.localhost", "127.0.0.1.evil.example", "localhos", "localhostx",
               "localhost..", "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0", "10.0.0.1", "[::]", "[::2]", "[::1", "::1", "[localhost]", "localhost:x",
               "127.0.0.1:80:80", ".", ":", "[]", "[::ffff:127.0.0.1]", "x" * 300]
    for version in "1.1", "1.0":
        same([h for h in local if parse(asks(d, h, version))[0] != 200], [], "HTTP/%s: local names are answered" % version)
        same([h for h in foreign if parse(asks(d, h, version))[0] != 421], [], "HTTP/%s: no others" % version)
    same((parse(asks(d, None, "1.0"))[0], parse(asks(d, None))[0]), (200, 400), "HTTP/1.0 may have no host")
    for target, host, status in [("http://localhost:5/id", "evil.example", 200), ("http://evil.example/id", "localhost", 421),
                                 ("HTTPS://[::1]/id", "evil.example", 200), ("http://localhost@evil.example/id", "localhost", 421),
                                 ("http://evil.example?/id", "localhost", 421), ("http:///id", "localhost", 200)]:
        same(parse(asks(d, host, "1.1", target))[0], status, "%s: the host of the target counts" % target)
    same([parse(asks(d, "evil.example", "1.1", t))[0] for t in ["/metrics", "/healthz", "/readyz", "/ids?n=2", "/decode/1", "/none"]], [421] * 6, "for each path")
    status, fields, body = parse(asks(d, 'a"%'))
    ok(status == 421 and b'a\\"% is no name of this host; ask for localhost or 127.0.0.1, or start the service with --expose' in body, "the refusal says why", body)
    ok(d.metrics()['sfid_rejected_total{reason="host"}'] > 40, "counted")
    same(d.ask(b"HEAD /id HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").split(b"\r\n\r\n")[1], b"", "HEAD has no body")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(d.unix)
        s.sendall(b"GET /id HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        same(parse(drain(s))[0], 200, "over a Unix socket no browser comes: any host")
    for path in "/id", "/ids?n=2&format=json", "/metrics", "/healthz", "/none", "/id?minLength=x":
        same(d.http(path)[1].get("x-content-type-options"), "nosniff", "%s: no browser guesses the type" % path)
    d.stop()
    d = Daemon("--expose")
    same(parse(asks(d, "ids.example"))[0], 200, "with --expose any host")
    d.stop()
    for address, status in [("127.0.0.1", 421), ("0.0.0.0", 200)]:
        s = socket.socket()
        s.bind((address, 0))
        s.listen()
        d = Daemon(listen=[], fds=[s.fileno()])
        d.port = s.getsockname()[1]
        same(parse(asks(d, "ids.example"))[0], status, "a passed socket at %s" % address)
        d.stop()
        s.close()


run(silent, in_turn, on_the_way, under_way, addresses, ipv6, descriptors, deaf, hosts)
