/* SPDX-License-Identifier: MIT */
/*
 * opens.h - opens that must fail: in time, with the right code, and a sentence that names server and cause but no secret.
 *
 * In time is within open_timeout_ms and 100 ms. A loaded machine may be slower than that: the best of three counts, and the
 * worst is printed.
 */
#ifndef SFID_TESTS_OPENS_H
#define SFID_TESTS_OPENS_H

#include "support/clients.h"

enum { OPEN_MS = 400, GRACE_MS = SANITIZED ? 400 : 100, TRIES = 3 };

/* User and password of URLs here: neither may be in any text. */
#define USER "mallory"
#define PASSWORD "s3same-0pen"

extern int64_t worst_open_ms;

/* One attempt: the code, its text and how long it took. */
struct attempt {
    int code;
    char text[600];
    int64_t ms;
};

struct attempt attempt_open(const char *url, const char *app, bool trust);

/* The open fails with this code, and a sentence with these words among others. */
bool fails_with(const char *url, const char *app, int code, const char *server, const char *words, const char *what);

#endif
