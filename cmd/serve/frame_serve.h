/* SPDX-License-Identifier: MIT */
/* frame_serve.h - requests of RESP and of flakeid, and their answers. */
#ifndef CMD_SERVE_FRAME_SERVE_H
#define CMD_SERVE_FRAME_SERVE_H

#include "serve/answer.h"

/*
 * Each reads one request from the front of the bytes, and answers it, or
 * begins a job, or closes. Returns the bytes used; 0: more are wanted.
 */
size_t resp_serve(struct client *client, const char *bytes, size_t len);
size_t flakeid_serve(struct client *client, const char *bytes, size_t len);

#endif
