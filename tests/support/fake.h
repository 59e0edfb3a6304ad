/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a generator on a page in plain memory, with a clock that the test
 * moves.
 *
 * A sleep calls on_sleep, if set, and moves both clocks on by its length. A
 * wait for a word calls on_wait first, if set; it is a sleep unless the word
 * has changed.
 */
#ifndef SFID_TESTS_FAKE_H
#define SFID_TESTS_FAKE_H

#include "draw/hot.h"
#include "draw/record.h"
#include "id/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_EPOCH INT64_C(1000000000000)

struct fake {
    struct sfid__clock clock; /* must be first */
    int64_t wall_ns;          /* since FAKE_EPOCH */
    int64_t monotonic;
    int64_t slept_ns;
    int sleeps;
    void (*on_sleep)(struct fake *f, int64_t ns);
    void (*on_wait)(struct fake *f);
    const _Atomic uint32_t *waits_for;
    void *arg;
    struct sfid__generator g;
    struct sfid__page *page;
    uint32_t records;
};

struct fake *fake_of(const struct sfid__clock *clock);
struct sfid__time fake_now(const struct sfid__clock *clock);

/* Moves both clocks on, without a sleep. */
void fake_pass_ms(struct fake *f, int64_t ms);

/* Steps the wall clock. */
void fake_step_ms(struct fake *f, int64_t ms);
uint64_t fake_tick(const struct fake *f);
struct sfid__record *fake_record(const struct fake *f);

/* Makes a new record above all earlier ones. Points the generator at it, unless that has to find it
 * by itself. */
struct sfid__record *fake_switch(struct fake *f, uint64_t pid, uint64_t position, uint64_t limit);

/*
 * Opens a generator at tick 100,000,000 of 41:10:12/1ms over FAKE_EPOCH, or of
 * another layout. Its pid is 7, its window lasts to the layout's end.
 */
void fake_open(struct fake *f, const char *layout, sfid_exhaustion policy, uint32_t max_wait_ms,
               uint32_t max_ahead_ms);
void fake_close(struct fake *f);
sfid *fake_handle(struct fake *f);
int64_t fake_next(struct fake *f);
int64_t fake_try(struct fake *f);

/* Returns the tick of an ID, or a huge one for an error. */
uint64_t fake_tick_of(const struct fake *f, int64_t id);

/* Finishes a call that took position n of record r before the test went on. */
int64_t fake_settle(struct fake *f, struct sfid__record *r, uint64_t n, bool may_sleep);

/* Sets the word to a tick and sequence. */
void fake_set_word(struct fake *f, uint64_t tick, uint64_t seq);

#endif
