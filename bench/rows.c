/* SPDX-License-Identifier: MIT */
/* rows.c - prints rows as a table or as JSON, and has what all subjects share. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct settings settings = {.rounds = 9};
static char directory[64];
static bool first = true;

double now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

double cpu_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

bool wanted(const char *name) {
    return settings.only == NULL || strstr(name, settings.only) != NULL;
}

static void remove_directory(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    if (system(command) != 0)
        fprintf(stderr, "bench: %s is left\n", directory);
}

bool make_directory(void) {
    snprintf(directory, sizeof directory, "/dev/shm/sfid-bench-XXXXXX");
    return mkdtemp(directory) != NULL && atexit(remove_directory) == 0;
}

sfid *open_options(sfid_options *opt) {
    sfid *g = NULL;
    char run[80], state[80];
    snprintf(run, sizeof run, "%s/run", directory);
    snprintf(state, sizeof state, "%s/state", directory);
    opt->run_dir = run;
    opt->state_dir = state;
    if (sfid_open(&g, opt) < 0) {
        fprintf(stderr, "bench: %s\n", sfid_last_error(g));
        exit(1);
    }
    return g;
}

sfid *open_pid(const char *app, const sfid_layout *l, const char *store) {
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = app;
    opt.layout = l;
    opt.store = store;
    opt.pid = store ? -1 : 1;
    opt.on_unknown = SFID_TRUST;
    return open_options(&opt);
}

/* ---- rows ------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static const char *verdict(double target, bool good) {
    return target == 0 ? "" : good ? "  reached" : "  MISSED";
}

static void begin_line(void) {
    if (settings.json)
        printf("%s\n  ", first ? "[" : ",");
    first = false;
}

void run_row(const struct row *row) {
    double floors[ROUNDS_MAX], costs[ROUNDS_MAX], ratios[ROUNDS_MAX];
    if (!wanted(row->name))
        return;
    row->floor(row->floor_arg, row->n / 8); /* warms up caches, frequency, pages */
    row->subject(row->subject_arg, row->n / 8);
    for (int i = 0; i < settings.rounds; i++) {
        floors[i] = row->floor(row->floor_arg, row->n);
        costs[i] = row->subject(row->subject_arg, row->n);
        ratios[i] = costs[i] / floors[i];
    }
    const double floor = median_of(floors, settings.rounds),
                 cost = median_of(costs, settings.rounds);
    const double ratio = median_of(ratios, settings.rounds);
    begin_line();
    if (settings.json)
        printf(
            "{\"name\":\"%s\",\"floor\":\"%s\",\"unit\":\"ns/%s\",\"rounds\":%d,\"floor_min\":%.3f,\"floor_median\":%.3f,"
            "\"min\":%.3f,\"median\":%.3f,\"ratio\":%.3f,\"ratio_min\":%.3f,\"ratio_max\":%.3f,\"target\":%.2f}",
            row->name, row->floor_name, row->per, settings.rounds, floors[0], floor, costs[0], cost,
            ratio, ratios[0], ratios[settings.rounds - 1], row->target);
    else
        printf("%-44s %8.2f %8.2f   %-36s %8.2f %8.2f   %6.2f %6.2f %6.2f%s\n", row->name, costs[0],
               cost, row->floor_name, floors[0], floor, ratio, ratios[0],
               ratios[settings.rounds - 1], verdict(row->target, ratio <= row->target));
    fflush(stdout);
}

void tell_figure(const char *name, const char *unit, double *values, int n, double target,
                 bool at_least) {
    const double middle = median_of(values, n);
    begin_line();
    if (settings.json)
        printf(
            "{\"name\":\"%s\",\"unit\":\"%s\",\"rounds\":%d,\"min\":%.3f,\"median\":%.3f,\"max\":%.3f,\"target\":%.2f}",
            name, unit, n, values[0], middle, values[n - 1], target);
    else
        printf("%-44s %8.2f %8.2f   %-36s %8s %8.2f                       %s\n", name, values[0],
               middle, unit, "highest", values[n - 1],
               verdict(target, at_least ? middle >= target : middle <= target));
    fflush(stdout);
}

void begin_rows(void) {
    if (!settings.json)
        printf(
            "%d rounds, floor and subject in turn; nanoseconds, least and median; ratio: median, least and most of the rounds\n\n"
            "%-44s %8s %8s   %-36s %8s %8s   %6s %6s %6s\n",
            settings.rounds, "", "min", "median", "floor", "min", "median", "ratio", "min", "max");
}

void end_rows(void) {
    if (settings.json)
        printf("%s\n]\n", first ? "[" : "");
}
