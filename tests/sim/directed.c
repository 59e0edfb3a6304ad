/* SPDX-License-Identifier: MIT */
/* directed.c - faults that are aimed at one rule, where chance would take years. */
#include "sim.h"

static struct stream *const dice = &streams.faults;

static int64_t any_ns(int64_t ns) { return up_to(&streams.faults, ns); }

/* ---- directed at S: one that is behind follows, empty, while half of the hosts cannot reach it
 * --------- */

/* Hosts are behind, too, so that they generate for longer in what the server before has granted. */
static void set_clocks_back(void) {
    for (unsigned h = 0; h < hosts; h++) {
        host[h].offset_ns = -1500 * MS; /* with the step of the server just below max_skew_ms */
        host[h].drift_ppm = 0;
    }
    cause_begins(CAUSE_CLOCK, EVERYWHERE, now_ns + 1600 * MS);
}

void behind_and_empty(void) {
    static bool is_behind, began;
    if (!began)
        set_clocks_back();
    began = true;
    is_behind = !is_behind;
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, now_ns);
    server[struck].offset_ns = (terms.skew / 2 - 100 * MS) * (is_behind ? -1 : 1);
    if (!is_behind) {
        server_change(struck, SERVER_SAVES);
        server_change(struck, SERVER_LOADS_SAVE);
        return;
    }
    for (unsigned h = 0; h < hosts; h++)
        if (h < hosts / 2) {
            host[h].cut_till = now_ns + terms.window + terms.skew + any_ns(20 * SECOND);
            cause_begins(CAUSE_AWAY, (int)h, host[h].cut_till + 2 * SECOND);
        } else {
            kill_all(&host[h]);
            host_lose_run(&host[h]);
        }
    server_change(struck, SERVER_FORGETS);
}

/* ---- directed at limits: half of the hosts are away until the others want their pids, which have
 * run out --------- */

static void all_want_pids(void *arg) {
    for (unsigned h = hosts / 2; h < hosts; h++) {
        /* the page is lost with them */
        cause_begins(kind_has_servers() ? CAUSE_KILL : CAUSE_POWER, (int)h, now_ns);
        kill_all(&host[h]);
        host_lose_run(&host[h]);
    }
    (void)arg;
}

static void forget_all(void *arg) {
    cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
    server_change(struck, SERVER_FLUSHES);
    (void)arg;
}

/*
 * Those that come back may be the first to ask a server that has forgotten who has their pids now.
 * Before it begins again, the windows of those that were killed are over.
 */
void half_away(void) {
    static int64_t over;
    if (now_ns < over)
        return;
    const int64_t back = now_ns + terms.window + terms.skew + any_ns(20 * SECOND);
    for (unsigned h = 0; h < hosts / 2; h++) {
        host[h].cut_till = back;
        cause_begins(CAUSE_AWAY, (int)h, back + 2 * SECOND);
    }
    over = back + terms.window;
    at_time(back - terms.skew - 20 * SECOND, all_want_pids, NULL);
    if (chance(&streams.faults, 500))
        at_time(back, forget_all, NULL);
}

/* ---- directed at a server's clock: it jumps by more than max_skew_ms, so that every question is
 * refused ------------------- */

#define JUMP (1000 * SECOND)
#define STEP SECOND

static void jump_back(void *arg) {
    (void)arg;
    note("the clock of server %u is right", struck);
    server[struck].offset_ns = 0;
}

/*
 * While no window ends, holders notice nothing but an event; with one that is brief they may run
 * out. The pauses between tries, the last of which may be the longest, are part of the time.
 */
void jump(void) {
    static int64_t till;
    if (now_ns < till + terms.window)
        return;
    const bool is_short = chance(dice, 500);
    till = now_ns + (is_short
                         ? any_ns(terms.window - terms.heartbeat - 2 * terms.deadline - 10 * SECOND)
                         : any_ns(3 * terms.window));
    server[struck].offset_ns = chance(dice, 500) ? JUMP : -JUMP;
    note("the clock of server %u jumps, until %.3f", struck, (double)till / 1e9);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, till); /* to newcomers: nobody is granted anything */
    if (!is_short || !has_kind("even"))
        cause_begins(CAUSE_AWAY, EVERYWHERE, till);
    at_time(till, jump_back, NULL);
}

/* Costs nothing. */
void step_server(void) {
    if (llabs(server[struck].offset_ns) <= STEP)
        server[struck].offset_ns = any_ns(2 * STEP) - STEP;
}

/* ---- directed at strangers: programs of the crate take pids of ours, whose registrations are gone
 * ------------------------- */

void evict_registrations(void) {
    cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
    /* there may be fewer pids than programs */
    cause_begins(CAUSE_AWAY, EVERYWHERE, now_ns + terms.window);
    server_change(struck, SERVER_EVICTS);
    if (has_kind("mixed"))
        crates_begin_again();
}
