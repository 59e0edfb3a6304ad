/* SPDX-License-Identifier: MIT */
/*
 * counted.h - how many bytes this process has allocated at one time, hiredis's among them.
 *
 * What the kernel tells of memory is off by what each processor has not added up, and has pages of
 * the C library in it.
 *
 * Only for programs of one source, as own_clock.h: the functions that allocate are the program's
 * own here, or those of a sanitizer tell it. valgrind puts its own in their place.
 */
#ifndef SFID_TESTS_COUNTED_H
#define SFID_TESTS_COUNTED_H

#include "support/tap.h"

#include <malloc.h>
#include <stdatomic.h>

static _Atomic int64_t counted_now, counted_most;
static int64_t counted_before;

static void counted_add(int64_t n) {
    const int64_t now = atomic_fetch_add(&counted_now, n) + n;
    for (int64_t most = atomic_load(&counted_most);
         now > most && !atomic_compare_exchange_weak(&counted_most, &most, now);)
        ;
}

#if SANITIZED
#include <sanitizer/allocator_interface.h>

/* Called in every thread and at every time: no sanitizer may look into them. */
__attribute__((no_sanitize("address", "thread"))) static void counted_take(const volatile void *at,
                                                                           size_t n) {
    (void)at;
    counted_add((int64_t)n);
}
__attribute__((no_sanitize("address", "thread"))) static void
counted_give(const volatile void *at) {
    counted_add(-(int64_t)__sanitizer_get_allocated_size((const void *)(uintptr_t)at));
}

static bool counted_can(void) {
    static bool can;
    return can ||
           (can = __sanitizer_install_malloc_and_free_hooks(counted_take, counted_give) != 0);
}

#elif defined(__GLIBC__)
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static void *counted_taken(void *at) {
    if (at)
        counted_add((int64_t)malloc_usable_size(at));
    return at;
}

void *malloc(size_t n) { return counted_taken(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return counted_taken(__libc_calloc(n, size)); }
void free(void *at) {
    if (at)
        counted_add(-(int64_t)malloc_usable_size(at));
    __libc_free(at);
}
void *realloc(void *at, size_t n) {
    const int64_t before = at ? (int64_t)malloc_usable_size(at) : 0;
    void *to = __libc_realloc(at, n);
    if (to || n == 0)
        counted_add(-before);
    return counted_taken(to);
}

static bool counted_can(void) {
    const int64_t before = atomic_load(&counted_now);
    void *volatile some = malloc(1 << 20);
    const bool can = atomic_load(&counted_now) - before >= 1 << 20;
    free(some);
    return can;
}

#else
static bool counted_can(void) { return false; }
#endif

static inline void counted_begin(void) {
    atomic_store(&counted_most, counted_before = atomic_load(&counted_now));
}

static void counted_check(int64_t got, int64_t bytes, const char *name) {
    if (!counted_can())
        skip(1, "%s",
             tap_under_valgrind() ? "valgrind has an allocator of its own"
                                  : "this C library keeps its allocator");
    else if (!ok(got < bytes, "%s", name))
        diag("%" PRId64 " bytes, want less than %" PRId64, got, bytes);
}

/* One check: at no time since counted_begin() there were as many bytes more than at that; and none
 * that are left. */
static inline void counted_less(int64_t bytes, const char *name) {
    counted_check(atomic_load(&counted_most) - counted_before, bytes, name);
}
static inline void counted_left(int64_t bytes, const char *name) {
    counted_check(atomic_load(&counted_now) - counted_before, bytes, name);
}

#endif
