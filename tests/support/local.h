/* SPDX-License-Identifier: MIT */
/**
 * local.h - what the tests of the "local" store share beside proc.h: options,
 * children that hold a pid, marks, locks, keepers, and mounts of one's own.
 */
#ifndef SFID_TESTS_LOCAL_H
#define SFID_TESTS_LOCAL_H

#include "support/proc.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

sfid_options local_options(const char *app, const char *store, const sfid_layout *l);

/* The pid that an open gets, closed again at once; or its error. */
int64_t pid_of_open(const sfid_options *opt);

/* The clock in ticks. */
uint64_t tick_now(const sfid_layout *l);
uint64_t id_tick(const sfid_layout *l, int64_t id);
int64_t id_pid(const sfid_layout *l, int64_t id);

/* Waits until the clock is past a tick. The clock is all that is waited for. */
bool tick_passes(const sfid_layout *l, uint64_t tick, unsigned limit_ms);

/* ---- a child that holds a pid ------------------------------------------- */

struct holder {
    const sfid_options *opt;
    atomic_int held, may_end; /* its turn, then ours */
    int rc;
    int64_t pid, first, last; /* of two IDs: the first it drew and the last before its end */
    char text[400];
    bool closing;
    pid_t child;
};

/* Shared memory with a child that has tried to open. */
struct holder *holder_start(const sfid_options *opt, bool closing);

/* Lets it end, or kills it. Returns its status. h stays readable. */
int holder_end(struct holder *h, bool killing);

/* ---- the mark ----------------------------------------------------------- */

/* An entry as src/host/mark.c writes it: two of them in a file, in blocks of their own, the one with the higher serial counts. */
struct mark_entry {
    char magic[8];
    uint64_t layout, pid, serial, position, page, exact, checksum;
};

enum { MARK_BLOCK = 4096 };

/* The tick that a mark says: no ID of a tick from there on may have been issued yet. */
uint64_t mark_tick_of(int fd, const sfid_layout *l);
int mark_open(const char *app, int64_t pid);

/* 0 without a mark. */
uint64_t mark_tick(const char *app, int64_t pid, const sfid_layout *l);

/* ---- locks, threads ----------------------------------------------------- */

/* How many locks there are on a directory and all below it, whoever holds them; only on names that begin so. */
int count_locks(const char *dir, const char *prefix);

/* A thread of a process by its name; 0 when it has none. *count gets how many there are. */
pid_t thread_named(pid_t process, const char *name, int *count);

/* The state letter of a process or thread in /proc, '?' when it is gone. */
char task_state(pid_t process, pid_t thread);

/* Before a fork. A sanitizer's allocator stays locked for ever in a child that was forked while a thread was just starting. */
void let_threads_start(void);

/* ---- mounts ------------------------------------------------------------- */

/* Mounts made from here on are this process's own. */
bool own_mounts(void);
bool mount_tmpfs(const char *where, const char *flags);
bool can_mount(void);

#endif
