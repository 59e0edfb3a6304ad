# SPDX-License-Identifier: MIT
"""page.py - the page at `/`: how it is served, what it may do, and what it shows in a browser."""
import base64
import hashlib
import http.server
import os
import re
import shutil
import threading

import browser
from support import Daemon, diag, ok, run, same, scratch, skip, until

HTML = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
LIMIT = 40 * 1024
DISCORD, ROUNDED, ULID = "175928847299117063", "175928847299117060", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OWN = "41:10:12/1ms@1577836800000"
MEMBERS = "default-src script-src style-src connect-src base-uri form-action"

source = os.environ.get("srcdir") or os.path.join(os.path.dirname(__file__), "../..")
built = os.path.join(os.environ.get("builddir", "."), "sfid.html")


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def inside(page, tag):
    return re.findall(r"<%s\b[^>]*>(.*?)</%s>" % (tag, tag), page, re.S)


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# ---- how it is served ----

def served(d):
    status, fields, body = d.http("/", headers=HTML)
    same((status, fields.get("content-type"), int(fields["content-length"])), (200, "text/html; charset=utf-8", len(body)), "a browser gets the page")
    same(body.decode(), text_of(built), "it is the file that is installed")
    ok(len(body) < LIMIT, "it is shorter than 40 KiB", len(body))
    diag("the page has %d bytes" % len(body))
    same([fields.get(name) for name in ["cache-control", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy", "vary"]],
         ["no-store", "nosniff", "no-referrer", "same-origin", "Accept"], "and these fields")
    policy = dict(part.split(" ", 1) for part in fields["content-security-policy"].split("; "))
    same(sorted(policy), sorted((MEMBERS + " frame-ancestors").split()), "its policy has these members")
    same([policy[name] for name in ["default-src", "base-uri", "form-action", "frame-ancestors", "connect-src"]], ["'none'"] * 4 + ["'self'"],
         "nothing from elsewhere, in no frame, and requests to this service alone")
    for tag in ["script", "style"]:
        found = inside(body.decode(), tag)
        same([policy[tag + "-src"]] * len(found), [digest(text) for text in found], "one %s, by its hash" % tag)
        same(len(found), 1, "and no other %s" % tag)
    return fields["content-security-policy"]


def asked(d):
    for accept, want in [("text/html", 200), ("TEXT/HTML;level=1", 200), ("text/plain, text/html;q=0.1", 200), ("*/*", 404), ("text/*", 404),
                         ("text/html;q=0", 404), ("text/html; q=0.0", 404), ("text/plain", 404), ("text/htmlx", 404)]:
        same(d.http("/", headers="Accept: %s\r\n" % accept)[0], want, "Accept: %s: %d" % (accept, want))
    same(d.http("/")[0], 404, "without Accept: 404")
    same([d.http(t, headers=HTML)[0] for t in ["/?x=1", "http://localhost/", "http://127.0.0.1", "/index.html", "/x"]],
         [200, 200, 200, 404, 404], "its address is / alone")
    same([d.http(t, headers=HTML)[0] for t in ["/id", "/healthz", "/metrics"]], [200] * 3, "a browser gets all else as others do")
    status, fields, body = d.http("/", "HEAD", HTML)
    same((status, fields.get("content-length"), "content-security-policy" in fields, body), (200, str(len(text_of(built).encode())), True, b""), "HEAD")
    same((d.http("/", "POST", HTML)[0], d.http("/", "POST", HTML)[1].get("allow")), (405, "GET, HEAD"), "POST: 405")
    same(d.ask(b"GET / HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\nConnection: close\r\n\r\n")[:12], b"HTTP/1.1 421", "for another host: 421")
    same(d.http("/", headers=HTML + "Content-Length: 3\r\n")[0], 413, "with a body: 413")
    two = d.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n" * 2)
    same(two.count(b"HTTP/1.1 200 OK"), 2, "two on one connection")


def memory():
    d = Daemon("--max-memory", "20000")
    status, fields, body = d.http("/", headers=HTML)
    same((status, fields.get("retry-after"), b"too many answers" in body), (503, "1", True), "without memory for it: 503")
    same((d.http("/", "HEAD", HTML)[0], d.http("/healthz")[0], d.http("/id")[0]), (200, 200, 200), "all else is answered")
    same(d.metrics()['sfid_refused_total{reason="memory"}'], 1, "and it is counted")
    d.stop()


# ---- its source ----

def contrast(one, other):
    """WCAG 2.1, contrast ratio."""
    def luminance(color):
        parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        return sum(w * (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4) for w, p in zip((0.2126, 0.7152, 0.0722), parts))
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


def read(policy):
    page = text_of(built)
    script, style = inside(page, "script")[0], inside(page, "style")[0]
    ok(text_of(os.path.join(source, "contrib/js/sfid.js")) in script, "the reader inside is contrib/js/sfid.js, byte for byte")
    ok('content="%s"' % policy.replace("; frame-ancestors 'none'", "") in page, "opened from a file it has the same policy")
    markup = page.replace(script, "").replace(style, "")
    same(re.findall(r"\s(?:src|href|srcset|style|on\w+)\s*=|<(?:link|img|iframe|base|object|embed)\b", markup), [], "it loads nothing")
    same(re.findall(r"url\(|@import|@font-face", style), [], "nor does its style")
    same(re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|\bFunction\(|\.style\b", script), [], "what is pasted never becomes markup")
    same(re.findall(r"fetch\((.*?)[,)]", script), ["path"], "it asks for these paths alone")
    ok("['healthz', 'readyz', 'metrics'].map(ask)" in script, "of its own service")
    labels = re.findall(r'<label for="(\w+)"', markup)
    same(labels, re.findall(r'<(?:input|textarea|select)\b[^>]*\bid="(\w+)"', markup), "each field has a label")
    ok('<html lang="en">' in page and "<title>" in page and 'role="status" aria-live="polite"' in markup, "a language, a title, a live region")
    ok(":focus-visible" in style and "outline: none" not in style, "the focus is seen")
    schemes = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", part)) for part in style.split("prefers-color-scheme: dark")]
    for name, colors in zip(["light", "dark"], schemes):
        for front, backs in [("text", ["back", "card"]), ("soft", ["back", "card"]), ("link", ["back"]), ("bad", ["back"]), ("warn", ["warn-back"])]:
            least = min(contrast(colors[front], colors[back]) for back in backs)
            ok(least >= 4.5, "%s: %s has a contrast of %.1f" % (name, front, least))
        least = min(contrast(colors["line"], colors[back]) for back in ["back", "card"])
        ok(least >= 3, "%s: the edges of fields have one of %.1f" % (name, least))


# ---- in a browser ----

def rows(b):
    return b.run("[...document.querySelectorAll('#found tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")


def text(b, selector):
    return b.run("[...document.querySelectorAll(%r)].map((n) => n.textContent)" % selector)


def said(b):
    """What a screen reader is told, once nobody types."""
    b.wait("!document.getElementById('said').textContent.startsWith('Nothing')")
    return b.run("document.getElementById('said').textContent")


def shows(b, address, name):
    b.go(address + "#" + DISCORD)
    table = {r[0].replace(" (this service's layout)", ""): r[1:] for r in rows(b) if len(r) > 1}
    same(table.get("discord"), ["2016-04-30 13:18:25.796 +02:00", "2016-04-30 11:18:25.796", "32: worker 1, process 0", "7"],
         "%s: a Discord ID: local time, UTC, pid, sequence" % name)
    same(table.get("twitter or leaf", [])[1:], ["2012-03-03 13:01:20.453", "32: datacenter 1, worker 0", "7"], "others that could be, those alike in one row")
    ok(["ticks of 1 ms above 22 bits: pid 10, seq 12"] in rows(b), "under the family that reads these bits", rows(b))
    same(text(b, "#found thead th"), ["Could be", "Time (Europe/Berlin)", "Time (UTC)", "Process ID", "Sequence"], "it says could be")
    same(said(b), "1 ID: 1 that layouts could have made.", "and tells so")
    same(text(b, ".warn"), [], "without a warning")
    b.go(address + "#" + ROUNDED)
    same(text(b, "#warnings .warn"), ["The ID above 2^53 looks rounded: JavaScript prints such digits of a number of 53 bits. Sound IDs look so with a chance of "
                                      "1 in 32. A rounded ID is another ID: its last digits, its sequence and perhaps its process ID are lost."], "a rounded one: a warning")
    ok(said(b).endswith("Warning: rounded digits."), "which is told", said(b))
    b.go(address + "#%3D%22" + ROUNDED + "%22")
    same((len(text(b, "#warnings .warn")), text(b, "#found .warn")), (1, ["Damaged: a formula of a spreadsheet around the ID; the digits inside are whole."]),
         "in a spreadsheet's formula it is noticed, too")
    b.go(address + "#" + ULID)
    same(text(b, "#found dd"), ["ULID", "2016-07-31 01:54:10.259 +02:00", "2016-07-30 23:54:10.259", "d6764c61efb99302bd5b"], "a ULID, by its form, with its time")
    same(text(b, "#found table"), [], "and no layout")
    b.go(address + "#4.79E%2B17,20,%3Cb%3E")
    same(text(b, "#found .warn"), ["Damaged: a number with an exponent: a spreadsheet or a program has read the ID as a floating-point number, and digits are lost."],
         "4.79E+17: digits are lost")
    same(text(b, "#found h3"), ["4.79E+17", "20", "<b>"], "markup is shown as text")
    same(len(text(b, "#found article > p:not(.warn)")), 2, "what nothing dates is said to be unknown")
    b.run("location.hash = '#20,%s,%s'" % (ULID, DISCORD))
    ok(b.wait("document.querySelectorAll('#found h3')[2]?.textContent === '%s'" % DISCORD), "an address that changes is read again", text(b, "#found h3"))
    ok(b.wait("document.getElementById('said').textContent === '3 IDs: 1 known by form, 1 that layouts could have made, 1 unknown.'"), "and counted", said(b))
    b.run("location.hash = '#,'")
    ok(b.wait("document.getElementById('results').hidden"), "without an ID there are no results")
    b.run("location.hash = '#%s'" % DISCORD)
    ok(b.wait("!document.getElementById('results').hidden"), "with one there are")
    same(b.run("document.querySelectorAll('thead th:not([scope=col]), tbody th:not([scope])').length"), 0, "each head of a table says what it heads")
    same(b.said, [], "%s: the browser has nothing to complain about" % name)


def state(b, d):
    b.go("http://127.0.0.1:%d/" % d.port)
    b.wait("document.getElementById('asked').textContent !== ''")
    told = dict(zip(text(b, "#state dt"), text(b, "#state dd")))
    same([told.get(k) for k in ["Health (/healthz)", "Ready (/readyz)", "Layout", "Process ID"]], ["ok", "ready", OWN, "0"], "the service's state")
    issued = int(told["IDs issued"])
    ident = d.http("/id")[2].decode()
    b.run("document.getElementById('again').click()")
    ok(b.wait("[...document.querySelectorAll('#state dd')].some((n) => n.textContent === '%d')" % (issued + 1)), "asked again, it is a new one")
    b.go("http://127.0.0.1:%d/#%s" % (d.port, ident))
    ok(b.wait("document.querySelector('#found tbody th[scope=row]')?.textContent === \"%s (this service's layout)\"" % OWN),
       "an ID of its own layout, which no preset is", rows(b))
    same(b.said, [], "and nothing is refused")


class Ill(http.server.BaseHTTPRequestHandler):
    """A service that is not ready, whose layout the reader does not know."""
    answers = {"/": (200, b""), "/healthz": (200, b"ok\n"), "/readyz": (503, b'{"message":"the server is stopping","code":"STOPPING"}'),
               "/metrics": (200, b'sfid_build_info{version="9",layout="odd"} 1\nsfid_refused_total{reason="a"} 2\nsfid_refused_total{reason="b"} 3\n'
                                 b'sfid_crossing_left_seconds{at="2^53"} 172800.5\nsfid_layout_left_seconds +Inf\n')}

    def do_GET(self):
        status, body = self.answers[self.path]
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body or text_of(built).encode())

    def log_message(self, *args):
        pass


def ill(b):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ill)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    b.go("http://127.0.0.1:%d/#%s" % (server.server_port, DISCORD))
    b.wait("document.getElementById('asked').textContent !== ''")
    told = dict(zip(text(b, "#state dt"), text(b, "#state dd")))
    same([told.get(k) for k in ["Health (/healthz)", "Ready (/readyz)", "Layout", "Requests refused", "IDs reach 2^53", "The layout ends", "Process ID"]],
         ["ok", "503, the server is stopping", "odd", "5", "in 2 days", "not any more, or never", "not told"], "a service that is not ready says why")
    ok(b.run("document.getElementById('asked').textContent").endswith(": the server is stopping."), "which is told")
    same([len(text(b, "#found article"))] + [line for line in b.said if "is no layout" in line], [1], "a layout that the reader does not know is no harm")
    server.shutdown()
    server.server_close()
    b.run("document.getElementById('again').click()")
    ok(b.wait("document.getElementById('asked').textContent.endsWith(': no answer.')"), "a service that is gone does not answer")
    same(dict(zip(text(b, "#state dt"), text(b, "#state dd"))), {"Health (/healthz)": "no answer", "Ready (/readyz)": "no answer",
                                                                "Metrics (/metrics)": "no answer that the page can read"}, "and nothing of it is shown")


def keyboard(b, d):
    b.go("http://127.0.0.1:%d/" % d.port)
    b.wait("document.getElementById('asked').textContent !== ''")
    way = []
    for _ in range(3):
        b.key("Tab", 9)
        way.append(b.run("document.activeElement.id"))
        ok(b.run("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus on %s is seen" % way[-1])
    same(way, ["ids", "own", "again"], "the keyboard comes to each field and to the button, in their order")
    b.run("document.getElementById('ids').focus()")
    b.ask("Input.insertText", text=DISCORD)
    same(said(b), "1 ID: 1 that layouts could have made.", "what is typed is read")
    b.key("Tab", 9)
    b.ask("Input.insertText", text="1:2")
    same((b.run("document.getElementById('own').getAttribute('aria-invalid')"), text(b, "#own-fault")), ("true", ["'1:2' is no layout"]), "a layout that is none is said")
    b.run("document.getElementById('own').select()")
    b.ask("Input.insertText", text="42:10:12/1ms@1577836800001")
    same((b.run("document.getElementById('own').getAttribute('aria-invalid')"), rows(b)[1][:1]), (None, ["42:10:12/1ms@1577836800001"]), "one that is, is read")
    b.key("Enter", 13, "\r")
    same((text(b, "#found h3"), b.said), ([DISCORD], []), "Enter sends nothing")
    tree = b.ask("Accessibility.getFullAXTree")["nodes"]
    named = {(n["role"]["value"], n.get("name", {}).get("value")) for n in tree if not n.get("ignored")}
    for want in [("textbox", "IDs, with line ends, blanks or commas between them"), ("textbox", "A layout of your own, if you have one"), ("button", "Ask again"),
                 ("heading", "What is this ID?"), ("article", DISCORD), ("columnheader", "Could be"), ("rowheader", "discord")]:
        ok(want in named, "a screen reader finds the %s %r" % want, sorted(named, key=str))
    ok({"status", "table", "region"} <= {role for role, _ in named}, "and a live region, a table, regions")


def refused(b):
    """The policy holds: a script that was changed is not run."""
    page = os.path.join(scratch, "changed.html")
    with open(page, "w") as f:
        f.write(text_of(built).replace("const SHOWN = 50;", "const SHOWN = 51;"))
    b.go("file://" + page + "#" + DISCORD)
    ok(until(lambda: b.run("1") and any("Content Security Policy" in s for s in b.said)), "a script that was changed is not run", b.said)
    same(text(b, "#found article"), [], "and shows nothing")


def in_browser(d):
    if not browser.PROGRAM:
        skip("no chromium")
        return
    b = browser.Browser()
    try:
        b.ask("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
        shows(b, "http://127.0.0.1:%d/" % d.port, "served")
        page = os.path.join(scratch, "sfid.html")
        shutil.copy(built, page)
        shows(b, "file://" + page, "from a file")
        same(b.run("document.getElementById('service').hidden"), True, "from a file there is no service to ask")
        state(b, d)
        ill(b)
        keyboard(b, d)
        refused(b)
    finally:
        b.close()


def all_of_it():
    d = Daemon(layout=OWN)
    read(served(d))
    asked(d)
    in_browser(d)
    d.stop()


run(all_of_it, memory)
