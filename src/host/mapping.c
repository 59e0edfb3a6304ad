/* SPDX-License-Identifier: MIT */
/* mapping.c - keeps a page at its addresses for the life of the process. */
#include "host/mapping.h"

#include "draw/record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Older headers: then the address is only a wish, as with a kernel before 4.17. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

#ifndef MADV_POPULATE_WRITE /* older headers */
#define MADV_POPULATE_WRITE 23
#endif

#define BUCKETS 512 /* a process may have thousands of generators */

static _Atomic(struct sfid__mapping *) mappings[BUCKETS]; /* by nonce, which is random */

/* Finds the free mapping of a page, and marks it as in use; NULL if there is none. */
static struct sfid__mapping *find_mapping(uint64_t nonce) {
    /* Acquire, with the release in put_on_list: the node is filled in. */
    for (struct sfid__mapping *m =
             atomic_load_explicit(&mappings[nonce % BUCKETS], memory_order_acquire);
         m; m = m->next) {
        int idle = 0;
        /* Relaxed nonce: it only changes to 0, by the slot that uses the node. Acq_rel, with the
         * release in sfid__mapping_leave: the new user sees what the last one did to the
         * mapping. */
        if (atomic_load_explicit(&m->nonce, memory_order_relaxed) == nonce &&
            atomic_compare_exchange_strong_explicit(&m->in_use, &idle, 1, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return m;
    }
    return NULL;
}

static struct sfid__mapping *add(struct sfid__page *page, uint64_t nonce) {
    struct sfid__mapping *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->page = page;
    m->bytes = SFID__MAP_SIZE;
    atomic_init(&m->nonce, nonce);
    atomic_init(&m->in_use, 1);
    return m;
}

/* Reserves the addresses behind what a mapping kept. False if something else lies there by now. */
static bool widen(const struct sfid__mapping *m) {
    const size_t more = SFID__MAP_SIZE - m->bytes;
    void *want = (char *)m->page + m->bytes;
    if (more == 0)
        return true;
    void *got = mmap(want, more, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED && got != want)
        munmap(got, more);
    return got == want;
}

/* Gives up the addresses behind the first `bytes`, a multiple of the system's page. */
static void narrow(struct sfid__mapping *m, size_t bytes) {
    m->bytes = bytes;
    if (bytes < SFID__MAP_SIZE)
        munmap((char *)m->page + bytes, SFID__MAP_SIZE - bytes);
}

/* How many bytes of a mapping its first n records need: never fewer than before, whatever stood in
 * the page then. */
static size_t bytes_kept(struct sfid__mapping *m, uint32_t n) {
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = (sfid__page_bytes(n) + unit - 1) / unit * unit;
    return m->least = SFID__MIN(SFID__MAX(bytes, m->least), SFID__MAP_SIZE);
}

struct sfid__mapping *sfid__mapping_take(int fd, uint64_t nonce, bool *again) {
    struct sfid__mapping *m = find_mapping(nonce);
    *again = m != NULL;
    if (m && !widen(m)) { /* it stays as it is, for late threads, and counts as in use forever */
        atomic_store_explicit(&m->nonce, 0, memory_order_relaxed);
        m = NULL;
    }
    void *at = m ? m->page : NULL;
    void *page =
        mmap(at, SFID__MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    if (page == MAP_FAILED) {
        const int why = errno;
        if (m) { /* as it was */
            narrow(m, m->bytes);
            sfid__mapping_leave(m);
        }
        errno = why;
        return NULL;
    }
    if (m == NULL && (m = add(page, nonce)) == NULL) {
        munmap(page, SFID__MAP_SIZE);
        errno = ENOMEM;
    }
    return m;
}

bool sfid__mapping_replace(struct sfid__mapping *m, int fd) {
    return mmap(m->page, SFID__MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
           MAP_FAILED;
}

bool sfid__mapping_populate(const struct sfid__mapping *m, size_t from, size_t to) {
    /* a page of the kernel may have several blocks */
    const size_t before = from % (size_t)sysconf(_SC_PAGESIZE);
    return madvise((char *)m->page + from - before, to - from + before, MADV_POPULATE_WRITE) == 0;
}

void sfid__mapping_narrow(struct sfid__mapping *m, uint32_t n) { narrow(m, bytes_kept(m, n)); }

/* A page is on the list once threads may have had it: what stays mapped is there. */
static void put_on_list(struct sfid__mapping *m) {
    if (m->listed)
        return;
    /* Relaxed: this slot is the only one that uses the node. */
    _Atomic(struct sfid__mapping *) *bucket =
        &mappings[atomic_load_explicit(&m->nonce, memory_order_relaxed) % BUCKETS];
    m->listed = true;
    /* the exchange below corrects it */
    m->next = atomic_load_explicit(bucket, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(bucket, &m->next, m, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

void sfid__mapping_leave(struct sfid__mapping *m) {
    put_on_list(m);
    /* Release, with the CAS in find. */
    atomic_store_explicit(&m->in_use, 0, memory_order_release);
}

void sfid__mapping_discard(struct sfid__mapping *m) {
    munmap(m->page, m->bytes);
    free(m);
}

void sfid__mapping_close(struct sfid__mapping *m, uint32_t n) {
    const size_t bytes = bytes_kept(m, n);
    put_on_list(m);
    /* it is not a mapping of that page any more */
    atomic_store_explicit(&m->nonce, 0, memory_order_relaxed);
    struct sfid__page *copy =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return;
    /* Word by word, relaxed: late threads may still change the page, and each word is whole. */
    const _Atomic uint64_t *from = (const _Atomic uint64_t *)(const void *)m->page;
    uint64_t *to = (uint64_t *)(void *)copy;
    for (size_t i = 0; i < sfid__page_bytes(n) / sizeof *to; i++)
        to[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        /* private until mremap */
        atomic_fetch_or_explicit(&copy->records[i].word, SFID__CLOSED, memory_order_relaxed);
        atomic_store_explicit(&copy->records[i].limit, 0, memory_order_relaxed);
    }
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, m->page) == MAP_FAILED)
        munmap(copy, bytes);
    else
        narrow(m, bytes);
}
