/* SPDX-License-Identifier: MIT */
/* inline.c - the form with the layout folded in draws from the same word as the calls, for every
 * kind of unit and epoch. */
#include "support/tap.h"

#include <pthread.h>
#include <sfid.h>
#include <time.h>

/* Whole seconds from a whole second, from between two, from before 1970; several seconds; below a
 * second. */
SFID_DEFINE(plain, SFID_LAYOUT(36, 4, 20, 1000, SFID_EPOCH_MS))
SFID_DEFINE(between, SFID_LAYOUT(36, 4, 20, 1000, SFID_EPOCH_MS + 1))
SFID_DEFINE(early, SFID_LAYOUT(36, 4, 20, 1000, -1500))
SFID_DEFINE(slow, SFID_LAYOUT(36, 4, 20, 7000, SFID_EPOCH_MS + 999))
SFID_DEFINE(fine, SFID_LAYOUT(41, 4, 18, 1, SFID_EPOCH_MS))

static int64_t now_ms(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* One ID by each way in turn: increasing, of this pid, and of the tick that the clock shows: the
 * kernel's, which is as late as time(). */
#define TRY(name) \
    static void try_##name(void) { \
        name *g = NULL; \
        sfid_options opt = SFID_OPTIONS_INIT; \
        opt.pid = 9; \
        opt.max_wait_ms = 10000; \
        is_i64(name##_open(&g, &opt), 0, #name ": opens"); \
        int64_t last = -1; \
        uint64_t order = 0, wrong = 0, errors = 0; \
        for (int i = 0; i < 300000; i++) { \
            const int64_t before = now_ms(CLOCK_REALTIME_COARSE); \
            const int64_t id = i % 3 ? name##_next(g) : sfid_next(name##_sfid(g)); \
            sfid_parts p, q; \
            if (id < 0 || name##_parse(id, &p) < 0 || sfid_parse(&name##_layout, id, &q) < 0) { \
                errors++; \
                continue; \
            } \
            order += id <= last; \
            wrong += memcmp(&p, &q, sizeof p) != 0 || p.pid != 9; \
            wrong += p.unix_ms > now_ms(CLOCK_REALTIME) || \
                     p.unix_ms + (int64_t)name##_layout.unit_ms <= before; \
            last = id; \
        } \
        is_u64(errors, 0, #name ": every call gives an ID"); \
        is_u64(order, 0, #name ": increasing, whichever way it is drawn"); \
        is_u64(wrong, 0, #name ": the right pid and tick, parsed alike both ways"); \
        name##_close(g); \
        is_i64(name##_next(g), SFID_ECLOSED, #name ": closed"); \
    }

TRY(plain)
TRY(between)
TRY(early)
TRY(slow)
TRY(fine)

/* Threads draw by both ways through several ends of the sequence. */
SFID_DEFINE(narrow, SFID_LAYOUT(36, 4, 12, 1000, SFID_EPOCH_MS))

#define DRAWS 6000
static narrow *shared;

static void *draw(void *arg) {
    int64_t *ids = arg;
    for (int i = 0; i < DRAWS; i++)
        ids[i] = i & 1 ? narrow_next(shared) : sfid_next(narrow_sfid(shared));
    return NULL;
}

static void ends_of_the_sequence(void) {
    static int64_t all[4 * DRAWS];
    int64_t *ids[4] = {all, all + DRAWS, all + 2 * DRAWS, all + 3 * DRAWS};
    pthread_t threads[4];
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.pid = 3;
    opt.exhaustion = SFID_BORROW;
    is_i64(narrow_open(&shared, &opt), 0, "narrow: opens");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, draw, ids[i]);
    uint64_t order = 0, errors = 0, same = 0;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < DRAWS; j++) {
            errors += ids[i][j] < 0;
            order += j > 0 && ids[i][j] <= ids[i][j - 1];
        }
    qsort(all, 4 * DRAWS, sizeof all[0], by_i64);
    for (int i = 1; i < 4 * DRAWS; i++)
        same += all[i] == all[i - 1];
    is_u64(errors, 0, "narrow: borrows past six ends of the sequence");
    is_u64(same, 0, "narrow: no ID twice");
    is_u64(order, 0, "narrow: increasing in each thread");
    narrow_close(shared);
}

static void another_layout(void) {
    plain *g = NULL;
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.pid = 1;
    opt.layout = &fine_layout;
    is_i64(plain_open(&g, &opt), SFID_EINVAL, "a layout that is not the form's own is refused");
    ok(strstr(sfid_last_error(plain_sfid(g)), "SFID_DEFINE") != NULL, "and the text says so: %s",
       sfid_last_error(plain_sfid(g)));
    plain_close(g);
    opt.layout = &plain_layout;
    is_i64(plain_open(&g, &opt), 0, "its own may be given");
    plain_close(g);
    is_i64(plain_open(&g, NULL), SFID_EINVAL, "no options");
    plain_close(g);
    is_i64(plain_open(NULL, &opt), SFID_EINVAL, "nowhere to put the handle");
}

int main(void) {
    try_plain();
    try_between();
    try_early();
    try_slow();
    try_fine();
    ends_of_the_sequence();
    another_layout();
    return done_testing();
}
