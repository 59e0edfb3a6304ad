/* SPDX-License-Identifier: MIT */
/** clockshim.h - the file that sets the wall clock of a program run with clockshim.c. */
#ifndef SFID_TESTS_CLOCKSHIM_H
#define SFID_TESTS_CLOCKSHIM_H

#include <stdatomic.h>
#include <stdint.h>

struct test_clock {
    _Atomic int64_t fixed_ns;  /* the clock stands there; 0: it goes on */
    _Atomic int64_t offset_ns; /* added to the real clock while it goes on */
};

#endif
