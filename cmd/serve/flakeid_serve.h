/* SPDX-License-Identifier: MIT */
/* flakeid_serve.h - requests of flakeid and their answers. */
#ifndef CMD_SERVE_FLAKEID_SERVE_H
#define CMD_SERVE_FLAKEID_SERVE_H

#include "serve/client.h"
#include "serve/state.h"

/*
 * Reads one request from the front of the bytes, and answers it, or begins
 * a job, or closes. Returns the bytes used; 0: more are wanted.
 */
size_t flakeid_serve(struct client *client, const char *bytes, size_t len);

/* Reads the first byte of a connection. Returns its protocol, or PROTOCOL_NONE. */
enum protocol protocol_of(char first);

#endif
