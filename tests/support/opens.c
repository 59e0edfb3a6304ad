/* SPDX-License-Identifier: MIT */
#include "support/opens.h"

int64_t worst_open_ms;

static bool are_closed(void *fds) { return count_fds() <= *(const int *)fds; }

struct attempt attempt_open(const char *url, const char *app, bool trust, unsigned open_ms) {
    struct attempt a = {.open_ms = open_ms};
    sfid_options opt = fault_options(app, url);
    sfid *g = NULL;
    opt.open_timeout_ms = open_ms;
    opt.on_unknown = trust ? SFID_TRUST : SFID_WAIT_OUT;
    witness_begin(); /* in a child, too */
    int fds = count_fds();
    const int64_t began = tap_now_ms();
    a.code = sfid_open(&g, &opt);
    a.took = took_since(began);
    snprintf(a.text, sizeof a.text, "%s", sfid_last_error(g));
    sfid_close(g);
    /* a lookup that came too late for its call closes its file when it ends */
    tap_wait_until(are_closed, &fds, TAP_WAIT_MS);
    a.fds = count_fds() - fds;
    return a;
}

/* Its server did not get to say what it has to say, or was not even asked. */
static bool is_unheard(const struct attempt *a, const char *words) {
    return !strstr(a->text, words) &&
           (strstr(a->text, "in time") || strstr(a->text, "no time was left"));
}

struct attempt attempt_until(const char *url, const char *app, bool trust, const char *words) {
    struct attempt a = attempt_open(url, app, trust, OPEN_MS);
    for (unsigned ms = 2 * OPEN_MS; ms <= OPEN_LONGEST_MS && is_unheard(&a, words); ms *= 2)
        a = attempt_open(url, app, trust, ms);
    return a;
}

bool attempt_in_time(const struct attempt *a, const char *what) {
    if (a->open_ms == OPEN_MS)
        raise_to((_Atomic int64_t *)&worst_open_ms, a->took.ms);
    return in_time(a->took, (int64_t)a->open_ms + OPEN_GRACE_MS, "%s: in time", what);
}

bool fails_with(const char *url, const char *app, int code, const char *server, const char *words,
                const char *what) {
    const struct attempt a = attempt_until(url, app, true, words);
    const bool good = ok(a.code == code && strstr(a.text, words) && strstr(a.text, server) &&
                             !strstr(a.text, USER) && !strstr(a.text, PASSWORD),
                         "%s: told", what);
    if (!good)
        diag("%s (%d) after %" PRId64 " ms of %u: %s\nwant %s, \"%s\" and \"%s\"",
             sfid_strerror(a.code), a.code, a.took.ms, a.open_ms, a.text, sfid_strerror(code),
             server, words);
    is_i64(a.fds, 0, "%s: no descriptor is left", what);
    return attempt_in_time(&a, what) && good;
}
