/* SPDX-License-Identifier: MIT */
/*
 * sim.h - what the parts of the simulator know of one another.
 *
 * The simulator runs the whole library, as it is built, on hosts, disks and a network of its own.
 * Each symbol NAME that the library imports is sim_NAME here, unless the list `harmless` has it
 * (tests/sim/join). All threads of all processes of all hosts are turns of one thread. What is
 * random comes from a seed. So one seed is one run.
 */
#ifndef SIM_H
#define SIM_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "events.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define FOREVER INT64_MAX

enum {
    HOSTS = 16,
    SERVERS = 4,
    PROCESSES = 256,
    THREADS = 1024,
    STACK = 192 * 1024,
    PAGE = 4096,
    DESCRIPTORS = 384,
    MAPPINGS = 128,
    KEYS = 8,       /* of thread-specific data */
    HANDLERS = 4,   /* of fork */
    OWN_BYTES = 64, /* thread-local data of the library */
    BUILDS = 2,     /* of the library */
    SIZES = 40      /* of blocks of memory, powers of two */
};

/* Declares and begins the function that the library calls as NAME. */
#define IMPORT(type, name, ...) \
    type sim_##name(__VA_ARGS__); \
    type sim_##name(__VA_ARGS__)

/* ---- world.c: time, chance, what is said ------------------------------------ */

struct stream {
    uint64_t state;
};
/* Each host has a stream of its own, so that what is changed on one of them leaves the others
 * alone. */
struct streams {
    struct stream turns, faults, network;
};
extern struct streams streams;
extern int64_t now_ns; /* since the world began */

void world_begin(uint64_t seed);
uint64_t draw64(struct stream *s);
uint64_t below(struct stream *s, uint64_t n);
bool chance(struct stream *s, unsigned permille);
int64_t up_to(struct stream *s, int64_t ns);

extern int64_t due_ns; /* when what happens now was due */
/* Calls f at that time. */
void at_time(int64_t when, void (*f)(void *), void *arg);
/* The same for the thread of that number, if it still waits with this timer. */
struct thread;
uint64_t at_time_wake(int64_t when, struct thread *t, unsigned number);
/* Runs what is due; false if nothing is. */
bool world_due(void);
/* When the next is due; FOREVER if nothing ever is. */
int64_t world_next(void);

extern bool tracing;
/* One line of the trace. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A check fails: says what, and ends the run. */
void blame(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern char blamed_first[400]; /* what it said, the first time */
/* The simulator itself cannot go on. */
_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern unsigned blamed;
/* The same where the world breaks an assumption: the run goes on. */
void excuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Zeroed. */
void *memory(size_t n);
/* A number that two runs of one seed have in common, and two others do not. */
void digest(uint64_t value);
uint64_t digested(void);

/* ---- hosts -------------------------------------------------------------------- */

struct node;
struct file;
struct host {
    struct stream stream;
    int64_t offset_ns, drift_ppm, slept_ns; /* its clock */
    int64_t cut_till, disk_hangs_till, disk_full_till, disk_bad_till;
    int64_t refused_till, answers_late_till; /* by its server */
    int64_t files_gone_till;                 /* no more can be opened there */
    bool names_follow;                       /* fsync of a file makes its name durable, too */
    struct node *root;
    unsigned build;              /* of the library, that a process which starts there has */
    unsigned boots, dev, number; /* at the end of its name */
    unsigned server;             /* the one that its packets reach, see wire.c */
    unsigned name_leads_to;      /* the server under the name of the first one */
    int64_t name_lost_till;
    unsigned first_connection; /* those before it lead to another server */
};
extern struct host host[HOSTS];
extern unsigned hosts;
int64_t wall_ns(const struct host *h);

/* ---- process.c, turns.c: processes and threads ------------------------------- */

enum map_kind { MAP_NOTHING, MAP_PRIVATELY, MAP_SHARING };
struct mapping {
    char *at;
    size_t len; /* 0: the place is free */
    int prot;
    enum map_kind kind;
    struct file *file;
    int64_t extent;
    bool wipe;   /* a forked child finds it zeroed */
    char *saved; /* its bytes while a relative is there */
};

/* Addresses of one family. */
struct space {
    char *at;
    bool used;
    struct process *resident; /* whose bytes lie there now */
    unsigned members;
};

struct process {
    bool used, exits;
    bool keeps;           /* has opened with share 1 */
    bool guest;           /* has opened with share 2, or will */
    unsigned asks, calls; /* in this minute */
    int64_t minute_till, calls_till;
    unsigned handles;      /* that it has closed */
    unsigned files_before; /* it opened */
    size_t heap_used;
    bool has_lost;            /* its window was over when a server told it that its pid is lost */
    int64_t full_at[SERVERS]; /* when each had no pid that is free; 0: never */
    bool pageless;            /* the run directory was lost since it opened a generator */
    unsigned build;
    unsigned born;  /* a number that none had before */
    unsigned opens; /* it has begun */
    int pid, host, parent;
    int64_t stopped_till, told_at; /* told to end; 0: it was not */
    int64_t holds, opened_at;      /* its pid; 0: it has none now */
    int64_t may_sleep_at;          /* the last call before this one that might sleep */
    bool ends_asking;              /* the same, when it asks a server */
    /* until it is stopped or killed in one (steps.c); 0: it is not */
    unsigned calls_left;
    struct event *ends_by; /* what made it so: all that is drawn then belongs to that event */
    struct {
        int64_t pid;
        enum { PID_NONE, PID_WANTED, PID_HELD } is;
    } fixed; /* by the caller; a child has it, too */
    struct space *space;
    char *image, *heap_copy;
    size_t heap_top;
    void *free_block[SIZES];
    struct file *file[DESCRIPTORS];
    bool cloexec[DESCRIPTORS];
    struct mapping map[MAPPINGS];
    void (*key_end[KEYS])(void *);
    unsigned keys;
    struct {
        void (*before)(void), (*parent)(void), (*child)(void);
    } handler[HANDLERS];
    unsigned handlers;
};

struct thread {
    bool used, ended;
    bool busy; /* inside a call that holds a pointer of the simulator */
    unsigned number;
    struct process *process;
    void *sp;
    char *stack, *stack_copy;
    void *(*main)(void *);
    void *arg;
    uint64_t key, timer; /* what it waits for */
    bool woken;          /* by somebody, not by the time */
    int64_t wake;
    int ready_at; /* its place among the ready ones, or -1 */
    void *value[KEYS];
    char own[OWN_BYTES];
    char *robust; /* what set_robust_list(2) was told, in the library's thread-local data */
    struct file *held;
    char *name; /* what it is called, in the library's memory */
};

extern struct thread *me; /* whose turn it is; NULL in the simulator's own turns */
extern struct process process[PROCESSES];
extern struct thread thread[THREADS];
extern unsigned threads;
static inline struct host *here(void) { return &host[me->process->host]; }
static inline struct stream *chances(void) { return me ? &here()->stream : &streams.turns; }

/* What a thread waits for. Two things have two keys. */
enum key_kind {
    KEY_JOIN = 1,
    KEY_MUTEX,
    KEY_OWN_WORD,
    KEY_SHARED_WORD,
    KEY_CONDITION,
    KEY_SOCKET,
    KEY_END
};
static inline uint64_t key_of(uint64_t place, enum key_kind kind) { return place << 3 | kind; }
static inline enum key_kind key_kind(uint64_t key) { return (enum key_kind)(key & 7); }
static inline bool is_futex(uint64_t key) {
    return key_kind(key) == KEY_OWN_WORD || key_kind(key) == KEY_SHARED_WORD;
}

void wait_on(uint64_t key, int64_t till);
/* How many it woke. */
int wake_on(uint64_t key, int n);
void nap(int64_t ns);
/* Another one may have the turn first. */
void give_turn(void);
/* A call takes this long, and may be the thread's last one for a while. */
void point(int64_t ns);
struct thread *thread_start(struct process *p, void *(*f)(void *), void *arg);
/* Its first turn comes later. */
void thread_delay(struct thread *t, int64_t at);
struct thread *thread_new(struct process *p, char *stack);
struct thread *thread_by_number(unsigned number);
void thread_free(struct thread *t);
void make_ready(struct thread *t);
void turns_run(int64_t end_ns);
/* One more thread has this stack. */
void stack_shared(const char *stack);
/* The bytes of its stack that are in use. */
static inline size_t stack_used(const struct thread *t) {
    return (size_t)(t->stack + STACK - (char *)t->sp);
}
/* words.c: it may have a word that shows whether it lives. */
void word_of_dead(struct thread *t);
extern uint64_t turns_taken, calls_made;

extern unsigned builds;
void library_load(const char *path);
void *library_symbol(unsigned which, const char *name);
void own_in(const struct thread *t);
void own_out(struct thread *t);
/* Where the thread's own copy of these data is, while another one has the turn; NULL if they are
 * none. */
char *own_copy(struct thread *t, const char *at);
struct process *process_start(int host, void *(*f)(void *), void *arg, int64_t at);
/* As a signal TERM: a thread of the process that rests wakes up. */
void process_tell(struct process *p);
/* Not by a thread of its own: that sets `exits`. */
void process_kill(struct process *p);
/* Its threads go on then. */
void process_stop(struct process *p, int64_t till);
void process_enter(struct process *p);
/* What has the same image, heap, files and mappings as p; its threads are another matter. */
struct process *process_twin(struct process *p);
int process_fork(void);
/* Behind a turn: a fork wants the stack as it is by then. */
void fork_finish(struct thread *t);
void *heap_get(size_t n, size_t align);
void heap_put(void *at);
size_t heap_size(void *at);

/* twin.c: the host `to` becomes a copy of the other one. False while it cannot: ask again. */
bool machine_copy(int from, int to);

#include "files.h"
#include "servers.h"

/* ---- the fleet ------------------------------------------------------------------- */

struct settings {
    uint64_t seed;
    double hours;
    unsigned hosts, per_host, pids, silent, bounds;
    const char *world, *kinds, *library, *second, *redis, *planted, *kernel, *record, *shrink;
    int64_t gap_ns, life_ns;
    size_t moved; /* bytes */
    /* of what threads and the network draw, so that they draw otherwise in the same world */
    uint64_t salt;
};
extern struct settings settings;
/* A word of the command. */
void setting_take(const char *word);
/* Those that a list needs. */
void settings_print(FILE *to);
bool has_kind(const char *name);
/* The bits of a sequence. */
unsigned kind_seq_bits(void);
/* Pids are leased from servers. */
bool kind_has_servers(void);
void fleet_begin(void);
/* One more process of that host, from that time on. */
void fleet_start(int where, int64_t at);
extern uint64_t opens, opens_of_second, opens_failed, closes, forks, kills;

/* outages.c: the world of that name, which is a table: how long holders go on whose server is
 * away. */
bool world_is_table(void);
void outages_table(void);

/* kernel.c: tests/proc/kernel.c runs here; its status. */
int kernel_compare(void);

/* faults.c: what befalls the fleet, by the name of its world. */
void faults_begin(void);
/* The one of that name happens. */
void fault_happens(const char *name);
/* Its servers are its own, and no kind may have others. */
bool world_has_servers(void);
/* The assumption of doc/safety.md that the world breaks, so that an ID may come twice; or NULL. */
extern const char *world_breaks;
extern bool world_notices;      /* it is noticed, so that IDs repeat only until then */
extern const char *world_store; /* its URL, where it is no single server; or NULL */

/* host_faults.c: for whom a fault is, and the end of all processes of a host. */
struct host *any_host(void);
struct process *any_process(const struct host *h);
void kill_all(const struct host *h);
void cause_killed(const struct process *p); /* a kill, or the loss of a page, too */

/* causes.c: what may cost an ID or a lease, and for how long: rows of doc/safety.md. */
enum cause {
    CAUSE_KILL,
    CAUSE_END,
    CAUSE_POWER,
    CAUSE_RUN_GONE,
    CAUSE_DISK,
    CAUSE_STOPPED,
    CAUSE_LATE_KEEPERS,
    CAUSE_COPY,
    CAUSE_CLOCK,
    CAUSE_AWAY,
    CAUSE_NEW,
    CAUSE_NUMBERS_MOVED,
    CAUSE_FOREIGN,
    CAUSE_FORGOT,
    CAUSE_FAILS_OVER,
    CAUSE_SLOT_MOVES,
    CAUSES
};
enum { EVERYWHERE = -1 };
/* The settings that bounds are made of, in ns: window, short window, skew budget, heartbeat,
 * deadline of an exchange, IDs ahead of the clock. */
struct terms {
    int64_t window, brief, skew, heartbeat, deadline, ahead;
};
extern struct terms terms;
/* Something begins on a host, and lasts until then. */
void cause_begins(enum cause c, int where, int64_t till);
/* What one host suffers, its copy does. */
void causes_copied(int from, int to);
/* Is there a cause by which a holder there has no ID now, a newcomer gets no pid, a lease is
 * lost? */
bool holder_is_excused(int where);
bool newcomer_is_excused(int where);
/* Did servers forget while the open still asked, or within one exchange and its repetition? A
 * slot's lease may be nearly over. */
bool forgot_soon_after(int64_t opened_at);
/* Registrations may have been lost. */
bool servers_forgot(void);
/* Renamed: it was shown under another identity than the one that it was granted to. */
bool loss_is_excused(int where, bool renamed);
/* The network spoils an exchange of that host, or a part of one, and holds its thread until
 * then. */
void cause_spoilt_try(int where, int64_t till);
void cause_short_cut(int where, int64_t till); /* the same, but nothing befell the host */
/* Nothing has befallen the host for as long as a window lasts. */
bool host_is_at_peace(int where);
void causes_report(void);

/* checks.c */
struct seen {
    uint64_t high, low; /* the last ID */
    int64_t got_at, opened_at;
    uint64_t pid;        /* of the last ID */
    bool is_newcomer;    /* the servers forgot before they answered its first question */
    int64_t waits_since; /* for the next tick; 0: it does not */
};
void checks_begin(void);
void check_id(struct seen *s, int64_t id);
struct sfid_wide;
struct sfid_wide_parts;
void check_wide(struct seen *s, const struct sfid_wide *id, const struct sfid_wide_parts *p);
/* An ID of a lane is in the tick of another one, or a later one. */
void check_tick(int64_t id, int64_t least);
void check_refusal(struct seen *s, int code, const char *why);
/* A process has been given a pid that the caller fixed. */
void check_fixed(void);
/* Does another process of the host have the pid that this one has or wants, or want it, too? */
bool fixed_is_taken(bool held);
/* Does nobody keep the page of this guest? Can it find no page that is kept? */
bool guest_is_alone(void);
bool guest_finds_none(void);
/* This process has opened with share 1. */
void guests_are_kept(void);
/* It has opened with share 2. `first`: before that no other one had a page. */
void check_guest(bool first);
bool nobody_shares(void);
/* `began`: since when it has wanted a pid. */
void check_open_failed(int64_t began, int code, const char *why);
/* An old copy of the app is put back; each answer's era tells whether the server has noticed what
 * it was shown. */
void check_old_copy(unsigned which);
void check_era(unsigned which, const char *era, const char *shown);
/* What a server said: the ticks from lo up to but not including limit of the pid are granted, to a
 * base (lease.lua). */
void check_grant(unsigned which, int where, uint64_t pid, uint64_t lo, uint64_t limit,
                 const char *base, bool fresh);
/* Its holder has said where it stopped. */
void check_released(uint64_t pid, uint64_t tick);
/* A program without a record has taken a pid, and draws from it. Did one of ours hold it? */
bool check_taken(uint64_t pid);
/* IDs of the pid may repeat below that tick. */
void check_disputed(uint64_t pid, uint64_t till);
void check_foreign(uint64_t pid, uint64_t tick, uint64_t seq);
enum { TICK_SHIFT = 28 }; /* of the default layout */
void check_lost(unsigned which, int where, uint64_t pid, const char *base);
/* The process whose turn it is asks a server something, or for a connection. */
void check_asks(void);
/* remains.c: the process whose turn it is makes a call; is about to open; has closed what it opened
 * then. */
void check_calls(void);
void remains_before(void);
void check_remains(void);
/* A generator was closed, in this time. */
void check_closed(int64_t began);
/* A machine has been copied. Both go on in the tick in which they were; doc/safety.md has that
 * exception. If it shows nothing, both go on until one of them renews. */
void check_copied(bool hidden);
struct counts {
    uint64_t ids, duplicates, out_of_order, outside, lost, refused, late, late_ends;
};
extern struct counts counts;

#endif
