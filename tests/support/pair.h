/* SPDX-License-Identifier: MIT */
/* pair.h - a master, its replica, processes that lease from the current master, and a name that
 * leads there. */
#ifndef SFID_TESTS_PAIR_H
#define SFID_TESTS_PAIR_H

#include "support/faults.h"

enum { HOLDER, SECOND, QUICK, SLOW, NEWCOMER, MEMBERS };

struct pair {
    const char *program;
    struct redis node[2];
    int master;
    char name[140]; /* leads to the master */
    struct member *m;
    size_t number;
    /* events so far: of the slow client, and of the others */
    int lost, again, failovers[QUICK + 1];
    int64_t stopped_ms; /* when the quick one was */
    bool quick_goes_on; /* again */
    /* the former master was dead meanwhile; otherwise it lives and keeps its run_id */
    bool restarts;
};

/* Leads new connections to this node. */
void pair_lead_to(struct pair *p, int node);

/* Starts to follow; redis_replicate() waits for that. Many may start at once. */
void pair_follow(struct pair *p);

/* Returns once the holder and the second client hold a pid. set, unless NULL, may change members'
 * settings. */
void pair_begin(struct pair *p, const char *program, bool restarts, size_t number,
                void (*set)(struct pair *p));

/* Cuts the replica off from its master. */
void pair_cut(struct pair *p);

#endif
