/* SPDX-License-Identifier: MIT */
/** ahead.h - how far a generator's word is ahead of the clock, for tests with ticks of a
 * millisecond. */
#ifndef SFID_TESTS_AHEAD_H
#define SFID_TESTS_AHEAD_H

#include "support/proc.h"

/*
 * Returns how many ms the word is ahead, at least; -1 without a status. sfid_status() reads the
 * clock and then the word. A look that takes long may have been interrupted between the two, so
 * what it took counts for nothing.
 */
static inline int64_t ahead_seen(const sfid *g) {
    sfid_status_info st;
    const int64_t begin = mono_ns();
    if (sfid_status(g, &st) != 0)
        return -1;
    const int64_t took_ns = mono_ns() - begin,
                  surplus_ms = took_ns < 20000 ? 0 : took_ns / NS_PER_MS + 1;
    return st.ahead_ms > surplus_ms ? st.ahead_ms - surplus_ms : 0;
}

#endif
