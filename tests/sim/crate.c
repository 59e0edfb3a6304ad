/* SPDX-License-Identifier: MIT */
/*
 * crate.c - programs of the Rust crate sfid beside ours, which keep no record.
 *
 * Such a program takes a pid whose registration is missing, for 600 s, shows it again each 180 s,
 * and begins each second of its clock at sequence 0. When it ends, its registration stays.
 * doc/protocol.md has what it lacks. Little of that happens here: it is never stopped, its clock is
 * right within the skew budget, and no two look at the same pids.
 *
 * Two things remain. After the registrations are lost, it may take a pid that one of ours holds;
 * ours notices at its next renewal. Until the window ends that was open then, IDs of the pid may
 * repeat; and for longer if registrations are lost once more before ours renews: it goes on, and
 * notices nothing. And if it cannot show its registration in time, it goes on, and its pid may be
 * another one's.
 *
 * Ours that has learned of a stranger issues no more IDs of that pid, not even to the end of its
 * window.
 */
#include "kinds.h"

#define LASTS (600 * SECOND)
#define SHOWN_EACH (180 * SECOND)
#define LIFE (900 * SECOND)
#define TRIES_AGAIN (5 * SECOND)
enum { CRATES = 3 };

static struct crate {
    int host;
    uint64_t first, pid, tick, seq; /* first: from which on it looks for a pid */
    bool has_pid, late, contested;  /* contested: one of ours held its pid when it took it */
    int64_t ends, shown;            /* last */
} crate[CRATES];

#define TOLD_BY (5 * SECOND)                    /* an answer that is not lost */
static int64_t strangers_since[HOSTS][1 << 11]; /* the server said so there; 0: it did not */

void stranger_has(int where, uint64_t pid, bool has) {
    if (pid < sizeof strangers_since[0] / sizeof strangers_since[0][0])
        strangers_since[where][pid] = has ? now_ns : 0;
}

/* One that is lost comes again. */
void check_stranger(uint64_t pid) {
    const int where = me->process->host;
    const int64_t since = strangers_since[where][pid];
    if (since && now_ns > since + TOLD_BY &&
        (wire_faulty == WIRE_GOOD || !holder_is_excused(where)))
        blame("STRANGER: an ID of pid %" PRIu64 ", which another one has", pid);
}

static int64_t any_time(const struct crate *c, int64_t ns) {
    return up_to(&host[c->host].stream, ns);
}

static bool is_reached(const struct crate *c) {
    return host[c->host].cut_till <= now_ns && server[0].down_till <= now_ns;
}

static void take_pid(struct crate *c) {
    for (uint64_t pid = c->first; pid < settings.pids && !c->has_pid; pid += CRATES)
        if (server_registers(0, pid, LASTS / MS, true)) {
            c->pid = pid;
            c->has_pid = true;
            c->late = false;
            note("a program of the crate on host %d takes pid %" PRIu64, c->host, pid);
            c->contested = check_taken(pid);
        }
    c->ends = now_ns + any_time(c, 2 * LIFE);
}

static void draw(struct crate *c) {
    const uint64_t tick = (uint64_t)(lib.min_at(NULL, wall_ns(&host[c->host]) / MS) >> TICK_SHIFT);
    if (tick > c->tick) {
        c->tick = tick;
        c->seq = 0;
    }
    c->late |= now_ns > c->shown + SHOWN_EACH + 2 * settings.gap_ns;
    if (c->late || c->contested)
        check_disputed(c->pid, c->tick + (uint64_t)(terms.window / SECOND));
    for (uint64_t n = 1 + below(&host[c->host].stream, 4); n > 0; n--)
        check_foreign(c->pid, c->tick, c->seq++);
}

static void live(void *arg) {
    struct crate *c = arg;
    int64_t next = any_time(c, 2 * settings.gap_ns);
    if (c->has_pid && (now_ns > c->ends || now_ns > c->shown + LASTS)) {
        note("a program of the crate on host %d ends, pid %" PRIu64, c->host, c->pid);
        c->has_pid = false;
        next += TRIES_AGAIN;
    } else if (!c->has_pid) {
        if (is_reached(c))
            take_pid(c);
        c->shown = now_ns;
        next += c->has_pid ? 0 : TRIES_AGAIN;
    } else if (now_ns > c->shown + SHOWN_EACH && is_reached(c)) {
        server_registers(0, c->pid, LASTS / MS, false);
        c->shown = now_ns;
    }
    if (c->has_pid)
        draw(c);
    at_time(now_ns + next, live, c);
}

void crates_begin_again(void) {
    /* one that ours has just given back may be taken in the same tick */
    for (uint64_t pid = 0; pid < settings.pids; pid++)
        check_disputed(pid, (uint64_t)(lib.min_at(NULL, wall_ns(&host[0]) / MS) >> TICK_SHIFT) +
                                (uint64_t)(terms.skew / SECOND));
    for (unsigned i = 0; i < CRATES; i++) {
        crate[i].has_pid = false;
        crate[i].first = i + CRATES * below(&streams.faults, settings.pids / CRATES);
        take_pid(&crate[i]);
        crate[i].shown = now_ns;
    }
}

void crates_go_to(int where) {
    for (unsigned i = 0; i < CRATES; i++)
        crate[i].host = where;
}

void crates_begin(void) {
    for (unsigned i = 0; i < CRATES; i++) {
        crate[i].host = (int)(i % hosts);
        crate[i].first = i;
        at_time(now_ns + any_time(&crate[i], LIFE / 2), live, &crate[i]);
    }
}
