/* SPDX-License-Identifier: MIT */
/* directed.c - faults that are aimed at one rule, where chance would take years. */
#include "sim.h"

static int64_t any_ns(int64_t ns) { return up_to(&streams.faults, ns); }

/* ---- directed at S: one that is behind follows, empty, while half of the hosts cannot reach it --------- */

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

/* ---- directed at limits: half of the hosts are away until the others want their pids, which have run out --------- */

static void all_want_pids(void *arg) {
    for (unsigned h = hosts / 2; h < hosts; h++) {
        cause_begins(kind_has_servers() ? CAUSE_KILL : CAUSE_POWER, (int)h, now_ns); /* the page is lost with them */
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
 * Those that come back may be the first to ask a server that has forgotten who has their pids now. Before it begins again, the windows
 * of those that were killed are over.
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
