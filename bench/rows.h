/* SPDX-License-Identifier: MIT */
/*
 * rows.h - measures a cost beside a floor from the same run.
 *
 * A floor is one loop that does only the necessary, such as reading the clock
 * and one atomic add. Floor and subject take turns, so that disturbances affect
 * both. Ratios count; nanoseconds differ from machine to machine.
 */
#ifndef SFID_BENCH_ROWS_H
#define SFID_BENCH_ROWS_H

#include <sfid.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROUNDS_MAX = 99 };

struct settings {
    int rounds;        /* for each row, at least 7 */
    const char *only;  /* only rows whose name contains this; NULL: all */
    const char *store; /* also measure with pids from this store; NULL: no */
    bool json;
};

extern struct settings settings;

/* Makes a new directory for open_options(), and removes it at exit. Returns false with errno if it
 * cannot be made. */
bool make_directory(void);

/* Call these before the first row and after the last one. */
void begin_rows(void);
void end_rows(void);

/* Returns nanoseconds for each of the n parts of the work. */
typedef double measure(void *subject, uint64_t n);

struct row {
    const char *name, *floor_name;
    measure *floor, *subject;
    void *floor_arg, *subject_arg;
    uint64_t n;
    double target;   /* highest acceptable ratio; 0: none */
    const char *per; /* "ID" */
};

void run_row(const struct row *row);

/* Prints a figure without a floor: median, lowest and highest of its rounds. at_least: the target
 * is a lower bound. */
void tell_figure(const char *name, const char *unit, double *values, int n, double target,
                 bool at_least);

double median_of(double *values, int n); /* sorts them */
bool wanted(const char *name);
double now_ns(void);
double cpu_ns(void);                   /* of this process */
sfid *open_options(sfid_options *opt); /* with the directory */
sfid *open_pid(const char *app, const sfid_layout *l, const char *store);

/* Makes the compiler compute the value, since it cannot know how the value is used. */
#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

#endif
