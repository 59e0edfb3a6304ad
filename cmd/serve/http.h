/* SPDX-License-Identifier: MIT */
/* http.h - the head of a request, RFC 9112. */
#ifndef CMD_SERVE_HTTP_H
#define CMD_SERVE_HTTP_H

#include "serve/slice.h"

/* Returns whether the slice is this text, letters of either case. The text is in lower case. */
bool slice_is(struct slice slice, const char *text);

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

/* Returns as slice.h says; a fault is one of enum http_fault. Method and target are set as soon as
 * they are known. */
int http_read(const char *bytes, size_t len, struct http_request *request);

/* Is it localhost or a loopback address, with any port or none? Names that their owners lead to
 * this host are others. */
bool host_is_local(struct slice host);

#endif
