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
enum { ROOM = 2, W = ROOM * WINDOW_MS, H = ROOM * HEARTBEAT_MS, S = ROOM * BUDGET_MS, D = EXCHANGE_MS };
enum { FREE_MS = W + S + UNIT_MS + JITTER_MS }; /* how long a new pid may take after a forgetting */

struct outage {
    const char *name;
    int64_t away_ms;
    bool forgets; /* killed, and started again from nothing; else stopped, and resumed */
    bool stalls;  /* windows end meanwhile */
};

static const struct outage outages[] = {
    {"stopped for W - H - D", W - H - D, false, false},
    {"dead for W - 2H - S", W - 2 * H - S, true, false},
    {"stopped for W + 1 s", W + 1000, false, true},
    {"dead for W + 1 s", W + 1000, true, true},
};

struct scene {
    const struct outage *outage;
    const char *program;
    struct redis r;
    struct member *m;
    int64_t since_ns, back_ns, pid[HOLDERS];
    int renewed[HOLDERS], lost[HOLDERS];
    bool is_back;
};

static void begin(struct scene *s, const char *program, const struct outage *outage, size_t number) {
    *s = (struct scene){.outage = outage, .program = program};
    redis_start(&s->r, program, "outage", 0, NULL);
    s->m = members_at(s->r.socket, "outage", number, HOLDERS, HOLDERS, NULL);
    for (size_t i = 0; i < HOLDERS; i++) {
        s->m[i].opt.ttl_ms = W;
        s->m[i].opt.heartbeat_ms = H;
        s->m[i].opt.skew_budget_ms = S;
        s->m[i].opt.on_unknown = i == 0 ? SFID_TRUST : SFID_WAIT_OUT;
        member_open_or_die(&s->m[i]);
    }
}

static void go(struct scene *s) {
    for (int i = 0; i < HOLDERS; i++) {
        need(member_had(&s->m[i], SFID_EVENT_RENEWED, 1, W), "%s: no renewal", s->program);
        member_forget(&s->m[i]);
        s->pid[i] = atomic_load(&s->m[i].pid);
    }
    if (s->outage->forgets)
        redis_kill(&s->r);
    else
        redis_pause(&s->r);
    s->since_ns = mono_ns();
}

static void come_back(struct scene *s) {
    for (int i = 0; i < HOLDERS; i++)
        s->renewed[i] = events_of(&s->m[i], SFID_EVENT_RENEWED);
    if (s->outage->forgets)
        redis_restart(&s->r, true);
    else
        redis_resume(&s->r);
    s->back_ns = mono_ns();
    s->is_back = true;
}

/* Until all are back, in the order in which their time comes. */
static void wait_out(struct scene *scenes, size_t count) {
    for (size_t left = count; left > 0; nap_us(2000))
        for (size_t i = 0; i < count; i++)
            if (!scenes[i].is_back && mono_ns() >= scenes[i].since_ns + scenes[i].outage->away_ms * NS_PER_MS) {
                come_back(&scenes[i]);
                left--;
            }
}

/* Nothing was lost, or too late for anybody to show that it still is theirs. */
static void settle(struct scene *s) {
    const bool loses = s->outage->forgets && s->outage->stalls;
    const int64_t away_ms = (s->back_ns - s->since_ns) / NS_PER_MS;
    int64_t gap = 0;
    if (s->outage->forgets && !s->outage->stalls && away_ms > W - 2 * H - S / 2) {
        diag("%s, %s: %" PRId64 " ms away", s->program, s->outage->name, away_ms);
        skip(1, "the machine was busy: a server was away for longer than a window may last");
        return;
    }
    for (int i = 0; i < HOLDERS; i++) {
        struct member *m = &s->m[i];
        if (loses)
            ok(member_had(m, SFID_EVENT_LEASED_AGAIN, 1, 2 * FREE_MS) && events_of(m, SFID_EVENT_LOST) == 1,
               "%s, %s: %s loses its pid, and has one again", s->program, s->outage->name, m->name);
        else
            ok(member_had(m, SFID_EVENT_RENEWED, s->renewed[i] + 1, W) && events_of(m, SFID_EVENT_LOST) == 0 &&
                   atomic_load(&m->pid) == s->pid[i],
               "%s, %s: %s keeps its pid", s->program, s->outage->name, m->name);
        ok(member_draws(m, 10, patience(W)), "%s, %s: and draws", s->program, s->outage->name);
        gap = atomic_load(&m->gap_ms) > gap ? atomic_load(&m->gap_ms) : gap;
        if (!s->outage->stalls)
            is_i64(atomic_load(&m->errors), 0, "%s, %s: without an error", s->program, s->outage->name);
    }
    /* The table of what happens when: no stall; a heartbeat and what exchanges take; W + S. */
    const int64_t most = loses ? FREE_MS + H : H + 2 * D;
    const int64_t least = s->outage->away_ms - W - UNIT_MS; /* by then windows have ended */
    if (!s->outage->stalls)
        ok(gap <= SLACK_MS, "%s, %s: no stall (%" PRId64 " ms)", s->program, s->outage->name, gap);
    else
        ok(gap >= least && gap <= away_ms - W + H + most + SLACK_MS,
           "%s, %s: nothing is issued past the window, and the stall ends in time (%" PRId64 " ms)", s->program, s->outage->name,
           gap);
    diag("figure: %-14s %-22s %5" PRId64 " ms away, longest gap %5" PRId64 " ms", s->program, s->outage->name, away_ms, gap);
}

static void end(struct scene *s) {
    is_i64(members_end(s->m, HOLDERS), 0, "%s, %s: all end well", s->program, s->outage->name);
    redis_kill(&s->r);
}

int main(void) {
    static struct scene scenes[2 * COUNT_OF(outages)];
    size_t count = 0;
    faults_begin();
    for (size_t p = 0; p < servers.n; p++)
        for (size_t i = 0; i < COUNT_OF(outages); i++, count++)
            begin(&scenes[count], servers.installed[p], &outages[i], count);
    diag("figure: W %d ms, H %d ms, S %d ms, D %d ms", W, H, S, D);
    for (size_t i = 0; i < count; i++)
        go(&scenes[i]);
    wait_out(scenes, count);
    for (size_t i = 0; i < count; i++)
        settle(&scenes[i]);
    for (size_t i = 0; i < count; i++)
        end(&scenes[i]);
    return faults_end("outages");
}
