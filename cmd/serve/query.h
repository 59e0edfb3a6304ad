/* SPDX-License-Identifier: MIT */
/* query.h - parameters of a URL. */
#ifndef CMD_SERVE_QUERY_H
#define CMD_SERVE_QUERY_H

#include "serve/slice.h"

enum { QUERY_ABSENT = -1, QUERY_BAD = -2 };

/*
 * Finds the first parameter of this name, and writes its value without escapes,
 * cut at size - 1 bytes, and a NUL. Returns its length, QUERY_ABSENT, or
 * QUERY_BAD if an escape anywhere in the query is malformed.
 */
int query_find(struct slice query, const char *name, char *value, size_t size);

#endif
