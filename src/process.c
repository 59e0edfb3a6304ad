/* SPDX-License-Identifier: MIT */
#include "process.h"

#include "random.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGE 65536 /* a page of any machine, and a multiple of it */
#define MASK ((UINT64_C(1) << SFID__PROCESS_BITS) - 1)

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
    if (madvise(fresh, PAGE, MADV_WIPEONFORK) == 0 &&
        atomic_compare_exchange_strong_explicit(&page, &p, fresh, memory_order_acq_rel, memory_order_acquire))
        return fresh;
    munmap(fresh, PAGE); /* a kernel before 4.14, or another thread was first: then p is its page */
    return p;
}

static uint64_t random_number(void) {
    uint64_t number;
    sfid__random(&number, sizeof number);
    return (number & MASK) | 1;
}

uint64_t sfid__process(void) {
    _Atomic uint64_t *p = own_page();
    if (p == NULL)
        return ((uint64_t)getpid() & MASK) | UINT64_C(1) << (SFID__PROCESS_BITS - 1); /* the next best */
    uint64_t number = atomic_load_explicit(p, memory_order_relaxed);                  /* a number, no data behind it */
    if (number == 0) {
        const uint64_t mine = random_number();
        if (atomic_compare_exchange_strong_explicit(p, &number, mine, memory_order_relaxed, memory_order_relaxed))
            number = mine;
    }
    return number;
}
