/* SPDX-License-Identifier: MIT */
/*
 * Split brain, in network namespaces: a master with clients on one side, its replicas with clients
 * on the other, and the link between the sides is cut; a replica is promoted at once. Both sides
 * want the same two pids.
 *
 * Everybody reaches the store by one address, as it is done with a floating one: it leads to the
 * master, and after the cut to whoever is master on one's own side. With min-replicas-to-write the
 * cut off master stops granting before the other side's newcomers may begin: no ID comes twice,
 * those cut off are refused when their window ends, and have a pid again when the sides are one
 * again. Without it IDs do come twice, as doc/protocol.md says: that is looked for, too, to show
 * that the checker sees what it is to see here.
 *
 * Sizes: one server for both (long: each server for each).
 */
#include "support/fleet.h"

#include "support/retake.h"

#define LAYOUT "39:3:14/10ms"
#define ADDRESS "10.77.1.1"

/* A master goes on for up to two seconds more than min-replicas-max-lag: it counts whole seconds,
 * and looks each second. */
enum {
    TTL = 7000,
    HEARTBEAT = 900,
    LAG_S = 1,
    BUDGET = (LAG_S + 2) * 1000 + 1000,
    MEMBERS = 4,
    BEARS_MS = 1500
};
enum { A, B, SPARE, NODES }; /* the sides; and of servers, the second one on side B */
/* HOLDER and LATE on side A, the others on B; the first two hold before the cut */
enum { HOLDER, AWAY, NEWCOMER, LATE };

static const int side_of[MEMBERS] = {A, B, B, A};

struct brain {
    bool guarded;
    const char *program;
    int network[2];
    struct redis node[NODES];
    struct member *m;
    char logs[sizeof dirs.logs], app[40];
    int64_t cut_ms;
    struct took last_write; /* from the cut to it */
};

static struct brain brains[2];
static int home;

/* ---- the two sides -------------------------------------------------------- */

static void enter(int network) {
    must(setns(network, CLONE_NEWNET) >= 0, "setns: %s", strerror(errno));
}

/* Runs ip(8) in a network. */
__attribute__((format(printf, 2, 3))) static bool ip(int network, const char *fmt, ...) {
    char command[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    enter(network);
    const bool good = system(command) == 0;
    enter(home);
    return good;
}

static int new_network(void) {
    if (unshare(CLONE_NEWNET) < 0)
        return -1;
    const int network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    enter(home);
    return network;
}

/* Both with a loopback interface of their own, and a cable between them. The address is on side
 * A. */
static bool networks_make(struct brain *b) {
    b->network[A] = new_network();
    b->network[B] = b->network[A] < 0 ? -1 : new_network();
    return b->network[B] >= 0 &&
           ip(b->network[A], "ip link add cable type veth peer name cable netns /proc/%d/fd/%d",
              (int)getpid(), b->network[B]) &&
           ip(b->network[A],
              "ip link set lo up && ip address add 10.77.0.1/24 dev cable && ip link set cable up && "
              "ip address add " ADDRESS "/32 dev lo") &&
           ip(b->network[B],
              "ip link set lo up && ip address add 10.77.0.2/24 dev cable && ip link set cable up && "
              "ip route add " ADDRESS "/32 via 10.77.0.1");
}

static void cut(struct brain *b) {
    must(ip(b->network[A], "ip link set cable down") &&
             ip(b->network[B], "ip address add " ADDRESS "/32 dev lo"),
         "the cable is not cut");
    b->cut_ms = tap_now_ms();
}

/* The cable is whole again, and the address leads to side B. */
static void heal(struct brain *b) {
    must(ip(b->network[A],
            "ip address del " ADDRESS "/32 dev lo && ip link set cable up && ip route add " ADDRESS
            "/32 via 10.77.0.2"),
         "the cable is not mended");
}

/* ---- servers and members --------------------------------------------------- */

static bool follows(void *arg) {
    struct redis *r = arg;
    char link[16];
    return strcmp(redis_info(r, "replication", "master_link_status", link, sizeof link), "up") == 0;
}

static void follow(struct redis *r, const char *host) {
    redis_do(r, "REPLICAOF", host, "6379", NULL);
    must(tap_wait_until(follows, r, TAP_WAIT_MS), "the replica does not follow");
}

static bool has_good_replica(void *arg) {
    char state[100];
    return strstr(redis_info(arg, "replication", "slave0", state, sizeof state), "state=online") !=
           NULL;
}

static void server_start(struct brain *b, int node, const char *port) {
    static const char *const names[NODES] = {"a", "b", "spare"};
    char lag[8];
    snprintf(lag, sizeof lag, "%d", LAG_S);
    enter(b->network[node == A ? A : B]);
    redis_start(&b->node[node], b->program, names[node], 0, "--port", port, "--bind", "0.0.0.0",
                "--protected-mode", "no", "--repl-ping-replica-period", "1", "--repl-backlog-ttl",
                "0", "--min-replicas-to-write", b->guarded ? "1" : "0", "--min-replicas-max-lag",
                lag, NULL);
    enter(home);
}

/* In a network of one's own these ports are free. */
static void servers_start(struct brain *b) {
    server_start(b, A, "6379");
    server_start(b, B, "6379");
    server_start(b, SPARE, "6380");
    follow(&b->node[B], "10.77.0.1");
    follow(&b->node[SPARE], "10.77.0.1");
    must(tap_wait_until(has_good_replica, &b->node[A], TAP_WAIT_MS), "the master has no replica");
}

/* In the member's process: its side, and its scene's logs. */
static void take_side(struct member *m) {
    for (size_t i = 0; i < COUNT_OF(brains); i++) {
        struct brain *b = &brains[i];
        if (b->m == NULL || m < b->m || m >= b->m + MEMBERS)
            continue;
        enter(b->network[side_of[m - b->m]]);
        snprintf(dirs.logs, sizeof dirs.logs, "%s", b->logs);
    }
}

static void members_make(struct brain *b) {
    sfid_options opt = fleet_lease(&b->node[A], b->app, TTL, HEARTBEAT);
    opt.store = "redis://" ADDRESS "?timeout=300ms&connect_timeout=300ms";
    opt.skew_budget_ms = BUDGET;
    opt.pid_max = 2;
    b->m = members_new(MEMBERS, &opt);
    for (unsigned i = 0; i < MEMBERS; i++) {
        on_host(&b->m[i].opt, (b->guarded ? 0 : MEMBERS) + i);
        b->m[i].prepare = take_side;
        if (i > AWAY)
            b->m[i].opt.on_unknown = SFID_WAIT_OUT;
        if (i == HOLDER && b->guarded)
            b->m[i].opt.max_wait_ms = CALL_MS; /* it is to be refused */
    }
}

/* Two processes hold the two pids, one on each side. False without networks. */
static bool begin(struct brain *b, const char *program, bool guarded) {
    *b = (struct brain){.guarded = guarded, .program = program};
    snprintf(b->app, sizeof b->app, "split-%d", guarded);
    snprintf(b->logs, sizeof b->logs, "%.4000s/%s", dirs.logs, b->app);
    must(mkdir(b->logs, 0700) >= 0, "%s: %s", b->logs, strerror(errno));
    if (!networks_make(b))
        return false;
    servers_start(b);
    members_make(b);
    for (int i = HOLDER; i <= AWAY; i++)
        member_open_or_die(&b->m[i]);
    return true;
}

/* ---- apart -------------------------------------------------------------------- */

/* The side without the master goes on by itself. From here on both sides have newcomers. */
static void split(struct brain *b) {
    cut(b);
    redis_promote(&b->node[B]);
    redis_do(&b->node[SPARE], "REPLICAOF", "10.77.0.2", "6379", NULL);
    member_start(&b->m[NEWCOMER]);
    member_start(&b->m[LATE]);
}

/* Until a server takes no write any more: the latest that one was taken, after the cut. */
static bool refuses(void *arg) {
    struct brain *b = arg;
    const struct took sent = took_since(b->cut_ms);
    const bool refused =
        strncmp(redis_text(&b->node[A], "SET", "probe", "1", NULL), "-NOREPLICAS ", 12) == 0;
    if (!refused)
        b->last_write = sent;
    return refused;
}

static const char *named(const struct brain *b) {
    static char name[80];
    snprintf(name, sizeof name, "%s, %s", b->program,
             b->guarded ? "min-replicas-to-write 1" : "without min-replicas");
    return name;
}

/* Who was on the other side testifies to the promoted one, and goes on. */
static void away_goes_on(const struct brain *b) {
    const struct member *m = &b->m[AWAY];
    ok(member_event(m, SFID_EVENT_FAILOVER, 0, TAP_WAIT_MS) && member_draws(m, 50, TAP_WAIT_MS),
       "%s: who held on the promoted side goes on", named(b));
    member_is_well(m, named(b));
}

static void newcomer_gets(struct brain *b) {
    struct member *m = &b->m[NEWCOMER];
    must(flag_wait(&m->opened, 1, 2 * TAP_WAIT_MS), "a newcomer does not open");
    is_i64(m->rc, 0, "%s: a newcomer there gets a pid", named(b));
    ok(m->rc == 0 && atomic_load(&m->pid) == atomic_load(&b->m[HOLDER].pid),
       "%s: that of who was cut off", named(b));
    lasted(m->open, TTL + BUDGET - 500, "%s: after W + S (%" PRIi64 " ms)", named(b), m->open.ms);
    ok(member_draws(m, 50, TAP_WAIT_MS), "%s: and draws", named(b));
}

static void guarded_apart(struct brain *b) {
    const struct member *holder = &b->m[HOLDER], *late = &b->m[LATE];
    ok(tap_wait_until(refuses, b, TAP_WAIT_MS), "%s: the master that was cut off stops granting",
       named(b));
    in_time(b->last_write, BUDGET, "%s: and before S is over (%" PRIi64 " ms)", named(b),
            b->last_write.ms);
    away_goes_on(b);
    newcomer_gets(b);
    ok((atomic_load(&holder->errors) > 0 || member_fails(holder, TAP_WAIT_MS)) &&
           atomic_load(&holder->error) == SFID_ELEASE,
       "%s: who was cut off is refused", named(b));
    is_i64(atomic_load(&late->opened) && late->rc == 0, 0, "%s: and nobody new got anything there",
           named(b));
}

/* A pid for each of those who were cut off, when the others have gone. */
static void guarded_again(struct brain *b) {
    struct member *holder = &b->m[HOLDER], *late = &b->m[LATE];
    heal(b);
    follow(&b->node[A], "10.77.0.2");
    member_end(&b->m[NEWCOMER]);
    member_end(&b->m[AWAY]);
    ok(member_event(holder, SFID_EVENT_LEASED_AGAIN, 0, TAP_WAIT_MS) &&
           member_draws(holder, 50, TAP_WAIT_MS),
       "%s: one again, who was cut off has a pid again", named(b));
    must(flag_wait(&late->opened, 1, 2 * TAP_WAIT_MS), "who came late does not open");
    ok(late->rc == SFID_EREDIS || late->rc == 0,
       "%s: who came too early was told, or has one now: %s", named(b), late->text);
}

/* Both of them draw, with one pid, for a while. */
static void unguarded_apart(struct brain *b) {
    away_goes_on(b);
    newcomer_gets(b);
    is_i64(atomic_load(&b->m[HOLDER].errors), 0, "%s: while who was cut off draws, too", named(b));
    must(flag_wait(&b->m[LATE].opened, 1, 2 * TAP_WAIT_MS),
         "nobody gets a pid from the master that was cut off");
    is_i64(b->m[LATE].rc, 0, "%s: and somebody new does", named(b));
}

/* ---- judged --------------------------------------------------------------------- */

static uint64_t duplicates_found(const char *logs) {
    char line[300];
    uint64_t found = 0;
    FILE *out = checker_start("--layout '%s' --order none '%s'", LAYOUT, logs);
    while (fgets(line, sizeof line, out)) {
        const char *at = strstr(line, " files, ");
        if (at)
            found = strtoull(at + strlen(" files, "), NULL, 10);
        if (at)
            diag("%s", line);
    }
    pclose(out);
    return found;
}

static void end(struct brain *b) {
    for (int i = 0; i < MEMBERS; i++)
        if (b->m[i].child)
            member_end(&b->m[i]);
    for (int i = 0; i < NODES; i++)
        redis_kill(&b->node[i]);
    close(b->network[A]);
    close(b->network[B]);
}

static void judge_both(struct brain *guarded, struct brain *not_guarded) {
    char whole[sizeof dirs.logs];
    const uint64_t found = duplicates_found(not_guarded->logs);
    ok(found > 0, "%s: IDs come twice, as is documented (%" PRIu64 ")", named(not_guarded), found);
    snprintf(whole, sizeof whole, "%s", dirs.logs);
    snprintf(dirs.logs, sizeof dirs.logs, "%s", guarded->logs);
    judge(LAYOUT, "per-file", UINT64_MAX, named(guarded));
    snprintf(dirs.logs, sizeof dirs.logs, "%s", whole);
    remove_tree(whole);
    must(mkdir(whole, 0700) >= 0, "%s: %s", whole, strerror(errno));
}

/* Both scenes at once, since most of it is waiting. */
static void test_split(void *programs) {
    const char *guarded = ((const char **)programs)[0], *not_guarded = ((const char **)programs)[1];
    if (!begin(&brains[0], guarded, true) || !begin(&brains[1], not_guarded, false)) {
        skip(1, "cannot make a network namespace here");
        return;
    }
    split(&brains[0]);
    split(&brains[1]);
    guarded_apart(&brains[0]);
    unguarded_apart(&brains[1]);
    guarded_again(&brains[0]);
    diag("figure: W %d ms, S %d ms; the last write that a cut off master took: %" PRIi64
         " ms after the cut",
         TTL, BUDGET, brains[0].last_write.ms);
    end(&brains[0]);
    end(&brains[1]);
    judge_both(&brains[0], &brains[1]);
}

int main(void) {
    fleet_begin(LAYOUT);
    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < servers.n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        retake(test_split,
               (const char *[]){servers.installed[i], servers.installed[(i + 1) % servers.n]},
               BEARS_MS, fleet_forget);
    return done_testing();
}
