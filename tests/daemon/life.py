# SPDX-License-Identifier: MIT
"""life.py - addresses, Unix sockets, passed sockets, the service manager, stop and restart."""
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import threading
import time

from support import Daemon, SFID, closed, drain, exactly, ok, parse, row, run, same, scratch, taken, until

ONE = b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"


def start(*words, **env):
    """Runs a serve that is to fail at once. Returns status and message."""
    environment = dict(os.environ, SFID_RUN_DIR=scratch + "/f/run", SFID_STATE_DIR=scratch + "/f/state", **env)
    for key in ["SFID_APP", "SFID_STORE", "SFID_PID", "SFID_LAYOUT"]:
        environment.pop(key, None)
    done = subprocess.run([SFID, "serve"] + list(words), env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def fails(status, pattern, name, *words, **env):
    got, text = start(*words, **env)
    ok(got == status and re.search(pattern, text) and all(l.startswith("sfid: ") for l in text.splitlines()), name, got, text)


def misuse():
    fails(2, "--app is missing", "no app")
    fails(2, "unexpected argument '5'", "an operand", "5", "--app", "a")
    for address in ["localhost:1", "127.0.0.1", "127.0.0.1:65536", "[::1:5", "[127.0.0.1]:5", "unix:run", "1.2.3:4", ":5",
                    "unix:/" + "x" * 200]:
        fails(2, "--listen: '.*use|--listen: '.*107", "--listen %.20s" % address, "--app", "a", "--listen", address)
    for address in ["0.0.0.0:3525", "[::]:3525", "192.0.2.1:3525"]:
        fails(78, "--expose", "%s needs --expose" % address, "--app", "a", "--listen", address)
    fails(78, r"\$SFID_LISTEN: '\[::\]:1'.*--expose", "so it does in $SFID_LISTEN", "--app", "a", SFID_LISTEN="127.0.0.1:0 [::]:1")
    fails(2, "not one of http, resp, flakeid", "--protocols", "--app", "a", "--protocols", "http,gopher")
    fails(2, "octal", "--mode", "--app", "a", "--mode", "0999")
    fails(2, "not one of auto, always, never", "--integers", "--app", "a", "--integers", "yes")
    fails(2, "not one of dec, hex", "--format bytes", "--app", "a", "--format", "bytes")
    fails(2, "from 1 to", "--max-ids 0", "--app", "a", "--max-ids", "0")
    fails(2, "more than 16 addresses", "17 addresses", "--app", "a", *(["--listen", "127.0.0.1:0"] * 17))
    fails(2, "has no apps", "flake has no app", "--app", "a", "--layout", "flake")
    fails(69, "", "a store out of reach: 69", "--app", "a", "--store", "redis://127.0.0.1:1", "--listen", "127.0.0.1:0")


def addresses():
    d = Daemon()
    status, text = start("--app", "a", "--listen", "127.0.0.1:%d" % d.port, "--run-dir", scratch + "/fresh")
    ok(status == 75 and "127.0.0.1:%d" % d.port in text, "an address in use: 75", status, text)
    ok(not os.path.exists(scratch + "/fresh"), "and no lease was taken")
    status, text = start("--app", "a", "--listen", "unix:" + d.unix)
    ok(status == 75 and "another server is listening" in text, "a live server on the Unix socket: 75", status, text)
    same(stat.S_IMODE(os.stat(d.unix).st_mode), 0o660, "a Unix socket has mode 0660")
    os.unlink(d.unix)
    other = socket.socket(socket.AF_UNIX)
    other.bind(d.unix)
    d.stop()
    ok(os.path.exists(d.unix), "at the stop a socket that is another's is left alone")
    other.close()
    e = Daemon("--mode", "0600", name=d.name, listen=["unix:" + d.unix])
    same(stat.S_IMODE(os.stat(e.unix).st_mode), 0o600, "a dead socket is replaced; --mode")
    ok(e.ask(b"\0\0\0\1"), "and served")
    e.stop()
    ok(not os.path.exists(e.unix), "at the stop it is removed")
    with open(e.unix, "w") as f:
        f.write("precious")
    status, text = start("--app", "a", "--listen", "unix:" + e.unix)
    ok(status == 73 and open(e.unix).read() == "precious", "a file that is no socket: 73, and left alone", status, text)
    f = Daemon("--expose", listen=["[::1]:0", "0.0.0.0:0"], wait=True)
    ok(re.search(r"ready: \[::1\]:\d+ 0\.0\.0\.0:\d+,", f.log()), "IPv6, and others with --expose", f.log())
    f.stop()
    g = Daemon(listen=[], env={"SFID_LISTEN": " 127.0.0.1:0\tunix:%s/g.sock " % scratch})
    ok(g.port and os.path.exists(scratch + "/g.sock"), "$SFID_LISTEN names several", g.log())
    g.stop()
    path = scratch + "/race.sock"
    racers = [subprocess.Popen([SFID, "serve", "--app", "r%d" % i, "--listen", "unix:" + path], stderr=subprocess.PIPE,
                               env=dict(os.environ, SFID_RUN_DIR=scratch + "/r/run", SFID_STATE_DIR=scratch + "/r/state"))
              for i in range(6)]
    until(lambda: sum(r.poll() is None for r in racers) == 1)
    same(sorted(str(r.poll()) for r in racers), ["75"] * 5 + ["None"], "of six that start at once one has the socket")
    for r in racers:
        if r.poll() is None:
            r.terminate()
        r.communicate()


def listening(family=socket.AF_INET, address=("127.0.0.1", 0)):
    s = socket.socket(family)
    s.bind(address)
    s.listen(512)
    return s


def passed():
    s = listening()
    u = listening(socket.AF_UNIX, scratch + "/passed.sock")
    d = Daemon(listen=[], fds=[s.fileno(), u.fileno()])
    d.port = s.getsockname()[1]
    ok(d.ask(b"\0\0\0\1") and d.log().count("127.0.0.1:") == 1, "passed sockets are served, and nothing else is opened", d.log())
    d.port, d.unix = None, scratch + "/passed.sock"
    ok(d.ask(b"\0\0\0\1"), "also a Unix one")
    with open("/proc/%d/environ" % d.process.pid, "rb") as f:
        ok(b"LISTEN_FDS=2" in f.read(), "as the manager passes them")
    d.stop()
    ok(os.path.exists(scratch + "/passed.sock"), "a passed socket's path stays")
    for name, fd in [("a datagram socket", socket.socket(socket.AF_INET, socket.SOCK_DGRAM)), ("a connected one", socket.socketpair()[0]),
                     ("a file", open("/dev/null"))]:
        e = Daemon(listen=[], fds=[fd.fileno()], wait=False)
        same(e.process.wait(120), 78, "%s is refused: 78" % name)
        ok("LISTEN_FDS: descriptor 3" in e.log(), "and named", e.log())
    exposed = listening(address=("0.0.0.0", 0))
    e = Daemon(listen=[], fds=[exposed.fileno()])
    ok("0.0.0.0" in e.log(), "a passed socket needs no --expose")
    e.stop()


def manager():
    path = scratch + "/notify"
    n = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    n.bind(path)
    n.settimeout(30)
    begin, beats = time.monotonic(), []
    d = Daemon(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
    first = n.recv(4096)
    ok(first.startswith(b"READY=1\n") and b"STATUS=" in first, "READY=1", first)

    def beat():
        beats.append((n.recv(4096), time.monotonic() - begin))
        return len(beats) > 5 and beats[-1][1] - beats[-2][1] < 0.3

    ok(until(beat) and set(b[0] for b in beats) == {b"WATCHDOG=1\n"}, "WATCHDOG=1, in time for the interval", beats)
    ok(all(at > 0.19 * (i + 1) for i, (_, at) in enumerate(beats)), "and not more often than at half of it", beats)
    d.process.send_signal(signal.SIGHUP)
    d.process.send_signal(signal.SIGUSR1)
    same(d.http("/id")[0], 200, "HUP and USR1 are ignored")
    d.process.terminate()
    rest = b""
    while b"STOPPING=1" not in rest:
        rest = n.recv(4096)
    same(d.process.wait(120), 0, "STOPPING=1, and status 0")
    n.close()
    a = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.bind("\0sfid-%d" % os.getpid())
    a.settimeout(30)
    d = Daemon(env={"NOTIFY_SOCKET": "@sfid-%d" % os.getpid()})
    ok(a.recv(4096).startswith(b"READY=1"), "an abstract socket")
    d.stop(signal.SIGINT)
    same(d.process.returncode, 0, "INT ends it, too")


def stop():
    d = Daemon("--wait-ms", "60000", "--request-ms", "60000", "--grace-ms", "60000", "--max-memory", "5000")
    silent, half, waiter, ready, idle = [d.connect() for _ in range(5)]
    half.sendall(ONE[:-2])
    waiter.sendall(ONE + b"GET /ids?n=65365 HTTP/1.1\r\nHost: localhost\r\n\r\n")  # waits for memory
    ready.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n")
    taken(silent, half, waiter, ready)
    ok(until(lambda: d.metrics()["sfid_waits_total"] == 1), "a request waits for memory")
    dates = set()  # the daemon's clock moves twice, so all are older than a second
    until(lambda: dates.add(d.http("/healthz")[1]["date"]) or len(dates) == 3)
    idle.sendall(ONE)
    idle.recv(4096)
    begin = time.monotonic()
    new = d.connect()
    d.process.terminate()
    ok(until(lambda: "stopping on SIGTERM" in d.log()), "TERM is logged")
    new.sendall(ONE)
    half.sendall(b"\r\n")
    answer = drain(half)
    ok(answer.startswith(b"HTTP/1.1 200") and b"Connection: close" in answer, "a request that had begun is answered", answer[:200])
    states = [(row(s) or "gone")[3] for s in (idle, silent)]
    ok("01" not in states and closed(idle) and closed(silent), "idle connections are closed at once", states)
    answer = drain(new)
    took = time.monotonic() - begin
    ok(answer.startswith(b"HTTP/1.1 200") and b"Connection: close" in answer or answer == b"" and took > 0.9,
       "one that has just connected has a second for its request", took, answer)
    answers = drain(waiter)
    ok(answers.count(b"HTTP/1.1 200") == 1 and b"HTTP/1.1 503" in answers and b'"STOPPING"' in answers and b"Connection: close" in answers, "a waiter is refused",
       re.findall(rb"HTTP/1.1 \d+", answers))
    ready.sendall(b"\r\n")
    same(parse(drain(ready))[0], 503, "/readyz: 503 while stopping")
    same(d.process.wait(120), 0, "then it ends, with status 0")
    d = Daemon("--grace-ms", "500", "--request-ms", "600000")
    half = d.connect()
    half.sendall(ONE[:-2])
    taken(half)
    begin = time.monotonic()
    same(d.stop(), 0, "--grace-ms ends the wait for requests")
    ok(time.monotonic() - begin > 0.4 and closed(half), "once it is over, and the rest is closed", time.monotonic() - begin)
    d = Daemon("--grace-ms", "600000", "--request-ms", "600000")
    half = d.connect()
    half.sendall(ONE[:-2])
    taken(half)
    d.process.terminate()
    until(lambda: "stopping on SIGTERM" in d.log())
    same(d.stop(), 0, "a second TERM ends it now")


def go_on():
    """The next start has the same pid, at once, and its IDs follow."""
    last, pid = 0, None
    for _ in range(5):
        d = Daemon(name="again")
        ids = [int(d.http("/id")[2]) for _ in range(3)]
        now = d.metrics()["sfid_pid"]
        ok(ids[0] > last and pid in (None, now), "a restart goes on with the same pid", ids, last, pid, now)
        last, pid = ids[-1], now
        d.stop()


def restarts():
    """20 restarts under load over a passed socket."""
    s = listening()
    port = s.getsockname()[1]
    over, refused, got, lists = threading.Event(), [], [], []

    def load():
        mine = []
        while not over.is_set():
            try:
                c = socket.create_connection(("127.0.0.1", port), 60)
            except OSError as e:
                refused.append(repr(e))
                continue
            run_ = []
            with c:
                try:
                    for _ in range(50):
                        c.sendall(b"\0\0\0\x0a")
                        data = exactly(c, 329)
                        if len(data) < 329:
                            ok(data == b"", "nothing is torn", data) if data else None
                            break
                        run_ += [int(x, 16) for x in data.split(b"\n")]
                        lists.append(len(run_))
                        time.sleep(0.001)
                except ConnectionError:
                    pass
                except OSError as e:  # no answer in time
                    refused.append(repr(e))
            mine.append(run_)
        got.append(mine)

    threads = [threading.Thread(target=load, daemon=True) for _ in range(4)]
    d = Daemon(listen=[], fds=[s.fileno()], name="restarts")
    for t in threads:
        t.start()
    worst = 0
    for _ in range(20):
        before = len(lists)
        until(lambda: refused or len(lists) > before + 100)
        status = d.stop()
        worst = max(worst, abs(status))
        d = Daemon(listen=[], fds=[s.fileno()], name="restarts")
    over.set()
    for t in threads:
        t.join()
    d.stop()
    ids = [i for mine in got for run_ in mine for i in run_]
    same((worst, refused, len(got)), (0, [], 4), "20 restarts under load: no connection is refused")
    ok(len(ids) > 20000 and len(ids) == len(set(ids)), "no ID comes twice (%d)" % len(ids), len(set(ids)))
    ok(all(run_ == sorted(run_) for mine in got for run_ in mine), "none falls on a connection")
    ok(all(a[-1] < b[0] for mine in got for a, b in zip([r for r in mine if r], [r for r in mine if r][1:])),
       "nor from a client's connection to its next")


def log():
    d = Daemon("--access-log")
    d.http("/id?minLength=%1b[31m")
    ok("http 1 'GET /id?minLength=%1b[31m HTTP/1.1' 400" in d.log(), "--access-log", d.log())
    d.ask(b"GET /\x1b HTTP/1.1\r\n\r\n")
    ok("\x1b" not in d.log() and "\\x1b" in d.log(), "bytes of clients are shown escaped")
    ok("at most 4096000 IDs a second" in d.log() and "unique on this host only" in d.log(), "the log says what the layout gives")
    ok(not re.search("^<", d.log(), re.M), "no level in front of lines")
    d.stop()
    path = scratch + "/journal"
    open(path, "w").close()
    st = os.stat(path)
    with open(path, "w") as f:
        p = subprocess.Popen([SFID, "serve", "--app", "j", "--listen", "127.0.0.1:0"], stderr=f,
                             env=dict(os.environ, SFID_RUN_DIR=scratch + "/j/run", SFID_STATE_DIR=scratch + "/j/state",
                                      JOURNAL_STREAM="%d:%d" % (st.st_dev, st.st_ino)))
    until(lambda: "ready" in open(path).read())
    p.terminate()
    p.wait(120)
    ok(all(re.match("^<[3-6]>sfid: ", l) for l in open(path)), "where the journal reads, lines have their level", open(path).read())
    d = Daemon(wait=False)
    os.close(os.open(d.log_path, os.O_RDONLY))
    until(lambda: "ready" in d.log())
    d.stop()
    r, w = os.pipe()
    p = subprocess.Popen([SFID, "serve", "--app", "b", "--listen", "unix:%s/b.sock" % scratch], stderr=w,
                         env=dict(os.environ, SFID_RUN_DIR=scratch + "/b/run", SFID_STATE_DIR=scratch + "/b/state"))
    os.close(w)
    os.read(r, 4096)
    os.close(r)
    d.port, d.unix = None, scratch + "/b.sock"
    same((d.http("/nothing")[0], d.http("/id")[0]), (404, 200), "broken standard error is ignored")
    p.terminate()
    same(p.wait(120), 0, "also at the end")


run(misuse, addresses, passed, manager, stop, go_on, restarts, log)
