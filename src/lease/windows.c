/* SPDX-License-Identifier: MIT */
#include "lease/windows.h"

#include <inttypes.h>

#define SHORT_DEFAULT_MS 30000
#define SHORT_PID_BITS 5 /* with fewer, there are too few pids to set some apart */
#define SHORT_EVERY 8
#define MIXED_LEAST_MS 200000 /* a process of the Rust crate registers anew within 180 s */

/* Follows from what `lay` has, so that all processes of the app come to the same
 * (doc/protocol.md). */
static void choose(struct sfid__settings *out) {
    const sfid_options *o = &out->opt;
    const uint64_t unit = o->layout->unit_ms, w = (o->short_ms + unit - 1) / unit * unit;
    out->window_ms = (o->ttl_ms + unit - 1) / unit * unit;
    const bool none = o->layout->pid_bits < SHORT_PID_BITS || w < 2 * unit ||
                      out->window_ms < 2 * w || out->uri->registration == SFID__REGISTRATION_MIXED;
    out->short_ms = none ? 0 : w;
    out->short_every = none ? 0 : SHORT_EVERY;
}

/* When the server forgets, a holder goes on if its limit lies skew_budget_ms past that, whenever
 * its last renewal was. */
static uint64_t least_window(const struct sfid__settings *s, uint64_t heartbeat_ms) {
    const uint64_t unit = s->opt.layout->unit_ms;
    return ((s->opt.skew_budget_ms + heartbeat_ms + 2 * (uint64_t)s->uri->timeout_ms + unit - 1) /
                unit +
            1) *
           unit;
}

static int check_window(const struct sfid__settings *s, const char *name, uint64_t window_ms,
                        uint64_t heartbeat_ms, struct sfid__error *err) {
    const sfid_options *o = &s->opt;
    const uint64_t least = least_window(s, heartbeat_ms);
    if (window_ms >= least)
        return 0;
    return sfid__fail(
        err, SFID_EINVAL,
        "%s %" PRIu64
        " is too short: when the server forgets the app, holders would stop for up to %" PRIu64
        " ms; at least %" PRIu64 " is needed: skew_budget_ms %" PRIu32 " + heartbeat %" PRIu64
        " + 2 * timeout %" PRIu32 ", and a tick of %" PRIu32 "; or set a smaller skew_budget_ms",
        name, window_ms, window_ms + o->skew_budget_ms, least, o->skew_budget_ms, heartbeat_ms,
        s->uri->timeout_ms, o->layout->unit_ms);
}

static int check_windows(const struct sfid__settings *s, struct sfid__error *err) {
    const sfid_options *o = &s->opt;
    if (s->uri->registration == SFID__REGISTRATION_MIXED &&
        s->window_ms + o->skew_budget_ms < MIXED_LEAST_MS)
        return sfid__fail(
            err, SFID_EINVAL,
            "ttl_ms %" PRIu32
            " is too short for registration=mixed: ttl_ms and skew_budget_ms need a sum of at least %d, "
            "because other programs register only every 180 s",
            o->ttl_ms, MIXED_LEAST_MS);
    const int rc = check_window(s, "ttl_ms", s->window_ms, o->heartbeat_ms, err);
    return rc < 0 || s->short_ms == 0 || o->short_ms == SHORT_DEFAULT_MS
               ? rc
               : check_window(s, "short_ms", s->short_ms, s->short_ms / 3, err);
}

int sfid__windows_choose(struct sfid__settings *out, struct sfid__error *err) {
    choose(out);
    return check_windows(out, err);
}
