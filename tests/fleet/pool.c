/* SPDX-License-Identifier: MIT */
/*
 * Three servers that know nothing of each other lend pids of one app: the store "pool:". Each range
 * has a user of its own, which only the server that lends it lets in.
 *
 * One server is killed, flushed, cut off: holders go on, newcomers get a pid of another, no ID
 * comes twice, whatever happens at random. Lists that disagree (users exchanged, ranges changed
 * while processes run, a slot of another list) cost time or are refused, and no ID comes twice
 * either.
 *
 * Sizes: 16 processes, at random 6 s (long: 60 s for each server; sanitizer: 6 s).
 */
#include "pool_fleet.h"

/* NEWCOMER_MS: a failed server costs a newcomer one exchange. */
enum { NEWCOMERS = 4, NEWCOMER_MS = 1500, IN_VAIN_MS = 500, PATIENT = 10000, BEARS_MS = 500 };

static uint64_t rng;

static uint64_t up_to(uint64_t n) { return draw_random(&rng) % n; }

static int64_t ms_from_now(uint64_t ms) { return mono_ns() + (int64_t)ms * NS_PER_MS; }

/* ---- one server is in trouble ----------------------------------------------- */

static void newcomers_open(const char *what, unsigned trouble, bool lends) {
    const sfid_options opt = options_at(list_of(as_is, "user-"));
    struct took longest = {0, 0};
    struct member *more = fleet_new(NEWCOMERS, &opt, 8);
    fleet_opens(more, NEWCOMERS, what);
    for (unsigned i = 0; i < NEWCOMERS; i++)
        longest = took_longer(longest, more[i].open);
    diag("figure: %s: newcomers wait %" PRIi64 " ms at most", what, longest.ms);
    in_time(longest, NEWCOMER_MS, "%s: newcomers do not wait for that server", what);
    if (!lends)
        is_u64(at_server(more, NEWCOMERS, trouble), 0, "%s: they get pids of the others", what);
    fleet_ends(more, NEWCOMERS);
}

struct stay {
    const struct member *all;
    unsigned server;
};

static bool has_left(void *member) {
    const struct member *m = member;
    return events_of(m, SFID_EVENT_LOST) > 0;
}

static bool is_left(void *stay) {
    const struct stay *s = stay;
    return at_server(s->all, MEMBERS, s->server) == 0;
}

/*
 * Who was there is elsewhere soon, and no call has failed meanwhile: there is an eighth of the
 * window for the change. A busy server may be heard at the second try; until then IDs of the old
 * window come.
 */
static void all_leave(struct member *all, unsigned trouble, const char *what) {
    unsigned there = 0, left = 0;
    for (unsigned i = 0; i < MEMBERS && left == there; i++) { /* one that stays is enough */
        if (server_of(atomic_load(&all[i].pid)) != trouble)
            continue;
        there++;
        left +=
            tap_wait_until(has_left, &all[i], TAP_WAIT_MS) && member_draws(&all[i], 1, TAP_WAIT_MS);
    }
    is_u64(left, there, "%s: its %u holders leave it", what, there);
    ok(tap_wait_until(is_left, &(struct stay){all, trouble}, TAP_WAIT_MS),
       "%s: for pids of the others", what);
    all_are_well(all, MEMBERS, what);
}

static unsigned busiest(const struct member *all) {
    unsigned most = 0;
    for (unsigned k = 1; k < SERVERS; k++)
        most = at_server(all, MEMBERS, k) > at_server(all, MEMBERS, most) ? k : most;
    return most;
}

static int lost_by(const struct member *all) {
    int lost = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        lost += events_of(&all[i], SFID_EVENT_LOST);
    return lost;
}

static void trouble_short(struct member *all) {
    unsigned k = busiest(all), at = 0;
    const int lost = lost_by(all);
    while (server_of(atomic_load(&all[at].pid)) != k)
        at++;
    const int failed = events_of(&all[at], SFID_EVENT_RENEW_FAILED);
    redis_pause(&server[k]);
    ok(member_had(&all[at], SFID_EVENT_RENEW_FAILED, failed + 1, TAP_WAIT_MS) &&
           events_of(&all[at], SFID_EVENT_DISCONNECTED) > 0,
       "away for a moment: a renewal fails, and the lost connection is told");
    redis_resume(&server[k]);
    nap_us(2 * HEARTBEAT * 1000);
    is_i64(lost_by(all), lost, "away for a moment: nobody leaves a server for that");
    ok(at_server(all, MEMBERS, k) > 0, "away for a moment: its holders stay");
}

static void trouble_killed(struct member *all) {
    const unsigned k = busiest(all);
    forget_all(all, MEMBERS);
    redis_kill(&server[k]);
    newcomers_open("killed", k, false);
    all_leave(all, k, "killed");
    redis_restart(&server[k], true);
}

static void trouble_flushed(struct member *all) {
    const unsigned k = busiest(all);
    forget_all(all, MEMBERS);
    redis_do(&server[k], "FLUSHALL", NULL);
    newcomers_open("flushed", k, true);
    nap_us(2 * HEARTBEAT * 1000);
    ok(at_server(all, MEMBERS, k) > 0, "flushed: its holders stay");
    all_are_well(all, MEMBERS, "flushed");
}

static void trouble_cut_off(struct member *all) {
    const unsigned k = busiest(all);
    forget_all(all, MEMBERS);
    redis_pause(&server[k]);
    newcomers_open("cut off", k, false);
    all_leave(all, k, "cut off");
    redis_resume(&server[k]);
}

static void test_trouble(void) {
    sfid_options opt = options_at(list_of(as_is, "user-"));
    opt.max_wait_ms = TAP_WAIT_MS;
    struct member *all = fleet_new(MEMBERS, &opt, 0);
    fleet_opens(all, MEMBERS, "a fleet");
    diag("figure: %u, %u and %u members at the servers", at_server(all, MEMBERS, 0),
         at_server(all, MEMBERS, 1), at_server(all, MEMBERS, 2));
    ok(at_server(all, MEMBERS, busiest(all)) < MEMBERS, "a fleet: not all begin at one server");
    nap_us(2 * HEARTBEAT * 1000);
    trouble_short(all);
    trouble_killed(all);
    trouble_flushed(all);
    trouble_cut_off(all);
    fleet_ends(all, MEMBERS);
    judge(LAYOUT, "per-file", UINT64_MAX, "one server in trouble");
}

/* ---- one after the other ------------------------------------------------------- */

/* A range for one: who comes next is sent on, by a server that has none and by one that is away. */
static void test_full(void) {
    char list[900];
    snprintf(list, sizeof list,
             "pool:1-1=unix://user-0:pw@%s?timeout=%dms 33-33=unix://user-1:pw@%s?timeout=%dms "
             "65-80=unix://user-2:pw@%s?timeout=%dms",
             server[0].socket, PATIENT, server[1].socket, TIMEOUT, server[2].socket, PATIENT);
    sfid_options opt = options_at(list);
    opt.app = "full";
    opt.ttl_ms = FLEET_TTL_MS;
    opt.short_ms = 0;
    fleet_app_init(&opt);
    redis_pause(&server[1]);
    struct member *all = fleet_new(8, &opt, 0);
    fleet_opens(all, 8, "full");
    ok(at_server(all, 8, 0) <= 1 && at_server(all, 8, 1) == 0 && at_server(all, 8, 2) >= 7,
       "full: a server with one pid lends that, one that is away none, and the third the others");
    redis_resume(&server[1]);
    fleet_ends(all, 8);
    unsigned released = 0;
    for (unsigned i = 0; i < 8; i++) {
        const int64_t pid = atomic_load(&all[i].pid);
        char line[RECORD];
        released += is_released(record_of(&server[server_of(pid)], "full", pid, line));
    }
    is_u64(released, 8, "full: each pid is released at its server");
    judge(LAYOUT, "per-file", UINT64_MAX, "full");
}

static void die_now(struct member *m, int64_t *last) {
    member_kill(m);
    *last = atomic_load(&m->last_id);
}

static void goes_on(struct member *m, int64_t last, const char *what) {
    if (!ok(member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS), "killed: %s", what))
        diag("%d: %s", m->rc, m->text);
    ok(atomic_load(&m->first_id) > last, "killed: %s, with later IDs", what);
}

/* A process is killed and started again, with its server there and away, and with another list. */
static void test_killed_member(void) {
    sfid_options opt = options_at(list_of(as_is, "user-"));
    struct member *m = members_new(1, &opt);
    int64_t last = 0;
    goes_on(m, last, "it gets a pid");
    ok(member_had(m, SFID_EVENT_RENEWED, 1, TAP_WAIT_MS), "killed: for longer than at first");
    const int64_t pid = atomic_load(&m->pid);
    die_now(m, &last);
    for (unsigned k = 0; k < SERVERS; k++)
        redis_pause(&server[k]);
    goes_on(m, last, "it goes on from its slot, all servers away");
    is_i64(atomic_load(&m->pid), pid, "killed: with the same pid");
    die_now(m, &last);
    m->opt.store = list_of((const unsigned[]){1, 0, 2}, "user-");
    m->opt.open_timeout_ms = IN_VAIN_MS;
    is_i64(member_open_in_vain(m), SFID_EREDIS,
           "killed: with another list its slot is not continued");
    member_end(m);
    for (unsigned k = 0; k < SERVERS; k++)
        redis_resume(&server[k]);
    judge(LAYOUT, "per-file", UINT64_MAX, "killed");
}

/* ---- everything at random ---------------------------------------------------- */

struct rage {
    int64_t back_at[SERVERS]; /* 0: up */
    bool paused[SERVERS];
    struct member *all;
    int64_t ends_at[MEMBERS], spared_till[MEMBERS];
    unsigned lives, with_pid[SERVERS], kills, closes, outages, cuts, flushes;
    int64_t ids;
};

static void start_life(struct rage *r, unsigned i) {
    member_start(&r->all[i]);
    r->lives++;
    r->ends_at[i] = ms_from_now(up_to(up_to(4) ? 400 : 3000));
    r->spared_till[i] = ms_from_now(3000);
}

static void end_life(struct rage *r, unsigned i, bool killing) {
    struct member *m = &r->all[i];
    if (killing)
        member_kill(m);
    else if (member_end(m) != 0)
        die("a member ends with status %d", m->ended);
    r->kills += killing;
    r->closes += !killing;
    if (atomic_load(&m->opened) && m->rc == 0 && atomic_load(&m->ids) > 0)
        r->with_pid[server_of(atomic_load(&m->pid))]++;
    r->ids += atomic_load(&m->ids);
}

static void attend_member(struct rage *r, unsigned i) {
    const bool opened = atomic_load(&r->all[i].opened) != 0;
    if (mono_ns() < (opened ? r->ends_at[i] : r->spared_till[i]))
        return;
    end_life(r, i, !opened || up_to(2));
    start_life(r, i);
}

static void come_back(struct rage *r, unsigned k) {
    if (r->paused[k])
        redis_resume(&server[k]);
    else
        redis_restart(&server[k], true);
    r->back_at[k] = 0;
}

/* Two of the three are up. */
static void attend_servers(struct rage *r) {
    unsigned away = 0;
    for (unsigned k = 0; k < SERVERS; k++) {
        if (r->back_at[k] && mono_ns() >= r->back_at[k])
            come_back(r, k);
        away += r->back_at[k] != 0;
    }
    const unsigned k = (unsigned)up_to(SERVERS);
    const uint64_t what = up_to(200);
    if (away > 0 || what > 2)
        return;
    if (what == 0) {
        redis_do(&server[k], "FLUSHALL", NULL);
        r->flushes++;
        return;
    }
    r->paused[k] = what == 1;
    r->cuts += r->paused[k];
    r->outages += !r->paused[k];
    if (r->paused[k])
        redis_pause(&server[k]);
    else
        redis_kill(&server[k]);
    r->back_at[k] = ms_from_now(up_to(TTL));
}

static bool has_used_all(const struct rage *r) {
    return r->with_pid[0] > 0 && r->with_pid[1] > 0 && r->with_pid[2] > 0;
}

static void test_random(void) {
    static struct rage r;
    const sfid_options opt = options_at(list_of(as_is, "user-"));
    const int64_t end = ms_from_now(sized(6, 60, 6) * 1000);
    r.all = members_new(MEMBERS, &opt);
    for (unsigned i = 0; i < MEMBERS; i++) {
        on_host(&r.all[i].opt, i % HOSTS);
        start_life(&r, i);
    }
    for (struct patience p = {0};
         mono_ns() < end || (!has_used_all(&r) && patient(&p, TAP_WAIT_MS)); nap_us(1000)) {
        for (unsigned i = 0; i < MEMBERS; i++)
            attend_member(&r, i);
        attend_servers(&r);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        end_life(&r, i, true);
    for (unsigned k = 0; k < SERVERS; k++)
        if (r.back_at[k])
            come_back(&r, k);
    diag("figure: %u lives, %u, %u and %u with a pid of each server; %u kills, %u closes; %" PRIi64
         " IDs",
         r.lives, r.with_pid[0], r.with_pid[1], r.with_pid[2], r.kills, r.closes, r.ids);
    diag(
        "figure: %u times a server died and came back empty, %u times one was cut off, %u times flushed",
        r.outages, r.cuts, r.flushes);
    ok(has_used_all(&r), "at random: processes get pids of all servers");
    judge(LAYOUT, "per-file", UINT64_MAX, "at random");
}

/* ---- lists that disagree ------------------------------------------------------ */

static void is_let_in_nowhere(const unsigned at[SERVERS], const char *what) {
    sfid_options opt = options_at(list_with(at, "user-", PATIENT));
    opt.ttl_ms = FLEET_TTL_MS;
    opt.short_ms = 0;
    struct member *m = members_new(1, &opt);
    is_i64(member_open_one(m), SFID_EAUTH, "%s: not let in", what);
    is_i64(atomic_load(&m->ids), 0, "%s: no ID", what);
    diag("%s", m->text);
    member_end(m);
}

/* Each user is sent to another's server; which of them forgets makes no difference. */
static void test_exchanged(void) {
    static const unsigned round[SERVERS] = {1, 2, 0}, two[SERVERS] = {1, 0, 2};
    const sfid_options good = options_at(list_of(as_is, "user-")),
                       opt = options_at(list_of(two, "user-"));
    struct member *all = fleet_new(MEMBERS, &good, 0);
    fleet_opens(all, MEMBERS, "exchanged");
    is_let_in_nowhere(round, "all exchanged");
    redis_do(&server[0], "FLUSHALL", NULL);
    redis_kill(&server[1]);
    redis_restart(&server[1], true);
    is_let_in_nowhere(round, "all exchanged, and forgotten");
    struct member *more = fleet_new(NEWCOMERS, &opt, 8);
    fleet_opens(more, NEWCOMERS, "two exchanged");
    is_u64(at_server(more, NEWCOMERS, 2), NEWCOMERS, "two exchanged: the third lends to all");
    fleet_ends(more, NEWCOMERS);
    fleet_ends(all, MEMBERS);
    judge(LAYOUT, "per-file", UINT64_MAX, "exchanged");
}

/* doc/pool.md: the old user goes, the app's records go, the new user comes. */
static void change(unsigned k, unsigned old, const char *user) {
    char old_name[16], name[16];
    snprintf(old_name, sizeof old_name, "user-%u", old);
    snprintf(name, sizeof name, "%s%u", user, (old + 1) % SERVERS);
    redis_do(&server[k], "ACL", "DELUSER", old_name, NULL);
    redis_do(&server[k], "DEL", "sfid:" APP, NULL);
    redis_do(&server[k], "ACL", "SETUSER", name, "on", ">pw", "~sfid:*", "+@all", NULL);
}

/* Each server gets the range of another while a fleet runs. The old fleet ends; the new one waits
 * until its windows have. */
static void test_changed(void) {
    static const unsigned round[SERVERS] = {2, 0, 1};
    const sfid_options before = options_at(list_of(as_is, "user-"));
    sfid_options after = options_at(list_of(round, "next-"));
    struct member *all = fleet_new(MEMBERS, &before, 0);
    fleet_opens(all, MEMBERS, "ranges changed");
    nap_us(HEARTBEAT * 1000);
    for (unsigned k = 0; k < SERVERS; k++)
        redis_do(&server[k], "ACL", "DELUSER",
                 k == 0   ? "user-0"
                 : k == 1 ? "user-1"
                          : "user-2",
                 NULL);
    for (unsigned k = 0; k < SERVERS; k++)
        change(k, k, "next-");
    struct member *next = fleet_new(MEMBERS, &after, 8);
    fleet_opens(next, MEMBERS, "ranges changed: the next list");
    /* of the first to come: one that starts later has less to wait for */
    struct took longest = {0, 0};
    unsigned failing = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        longest = took_longer(longest, next[i].open);
        failing += member_fails(&all[i], TAP_WAIT_MS);
    }
    diag("figure: ranges changed: newcomers wait %" PRIi64 " ms at most", longest.ms);
    lasted(longest, SHORT, "ranges changed: newcomers wait for the windows of those before");
    is_u64(failing, MEMBERS, "ranges changed: those before end with their windows");
    fleet_ends(next, MEMBERS);
    fleet_ends(all, MEMBERS);
    judge(LAYOUT, "per-file", UINT64_MAX, "ranges changed");
}

static void (*scene)(void);

/* With servers of its own, which know nobody of the scene before. */
static void play(struct redis *installed) {
    fleet_forget();
    for (unsigned k = 0; k < SERVERS; k++)
        server_begin(k, installed->program);
    const sfid_options opt = options_at(list_of(as_is, "user-"));
    fleet_app_init(&opt);
    scene();
    for (unsigned k = 0; k < SERVERS; k++)
        redis_kill(&server[k]);
}

int main(void) {
    static void (*const scenes[])(void) = {test_trouble, test_full,      test_killed_member,
                                           test_random,  test_exchanged, test_changed};
    rng = fleet_begin(LAYOUT);
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        scene = scenes[i];
        on_running_servers(0, 0, BEARS_MS, play);
    }
    return done_testing();
}
