/* SPDX-License-Identifier: MIT */
/*
 * inline_call.c - the inline form of a call: what it issues itself, and when it leaves the call to the library.
 *
 * The library reads the fake clock, the inline form time(), which the test sets ahead. The word is one tick ahead of the library's
 * clock. So an ID comes by the inline form alone; the library says SFID_EAGAIN.
 */
#include "sfid/inline.h"
#include "support/fake.h"
#include "support/tap.h"

#define SEQ_BITS 12

SFID_DEFINE(seconds, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH))
SFID_DEFINE(pairs, SFID_LAYOUT(36, 4, SEQ_BITS, 2000, FAKE_EPOCH))
SFID_DEFINE(between, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH + 1))
SFID_DEFINE(thirds, SFID_LAYOUT(36, 4, SEQ_BITS, 1500, FAKE_EPOCH))

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
    is_i64(pairs_next(HANDLE(pairs)), (int64_t)(tick << 16 | 7 << SEQ_BITS | 5), "ticks of two seconds");
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

int main(void) {
    issues_itself();
    leaves_calls();
    return done_testing();
}
