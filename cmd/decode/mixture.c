/* SPDX-License-Identifier: MIT */
/*
 * mixture.c - finds out whether IDs are of several layouts or makers.
 *
 * Most lie far apart, as their epochs do: strays are left out, and a gap parts
 * two groups.
 *
 * Most 64-bit layouts can read most other IDs; the time is then years off but
 * plausible. So a mixture may fit one layout, with times in groups that lie far
 * apart. The sign of a mixture: one of these groups covers the very days that
 * other layouts read from the other IDs.
 *
 * If two makers overlap, each ID goes to the family that is less surprised by
 * its pid and sequence, both families learn from their IDs, and so on. Then
 * both together have to explain all IDs better than one does, by more than it
 * costs to say which ID is whose; and better than one family with two habits,
 * as of busy and idle processes.
 */
#include "decode/mixture.h"

#include "decode/order.h"
#include "decode/score.h"

#include <stdlib.h>

/* ---- strays, and a gap ---------------------------------------------------------- */

static double distance(sfid_wide from, sfid_wide to) {
    return ((double)to.high - (double)from.high) * 0x1p64 + ((double)to.low - (double)from.low);
}

/* The distance of times that lie a hundredth of the time since the epoch apart: less does not mean
 * anything. */
static double margin(const struct body *body) {
    return distance((sfid_wide){0, 0}, body->id[body->count - 1]) / 100;
}

void body_leave_strays(struct body *body) {
    const size_t few = body->count / 20, most = body->count - few;
    const sfid_wide *id = body->id;
    size_t from = 0, to = body->count;
    for (size_t i = 1; i <= few; i++)
        if (distance(id[i], id[i + most - 1]) < distance(id[from], id[from + most - 1]))
            from = i;
    if (few == 0 ||
        distance(id[from], id[from + most - 1]) > distance(id[0], id[body->count - 1]) / 8)
        return;
    const double near = margin(body) + distance(id[from], id[from + most - 1]);
    to = from + most;
    while (from > 0 && distance(id[from - 1], id[to - 1]) < near)
        from--;
    while (to < body->count && distance(id[from], id[to]) < near)
        to++;
    *body = (struct body){id + from, to - from, body->count - (to - from)};
}

size_t body_find_gap(const struct body *body) {
    enum { ENOUGH = 16 };
    const size_t strays = body->count / 20, least = strays > 0 ? strays + 1 : 2;
    for (size_t i = least; body->count >= ENOUGH && i <= body->count - least; i++)
        if (distance(body->id[i - 1], body->id[i]) >
            distance(body->id[0], body->id[body->count - 1]) / 2)
            return distance(body->id[i - 1], body->id[i]) > margin(body) ? i : 0;
    return 0;
}

/* ---- several layouts, far apart in time --------------------------------------- */

#define NO_TIME INT64_MIN

/* The times of the sample in each layout; NO_TIME if the layout cannot read the ID, or the time
 * makes no sense. */
struct times {
    size_t count;
    int64_t time[GUESS_LAYOUTS][GUESS_ROOM];
};

static void read_sample(const struct guess *guess, struct times *r) {
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
static size_t find_best(const struct guess *guess, const struct times *r, const bool *left,
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
static bool cover(const struct guess *guess, const struct times *r, struct span span,
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
    static struct times r;
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

/* ---- two families among one another ------------------------------------------------ */

#define LENGTHS 65
#define ROUNDS 4
#define NOTHING (-1e9) /* bits of what is not possible */

enum { PID, SEQ, FIELDS };

/* What a family expects of a field: values that it has seen, lengths that it has seen, or
 * anything. */
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

static void note_values(const uint64_t *value, size_t count, unsigned bits, struct values *out) {
    static uint64_t sorted[GUESS_ROOM];
    memcpy(sorted, value, count * sizeof *value);
    sort_values(sorted, count);
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

static void learn(const struct guess *guess, size_t family, const sfid_wide *id, size_t count,
                  struct lesson *lesson) {
    static struct reading r;
    const struct family *f = &guess->family[family];
    lesson->possible = !f->wide && guess_read(guess, family, id, count, &r);
    if (!lesson->possible)
        return;
    note_values(r.pid, count, f->pid_bits, &lesson->field[PID]);
    note_values(r.seq, count, f->seq_bits, &lesson->field[SEQ]);
    lesson->time = log2_of((double)(((id[count - 1].low - id[0].low) >> f->shape.time_shift) + 1));
}

/* How many bits a field of an ID takes. `own`: the ID is one of those that the family has seen, and
 * does not count. */
static double measure(const struct values *values, const struct tally *tally, int f,
                      enum habit habit, size_t i, bool own) {
    const double all = logarithm[tally->count + 1 - own],
                 rest = values->length[i] ? values->length[i] - 1 : 0;
    const size_t times = tally->field[f].number[values->number[i]] - (size_t)own;
    const size_t alike = tally->field[f].length[values->length[i]] - (size_t)own;
    if (habit == ANYTHING)
        return values->bits;
    if (habit == NUMBERS)
        return times ? all - logarithm[times] : all + values->bits;
    return rest + all - (alike ? logarithm[alike] : -logarithm[values->bits + 1]);
}

/* Learns from the IDs of one of two families, those where owner[i] == which. */
static void recount(const struct lesson *lesson, const bool *owner, bool which, size_t count,
                    struct tally *tally) {
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

/* Which IDs are the second family's, and how sure that is, in bits: below 0 for these. */
struct shares {
    bool second[GUESS_ROOM];
    double margin[GUESS_ROOM];
};

/*
 * Shares the IDs out. At first both families learn from all IDs, or the second
 * one from those that are unusual for the first: each finds what the other misses.
 */
static void share_out(const struct lesson *a, const struct lesson *b, size_t count, bool unusual,
                      struct shares *out) {
    static struct tally tally[2];
    bool *second = out->second;
    double sum = 0;
    memset(out, 0, sizeof *out);
    recount(a, second, false, count, &tally[0]);
    for (size_t i = 0; i < count; i++)
        sum += surprise(a, &tally[0], i, true);
    for (size_t i = 0; i < count; i++)
        second[i] = unusual && surprise(a, &tally[0], i, true) > sum / (double)count;
    recount(a, second, false, count, &tally[0]);
    recount(b, second, unusual, count, &tally[1]);
    for (int round = 0; round < ROUNDS; round++) {
        const bool all = round == 0 && !unusual;
        for (size_t i = 0; i < count; i++) {
            const bool was = second[i];
            out->margin[i] =
                surprise(b, &tally[1], i, all || was) - surprise(a, &tally[0], i, all || !was);
            second[i] = out->margin[i] < 0;
        }
        recount(a, second, false, count, &tally[0]);
        recount(b, second, true, count, &tally[1]);
    }
}

/* Judges the IDs of one of the two, less what it takes to say that they are its. */
static double judge_share(struct guess *guess, size_t family, const sfid_wide *id, size_t count,
                          const struct shares *shares, bool which) {
    enum { LEAST = 8 };
    static sfid_wide own[GUESS_ROOM];
    size_t share = 0;
    for (size_t i = 0; i < count; i++)
        if (shares->second[i] == which)
            own[share++] = id[i];
    guess_judge(guess, family, own, share);
    if (share < LEAST || !guess->family[family].possible)
        return NOTHING;
    return guess->family[family].bits - (double)share * (logarithm[count] - logarithm[share]);
}

/* Returns how well the best family and another explain the IDs together, or NOTHING. */
static double judge_pair(struct guess *guess, size_t best, size_t other, const sfid_wide *id,
                         size_t count, struct shares *out) {
    static struct lesson lesson[2];
    static struct shares shares;
    double most = NOTHING;
    learn(guess, best, id, count, &lesson[0]);
    learn(guess, other, id, count, &lesson[1]);
    for (int unusual = 0; lesson[1].possible && unusual < 2; unusual++) {
        share_out(&lesson[0], &lesson[1], count, unusual, &shares);
        const double bits = judge_share(guess, best, id, count, &shares, false) - logarithm[count] +
                            judge_share(guess, other, id, count, &shares, true);
        if (bits <= most)
            continue;
        most = bits;
        *out = shares;
    }
    return most;
}

static void describe(const struct guess *guess, const sfid_wide *id, size_t count,
                     const struct shares *shares, struct pair *pair) {
    enum { SURE = 4 };
    size_t first = 0, clear[2] = {0, 0};
    bool known[2] = {false, false};
    for (size_t i = 0; i < count; i++) {
        const double margin = shares->margin[i];
        first += !shares->second[i];
        clear[0] = margin > shares->margin[clear[0]] ? i : clear[0];
        clear[1] = margin < shares->margin[clear[1]] ? i : clear[1];
        for (size_t k = 0; k < guess->knowns; k++)
            if (guess->known[k].id == id[i].low && (margin < -SURE || margin > SURE))
                known[shares->second[i]] = true;
    }
    pair->percent = (unsigned)(first * 100 / count);
    pair->example[0] = id[clear[0]].low;
    pair->example[1] = id[clear[1]].low;
    pair->known = known[0] && known[1];
}

bool guess_find_pair(struct guess *guess, size_t best, const sfid_wide *id, size_t count,
                     struct pair *pair) {
    enum { ENOUGH = 32, EVIDENCE = 20 };
    static struct shares shares, found;
    const struct family judged = guess->family[best];
    const size_t knowns = guess->knowns;
    double two = NOTHING;
    if (count < ENOUGH)
        return false;
    for (size_t i = 1; i < COUNT_OF(logarithm); i++)
        logarithm[i] = log2_of((double)i);
    guess->knowns = 0; /* they are of one of the two */
    guess_judge(guess, best, id, count);
    const double one = guess->family[best].bits;
    for (size_t other = 0; other < guess->families; other++) {
        const double bits =
            other == best ? NOTHING : judge_pair(guess, best, other, id, count, &shares);
        if (bits <= two)
            continue;
        two = bits;
        found = shares;
        *pair = (struct pair){PAIR_LAYOUTS, {best, other}, 0, {0, 0}, false};
    }
    const double habits = judge_pair(guess, best, best, id, count, &shares);
    if (habits > two - EVIDENCE)
        pair->kind = PAIR_EITHER;
    if (habits > two + EVIDENCE) {
        found = shares;
        *pair = (struct pair){PAIR_HABITS, {best, best}, 0, {0, 0}, false};
    }
    guess->knowns = knowns;
    guess->family[best] = judged;
    if (two <= one + EVIDENCE && habits <= one + EVIDENCE)
        return false;
    describe(guess, id, count, &found, pair);
    return true;
}
