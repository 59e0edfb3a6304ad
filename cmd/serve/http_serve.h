/* SPDX-License-Identifier: MIT */
/* http_serve.h - requests of HTTP and their answers. */
#ifndef CMD_SERVE_HTTP_SERVE_H
#define CMD_SERVE_HTTP_SERVE_H

#include "serve/answer.h"

/*
 * Reads one request from the front of the bytes, and answers it, or begins
 * a job, or closes. Returns the bytes used; 0: more are wanted.
 */
size_t http_serve(struct client *client, const char *bytes, size_t len);

#endif
