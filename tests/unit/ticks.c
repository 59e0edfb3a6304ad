/* SPDX-License-Identifier: MIT */
/* ticks.c - the tick by the processor's counter against the clock read before and after: never
 * early, never late. */
#include "draw/ticks.h"

#include "support/tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READS 2000000
#define THREADS 3

static uint64_t clock_tick(uint64_t unit_ms) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000) / unit_ms;
}

struct reader {
    pthread_t thread;
    struct sfid__ticks *ticks;
    uint64_t early, late, by_counter;
};

static void *read_ticks(void *arg) {
    struct reader *r = arg;
    const uint64_t unit = r->ticks->unit_ms;
    const int reads = tap_rounds(READS);
    for (int i = 0; i < reads; i++) {
        const uint64_t before = clock_tick(unit);
        const uint64_t tick = sfid__ticks_now(r->ticks);
        const uint64_t after = clock_tick(unit);
        r->early += tick > after;
        r->late += tick < before;
        r->by_counter +=
            atomic_load(&r->ticks->end) - sfid__counter() - 1 < atomic_load(&r->ticks->span);
    }
    return NULL;
}

static void compare(uint64_t unit_ms) {
    struct sfid__ticks *t = aligned_alloc(SFID__LINE, sizeof *t);
    struct reader r[THREADS];
    uint64_t early = 0, late = 0, by_counter = 0;
    const int reads = THREADS * tap_rounds(READS);
    sfid__ticks_init(t, 0, unit_ms);
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct reader){.ticks = t};
        pthread_create(&r[i].thread, NULL, read_ticks, &r[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(r[i].thread, NULL);
        early += r[i].early;
        late += r[i].late;
        by_counter += r[i].by_counter;
    }
    is_u64(early, 0, "%d ms: none early", (int)unit_ms);
    is_u64(late, 0, "%d ms: none late", (int)unit_ms);
    diag("%d ms: %.1f %% of %d reads went by the counter", (int)unit_ms,
         100.0 * (double)by_counter / reads, reads);
    if (sfid__counter_is_good())
        ok(by_counter > 0, "%d ms: the counter was used", (int)unit_ms);
    free(t);
}

static void doubts(void) {
    struct sfid__ticks *t = aligned_alloc(SFID__LINE, sizeof *t);
    sfid__ticks_init(t, 0, 1);
    const uint64_t before = clock_tick(1);
    ok(sfid__ticks_now(t) >= before - 1, "before the rate is known the clock is read");
    is_u64(atomic_load(&t->end), 0, "and nothing is current");

    /* A counter that went back, or an end far off: neither may be believed. */
    atomic_store(&t->span, 3000000);
    atomic_store(&t->tick, 7);
    atomic_store(&t->end, sfid__counter() + 4000000000u);
    const uint64_t far_end = sfid__ticks_now(t);
    ok(far_end != 7, "an end further off than a tick lasts is not believed");
    atomic_store(&t->end, sfid__counter() - 1);
    ok(sfid__ticks_now(t) != 7, "an end that is past is not believed");

    /* A thread that forked away with the lock does not keep it for ever. */
    sfid__ticks_init(t, 0, 1);
    atomic_store(&t->lock, 1);
    atomic_store(&t->span, 1);
    sfid__ticks_now(t);
    is_u64(atomic_load(&t->lock), 0, "a lock left behind is taken over");
    free(t);
}

/* In a child: what sfid__counter_is_good() says, without the right to read the counter if it has to
 * do without. */
static bool is_good_in_child(bool permitted) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
#ifdef __x86_64__
        if (!permitted && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0)
            _exit(2);
#else
        (void)permitted; /* the right to read the counter can be taken away on x86-64 alone */
#endif
        _exit(sfid__counter_is_good());
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1)
        bail("a child did not say whether the counter is good");
    return WEXITSTATUS(status) == 1;
}

static void good(void) {
#if SFID__HAVE_COUNTER
    char name[64] = "";
    const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
    const bool kernel_uses_it = fd >= 0 && read(fd, name, sizeof name - 1) > 0 &&
                                strcmp(name, SFID__COUNTER_SOURCE "\n") == 0;
    if (fd >= 0)
        close(fd);
    is_u64(is_good_in_child(true), kernel_uses_it,
           "the counter is good if the kernel keeps time by it");
#ifdef __x86_64__
    is_u64(is_good_in_child(false), 0, "and not in a process that may not read it");
#endif
#else
    is_u64(is_good_in_child(true), 0, "no counter is no good one");
#endif
    const int before = dup(0);
    close(before);
    sfid__counter_is_good();
    const int after = dup(0);
    close(after);
    is_i64(after, before, "asking leaves no descriptor open");
}

int main(void) {
    good();
    compare(1);
    compare(10);
    doubts();
    return done_testing();
}
