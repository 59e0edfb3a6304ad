/* SPDX-License-Identifier: MIT */
/* crowd.c - many members of one server, each on a host of its own. */
#include "support/fleet.h"

void crowd_begin(struct crowd *c, const char *program, unsigned n, const sfid_options *opt) {
    *c = (struct crowd){.program = program, .n = n, .m = members_new(n, opt)};
    for (unsigned i = 0; i < n; i++) {
        on_host(&c->m[i].opt, i);
        c->m[i].nap_us = 20000;
        c->m[i].opt.on_unknown = i == 0 ? SFID_TRUST : SFID_WAIT_OUT;
    }
    member_open_or_die(&c->m[0]);
    for (unsigned i = 1; i < n; i++)
        member_start(&c->m[i]);
    unsigned opened = 1;
    for (unsigned i = 1; i < n; i++)
        opened +=
            flag_wait(&c->m[i].opened, 1, opt->open_timeout_ms + TAP_WAIT_MS) && c->m[i].rc == 0;
    is_i64(opened, n, "%s: %u processes hold a pid", program, n);
}

void crowd_note(struct crowd *c) {
    for (unsigned i = 0; i < c->n; i++) {
        c->renewed[i] = events_of(&c->m[i], SFID_EVENT_RENEWED);
        c->failovers[i] = events_of(&c->m[i], SFID_EVENT_FAILOVER);
    }
}

static bool crowd_has_followed(void *arg) {
    const struct crowd *c = arg;
    for (unsigned i = 0; i < c->n; i++)
        if (events_of(&c->m[i], SFID_EVENT_FAILOVER) <= c->failovers[i] ||
            events_of(&c->m[i], SFID_EVENT_RENEWED) <= c->renewed[i])
            return false;
    return true;
}

bool crowd_has_renewed(void *arg) {
    const struct crowd *c = arg;
    for (unsigned i = 0; i < c->n; i++)
        if (events_of(&c->m[i], SFID_EVENT_RENEWED) <= c->renewed[i])
            return false;
    return true;
}

bool crowd_follows(struct crowd *c) { return tap_wait_until(crowd_has_followed, c, TAP_WAIT_MS); }

/* Counts failed calls and lost leases of all members so far. */
static int64_t crowd_errors(const struct crowd *c) {
    int64_t errors = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const struct member *m = &c->m[i];
        const int64_t before = errors;
        errors += atomic_load(&m->errors) + events_of(m, SFID_EVENT_LOST);
        if (before == 0 && errors > 0)
            diag("member %u: %s", i, sfid_strerror((int)atomic_load(&m->error)));
    }
    return errors;
}

bool crowd_is_well(const struct crowd *c, const char *what) {
    struct took longest = {0, 0};
    for (unsigned i = 0; i < c->n; i++)
        longest = took_longer(longest, member_gap(&c->m[i]));
    const bool good =
        is_i64(crowd_errors(c), 0, "%s, %s: no call fails, nobody loses a lease", c->program, what);
    return in_time(longest, CALL_MS, "%s, %s: and none waits for a window", c->program, what) &&
           good;
}

void crowd_end(struct crowd *c) {
    int64_t ids = 0;
    for (unsigned i = 0; i < c->n; i++)
        atomic_store(&c->m[i].may_end, 1);
    for (unsigned i = 0; i < c->n; i++) {
        must(member_end(&c->m[i]) == 0, "a member ends with status %d", c->m[i].ended);
        ids += atomic_load(&c->m[i].ids);
    }
    diag("figure: %s: %" PRIi64 " IDs by %u processes", c->program, ids, c->n);
}
