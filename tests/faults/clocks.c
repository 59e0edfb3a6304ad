/* SPDX-License-Identifier: MIT */
/*
 * How long holders go on without their server, by how far their clock is ahead of its: with real
 * servers and short windows, what the world outages of the simulation (tests/sim/outages.c) has as
 * a table. A server is killed or stopped seventeen twentieths of a heartbeat after a renewal, when
 * one that is not ahead is about to renew, and stays away until every window has ended. What is
 * lost with one that was killed is for outage.c.
 */
#include "support/faults.h"

/* ROOM: as in outage.c. MOMENT_MS: what a renewal takes. */
enum { ROOM = 2, MOMENT_MS = 250 };

static int64_t window(void) { return pace * ROOM * WINDOW_MS; }
static int64_t heartbeat(void) { return pace * ROOM * HEARTBEAT_MS; }

/* The offset in sixths of a heartbeat. */
static const struct cell {
    int sixths;
    bool dies; /* else it is stopped */
} cells[] = {{-4, true},  {0, true},  {4, true},  {8, true},
             {-4, false}, {0, false}, {4, false}, {8, false}};

struct scene {
    const struct cell *cell;
    struct redis r;
    struct member *m;
    char name[80];
    enum { HOLDS, DUE, AWAY, BACK, DONE } state;
    int renewals;
    int64_t cut_at, ids;
    /* the cut begins, and is done; the last ID; the server is there again */
    int64_t cut_ms, gone_ms, last_ms, back_ms;
    struct took first; /* from then on, to the first ID */
};

static int64_t ahead(const struct scene *s) { return s->cell->sixths * heartbeat() / 6; }

/* W - d - max(H/8, min(H, H - d)), and a tick, because a limit is rounded down. */
static int64_t promised(const struct scene *s) {
    const int64_t h = heartbeat(), sooner = h - ahead(s), least = sooner < h ? sooner : h;
    return window() - ahead(s) - (least > h / 8 ? least : h / 8) - UNIT_MS;
}

static void begin(struct scene *s, const char *program, size_t number) {
    *s = (struct scene){.cell = &cells[number]};
    redis_start(&s->r, program, "clocks", REDIS_CLOCK, NULL);
    redis_clock_offset(&s->r, -ahead(s));
    snprintf(s->name, sizeof s->name, "%s, %s, %+" PRId64 " ms", program,
             s->cell->dies ? "killed" : "stopped", ahead(s));
    s->m = members_at(s->r.socket, "clocks", number, 1, 1, NULL);
    s->m->nap_us = 10000;
    s->m->opt.ttl_ms = (uint32_t)window();
    s->m->opt.heartbeat_ms = (uint32_t)heartbeat();
    s->m->opt.skew_budget_ms = (uint32_t)(pace * ROOM * BUDGET_MS);
    s->m->opt.on_unknown = SFID_TRUST;
    s->m->opt.max_wait_ms = 200; /* so that one without a server ends */
    member_open_or_die(s->m);
}

static void cut(struct scene *s) {
    s->cut_ms = tap_now_ms();
    if (s->cell->dies)
        redis_kill(&s->r);
    else
        redis_pause(&s->r);
    s->gone_ms = tap_now_ms();
}

/* True if an ID has come since the last look. */
static bool has_come(struct scene *s) {
    const int64_t before = s->ids;
    s->ids = atomic_load(&s->m->ids);
    return s->ids != before;
}

/* What the renewals may take that come once the server goes on: a pause at most, and two
 * exchanges. */
static int64_t most_ms(void) { return heartbeat() + 2 * pace * EXCHANGE_MS; }

/* The next step of one scene, if its time has come. */
static void go_on(struct scene *s) {
    const int64_t now = tap_now_ms();
    const int renewals = events_of(s->m, SFID_EVENT_RENEWED);
    switch (s->state) {
    case HOLDS:
        if (s->renewals > 0 && renewals > s->renewals) { /* just now */
            s->cut_at = now + heartbeat() * 17 / 20;
            s->state = DUE;
        }
        s->renewals = renewals;
        break;
    case DUE:
        if (now >= s->cut_at) {
            cut(s);
            s->state = AWAY;
        }
        break;
    case AWAY:
        if (has_come(s))
            s->last_ms = now;
        /* the longest one ends two thirds of a heartbeat later than W */
        if (now < s->gone_ms + window() + heartbeat())
            break;
        if (!s->cell->dies)
            redis_resume(&s->r);
        s->back_ms = now;
        s->state = s->cell->dies ? DONE : BACK;
        break;
    case BACK:
        if (has_come(s) || now >= s->back_ms + most_ms() + (int64_t)scene_wait_ms()) {
            s->first = took_since(s->back_ms);
            s->state = DONE;
        }
        break;
    case DONE:
        break;
    }
}

static bool all_are_done(const struct scene *scenes) {
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        if (scenes[i].state != DONE)
            return false;
    return true;
}

static void settle(struct scene *s) {
    const int64_t went_on = s->last_ms - s->gone_ms,
                  limit = window() - ahead(s) + s->gone_ms - s->cut_ms;
    note_lasted((struct took){went_on, 0}, promised(s) - MOMENT_MS,
                "%s: goes on for as long as is promised", s->name);
    note_in_time((struct took){went_on, 0}, limit + MOMENT_MS, "%s: and no longer than its window",
                 s->name);
    diag("figure: %-36s last ID after %5" PRId64 " ms, promised %5" PRId64 " ms", s->name, went_on,
         promised(s));
    if (s->cell->dies)
        return;
    note_in_time(s->first, most_ms() + AT_ONCE_MS,
                 "%s: and has an ID in time once the server goes on", s->name);
    diag("figure: %-36s first ID after %4" PRId64 " ms, promised %5" PRId64 " ms", s->name,
         s->first.ms, most_ms());
}

static void all_clocks(void) {
    static struct scene scenes[COUNT_OF(cells)];
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        begin(&scenes[i], servers.installed[i % servers.n], i);
    for (; !all_are_done(scenes); nap_us(2000))
        for (size_t i = 0; i < COUNT_OF(cells); i++)
            go_on(&scenes[i]);
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        settle(&scenes[i]);
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        note_i64(members_end(scenes[i].m, 1), 0, "%s: ends well", scenes[i].name);
        redis_kill(&scenes[i].r);
    }
}

int main(void) {
    faults_begin();
    if (servers.n > 0)
        play(all_clocks, "clocks");
    return done_testing();
}
