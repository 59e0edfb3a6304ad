/* SPDX-License-Identifier: MIT */
/*
 * store.h - the port to a store, which says what pid may issue which ticks.
 *
 * A question is an action of the lease machine (machine.h), to which the holder
 * adds what the store needs. The store writes its answer into the machine's next
 * event. Both are one call: an answer that nobody waits for any more ends in the
 * store.
 *
 * One thread at a time calls it: the one that opens the handle, then the keeper,
 * then the one that closes. After fork() a child has a copy, and the same calls
 * work there once its own keeper runs. So nothing here may depend on a lock or a
 * descriptor of the parent's.
 */
#ifndef SFID_LEASE_STORE_H
#define SFID_LEASE_STORE_H

#include "base/error.h"
#include "lease/machine.h"

#include <sfid.h>

struct sfid__dir;
struct sfid__settings;
struct sfid__slot;

/* Called for each event. */
typedef void sfid__teller(void *listener, sfid_event_kind kind, int code, int64_t value,
                          const char *text);

struct sfid__store;

struct sfid__store_ops {
    /* As SFID__DO_CLAIM asks. SFID__GRANTED or SFID__LATER with *grant set, or why not with
     * *err. */
    enum sfid__lease_answer (*claim)(struct sfid__store *store,
                                     const struct sfid__lease_action *ask,
                                     struct sfid__lease_event *grant, struct sfid__error *err);

    /* As SFID__DO_RENEW asks. SFID__GRANTED with grant->limit, never below the limit asked with, or
     * why not with *err. */
    enum sfid__lease_answer (*renew)(struct sfid__store *store,
                                     const struct sfid__lease_action *ask,
                                     struct sfid__lease_event *grant, struct sfid__error *err);

    /*
     * Gives up this process's share of the pid, before anything is released. True if no other
     * process (a forked child) shares it; then release() has to follow. NULL: the slot came first,
     * and its lock decides, which this process then has alone until the slot is left:
     * sfid__slot_is_last().
     */
    bool (*is_last)(struct sfid__store *store);

    /*
     * As SFID__DO_RELEASE asks: every position below ask->position may have been issued, none from
     * there on. SFID__LOST: the server does not know the lease, and wrote nothing; SFID__FAILED: it
     * wrote nothing, either; *err says why. SFID__GRANTED: anything else.
     */
    enum sfid__lease_answer (*release)(struct sfid__store *store,
                                       const struct sfid__lease_action *ask,
                                       struct sfid__error *err);

    /* Whether the server that leases the pid answers, whatever it says; *err says why not. NULL:
     * there is no server. */
    bool (*answers)(struct sfid__store *store, uint64_t pid, int64_t deadline_ms,
                    struct sfid__error *err);

    /*
     * For processes that share a pid; NULL: the page's lock is all they need. join: takes part in a
     * pid that others hold with that page. share: lets others take part, once the page has a
     * record. by_fd: a mapping does not keep the lock, so a descriptor does. until_ms: how long it
     * waits for one that joins or leaves. 0 or a code; SFID_ESTATE: nobody can join. sit: the
     * keeper of this process writes from now on.
     */
    int (*join)(struct sfid__store *store, uint64_t pid, uint64_t page_nonce, bool by_fd,
                int64_t until_ms, struct sfid__error *err);
    int (*share)(struct sfid__store *store, uint64_t page_nonce, bool *by_fd,
                 struct sfid__error *err);
    void (*sit)(struct sfid__store *store, unsigned seat);

    /* For a store that goes by slots: the name of this process, if its slot was not known before.
     * Before the first question. */
    void (*name)(struct sfid__store *store, const char *identity);

    /* Asks the server whether it answers. 0 or why not. NULL: there is no server. */
    int (*probe)(struct sfid__store *store, int64_t deadline_ms, struct sfid__error *err);

    /* Frees the store in any state. */
    void (*drop)(struct sfid__store *store);
};

/* What a server has shown before anybody listened. */
struct sfid__said {
    /* why too few replicas had it; no text: enough had it, or none was asked for */
    struct sfid__error unreplicated;
    struct sfid__error skew; /* that it is more than a second; no text: it is not */
    /* about the first pid met that a program without records has; no text: none */
    struct sfid__error stranger;
    uint64_t stranger_pid;
};

struct sfid__store {
    const struct sfid__store_ops *ops;
    struct sfid__lease_terms terms;
    uint64_t start; /* the pid to look at first */
    /* processes that share a pid have the same; a hash. 0: the terms are all */
    uint64_t settings;
    uint64_t prefer; /* local: the pid to try before all others; UINT64_MAX: none */
    /* local, at the open: the state directory, which the first search takes over; NULL: it opens
     * it */
    struct sfid__dir *state;
    int64_t exchange_ms; /* how long an answer may take */
    const char *server;  /* where the store is, for people; NULL: on this host */
    /* stores that wait for the same server or disk have the same; a hash. 0: it waits for none */
    uint64_t group;
    int64_t answer_ms;        /* how long the first answer of this connection took */
    _Atomic int connected;    /* For sfid_status(): the last question was answered */
    _Atomic int64_t skew_ms;  /* how far this host's clock was ahead of the server's then */
    _Atomic int64_t replicas; /* how many replicas had the last claim; -1: not known */
    struct sfid__said *said;  /* part of a store that has a server; NULL: nothing */

    /* For the store's own events; NULL: nobody listens. */
    sfid__teller *tell;
    void *listener;

    /*
     * A claim: the caller looks at a pid before the store takes it for good, because a store of
     * this host goes by the pid's page. 0 to take it; SFID_EBUSY to pass it over; SFID_EAGAIN to
     * take it only if there is nothing better (while picky); another code ends the claim with that
     * code. NULL: take it.
     */
    int (*accept)(void *accepter, const struct sfid__lease_event *grant, bool picky,
                  struct sfid__error *err);
    void *accepter;
    /* the pids whose files cannot be used; NULL: nobody asks for them */
    struct sfid__passed_over *passed_over;
    const struct sfid__slot *slot; /* the caller's; NULL: it has none */
};

/*
 * All stores. A new store is a file that defines its kind, and an entry here. Only these name a
 * store elsewhere: options.c (the local store holds a fixed pid), stores that are made of others
 * (ordinal: local; pool: redis), the calls that look after what stores have (src/admin), and what
 * people and programs read (CONTRIBUTING.md).
 */
#define SFID__STORES(STORE) \
    STORE(sfid__store_local) \
    STORE(sfid__store_ordinal) \
    STORE(sfid__store_pool) \
    STORE(sfid__store_redis)

struct sfid__store_kind {
    const char *title; /* what gives pid_min and pid_max, in errors */
    int64_t pid_most;  /* the highest pid that the store can name */
    /* a process takes a slot by its number first, and gets a pid for it; otherwise each pid has its
     * own slot */
    bool slot_first;

    /* The option `store` means this kind if it begins with this word. Behind one without a colon a
     * '?' may follow. NULL: any URL. */
    const char *word;

    /* Reads that option. 0 or SFID_EINVAL, SFID_EUNSUPPORTED. */
    int (*read)(const char *text, struct sfid__settings *out, struct sfid__error *err);

    /* Checks the other options, after the general rules, and fills in what follows from them. 0 or
     * a code. NULL: nothing. */
    int (*finish)(struct sfid__settings *out, struct sfid__error *err);

    /*
     * Makes the store of one process; asks nothing yet. If the slot came first, identity is
     * "machine:slot": it chooses the pid to look at first and tells others who holds one. *out
     * needs ops->drop. 0, SFID_ESTATE or SFID_ENOMEM.
     */
    int (*make)(struct sfid__store **out, const struct sfid__settings *settings,
                const char *identity, struct sfid__error *err);
};

#define SFID__STORE(kind) extern const struct sfid__store_kind kind;
SFID__STORES(SFID__STORE)
#undef SFID__STORE

#endif
