/* SPDX-License-Identifier: MIT */
/* crowd.c - a generator whose page processes share: when it wants the next page, and how its calls
 * go on there. */
#include "draw/crowd.h"

#include "support/fake.h"
#include "support/tap.h"

#define START UINT64_C(100000000)
#define TICKS 400

/* b has the next page, with a lower pid, and a's clock; c has the one after it */
static struct fake a, b, c;
static int wanted;

static void want(struct sfid__generator *g) {
    (void)g;
    wanted++;
}

static void begin_in(const char *layout) {
    fake_open(&a, layout, SFID_WAIT, 2000, 0);
    sfid__generator_share(&a.g);
    sfid__generator_start(&a.g, fake_record(&a));
    a.g.page_wanted = want;
    wanted = 0;
}

static void begin(void) { begin_in(NULL); }

static void begin_both(void) {
    begin();
    fake_open(&b, NULL, SFID_WAIT, 2000, 0);
    sfid__generator_share(&b.g);
    sfid__generator_start(&b.g, fake_switch(&b, 3, START << 12, b.g.end));
    fake_set_word(&b, START, 0);
    b.g.clock = &a.clock;
}

static void end(void) {
    fake_close(&a);
    if (b.page)
        fake_close(&b);
    b.page = NULL;
}

static uint64_t pid_of(int64_t id) { return (uint64_t)id >> 12 & 1023; }

/* ---- wanted ---------------------------------------------------------------- */

/* In each of TICKS ticks, `every` ms apart, this process takes `ours` positions and others take the
 * rest. Returns how often the next page was wanted. */
static int used_up(uint64_t every, uint64_t ours, bool may_sleep) {
    begin();
    for (uint64_t i = 0; i < TICKS; i++) {
        fake_set_word(&a, fake_tick(&a) + 1, 0);
        atomic_fetch_add(&a.g.crowd.mine, ours);
        if (may_sleep && fake_next(&a) < 0)
            return -1;
        if (!may_sleep && fake_try(&a) != SFID_EAGAIN)
            return -1;
        fake_pass_ms(&a, (int64_t)every - may_sleep); /* a call that may sleep slept for one */
    }
    end();
    return wanted;
}

/* A process that is alone uses up TICKS ticks, with `pause` of them unused after each. Returns how
 * often the next page was wanted. */
static int used_up_alone(int64_t pause, uint64_t random_start) {
    int64_t ids[4096];
    begin();
    a.g.random_start = random_start;
    for (int i = 0; i < TICKS; i++) {
        if (sfid_next_n(fake_handle(&a), ids, 4096) != 4096 || fake_next(&a) < 0)
            return -1;
        fake_pass_ms(&a, pause);
    }
    end();
    return wanted;
}

/* Alone, in calls that take 1 and 600 in turn, each from a new tick, after one that was used up. */
static int used_up_alone_in_batches(void) {
    begin();
    for (int i = 0; i < TICKS; i++) {
        struct sfid__call call = {.may_sleep = true, .want = i % 2 ? 600 : 1, .exhausted = true};
        if (sfid__draw_front(&a.g, &call) < 0)
            return -1;
        fake_pass_ms(&a, 1);
    }
    end();
    return wanted;
}

/* Two calls find the same tick used up, and others take positions between them; and so on in each
 * eleventh tick. */
static int used_up_for_two(void) {
    begin();
    for (int i = 0; i < TICKS; i++) {
        for (int n = 0; n < 2; n++) {
            struct sfid__call call = {.may_sleep = true, .want = 1, .exhausted = true};
            if (sfid__draw_front(&a.g, &call) < 0)
                return -1;
            atomic_fetch_add(&fake_record(&a)->word, 1000);
        }
        fake_pass_ms(&a, 11);
    }
    end();
    return wanted;
}

static void when_wanted(void) {
    begin_both();
    ok(atomic_load(&a.g.random) != 0 && atomic_load(&a.g.random) != atomic_load(&b.g.random),
       "no two processes decide alike");
    end();
    const int all = used_up(1, 0, true);
    ok(all > TICKS / 2 - 60 && all < TICKS / 2 + 60,
       "others use up each tick: wanted in half of them (%d of %d)", all, TICKS);
    const int quarter = used_up(1, 1024, true);
    ok(quarter > TICKS / 4 - 50 && quarter < TICKS / 4 + 50, "a quarter is ours: in a quarter (%d)",
       quarter);
    is_i64(used_up(1, 2048, true), 0, "half is ours: never");
    is_i64(used_up(1, 4096, true), 0, "all is ours: never");
    ok(used_up(10, 0, true) > TICKS / 2 - 60, "every tenth tick is enough");
    is_i64(used_up(11, 0, true), 0, "every eleventh is not");
    is_i64(used_up_for_two(), 0, "nor are two calls in one tick: it was used up once");
    is_i64(used_up(1, 0, false), 0, "a call that may not sleep wants nothing");
    is_i64(used_up_alone(0, 0), 0, "alone: never");
    is_i64(used_up_alone(5, 0), 0, "alone, with pauses: never");
    is_i64(used_up_alone(5, 2048), 0, "alone, with ticks that start at random: never");
    is_i64(used_up_alone_in_batches(), 0, "alone, in batches: never");
    begin();
    fake_set_word(&a, START + 1, 0);
    ok(fake_next(&a) > 0 && wanted == 0, "once is not enough");
    a.g.page_wanted = NULL;
    fake_set_word(&a, START + 2, 0);
    ok(fake_next(&a) > 0, "there may be no next page");
    end();
}

/* A late thread: after its handle's close another process may publish records behind the last one
 * that is mapped here. */
static void only_its_own_record(void) {
    begin();
    atomic_store(&a.page->current, 300);         /* there is none */
    atomic_store(&a.page->resting, SFID__FAILS); /* or what has no window is ready, too */
    ok(sfid_ready(fake_handle(&a)),
       "the page has a record that this process has not seen: ready by the one it has");
    for (int i = 0; i < TICKS; i++) {
        fake_set_word(&a, fake_tick(&a) + 1, 0);
        if (fake_next(&a) < 0)
            break;
    }
    ok(wanted > TICKS / 4, "the next page is wanted by the one it has (%d of %d)", wanted, TICKS);
    end();
}

/* ---- moved ------------------------------------------------------------------ */

static void in_a_tick(void) {
    begin();
    ok(atomic_load(&a.g.record) == &sfid__shared_only, "no call stays on the hot path");
    const int64_t first = fake_next(&a), second = fake_next(&a);
    is_i64(second, first + 1, "the next number of the tick");
    int64_t ids[4096];
    const uint64_t mine = atomic_load(&a.g.crowd.mine);
    is_i64(sfid_next_n(fake_handle(&a), ids, 5), 5, "five at once");
    is_u64(atomic_load(&a.g.crowd.mine), mine + 5, "are counted");
    struct sfid__record *r = fake_record(&a);
    atomic_store(&r->hi, START - 1); /* the slow path raises it */
    ok(fake_next(&a) == first + 7 && fake_try(&a) == first + 8 &&
           sfid_next_n(fake_handle(&a), ids, 5) == 5 && atomic_load(&r->hi) == START - 1,
       "within a tick nothing takes the slow path");
    atomic_store(&a.page->asked_ms, 1);
    ok(fake_next(&a) == first + 14 && atomic_load(&r->hi) == START,
       "unless the keeper was asked and has not answered");
    atomic_store(&a.page->asked_ms, 0);
    atomic_store(&r->hi, START - 1);
    atomic_store(&r->limit, START);
    ok(fake_try(&a) < 0, "or the window is over");
    atomic_store(&r->limit, START + 2);
    ok(sfid_next_n(fake_handle(&a), ids, 4096) == 4096 && ids[0] == first + 15 &&
           fake_tick_of(&a, ids[4080]) == START && fake_tick_of(&a, ids[4081]) == START + 1 &&
           pid_of(ids[4080]) == pid_of(first),
       "a batch ends with the tick and goes on in the next one");
    end();
}

/* What this process has issued decides where the next page begins, and whether it wants one. */
static void is_noted(void) {
    int missing = 0;
    begin();
    fake_set_word(&a, fake_tick(&a), 5);
    ok(fake_next(&a) >= 0 && atomic_load(&a.g.crowd.last) == START,
       "the first ID of a tick is noted, where others have begun it, too");
    const uint64_t before = atomic_load(&a.g.crowd.mine);
    for (int i = 0; i < 3200; i++)
        missing += fake_next(&a) < 0;
    const int64_t counted = (int64_t)(atomic_load(&a.g.crowd.mine) - before);
    ok(counted > 3200 - 128 && counted < 3200 + 128,
       "by a sample, 3200 positions count as about as many (%" PRId64 ")", counted);
    end();
    begin_in("45:10:8/1ms");
    const uint64_t none = atomic_load(&a.g.crowd.mine);
    for (int i = 0; i < 25; i++)
        missing += fake_next(&a) < 0;
    is_u64(atomic_load(&a.g.crowd.mine) - none, 25, "of a short sequence each position counts");
    is_i64(missing, 0, "and none is missing");
    end();
}

static void above_the_old(void) {
    begin_both();
    const int64_t before = fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    is_i64(fake_try(&a), SFID_EAGAIN,
           "the new page has nothing of a tick that was issued from the old one");
    is_i64(sfid_retry_ms(fake_handle(&a)), 1, "and that lasts until the tick is over");
    const int64_t id = fake_next(&a);
    ok(id > before && pid_of(id) == 3 && fake_tick_of(&a, id) == START + 1,
       "then IDs go on there, above");
    is_i64(a.sleeps, 1, "after one sleep");
    is_i64(fake_next(&a), id + 1, "and on");
    is_u64(atomic_load(&fake_record(&a)->word), (START << 12) + 1,
           "nothing more is taken from the old page");
    sfid__generator_stop(&b.g);
    is_i64(fake_next(&a), SFID_ECLOSED, "until that is closed");
    end();
}

/* This process has issued ahead of the clock, and moves on to a page that is at the clock. */
static void ahead_of_the_clock(void) {
    begin_both();
    a.g.exhaustion = b.g.exhaustion = SFID_BORROW;
    a.g.max_ahead = b.g.max_ahead = 1000;
    fake_set_word(&a, START + 900, 4095);
    int64_t before = fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    is_i64(sfid_retry_ms(fake_handle(&a)), 0, "a process that borrows need not wait");
    int64_t id = fake_next(&a);
    ok(id > before && pid_of(id) == 3 && fake_tick_of(&a, id) == START + 901,
       "its IDs go on ahead of the clock, above");
    ok(fake_next(&a) == id + 1 && a.sleeps == 0, "and on, without a sleep");
    end();

    begin_both();
    a.g.max_ahead = b.g.max_ahead = 1000;
    fake_pass_ms(&a, 500);
    before = fake_next(&a);
    fake_step_ms(&a, -400);
    const int64_t same_tick = fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    id = fake_next(&a);
    ok(same_tick == before + 1 && id > same_tick && fake_tick_of(&a, id) == START + 501 &&
           a.sleeps == 0,
       "after a step back, too: above, in the next tick");
    ok(fake_next(&a) == id + 1 && a.sleeps == 0, "and on, without a sleep here either");
    end();

    begin_both();
    a.g.exhaustion = b.g.exhaustion = SFID_BORROW;
    a.g.max_ahead = b.g.max_ahead = 1000;
    fake_set_word(&a, START + 900, 0);
    fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    atomic_store(&fake_record(&b)->limit, START + 901);
    is_i64(fake_try(&a), SFID_EAGAIN, "but not beyond the window");
    end();
}

/* A child forked in the middle of a move has no copy of the thread that moves it. */
static void forked_on_the_way(void) {
    begin_both();
    const int64_t before = fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    atomic_store(&b.g.crowd.from, UINT64_MAX);
    ok(sfid_retry_ms(fake_handle(&a)) == 1, "where the new page begins is not known yet");
    is_i64(fake_try(&a), SFID_EAGAIN, "a call finds it out: not in a tick of the old page");
    fake_pass_ms(&a, 1);
    const int64_t id = fake_try(&a);
    ok(id > before && fake_tick_of(&a, id) == START + 1, "and IDs go on above");
    end();
}

/* From page to page, without an ID on the one in between: others use up its ticks, ahead of the
 * clock. */
static void twice(void) {
    begin_both();
    fake_open(&c, NULL, SFID_WAIT, 2000, 0);
    sfid__generator_share(&c.g);
    sfid__generator_start(&c.g, fake_switch(&c, 2, START << 12, c.g.end));
    fake_set_word(&c, START, 0);
    c.g.clock = &a.clock;
    fake_set_word(&a, START, 77);
    const int64_t before = fake_next(&a);
    sfid__draw_move(&a.g, &b.g);
    fake_set_word(&b, START + 1, 0);
    is_i64(fake_try(&a), SFID_EAGAIN, "nothing on the second page");
    sfid__draw_move(&b.g, &c.g);
    const int64_t id = fake_next(&a);
    ok(id > before && pid_of(id) == 2, "the third one begins above the first");
    end();
    fake_close(&c);
}

static void move_now(struct fake *f, int64_t ns) {
    (void)ns;
    if (f->sleeps == 1)
        sfid__draw_move(&a.g, &b.g);
}

static void in_hand(void) {
    begin_both();
    const int64_t before = fake_next(&a);
    fake_set_word(&a, START + 1, 9);
    a.on_sleep = move_now;
    const uint64_t skipped = atomic_load(&fake_record(&a)->skipped);
    const int64_t id = fake_next(&a);
    ok(id > before && pid_of(id) == 3,
       "a position in hand at the move is not issued: the new page may be past it");
    is_u64(atomic_load(&fake_record(&a)->skipped), skipped + 1, "it counts as skipped");
    end();
}

static void with_a_lane(void) {
    begin_both();
    sfid_lane *lane = NULL;
    ok(sfid_lane_open(&lane, fake_handle(&a)) == 0, "a lane");
    const int64_t first = sfid_lane_next(lane), second = sfid_lane_next(lane);
    sfid__draw_move(&a.g, &b.g);
    const int64_t third = sfid_lane_next(lane);
    ok(second == first + 1 && third == second + 1, "a run of the old page is used up in its tick");
    fake_pass_ms(&a, 1);
    const int64_t id = sfid_lane_next(lane);
    ok(id > third && pid_of(id) == 3, "the next one is of the new page");
    const uint64_t word = atomic_load(&fake_record(&b)->word);
    ok(sfid_lane_next(lane) == id + 1 && atomic_load(&fake_record(&b)->word) == word,
       "and is used up, too");
    sfid_lane_close(lane);
    end();
    begin_both();
    ok(sfid_lane_open(&lane, fake_handle(&a)) == 0 && sfid_lane_next(lane) >= 0, "a lane");
    sfid__draw_move(&a.g, &b.g);
    fake_pass_ms(&a, 1);
    ok(pid_of(fake_next(&a)) == 3, "another call is the first of the new page");
    const int64_t run = sfid_lane_next(lane);
    const uint64_t after = atomic_load(&fake_record(&b)->word);
    ok(pid_of(run) == 3 && sfid_lane_next(lane) == run + 1 &&
           atomic_load(&fake_record(&b)->word) == after,
       "then a lane has its record, and goes on in its run");
    sfid_lane_close(lane);
    end();
}

/* Who is asked renews at once, and a keeper that has died is replaced: no lease is lost unless
 * nobody does it. */
static void at_the_limit(void) {
    begin();
    a.g.half_window = 10;
    atomic_store(&fake_record(&a)->limit, START);
    ok(sfid_ready(fake_handle(&a)) == 1, "at the limit: nobody was asked yet: it is ready");
    is_i64(fake_try(&a), SFID_EAGAIN, "at the limit: and no lease is lost");
    fake_pass_ms(&a, 1900);
    ok(sfid_ready(fake_handle(&a)) == 1 && fake_try(&a) == SFID_EAGAIN,
       "at the limit: nor while an answer may come");
    fake_pass_ms(&a, 200);
    is_i64(fake_try(&a), SFID_ELEASE, "at the limit: it is when none comes");
    ok(sfid_ready(fake_handle(&a)) == 0, "at the limit: and nothing is ready");
    end();
}

int main(void) {
    at_the_limit();
    in_a_tick();
    is_noted();
    when_wanted();
    only_its_own_record();
    above_the_old();
    ahead_of_the_clock();
    forked_on_the_way();
    twice();
    in_hand();
    with_a_lane();
    return done_testing();
}
