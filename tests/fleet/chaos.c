/* SPDX-License-Identifier: MIT */
/*
 * Everything at once, at random: processes of four hosts whose clocks differ from the server's and
 * jump are killed, closed, stopped and started again, more of them than there are pids; the server
 * is stopped, flushed, killed and comes back empty, and its own clock jumps within the skew budget.
 * No ID comes twice, none lies outside its process's windows, and no two windows of a pid overlap.
 *
 * Sizes: 8 s (long: 120 s for each server; sanitizer: 8 s).
 */
#include "support/fleet.h"
#include "support/own_clock.h"

#define LAYOUT "39:3:14/10ms"
#define APP "chaos"

enum {
    MEMBERS = 7,
    PIDS = 5,
    HOSTS = 4,
    TTL = 2000,
    HEARTBEAT = 400,
    BUDGET = 500,
    SERVER_OFF_MS = BUDGET / 2 - 50
};

static uint64_t rng;

/* ---- clocks of their own ---------------------------------------------------- */

static void take_clock(struct member *m) { own_clock = &m->clock_offset_ns; }

/* ---- what happens ------------------------------------------------------------ */

struct chaos {
    struct redis *r;
    struct member *all;
    struct {
        int64_t ends_at, goes_on_at; /* monotonic; goes_on_at 0: not stopped */
        int64_t spared_till;         /* as long as it is opening */
    } now[MEMBERS];
    int64_t server_goes_on_at;
    unsigned lives, with_pid, kills, closes, stops, jumps, lost, flushes, restarts, pauses;
    int64_t ids, errors, skew_ms; /* the largest that a renewal showed, of those that closed */
};

static uint64_t up_to(uint64_t n) { return draw_random(&rng) % n; }

static void jump(struct member *m) {
    atomic_store(&m->clock_offset_ns, ((int64_t)up_to(2 * 900) - 900) * NS_PER_MS);
}

static void start_life(struct chaos *c, unsigned i) {
    if (up_to(2))
        jump(&c->all[i]);
    member_start(&c->all[i]);
    c->lives++;
    c->now[i].goes_on_at = 0;
    c->now[i].ends_at = mono_ns() + (int64_t)up_to(up_to(3) ? 1200 : 30) * NS_PER_MS;
    c->now[i].spared_till = mono_ns() + (up_to(4) ? 5000 : 0) * (int64_t)NS_PER_MS;
}

static void end_life(struct chaos *c, unsigned i, bool killing) {
    struct member *m = &c->all[i];
    if (killing)
        member_kill(m);
    else if (member_end(m) != 0)
        die("a member ends with status %d", m->ended);
    c->kills += killing;
    c->closes += !killing;
    c->with_pid += atomic_load(&m->opened) && m->rc == 0;
    c->ids += atomic_load(&m->ids);
    c->errors += atomic_load(&m->errors);
    c->skew_ms = llabs(m->status.skew_ms) > c->skew_ms ? llabs(m->status.skew_ms) : c->skew_ms;
    c->lost += (unsigned)events_of(m, SFID_EVENT_LOST);
}

/* Who is opening, or stopped, is killed, not waited for. */
static void attend_member(struct chaos *c, unsigned i) {
    struct member *m = &c->all[i];
    const int64_t now = mono_ns();
    if (c->now[i].goes_on_at && now >= c->now[i].goes_on_at) {
        member_go_on(m);
        c->now[i].goes_on_at = 0;
    }
    if (!atomic_load(&m->opened) && now < c->now[i].spared_till)
        return;
    if (now >= c->now[i].ends_at) {
        end_life(c, i,
                 c->now[i].goes_on_at != 0 || !atomic_load(&m->opened) || c->server_goes_on_at ||
                     up_to(2));
        start_life(c, i);
    } else if (up_to(400) == 0) {
        jump(m);
        c->jumps++;
    } else if (up_to(3000) == 0 && c->now[i].goes_on_at == 0) {
        member_stop(m);
        c->stops++;
        c->now[i].goes_on_at = now + (int64_t)up_to(TTL * 3 / 2) * NS_PER_MS;
        c->now[i].ends_at = c->now[i].goes_on_at + 300 * (int64_t)NS_PER_MS;
    }
}

static void attend_server(struct chaos *c) {
    const int64_t now = mono_ns();
    if (c->server_goes_on_at) {
        if (now < c->server_goes_on_at)
            return;
        redis_resume(c->r);
        c->server_goes_on_at = 0;
    }
    switch (up_to(6000)) {
    case 0:
        redis_do(c->r, "FLUSHALL", NULL);
        c->flushes++;
        break;
    case 1:
        redis_restart(c->r, true);
        c->restarts++;
        break;
    case 2:
    case 3:
        redis_pause(c->r);
        c->pauses++;
        c->server_goes_on_at = now + (int64_t)up_to(TTL) * NS_PER_MS;
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        redis_clock_offset(c->r, (int64_t)up_to(2 * SERVER_OFF_MS) - SERVER_OFF_MS);
        break;
    default:
        break;
    }
}

/* Their clocks differ, and processes get pids and draw all the while. */
static bool has_raged(const struct chaos *c) {
    return c->skew_ms > 100 && c->with_pid >= 10 && c->ids >= 1000;
}

/* For so long; and on until there was enough of it. */
static void rage(struct chaos *c, int64_t for_ns) {
    const int64_t end = mono_ns() + for_ns;
    struct patience p = {0};
    for (unsigned i = 0; i < MEMBERS; i++)
        start_life(c, i);
    for (; mono_ns() < end || (!has_raged(c) && patient(&p, TAP_WAIT_MS)); nap_us(1000)) {
        for (unsigned i = 0; i < MEMBERS; i++)
            attend_member(c, i);
        attend_server(c);
    }
    if (c->server_goes_on_at)
        redis_resume(c->r);
    for (unsigned i = 0; i < MEMBERS; i++)
        end_life(c, i, true);
}

/* The app is there from here on: nobody says again that it is new. */
static struct member *make_members(struct redis *r) {
    sfid_options opt = fleet_lease(r, APP, TTL, HEARTBEAT);
    opt.skew_budget_ms = BUDGET;
    opt.max_wait_ms = 50;
    opt.pid_max = PIDS;
    struct member *first = members_new(1, &opt), *all;
    member_open_or_die(first);
    member_end(first);
    opt.open_timeout_ms = 4000;
    opt.on_unknown = SFID_WAIT_OUT;
    all = members_new(MEMBERS, &opt);
    for (unsigned i = 0; i < MEMBERS; i++) {
        on_host(&all[i].opt, i % HOSTS);
        all[i].threads = 2;
        all[i].prepare = take_clock;
    }
    return all;
}

static void test_chaos(struct redis *r) {
    struct chaos c = {.r = r, .all = make_members(r)};
    rage(&c, (int64_t)sized(8, 120, 8) * 1000 * NS_PER_MS);
    diag(
        "figure: %u lives, %u got a pid; %u kills, %u closes, %u stops, %u clock jumps, %u pids lost; %" PRIi64
        " IDs, %" PRIi64 " refused calls",
        c.lives, c.with_pid, c.kills, c.closes, c.stops, c.jumps, c.lost, c.ids, c.errors);
    diag(
        "figure: the server: %u times flushed, %u killed, %u stopped; a host's clock up to %" PRIi64
        " ms away",
        c.flushes, c.restarts, c.pauses, c.skew_ms);
    ok(c.skew_ms > 100, "their clocks do differ");
    ok(c.with_pid >= 10 && c.ids >= 1000, "processes get pids and draw all the while");
    judge(LAYOUT, "per-file", UINT64_MAX, "chaos");
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    on_servers(1, REDIS_CLOCK, test_chaos);
    return done_testing();
}
