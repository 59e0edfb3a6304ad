/* SPDX-License-Identifier: MIT */
/*
 * pair.h - a master and its replica, processes that lease from whoever is master, and a name that leads them there.
 */
#ifndef SFID_TESTS_PAIR_H
#define SFID_TESTS_PAIR_H

#include "support/clients.h"

enum { HOLDER, SECOND, QUICK, SLOW, NEWCOMER, MEMBERS };

struct pair {
    const char *program;
    struct redis node[2];
    int master;
    char name[140]; /* what leads to it */
    struct client *m;
    size_t number;
    int lost, again, failovers[QUICK + 1]; /* events so far: of the slow one, of the others */
    bool restarts; /* the former master was dead in between; else it lives, and has the same run_id as ever */
};

/* Whoever connects from now on gets to this node. */
void pair_lead_to(struct pair *p, int node);

/* Begins to; redis_replicate() waits until it does. Many begin at once. */
void pair_follow(struct pair *p);

/* The holder and the second one hold when this is back. set, where there is one, may change settings of members. */
void pair_begin(struct pair *p, const char *program, bool restarts, size_t number, void (*set)(struct pair *p));

/* The replica hears no more. */
void pair_cut(struct pair *p);

#endif
