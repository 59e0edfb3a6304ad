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
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
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

/** Announces the number of checks, before the first one. Optional. done_testing() then fails on any
 * other number. */
void plan(unsigned n);

/** One check. Its name says what holds, and has to make sense after "not ok". Returns cond. */
bool ok(bool cond, const char *name, ...) TAP_PRINTF(2, 3);

/** Checks that two numbers are equal. On failure it prints both, in decimal, and unsigned ones also
 * in hexadecimal. */
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

/** Prints the plan. Returns the exit status: 0 if there were checks, as many as planned, and none
 * failed. */
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

/** Does valgrind run this program? It sets a variable for it. */
bool tap_under_valgrind(void);

/** Of n rounds so many as there is time for: a tenth under valgrind, which looks at memory, and
 * each round uses it alike. */
int tap_rounds(int n);

/** Removes a directory with all in it, but stays on its file system. */
void remove_tree(const char *path);

/*
 * How long a test waits for what has to come: longer than any machine needs,
 * since a wait ends as soon as it has come. What has to come within a time is
 * compared by in_time().
 */
enum { TAP_WAIT_MS = 60000 };

/*
 * How long a loop has looked on, in milliseconds; {0} begins. Of the time between
 * two looks at most a tenth of a second counts: a machine that stands still for
 * a minute uses up nobody's patience.
 */
struct patience {
    int64_t looked_ms, used_ms;
};

/** One look more. Returns false once the loop has looked on for limit_ms. */
bool patient(struct patience *p, int64_t limit_ms);

/** Waits until cond(arg) holds, which it checks every few milliseconds. Returns false after
 * limit_ms. */
bool tap_wait_until(bool (*cond)(void *arg), void *arg, unsigned limit_ms);

/* ---- durations ------------------------------------------------------------ */

/**
 * Begins to watch this process: a thread naps again and again, and notes how
 * late it wakes. Call it before what is compared; a second call does nothing.
 * A forked child has none until it calls this. The test that pins threads to
 * processors, or counts threads, does so after it.
 */
void witness_begin(void);

/**
 * Begins to watch what all processes wait for, by syncing a file in tap_tmpdir()
 * and starting a process, ten times a second, for this process and all that it
 * forks from then on. For durations in which the library syncs or the test starts
 * processes. The second gives the longest such step since from_ms, less what it
 * may take; 0 if nobody watches.
 */
void witness_system(void);
int64_t witness_longest_step_ms(int64_t from_ms);

/* How long something took, and for how much of that the machine stood still. A child hands it to
 * its parent. */
struct took {
    int64_t ms, stood_ms;
};

/** From one time of tap_now_ms() to another, as the witness of this process has seen it; to now. */
struct took took_between(int64_t from_ms, int64_t to_ms);
struct took took_since(int64_t from_ms);

/** Returns the one that ran for longer. */
struct took took_longer(struct took a, struct took b);

/**
 * One check: it took at most limit_ms of a machine that runs. What the machine
 * stood still is taken off. Above the limit even so, and for a tenth of the
 * time the machine stood still, or in a sanitizer's program: not judged, an ok
 * that `make check` counts. Above four times the limit: not ok, whatever the
 * machine did. Every comparison of a duration with a limit goes through this;
 * tests/sh/durations.test refuses others.
 */
bool in_time(struct took took, int64_t limit_ms, const char *name, ...) TAP_PRINTF(3, 4);

/** One check: it took at least least_ms. A machine that stands still adds to a duration: nothing is
 * taken off. */
bool lasted(struct took took, int64_t least_ms, const char *name, ...) TAP_PRINTF(3, 4);

/** Prints how many durations were compared. done_testing() calls it. */
void witness_tell(void);

#endif
