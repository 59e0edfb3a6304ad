/* SPDX-License-Identifier: MIT */
/*
 * The pages of live processes are written to at random: bytes, words, small numbers, single bits,
 * from their beginning, which has what the library goes by, to their end. Four processes open, call
 * all that reads a page in two threads and in a forked child, close beside them, and begin anew.
 * Calls may fail, and IDs may be wrong. But no process ends by a signal or by the report of a
 * sanitizer, nothing that the process has elsewhere changes, and none hangs.
 *
 * Sizes: 4 s of a page each alone, and 4 s of a shared one (long: 60 s each).
 */
#include "support/local.h"

#include <sfid/wide.h>
#include <sys/resource.h>

enum {
    VICTIMS = 4,
    CALLS = 400,
    BATCH = 100,
    HEAP = 1 << 20,
    FILL = 0x61,
    CHANGED = 77,
    FEW = 2048
};

/* The index of a record is one of the words: with another one in it, a call reads the record that a
 * keeper is just writing. */
const char tsan_options[] =
    "report_bugs=0 die_after_fork=0 report_thread_leaks=0 atexit_sleep_ms=0";

static struct { atomic_long opens, calls, good; } * sum;

static sfid_layout layout;
static sfid_wide_layout wide_layout;
static int64_t end_ns;

static bool goes_on(void) { return mono_ns() < end_ns; }

/* ---- a process -------------------------------------------------------------------------- */

static int64_t call_one(sfid *g, bool wide, sfid_lane *lane, int which) {
    sfid_status_info st;
    sfid_wide wides[BATCH];
    int64_t ids[BATCH];
    switch (which % 10) {
    case 0:
        return wide ? sfid_next_n_wide(g, wides, BATCH) : sfid_next_n(g, ids, BATCH);
    case 1:
        return wide ? sfid_next_wide(g, wides) : sfid_next(g);
    case 2:
        return lane ? sfid_lane_next(lane) : sfid_pid(g);
    case 3:
        return sfid_retry_ms(g);
    case 4:
        return sfid_ready(g);
    case 5:
        return sfid_status(g, &st);
    case 6:
        return sfid_last_error(g) == NULL;
    default:
        return wide ? sfid_try_next_wide(g, wides) : sfid_try_next(g);
    }
}

struct use {
    sfid *g;
    bool wide;
};

static void *call(void *arg) {
    const struct use *u = arg;
    sfid_lane *lane = NULL;
    if (!u->wide && sfid_lane_open(&lane, u->g) < 0)
        return NULL;
    for (int i = 0; i < CALLS && goes_on(); i++) {
        const int64_t rc = call_one(u->g, u->wide, lane, i);
        atomic_fetch_add(&sum->calls, 1);
        atomic_fetch_add(&sum->good, rc > 0);
        if (i % 16 == 0)
            nap_us(1000);
    }
    sfid_lane_close(lane);
    return NULL;
}

static int child_calls(void *arg) {
    call(arg);
    sfid_close(((const struct use *)arg)->g);
    return 0;
}

/* One life of a generator. late: it is closed while threads call. Returns what a child ended
 * with. */
static int live(const sfid_options *opt, bool forks, bool late) {
    struct use u = {.wide = opt->wide != NULL};
    pthread_t thread[2];
    int status = 0;
    if (sfid_open(&u.g, opt) == 0) {
        atomic_fetch_add(&sum->opens, 1);
        let_threads_start();
        const pid_t child = forks ? child_start(child_calls, &u) : 0;
        for (int i = 0; i < 2; i++)
            start_thread(&thread[i], call, &u);
        if (late)
            nap_us(5000);
        for (int i = 0; i < 2 && !late; i++)
            pthread_join(thread[i], NULL);
        sfid_close(u.g);
        for (int i = 0; i < 2 && late; i++)
            pthread_join(thread[i], NULL);
        if (child > 0)
            status = child_wait(child, TAP_WAIT_MS);
        call_one(u.g, u.wide, NULL, 1);
    } else {
        sfid_close(u.g);
        nap_us(5000);
    }
    return status;
}

static const char *store;

static int victim(void *arg) {
    const struct rlimit none = {0, 0};
    unsigned char *heap = malloc(HEAP);
    uint64_t rng = *(const uint64_t *)arg;
    setrlimit(RLIMIT_CORE, &none);
    memset(heap, FILL, HEAP);
    while (goes_on()) {
        const uint64_t dice = draw_random(&rng);
        sfid_options opt = local_options(dice % 4 ? "fuzz" : "fuzz-wide", store, &layout);
        if (dice % 4 == 0) {
            opt.layout = NULL;
            opt.wide = &wide_layout;
        }
        opt.state_dir = dirs.shm; /* no disk */
        opt.max_wait_ms = opt.max_ahead_ms = 100;
        opt.open_timeout_ms = 300;
        const int status = live(&opt, dice / 4 % 4 == 0, dice / 16 % 2);
        if (status != 0)
            return status >= KILLED ? status - KILLED : status; /* its child's is its own */
        for (int i = 0; i < HEAP; i++)
            if (heap[i] != FILL)
                return CHANGED;
    }
    free(heap);
    return 0;
}

/* ---- the writer ---------------------------------------------------------------------------- */

static void write_to(int fd, off_t size, uint64_t *rng) {
    const uint64_t dice = draw_random(rng), most = dice % 4 ? FEW : (uint64_t)size - 8;
    const off_t at = (off_t)(draw_random(rng) % most), word = at & ~(off_t)7;
    uint64_t v = draw_random(rng), old = 0;
    ssize_t n;
    switch (dice / 4 % 6) {
    case 0:
        n = pwrite(fd, &v, 1, at);
        break;
    case 1:
        v = 0;
        n = pwrite(fd, &v, 8, word);
        break;
    case 2:
        n = pwrite(fd, &v, 8, word);
        break;
    case 3:
        v %= 6000;
        n = pwrite(fd, &v, 4, at & ~(off_t)3);
        break;
    case 4:
        n = pwrite(fd, &v, 2, at & ~(off_t)1);
        break;
    default:
        n = pread(fd, &old, 8, word);
        v = old ^ UINT64_C(1) << v % 64;
        n = pwrite(fd, &v, 8, word);
    }
    must(n > 0, "cannot write to a page: %s", strerror(errno));
}

/* Writes to half of the pages of an app. */
static void write_some(const char *app, uint64_t *rng) {
    char dir[120], path[400];
    snprintf(dir, sizeof dir, "%s/%s", dirs.run, app);
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 1 << 16 ||
            draw_random(rng) % 2)
            continue;
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        write_to(fd, st.st_size, rng);
        close(fd);
    }
    if (d)
        closedir(d);
}

/* ---- all of it
 * -------------------------------------------------------------------------------- */

struct tally {
    long rounds, died, changed, hung;
};

static void note_end(struct tally *t, int status) {
    if (status == 0)
        return;
    diag(status > KILLED ? "a process ended by signal %d" : "a process ended with %d",
         status > KILLED ? status - KILLED : status);
    t->died += status != CHANGED && status != TIMED_OUT;
    t->changed += status == CHANGED;
    t->hung += status == TIMED_OUT;
}

static int status_now(pid_t child) {
    int status;
    if (waitpid(child, &status, WNOHANG) != child)
        return TIMED_OUT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

static void fuzz(const char *what, const char *url, uint64_t *rng) {
    struct tally t = {0};
    pid_t child[VICTIMS] = {0};
    uint64_t seeds[VICTIMS];
    store = url;
    memset(sum, 0, sizeof *sum);
    end_ns = mono_ns() + (getenv("SFID_TEST_LONG") ? 60 : 4) * (int64_t)1000 * NS_PER_MS;
    for (; goes_on(); t.rounds++) {
        for (int i = 0; i < VICTIMS; i++) {
            const int status = child[i] ? status_now(child[i]) : 0;
            if (child[i] && status == TIMED_OUT)
                continue;
            note_end(&t, status);
            seeds[i] = draw_random(rng);
            child[i] = child_start(victim, &seeds[i]);
        }
        write_some("fuzz", rng);
        write_some("fuzz-wide", rng);
        nap_us(500);
    }
    for (int i = 0; i < VICTIMS; i++)
        note_end(&t, child_wait(child[i], TAP_WAIT_MS));
    diag("%s: %ld rounds of writes, %ld opens, %ld calls, %ld good", what, t.rounds,
         atomic_load(&sum->opens), atomic_load(&sum->calls), atomic_load(&sum->good));
    is_i64(t.died, 0, "%s: no process ends by a signal or a report", what);
    is_i64(t.changed, 0, "%s: nothing changes elsewhere", what);
    is_i64(t.hung, 0, "%s: none hangs", what);
    ok(atomic_load(&sum->opens) > 0 && atomic_load(&sum->good) > 0,
       "%s: meanwhile they open, and calls succeed", what);
}

int main(void) {
    uint64_t rng = seed();
    dirs_make();
    sum = shared_memory(sizeof *sum);
    layout = layout_of("ms");
    must(sfid_wide_layout_parse("uuid7", &wide_layout) >= 0, "no layout");
    fuzz("alone", "local?lead_ms=1100", &rng);
    fuzz("shared", "local?lead_ms=1100&share=1", &rng);
    return done_testing();
}
