/* SPDX-License-Identifier: MIT */
/* compiler.h - what the sources ask of the compiler, in one place. */
#ifndef SFID_BASE_COMPILER_H
#define SFID_BASE_COMPILER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* every source includes its own header first, and so this before any system header */
#endif

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define SFID__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SFID__COLD __attribute__((cold, noinline))
/*
 * Without a stack protector: for the few functions that every ID goes through. They have no array, and nothing that they
 * hold on the stack is reached by an index; what they hand to the slow path there costs them the guard otherwise.
 */
#ifdef __has_attribute
#if __has_attribute(no_stack_protector)
#define SFID__UNGUARDED __attribute__((no_stack_protector))
#endif
#endif
#ifndef SFID__UNGUARDED
#define SFID__UNGUARDED
#endif

/* Of which each caller has a copy, with its constants folded in. */
#define SFID__HOT SFID__UNGUARDED inline __attribute__((always_inline))

/* Everything shared between processes is one of these: an atomic with a hidden lock would not be shared. */
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_POINTER_LOCK_FREE == 2,
              "64-bit atomics have to be lock-free");
static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "atomics have to be plain-sized");

#define SFID__LINE 64 /* cache line; a constant of the page format, whatever the machine has */

/* For strspn(), and as a test: whatever the locale says. */
#define SFID__ALNUM "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
static inline bool sfid__is_ascii_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

#define SFID__MIN(a, b) ((a) < (b) ? (a) : (b))
#define SFID__MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
