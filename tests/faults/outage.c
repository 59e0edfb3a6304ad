/* SPDX-License-Identifier: MIT */
/*
 * A server that is away for a while, with what it knew or without: how long holders go on, when they stop, and how they come
 * back. While it is away for less than a window and a heartbeat nobody notices. When a window ends nothing is issued any more;
 * with the server's memory kept, holders go on with their pid as soon as it is back; with that lost, they want another, which
 * is to be had W + S later.
 */
#include "support/faults.h"

enum { HOLDERS = 3 };

/* The settings of faults.h, but longer: a server may need more than a second to start, and S has to cover that. */
enum { ROOM = 2 };

static int64_t window(void) { return pace * ROOM * WINDOW_MS; }
static int64_t heartbeat(void) { return pace * ROOM * HEARTBEAT_MS; }
static int64_t exchange(void) { return pace * EXCHANGE_MS; }
static int64_t budget(void) { return pace * ROOM * BUDGET_MS; }

struct outage {
    const char *name;
    int heartbeats, budgets; /* how many of them less than a window */
    int64_t more_ms;         /* times pace */
    bool forgets;            /* killed, and started again from nothing; else stopped, and resumed */
    bool stalls;             /* windows end meanwhile */
};

static const struct outage outages[] = {
    {"stopped for W - H - D", 1, 0, -EXCHANGE_MS, false, false},
    {"dead for W - 2H - S", 2, 1, 0, true, false},
    {"stopped for W + 1 s", 0, 0, 1000, false, true},
    {"dead for W + 1 s", 0, 0, 1000, true, true},
};

static int64_t planned_ms(const struct outage *o) {
    return window() - o->heartbeats * heartbeat() - o->budgets * budget() + pace * o->more_ms;
}

struct scene {
    const struct outage *outage;
    const char *program;
    struct redis r;
    struct member *m;
    int64_t since_ms, again_ms, back_ms; /* the server has ended, begins again, answers */
    int64_t pid[HOLDERS];
    int renewed[HOLDERS], lost[HOLDERS];
    bool is_back;
};

static void begin(struct scene *s, const char *program, const struct outage *outage, size_t number) {
    *s = (struct scene){.outage = outage, .program = program};
    redis_start(&s->r, program, "outage", 0, NULL);
    s->m = members_at(s->r.socket, "outage", number, HOLDERS, HOLDERS, NULL);
    for (size_t i = 0; i < HOLDERS; i++) {
        s->m[i].opt.ttl_ms = (uint32_t)window();
        s->m[i].opt.heartbeat_ms = (uint32_t)heartbeat();
        s->m[i].opt.skew_budget_ms = (uint32_t)budget();
        s->m[i].opt.on_unknown = i == 0 ? SFID_TRUST : SFID_WAIT_OUT;
        member_open_or_die(&s->m[i]);
    }
}

static void go(struct scene *s) {
    for (int i = 0; i < HOLDERS; i++) {
        need(member_had(&s->m[i], SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "%s: no renewal", s->program);
        member_forget(&s->m[i]);
        s->pid[i] = atomic_load(&s->m[i].pid);
    }
    if (s->outage->forgets)
        redis_kill(&s->r);
    else
        redis_pause(&s->r);
    s->since_ms = tap_now_ms();
}

static void come_back(struct scene *s) {
    for (int i = 0; i < HOLDERS; i++)
        s->renewed[i] = events_of(&s->m[i], SFID_EVENT_RENEWED);
    s->again_ms = tap_now_ms();
    if (s->outage->forgets)
        redis_restart(&s->r, true);
    else
        redis_resume(&s->r);
    s->back_ms = tap_now_ms();
    s->is_back = true;
}

/* Until all are back, in the order in which their time comes. */
static void wait_out(struct scene *scenes, size_t count) {
    for (size_t left = count; left > 0; nap_us(2000))
        for (size_t i = 0; i < count; i++)
            if (!scenes[i].is_back && tap_now_ms() >= scenes[i].since_ms + planned_ms(scenes[i].outage)) {
                come_back(&scenes[i]);
                left--;
            }
}

/* Nothing was lost, or too late for anybody to show that it still is theirs. */
static void settle(struct scene *s) {
    const struct outage *o = s->outage;
    const bool loses = o->forgets && o->stalls;
    const int64_t away_ms = s->back_ms - s->since_ms, surely_ms = s->again_ms - s->since_ms;
    /* With windows eight times as long W + S alone is longer than TAP_WAIT_MS. */
    const unsigned wait = scene_wait_ms() + (unsigned)(loses ? budget() + window() + heartbeat() : 0);
    struct took gap = {0, 0};
    if (!o->stalls && away_ms > planned_ms(o) + (o->forgets ? budget() : exchange()) / 2)
        scene_off("%s, %s: %" PRId64 " ms away", s->program, o->name, away_ms);
    for (int i = 0; i < HOLDERS; i++) {
        struct member *m = &s->m[i];
        if (loses)
            note(member_had(m, SFID_EVENT_LEASED_AGAIN, 1, wait) && events_of(m, SFID_EVENT_LOST) == 1,
                 "%s, %s: %s loses its pid, and has one again", s->program, o->name, m->name);
        else
            note(member_had(m, SFID_EVENT_RENEWED, s->renewed[i] + 1, scene_wait_ms()) && events_of(m, SFID_EVENT_LOST) == 0 &&
                     atomic_load(&m->pid) == s->pid[i],
                 "%s, %s: %s keeps its pid", s->program, o->name, m->name);
        note(member_draws(m, 10, wait), "%s, %s: and draws", s->program, o->name);
        gap = took_longer(gap, member_gap(m));
        if (!o->stalls)
            note_i64(atomic_load(&m->errors), 0, "%s, %s: without an error", s->program, o->name);
    }
    /* The table of what happens when: no stall; a heartbeat and what exchanges take; W + S. */
    const int64_t most = loses ? budget() + window() + UNIT_MS + JITTER_MS + heartbeat() : heartbeat() + 2 * exchange();
    const int64_t over = away_ms - window(); /* for so long windows have been over when the server is back */
    if (!o->stalls) {
        note_in_time(gap, AT_ONCE_MS, "%s, %s: no stall", s->program, o->name);
    } else {
        note_lasted(gap, surely_ms - window() - UNIT_MS, "%s, %s: nothing is issued past the window", s->program, o->name);
        note_in_time(gap, over + heartbeat() + most + AT_ONCE_MS, "%s, %s: and the stall ends in time", s->program, o->name);
    }
    diag("figure: %-14s %-22s %5" PRId64 " ms away, longest gap %5" PRId64 " ms", s->program, o->name, away_ms, gap.ms);
}

static void end(struct scene *s) {
    note_i64(members_end(s->m, HOLDERS), 0, "%s, %s: all end well", s->program, s->outage->name);
    redis_kill(&s->r);
}

static void all_outages(void) {
    static struct scene scenes[2 * COUNT_OF(outages)];
    size_t count = 0;
    for (size_t p = 0; p < servers.n; p++)
        for (size_t i = 0; i < COUNT_OF(outages); i++, count++)
            begin(&scenes[count], servers.installed[p], &outages[i], count);
    diag("figure: W %" PRId64 " ms, H %" PRId64 " ms, S %" PRId64 " ms, D %" PRId64 " ms", window(), heartbeat(), budget(),
         exchange());
    for (size_t i = 0; i < count; i++)
        go(&scenes[i]);
    wait_out(scenes, count);
    for (size_t i = 0; i < count; i++)
        settle(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        end(&scenes[i]);
}

int main(void) {
    faults_begin();
    if (servers.n > 0)
        play(all_outages, "outages");
    return done_testing();
}
