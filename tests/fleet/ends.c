/* SPDX-License-Identifier: MIT */
/*
 * How a process may end, against what befalls its server at that moment. Its successor in the slot
 * goes on with the same pid, above its IDs, and at once; while the server is silent it asks for 0.3
 * s first. A gentle end leaves no less than a kill.
 *
 * And what nobody may go on with: a lease whose pid was granted to another host meanwhile, by init,
 * SFID_TRUST, or another server under the same name. The successor asks first, and gets another
 * pid.
 */
#include "draw/page.h"
#include "support/fleet.h"

#include <sys/mman.h>

#define LAYOUT "39:3:14/10ms"

enum { HEARTBEAT = 20000, AT_ONCE_MS = 150, ASK_MS = 300 };

static struct redis *server;

/* ---- ends -------------------------------------------------------------------- */

static void killed(struct member *m) { member_kill(m); }

static void closed(struct member *m) { is_i64(member_end(m), 0, "%s: it ends well", m->name); }

static void exits(struct member *m) {
    m->leaves = true;
    is_i64(member_end(m), 0, "%s: it ends well", m->name);
    m->leaves = false;
}

/* A process that opens, draws once and becomes another program. */
static int becomes_another(void *arg) {
    struct member *m = arg;
    sfid *g = NULL;
    m->rc = sfid_open(&g, &m->opt);
    const int64_t id = m->rc == 0 ? sfid_next(g) : -1;
    atomic_store(&m->pid, m->rc == 0 ? sfid_pid(g) : -1);
    atomic_store(&m->last_id, id);
    atomic_store(&m->ids, id >= 0);
    atomic_store(&m->opened, 1);
    flag_wait(&m->may_end, 1, TAP_WAIT_MS);
    execlp("true", "true", (char *)NULL);
    return 1;
}

static const struct end {
    const char *name;
    void (*ends)(struct member *m);
    int (*live)(void *m);
    bool closes;
} ends[] = {{"killed", killed, NULL, false},
            {"closed", closed, NULL, true},
            {"exits without a close", exits, NULL, false},
            {"becomes another program", closed, becomes_another, false}};

/* ---- what befalls the server --------------------------------------------------- */

static void nothing(struct redis *r) { (void)r; }

static void flush(struct redis *r) { redis_do(r, "FLUSHALL", NULL); }

static void restart(struct redis *r) {
    redis_do(r, "SAVE", NULL);
    redis_restart(r, false);
}

static void begin_anew(struct redis *r) { redis_restart(r, true); }

static const struct befalls {
    const char *name;
    void (*happens)(struct redis *r), (*is_over)(struct redis *r);
    bool away, silent;
} befalls[] = {{"nothing", nothing, nothing, false, false},
               {"a flush", flush, nothing, false, false},
               {"a restart with its data", restart, nothing, false, false},
               {"a restart with nothing", begin_anew, nothing, false, false},
               {"it is gone", redis_kill, begin_anew, true, false},
               {"it is silent", redis_pause, redis_resume, true, true}};

/* ---- all of them ------------------------------------------------------------------ */

static void play(const struct end *e, const struct befalls *b, unsigned number) {
    char app[20];
    snprintf(app, sizeof app, "ends-%u", number);
    sfid_options opt = fleet_lease(server, app, FLEET_TTL_MS, HEARTBEAT);
    opt.on_unknown = SFID_WAIT_OUT;
    fleet_app_init(&opt);
    struct member *m = members_new(1, &opt);
    snprintf(m->name, sizeof m->name, "%s, %s", e->name, b->name);
    m->live = e->live;
    must(member_open_one(m) == 0 &&
             (e->live ? atomic_load(&m->ids) > 0 : member_draws(m, 1, TAP_WAIT_MS)),
         "open: %s", m->text);
    const int64_t pid = atomic_load(&m->pid);
    b->happens(server);
    e->ends(m);
    const int64_t last = atomic_load(&m->last_id);
    if (e->closes) {
        is_i64(events_of(m, SFID_EVENT_LEFT), b->away, "%s: %s", m->name,
               b->away ? "it says what it left" : "nothing is left");
        in_time(m->close, (b->silent ? ASK_MS : 0) + AT_ONCE_MS,
                "%s: the close takes no longer than it has to", m->name);
    }
    m->live = NULL;
    if (is_i64(member_open_one(m), 0, "%s: the next one opens", m->name) &&
        member_draws(m, 1, TAP_WAIT_MS)) {
        is_i64(atomic_load(&m->pid), pid, "%s: with the same pid", m->name);
        ok(atomic_load(&m->first_id) > last, "%s: above the IDs before", m->name);
        in_time(m->first, (b->silent ? ASK_MS : 0) + AT_ONCE_MS, "%s: at once", m->name);
        diag("figure: %s: %" PRId64 " ms to the first ID", m->name, m->first.ms);
    } else {
        diag("%s", m->text);
    }
    b->is_over(server);
    is_i64(member_end(m), 0, "%s: and ends well", m->name);
    judge(LAYOUT, "per-file", UINT64_MAX, m->name);
    fleet_forget(); /* the next scene has an app of its own, and so all IDs again */
}

static void all_ends(struct redis *r) {
    server = r;
    for (unsigned e = 0; e < COUNT_OF(ends); e++)
        for (unsigned b = 0; b < COUNT_OF(befalls); b++)
            play(&ends[e], &befalls[b], e * COUNT_OF(befalls) + b);
}

/* ---- what was granted to another host ------------------------------------------------- */

struct granted {
    const char *name;
    bool closes, trusts;
    void (*happens)(struct redis *r);
};

static void granted_elsewhere(struct redis *r, const struct granted *g, unsigned number) {
    char app[20];
    snprintf(app, sizeof app, "granted-%u", number);
    sfid_options opt = fleet_lease(r, app, FLEET_TTL_MS, HEARTBEAT), other = opt;
    struct member *m = member_drawing(&opt);
    const int64_t pid = atomic_load(&m->pid), last = atomic_load(&m->last_id);
    if (g->closes) {
        redis_kill(r);
        is_i64(member_end(m), 0, "%s: it ends well", g->name);
        ok(events_of(m, SFID_EVENT_LEFT) == 1, "%s: and leaves its lease", g->name);
    } else {
        member_kill(m);
    }
    g->happens(r);
    /* as init states */
    tick_passes(&layout, tick_now(&layout) + opt.skew_budget_ms / layout.unit_ms + 1, TAP_WAIT_MS);
    on_host(&other, 1);
    other.pid_min = other.pid_max = pid;
    other.on_unknown = g->trusts ? SFID_TRUST : SFID_WAIT_OUT;
    if (!g->trusts)
        fleet_app_init(&opt);
    struct member *second = member_drawing(&other);
    ok(member_open_one(m) == 0 && member_draws(m, 1, TAP_WAIT_MS), "%s: the first slot opens",
       g->name);
    ok(atomic_load(&m->pid) != pid,
       "%s: with another pid than %" PRId64 ", which is granted elsewhere", g->name, pid);
    ok(member_draws(second, 10, TAP_WAIT_MS) && events_of(second, SFID_EVENT_LOST) == 0,
       "%s: whose holder loses nothing", g->name);
    ok(atomic_load(&second->first_id) > last, "%s: whose IDs are above those of before", g->name);
    is_i64(member_end(m) + member_end(second), 0, "%s: all end well", g->name);
    fleet_forget();
}

static void all_granted(struct redis *r) {
    static const struct granted all[] = {
        {"killed, a flush, init", false, false, flush},
        {"killed, a flush, SFID_TRUST", false, true, flush},
        {"killed, another server under this name", false, true, begin_anew},
        {"closed while it was gone, init", true, false, begin_anew},
        {"closed while it was gone, SFID_TRUST", true, true, begin_anew}};
    for (unsigned i = 0; i < COUNT_OF(all); i++)
        granted_elsewhere(r, &all[i], i);
}

/* ---- a child that was forked during the close -------------------------------------------- */

static const struct sfid__page *page;

/* The record is closed, and its lease left: from here on the close waits for the server, and has
 * the slot for itself. */
static bool has_left(void *arg) {
    (void)arg;
    return atomic_load(&page->records[0].left) != 0;
}

static void *fork_meanwhile(void *arg) {
    (void)arg;
    must(tap_wait_until(has_left, NULL, TAP_WAIT_MS), "nothing is left");
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return (void *)(intptr_t)child;
}

static void find_page(const char *app) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s/0", dirs.run, app);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, SFID__MAP_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    must(at != MAP_FAILED, "%s: %s", path, strerror(errno));
    close(fd);
    page = at;
}

static int closes_and_forks(void *arg) {
    struct member *m = arg;
    pthread_t thread;
    void *child = NULL;
    sfid *g = NULL;
    must(sfid_open(&g, &m->opt) == 0, "open: %s", sfid_last_error(g));
    atomic_store(&m->pid, sfid_pid(g));
    atomic_store(&m->opened, 1);
    flag_wait(&m->may_end, 1, TAP_WAIT_MS);
    find_page(m->opt.app);
    must(pthread_create(&thread, NULL, fork_meanwhile, NULL) == 0, "pthread_create");
    sfid_close(g);
    pthread_join(thread, &child);
    atomic_store(&m->ids, (int64_t)(intptr_t)child);
    atomic_store(&m->closed, 1);
    return 0;
}

static void test_forked(struct redis *r) {
    sfid_options opt = fleet_lease(r, "forked", FLEET_TTL_MS, HEARTBEAT);
    struct member *m = members_new(1, &opt), *next = members_new(1, &opt);
    m->live = closes_and_forks;
    must(member_open_one(m) == 0, "open: %s", m->text);
    redis_pause(r);
    is_i64(member_end(m), 0, "forked: it ends well");
    const pid_t child = (pid_t)atomic_load(&m->ids);
    ok(child > 0 && kill(child, 0) == 0, "forked: a child of the close is alive");
    ok(member_open_one(next) == 0 && member_draws(next, 1, TAP_WAIT_MS),
       "forked: the next one opens");
    is_i64(atomic_load(&next->pid), atomic_load(&m->pid),
           "forked: in the slot that was left: the child has no share of its lock");
    kill(child, SIGKILL);
    redis_resume(r);
    is_i64(member_end(next), 0, "forked: and ends well");
}

/* ---- an open that is refused in between ---------------------------------------------------- */

/* It leaves what it found, also to the next open of its own process. */
static int tries_twice(void *arg) {
    struct member *m = arg;
    sfid *g = NULL;
    m->rc = sfid_open(&g, &m->opt);
    sfid_close(g);
    atomic_store(&m->ready, 2);
    flag_wait(&m->may_draw, 2, TAP_WAIT_MS);
    const int rc = sfid_open(&g, &m->opt);
    atomic_store(&m->pid, rc == 0 ? sfid_pid(g) : rc);
    atomic_store(&m->opened, 1);
    sfid_close(g);
    return 0;
}

static void test_refused(struct redis *r, bool closes) {
    const char *what = closes ? "refused behind a close" : "refused behind a kill";
    sfid_options opt =
        fleet_lease(r, closes ? "refused-closed" : "refused-killed", FLEET_TTL_MS, HEARTBEAT);
    struct member *m = member_drawing(&opt);
    const int64_t pid = atomic_load(&m->pid);
    if (closes) {
        redis_pause(r);
        is_i64(member_end(m), 0, "%s: it ends well", what);
        redis_resume(r);
    } else {
        member_kill(m);
    }
    redis_do(r, "CONFIG", "SET", "requirepass", "sesame", NULL);
    m->live = tries_twice;
    atomic_store(&m->ready, 0);
    member_start(m);
    ok(flag_wait(&m->ready, 2, TAP_WAIT_MS), "%s: an open comes back", what);
    is_i64(m->rc, SFID_EAUTH, "%s: with SFID_EAUTH", what);
    redis_do(r, "CONFIG", "SET", "requirepass", "", NULL);
    atomic_store(&m->may_draw, 2);
    ok(flag_wait(&m->opened, 1, TAP_WAIT_MS), "%s: the same process opens again", what);
    is_i64(atomic_load(&m->pid), pid, "%s: with the pid that was there", what);
    is_i64(member_end(m), 0, "%s: and ends well", what);
}

static void all_refused(struct redis *r) {
    test_refused(r, false);
    test_refused(r, true);
}

int main(void) {
    fleet_begin(LAYOUT);
    on_servers(0, 0, all_ends);
    on_servers(1, 0, all_granted);
    on_servers(0, 0, test_forked);
    on_servers(1, 0, all_refused);
    return done_testing();
}
