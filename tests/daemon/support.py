# SPDX-License-Identifier: MIT
"""support.py - TAP, and daemons of the test's own, for the scripts beside it."""
import errno
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import traceback

SFID = os.environ.get("SFID") or os.path.join(os.environ.get("builddir", "."), "tests/sfid")
SOURCE = os.environ.get("srcdir") or os.path.join(os.path.dirname(__file__), "../..")
scratch = tempfile.mkdtemp(prefix="sfid-test-")
checks = failed = 0
daemons = []


def ok(holds, name, *notes):
    global checks, failed
    checks += 1
    failed += not holds
    print("%s %d - %s" % ("ok" if holds else "not ok", checks, name))
    for note in [] if holds else notes:
        diag(note)
    sys.stdout.flush()


def same(got, want, name):
    ok(got == want, name, "got:  %.600r" % (got,), "want: %.600r" % (want,))


def skip(reason):
    global checks
    checks += 1
    print("ok %d # SKIP %s" % (checks, reason))


def diag(text):
    print("\n".join("# " + line for line in str(text).split("\n")))


def until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def row(s):
    """The kernel's line of the other end of a TCP connection over IPv4; None: there is none."""
    ports = ["%04X" % s.getpeername()[1], "%04X" % s.getsockname()[1]]
    with open("/proc/net/tcp") as table:
        rows = (line.split() for line in table)
        return next((r for r in rows if [a[-4:] for a in r[1:3]] == ports), None)


def taken(*sockets):
    """Waits until the daemon has accepted these connections and read all that was sent."""
    def one(s):
        unsent = int.from_bytes(fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        r = row(s)
        return unsent == 0 and r is not None and r[4].endswith(":00000000") and r[9] != "0"
    for s in sockets:
        if not until(lambda: one(s)):
            raise RuntimeError("not read: %s" % row(s))


def has_come(s):
    """Are there bytes to read, or an end?"""
    return bool(select.select([s], [], [], 0)[0])


# Runs a command with these descriptors as 3, 4, ..., as the service manager does.
PASS = """
import os, sys
fds = [os.dup(int(fd)) for fd in sys.argv[1].split(",")]
high = [os.dup2(fd, 100 + i, True) for i, fd in enumerate(fds)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
os.closerange(3 + len(fds), 200)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Daemon:
    """sfid serve on a free port of both families, and a Unix socket."""

    def __init__(self, *options, listen=None, layout="twitter", app="tests", env=(), fds=(), name="d%d", store=None, wait=True, prefix=()):
        self.name = name % len(daemons) if "%" in name else name
        self.unix = os.path.join(scratch, self.name + ".sock")
        self.log_path = os.path.join(scratch, "%d.log" % len(daemons))
        words = [SFID, "serve", "--layout", layout]
        words += ["--app", app] if app else []
        words += ["--store", store] if store else []
        for address in ["127.0.0.1:0", "unix:" + self.unix] if listen is None else listen:
            words += ["--listen", address]
        environment = dict(os.environ, SFID_RUN_DIR=os.path.join(scratch, self.name, "run"),
                           SFID_STATE_DIR=os.path.join(scratch, self.name, "state"))
        os.makedirs(os.path.join(scratch, self.name), exist_ok=True)
        for key in ["SFID_APP", "SFID_STORE", "SFID_PID", "SFID_LAYOUT", "SFID_LISTEN", "NOTIFY_SOCKET"]:
            environment.pop(key, None)
        environment.update(env)
        self.command = list(prefix) + words + list(options)
        words = [sys.executable, "-c", PASS, ",".join(map(str, fds))] + self.command if fds else self.command
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, pass_fds=fds)
        daemons.append(self)
        if wait and not until(lambda: "sfid: ready:" in self.log() or self.process.poll() is not None, 120):
            raise RuntimeError("not ready: %s, %s" % (self.log(), self.where()))
        found = re.search(r"ready: 127\.0\.0\.1:(\d+)", self.log())
        self.port = int(found.group(1)) if found else None

    def where(self):
        """What it does, as the kernel tells: its program, its state and what it waits for."""
        told = []
        for name in ["cmdline", "stat", "wchan", "syscall", "stack"]:
            try:
                with open("/proc/%d/%s" % (self.process.pid, name), errors="replace") as f:
                    told.append(f.read().replace("\0", " ").strip())
            except OSError as e:
                told.append(str(e))
        return "; ".join(told)

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def connect(self, timeout=30):
        if self.port:
            return socket.create_connection(("127.0.0.1", self.port), timeout)
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(self.unix)
        return s

    def ask(self, data):
        """Sends bytes, ends the sending side, and returns all that comes, also before a reset."""
        with self.connect() as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError as e:
                if not isinstance(e, ConnectionError) and e.errno != errno.ENOTCONN:
                    raise
            return drain(s)

    def metrics(self):
        text = self.http("/metrics")[2].decode()
        return {k: float(v) for k, v in re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.M)}

    def http(self, target, method="GET", headers=""):
        return parse(self.ask(("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n" % (method, target, headers)).encode()))

    def stop(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        return self.process.wait(120)

    def stat(self):
        """The fields of /proc/PID/stat from the third on."""
        with open("/proc/%d/stat" % self.process.pid) as f:
            return f.read().rsplit(")", 1)[1].split()

    def descriptors(self):
        """What its descriptors refer to."""
        names = []
        for fd in os.listdir("/proc/%d/fd" % self.process.pid):
            try:
                names.append(os.readlink("/proc/%d/fd/%s" % (self.process.pid, fd)))
            except FileNotFoundError:
                pass  # closed meanwhile
        return sorted(names)

    def freeze(self):
        """Until SIGCONT the daemon sees nothing of what happens, and then all of it at once."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: self.stat()[0] == "T")


def drain(s):
    """Reads to the end; a reset ends it, too."""
    parts = []
    try:
        while True:
            part = s.recv(1 << 20)
            if not part:
                break
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def exactly(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            break
        data += part
    return data


def closed(s):
    """Is the connection closed, without a byte?"""
    try:
        return s.recv(1) == b""
    except ConnectionError:
        return True


def parse(answer):
    """Returns status, fields and body of one HTTP answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ", 2)
    fields = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}
    return (int(words[1]) if len(words) > 1 else 0), fields, body


def resp(*words):
    parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def read_reply(f):
    """Reads one RESP reply from a file: bytes, int, list, dict, None, or an Exception."""
    line = f.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError("no reply")
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest.decode()
    if kind == b"-":
        return Exception(rest.decode())
    if kind == b":":
        return int(rest)
    if kind == b"_":
        return None
    if kind == b"$":
        return None if rest == b"-1" else f.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [read_reply(f) for _ in range(int(rest))]
    if kind == b"%":
        return {read_reply(f): read_reply(f) for _ in range(int(rest))}
    raise ValueError(line)


def run(*parts):
    """Runs functions, ends all daemons, and prints the plan."""
    try:
        for part in parts:
            part()
    except Exception:
        ok(False, "no exception", traceback.format_exc(), "".join(d.log()[-2000:] for d in daemons[-1:]))
    finally:
        for d in daemons:
            if d.process.poll() is None:
                d.process.kill()
                d.process.wait()
        shutil.rmtree(scratch, ignore_errors=True)
    print("1..%d" % checks)
    sys.exit(failed > 0)
