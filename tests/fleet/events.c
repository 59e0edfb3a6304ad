/* SPDX-License-Identifier: MIT */
/*
 * The events of a lease from a server, each raised by what it stands for: a server that stops,
 * dies, comes back empty, is flushed, whose clock is set; a pid that another process takes while
 * its holder stands still. Their fields are as sfid.h says, and sfid_status() agrees.
 */
#include "support/fleet.h"
#include "support/local.h"

#define LAYOUT "39:3:14/10ms"

enum {
    TTL = 30000,
    HOUR_MS = 3600000,
    HEARTBEAT = 300,
    TIMEOUT = 1500,
    SKEW_MS = 2000,
    SKEW_OFF_MS = 500,
    LATE_MS = 1200,
    BEARS_MS = 500
};
/* Two apps draw at once: what one of them draws the other must not. */
enum { FIRST_MAX = 6, SECOND = 7 };

/* The next event of a kind; a zeroed one, and a failed check, when it does not come. */
static struct seen told(struct member *m, sfid_event_kind kind, int from, const char *name) {
    const struct seen *e = member_event(m, kind, from, TAP_WAIT_MS);
    if (ok(e != NULL, "%s is told", name))
        diag("%s: pid %" PRIi64 ", value %" PRIi64 ", code %d: %s", name, e->pid, e->value, e->code,
             e->text);
    return e ? *e : (struct seen){.pid = -2};
}

/* Where a kind stands in the order of events from number `from` on; -1: nowhere. */
static int place(const struct member *m, sfid_event_kind kind, int from) {
    for (int i = from; i < atomic_load(&m->events) && i < EVENTS_KEPT; i++)
        if (m->seen[i].kind == kind)
            return i;
    return -1;
}

static void test_begin(struct redis *r, struct member *m) {
    const struct seen connected = told(m, SFID_EVENT_CONNECTED, 0, "CONNECTED");
    ok(connected.code == 0 && strstr(connected.text, r->socket),
       "CONNECTED: its text names the server");
    const struct seen leased = told(m, SFID_EVENT_LEASED, 0, "LEASED");
    is_i64(leased.pid, atomic_load(&m->pid), "LEASED: its pid is the one that IDs carry");
    ok(place(m, SFID_EVENT_CONNECTED, 0) < place(m, SFID_EVENT_LEASED, 0),
       "LEASED: after CONNECTED");
    const struct seen renewed = told(m, SFID_EVENT_RENEWED, 0, "RENEWED");
    ok(renewed.pid == leased.pid && renewed.value <= TTL + 10 && renewed.value >= renewed.left_ms &&
           renewed.left_ms > 0,
       "RENEWED: its value is the window that there is now");
}

/* The ends at the server's socket, with those that wait to be accepted. */
static int ends_at(const struct redis *r) {
    char line[400];
    int n = 0;
    FILE *f = fopen("/proc/net/unix", "re");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, r->socket) != NULL;
    if (f)
        fclose(f);
    return n;
}

struct knock {
    const struct redis *r;
    int before;
};

static bool has_knocked(void *arg) {
    const struct knock *k = arg;
    return ends_at(k->r) > k->before;
}

/* A server that is stopped when a generator is opened, and goes on soon. */
static void test_answers_late(struct redis *r) {
    const sfid_options opt = fleet_options(r, "late", &layout);
    struct member *m = members_new(1, &opt);
    redis_pause(r);
    const struct knock k = {r, ends_at(r)};
    const int64_t begin = tap_now_ms();
    member_start(m);
    must(tap_wait_until(has_knocked, (void *)&k, TAP_WAIT_MS), "a member does not connect");
    nap_us(LATE_MS * 1000);
    redis_resume(r);
    ok(member_opens(m, TAP_WAIT_MS), "a generator is opened");
    const struct seen e = told(m, SFID_EVENT_CONNECTED, 0, "CONNECTED");
    ok(e.value >= LATE_MS && e.value <= tap_now_ms() - begin,
       "CONNECTED: its value is how long the answer took");
    is_i64(member_end(m), 0, "ends well");
}

/* Stopped: it accepts, and does not answer. Dead: nobody is there. */
static void test_away(struct redis *r, struct member *m, bool dead, const char *what) {
    const int from = atomic_load(&m->events);
    if (dead)
        redis_kill(r);
    else
        redis_pause(r);
    struct seen e = told(m, SFID_EVENT_DISCONNECTED, from, "DISCONNECTED");
    ok(e.code == SFID_EREDIS && strstr(e.text, r->socket),
       "%s: its code says so, its text which server", what);
    is_i64(e.pid, atomic_load(&m->pid), "%s: the pid is held meanwhile", what);
    e = told(m, SFID_EVENT_RENEW_FAILED, from, "RENEW_FAILED");
    ok(e.code == SFID_EREDIS && strstr(e.text, r->socket), "%s: its code says why", what);
    ok(e.pid == atomic_load(&m->pid), "%s: and for which pid", what);
    const int back = atomic_load(&m->events);
    if (dead)
        redis_restart(r, true);
    else
        redis_resume(r);
    e = told(m, SFID_EVENT_CONNECTED, back, "CONNECTED");
    ok(e.code == 0 && e.value >= 0, "%s: and connected again", what);
    told(m, SFID_EVENT_RENEWED, back, "RENEWED");
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "%s: nothing is lost", what);
    member_is_well(m, what);
    is_i64(place(m, SFID_EVENT_FAILOVER, from) >= 0, dead,
           "%s: FAILOVER is told if the server has forgotten", what);
}

static void test_flush(struct redis *r, struct member *m) {
    const int from = atomic_load(&m->events);
    redis_do(r, "FLUSHALL", NULL);
    const struct seen e = told(m, SFID_EVENT_FAILOVER, from, "FAILOVER");
    ok(e.code == 0 && strstr(e.text, r->socket), "FAILOVER: its text names the server");
    ok(place(m, SFID_EVENT_DISCONNECTED, from) < 0,
       "FAILOVER: by a flush, without a broken connection");
    told(m, SFID_EVENT_RENEWED, from, "RENEWED");
    member_is_well(m, "FAILOVER");
    const int later = atomic_load(&m->events);
    told(m, SFID_EVENT_RENEWED, later, "RENEWED again");
    is_i64(place(m, SFID_EVENT_FAILOVER, later), -1, "FAILOVER: told once");
}

static void test_skew(struct redis *r, struct member *m) {
    for (int sign = -1; sign <= 1; sign += 2) {
        int from = atomic_load(&m->events);
        const int64_t begin = tap_now_ms();
        redis_clock_offset(r, sign * SKEW_MS);
        struct seen e = told(m, SFID_EVENT_SKEW, from, "SKEW");
        in_time((struct took){llabs(e.value + sign * SKEW_MS), took_since(begin).stood_ms},
                SKEW_OFF_MS,
                "SKEW: its value is how far the host is ahead of the server, but for the exchange");
        ok(strstr(e.text, sign > 0 ? "behind" : "ahead") != NULL,
           "SKEW: its text says in which direction");
        from = atomic_load(&m->events);
        told(m, SFID_EVENT_RENEWED, from, "RENEWED");
        is_i64(place(m, SFID_EVENT_SKEW, from), -1, "SKEW: told once");
        redis_clock_offset(r, 0);
        e = told(m, SFID_EVENT_SKEW, from, "SKEW, over");
        ok(llabs(e.value) < 1000, "SKEW: when it is over, too");
    }
    is_i64(events_of(m, SFID_EVENT_LOST), 0, "SKEW: nothing is lost");
    member_is_well(m, "SKEW");
    /* Further than half a window: no renewal, and the code of a clock. */
    const int from = atomic_load(&m->events);
    redis_clock_offset(r, TTL);
    const struct seen e = told(m, SFID_EVENT_RENEW_FAILED, from, "RENEW_FAILED");
    is_i64(e.code, SFID_ECLOCK, "SKEW: too far, and nothing is renewed");
    ok(place(m, SFID_EVENT_DISCONNECTED, from) < 0, "SKEW: the server does answer");
    const int right = atomic_load(&m->events);
    redis_clock_offset(r, 0);
    told(m, SFID_EVENT_RENEWED, right, "RENEWED, with the clock right");
}

/* What the open has noticed comes before the first thing that the thread does: no renewal has to
 * come first. */
static void test_open_ahead(struct redis *r, bool in_pool) {
    sfid_options opt = fleet_lease(r, in_pool ? "skew-pool" : "skew", 3 * TTL, TTL);
    char pool[600];
    snprintf(pool, sizeof pool, "pool:0-3=unix://a:pw@%s 4-7=unix://b:pw@%s", r->socket, r->socket);
    if (in_pool) {
        redis_do(r, "ACL", "SETUSER", "a", "on", ">pw", "~sfid:*", "+@all", NULL);
        redis_do(r, "ACL", "SETUSER", "b", "on", ">pw", "~sfid:*", "+@all", NULL);
        opt.store = pool;
        opt.pid_min = opt.pid_max = 0;
    }
    const int64_t begin = tap_now_ms();
    redis_clock_offset(r, -SKEW_MS);
    struct member *m = member_drawing(&opt);
    const struct seen e = told(m, SFID_EVENT_SKEW, 0, "SKEW");
    told(m, SFID_EVENT_LEASED, 0, "LEASED");
    ok(place(m, SFID_EVENT_CONNECTED, 0) < place(m, SFID_EVENT_SKEW, 0) &&
           place(m, SFID_EVENT_SKEW, 0) < place(m, SFID_EVENT_LEASED, 0) &&
           events_of(m, SFID_EVENT_RENEWED) == 0,
       "%s: told when the thread starts", opt.app);
    ok(strstr(e.text, "ahead") != NULL, "%s: in which direction", opt.app);
    in_time((struct took){llabs(e.value - SKEW_MS), took_since(begin).stood_ms}, SKEW_OFF_MS,
            "%s: by how much", opt.app);
    redis_clock_offset(r, 0);
    is_i64(member_end(m), 0, "%s: ends well", opt.app);
    judge(LAYOUT, "per-file", UINT64_MAX, opt.app);
}

/* A close asks the server, too, and its callback would be called by the thread that closes. */
static void test_close(struct redis *r) {
    sfid_options opt = fleet_lease(r, "closes", 24 * HOUR_MS, HOUR_MS);
    opt.short_ms = 0;
    struct member *m = member_drawing(&opt);
    told(m, SFID_EVENT_LEASED, 0, "LEASED");
    const int from = atomic_load(&m->events);
    redis_do(r, "FLUSHALL", NULL);
    redis_clock_offset(r, SKEW_MS);
    is_i64(member_end(m), 0, "a server that forgot, and whose clock was set: a close ends well");
    is_i64(atomic_load(&m->events), from, "and tells nothing of it");
    redis_clock_offset(r, 0);
    judge(LAYOUT, "per-file", UINT64_MAX, "closes");
}

static void test_server_ahead(struct redis *r) {
    test_open_ahead(r, false);
    test_open_ahead(r, true);
    test_close(r);
}

static void test_events(struct redis *r) {
    sfid_options opt = fleet_lease(r, "events", TTL, HEARTBEAT);
    opt.pid_max = FIRST_MAX;
    struct member *m = member_drawing(&opt);
    opt.app = "stopped";
    opt.pid_min = opt.pid_max = SECOND;
    fleet_timeout(&opt, r, TIMEOUT);
    struct member *other = member_drawing(&opt);
    test_begin(r, m);
    test_away(r, other, false, "stopped");
    is_i64(member_end(other), 0, "stopped: ends well");
    test_away(r, m, true, "dead");
    test_flush(r, m);
    test_skew(r, m);
    const int64_t begin = tap_now_ms();
    is_i64(member_end(m), 0, "ends well");
    is_u64(m->status.losses, 0, "sfid_status: no loss");
    is_u64(m->status.renew_failures, 0, "sfid_status: no failure since the last renewal");
    is_i64(m->status.connected, 1, "sfid_status: connected");
    in_time((struct took){llabs(m->status.skew_ms), took_since(begin).stood_ms}, SKEW_OFF_MS,
            "sfid_status: the skew of the last renewal is that of its exchange");
    judge(LAYOUT, "pid", UINT64_MAX, "events");
}

static void test_lost(struct redis *r) {
    sfid_options opt = fleet_lease(r, "lost", 3000, HEARTBEAT);
    struct member *m = member_drawing(&opt);
    const int64_t pid = atomic_load(&m->pid);
    member_stop(m);
    on_host(&opt, 1);
    opt.pid_min = opt.pid_max = pid;
    struct member *taker = members_new(1, &opt);
    tick_passes(&layout, tick_now(&layout) + 300, TAP_WAIT_MS);
    is_i64(member_open_one(taker), 0, "LOST: another process takes a pid");
    const int from = atomic_load(&m->events);
    member_go_on(m);
    struct seen e = told(m, SFID_EVENT_LOST, from, "LOST");
    is_i64(e.code, SFID_ELEASE, "LOST: its code");
    is_i64(e.pid, -1, "LOST: no pid is held");
    e = told(m, SFID_EVENT_LEASED_AGAIN, from, "LEASED_AGAIN");
    ok(e.pid >= 0 && (e.pid != pid || atomic_load(&taker->pid) != pid),
       "LEASED_AGAIN: its pid is the new one");
    ok(place(m, SFID_EVENT_LOST, from) < place(m, SFID_EVENT_LEASED_AGAIN, from),
       "LEASED_AGAIN: after LOST");
    ok(member_draws(m, 10, TAP_WAIT_MS), "LEASED_AGAIN: IDs again");
    is_i64(atomic_load(&m->pid), e.pid, "LEASED_AGAIN: with that pid");
    is_i64(events_of(m, SFID_EVENT_LEASED), 1, "LEASED was told at the beginning alone");
    is_i64(member_end(m) + member_end(taker), 0, "LOST: both end well");
    is_u64(m->status.losses, 1, "sfid_status: one loss");
    judge(LAYOUT, "per-file", UINT64_MAX, "lost");
}

int main(void) {
    fleet_begin(LAYOUT);
    on_running_servers(0, REDIS_CLOCK, BEARS_MS, test_events);
    on_running_servers(0, REDIS_CLOCK, BEARS_MS, test_server_ahead);
    on_servers(0, 0, test_answers_late);
    on_running_servers(1, 0, BEARS_MS, test_lost);
    return done_testing();
}
