/* SPDX-License-Identifier: MIT */
/*
 * store.h - the port to whatever says which pid may issue which ticks.
 *
 * It answers what the lease machine asks (machine.h). It is called by one thread
 * at a time: who opens the handle, its keeper, who closes it. After fork() a
 * child has a copy, and the same calls work in it once its own keeper runs;
 * nothing here may depend on a lock or a descriptor of the parent's.
 */
#ifndef SFID_LEASE_STORE_H
#define SFID_LEASE_STORE_H

#include "base/error.h"
#include "lease/machine.h"

#include <sfid.h>

struct sfid__reply;
struct sfid__settings;
struct sfid__slot;

/* Called for an event. */
typedef void sfid__teller(void *listener, sfid_event_kind kind, int code, int64_t value, const char *text);

struct sfid__ask {
    const struct sfid__lease_action *lease; /* what the machine wants: which members are set, machine.h says */
    uint64_t now;                           /* clock tick */
    int64_t deadline_ms;                    /* monotonic: an answer later than this is none. 0: whenever it comes */
    int64_t give_up_ms;                     /* monotonic: claims are not made again from then on; SFID__FOREVER: they are */
    const _Atomic int *stop;                /* not 0: the answer had better come soon; may be NULL */
    uint64_t page;                          /* nonce of the page in use, once there is one */
    uint64_t position;                      /* word of its record, once there is one: it may lie past the limit */
    bool page_lost;                         /* claim: that page is not at its path any more */

    /*
     * Claim: has the caller look at a pid before it is taken for good, since a
     * store of this host goes by the pid's page. 0 to take it; SFID_EBUSY to
     * pass it over; SFID_EAGAIN to take it only if there is nothing better
     * (asked when picky); another code ends the claim with that. NULL: take it.
     */
    int (*accept)(void *accepter, const struct sfid__reply *reply, bool picky, struct sfid__error *err);
    void *accepter;
    struct sfid__passed_over *passed_over; /* claim: pids whose files cannot be used */

    /* For events of the store's own; NULL: nobody listens. */
    sfid__teller *tell;
    void *listener;
};

struct sfid__reply {
    uint64_t pid;
    uint64_t position;     /* word: every number of this pid below it may have been issued */
    bool exact;            /* the position is where the pid was given back, not a bound ahead of it */
    bool guessed;          /* the position is a bound that is written nowhere */
    uint64_t page;         /* nonce of the page the pid was last used with: any other is out of date. 0: none known */
    uint64_t floor, limit; /* ticks of the window granted; equal: none so far */
    uint64_t start;        /* SFID__LATER: where to look next */
    int64_t after_ms;      /* SFID__LATER: and when */
};

struct sfid__store;

struct sfid__store_ops {
    /* As SFID__DO_CLAIM asks. SFID__GRANTED or SFID__LATER with *reply set, or why not with *err. */
    enum sfid__lease_answer (*claim)(struct sfid__store *store, const struct sfid__ask *ask, struct sfid__reply *reply,
                                     struct sfid__error *err);

    /* As SFID__DO_RENEW asks. SFID__GRANTED with reply->limit, never below the one asked with; or why not with *err. */
    enum sfid__lease_answer (*renew)(struct sfid__store *store, const struct sfid__ask *ask, struct sfid__reply *reply,
                                     struct sfid__error *err);

    /*
     * Gives up this process's share of the pid, before anything is released.
     * True when no other process (a forked child) shares it: then release() has
     * to follow. Where the slot came first its lock tells: sfid__slot_is_last().
     */
    bool (*is_last)(struct sfid__store *store, struct sfid__slot *slot);

    /* As SFID__DO_RELEASE asks: every number below the word position may have been issued, none from there on. */
    void (*release)(struct sfid__store *store, const struct sfid__ask *ask, uint64_t position);

    /* Frees the store, whatever state it is in. */
    void (*drop)(struct sfid__store *store);
};

struct sfid__store {
    const struct sfid__store_ops *ops;
    struct sfid__lease_terms terms;
    uint64_t start;                  /* pid to look at first */
    int64_t exchange_ms;             /* how long an answer may take */
    const char *server;              /* where it is asked, for people; NULL: on this host */
    int64_t answer_ms;               /* how long the answer took that made it connected */
    _Atomic int connected;           /* the server answered the last time. For sfid_status(), */
    _Atomic int64_t skew_ms;         /* as is how far this host's clock was ahead of the server's then, */
    _Atomic int64_t replicas;        /* and how many replicas had the last claim; -1: not known */
    struct sfid__error unreplicated; /* the code and the words of too few; no words: they were enough, or not asked for */
};

/*
 * The stores there are. A new one is a file that defines its kind, and an entry
 * here. No other file names a store, but for options.c (a fixed pid is held by
 * the local one) and the calls that look after what lies in Redis (src/admin).
 */
#define SFID__STORES(STORE) \
    STORE(sfid__store_local) \
    STORE(sfid__store_redis)

struct sfid__store_kind {
    const char *title; /* what says pid_min and pid_max, in errors */
    int64_t pid_most;  /* the highest pid that it has a name for */
    bool slot_first;   /* a process takes a slot by its number, and with it comes by a pid; else each pid has a slot of its own */

    /* Whether the option `store` means this one. */
    bool (*is_meant)(const char *text);

    /* Reads that option. 0 or SFID_EINVAL, SFID_EUNSUPPORTED. */
    int (*read)(const char *text, struct sfid__settings *out, struct sfid__error *err);

    /* Checks the other options, whose general rules hold by now, and fills in what follows from them. 0 or SFID_EINVAL. */
    int (*finish)(struct sfid__settings *out, struct sfid__error *err);

    /*
     * Makes the store of one process; nothing is asked yet. identity: where the
     * slot came first "machine:slot", which chooses where to look for a pid, and
     * tells others who has it. *out wants ops->drop. 0, SFID_ESTATE or SFID_ENOMEM.
     */
    int (*make)(struct sfid__store **out, const struct sfid__settings *settings, const char *identity, struct sfid__error *err);
};

#define SFID__STORE(kind) extern const struct sfid__store_kind kind;
SFID__STORES(SFID__STORE)
#undef SFID__STORE

#endif
