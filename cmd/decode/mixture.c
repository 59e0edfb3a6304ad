/* SPDX-License-Identifier: MIT */
/*
 * mixture.c - finds out whether IDs are a mixture of several layouts.
 *
 * Most 64-bit layouts can read most other IDs; the time is then years off but
 * plausible. So a mixture may fit one layout, with times in groups that lie far
 * apart. The sign of a mixture: one of these groups covers the very days that
 * other layouts read from the other IDs.
 */
#include "decode/mixture.h"

#include "decode/order.h"

#include <stdlib.h>

#define NO_TIME INT64_MIN

/* The times of the sample in each layout; NO_TIME if the layout cannot read the ID, or the time
 * makes no sense. */
struct reading {
    size_t count;
    int64_t time[GUESS_LAYOUTS][GUESS_ROOM];
};

static void read_sample(const struct guess *guess, struct reading *r) {
    r->count = guess->narrow.count;
    for (size_t i = 0; i < guess->layouts; i++) {
        const struct candidate *c = &guess->candidate[i];
        for (size_t n = 0; n < r->count; n++) {
            struct taken taken;
            const bool sane = !c->view.wide && view_take(&c->view, guess->narrow.id[n], &taken) &&
                              taken.unix_ms <= guess->now + MINUTE &&
                              taken.unix_ms >= GUESS_SINCE && taken.unix_ms >= c->epoch_ms + DAY;
            r->time[i][n] = sane ? taken.unix_ms : NO_TIME;
        }
    }
}

/* ---- groups ----------------------------------------------------------------- */

/* Sorts the times and leaves out NO_TIME. Returns how many remain. */
static size_t sort_times(const int64_t *time, size_t count, int64_t sorted[GUESS_ROOM]) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (time[i] != NO_TIME)
            sorted[n++] = time[i];
    sort_values((uint64_t *)sorted, n); /* all are after 1970 */
    return n;
}

/*
 * Finds the newest group: at most a year of times, with no gap of a month.
 * Returns false if it holds all IDs, or if the others are less than twice its
 * length away: then it is the history of one layout.
 */
static bool find_group(const int64_t *time, size_t count, struct span *group) {
    int64_t sorted[GUESS_ROOM];
    const size_t n = sort_times(time, count, sorted);
    if (n == 0)
        return false;
    size_t first = n - 1;
    while (first > 0 && sorted[first] - sorted[first - 1] <= 30 * DAY)
        first--;
    *group = (struct span){sorted[first], sorted[n - 1]};
    const int64_t length = group->to - group->from;
    if (length > 365 * DAY || (first == 0 && n == count))
        return false;
    return first == 0 || (sorted[first] - sorted[first - 1]) / 2 > length;
}

/* ---- layouts that share one time -------------------------------------------- */

static size_t count_in(const int64_t *time, const bool *left, size_t count, struct span span) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += left[i] && time[i] >= span.from && time[i] <= span.to;
    return n;
}

static void take_in(const int64_t *time, bool *left, size_t count, struct span span) {
    for (size_t i = 0; i < count; i++)
        left[i] = left[i] && !(time[i] >= span.from && time[i] <= span.to);
}

/* Finds the layout with the most IDs in the span, the first one if equal. Returns how many IDs it
 * has. */
static size_t find_best(const struct guess *guess, const struct reading *r, const bool *left,
                        struct span span, size_t *best) {
    size_t most = 0;
    for (size_t i = 0; i < guess->layouts; i++) {
        const size_t n = count_in(r->time[i], left, r->count, span);
        if (n > most) {
            most = n;
            *best = i;
        }
    }
    return most;
}

/* Assigns as many IDs as possible to one layout, the rest to another, and so on. Returns false
 * unless nearly all are assigned. */
static bool cover(const struct guess *guess, const struct reading *r, struct span span,
                  struct mixture *out) {
    bool left[GUESS_ROOM];
    size_t rest = r->count, least = r->count / 20;
    memset(left, true, sizeof left);
    out->parts = 0;
    while (rest > least && out->parts < GUESS_PARTS) {
        size_t best = 0;
        const size_t n = find_best(guess, r, left, span, &best);
        if (n < 2) /* a single ID may be there by chance */
            return false;
        out->layout[out->parts] = best;
        out->percent[out->parts++] = (unsigned)((n * 100 + r->count / 2) / r->count);
        take_in(r->time[best], left, r->count, span);
        rest -= n;
    }
    return rest <= least && out->parts > 1;
}

bool guess_find_mixture(const struct guess *guess, struct mixture *out) {
    static struct reading r;
    struct mixture found;
    struct span group;
    out->parts = 0;
    if (guess->narrow.count < GUESS_SOME)
        return false;
    read_sample(guess, &r);
    for (size_t i = 0; i < guess->layouts; i++) {
        if (!find_group(r.time[i], r.count, &group))
            continue;
        /* a small margin around the group */
        const int64_t about = DAY + (group.to - group.from) / 20;
        if (!cover(guess, &r, (struct span){group.from - about, group.to + about}, &found))
            continue;
        found.from = group.from - about;
        found.to = group.to + about;
        found.last = group.to;
        if (out->parts == 0 || found.parts < out->parts ||
            (found.parts == out->parts && found.last > out->last))
            *out = found;
    }
    return out->parts > 0;
}
