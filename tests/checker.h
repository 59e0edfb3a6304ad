/* SPDX-License-Identifier: MIT */
/** checker.h - what the parts of the checker share: see checker.c. */
#ifndef SFID_TESTS_CHECKER_H
#define SFID_TESTS_CHECKER_H

#include "support/idlog.h"

#include <stddef.h>

enum finding { DUPLICATE, ORDER_BREAK, FOREIGN, LIFE_BREAK, LOST, OUTSIDE, OVERLAP, KINDS };

/* Ends the program: it cannot judge. */
__attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *fmt, ...);

/* Counts a finding; true while it is one of the few to be printed. */
bool found(enum finding kind);

/* One element more at the end of an array that doubles. */
void *grown(void *array, size_t n, size_t size);

/* ---- checker_windows.c ---------------------------------------------------- */

/* Takes in a file of windows. All of them come before the first question. */
void windows_add(const struct winlog_window *windows, size_t n, uint64_t process, const char *path);

/* Sorts them into leases, once they are all there; reports leases of one pid that overlap when
 * `judge_overlaps` is called. */
void windows_sort(void);
void windows_judge_overlaps(void);

/* Is the tick in one of the process's windows of the pid? Notes how far its lease was used. */
bool windows_cover(uint64_t process, uint64_t pid, uint64_t tick);

size_t windows_count(void);

#endif
