/* SPDX-License-Identifier: MIT */
/*
 * operator.c - what an operator does by hand: all processes of the app are ended, then `sfid init`.
 *
 * What that states is true here: no process runs, and until what was left on the hosts has run out
 * every host reaches the server, and the server forgets nothing more. Some of what runs was told to
 * end, some was killed. The server may have forgotten the app before. Of what may be granted at
 * once a part is what a host has left, and wants to take up again.
 *
 * Or a host gets the other build of the library: processes that run keep theirs, which is the first
 * one at first. Some hosts start all of theirs again at once, in others both builds are side by
 * side for long. A host may get the first one back.
 */
#include "sim.h"

static bool wants_init;

static bool anybody_runs(void) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used)
            return true;
    return false;
}

static void init(void *arg) {
    (void)arg;
    if (!wants_init)
        return;
    if (anybody_runs()) /* one that was to start, or has not ended in time */
        for (unsigned h = 0; h < hosts; h++)
            kill_all(&host[h]);
    wants_init = false;
    note("nobody runs, and the operator says so");
    server_init(0);
    for (unsigned h = 0; h < hosts; h++) /* those claim what others have left */
        if (chance(&streams.faults, 500)) {
            cause_begins(CAUSE_POWER, (int)h, now_ns);
            host_lose_run(&host[h]);
        }
}

void start_over(void) {
    struct stream *dice = &streams.faults;
    /* programs of the crate are not ended */
    if (servers > 1 || has_kind("mixed") || wire_is_stated())
        return;
    wants_init = true;
    wire_good_till = now_ns + terms.window + terms.skew + 20 * SECOND;
    cause_begins(CAUSE_FORGOT, EVERYWHERE, now_ns);
    if (chance(dice, 700))
        server_change(0, SERVER_FLUSHES);
    server[0].down_till = now_ns;
    for (unsigned h = 0; h < hosts; h++) {
        host[h].cut_till = now_ns;
        cause_begins(CAUSE_KILL, (int)h, now_ns);
        if (chance(dice, 500))
            kill_all(&host[h]);
    }
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && !process[i].told_at)
            process_tell(&process[i]);
    at_time(now_ns + SECOND + up_to(dice, SECOND), init, NULL);
}

void upgrades_begin(void) {
    if (builds < BUILDS)
        broken("the world upgrades wants a --second-library");
}

void upgrade_host(void) {
    struct host *h = any_host();
    const bool at_once = chance(&streams.faults, 500);
    h->build = 1 - h->build;
    note("host %d has library %u", (int)(h - host), h->build);
    for (int i = 0; at_once && i < PROCESSES; i++)
        if (process[i].used && &host[process[i].host] == h && !process[i].told_at) {
            cause_begins(CAUSE_END, process[i].host, now_ns);
            process_tell(&process[i]);
        }
}
