/* SPDX-License-Identifier: MIT */
/*
 * score.c - how much better than chance a family of layouts explains IDs, and with which epoch.
 *
 * The score is that of a bet against random numbers. A family says how likely
 * it is to make these very IDs: times in a short span, few pids, sequences of
 * few bits. Random numbers are all equally likely. The logarithm of the
 * quotient is the score in bits. However a family spreads its likelihood, it
 * has one unit to spread, so random numbers reach b bits once in 2^b at most
 * (Markov's inequality). The difference of two scores compares two families.
 *
 * IDs do not have their epoch. Two things show it: the time of an ID that is
 * known, and IDs that were made just now, which only the right epoch dates so.
 * An hour is the limit. An epoch that somebody chose is a midnight somewhere
 * nearly always, and midnights of two zones are an hour apart or more.
 */
#include "decode/score.h"

#include "decode/order.h"

#include <stdlib.h>

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

/* log2(n!) */
static double factorial(size_t n) {
    static double table[GUESS_ROOM + 1];
    static size_t known = 1; /* 0! and 1! are 1 */
    for (; known < n; known++)
        table[known + 1] = table[known] + log2_of((double)(known + 1));
    return table[n];
}

/* ---- the epoch, by what is usual ------------------------------------------------ */

/* So unlikely is it that the clock of this host, or who knows a time, is wrong. */
#define WRONG_CLOCK 1e6

/* Small numbers are the first day of any epoch. They are counters, or anything. */
bool guess_makes_sense(const struct guess *guess, const struct family *family, int64_t epoch_ms) {
    return family->newest >= DAY && family->newest <= guess->now + MINUTE - epoch_ms &&
           family->oldest >= GUESS_SINCE - epoch_ms;
}

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

/* ---- the epoch, by known times ---------------------------------------------------- */

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
        if (memcmp(DATED(day) + 8, "01", 2) == 0 && n++ == 0)
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

/*
 * Finds what the times of the IDs, between oldest and newest, tell about the
 * epoch. Returns how much better than chance they are, in bits; *possible
 * becomes false if no epoch makes sense.
 */
static double judge_epoch(const struct guess *guess, struct family *family, bool *possible) {
    family->epoch = (struct epoch){.sure = false};
    const bool known = guess->knowns > 0 && !family->wide;
    const double chance = known ? judge_by_knowns(guess, family) : judge_by_age(guess, family);
    *possible = chance > 0;
    return chance > 0 ? log2_of(chance) + family->time_bits : 0;
}

/* ---- reading ------------------------------------------------------------------ */

static const struct view *view_of(const struct guess *guess, size_t family) {
    for (size_t i = 0; i < guess->layouts; i++)
        if (guess->candidate[i].family == family)
            return &guess->candidate[i].view;
    return NULL; /* a family has a layout */
}

bool guess_read(const struct guess *guess, size_t family, const sfid_wide *id, size_t count,
                struct reading *r) {
    const struct view *view = view_of(guess, family);
    r->count = count;
    r->changing = 0;
    for (size_t i = 0; i < count; i++) {
        struct taken taken;
        if (!view_take(view, id[i], &taken))
            return false;
        const int64_t since =
            taken.unix_ms - (view->wide ? view->wide_layout.epoch_ms : view->layout.epoch_ms);
        r->tick[i] = taken.tick;
        r->pid[i] = taken.pid;
        r->seq[i] = taken.seq;
        r->oldest = i == 0 ? since : r->oldest;
        r->newest = since;
        r->changing |= taken.tick ^ r->tick[0];
    }
    return true;
}

/* ---- what pids and sequences tell ---------------------------------------------- */

/*
 * Values that come again and again. The next one is new with chance 1/(n+1), or
 * else one of those before, as often as it came (a Chinese restaurant process).
 * Returns log2 of the chance of all, without which values they are.
 */
static double repeats(uint64_t *value, size_t count, size_t *distinct) {
    double sum = -factorial(count);
    *distinct = 0;
    sort_values(value, count);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && value[next] == value[i];)
            next++;
        sum += factorial(next - i - 1);
        ++*distinct;
    }
    return sum;
}

/* Values below a limit, all being about as likely. */
static double limited(const uint64_t *value, size_t count, unsigned width) {
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = value[i] > most ? value[i] : most;
    return (double)count * width - (double)(count + 1) * log2_of((double)most + 1) -
           log2_of(1 + 0.7 * width);
}

/* By their lengths in bits, since low numbers are usual. A length is like a value that repeats; the
 * rest of the digits is chance. */
static double lengths(const uint64_t *value, size_t count, unsigned width) {
    size_t times[65] = {0};
    double sum = -factorial(count);
    for (size_t i = 0; i < count; i++) {
        const unsigned length = value[i] == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value[i]);
        times[length]++;
        sum += (double)width - (length > 0 ? length - 1 : 0);
    }
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (times[i] > 0)
            sum += factorial(times[i] - 1) - log2_of(width + 1);
    return sum;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Bets a quarter each on values that repeat, on a limit, on low ones, and on chance. So the bet
 * never costs more than two bits. */
static double judge_field(uint64_t *value, size_t count, unsigned width, size_t *distinct) {
    if (width == 0)
        return 0;
    const double alike = repeats(value, count, distinct) + (double)(count - *distinct) * width;
    const double below = limited(value, count, width), low = lengths(value, count, width);
    return larger(larger(alike, below), larger(low, 0)) - 2;
}

/* All by themselves: pids and sequences have nothing to do with one another, nor with times. */
static double judge_fields(struct family *family, struct reading *r) {
    size_t pids = 0, seqs = 0;
    double sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += (double)r->seq[i];
    family->seq_mean = sum / (double)r->count;
    const double bits = judge_field(r->pid, r->count, family->pid_bits, &pids) +
                        judge_field(r->seq, r->count, family->seq_bits, &seqs);
    family->pids = (unsigned)pids;
    return bits;
}

/* ---- what times tell ------------------------------------------------------------ */

/* The newest is judged by its epoch. All lie in a span of any length, all lengths being about as
 * likely; any may be the newest. */
static double judge_span(const struct family *family, const struct reading *r) {
    const double count = (double)r->count, span = log2_of((double)family->span);
    return r->count < 2 ? 0
                        : (count - 1) * family->time_bits - count * span -
                              log2_of(1 + 0.7 * family->time_bits) - log2_of(count);
}

/* ---- what they tell together: batches ------------------------------------------------ */

struct place {
    uint64_t tick, pid, seq;
};

static int by_place(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    const int tick = (x->tick > y->tick) - (x->tick < y->tick),
              pid = (x->pid > y->pid) - (x->pid < y->pid);
    return tick ? tick : pid ? pid : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Values of one kind, to be judged by their lengths. */
struct kind {
    unsigned width;
    size_t count;
    uint64_t value[GUESS_ROOM];
};

static void note(struct kind *kind, uint64_t value) { kind->value[kind->count++] = value; }

static double judge_kind(struct kind *kind) {
    return kind->width == 0 || kind->count == 0 ? 0
                                                : lengths(kind->value, kind->count, kind->width);
}

/*
 * In order of tick, pid and sequence, each ID by what lies between it and the
 * one before. A process that makes many in a tick counts them up.
 */
static double judge_batches(const struct family *family, const struct reading *r) {
    enum { TICK, PID, PID_STEP, SEQ, SEQ_STEP, KINDS };
    static struct kind kind[KINDS];
    static struct place place[GUESS_ROOM];
    const unsigned width[KINDS] = {family->time_bits, family->pid_bits, family->pid_bits,
                                   family->seq_bits, family->seq_bits};
    for (int k = 0; k < KINDS; k++) {
        kind[k].width = width[k];
        kind[k].count = 0;
    }
    for (size_t i = 0; i < r->count; i++)
        place[i] = (struct place){r->tick[i], r->pid[i], r->seq[i]};
    qsort(place, r->count, sizeof *place, by_place);
    for (size_t i = 0; i < r->count; i++) {
        const struct place *p = &place[i], *before = &place[i > 0 ? i - 1 : 0];
        const bool tick = i > 0 && p->tick == before->tick, pid = tick && p->pid == before->pid;
        if (i > 0)
            note(&kind[TICK], p->tick - before->tick);
        note(&kind[tick ? PID_STEP : PID], tick ? p->pid - before->pid : p->pid);
        note(&kind[pid ? SEQ_STEP : SEQ], pid ? p->seq - before->seq : p->seq);
    }
    double sum = -factorial(r->count);
    for (int k = 0; k < KINDS; k++)
        sum += judge_kind(&kind[k]);
    return sum;
}

void guess_judge(struct guess *guess, size_t index, const sfid_wide *id, size_t count) {
    static struct reading r;
    struct family *family = &guess->family[index];
    family->possible = count > 0 && guess_read(guess, index, id, count, &r);
    if (!family->possible)
        return;
    family->ids = count;
    family->oldest = r.oldest;
    family->newest = r.newest;
    family->span = r.tick[count - 1] - r.tick[0] + 1;
    family->still = r.changing ? (unsigned)__builtin_ctzll(r.changing) : 0;
    const double batches = judge_batches(family, &r);
    family->epoch_bits = judge_epoch(guess, family, &family->possible);
    family->field_bits = judge_fields(family, &r); /* it sorts them */
    const double alone = judge_span(family, &r) + family->field_bits;
    family->bits = family->epoch_bits + (double)family->fixed_bits * (double)count +
                   larger(batches, alone) - 1;
}

/* ---- ranking ------------------------------------------------------------------ */

/* So far apart are families whose low bits tell nothing: up to 60 bits were measured. */
#define NOISE 80

/* Puts the best first. */
static void sort_families(const struct guess *guess, size_t order[GUESS_LAYOUTS], size_t n) {
    for (size_t i = 1; i < n; i++) {
        const size_t moved = order[i];
        size_t at = i;
        for (; at > 0 && guess->family[order[at - 1]].bits < guess->family[moved].bits; at--)
            order[at] = order[at - 1];
        order[at] = moved;
    }
}

static double bits_of_ids(const struct family *family) { return family->bits - family->epoch_bits; }

bool guess_shows_end(const struct family *family) {
    return family->wide || family->ids == 1 || family->field_bits >= AGAINST_OTHERS;
}

/*
 * If pids and sequences look random, nothing shows where the time ends: a clock
 * that ticks slower, with more bits below, makes the same IDs. What is left
 * between such families is noise, so their epochs alone tell them apart.
 */
static void level(struct guess *guess, size_t order[GUESS_LAYOUTS], size_t n) {
    const struct family *best = &guess->family[order[0]];
    const double most = bits_of_ids(best);
    double least = most;
    if (guess_shows_end(best))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            struct family *family = &guess->family[order[i]];
            const double bits = bits_of_ids(family);
            if (bits < most - NOISE)
                continue;
            if (pass == 0)
                least = bits < least ? bits : least;
            else
                family->bits = least + family->epoch_bits;
        }
    sort_families(guess, order, n);
}

size_t guess_rank(struct guess *guess, bool wide, const sfid_wide *id, size_t count,
                  size_t order[GUESS_LAYOUTS]) {
    size_t n = 0;
    for (size_t i = 0; i < guess->families; i++) {
        if (guess->family[i].wide != wide)
            continue;
        guess_judge(guess, i, id, count);
        if (!guess->family[i].possible)
            continue;
        order[n++] = i;
    }
    sort_families(guess, order, n);
    if (n > 0)
        level(guess, order, n);
    return n;
}

/* ---- the sample ------------------------------------------------------------------ */

static int by_id(const void *a, const void *b) {
    const sfid_wide x = *(const sfid_wide *)a, y = *(const sfid_wide *)b;
    return is_below(y, x) - is_below(x, y);
}

void guess_sort(struct sample *sample, const struct known *known, size_t knowns) {
    size_t distinct = 0;
    if (sample->count == 0)
        return;
    sample->id[sample->count++] = sample->least;
    sample->id[sample->count++] = sample->most;
    for (size_t i = 0; i < knowns; i++)
        sample->id[sample->count++] = (sfid_wide){0, known[i].id};
    qsort(sample->id, sample->count, sizeof *sample->id, by_id);
    for (size_t i = 0; i < sample->count; i++)
        if (i == 0 || !is_same(sample->id[i], sample->id[distinct - 1]))
            sample->id[distinct++] = sample->id[i];
    sample->count = distinct;
}
