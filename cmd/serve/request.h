/* SPDX-License-Identifier: MIT */
/*
 * request.h - requests of the three protocols as bytes: pure functions, without input, output or
 * allocation.
 *
 * Each reader reads the bytes that have come so far, from the first byte of a
 * request. It returns how many bytes the request has, 0 if it wants more, or a
 * negative number if no request can begin like that. What it finds points into
 * the bytes.
 */
#ifndef CMD_SERVE_REQUEST_H
#define CMD_SERVE_REQUEST_H

#include "io/base.h"

enum protocol { PROTOCOL_HTTP, PROTOCOL_RESP, PROTOCOL_FLAKEID, PROTOCOLS, PROTOCOL_NONE };

/* Returns the protocol of a connection by its first byte, or PROTOCOL_NONE. */
enum protocol protocol_of(char first);

struct slice {
    const char *at;
    size_t len;
};

/* Returns whether the slice is this text, letters of either case. The text is in lower case. */
bool slice_is(struct slice slice, const char *text);

/* ---- HTTP: the head of a request, RFC 9112 --------------------------------- */

#define HTTP_HEAD_MOST 8192

enum http_fault { HTTP_MALFORMED = -400, HTTP_TOO_LONG = -431, HTTP_BAD_VERSION = -505 };

struct http_request {
    struct slice method, target;
    struct slice path, query; /* of the target: without host, '?' and one '/' at the end */
    /* of the target, else of the field, which may be missing in HTTP/1.0 */
    struct slice host;
    bool absolute;          /* the target names a host */
    bool get, head;         /* the method; methods are in capitals */
    bool old;               /* HTTP/1.0 */
    bool keep;              /* the connection stays open */
    bool body;              /* a body is announced */
    bool openmetrics, html; /* Accept names it */
};

/* A fault is one of enum http_fault. Method and target are set as soon as they are known. */
int http_read(const char *bytes, size_t len, struct http_request *request);

/* Is it localhost or a loopback address, with any port or none? Names that their owners lead to
 * this host are others. */
bool host_is_local(struct slice host);

/* ---- HTTP: the parameters of a URL --------------------------------------------- */

enum { QUERY_ABSENT = -1, QUERY_BAD = -2 };

/*
 * Finds the first parameter of this name, and writes its value without escapes,
 * cut at size - 1 bytes, and a NUL. Returns its length, QUERY_ABSENT, or
 * QUERY_BAD if an escape anywhere in the query is malformed.
 */
int query_find(struct slice query, const char *name, char *value, size_t size);

/* ---- RESP: an array of bulk strings ----------------------------------------- */

#define RESP_ARGS 16
#define RESP_ARG_MOST 1024
#define RESP_MOST 8192

struct resp_request {
    int argc; /* 0: an empty array, which has no answer */
    struct slice argv[RESP_ARGS];
    const char *fault; /* after -1: what is wrong; static */
};

int resp_read(const char *bytes, size_t len, struct resp_request *request);

/* ---- flakeid: a count of IDs in four bytes, big-endian ---------------------- */

#define FLAKEID_MOST 65365 /* the Go server ends at more */

/* Returns 4, 0, or -1 if the count is above FLAKEID_MOST. */
int flakeid_read(const char *bytes, size_t len, uint32_t *count);

#endif
