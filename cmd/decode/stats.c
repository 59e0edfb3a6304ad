/* SPDX-License-Identifier: MIT */
/*
 * stats.c - collects statistics of many IDs.
 *
 * All IDs stay in memory, with eight or sixteen bytes each, since duplicates
 * may be any distance apart. Their order takes one or two more, see order.c.
 * Everything else comes from sorting them in place.
 */
#include "decode/stats.h"

#include "decode/order.h"
#include "decode/summary.h"
#include "io/say.h"

#include <stdlib.h>

#define BURST 4 /* a burst is a second with more than this many times the mean */

static unsigned bits_of(uint64_t max) { return max ? 64 - (unsigned)__builtin_clzll(max) : 0; }

void stats_begin(struct stats *stats, struct view *view) {
    const sfid_layout *l = &view->layout;
    sfid_wide_facts facts;
    *stats = (struct stats){.ids.wide = view->wide,
                            .view = view,
                            .pid_bits = l->pid_bits,
                            .seq_bits = l->seq_bits,
                            .max_seq = l->max_seq};
    if (!view->wide || sfid_wide_layout_describe(&view->wide_layout, &facts) < 0)
        return;
    stats->pid_bits = bits_of(facts.max_pid);
    stats->seq_bits = bits_of(facts.max_seq);
    stats->random_bits = bits_of(facts.max_random);
    stats->max_seq = facts.max_seq;
}

static bool resize(struct numbers *ids, size_t room) {
    uint64_t *words = realloc(ids->words, (room + 1) * sizeof *words << ids->wide);
    if (words) {
        ids->words = words;
        ids->room = room;
    }
    return words != NULL;
}

void stats_add(struct stats *stats, sfid_wide id) {
    struct numbers *ids = &stats->ids;
    /* The kernel moves large blocks without a copy. */
    if (ids->count == ids->room &&
        (stats->no_memory || !resize(ids, ids->room + ids->room / 8 + 65536))) {
        stats->no_memory = true;
        return;
    }
    number_set(ids, ids->count++, id);
}

/* ---- keys: from the top down time, pid, sequence, and what is random --------- */

static sfid_wide append(sfid_wide v, uint64_t value, unsigned bits) {
    if (bits == 0)
        return v;
    return (sfid_wide){v.high << bits | v.low >> (64 - bits), v.low << bits | value};
}

/* Drops the lowest bits. */
static sfid_wide above(sfid_wide v, unsigned bits) {
    if (bits >= 64)
        return (sfid_wide){0, v.high >> (bits - 64)};
    return bits == 0 ? v : (sfid_wide){v.high >> bits, v.low >> bits | v.high << (64 - bits)};
}

static uint64_t below(sfid_wide v, unsigned bits) { return v.low & ((UINT64_C(1) << bits) - 1); }

static void to_keys(struct stats *stats) {
    struct taken t;
    for (size_t i = 0; i < stats->ids.count; i++)
        /* always true, as when it was added */
        if (view_take(stats->view, number_at(&stats->ids, i), &t))
            number_set(&stats->ids, i,
                       append(append(append((sfid_wide){0, t.tick}, t.pid, stats->pid_bits), t.seq,
                                     stats->seq_bits),
                              t.random, stats->random_bits));
}

static uint64_t pid_of(const struct stats *stats, sfid_wide key) {
    return below(above(key, stats->seq_bits + stats->random_bits), stats->pid_bits);
}

static int64_t time_of(const struct stats *stats, sfid_wide key) {
    const struct view *view = stats->view;
    const int64_t tick =
        (int64_t)above(key, stats->pid_bits + stats->seq_bits + stats->random_bits).low;
    return view->wide ? view->wide_layout.epoch_ms + tick
                      : view->layout.epoch_ms + tick * (int64_t)view->layout.unit_ms;
}

static int64_t second_of(const struct stats *stats, sfid_wide key) {
    const int64_t ms = time_of(stats, key);
    return ms / 1000 - (ms % 1000 < 0);
}

static sfid_wide id_of(const struct stats *stats, sfid_wide key) {
    const uint64_t tick = above(key, stats->pid_bits + stats->seq_bits + stats->random_bits).low,
                   pid = pid_of(stats, key),
                   seq = below(above(key, stats->random_bits), stats->seq_bits),
                   random = below(key, stats->random_bits);
    sfid_wide id = {0, 0};
    int64_t narrow = 0;
    if (stats->view->wide)
        return sfid_wide_compose(&stats->view->wide_layout,
                                 &(sfid_wide_parts){tick, pid, seq, random, 0}, &id) < 0
                   ? key
                   : id;
    return sfid_compose(&stats->view->layout, &(sfid_parts){tick, pid, seq, 0}, &narrow) < 0
               ? key
               : (sfid_wide){0, (uint64_t)narrow};
}

/* ---- runs of sorted keys --------------------------------------------------- */

static void count_repeats(const struct stats *stats, struct summary *s) {
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        const sfid_wide key = number_at(&stats->ids, i);
        for (end = i + 1; end < stats->ids.count && is_same(number_at(&stats->ids, end), key);
             end++)
            ;
        s->distinct++;
        if (end - i > 1 && s->repeats < STATS_SHOWN)
            s->repeat[s->repeats++] = (struct repeated){id_of(stats, key), end - i};
    }
}

static size_t second_end(const struct stats *stats, size_t i) {
    const int64_t second = second_of(stats, number_at(&stats->ids, i));
    while (i < stats->ids.count && second_of(stats, number_at(&stats->ids, i)) == second)
        i++;
    return i;
}

static void count_seconds(const struct stats *stats, struct summary *s) {
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        end = second_end(stats, i);
        s->seconds++;
        if (end - i > s->second_peak) {
            s->second_peak = end - i;
            s->second_peak_at = second_of(stats, number_at(&stats->ids, i)) * 1000;
        }
    }
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        end = second_end(stats, i);
        s->bursts += (end - i) * s->seconds > stats->ids.count * BURST;
    }
}

static void count_ticks(const struct stats *stats, struct summary *s) {
    const unsigned low = stats->seq_bits + stats->random_bits;
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        const sfid_wide key = number_at(&stats->ids, i), tick = above(key, low);
        for (end = i + 1;
             end < stats->ids.count && is_same(above(number_at(&stats->ids, end), low), tick);
             end++)
            ;
        if (end - i > s->tick_peak) {
            s->tick_peak = end - i;
            s->tick_peak_pid = pid_of(stats, key);
            s->tick_peak_at = time_of(stats, key);
        }
    }
}

static void find_gaps(const struct stats *stats, struct summary *s) {
    for (size_t i = 1; i < stats->ids.count; i++) {
        const struct span gap = {time_of(stats, number_at(&stats->ids, i - 1)),
                                 time_of(stats, number_at(&stats->ids, i))};
        const bool full = s->gaps == STATS_SHOWN;
        if (gap.to - gap.from <= 1000 ||
            (full && gap.to - gap.from <= s->gap[s->gaps - 1].to - s->gap[s->gaps - 1].from))
            continue;
        size_t at = full ? s->gaps - 1 : s->gaps++;
        for (; at > 0 && s->gap[at - 1].to - s->gap[at - 1].from < gap.to - gap.from; at--)
            s->gap[at] = s->gap[at - 1];
        s->gap[at] = gap;
    }
}

/*
 * Counts what each pid generated in each second. Pairs of second and pid
 * replace the keys. Seconds count from the first ID, and a longer tick counts
 * as a second, so that the pairs fit where the keys did.
 */
static void count_pid_seconds(struct stats *stats, struct summary *s) {
    struct numbers *ids = &stats->ids;
    const unsigned low = stats->pid_bits + stats->seq_bits + stats->random_bits;
    const bool long_ticks = !stats->view->wide && stats->view->layout.unit_ms >= 1000;
    const sfid_wide first = ids->count > 0 ? number_at(ids, 0) : (sfid_wide){0, 0};
    for (size_t i = 0; i < ids->count; i++) {
        const sfid_wide key = number_at(ids, i);
        const uint64_t group = long_ticks
                                   ? above(key, low).low - above(first, low).low
                                   : (uint64_t)(second_of(stats, key) - second_of(stats, first));
        number_set(ids, i, append((sfid_wide){0, group}, pid_of(stats, key), stats->pid_bits));
    }
    sort_numbers(ids);
    for (size_t i = 0, end; i < ids->count; i = end) {
        const sfid_wide key = number_at(ids, i);
        for (end = i + 1; end < ids->count && is_same(number_at(ids, end), key); end++)
            ;
        s->pid_seconds++;
        if (end - i <= s->pid_second_peak)
            continue;
        const int64_t group = (int64_t)above(key, stats->pid_bits).low;
        s->pid_second_peak = end - i;
        s->pid_second_peak_pid = below(key, stats->pid_bits);
        s->pid_second_peak_at =
            long_ticks ? time_of(stats, first) + group * (int64_t)stats->view->layout.unit_ms
                       : (second_of(stats, first) + group) * 1000;
    }
}

/* Counts the IDs of each pid. The pids replace the keys, which are pairs of second and pid by
 * now. */
static void count_pids(struct stats *stats, struct summary *s) {
    struct numbers pids = {stats->ids.words, stats->ids.count, stats->ids.room, false};
    for (size_t i = 0; i < pids.count; i++)
        number_set(&pids, i, (sfid_wide){0, below(number_at(&stats->ids, i), stats->pid_bits)});
    sort_numbers(&pids);
    for (size_t i = 0, end; i < pids.count; i = end) {
        for (end = i + 1; end < pids.count && pids.words[end] == pids.words[i]; end++)
            ;
        const struct pid_count found = {pids.words[i], end - i};
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
    s = (struct summary){.count = stats->ids.count, .max_seq = stats->max_seq};
    if (stats->no_memory || !resize(&stats->ids, stats->ids.count) ||
        !stats_order(&stats->ids, &s.order)) {
        say("--stats: out of memory after %zu IDs", stats->ids.count);
        free(stats->ids.words);
        return STATUS_INTERNAL;
    }
    to_keys(stats);
    sort_numbers(&stats->ids);
    count_repeats(stats, &s);
    s.breaks = s.distinct - s.order.in_order;
    count_seconds(stats, &s);
    count_ticks(stats, &s);
    find_gaps(stats, &s);
    if (stats->ids.count > 0) {
        s.first = time_of(stats, number_at(&stats->ids, 0));
        s.last = time_of(stats, number_at(&stats->ids, stats->ids.count - 1));
    }
    count_pid_seconds(stats, &s);
    count_pids(stats, &s);
    stats_show(stats->view, &s, format);
    free(stats->ids.words);
    return STATUS_GOOD;
}
