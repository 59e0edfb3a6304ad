# SPDX-License-Identifier: MIT
"""protocols.py - what the three protocols answer, byte by byte."""
import json
import re

from support import Daemon, closed, exactly, ok, parse, read_reply, resp, run, same, taken

DECIMAL = re.compile(rb"^\d{19}$")


# ---- flakeid ----

def flakeid():
    d = Daemon(app=None, layout="flake", name="flake")
    with d.connect() as s:
        s.sendall(b"\0\0\0\1")
        first = exactly(s, 32)
        ok(re.match(rb"^[0-9a-f]{32}$", first), "one ID: 32 digits", first)
        s.sendall(b"\0\0\0\3" + b"\0\0\0\2")
        second = exactly(s, 3 * 33 - 1 + 65)
        ids = second[:98].split(b"\n") + second[98:].split(b"\n")
        ok(second[:1] not in (b"", b"\n"), "no newline, and the connection stays open", second)
        ok(len(ids) == 5 and all(len(i) == 32 for i in ids), "a pipeline of 3 and 2 is answered in order", second)
        ok([first] + ids == sorted(set([first] + ids)), "IDs increase on a connection")
        s.sendall(b"\0\0\0\0" + b"\0\0\0\1")
        ok(re.match(rb"^[0-9a-f]{32}$", exactly(s, 32)), "0 is not answered; what follows is")
    with d.connect() as s:
        s.sendall(b"\0\0\xff\x55")
        big = exactly(s, 2157044)
        same((len(big), len(set(big.split(b"\n")))), (2157044, 65365), "65365 IDs, all distinct")
    with d.connect() as s:
        s.sendall(b"\0\0\xff\x56")
        ok(closed(s), "65366: closed without a byte")
    with d.connect() as s:
        s.sendall(b"\0\0")
        taken(s)
        s.sendall(b"\0\5")
        same(len(exactly(s, 164)), 164, "a request in two parts is one request")
    same(d.ask(b"\0\0\0\4")[98:99], b"\n", "a client that ends its side gets its answer")
    d.ask(b"")
    same(d.ask(b"\0\0"), b"", "half a request is not answered")
    d.stop()
    t = Daemon(layout="twitter")
    same(t.ask(b"\0\0\0\1")[:16], b"0" * 16, "a layout of 64 bits has zeros in front")
    t.stop()


# ---- HTTP ----

def http_ids(d):
    status, fields, body = d.http("/id")
    ok(status == 200 and DECIMAL.match(body), "/id is one ID, without a newline", status, body)
    same((fields.get("content-type"), fields.get("content-length"), fields.get("cache-control")),
         ("text/plain", "19", "no-store"), "/id has its fields")
    ok(re.match(r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$", fields.get("date", "")), "and a date", fields)
    same(len(d.http("/id?minLength=25")[2]), 25, "minLength pads")
    same(d.http("/id?minLength=25")[2][:6], b"000000", "with zeros")
    for value in ["", "0", "-5", "3", "-2147483648"]:
        same(len(d.http("/id?minLength=" + value)[2]), 19, "minLength=%s pads nothing" % value)
    same(len(d.http("/id?min%4Cength=2%35&minLength=30&other=1")[2]), 25, "escapes are decoded, and the first counts")
    for value in ["x", "129", "2147483648", "1e2", "5%20", "%00"]:
        status, fields, body = d.http("/id?minLength=" + value)
        same(status, 400, "minLength=%s: 400" % value)
    message = json.loads(d.http("/id?minLength=x%22")[2])
    same((message["message"].split(" due")[0], message["code"], message["_links"]["self"]["href"]),
         ('Failed to convert argument [minLength] for value [x"]', "SFID_EINVAL", "/id?minLength=x%22"), "in awsflake's words")
    same(d.http("/id?minLength=%zz")[0], 400, "a bad escape: 400")
    lines = d.http("/ids?n=1000")[2]
    ok(lines.endswith(b"\n") and len(set(lines.split())) == 1000, "/ids: a line each")
    status, fields, body = d.http("/ids?n=3&format=json&minLength=21")
    ids = json.loads(body)["ids"]
    ok(fields["content-type"] == "application/json" and len(ids) == 3 and all(len(i) == 21 for i in ids), "as JSON strings", body)
    same([d.http("/ids?n=" + n)[0] for n in ["0", "65366", "x", "65365", ""]], [400, 400, 400, 200, 400], "n from 1 to 65365")
    same(d.http("/ids?format=xml")[0], 400, "another format: 400")
    big = d.http("/ids?n=65365")
    same((len(set(big[2].split())), int(big[1]["content-length"])), (65365, len(big[2])), "65365 IDs, and their exact length")
    same([d.http(t)[0] for t in ["/id/", "/healthz/", "http://localhost/id", "HTTP://127.0.0.1:1/ids?n=2"]], [200] * 4,
         "a trailing slash, and targets in absolute form")
    ids = d.http("/id")[2].decode()
    status, fields, body = d.http("/decode/" + ids)
    same((status, json.loads(body)["id"], json.loads(body)["layout"]), (200, ids, "twitter"), "/decode")
    same([d.http("/decode/" + t)[0] for t in ["x", "99999999999999999999", ""]], [400, 400, 404], "/decode of no ID")


def http_methods(d):
    status, fields, body = d.http("/id", "HEAD")
    same((status, "content-length" in fields, body), (200, False, b""), "HEAD of /id")
    before = d.metrics()["sfid_ids_issued_total"]
    d.http("/ids?n=50", "HEAD")
    same(d.metrics()["sfid_ids_issued_total"], before, "draws nothing")
    status, fields, body = d.http("/healthz", "HEAD")
    same((status, fields.get("content-length"), body), (200, "3", b""), "HEAD of /healthz")
    status, fields, body = d.http("/id", "POST")
    same((status, fields.get("allow"), json.loads(body)["message"].startswith("Method [POST] not allowed. Allowed methods: [GET")),
         (405, "GET, HEAD", True), "POST: 405")
    same([d.http(t)[0] for t in ["/", "/idx", "/ID", "/id/x"]], [404] * 4, "404")
    same(d.http("/id", "Get")[0], 405, "methods are in capitals")
    same(d.http("/healthz")[::2], (200, b"ok\n"), "/healthz")
    same(d.http("/readyz")[0], 200, "/readyz")


def heads(d):
    cases = [
        (400, "no Host", b"GET /id HTTP/1.1\r\n\r\n"), (400, "two Hosts", b"GET /id HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
        (400, "a blank before the colon", b"GET /id HTTP/1.1\r\nHost : localhost\r\n\r\n"),
        (400, "a folded line", b"GET /id HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n 2\r\n\r\n"),
        (400, "a NUL", b"GET /id HTTP/1.1\r\nHost: localhost\r\nX: \0\r\n\r\n"),
        (400, "a bare LF", b"GET /id HTTP/1.1\nHost: localhost\n\n"),
        (400, "a bare CR", b"GET /id HTTP/1.1\r\nHost: localhost\rX: b\r\n\r\n"), (400, "no version", b"GET /id\r\n\r\n"),
        (505, "HTTP/2.0", b"GET /id HTTP/2.0\r\nHost: localhost\r\n\r\n"), (505, "HTTP/1.2", b"GET /id HTTP/1.2\r\nHost: localhost\r\n\r\n"),
        (505, "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (413, "Content-Length", b"GET /id HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\nGET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (413, "Transfer-Encoding", b"GET /id HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (405, "POST with a body", b"POST /id HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcGET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (400, "a length that is none", b"GET /id HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
        (431, "a head of over 8192 bytes", b"GET /id HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000 + b"\r\n\r\n"),
        (431, "a target of over 8192 bytes", b"GET /" + b"x" * 100000),
    ]
    for status, name, data in cases:
        answer = d.ask(data)
        same((parse(answer)[0], answer.count(b"HTTP/1.1 "), b"Connection: close" in answer), (status, 1, True),
             "%s: %d, and closed" % (name, status))
    same(parse(d.ask(b"GET /id HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))[0], 200, "no body is no fault")
    head = b"GET /id HTTP/1.1\r\nHost: localhost\r\nX: "
    same(parse(d.ask(head + b"x" * (8192 - len(head) - 4) + b"\r\n\r\n"))[0], 200, "a head of 8192 bytes")
    href = json.loads(parse(d.ask(b"GET /" + b"\"y" * 300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"))[2])["_links"]["self"]["href"]
    same(len(href), 256, "href is cut at 256 bytes")


def keep_alive(d):
    one = b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = d.ask(one * 5000)
    bodies = re.findall(rb"\r\n\r\n(\d{19})", answer)
    same((answer.count(b"HTTP/1.1 200"), bodies == sorted(set(bodies)), len(bodies)), (5000, True, 5000), "5000 in a pipeline, in order")
    old = d.ask(b"GET /id HTTP/1.0\r\n\r\n" * 2)
    same((old.count(b"200 OK"), b"Connection: close" in old), (1, True), "HTTP/1.0 closes")
    old = d.ask(b"GET /id HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" * 2)
    same((old.count(b"200 OK"), old.count(b"Connection: keep-alive")), (2, 2), "unless asked to stay")
    bad = d.ask(b"GET /id?minLength=x HTTP/1.1\r\nHost: localhost\r\n\r\nGET /no HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /id HTTP/1.1\r\nHost: localhost\r\n\r\n" + one)
    same(re.findall(rb"HTTP/1.1 (\d+)", bad), [b"400", b"404", b"405", b"200"], "errors of a request leave the connection open")
    with d.connect() as s:
        for byte in one:
            s.sendall(bytes([byte]))
        ok(DECIMAL.match(parse(s.recv(4096))[2]), "a request in single bytes")


def http():
    d = Daemon()
    for part in [http_ids, http_methods, heads, keep_alive]:
        part(d)
    d.stop()


# ---- RESP ----

def redis():
    d = Daemon("--max-ids", "20000")
    s = d.connect()
    f = s.makefile("rb")

    def ask(*words):
        s.sendall(resp(*words))
        return read_reply(f)

    ok(DECIMAL.match(ask("SFID.NEXT")), "SFID.NEXT")
    ids = ask("sfid.next", 20000)
    same((len(ids), ids == sorted(set(ids), key=int)), (20000, True), "sfid.next 20000: distinct, and increasing")
    for word in ["0", "20001", "x", "-1", "1.0", ""]:
        ok("number of IDs" in str(ask("SFID.NEXT", word)), "SFID.NEXT %s is an error" % word)
    same(ask("PING"), "PONG", "PING")
    same((ask("PING", "a\r\nb"), ask("ECHO", b"\0\xff"), ask("SELECT", 0)), (b"a\r\nb", b"\0\xff", "OK"), "PING x, ECHO, SELECT 0")
    ok("out of range" in str(ask("SELECT", 1)), "SELECT 1")
    same((ask("COMMAND"), ask("COMMAND", "DOCS"), ask("CONFIG", "GET", "save")), ([], [], []), "COMMAND, CONFIG GET")
    same([ask("CLIENT", w, "x", "y") for w in ["SETNAME", "setinfo", "NO-EVICT", "NO-TOUCH"]], ["OK"] * 4, "CLIENT")
    ok(isinstance(ask("CLIENT", "ID"), int) and ask("CLIENT", "GETNAME") is None, "CLIENT ID and GETNAME")
    info = ask("INFO").decode()
    ok(all(w in info for w in ["redis_version:7.0.0", "sfid_version:", "role:master", "loading:0"]), "INFO", info)
    two = ask("HELLO")
    ok(len(two) == 14 and two[:6] == [b"server", b"sfid", b"version", b"7.0.0", b"proto", 2], "HELLO", two)
    three = ask("HELLO", "3", "SETNAME", "me")
    ok(three[b"proto"] == 3 and three[b"mode"] == b"standalone" and three[b"role"] == b"master" and three[b"modules"] == [],
       "HELLO 3: a map of 7", three)
    same(len(three), 7, "with 7 pairs")
    ok(str(ask("HELLO", "3", "AUTH", "u", "p")).startswith("WRONGPASS") and str(ask("HELLO", "4")).startswith("NOPROTO"), "HELLO's errors")
    same((ask("RESET"), ask("READONLY")), ("RESET", "OK"), "RESET, READONLY")
    same(str(ask("FLUSH\r\n'ALL", "x")), "ERR unknown command 'FLUSH???ALL'", "an unknown command, shown")
    same(len(str(ask("x" * 900))), len("ERR unknown command ''") + 64, "and cut")
    ok("wrong number" in str(ask("PING", 1, 2)) and "use SFID.NEXT" in str(ask("INCRBY", "tests", 5)), "arguments")
    ok("use SFID.NEXT" in str(ask("INCR", "tests")), "INCR of IDs above 2^53")
    ident = ask("SFID.NEXT")
    same(json.loads(ask("SFID.DECODE", ident))["id"], ident.decode(), "SFID.DECODE")
    ok(str(ask("SFID.DECODE", "x y")).startswith("ERR "), "of no ID")
    s.sendall(b"*0\r\n*-1\r\n" + resp("PING"))
    same(read_reply(f), "PONG", "empty arrays are passed over")
    s.sendall(b"".join(resp("SFID.NEXT") for _ in range(3000)))
    ids = [read_reply(f) for _ in range(3000)]
    same(ids == sorted(set(ids), key=int), True, "a pipeline of 3000")
    same((ask("QUIT"), closed(s)), ("OK", True), "QUIT")
    for name, data in [("$ missing", b"*1\r\n+PING\r\n"), ("a long argument", b"*1\r\n$1025\r\n"), ("many arguments", b"*17\r\n"),
                       ("a huge array", b"*200000000\r\n"), ("a negative length", b"*1\r\n$-1\r\n"), ("no CRLF", b"*1\r\n$4\r\nPINGxx"),
                       ("a sum", b"*16\r\n" + b"$1000\r\n" + b"x" * 1000 + b"\r\n" + (b"$1000\r\n" + b"x" * 1000 + b"\r\n") * 12)]:
        answer = d.ask(data)
        ok(answer.startswith(b"-ERR Protocol error: ") and answer.count(b"\n") == 1, "%s: a protocol error" % name, answer)
    d.stop()


def integers():
    for layout, when, works in [("js53", "auto", True), ("js53", "never", False), ("twitter", "always", True)]:
        d = Daemon("--integers", when, layout=layout, app="orders")
        answers = d.ask(resp("INCR", "orders") * 2 + resp("INCR", "other"))
        ok(bool(re.match(rb"^:\d+\r\n:\d+\r\n-ERR ", answers)) == works and answers.count(b"SFID.NEXT") == (1 if works else 3),
           "INCR with %s and --integers %s" % (layout, when), answers)
        d.stop()
    d = Daemon("--integers", "always", layout="flake", app=None, name="wide")
    ok(b"-ERR IDs of layout flake have 128 bits" in d.ask(resp("INCR", "x")), "INCR of 128 bits is refused")
    d.stop()


# ---- which protocol ----

def protocols():
    d = Daemon("--protocols", "resp")
    same((d.ask(b"GET /id HTTP/1.1\r\nHost: localhost\r\n\r\n"), d.ask(b"\0\0\0\1")), (b"", b""), "protocols not spoken are closed")
    same(d.ask(resp("PING")), b"+PONG\r\n", "the one that is, is answered")
    d.stop()
    d = Daemon()
    for data in [b"get / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b"\r\n", b"+OK\r\n", b" GET"]:
        same(d.ask(data), b"", "%r begins no request" % data[:4])
    same(d.ask(b"PING\r\n")[:12], b"HTTP/1.1 400", "inline commands are not taken")
    d.stop()
    for form, pattern in [("hex", rb"^[0-9a-f]{16}$"), ("base62", rb"^[0-9A-Za-z]{11}$"), ("base32", rb"^[0-9A-Z]{13}$")]:
        d = Daemon("--format", form)
        body = d.http("/id")[2]
        ok(re.match(pattern, body) and d.http("/decode/" + body.decode())[0] == 200, "--format %s, and /decode reads it" % form, body)
        d.stop()
    d = Daemon(layout="uuid7")
    body = d.http("/id")[2]
    ok(re.match(rb"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$", body), "uuid7 has its own form", body)
    d.stop()
    d = Daemon("--region", "eu-west-1", "--ip", "10.0.3.7", app=None, layout="awsflake", name="aws")
    body = d.http("/id")[2]
    ok(re.match(rb"^[0-9A-Za-z]{12,13}$", body), "awsflake: base62", body)
    d.stop()


run(flakeid, http, redis, integers, protocols)
