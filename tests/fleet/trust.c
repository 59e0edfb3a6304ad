/* SPDX-License-Identifier: MIT */
/*
 * SFID_TRUST is the caller's word for the moment of the open: no other process of the app runs. A
 * claim that is made later, when others may have opened, does not pass it on. So a server that does
 * not know the app then grants nothing but what cannot be another's: here the other server of a
 * pool, which is asked first when the first one is away.
 *
 * Looked at is what the server notes of the time up to which others may hold pids.
 */
#include "support/fleet.h"

#define LAYOUT "39:4:14/10ms"

enum { TTL = 8000, HEARTBEAT = 500, PIDS = 8, BEARS_MS = 1000 };

struct question {
    struct redis *r;
    char key[40];
    /* when it was looked at last, and the time before: the server did not know the app */
    int64_t until, asked_ms, before_ms;
};

static int64_t wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
}

static bool knows_the_app(void *question) {
    struct question *q = question;
    q->before_ms = q->asked_ms;
    q->asked_ms = wall_ms();
    q->until = atoll(redis_text(q->r, "HGET", q->key, "q", NULL));
    return q->until > 0;
}

/* Waits until the server knows the app, which it does not yet. */
static void holds_back(struct redis *r, const char *app, const char *what) {
    struct question q = {.r = r, .asked_ms = wall_ms()};
    snprintf(q.key, sizeof q.key, "sfid:%s", app);
    ok(tap_wait_until(knows_the_app, &q, TAP_WAIT_MS), "%s: it is asked", what);
    const int64_t until_ms = q.until * layout.unit_ms + layout.epoch_ms;
    ok(until_ms >= q.before_ms + TTL, "%s: it takes others for holders of pids for %" PRIi64 " ms",
       what, until_ms - q.before_ms);
}

static void asked_later(struct redis *first) {
    struct redis second;
    char list[400];
    redis_start(&second, first->program, "second", 0, NULL);
    sfid_options opt = fleet_lease(first, "pooled", TTL, HEARTBEAT);
    redis_do(first, "ACL", "SETUSER", "one", "on", ">pw", "~sfid:*", "+@all", NULL);
    redis_do(&second, "ACL", "SETUSER", "two", "on", ">pw", "~sfid:*", "+@all", NULL);
    snprintf(list, sizeof list,
             "pool:1-%d=unix://one:pw@%s?timeout=2000ms %d-%d=unix://two:pw@%s?timeout=2000ms",
             PIDS / 2, first->socket, PIDS / 2 + 1, PIDS, second.socket);
    opt.store = list;
    opt.pid_min = opt.pid_max = 0;
    struct member *m = member_drawing(&opt);
    const bool at_first = atomic_load(&m->pid) <= PIDS / 2;
    struct redis *its = at_first ? first : &second, *other = at_first ? &second : first;
    is_str(redis_text(other, "EXISTS", "sfid:pooled", NULL), "0",
           "one server of a pool is not asked as long as the other lends a pid");
    redis_pause(its);
    holds_back(other, "pooled", "when the other is away");
    redis_resume(its);
    is_i64(member_end(m), 0, "it ends");
    redis_kill(&second);
}

int main(void) {
    fleet_begin(LAYOUT);
    on_running_servers(1, 0, BEARS_MS, asked_later);
    return done_testing();
}
