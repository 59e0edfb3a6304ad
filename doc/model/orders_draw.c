/* SPDX-License-Identifier: MIT */
/*
 * orders_draw.c - records, limits and ticks. A program has no more than what one
 * pair of the sources orders: values that matter, and as few calls as fail.
 */
#include "orders.h"

enum { CLOSED = 64 };

/* ---- one thread tells another ----------------------------------------------- */

enum { FLAG, DATA };

/* arg(0) tells, arg(1) hears: what lies behind is there. Plain, or atomic where a stale value is
 * what is feared. */
static void tell(void) {
    write_plain(DATA, 1);
    store(FLAG, 1, arg(0));
}
static void tell_by_change(void) {
    long nothing = 0;
    write_plain(DATA, 1);
    swap(FLAG, &nothing, 1, arg(0));
}
static void tell_by_exchange(void) {
    store(DATA, 1, RLX);
    exchange(FLAG, 1, arg(0));
}
static void hear(void) {
    if (load(FLAG, arg(1)) == 1)
        want(read_plain(DATA) == 1, "what lies behind is not there");
}
static void tell_atomic(void) {
    store(DATA, 1, RLX);
    store(FLAG, 1, arg(0));
}
static void tell_atomic_by_change(void) {
    long nothing = 0;
    store(DATA, 1, RLX);
    swap(FLAG, &nothing, 1, arg(0));
}
static void hear_bell(void) {
    if (exchange(FLAG, 0, arg(1)) == 1)
        want(load(DATA, RLX) == 1, "what was written before the bell is not seen");
}
static void hear_atomic(void) {
    if (load(FLAG, arg(1)) == 1)
        want(load(DATA, RLX) == 1, "what lies behind is old");
}

/* ---- record.c: a record is replaced -------------------------------------------- */

/* Two records of a page. WORD and PID: one each. RECORD: the handle's pointer, as an index. */
enum { WORD, NEW_WORD, NEW_PID, CURRENT, RECORD, LIMIT };

/* arg(0) publishes. */
static void replace(void) {
    long seen = 0;
    const long stopped = set_bits(WORD, CLOSED, word_close);
    write_plain(NEW_PID, 7);
    store(NEW_WORD, stopped + 1, RLX);
    if (arg(0) == current_replace)
        swap(CURRENT, &seen, 1, arg(0));
    else
        store(CURRENT, 1, arg(0));
}

/* -1: the record is closed. */
static long take_from(long record) {
    const long n = add(record ? NEW_WORD : WORD, 1, RLX);
    if (record == 0)
        return n & CLOSED ? -1 : n;
    want(read_plain(NEW_PID) == 7, "an ID without a pid");
    want(n > 0, "a position of a blank record");
    return n;
}

/* A position above `above`, or -1 where nothing newer is published yet. arg(1) is how the call
 * looks at the record first. */
static long draw(long above) {
    long n = take_from(load(RECORD, arg(1))), seen = 0;
    if (n < 0) {
        if (load(RECORD, record_look) == 0 && load(CURRENT, current_get) == 1)
            swap(RECORD, &seen, 1, record_newest);
        n = load(RECORD, record_look) == 1 ? take_from(1) : -1;
    }
    want(n < 0 || n > above, "IDs of a thread do not increase");
    return n;
}
static void draw_twice(void) {
    note(0, draw(-1) + 1);
    note(1, noted(0) ? draw(noted(0) - 1) + 1 : 0);
}
static void draw_once(void) { note(2, draw(-1) + 1); }
static void all_differ(void) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            want(noted(i) == 0 || noted(i) != noted(k), "a position is issued twice");
}

static void stop_generator(void) { exchange(RECORD, 2, record_stop); }

/* The generator is stopped, then the word is closed: a call that finds the word closed finds the
 * handle closed. */
static void stop_and_close(void) {
    stop_generator();
    set_bits(WORD, CLOSED, word_close);
}
static void find_closed(void) {
    await(load(WORD, RLX) & CLOSED);
    fence(closed_fence);
    want(load(RECORD, RLX) == 2, "closed, and a lost lease is reported");
}

/* Another process publishes a record, a call goes on with it, and close() unmaps what lies behind
 * the records it knows. */
static void publish(void) { store(CURRENT, 1, current_append); }
static void go_on(void) {
    long seen = 0;
    if (load(CURRENT, current_get) == 1)
        note(0, swap(RECORD, &seen, 1, record_newest));
}
static void unmap(void) {
    stop_generator();
    note(1, load(CURRENT, current_get));
}
static void still_mapped(void) {
    want(!noted(0) || noted(1) == 1, "a call has a record that is not mapped any more");
}

/* open.c: a thread that was to move on has failed, and says when to try again. */
enum { MOVER, MOVE_MS };

static void want_page(void) {
    long mover = load(MOVER, mover_seen);
    if (mover != 0 || load(MOVE_MS, RLX) != 0 || !swap(MOVER, &mover, 1, mover_take))
        return;
    store(MOVE_MS, 1, RLX);
    store(MOVER, 0, mover_fails);
}
static void fail_to_move(void) {
    store(MOVE_MS, 1, RLX);
    store(MOVER, 0, mover_fails);
}
static void try_again(void) {
    if (load(MOVER, mover_seen) == 0)
        want(load(MOVE_MS, RLX) == 1, "the next try is made at once");
}

/* ---- limits, hi, ticks ------------------------------------------------------------ */

enum { MARK, HI, CLOCK, RESTING };

static void extend(void) {
    long seen = 0;
    write_plain(MARK, 1);
    swap(LIMIT, &seen, 1, limit_raise);
}
static void issue_below(void) {
    if (load(LIMIT, arg(0)) == 1)
        want(read_plain(MARK) == 1, "issued before the mark is durable");
}

static void time_goes_on(void) { store(CLOCK, 1, RLX); }
static void raise_hi(void) {
    long hi = 0;
    if (load(CLOCK, RLX) == 1)
        swap(HI, &hi, 1, hi_raise);
}
static void look_at_clock(void) {
    const long hi = load(HI, hi_get);
    want(load(CLOCK, RLX) >= hi, "progress is taken for a step back");
}

static void rest_is_over(void) {
    long seen = 0;
    swap(LIMIT, &seen, 1, limit_raise);
    store(RESTING, 0, resting_set);
}
static void find_no_rest(void) {
    await(load(RESTING, resting_get) == 0);
    want(load(LIMIT, RLX) == 1, "the window is over, although it was renewed");
}

/* A call that has seen the last news, and not what they are about, would wait for more. */
enum { NEWS = RESTING };
static void extend_and_announce(void) {
    long seen = 0;
    swap(LIMIT, &seen, 1, limit_raise);
    add(NEWS, 1, news_raise);
}
static void wait_for_news(void) {
    if (load(NEWS, news_look) == 1)
        want(load(LIMIT, RLX) == 1, "a call waits for what has happened");
}
static void stop_and_announce(void) {
    stop_generator();
    add(NEWS, 1, news_raise);
}
static void wait_for_end(void) {
    if (load(NEWS, news_look) == 1)
        want(load(RECORD, RLX) == 2, "a call waits for a handle that is closed");
}

enum { LOCK, NEWEST, TICK, END };

static void refresh(void) {
    long nobody = 0;
    if (!swap(LOCK, &nobody, 1, ticks_lock))
        return;
    write_plain(NEWEST, read_plain(NEWEST) + 1);
    store(TICK, 1, RLX);
    store(END, 1, end_set);
    store(LOCK, 0, ticks_unlock);
}
static void refresh_late(void) {
    long nobody = 0;
    if (!swap(LOCK, &nobody, 1, ticks_lock))
        return;
    read_plain(NEWEST);
    store(LOCK, 0, ticks_unlock_late);
}
static void use_tick(void) {
    const long end = load(END, end_get);
    want(load(TICK, RLX) >= end, "the tick before, with the end of this one");
}

/* ---- crowd.c: on to the next page --------------------------------------------------- */

enum { LAST, NEXT, FROM, GENERATOR };
enum { OPEN = 99, OLD_TICK = 5 };

static bool issues_from_old(void) {
    long tick = load(LAST, last_get);
    if (tick < OLD_TICK)
        swap(LAST, &tick, OLD_TICK, last_raise);
    return load(NEXT, next_look) == 0;
}
static void issue_from_old(void) { note(0, issues_from_old() ? OLD_TICK : 0); }
static void issue_beside(void) { note(2, issues_from_old() ? OLD_TICK : 0); }
/* hot.c, draw_shared(): in a tick that another call of the process has issued from. */
static void issue_in_tick(void) {
    const bool raised = load(LAST, last_tick) == OLD_TICK;
    note(2, raised && load(NEXT, next_tick) == 0 ? OLD_TICK : 0);
}
static void set_from(void) {
    long open = OPEN;
    fence(move_from);
    swap(FROM, &open, load(LAST, RLX) + 1, from_set);
}
static void move(void) {
    write_plain(GENERATOR, 1);
    store(FROM, OPEN, RLX);
    store(NEXT, 1, next_set);
    set_from();
}
static void issue_from_next(void) {
    await(load(NEXT, next_front) == 1);
    want(read_plain(GENERATOR) == 1, "the next generator is not there");
    if (load(FROM, RLX) == OPEN)
        set_from();
    note(1, load(FROM, from_get));
}
static void next_is_above(void) {
    for (int i = 0; i <= 2; i += 2)
        want(!noted(i) || last(FROM) > noted(i),
             "the next page begins at or below an ID of this one");
    want(!noted(0) || !noted(1) || noted(1) > noted(0),
         "a call goes on below an ID that was issued");
}

#define RECORD_IN(place, name) \
    { \
        name, {replace, draw_twice, draw_once}, all_differ, .arg = { current_append, place } \
    }
#define LIMIT_IN(place, name) \
    { \
        name, {extend, issue_below}, NULL, .arg = { place } \
    }
#define PAIR(told, heard, name) \
    { \
        name, {tell, hear}, NULL, .arg = { told, heard } \
    }

const struct program draw_programs[] = {
    RECORD_IN(record_hot, "a record is replaced, hot path"),
    RECORD_IN(record_batch, "a record is replaced, batch in one tick"),
    RECORD_IN(record_many, "a record is replaced, batch"),
    RECORD_IN(record_tick, "a record is replaced, shared page"),
    RECORD_IN(record_lane, "a record is replaced, lane"),
    RECORD_IN(inline_record, "a record is replaced, inline form"),
    RECORD_IN(inline_lane_record, "a record is replaced, inline form of a lane"),
    {"a record is replaced beside a late keeper",
     {replace, draw_twice, draw_once},
     all_differ,
     .arg = {current_replace, record_hot}},
    PAIR(record_start, record_hot, "a handle is opened"),
    PAIR(record_start, record_glance, "what a call would find"),
    PAIR(record_start, record_full, "a tick is used up"),
    PAIR(record_start, record_status, "the pid is asked for"),
    PAIR(current_append, current_live, "a page that others use is checked"),
    PAIR(current_append, current_get,
         "another keeper's record is gone on with, replaced, or copied"),
    {"close, and calls that wait", {stop_and_close, find_closed}, NULL},
    {"close unmaps what lies behind the records", {publish, go_on, unmap}, still_mapped},
    LIMIT_IN(limit_hot, "the limit, hot path"),
    LIMIT_IN(limit_batch, "the limit, batch in one tick"),
    LIMIT_IN(limit_many, "the limit, batch"),
    LIMIT_IN(limit_tick, "the limit, shared page"),
    LIMIT_IN(limit_lane, "the limit, lane"),
    LIMIT_IN(inline_limit, "the limit, inline form"),
    LIMIT_IN(inline_lane_limit, "the limit, inline form of a lane"),
    LIMIT_IN(limit_look, "the limit, slow path"),
    {"the highest tick seen", {time_goes_on, raise_hi, look_at_clock}, NULL},
    {"a call waits for the keeper", {extend_and_announce, wait_for_news}, NULL},
    {"a call waits, and the handle is closed", {stop_and_announce, wait_for_end}, NULL},
    {"a rest is over", {rest_is_over, find_no_rest}, NULL, .start = {[RESTING] = 1}},
    {"ticks: two refresh", {refresh, refresh, use_tick}, NULL},
    {"ticks: one is late", {refresh, refresh_late}, NULL},
    {"on to the next page", {issue_from_old, move, issue_from_next}, next_is_above},
    {"on to the next page, two calls in one tick",
     {issue_from_old, issue_beside, move},
     next_is_above},
    {"on to the next page, a call in the tick",
     {issue_from_old, issue_in_tick, move},
     next_is_above},
    PAIR(next_set, next_skip, "the front handle"),
    PAIR(next_set, next_walk, "the next handle, in close"),
    {"pages without an app are listed",
     {tell_by_change, hear},
     NULL,
     .arg = {pages_add, pages_get}},
    {"mappings are listed", {tell_by_change, hear}, NULL, .arg = {mappings_add, mappings_get}},
    {"the crew is there", {tell_by_change, hear}, NULL, .arg = {crew_add, crew_get}},
    {"the watches are there", {tell_by_change, hear}, NULL, .arg = {family_set, family_get}},
    PAIR(kind_set, kind_get, "the key is there"),
    PAIR(key_set, key_get, "the key's memory is there"),
    PAIR(done_set, done_get, "a name's addresses are there"),
    {"a bell is heard", {tell_atomic_by_change, hear_bell}, NULL, .arg = {bell_ring, bell_hear}},
    {"a bell for all is heard",
     {tell_by_exchange, hear_bell},
     NULL,
     .arg = {bell_ring_all, bell_hear}},
    {"two want the next page", {want_page, want_page}, NULL},
    {"when to move on again", {fail_to_move, try_again}, NULL, .start = {[MOVER] = 1}},
    {.name = NULL}};
