/* SPDX-License-Identifier: MIT */
/* table.c - the decision table of draw.c, row by row, on a clock that the test moves. */
#include "draw/slow.h"

#include "support/fake.h"
#include "support/tap.h"

#define SEQ_MAX 4095
#define START 100000000

static struct fake f;

static uint64_t word(void) { return atomic_load(&fake_record(&f)->word); }

static uint64_t hi(void) { return atomic_load(&fake_record(&f)->hi); }

static uint64_t lead(void) { return atomic_load(&fake_record(&f)->lead); }

/* Opens at START, with the word and the clock there. */
static void begin(sfid_exhaustion policy, uint32_t max_wait_ms, uint32_t max_ahead_ms) {
    fake_open(&f, NULL, policy, max_wait_ms, max_ahead_ms);
}

static void hot_path(void) {
    begin(SFID_WAIT, 2000, 10000);
    const int64_t a = fake_next(&f), b = fake_next(&f);
    is_i64(b, a + 1, "hot: the next number of the tick");
    is_u64(fake_tick_of(&f, a), START, "hot: of the clock's tick");
    is_i64(f.sleeps, 0, "hot: without a sleep");
    fake_close(&f);
}

static void rows_1_and_2(void) {
    begin(SFID_WAIT, 2000, 10000);
    const uint64_t before = word();
    fake_step_ms(&f, -START - 1);
    is_i64(fake_next(&f), SFID_ECLOCK, "row 1: one tick before the epoch");
    is_i64(sfid_retry_ms(fake_handle(&f)), SFID_ECLOCK, "row 1: waiting does not help");
    fake_step_ms(&f, START + 1);
    is_u64(word(), before, "row 1: word untouched");
    fake_close(&f);

    fake_open(&f, "20:10:12/1ms", SFID_WAIT, 2000, 10000);
    f.wall_ns = INT64_C(1048575) * 1000000; /* the last tick */
    atomic_store(&fake_record(&f)->hi, 0);
    fake_set_word(&f, 1048574, 0);
    const int64_t last = fake_next(&f);
    is_u64(fake_tick_of(&f, last), 1048575, "row 2: the last tick is issued");
    fake_set_word(&f, 1048575, SEQ_MAX);
    is_u64(fake_tick_of(&f, fake_next(&f)), 1048575, "row 2: to its last number");
    is_i64(fake_next(&f), SFID_EOVERFLOW, "row 2: then an error, not a wrap and not a wait");
    is_i64(fake_try(&f), SFID_EOVERFLOW, "row 2: nor for a call that may not sleep");
    fake_pass_ms(&f, 1);
    is_i64(fake_try(&f), SFID_EOVERFLOW, "row 2: and past the end");
    is_i64(sfid_retry_ms(fake_handle(&f)), SFID_EOVERFLOW, "row 2: waiting does not help");
    fake_close(&f);
}

static void raise_limit(struct fake *self, int64_t ns) {
    (void)ns;
    if (self->sleeps == 3)
        sfid__record_raise_limit(fake_record(self), START + 100000);
}

/* As libfaketime's clocks may: a nap passes, and they do not. */
static void stand_still(struct fake *self, int64_t ns) {
    self->wall_ns -= ns;
    self->monotonic -= ns;
}

static void clocks_stand_still(void) {
    begin(SFID_WAIT, 2000, 10000);
    f.g.half_window = 10;
    atomic_store(&fake_record(&f)->limit, START);
    f.on_sleep = stand_still;
    is_i64(fake_next(&f), SFID_ELEASE, "clocks that stand still: next gives up");
    is_i64(f.slept_ns / 1000000, 2000, "clocks that stand still: after max_wait of naps");
    fake_close(&f);
}

static void row_3(void) {
    begin(SFID_WAIT, 2000, 10000);
    f.g.half_window = 10;
    atomic_store(&fake_record(&f)->limit, START);
    const uint64_t before = word();
    is_i64(fake_try(&f), SFID_ELEASE, "row 3: try fails at the limit");
    is_u64(word(), before, "row 3: word untouched");
    is_u64(atomic_load(&f.page->poke), 1, "row 3: the keeper is asked for");
    atomic_store(&f.page->resting, 1);
    is_i64(fake_try(&f), SFID_EAGAIN, "row 3: a keeper at rest is no lost lease");
    atomic_store(&f.page->resting, 0);
    ok(sfid_retry_ms(fake_handle(&f)) > 0, "row 3: retry says when to look again");
    is_i64(fake_next(&f), SFID_ELEASE, "row 3: next gives up after max_wait");
    is_i64(f.slept_ns / 1000000, 2000, "row 3: having slept just that");
    ok(f.sleeps >= 40 && f.sleeps <= 60,
       "row 3: at most 50 ms at a time, 1 ms at first (%d sleeps)", f.sleeps);
    is_u64(hi(), START, "row 3: hi untouched");

    f.sleeps = 0;
    f.on_sleep = raise_limit;
    ok(fake_next(&f) >= 0, "row 3: goes on when the limit rises");
    is_i64(f.sleeps, 3, "row 3: at the next look");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 10000);
    atomic_store(&fake_record(&f)->limit, START + 1);
    struct sfid__call call = {
        .may_sleep = true, .want = 1, .from = fake_record(&f), .n = word(), .in_hand = true};
    atomic_fetch_add(&fake_record(&f)->word, 1);
    fake_pass_ms(&f, 5);
    is_i64(sfid__draw(&f.g, &call), 0, "row 3: a number in hand below the limit is good after it");
    is_u64(call.n >> 12, START, "row 3: as it was drawn");
    is_i64(f.sleeps, 0, "row 3: at once");
    fake_close(&f);
}

/* The clock at which a call first pokes, with 100 ticks of the window left at START. */
static uint64_t first_poke(uint64_t half_window, uint32_t early) {
    begin(SFID_WAIT, 2000, 10000);
    f.g.half_window = half_window;
    atomic_store(&f.page->early, early);
    atomic_store(&fake_record(&f)->limit, START + 100);
    uint64_t passed = 0;
    while (passed < 100 && fake_next(&f) >= 0 && atomic_load(&f.page->poke) == 0) {
        fake_pass_ms(&f, 1);
        passed++;
    }
    fake_close(&f);
    return passed;
}

static void half_windows(void) {
    is_u64(first_poke(40, 0), 60, "poke: at half of a whole window");
    is_u64(first_poke(40, 15), 85, "poke: at half of a first window, and no earlier");
    is_u64(first_poke(40, 1), 99, "poke: the shortest");
    is_u64(first_poke(15, 40), 60, "poke: the first window's counts, though it be longer");
    is_u64(first_poke(0, 15), 100, "poke: without a keeper never");
}

static void rows_4_and_13(void) {
    begin(SFID_WAIT, 2000, 10000);
    fake_next(&f);
    fake_pass_ms(&f, 250);
    const int64_t id = fake_next(&f);
    is_u64(fake_tick_of(&f, id), START + 250, "row 13: the word moves to the clock's tick");
    is_u64(word(), ((uint64_t)START + 250) << 12 | 1, "row 13: and one on");
    is_u64(hi(), START + 250, "row 4: hi follows the clock");
    is_u64(sfid__record_issued(fake_record(&f)), 2,
           "row 13: numbers passed over do not count as issued");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 10000);
    f.g.random_start = 2048;
    bool varied = false, bounded = true;
    for (int i = 0; i < 200; i++) {
        fake_pass_ms(&f, 1);
        const uint64_t seq = (uint64_t)fake_next(&f) & SEQ_MAX;
        varied |= seq > 1000;
        bounded &= seq < 2048;
    }
    ok(varied && bounded, "row 13: a random start stays below its bound");
    fake_close(&f);
}

static void rows_5_and_6(void) {
    begin(SFID_WAIT, 2000, 10000);
    fake_next(&f);
    fake_step_ms(&f, -5000);
    is_u64(fake_tick_of(&f, fake_next(&f)), START,
           "row 5: 5 s back: IDs go on in the highest tick seen");
    is_u64(lead(), 5000, "row 5: the lead is the size of the step");
    is_u64(atomic_load(&f.page->regressions), 1, "row 5: counted once");
    is_u64(atomic_load(&f.page->largest_regression_ms), 5000, "row 5: with its size");
    fake_next(&f);
    is_u64(atomic_load(&f.page->regressions), 1, "row 5: not again for the same step");
    fake_pass_ms(&f, 2000);
    fake_set_word(&f, START, SEQ_MAX);
    fake_next(&f);
    is_u64(fake_tick_of(&f, fake_next(&f)), START + 1,
           "row 15: the lead lets the next tick be issued");
    is_i64(f.sleeps, 0, "row 15: at once");
    fake_step_ms(&f, -4000);
    fake_set_word(&f, START + 2, 0);
    fake_next(&f);
    is_u64(atomic_load(&f.page->regressions), 2, "row 5: a further step back is another");
    is_u64(lead(), 7000, "row 5: and deepens the lead");
    fake_pass_ms(&f, 6999);
    fake_next(&f);
    is_u64(lead(), 1, "row 6: the lead shrinks to what the word is ahead");
    fake_pass_ms(&f, 10);
    fake_next(&f);
    is_u64(lead(), 0, "row 6: and is gone when the clock has caught up");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 3000);
    fake_next(&f);
    fake_step_ms(&f, -3600000);
    fake_next(&f);
    is_u64(lead(), 3000, "row 5: never more than max_ahead");
    fake_set_word(&f, START, SEQ_MAX);
    is_u64(fake_tick_of(&f, fake_try(&f)), START,
           "row 15: behind, the latest tick is used to its end");
    is_i64(fake_try(&f), SFID_ECLOCK, "row 16: behind, and it is used up");
    fake_close(&f);
}

static void row_7(void) {
    begin(SFID_WAIT, 2000, 10000);
    struct sfid__record *old = fake_record(&f);
    const uint64_t n = atomic_fetch_add(&old->word, 1);
    fake_switch(&f, 9, 0, f.g.end);
    const int64_t id = fake_settle(&f, old, n, true);
    is_i64(id, sfid__compose(old, n), "row 7: a number drawn before its record closed is good");

    const uint64_t late = atomic_fetch_add(&old->word, 1);
    ok(late & SFID__CLOSED, "row 7: a late add sees the closed mark");
    const int64_t other = fake_settle(&f, old, late, true);
    sfid_parts p;
    ok(sfid_parse(&f.g.layout, other, &p) == 0 && p.pid == 9,
       "row 7: and is dropped for one of the new record");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 10000);
    old = fake_record(&f);
    atomic_store(&old->limit, START + 1);
    sfid__record_close(old);
    fake_switch(&f, 9, 0, f.g.end);
    const int64_t after = fake_settle(&f, old, (uint64_t)(START + 1) << 12, true);
    ok(sfid_parse(&f.g.layout, after, &p) == 0 && p.pid == 9,
       "row 7: a number at the closed record's limit is dropped");
    fake_close(&f);
}

static void rows_8_to_10(void) {
    begin(SFID_WAIT, 2000, 10000);
    struct sfid__record *r = fake_record(&f);
    fake_set_word(&f, START + 3, 1);
    const uint64_t n = (uint64_t)(START + 3) << 12;
    is_i64(fake_settle(&f, r, n, false), SFID_EAGAIN, "row 9: in hand, not due, may not sleep");
    is_i64(f.sleeps, 0, "row 9: and did not");
    const int64_t id = fake_settle(&f, r, n, true);
    is_u64(fake_tick_of(&f, id), START + 3, "row 10: sleeps until the number is due");
    is_i64(f.slept_ns, 3000000, "row 10: not longer");
    fake_pass_ms(&f, 40);
    is_i64(fake_settle(&f, r, n, true), id, "row 8: a late waking still issues it");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 10000);
    r = fake_record(&f);
    fake_set_word(&f, START + 5000, 1);
    is_i64(fake_settle(&f, r, (uint64_t)(START + 5000) << 12, true), SFID_EAGAIN,
           "row 10: the deadline over, it is given up");
    is_i64(f.slept_ns / 1000000, 2000, "row 10: after max_wait");
    is_u64(atomic_load(&f.g.refused), 1, "row 9: counted as refused");
    is_u64(atomic_load(&f.g.waits), 1, "row 10: counted as one wait");
    is_u64(atomic_load(&f.g.exhausted), 1, "rows 9, 10: once as a sequence that was used up");
    fake_close(&f);

    begin(SFID_FAIL, 0, 10000);
    fake_next(&f);
    fake_step_ms(&f, -60000);
    is_i64(fake_settle(&f, fake_record(&f), (uint64_t)(START + 1) << 12, true), SFID_ECLOCK,
           "row 9: behind hi it is the clock's fault");
    is_u64(atomic_load(&f.g.exhausted), 0, "row 9: and not that of the sequence");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 0);
    sfid__generator_start(&f.g, fake_switch(&f, 7, (uint64_t)(START + 50) << 12, f.g.end));
    ok(fake_next(&f) >= 0 && atomic_load(&f.g.waits) == 1,
       "row 10: a record that begins ahead of the clock is waited for");
    is_u64(atomic_load(&f.g.exhausted), 0, "row 10: no sequence was used up");
    fake_close(&f);
}

/* Between a call's look at hi and at the word: the clock goes on, and another call draws. */
static void meanwhile(struct sfid__generator *g) {
    g->keeper_wanted = NULL;
    fake_pass_ms(&f, 5);
    fake_try(&f);
}

static void row_15_looks_again(void) {
    begin(SFID_WAIT, 2000, 0);
    fake_next(&f);
    fake_pass_ms(&f, 1);
    f.g.half_window = f.g.end;
    f.g.keeper_wanted = meanwhile;
    const int64_t id = fake_next(&f);
    is_u64(fake_tick_of(&f, id), START + 6,
           "row 15: the tick that another call has begun meanwhile is due");
    is_i64(f.sleeps, 0, "row 15: so the call does not sleep");
    is_u64(atomic_load(&f.g.exhausted), 0, "row 15: and no sequence was used up");
    fake_close(&f);
}

static void rows_11_and_12(void) {
    begin(SFID_WAIT, 100, 10000);
    sfid__record_close(fake_record(&f));
    is_i64(fake_try(&f), SFID_ELEASE, "row 12: closed and none newer: try does not wait");
    is_i64(fake_next(&f), SFID_ELEASE, "row 12: next gives up after max_wait");
    is_i64(f.slept_ns / 1000000, 100, "row 12: having slept that");
    is_u64(atomic_load(&f.g.exhausted), 0, "row 12: which no sequence is to blame for");
    const int64_t before = sfid__compose(fake_record(&f), sfid__record_position(fake_record(&f)));
    fake_switch(&f, 9, 0, f.g.end);
    const int64_t id = fake_next(&f);
    sfid_parts p;
    ok(sfid_parse(&f.g.layout, id, &p) == 0 && p.pid == 9, "row 11: the newer record is taken");
    ok(id > before, "row 11: and starts above the old one");
    is_i64(sfid_pid(fake_handle(&f)), 9, "row 11: the pid is the new one");
    sfid__generator_stop(&f.g);
    is_i64(fake_next(&f), SFID_ECLOSED, "closing: next");
    is_i64(fake_try(&f), SFID_ECLOSED, "closing: try");
    is_i64(sfid_retry_ms(fake_handle(&f)), SFID_ECLOSED, "closing: retry");
    is_i64(sfid_pid(fake_handle(&f)), SFID_ECLOSED, "closing: pid");
    fake_close(&f);
}

/* A record closed when its window was over already: whoever has it still finds the newer one. */
static void row_11_after_3(void) {
    sfid_parts p;
    begin(SFID_WAIT, 100, 10000);
    fake_next(&f);
    atomic_store(&fake_record(&f)->limit, START);
    is_i64(fake_try(&f), SFID_ELEASE, "row 3: the window is over");
    fake_switch(&f, 9, START, f.g.end);
    int64_t id = fake_try(&f);
    ok(sfid_parse(&f.g.layout, id, &p) == 0 && p.pid == 9,
       "row 11: try takes the newer record of one whose window was over");
    struct sfid__record *old = fake_record(&f);
    atomic_store(&old->limit, START);
    fake_switch(&f, 10, START, f.g.end);
    id = fake_settle(&f, old, (uint64_t)(START + 5) << 12, true);
    ok(sfid_parse(&f.g.layout, id, &p) == 0 && p.pid == 10,
       "row 7: and a number in hand past such a limit is dropped");
    fake_close(&f);
}

static void row_14(void) {
    begin(SFID_BORROW, 100, 10000);
    atomic_store(&fake_record(&f)->limit, START + 2);
    fake_set_word(&f, START + 2, 0);
    const uint64_t before = word();
    is_i64(fake_next(&f), SFID_ELEASE, "row 14: the word at the limit");
    is_u64(word(), before, "row 14: untouched");
    fake_close(&f);
    begin(SFID_WAIT, 100, 0);
    atomic_store(&fake_record(&f)->limit, START + 1000);
    atomic_store(&fake_record(&f)->hi, START + 1000);
    fake_set_word(&f, START + 1000, 5);
    is_i64(fake_next(&f), SFID_ECLOCK, "row 14: a clock that was there before reaches no further");
    is_u64(word(), (uint64_t)(START + 1000) << 12 | 5, "row 14: untouched");
    fake_close(&f);
}

static void rows_15_to_18(void) {
    begin(SFID_WAIT, 2000, 10000);
    fake_set_word(&f, START + 1, 0);
    is_i64(fake_try(&f), SFID_EAGAIN, "row 16: try, not due");
    is_u64(word(), (uint64_t)(START + 1) << 12, "row 16: word untouched");
    is_i64(sfid_retry_ms(fake_handle(&f)), 1, "row 16: retry says when");
    const int64_t id = fake_next(&f);
    is_u64(fake_tick_of(&f, id), START + 1, "row 18: draws one of the coming tick");
    is_i64(f.slept_ns, 1000000, "row 18: and sleeps until that begins");
    fake_close(&f);

    begin(SFID_FAIL, 2000, 10000);
    fake_set_word(&f, START + 1, 0);
    is_i64(fake_next(&f), SFID_EAGAIN, "row 16: SFID_FAIL, not due");
    is_u64(word(), (uint64_t)(START + 1) << 12, "row 16: word untouched");
    fake_close(&f);

    begin(SFID_WAIT, 2000, 10000);
    fake_set_word(&f, START + 2001, 0);
    is_i64(fake_next(&f), SFID_EAGAIN, "row 17: the wait would outlast max_wait");
    is_i64(f.sleeps, 0, "row 17: so it does not begin");
    is_u64(word(), (uint64_t)(START + 2001) << 12, "row 17: word untouched");
    fake_close(&f);

    begin(SFID_BORROW, 2000, 500);
    fake_set_word(&f, START + 500, 0);
    is_u64(fake_tick_of(&f, fake_next(&f)), START + 500, "borrow: max_ahead from the clock");
    is_i64(f.sleeps, 0, "borrow: at once");
    fake_set_word(&f, START + 503, 0);
    is_u64(fake_tick_of(&f, fake_next(&f)), START + 503, "borrow: beyond it");
    is_i64(f.slept_ns, 3000000, "borrow: waits like SFID_WAIT");
    fake_close(&f);

    begin(SFID_BORROW, 2000, 0);
    fake_set_word(&f, START + 1, 0);
    fake_next(&f);
    is_i64(f.slept_ns, 1000000, "borrow: max_ahead 0 never borrows");
    fake_close(&f);
}

static void batches(void) {
    static int64_t ids[10000];
    begin(SFID_WAIT, 2000, 10000);
    is_i64(sfid_next_n(fake_handle(&f), ids, 0), 0, "batch: none wanted");
    is_i64(sfid_next_n(fake_handle(&f), NULL, 1), SFID_EINVAL, "batch: nowhere to put them");
    is_i64(sfid_next_n(fake_handle(&f), ids, 10000), 10000, "batch: over three ticks");
    bool rising = true;
    for (int i = 1; i < 10000; i++)
        rising &= ids[i] > ids[i - 1];
    ok(rising, "batch: increasing");
    is_u64(fake_tick_of(&f, ids[9999]), START + 2, "batch: as many ticks as it takes");
    is_i64(f.slept_ns, 2000000, "batch: one wait for each further tick");
    is_u64(sfid__record_position(fake_record(&f)), ((uint64_t)(START + 2) << 12) + 10000 - 8192,
           "batch: draws what it returns, no more");
    fake_close(&f);

    begin(SFID_FAIL, 0, 10000);
    is_i64(sfid_next_n(fake_handle(&f), ids, 10000), 4096, "batch: SFID_FAIL: what the tick has");
    is_i64(sfid_next_n(fake_handle(&f), ids, 10000), SFID_EAGAIN, "batch: then the error");
    is_u64(word(), (uint64_t)(START + 1) << 12, "batch: and nothing drawn for it");
    fake_close(&f);

    static int64_t many[5 * 4096];
    begin(SFID_WAIT, 2, 10000);
    is_i64(sfid_next_n(fake_handle(&f), many, 5 * 4096), 3 * 4096,
           "batch: max_wait counts over the whole call");
    fake_close(&f);
}

int main(void) {
    hot_path();
    rows_1_and_2();
    row_3();
    clocks_stand_still();
    half_windows();
    rows_4_and_13();
    rows_5_and_6();
    row_7();
    rows_8_to_10();
    row_15_looks_again();
    rows_11_and_12();
    row_11_after_3();
    row_14();
    rows_15_to_18();
    batches();
    return done_testing();
}
