/* SPDX-License-Identifier: MIT */
/*
 * several.c - what befalls servers of which there are several: a replica that takes writes, a
 * master that has a successor.
 *
 * Hosts reach a server by one address. Which of the servers that is may differ from host to host,
 * and change.
 */
#include "sim.h"

static struct stream *const dice = &streams.faults;
static unsigned master;
static bool apart;
static bool away_side[HOSTS]; /* the hosts that reach the other server */

static int64_t any_ns(int64_t ns) { return up_to(dice, ns); }

static void choose_sides(void) {
    for (unsigned h = 0; h < hosts; h++)
        away_side[h] = chance(dice, 500);
}

static void lead(unsigned h, unsigned to) {
    if (host[h].server == to)
        return;
    note("host %u reaches server %u", h, to);
    host[h].server = to;
    host[h].first_connection = connections_made() + 1;
}

static void lead_all(unsigned to) {
    for (unsigned h = 0; h < hosts; h++)
        lead(h, to);
}

/* ---- a replica that takes writes: it grants nothing
 * --------------------------------------------------- */

void replica_begins(void) {
    servers = 2;
    server_follows(1, 0);
}

static void come_back(void *arg) {
    (void)arg;
    apart = false;
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, now_ns);
    server_follows(1, 0);
    lead_all(0);
}

/* What the master writes meanwhile reaches the replica or does not. */
void reach_replica(void) {
    if (apart)
        return;
    apart = true;
    if (chance(dice, 500))
        server_parts(1);
    choose_sides();
    const int64_t till = now_ns + any_ns(400 * SECOND);
    for (unsigned h = 0; h < hosts; h++)
        if (away_side[h]) {
            lead(h, 1);
            cause_begins(CAUSE_AWAY, (int)h, till + 2 * SECOND);
        }
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, now_ns);
    at_time(till, come_back, NULL);
}

/* ---- two masters: the old one does not know that it has a successor ------------------------- */

static bool hosts_first; /* hosts lose the master before its replica does */
static bool stops;       /* a master that has lost its replica, as min-replicas-to-write makes it */

void masters_begin(void) {
    stops = true;
    superseded_begins();
}

void superseded_begins(void) {
    servers = 2;
    server_follows(1, 0);
    if (stops)
        server_counts_replicas(0, 1);
}

/* What only the old one has is gone. */
static void heal(void *arg) {
    const unsigned old = master;
    (void)arg;
    apart = false;
    master = 1 - old;
    server_follows(old, master);
    if (stops)
        server_counts_replicas(master, 1);
    lead_all(master);
}

/* Newcomers, who take each pid as soon as it is to be had. */
static void begin_anew(struct host *h) {
    cause_begins(CAUSE_RUN_GONE, (int)(h - host), now_ns);
    kill_all(h);
    host_lose_run(h);
}

static void promote(void *arg) {
    const bool all_new = !hosts_first && chance(dice, 500);
    (void)arg;
    note("server %u becomes master", 1 - master);
    server_takes_over(1 - master);
    if (stops)
        server_counts_replicas(1 - master, 1); /* another one follows it */
    for (unsigned h = 0; h < hosts; h++)
        if (away_side[h]) {
            lead(h, 1 - master);
            if (all_new)
                begin_anew(&host[h]);
        }
}

/* They want the pids of the others, of which the windows end. */
static void others_begin_anew(void *arg) {
    (void)arg;
    for (unsigned h = 0; h < hosts; h++)
        if (!away_side[h])
            begin_anew(&host[h]);
}

static void stop_granting(void *arg) {
    (void)arg;
    if (apart)
        server_counts_replicas(master, 0);
}

/*
 * The skew budget has room for what the two clocks differ, for how long the old one goes on, and a
 * second. A host that reaches neither waits for the successor. Where hosts are cut off first,
 * windows of theirs end while the old one grants their pids to others, of which the successor does
 * not know.
 */
void split(void) {
    if (apart)
        return;
    apart = true;
    const int64_t room = terms.skew - SECOND;
    /* a window, if it has just been renewed or would be soon */
    const int64_t ends = terms.window - any_ns(terms.heartbeat);
    const int64_t promoted = now_ns + (hosts_first         ? ends
                                       : chance(dice, 500) ? 0
                                                           : any_ns(20 * SECOND));
    const int64_t healed = promoted + SECOND + any_ns((hosts_first ? 30 : 300) * SECOND);
    server[1 - master].offset_ns =
        chance(dice, 500) ? (chance(dice, 500) ? room : -room) / 2 : any_ns(room) - room / 2;
    const int64_t apart_by = llabs(server[0].offset_ns - server[1].offset_ns);
    const int64_t left =
        hosts_first || chance(dice, 500) ? room - apart_by : any_ns(room - apart_by);
    note(
        "server %u is cut off from server %u, their clocks differ by %.3f s, and it goes on for %.3f s",
        master, 1 - master, (double)apart_by / 1e9, (double)left / 1e9);
    choose_sides();
    if (!hosts_first)
        server_parts(1 - master);
    cause_begins(CAUSE_FAILS_OVER, EVERYWHERE, promoted);
    for (unsigned h = 0; h < hosts; h++)
        if (away_side[h]) {
            host[h].cut_till = promoted > host[h].cut_till ? promoted : host[h].cut_till;
            cause_begins(CAUSE_AWAY, (int)h, promoted + 2 * SECOND);
        } else if (stops) {
            cause_begins(CAUSE_AWAY, (int)h, healed + 2 * SECOND);
        }
    if (hosts_first)
        at_time(promoted - any_ns(terms.skew), others_begin_anew, NULL);
    at_time(promoted, promote, NULL);
    if (stops)
        at_time((hosts_first ? promoted : now_ns) + left, stop_granting, NULL);
    at_time(healed, heal, NULL);
}

void replaced_begins(void) {
    hosts_first = true;
    masters_begin();
}
