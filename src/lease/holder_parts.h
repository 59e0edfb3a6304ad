/* SPDX-License-Identifier: MIT */
/* holder_parts.h - what a holder has. holder.h says who may use it, and what it does with it. */
#ifndef SFID_LEASE_HOLDER_PARTS_H
#define SFID_LEASE_HOLDER_PARTS_H

#include "draw/slow.h"
#include "host/identity.h"
#include "host/slot.h"
#include "lease/settings.h"
#include "lease/store.h"

/* What is to be reported once somebody listens. */
struct sfid__noticed {
    /* pids or slots that the claim passed over: their files cannot be used */
    struct sfid__passed_over passed_over;
    /* how others can replace the run or the state directory; code 0: they cannot */
    struct sfid__error untrusted;
    /* why this host's identity lives in the run directory; code 0: it does not */
    struct sfid__error stateless;
};

struct sfid__holder {
    struct sfid__generator *generator;
    struct sfid__store *store;
    struct sfid__lease lease;
    /* the pid is the worker's, and the leased one stands for a part of its sequence */
    bool by_host;
    uint64_t worker; /* by_host: as in the settings */
    struct sfid__slot slot;
    struct sfid__error error; /* why the last failure happened */
    /* the clock's when the step began, or after its last question to the store */
    uint64_t tick;
    int64_t now_ms, wall_ms; /* the same moment: monotonic, and by the clock */
    uint64_t stopped;        /* the word, once closed */
    bool left;               /* closing: a successor may go on with the lease, up to left_till */
    uint64_t left_till;
    struct sfid__signs signs; /* of the machine, read before the token of the lease was made */
    uint64_t boot;            /* sign of the present boot, when the step began */
    /* another copy of this machine may have used the pid: it goes on above all that may be */
    bool shunned;
    uint64_t of_pages;                     /* as in the settings */
    uint64_t process;                      /* the process whose machine follows the page; 0: none */
    const _Atomic int *stop;               /* set when the keeper has to end soon */
    const struct sfid__settings *settings; /* while opening only */
    struct sfid__dir run;                  /* while opening only */
    int64_t deadline_ms;                   /* monotonic, while opening; later SFID__FOREVER */
    char identity[SFID__MACHINE_ID + 32];
    bool run_is_tmpfs, synced;
    /* shared: what the page says that had the pid's name before this one */
    struct sfid__slot_found beside;
    unsigned page_number; /* of those that all processes of the app share (share.h): which it is */
    /* shared: page->reign when this process's keeper sat down; 0: it never did */
    uint64_t reign;
    struct sfid__noticed *noticed; /* at the open. NULL: nothing that is to be reported */

    /* Called for each event to report; NULL: nobody listens. */
    sfid__teller *tell;
    void *listener;
};

static inline int64_t sfid__holder_monotonic_ms(const struct sfid__holder *h) {
    return sfid__monotonic_ms(h->generator->clock);
}

/* How long a door is waited for, where another pid or page may do as well. */
static inline int64_t sfid__holder_door_ms(const struct sfid__holder *h) {
    return SFID__MIN(h->deadline_ms, sfid__holder_monotonic_ms(h) + SFID__DOOR_MS);
}

/* NULL while the slot has no record. */
static inline struct sfid__record *sfid__holder_last_record(const struct sfid__holder *h) {
    return h->slot.page && h->slot.records ? &h->slot.page->records[h->slot.records - 1] : NULL;
}

/* Another process's keeper has the page: from now on this machine is out of date. */
static inline void sfid__holder_unfollow(struct sfid__holder *h) { h->process = 0; }

/* True if processes share the lease of a server: none of them holds a mark. */
static inline bool sfid__holder_shares_lease(const struct sfid__holder *h) {
    return h->generator->shared && h->store->terms.testifies;
}

/* True for a keeper that goes on late: another one has sat down since. Acquire, with the exchange
 * in keeper.c, sit_down(). */
static inline bool sfid__holder_is_late(const struct sfid__holder *h) {
    return h->reign != 0 &&
           atomic_load_explicit(&h->slot.page->reign, memory_order_acquire) != h->reign;
}

static inline void sfid__holder_tell(const struct sfid__holder *h, sfid_event_kind kind, int code,
                                     int64_t value, const char *text) {
    if (h->tell && !sfid__holder_is_late(h))
        h->tell(h->listener, kind, code, value, text);
}

#endif
