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
 * Each check prints one line and flushes it, so that a crash or a fork neither
 * loses nor doubles one. Only the process that started main() may call these,
 * one thread at a time. A child or thread reports through its exit status or a
 * variable. Without done_testing() there is no plan, and the harness counts the
 * program as failed.
 *
 * It includes what nearly every test needs of the C library.
 */
#ifndef SFID_TESTS_TAP_H
#define SFID_TESTS_TAP_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* 1 in a build with a sanitizer, which is several times slower. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TAP_PRINTF(text, first) __attribute__((format(printf, text, first)))

/** Announces the number of checks, before the first one. Optional. done_testing() then fails on any other number. */
void plan(unsigned n);

/** One check. Its name says what holds, and has to make sense after "not ok". Returns cond. */
bool ok(bool cond, const char *name, ...) TAP_PRINTF(2, 3);

/** Checks that two numbers are equal. On failure it prints both, in decimal, and unsigned ones also in hexadecimal. */
bool is_i64(int64_t got, int64_t want, const char *name, ...) TAP_PRINTF(3, 4);
bool is_u64(uint64_t got, uint64_t want, const char *name, ...) TAP_PRINTF(3, 4);

/** Checks that two strings are equal; NULL equals only NULL. */
bool is_str(const char *got, const char *want, const char *name, ...) TAP_PRINTF(3, 4);

/**
 * Counts n checks as skipped. tests/skips-allowed must have the reason, or
 * `make check` fails: keep numbers and paths out of it.
 */
void skip(unsigned n, const char *reason, ...) TAP_PRINTF(2, 3);

/** Skips the whole program, before any check, and exits. */
void skip_all(const char *reason, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/** Prints text for readers of the log, with "# " before each line. */
void diag(const char *text, ...) TAP_PRINTF(1, 2);

/** Ends the test at once, as a failure, since what follows would make no sense. */
void bail(const char *why, ...) TAP_PRINTF(1, 2) __attribute__((noreturn));

/** Ends the test as bail() does unless cond holds; the text is evaluated only then. */
#define need(cond, ...) ((cond) ? (void)0 : bail(__VA_ARGS__))

/** Prints the plan. Returns the exit status: 0 if there were checks, as many as planned, and none failed. */
int done_testing(void) __attribute__((warn_unused_result));

/**
 * Returns a new private directory under $TMPDIR, or /tmp; one for each program,
 * the same at each call. It is removed when the process that made it exits, but
 * not when a signal ends that. It may be on any file system: a test that needs
 * a tmpfs has to say so.
 */
const char *tap_tmpdir(void);

/** Compares int64_t, for qsort(). */
int by_i64(const void *a, const void *b);

/** Returns the monotonic clock in milliseconds. */
int64_t tap_now_ms(void);

/** Returns zeroed memory that forked children share. */
void *shared_memory(size_t size);

/** Removes a directory with all in it, but stays on its file system. */
void remove_tree(const char *path);

/** Waits until cond(arg) holds, which it checks every few milliseconds. Returns false after limit_ms. */
bool tap_wait_until(bool (*cond)(void *arg), void *arg, unsigned limit_ms);

#endif
