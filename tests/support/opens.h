/* SPDX-License-Identifier: MIT */
/*
 * opens.h - opens that must fail in time, with the right code, and with a sentence that names
 * server and cause but no secret.
 *
 * In time means within open_timeout_ms and OPEN_GRACE_MS. A server that tells the cause has to have
 * the time for it: where it is late, the cause is that nobody answered. Such an open is repeated
 * with twice the time.
 */
#ifndef SFID_TESTS_OPENS_H
#define SFID_TESTS_OPENS_H

#include "support/faults.h"

/* OPEN_GRACE_MS: what an open does once its time is over. */
enum { OPEN_MS = 400, OPEN_LONGEST_MS = 32 * OPEN_MS, OPEN_GRACE_MS = 200 };

/* User and password in the URLs: no text may contain either. */
#define USER "mallory"
#define PASSWORD "s3same-0pen"

extern int64_t worst_open_ms;

/* An open: its code, its text, its duration, how long it was allowed to take, and the descriptors
 * that it left. */
struct attempt {
    int code;
    char text[600];
    struct took took;
    unsigned open_ms;
    int fds;
};

struct attempt attempt_open(const char *url, const char *app, bool trust, unsigned open_ms);

/* An open of OPEN_MS; of up to OPEN_LONGEST_MS while it says, in place of these words, that nobody
 * answered in time. */
struct attempt attempt_until(const char *url, const char *app, bool trust, const char *words);

/* Checks that the attempt was back in time. */
bool attempt_in_time(const struct attempt *a, const char *what);

/* Checks that the open fails with this code, in time, with a sentence that contains these words,
 * and leaves no descriptor. */
bool fails_with(const char *url, const char *app, int code, const char *server, const char *words,
                const char *what);

#endif
