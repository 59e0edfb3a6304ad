/* SPDX-License-Identifier: MIT */
/*
 * pair.h - a master and its replica, processes that lease from whoever is master, and a name that leads them there.
 */
#ifndef SFID_TESTS_PAIR_H
#define SFID_TESTS_PAIR_H

#include "holders.h"

enum { HOLDER, SECOND, QUICK, SLOW, NEWCOMER, MEMBERS };

struct pair {
    const char *program;
    struct redis node[2];
    int master;
    char name[140]; /* what leads to it */
    struct member *m;
    size_t number;
    int lost, again, failovers[QUICK + 1]; /* events so far: of the slow one, of the others */
    bool restarts; /* the former master was dead in between; else it lives, and has the same run_id as ever */
};

/* Whoever connects from now on gets to this node. */
static inline void lead_to(struct pair *p, int node) {
    char next[160];
    snprintf(next, sizeof next, "%s.next", p->name);
    unlink(next);
    if (symlink(p->node[node].socket, next) < 0 || rename(next, p->name) < 0)
        bail("%s: %s", p->name, strerror(errno));
    p->master = node;
}

/* Begins to; redis_replicate() waits until it does. Many begin at once. */
static inline void follow(struct pair *p) {
    char port[16];
    snprintf(port, sizeof port, "%d", p->node[p->master].port);
    redis_do(&p->node[1 - p->master], "REPLICAOF", "127.0.0.1", port, NULL);
}

/* The holder and the second one hold when this is back. set, where there is one, may change settings of members. */
static inline void begin(struct pair *p, const char *program, bool restarts, size_t number, void (*set)(struct pair *p)) {
    static const char *const names[MEMBERS] = {"holder", "second", "quick", "slow", "newcomer"};
    *p = (struct pair){.program = program, .m = members_make(MEMBERS), .number = number, .restarts = restarts};
    redis_start(&p->node[0], program, "one", REDIS_PORT, NULL);
    redis_start(&p->node[1], program, "two", REDIS_PORT, NULL);
    snprintf(p->name, sizeof p->name, "%s/master-%zu", tap_tmpdir(), number);
    lead_to(p, 0);
    follow(p);
    for (size_t i = 0; i < MEMBERS; i++) {
        char log[40], app[40];
        snprintf(log, sizeof log, "%s-%zu", names[i], number);
        snprintf(app, sizeof app, "failover-%zu", number);
        member_set(&p->m[i], p->name, app, log);
        p->m[i].pid_min = 4 * (int64_t)number;
        p->m[i].pid_max = p->m[i].pid_min + 3;
    }
    if (set)
        set(p);
    p->m[HOLDER].trust = true;
    member_start_or_bail(&p->m[HOLDER]);
    member_start_or_bail(&p->m[SECOND]);
}

static inline bool is_alone(void *arg) {
    char value[16];
    return strcmp(redis_info(arg, "replication", "connected_slaves", value, sizeof value), "0") == 0;
}

/* The replica hears no more. */
static inline void cut(struct pair *p) {
    redis_pause(&p->node[1 - p->master]);
    redis_do(&p->node[p->master], "CLIENT", "KILL", "TYPE", "replica", NULL);
    if (!tap_wait_until(is_alone, &p->node[p->master], 10000))
        bail("%s: the replica's link stays", p->program);
}

#endif
