/* SPDX-License-Identifier: MIT */
/* The parsers of sfid serve: what each finds in a request, cut off anywhere, and what each
 * refuses. */
#include "serve/request.h"
#include "support/tap.h"

static bool is_slice(struct slice slice, const char *text) {
    return slice.len == strlen(text) && memcmp(slice.at, text, slice.len) == 0;
}

/* ---- flakeid ----------------------------------------------------------------- */

static void flakeid(void) {
    static const struct {
        const char *bytes;
        int used;
        uint32_t count;
    } cases[] = {{"\0\0\0\1", 4, 1},      {"\0\0\0\0", 4, 0},  {"\0\0\xff\x55", 4, FLAKEID_MOST},
                 {"\0\0\xff\x56", -1, 0}, {"\0\1\0\0", -1, 0}, {"\xff\xff\xff\xff", -1, 0}};
    uint32_t count;
    for (size_t i = 0; i < COUNT(cases); i++) {
        is_i64(flakeid_read(cases[i].bytes, 4, &count), cases[i].used, "frame %zu", i);
        if (cases[i].used > 0)
            is_u64(count, cases[i].count, "its count");
    }
    is_i64(flakeid_read("\0\0\0", 3, &count), 0, "three bytes are not enough");
}

/* ---- RESP ---------------------------------------------------------------------- */

static void resp(void) {
    static const char good[] = "*2\r\n$9\r\nSFID.NEXT\r\n$0\r\n\r\n";
    static const struct {
        const char *bytes, *fault;
    } bad[] = {{"PING\r\n", "expected '*'"},       {"*17\r\n", "more than 16"},
               {"*200000000\r\n", "more than 16"}, {"*1000000000\r\n", "invalid multibulk"},
               {"*-2\r\n", "invalid multibulk"},   {"*x\r\n", "invalid multibulk"},
               {"*1\n", "invalid multibulk"},      {"*1\r\n:1\r\n", "expected '$'"},
               {"*1\r\n$-1\r\n", "invalid bulk"},  {"*1\r\n$1025\r\n", "more than 1024"},
               {"*1\r\n$1\r\nxyz", "CRLF"}};
    struct resp_request r;
    is_i64(resp_read(good, sizeof good - 1, &r), sizeof good - 1, "a command");
    ok(r.argc == 2 && is_slice(r.argv[0], "SFID.NEXT") && is_slice(r.argv[1], ""), "its arguments");
    unsigned early = 0;
    for (size_t i = 0; i < sizeof good - 1; i++)
        early += resp_read(good, i, &r) != 0;
    is_u64(early, 0, "cut off anywhere it wants more");
    is_i64(resp_read("*-1\r\n", 5, &r), 5, "an array that is none");
    is_i64(r.argc, 0, "has no arguments");
    for (size_t i = 0; i < COUNT(bad); i++)
        ok(resp_read(bad[i].bytes, strlen(bad[i].bytes), &r) == -1 && strstr(r.fault, bad[i].fault),
           "refused: %s", bad[i].fault);
}

/* ---- HTTP ------------------------------------------------------------------------ */

#define HEAD(line, fields) line " HTTP/1.1\r\nHost: a\r\n" fields "\r\n"

static int read_text(const char *text, struct http_request *r) {
    return http_read(text, strlen(text), r);
}

static void http(void) {
    static const char good[] =
        HEAD("GET /ids/?n=5&x=%41", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    struct http_request r;
    is_i64(read_text(good, &r), sizeof good - 1, "a head");
    ok(is_slice(r.method, "GET") && is_slice(r.path, "/ids") && is_slice(r.query, "n=5&x=%41") &&
           r.get && !r.head,
       "its parts");
    ok(r.keep && !r.old && !r.body && r.openmetrics, "what its fields say");
    unsigned early = 0;
    for (size_t i = 0; i < sizeof good - 1; i++)
        early += http_read(good, i, &r) != 0;
    is_u64(early, 0, "cut off anywhere it wants more");
    ok(read_text(HEAD("GET http://h:1/id?n=1", ""), &r) > 0 && is_slice(r.path, "/id") &&
           is_slice(r.query, "n=1"),
       "absolute form");
    ok(read_text(HEAD("GET HTTP://h", ""), &r) > 0 && is_slice(r.path, "/"), "without a path");
    ok(read_text(HEAD("OPTIONS *", ""), &r) > 0 && !r.get,
       "another method may have another target");
    ok(read_text(HEAD("GET /", "Connection: x, Close\r\n"), &r) > 0 && !r.keep,
       "Connection: close");
    ok(read_text("GET / HTTP/1.0\r\n\r\n", &r) > 0 && !r.keep && r.old, "1.0 closes");
    ok(read_text("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &r) > 0 && r.keep,
       "unless asked");
    ok(read_text(HEAD("GET /", "Content-Length: 00\r\n"), &r) > 0 && !r.body, "no body");
    ok(read_text(HEAD("GET /", "Content-Length: 10\r\n"), &r) > 0 && r.body, "a body");
    ok(read_text(HEAD("GET /", "Transfer-Encoding: identity\r\n"), &r) > 0 && r.body,
       "any Transfer-Encoding");
    ok(read_text(HEAD("GET /", "Accept: application/openmetrics-text;q=0.0\r\n"), &r) > 0 &&
           !r.openmetrics,
       "a weight of 0");
    ok(!r.html && read_text(HEAD("GET /", "Accept: */*, text/html ; q=0.5\r\n"), &r) > 0 &&
           r.html && !r.openmetrics,
       "a browser");
    ok(read_text(HEAD("GET /", "Accept: text/html;q=0, */*\r\n"), &r) > 0 && !r.html,
       "none of its type");
}

static void hosts(void) {
    static const char *const local[] = {"localhost", "LOCALHOST:3525", "localhost.", "localhost:",
                                        "127.0.0.1", "127.255.0.9:1",  "[::1]",      "[::1]:1"};
    static const char *const others[] = {
        "",     "localhost.a", "a.localhost", "127.1", "128.0.0.1",   "[::2]:1", "::1",
        "[::1", "[]",          "[::1]a",      ":80",   "localhost:a", "."};
    struct http_request r;
    ok(read_text(HEAD("GET /", ""), &r) > 0 && is_slice(r.host, "a") && !r.absolute,
       "the field's host");
    ok(read_text(HEAD("GET http://b:1?n=1", ""), &r) > 0 && is_slice(r.host, "b:1") && r.absolute,
       "an absolute target has its own");
    ok(read_text("GET / HTTP/1.0\r\n\r\n", &r) > 0 && r.host.len == 0,
       "HTTP/1.0 need not have one");
    for (size_t i = 0; i < COUNT(local); i++)
        ok(host_is_local((struct slice){local[i], strlen(local[i])}), "%s is local", local[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        ok(!host_is_local((struct slice){others[i], strlen(others[i])}), "'%s' is not", others[i]);
}

static void bad_heads(void) {
    static const struct {
        int fault;
        const char *text;
    } bad[] = {{HTTP_MALFORMED, "GET / HTTP/1.1\r\n\r\n"},
               {HTTP_MALFORMED, HEAD("GET /", "Host: b\r\n")},
               {HTTP_MALFORMED, HEAD("GET /", "X : 1\r\n")},
               {HTTP_MALFORMED, HEAD("GET /", "X: 1\r\n 2\r\n")},
               {HTTP_MALFORMED, HEAD("GET /", "X: a\rb\r\n")},
               {HTTP_MALFORMED, HEAD("GET /", "X: a\nY: b\r\n")},
               {HTTP_MALFORMED, HEAD("GET /", "Content-Length: 1, 1\r\n")},
               {HTTP_MALFORMED, HEAD("GET *", "")},
               {HTTP_MALFORMED, HEAD("GET /a b", "")},
               {HTTP_MALFORMED, "GET /\r\n"},
               {HTTP_MALFORMED, "GET / HTTP/11\r\n"},
               {HTTP_BAD_VERSION, "GET / HTTP/1.2\r\n"},
               {HTTP_BAD_VERSION, "PRI * HTTP/2.0\r\n"}};
    char nul[] = HEAD("GET /", "X: 0\r\n"), longest[HTTP_HEAD_MOST + 1];
    struct http_request r;
    for (size_t i = 0; i < COUNT(bad); i++)
        is_i64(read_text(bad[i].text, &r), bad[i].fault, "refused: head %zu", i);
    *strrchr(nul, '0') = '\0';
    is_i64(http_read(nul, sizeof nul - 1, &r), HTTP_MALFORMED, "refused: a NUL");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "GET /", 5);
    is_i64(http_read(longest, HTTP_HEAD_MOST, &r), HTTP_TOO_LONG,
           "refused: 8192 bytes without an end");
    is_i64(http_read(longest, HTTP_HEAD_MOST - 1, &r), 0, "8191 may still end");
}

/* ---- queries ------------------------------------------------------------------------ */

static int find(const char *query, const char *name, char *value, size_t size) {
    return query_find((struct slice){query, strlen(query)}, name, value, size);
}

static void queries(void) {
    char value[8];
    ok(find("a=1&n=%35+5&n=7", "n", value, sizeof value) == 3 && strcmp(value, "5 5") == 0,
       "the first counts, without escapes");
    ok(find("%6e=5", "n", value, sizeof value) == 1 && strcmp(value, "5") == 0,
       "a name has escapes, too");
    ok(find("n=&n=7", "n", value, sizeof value) == 0 && value[0] == '\0', "an empty one");
    ok(find("n&n=7", "n", value, sizeof value) == 0, "one without a value");
    ok(find("nn=1&=2", "n", value, sizeof value) == QUERY_ABSENT, "none");
    ok(find("n=0123456789", "n", value, sizeof value) == 7 && strcmp(value, "0123456") == 0,
       "a long one is cut");
    static const char *const bad[] = {"n=1&x=%", "n=1&%4=2", "n=1&x=%g0", "%zz"};
    for (size_t i = 0; i < COUNT(bad); i++)
        is_i64(find(bad[i], "n", value, sizeof value), QUERY_BAD, "%s has a bad escape", bad[i]);
}

int main(void) {
    flakeid();
    resp();
    http();
    hosts();
    bad_heads();
    queries();
    return done_testing();
}
