/* SPDX-License-Identifier: MIT */
/* servers.h - what the network and the servers that it leads to are to the rest of the simulator;
 * part of sim.h. */
#ifndef SIM_SERVERS_H
#define SIM_SERVERS_H

#include "bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- wire.c, server.c: the network and what it leads to ------------------------- */

struct socket;
void socket_free(struct socket *s);
struct socket *socket_ended(void);
int descriptor_of_socket(struct socket *s);
struct socket *socket_of(int fd);
unsigned connections_made(void);
enum faulty { WIRE_GOOD, WIRE_SHORT, WIRE_LONG, WIRE_STUCK };
extern enum faulty wire_faulty;
/* what an operator has stated holds until then: each server is reached, and forgets nothing */
extern int64_t wire_good_till;
bool wire_is_stated(void);

enum { REFUSALS_PASS = 9, REFUSAL_RIGHTS = REFUSALS_PASS, REFUSALS = 13 }; /* refusals.c */
struct server {
    int64_t offset_ns, down_till, refuses_till, silent_till;
    unsigned refusal;          /* what it says meanwhile */
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
    SERVER_EVICTS,
    SERVER_FAILS_OVER,
    SERVER_GETS_SAVE,
    /* under the feet of those who use it */ SERVER_GETS_HASH
};
void server_change(unsigned which, enum change what);
/* As `sfid init` there. False if nobody has asked yet, so that the app's settings are not known. */
bool server_init(unsigned which);
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
    int host;           /* that it came from */
    uint64_t generator; /* a number of it, by the process and the open */
    int argc;
    char **argv;
    size_t *len;
    bool listened;   /* its client is still there */
    unsigned *asked; /* the script that the connection asked for by name last */
    bool *known;     /* its user has said who he is */
};
/* A program without a record registers a pid for that long; false if it is registered, and only a
 * free one is wanted. */
bool server_registers(unsigned which, uint64_t pid, int64_t ms, bool free);
/* crate.c: the server tells a host that a pid of its is a stranger's, or grants it again. The
 * process whose turn it is has an ID of it. */
void crates_begin_again(void);
/* All of these programs are on that host. */
void crates_go_to(int where);
void stranger_has(int where, uint64_t pid, bool has);
void check_stranger(uint64_t pid);
/* checks.c: the last grant of it was to that base. A question that comes late is of a lease before
 * that. */
bool check_is_granted(uint64_t pid, const char *base);
/* causes.c: an exchange of the host was spoilt while a generator that opened then renewed for the
 * first time. */
bool spoilt_soon_after(int where, int64_t opened_at);
/* causes.c: an answer of it has a new era. */
void server_is_asked(unsigned which);
/* A server took over whose clock is so far ahead that short windows did not prove their right. */
bool short_window_is_outrun(void);
size_t server_answer(const struct command *c, char *out, size_t room);

/* several.c: what befalls servers of which there are several. */
void replica_begins(void), reach_replica(void);
void masters_begin(void), superseded_begins(void), replaced_begins(void), split(void);

/* restarts.c: what befalls the one server of an app, or one of several: the one that is struck.
 * kinds.c: faults of a kind. */
extern unsigned struck;
void restart_with_data(void), restart_soon(void), restart_late(void), restart_without(void),
    fail_over(void);
void save(void), put_back(void), flush(void), deny(void);
void exchange_numbers(void), one_is_away(void);

/* remains.c: a server has granted a pid below that tick to a host, or has it back from there on; a
 * host has got one more. */
void pid_is_held(int where, uint64_t pid, uint64_t till);
/* It was left without a page: if it was not released, nobody finds it. */
void pid_is_left(int64_t pid);
/* A server has told a generator that its pid is lost, behind its window; or another thing. */
void generator_has_lost(uint64_t generator, bool lost);
/* A server has no free pid for a generator that claims one. */
void generator_waits(uint64_t generator, unsigned which);
bool all_servers_are_full(void); /* of a pool, by what they have told this process lately */
/* It was granted in place of a short one that was held under that base. */
void pid_follows(uint64_t pid, const char *base);
/* It has granted one to a generator, under that base. */
void check_two(uint64_t generator, uint64_t pid, const char *base, bool renewed);
/* The same by a program without a record, for that long. */
void pid_is_registered(uint64_t pid, int64_t ms);
bool all_pids_are_held(void), all_pids_were_held(int64_t ago);
void check_hoard(int where, bool closed); /* closed: by this process, which has no pid any more */

/* directed.c; operator.c: all processes are ended, and that is said; a host gets the other build of
 * the library. */
void upgrades_begin(void), upgrade_host(void);
void behind_and_empty(void), half_away(void), start_over(void);
void evict_registrations(void), jump(void), step_server(void);

/* silent.c: servers that fall silent beside the first one. */
void silent_begins(void), fall_silent(void), silent_report(void);
/* Opens generators of theirs, for the process whose turn it is. */
void beside_open(void);
bool is_silent_one(unsigned which);
/* The first server has granted or renewed the pid, or it was released. */
void check_renewed(uint64_t pid, bool held);

/* outages.c: does a segment of a host wait until its outage is over; how late an answer comes. */
bool outage_holds(int host, const char *bytes, size_t n);
int64_t outage_delays(int host);

/* refusals.c: errors in place of answers, and passwords: what a server says to a command that it
 * refuses; 0 if it serves. */
void server_refuses(unsigned which, unsigned why, int64_t till);
size_t server_refuses_to(const struct command *c, char *out, size_t room);
void refuse(void), change_password(void), passwords_begin(void);

/* failover.c: a master that sentinels name, or to which a name leads. What a sentinel says; 0 if
 * the server is none. */
void sentinels_begin(void), names_begin(void), master_fails(void);
void sentinel_is_away(void), sentinel_is_wrong(void), name_is_lost(void);
size_t sentinel_answers(const struct command *c, char *out, size_t room);

/* cluster.c: nodes of a cluster. */
void cluster_begins(void), cluster_raises_epoch(void), cluster_moves(void),
    cluster_fails_over(void), cluster_owner_restarts(void);
/* What a node says that does not own the app's slot: its length; 0 if it serves. */
size_t cluster_refuses(unsigned node, char *out, size_t room);
unsigned cluster_slot(void);
/* CLUSTER NODES. */
void cluster_nodes(unsigned node, char *out, size_t room);

#endif
