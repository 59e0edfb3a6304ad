/* SPDX-License-Identifier: MIT */
/* resp.c - requests of Redis's protocol: an array of bulk strings. Inline commands are refused. */
#include "serve/resp.h"

#include <string.h>

struct reader {
    const char *at, *end;
    const char *fault;
};

enum { MORE = -1, FAULT = -2 };

static int64_t refuse_bytes(struct reader *r, const char *fault) {
    r->fault = fault;
    return FAULT;
}

/* Reads a mark, a number and a line end. Returns the number (0 for -1), MORE or FAULT. */
static int64_t read_length(struct reader *r, char mark, const char *unmarked, const char *invalid) {
    enum { DIGITS = 9 };
    int64_t value = 0;
    const char *p = r->at;
    if (p == r->end)
        return MORE;
    if (*p++ != mark)
        return refuse_bytes(r, unmarked);
    const bool negative = p < r->end && *p == '-';
    p += negative;
    const char *digits = p;
    for (; p < r->end && *p >= '0' && *p <= '9'; p++) {
        if (p - digits == DIGITS)
            return refuse_bytes(r, invalid);
        value = value * 10 + (*p - '0');
    }
    if (p == r->end)
        return MORE;
    if (p == digits || *p != '\r' || (negative && (mark == '$' || value != 1)))
        return refuse_bytes(r, invalid);
    if (++p == r->end)
        return MORE;
    if (*p++ != '\n')
        return refuse_bytes(r, invalid);
    r->at = p;
    return negative ? 0 : value; /* *-1 is an array of none */
}

/* Reads one bulk string. Returns 0, MORE or FAULT. */
static int64_t read_bulk(struct reader *r, struct slice *out) {
    const int64_t len = read_length(r, '$', "expected '$'", "invalid bulk length");
    if (len < 0)
        return len;
    if (len > RESP_ARG_MOST)
        return refuse_bytes(r, "invalid bulk length: more than 1024 bytes");
    if (r->end - r->at < len + 2) {
        const int64_t left = r->end - r->at;
        return left > len && r->at[len] != '\r'
                   ? refuse_bytes(r, "a bulk string does not end in CRLF")
                   : MORE;
    }
    if (memcmp(r->at + len, "\r\n", 2) != 0)
        return refuse_bytes(r, "a bulk string does not end in CRLF");
    *out = (struct slice){r->at, (size_t)len};
    r->at += len + 2;
    return 0;
}

int resp_read(const char *bytes, size_t len, struct resp_request *request) {
    struct reader r = {bytes, bytes + (len > RESP_MOST ? RESP_MOST : len), NULL};
    int64_t count = read_length(&r, '*', "expected '*'", "invalid multibulk length");
    if (count > RESP_ARGS)
        count = refuse_bytes(&r, "invalid multibulk length: more than 16 arguments");
    request->argc = 0;
    int64_t rc = count < 0 ? count : 0;
    while (rc == 0 && request->argc < count)
        if ((rc = read_bulk(&r, &request->argv[request->argc])) == 0)
            request->argc++;
    if (rc == MORE && len >= RESP_MOST)
        rc = refuse_bytes(&r, "the command has more than 8192 bytes");
    request->fault = r.fault;
    return rc == 0 ? (int)(r.at - bytes) : rc == MORE ? 0 : -1;
}
