/* SPDX-License-Identifier: MIT */
/*
 * The witness: how long this machine stood still, as a thread of the test's own
 * sees it.
 *
 * The thread of naps sleeps NAP_MS at a time. One that ends more than LATE_MS
 * late is a stall, from when it was due. A thread that waits for a disk, or in
 * fork() for a lock of the kernel's, leaves the processors free, and naps do not
 * see it: on two loaded cores a fork took 6 s, a sync of a new file 2 s, and no
 * nap was 200 ms late. So for a test whose subject does such things, a sync of a
 * file that grows or shrinks is a stall, and the start and end of a process, if
 * it takes more than SLOW_MS.
 *
 * Each list has one writer and readers of other threads. A reader takes first
 * what is under way [B] and then the count [A], each with acquire, which pairs
 * with the writer's release: the stalls below the count are whole, and none is
 * missing between the two. The list is a ring; a stall that a reader meets half
 * written lies KEPT stalls before the newest, and its numbers are still times,
 * so a reader is wrong by one stall of long ago at most.
 */
#include "support/tap.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

enum {
    NAP_MS = 10,
    LATE_MS = 2,
    LOOK_EACH_MS = 100,
    SLOW_MS = 20,
    KEPT = 4096,
    TIMES_EXCUSED = 4,
    STACK = 16384
};

struct stalls {
    _Atomic unsigned count;
    /* when the nap under way ends; the begin of the step under way and SLOW_MS. 0: none is */
    _Atomic int64_t due_ms;
    struct {
        _Atomic int64_t from_ms, to_ms;
    } at[KEPT];
};

static struct stalls naps; /* of the process whose number this is */
static pid_t napping;
static struct stalls *steps; /* of the family: disk and kernel are slow for all */
static unsigned compared, not_judged;
static sem_t runs; /* a thread that was started does */

/* Release: who sees it sees the stall before it as well. Pairs with stalled_within() [B]. */
static void begin(struct stalls *s, int64_t due_ms) {
    atomic_store_explicit(&s->due_ms, due_ms, memory_order_release);
}

/* Ends what was due then: late, it is a stall. */
static void end(struct stalls *s, int64_t late_ms) {
    /* this thread's own */
    const int64_t due = atomic_load_explicit(&s->due_ms, memory_order_relaxed), now = tap_now_ms();
    /* this thread's own */
    const unsigned n = atomic_load_explicit(&s->count, memory_order_relaxed);
    if (now - due > late_ms) {
        /* published by the count */
        atomic_store_explicit(&s->at[n % KEPT].from_ms, due, memory_order_relaxed);
        atomic_store_explicit(&s->at[n % KEPT].to_ms, now, memory_order_relaxed); /* likewise */
        /* [A] of stalled_within() */
        atomic_store_explicit(&s->count, n + 1, memory_order_release);
    }
}

static void nap_ms(int64_t ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void *watch_naps(void *arg) {
    (void)arg;
    sem_post(&runs);
    for (;; begin(&naps, tap_now_ms() + NAP_MS)) { /* the first has begun */
        nap_ms(NAP_MS);
        end(&naps, LATE_MS);
    }
    return NULL;
}

/* What syncs has to write more than a byte: a journal. */
static bool sync_once(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && ftruncate(fd, !st.st_size) == 0 && fsync(fd) == 0;
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/*
 * Starts a process and waits for its end. It has this memory and these descriptors, so that it
 * keeps no lock, and no signal of its end: the test's own waits do not meet it.
 */
static bool process_once(void) {
    static _Alignas(16) char stack[STACK];
    const pid_t pid = clone(nothing, stack + STACK, CLONE_VM | CLONE_FILES | CLONE_VFORK, NULL);
    return pid > 0 && waitpid(pid, NULL, __WCLONE) == pid;
}

/* Takes the step. False: it is refused, as on a full disk or by a limit of the test's own. That
 * says nothing of the time. */
static bool look(bool taken) {
    if (taken)
        end(steps, 0);
    begin(steps, 0);
    return taken;
}

static void *watch_steps(void *arg) {
    const int fd = (int)(intptr_t)arg;
    /* they take what clone() begins for a fork */
    bool syncs = true, starts = !SANITIZED && !tap_under_valgrind();
    sem_post(&runs);
    while (syncs || starts) {
        const int64_t began = tap_now_ms();
        begin(steps, began + SLOW_MS);
        syncs = syncs && look(sync_once(fd));
        begin(steps, tap_now_ms() + SLOW_MS);
        starts = starts && look(process_once());
        begin(steps, 0);
        /* A disk that is always slow is not kept busy. */
        nap_ms(LOOK_EACH_MS + 4 * (tap_now_ms() - began));
    }
    return NULL;
}

/* Signals of the test are not for it. It runs on return: a fork while a thread is starting leaves a
 * sanitizer's locks held in the child. */
static void start(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sem_init(&runs, 0, 0);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int why = pthread_create(&thread, NULL, fn, arg);
    while (why == 0 && sem_wait(&runs) < 0)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    need(why == 0 && pthread_detach(thread) == 0, "no witness: %s", strerror(why));
}

void witness_begin(void) {
    if (napping == getpid())
        return;
    napping = getpid();
    memset(&naps, 0, sizeof naps);
    begin(&naps, tap_now_ms() + NAP_MS); /* here, so that a stop before the thread runs is seen */
    start(watch_naps, NULL);
}

void witness_system(void) {
    char path[4200];
    if (steps)
        return;
    snprintf(path, sizeof path, "%s/.witness", tap_tmpdir());
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    need(fd >= 0, "%s: %s", path, strerror(errno));
    unlink(path);
    steps = shared_memory(sizeof *steps);
    start(watch_steps, (void *)(intptr_t)fd);
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to) {
    const int64_t first = a > from ? a : from, last = b < to ? b : to;
    return last > first ? last - first : 0;
}

struct sum {
    int64_t all, longest;
};

static void add(struct sum *sum, int64_t stalled) {
    sum->all += stalled;
    if (stalled > sum->longest)
        sum->longest = stalled;
}

/* The stalls of a list lie one behind the other. The one under way may end while this looks: it is
 * then on the list, by its begin. */
static struct sum stalled_within(const struct stalls *s, int64_t from, int64_t to) {
    /* [B] of begin() */
    const int64_t due = atomic_load_explicit(&s->due_ms, memory_order_acquire), now = tap_now_ms();
    /* [A] of end() */
    const unsigned n = atomic_load_explicit(&s->count, memory_order_acquire);
    int64_t under_way = due != 0 && now - due > LATE_MS ? overlap(due, now, from, to) : 0;
    struct sum sum = {0, 0};
    for (unsigned i = n > KEPT ? n - KEPT : 0; i < n; i++) {
        /* by the count */
        const int64_t first = atomic_load_explicit(&s->at[i % KEPT].from_ms, memory_order_relaxed);
        add(&sum, overlap(first, atomic_load_explicit(&s->at[i % KEPT].to_ms, memory_order_relaxed),
                          from, to));
        if (first == due)
            under_way = 0;
    }
    add(&sum, under_way);
    return sum;
}

struct took took_between(int64_t from_ms, int64_t to_ms) {
    const int64_t napped = napping == getpid() ? stalled_within(&naps, from_ms, to_ms).all : 0;
    const int64_t stepped = steps ? stalled_within(steps, from_ms, to_ms).all : 0;
    /* The two overlap; the longer one is no more than their union. */
    return (struct took){to_ms - from_ms, napped > stepped ? napped : stepped};
}

int64_t witness_longest_step_ms(int64_t from_ms) {
    return steps ? stalled_within(steps, from_ms, tap_now_ms()).longest : 0;
}

struct took took_since(int64_t from_ms) {
    return took_between(from_ms, tap_now_ms());
}

struct took took_longer(struct took a, struct took b) {
    return b.ms - b.stood_ms > a.ms - a.stood_ms ? b : a;
}

bool in_time(struct took took, int64_t limit_ms, const char *name, ...) {
    const int64_t ran = took.ms - took.stood_ms;
    /* An instrumented program is several times slower than the one whose durations matter: other
     * rounds judge those. */
    const bool hampered = SANITIZED || took.stood_ms * 10 >= took.ms;
    const bool excused = ran > limit_ms && ran <= TIMES_EXCUSED * limit_ms && hampered;
    char text[400];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    compared++;
    not_judged += excused;
    const bool good = ok(ran <= limit_ms || excused, "%s", text);
    if (took.ms > limit_ms)
        diag("%s%" PRId64 " ms for a limit of %" PRId64 "; the machine stood still for %" PRId64,
             excused ? "not judged: " : "", took.ms, limit_ms, took.stood_ms);
    return good;
}

bool lasted(struct took took, int64_t least_ms, const char *name, ...) {
    char text[400];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    const bool good = ok(took.ms >= least_ms, "%s", text);
    if (!good)
        diag("%" PRId64 " ms, want %" PRId64 " at least", took.ms, least_ms);
    return good;
}

void witness_tell(void) {
    if (compared)
        diag("durations compared: %u, not judged: %u", compared, not_judged);
}
