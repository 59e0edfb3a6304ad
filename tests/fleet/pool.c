/* SPDX-License-Identifier: MIT */
/*
 * Two servers that know nothing of each other lend pids of one app, each a range of its own: doc/pool.md. Processes take one or
 * the other, in turn, on one host and from the same slot files; they are killed and closed, and the servers die, come back empty
 * and are flushed. No ID comes twice. A range that is taken to the wrong server is refused there before any ID, since each
 * server's range goes with a skew budget of its own; where it does not, who looks at both servers sees it.
 *
 * Sizes: 6 s (long: 60 s for each server; sanitizer: 6 s).
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"
#define APP "pool"

enum { MEMBERS = 4, HOSTS = 2, TTL = 1500, HEARTBEAT = 400, BUDGET = 400 };

static uint64_t rng;

/* Pids 1 to 4 are lent by the first, 5 to 7 by the second. */
static sfid_options of_server(const struct redis *r, unsigned k) {
    sfid_options opt = fleet_options(r, APP, &layout);
    opt.ttl_ms = TTL;
    opt.heartbeat_ms = HEARTBEAT;
    opt.skew_budget_ms = BUDGET + k;
    opt.pid_min = k == 0 ? 1 : 5;
    opt.pid_max = k == 0 ? 4 : 7;
    opt.max_wait_ms = 50;
    return opt;
}

static bool in_range(const sfid_options *opt, int64_t pid) { return pid >= opt->pid_min && pid <= opt->pid_max; }

/* ---- one process, two servers in turn ------------------------------------------ */

static bool opens_there(struct member *m, const sfid_options *opt, int64_t *last, const char *what) {
    m->opt = *opt;
    const bool good = member_open_one(m) == 0 && member_draws(m, 1, patience(5000));
    if (!ok(good && in_range(opt, atomic_load(&m->pid)), "in turn: %s", what))
        diag("%d: %s; pid %" PRIi64, m->rc, m->text, atomic_load(&m->pid));
    ok(atomic_load(&m->first_id) > *last, "in turn: its IDs are above those before");
    return good;
}

static void die_now(struct member *m, int64_t *last) {
    member_kill(m);
    *last = atomic_load(&m->last_id);
}

static void test_in_turn(struct redis *a, struct redis *b) {
    sfid_options at_a = of_server(a, 0), at_b = of_server(b, 1);
    struct member *m = members_new(1, &at_a);
    int64_t last = 0;
    opens_there(m, &at_a, &last, "the first server lends a pid of its range");
    const int64_t pid = atomic_load(&m->pid);
    redis_kill(a);
    die_now(m, &last);
    opens_there(m, &at_a, &last, "killed with the server dead, it goes on from its slot file");
    is_i64(atomic_load(&m->pid), pid, "in turn: with the same pid");
    die_now(m, &last);
    opens_there(m, &at_b, &last, "killed again, it gets a pid of the other server inside the same window");
    die_now(m, &last);
    redis_restart(a, true);
    at_a.on_unknown = SFID_WAIT_OUT;
    opens_there(m, &at_a, &last, "from the first one, back and empty, it gets one again");
    is_i64(member_end(m), 0, "in turn: it ends well");
    judge(LAYOUT, "per-file", UINT64_MAX, "in turn");
}

/* ---- everything at random ---------------------------------------------------- */

struct pool {
    struct redis *at[2];
    sfid_options opt[2];
    int64_t back_at[2]; /* 0: up */
    struct member *all;
    struct {
        unsigned server;
        int64_t ends_at, spared_till;
    } now[MEMBERS];
    unsigned lives, with_pid[2], moves, strays, kills, closes, outages, flushes;
    int64_t ids;
};

static uint64_t up_to(uint64_t n) { return draw_random(&rng) % n; }

static int64_t ms_from_now(uint64_t ms) { return mono_ns() + (int64_t)ms * NS_PER_MS; }

/* On the server that chance says, or the other one if that is down. */
static void start_life(struct pool *p, unsigned i) {
    struct member *m = &p->all[i];
    unsigned k = (unsigned)up_to(2);
    if (p->back_at[k])
        k = 1 - k;
    p->moves += k != p->now[i].server;
    p->now[i].server = k;
    m->opt = p->opt[k];
    on_host(&m->opt, i % HOSTS);
    member_start(m);
    p->lives++;
    p->now[i].ends_at = ms_from_now(up_to(200));
    p->now[i].spared_till = ms_from_now(3000);
}

static void end_life(struct pool *p, unsigned i, bool killing) {
    struct member *m = &p->all[i];
    if (killing)
        member_kill(m);
    else if (member_end(m) != 0)
        die("a member ends with status %d", m->ended);
    const bool had = atomic_load(&m->opened) && m->rc == 0;
    p->kills += killing;
    p->closes += !killing;
    p->with_pid[p->now[i].server] += had;
    p->strays += had && !in_range(&m->opt, atomic_load(&m->pid));
    p->ids += atomic_load(&m->ids);
}

static void attend_member(struct pool *p, unsigned i) {
    const bool opened = atomic_load(&p->all[i].opened) != 0;
    if (mono_ns() < (opened ? p->now[i].ends_at : p->now[i].spared_till))
        return;
    end_life(p, i, !opened || up_to(2));
    start_life(p, i);
}

/* One of the two is up. */
static void attend_server(struct pool *p, unsigned k) {
    if (p->back_at[k] && mono_ns() >= p->back_at[k]) {
        redis_restart(p->at[k], true);
        p->back_at[k] = 0;
    }
    if (p->back_at[0] || p->back_at[1])
        return;
    const uint64_t what = up_to(1500);
    if (what == 0) {
        redis_kill(p->at[k]);
        p->back_at[k] = ms_from_now(up_to(TTL / 2));
        p->outages++;
    } else if (what == 1) {
        redis_do(p->at[k], "FLUSHALL", NULL);
        p->flushes++;
    }
}

static void rage(struct pool *p, int64_t end) {
    for (unsigned i = 0; i < MEMBERS; i++)
        start_life(p, i);
    for (; mono_ns() < end; nap_us(1000)) {
        for (unsigned i = 0; i < MEMBERS; i++)
            attend_member(p, i);
        attend_server(p, 0);
        attend_server(p, 1);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        end_life(p, i, true);
    for (unsigned k = 0; k < 2; k++)
        if (p->back_at[k])
            redis_restart(p->at[k], true);
}

static void test_random(struct redis *a, struct redis *b) {
    struct pool p = {.at = {a, b}, .opt = {of_server(a, 0), of_server(b, 1)}};
    for (unsigned k = 0; k < 2; k++)
        p.opt[k].on_unknown = SFID_WAIT_OUT; /* both are known from the test before, or wait */
    p.all = members_new(MEMBERS, &p.opt[0]);
    rage(&p, ms_from_now(sized(6, 60, 6) * 1000));
    diag("figure: %u lives, %u got a pid of the first server and %u of the second; %u changes of server, %u kills, %u closes",
         p.lives, p.with_pid[0], p.with_pid[1], p.moves, p.kills, p.closes);
    diag("figure: %u times a server died and came back empty, %u flushed; %" PRIi64 " IDs", p.outages, p.flushes, p.ids);
    ok(p.with_pid[0] > 0 && p.with_pid[1] > 0 && p.moves > 5, "at random: processes get pids of both, and change");
    is_u64(p.strays, 0, "at random: each of its server's range");
    judge(LAYOUT, "per-file", UINT64_MAX, "at random");
}

/* ---- configurations that disagree ------------------------------------------------ */

static int opens_with(const sfid_options *opt, struct member *m) {
    m->opt = *opt;
    const int rc = member_open_one(m);
    member_end(m);
    return rc;
}

/* As where the list of servers was reordered: range and budget of one, address of the other. */
static void test_exchanged(struct redis *a, struct redis *b) {
    const sfid_options a_as_b = of_server(a, 1), b_as_a = of_server(b, 0);
    sfid_options plain = of_server(a, 0);
    struct member *m = members_new(1, &plain);
    is_i64(opens_with(&a_as_b, m), SFID_ELAYOUT, "exchanged: the first server refuses the second one's range");
    ok(strstr(m->text, "skew_budget_ms") != NULL && atomic_load(&m->ids) == 0, "exchanged: before any ID, and says why");
    diag("%s", m->text);
    is_i64(opens_with(&b_as_a, m), SFID_ELAYOUT, "exchanged: the second refuses the first one's");
    plain.skew_budget_ms = BUDGET + 2;
    plain.pid_min = plain.pid_max = 0;
    is_i64(opens_with(&plain, m), SFID_ELAYOUT, "exchanged: and so does either where nothing is said of ranges");
}

static int note_held(void *user, const sfid_lease_info *lease) {
    uint64_t *held = user;
    *held |= UINT64_C(1) << lease->pid;
    return 0;
}

/* All pids that an app's server has records of, whatever its range. */
static uint64_t looked_at(const sfid_options *given) {
    sfid_options opt = *given;
    uint64_t held = 0;
    char why[SFID_WHY_LEN];
    opt.pid_min = opt.pid_max = 0;
    if (sfid_app_look(&opt, NULL, note_held, &held, why, sizeof why) != 0)
        die("look: %s", why);
    return held;
}

/* With one budget for both, nothing is refused: each server is right by what it knows. */
static void test_overlap(struct redis *a, struct redis *b) {
    sfid_options opt[2] = {of_server(a, 0), of_server(b, 0)};
    struct member *m[2];
    for (unsigned k = 0; k < 2; k++) {
        opt[k].app = "overlap";
        opt[k].pid_min = opt[k].pid_max = 3;
        m[k] = members_new(1, &opt[k]);
        atomic_store(&m[k]->may_draw, 0);
        is_i64(member_open_one(m[k]), 0, "overlap: server %u of two lends the one pid of a range", k + 1);
    }
    is_i64(atomic_load(&m[0]->pid), atomic_load(&m[1]->pid), "overlap: nothing keeps the two apart");
    is_u64(looked_at(&opt[0]) & looked_at(&opt[1]), 1 << 3, "overlap: who looks at both servers sees it");
    for (unsigned k = 0; k < 2; k++)
        is_i64(member_end(m[k]), 0, "overlap: ends well");
    sfid_options apart[2] = {of_server(a, 0), of_server(b, 1)};
    is_u64(looked_at(&apart[0]) & looked_at(&apart[1]), 0, "overlap: and none where ranges are apart");
}

static void test_pool(struct redis *a) {
    struct redis b;
    redis_start(&b, servers.installed[servers.n - 1], "second", 0, NULL);
    test_in_turn(a, &b);
    test_random(a, &b);
    for (unsigned k = 0; k < 2; k++) { /* each knows the app, with its range's budget */
        const sfid_options opt = of_server(k ? &b : a, k);
        is_i64(opens_with(&opt, members_new(1, &opt)), 0, "server %u knows the app", k + 1);
    }
    test_exchanged(a, &b);
    test_overlap(a, &b);
    redis_kill(&b);
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    on_servers(0, 0, test_pool);
    return done_testing();
}
