/* SPDX-License-Identifier: MIT */
#include "support/sharers.h"

enum { TTL = SHARERS_TTL, HEARTBEAT = SHARERS_HEARTBEAT };

sfid_options sharing(const struct redis *r, const char *app) {
    sfid_options opt = fleet_lease(r, app, TTL, HEARTBEAT);
    opt.share = 1;
    return opt;
}

sfid_options sharing_for_long(const struct redis *r, const char *app) {
    sfid_options opt = fleet_lease(r, app, FLEET_TTL_MS, HEARTBEAT);
    opt.share = 1;
    return opt;
}

/* ---- what the server knows ------------------------------------------------------ */

/* How many pids the app's hash has, held or released, and the first of them. */
unsigned pids_known(struct redis *r, const char *app, int64_t *first) {
    unsigned n = 0;
    char line[RECORD];
    for (int64_t pid = layout.max_pid; pid >= 0; pid--)
        if (strcmp(record_of(r, app, pid, line), "nil") != 0) {
            n++;
            *first = pid;
        }
    return n;
}

/* ---- members --------------------------------------------------------------------- */

struct member *sharers_open(const sfid_options *opt, size_t n) {
    struct member *m = members_new(n, opt);
    for (size_t i = 0; i < n; i++) {
        member_start(&m[i]);
        snprintf(m[i].name, sizeof m[i].name, "process %zu", i);
    }
    for (size_t i = 0; i < n; i++)
        must(member_opens(&m[i], TAP_WAIT_MS), "%s", m[i].text);
    return m;
}

static int64_t errors_of(const struct member *m, size_t n) {
    int64_t errors = 0;
    for (size_t i = 0; i < n; i++) {
        errors += m[i].child ? atomic_load(&m[i].errors) : 0;
        if (m[i].child && atomic_load(&m[i].errors))
            diag("%s: %" PRIi64, m[i].name, atomic_load(&m[i].error));
    }
    return errors;
}

bool sharers_have(const struct member *m, size_t n, int64_t pid) {
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && (m[i].child == 0 || atomic_load(&m[i].pid) == pid);
    return same;
}

bool sharers_draw(const struct member *m, size_t n) {
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && (m[i].child == 0 || member_draws(&m[i], 3, TAP_WAIT_MS));
    return all;
}

/* For how long one of them was without an ID at most. Not of those that were stopped. */
static struct took sharers_gap(const struct member *m, size_t n) {
    struct took longest = {0, 0};
    for (size_t i = 0; i < n; i++)
        if (m[i].child != 0 && atomic_load(&m[i].stops) == 0)
            longest = took_longer(longest, member_gap(&m[i]));
    return longest;
}

bool sharers_are_well(const struct member *m, size_t n, const char *what) {
    const bool good = is_i64(errors_of(m, n), 0, "%s: no call fails", what);
    return in_time(sharers_gap(m, n), SHARERS_WAIT_MS, "%s: nor does one wait for a window",
                   what) &&
           good;
}

void sharers_end(struct member *m, size_t n) {
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += m[i].child != 0 && member_end(&m[i]) != 0;
    is_i64(bad, 0, "all end");
}

/* The member that began to keep last; NULL: none does. Those that ended do not count, nor does
 * `but`. */
struct search {
    struct member *m;
    const struct member *but;
    size_t n;
    struct member *found;
};

static bool somebody_keeps(void *arg) {
    struct search *s = arg;
    int64_t latest = 0;
    s->found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct member *m = &s->m[i];
        for (int e = 0; m->child != 0 && e < atomic_load(&m->events) && e < EVENTS_KEPT; e++)
            if (m->seen[e].kind == SFID_EVENT_KEEPS && m->seen[e].at_ns > latest) {
                latest = m->seen[e].at_ns;
                s->found = m;
            }
    }
    return s->found != NULL && s->found != s->but;
}

struct member *sharers_keeper(struct member *m, size_t n, const struct member *but) {
    struct search s = {m, but, n, NULL};
    return tap_wait_until(somebody_keeps, &s, TAP_WAIT_MS) ? s.found : NULL;
}

/* A process comes, and goes without closing: the lease stays in the page. */
bool comes_and_goes(const sfid_options *opt, int64_t pid) {
    struct member *m = members_new(1, opt);
    m->leaves = true;
    const int rc = member_open_one(m);
    const bool good = rc == 0 && member_draws(m, atomic_load(&m->ids) == 0, TAP_WAIT_MS) &&
                      atomic_load(&m->pid) == pid;
    if (!good)
        diag("open: %d, %s; pid %" PRIi64, rc, m->text, atomic_load(&m->pid));
    member_end(m);
    return good;
}

int sharers_events(const struct member *m, size_t n, sfid_event_kind kind) {
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += events_of(&m[i], kind);
    return sum;
}

struct renewals {
    const struct member *m;
    size_t n;
    int least;
};

static bool are_made(void *arg) {
    const struct renewals *r = arg;
    return sharers_events(r->m, r->n, SFID_EVENT_RENEWED) >= r->least;
}

bool sharers_renew(const struct member *m, size_t n, int more) {
    struct renewals r = {m, n, sharers_events(m, n, SFID_EVENT_RENEWED) + more};
    return tap_wait_until(are_made, &r, TAP_WAIT_MS);
}

void sharers_renewed(struct member *m, size_t n) {
    ok(sharers_renew(m, n, 1), "the window was just renewed");
}

static bool pid_differs(void *arg) {
    const struct member *m = arg;
    return atomic_load(&m->pid) != m->opt.pid_min;
}

bool sharer_moves(struct member *m, int64_t pid) {
    m->opt.pid_min = pid; /* it has opened long since */
    return tap_wait_until(pid_differs, m, TAP_WAIT_MS);
}
