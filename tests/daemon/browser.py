# SPDX-License-Identifier: MIT
"""browser.py - a Chromium without a window, asked by its DevTools protocol over two pipes."""
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time

from support import PASS, scratch

PROGRAM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Browser:
    """One page at a time. What the page logs is in `said`."""

    def __init__(self):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                   "--remote-debugging-pipe", "--user-data-dir=" + os.path.join(scratch, "profile")]
        self.log = open(os.path.join(scratch, "browser.log"), "w+b")
        fds = (to_browser, from_browser)
        self.process = subprocess.Popen([sys.executable, "-c", PASS, ",".join(map(str, fds))] + command, pass_fds=fds,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        for fd in fds:
            os.close(fd)
        self.numbers, self.rest, self.said, self.session = itertools.count(1), b"", [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.ask(domain + ".enable")

    def read(self):
        end = time.monotonic() + 60
        while b"\0" not in self.rest:
            ready = select.select([self.input], [], [], max(0, end - time.monotonic()))[0]
            part = os.read(self.input, 1 << 20) if ready else b""
            if not part:
                self.log.seek(0)
                raise RuntimeError("no answer of the browser: %s" % self.log.read()[-2000:])
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            if answer.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.said.append(json.dumps(answer["params"])[:2000])

    def run(self, expression):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def go(self, url):
        """Loads a page anew, also if its address differs behind '#' alone."""
        self.said.clear()
        self.ask("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.ask("Page.navigate", url=url)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def wait(self, expression):
        """Waits until an expression holds. False: it never did."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if self.run(expression):
                return True
            time.sleep(0.02)
        return False

    def key(self, key, code, text=""):
        for kind in ["keyDown", "keyUp"]:
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def close(self):
        self.session = None
        os.write(self.output, b'{"id":0,"method":"Browser.close"}\0')
        self.process.wait(60)
        for fd in [self.output, self.input]:
            os.close(fd)
        self.log.close()
