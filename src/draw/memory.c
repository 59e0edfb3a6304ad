/* SPDX-License-Identifier: MIT */
#include "draw/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

struct sfid__memory_page {
    struct sfid__memory_page *next;
    uint64_t layout, pid;
    struct sfid__page *page;
    _Atomic int in_use;
};

/* The list only grows and is read without a lock, so a child forked at any moment finds it
 * whole. */
static _Atomic(struct sfid__memory_page *) pages;

static struct sfid__memory_page *find_page(struct sfid__memory_page *from, uint64_t layout,
                                           uint64_t pid) {
    while (from && (from->layout != layout || from->pid != pid))
        from = from->next;
    return from;
}

static struct sfid__memory_page *make_page(uint64_t layout, uint64_t pid) {
    struct sfid__memory_page *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    /* One record is enough: a fixed pid is never exchanged for another. */
    void *page =
        mmap(NULL, sfid__page_bytes(1), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    m->layout = layout;
    m->pid = pid;
    m->page = page;
    if (page != MAP_FAILED)
        return m;
    free(m);
    return NULL;
}

static void unmake(struct sfid__memory_page *m) {
    if (m) {
        munmap(m->page, sfid__page_bytes(1));
        free(m);
    }
}

int sfid__memory_take(struct sfid__memory_page **out, uint64_t layout, uint64_t pid,
                      struct sfid__error *err) {
    struct sfid__memory_page *fresh = NULL, *found;
    /* Acquire, with the release of the exchange below: an entry in the list is filled in. */
    struct sfid__memory_page *head = atomic_load_explicit(&pages, memory_order_acquire);
    while ((found = find_page(head, layout, pid)) == NULL) {
        if (fresh == NULL && (fresh = make_page(layout, pid)) == NULL)
            return sfid__fail(err, SFID_ENOMEM, "out of memory");
        fresh->next = head;
        if (atomic_compare_exchange_weak_explicit(&pages, &head, fresh, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            found = fresh;
            fresh = NULL;
            break;
        }
    }
    unmake(fresh); /* another thread added the same page */
    int idle = 0;
    /* Acq_rel, with the release in sfid__memory_leave: a user sees what the one before did. */
    if (!atomic_compare_exchange_strong_explicit(&found->in_use, &idle, 1, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return sfid__fail(err, SFID_EBUSY,
                          "pid %" PRIu64 " is in use by another handle of this process", pid);
    *out = found;
    return 0;
}

struct sfid__page *sfid__memory_page(struct sfid__memory_page *memory) {
    return memory->page;
}

void sfid__memory_leave(struct sfid__memory_page *memory) {
    atomic_store_explicit(&memory->in_use, 0, memory_order_release);
}
