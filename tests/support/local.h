/* SPDX-License-Identifier: MIT */
/**
 * local.h - shared by tests of the "local" store, beside proc.h: options,
 * children that hold a pid, marks, locks, keepers, and private mounts.
 */
#ifndef SFID_TESTS_LOCAL_H
#define SFID_TESTS_LOCAL_H

#include "support/locks.h"
#include "support/proc.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

sfid_options local_options(const char *app, const char *store, const sfid_layout *l);

/* Opens and closes at once. Returns the pid, or the error. */
int64_t pid_of_open(const sfid_options *opt);

/* Returns the current tick. */
uint64_t tick_now(const sfid_layout *l);
uint64_t id_tick(const sfid_layout *l, int64_t id);
int64_t id_pid(const sfid_layout *l, int64_t id);

/* Waits until the clock has passed a tick. Waits for nothing else. */
bool tick_passes(const sfid_layout *l, uint64_t tick, unsigned limit_ms);

/* ---- a child that holds a pid ------------------------------------------- */

struct holder {
    const sfid_options *opt;
    atomic_int held, may_end; /* the child sets held, the test may_end */
    int rc;
    /* first and last: the child's first ID and its last one before the end */
    int64_t pid, first, last;
    char text[400];
    bool closing;
    pid_t child;
};

/* Starts a child. Returns the memory shared with it once it has tried to open. */
struct holder *holder_start(const sfid_options *opt, bool closing);

/* Lets the child end, or kills it. Returns its status. h stays readable. */
int holder_end(struct holder *h, bool killing);

/* ---- the mark ----------------------------------------------------------- */

/* An entry as src/host/mark_entries.h has it. A process that shares no pid writes the first two in
 * turn. */
struct mark_entry {
    char magic[8];
    uint64_t layout, pid, serial, position, page, life, checksum;
};

enum { MARK_BLOCK = 4096, MARK_ENTRIES = 8 };

/* Returns the mark's tick: no ID from there on may have been issued yet. */
uint64_t mark_tick_of(int fd, const sfid_layout *l);
int mark_open(const char *app, int64_t pid);

/* Returns 0 if there is no mark. */
uint64_t mark_tick(const char *app, int64_t pid, const sfid_layout *l);

/* ---- locks, threads ----------------------------------------------------- */

/* Counts the files that any process has locked: a directory and all below it whose name has this
 * prefix. */
int count_locked(const char *dir, const char *prefix);

/* Finds a thread of a process by name; 0 if there is none. *count becomes the number of such
 * threads. */
pid_t thread_named(pid_t process, const char *name, int *count);

/* Returns the state letter of a process or thread in /proc, '?' if it is gone. */
char task_state(pid_t process, pid_t thread);

/* Returns whether all other threads of this process sleep. */
bool others_sleep(void *unused);

/* Call this before a fork. If a thread is just starting, a sanitizer's allocator stays locked for
 * ever in the child. */
void let_threads_start(void);

/* ---- mounts ------------------------------------------------------------- */

/* Makes later mounts private to this process. */
bool own_mounts(void);
bool mount_tmpfs(const char *where, const char *flags);
bool can_mount(void);

#endif
