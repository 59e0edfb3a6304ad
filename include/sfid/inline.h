/* SPDX-License-Identifier: MIT */
/**
 * sfid/inline.h - a generator with its layout folded into the caller.
 *
 *     SFID_DEFINE(orders, SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS))
 *
 * at file scope, without a semicolon, makes the type `orders` and
 *
 *     int     orders_open(orders **out, const sfid_options *opt);
 *     int64_t orders_next(orders *g);
 *     int     orders_parse(int64_t id, sfid_parts *out);
 *     void    orders_close(orders *g);
 *     sfid   *orders_sfid(orders *g);      the same generator, for every other call
 *     int64_t orders_lane_next(sfid_lane *lane);
 *
 * They have the meanings, errors and safety of sfid_open, sfid_next, sfid_parse,
 * sfid_close and sfid_lane_next. opt->layout must be NULL or equal to the layout given here;
 * otherwise orders_open() returns SFID_EINVAL. The type keeps a generator of
 * another layout from being passed by mistake. If unit and epoch are whole
 * seconds, orders_next() generates the ID inside the caller; otherwise it calls
 * sfid_next(). orders_lane_next() is to sfid_lane_next() what orders_next() is
 * to sfid_next(). Its lane has to be one of a generator of this layout, which
 * no type checks: sfid_lane_open(&lane, orders_sfid(g)).
 */
#ifndef SFID_INLINE_H
#define SFID_INLINE_H

#include "../sfid.h"
#include "lane.h"
#include "parse.h"

#include <string.h>
#include <time.h>

/*
 * What the inline form knows of a record. The ABI freezes it: the record's
 * first cache line holds the state word alone. The second begins with the limit
 * and the pid, shifted to its place.
 */
struct sfid__record_head {
    uint64_t word;
    uint64_t pad[7];
    uint64_t limit;
    uint64_t pid_field;
    /* 32-bit x86 aligns the members to 4; clang would then call a library for the atomics */
} __attribute__((aligned(8)));

/*
 * What it knows of a handle, frozen as well: the current record, and a tick in
 * which a call saw the word. The library sets word_tick where a sequence has
 * SFID__LOOK_BITS or more. Calls that add without a look take some positions too
 * many: with 64 threads 1/1000 of a tick, at worst 1/16.
 */
struct sfid__handle_head {
    struct sfid__record_head *record;
    uint64_t word_tick __attribute__((aligned(8)));
} __attribute__((may_alias));
#define SFID__LOOK_BITS 16

/*
 * What it knows of a lane, frozen as well: the address of the generator's
 * pointer to its record, and the lane's run of IDs. The library has types of
 * its own for both.
 */
struct sfid__run_head {
    struct sfid__record_head *from;
    uint64_t tick, id, stop, step;
} __attribute__((may_alias));
struct sfid__lane_head {
    struct sfid__record_head **record;
    struct sfid__run_head *run;
} __attribute__((may_alias));

/*
 * The slow path for a position n of another tick, which the caller has taken
 * already. It clears word_tick: who adds without a look and gets such a position
 * has to call it, or the next calls add, too. Only SFID_DEFINE uses it.
 */
#ifdef __cplusplus
extern "C" {
#endif
SFID_API int64_t sfid__next_in_hand(sfid *g, void *record, uint64_t n);
#ifdef __cplusplus
}
#endif

/* time() is too coarse for other ticks. */
static inline int sfid__inline_in_seconds(const sfid_layout *l) {
    return l->unit_ms % 1000 == 0 && l->epoch_ms % 1000 == 0;
}

static inline uint64_t sfid__inline_tick(const sfid_layout *l) {
    const int64_t now = time(SFID__NULL);
    return SFID__TO(uint64_t, now - l->epoch_ms / 1000) / (l->unit_ms / 1000);
}

/*
 * As draw() of the library's hot.c, whose head has the argument and the orders'
 * partners. Where a sequence is long, sfid_next() looks at the word, once a tick.
 */
static inline int64_t sfid__inline_next(sfid *g, const sfid_layout *l) {
    if (!sfid__inline_in_seconds(l))
        return sfid_next(g);
    if (__builtin_expect(g == SFID__NULL, 0))
        return SFID_ECLOSED;
    const struct sfid__handle_head *head = SFID__AT(const struct sfid__handle_head *, g);
    const uint64_t tick = sfid__inline_tick(l);
    struct sfid__record_head *r = __atomic_load_n(&head->record, __ATOMIC_ACQUIRE);
    const uint64_t word_tick = l->seq_bits >= SFID__LOOK_BITS
                                   ? __atomic_load_n(&head->word_tick, __ATOMIC_RELAXED)
                                   : __atomic_load_n(&r->word, __ATOMIC_RELAXED) >> l->seq_bits;
    if (__builtin_expect(word_tick != tick || tick >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE),
                         0))
        return sfid_next(g);
    const uint64_t n = __atomic_fetch_add(&r->word, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(n >> l->seq_bits != tick, 0))
        return sfid__next_in_hand(g, r, n);
    return SFID__TO(int64_t,
                    tick << l->time_shift | r->pid_field | (n & l->max_seq) << l->seq_shift);
}

/* As sfid_lane_next() of the library's lane.c. */
static inline int64_t sfid__inline_lane_next(sfid_lane *lane, const sfid_layout *l) {
    if (!sfid__inline_in_seconds(l) || __builtin_expect(lane == SFID__NULL, 0))
        return sfid_lane_next(lane);
    const struct sfid__lane_head *head = SFID__AT(const struct sfid__lane_head *, lane);
    const uint64_t tick = sfid__inline_tick(l);
    struct sfid__run_head *run = head->run;
    struct sfid__record_head *r = __atomic_load_n(head->record, __ATOMIC_ACQUIRE);
    const uint64_t id = run->id;
    if (__builtin_expect(run->tick != tick || id >= run->stop || run->from != r ||
                             tick >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE),
                         0))
        return sfid_lane_next(lane);
    run->id = id + run->step;
    return SFID__TO(int64_t, id);
}

static inline int sfid__inline_open(sfid **out, const sfid_options *opt, const sfid_layout *l) {
    sfid_options bound = SFID_OPTIONS_INIT;
    if (opt == SFID__NULL || (opt->layout != SFID__NULL && memcmp(opt->layout, l, sizeof *l) != 0))
        bound.size = 0; /* sfid_open() refuses it and explains the error in *out */
    else
        bound = *opt;
    bound.layout = l;
    return sfid_open(out, &bound);
}

#define SFID_DEFINE(name, ...) \
    typedef struct name name; \
    SFID__CONST sfid_layout name##_layout SFID__UNUSED = __VA_ARGS__; \
    SFID__UNUSED static inline sfid *name##_sfid(name *g) { return SFID__AT(sfid *, g); } \
    SFID__UNUSED static inline int name##_open(name **out, const sfid_options *opt) { \
        return sfid__inline_open(SFID__AT(sfid **, out), opt, &name##_layout); \
    } \
    SFID__UNUSED static inline int64_t name##_next(name *g) { \
        return sfid__inline_next(SFID__AT(sfid *, g), &name##_layout); \
    } \
    SFID__UNUSED static inline int64_t name##_lane_next(sfid_lane *lane) { \
        return sfid__inline_lane_next(lane, &name##_layout); \
    } \
    SFID__UNUSED static inline int name##_parse(int64_t id, sfid_parts *out) { \
        return sfid_inline_parse(&name##_layout, id, out); \
    } \
    SFID__UNUSED static inline void name##_close(name *g) { sfid_close(SFID__AT(sfid *, g)); }

#endif
