/* SPDX-License-Identifier: MIT */
/* stats.h - what many IDs have in common. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "view.h"

#define STATS_SHOWN 10 /* of duplicates, breaks, pids and gaps */

/* An ID that is out of place: without it, those around are in order. */
struct misplaced {
    uint64_t id;
    size_t number; /* it is the number-th, from 1 */
    size_t places; /* how many IDs it is away from where it belongs */
};

struct order {
    size_t in_order; /* the most IDs that can be left to stand so that they increase */
    size_t shown;    /* of those out of place and equal to none that stands */
    struct misplaced list[STATS_SHOWN];
    struct misplaced farthest;
};

struct stats {
    uint64_t *ids; /* as they came; sorted by time, pid and sequence later */
    size_t count, room;
    bool no_memory;
    sfid_layout layout;
};

void stats_begin(struct stats *stats, const sfid_layout *layout);
void stats_add(struct stats *stats, uint64_t id);

/* Writes what was found, as text or JSON. Returns the exit status. */
int stats_report(struct stats *stats, enum view_format format);

/* stats_order.c: which IDs are out of order. False without memory. */
bool stats_order(const uint64_t *ids, size_t count, struct order *order);

/* stats_show.c: what was found, as text or JSON. */
struct pid_count {
    uint64_t pid;
    size_t count;
};

struct span_of_time {
    int64_t from, to; /* Unix milliseconds */
};

struct repeated {
    uint64_t id;
    size_t count;
};

struct summary {
    size_t count, distinct, breaks, seconds, bursts, pids;
    size_t second_peak, tick_peak;
    uint64_t tick_peak_pid;
    int64_t second_peak_at, tick_peak_at;
    int64_t first, last;
    size_t hot, gaps, repeats; /* how many of the lists below */
    struct pid_count hottest[STATS_SHOWN];
    struct span_of_time gap[STATS_SHOWN];
    struct repeated repeat[STATS_SHOWN];
    struct order order;
};
void stats_show(const sfid_layout *layout, const struct summary *summary, enum view_format format);

/* sort.c: in place. */
void sort_numbers(uint64_t *a, size_t n);

#endif
