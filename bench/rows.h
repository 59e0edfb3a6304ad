/* SPDX-License-Identifier: MIT */
/*
 * rows.h - what a thing costs, beside a floor measured in the same run.
 *
 * A floor is one loop that does what cannot be left out: reading the clock and
 * one atomic add, say. Floor and subject take turns, round by round, so that
 * whatever the machine does meanwhile meets both. Ratios are what counts;
 * nanoseconds differ from machine to machine.
 */
#ifndef SFID_BENCH_ROWS_H
#define SFID_BENCH_ROWS_H

#include <sfid.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROUNDS_MAX = 99 };

struct settings {
    int rounds;        /* of each row, at least 7 */
    const char *only;  /* rows whose name has this in it; NULL: all */
    const char *store; /* also with pids from there; NULL: no */
    bool json;
};

extern struct settings settings;

/* Where open_pid() keeps its files: a new directory, removed at exit. False with errno when it cannot be made. */
bool make_directory(void);

/* Before the first row, and behind the last. */
void begin_rows(void);
void end_rows(void);

/* How long a piece of work took, in nanoseconds for each of its n parts. */
typedef double measure(void *subject, uint64_t n);

struct row {
    const char *name, *floor_name;
    measure *floor, *subject;
    void *floor_arg, *subject_arg;
    uint64_t n;
    double target;   /* highest ratio wanted; 0: none */
    const char *per; /* "ID" */
};

void run_row(const struct row *row);

/* A figure that has no floor: its median over the rounds, with lowest and highest. at_least: the target is a lower bound. */
void tell_figure(const char *name, const char *unit, double *values, int n, double target, bool at_least);

bool wanted(const char *name);
double now_ns(void);
double cpu_ns(void); /* of this process */
sfid *open_pid(const char *app, const sfid_layout *l, const char *store);

/* The compiler has to have the value, and may not know what becomes of it. */
#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

#endif
