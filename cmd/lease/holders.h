/* SPDX-License-Identifier: MIT */
/* holders.h - who holds which pid of this host. */
#ifndef CMD_LEASE_HOLDERS_H
#define CMD_LEASE_HOLDERS_H

#include "io/date.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct holder {
    int64_t process;
    char name[20];
};

/* A pid of an app that was ever held on this host: the file of its mark, whose lock is the right to it. */
struct slot {
    uint64_t pid;
    char *path;
    uint64_t inode;                /* as stat(2) tells */
    unsigned major, minor;         /* and its device */
    uint64_t map_inode;            /* as /proc/PID/maps names it, which some file systems make another */
    unsigned map_major, map_minor; /* and its device */
    bool locked;
    int64_t taker;          /* who locked it, as far as the kernel still knows; 0: not told */
    struct holder *holders; /* processes that have it mapped, and with that the lock */
    size_t holder_count;
};

/* A process that holds a mark whose name is gone. */
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
    int why; /* errno, where apps could not be listed */
    struct stray *strays;
    size_t stray_count;
    bool locks_told; /* /proc/locks lists every lock, whoever took it */
    size_t hidden;   /* processes that may not be looked into */
};

/* Who holds the slots of a survey. */
void holders_find(struct survey *survey);

/* A process and its name. */
struct holder holder_of(int64_t process);

/* Whether a process has ended, or is about to be forgotten by its parent. */
bool has_ended(int64_t process);

#endif
