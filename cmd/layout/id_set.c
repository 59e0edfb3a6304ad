/* SPDX-License-Identifier: MIT */
/*
 * id_set.c - the IDs of a layout as a set of numbers: whether two sets are in order, and where they
 * meet.
 *
 * Nothing is sampled, and no loop runs over ticks or IDs: the sets have up to 2^128 members.
 */
#include "layout/id_set.h"

/* ---- numbers ----------------------------------------------------------------- */

static uint64_t ones(unsigned bits) { return bits == 0 ? 0 : ~UINT64_C(0) >> (64 - bits); }

/* The 64 bits from `shift` up. */
static uint64_t from(sfid_wide id, unsigned shift) {
    if (shift >= 64)
        return id.high >> (shift - 64);
    return shift == 0 ? id.low : id.low >> shift | id.high << (64 - shift);
}

static void put(sfid_wide *id, uint64_t value, unsigned shift) {
    if (shift >= 64) {
        id->high |= value << (shift - 64);
        return;
    }
    id->low |= value << shift;
    id->high |= shift == 0 ? 0 : value >> (64 - shift);
}

/* ---- a set ------------------------------------------------------------------- */

static struct id_field *last_field(struct id_set *set) { return &set->fields[set->count - 1]; }

/* A pid in parts is one field here: a span of pids need not be one of each part. */
static void add_field(struct id_set *set, const sfid_field *field, sfid_wide zero) {
    const bool is_pid = field->kind == SFID_FIELD_PID;
    if (is_pid && set->pid >= 0) {
        struct id_field *pid = &set->fields[set->pid];
        pid->bits += field->bits;
        pid->shift = field->shift;
        pid->most = ones(pid->bits);
        return;
    }
    const uint64_t fixed = from(zero, field->shift) & ones(field->bits);
    const bool is_fixed = field->kind == SFID_FIELD_FIXED;
    set->pid = is_pid ? set->count : set->pid;
    set->count++;
    *last_field(set) =
        (struct id_field){field->shift, field->bits, fixed, is_fixed ? fixed : ones(field->bits)};
}

void id_set_fields(struct id_set *set, const sfid_field *fields, int count, int64_t last_ms,
                   sfid_wide zero) {
    set->count = 0;
    set->pid = -1;
    /* from the top: the time, below reserved bits, is the first to be added */
    for (int i = 0; i < count; i++)
        if (fields[i].kind != SFID_FIELD_RESERVED)
            add_field(set, &fields[i], zero);
    set->fields[0].most = ((uint64_t)last_ms - (uint64_t)set->epoch_ms) / set->unit_ms - 1;
}

void id_set_pids(struct id_set *set, uint64_t least, uint64_t most) {
    if (set->pid < 0)
        return;
    set->fields[set->pid].least = least;
    set->fields[set->pid].most = most;
}

static int64_t begin_of(const struct id_set *set, uint64_t tick) {
    return (int64_t)((uint64_t)set->epoch_ms + tick * set->unit_ms);
}

static int64_t end_of(const struct id_set *set, uint64_t tick) { return begin_of(set, tick + 1); }

/* The tick of a moment that is not before the epoch. It may be past the last one. */
static uint64_t tick_at(const struct id_set *set, int64_t ms) {
    return ((uint64_t)ms - (uint64_t)set->epoch_ms) / set->unit_ms;
}

bool id_set_span(struct id_set *set, int64_t since_ms, int64_t until_ms) {
    struct id_field *time = &set->fields[0];
    if (until_ms < set->epoch_ms || until_ms < since_ms)
        return false;
    const uint64_t first = since_ms < set->epoch_ms ? 0 : tick_at(set, since_ms),
                   last = tick_at(set, until_ms);
    time->least = first > time->least ? first : time->least;
    time->most = last < time->most ? last : time->most;
    return time->least <= time->most;
}

static sfid_wide lowest_of(const struct id_set *set, uint64_t tick) {
    sfid_wide id = {0, 0};
    put(&id, tick, set->fields[0].shift);
    for (int i = 1; i < set->count; i++)
        put(&id, set->fields[i].least, set->fields[i].shift);
    return id;
}

static sfid_wide highest_of(const struct id_set *set, uint64_t tick) {
    sfid_wide id = {0, 0};
    put(&id, tick, set->fields[0].shift);
    for (int i = 1; i < set->count; i++)
        put(&id, set->fields[i].most, set->fields[i].shift);
    return id;
}

sfid_wide id_set_lowest(const struct id_set *set) { return lowest_of(set, set->fields[0].least); }
sfid_wide id_set_highest(const struct id_set *set) { return highest_of(set, set->fields[0].most); }

int64_t id_set_time(const struct id_set *set, sfid_wide id) {
    return begin_of(set, from(id, set->fields[0].shift));
}

/* ---- ticks around a number ---------------------------------------------------- */

/* Finds the last tick whose lowest ID is not above the number. */
static bool last_from_below(const struct id_set *set, sfid_wide id, uint64_t *tick) {
    const struct id_field *time = &set->fields[0];
    uint64_t at = from(id, time->shift);
    if (at > time->most)
        at = time->most;
    else if (at < time->least ||
             (sfid_wide_compare(lowest_of(set, at), id) > 0 && at-- == time->least))
        return false;
    *tick = at;
    return true;
}

/* Finds the first tick whose highest ID is not below the number. */
static bool first_up_to(const struct id_set *set, sfid_wide id, uint64_t *tick) {
    const struct id_field *time = &set->fields[0];
    uint64_t at = from(id, time->shift);
    if (at < time->least)
        at = time->least;
    else if (at <= time->most && sfid_wide_compare(highest_of(set, at), id) < 0)
        at++;
    *tick = at;
    return at <= time->most;
}

bool id_set_above(const struct id_set *set, sfid_wide id, int64_t *ms) {
    uint64_t tick;
    if (!last_from_below(set, id, &tick))
        *ms = begin_of(set, set->fields[0].least);
    else if (tick < set->fields[0].most)
        *ms = end_of(set, tick);
    else
        return false;
    return true;
}

/* ---- the first ID in both ------------------------------------------------------- */

/*
 * A field may have the values from `least` to `most`. Its bits are chosen from the top. While all
 * of them equal those of least (most), the next one cannot be below (above) it. These two facts
 * about the field that a bit belongs to are all that the bits above say about those below.
 */
enum { AT_LEAST = 1, AT_MOST = 2, STATES = 4, ID_BITS = 128 };

/* Chooses a bit, and changes the state of its field. Returns false if no ID of the set has that
 * bit. */
static bool choose(const struct id_set *set, unsigned bit, bool one, unsigned *state) {
    for (int i = 0; i < set->count; i++) {
        const struct id_field *field = &set->fields[i];
        if (bit < field->shift || bit >= field->shift + field->bits)
            continue;
        const unsigned place = bit - field->shift;
        const bool least = field->least >> place & 1, most = field->most >> place & 1;
        if (place == field->bits - 1)
            *state = AT_LEAST | AT_MOST;
        if (((*state & AT_LEAST) && !one && least) || ((*state & AT_MOST) && one && !most))
            return false;
        *state &= (one == least ? AT_LEAST : 0u) | (one == most ? AT_MOST : 0u);
        return true;
    }
    return !one;
}

bool id_sets_meet(const struct id_set *a, const struct id_set *b, sfid_wide *id) {
    /* fits[n][x][y]: the lowest n bits of an ID of both can be chosen, if the fields have the
     * states x and y above them. */
    bool fits[ID_BITS + 1][STATES][STATES];
    for (unsigned x = 0; x < STATES; x++)
        for (unsigned y = 0; y < STATES; y++)
            fits[0][x][y] = true;
    for (unsigned n = 1; n <= ID_BITS; n++)
        for (unsigned x = 0; x < STATES; x++)
            for (unsigned y = 0; y < STATES; y++) {
                unsigned x0 = x, y0 = y, x1 = x, y1 = y;
                fits[n][x][y] = (choose(a, n - 1, false, &x0) && choose(b, n - 1, false, &y0) &&
                                 fits[n - 1][x0][y0]) ||
                                (choose(a, n - 1, true, &x1) && choose(b, n - 1, true, &y1) &&
                                 fits[n - 1][x1][y1]);
            }
    if (!fits[ID_BITS][0][0])
        return false;

    unsigned x = 0, y = 0;
    *id = (sfid_wide){0, 0};
    for (unsigned n = ID_BITS; n > 0; n--) {
        unsigned x0 = x, y0 = y;
        if (choose(a, n - 1, false, &x0) && choose(b, n - 1, false, &y0) && fits[n - 1][x0][y0]) {
            x = x0;
            y = y0;
            continue;
        }
        put(id, 1, n - 1);
        choose(a, n - 1, true, &x);
        choose(b, n - 1, true, &y);
    }
    return true;
}

/* ---- order --------------------------------------------------------------------- */

/*
 * The order is wrong at moment T if an OLD tick j has begun (begin(j) <= T), a NEW tick k has not
 * ended (T < end(k)), and highest(j) >= lowest(k). So it is wrong from begin(j) until end(k) for
 * each pair of such ticks, if that is any time at all.
 *
 * Of the pairs with one j, that of the last k covers the others; of those with one k, that of the
 * first j. The pairs that remain form a staircase: j and k rise together, and so do begin(j) and
 * end(k). Its steps:
 *
 *   first   the first j that reaches any k, and the last k that it reaches
 *   middle  numbered by j if OLD's ticks are at least as many IDs apart as NEW's, or else by k. The
 *           distances are powers of 2, so the other tick of the pair is the number times a power of
 *           2, plus a constant
 *   last    NEW's last tick, and the first j that reaches it, if one does
 *
 * Hence end(k) - begin(j) is linear over the middle: the steps with end(k) > begin(j) are all,
 * none, the first or the last of them, and bisection finds where they begin and end.
 */
struct step {
    uint64_t j, k;
};

struct stairs {
    const struct id_set *old, *next;
    struct step first, last;
    bool has_last, by_old;
    uint64_t begin, end; /* of the numbers of the middle; end is excluded */
};

/* Is there any time between begin(j) and end(k)? */
static bool takes_time(const struct stairs *stairs, struct step step) {
    return begin_of(stairs->old, step.j) < end_of(stairs->next, step.k);
}

static struct step step_at(const struct stairs *stairs, uint64_t number) {
    struct step step = {number, number};
    if (stairs->by_old)
        last_from_below(stairs->next, highest_of(stairs->old, number), &step.k);
    else
        first_up_to(stairs->old, lowest_of(stairs->next, number), &step.j);
    return step;
}

/* Returns false if there are none: OLD's IDs are below NEW's. */
static bool find_stairs(struct stairs *stairs, const struct id_set *old,
                        const struct id_set *next) {
    uint64_t k;
    *stairs = (struct stairs){
        .old = old, .next = next, .by_old = old->fields[0].shift >= next->fields[0].shift};
    if (!first_up_to(old, id_set_lowest(next), &stairs->first.j) ||
        !last_from_below(next, highest_of(old, stairs->first.j), &stairs->first.k))
        return false;
    stairs->last.k = next->fields[0].most;
    stairs->has_last = first_up_to(old, lowest_of(next, stairs->last.k), &stairs->last.j);
    if (stairs->by_old) {
        stairs->begin = stairs->first.j + 1;
        stairs->end = stairs->has_last ? stairs->last.j : old->fields[0].most + 1;
    } else {
        stairs->begin = stairs->first.k + 1;
        stairs->end = stairs->has_last || !last_from_below(next, id_set_highest(old), &k)
                          ? stairs->last.k
                          : k + 1;
    }
    return true;
}

/* Finds the last (or else the first) number from begin to end whose step takes time. */
static bool find_in_middle(const struct stairs *stairs, uint64_t begin, uint64_t end, bool last,
                           struct step *step) {
    if (begin >= end)
        return false;
    /* the wanted end of the middle, and the other */
    uint64_t yes = last ? end - 1 : begin, no = last ? begin : end - 1;
    if (!takes_time(stairs, step_at(stairs, yes))) {
        const uint64_t wanted = yes;
        yes = no;
        no = wanted;
        if (!takes_time(stairs, step_at(stairs, yes)))
            return false;
        while (yes + 1 < no || no + 1 < yes) {
            const uint64_t between = yes / 2 + no / 2 + (yes & no & 1);
            if (takes_time(stairs, step_at(stairs, between)))
                yes = between;
            else
                no = between;
        }
    }
    *step = step_at(stairs, yes);
    return true;
}

bool id_sets_order_from(const struct id_set *old, const struct id_set *next, int64_t *ms) {
    struct stairs stairs;
    struct step step;
    if (!find_stairs(&stairs, old, next))
        return false;
    if (stairs.has_last && takes_time(&stairs, stairs.last))
        step = stairs.last;
    else if (!find_in_middle(&stairs, stairs.begin, stairs.end, true, &step)) {
        if (!takes_time(&stairs, stairs.first))
            return false;
        step = stairs.first;
    }
    *ms = end_of(next, step.k);
    return true;
}

/* The first number of the middle whose j begins after a moment. */
static uint64_t first_after(const struct stairs *stairs, int64_t ms) {
    const struct id_field *time = &stairs->old->fields[0];
    uint64_t k;
    if (ms < begin_of(stairs->old, stairs->first.j))
        return stairs->begin;
    const uint64_t now = tick_at(stairs->old, ms), j = now < time->most ? now : time->most;
    if (stairs->by_old)
        return j + 1;
    return last_from_below(stairs->next, highest_of(stairs->old, j), &k) ? k + 1 : stairs->begin;
}

bool id_sets_order_until(const struct id_set *old, const struct id_set *next, int64_t after_ms,
                         int64_t *ms) {
    struct stairs stairs;
    struct step step;
    if (!find_stairs(&stairs, old, next))
        return false;
    const uint64_t begin = first_after(&stairs, after_ms);
    if (begin_of(old, stairs.first.j) > after_ms && takes_time(&stairs, stairs.first))
        step = stairs.first;
    else if (!find_in_middle(&stairs, begin < stairs.begin ? stairs.begin : begin, stairs.end,
                             false, &step)) {
        if (!stairs.has_last || begin_of(old, stairs.last.j) <= after_ms ||
            !takes_time(&stairs, stairs.last))
            return false;
        step = stairs.last;
    }
    *ms = begin_of(old, step.j);
    return true;
}
