/* SPDX-License-Identifier: MIT */
/*
 * sfid_open() keeps to open_timeout_ms: in each store and kind of open, with processes that stay in
 * every door, with a disk whose syncs are slow, and with a server that says nothing. All opens of
 * one condition run at once. Cells of tests/options that share the code of others are tried once,
 * with a process in every door.
 *
 * One size. The program has a fsync() and a fdatasync() of its own, which the library calls instead
 * of the system's.
 */
#include "support/cells.h"
#include "support/fleet.h"
#include "support/peer.h"

#include <ftw.h>
#include <sys/syscall.h>

/* SYNC_MS: of a slow disk. AFTER_MS: what an open may take once its time is over, with half a dozen
 * others beside it. */
enum { SYNC_MS = 300, AFTER_MS = 1000 };

/* Of the command: sysexits.h. STATE: on a busy host an open comes too late for a door. */
enum { STATUS_UNAVAILABLE = 69, STATUS_STATE = 73, STATUS_LATER = 75 };

#define LAYOUT "41:4:12/1ms"

static const unsigned timeouts[] = {100, 1000, 5000};

/* When a kind of the list below is tried, too. */
enum { ONCE_MS = 1000 };

#define ORDINAL "ordinal:env=SFID_TEST_NUMBER"
#define POOL "pool:1-7=unix://low:pw@%1$s 8-15=unix://high:pw@%1$s"
#define SHARED_POOL "pool:1-7=unix://low:pw@%1$s?share=1 8-15=unix://high:pw@%1$s?share=1"

/* A store and a kind of open, as in tests/options; the store's text. Redis stands where the
 * server's URL goes. */
static const struct kind {
    const char *cell[2], *store;
    int64_t pid; /* -1: any */
    bool served, once;
} kinds[] = {
    {{"local", "alone"}, "local", -1, false, false},
    {{"fixed", "alone"}, NULL, 3, false, false},
    {{"local", "share"}, "local?share=1", -1, false, false},
    {{"ordinal", "alone"}, ORDINAL, -1, false, false},
    {{"redis", "alone"}, "unix://%s", -1, true, false},
    {{"redis", "alone"}, "unix://%s", 3, true, false},
    {{"redis", "share"}, "unix://%s?share=1", -1, true, false},
    {{"pool", "alone"}, POOL, -1, true, false},
#define REST(name, text, shared, pid, served) \
    {{name, "share"}, shared, pid, served, true}, {{name, "wide"}, text, pid, served, true}, \
        {{name, "resume"}, text, pid, served, true}, { \
        {name, "serve"}, text, pid, served, true \
    }
    REST("fixed", NULL, NULL, 3, false),
    REST("local", "local", "local?share=1", -1, false),
    REST("ordinal", ORDINAL, ORDINAL "?share=1", -1, false),
    REST("redis", "unix://%s", "unix://%s?share=1", -1, true),
    REST("pool", POOL, SHARED_POOL, -1, true),
#undef REST
    {{"local", "exec"}, "local", -1, false, true},
    {{"ordinal", "exec"}, ORDINAL, -1, false, true},
    {{"redis", "exec"}, "unix://%s", -1, true, true},
    {{"pool", "exec"}, POOL, -1, true, true},
};

#define NAMES(k) (k)->cell[0], (k)->cell[1]

static bool is(const struct kind *k, const char *how) { return strcmp(k->cell[1], how) == 0; }

enum condition { STUCK, SLOW, SILENT };

struct trying {
    const struct kind *kind;
    enum condition condition;
    unsigned timeout_ms;
    char app[40], store[300], run[200], state[4300];
    struct took took;
    int rc, syncs;
    int64_t synced_ms; /* spent in them */
    char text[600];
    pid_t child;
};

static struct trying *now; /* in a child */

static int slow_sync(long call, int fd) {
    if (now == NULL || now->condition != SLOW)
        return (int)syscall(call, fd);
    const int64_t began = tap_now_ms();
    nap_us(SYNC_MS * 1000L);
    const int rc = (int)syscall(call, fd);
    now->syncs++;
    now->synced_ms += tap_now_ms() - began;
    return rc;
}

int fsync(int fd) { return slow_sync(SYS_fsync, fd); }

int fdatasync(int fd) { return slow_sync(SYS_fdatasync, fd); }

static sfid_wide_layout uuids;
static bool serves;

static sfid_options options_for(const struct trying *t) {
    sfid_options opt = options_of(t->app, t->kind->served ? -1 : t->kind->pid,
                                  is(t->kind, "wide") ? NULL : &layout);
    opt.wide = is(t->kind, "wide") ? &uuids : NULL;
    opt.share = opt.share || is(t->kind, "share");
    opt.store = t->kind->store ? t->store : NULL;
    if (t->kind->served && t->kind->pid >= 0)
        opt.pid_min = opt.pid_max = t->kind->pid;
    opt.run_dir = t->run;
    opt.state_dir = t->state;
    opt.open_timeout_ms = t->timeout_ms;
    opt.on_unknown = SFID_TRUST;
    return opt;
}

/* This process is the command, which says on standard error why it fails. */
static int command(void *arg) {
    const struct trying *t = arg;
    const bool serving = is(t->kind, "serve");
    char listen[300], ms[20];
    snprintf(listen, sizeof listen, "unix:%s/listen-%s", dirs.shm, t->app);
    snprintf(ms, sizeof ms, "%u", t->timeout_ms);
    execl(sfid_program(), sfid_program(), t->kind->cell[1], serving ? "--listen" : "--grace-ms",
          serving ? listen : "500", "--app", t->app, t->kind->store ? "--store" : "--pid",
          t->kind->store ? t->store : "3", "--layout", LAYOUT, "--run-dir", t->run, "--state-dir",
          t->state, "--timeout-ms", ms, serving ? NULL : "--", "true", NULL);
    return DIED;
}

static int attempt(void *arg) {
    struct trying *t = arg;
    const sfid_options opt = options_for(t);
    sfid *g = NULL;
    witness_begin();
    now = t;
    const int64_t began = tap_now_ms();
    if (is(t->kind, "serve") || is(t->kind, "exec")) {
        t->rc = -child_run(command, t, TAP_WAIT_MS);
        t->took = took_since(began);
        if (t->rc == -STATUS_LATER || t->rc == -STATUS_UNAVAILABLE || t->rc == -STATUS_STATE)
            snprintf(t->text, sizeof t->text, "status %d", -t->rc);
        return 0;
    }
    t->rc = sfid_open(&g, &opt);
    t->took = took_since(began);
    now = NULL;
    snprintf(t->text, sizeof t->text, "%s", sfid_last_error(g));
    sfid_close(g);
    return 0;
}

/* Locks all doors of a directory tree. The descriptors stay open as long as the test. */
static int stay_in(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    if (kind == FTW_F && strcmp(path + at->base, "lock") == 0) {
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        must(fd >= 0 && fcntl(fd, F_OFD_SETLK, &all) == 0, "%s: %s", path, strerror(errno));
    }
    return 0;
}

/* An open that has all its time makes the files, and is over: by a close, or by the end of its
 * process. */
static int open_once(void *arg) {
    const struct trying *t = arg;
    sfid_options opt = options_for(t);
    sfid *g = NULL;
    opt.open_timeout_ms = TAP_WAIT_MS;
    must(sfid_open(&g, &opt) == 0, "open: %s", sfid_last_error(g));
    if (!is(t->kind, "resume"))
        sfid_close(g);
    return 0;
}

static void prepare(struct trying *t, unsigned number, const char *server) {
    snprintf(t->app, sizeof t->app, "app-%u", number);
    snprintf(t->store, sizeof t->store, t->kind->store ? t->kind->store : "", server);
    snprintf(t->run, sizeof t->run, "%s/run-%u", dirs.shm, number);
    snprintf(t->state, sizeof t->state, "%s-%u", dirs.state, number);
    if (t->condition == STUCK) {
        must(child_run(open_once, t, TAP_WAIT_MS) == 0, "%s, %s: no first open", NAMES(t->kind));
        nftw(t->run, stay_in, 16, FTW_PHYS);
        nftw(t->state, stay_in, 16, FTW_PHYS);
    }
}

static void judge_one(const struct trying *t, const char *what) {
    char name[120];
    snprintf(name, sizeof name, "%s, %s, %s, %s, open_timeout_ms %u", what, NAMES(t->kind),
             t->kind->pid < 0 ? "any pid" : "one pid", t->timeout_ms);
    diag("figure: %s: %" PRId64 " ms, %d syncs, %d %.90s", name, t->took.ms, t->syncs, t->rc,
         t->text);
    /* A disk that takes all the time ends an open that has to ask a server; one that does not has
     * its pid by then. */
    const bool spent = t->kind->served && t->rc < 0;
    if (t->condition == SLOW && spent) {
        ok(strstr(t->text, "no time was left") && strstr(t->text, "disk"),
           "%s: fails, and does not blame the server", name);
        lasted(t->took, t->timeout_ms, "%s: which took all the time", name);
    } else if (t->condition == SLOW) {
        is_i64(t->rc, 0, "%s: opens", name);
    }
    if (t->condition == SLOW) {
        in_time(t->took, t->synced_ms + AFTER_MS, "%s: after its %d syncs", name, t->syncs);
        return;
    }
    ok(t->rc < 0 && t->text[0], "%s: fails, and says why", name);
    in_time(t->took, t->timeout_ms + AFTER_MS, "%s: in time", name);
}

/* Those of one timeout are tried at once. */
static void meet_within(unsigned timeout_ms, enum condition condition, const char *what,
                        const char *server) {
    struct trying *all = shared_memory(COUNT_OF(kinds) * sizeof *all);
    static unsigned number;
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (condition == SILENT && !kinds[i].served)
            continue;
        if (kinds[i].once && (condition == SLOW || timeout_ms != ONCE_MS))
            continue;
        if (condition == STUCK)
            need(cell_given("open_timeout_ms", NAMES(&kinds[i])),
                 "tests/options does not name this test for %s, %s", NAMES(&kinds[i]));
        if (is(&kinds[i], "serve") && !serves) {
            skip(1, "built without libuv");
            continue;
        }
        all[n] =
            (struct trying){.kind = &kinds[i], .condition = condition, .timeout_ms = timeout_ms};
        prepare(&all[n++], number++, server);
    }
    for (size_t i = 0; i < n; i++)
        all[i].child = child_start(attempt, &all[i]);
    for (size_t i = 0; i < n; i++)
        must(child_wait(all[i].child, TAP_WAIT_MS) == 0, "an open crashed");
    for (size_t i = 0; i < n; i++)
        judge_one(&all[i], what);
}

static void meet(enum condition condition, const char *what, const char *server) {
    for (size_t i = 0; i < COUNT_OF(timeouts); i++)
        meet_within(timeouts[i], condition, what, server);
}

int main(void) {
    struct redis r;
    fleet_begin(LAYOUT);
    cells_begin("tests/fleet/deadlines");
    serves = sfid_has("serve");
    need(sfid_wide_layout_parse("uuid7", &uuids) == 0, "no uuid7");
    setenv("SFID_TEST_NUMBER", "3", 1);
    redis_start(&r, servers.installed[0], "fleet", 0, "--user", "low", "on", ">pw", "~sfid:*",
                "+@all", "--user", "high", "on", ">pw", "~sfid:*", "+@all", NULL);
    meet(STUCK, "a process stays in each door", r.socket);
    meet(SLOW, "syncs are slow", r.socket);
    redis_kill(&r);
    struct peer silent = start_peer(false, serve_nothing);
    meet(SILENT, "a server says nothing", silent.path);
    stop_peer(&silent);
    cells_end();
    return done_testing();
}
