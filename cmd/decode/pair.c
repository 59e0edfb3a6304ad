/* SPDX-License-Identifier: MIT */
/*
 * pair.c - finds IDs of two families among one another.
 *
 * Numbers of two makers mostly lie far apart, as their epochs do, and guess.c
 * sees the gap. If they overlap, each ID goes to the family that is less
 * surprised by its pid and sequence, both families learn from their IDs, and
 * so on. Then both together have to explain all IDs better than one does, by
 * more than it costs to say which ID is whose.
 */
#include "decode/all.h"

#define LENGTHS 65
#define ROUNDS 4

enum { PID, SEQ, FIELDS };

/* What a family expects of a field: values that it has seen, lengths that it has seen, or anything. */
enum habit { NUMBERS, LENGTHS_ALIKE, ANYTHING, HABITS };

/* The values of a field, as numbers from 0 on, and their lengths in bits. */
struct values {
    unsigned bits;
    uint16_t number[GUESS_ROOM];
    uint8_t length[GUESS_ROOM];
};

/* IDs as one family reads them. */
struct lesson {
    bool possible;
    double time; /* bits that a time takes */
    struct values field[FIELDS];
};

/* How often a family has seen each of them. */
struct tally {
    size_t count;
    struct {
        enum habit habit;
        uint16_t number[GUESS_ROOM], length[LENGTHS];
    } field[FIELDS];
};

static double logarithm[GUESS_ROOM + 2];

/* ---- learning ------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void note_values(const uint64_t *value, size_t count, unsigned bits, struct values *out) {
    static uint64_t sorted[GUESS_ROOM];
    memcpy(sorted, value, count * sizeof *value);
    qsort(sorted, count, sizeof *sorted, by_value);
    out->bits = bits;
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = count;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (sorted[middle] < value[i])
                low = middle + 1;
            else
                high = middle;
        }
        out->number[i] = (uint16_t)low;
        out->length[i] = (uint8_t)(value[i] == 0 ? 0 : 64 - __builtin_clzll(value[i]));
    }
}

static void learn(const struct guess *guess, size_t family, const sfid_wide *id, size_t count, struct lesson *lesson) {
    static uint64_t value[FIELDS][GUESS_ROOM];
    const struct family *f = &guess->family[family];
    lesson->possible = !f->wide;
    for (size_t i = 0; lesson->possible && i < count; i++) {
        struct taken taken;
        lesson->possible = view_take(guess_view(guess, family), id[i], &taken);
        value[PID][i] = taken.pid;
        value[SEQ][i] = taken.seq;
    }
    if (!lesson->possible)
        return;
    note_values(value[PID], count, f->pid_bits, &lesson->field[PID]);
    note_values(value[SEQ], count, f->seq_bits, &lesson->field[SEQ]);
    lesson->time = log2_of((double)(((id[count - 1].low - id[0].low) >> f->shape.time_shift) + 1));
}

/* How many bits a field of an ID takes. `own`: the ID is one of those that the family has seen, and does not count. */
static double measure(const struct values *values, const struct tally *tally, int f, enum habit habit, size_t i, bool own) {
    const double all = logarithm[tally->count + 1 - own], rest = values->length[i] ? values->length[i] - 1 : 0;
    const size_t times = tally->field[f].number[values->number[i]] - (size_t)own;
    const size_t alike = tally->field[f].length[values->length[i]] - (size_t)own;
    if (habit == ANYTHING)
        return values->bits;
    if (habit == NUMBERS)
        return times ? all - logarithm[times] : all + values->bits;
    return rest + all - (alike ? logarithm[alike] : -logarithm[values->bits + 1]);
}

/* Learns from the IDs of one of two families, those where owner[i] == which. */
static void recount(const struct lesson *lesson, const bool *owner, bool which, size_t count, struct tally *tally) {
    memset(tally, 0, sizeof *tally);
    for (size_t i = 0; i < count; i++) {
        if (owner[i] != which)
            continue;
        tally->count++;
        for (int f = 0; f < FIELDS; f++) {
            tally->field[f].number[lesson->field[f].number[i]]++;
            tally->field[f].length[lesson->field[f].length[i]]++;
        }
    }
    for (int f = 0; f < FIELDS; f++) {
        double least = -1;
        for (enum habit habit = NUMBERS; habit < HABITS; habit++) {
            double sum = 0;
            for (size_t i = 0; i < count; i++)
                if (owner[i] == which)
                    sum += measure(&lesson->field[f], tally, f, habit, i, true);
            if (least < 0 || sum < least) {
                least = sum;
                tally->field[f].habit = habit;
            }
        }
    }
}

static double surprise(const struct lesson *lesson, const struct tally *tally, size_t i, bool own) {
    double sum = lesson->time;
    for (int f = 0; f < FIELDS; f++)
        sum += measure(&lesson->field[f], tally, f, tally->field[f].habit, i, own);
    return sum;
}

/* ---- two families ----------------------------------------------------------------- */

/* Shares the IDs out. */
static void share_out(const struct lesson *a, const struct lesson *b, size_t count, bool second[GUESS_ROOM]) {
    static struct tally tally[2];
    memset(second, 0, GUESS_ROOM * sizeof *second);
    recount(a, second, false, count, &tally[0]);
    recount(b, second, false, count, &tally[1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            const bool was = second[i];
            second[i] = surprise(a, &tally[0], i, round == 0 || !was) > surprise(b, &tally[1], i, round == 0 || was);
        }
        recount(a, second, false, count, &tally[0]);
        recount(b, second, true, count, &tally[1]);
    }
}

/* Judges the IDs of one of the two, less what it takes to say that they are its. */
static double judge_share(struct guess *guess, size_t family, const sfid_wide *id, size_t count, const bool *second, bool which,
                          size_t *share) {
    static sfid_wide own[GUESS_ROOM];
    *share = 0;
    for (size_t i = 0; i < count; i++)
        if (second[i] == which)
            own[(*share)++] = id[i];
    guess_judge(guess, family, own, *share);
    return guess->family[family].possible ? guess->family[family].bits - (double)*share * (logarithm[count] - logarithm[*share])
                                          : 0;
}

bool guess_find_pair(struct guess *guess, size_t best, const sfid_wide *id, size_t count, struct pair *pair) {
    enum { ENOUGH = 32, LEAST = 8, EVIDENCE = 20 };
    static struct lesson lesson[2];
    static bool second[GUESS_ROOM];
    const struct family judged = guess->family[best];
    const size_t knowns = guess->knowns;
    bool found = false;
    if (count < ENOUGH)
        return false;
    for (size_t i = 1; i < COUNT_OF(logarithm); i++)
        logarithm[i] = log2_of((double)i);
    guess->knowns = 0; /* they are of one of the two */
    guess_judge(guess, best, id, count);
    double most = guess->family[best].bits + EVIDENCE;
    learn(guess, best, id, count, &lesson[0]);
    for (size_t other = 0; other < guess->families; other++) {
        size_t shares[2];
        learn(guess, other, id, count, &lesson[1]);
        if (other == best || !lesson[1].possible)
            continue;
        share_out(&lesson[0], &lesson[1], count, second);
        const double bits = judge_share(guess, best, id, count, second, false, &shares[0]) - logarithm[count] +
                            judge_share(guess, other, id, count, second, true, &shares[1]);
        if (bits <= most || shares[0] < LEAST || shares[1] < LEAST)
            continue;
        most = bits;
        found = true;
        *pair = (struct pair){{best, other}, (unsigned)(shares[0] * 100 / count)};
    }
    guess->knowns = knowns;
    guess->family[best] = judged;
    return found;
}
