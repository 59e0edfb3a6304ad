/* SPDX-License-Identifier: MIT */
/* Generators without an app: one per pid and layout in a process, going on where the last one
 * stopped, shared by fork. */
#include "draw/memory.h"

#include "draw/generator.h"
#include "draw/record.h"
#include "id/layout.h"

#include "support/scene.h"

#include <pthread.h>

enum { THREADS = 8, PIDS = 64, EACH = 50 };

/* Ticks so long that all of this falls into one or two of them. */
static const sfid_layout slow = SFID_LAYOUT(20, 10, 20, 86400000, SFID_EPOCH_MS);
static const sfid_layout fast = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);

static int open_pid(sfid **g, int64_t pid, const sfid_layout *l) {
    sfid_options o = SFID_OPTIONS_INIT;
    o.pid = pid;
    o.layout = l;
    o.exhaustion = SFID_FAIL;
    return sfid_open(g, &o);
}

static sfid *open_or_bail(int64_t pid, const sfid_layout *l) {
    sfid *g = NULL;
    need(open_pid(&g, pid, l) == 0, "pid %lld: %s", (long long)pid, sfid_last_error(g));
    return g;
}

static uint64_t seq_of(int64_t id) {
    sfid_parts p = {0, 0, UINT64_MAX, 0};
    return id >= 0 && sfid_parse(&slow, id, &p) == 0 ? p.seq : UINT64_MAX;
}

/* ---- one at a time ---------------------------------------------------------- */

static void twice(void) {
    sfid *g = open_or_bail(5, &slow), *second = NULL, *other;
    is_i64(open_pid(&second, 5, &slow), SFID_EBUSY, "a pid that is in use is refused");
    ok(strstr(sfid_last_error(second), "pid 5 ") != NULL, "the text names it: %s",
       sfid_last_error(second));
    ok(sfid_next(second) == SFID_ECLOSED && sfid_pid(second) == SFID_ECLOSED,
       "and the handle is closed");
    sfid_close(second);
    ok(sfid_next(g) >= 0 && sfid_pid(g) == 5, "closing that leaves the first one open");
    is_i64(open_pid(&second, 5, &slow), SFID_EBUSY, "and the pid in use");
    sfid_close(second);
    other = open_or_bail(6, &slow);
    ok(sfid_pid(other) == 6 && sfid_next(other) >= 0, "another pid is free");
    sfid_close(other);
    other = open_or_bail(5, &fast);
    ok(sfid_pid(other) == 5 && sfid_next(other) >= 0,
       "and so is the same in another layout, whose IDs are others");
    sfid_close(other);
    sfid_close(g);
    is_i64(sfid_next(g), SFID_ECLOSED, "a closed one draws nothing");
}

static void goes_on(void) {
    sfid *g = open_or_bail(7, &slow);
    int64_t before = -1;
    unsigned wrong = 0;
    for (int i = 0; i < 100; i++) {
        const int64_t id = sfid_next(g);
        wrong += id <= before;
        before = id;
    }
    is_u64(wrong, 0, "IDs increase");
    for (int i = 0; i < 20; i++) {
        sfid_close(g);
        g = open_or_bail(7, &slow);
        const int64_t id = sfid_next(g);
        /* 0: a day went by */
        wrong += id <= before || (seq_of(id) != 0 && seq_of(id) != seq_of(before) + 1);
        before = id;
    }
    is_u64(wrong, 0, "closed and opened again it goes on at the very next number");
    sfid_status_info s;
    ok(sfid_status(g, &s) == 0 && s.issued == 1, "but counts its own only");
    ok(s.open == 1 && s.pid == 7 && s.identity[0] == '\0' && s.window_ms == INT64_MAX &&
           !s.keeper_here,
       "without identity, window or thread");
    sfid_close(g);
}

/* ---- what a refused call says ----------------------------------------------- */

static void refused(sfid *g, const char *why, const char *when) {
    int64_t rc;
    while ((rc = sfid_try_next(g)) >= 0)
        ;
    is_i64(rc, SFID_EAGAIN, "%s: a call that may not wait is refused", when);
    ok(strstr(sfid_last_error(g), why) != NULL, "and the text says why: %s", sfid_last_error(g));
}

/* Two IDs a day. */
static void says_why(void) {
    static const sfid_layout two = SFID_LAYOUT(20, 10, 1, 86400000, SFID_EPOCH_MS);
    sfid *g = open_or_bail(4, &two);
    struct sfid__page *page = ((struct sfid__generator *)g)->page;
    struct sfid__record *r = sfid__page_current(page);
    const uint64_t start = sfid__record_position(r);
    refused(g, "the sequence is used up", "two a day");
    atomic_store(&r->word, start - (2 << two.seq_bits));
    ok(strstr(sfid_last_error(g), "there by now") != NULL, "later the text says that: %s",
       sfid_last_error(g));
    atomic_store(&r->limit, sfid__record_tick(r, start));
    atomic_store(&page->resting, SFID__RESTS);
    refused(g, "the window is over", "at the end of the window");
    sfid__record_close(r);
    refused(g, "the lease is over", "the lease was lost");
    sfid_close(g);
}

/* ---- fork ------------------------------------------------------------------ */

static struct shared {
    _Atomic int go;
    int64_t ids[2][EACH * 10];
    int rc;
} * shared;

static bool draw_all(sfid *g, int64_t *ids) {
    atomic_fetch_add(&shared->go, 1);
    while (atomic_load(&shared->go) < 2)
        ;
    for (int i = 0; i < EACH * 10; i++)
        if ((ids[i] = sfid_next(g)) < 0)
            return false;
    return true;
}

static unsigned repeats(int64_t *ids, size_t n) {
    unsigned same = 0;
    qsort(ids, n, sizeof *ids, by_i64);
    for (size_t i = 1; i < n; i++)
        same += ids[i] == ids[i - 1];
    return same;
}

static int draw_in_child(void *g) {
    sfid *again = NULL;
    const bool drew = draw_all(g, shared->ids[1]);
    shared->rc = open_pid(&again, 8, &slow);
    sfid_close(again);
    sfid_close(g);
    return drew ? 0 : 1;
}

static void shared_over_fork(void) {
    shared = shared_memory(sizeof *shared);
    sfid *g = open_or_bail(8, &slow);
    const uint64_t first = seq_of(sfid_next(g)) + 1;
    const pid_t child = spawn(draw_in_child, g);
    const bool drew = draw_all(g, shared->ids[0]);
    ok(status_of(child) == 0 && drew, "parent and child draw at once");
    is_i64(shared->rc, SFID_EBUSY, "the pid is in use in the child as well");
    is_u64(repeats(shared->ids[0], EACH * 20), 0, "and no ID is drawn twice");
    const uint64_t last = seq_of(shared->ids[1][EACH * 10 - 1]), next = seq_of(sfid_next(g));
    ok(next == 0 || last < EACH || (last == first + EACH * 20 - 1 && next == last + 1),
       "none is left out, and the child's close ends nothing");
    sfid_close(g);
    g = open_or_bail(8, &slow);
    ok(seq_of(sfid_next(g)) <= next + 1, "it is the same sequence when it is opened again");
    sfid_close(g);
}

static int reopen(void *unused) {
    (void)unused;
    sfid *g = NULL;
    if (open_pid(&g, 9, &slow) == 0)
        shared->ids[0][1] = sfid_next(g);
    sfid_close(g);
    return 0;
}

/* Pages are told apart by pid also when a child opens one that its parent had closed. */
static void reopened_in_child(void) {
    sfid *g = open_or_bail(9, &slow);
    shared->ids[0][0] = sfid_next(g);
    sfid_close(g);
    status_of(spawn(reopen, NULL));
    g = open_or_bail(9, &slow);
    shared->ids[0][2] = sfid_next(g);
    ok(shared->ids[0][0] < shared->ids[0][1] && shared->ids[0][1] < shared->ids[0][2],
       "a child that opens it again goes on with its parent's numbers");
    sfid_close(g);
}

/* ---- threads --------------------------------------------------------------- */

static struct racer {
    pthread_t thread;
    unsigned number, busy, other;
    sfid *handles[PIDS];
    int64_t ids[PIDS * EACH];
    size_t drawn;
} racers[THREADS];

static pthread_barrier_t start;

/* Tries to open every pid, each thread from another one on, and draws from those it got. */
static void *race(void *arg) {
    struct racer *r = arg;
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < PIDS; i++) {
        const unsigned pid = (r->number % 2 ? PIDS - 1 - i : i + r->number * 4) % PIDS;
        const int rc = open_pid(&r->handles[pid], pid + 100, &slow);
        r->busy += rc == SFID_EBUSY;
        r->other += rc != 0 && rc != SFID_EBUSY;
        for (int k = 0; rc == 0 && k < EACH; k++)
            r->ids[r->drawn++] = sfid_next(r->handles[pid]);
        if (rc != 0) {
            sfid_close(r->handles[pid]);
            r->handles[pid] = NULL;
        }
    }
    return NULL;
}

static void racing(void) {
    static int64_t all[PIDS * EACH * 2];
    size_t n = 0;
    unsigned busy = 0, other = 0, held[PIDS] = {0}, wrong = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].number = i;
        need(pthread_create(&racers[i].thread, NULL, race, &racers[i]) == 0, "no thread");
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(racers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        busy += racers[i].busy;
        other += racers[i].other;
        for (unsigned pid = 0; pid < PIDS; pid++)
            held[pid] += racers[i].handles[pid] != NULL;
        for (size_t k = 0; k < racers[i].drawn && n < PIDS * EACH * 2; k++)
            all[n++] = racers[i].ids[k];
    }
    for (unsigned pid = 0; pid < PIDS; pid++)
        wrong += held[pid] != 1;
    is_u64(wrong, 0, "%d threads race for %d pids: each pid is got by one", THREADS, PIDS);
    ok(busy == (THREADS - 1) * PIDS && other == 0, "and refused to all others");
    is_u64(n, PIDS * EACH, "all draw");
    ok(repeats(all, n) == 0 && all[0] >= 0, "and no ID is drawn twice");
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned pid = 0; pid < PIDS; pid++)
            sfid_close(racers[i].handles[pid]);
    sfid *g = open_or_bail(100, &slow);
    ok(sfid_next(g) >= 0, "closed, they are free again");
    sfid_close(g);
}

int main(void) {
    twice();
    goes_on();
    says_why();
    shared_over_fork();
    reopened_in_child();
    racing();
    return done_testing();
}
