/* SPDX-License-Identifier: MIT */
/*
 * opens.h - opens that must fail in time, with the right code, and with a sentence that names server and cause but no secret.
 *
 * In time means within open_timeout_ms plus 100 ms (sanitizer: 400). A loaded machine may be slower, and then the cause is that
 * nobody answered in time: so there are eight attempts at most, until one is as it should be. The worst is printed.
 */
#ifndef SFID_TESTS_OPENS_H
#define SFID_TESTS_OPENS_H

#include "support/faults.h"

enum { OPEN_MS = SANITIZED ? 1200 : 400, GRACE_MS = SANITIZED ? 400 : 100, TRIES = 8 };

/* User and password in the URLs: no text may contain either. */
#define USER "mallory"
#define PASSWORD "s3same-0pen"

extern int64_t worst_open_ms;

/* An open: its code, its text and its duration. */
struct attempt {
    int code;
    char text[600];
    int64_t ms;
};

struct attempt attempt_open(const char *url, const char *app, bool trust);

/* The last of so many attempts, trusting: the first one that ends in time with this code and these words. */
struct attempt attempt_until(const char *url, const char *app, int code, const char *words);

/* Checks that the open fails with this code, and with a sentence that contains these words. */
bool fails_with(const char *url, const char *app, int code, const char *server, const char *words, const char *what);

#endif
