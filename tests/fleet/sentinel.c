/* SPDX-License-Identifier: MIT */
/*
 * Processes that lease through sentinels, while masters die, stop, are demoted by hand and take
 * turns: no ID comes twice, no call fails, and newcomers wait as doc/protocol.md says. Sentinels
 * die and lie meanwhile.
 *
 * Sizes: 32 processes on one server (long: on each, and 20 failovers in a row; sanitizer: 8
 * processes).
 */
#include "support/fleet.h"

#include "support/peer.h"
#include "support/sentinels.h"

#define LAYOUT "39:6:14/10ms"
#define SECRET "s3same-0pen"

/* A failover may take its time: no window of the crowd ends meanwhile. */
enum { TTL = 600000, HEARTBEAT = 1500, BUDGET = 4000, DOWN_MS = 1000, IN_VAIN_MS = 3000 };
/* Pids of the apps: what one of them draws the others must not. */
enum { CROWD_MAX = 59, OTHER = 60, FIRST_NEW = 61, LAST_NEW = 63 };
enum { SHORT_TTL = 7000, SHORT_HEARTBEAT = 700, SHORT_BUDGET = 500 };

struct scene {
    struct sentinels s;
    struct crowd crowd;
    char store[220];
    const char *program;
    int64_t followed_ms; /* how long that took last */
    int fail_backs;
    unsigned was_master; /* one bit for each node */
};

/* ---- the scene -------------------------------------------------------------- */

static sfid_options scene_options(const struct scene *s, const char *app) {
    sfid_options opt = fleet_lease(&s->s.node[0], app, TTL, HEARTBEAT);
    opt.store = s->store;
    opt.skew_budget_ms = BUDGET;
    opt.pid_max = CROWD_MAX;
    return opt;
}

static void scene_begin(struct scene *s, const char *program) {
    *s = (struct scene){.program = program};
    sentinels_start(&s->s, program, DOWN_MS);
    snprintf(s->store, sizeof s->store, "%s?timeout=1s&connect_timeout=500ms", s->s.url);
    const sfid_options opt = scene_options(s, "crowd");
    crowd_begin(&s->crowd, program, (unsigned)sized(CROWD_MOST, CROWD_MOST, 8), &opt);
}

static void note(struct scene *s) {
    s->was_master |= 1U << s->s.master;
    crowd_note(&s->crowd);
}

/* After whatever was done to the master: there is another one, and everybody renews there. */
static bool follows(struct scene *s, const char *what) {
    const int64_t began = tap_now_ms();
    const int next = sentinels_next(&s->s, STACK_WAIT_MS);
    const int64_t chosen_ms = tap_now_ms() - began;
    const bool all = next >= 0 && crowd_follows(&s->crowd);
    s->followed_ms = tap_now_ms() - began;
    s->fail_backs += next >= 0 && (s->was_master & 1U << next) != 0;
    ok(all, "%s, %s: everybody follows to the next master", s->program, what);
    diag("figure: %s, %s: another master after %" PRIi64
         " ms, all have renewed there after %" PRIi64 " ms",
         s->program, what, chosen_ms, s->followed_ms);
    return crowd_is_well(&s->crowd, what) && all;
}

static void whole(struct scene *s) {
    must(sentinels_whole(&s->s, STACK_WAIT_MS), "servers and sentinels do not come together again");
}

/* ---- what is done to masters ------------------------------------------------- */

/* When it goes on it takes itself for the master, until the sentinels tell it. */
static void test_paused(struct scene *s) {
    const int paused = s->s.master;
    note(s);
    redis_pause(&s->s.node[paused]);
    const int next = sentinels_next(&s->s, STACK_WAIT_MS);
    redis_resume(&s->s.node[paused]);
    ok(next >= 0 && crowd_follows(&s->crowd),
       "%s, master paused: everybody follows to the next one", s->program);
    crowd_is_well(&s->crowd, "master paused");
    whole(s);
}

/* Somebody makes it a replica of its replica: until the sentinels see that, nobody is master. */
static void test_demoted(struct scene *s) {
    const int demoted = s->s.master, other = (demoted + 1) % SENTINEL_NODES;
    note(s);
    redis_do(&s->s.node[demoted], "REPLICAOF", "127.0.0.1", redis_port_text(&s->s.node[other]),
             NULL);
    follows(s, "master demoted by hand");
    whole(s);
}

/* Those that were masters become so again, never restarted. */
static void test_in_a_row(struct scene *s) {
    const unsigned times = 20;
    unsigned done = 0;
    for (; done < times; done++) {
        whole(s);
        note(s);
        if (sentinels_fail_over(&s->s, STACK_WAIT_MS) < 0 || !crowd_follows(&s->crowd))
            break;
        s->fail_backs += (s->was_master & 1U << s->s.master) != 0;
    }
    is_i64(done, times, "%s: failovers in a row that everybody follows", s->program);
    crowd_is_well(&s->crowd, "in a row");
    ok(s->fail_backs > 0, "%s: masters came back that had been some before (%d times)", s->program,
       s->fail_backs);
}

/* ---- what sentinels do ------------------------------------------------------------ */

/* One more process, of an app of its own, that is to open at this store, or not. */
static struct member *try_store(const struct scene *s, const char *store, bool in_vain) {
    static char kept[300];
    sfid_options opt = scene_options(s, "others");
    snprintf(kept, sizeof kept, "%s", store);
    opt.store = kept;
    opt.pid_min = opt.pid_max = OTHER;
    opt.open_timeout_ms = in_vain ? IN_VAIN_MS : TAP_WAIT_MS;
    struct member *m = members_new(1, &opt);
    atomic_store(&m->may_draw, 0);
    (in_vain ? member_open_in_vain : member_open_one)(m);
    member_end(m);
    return m;
}

static void opens(const struct scene *s, const char *store, const char *what) {
    const struct member *m = try_store(s, store, false);
    if (!ok(m->rc == 0, "%s, %s: opens", s->program, what))
        diag("%s", m->text);
}

static void refused(const struct scene *s, const char *store, int code, const char *words,
                    const char *what) {
    const struct member *m = try_store(s, store, true);
    if (!ok(m->rc == code && strstr(m->text, words) && !strstr(m->text, SECRET), "%s, %s: told",
            s->program, what))
        diag("%s: %s", sfid_strerror(m->rc), m->text);
}

/* A false sentinel before a true one: it names some server that is not the master. */
static void test_liar(struct scene *s, int port, const char *what) {
    char words[80], store[160];
    struct peer liar = start_peer(true, serve_words);
    snprintf(words, sizeof words, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n", port < 10000 ? 4 : 5,
             port);
    set_words(&liar, words, strlen(words));
    snprintf(store, sizeof store, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/main", liar.port,
             s->s.sentinel[2].port);
    opens(s, store, what);
    ok(atomic_load(&liar.s->commands) > 0, "%s, %s: it was asked", s->program, what);
    stop_peer(&liar);
}

static void test_names(struct scene *s) {
    char store[300];
    struct redis *guarded = &s->s.sentinel[2];
    redis_do(guarded, "ACL", "SETUSER", "guard", "on", ">" SECRET, "+@all", NULL);
    snprintf(store, sizeof store,
             "redis+sentinel://127.0.0.1:%d/main?sentinel_user=guard&sentinel_password=" SECRET,
             guarded->port);
    opens(s, store, "user and password of the sentinels' own");
    snprintf(store, sizeof store,
             "redis+sentinel://127.0.0.1:%d/main?sentinel_user=guard&sentinel_password=x" SECRET,
             guarded->port);
    refused(s, store, SFID_EAUTH, "WRONGPASS", "a wrong password for the sentinel");
    snprintf(store, sizeof store, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/other",
             s->s.sentinel[0].port, guarded->port);
    refused(s, store, SFID_EREDIS, "\"other\"", "a master that no sentinel knows");
}

/* They die one after the other: who is connected to the master needs none of them. */
static void test_dying(struct scene *s) {
    redis_kill(&s->s.sentinel[0]);
    opens(s, s->store, "one sentinel dead");
    redis_kill(&s->s.sentinel[1]);
    opens(s, s->store, "two sentinels dead");
    redis_kill(&s->s.sentinel[2]);
    refused(s, s->store, SFID_EREDIS, "no master found", "all sentinels dead");
    crowd_note(&s->crowd);
    ok(tap_wait_until(crowd_has_renewed, &s->crowd, TAP_WAIT_MS),
       "%s, all sentinels dead: everybody renews", s->program);
    for (int i = 0; i < SENTINELS; i++)
        sentinels_restart(&s->s, i);
}

static void test_watchers(struct scene *s) {
    const int replica =
        (s->s.master + (s->s.node[(s->s.master + 1) % SENTINEL_NODES].pid != 0 ? 1 : 2)) %
        SENTINEL_NODES;
    const int dead = SENTINEL_NODES - s->s.master - replica;
    test_names(s);
    test_liar(s, s->s.node[replica].port, "a sentinel that names a replica");
    test_liar(s, s->s.node[dead].port, "a sentinel that names the dead master");
    test_dying(s);
    crowd_is_well(&s->crowd, "whatever sentinels do");
}

/* ---- newcomers ------------------------------------------------------------------ */

static sfid_options short_options(const struct scene *s) {
    static char store[220];
    sfid_options opt = scene_options(s, "newcomers");
    snprintf(store, sizeof store, "%s?timeout=2500ms&connect_timeout=2500ms", s->s.url);
    opt.store = store;
    opt.open_timeout_ms = opt.max_wait_ms = STACK_WAIT_MS;
    opt.ttl_ms = SHORT_TTL;
    opt.heartbeat_ms = SHORT_HEARTBEAT;
    opt.skew_budget_ms = SHORT_BUDGET;
    opt.pid_min = FIRST_NEW;
    opt.pid_max = LAST_NEW;
    return opt;
}

/* Claims at a master whose replicas do not hear of it, and that dies then. */
static void claim_unheard(struct scene *s, struct member *m) {
    const int former = s->s.master;
    for (int i = 0; i < SENTINEL_NODES; i++)
        if (i != former)
            redis_pause(&s->s.node[i]);
    redis_do(&s->s.node[former], "CLIENT", "KILL", "TYPE", "replica", NULL);
    is_i64(member_open_one(m), 0, "%s: a claim that no replica hears of", s->program);
    note(s);
    redis_kill(&s->s.node[former]);
    for (int i = 0; i < SENTINEL_NODES; i++)
        if (i != former)
            redis_resume(&s->s.node[i]);
}

/*
 * Calls wait for a master that is away for longer than a window may last, which a busy host may
 * bring about, and then no longer than for its return.
 */
static void holders_go_on(const struct scene *s, struct member *m) {
    const int64_t over = s->followed_ms - (SHORT_TTL - 2 * SHORT_HEARTBEAT - SHORT_BUDGET);
    ok(member_had(&m[0], SFID_EVENT_FAILOVER, 1, STACK_WAIT_MS) &&
           member_had(&m[1], SFID_EVENT_FAILOVER, 1, STACK_WAIT_MS),
       "%s: who claimed unheard follows, too", s->program);
    is_i64(atomic_load(&m[0].errors) + atomic_load(&m[1].errors), 0, "%s: without an error",
           s->program);
    in_time(took_longer(member_gap(&m[0]), member_gap(&m[1])), CALL_MS + (over > 0 ? over : 0),
            "%s: and no call waits but for its return (away %" PRIi64 " ms)", s->program,
            s->followed_ms);
}

/*
 * The master is killed, and with it a claim that no replica has heard of. Its holder goes on, as
 * everybody does; who comes new waits until all that may have been granted has ended; a pid that is
 * given back since is to be had at once.
 */
static void test_killed(struct scene *s) {
    const sfid_options opt = short_options(s);
    struct member *m = members_new(4, &opt);
    whole(s);
    const int former = s->s.master;
    for (unsigned i = 1; i < 4; i++)
        m[i].opt.on_unknown = SFID_WAIT_OUT;
    member_open_or_die(&m[0]);
    claim_unheard(s, &m[1]);
    member_start(&m[2]);
    follows(s, "master killed");
    holders_go_on(s, m);
    test_watchers(s);
    ok(flag_wait(&m[2].opened, 1, STACK_WAIT_MS) && m[2].rc == 0, "%s: who comes new gets a pid",
       s->program);
    lasted(m[2].open, SHORT_TTL, "%s: after W + S (%" PRIi64 " ms, with the failover)", s->program,
           m[2].open.ms);
    member_end(&m[0]);
    is_i64(member_open_one(&m[3]), 0, "%s: another gets what was given back since", s->program);
    in_time(m[3].open, SHORT_TTL / 2, "%s: at once", s->program);
    for (unsigned i = 1; i < 4; i++)
        member_end(&m[i]);
    redis_restart(&s->s.node[former], true);
    whole(s);
}

/* ---- all -------------------------------------------------------------------------- */

static void test_sentinels(const char *program) {
    struct scene s;
    scene_begin(&s, program);
    test_killed(&s);
    test_paused(&s);
    test_demoted(&s);
    if (getenv("SFID_TEST_LONG"))
        test_in_a_row(&s);
    crowd_end(&s.crowd);
    sentinels_end(&s.s);
    judge(LAYOUT, "per-file", UINT64_MAX, "through sentinels");
}

int main(void) {
    fleet_begin(LAYOUT);
    for (size_t i = 0; i < servers.n && (i == 0 || getenv("SFID_TEST_LONG")); i++)
        test_sentinels(servers.installed[i]);
    return done_testing();
}
