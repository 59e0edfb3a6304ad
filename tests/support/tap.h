/* SPDX-License-Identifier: MIT */
/**
 * tap.h - the Test Anything Protocol for the tests of this tree.
 *
 *     int main(void) {
 *         ok(1 + 1 == 2, "numbers add");
 *         is_i64(sfid_next(NULL), SFID_ECLOSED, "no generator, no ID");
 *         return done_testing();
 *     }
 *
 * Each check prints one line and flushes it, so that a crash or a fork loses
 * and doubles nothing. Only the process that started main() may call these,
 * from one thread at a time: a child or a thread reports through its exit
 * status or a variable. A program that ends without done_testing() has no
 * plan, and the harness counts that as a failure.
 */
#ifndef SFID_TESTS_TAP_H
#define SFID_TESTS_TAP_H

#include <stdbool.h>
#include <stdint.h>

#define TAP_PRINTF(text, first) __attribute__((format(printf, text, first)))

/** Announces how many checks follow. Optional, first if at all; done_testing() then fails on any other number. */
void plan(unsigned n);

/** One check. The name says what holds, in a form that reads well after "not ok". Returns cond. */
bool ok(bool cond, const char *name, ...) TAP_PRINTF(2, 3);

/** Two numbers are equal; on failure both are printed, in decimal and, unsigned, also in hexadecimal. */
bool is_i64(int64_t got, int64_t want, const char *name, ...) TAP_PRINTF(3, 4);
bool is_u64(uint64_t got, uint64_t want, const char *name, ...) TAP_PRINTF(3, 4);

/** Two strings are equal; NULL equals only NULL. */
bool is_str(const char *got, const char *want, const char *name, ...) TAP_PRINTF(3, 4);

/**
 * Counts n checks as skipped. The reason has to stand in tests/skips-allowed,
 * or `make check` fails: keep numbers and paths out of it.
 */
void skip(unsigned n, const char *reason, ...) TAP_PRINTF(2, 3);

/** Skips the whole program, before any check, and exits. */
void skip_all(const char *reason, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/** A remark for the reader of the log, "# " before each of its lines. */
void diag(const char *text, ...) TAP_PRINTF(1, 2);

/** Gives up at once: what follows would make no sense. Counts as a failure. */
void bail(const char *why, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/** Prints the plan. Returns the exit status: 0 when there were checks, as many as planned, and none failed. */
int done_testing(void) __attribute__((warn_unused_result));

/**
 * A fresh private directory under $TMPDIR, else /tmp; one per program, the same
 * at each call. Removed with all it holds when the process that made it exits
 * (not when a signal ends it). It is on whatever file system that is: a test
 * that wants a tmpfs says so itself.
 */
const char *tap_tmpdir(void);

/** For qsort() of int64_t. */
int by_i64(const void *a, const void *b);

/** Milliseconds of the monotonic clock. */
int64_t tap_now_ms(void);

/** A directory with all below it, no further than its file system. */
void remove_tree(const char *path);

/** Waits until cond(arg) holds, looking every few milliseconds. Returns false when limit_ms passed without. */
bool tap_wait_until(bool (*cond)(void *arg), void *arg, unsigned limit_ms);

#endif
