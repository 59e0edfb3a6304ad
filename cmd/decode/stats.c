/* SPDX-License-Identifier: MIT */
/*
 * stats.c - statistics of many IDs: collects, counts and writes them.
 *
 * All IDs stay in memory, with eight or sixteen bytes each, since duplicates
 * may be any distance apart. Their order takes one or two more, see order.c.
 * Everything else comes from sorting them in place.
 */
#include "decode/stats.h"

#include "decode/order.h"
#include "io/json.h"
#include "io/say.h"
#include "text/show.h"

#include <inttypes.h>
#include <stdlib.h>

#define BURST 4 /* a burst is a second with more than this many times the mean */
#define HOT 2   /* a pid with more than this many times its share is hot */

struct pid_count {
    uint64_t pid;
    size_t count;
};

struct repeated {
    sfid_wide id;
    size_t count;
};

/* The most IDs of a second, of a pid in a second, of a pid in a tick. */
struct peak {
    size_t ids;
    int64_t at;
    uint64_t pid;
};

struct summary {
    uint64_t max_seq;
    size_t count, distinct, breaks, seconds, bursts, pids;
    size_t pid_seconds; /* pairs of a pid and a second with IDs */
    struct peak second_peak, pid_second_peak, tick_peak;
    int64_t first, last;
    size_t hot, gaps, repeats; /* entries in the lists below */
    struct pid_count hottest[STATS_SHOWN];
    struct span gap[STATS_SHOWN];
    struct repeated repeat[STATS_SHOWN];
    struct order order;
};

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

void stats_add(struct stats *stats, sfid_wide id) {
    stats->no_memory = stats->no_memory || !number_add(&stats->ids, id);
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

/* Returns where the run ends of those that are like number i, but for their lowest bits. */
static size_t run_end(const struct numbers *ids, size_t i, unsigned bits) {
    const sfid_wide first = above(number_at(ids, i), bits);
    while (++i < ids->count && is_same(above(number_at(ids, i), bits), first))
        ;
    return i;
}

static void count_repeats(const struct stats *stats, struct summary *s) {
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        end = run_end(&stats->ids, i, 0);
        s->distinct++;
        if (end - i > 1 && s->repeats < STATS_SHOWN)
            s->repeat[s->repeats++] =
                (struct repeated){id_of(stats, number_at(&stats->ids, i)), end - i};
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
        if (end - i > s->second_peak.ids)
            s->second_peak =
                (struct peak){end - i, second_of(stats, number_at(&stats->ids, i)) * 1000, 0};
    }
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        end = second_end(stats, i);
        s->bursts += (end - i) * s->seconds > stats->ids.count * BURST;
    }
}

static void count_ticks(const struct stats *stats, struct summary *s) {
    const unsigned low = stats->seq_bits + stats->random_bits;
    for (size_t i = 0, end; i < stats->ids.count; i = end) {
        const sfid_wide key = number_at(&stats->ids, i);
        end = run_end(&stats->ids, i, low);
        if (end - i > s->tick_peak.ids)
            s->tick_peak = (struct peak){end - i, time_of(stats, key), pid_of(stats, key)};
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
        end = run_end(ids, i, 0);
        s->pid_seconds++;
        if (end - i <= s->pid_second_peak.ids)
            continue;
        const int64_t group = (int64_t)above(key, stats->pid_bits).low,
                      at = long_ticks ? time_of(stats, first) +
                                            group * (int64_t)stats->view->layout.unit_ms
                                      : (second_of(stats, first) + group) * 1000;
        s->pid_second_peak = (struct peak){end - i, at, below(key, stats->pid_bits)};
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
        end = run_end(&pids, i, 0);
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

/* ---- writing ---------------------------------------------------------------- */

static bool is_hot(const struct summary *s, const struct pid_count *pid) {
    return pid->count * s->pids > s->count * HOT;
}

/* Thousandths, so that JSON and text agree to the digit. */
static unsigned per_mille(const struct summary *s, size_t count) {
    return (unsigned)((uint64_t)count * 1000 / s->count);
}

static void age_text(char text[40], int64_t ms) { *view_put_age(text, ms) = '\0'; }

static int64_t ms_of(const struct view *view, sfid_wide id) {
    struct taken taken = {.unix_ms = 0};
    return view_take(view, id, &taken) ? taken.unix_ms : 0;
}

static void id_text(struct view *view, char text[SFID_WIDE_TEXT_LEN], sfid_wide id) {
    *view_put_id(view, text, id) = '\0';
}

/* Writes the common name of a pid. Returns false if it has none. */
static bool pid_name(const struct view *view, uint64_t pid, char name[VIEW_PID_NAME]) {
    return view->wide && view_pid_name(view, &(struct taken){.pid = pid}, name);
}

/* ---- text ------------------------------------------------------------------ */

static void show_lists(struct view *view, const struct summary *s) {
    char span[40], id[SFID_WIDE_TEXT_LEN], name[VIEW_PID_NAME];
    for (size_t i = 0; i < s->hot; i++) {
        const struct pid_count *pid = &s->hottest[i];
        const unsigned share = per_mille(s, pid->count);
        const bool named = pid_name(view, pid->pid, name);
        out_print("%-14s  %" PRIu64 "%s%s%s: %zu IDs, %u.%u %%%s\n", "pid", pid->pid,
                  named ? " (" : "", named ? name : "", named ? ")" : "", pid->count, share / 10,
                  share % 10, is_hot(s, pid) ? ", hot" : "");
    }
    for (size_t i = 0; i < s->gaps; i++) {
        age_text(span, s->gap[i].to - s->gap[i].from);
        out_print("%-14s  %s, from %s to %s\n", "gap", span, DATED(s->gap[i].from),
                  DATED(s->gap[i].to));
    }
    for (size_t i = 0; i < s->repeats; i++) {
        id_text(view, id, s->repeat[i].id);
        out_print("%-14s  %s, %zu times\n", "duplicate", id, s->repeat[i].count);
    }
    for (size_t i = 0; i < s->order.shown; i++) {
        const struct misplaced *m = &s->order.list[i];
        id_text(view, id, m->id);
        out_print("%-14s  %s of %s, ID number %zu, is %zu place%s out of order\n", "order break",
                  id, DATED(ms_of(view, m->id)), m->number, m->places, m->places == 1 ? "" : "s");
    }
}

static void show_summary_text(struct view *view, const struct summary *s) {
    char span[40];
    out_print("%-14s  %zu\n", "IDs", s->count);
    if (s->count == 0)
        return;
    out_print("%-14s  %s\n", "first", DATED(s->first));
    out_print("%-14s  %s\n", "last", DATED(s->last));
    age_text(span, s->last - s->first);
    out_print("%-14s  %s\n", "span", span);
    out_print("%-14s  %zu\n", "duplicates", s->count - s->distinct);
    out_print("%-14s  %zu", "order breaks", s->breaks);
    if (s->breaks > 0)
        out_print(", the farthest by %zu place%s", s->order.farthest.places,
                  s->order.farthest.places == 1 ? "" : "s");
    out_print("\n%-14s  %zu on average over %zu seconds with IDs, %zu at most, at %s\n",
              "IDs per second", s->count / s->seconds, s->seconds, s->second_peak.ids,
              DATED(s->second_peak.at));
    out_print("%-14s  %zu seconds with over 4 times the average\n", "bursts", s->bursts);
    out_print("%-14s  %zu on average, %zu at most, pid %" PRIu64 " at %s\n", "pid and second",
              s->count / s->pid_seconds, s->pid_second_peak.ids, s->pid_second_peak.pid,
              DATED(s->pid_second_peak.at));
    out_print("%-14s  %zu of %" PRIu64 " at most, pid %" PRIu64 " at %s\n", "pid and tick",
              s->tick_peak.ids, s->max_seq + 1, s->tick_peak.pid, DATED(s->tick_peak.at));
    out_print("%-14s  %zu\n", "pids", s->pids);
    show_lists(view, s);
}

/* ---- JSON ------------------------------------------------------------------ */

static void put_time(const char *key, int64_t unix_ms) { json_text(key, DATED(unix_ms)); }

static void put_id(struct view *view, const char *key, sfid_wide id) {
    char text[SFID_WIDE_TEXT_LEN];
    id_text(view, text, id);
    json_text(key, text);
}

/* most: how many there can be; 0: any number. */
static void put_peak(const char *name, const struct peak *peak, bool of_pid, uint64_t most) {
    json_open(name, '{');
    json_uint("ids", peak->ids);
    if (most > 0)
        json_uint("of", most);
    if (of_pid)
        json_uint("pid", peak->pid);
    put_time("time", peak->at);
    json_close('}');
}

static void put_peaks(const struct summary *s) {
    json_uint("seconds", s->seconds);
    json_uint("ids_per_second", s->count / s->seconds);
    put_peak("second_peak", &s->second_peak, false, 0);
    json_uint("bursts", s->bursts);
    json_uint("ids_per_pid_and_second", s->count / s->pid_seconds);
    put_peak("pid_second_peak", &s->pid_second_peak, true, 0);
    put_peak("tick_peak", &s->tick_peak, true, s->max_seq + 1);
}

static void put_pids(const struct view *view, const struct summary *s) {
    char name[VIEW_PID_NAME];
    json_uint("pids", s->pids);
    json_open("hottest", '[');
    for (size_t i = 0; i < s->hot; i++) {
        json_open(NULL, '{');
        json_uint("pid", s->hottest[i].pid);
        if (pid_name(view, s->hottest[i].pid, name))
            json_text(view_pid_label(view), name);
        json_uint("ids", s->hottest[i].count);
        json_bool("hot", is_hot(s, &s->hottest[i]));
        json_close('}');
    }
    json_close(']');
}

static void put_lists(struct view *view, const struct summary *s) {
    json_open("gaps", '[');
    for (size_t i = 0; i < s->gaps; i++) {
        json_open(NULL, '{');
        put_time("from", s->gap[i].from);
        put_time("to", s->gap[i].to);
        json_int("ms", s->gap[i].to - s->gap[i].from);
        json_close('}');
    }
    json_close(']');
    json_open("duplicate_ids", '[');
    for (size_t i = 0; i < s->repeats; i++) {
        json_open(NULL, '{');
        put_id(view, "id", s->repeat[i].id);
        json_uint("times", s->repeat[i].count);
        json_close('}');
    }
    json_close(']');
    json_open("misplaced_ids", '[');
    for (size_t i = 0; i < s->order.shown; i++) {
        json_open(NULL, '{');
        put_id(view, "id", s->order.list[i].id);
        json_uint("number", s->order.list[i].number);
        json_uint("places", s->order.list[i].places);
        json_close('}');
    }
    json_close(']');
}

static void show_summary_json(struct view *view, const struct summary *s) {
    json_open(NULL, '{');
    if (view->name[0])
        json_text("layout", view->name);
    json_uint("ids", s->count);
    if (s->count > 0) {
        put_time("first", s->first);
        put_time("last", s->last);
        json_int("span_ms", s->last - s->first);
        json_uint("duplicates", s->count - s->distinct);
        json_uint("order_breaks", s->breaks);
        json_uint("farthest_break", s->order.farthest.places);
        put_peaks(s);
        put_pids(view, s);
        put_lists(view, s);
    }
    json_end();
}

/* ---- all of it -------------------------------------------------------------- */

int stats_report(struct stats *stats, enum view_format format) {
    static struct summary s;
    s = (struct summary){.count = stats->ids.count, .max_seq = stats->max_seq};
    if (stats->no_memory || !numbers_resize(&stats->ids, stats->ids.count) ||
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
    if (format == VIEW_JSON)
        show_summary_json(stats->view, &s);
    else
        show_summary_text(stats->view, &s);
    free(stats->ids.words);
    return STATUS_GOOD;
}
