/* SPDX-License-Identifier: MIT */
/*
 * score.c - how much better than chance a family of layouts explains IDs.
 *
 * The score is that of a bet against random numbers. A family says how likely
 * it is to make these very IDs: times in a short span, few pids, sequences of
 * few bits. Random numbers are all equally likely. The logarithm of the
 * quotient is the score in bits. However a family spreads its likelihood, it
 * has one unit to spread, so random numbers reach b bits once in 2^b at most
 * (Markov's inequality). The difference of two scores compares two families.
 */
#include "decode/score.h"

#include "decode/epoch.h"
#include "decode/order.h"

#include <stdlib.h>

/* log2(n!) */
static double factorial(size_t n) {
    static double table[GUESS_ROOM + 1];
    static size_t known = 1; /* 0! and 1! are 1 */
    for (; known < n; known++)
        table[known + 1] = table[known] + log2_of((double)(known + 1));
    return table[n];
}

/* ---- reading ------------------------------------------------------------------ */

const struct view *guess_view(const struct guess *guess, size_t family) {
    for (size_t i = 0; i < guess->layouts; i++)
        if (guess->candidate[i].family == family)
            return &guess->candidate[i].view;
    return NULL; /* a family has a layout */
}

bool guess_read(const struct guess *guess, size_t family, const sfid_wide *id, size_t count,
                struct reading *r) {
    const struct view *view = guess_view(guess, family);
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
    family->epoch_bits = guess_epoch(guess, family, &family->possible);
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
