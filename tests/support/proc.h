/* SPDX-License-Identifier: MIT */
/**
 * proc.h - what the process tests share: directories, children, clocks, seeds
 * and the call of the checker.
 *
 * Sizes: each test states a short one (default), a long one ($SFID_TEST_LONG
 * set) and one for builds with AddressSanitizer or ThreadSanitizer. Seeds are
 * fixed and printed; $SFID_TEST_SEED takes their place. $SFID_CHECKER names
 * the checker where it is not ./tests/checker.
 */
#ifndef SFID_TESTS_PROC_H
#define SFID_TESTS_PROC_H

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <sfid.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/idlog.h"
#include "support/tap.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

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

enum { NS_PER_MS = 1000000, DIED = 99, KILLED = 1000, TIMED_OUT = -1 };

/* ---- sizes, seeds, clocks ----------------------------------------------- */

uint64_t sized(uint64_t short_size, uint64_t long_size, uint64_t sanitized);

/* A time limit of the tests, which is to catch what hangs, not what is slow. */
unsigned patience(unsigned ms);
uint64_t seed(void);

/* splitmix64 */
uint64_t draw_random(uint64_t *state);
int64_t clock_ns(clockid_t clock);
int64_t wall_ns(void);
int64_t mono_ns(void);

/* Begin of an ID's tick on the wall clock. */
int64_t id_ns(const sfid_layout *l, int64_t id);

/* How far the wall clock was stepped: what holds IDs against it means nothing then. Both clocks slew alike. */
int64_t clock_offset(void);
bool clock_stepped(int64_t offset_before);
void nap_us(long us);
int64_t median(int64_t *values, size_t n);

/* ---- directories -------------------------------------------------------- */

/* The test's own: run on /dev/shm, state under the temporary directory, logs where there is room for them. */
struct dirs {
    char shm[64], run[80], logs[4200], state[4200];
    const char *tmp;
    pid_t owner;
};

extern struct dirs dirs;

/* A child that is another program finds them in its environment. */
void dirs_make(void);

/* How many entries a directory has; -1 without one. */
int count_entries(const char *path);
int count_fds(void);
int count_threads(void);

/* Sanitizers may have started one of their own since. */
bool threads_are(void *n);

/* ---- children ----------------------------------------------------------- */

/* The end of a child or, in the test itself, of everything. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Runs fn in a forked child, which ends with what it returns, by _exit(), or with its parent. */
pid_t child_start(int (*fn)(void *), void *arg);

/* Runs this program anew with up to five arguments: main() sees them. */
pid_t self_start(const char *a, const char *b, const char *c, const char *d, const char *e);

/* After shim_preload(): the rest of the program is for a child that has the shim. The parent keeps the directories, waits, and
   ends as it does. */
void go_on_with_shim(void);

struct waiting {
    pid_t child;
    int status;
};

/* The exit status, KILLED + signal, or TIMED_OUT: the child is killed then. */
int child_wait(pid_t child, unsigned limit_ms);
int child_run(int (*fn)(void *), void *arg, unsigned limit_ms);
void child_kill(pid_t child);

/* Zeroed memory that forked children share. */
void *shared_memory(size_t size);

/* The same for children that are other programs: a file among the directories. */
void *shared_file(const char *name, size_t size);

/* Waits until *flag is at least want. */
struct flag_wait {
    _Atomic int *flag;
    int want;
};

bool flag_wait(_Atomic int *flag, int want, unsigned limit_ms);
void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg);

/* ---- generators --------------------------------------------------------- */

sfid_layout layout_of(const char *text);
sfid_options options_of(const char *app, int64_t pid, const sfid_layout *l);
sfid *open_or_die(const sfid_options *opt);

/* The code of an open that is closed again at once. */
int try_open(const sfid_options *opt);

/*
 * Draws an ID, patiently: with the window or the clock behind (a crash may leave the durable mark up to 30 s ahead), the
 * call says so and is made again. Returns the last error when limit_ms were not enough.
 */
int64_t next_within(sfid *g, unsigned limit_ms);

/*
 * Whether a refused call is one that has to wait for what is left of a mark: it lies up to 30 s beyond what may be issued
 * ahead of the clock. No ID is a good answer where the right to issue one cannot be shown yet.
 */
bool postponed(const sfid *g, int64_t code);
void raise_to(_Atomic int64_t *most, int64_t value);

/* ---- the checker -------------------------------------------------------- */

void log_start(struct idlog *log, uint64_t capacity, uint64_t life, uint64_t pid, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

void log_ids(struct idlog *log, const int64_t *ids, int64_t n);

/* What the checker says, called so; for pclose(). */
FILE *checker_start(const char *options, ...) __attribute__((format(printf, 1, 2)));

/* Hands all logs to the checker, in one check, and removes them. count UINT64_MAX: as many as there are. */
bool judge(const char *layout, const char *order, uint64_t count, const char *what);

#endif
