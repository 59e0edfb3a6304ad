/* SPDX-License-Identifier: MIT */
/* holders.h - finds the holder of each pid on this host. */
#ifndef CMD_LEASE_HOLDERS_H
#define CMD_LEASE_HOLDERS_H

#include "io/date.h"

struct holder {
    int64_t process;
    char name[20];
};

/* A pid of an app that was ever held on this host: its mark's file, whose lock is the right to the
 * pid. */
struct slot {
    uint64_t pid;
    char *path;
    uint64_t inode;                /* from stat(2) */
    unsigned major, minor;         /* its device */
    uint64_t map_inode;            /* from /proc/PID/maps; differs on some file systems */
    unsigned map_major, map_minor; /* its device */
    bool locked;
    int64_t taker;          /* the process that took the lock; 0: unknown */
    struct holder *holders; /* processes that map the file, and so hold the lock */
    size_t holder_count;
};

/* A process that holds a deleted mark. */
struct stray {
    char *name; /* APP/pid-N */
    struct holder holder;
};

struct app {
    char name[65];
    struct slot *slots;
    size_t slot_count;
};

struct survey {
    const char *run, *state; /* directories; run may be NULL */
    struct moment now;
    struct app *apps;
    size_t app_count;
    int why; /* errno if apps could not be listed */
    struct stray *strays;
    size_t stray_count;
    bool locks_told; /* /proc/locks lists every lock, whichever process took it */
    size_t hidden;   /* processes that could not be inspected */
};

/* Finds the holders of the slots in a survey. */
void holders_find(struct survey *survey);

/* Returns a process and its name. */
struct holder holder_of(int64_t process);

/* Returns whether a process has ended, even if its parent has not yet waited for it. */
bool has_ended(int64_t process);

#endif
