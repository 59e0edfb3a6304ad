# SPDX-License-Identifier: MIT
"""languages.py - the programs of doc/serve.md, where their language and library are installed."""
import os
import re
import shutil
import subprocess

from support import SOURCE, Daemon, diag, ok, run, same, scratch

RUNNERS = {
    "python": (["python3"], "x.py"),
    "js": (["node"], "x.js"),
    "go": (["go", "run"], "x.go"),
    "java": (["java"], "Ids.java"),
    "sh": (["bash"], "x.sh"),
}
LIBRARIES = {  # what tells whether a library is there
    "python": ["python3", "-c", "import redis"],
    "js": ["node", "-e", "require('redis')"],
    "go": ["go", "list", "github.com/redis/go-redis/v9"],
    "sh": ["redis-cli", "--version"],
}


def there(command):
    return shutil.which(command[0]) and subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def programs():
    with open(os.path.join(SOURCE, "doc/serve.md")) as f:
        found = re.findall(r"^```(\w+)\n((?://|#) (HTTP|RESP|flakeid).*?)^```", f.read(), re.M | re.S)
    same(sorted((a, c) for a, _, c in found), sorted((a, c) for a in RUNNERS for c in ["HTTP", "RESP", "flakeid"]),
         "each of five languages has a program for each of three protocols")
    ok(all(len(text.splitlines()) <= 16 for _, text, _ in found), "all are short")
    d, ran = Daemon(), 0
    for language, text, protocol in found:
        command, name = RUNNERS[language]
        if not shutil.which(command[0]) or (protocol == "RESP" and language in LIBRARIES and not there(LIBRARIES[language])):
            diag("not run: %s for %s" % (language, protocol))
            continue
        with open(os.path.join(scratch, name), "w") as f:
            f.write(text.replace("3525", str(d.port)))
        done = subprocess.run(command + [os.path.join(scratch, name)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "no_proxy": "127.0.0.1,localhost"})
        words = done.stdout.split()
        ok(done.returncode == 0 and len(words) == 3 and len(set(words)) == 3 and all(re.match("^[0-9a-f]+$", w) for w in words),
           "%s, %s: three IDs" % (language, protocol), done.stdout, done.stderr)
        ran += 1
    ok(ran >= 3, "%d of %d were run" % (ran, len(found)))
    d.stop()


run(programs)
