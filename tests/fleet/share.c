/* SPDX-License-Identifier: MIT */
/*
 * Processes that share one lease of a server: one pid in the app's registry, whatever their number; the last one out releases
 * it with the exact position. A keeper is killed, or stopped for three windows and continued: no call of the others fails. The
 * server forgets, or is away for a part of the window: no call fails, and processes come and go. A lease that is lost is
 * replaced for all. Newcomers that find neither a lease nor the server learn the cause. Settings that differ are refused. In a
 * pool all move on to a pid of another server.
 *
 * Sizes: 8 processes, 24 lives one after another, 3 keepers killed and 2 stopped (long: 30, 10; sanitizer: 2, 1).
 */
#include "support/fleet.h"

#define LAYOUT "39:3:14/10ms"

enum { TTL = 1500, HEARTBEAT = 450, CROWD = 8, LIVES = 24 };

static uint64_t rng;

static sfid_options shared(const struct redis *r, const char *app) {
    sfid_options opt = fleet_options(r, app, &layout);
    opt.share = 1;
    opt.ttl_ms = TTL;
    opt.heartbeat_ms = HEARTBEAT;
    opt.max_wait_ms = 1000;
    return opt;
}

/* ---- what the server knows ------------------------------------------------------ */

/* How many pids the app's hash has, held or released, and the first of them. */
static unsigned pids_known(struct redis *r, const char *app, int64_t *first) {
    unsigned n = 0;
    char line[RECORD];
    for (int64_t pid = layout.max_pid; pid >= 0; pid--)
        if (strcmp(record_of(r, app, pid, line), "nil") != 0) {
            n++;
            *first = pid;
        }
    return n;
}

/* ---- members --------------------------------------------------------------------- */

static struct member *open_all(const sfid_options *opt, size_t n) {
    struct member *m = members_new(n, opt);
    for (size_t i = 0; i < n; i++) {
        member_start(&m[i]);
        snprintf(m[i].name, sizeof m[i].name, "process %zu", i);
    }
    for (size_t i = 0; i < n; i++)
        if (!member_opens(&m[i], 10000) || !flag_wait(&m[i].opened, 1, 1))
            die("%s", m[i].text);
    return m;
}

static int64_t errors_of(const struct member *m, size_t n) {
    int64_t errors = 0;
    for (size_t i = 0; i < n; i++) {
        errors += m[i].child ? atomic_load(&m[i].errors) : 0;
        if (m[i].child && atomic_load(&m[i].errors))
            diag("%s: %" PRIi64, m[i].name, atomic_load(&m[i].error));
    }
    return errors;
}

static bool all_have(const struct member *m, size_t n, int64_t pid) {
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && (m[i].child == 0 || atomic_load(&m[i].pid) == pid);
    return same;
}

static bool all_draw(const struct member *m, size_t n, unsigned limit_ms) {
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && (m[i].child == 0 || member_draws(&m[i], 3, patience(limit_ms)));
    return all;
}

static void end_all(struct member *m, size_t n) {
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += m[i].child != 0 && member_end(&m[i]) != 0;
    is_i64(bad, 0, "all end");
}

/* The member that began to keep last; NULL: none does. Those that ended do not count, nor does `but`. */
struct search {
    struct member *m;
    const struct member *but;
    size_t n;
    struct member *found;
};

static bool somebody_keeps(void *arg) {
    struct search *s = arg;
    int64_t latest = 0;
    s->found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct member *m = &s->m[i];
        for (int e = 0; m->child != 0 && e < atomic_load(&m->events) && e < EVENTS_KEPT; e++)
            if (m->seen[e].kind == SFID_EVENT_KEEPS && m->seen[e].at_ns > latest) {
                latest = m->seen[e].at_ns;
                s->found = m;
            }
    }
    return s->found != NULL && s->found != s->but;
}

static struct member *keeper_of(struct member *m, size_t n, const struct member *but) {
    struct search s = {m, but, n, NULL};
    return tap_wait_until(somebody_keeps, &s, patience(10000)) ? s.found : NULL;
}

/* ---- one pid ----------------------------------------------------------------------- */

static void one_pid(struct redis *r) {
    const sfid_options opt = shared(r, "one");
    char line[RECORD];
    int64_t pid = -1;
    struct member *m = open_all(&opt, CROWD);
    ok(all_draw(m, CROWD, 5000), "%d processes generate", CROWD);
    is_u64(pids_known(r, "one", &pid), 1, "the server knows one pid");
    ok(all_have(m, CROWD, pid), "which all of them have");
    ok(strstr(record_of(r, "one", pid, line), ":share.0:"), "under the name of the page: %s", line);
    is_i64(redis_do(r, "DBSIZE", NULL), 2, "beside the app's hash there is one registration");
    struct member *k = keeper_of(m, CROWD, NULL);
    ok(k != NULL, "one of them keeps");
    if (k)
        ok(member_event(k, SFID_EVENT_RENEWED, 0, patience(5000)), "and renews");
    is_i64(errors_of(m, CROWD), 0, "no call fails");
    for (int i = 1; i < CROWD; i++)
        member_end(&m[i]);
    ok(!is_released(record_of(r, "one", pid, line)), "while one is left, the pid is held");
    end_all(m, CROWD);
    ok(is_released(record_of(r, "one", pid, line)), "the last one out releases it: %s", line);
    judge(LAYOUT, "per-file", UINT64_MAX, "one pid");
}

/* ---- lives one after another -------------------------------------------------------- */

static struct life_told { int64_t first, last, pid; } * told;

enum way { CLOSED, EXITED, KILLED_THEN, WAYS };

static const sfid_options *life;
static const sfid_layout *const slow = &SFID_LAYOUT_DEFAULT; /* ticks of a second */

static int live(void *arg) {
    sfid *g = open_or_die(life);
    told->pid = sfid_pid(g);
    told->first = sfid_next(g);
    told->last = sfid_next(g);
    if (*(enum way *)arg == CLOSED)
        sfid_close(g);
    if (*(enum way *)arg == KILLED_THEN)
        raise(SIGKILL);
    return 0;
}

static void leaves_no_gap(struct redis *r) {
    unsigned gaps = 0, ticks = 0, moved = 0;
    int64_t before = -1, pid = -1;
    sfid_options opt = shared(r, "exact");
    opt.layout = slow;
    opt.pid_max = (int64_t)slow->max_pid;
    opt.ttl_ms = 4000;
    opt.heartbeat_ms = 1000;
    life = &opt;
    for (int i = 0; i < LIVES; i++) {
        enum way way = (enum way)(i * 7 % WAYS);
        memset(told, 0, sizeof *told);
        child_run(live, &way, patience(10000));
        const bool same_tick = before >= 0 && id_tick(slow, told->first) == id_tick(slow, before);
        moved += before >= 0 && told->pid != pid;
        ticks += before >= 0 && !same_tick;
        gaps += (same_tick && told->first != before + 1) || told->last != told->first + 1 || told->first <= before;
        before = told->last;
        pid = told->pid;
    }
    is_u64(gaps, 0, "%d lives, closed, exited and killed: numbers without a gap (%u ticks began)", LIVES, ticks);
    is_u64(moved, 0, "and with one pid");
}

/* ---- keepers -------------------------------------------------------------------------- */

enum { FEW = 4 };

static void keepers_killed(struct redis *r) {
    const sfid_options opt = shared(r, "killed");
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    unsigned missing = 0;
    for (uint64_t i = 0; i < sized(3, 30, 2) && missing == 0; i++) {
        struct member *k = keeper_of(m, FEW, NULL); /* what a killed one had reported is gone once it is started again */
        missing += k == NULL;
        if (k == NULL)
            break;
        nap_us((long)(draw_random(&rng) % (HEARTBEAT * 1000)));
        member_kill(k);
        member_open_or_die(k);
    }
    missing += keeper_of(m, FEW, NULL) == NULL;
    is_u64(missing, 0, "keepers killed: there is a next one each time");
    ok(all_draw(m, FEW, 5000), "keepers killed: all generate");
    is_i64(errors_of(m, FEW), 0, "keepers killed: no call fails");
    ok(all_have(m, FEW, pid), "keepers killed: the pid is the same");
    end_all(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "keepers killed");
}

static void keepers_stopped(struct redis *r) {
    const sfid_options opt = shared(r, "stopped");
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    unsigned missing = 0;
    for (uint64_t i = 0; i < sized(2, 10, 1) && missing == 0; i++) {
        struct member *k = keeper_of(m, FEW, NULL);
        missing += k == NULL;
        if (k == NULL)
            break;
        nap_us((long)(draw_random(&rng) % (HEARTBEAT * 1000)));
        member_stop(k);
        missing += keeper_of(m, FEW, k) == NULL;
        nap_us(3000L * TTL); /* what it remembers is older than any window */
        member_go_on(k);
        missing += !member_draws(k, 10, patience(5000));
    }
    is_u64(missing, 0, "keepers stopped: another one keeps, and the stopped one generates again");
    is_i64(errors_of(m, FEW), 0, "keepers stopped: no call fails");
    ok(all_have(m, FEW, pid), "keepers stopped: the pid is the same");
    end_all(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "keepers stopped");
}

/* Nobody wants an ID. The lease would end, and another host would get the pid. */
static void idle(struct redis *r) {
    sfid_options opt = shared(r, "idle");
    struct member *m = members_new(FEW, &opt);
    for (int i = 0; i < FEW; i++) {
        atomic_store(&m[i].may_draw, 0);
        member_open_or_die(&m[i]);
    }
    struct member *k = keeper_of(m, FEW, NULL);
    ok(k && member_had(k, SFID_EVENT_RENEWED, 1, 3000), "idle: somebody keeps all the same");
    if (k)
        member_kill(k);
    k = keeper_of(m, FEW, NULL);
    ok(k && member_had(k, SFID_EVENT_RENEWED, 3, 5000), "idle: and when that one is killed, another one");
    int lost = 0;
    for (int i = 0; i < FEW; i++) {
        atomic_store(&m[i].may_draw, 1);
        lost += events_of(&m[i], SFID_EVENT_LOST);
    }
    ok(all_draw(m, FEW, 5000) && lost == 0, "idle: the lease was not lost");
    end_all(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "idle");
}

/* ---- the server ------------------------------------------------------------------------ */

/* A process comes, and goes without closing: the lease stays in the page. */
static bool comes_and_goes(const sfid_options *opt, int64_t pid) {
    struct member *m = members_new(1, opt);
    m->leaves = true;
    const int rc = member_open_one(m);
    const bool good = rc == 0 && member_draws(m, atomic_load(&m->ids) == 0, patience(2000)) && atomic_load(&m->pid) == pid;
    if (!good)
        diag("open: %d, %s; pid %" PRIi64, rc, m->text, atomic_load(&m->pid));
    member_end(m);
    return good;
}

static void renewed(struct member *m, size_t n) {
    struct member *k = keeper_of(m, n, NULL);
    ok(k && member_had(k, SFID_EVENT_RENEWED, events_of(k, SFID_EVENT_RENEWED) + 1, 3000), "the window was just renewed");
}

static void forgotten(struct redis *r) {
    const sfid_options opt = shared(r, "forgotten");
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    renewed(m, FEW);
    redis_do(r, "FLUSHALL", NULL);
    ok(comes_and_goes(&opt, pid), "the server has forgotten everything: a newcomer has the same pid at once");
    renewed(m, FEW);
    ok(all_draw(m, FEW, 5000) && all_have(m, FEW, pid), "and all go on with it");
    is_i64(errors_of(m, FEW), 0, "no call fails");
    end_all(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "forgotten");
}

static void away_for_a_while(struct redis *r) {
    const sfid_options opt = shared(r, "away");
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    renewed(m, FEW);
    redis_pause(r);
    ok(comes_and_goes(&opt, pid), "the server is away: a newcomer joins the others");
    nap_us(1000L * (TTL / 4));
    redis_resume(r);
    renewed(m, FEW);
    is_i64(errors_of(m, FEW), 0, "the server was away for less than a window: no call fails");
    renewed(m, FEW);
    for (int i = 0; i < FEW; i++)
        member_kill(&m[i]);
    redis_pause(r);
    ok(comes_and_goes(&opt, pid), "all are killed, and the server is away: the next one goes on with the lease in the page");
    ok(comes_and_goes(&opt, pid), "and leaves it to another one");
    redis_resume(r);
    struct member *last = member_drawing(&opt);
    ok(member_event(last, SFID_EVENT_RENEWED, 0, patience(5000)), "the server is back: the lease is renewed");
    is_i64(atomic_load(&last->pid), pid, "under the same pid");
    end_all(last, 1);
    judge(LAYOUT, "per-file", UINT64_MAX, "away for a while");
}

static void away_and_no_lease(struct redis *r) {
    sfid_options opt = shared(r, "none");
    opt.open_timeout_ms = 1500;
    struct member *m = members_new(CROWD, &opt);
    unsigned other = 0;
    redis_pause(r);
    for (int i = 0; i < CROWD; i++)
        member_start(&m[i]);
    for (int i = 0; i < CROWD; i++) {
        if (!flag_wait(&m[i].opened, 1, opt.open_timeout_ms + patience(10000)))
            die("a member does not open");
        other += m[i].rc != SFID_EREDIS;
        if (m[i].rc != SFID_EREDIS)
            diag("%d: %s", m[i].rc, m[i].text);
        member_end(&m[i]);
    }
    is_u64(other, 0, "the server is away, and there is no lease: %d newcomers get SFID_EREDIS", CROWD);
    redis_resume(r);
    end_all(open_all(&opt, FEW), FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "away and no lease"); /* the next app has the same pid in the same tick */
}

/* ---- a lease that is lost ----------------------------------------------------------------- */

static bool pid_differs(void *arg) {
    const struct member *m = arg;
    return atomic_load(&m->pid) != m->opt.pid_min;
}

static void lost(struct redis *r) {
    sfid_options opt = shared(r, "lost");
    char line[RECORD], field[24], record[RECORD];
    int64_t known;
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    renewed(m, FEW);
    record_of(r, "lost", pid, line);
    snprintf(field, sizeof field, "%" PRIi64, pid);
    snprintf(record, sizeof record, "%.11s 0000000000000001 other:0:0123456789abcdef", line);
    redis_do(r, "HSET", "sfid:lost", field, record, NULL);
    for (int i = 0; i < FEW; i++) {
        m[i].opt.pid_min = pid; /* for pid_differs() */
        ok(tap_wait_until(pid_differs, &m[i], patience(5000)), "the lease is lost: %s goes on with another pid", m[i].name);
    }
    ok(all_have(m, FEW, atomic_load(&m[0].pid)), "the same for all");
    is_u64(pids_known(r, "lost", &known), 2, "one pid was claimed for all");
    ok(comes_and_goes(&opt, atomic_load(&m[0].pid)), "which a newcomer has, too");
    is_i64(errors_of(m, FEW), 0, "no call fails");
    int lost = 0, again = 0;
    for (int i = 0; i < FEW; i++) {
        lost += events_of(&m[i], SFID_EVENT_LOST);
        again += events_of(&m[i], SFID_EVENT_LEASED_AGAIN);
    }
    ok(lost == 1 && again == 1, "the keeper alone reports it (%d, %d)", lost, again);
    end_all(m, FEW);
    judge(LAYOUT, "per-file", UINT64_MAX, "lost");
}

/* ---- settings -------------------------------------------------------------------------------- */

static void refused(const sfid_options *opt, const char *word, const char *what) {
    sfid *g = NULL;
    const int rc = sfid_open(&g, opt);
    ok(rc == SFID_EBUSY && strstr(sfid_last_error(g), word), "%s: %s", what, sfid_last_error(g));
    sfid_close(g);
}

static void settings_differ(struct redis *r) {
    sfid_options opt = shared(r, "settings");
    opt.open_timeout_ms = 500;
    struct member *m = open_all(&opt, 1);
    sfid_options other = opt;
    other.ttl_ms = 2 * TTL;
    refused(&other, "other settings", "another window");
    other = opt;
    other.pid_max--;
    if (atomic_load(&m->pid) == opt.pid_max)
        other.pid_max = opt.pid_max, other.pid_min++;
    refused(&other, "other settings", "another range of pids");
    other.pid_min = other.pid_max = atomic_load(&m->pid) == 1 ? 2 : 1;
    refused(&other, "not within", "a range without the pid");
    other = opt;
    other.share = 0;
    sfid *g = open_or_die(&other);
    ok(sfid_pid(g) != atomic_load(&m->pid), "a process that does not share has another pid");
    sfid_close(g);
    end_all(m, 1);
}

/* ---- a pool ------------------------------------------------------------------------------------ */

enum { SERVERS = 2, RANGE = 3 };

static void pool(void) {
    static struct redis server[SERVERS];
    static char list[600];
    size_t n = (size_t)snprintf(list, sizeof list, "pool:");
    for (int i = 0; i < SERVERS; i++) {
        char name[16], user[16];
        snprintf(name, sizeof name, "server-%d", i);
        snprintf(user, sizeof user, "user-%d", i);
        redis_start(&server[i], servers.installed[0], name, 0, "--user", user, "on", ">pw", "~sfid:*", "+@all", NULL);
        n += (size_t)snprintf(list + n, sizeof list - n, "%d-%d=unix://%s:pw@%s?timeout=100ms&connect_timeout=100ms&share=1 ",
                              i * RANGE + 1, (i + 1) * RANGE, user, server[i].socket);
    }
    sfid_options opt = shared(&server[0], "pool");
    opt.share = 0; /* the list says it */
    opt.store = list;
    opt.pid_min = opt.pid_max = 0;
    opt.ttl_ms = 2 * TTL;
    struct member *m = open_all(&opt, FEW);
    const int64_t pid = atomic_load(&m[0].pid);
    const int from = (int)(pid - 1) / RANGE;
    int64_t known;
    renewed(m, FEW);
    ok(all_have(m, FEW, pid), "pool: all have one pid");
    redis_kill(&server[from]);
    ok(comes_and_goes(&opt, pid), "pool: its server is away: a newcomer has it, too");
    for (int i = 0; i < FEW; i++) {
        m[i].opt.pid_min = pid;
        ok(tap_wait_until(pid_differs, &m[i], patience(2 * TTL + 3000)), "pool: %s goes on with another pid", m[i].name);
    }
    const int64_t other = atomic_load(&m[0].pid);
    ok(all_have(m, FEW, other) && (int)(other - 1) / RANGE != from, "pool: one of the other server");
    is_u64(pids_known(&server[1 - from], "pool", &known), 1, "pool: which knows one");
    is_i64(errors_of(m, FEW), 0, "pool: no call fails");
    end_all(m, FEW);
    char line[RECORD];
    ok(is_released(record_of(&server[1 - from], "pool", other, line)), "pool: the last one out releases it");
    redis_kill(&server[1 - from]);
    opt.open_timeout_ms = 1000;
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    is_i64(rc, SFID_EREDIS, "pool: no server, no lease: %s", sfid_last_error(g));
    sfid_close(g);
    judge(LAYOUT, "per-file", UINT64_MAX, "pool");
}

static void test(struct redis *r) {
    one_pid(r);
    leaves_no_gap(r);
    keepers_killed(r);
    keepers_stopped(r);
    idle(r);
    forgotten(r);
    away_for_a_while(r);
    away_and_no_lease(r);
    lost(r);
    settings_differ(r);
}

int main(void) {
    rng = fleet_begin(LAYOUT);
    told = shared_memory(sizeof *told);
    on_servers(0, 0, test);
    if (servers.n > 0)
        pool();
    return done_testing();
}
