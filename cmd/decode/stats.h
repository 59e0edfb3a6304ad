/* SPDX-License-Identifier: MIT */
/* stats.h - what many IDs have in common. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "text/view.h"

#define STATS_SHOWN 10 /* of duplicates, breaks, pids and gaps */

/* Many numbers of 64 or 128 bits, in one piece. */
struct numbers {
    uint64_t *words; /* of wide ones two each, the high one first */
    size_t count, room;
    bool wide;
};

static inline sfid_wide number_at(const struct numbers *n, size_t i) {
    return n->wide ? (sfid_wide){n->words[2 * i], n->words[2 * i + 1]} : (sfid_wide){0, n->words[i]};
}

static inline void number_set(struct numbers *n, size_t i, sfid_wide number) {
    if (n->wide)
        n->words[2 * i] = number.high;
    n->words[n->wide ? 2 * i + 1 : i] = number.low;
}

static inline bool is_below(sfid_wide a, sfid_wide b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
static inline bool is_same(sfid_wide a, sfid_wide b) { return a.high == b.high && a.low == b.low; }

/* An ID that is out of place: without it, those around are in order. */
struct misplaced {
    sfid_wide id;
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
    struct numbers ids; /* as they came; later keys, see stats.c */
    bool no_memory;
    struct view *view;
    unsigned pid_bits, seq_bits, random_bits; /* of keys */
    uint64_t max_seq;
};

void stats_begin(struct stats *stats, struct view *view);
void stats_add(struct stats *stats, sfid_wide id);

/* Writes what was found, as text or JSON. Returns the exit status. */
int stats_report(struct stats *stats, enum view_format format);

/* stats_order.c: which IDs are out of order. False without memory. */
bool stats_order(const struct numbers *ids, struct order *order);

/* stats_show.c: what was found, as text or JSON. */
struct pid_count {
    uint64_t pid;
    size_t count;
};

struct span_of_time {
    int64_t from, to; /* Unix milliseconds */
};

struct repeated {
    sfid_wide id;
    size_t count;
};

struct summary {
    uint64_t max_seq;
    size_t count, distinct, breaks, seconds, bursts, pids;
    size_t second_peak, tick_peak, pid_seconds, pid_second_peak; /* pid_seconds: pairs of a pid and a second that it drew in */
    uint64_t tick_peak_pid, pid_second_peak_pid;
    int64_t second_peak_at, tick_peak_at, pid_second_peak_at;
    int64_t first, last;
    size_t hot, gaps, repeats; /* how many of the lists below */
    struct pid_count hottest[STATS_SHOWN];
    struct span_of_time gap[STATS_SHOWN];
    struct repeated repeat[STATS_SHOWN];
    struct order order;
};
void stats_show(struct view *view, const struct summary *summary, enum view_format format);

/* sort.c: in place. */
void sort_numbers(struct numbers *numbers);

#endif
