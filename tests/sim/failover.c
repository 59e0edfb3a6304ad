/* SPDX-License-Identifier: MIT */
/*
 * failover.c - a master that a replica follows, and how hosts find the master: sentinels name it,
 * or a name of the network leads there. Both hear of a failover a while later, each sentinel and
 * each host by itself.
 *
 * Servers 0 and 1 have the data. Servers 2 and 3 are the sentinels; one of them may be away, or
 * name the replica, and that costs nothing: the other one is asked, and a server that is named says
 * by ROLE what it is.
 */
#include "sim.h"

#include <strings.h>

enum { SENTINEL = 2, SENTINELS = 2 };
#define SPREADS (5 * SECOND) /* until all sentinels know */
#define CACHED (20 * SECOND) /* until all hosts ask for the name again */

static struct stream *const dice = &streams.faults;
static unsigned master;
static bool by_name, by_sentinels, fails_over;
static unsigned says[SENTINELS]; /* each sentinel: who the master is */

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

static void begin(void) {
    for (unsigned i = 0; i < 2; i++)
        server[i].offset_ns = any_ns(2 * SECOND) - SECOND;
    server_follows(1, 0);
}

void sentinels_begin(void) {
    servers = SENTINEL + SENTINELS;
    by_sentinels = true;
    begin();
}

void names_begin(void) {
    servers = SENTINEL;
    by_name = true;
    begin();
}

/* ---- what a sentinel says --------------------------------------------------------------- */

size_t sentinel_answers(const struct command *c, char *out, size_t room) {
    if (!by_sentinels || c->server < SENTINEL)
        return 0;
    if (strcasecmp(c->argv[0], "SENTINEL") != 0)
        return (size_t)snprintf(out, room, "+OK\r\n");
    return (size_t)snprintf(out, room, "*2\r\n$8\r\n10.0.0.%u\r\n$4\r\n6379\r\n",
                            says[c->server - SENTINEL] + 1);
}

/* ---- who is the master ------------------------------------------------------------------- */

static void sentinel_hears(void *arg) { says[(uintptr_t)arg] = master; }

static void host_hears(void *arg) {
    struct host *h = arg;
    h->name_leads_to = master;
    note("host %d finds server %u under the name", (int)(h - host), master);
}

static void spread(void) {
    for (unsigned i = 0; i < SENTINELS && !by_name; i++)
        at_time(now_ns + any_ns(SPREADS), sentinel_hears, (void *)(uintptr_t)i);
    for (unsigned h = 0; h < hosts && by_name; h++)
        at_time(now_ns + any_ns(CACHED), host_hears, &host[h]);
}

static void stop_granting(void *arg) {
    (void)arg;
    if (fails_over)
        server_counts_replicas(1 - master, 0);
}

static void promote(void *arg) {
    (void)arg;
    master = 1 - master;
    note("server %u becomes master", master);
    server_takes_over(master);
    spread();
}

static void heal(void *arg) {
    (void)arg;
    fails_over = false;
    server_follows(1 - master, master);
}

/*
 * The old master is gone, or cut off from the replica alone and goes on for a while. What the
 * clocks of the two differ and how long it goes on have room in the skew budget, and a second.
 */
void master_fails(void) {
    if (fails_over)
        return;
    fails_over = true;
    const int64_t room = terms.skew - SECOND - llabs(server[0].offset_ns - server[1].offset_ns);
    const int64_t promoted = now_ns + any_ns(10 * SECOND),
                  stops = promoted + (chance(dice, 500) ? room : any_ns(room));
    const int64_t known = promoted + (by_name ? CACHED : SPREADS),
                  healed = known + any_ns(60 * SECOND);
    server_parts(1 - master);
    if (chance(dice, 500)) {
        server[master].down_till = healed;
        server_change(master, SERVER_RESTARTS);
    }
    note("server %u fails, server %u follows at %.3f", master, 1 - master, (double)promoted / 1e9);
    cause_begins(CAUSE_AWAY, EVERYWHERE, known + 2 * SECOND);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, known);
    at_time(promoted, promote, NULL);
    at_time(stops, stop_granting, NULL);
    at_time(healed, heal, NULL);
}

/* ---- what costs nothing ------------------------------------------------------------------ */

static unsigned any_sentinel(void) {
    argument_is_called("sentinel");
    return (unsigned)below(dice, SENTINELS);
}

/* Of two that are away at once nothing is promised. */
void sentinel_is_away(void) {
    const unsigned i = any_sentinel();
    if (fails_over || now_ns < server[SENTINEL + 1 - i].down_till || says[1 - i] != master)
        return;
    server[SENTINEL + i].down_till = now_ns + any_ns(60 * SECOND);
    note("sentinel %u is away", i);
}

void sentinel_is_wrong(void) {
    const unsigned i = any_sentinel();
    if (fails_over || now_ns < server[SENTINEL + 1 - i].down_till || says[1 - i] != master)
        return;
    says[i] = 1 - master;
    note("sentinel %u names the replica", i);
    at_time(now_ns + any_ns(60 * SECOND), sentinel_hears, (void *)(uintptr_t)i);
}

/* Who is connected does not ask for the name. */
void name_is_lost(void) {
    struct host *h = any_host();
    h->name_lost_till = now_ns + any_ns(60 * SECOND);
    note("host %d finds nobody under the name", (int)(h - host));
    cause_begins(CAUSE_AWAY, (int)(h - host), h->name_lost_till + 2 * SECOND);
}
