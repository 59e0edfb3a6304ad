/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include "base/random.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 65536 /* a multiple of every machine's page size */
#define MASK ((UINT64_C(1) << SFID__PROCESS_BITS) - 1)

/* ---- memory that a child finds zeroed ------------------------------------- */

/*
 * Emulators and sandboxes that ignore advice accept all of it. The kernel
 * refuses to wipe shared memory, so a system that accepts this advice proves
 * that its yes means nothing.
 */
static bool advice_is_taken(void) {
    void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const bool refused = shared != MAP_FAILED && madvise(shared, PAGE, MADV_WIPEONFORK) < 0;
    if (shared != MAP_FAILED)
        munmap(shared, PAGE);
    return refused;
}

bool sfid__process_wipes(void *at, size_t size) {
    return madvise(at, size, MADV_WIPEONFORK) == 0 && advice_is_taken();
}

/* A page that a forked child finds zeroed; NULL before the first use. */
struct own {
    _Atomic uint64_t secret;
    _Alignas(SFID__LINE) _Atomic uint64_t room[SFID__PROCESS_ROOM / sizeof(uint64_t)];
};
static _Atomic(struct own *) page;

static struct own *own_page(void) {
    /* Acquire, with the release below: the thread that sees the address finds the page mapped and
     * advised. */
    struct own *p = atomic_load_explicit(&page, memory_order_acquire);
    if (p)
        return p;
    void *fresh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return NULL;
    /* or the first read takes a page fault, and the first write another */
    atomic_init(&((struct own *)fresh)->secret, 0);
    /* if this does nothing, the other parts of sfid__process() have to suffice */
    madvise(fresh, PAGE, MADV_WIPEONFORK);
    madvise(fresh, PAGE, MADV_DONTDUMP);
    if (atomic_compare_exchange_strong_explicit(&page, &p, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    munmap(fresh, PAGE); /* another thread was first: p is its page */
    return p;
}

void *sfid__process_room(void) {
    struct own *p = own_page();
    return p ? p->room : NULL;
}

/* ---- the fork handler ------------------------------------------------------ */

/* random in each child of fork(); clone(2) and _Fork() leave the parent's value */
static _Atomic uint64_t forked;

/* Relaxed: the child has one thread. */
static void in_child(void) {
    struct own *p = atomic_load_explicit(&page, memory_order_relaxed);
    uint64_t number;
    sfid__random(&number, sizeof number);
    atomic_store_explicit(&forked, number, memory_order_relaxed);
    if (p)
        atomic_store_explicit(&p->room[0], 0, memory_order_relaxed);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

void sfid__process_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

/* ---- the value ------------------------------------------------------------- */

/* A random value that the process keeps; 0 if there is no memory for it. */
static uint64_t own_secret(void) {
    struct own *p = own_page();
    /* a value with no data behind it */
    uint64_t secret = p ? atomic_load_explicit(&p->secret, memory_order_relaxed) : 0;
    if (p == NULL || secret)
        return secret;
    uint64_t mine;
    sfid__random(&mine, sizeof mine);
    mine |= 1;
    if (atomic_compare_exchange_strong_explicit(&p->secret, &secret, mine, memory_order_relaxed,
                                                memory_order_relaxed))
        secret = mine;
    return secret;
}

uint64_t sfid__process(void) {
    /* Relaxed: a value with no data behind it. If neither random part differs, the process IDs do,
     * and so do the sums. */
    const uint64_t random = own_secret() ^ atomic_load_explicit(&forked, memory_order_relaxed);
    return ((random + 2 * (uint64_t)getpid()) & MASK) | 1;
}
