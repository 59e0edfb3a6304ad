/* SPDX-License-Identifier: MIT */
/*
 * inline_call.c - the inline form of a call: what it issues itself, and when it leaves the call to
 * the library.
 *
 * The library reads the fake clock, the inline form time(), which the test sets ahead. The word is
 * one tick ahead of the library's clock. So an ID comes by the inline form alone, but where the
 * test says otherwise; the library says SFID_EAGAIN.
 */
#include "sfid/inline.h"
#include "support/fake.h"
#include "support/tap.h"

#define SEQ_BITS 12

SFID_DEFINE(seconds, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH))
SFID_DEFINE(pairs, SFID_LAYOUT(36, 4, SEQ_BITS, 2000, FAKE_EPOCH))
SFID_DEFINE(between, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH + 1))
SFID_DEFINE(thirds, SFID_LAYOUT(36, 4, SEQ_BITS, 1500, FAKE_EPOCH))
SFID_DEFINE(shorter, SFID_LAYOUT(36, 4, SFID__LOOK_BITS - 1, 1000, FAKE_EPOCH))
SFID_DEFINE(longer, SFID_LAYOUT(36, 4, SFID__LOOK_BITS, 1000, FAKE_EPOCH))

static struct fake f;
static int64_t seconds_ahead;

time_t time(time_t *out) {
    const time_t now = (time_t)(fake_now(&f.clock).ms / 1000 + seconds_ahead);
    return out ? (*out = now) : now;
}

#define HANDLE(name) ((name *)(void *)fake_handle(&f))

static uint64_t word(void) { return atomic_load(&fake_record(&f)->word); }

/* The word is at sequence 5 of the tick after the library's; the inline form's clock is ahead. */
static uint64_t begin(const char *layout, int64_t ahead) {
    fake_open(&f, layout, SFID_WAIT, 0, 0);
    const uint64_t tick = fake_tick(&f) + 1;
    fake_set_word(&f, tick, 5);
    seconds_ahead = ahead;
    return tick;
}

static void issues_itself(void) {
    uint64_t tick = begin("36:4:12/1s", 1);
    is_i64(seconds_next(HANDLE(seconds)), (int64_t)(tick << 16 | 7 << SEQ_BITS | 5),
           "in the tick of its clock: the word's position");
    is_u64(word(), tick << SEQ_BITS | 6, "which it takes from the word");
    fake_close(&f);
    tick = begin("36:4:12/2s", 2);
    is_i64(pairs_next(HANDLE(pairs)), (int64_t)(tick << 16 | 7 << SEQ_BITS | 5),
           "ticks of two seconds");
    fake_close(&f);
}

/* Asks the library, which moves nothing. */
static void asks(int64_t got, int64_t want, uint64_t before, const char *why) {
    is_i64(got, want, "%s: the library is asked", why);
    is_u64(word(), before, "%s: and the word stays", why);
    fake_close(&f);
}

static void leaves_calls(void) {
    begin("36:4:12/1s", 0);
    uint64_t before = word();
    asks(seconds_next(HANDLE(seconds)), SFID_EAGAIN, before, "a word of another tick");
    const uint64_t tick = begin("36:4:12/1s", 1);
    before = word();
    atomic_store(&fake_record(&f)->limit, tick);
    asks(seconds_next(HANDLE(seconds)), SFID_EAGAIN, before, "a tick at the limit");
    begin("36:4:12/1s", 1);
    before = word();
    asks(between_next(HANDLE(between)), SFID_EAGAIN, before, "an epoch between two seconds");
    const uint64_t number = begin("36:4:12/1500ms", 0);
    before = word();
    seconds_ahead = (int64_t)number - f.wall_ns / 1000000000; /* so many seconds since the epoch */
    asks(thirds_next(HANDLE(thirds)), SFID_EAGAIN, before, "ticks that time() cannot tell");
    is_i64(seconds_next(NULL), SFID_ECLOSED, "no generator");
}

/* ---- long sequences: one look a tick ---------------------------------------------- */

#define LONGER "36:4:16/1s"
#define LAST 65535

/* As begin(); word_tick as a call that looked has left it. */
static uint64_t begin_without_look(void) {
    const uint64_t tick = begin(LONGER, 1);
    atomic_store(&f.g.word_tick, tick);
    return tick;
}

static void one_look_a_tick(void) {
    begin(LONGER, 1);
    asks(longer_next(HANDLE(longer)), SFID_EAGAIN, word(), "a tick in which no call has looked");
    uint64_t tick = begin_without_look();
    is_i64(longer_next(HANDLE(longer)), sfid__compose(fake_record(&f), tick << SFID__LOOK_BITS | 5),
           "a call has looked: the next ID");
    is_u64(word(), tick << SFID__LOOK_BITS | 6, "is the word's position");
    seconds_ahead = 2;
    asks(longer_next(HANDLE(longer)), SFID_EAGAIN, word(), "the tick after");
    tick = begin_without_look();
    atomic_store(&fake_record(&f)->limit, tick);
    asks(longer_next(HANDLE(longer)), SFID_EAGAIN, word(), "a long sequence's tick at the limit");
    begin_without_look();
    sfid__generator_stop(&f.g);
    is_i64(longer_next(HANDLE(longer)), SFID_ECLOSED, "a closed handle: no ID");
    is_u64(atomic_load(&sfid__no_record.word), SFID__CLOSED,
           "and nothing is taken from the record of closed handles");
    fake_close(&f);
    tick = begin("36:4:15/1s", 1);
    is_i64(shorter_next(HANDLE(shorter)),
           sfid__compose(fake_record(&f), tick << (SFID__LOOK_BITS - 1) | 5),
           "a shorter sequence: the call looks itself");
    fake_close(&f);
}

static void used_up(void) {
    const uint64_t tick = begin_without_look();
    const struct sfid__record *r = fake_record(&f);
    fake_set_word(&f, tick, LAST);
    is_i64(longer_next(HANDLE(longer)), sfid__compose(r, tick << SFID__LOOK_BITS | LAST),
           "a long sequence: the last ID of a tick");
    const uint64_t issued = sfid__record_issued(r);
    is_i64(longer_next(HANDLE(longer)), SFID_EAGAIN, "the next call comes too late");
    for (int i = 0; i < 1000; i++)
        longer_next(HANDLE(longer));
    is_u64(word(), (tick + 1) << SFID__LOOK_BITS | 1, "and alone moves the word");
    is_u64(sfid__record_issued(r), issued, "which does not count as issued");
    fake_pass_ms(&f, 2000);
    seconds_ahead = 0;
    is_i64(longer_next(HANDLE(longer)), sfid__compose(r, (tick + 1) << SFID__LOOK_BITS | 1),
           "the next tick goes on behind it");
    is_u64(atomic_load(&f.g.word_tick), tick + 1, "where the library has looked");
    fake_close(&f);
}

/* Here the clocks do not differ. The first call looks, the second need not. */
static void record_closed(void) {
    fake_open(&f, LONGER, SFID_WAIT, 2000, 0);
    seconds_ahead = 0;
    if (longer_next(HANDLE(longer)) < 0 || longer_next(HANDLE(longer)) < 0)
        bail("no ID");
    const struct sfid__record *old = fake_record(&f);
    const struct sfid__record *r = fake_switch(&f, 9, 0, f.g.end);
    is_i64(longer_next(HANDLE(longer)), sfid__compose(r, r->floor << SFID__LOOK_BITS),
           "a closed record: an ID of the next one");
    is_u64(sfid__record_issued(old), 2, "and what was taken from the closed one does not count");
    fake_close(&f);
}

int main(void) {
    issues_itself();
    leaves_calls();
    one_look_a_tick();
    used_up();
    record_closed();
    return done_testing();
}
