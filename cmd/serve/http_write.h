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

/* Writes a whole answer. with_body false: its head alone. */
void http_answer(struct client *client, int status, const char *type, struct slice body,
                 bool with_body);

/* Writes the page, with a head that lets it load nothing and stand in no frame; or its head
 * alone. */
void http_page(struct client *client, bool with_body);

/* Writes an error as JSON. target: what the client asked for; shown escaped. */
void http_error(struct client *client, int status, const char *code, struct slice target,
                bool with_body, const char *fmt, ...) CLI_PRINTF(6, 7);

/* Begins with the next second; sets what Date says. */
void http_clock(void);

#endif
