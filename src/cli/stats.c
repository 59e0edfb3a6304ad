/* SPDX-License-Identifier: MIT */
/*
 * stats.c - what many IDs have in common.
 *
 * All IDs are kept, eight bytes each, since a duplicate may be any distance
 * away. Whatever else is wanted comes from sorting them where they are.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#define BURST 4 /* a second with more than so many times the mean is one */

void stats_begin(struct stats *stats, const sfid_layout *layout) { *stats = (struct stats){.layout = *layout}; }

/* Large blocks are moved by the kernel, without a copy. */
static bool grow(struct stats *stats) {
    const size_t room = stats->room + stats->room / 8 + 65536;
    uint64_t *ids = realloc(stats->ids, room * sizeof *ids);
    if (ids) {
        stats->ids = ids;
        stats->room = room;
    }
    return ids != NULL;
}

void stats_add(struct stats *stats, uint64_t id) {
    if (stats->count == stats->room && (stats->no_memory || !grow(stats))) {
        stats->no_memory = true;
        return;
    }
    stats->ids[stats->count++] = id;
}

/* ---- keys: IDs with the fields in the order time, pid, sequence ------------ */

static unsigned low_bits(const sfid_layout *l) { return (unsigned)l->pid_bits + l->seq_bits; }

static void to_keys(struct stats *stats) {
    const sfid_layout *l = &stats->layout;
    for (size_t i = 0; i < stats->count && l->seq_shift > 0; i++) {
        const uint64_t id = stats->ids[i], pid = id >> l->pid_shift & l->max_pid, seq = id >> l->seq_shift & l->max_seq;
        stats->ids[i] = id >> l->time_shift << low_bits(l) | pid << l->seq_bits | seq;
    }
}

static int64_t time_of(const sfid_layout *l, uint64_t key) {
    return l->epoch_ms + (int64_t)(key >> low_bits(l)) * (int64_t)l->unit_ms;
}

static int64_t second_of(const sfid_layout *l, uint64_t key) {
    const int64_t ms = time_of(l, key);
    return ms / 1000 - (ms % 1000 < 0);
}

static uint64_t pid_of(const sfid_layout *l, uint64_t key) { return key >> l->seq_bits & l->max_pid; }

static uint64_t id_of(const sfid_layout *l, uint64_t key) {
    if (l->seq_shift == 0)
        return key;
    return key >> low_bits(l) << l->time_shift | pid_of(l, key) << l->pid_shift | (key & l->max_seq) << l->seq_shift;
}

/* ---- runs of sorted keys --------------------------------------------------- */

static void count_repeats(const struct stats *stats, struct summary *s) {
    for (size_t i = 0, end; i < stats->count; i = end) {
        for (end = i + 1; end < stats->count && stats->ids[end] == stats->ids[i]; end++)
            ;
        s->distinct++;
        if (end - i > 1 && s->repeats < STATS_SHOWN)
            s->repeat[s->repeats++] = (struct repeated){id_of(&stats->layout, stats->ids[i]), end - i};
    }
}

static size_t second_end(const struct stats *stats, size_t i) {
    const int64_t second = second_of(&stats->layout, stats->ids[i]);
    while (i < stats->count && second_of(&stats->layout, stats->ids[i]) == second)
        i++;
    return i;
}

static void count_seconds(const struct stats *stats, struct summary *s) {
    for (size_t i = 0, end; i < stats->count; i = end) {
        end = second_end(stats, i);
        s->seconds++;
        if (end - i > s->second_peak) {
            s->second_peak = end - i;
            s->second_peak_at = second_of(&stats->layout, stats->ids[i]) * 1000;
        }
    }
    for (size_t i = 0, end; i < stats->count; i = end) {
        end = second_end(stats, i);
        s->bursts += (end - i) * s->seconds > stats->count * BURST;
    }
}

static void count_ticks(const struct stats *stats, struct summary *s) {
    const unsigned shift = stats->layout.seq_bits;
    for (size_t i = 0, end; i < stats->count; i = end) {
        for (end = i + 1; end < stats->count && stats->ids[end] >> shift == stats->ids[i] >> shift; end++)
            ;
        if (end - i > s->tick_peak) {
            s->tick_peak = end - i;
            s->tick_peak_pid = pid_of(&stats->layout, stats->ids[i]);
            s->tick_peak_at = time_of(&stats->layout, stats->ids[i]);
        }
    }
}

static void find_gaps(const struct stats *stats, struct summary *s) {
    for (size_t i = 1; i < stats->count; i++) {
        const struct span_of_time gap = {time_of(&stats->layout, stats->ids[i - 1]), time_of(&stats->layout, stats->ids[i])};
        const bool full = s->gaps == STATS_SHOWN;
        if (gap.to - gap.from <= 1000 || (full && gap.to - gap.from <= s->gap[s->gaps - 1].to - s->gap[s->gaps - 1].from))
            continue;
        size_t at = full ? s->gaps - 1 : s->gaps++;
        for (; at > 0 && s->gap[at - 1].to - s->gap[at - 1].from < gap.to - gap.from; at--)
            s->gap[at] = s->gap[at - 1];
        s->gap[at] = gap;
    }
}

/* The keys are given up for their pids. */
static void count_pids(struct stats *stats, struct summary *s) {
    for (size_t i = 0; i < stats->count; i++)
        stats->ids[i] = pid_of(&stats->layout, stats->ids[i]);
    sort_numbers(stats->ids, stats->count);
    for (size_t i = 0, end; i < stats->count; i = end) {
        for (end = i + 1; end < stats->count && stats->ids[end] == stats->ids[i]; end++)
            ;
        const struct pid_count found = {stats->ids[i], end - i};
        const bool full = s->hot == STATS_SHOWN;
        s->pids++;
        if (full && found.count <= s->hottest[s->hot - 1].count)
            continue;
        size_t at = full ? s->hot - 1 : s->hot++;
        for (; at > 0 && s->hottest[at - 1].count < found.count; at--)
            s->hottest[at] = s->hottest[at - 1];
        s->hottest[at] = found;
    }
}

int stats_report(struct stats *stats, enum view_format format) {
    static struct summary s;
    s = (struct summary){.count = stats->count};
    if (stats->no_memory || !stats_order(stats->ids, stats->count, &s.order)) {
        say("--stats: no memory for more than %zu IDs", stats->count);
        free(stats->ids);
        return STATUS_INTERNAL;
    }
    to_keys(stats);
    sort_numbers(stats->ids, stats->count);
    count_repeats(stats, &s);
    s.breaks = s.distinct - s.order.in_order;
    count_seconds(stats, &s);
    count_ticks(stats, &s);
    find_gaps(stats, &s);
    if (stats->count > 0) {
        s.first = time_of(&stats->layout, stats->ids[0]);
        s.last = time_of(&stats->layout, stats->ids[stats->count - 1]);
    }
    count_pids(stats, &s);
    stats_show(&stats->layout, &s, format);
    free(stats->ids);
    return STATUS_GOOD;
}
