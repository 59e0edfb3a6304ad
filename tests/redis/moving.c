/* SPDX-License-Identifier: MIT */
/*
 * A slot on its way from one node of a cluster to another: the node that does not own it yet grants
 * nothing, and the config epoch of a node is part of who it is.
 *
 * Sizes: one server (long: each).
 */
#include "support/app.h"
#include "support/clusters.h"

static struct cluster c;
static char slot[8];

/* The app at a node. The clock is the real one, and 60 s windows outlast the test. */
static struct app at(int node) {
    return (struct app){.redis = &c.node[node],
                        .about = "",
                        .key = "sfid:{app}",
                        .bits = "36:11:17",
                        .epoch = INT64_C(1766361600000),
                        .unit = 1000,
                        .window = 60000,
                        .slack = 5000,
                        .pid_max = 2,
                        .registration = 1};
}

/* As a client that follows ASK would. */
static const char *asking(struct app *a, const char *op, const char *first, const char *base) {
    redis_do(a->redis, "ASKING", NULL);
    return app_say(a, op, first, "n", base, "n1", "99999999999", NULL);
}

static bool begins(const char *said, const char *with, const char *name) {
    return ok(strncmp(said, with, strlen(with)) == 0, "%s: %s", name, said);
}

static void begin_move(int from, int to) {
    redis_do(&c.node[to], "CLUSTER", "SETSLOT", slot, "IMPORTING", c.id[from], NULL);
    redis_do(&c.node[from], "CLUSTER", "SETSLOT", slot, "MIGRATING", c.id[to], NULL);
}

static void call_off(int from, int to) {
    redis_do(&c.node[to], "CLUSTER", "SETSLOT", slot, "STABLE", NULL);
    redis_do(&c.node[from], "CLUSTER", "SETSLOT", slot, "STABLE", NULL);
}

static void is_empty(int node, const char *name) {
    is_i64(redis_do(&c.node[node], "CLUSTER", "COUNTKEYSINSLOT", slot, NULL), 0, "%s", name);
}

static int64_t epoch_of(int node) {
    const char *info = redis_text(&c.node[node], "CLUSTER", "INFO", NULL),
               *mine = strstr(info, "cluster_my_epoch:");
    return mine ? strtoll(mine + 17, NULL, 10) : -1;
}

/* A new app at the owner; the move begins and is called off; the server forgets; the slot comes to
 * the other node after all. */
static void called_off(int from, int to, bool raised) {
    struct app old = at(from), new = at(to);
    char era[sizeof old.era], limit[16] = "";
    const char *const bases[] = {"m:0:00000000000000aa", "m:0:00000000000000bb"};
    redis_do(old.redis, "FLUSHALL", NULL);
    app_say(&old, "init", "", NULL);
    begins(app_say(&old, "claim", "0", "n", bases[0], NULL), "OK ", "a holder at the owner");
    ok(sscanf(old.said, "OK %*s %15[0-9]", limit) == 1, "with a limit: %s", old.said);
    memcpy(era, old.era, sizeof era);
    begin_move(from, to);
    begins(asking(&new, "claim", "0", bases[1]), "MOVING", "the node that imports: claim");
    begins(asking(&new, "renew", "0", bases[0]), "MOVING", "the node that imports: renew");
    begins(asking(&new, "release", "0", bases[0]), "MOVING", "the node that imports: release");
    begins(asking(&new, "init", "", NULL), "MOVING", "the node that imports: init");
    begins(asking(&new, "look", "0", NULL), "MOVING", "the node that imports: look");
    begins(app_say(&new, "claim", "0", "n", bases[1], NULL), "-MOVED ",
           "unless asked to it sends claims to the owner");
    is_empty(to, "nothing was written there");
    ok(strstr(app_say(&old, "claim", "1", "n", bases[1], NULL),
              "cript attempted to access a non local key") != NULL,
       "at the owner a claim fails that has to register another pid: %s", old.said);
    old.registration = 0;
    begins(app_say(&old, "look", "0", NULL), "OK current ", "it may be looked at");
    ok(!strstr(old.said, bases[1]), "nothing was granted");
    begins(app_say(&old, "claim", "1", "n", bases[1], NULL), "OK ",
           "without registration the owner goes on while it has the hash");
    is_str(old.era, era, "in its era");
    old.registration = 1;
    begins(app_say(&old, "renew", "0", "n", bases[0], "n1", limit, NULL), "OK ",
           "whose registration is there is renewed");
    redis_do(old.redis, "FLUSHALL", NULL);
    begins(app_say(&old, "claim", "0", "n", bases[1], NULL), "-ASK ",
           "without the hash it sends claims away");
    begins(asking(&new, "claim", "0", bases[1]), "MOVING", "where they wait");
    is_empty(to, "nothing was written there");
    call_off(from, to);
    begins(app_say(&old, "claim", "0", "n", bases[1], NULL), "RETRY ",
           "called off: a new era at the owner");
    redis_do(old.redis, "FLUSHALL", NULL);
    const int64_t before = epoch_of(to);
    cluster_move(&c, atoi(slot), from, to, NULL, NULL);
    is_i64(epoch_of(to) > before, raised, "the move raises the epoch: %" PRId64 " to %" PRId64,
           before, epoch_of(to));
    const int64_t now = ((int64_t)time(NULL) * 1000 - new.epoch) / new.unit;
    begins(app_say(&new, "claim", "0", "n", bases[1], NULL), "RETRY ",
           "the slot comes, empty: claims wait");
    ok(strtoll(new.said + 6, NULL, 10) >= now + 60, "until every window has ended");
}

/* With its keys: a new era where they come to. */
static void moved(int from, int to) {
    struct app old = at(from), new = at(to);
    char limit[24];
    app_say(&old, "init", "", NULL);
    begins(app_say(&old, "claim", "1", "n", "m:0:00000000000000aa", NULL), "OK ", "a holder");
    snprintf(limit, sizeof limit, "%s", strchr(strchr(old.said, ' ') + 1, ' ') + 1);
    *strchr(limit, ' ') = '\0';
    cluster_move(&c, atoi(slot), from, to, NULL, NULL);
    begins(app_say(&new, "claim", "0", "n", "m:0:00000000000000bb", NULL), "RETRY ",
           "moved: claims wait");
    begins(app_say(&new, "renew", "1", "n", "m:0:00000000000000aa", "n1", limit, NULL), "OK ",
           "the holder goes on");
    ok(strcmp(new.era, old.era) != 0, "in a new era");
}

static bool is_bumped(void *arg) {
    return strncmp(redis_text(arg, "CLUSTER", "BUMPEPOCH", NULL), "BUMPED", 6) == 0;
}

/* Gives a node the highest epoch, once it has heard that it has not. */
static void bump(int node) {
    ok(tap_wait_until(is_bumped, &c.node[node], TAP_WAIT_MS), "an epoch is raised");
}

/* The epoch alone makes a new era. */
static void bumped(int node) {
    struct app a = at(node);
    char era[sizeof a.era];
    app_say(&a, "init", "", NULL);
    memcpy(era, a.era, sizeof era);
    begins(app_say(&a, "claim", "0", "n", "m:0:00000000000000aa", NULL), "OK ", "before");
    bump(node);
    begins(app_say(&a, "claim", "0", "n", "m:0:00000000000000bb", NULL), "RETRY ",
           "the epoch is raised: claims wait");
    ok(strcmp(a.era, era) != 0, "in a new era");
}

static void permissions(int node) {
    static const char *const rights[] = {"+cluster|keyslot", "+cluster|nodes", "+cluster|nodes"};
    static const char *const more[] = {"+ping", "+ping", "+cluster|keyslot"};
    static const char *const denied[] = {"DENIED cluster|nodes command",
                                         "DENIED cluster|keyslot command", "RETRY "};
    struct app a = at(node);
    struct redis u = *a.redis;
    for (size_t i = 0; i < COUNT(rights); i++) {
        const char *const args[] = {"ACL",     "SETUSER", "app",   "reset", "on",      ">secret",
                                    "~sfid:*", "+eval",   "+info", "+time", "+hmget",  "+hget",
                                    "+hset",   "+unlink", "+get",  "+set",  rights[i], more[i]};
        reply_free(redis_ask_n(a.redis, COUNT(args), args, NULL));
        u.conn = NULL;
        redis_do(&u, "AUTH", "app", "secret", NULL);
        struct app b = at(node);
        b.redis = &u;
        begins(app_say(&b, "claim", "0", "n", "m:0:00000000000000cc", NULL), denied[i], rights[i]);
        resp_close(u.conn);
        if (i < 2)
            redis_do(a.redis, "DEL", a.key, NULL);
    }
}

static void test(const char *program) {
    cluster_start(&c, program, 1000);
    for (int i = 0; i < CLUSTER_NODES; i++) /* from now on no node may count as down */
        redis_do(&c.node[i], "CONFIG", "SET", "cluster-node-timeout", "20000", NULL);
    const int n = cluster_slot(&c, "sfid:{app}"), one = cluster_owner(&c, n),
              two = cluster_other_master(&c, one);
    snprintf(slot, sizeof slot, "%d", n);
    diag("%s: slot %s, nodes %d and %d", program, slot, one, two);
    called_off(one, two, true);
    moved(two, one);
    bump(two);
    bumped(one);
    bump(two);
    called_off(one, two, false); /* it has the highest already */
    permissions(two);
    cluster_end(&c);
}

int main(void) {
    const char *programs[8];
    const size_t n = redis_installed_ones(programs, 8);
    for (size_t i = 0; i < n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        test(programs[i]);
    return done_testing();
}
