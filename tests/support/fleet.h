/* SPDX-License-Identifier: MIT */
/**
 * fleet.h - what the tests of processes that lease from real servers share
 * beside local.h and redis.h: members of a fleet, each a process that
 * opens, draws and ends as it is told, and leaves its IDs and the windows it
 * was granted for the checker.
 *
 * Members are forked; the test itself opens nothing while it forks them, since
 * its threads would not be in them.
 */
#ifndef SFID_TESTS_FLEET_H
#define SFID_TESTS_FLEET_H

#include "support/local.h"
#include "support/redis.h"

enum { EVENTS_KEPT = 200, MOST_THREADS = 4, WINDOWS_ROOM = 2048, RECORD = 400 };

/* ---- servers ------------------------------------------------------------ */

struct servers {
    const char *installed[8];
    size_t n;
};

/* Those to test against. */
extern struct servers servers;
void servers_find(void);

/*
 * Runs a test: against each server in the long form, against one of them in the short one, where number says which. A server
 * of its own each time.
 */
void on_servers(unsigned number, unsigned flags, void (*test)(struct redis *r));

/* A lease that lasts 4 s, renewed each second, from an app that nobody has used before. Without pid 0: a range of that alone
   cannot be said. */
sfid_options fleet_options(const struct redis *r, const char *app, const sfid_layout *l);

/* Directories of its own, as on another host; the members of one number share theirs. */
void on_host(sfid_options *opt, unsigned number);

/* How many scripts the server has run since CONFIG RESETSTAT. */
uint64_t evals(struct redis *r);

/* What the app's hash has of a pid: "(nil)" is "nil". Returns line. */
const char *record_of(struct redis *r, const char *app, int64_t pid, char line[RECORD]);

/* A record as a release leaves it: the position alone. */
bool is_released(const char *record);

/* The name of a pid's registration; its size, since it has bytes that are no text. */
size_t registration_of(const char *app, int64_t pid, char key[100]);

/* ---- a member ----------------------------------------------------------- */

struct seen {
    sfid_event_kind kind;
    int code;
    int64_t pid, value, at_ns;
    char text[300];
};

/* Shared between test and member: the first part is the test's to set before the start, the rest the member's to tell. */
struct member {
    sfid_options opt;
    unsigned threads, burst;
    long nap_us;                       /* between bursts, and as much again at random */
    bool leaves;                       /* ends without closing */
    bool waits;                        /* with opening, until it may */
    void (*prepare)(struct member *m); /* in its process, before anything else; NULL: nothing */
    _Atomic int64_t clock_offset_ns;   /* for a test that gives members clocks of their own */
    bool by_slot;                      /* tells the checker its slot alone, for tests that change the machine's name under it */
    bool closes_fds;                   /* all it has but the standard ones, once it is open */

    atomic_int may_open, may_draw, may_end; /* may_draw: 1 from the start */

    atomic_int ready, opened, closed; /* opened: or failed */
    int rc;
    char text[600];
    int64_t open_ns, close_ns; /* how long these took */
    uint64_t process;          /* its number, for the checker */
    _Atomic int64_t pid;       /* as of the last ID */
    _Atomic uint64_t limit;    /* of the window, as of the last look at it */
    _Atomic int64_t ids, first_id, last_id, ok_at_ns, errors, error, error_at_ns;
    _Atomic int64_t first_ns; /* from the call of open to the first ID */
    sfid_status_info status;  /* at the end, before the close */
    struct seen seen[EVENTS_KEPT];
    atomic_int events, of_kind[SFID_EVENT_KINDS];
    pid_t child; /* 0: has ended, with this status */
    int ended;
};

/* ---- inside a member ----------------------------------------------------- */

/* What the member itself sees of its lease. */
struct witness {
    struct member *m;
    _Atomic(sfid *) g;
    pthread_mutex_t lock;
    struct winlog log;
    struct winlog_window last;
    uint64_t holder, process;
    int64_t begin_ns;
};

extern struct witness witness;

/* While there is no thread that may look: before an open, and in a forked child. */
void witness_prepare(struct witness *w, struct member *m);

/* A file of windows of its own, for a process that has opened, or was forked off by one that had. */
void witness_begin(struct witness *w, sfid *g);

/* What is told of a call. */
void member_note(struct member *m, struct idlog *log, int64_t id);
void member_log(struct idlog *log, uint64_t room, unsigned thread);
void member_open(struct member *m, sfid **g);
void member_close(struct member *m, sfid *g);

/* ---- the test's side ------------------------------------------------------ */

/* n members with these options, not started yet; for member_free(). */
struct member *members_new(size_t n, const sfid_options *opt);
void members_free(struct member *all, size_t n);

/* Starts it; again after an end: what it has told is forgotten. */
void member_start(struct member *m);

/* The same, and waits until it has opened. Returns the code. */
int member_open_one(struct member *m);

/* Lets it end, unless it has. Returns its status. */
int member_end(struct member *m);
void member_kill(struct member *m);
bool member_draws(const struct member *m, int64_t ids, unsigned limit_ms);
bool member_fails(const struct member *m, unsigned limit_ms);
const struct seen *member_event(const struct member *m, sfid_event_kind kind, int from, unsigned limit_ms);

/* What every test of this directory begins with. */
uint64_t fleet_begin(void);

/* ---- a crowd that leases from whoever has its app now, and follows when that changes ---- */

enum { CROWD_MOST = 32 };

struct crowd {
    const char *program;
    struct member *m;
    unsigned n;
    int renewed[CROWD_MOST], failovers[CROWD_MOST]; /* as of crowd_note() */
};

/* Opens them all, on several hosts; they draw until crowd_end(). */
void crowd_begin(struct crowd *c, const char *program, unsigned n, const sfid_options *opt);

/* Before something is done to their server. */
void crowd_note(struct crowd *c);
bool crowd_has_renewed(void *arg);

/* Everybody has come to another server, or another era, since crowd_note(), and has renewed there. */
bool crowd_follows(struct crowd *c);
bool crowd_is_well(const struct crowd *c, const char *what);
void crowd_end(struct crowd *c);

#endif
