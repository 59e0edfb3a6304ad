/* SPDX-License-Identifier: MIT */
/* summary.h - writes statistics of IDs as text and JSON. */
#ifndef CMD_DECODE_SUMMARY_H
#define CMD_DECODE_SUMMARY_H

#include "decode/order.h"
#include "io/date.h"
#include "io/out.h"
#include "text/view.h"

struct pid_count {
    uint64_t pid;
    size_t count;
};

struct repeated {
    sfid_wide id;
    size_t count;
};

struct summary {
    uint64_t max_seq;
    size_t count, distinct, breaks, seconds, bursts, pids;
    /* pid_seconds: pairs of a pid and a second with IDs */
    size_t second_peak, tick_peak, pid_seconds, pid_second_peak;
    uint64_t tick_peak_pid, pid_second_peak_pid;
    int64_t second_peak_at, tick_peak_at, pid_second_peak_at;
    int64_t first, last;
    size_t hot, gaps, repeats; /* entries in the lists below */
    struct pid_count hottest[STATS_SHOWN];
    struct span gap[STATS_SHOWN];
    struct repeated repeat[STATS_SHOWN];
    struct order order;
};

void stats_show(struct view *view, const struct summary *summary, enum view_format format);

#endif
