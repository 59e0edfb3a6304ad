/* SPDX-License-Identifier: MIT */
/** inject_parts.h - between inject.c and inject_calls.c. */
#ifndef SFID_TESTS_INJECT_PARTS_H
#define SFID_TESTS_INJECT_PARTS_H

#include "support/inject.h"

/* Whether the library makes this call; and whether that counts. */
bool inject_is_inside(void);
bool inject_counts(void);

/* By how much the library's clocks are ahead. */
int64_t inject_clock_moved_ns(void);

/* Returns 0, or the error that this call has, also in errno. */
int inject_fails(enum inject_kind kind);

/* A thread that the library made begins. */
void inject_is_of_library(void);

enum inject_thing { INJECT_NOTHING, INJECT_BLOCK, INJECT_MAP, INJECT_STREAM };

/* Notes what the library got from a call, unless that is NULL. Returns it. */
void *inject_keep(enum inject_thing what, void *at, size_t size, const char *by, const void *from);

/* Notes that it was given back; the second takes a piece of addresses out of all mappings. */
void inject_lose(const void *at);
void inject_cut(const void *piece, size_t size);

#endif
