/* SPDX-License-Identifier: MIT */
/*
 * opens.h - opens that must fail: in time, with the right code, and a sentence that names server and cause but no secret.
 *
 * In time is within open_timeout_ms and 100 ms. A loaded machine may be slower than that: the best of three counts, and the
 * worst is printed.
 */
#ifndef SFID_TESTS_OPENS_H
#define SFID_TESTS_OPENS_H

#include "holders.h"

enum { OPEN_MS = 400, GRACE_MS = SANITIZED ? 400 : 100, TRIES = 3 };

/* User and password of URLs here: neither may be in any text. */
#define USER "mallory"
#define PASSWORD "s3same-0pen"

static int64_t worst_open_ms;

/* One attempt: the code, its text and how long it took. */
struct attempt {
    int code;
    char text[600];
    int64_t ms;
};

static inline struct attempt attempt_open(const char *url, const char *app, bool trust) {
    struct attempt a = {0, "", 0};
    struct member m = {.open_timeout_ms = OPEN_MS,
                       .ttl_ms = WINDOW_MS,
                       .heartbeat_ms = HEARTBEAT_MS,
                       .budget_ms = BUDGET_MS,
                       .max_skew_ms = 300000,
                       .trust = trust};
    sfid *g = NULL;
    snprintf(m.store, sizeof m.store, "%s", url);
    snprintf(m.app, sizeof m.app, "%s", app);
    const sfid_layout l = layout_of(LAYOUT);
    const sfid_options opt = member_options(&m, &l);
    const int64_t began = mono_ns();
    a.code = sfid_open(&g, &opt);
    a.ms = (mono_ns() - began) / NS_PER_MS;
    snprintf(a.text, sizeof a.text, "%s", sfid_last_error(g));
    sfid_close(g);
    return a;
}

/* The open fails with this code, and a sentence with these words among others. */
static inline bool fails_with(const char *url, const char *app, int code, const char *server, const char *words, const char *what) {
    struct attempt a = attempt_open(url, app, true);
    int64_t best = a.ms;
    for (int i = 1; i < TRIES && best > OPEN_MS + GRACE_MS; i++) {
        a = attempt_open(url, app, true);
        best = a.ms < best ? a.ms : best;
    }
    raise_to((_Atomic int64_t *)&worst_open_ms, a.ms);
    const bool good = ok(a.code == code && strstr(a.text, words) && strstr(a.text, server) && !strstr(a.text, USER) &&
                             !strstr(a.text, PASSWORD) && best <= OPEN_MS + GRACE_MS,
                         "%s: told in time", what);
    if (!good)
        diag("%s (%d) after %" PRId64 " ms: %s\nwant %s, \"%s\" and \"%s\", in %d ms", sfid_strerror(a.code), a.code, a.ms, a.text,
             sfid_strerror(code), server, words, OPEN_MS);
    return good;
}

#endif
