/* SPDX-License-Identifier: MIT */
/*
 * batch.c - sfid_next_n() inside a tick, which needs no slow path: what it takes, where it stops,
 * and that what it writes is the same by vectors of any width.
 */
#include "draw/fill.h"

#include "support/fake.h"
#include "support/tap.h"

enum { SEQ_BITS = 12, OF_A_TICK = 1 << SEQ_BITS, SIZES = 300, GUARD = -42 };

#define START UINT64_C(100000000)

static struct fake f;
static int64_t ids[3 * OF_A_TICK];

static uint64_t number(uint64_t tick, uint64_t seq) { return tick << SEQ_BITS | seq; }
static uint64_t word(void) { return sfid__record_position(fake_record(&f)); }

/* ---- writing -------------------------------------------------------------------- */

/* Whether n IDs are written to a place that only 8 bytes align, and nothing beside them. */
static bool is_filled(size_t n, size_t at, uint64_t id, uint64_t step) {
    static _Alignas(64) int64_t room[SIZES + 16];
    bool good = true;
    for (size_t i = 0; i < SIZES + 16; i++)
        room[i] = GUARD;
    sfid__fill(room + at, n, id, step);
    for (size_t i = 0; i < SIZES + 16; i++)
        good &= room[i] == (i < at || i >= at + n ? GUARD : (int64_t)(id + (i - at) * step));
    return good;
}

static void fills(void) {
    static const uint64_t steps[] = {1, 1 << 10, UINT64_C(1) << 40};
    unsigned bad = 0;
    for (size_t n = 0; n < SIZES; n++)
        for (size_t at = 1; at <= 8; at++)
            for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++)
                bad += !is_filled(n, at, UINT64_C(0x123456789abcdef0) + n, steps[s]);
    is_u64(bad, 0, "of each size, at each place in a line: the IDs, and nothing beside them");
}

/* ---- taking --------------------------------------------------------------------- */

static bool are_from(size_t n, uint64_t first) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] != sfid__compose(fake_record(&f), first + i))
            return false;
    return true;
}

static void inside_a_tick(void) {
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    ok(sfid_next_n(fake_handle(&f), NULL, 0) == 0 && sfid_next_n(fake_handle(&f), ids, 0) == 0 &&
           word() == number(START, 0),
       "a batch of none takes none");
    is_i64(sfid_next_n(fake_handle(&f), ids, 16), 16, "a batch");
    atomic_store(&fake_record(&f)->lead, 5);
    is_i64(sfid_next_n(fake_handle(&f), ids, 1000), 1000, "and another of the same tick");
    is_u64(atomic_load(&fake_record(&f)->lead), 5,
           "without the slow path, which would shrink the lead");
    ok(are_from(1000, number(START, 16)), "has the IDs behind the first");
    is_u64(word(), number(START, 1016), "and takes no more");
    fake_close(&f);
}

static void over_the_end_of_a_tick(void) {
    fake_open(&f, NULL, SFID_FAIL, 0, 10000);
    fake_set_word(&f, START, OF_A_TICK - 3);
    is_i64(sfid_next_n(fake_handle(&f), ids, 16), 3, "failing: a batch ends with its tick");
    ok(are_from(3, number(START, OF_A_TICK - 3)), "and has the last IDs of it");
    is_u64(word(), number(START + 1, 0), "none of the next tick is taken");
    fake_pass_ms(&f, 2);
    is_i64(sfid_next_n(fake_handle(&f), ids, 2 * OF_A_TICK), OF_A_TICK,
           "a batch that begins a tick ends with it");
    is_u64(word(), number(START + 3, 0), "and takes none of the next, either");
    fake_pass_ms(&f, 1);
    is_i64(sfid_next_n(fake_handle(&f), ids, SIZE_MAX), OF_A_TICK,
           "as does one of more IDs than there are");
    fake_close(&f);
    fake_open(&f, NULL, SFID_FAIL, 0, 10000);
    fake_set_word(&f, START, OF_A_TICK - 3);
    fake_pass_ms(&f, 1);
    ok(sfid_next_n(fake_handle(&f), ids, 16) == 16 && are_from(16, number(START + 1, 0)),
       "a batch whose last position is of a tick that has begun: all of it is of the tick that has begun");
    fake_close(&f);
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    fake_set_word(&f, START, OF_A_TICK - 3);
    is_i64(sfid_next_n(fake_handle(&f), ids, 103), 103, "waiting: a batch of two ticks");
    ok(are_from(103, number(START, OF_A_TICK - 3)), "goes on with the next tick's first ID");
    is_i64(f.slept_ns, 1000000, "once that has begun");
    is_u64(word(), number(START + 1, 100), "and takes what it returns");
    fake_close(&f);
    fake_open(&f, NULL, SFID_BORROW, 0, 10000);
    fake_set_word(&f, START, OF_A_TICK - 3);
    is_i64(sfid_next_n(fake_handle(&f), ids, OF_A_TICK + 53), OF_A_TICK + 53,
           "borrowing: a batch of three ticks");
    is_u64(word(), number(START + 2, 50), "ahead of the clock, and takes what it returns");
    fake_close(&f);
}

static void at_the_limit(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    is_i64(sfid_next_n(fake_handle(&f), ids, 5), 5, "a batch in the last tick of the window");
    atomic_store(&fake_record(&f)->limit, START + 1);
    is_i64(sfid_next_n(fake_handle(&f), ids, 5), 5, "and another");
    atomic_store(&fake_record(&f)->limit, START);
    is_i64(sfid_next_n(fake_handle(&f), ids, 5), SFID_ELEASE, "none in the tick at the limit");
    is_u64(word(), number(START, 10), "and the word stays");
    fake_close(&f);
}

static void of_a_closed_record(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    is_i64(sfid_next_n(fake_handle(&f), ids, 5), 5, "a batch of one record");
    fake_switch(&f, 9, 0, f.g.end);
    is_i64(sfid_next_n(fake_handle(&f), ids, 5), 5, "its record closed: a batch");
    ok(are_from(5, fake_record(&f)->floor << SEQ_BITS), "of the next record, from its beginning");
    fake_close(&f);
}

int main(void) {
    fills();
    inside_a_tick();
    over_the_end_of_a_tick();
    at_the_limit();
    of_a_closed_record();
    return done_testing();
}
