/* SPDX-License-Identifier: MIT */
/*
 * A call that waits for the keeper goes on when there is news, not at the end of a sleep. Time
 * passes here only in sleeps, so a call that got what it waited for in no time was woken.
 */
#include "base/futex.h"

#include "support/fake.h"
#include "support/scene.h"

#include <pthread.h>
#include <sched.h>

static struct fake f;

static void begin(void) {
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    f.g.half_window = 10;
}

/* At the end of its window. */
static void begin_at_limit(void) {
    begin();
    atomic_store(&fake_record(&f)->limit, fake_tick(&f));
}

/* ---- each kind of news ------------------------------------------------------- */

static void extend(void) {
    sfid__record_raise_limit(fake_record(&f), f.g.end);
    sfid__page_announce(f.page);
}

static void extend_in_wait(struct fake *self) {
    (void)self;
    extend();
}

static void publish_in_wait(struct fake *self) { fake_switch(self, 9, 0, self->g.end); }

static void replace_in_wait(struct fake *self) {
    const struct sfid__start start = {
        &self->g.layout, 9, 0, self->g.end, fake_tick(self), self->g.max_ahead, 0, 0, NULL,
        false,           0};
    sfid__record_replace(self->page, self->records++, 0, &start);
}

static void close_in_wait(struct fake *self) { sfid__generator_stop(&self->g); }

static void wakes(const char *what, bool closed, void (*news)(struct fake *), bool goes_on) {
    begin_at_limit();
    if (closed)
        sfid__record_close(fake_record(&f));
    f.on_wait = news;
    const int64_t id = fake_next(&f);
    ok(goes_on ? id >= 0 : id == SFID_ECLOSED, "%s: the call ends (%" PRId64 ")", what, id);
    ok(f.waits_for == &f.page->news && f.sleeps == 0, "%s: without a sleep", what);
    fake_close(&f);
}

/* ---- news before the wait ---------------------------------------------------- */

/* Called after the look, and before the wait. */
static void extend_on_demand(struct sfid__generator *g) {
    (void)g;
    extend();
}

static void none_is_missed(void) {
    begin_at_limit();
    f.g.keeper_wanted = extend_on_demand;
    ok(fake_next(&f) >= 0 && f.sleeps == 0,
       "news between the look and the wait: the call looks again");
    fake_close(&f);
}

static bool in_time_of_look;

/* The first thing that a look does is to read the clock. */
static struct sfid__time close_in_look(const struct sfid__clock *clock) {
    if (in_time_of_look)
        sfid__generator_stop(&fake_of(clock)->g);
    in_time_of_look = false;
    return fake_now(clock);
}

static void a_close_in_a_look(void) {
    begin_at_limit();
    struct sfid__call call = {.may_sleep = true, .want = 1};
    in_time_of_look = true;
    f.clock.now = close_in_look;
    is_i64(sfid__draw(&f.g, &call), SFID_ECLOSED, "closed in the middle of a look: the call ends");
    is_i64(f.sleeps, 0, "and does not sleep before");
    fake_close(&f);
}

/* ---- no news ------------------------------------------------------------------- */

static void news_of_nothing(struct fake *self) { sfid__page_announce(self->page); }

static int others;

static void pass_some_time(struct fake *self) {
    fake_pass_ms(self, 1);
    news_of_nothing(self);
    others++;
}

static void it_ends_all_the_same(void) {
    begin_at_limit();
    is_i64(fake_next(&f), SFID_ELEASE, "no news: the call gives up");
    is_i64(f.slept_ns / 1000000, 2000, "after its longest wait");
    f.on_wait = pass_some_time;
    is_i64(fake_next(&f), SFID_ELEASE, "news that are none: it gives up as well");
    ok(others >= 1900 && others <= 2100, "at the same time (%d ms)", others);
    fake_close(&f);
}

/* Nobody is waited for but the clock. */
static void others_sleep(void) {
    begin();
    f.g.half_window = 0;
    fake_set_word(&f, fake_tick(&f) + 20000, 0); /* ahead of what may be borrowed */
    atomic_store(&fake_record(&f)->lead, 0);
    f.g.max_wait_ms = 60000;
    ok(fake_next(&f) >= 0 && f.sleeps > 0 && f.waits_for == NULL,
       "a tick that is not due: a sleep, no wait");
    fake_close(&f);
}

/* ---- the system's clock --------------------------------------------------------- */

static void wait_ms(_Atomic uint32_t *word, uint32_t value, int64_t ms) {
    sfid__system_clock.wait_ns(&sfid__system_clock, word, value, ms * 1000000);
}

static struct took *waited;
static _Atomic int *ready;

static struct took waits_ms(int64_t ms) {
    static _Atomic uint32_t word;
    const int64_t begin = tap_now_ms();
    wait_ms(&word, 0, ms);
    return took_since(begin);
}

/* 0 if it was woken: nobody waits so long for a signal. */
static int waits_for_news(void *page) {
    atomic_store(ready, 1);
    return sfid__futex_wait(&((struct sfid__page *)page)->news, SFID__FUTEX_SHARED, 0,
                            TAP_WAIT_MS) == ETIMEDOUT;
}

static bool is_asleep(void *child) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)*(pid_t *)child);
    FILE *in = fopen(path, "r");
    const bool read = in && fscanf(in, "%*d %*s %c", &state) == 1;
    if (in)
        fclose(in);
    return read && state == 'S' && atomic_load(ready);
}

/* A word of a page that processes share. */
static void the_system_waits(void) {
    struct sfid__page *page = shared_memory(SFID__MAP_SIZE);
    errno = 4711;
    wait_ms(&page->news, 7, TAP_WAIT_MS);
    is_i64(errno, 4711, "a word that has changed before is not waited for, and errno stays");
    pid_t child = spawn(waits_for_news, page);
    ok(tap_wait_until(is_asleep, &child, TAP_WAIT_MS), "a process waits");
    sfid__page_announce(page);
    is_i64(status_of(child), 0, "and goes on when another process has news");
    lasted(waits_ms(60), 60 - 1, "a wait without news lasts as long as it was told");
    munmap(page, SFID__MAP_SIZE);
}

static int waits_refused(void *error) {
#ifdef SYS_futex_time64
    refuse_call(SYS_futex_time64, *(uint32_t *)error);
#endif
#ifdef SYS_futex
    refuse_call(SYS_futex, *(uint32_t *)error);
#endif
    errno = 4711;
    *waited = waits_ms(60);
    return errno == 4711 ? 0 : 1;
}

static void a_sandbox(uint32_t error, const char *name) {
    is_i64(status_of(spawn(waits_refused, &error)), 0,
           "a sandbox refuses the futex with %s: errno stays", name);
    lasted(*waited, 60 - 1, "and the wait lasts as long as it was told");
}

static _Atomic int asked;

/* No cancellation point but the wait. */
static void *wait_once(void *word) {
    while (atomic_load(&asked) == 0)
        sched_yield();
    wait_ms(word, 0, 1);
    return NULL;
}

static void cancelled(void) {
    static _Atomic uint32_t word;
    pthread_t thread;
    void *result = NULL;
    need(pthread_create(&thread, NULL, wait_once, &word) == 0 && pthread_cancel(thread) == 0,
         "no thread");
    atomic_store(&asked, 1);
    pthread_join(thread, &result);
    ok(result == PTHREAD_CANCELED, "a thread that waits can be cancelled");
}

int main(void) {
    waited = shared_memory(sizeof *waited);
    ready = shared_memory(sizeof *ready);
    wakes("the limit is raised", false, extend_in_wait, true);
    wakes("a record is published", true, publish_in_wait, true);
    wakes("one is published beside others", true, replace_in_wait, true);
    wakes("the handle is closed", false, close_in_wait, false);
    none_is_missed();
    a_close_in_a_look();
    it_ends_all_the_same();
    others_sleep();
    the_system_waits();
    a_sandbox(EPERM, "EPERM");
    a_sandbox(ENOSYS, "ENOSYS");
    a_sandbox(EAGAIN, "EAGAIN");
    cancelled();
    return done_testing();
}
