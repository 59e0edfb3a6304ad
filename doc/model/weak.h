/* SPDX-License-Identifier: MIT */
/*
 * weak.h - every execution of a small program that the C11 memory model allows.
 *
 * The threads of a program are C functions that reach shared locations by the
 * calls below alone, and are otherwise deterministic. weak.c says which model
 * it is, and what it cannot see.
 */
#ifndef SFID_MODEL_WEAK_H
#define SFID_MODEL_WEAK_H

#include <stdbool.h>
#include <stddef.h>

/* Orders; a number from FIRST_SITE on is a place in the sources (orders.h), and stands for the
 * order there. */
enum { RLX, ACQ, REL, AR, SC, FIRST_SITE };

enum { LOCATIONS = 12, THREADS = 4, NOTES = 12 };

struct program {
    const char *name;
    void (*thread[THREADS])(void);
    /* looks at the notes and the last values of an execution that came to its end */
    void (*after)(void);
    long start[LOCATIONS]; /* values */
    int arg[2];            /* places, for threads that several programs have */
};

/* Atomic accesses. A change returns the value before it. `at` is an order, or a place. */
long load(int location, int at);
void store(int location, long value, int at);
long add(int location, long value, int at);
long set_bits(int location, long value, int at);
long exchange(int location, long value, int at);
/* compare-and-swap, never spuriously without success */
bool swap(int location, long *expected, long value, int at);
void fence(int at);

/* Plain accesses. Two that are not ordered, one of them a write, are a race, and fail. */
long read_plain(int location);
void write_plain(int location, long value);

void want(bool good, const char *text); /* fails the program if not good */
/* the execution counts only if good: the thread would have gone on waiting */
void await(bool good);
void note(int i, long value); /* for `after` */
long noted(int i);            /* 0 if not noted */
long last(int location);      /* the value at the end, in `after` */
int arg(int i);               /* of the program */

struct outcome {
    /* graphs seen, and those in which all threads had come to their end */
    unsigned long states, ends;
    const char *failed; /* the text of the first failure; NULL: none */
};

struct outcome explore(const struct program *p);

/* Given by orders.c: the order now at a place that makes such a call; FAILS is the second order of
 * SWAPS. */
enum call { LOADS, STORES, CHANGES, SWAPS, FENCES, FAILS };
int order_at(int at, enum call call);

/* weak_litmus.c: the explorer finds what is allowed, and not what is forbidden. False if not. */
bool litmus(void);

#endif
