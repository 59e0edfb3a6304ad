/* SPDX-License-Identifier: MIT */
/**
 * fleet.h - shared by tests of processes that lease from real servers, beside
 * local.h and redis.h. A member of a fleet is a process that opens, generates
 * and ends when it is told. It leaves its IDs and windows for the checker.
 *
 * Members are forked. The test opens nothing while it forks them, since its
 * threads would be missing in them.
 */
#ifndef SFID_TESTS_FLEET_H
#define SFID_TESTS_FLEET_H

#include "support/local.h"
#include "support/redis.h"

enum { EVENTS_KEPT = 200, MOST_THREADS = 4, WINDOWS_ROOM = 2048, RECORD = 400, HOSTS_MOST = 16 };

/* Of fleet_options(): no exchange and no window ends on a machine that is late. */
enum { FLEET_TTL_MS = 60000, FLEET_HEARTBEAT_MS = 1000, FLEET_TIMEOUT_MS = 15000 };

/* As long as a call may wait by default. It needs next to nothing while its lease is renewed in
 * time. */
enum { CALL_MS = 2000 };

/* ---- servers ------------------------------------------------------------ */

struct servers {
    const char *installed[8];
    size_t n;
};

/* The servers to test against. */
extern struct servers servers;
void servers_find(void);

/*
 * Runs a test, in the long form against each server, in the short form against one, which `number`
 * selects. Each test has a server of its own.
 */
void on_servers(unsigned number, unsigned flags, void (*test)(struct redis *r));

/* Makes a scene be the first one: no slot, mark or log of the ones before is left. */
void fleet_forget(void);

/* As on_servers(), for a scene that no process may sleep through for bears_ms: see retake.h. */
void on_running_servers(unsigned number, unsigned flags, int64_t bears_ms,
                        void (*test)(struct redis *r));

/*
 * Options for a new app: a lease lasts FLEET_TTL_MS and is renewed each second, there are no short
 * ones, and a call waits as long as the test does. There is no pid 0, since that alone is no valid
 * range.
 */
sfid_options fleet_options(const struct redis *r, const char *app, const sfid_layout *l);

/* Sets how long an exchange with the server may take, for tests of timeouts and of short
 * windows. */
void fleet_timeout(sfid_options *opt, const struct redis *r, unsigned ms);

/* Gives a member directories as on another host. Members with the same number share them. */
void on_host(sfid_options *opt, unsigned number);

/* Makes the app known at its servers: nobody holds a pid of it yet. A server that is late is asked
 * again. */
void fleet_app_init(const sfid_options *opt);

/* Returns how many scripts the server has run since CONFIG RESETSTAT. */
uint64_t evals(struct redis *r);

/* Returns a pid's record in the app's hash, in `line`; "nil" if there is none. */
const char *record_of(struct redis *r, const char *app, int64_t pid, char line[RECORD]);

/* Returns whether a record is released: it then has only the position. */
bool is_released(const char *record);

/* Joins files of the source tree, such as the parts of the lease script. NULL ends the names. The
 * text is for free(). */
char *files_text(const char *const *names);
#define LEASE_SCRIPT \
    ((const char *const[]){"src/lease/lease.lua", "src/lease/lease_claim.lua", \
                           "src/lease/lease_exchange.lua", NULL})

/* Writes the key of a pid's registration. Returns its size, since it has binary bytes. */
size_t registration_of(const char *app, int64_t pid, char key[100]);

/* Sends a command of that key alone. Returns the reply as redis_text() does. */
const char *registration_text(struct redis *r, const char *command, const char *app, int64_t pid);

/* ---- a member ----------------------------------------------------------- */

struct seen {
    sfid_event_kind kind;
    int code;
    /* left_ms: of the window, just after it; -1 before the member has opened */
    int64_t pid, value, at_ns, left_ms;
    char text[600];
};

/* Shared by test and member. The test sets the first part before the start; the member writes the
 * rest. */
struct member {
    sfid_options opt;
    /* app, store: room for what opt names; name: for the names of checks */
    char app[40], store[300], name[64];
    unsigned threads, burst;
    long nap_us;                       /* between bursts, plus a random time up to the same */
    bool leaves;                       /* ends without closing */
    bool waits;                        /* waits for may_open before it opens */
    void (*prepare)(struct member *m); /* called first in the member's process; NULL: nothing */
    _Atomic int64_t clock_offset_ns;   /* for tests that give members clocks of their own */
    /* tells the checker only its slot, for tests that change the machine's name */
    bool by_slot;
    bool closes_fds; /* closes all but the standard ones after opening */
    /* its process, in place of the one that draws in threads; NULL: that one */
    int (*live)(void *m);
    const sfid_layout *noted; /* of the IDs for member_note(), if that is not opt.layout */

    atomic_int may_open, may_draw, may_end; /* may_draw: 1 at first */

    atomic_int ready, opened, closed; /* opened: or failed */
    atomic_int stops;                 /* by the test */
    int rc;
    char text[600];
    struct took open, close; /* as the member's witness has seen them */
    uint64_t process;        /* its number, for the checker */
    _Atomic int64_t pid;     /* in the last ID */
    _Atomic uint64_t limit;  /* of the window, when last looked at */
    _Atomic int64_t ids, first_id, last_id, errors, error;
    _Atomic int64_t failed_at_ns; /* when the first of the errors came */
    _Atomic int64_t gap_ms;       /* the longest time between two IDs of a thread */
    struct took gap;              /* the same; member_gap() reads it */
    atomic_flag gap_lock;
    struct took first;       /* from the call of open to the first ID; there once `ids` is not 0 */
    sfid_status_info status; /* just before the close */
    struct seen seen[EVENTS_KEPT];
    atomic_int events, of_kind[SFID_EVENT_KINDS];
    pid_t child; /* 0: has ended, with the status below */
    int ended;
};

/* ---- inside a member ----------------------------------------------------- */

/* What the member sees of its lease. */
struct recorder {
    struct member *m;
    _Atomic(sfid *) g;
    pthread_mutex_t lock;
    struct winlog log;
    struct winlog_window last;
    uint64_t holder, process;
    int64_t begin_ns;
};

extern struct recorder recorder;

/* Call this while no other thread may look: before an open, and in a forked child. */
void recorder_prepare(struct recorder *w, struct member *m);

/* Starts a file of windows for a process that has opened a handle or inherited one. */
void recorder_begin(struct recorder *w, sfid *g);

/* Records the result of a call. */
void member_note(struct member *m, struct idlog *log, int64_t id);
void member_log(struct idlog *log, uint64_t room, unsigned thread);
void member_open(struct member *m, sfid **g);
void member_close(struct member *m, sfid *g);

/* The process of a member: opens, draws in threads, closes. */
int member_live(void *m);

/* fleet_begin() calls it. */
void members_begin(void);

/* ---- the test's side ------------------------------------------------------ */

/* Makes n members with these options, not yet started. Their memory lasts as long as the test. */
struct member *members_new(size_t n, const sfid_options *opt);

/* Starts the member. After an earlier run, its results are cleared. */
void member_start(struct member *m);

/* Starts the member and waits until it has opened. Returns the code. */
int member_open_one(struct member *m);
void member_open_or_die(struct member *m);

/*
 * As member_open_one(), where a server's trouble is to be the answer. On a busy host an open may
 * come too late to ask, or to join others. It says so, and does not blame the server. Such an open
 * is repeated with twice the time.
 */
int member_open_in_vain(struct member *m);
bool member_is_too_late(const struct member *m);

/* Makes one member, which opens and has drawn. */
struct member *member_drawing(const sfid_options *opt);

/* Waits until a started member holds a pid. Returns false, with a diagnostic, if it does not. */
bool member_opens(struct member *m, unsigned limit_ms);

/* Lets the member end, if it still runs. Returns its status. */
int member_end(struct member *m);
void member_kill(struct member *m);
void member_stop(struct member *m);
void member_go_on(const struct member *m);

/* Starts counting gaps and errors anew. */
void member_forget(struct member *m);
struct took member_gap(const struct member *m);

/* Two checks: since the start or member_forget(), no call failed, and none waited for a window. */
bool member_is_well(const struct member *m, const char *what);
bool member_draws(const struct member *m, int64_t ids, unsigned limit_ms);
bool member_fails(const struct member *m, unsigned limit_ms);
const struct seen *member_event(const struct member *m, sfid_event_kind kind, int from,
                                unsigned limit_ms);

/* Returns how many events of a kind the member has had. */
int events_of(const struct member *m, sfid_event_kind kind);

/* Waits until it has had this many. */
bool member_had(struct member *m, sfid_event_kind kind, int least, unsigned limit_ms);

/*
 * Waits for an event, from event number `from` on, that reports this renewal failure (code 0: any).
 * An earlier renewal under way may fail differently. Returns NULL, with a diagnostic, if none
 * comes.
 */
const struct seen *member_told(const struct member *m, int from, int code, const char *words,
                               const char *server);

/* The layout of the test. */
extern sfid_layout layout;

/* Begins each test: sets the layout and finds the servers. Returns the seed. */
uint64_t fleet_begin(const char *layout_text);

/* Is main() of a test that needs no more than this: fleet_begin(), on_servers(), done_testing(). */
int fleet_main(const char *layout_text, unsigned number, unsigned flags,
               void (*test)(struct redis *r));

/*
 * As fleet_options() with the layout of the test; a lease lasts ttl_ms and is renewed each
 * heartbeat_ms. An exchange may take a third of the time between.
 */
sfid_options fleet_lease(const struct redis *r, const char *app, uint32_t ttl_ms,
                         uint32_t heartbeat_ms);

/* ---- a crowd: it leases from the current server and follows a change ----- */

enum { CROWD_MOST = 32 };

struct crowd {
    const char *program;
    struct member *m;
    unsigned n;
    int renewed[CROWD_MOST], failovers[CROWD_MOST]; /* at crowd_note() */
};

/* Opens all members, on several hosts. They generate until crowd_end(). */
void crowd_begin(struct crowd *c, const char *program, unsigned n, const sfid_options *opt);

/* Call this before their server is disturbed. */
void crowd_note(struct crowd *c);
bool crowd_has_renewed(void *arg);

/* Returns whether, since crowd_note(), all have reached another server or era, and renewed
 * there. */
bool crowd_follows(struct crowd *c);
bool crowd_is_well(const struct crowd *c, const char *what);
void crowd_end(struct crowd *c);

#endif
