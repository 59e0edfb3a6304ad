/* SPDX-License-Identifier: MIT */
/*
 * still.h - a time in which no tick passes, for bench/count: clock_gettime() and time() of this
 * library are found in place of the C library's. For as long as nobody calls still_begin() they are
 * at 0.
 *
 * The processor's counter goes on. The library measures it against the clock, so time goes slowly
 * at first: by the rate that the library finds, a tick lasts STILL_SLOWER times as long by the
 * counter. Then it stands still. It begins with a tick of STILL_UNIT_MS since SFID_EPOCH_MS, which
 * lasts for two minutes by the counter.
 */
#ifndef SFID_BENCH_STILL_H
#define SFID_BENCH_STILL_H

#include <stdint.h>

/* With more the counts of such a tick would not fit into the 64 bits that the library has for
 * them. */
enum { STILL_SLOWER = 128, STILL_UNIT_MS = 999 };

extern long still_looks; /* how often the clock was read, but for time() */

void still_begin(void);
void still_stop(void);

/* By the kernel's clock. */
int64_t still_since_begin_ms(void);

/* Goes on by a millisecond, and waits until the one before has ended by the counter, too. */
void still_next_ms(void);

#endif
