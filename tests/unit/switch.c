/* SPDX-License-Identifier: MIT */
/*
 * switch.c - records are exchanged and closed under threads that draw: no ID
 * twice, every call's ID above all that were returned before it began, and
 * none outside the windows granted.
 */
#include "support/fake.h"
#include "support/tap.h"

#include <pthread.h>

#define THREADS 4
#define SWITCHES ((int)SFID__PAGE_RECORDS - 2) /* as many as a page has room for */

static struct fake f;
static _Atomic uint64_t returned; /* the highest ID that any call has returned */
static _Atomic int stop;
static size_t per_thread = 4000000;

struct drawer {
    pthread_t thread;
    int64_t *ids;
    size_t count;
    uint64_t order_breaks, errors;
};

static void *draw_all(void *arg) {
    struct drawer *d = arg;
    while (!atomic_load(&stop) && d->count < per_thread) {
        const uint64_t before = atomic_load(&returned);
        const int64_t id =
            d->count % 3 ? sfid_next(fake_handle(&f)) : sfid_try_next(fake_handle(&f));
        if (id < 0) {
            d->errors += id != SFID_EAGAIN && id != SFID_ELEASE;
            continue;
        }
        d->order_breaks += (uint64_t)id <= before;
        d->ids[d->count++] = id;
        uint64_t seen = atomic_load(&returned);
        while (seen < (uint64_t)id && !atomic_compare_exchange_weak(&returned, &seen, (uint64_t)id))
            ;
    }
    return NULL;
}

static uint64_t duplicates(struct drawer *d) {
    size_t n = 0, at = 0;
    for (int i = 0; i < THREADS; i++)
        n += d[i].count;
    int64_t *all = malloc(n * sizeof *all);
    for (int i = 0; i < THREADS; at += d[i++].count)
        memcpy(all + at, d[i].ids, d[i].count * sizeof *all);
    qsort(all, n, sizeof *all, by_i64);
    uint64_t same = 0;
    for (size_t i = 1; i < n; i++)
        same += all[i] == all[i - 1];
    free(all);
    diag("%zu IDs", n);
    return same;
}

/* A generator on the real clock and a page with room for all the records. */
static void open_real(sfid_exhaustion policy) {
    fake_open(&f, NULL, policy, 2000, 10000);
    fake_close(&f);
    f.page = aligned_alloc(SFID__LINE, SFID__MAP_SIZE);
    memset((void *)f.page, 0, SFID__MAP_SIZE);
    f.records = 0;
    f.g.page = f.page;
    f.g.clock = &sfid__system_clock;
    f.g.source = SFID__TICK_CLOCK;
}

static uint64_t real_tick(void) {
    return (uint64_t)(sfid__now(&sfid__system_clock).ms - FAKE_EPOCH);
}

static struct sfid__record *append(uint64_t pid, uint64_t limit) {
    const struct sfid__start start = {
        &f.g.layout, pid, real_tick() << 12, limit, real_tick(), f.g.max_ahead, 0, 0, NULL,
        false,       0};
    return sfid__record_append(f.page, f.records++, &start);
}

static void run(const char *name, bool same_pid) {
    static struct drawer d[THREADS];
    open_real(SFID_BORROW);
    atomic_store(&returned, 0);
    atomic_store(&stop, 0);
    sfid__generator_start(&f.g, append(1, f.g.end));
    for (int i = 0; i < THREADS; i++) {
        d[i] = (struct drawer){.ids = malloc(per_thread * sizeof(int64_t))};
        pthread_create(&d[i].thread, NULL, draw_all, &d[i]);
    }
    for (int i = 0; i < SWITCHES; i++) {
        append(same_pid ? 1 : (uint64_t)i % 1000, f.g.end);
        sched_yield();
    }
    const uint64_t position = sfid__record_close(fake_record(&f));
    const struct sfid__record *in_use = atomic_load(&f.g.record);
    sfid__generator_stop(&f.g);
    atomic_store(&stop, 1);
    uint64_t breaks = 0, errors = 0, beyond = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(d[i].thread, NULL);
        breaks += d[i].order_breaks;
        errors += d[i].errors;
        const uint64_t last = d[i].count ? (uint64_t)d[i].ids[d[i].count - 1] : 0;
        beyond += last >> 22 > position >> 12;
    }
    is_u64(duplicates(d), 0, "%s: no ID twice", name);
    is_u64(breaks, 0, "%s: every ID above all returned before its call", name);
    is_u64(beyond, 0, "%s: none past the position at close", name);
    ok(atomic_load(&f.g.furthest) >= (uint64_t)(in_use - f.page->records) &&
           atomic_load(&f.g.furthest) < f.records,
       "%s: the generator knows the furthest record", name);
    diag("calls turned away: %llu", (unsigned long long)errors);
    for (int i = 0; i < THREADS; i++)
        free(d[i].ids);
    free(f.page);
}

int main(void) {
    if (tap_under_valgrind())
        per_thread /= 20; /* it runs a thread at a time: more of them meet no more exchanges */
    run("another pid each time", false);
    run("the same pid each time", true);
    return done_testing();
}
