/* SPDX-License-Identifier: MIT */
#include "support/opens.h"

int64_t worst_open_ms;

struct attempt attempt_open(const char *url, const char *app, bool trust) {
    struct attempt a = {0, "", 0};
    sfid_options opt = fault_options(app, url);
    sfid *g = NULL;
    opt.open_timeout_ms = OPEN_MS;
    opt.on_unknown = trust ? SFID_TRUST : SFID_WAIT_OUT;
    const int64_t began = mono_ns();
    a.code = sfid_open(&g, &opt);
    a.ms = (mono_ns() - began) / NS_PER_MS;
    snprintf(a.text, sizeof a.text, "%s", sfid_last_error(g));
    sfid_close(g);
    return a;
}

struct attempt attempt_until(const char *url, const char *app, int code, const char *words) {
    struct attempt a = {0, "", 0};
    for (int i = 0; i < TRIES; i++) {
        a = attempt_open(url, app, true);
        raise_to((_Atomic int64_t *)&worst_open_ms, a.ms);
        if (a.code == code && strstr(a.text, words) && a.ms <= OPEN_MS + GRACE_MS)
            break;
    }
    return a;
}

bool fails_with(const char *url, const char *app, int code, const char *server, const char *words, const char *what) {
    const struct attempt a = attempt_until(url, app, code, words);
    const bool good = ok(a.code == code && strstr(a.text, words) && strstr(a.text, server) && !strstr(a.text, USER) &&
                             !strstr(a.text, PASSWORD) && a.ms <= OPEN_MS + GRACE_MS,
                         "%s: told in time", what);
    if (!good)
        diag("%s (%d) after %" PRId64 " ms: %s\nwant %s, \"%s\" and \"%s\", in %d ms", sfid_strerror(a.code), a.code, a.ms, a.text,
             sfid_strerror(code), server, words, OPEN_MS);
    return good;
}
