/* SPDX-License-Identifier: MIT */
/* http_write.h - heads and errors of HTTP. */
#ifndef CMD_SERVE_HTTP_WRITE_H
#define CMD_SERVE_HTTP_WRITE_H

#include "serve/client.h"
#include "serve/request.h"

#define HEAD_ROOM 384
#define LENGTH_NONE (-1) /* no Content-Length */

/* Writes a head at p. extra: more lines, each with its CRLF, or "". */
char *http_head(char *p, const struct client *client, int status, const char *type, int64_t length,
                const char *extra);

/* Each writes a whole answer to a request; to HEAD its head alone. */
void http_answer(struct client *client, const struct http_request *r, const char *type,
                 struct slice body);

/* Made of page.html. What the page may do is a Content-Security-Policy. */
extern const char page_html[], page_policy[];

/* The page, with a head that lets it load nothing and stand in no frame. */
void http_page(struct client *client, const struct http_request *r);

/* An error as JSON, with the target of the request, escaped. */
void http_error(struct client *client, const struct http_request *r, int status, const char *code,
                const char *fmt, ...) CLI_PRINTF(5, 6);

/* Begins with the next second; sets what Date says. */
void http_clock(void);

#endif
