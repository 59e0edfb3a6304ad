/* SPDX-License-Identifier: MIT */
/* all.h - sfid lease, sfid init and their parts: what each file of this folder offers. */
#ifndef CMD_LEASE_ALL_H
#define CMD_LEASE_ALL_H

#include "layout/all.h"

/* ---- commands about leases ----------------------------------------------- */

extern const struct command command_init, command_keep, command_lease;

/* ---- the actions of `sfid lease`, and their options ---------------------- */

/* Indexes into the list of lease.c. */
enum {
    LEASE_APP,
    LEASE_STORE,
    LEASE_LAYOUT,
    LEASE_FORMAT,
    LEASE_ALL,
    LEASE_WATCH,
    LEASE_OUTPUT,
    LEASE_YES,
    LEASE_RUN_DIR,
    LEASE_STATE_DIR,
    LEASE_TTL
};

/* Each returns the exit status. ls.c, pid.c: */
int lease_ls(const struct args *args, const sfid_options *opt);
int lease_show(const struct args *args, const sfid_options *opt);
int lease_release(const struct args *args, const sfid_options *opt);

/* ---- show.c: looks up and lists leases ----------------------------------- */

/* The formats of ls, in the order for args_choice(); show has the first two. */
enum { LEASE_TEXT, LEASE_JSON, LEASE_TSV, LEASE_CSV, LEASE_PROMETHEUS };

#define LEASE_HOLDER 256

/* A copy of one lease. */
struct lease {
    sfid_lease_kind kind;
    uint64_t pid;
    int64_t until_unix_ms, left_ms;
    char holder[LEASE_HOLDER];
};

/* The app and its leases, by ascending pid. */
struct leases {
    sfid_app_info info;
    struct lease *all;
    size_t count, room;
    int64_t ahead_ms; /* how far the first unused tick of a released pid is ahead of the server's clock, at most */
};

const char *lease_kind_name(sfid_lease_kind kind);
bool lease_is_busy(sfid_lease_kind kind);

/* Looks up leases; ended ones only with `all`. Returns 0, or an SFID_E… code with why. */
int leases_look(struct leases *leases, const sfid_options *opt, bool all, char why[SFID_WHY_LEN]);
void leases_forget(struct leases *leases);

/* How many pids may have a holder that the server has forgotten, and that has not shown its lease since. */
uint64_t leases_unknown(const sfid_app_info *info);

/* Lists leases in any format but Prometheus. */
void leases_show(const struct leases *leases, int format);

/* ---- metrics.c: writes leases for Prometheus ----------------------------- */

/* leases NULL: the server did not answer. */
void leases_metrics(const sfid_options *opt, const struct leases *leases);

/* ---- holders.c: finds the holder of each pid on this host ---------------- */

struct holder {
    int64_t process;
    char name[20];
};

/* A pid of an app that was ever held on this host: its mark's file, whose lock is the right to the pid. */
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
