/* SPDX-License-Identifier: MIT */
/*
 * look.c - a long sequence, of which calls look at the word once a tick: what they take too many
 * once the tick is used up, and that they find the limit, the record's end and the handle's without
 * a look. Threads: by the call and by the inline form.
 *
 * Sizes: 4 threads, 100,000 calls each (sanitizer: 30,000).
 */
#include "sfid/inline.h"
#include "support/fake.h"
#include "support/tap.h"

#include <pthread.h>

#define START UINT64_C(100000000)
#define SEQ_BITS 16
#define LAST 65535

enum { THREADS = 4, MOST_CALLS = 100000 };

static struct fake f;

SFID_DEFINE(seconds, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH))

/* The inline form's clock. */
time_t time(time_t *out) {
    const time_t now = (time_t)(fake_now(&f.clock).ms / 1000);
    return out ? (*out = now) : now;
}

static uint64_t number(uint64_t tick, uint64_t seq) { return tick << SEQ_BITS | seq; }
static uint64_t word(void) { return sfid__record_position(fake_record(&f)); }
static void begin(sfid_exhaustion policy, uint32_t max_wait_ms) {
    fake_open(&f, "37:10:16/1ms", policy, max_wait_ms, 10000);
}

/* Two calls: one looks, and the next need not. */
static void begin_without_look(sfid_exhaustion policy, uint32_t max_wait_ms) {
    begin(policy, max_wait_ms);
    if (fake_try(&f) < 0 || fake_try(&f) < 0)
        bail("no ID");
}

static void one_look_a_tick(void) {
    begin_without_look(SFID_WAIT, 0);
    is_u64(atomic_load(&f.g.word_tick), START,
           "a call has looked at the word, and the next need not look");
    is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START, 2)),
           "without a look: the next ID");
    fake_pass_ms(&f, 1);
    is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START + 1, 0)),
           "a new tick begins with its first ID");
    is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START + 1, 1)), "and goes on");
    fake_close(&f);
    fake_open(&f, "38:10:15/1ms", SFID_WAIT, 0, 10000);
    is_i64(fake_try(&f) < 0 || fake_try(&f) < 0, 0, "of a shorter sequence");
    ok(atomic_load(&f.g.word_tick) == UINT64_MAX, "each call looks");
    fake_close(&f);
}

static void used_up(void) {
    begin_without_look(SFID_FAIL, 0);
    fake_set_word(&f, START, LAST);
    is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START, LAST)),
           "failing: the last ID of a tick");
    int refused = 0;
    for (int i = 0; i < 1000; i++)
        refused += fake_try(&f) == SFID_EAGAIN;
    is_i64(refused, 1000, "then calls are refused");
    is_u64(word(), number(START + 1, 1), "of which one alone has moved the word");
    is_u64(sfid__record_issued(fake_record(&f)), LAST + 1, "which does not count as issued");
    fake_pass_ms(&f, 1);
    is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START + 1, 1)),
           "the next tick goes on behind it");
    fake_close(&f);
    begin_without_look(SFID_WAIT, 2000);
    fake_set_word(&f, START + 1, 0);
    is_i64(fake_next(&f), sfid__compose(fake_record(&f), number(START + 1, 0)),
           "waiting: a call keeps what it has taken");
    is_i64(f.slept_ns, 1000000, "until its tick begins");
    fake_close(&f);
}

static void at_the_limit(void) {
    begin_without_look(SFID_WAIT, 0);
    atomic_store(&fake_record(&f)->limit, START);
    is_i64(fake_try(&f), SFID_ELEASE, "without a look: no ID of the tick at the limit");
    is_u64(word(), number(START, 2), "and the word stays");
    fake_close(&f);
}

static void closed(void) {
    begin_without_look(SFID_WAIT, 2000);
    const struct sfid__record *old = fake_record(&f);
    const struct sfid__record *r = fake_switch(&f, 9, 0, f.g.end);
    is_i64(fake_next(&f), sfid__compose(r, r->floor << SEQ_BITS),
           "the record is closed: an ID of the next one");
    is_u64(sfid__record_position(old), number(START, 3), "its word moves once");
    is_u64(sfid__record_issued(old), 2, "which does not count as issued");
    fake_close(&f);
    begin_without_look(SFID_WAIT, 0);
    sfid__generator_stop(&f.g);
    is_i64(fake_try(&f), SFID_ECLOSED, "the handle is closed: no ID");
    ok(atomic_load(&sfid__no_record.word) == SFID__CLOSED,
       "and nothing is taken from the record of closed handles");
    fake_close(&f);
}

static void clock_goes_back(void) {
    begin_without_look(SFID_FAIL, 0);
    fake_set_word(&f, START, LAST);
    fake_step_ms(&f, -1);
    is_u64(fake_tick_of(&f, fake_try(&f)), START,
           "the clock goes back: calls look, and issue what is left");
    is_i64(fake_try(&f), SFID_ECLOCK, "and no more");
    is_u64(word(), number(START + 1, 0), "nor do they take it");
    fake_close(&f);
}

static unsigned keepers;

static void start_keeper(struct sfid__generator *g) {
    (void)g;
    keepers++;
}

/* Half of the window is gone, and a call that may not sleep is the first of each tick. */
static void keeper_is_due(void) {
    begin_without_look(SFID_WAIT, 0);
    keepers = 0;
    f.g.keeper_wanted = start_keeper;
    f.g.half_window = f.g.end;
    fake_pass_ms(&f, 1);
    for (int i = 0; i < 3; i++)
        is_i64(fake_try(&f), sfid__compose(fake_record(&f), number(START + 1, (uint64_t)i)),
               "a keeper is due: an ID all the same");
    is_u64(keepers, 0, "which starts none");
    is_i64(fake_next(&f), sfid__compose(fake_record(&f), number(START + 1, 3)),
           "then one that may sleep, in the same tick");
    is_u64(keepers, 1, "starts it");
    fake_next(&f);
    fake_next(&f);
    is_u64(keepers, 1, "once");
    is_u64(atomic_load(&f.g.word_tick), START + 1, "and calls look no more");
    fake_pass_ms(&f, 1);
    fake_try(&f);
    f.g.half_window = 10;
    fake_next(&f);
    fake_pass_ms(&f, 1);
    is_i64(fake_try(&f) < 0 || fake_next(&f) < 0, 0, "renewed meanwhile");
    is_u64(atomic_load(&f.g.word_tick), START + 3, "calls look no more either");
    fake_close(&f);
    begin_without_look(SFID_WAIT, 0);
    keepers = 0;
    f.g.keeper_wanted = start_keeper;
    f.g.half_window = f.g.end;
    fake_pass_ms(&f, 1);
    sfid_lane *lane = NULL;
    ok(sfid_lane_open(&lane, fake_handle(&f)) == 0 && fake_try(&f) >= 0 && keepers == 0,
       "a keeper is due once more");
    ok(sfid_lane_next(lane) >= 0 && keepers == 1, "a lane starts it");
    sfid_lane_close(lane);
    fake_close(&f);
}

/* ---- threads ---------------------------------------------------------------------- */

static int calls;

static int64_t by_call(void) { return sfid_try_next(fake_handle(&f)); }
static int64_t by_inline(void) { return seconds_next((seconds *)(void *)fake_handle(&f)); }

struct worker {
    int64_t (*draw)(void);
    pthread_t thread;
    int64_t ids[MOST_CALLS];
    int count, strange;
};

static void *work(void *arg) {
    struct worker *w = arg;
    for (int i = 0; i < calls; i++) {
        const int64_t id = w->draw();
        if (id >= 0)
            w->ids[w->count++] = id;
        else
            w->strange += id != SFID_EAGAIN;
    }
    return NULL;
}

/* The clock stands, so all calls have one tick, and most of them come too late. */
static void threads(const char *name, const char *layout, int64_t (*draw)(void)) {
    static struct worker workers[THREADS];
    bool seen[LAST + 1] = {false};
    unsigned repeats = 0, others = 0, count = 0, strange = 0;
    calls = SANITIZED ? 30000 : MOST_CALLS;
    fake_open(&f, layout, SFID_FAIL, 0, 10000);
    const uint64_t start = word();
    const int64_t first = sfid__compose(fake_record(&f), start);
    for (int i = 0; i < THREADS; i++) {
        workers[i].draw = draw;
        workers[i].count = workers[i].strange = 0;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        strange += (unsigned)workers[i].strange;
        for (int k = 0; k < workers[i].count; k++, count++) {
            const int64_t at = workers[i].ids[k] - first;
            others += at < 0 || at > LAST;
            repeats += at >= 0 && at <= LAST && seen[at];
            seen[at & LAST] = true;
        }
    }
    is_u64(count, LAST + 1, "threads, %s: all IDs of a tick are issued", name);
    ok(repeats == 0 && others == 0 && strange == 0,
       "each once, and no other (%u twice, %u others, %u errors)", repeats, others, strange);
    const uint64_t over = word() - start - (LAST + 1);
    ok(over <= THREADS * (THREADS + 1), "of %d calls, %u took one too many", calls * THREADS,
       (unsigned)over);
    fake_close(&f);
}

int main(void) {
    one_look_a_tick();
    used_up();
    at_the_limit();
    closed();
    clock_goes_back();
    keeper_is_due();
    threads("calls", "37:10:16/1ms", by_call);
    threads("the inline form", "36:4:16/1s", by_inline);
    return done_testing();
}
