/* SPDX-License-Identifier: MIT */
/* compiler.h - everything that the sources need from the compiler. */
#ifndef SFID_BASE_COMPILER_H
#define SFID_BASE_COMPILER_H

#ifndef _GNU_SOURCE
/* every source includes its own header first, so this precedes all system headers */
#define _GNU_SOURCE 1
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
#define SFID__ALIGNED __attribute__((aligned(64))) /* to a cache line */
#define SFID__WORDS(words) #words
#define SFID__TEXT_OF(macro) SFID__WORDS(macro) /* what the macro stands for, as a string */
/*
 * Turns off the stack protector for the few functions that every ID passes through. They have no
 * arrays, and no index reaches their stack. Some would pay for the guard only because they pass a
 * struct to the slow path.
 */
#ifdef __has_attribute
#if __has_attribute(no_stack_protector)
#define SFID__UNGUARDED __attribute__((no_stack_protector))
#endif
#if __has_attribute(noplt)
#define SFID__BY_ADDRESS __attribute__((noplt))
#endif
#endif
#ifndef SFID__UNGUARDED
#define SFID__UNGUARDED
#endif
#ifndef SFID__BY_ADDRESS
/* of a function in another library: called without a jump through the procedure linkage table */
#define SFID__BY_ADDRESS
#endif

/* Inlined at every call: each caller gets a copy with its constants folded in. */
#define SFID__HOT SFID__UNGUARDED inline __attribute__((always_inline))

/* Processes share only such atomics. An atomic with a hidden lock would not work between
 * processes. */
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 &&
                  ATOMIC_POINTER_LOCK_FREE == 2,
              "64-bit atomics have to be lock-free");
static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4,
              "atomics have to be plain-sized");

#define SFID__LINE 64 /* bytes in a cache line; the page format fixes this value for all machines */

/* The characters for strspn(), and the test for one. Both ignore the locale. */
#define SFID__ALNUM "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
static inline bool sfid__is_ascii_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/*
 * The lower and the higher one of two integers, in the type of their sum. Functions, so that each
 * argument is evaluated once: an atomic that is read twice has two values, and only one of them was
 * compared. tests/sh/layers.test refuses macros that choose.
 */
#define SFID__PAIR(type, name) \
    static inline type sfid__min_##name(type a, type b) { return a < b ? a : b; } \
    static inline type sfid__max_##name(type a, type b) { return a > b ? a : b; }
SFID__PAIR(int, int)
SFID__PAIR(unsigned, unsigned)
SFID__PAIR(long, long)
SFID__PAIR(unsigned long, ulong)
SFID__PAIR(long long, llong)
SFID__PAIR(unsigned long long, ullong)
#undef SFID__PAIR
#define SFID__OF_TYPE(name, a, b) \
    _Generic((a) + (b), int \
             : name##_int, unsigned \
             : name##_unsigned, long \
             : name##_long, unsigned long \
             : name##_ulong, long long \
             : name##_llong, unsigned long long \
             : name##_ullong)(a, b)
#define SFID__MIN(a, b) SFID__OF_TYPE(sfid__min, a, b)
#define SFID__MAX(a, b) SFID__OF_TYPE(sfid__max, a, b)

#endif
