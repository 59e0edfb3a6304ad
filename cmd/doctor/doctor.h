/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the parts of `sfid doctor`.
 *
 * All of it only looks: no lock is taken or tried, nothing is made, written or
 * mapped for writing, and no time of access is changed where that can be
 * helped. Findings tell cause and cure.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli.h"

#include <sys/types.h>

#define PATH_ROOM 8192

struct stat;

/* ---- doctor_look.c: looking without leaving a trace ------------------------ */

/* open(2) for reading, without a new time of access where that is allowed. */
int look_open(const char *path, int flags);

/* A small file as text, without line end and spaces behind. Bytes, or -1 with errno: EFBIG when it does not fit. */
int look_read(const char *path, char *buf, size_t size);

/* Room for one more element; ends the program when memory runs out. */
void *grown(void *list, size_t count, size_t size);

/* Finds what makes a directory or file of ours useless to a generator. True when there is nothing. */
bool look_trust(struct report *report, const char *path, const struct stat *st, bool directory);

/* ---- doctor_dirs.c: the host ------------------------------------------------ */

void doctor_run_dir(struct report *report, const char *path);
/* leased: pids come from a server, and generators do without a state directory. False: it cannot be used. */
bool doctor_state_dir(struct report *report, const char *path, bool leased);
void doctor_machine_id(struct report *report, const char *state);

/* ---- doctor_logind.c --------------------------------------------------------- */

/* Whether systemd-logind removes what a user has below /dev/shm at the last logout, as far as its files tell. */
bool logind_removes(uid_t user);

/* ---- doctor_clock.c ----------------------------------------------------------- */

void doctor_clock_source(struct report *report);
void doctor_clock(struct report *report);
void doctor_clock_steps(struct report *report);

/* ---- doctor_apps.c: apps and their pids ------------------------------------ */

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

/* leased: pids of the app come from a server, so that nothing of it need be here. */
void doctor_apps(struct report *report, const char *run, const char *state, const char *app, bool leased);

/* ---- doctor_server.c: where an app leases its pids ------------------------- */

void doctor_server(struct report *report, const sfid_options *opt);

/* ---- holders.c ------------------------------------------------------------- */

/* Who holds the slots of a survey. */
void holders_find(struct survey *survey);

/* A process and its name. */
struct holder holder_of(int64_t process);

/* Whether a process has ended, or is about to be forgotten by its parent. */
bool has_ended(int64_t process);

#endif
