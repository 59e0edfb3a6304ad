/* SPDX-License-Identifier: MIT */
/*
 * In a cluster, the app's slot begins to move to a node, and the move is called off. Nothing may be
 * left at that node: it would pass for the current hash when the slot comes there after all, past
 * its q and without the records of those who hold a pid.
 *
 * Two things prevent that: the client does not follow ASK, and the script answers MOVING where the
 * slot is only being imported. Without the look for `[slot-<-` in the script's place(), the
 * question with ASKING below leaves a hash at the node; then the newcomer at the end is granted the
 * pid that the holder draws from, and the checker finds duplicates. The config epoch does not help:
 * the node has the highest before, so taking the slot does not raise it.
 */
#include "support/fleet.h"

#include "support/clusters.h"
#include "support/retake.h"

#define LAYOUT "39:6:14/10ms"
#define APP "{off}"

enum {
    TTL = 4000,
    HEARTBEAT = 1000,
    BUDGET = 500,
    PID = 5,
    NODE_TIMEOUT_MS = 5000,
    BEARS_MS = 1000
};

struct scene {
    struct cluster c;
    char store[220], slot[8];
    int number, owner, other;
};

static sfid_options options_at(const struct scene *s) {
    sfid_options opt = fleet_lease(&s->c.node[0], APP, TTL, HEARTBEAT);
    opt.store = s->store;
    opt.pid_min = opt.pid_max = PID; /* who comes second has no other */
    opt.skew_budget_ms = BUDGET;
    return opt;
}

static void set_slot(struct scene *s, int node, const char *state, const char *id) {
    redis_do(&s->c.node[node], "CLUSTER", "SETSLOT", s->slot, state, id, NULL);
}

static int64_t keys_at(struct scene *s, int node) {
    return redis_do(&s->c.node[node], "CLUSTER", "COUNTKEYSINSLOT", s->slot, NULL);
}

/* ---- the script, by hand ------------------------------------------------------------ */

/* A claim as the library asks, of a client that follows ASK. */
static const char *claim_asking(struct scene *s, int node) {
    char epoch[24], now[24];
    struct redis *r = &s->c.node[node];
    snprintf(epoch, sizeof epoch, "%" PRIi64, layout.epoch_ms);
    snprintf(now, sizeof now, "%" PRIi64, wall_ns() / NS_PER_MS);
    char *script = files_text(LEASE_SCRIPT);
    redis_do(r, "ASKING", NULL);
    const char *answer = redis_text(r, "EVAL", script, "1", "sfid:" APP, "claim", "39:6:14", epoch,
                                    "10", "4000", "500", now, "0", "5", "5", "1", "0", "0", "0",
                                    "5", "0000000000000001", "asking:0:0123456789abcdef", NULL);
    free(script);
    return answer;
}

/* ---- the move ----------------------------------------------------------------------- */

static void begin_move(struct scene *s) {
    set_slot(s, s->other, "IMPORTING", s->c.id[s->owner]);
    set_slot(s, s->owner, "MIGRATING", s->c.id[s->other]);
}

static void call_off(struct scene *s) {
    set_slot(s, s->owner, "STABLE", NULL);
    set_slot(s, s->other, "STABLE", NULL);
}

static void test_called_off(struct scene *s, struct member *first) {
    begin_move(s);
    first->opt.open_timeout_ms = 600;
    is_i64(member_open_in_vain(first), SFID_EREDIS,
           "while the slot moves a newcomer does not open: %s", first->text);
    member_end(first);
    const char *said = claim_asking(s, s->other);
    if (!ok(strstr(said, "MOVING") != NULL, "a claim with ASKING is answered MOVING"))
        diag("%s", said);
    is_i64(keys_at(s, s->other), 0, "and nothing is written there");
    call_off(s);
}

static void give_slot(struct scene *s) {
    set_slot(s, s->other, "NODE", s->c.id[s->other]);
    set_slot(s, s->owner, "NODE", s->c.id[s->other]);
}

static void test_given(struct scene *s, struct member *holder, struct member *newcomer) {
    redis_do(&s->c.node[s->owner], "FLUSHALL", NULL);
    newcomer->opt.on_unknown = SFID_WAIT_OUT;
    /* the wait for windows that a server may have forgotten is over then */
    newcomer->opt.open_timeout_ms = 2 * TTL;
    on_host(&newcomer->opt, 1);
    give_slot(s);
    member_start(newcomer);
    ok(flag_wait(&newcomer->opened, 1, 2 * TTL + TAP_WAIT_MS), "the newcomer's open is over");
    ok(newcomer->rc < 0, "the newcomer does not get the holder's pid: %s", newcomer->text);
    ok(member_draws(holder, 100, TAP_WAIT_MS), "the holder draws on");
    is_i64(cluster_next_owner(&s->c, s->number, s->owner, STACK_WAIT_MS), s->other,
           "the other node has the slot");
    member_is_well(holder, "the holder");
    is_i64(events_of(holder, SFID_EVENT_LOST), 0, "and it lost nothing");
    member_end(newcomer);
    is_i64(member_end(holder), 0, "the holder ends well");
    newcomer->opt.open_timeout_ms = TAP_WAIT_MS;
    is_i64(member_open_one(newcomer), 0, "then the newcomer has the pid");
    ok(member_draws(newcomer, 100, TAP_WAIT_MS), "and draws");
    is_i64(member_end(newcomer), 0, "and ends well");
}

static void test_cluster(void *arg) {
    static struct scene s;
    const char *program = arg;
    cluster_start(&s.c, program, NODE_TIMEOUT_MS);
    snprintf(s.store, sizeof s.store, "%s?timeout=300ms&connect_timeout=300ms", s.c.url);
    s.number = cluster_slot(&s.c, "sfid:" APP);
    snprintf(s.slot, sizeof s.slot, "%d", s.number);
    s.owner = cluster_owner(&s.c, s.number);
    s.other = cluster_other_master(&s.c, s.owner);
    diag("%s: %s", program, redis_text(&s.c.node[s.other], "CLUSTER", "BUMPEPOCH", NULL));
    const sfid_options opt = options_at(&s);
    struct member *m = members_new(3, &opt);
    test_called_off(&s, &m[0]);
    nap_us((TTL + BUDGET + 200) * 1000L); /* past the q of a hash that was left there */
    member_open_or_die(&m[1]);
    ok(member_had(&m[1], SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "called off: a holder at the owner");
    test_given(&s, &m[1], &m[2]);
    cluster_end(&s.c);
    judge(LAYOUT, "per-file", UINT64_MAX, "a move called off");
}

int main(void) {
    fleet_begin(LAYOUT);
    for (size_t i = 0; i < servers.n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        retake(test_cluster, (void *)servers.installed[i], BEARS_MS, fleet_forget);
    return done_testing();
}
