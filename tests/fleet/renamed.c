/* SPDX-License-Identifier: MIT */
/*
 * Somebody may write to a directory above those of the processes, and puts others in their place:
 * away while a process holds a pid, back when it has been killed, while its window goes on. With a
 * server no ID comes twice, whatever the store and the kind of open, and an event tells of the
 * directory. So it is with the local store, a fixed pid and an ordinal while the state directory,
 * whose marks prove the right, cannot be replaced; where it can, sfid_open() refuses.
 *
 * One size. The directory above stands for any that others may write to: it has mode 0777.
 */
#include "support/fleet.h"

enum { WINDOW_MS = 20000, HEARTBEAT_MS = 5000, BUDGET_MS = 500 };

static const struct kind {
    const char *name, *store;
    int share;
    bool served;
    int64_t fixed; /* pid; 0: none */
    bool one;      /* process at a time */
} kinds[] = {
    {"redis", "unix://%s?timeout=5s", .served = true},
    {"redis, shared", "unix://%s?timeout=5s", .share = 1, .served = true},
    {"pool", "pool:1-7=unix://low:pw@%1$s?timeout=5s 8-15=unix://high:pw@%1$s?timeout=5s",
     .served = true},
    {"local", "local", .share = 0},
    {"local, shared", "local", .share = 1},
    {"a fixed pid", NULL, .fixed = 5, .one = true},
    {"ordinal", "ordinal:env=SFID_TEST_NUMBER", .one = true},
};

/* Directories below one that others may write to: both, or the run directory alone. */
struct place {
    char above[200], run[240], state[4400];
};

static char store[400];

static void make_place(struct place *p, const struct kind *kind, unsigned number) {
    snprintf(p->above, sizeof p->above, "%s/above-%u", dirs.shm, number);
    must(mkdir(p->above, 0700) == 0 && chmod(p->above, 0777) == 0, "%s: %s", p->above,
         strerror(errno));
    snprintf(p->run, sizeof p->run, "%s/run", p->above);
    if (kind->served)
        snprintf(p->state, sizeof p->state, "%s/state", p->above);
    else
        snprintf(p->state, sizeof p->state, "%s-%u", dirs.state, number);
}

static struct member *member_in(const struct place *p, const struct kind *kind, const char *app,
                                const char *socket) {
    sfid_options opt = options_of(app, kind->fixed ? kind->fixed : -1, &layout);
    snprintf(store, sizeof store, kind->store ? kind->store : "", socket);
    opt.share = kind->share;
    opt.ttl_ms = kind->served ? WINDOW_MS : opt.ttl_ms;
    opt.heartbeat_ms = kind->served ? HEARTBEAT_MS : opt.heartbeat_ms;
    opt.skew_budget_ms = kind->served ? BUDGET_MS : opt.skew_budget_ms;
    opt.on_unknown = SFID_TRUST;
    opt.open_timeout_ms = TAP_WAIT_MS;
    opt.run_dir = p->run;
    opt.state_dir = p->state;
    struct member *m = members_new(1, &opt);
    snprintf(m->app, sizeof m->app, "%s", app);
    m->opt.app = m->app;
    m->opt.store = kind->store ? strcpy(m->store, store) : NULL;
    return m;
}

/* Moves the directories that can be moved, from one suffix to another. */
static void move(const struct place *p, const struct kind *kind, const char *from, const char *to) {
    const char *const both[] = {p->run, p->state};
    for (int i = 0; i < (kind->served ? 2 : 1); i++) {
        char a[4500], b[4500];
        snprintf(a, sizeof a, "%s%s", both[i], from);
        snprintf(b, sizeof b, "%s%s", both[i], to);
        must(rename(a, b) == 0, "%s: %s", a, strerror(errno));
    }
}

static bool draws(struct member *m, const char *what) {
    return ok(member_open_one(m) == 0 && member_draws(m, 200, TAP_WAIT_MS), "%s: %s", what,
              m->text);
}

static void test_kind(const struct kind *kind, unsigned number, const char *socket) {
    struct place p;
    char app[40];
    snprintf(app, sizeof app, "renamed-%u", number);
    make_place(&p, kind, number);
    struct member *first = member_in(&p, kind, app, socket),
                  *second = member_in(&p, kind, app, socket),
                  *third = member_in(&p, kind, app, socket);
    diag("%s", kind->name);
    draws(first, "a process draws");
    ok(member_had(first, SFID_EVENT_UNTRUSTED, 1, TAP_WAIT_MS), "and is told of the directory");
    move(&p, kind, "", ".away");
    if (kind->one)
        is_i64(member_open_one(second), SFID_EBUSY,
               "its directory is away: another one is refused: %s", second->text);
    else
        draws(second, "its directories are away: another one draws");
    ok(member_draws(first, 100, TAP_WAIT_MS), "the first one draws on");
    member_kill(first);
    move(&p, kind, "", ".second");
    move(&p, kind, ".away", "");
    draws(third, "they are back, and the first one was killed: a third one draws");
    if (!kind->one)
        ok(member_draws(second, 100, TAP_WAIT_MS) && member_end(second) == 0,
           "beside the second, which ends well");
    is_i64(member_end(third), 0, "and ends well");
    judge("41:4:12/1ms", "none", UINT64_MAX, kind->name);
}

/* Where the marks prove the right, their directory is not used. */
static void refused(const char *what, const char *store_text, int64_t pid) {
    static unsigned number = 100;
    static const struct kind both = {.served = true};
    struct place p;
    sfid *g = NULL;
    make_place(&p, &both, number++);
    sfid_options opt = options_of("refused", pid, &layout);
    opt.store = store_text;
    opt.run_dir = p.run;
    opt.state_dir = p.state;
    const int rc = sfid_open(&g, &opt);
    ok(rc == SFID_ESTATE && strstr(sfid_last_error(g), p.above) &&
           strstr(sfid_last_error(g), "SFID_TRUST_PARENTS"),
       "%s: refused: %s", what, rc < 0 ? sfid_last_error(g) : "opened");
    sfid_close(g);
    setenv("SFID_TRUST_PARENTS", p.above, 1);
    g = NULL;
    is_i64(sfid_open(&g, &opt), 0, "%s: opened where SFID_TRUST_PARENTS names it", what);
    unsetenv("SFID_TRUST_PARENTS");
    sfid_close(g);
}

int main(void) {
    struct redis r;
    fleet_begin("41:4:12/1ms");
    unsetenv("SFID_TRUST_PARENTS");
    setenv("SFID_TEST_NUMBER", "3", 1);
    redis_start(&r, servers.installed[0], "renamed", 0, "--user", "low", "on", ">pw", "~sfid:*",
                "+@all", "--user", "high", "on", ">pw", "~sfid:*", "+@all", NULL);
    for (unsigned i = 0; i < COUNT_OF(kinds); i++)
        test_kind(&kinds[i], i, r.socket);
    redis_kill(&r);
    refused("local", "local", -1);
    refused("a fixed pid", NULL, 5);
    refused("ordinal", "ordinal:env=SFID_TEST_NUMBER", -1);
    refused("local, shared", "local?share=1", -1);
    return done_testing();
}
