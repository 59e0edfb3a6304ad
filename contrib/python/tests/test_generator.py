# SPDX-License-Identifier: MIT
"""Generators: no ID twice and all in order, over threads, forks and signals; options, errors, the end."""
import contextlib
import ctypes
import datetime
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import sfid
from sfid import Code, Error, Generator, Layout

FINE = "40:6:16/1ms"  # 65536 IDs a millisecond: nothing waits


def below(generator, count):
    return [generator.next() for _ in range(count)]


def report(pipe, ids):
    with os.fdopen(pipe, "w") as f:
        f.write(" ".join(map(str, ids)))


def fork_child(fork, work):
    """Runs work in a child; what a pipe says of it."""
    out, into = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.close(out)
            report(into, work())
        finally:
            os._exit(0)
    os.close(into)
    return pid, out


def said(child):
    pid, out = child
    with os.fdopen(out) as f:
        ids = [int(word) for word in f.read().split()]
    os.waitpid(pid, 0)
    return ids


def pool_work(count):
    return below(pool_generator, count)


class Generators(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.dir = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, SFID_RUN_DIR=self.dir + "/run", SFID_STATE_DIR=self.dir + "/state"))
        self.stack = stack

    def open(self, app="t", store="local", **options):
        return self.stack.enter_context(Generator(app, store, **options))

    def unique(self, *lists):
        ids = [id for one in lists for id in one]
        self.assertEqual(len(set(ids)), len(ids))

    # ---- no ID twice, in order ----

    def test_one_thread(self):
        g, ids = self.open(layout=FINE), []
        for i in range(2000):
            now = time.time() * 1000
            ids += g.next_n(1 + i % 5) if i % 9 == 1 else [g.try_next() if i % 9 == 2 else g.next()]
            self.assertGreaterEqual(g.layout.decode(ids[-1]).unix_ms, int(now) - 1, "an ID older than its call")
        self.assertEqual(g.next_n(0), [])
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(g.status()["issued"], len(ids), "none is drawn in advance")

    def test_threads(self):
        """If one call returns before another begins, its ID is lower, whatever the calls are."""
        g = self.open(layout=FINE)
        calls, go = [], threading.Barrier(6)

        def work(seed):
            mine, dice = [], random.Random(seed)
            go.wait()
            for _ in range(6000):
                which, began = dice.random(), time.perf_counter_ns()
                ids = g.next_n(3) if which < 0.1 else [g.try_next() if which < 0.2 else g.next()]
                mine.append((ids, began, time.perf_counter_ns()))
            calls.extend(mine)

        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.unique(*(ids for ids, _, _ in calls))
        self.assertGreater(len(calls), 30000)
        latest = 0
        for ids, began, ended in sorted(calls, key=lambda call: call[0][0]):
            self.assertGreaterEqual(ended, latest, "an ID above one that was asked for later")
            latest = max(latest, began)

    def test_fork(self):
        """Children go on from their parent's sequence, also where Python does not notice the fork."""
        for fork in os.fork, ctypes.PyDLL(None).fork:
            with Generator("fork", "local", layout=FINE) as g:
                before = below(g, 100)
                children = [fork_child(fork, lambda: below(g, 2000)) for _ in range(4)]
                mine = below(g, 2000)
                lists = [said(child) for child in children]
                after = below(g, 100)
                self.assertEqual([len(ids) for ids in lists], [2000] * 4)
                self.unique(before, mine, after, *lists)
                for ids in [mine, *lists]:
                    self.assertEqual(before + ids + after, sorted(before + ids + after))
                self.assertEqual({g.layout.decode(id).pid for ids in lists for id in ids}, {g.pid})

    def test_fork_amid_threads(self):
        """Other threads are inside of calls when a child is made."""
        g, stop, others = self.open(layout=FINE), threading.Event(), []

        def work():
            while not stop.is_set():
                others.extend(g.next_n(2) + [g.next()])

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        lists = []
        for _ in range(10):
            lists.append(said(fork_child(os.fork, lambda: [signal.alarm(20), *below(g, 50), *g.next_n(50)][1:])))
        stop.set()
        for t in threads:
            t.join()
        self.assertEqual([len(ids) for ids in lists], [100] * 10)
        self.unique(others, *lists)

    def test_multiprocessing(self):
        global pool_generator
        pool_generator = self.open("pool")
        mine = below(pool_generator, 5)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            lists = pool.map(pool_work, [500] * 16, chunksize=1)
        self.unique(mine, below(pool_generator, 500), *lists)

    def test_signals(self):
        """A signal's handler generates as well."""
        g, seen = self.open("signals", layout=FINE), []
        old = signal.signal(signal.SIGALRM, lambda *_: seen.append(g.next()))
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0005)
        ids = []
        while len(seen) < 200:
            ids.append(g.next())
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertEqual(ids, sorted(ids))
        self.unique(ids, seen)

    # ---- options, errors, the end ----

    def test_end_of_tick(self):
        g = self.open(layout="40:12:9/1s", exhaustion="fail")
        ids = []
        with self.assertRaises(Error) as caught:
            while True:
                ids.append(g.next())
        self.assertEqual(caught.exception.code, Code.EAGAIN)
        self.assertIn("used up", caught.exception.text)
        last = [id for id in ids if g.layout.decode(id).tick == g.layout.decode(ids[-1]).tick]
        self.assertEqual([g.layout.decode(id).seq for id in last], list(range(512)))
        self.assertTrue(0 <= g.retry_ms() <= 1000)
        small = self.open("small", layout="40:4:3/10s", max_wait_ms=10000)  # next() would sleep for what is left of ten seconds
        with self.assertRaises(Error) as caught:
            while True:
                small.try_next()
        self.assertEqual(caught.exception.code, Code.EAGAIN)
        self.assertEqual(small.status()["waits"], 0)
        few = self.open("few", layout="40:4:9/10s", exhaustion="fail")
        some = few.next_n(600)
        self.assertTrue(0 < len(some) <= 512)
        self.assertEqual(some, sorted(set(some)))
        self.assertEqual(few.layout.decode(some[-1]).seq, 511)

    def test_sleep(self):
        """While a call sleeps other threads go on."""
        g, stop, turns = self.open(layout="40:12:4/300ms"), threading.Event(), []
        other = threading.Thread(target=lambda: [turns.append(time.monotonic()) for _ in iter(lambda: stop.wait(0.005), True)])
        other.start()
        longest = 0, 0
        for _ in range(40):
            began = time.monotonic()
            g.next()
            longest = max(longest, (time.monotonic() - began, began))
        stop.set()
        other.join()
        self.assertGreater(g.status()["waits"], 0)
        self.assertGreater(sum(longest[1] < t < sum(longest) for t in turns), 2)

    def test_options(self):
        fixed = dict(pid=7, layout=Layout("twitter"), run_dir=self.dir + "/r", state_dir=self.dir + "/s", store=None)
        g = self.open(**fixed)
        self.assertEqual((g.pid, g.layout.decode(g.next()).pid), (7, 7))
        self.assertTrue(os.listdir(self.dir + "/r") and os.listdir(self.dir + "/s"))
        self.assertTrue(g.ready())
        status = g.status()
        self.assertEqual((status["open"], status["pid"], status["issued"]), (1, 7, 1))
        self.assertEqual(self.open("a", "local?pid_min=8&pid_max=9").pid, 8)
        self.assertEqual(self.open("b", pid_min=3, pid_max=4).pid, 3)
        with self.assertRaises(Error) as caught:
            self.open(**fixed)
        self.assertEqual(caught.exception.code, Code.EBUSY)
        shared = [self.open("s", "local?share=1"), self.open("s", share=True)]
        self.assertEqual(shared[0].pid, shared[1].pid)
        self.assertEqual(self.open("c", layout="41:10:12/1ms@1288834974657").layout.epoch_ms, 1288834974657)

    def test_refused(self):
        for options in (dict(store="nowhere"), dict(app="a/b"), dict(app="a\0b"), dict(store="local\0"), dict(layout="41:1"),
                        dict(exhaustion="x"), dict(on_unknown="x"), dict(max_wait_ms=-1), dict(max_wait_ms=1 << 32),
                        dict(max_wait_ms=1), dict(pid=1 << 40), dict(pid=-(1 << 63) - 1), dict(app=None)):
            with self.subTest(**options), self.assertRaises(Error) as caught:
                Generator(**{"app": "t", "store": "local", **options})
            self.assertEqual(caught.exception.code, Code.EINVAL)
            self.assertNotEqual(caught.exception.text, "")
        layout, big = Layout(), 1 << 64
        for call in (lambda: layout.decode(big), lambda: layout.decode(-1), lambda: layout.compose(0, big, 0),
                     lambda: layout.compose(0, 0, big), lambda: layout.compose(0, 0, 0, 1), lambda: sfid.to_text(big),
                     lambda: sfid.to_text(big << 64, bits=128), lambda: sfid.to_text(1, width=1 << 32), lambda: sfid.to_text(1, "x"),
                     lambda: Layout("uuid7").compose(0, 0, 0, big), lambda: Layout("uuid7").decode(big << 64)):
            with self.assertRaises(Error) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.EINVAL)
        with self.assertRaises(Error) as caught:
            layout.compose(big, 0, 0)
        self.assertEqual(caught.exception.code, Code.EOVERFLOW)
        self.assertRaises(TypeError, Generator, "t", "local", max_wiat_ms=1)
        self.assertRaises(TypeError, Generator, "t", "local", size=1)
        with self.assertRaises(Error) as caught:
            Generator("t", "redis://127.0.0.1:1/0", open_timeout_ms=3000)
        self.assertEqual(caught.exception.code, Code.EREDIS)
        self.assertIn("127.0.0.1:1", caught.exception.text)

    def test_error(self):
        e = Error(Code.EAGAIN)
        again = pickle.loads(pickle.dumps(Error(-3, "a text", 5)))
        self.assertEqual((e.code, e.text), (Code.EAGAIN, "sequence used up for now, try again"))
        self.assertEqual((again.code, again.text, again.at, str(again)), (-3, "a text", 5, "a text (EAGAIN, at 5)"))
        self.assertEqual(Error(-99).code, -99)

    def test_close(self):
        with Generator("t", "local") as g:
            below(g, 5)
        for call in g.next, g.try_next, g.retry_ms, lambda: g.next_n(3), lambda: g.pid:
            with self.assertRaises(Error) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.ECLOSED)
        self.assertFalse(g.ready())
        g.close()
        self.assertEqual(self.open().pid, 0)  # the pid was given back

    def test_collected(self):
        g = Generator("t", "local")
        self.assertEqual(g.pid, 0)
        del g
        self.assertEqual(self.open().pid, 0)

    def test_closed_under_threads(self):
        g, codes, go = self.open(layout=FINE), [], threading.Barrier(4)

        def work():
            go.wait()
            try:
                while True:
                    g.next()
            except Error as e:
                codes.append(e.code)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        go.wait()
        while g.status()["issued"] < 5000:
            time.sleep(0.001)
        g.close()
        for t in threads:
            t.join()
        self.assertEqual(codes, [Code.ECLOSED] * 3)

    # ---- the rest ----

    def test_wide(self):
        g = self.open(layout="uuid7")
        ids = below(g, 300) + g.next_n(300) + [g.try_next()]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(len(ids), 601)
        self.assertEqual(sfid.from_text(sfid.to_text(ids[0], "uuid", bits=128), "uuid", 128), ids[0])
        age = datetime.datetime.now(datetime.timezone.utc) - g.layout.decode(ids[-1]).time
        self.assertLess(abs(age.total_seconds()), 20)
        when = g.layout.decode(ids[0]).time
        self.assertTrue(g.layout.min_at(when) <= ids[0] <= g.layout.max_at(when) < g.layout.min_at(when + datetime.timedelta(milliseconds=1)))
        with self.assertRaises(Error) as caught:
            g.layout.tick_at(1 << 48)
        self.assertEqual(caught.exception.code, Code.EOVERFLOW)

    def test_moments(self):
        layout, when = Layout("ms"), datetime.datetime(2026, 1, 2, 3, 4, 5, 678900, datetime.timezone.utc)
        ms = 1767323045678
        self.assertEqual(layout.min_at(when), layout.min_at(ms))
        self.assertEqual(layout.decode(layout.max_at(when)).time, when.replace(microsecond=678000))
        self.assertEqual(layout.max_at(when) + 1, layout.min_at(ms + 1))
        east = when.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
        self.assertEqual(layout.tick_at(east), layout.tick_at(ms))
        self.assertRaises(ValueError, layout.min_at, when.replace(tzinfo=None))
        self.assertEqual(Layout("mastodon").tick_at(datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)), 0)

    def test_command(self):
        out = subprocess.run([sys.executable, "-m", "sfid", "-n", "4"], capture_output=True, text=True)
        ids = [int(line.split()[0]) for line in out.stdout.splitlines()]
        self.assertEqual((out.returncode, out.stderr, len(ids)), (0, "", 4))
        self.assertEqual(ids, sorted(set(ids)))
        self.assertIn("pid 0 seq 0 base62 " + sfid.to_text(ids[0]), out.stdout.splitlines()[0])
        bad = subprocess.run([sys.executable, "-m", "sfid", "--layout", "x"], capture_output=True, text=True)
        self.assertEqual((bad.returncode, bad.stdout), (1, ""))
        self.assertIn("'x' is no layout", bad.stderr)


if __name__ == "__main__":
    unittest.main()
