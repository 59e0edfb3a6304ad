/* SPDX-License-Identifier: MIT */
/*
 * Thousands of generators in one process, each with a pid of its own: the last hundred look at no
 * more files to open than the first hundred, few threads serve them all, and while they are idle
 * the process wakes up only to renew. Closed one by one, they leave no thread and no descriptor.
 *
 * Sizes: 1000 generators (long: 10,000; sanitizer: 200), a look at the idle process of 2 s (long:
 * 60 s). The program has a flock() of its own, which the library calls instead of the system's.
 */
#include "support/local.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { HUNDRED = 100, THREADS_MOST = 8 };

static sfid_layout layout;
static sfid **all;
static unsigned count;

/* ---- opening ------------------------------------------------------------------- */

static _Atomic int64_t locks; /* that were tried: at least one for each pid that an open looks at */

int flock(int fd, int operation) {
    atomic_fetch_add(&locks, 1);
    return (int)syscall(SYS_flock, fd, operation);
}

struct cost {
    int64_t locks, wall_ns, cpu_ns;
};

/* Opens generators up to the n-th. */
static struct cost open_until(unsigned n, const sfid_options *opt, unsigned *opened) {
    const struct cost before = {atomic_load(&locks), mono_ns(), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
    for (; *opened < n; ++*opened)
        all[*opened] = open_or_die(opt);
    return (struct cost){atomic_load(&locks) - before.locks, mono_ns() - before.wall_ns,
                         clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before.cpu_ns};
}

static void tell_cost(const char *what, const struct cost *c) {
    diag("figure: an open of the %s hundred: %.1f locks are tried, %.0f us, %.0f us CPU", what,
         (double)c->locks / HUNDRED, (double)c->wall_ns / HUNDRED / 1e3,
         (double)c->cpu_ns / HUNDRED / 1e3);
}

static void open_all(const sfid_options *opt) {
    unsigned opened = 0;
    open_until(1, opt, &opened); /* makes directories and the thread */
    const int64_t begin = mono_ns();
    const struct cost first = open_until(1 + HUNDRED, opt, &opened);
    open_until(count - HUNDRED, opt, &opened);
    const struct cost last = open_until(count, opt, &opened);
    diag("figure: %u opened in %.2f s", count, (double)(mono_ns() - begin) / 1e9);
    tell_cost("first", &first);
    tell_cost("last", &last);
    ok(first.locks >= HUNDRED && last.locks <= first.locks,
       "what was opened before makes an open no dearer (%" PRId64 " %% of the first ones' locks)",
       last.locks * 100 / (first.locks ? first.locks : 1));
}

/* ---- idle -------------------------------------------------------------------------- */

/* How often the library's threads went to sleep: a sanitizer may have one of its own. */
static uint64_t sleeps(void) {
    uint64_t sum = 0, n;
    char path[300], line[200], name[40] = "";
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks)) != NULL;) {
        if (atoi(e->d_name) == getpid() || e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *in = fopen(path, "re");
        while (in && fgets(line, sizeof line, in))
            if (sscanf(line, "Name: %39s", name) != 1 && strncmp(name, "sfid-", 5) == 0)
                sum += sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1 ? n : 0;
        if (in)
            fclose(in);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static uint64_t renewals(void) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sfid_status_info st;
        must(sfid_status(all[i], &st) >= 0, "no status of generator %u", i);
        sum += st.renewals;
    }
    return sum;
}

/* A renewal may also sleep for the disk. */
static bool is_idle(unsigned ms, uint64_t *more, uint64_t *answers) {
    const uint64_t renewed = renewals(), slept = sleeps();
    nap_us((long)ms * 1000);
    *more = sleeps() - slept;
    *answers = renewals() - renewed;
    diag("figure: idle for %u ms: %" PRIu64 " wake-ups, %" PRIu64 " renewals", ms, *more, *answers);
    return *more <= *answers + *answers / 2 + 2;
}

/* Again if not: a thread that was late, or stopped, also goes to sleep once more, but not each
 * time. */
static void look_while_idle(unsigned ms) {
    uint64_t more = 0, answers = 0;
    bool idle = false;
    for (int i = 0; i < 5 && !idle; i++)
        idle = is_idle(ms, &more, &answers);
    ok(idle, "an idle process wakes up only to renew (%" PRIu64 " times, %" PRIu64 " renewals)",
       more, answers);
}

/* Raises the limit as far as they need it. */
static bool may_have_descriptors(rlim_t wanted) {
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) >= 0, "getrlimit: %s", strerror(errno));
    if (limit.rlim_cur >= wanted)
        return true;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted)
        limit.rlim_max = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) >= 0;
}

/* ---- all of it ---------------------------------------------------------------------- */

static void draw_from_all(void) {
    unsigned failed = 0, same = 0;
    for (unsigned i = 0; i < count; i++) {
        const int64_t id = sfid_next(all[i]);
        failed += id < 0;
        same += i > 0 && id_pid(&layout, id) == sfid_pid(all[i - 1]);
    }
    ok(failed == 0 && same == 0, "each generates IDs, under a pid of its own (%u failed)", failed);
}

static void close_all(int fds, int threads) {
    const int64_t begin = mono_ns();
    for (unsigned i = 0; i < count; i++)
        sfid_close(all[i]);
    diag("figure: closed in %.2f s", (double)(mono_ns() - begin) / 1e9);
    ok(tap_wait_until(threads_are, &threads, TAP_WAIT_MS), "closed, they leave no thread");
    is_i64(count_fds(), fds, "and no descriptor");
}

int main(void) {
    count = (unsigned)sized(1000, 10000, 200);
    dirs_make();
    /* and a few for all of them */
    if (!may_have_descriptors(count * (1 + (unsigned)fds_of_a_lock(tap_tmpdir())) + 20))
        skip_all("a process may not have enough descriptors here");
    layout = layout_of("41:14:8/1ms");
    all = calloc(count, sizeof(sfid *));
    const int fds = count_fds(), threads = count_threads();
    const sfid_options opt = local_options("many", "local?mark=none", &layout);
    open_all(&opt);
    const int more = count_threads() - threads;
    diag("figure: %d threads more", more);
    ok(more < THREADS_MOST, "%u generators have fewer than %d threads", count, THREADS_MOST);
    draw_from_all();
    look_while_idle((unsigned)sized(2000, 60000, 2000));
    close_all(fds, threads);
    free(all);
    return done_testing();
}
