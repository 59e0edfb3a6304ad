/* SPDX-License-Identifier: MIT */
/**
 * proc.h - shared by process tests: directories, children, clocks, seeds, and
 * the checker.
 *
 * Sizes: each test has a short one (default), a long one ($SFID_TEST_LONG set)
 * and one for builds with AddressSanitizer or ThreadSanitizer. Seeds are fixed
 * and printed; $SFID_TEST_SEED replaces them. $SFID_CHECKER names the checker
 * if it is not ./tests/checker. With $SFID_TEST_SHARE set, generators with an
 * app share a page (opt.share). Tests that count pids, locks or threads fail
 * then.
 */
#ifndef SFID_TESTS_PROC_H
#define SFID_TESTS_PROC_H

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <sfid.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <time.h>

#include "support/idlog.h"
#include "support/tap.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

enum { NS_PER_MS = 1000000, DIED = 99, KILLED = 1000, TIMED_OUT = -1 };

/* ---- sizes, seeds, clocks ----------------------------------------------- */

uint64_t sized(uint64_t short_size, uint64_t long_size, uint64_t sanitized);

uint64_t seed(void);

/* splitmix64 */
uint64_t draw_random(uint64_t *state);
int64_t clock_ns(clockid_t clock);
int64_t wall_ns(void);
int64_t mono_ns(void);

/* Returns the begin of an ID's tick on the wall clock. */
int64_t id_ns(const sfid_layout *l, int64_t id);

/* Returns how far the wall clock was stepped. IDs cannot be compared with it then. Both clocks slew
 * alike. */
int64_t clock_offset(void);
bool clock_stepped(int64_t offset_before);
void nap_us(long us);
int64_t median(int64_t *values, size_t n);

/* ---- directories -------------------------------------------------------- */

/* The test's directories: run on /dev/shm, state in the temporary directory, logs where there is
 * room. */
struct dirs {
    char shm[64], run[80], logs[4200], state[4200];
    const char *tmp;
    pid_t owner;
};

extern struct dirs dirs;

/* Child programs find the directories in their environment. */
void dirs_make(void);

/* Returns the number of entries in a directory; -1 if there is none. */
int count_entries(const char *path);
int count_fds(void);

/* Returns a line of this process in /proc, as "VmRSS:", in KiB; -1 if there is none. */
long memory_kb(const char *what);
int count_threads(void);

/* Sanitizers may have started a thread of their own. */
bool threads_are(void *n);

/*
 * Counts them before a scene, once those of the scene before are gone: one that was joined may stay
 * in /proc for a moment. The first call comes before there is a generator.
 */
int threads_before(void);

/* ---- children ----------------------------------------------------------- */

/* Ends a child; in the test itself, ends everything. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Ends it unless cond holds. */
#define must(cond, ...) ((cond) ? (void)0 : die(__VA_ARGS__))

/* Runs fn in a forked child. The child ends by _exit() with fn's result, or with its parent. */
pid_t child_start(int (*fn)(void *), void *arg);

/* Runs this program again with up to five arguments for main(). */
pid_t self_start(const char *a, const char *b, const char *c, const char *d, const char *e);

/*
 * After shim_preload(): runs the rest of the program in a child with the shim. The parent keeps the
 * directories and ends as the child.
 */
void go_on_with_shim(void);

/* The path of the command of this build, and whether it has a command: one may be left out. */
const char *sfid_program(void);
bool sfid_has(const char *command);

struct waiting {
    pid_t child;
    int status;
};

/* Returns the exit status, KILLED + signal, or TIMED_OUT; the child is then killed. */
int child_wait(pid_t child, unsigned limit_ms);
int child_run(int (*fn)(void *), void *arg, unsigned limit_ms);
void child_kill(pid_t child);

/* Whether ptrace(2) is allowed here. */
bool can_trace(void);

/* Lets a traced process make n stops, as PTRACE_SYSCALL. False once it has ended. Signals but
 * SIGTRAP are its own and passed on. */
bool trace_step(pid_t child, int request, unsigned n);

/* Seizes a thread and stops it: at once, or false; at its n-th stop at a system call from then
 * on. */
bool trace_seize(pid_t thread);
void trace_hold(pid_t thread, unsigned n);

/* As shared_memory(), for child programs: a file in the test's directories. */
void *shared_file(const char *name, size_t size);

/* Waits until *flag is at least `want`. */
struct flag_wait {
    _Atomic int *flag;
    int want;
};

bool flag_wait(_Atomic int *flag, int want, unsigned limit_ms);

/* The thread sanitizer's options in a program that defines it: instead of those in proc.c. */
extern const char tsan_options[] __attribute__((weak));

void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg);

/* ---- generators --------------------------------------------------------- */

sfid_layout layout_of(const char *text);

/* True if $SFID_TEST_SHARE is set. */
bool shares(void);
sfid_options options_of(const char *app, int64_t pid, const sfid_layout *l);
sfid *open_or_die(const sfid_options *opt);

/* Opens and closes at once. Returns the code. */
int try_open(const sfid_options *opt);

/*
 * Generates an ID. While the window or the clock is behind (after a crash the mark may be up to 30
 * s ahead), it repeats the call. Returns the last error if limit_ms run out.
 */
int64_t next_within(sfid *g, unsigned limit_ms);

/*
 * Returns whether a refused call has to wait for the rest of a mark, which lies up to 30 s beyond
 * what may be issued. Until a call can prove its right to an ID, returning none is correct.
 */
bool postponed(const sfid *g, int64_t code);
void raise_to(_Atomic int64_t *most, int64_t value);

/* ---- the checker -------------------------------------------------------- */

void log_start(struct idlog *log, uint64_t capacity, uint64_t life, uint64_t pid, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));

void log_ids(struct idlog *log, const int64_t *ids, int64_t n);

/* Starts the checker with these options and returns its output, for pclose(). */
FILE *checker_start(const char *options, ...) __attribute__((format(printf, 1, 2)));

/* Gives all logs to the checker, as one check, and removes them. count UINT64_MAX: any number.
 * Order "pid" is "per-file" if processes share. */
bool judge(const char *layout, const char *order, uint64_t count, const char *what);

#endif
