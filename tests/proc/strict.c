/* SPDX-License-Identifier: MIT */
/*
 * What is done once in a process is done by sfid_open(). Behind it a call makes no system call but
 * getpid, clock_nanosleep and futex, as doc/deploy.md says: a filter kills the process at any other
 * one. It keeps errno. So does the first call of a process, also in a signal handler: in each way
 * of coming to a handle. A forked child makes getrandom, too, once. Where its parent is gone, it
 * starts a keeper, or cannot: that does not show in errno either.
 *
 * One size. A sanitizer makes calls of its own, so that filters are skipped with one.
 */
#include "support/local.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sfid/lane.h>
#include <sys/syscall.h>

#ifndef SYS_clone3 /* older headers */
#define SYS_clone3 435
#endif

enum { TICKS = 12, EACH = 50, MARKER = 777 };
enum { FILTERED = 1, HANDLED = 2 };

struct way {
    const char *name;
    int share; /* 0: alone; 1, 2: a page that another process has begun */
    bool forked, lane, wide;
};

static const struct way ways[] = {
    {"alone", 0, false, false, false},
    {"share 1, joined", 1, false, false, false},
    {"share 2, joined", 2, false, false, false},
    {"a forked child", 0, true, false, false},
    {"a forked child, share 1", 1, true, false, false},
    {"a lane", 0, false, true, false},
    {"a lane of a shared page", 1, false, true, false},
    {"wide", 0, false, false, true},
    {"wide, share 1", 1, false, false, true},
};

struct trial {
    const struct way *way;
    unsigned flags;
    _Atomic int ids, errors, clobbered;
    atomic_int alone; /* the parent has closed */
};

static struct trial *trial;
static sfid *handle;
static sfid_lane *lane;
static sfid_layout layout;
static sfid_wide_layout wide;

static sfid_options options(const struct way *way, int share) {
    sfid_options opt =
        local_options(way->wide ? "strict-wide" : "strict", "local", way->wide ? NULL : &layout);
    opt.wide = way->wide ? &wide : NULL;
    opt.share = share;
    return opt;
}

/* One ID by this call, which keeps errno. A call that may not wait may have none. */
static void draw(int64_t (*call)(void)) {
    errno = MARKER;
    const int64_t id = call();
    atomic_fetch_add(&trial->clobbered, errno != MARKER);
    atomic_fetch_add(&trial->ids, id >= 0);
    atomic_fetch_add(&trial->errors, id < 0 && id != SFID_EAGAIN);
}

static int64_t try_next(void) {
    sfid_wide id;
    return trial->way->wide ? sfid_try_next_wide(handle, &id) : sfid_try_next(handle);
}

static int64_t next(void) {
    sfid_wide id;
    return lane               ? sfid_lane_next(lane)
           : trial->way->wide ? sfid_next_wide(handle, &id)
                              : sfid_next(handle);
}

static int64_t many(void) {
    int64_t ids[EACH];
    sfid_wide wides[EACH];
    return trial->way->wide ? sfid_next_n_wide(handle, wides, EACH)
                            : sfid_next_n(handle, ids, EACH);
}

static int64_t ask(void) {
    return sfid_ready(handle) + (int64_t)sfid_retry_ms(handle) >= 0 && sfid_pid(handle) >= 0 ? 0
                                                                                             : -1;
}

static void on_signal(int sig) {
    (void)sig;
    draw(try_next);
}

/* Of this thread, and those that it starts. */
static bool install(struct sock_filter *code, unsigned n) {
    const struct sock_fprog program = {(unsigned short)n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The keeper needs more. What the test itself calls is let through, too; getrandom in a child
 * alone. */
static bool filter(void) {
    static const int good[] = {SYS_clock_nanosleep, SYS_futex,      SYS_getpid,
                               SYS_clock_gettime,   SYS_exit_group, SYS_rt_sigreturn,
                               SYS_getrandom};
    const unsigned all = COUNT_OF(good) - (trial->way->forked ? 0 : 1);
    struct sock_filter code[COUNT_OF(good) + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned n = 1;
    for (unsigned i = 0; i < all; i++, n++)
        code[n] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)good[i], all - i, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return install(code, n);
}

/* All calls, over several ticks. */
static int generate(void *unused) {
    (void)unused;
    const struct timespec nap = {0, 1000000};
    if (trial->flags & HANDLED) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
    if (trial->flags & FILTERED && !filter())
        return DIED;
    for (int i = 0; i < TICKS; i++) {
        draw(try_next);
        draw(next);
        draw(many);
        draw(ask);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
    return 0;
}

static int live(void *arg) {
    trial = arg;
    const sfid_options opt = options(trial->way, trial->way->share);
    if (sfid_open(&handle, &opt) < 0) {
        diag("%s", sfid_last_error(handle));
        return DIED;
    }
    if (trial->way->lane && sfid_lane_open(&lane, handle) < 0)
        return DIED;
    if (!trial->way->forked)
        return generate(NULL);
    let_threads_start();
    return child_run(generate, NULL, TAP_WAIT_MS);
}

static void test_way(const struct way *way, unsigned flags) {
    struct trial *t = shared_memory(sizeof *t);
    t->way = way;
    t->flags = flags;
    const char *how = flags & FILTERED  ? "with the documented filter"
                      : flags & HANDLED ? "first in a signal handler"
                                        : "as it is";
    const int status = child_run(live, t, TAP_WAIT_MS);
    ok(status == 0 && atomic_load(&t->ids) > TICKS && atomic_load(&t->errors) == 0,
       "%s, %s: IDs, and no call that is forbidden", way->name, how);
    is_i64(atomic_load(&t->clobbered), 0, "%s, %s: errno is kept", way->name, how);
    if (status != 0)
        diag("status %d%s", status,
             status == KILLED + SIGSYS ? ": a call that the filter forbids" : "");
}

/* ---- no thread can start ------------------------------------------------------------ */

/* As at a limit of processes. */
static bool stop_threads(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(code, COUNT_OF(code));
}

/* Each call tries to start a keeper, from the middle of the window to its end. */
static int run_out(void *unused) {
    (void)unused;
    if (!stop_threads() || !flag_wait(&trial->alone, 1, TAP_WAIT_MS))
        return DIED;
    while (atomic_load(&trial->errors) == 0)
        draw(next);
    return sfid_next(handle) == SFID_ELEASE ? 0 : DIED;
}

static int leave_child(void *arg) {
    trial = arg;
    sfid_options opt = options(trial->way, 0);
    opt.store = "local?lead_ms=300";
    opt.max_wait_ms = 1;
    must(sfid_open(&handle, &opt) == 0, "%s", sfid_last_error(handle));
    let_threads_start();
    const pid_t child = child_start(run_out, NULL);
    sfid_close(handle);
    atomic_store(&trial->alone, 1);
    return child_wait(child, TAP_WAIT_MS);
}

static void test_threadless(void) {
    struct trial *t = shared_memory(sizeof *t);
    t->way = &ways[0];
    is_i64(child_run(leave_child, t, TAP_WAIT_MS), 0,
           "a child in which no thread can start: the window of its parent ends");
    ok(atomic_load(&t->ids) > 0, "until then it has IDs");
    is_i64(atomic_load(&t->clobbered), 0, "errno is kept");
}

/* ---- shared pages --------------------------------------------------------------------- */

/* A process that begins a shared page and stays. */
struct beginner {
    bool wide;
    atomic_int up, may_end;
};

static int begin_page(void *arg) {
    struct beginner *b = arg;
    const sfid_options opt = options(&(struct way){.wide = b->wide}, 1);
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    atomic_store(&b->up, 1);
    const bool told = flag_wait(&b->may_end, 1, 10 * TAP_WAIT_MS);
    sfid_close(g);
    return rc == 0 && told ? 0 : 1;
}

int main(void) {
    dirs_make();
    layout = layout_of("41:10:12/1ms");
    must(sfid_wide_layout_parse("uuid7", &wide) == 0, "no wide layout");
    struct beginner *b = shared_memory(2 * sizeof *b);
    pid_t child[2];
    for (int i = 0; i < 2; i++) {
        b[i].wide = i == 1;
        child[i] = child_start(begin_page, &b[i]);
        must(flag_wait(&b[i].up, 1, TAP_WAIT_MS), "no shared page");
    }
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        test_way(&ways[i], 0);
        test_way(&ways[i], HANDLED);
        if (SANITIZED)
            skip(2, "a sanitizer makes calls of its own");
        else
            test_way(&ways[i], FILTERED);
    }
    if (SANITIZED)
        skip(3, "a sanitizer makes calls of its own");
    else
        test_threadless();
    for (int i = 0; i < 2; i++) {
        atomic_store(&b[i].may_end, 1);
        is_i64(child_wait(child[i], TAP_WAIT_MS), 0, "who began a page ends well");
    }
    return done_testing();
}
