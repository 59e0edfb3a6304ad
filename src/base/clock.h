/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time, deadlines and sleep.
 *
 * Time goes through a table, so that tests can step the clock. If the table is
 * the system's, the hot path reads the system clock directly (hint.h).
 * Deadlines are of the system's monotonic clock.
 */
#ifndef SFID_BASE_CLOCK_H
#define SFID_BASE_CLOCK_H

#include "base/compiler.h"

/* A moment: milliseconds since 1970, and nanoseconds within that millisecond. An int64_t of
 * nanoseconds would end in 2262. */
struct sfid__time {
    int64_t ms;
    int32_t ns;
};

struct sfid__clock {
    struct sfid__time (*now)(const struct sfid__clock *self);     /* wall clock */
    int64_t (*monotonic_ns)(const struct sfid__clock *self);      /* never steps; for deadlines */
    void (*sleep_ns)(const struct sfid__clock *self, int64_t ns); /* may return early (a signal) */

    /* The same, but ends once a word of memory that processes may share has another value, and its
     * sleepers are woken. */
    void (*wait_ns)(const struct sfid__clock *self, _Atomic uint32_t *word, uint32_t value,
                    int64_t ns);
};

extern const struct sfid__clock sfid__system_clock;

struct sfid__time sfid__now(const struct sfid__clock *clock);
int64_t sfid__monotonic_ms(const struct sfid__clock *clock);

/*
 * How long to keep waiting. One absolute moment covers a whole exchange,
 * however many waits it takes. A stop flag, checked between short waits, brings
 * that moment forward: closing a handle waits for the exchange in progress, but
 * not for long.
 */
struct sfid__deadline {
    int64_t at_ms;           /* monotonic */
    const _Atomic int *stop; /* or NULL */
    int64_t stop_at_ms;      /* 0: the flag was not seen */
    /* so much is left for sure: the next wait of a wire needs no look at the clock. 0: it does */
    int sure_ms;
};

#define SFID__STOP_LOOK_MS 20   /* longest wait between two looks at the flag */
#define SFID__STOP_GRACE_MS 500 /* what remains of a deadline once the flag was seen */

int64_t sfid__deadline_now_ns(void);
int64_t sfid__deadline_now_ms(void);

/* Returns how many milliseconds to wait before the next call; 0 when the deadline has passed. */
int sfid__deadline_left_ms(struct sfid__deadline *d);

/*
 * How long to sleep before the next look at what another process has for a while: about *pause_ns,
 * which grows to four times that, and to at most SFID__PAUSE_MOST_NS. A look costs a processor as
 * much as the switch to another process and back; few are enough, and a thousand processes that
 * wait for one leave it room to end. Random: those who began at once do not look at once.
 */
#define SFID__PAUSE_FIRST_NS 100000
#define SFID__PAUSE_MOST_NS 250000000
int64_t sfid__pause_ns(int64_t *pause_ns);

/*
 * Writes a moment of the wall clock as "05:11:17Z", or as "2026-03-01T05:11:17Z" if now_ms is not
 * of the same day: with SFID__ANOTHER_DAY always. gmtime_r() and strftime() take a lock, which in a
 * child of fork() stays held for ever if another thread had it.
 */
#define SFID__TIME_TEXT 40
#define SFID__ANOTHER_DAY INT64_MIN
void sfid__time_text(int64_t unix_ms, int64_t now_ms, char out[SFID__TIME_TEXT]);

#endif
