/* SPDX-License-Identifier: MIT */
/*
 * Everything at random, for a while: servers that forget, restart from nothing or an old file, stand still, run out of memory,
 * close connections, have their clock set; holders that are killed, stopped, closed and started again. No ID is issued twice;
 * and when it is over everybody who holds a pid, or wants one, gets to draw within W + S.
 *
 * Sizes: a round (long: 15) of 5 s on each server, both at once. $SFID_TEST_SEED sets another seed.
 */
#include "support/faults.h"

enum { MEMBERS = 6, PIDS = 8, SKEW_MS = 400, STORM_HEARTBEAT_MS = 500 };

struct scene {
    const char *program;
    struct redis r;
    struct member *m;
    bool saved, stands, stopped[MEMBERS];
    int64_t resume_ms, go_on_ms[MEMBERS]; /* when */
    struct took slowest;
    uint64_t faults, deaths, *rng;
};

static uint64_t below(struct scene *s, uint64_t n) { return draw_random(s->rng) % n; }

static void begin(struct scene *s, const char *program, size_t number, uint64_t *rng) {
    *s = (struct scene){.program = program, .rng = rng};
    redis_start(&s->r, program, "storm", REDIS_CLOCK, NULL);
    s->m = members_at(s->r.socket, "storm", number, MEMBERS, PIDS, NULL);
    for (size_t i = 0; i < MEMBERS; i++) {
        s->m[i].opt.heartbeat_ms = STORM_HEARTBEAT_MS;
        s->m[i].opt.open_timeout_ms = 3600000;
    }
    s->m[0].opt.on_unknown = SFID_TRUST;
    member_open_or_die(&s->m[0]);
    s->m[0].opt.on_unknown = SFID_WAIT_OUT;
    for (size_t i = 1; i < MEMBERS; i++)
        member_open_or_die(&s->m[i]);
}

/* ---- to the server --------------------------------------------------------- */

static void forget_keys(struct scene *s, bool hash, bool registrations) {
    char key[100];
    snprintf(key, sizeof key, "sfid:%s", s->m->app);
    if (hash)
        redis_do(&s->r, "DEL", key, NULL);
    for (int64_t pid = s->m->opt.pid_min; registrations && pid <= s->m->opt.pid_max; pid++)
        registration_text(&s->r, "DEL", s->m->app, pid);
}

/* For a third of a second at most: its windows are not to end for this alone. */
static void stand_still(struct scene *s) {
    redis_pause(&s->r);
    s->stands = true;
    s->resume_ms = tap_now_ms() + (int64_t)below(s, 300);
}

static void hit_server(struct scene *s) {
    switch (below(s, 10)) {
    case 0:
        redis_do(&s->r, "FLUSHALL", NULL);
        break;
    case 1:
        forget_keys(s, true, false);
        break;
    case 2:
        forget_keys(s, below(s, 2), true);
        break;
    case 3:
        redis_do(&s->r, "SAVE", NULL);
        s->saved = true;
        break;
    case 4:
        redis_restart(&s->r, !s->saved);
        break;
    case 5:
        redis_restart(&s->r, true);
        s->saved = false;
        break;
    case 6:
        stand_still(s);
        break;
    case 7:
        cut_clients(&s->r);
        break;
    case 8:
        redis_do(&s->r, "CONFIG", "SET", "maxmemory", below(s, 2) ? "1" : "0", NULL);
        break;
    default:
        redis_clock_offset(&s->r, (int64_t)below(s, 2 * SKEW_MS) - SKEW_MS);
    }
}

/* ---- to a holder ----------------------------------------------------------- */

static void hit_member(struct scene *s, size_t i) {
    struct member *m = &s->m[i];
    if (s->stopped[i])
        return;
    switch (below(s, 3)) {
    case 0: /* up to twice a window */
        member_stop(m);
        s->stopped[i] = true;
        s->go_on_ms[i] = tap_now_ms() + (int64_t)below(s, 2 * WINDOW_MS);
        break;
    case 1:
        member_kill(m);
        s->deaths++;
        member_start(m);
        break;
    default:
        if (atomic_load(&m->opened)) { /* one that waits for a pid does not hear */
            member_end(m);
            member_start(m);
        }
    }
}

/* What has stood still long enough goes on. */
static void go_on(struct scene *s, bool all) {
    if (s->stands && (all || tap_now_ms() >= s->resume_ms)) {
        redis_resume(&s->r);
        s->stands = false;
    }
    for (size_t i = 0; i < MEMBERS; i++)
        if (s->stopped[i] && (all || tap_now_ms() >= s->go_on_ms[i])) {
            member_go_on(&s->m[i]);
            s->stopped[i] = false;
        }
}

static void storm(struct scene *s) {
    go_on(s, false);
    if (s->stands)
        return;
    s->faults++;
    if (below(s, 2))
        hit_server(s);
    else
        hit_member(s, below(s, MEMBERS));
}

/* ---- afterwards ------------------------------------------------------------ */

static void calm_down(struct scene *s) {
    go_on(s, true);
    redis_clock_offset(&s->r, 0);
    redis_do(&s->r, "CONFIG", "SET", "maxmemory", "0", NULL);
}

static void all_draw(struct scene *s, int64_t calm_ms) {
    int good = 0;
    for (size_t i = 0; i < MEMBERS; i++)
        good += member_opens(&s->m[i], TAP_WAIT_MS) && member_draws(&s->m[i], 10, TAP_WAIT_MS);
    const struct took took = took_since(calm_ms);
    is_i64(good, MEMBERS, "%s: afterwards all of them draw", s->program);
    /* One that has to find out first that its pid is lost asks at its next heartbeat. */
    in_time(took, wait_most_ms() + STORM_HEARTBEAT_MS + AT_ONCE_MS, "%s: W + S later at most", s->program);
    s->slowest = took_longer(s->slowest, took);
}

static void end(struct scene *s) {
    int bad = 0, lost = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        lost += events_of(&s->m[i], SFID_EVENT_LOST);
        bad += member_end(&s->m[i]) != 0;
    }
    is_i64(bad, 0, "%s: all end well", s->program);
    diag("figure: %-14s %" PRIu64 " faults, %" PRIu64 " deaths, %d pids lost; all drew again after %" PRId64 " ms at most",
         s->program, s->faults, s->deaths, lost, s->slowest.ms);
    redis_kill(&s->r);
}

static void one_round(struct scene *scenes, size_t n, uint64_t *rng) {
    enum { STORM_MS = 5000 };
    const int64_t until = tap_now_ms() + STORM_MS;
    while (tap_now_ms() < until) {
        for (size_t i = 0; i < n; i++)
            storm(&scenes[i]);
        nap_us((long)(draw_random(rng) % 200000));
    }
    for (size_t i = 0; i < n; i++)
        calm_down(&scenes[i]);
    const int64_t calm_ms = tap_now_ms();
    for (size_t i = 0; i < n; i++)
        all_draw(&scenes[i], calm_ms);
}

int main(void) {
    static struct scene scenes[2];
    uint64_t rng = faults_begin();
    const size_t n = servers.n;
    for (size_t i = 0; i < n; i++)
        begin(&scenes[i], servers.installed[i], i, &rng);
    for (uint64_t rounds = n > 0 ? sized(1, 15, 1) : 0; rounds > 0; rounds--)
        one_round(scenes, n, &rng);
    for (size_t i = 0; i < n; i++)
        end(&scenes[i]);
    return faults_end("a storm");
}
