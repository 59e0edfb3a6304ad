/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "base/hash.h"
#include "base/random.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 65536 /* a page of any machine, and a multiple of it */
#define MASK ((UINT64_C(1) << SFID__PROCESS_BITS) - 1)

/* ---- memory that a child finds zeroed ------------------------------------- */

/*
 * Emulators and sandboxes that ignore advice say yes to all of it. The kernel
 * refuses to wipe memory that is shared, so a yes to that is worth nothing.
 */
static bool advice_is_taken(void) {
    void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const bool refused = shared != MAP_FAILED && madvise(shared, PAGE, MADV_WIPEONFORK) < 0;
    if (shared != MAP_FAILED)
        munmap(shared, PAGE);
    return refused;
}

bool sfid__process_wipes(void *at, size_t size) { return madvise(at, size, MADV_WIPEONFORK) == 0 && advice_is_taken(); }

/* ---- what a fork passes through -------------------------------------------- */

static _Atomic uint64_t forked; /* a number of this process alone, as far as fork() made it: clone(2) and _Fork() do not */

static void in_child(void) {
    uint64_t number;
    sfid__random(&number, sizeof number);
    atomic_store_explicit(&forked, number, memory_order_relaxed); /* by the only thread there is */
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

void sfid__process_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

/* ---- the number ------------------------------------------------------------ */

/* A page of its own that a child finds zeroed; NULL before the first use. */
static _Atomic(_Atomic uint64_t *) page;

static _Atomic uint64_t *own_page(void) {
    /* Acquire and release below: the page is mapped and advised before its address is seen. */
    _Atomic uint64_t *p = atomic_load_explicit(&page, memory_order_acquire);
    if (p)
        return p;
    void *fresh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return NULL;
    madvise(fresh, PAGE, MADV_WIPEONFORK); /* where it does nothing the rest of what sfid__process() mixes has to do */
    if (atomic_compare_exchange_strong_explicit(&page, &p, fresh, memory_order_acq_rel, memory_order_acquire))
        return fresh;
    munmap(fresh, PAGE); /* another thread was first: p is its page */
    return p;
}

/* Random, and kept; 0 where there is no memory for it. */
static uint64_t own_secret(void) {
    _Atomic uint64_t *p = own_page();
    uint64_t secret = p ? atomic_load_explicit(p, memory_order_relaxed) : 0; /* a number, no data behind it */
    if (p == NULL || secret)
        return secret;
    uint64_t mine;
    sfid__random(&mine, sizeof mine);
    mine |= 1;
    if (atomic_compare_exchange_strong_explicit(p, &secret, mine, memory_order_relaxed, memory_order_relaxed))
        secret = mine;
    return secret;
}

uint64_t sfid__process(void) {
    const uint64_t told[3] = {own_secret(), (uint64_t)getpid(), atomic_load_explicit(&forked, memory_order_relaxed)};
    return (sfid__hash(SFID__HASH_SEED, told, sizeof told) & MASK) | 1;
}
