/* SPDX-License-Identifier: MIT */
#include "support/pair.h"

void pair_lead_to(struct pair *p, int node) {
    lead_to(p->name, p->node[node].socket);
    p->master = node;
}

void pair_follow(struct pair *p) {
    char port[16];
    snprintf(port, sizeof port, "%d", p->node[p->master].port);
    redis_do(&p->node[1 - p->master], "REPLICAOF", "127.0.0.1", port, NULL);
}

void pair_begin(struct pair *p, const char *program, bool restarts, size_t number,
                void (*set)(struct pair *p)) {
    static const char *const names[MEMBERS] = {"holder", "second", "quick", "slow", "newcomer"};
    *p = (struct pair){.program = program, .number = number, .restarts = restarts};
    redis_start(&p->node[0], program, "one", REDIS_PORT, NULL);
    redis_start(&p->node[1], program, "two", REDIS_PORT, NULL);
    snprintf(p->name, sizeof p->name, "%s/master-%zu", socket_dir(), number);
    pair_lead_to(p, 0);
    pair_follow(p);
    p->m = members_at(p->name, "failover", number, MEMBERS, 4, names);
    if (set)
        set(p);
    p->m[HOLDER].opt.on_unknown = SFID_TRUST;
    member_open_or_die(&p->m[HOLDER]);
    member_open_or_die(&p->m[SECOND]);
}

static bool is_alone(void *arg) {
    char value[16];
    return strcmp(redis_info(arg, "replication", "connected_slaves", value, sizeof value), "0") ==
           0;
}

void pair_cut(struct pair *p) {
    redis_pause(&p->node[1 - p->master]);
    redis_do(&p->node[p->master], "CLIENT", "KILL", "TYPE", "replica", NULL);
    need(tap_wait_until(is_alone, &p->node[p->master], TAP_WAIT_MS), "%s: the replica's link stays",
         p->program);
}
