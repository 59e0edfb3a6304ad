/* SPDX-License-Identifier: MIT */
/*
 * handle.h - what an `sfid` is.
 *
 * It has two parts. Threads generate IDs through the front. Once a handle was
 * open, its front stays in memory for good, because a thread may always come
 * late. Close frees the cold part; code that uses it enters it by
 * sfid__cold_enter().
 */
#ifndef SFID_API_HANDLE_H
#define SFID_API_HANDLE_H

#include "base/process.h"
#include "draw/hot.h"
#include "draw/memory.h"
#include "lease/keeper.h"

struct sfid__cold {
    /* open's code, with its sentence in holder.error, which nobody writes any more; 0: the handle
     * was open */
    int failed;
    struct sfid__keeper keeper;
    struct sfid__holder holder;       /* with an app; else all zero but for the error */
    struct sfid__memory_page *memory; /* without an app; else NULL */
    uint64_t issued_before;           /* on this page before this open */
    struct sfid__settings *settings;  /* shared: to open the next page with; NULL: there are none */
    /* shared: they are this handle's; else of the one that came before it */
    bool owns;
    /* shared: the process (process.h) whose thread opens the next page, or has; 0: none */
    _Atomic uint64_t mover;
    /* shared: monotonic; not before this. The mover sets it, and any call reads it */
    _Atomic int64_t move_ms;
};

/* What a wide ID has beside its position (wide.c). Set before the caller gets the handle. */
struct sfid__wrap {
    struct sfid__wide_frame frame;
    uint64_t nonce; /* for the random bits: another one in each handle */
    bool by_host;   /* as in sfid__wide_plan */
    uint64_t worker;
};

struct sfid {
    struct sfid__generator generator; /* first: the inline form, and casts in hot.c */
    /* for wide IDs only: other handles have no room for it (open.c) */
    struct sfid__wrap wrap;
};

#define SFID__USERS_BITS 24
static_assert(SFID__PROCESS_BITS + SFID__USERS_BITS == 64, "process and count fill a word");

static_assert(offsetof(struct sfid, generator) == 0, "the generator comes first");

/* The handle that has the page which this process uses now: another one if it has moved on
 * (draw/crowd.h). */
static inline struct sfid *sfid__front_handle(const struct sfid *g) {
    return (struct sfid *)(void *)sfid__front(&g->generator);
}

/* The handle of the next page that this process uses after this one; NULL if there is none. */
static inline struct sfid *sfid__next_handle(const struct sfid *g) {
    const struct sfid__generator *at = &g->generator;
    /* Acquire, as in sfid__front(). */
    return at->shared
               ? (struct sfid *)(void *)atomic_load_explicit(&at->crowd.next, memory_order_acquire)
               : NULL;
}

/*
 * Enters the cold part until sfid__cold_leave(); NULL if the handle is closed, and then there is
 * nothing to leave. For cold paths only. A count that fork() copied from threads of the parent
 * belongs to another process, and is void.
 */
static inline void sfid__cold_leave(struct sfid *g) {
    /* Release, with the load of users in open.c wait_until_alone(): all that was done inside is
     * over before the cold part is freed. */
    atomic_fetch_sub_explicit(&g->generator.users, 1, memory_order_release);
}

static inline struct sfid__cold *sfid__cold_enter(struct sfid *g) {
    const uint64_t nobody = sfid__process() << SFID__USERS_BITS;
    uint64_t users = atomic_load_explicit(&g->generator.users, memory_order_relaxed), next;
    /*
     * Sequentially consistent, with the exchange of cold and the load of users in open.c: either
     * close sees this thread counted, or this thread finds NULL.
     */
    do
        next = (users >> SFID__USERS_BITS == nobody >> SFID__USERS_BITS ? users : nobody) + 1;
    while (!atomic_compare_exchange_weak_explicit(&g->generator.users, &users, next,
                                                  memory_order_seq_cst, memory_order_relaxed));
    struct sfid__cold *cold = atomic_load_explicit(&g->generator.cold, memory_order_seq_cst);
    if (cold == NULL)
        sfid__cold_leave(g);
    return cold;
}

#endif
