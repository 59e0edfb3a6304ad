/* SPDX-License-Identifier: MIT */
/*
 * Where madvise() says that it wipes memory on fork and does nothing, as user-mode emulators do:
 * processes are told apart all the same, a child of fork() has other random bits, a lane's run is
 * in one process only, and a child starts a keeper of its own once its parent is gone.
 */
#include "base/keyed.h"
#include "base/process.h"

#include "support/scene.h"

#include <sfid.h>
#include <signal.h>
#include <sys/syscall.h>

enum { EACH = 40, CHILDREN = 10, ALL = EACH * (CHILDREN + 1) };

/* What the C library's is for all of this program. */
static bool lies = true;
static unsigned lied;

int madvise(void *at, size_t size, int advice) {
    if (lies && advice == MADV_WIPEONFORK) {
        lied++;
        return 0;
    }
    return (int)syscall(SYS_madvise, at, size, advice);
}

/* In PID namespaces of their own processes have one number. */
static bool one_pid;

pid_t getpid(void) { return one_pid ? 1 : (pid_t)syscall(SYS_getpid); }

static struct shared {
    uint64_t number[2 * CHILDREN];
    int64_t ids[ALL];
    int keeper_here;
} * shared;

/* ---- the number of a process ------------------------------------------------- */

/* As fork() does it, or without the C library's knowledge. */
static pid_t split(bool raw) {
    return raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static void numbers(const char *what) {
    sfid__process_prepare();
    const uint64_t mine = sfid__process();
    unsigned same = 0;
    for (int i = 0; i < 2 * CHILDREN; i++) {
        const pid_t child = split(i % 2 && !one_pid);
        if (child == 0) {
            shared->number[i] = sfid__process();
            _exit(sfid__process() == shared->number[i] ? 0 : 1);
        }
        same += status_of(child) != 0 || shared->number[i] == mine || shared->number[i] == 0;
        for (int k = 0; k < i; k++)
            same += shared->number[k] == shared->number[i];
    }
    is_u64(same, 0, "%s: each child has a number of its own, and keeps it", what);
    is_u64(sfid__process(), mine, "%s: so does the parent", what);
}

/* ---- random bits --------------------------------------------------------------- */

/* The fork handler takes the key from a child. A child of clone(2) keeps it, but has no positions
 * of its parent's. */
static void random_bits(void) {
    unsigned bad = 0, same = 0;
    sfid__keyed_prepare();
    shared->number[0] = sfid__keyed(1, 2);
    for (int i = 1; i <= CHILDREN; i++) {
        const pid_t child = split(false);
        if (child == 0) {
            sfid__keyed_prepare();
            shared->number[i] = sfid__keyed(1, 2);
            _exit(sfid__keyed(1, 2) == shared->number[i] ? 0 : 1);
        }
        bad += status_of(child) != 0;
        for (int k = 0; k < i; k++)
            same += shared->number[k] == shared->number[i];
    }
    is_u64(bad + same, 0, "fork: each child has random bits of its own, and keeps its key");
    is_u64(sfid__keyed(1, 2), shared->number[0], "so does the parent");
}

/* ---- lanes --------------------------------------------------------------------- */

static bool draw(sfid_lane *lane, int64_t *ids) {
    for (int i = 0; i < EACH; i++)
        if ((ids[i] = sfid_lane_next(lane)) < 0)
            return false;
    return true;
}

static void lanes(bool raw) {
    static const sfid_layout slow = SFID_LAYOUT(20, 10, 20, 86400000, SFID_EPOCH_MS);
    sfid_options o = SFID_OPTIONS_INIT;
    sfid_lane *lane = NULL;
    sfid *g = NULL;
    unsigned bad = 0, repeats = 0;
    o.pid = 1;
    o.layout = &slow;
    o.exhaustion = SFID_FAIL;
    need(sfid_open(&g, &o) >= 0 && sfid_lane_open(&lane, g) >= 0 && sfid_lane_next(lane) >= 0,
         "no lane");
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = split(raw);
        if (child == 0)
            _exit(draw(lane, shared->ids + i * EACH) ? 0 : 1);
        bad += status_of(child) != 0;
    }
    bad += !draw(lane, shared->ids + ALL - EACH);
    is_u64(bad, 0, "%s: parent and children draw from the lane they share", raw ? "clone" : "fork");
    qsort(shared->ids, ALL, sizeof shared->ids[0], by_i64);
    for (int i = 1; i < ALL; i++)
        repeats += shared->ids[i] == shared->ids[i - 1];
    is_u64(repeats, 0, "and no ID is drawn twice");
    sfid_lane_close(lane);
    sfid_close(g);
}

/* ---- what hangs on the number ---------------------------------------------------- */

static bool keeper_is_here(void *g) {
    sfid_status_info s;
    return sfid_next(g) >= 0 && sfid_status(g, &s) == 0 && s.keeper_here;
}

/* A thread names itself when it has begun. Before, it may hold a lock of a sanitizer's allocator,
 * and a forked child inherit it. */
static bool keeper_has_begun(void *g) {
    return keeper_is_here(g) && threads_named("sfid-keeper") == 1;
}

static bool child_has_told(void *unused) {
    return unused == NULL && *(volatile int *)&shared->keeper_here != 1;
}

/* A child does not take its parent's thread for its own: with that gone, it starts one. */
static void keepers(void) {
    sfid_options o = SFID_OPTIONS_INIT;
    char run[4200], state[4200];
    snprintf(run, sizeof run, "%s/run", tap_tmpdir());
    snprintf(state, sizeof state, "%s/state", tap_tmpdir());
    o.app = "unwiped";
    o.store = "local?mark=none&lead_ms=100";
    o.max_ahead_ms = 0;
    o.run_dir = run;
    o.state_dir = state;
    fflush(NULL);
    const pid_t parent = fork();
    if (parent == 0) {
        sfid *g = NULL;
        if (sfid_open(&g, &o) < 0 || !tap_wait_until(keeper_has_begun, g, TAP_WAIT_MS))
            _exit(1);
        const pid_t child = fork();
        if (child == 0) {
            sfid_status_info s;
            /* nobody else ends it, and the test's output would stay open */
            alarm(3 * TAP_WAIT_MS / 1000);
            const pid_t before = getppid(); /* ends once this is told */
            shared->keeper_here = sfid_status(g, &s) == 0 && !s.keeper_here ? 1 : -1;
            while (getppid() == before)
                usleep(1000);
            const bool took_over = tap_wait_until(keeper_is_here, g, TAP_WAIT_MS);
            sfid_close(g);
            shared->keeper_here = shared->keeper_here == 1 && took_over ? 2 : -1;
            _exit(0);
        }
        while (*(volatile int *)&shared->keeper_here == 0)
            usleep(1000);
        raise(SIGKILL); /* without a close: the keeper ends with it */
        _exit(2);
    }
    const int status = status_of(parent);
    tap_wait_until(child_has_told, NULL, 2 * TAP_WAIT_MS);
    is_i64(status, -SIGKILL, "a parent leaves a child behind");
    is_i64(*(volatile int *)&shared->keeper_here, 2,
           "which finds no keeper of its own, and starts one");
}

int main(void) {
    shared = shared_memory(sizeof *shared);
    ok(!sfid__process_wipes(shared, sizeof *shared), "a yes to any advice is not believed");
    numbers("fork and clone");
    one_pid = true;
    numbers("fork, all of one process ID");
    one_pid = false;
    random_bits();
    lanes(false);
    lanes(true);
    keepers();
    ok(lied > 0, "it was lied to all the while");
    lies = false;
    void *own = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(own != MAP_FAILED && sfid__process_wipes(own, 65536), "this kernel's own yes is");
    return done_testing();
}
