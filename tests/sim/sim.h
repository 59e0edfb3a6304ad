/* SPDX-License-Identifier: MIT */
/*
 * sim.h - what the parts of the simulator know of one another.
 *
 * The simulator runs the whole library, as it is built, on hosts, disks and a network of its own. Each symbol NAME that the
 * library imports is sim_NAME here, unless the list `harmless` has it (tests/sim/join). All threads of all processes of all
 * hosts are turns of one thread. What is random comes from a seed. So one seed is one run.
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

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define FOREVER INT64_MAX

enum {
    HOSTS = 16,
    PROCESSES = 256,
    THREADS = 1024,
    STACK = 192 * 1024,
    DESCRIPTORS = 96,
    MAPPINGS = 64,
    KEYS = 8,       /* of thread-specific data */
    HANDLERS = 4,   /* of fork */
    OWN_BYTES = 64, /* thread-local data of the library */
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
/* Each host has a stream of its own, so that what is changed on one of them leaves the others alone. */
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
    bool names_follow; /* fsync of a file makes its name durable, too */
    struct node *root;
    unsigned boots, dev;
    unsigned server;           /* the one that its packets reach, see wire.c */
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
    unsigned born; /* a number that none had before */
    int pid, host, parent;
    int64_t stopped_till, told_at; /* told to end; 0: it was not */
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
enum key_kind { KEY_JOIN = 1, KEY_MUTEX, KEY_OWN_WORD, KEY_SHARED_WORD, KEY_CONDITION, KEY_SOCKET, KEY_END };
static inline uint64_t key_of(uint64_t place, enum key_kind kind) { return place << 3 | kind; }
static inline enum key_kind key_kind(uint64_t key) { return (enum key_kind)(key & 7); }

void wait_on(uint64_t key, int64_t till);
void wake_on(uint64_t key, int n);
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
static inline size_t stack_used(const struct thread *t) { return (size_t)(t->stack + STACK - (char *)t->sp); }
/* words.c: it may have a word that shows whether it lives. */
void word_of_dead(struct thread *t);
extern uint64_t turns_taken, calls_made;

void library_load(const char *path);
void *library_symbol(const char *name);
void own_in(const struct thread *t);
void own_out(struct thread *t);
/* Where the thread's own copy of these data is, while another one has the turn; NULL if they are none. */
char *own_copy(struct thread *t, const char *at);
struct process *process_start(int host, void *(*f)(void *), void *arg, int64_t at);
/* As TERM: whoever rests in it hears of it. */
void process_tell(struct process *p);
/* Not by a thread of its own: that sets `exits`. */
void process_kill(struct process *p);
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

/* ---- files.c, disk.c, calls.c, names.c: what a host stores --------------------- */

struct entry {
    char name[96];
    struct node *node;
};
struct names {
    struct entry *entry;
    unsigned n;
};
enum { SHARERS = 16, RANGES = 32 };
struct node {
    mode_t mode;
    uint64_t inode;
    unsigned links, refs, dev;
    bool tmp;
    int64_t extent, size, born_ns;
    struct node *dir; /* where its name was made last */
    struct names names, durable_names;
    char *durable;
    int64_t durable_size;
    struct file *exclusive, *sharer[SHARERS];
    unsigned sharers;
    struct {
        struct file *file;
        int64_t at;
    } range[RANGES];
};
/* An open file description. */
struct file {
    unsigned refs;
    struct node *node;
    struct socket *socket;
    int64_t at;
    int flags, pid;
};

#define EXTENT ((int64_t)1 << 21)
extern int store_fd;
int64_t extent_take(void);
void extent_drop(int64_t extent);
char *extent_bytes(int64_t extent);
char *node_bytes(struct node *n);
struct node *node_new(struct host *h, mode_t mode, bool tmp);
void node_put(struct node *n);
struct entry *entry_find(const struct names *names, const char *name, size_t len);
void entry_add(struct node *dir, const char *name, size_t len, struct node *n);
void entry_drop(struct node *dir, struct entry *e);
/* Where a path leads to, from a directory or the root. The last name and its directory are there, too, if that one exists. */
struct place {
    struct node *dir, *node;
    const char *name;
    size_t len;
};
bool path_find(struct node *from, const char *path, struct place *at);

void host_boot(struct host *h, bool power_lost);
void host_lose_run(struct host *h);
void node_sync(struct node *n);
/* disk.c: what is in a directory, by what has been synced. */
void tree_lose_unsynced(struct host *h, struct node *dir);
struct node *state_of(const struct host *h);
/* What statx(2) says about when a file was made. */
struct statx;
int file_born(int fd, struct statx *told);
void host_write_back(struct host *h);
/* A call of the disk takes up to ns, or for as long as it hangs. */
void disk_takes(const struct node *n, int64_t ns);
bool disk_is_bad(const struct node *n);
bool disk_is_full(const struct node *n);

struct file *file_new(struct node *n, int flags);
void file_put(struct file *f);
/* The one behind a descriptor, kept until file_done(); NULL and EBADF if there is none. */
struct file *file_use(int fd);
void file_done(void);
int descriptor_new(struct file *f, int from, bool cloexec);

/* maps.c */
void maps_end(struct process *p);
void maps_fork(struct process *child);
void maps_change(struct process *leaves, struct process *comes);
/* A key for the word at that address: the same in all processes that share it. */
uint64_t word_key(const void *at, enum key_kind kind);
/* The bytes of a shared mapping behind an address of p's, which may be away; or NULL. */
char *shared_bytes(const struct process *p, const char *at);
void node_synced_mapped(struct node *n);

/* ---- wire.c, server.c: the network and what it leads to ------------------------- */

struct socket;
void socket_free(struct socket *s);
struct socket *socket_ended(void);
int descriptor_of_socket(struct socket *s);
struct socket *socket_of(int fd);
unsigned connections_made(void);
enum faulty { WIRE_GOOD, WIRE_SHORT, WIRE_LONG, WIRE_STUCK };
extern enum faulty wire_faulty;

enum { SERVERS = 4 };
struct server {
    int64_t offset_ns, down_till;
    unsigned first_connection; /* those before it were made with one that is gone */
};
extern struct server server[SERVERS];
extern unsigned servers;
extern uint64_t exchanges;
void servers_begin(const char *script, const char *planted);
enum change {
    SERVER_SAVES,
    SERVER_RESTARTS,
    SERVER_LOADS_SAVE,
    SERVER_FORGETS,
    SERVER_FLUSHES,
    SERVER_FAILS_OVER,
    SERVER_GETS_SAVE,
    /* under the feet of those who use it */ SERVER_GETS_HASH
};
void server_change(unsigned which, enum change what);
/* Has the same data as that one, and gets what it writes, until it parts. */
void server_follows(unsigned which, unsigned of);
void server_parts(unsigned which);
void server_takes_over(unsigned which);
void server_is_node(unsigned which);
/* As MIGRATE: all keys go from there to here. */
void server_gets_keys(unsigned to, unsigned from);
/* As min-replicas-to-write: INFO says how many good ones it has. */
void server_counts_replicas(unsigned which, unsigned good);
/* Answers a command: writes to out, returns the length. */
struct command {
    unsigned server;
    int host; /* that it came from */
    int argc;
    char **argv;
    size_t *len;
    bool listened;   /* its client is still there */
    unsigned *asked; /* the script that the connection asked for by name last */
};
size_t server_answer(const struct command *c, char *out, size_t room);

/* ---- the fleet ------------------------------------------------------------------- */

struct settings {
    uint64_t seed;
    double hours;
    unsigned hosts, per_host, pids;
    const char *world, *kinds, *library, *redis, *planted;
    int64_t gap_ns, life_ns;
};
extern struct settings settings;
bool has_kind(const char *name);
void fleet_begin(void);
/* One more process of that host, from that time on. */
void fleet_start(int where, int64_t at);
extern uint64_t opens, opens_failed, closes, forks, kills;

/* faults.c: what befalls the fleet, by the name of its world. */
void faults_begin(void);
void kill_all(const struct host *h);
/* The assumption of doc/safety.md that the world breaks, so that an ID may come twice; or NULL. */
extern const char *world_breaks;
/* The store's URL, where it is no single server; or NULL. */
extern const char *world_store;

/* several.c: what befalls servers of which there are several. */
void replica_begins(void), reach_replica(void);
void masters_begin(void), superseded_begins(void), split(void);

/* cluster.c: nodes of a cluster. */
void cluster_begins(void), cluster_raises_epoch(void), cluster_moves(void), cluster_fails_over(void), cluster_owner_restarts(void);
/* What a node says that does not own the app's slot: its length; 0 if it serves. */
size_t cluster_refuses(unsigned node, char *out, size_t room);
unsigned cluster_slot(void);
/* CLUSTER NODES. */
void cluster_nodes(unsigned node, char *out, size_t room);

/* causes.c: what may cost an ID or a lease, and for how long: rows of doc/safety.md. */
enum cause {
    CAUSE_KILL,
    CAUSE_END,
    CAUSE_POWER,
    CAUSE_RUN_GONE,
    CAUSE_DISK,
    CAUSE_STOPPED,
    CAUSE_COPY,
    CAUSE_CLOCK,
    CAUSE_AWAY,
    CAUSE_NEW,
    CAUSE_FORGOT,
    CAUSE_FAILS_OVER,
    CAUSE_MOVED,
    CAUSES
};
enum { EVERYWHERE = -1 };
/* The settings that bounds are made of, in ns: window, short window, skew budget, heartbeat, deadline of an exchange. */
struct terms {
    int64_t window, brief, skew, heartbeat, deadline;
};
extern struct terms terms;
/* Something begins on a host, and lasts until then. */
void cause_begins(enum cause c, int where, int64_t till);
/* What one host suffers, its copy does. */
void causes_copied(int from, int to);
/* Is there a cause by which a holder there has no ID now, a newcomer gets no pid, a lease is lost? */
bool holder_is_excused(int where);
bool newcomer_is_excused(int where);
/* Did servers forget within one exchange and its repetition since then? A lease that goes on from a slot may be nearly over. */
bool forgot_soon_after(int64_t opened_at);
/* Renamed: it was shown under another identity than the one that it was granted to. */
bool loss_is_excused(int where, bool renamed);
/* The network spoils an exchange of that host, or a part of one, and holds its thread until then. */
void cause_spoilt_try(int where, int64_t till);
void causes_report(void);

/* checks.c */
struct seen {
    int64_t last, got_at, opened_at;
    bool is_newcomer;    /* the servers forgot before they answered its first question */
    int64_t waits_since; /* for the next tick; 0: it does not */
};
void checks_begin(void);
void check_id(struct seen *s, int64_t id);
void check_refusal(struct seen *s, int code, const char *why);
/* `began`: since when it has wanted a pid. */
void check_open_failed(int64_t began, int code, const char *why);
/* What a server said: the ticks from lo up to but not including limit of the pid are granted, to a base (lease.lua). */
void check_grant(unsigned which, uint64_t pid, uint64_t lo, uint64_t limit, const char *base, bool fresh);
void check_lost(unsigned which, int where, uint64_t pid, const char *base);
/* A generator was closed, in this time. */
void check_closed(int64_t began);
/* A machine has been copied. Both go on in the tick in which they were; doc/safety.md has that exception. */
void check_copied(void);
struct counts {
    uint64_t ids, duplicates, out_of_order, outside, lost, refused, late, late_ends;
};
extern struct counts counts;

#endif
