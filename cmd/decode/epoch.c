/* SPDX-License-Identifier: MIT */
/*
 * epoch.c - finds the epoch of a family of layouts.
 *
 * IDs do not have their epoch. Two things show it: the time of an ID that is
 * known, and IDs that were made just now, which only the right epoch dates so.
 * An hour is the limit. An epoch that somebody chose is a midnight somewhere
 * nearly always, and midnights of two zones are an hour apart or more.
 */
#include "decode/epoch.h"

/* Without the library of mathematics, which the command would need for this alone. */
double log2_of(double value) {
    double sum = 0, bit = 0.5;
    for (; value >= 2; value /= 2)
        sum++;
    for (; value < 1; value *= 2)
        sum--;
    for (int i = 0; i < 40; i++, bit /= 2) {
        value *= value;
        if (value >= 2) {
            value /= 2;
            sum += bit;
        }
    }
    return sum;
}

/* So unlikely is it that the clock of this host, or who knows a time, is wrong. */
#define WRONG_CLOCK 1e6

/* Small numbers are the first day of any epoch. They are counters, or anything. */
bool guess_makes_sense(const struct guess *guess, const struct family *family, int64_t epoch_ms) {
    return family->newest >= DAY && family->newest <= guess->now + MINUTE - epoch_ms &&
           family->oldest >= GUESS_SINCE - epoch_ms;
}

/* ---- by what is usual ----------------------------------------------------------- */

/* How likely is it that a layout with a name made an ID of this tick? Ages are about as likely by
 * order of magnitude. */
static double likely(const struct guess *guess, const struct family *family, int64_t epoch_ms) {
    enum { MAGNITUDES = 20 }; /* ln(16 years / 1 second) */
    const int64_t age = guess->now - epoch_ms - family->newest;
    return (double)family->unit_ms / ((double)((age > 0 ? age : 0) + SECOND) * MAGNITUDES);
}

/* And an epoch since 1970 without a name? */
static double private(const struct guess *guess, const struct family *family) {
    double room = (double)guess->now;
    if (family->newest < DAY || family->newest > guess->now ||
        family->newest - family->oldest > guess->now - GUESS_SINCE)
        return 0;
    if (!family->wide && (double)family->shape.max_tick * family->unit_ms < room)
        room = (double)family->shape.max_tick * family->unit_ms;
    return (double)family->unit_ms / room;
}

static double judge_by_age(const struct guess *guess, struct family *family) {
    const size_t index = (size_t)(family - guess->family);
    double chance = family->fixed_epoch ? 0 : private(guess, family) / 2;
    const double share = (family->fixed_epoch ? 1.0 : 0.5) / (double)family->layouts;
    for (size_t i = 0; i < guess->layouts; i++) {
        const struct candidate *c = &guess->candidate[i];
        if (c->family != index || !guess_makes_sense(guess, family, c->epoch_ms))
            continue;
        chance += share * likely(guess, family, c->epoch_ms);
        if (!family->epoch.own &&
            (family->fixed_epoch || guess->now - c->epoch_ms - family->newest <= HOUR))
            family->epoch = (struct epoch){.sure = true, .ms = c->epoch_ms, .own = c};
    }
    return chance;
}

/* ---- by known times --------------------------------------------------------------- */

/* Finds the epochs that give each known ID its time. Returns false if there are none. */
static bool find_window(const struct guess *guess, const struct family *family, struct span *w) {
    *w = (struct span){0, INT64_MAX};
    for (size_t i = 0; i < guess->knowns; i++) {
        const struct known *known = &guess->known[i];
        const uint64_t tick = known->id >> family->shape.time_shift;
        if (tick > family->shape.max_tick)
            return false;
        const int64_t ms = (int64_t)tick * family->unit_ms;
        const int64_t from = known->from - ms - (family->unit_ms - 1) - guess->slack,
                      to = known->to - ms + guess->slack;
        w->from = from > w->from ? from : w->from;
        w->to = to < w->to ? to : w->to;
    }
    return w->from <= w->to;
}

/* Counts the multiples of a step, and sets the last one. */
static int64_t multiples(struct span w, int64_t step, int64_t *last) {
    *last = w.to / step * step;
    return w.to / step - (w.from + step - 1) / step + 1;
}

static int64_t first_days(struct span w, int64_t *last) {
    int64_t n = 0, day;
    multiples(w, DAY, &day);
    for (; day >= w.from; day -= DAY) {
        char text[DATE_ROOM];
        date_text(text, day);
        if (memcmp(text + 8, "01", 2) == 0 && n++ == 0)
            *last = day;
    }
    return n;
}

/*
 * People choose epochs: the first of a month, a midnight, at least a full half
 * hour. One of these counts if chance would hardly put it into the window.
 */
static double judge_round(const struct guess *guess, const struct family *family, struct span w,
                          struct epoch *epoch) {
    const double all = (double)guess->now, width = (double)(w.to - w.from + 1), any = width / all;
    double sum = any;
    int64_t last[3];
    const int64_t found[3] = {first_days(w, &last[0]), multiples(w, DAY, &last[1]),
                              multiples(w, HOUR / 2, &last[2])};
    const double length[3] = {30.44 * (double)DAY, (double)DAY, (double)HOUR / 2};
    *epoch = (struct epoch){.ms = w.from + (w.to - w.from) / 2, .within = (w.to - w.from + 1) / 2};
    epoch->sure = epoch->within <= 5 * SECOND + family->unit_ms;
    for (int i = 3; i-- > 0;) {
        const double share = (double)found[i] * length[i] / all;
        if (share > 10 * any)
            *epoch =
                (struct epoch){.sure = true, .round = true, .ms = last[i], .within = epoch->within};
        sum += share;
    }
    return sum / 4;
}

static double judge_by_knowns(const struct guess *guess, struct family *family) {
    const size_t index = (size_t)(family - guess->family);
    struct epoch *epoch = &family->epoch;
    struct span w;
    if (!find_window(guess, family, &w))
        return 0;
    double chance = judge_round(guess, family, w, epoch) / 2;
    for (size_t i = 0; i < guess->layouts; i++) {
        const struct candidate *c = &guess->candidate[i];
        if (c->family != index || c->epoch_ms < w.from || c->epoch_ms > w.to)
            continue;
        const bool first = epoch->own == NULL;
        const bool sure = first || (epoch->sure && epoch->ms == c->epoch_ms);
        *epoch = (struct epoch){.sure = sure,
                                .round = true,
                                .ms = c->epoch_ms,
                                .within = epoch->within,
                                .own = first ? c : epoch->own};
        chance += 0.5 / (double)family->layouts;
    }
    if (family->newest < DAY || epoch->ms + family->oldest + epoch->within < GUESS_SINCE)
        return 0;
    epoch->future = epoch->ms + family->newest > guess->now + MINUTE + epoch->within;
    if (epoch->future)
        chance /= WRONG_CLOCK;
    return chance * family->unit_ms / (double)(w.to - w.from + 1);
}

double guess_epoch(const struct guess *guess, struct family *family, bool *possible) {
    family->epoch = (struct epoch){.sure = false};
    const bool known = guess->knowns > 0 && !family->wide;
    const double chance = known ? judge_by_knowns(guess, family) : judge_by_age(guess, family);
    *possible = chance > 0;
    return chance > 0 ? log2_of(chance) + family->time_bits : 0;
}
