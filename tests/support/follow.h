/* SPDX-License-Identifier: MIT */
/* follow.h - a crowd of processes that lease from whoever has their app now, and how they follow when that changes. */
#ifndef SFID_TESTS_FOLLOW_H
#define SFID_TESTS_FOLLOW_H

#include "support/fleet.h"

enum { CROWD_MOST = 32 };

struct crowd {
    const char *program;
    struct member *m;
    unsigned n;
    int renewed[CROWD_MOST], failovers[CROWD_MOST]; /* as of crowd_note() */
};

/* Opens them all, on several hosts; they draw until crowd_end(). */
void crowd_begin(struct crowd *c, const char *program, unsigned n, const sfid_options *opt);

/* Before something is done to their server. */
void crowd_note(struct crowd *c);
bool crowd_has_renewed(void *arg);

/* Everybody has come to another server, or another era, since crowd_note(), and has renewed there. */
bool crowd_follows(struct crowd *c);
bool crowd_is_well(const struct crowd *c, const char *what);
void crowd_end(struct crowd *c);

#endif
