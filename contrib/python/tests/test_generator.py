# SPDX-License-Identifier: MIT
"""Generators: no ID twice over threads, forks and signals, in order, and never of a tick that was over when they were asked for."""
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


def stock(generator):
    """Draws until there are IDs in advance that stay good for a while."""
    while not (len(generator._ids) > 100 and generator._until > time.time() + 0.5):
        generator.next()


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
        for batch in 256, 7, 1, 0, -1:
            g = self.open(layout="40:6:16/1s", batch=batch)
            ids = []
            for _ in range(2000):
                ids += g.next_n(random.randrange(5)) if random.random() < 0.1 else [g.try_next() if random.random() < 0.1 else g.next()]
            self.assertEqual(ids, sorted(set(ids)))
            self.assertTrue((len(g._ids) > 0) <= (batch > 0))
            g.close()

    def test_threads(self):
        """If one call returns before another begins, its ID is lower, whatever the calls are."""
        g = self.open(layout=FINE)
        calls, go = [], threading.Barrier(6)

        def work(seed):
            mine, dice = [], random.Random(seed)
            go.wait()
            for _ in range(6000):
                which, began = dice.random(), time.perf_counter_ns()
                try:
                    ids = g.next_n(3) if which < 0.05 else [g.try_next()] if which < 0.1 else [g.next()]
                except Error as e:
                    self.assertEqual(e.code, Code.EAGAIN)  # of try_next()
                    continue
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
        """Children go on with IDs of their own, by either of the two ways to notice; and next to them the parent."""
        for hooks, pids in (True, True), (True, False), (False, True):
            with self.subTest(hooks=hooks, pids=pids), contextlib.ExitStack() as stack:
                g = stack.enter_context(Generator("fork", "local"))
                if not pids:
                    stack.enter_context(mock.patch.object(sfid, "_getpid", lambda: 1))
                    g._owner = 1
                stock(g)
                mine = below(g, 5)
                fork = os.fork if hooks else ctypes.PyDLL(None).fork
                children = [fork_child(fork, lambda: below(g, 2000)) for _ in range(4)]
                mine += below(g, 2000)
                lists = [said(child) for child in children]
                self.assertEqual([len(ids) for ids in lists], [2000] * 4)
                self.unique(mine, *lists)
                for ids in lists:
                    self.assertEqual(ids, sorted(ids))

    def test_fork_amid_threads(self):
        """A child that was forked while a thread had the lock."""
        for fork in os.fork, ctypes.PyDLL(None).fork:
            g = self.open("amid" + str(fork is os.fork))
            held, done = threading.Event(), threading.Event()

            def hold():
                with g._lock:
                    held.set()
                    done.wait()

            holder = threading.Thread(target=hold)
            holder.start()
            held.wait()
            child = fork_child(fork, lambda: [signal.alarm(20), *below(g, 300), *g.next_n(3), g.try_next()][1:])
            self.assertEqual(len(said(child)), 304)
            with self.assertRaises(Error) as caught:
                g.try_next()  # does not wait for the lock
            self.assertEqual(caught.exception.code, Code.EAGAIN)
            done.set()
            holder.join()

    def test_multiprocessing(self):
        global pool_generator
        pool_generator = self.open("pool")
        stock(pool_generator)
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

    # ---- how many are drawn in advance, and for how long ----

    def test_never_of_a_past_tick(self):
        g = self.open(layout="40:6:16/100ms")
        for _ in range(3):
            while len(g._ids) < 100:
                g.next()
            until = g._until
            while time.time() < until:
                time.sleep(0.01)
            now = time.time() * 1000
            self.assertGreater(g.layout.decode(g.next()).unix_ms + 100, now - 5)

    def test_how_many(self):
        g = self.open(layout="40:6:16/1s", batch=100)
        most = 0
        while most < 100:
            issued = g.status()["issued"]
            g.next()
            drawn = g.status()["issued"] - issued
            self.assertLessEqual(drawn, 101)
            most = max(most, drawn - 1)
        small = self.open("small", layout="40:12:8/1s")
        for _ in range(30):
            small.next()
            self.assertLessEqual(len(small._ids), 4)  # a 64th of 256
        slow = self.open("slow", layout=FINE)
        for _ in range(20):
            issued = slow.status()["issued"]
            slow.next()
            self.assertEqual(slow.status()["issued"] - issued, 1)  # each in a tick of its own
            time.sleep(0.002)

    def test_end_of_tick(self):
        """The last IDs of a tick are given out at once, though the next batch would have to wait."""
        g = self.open(layout="40:12:9/1s", exhaustion="fail", batch=8)
        ids = []
        with self.assertRaises(Error) as caught:
            while True:
                ids.append(g.next())
        self.assertEqual(caught.exception.code, Code.EAGAIN)
        last = [id for id in ids if g.layout.decode(id).tick == g.layout.decode(ids[-1]).tick]
        self.assertEqual([g.layout.decode(id).seq for id in last], list(range(512)))
        self.assertTrue(0 <= g.retry_ms() <= 1000)

    # ---- options, errors, the end ----

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
                        dict(exhaustion="x"), dict(on_unknown="x"), dict(max_wait_ms=-1), dict(max_wait_ms=1 << 32), dict(max_wait_ms=1),
                        dict(pid=1 << 40), dict(pid=-(1 << 63) - 1), dict(app=None)):
            with self.subTest(**options), self.assertRaises(Error) as caught:
                Generator(**{"app": "t", "store": "local", **options})
            self.assertEqual(caught.exception.code, Code.EINVAL)
            self.assertNotEqual(caught.exception.text, "")
        self.assertRaises(TypeError, Generator, "t", "local", max_wiat_ms=1)
        self.assertRaises(TypeError, Generator, "t", "local", size=1)
        with self.assertRaises(Error) as caught:
            Generator("t", "redis://127.0.0.1:1/0", open_timeout_ms=200)
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
            stock(g)
        for call in g.next, g.try_next, g.retry_ms, lambda: g.next_n(3), lambda: g.pid:
            with self.assertRaises(Error) as caught:
                call()
            self.assertEqual(caught.exception.code, Code.ECLOSED)
        self.assertFalse(g.ready())
        g.close()
        self.assertEqual(self.open(batch=0).pid, 0)  # the pid was given back

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
        self.assertEqual(g._ids, [])

    # ---- the rest ----

    def test_wide(self):
        g = self.open(layout="uuid7")
        ids = below(g, 300) + g.next_n(300) + [g.try_next()]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(len(ids), 601)
        self.assertEqual(sfid.from_text(sfid.to_text(ids[0], "uuid", bits=128), "uuid", 128), ids[0])
        self.assertLess(abs(g.layout.decode(ids[-1]).time - datetime.datetime.now(datetime.timezone.utc)), datetime.timedelta(seconds=20))
        with self.assertRaises(Error) as caught:
            g.layout.min_at(0)
        self.assertEqual(caught.exception.code, Code.EUNSUPPORTED)

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
