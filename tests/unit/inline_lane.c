/* SPDX-License-Identifier: MIT */
/* inline_lane.c - the inline form of a lane: what it hands out itself, and when it leaves the call
 * to the library. */
#include "sfid/inline.h"
#include "support/fake.h"
#include "support/tap.h"

#define SEQ_BITS 12
#define RUN 64

SFID_DEFINE(seconds, SFID_LAYOUT(36, 4, SEQ_BITS, 1000, FAKE_EPOCH))
SFID_DEFINE(minutes, SFID_LAYOUT(36, 4, SEQ_BITS, 60000, FAKE_EPOCH))
SFID_DEFINE(fine, SFID_LAYOUT(41, 10, SEQ_BITS, 1, FAKE_EPOCH))

static struct fake f;
static sfid_lane *lane;
static int64_t seconds_ahead;

/* The clock of the inline form, in place of libc's: the fake one, and how far it is off. */
time_t time(time_t *out) {
    const time_t now = (time_t)(fake_now(&f.clock).ms / 1000 + seconds_ahead);
    return out ? (*out = now) : now;
}

/* A lane with the first ID of a run issued. Returns that ID. */
static int64_t begin(const char *layout) {
    seconds_ahead = 0;
    fake_open(&f, layout, SFID_WAIT, 0, 10000);
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    return sfid_lane_next(lane);
}

static void end(void) {
    sfid_lane_close(lane);
    fake_close(&f);
}

static uint64_t word(void) { return atomic_load(&fake_record(&f)->word); }

static void whole_runs(void) {
    const int64_t first = begin("36:4:12/1s");
    const uint64_t after = word();
    unsigned wrong = 0;
    for (int i = 1; i < RUN; i++)
        wrong += seconds_lane_next(lane) != first + i;
    ok(first >= 0 && wrong == 0 && word() == after,
       "a run is handed out as it is, and the word stays");
    is_i64(seconds_lane_next(lane), first + RUN, "then the next run begins");
    ok(word() == after + RUN, "which the library has taken");
    is_i64(sfid_lane_next(lane), first + RUN + 1, "the library goes on in the same run");
    is_i64(seconds_lane_next(lane), first + RUN + 2, "and the inline form behind it");
    end();
}

/* The library reads the fake clock, and the inline form one that is a second ahead: so it shows
 * which of them issued. */
static void only_in_its_tick(void) {
    const int64_t first = begin("36:4:12/1s");
    seconds_ahead = 1;
    is_i64(seconds_lane_next(lane), first + 1,
           "another second than the run's: the library is asked");
    fake_pass_ms(&f, 1000);
    seconds_ahead = 0;
    const int64_t id = seconds_lane_next(lane);
    is_u64(fake_tick_of(&f, id), fake_tick(&f), "a run whose tick is over is not issued");
    end();
}

static void behind_its_tick(void) {
    begin("36:4:12/1s");
    atomic_store(&fake_record(&f)->limit, fake_tick(&f));
    fake_step_ms(&f, -1000);
    is_i64(
        seconds_lane_next(lane), SFID_ECLOCK,
        "a clock that was set back: the library is asked, and compares the run's tick with the limit");
    end();
}

static void pid_lowest(void) {
    begin("36:4:12/1s");
    sfid_lane_close(lane);
    f.g.layout.pid_shift = 0;
    f.g.layout.seq_shift = 4;
    sfid__generator_start(&f.g, fake_switch(&f, 7, 0, f.g.end));
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    fake_pass_ms(&f, 1000);
    const int64_t first = sfid_lane_next(lane);
    ok(seconds_lane_next(lane) == first + 16 && seconds_lane_next(lane) == first + 32,
       "a layout with the pid lowest");
    end();
}

static void at_the_limit(void) {
    const int64_t first = begin("36:4:12/1s");
    const uint64_t tick = fake_tick(&f);
    atomic_store(&fake_record(&f)->limit, tick + 1);
    is_i64(seconds_lane_next(lane), first + 1, "in the last tick of a window a run goes on");
    atomic_store(&fake_record(&f)->limit, tick);
    is_i64(seconds_lane_next(lane), SFID_ELEASE,
           "a run in a tick that may not be issued any more gives nothing");
    end();
}

static void over_a_pid_change(void) {
    sfid_parts p;
    begin("36:4:12/1s");
    sfid__generator_start(&f.g, fake_switch(&f, 9, 0, f.g.end));
    const int64_t id = seconds_lane_next(lane);
    ok(seconds_parse(id, &p) == 0 && p.pid == 9,
       "another record: the rest of the run is not issued");
    end();
}

static void other_layouts(void) {
    const int64_t id = begin("41:10:12/1ms");
    is_i64(fine_lane_next(lane), id + 1, "ticks that time() cannot tell: the library is asked");
    end();
    const int64_t minute = begin("36:4:12/60s");
    const uint64_t after = word();
    ok(minutes_lane_next(lane) == minute + 1 && word() == after, "ticks of a minute");
    end();
    is_i64(seconds_lane_next(NULL), SFID_ECLOSED, "no lane");
}

/* The library reads time(), too: it is the clock of the inline form. */
static void by_second(void) {
    seconds_ahead = 0;
    fake_open(&f, "36:4:12/1s", SFID_WAIT, 0, 10000);
    sfid__generator_use_seconds(&f.g);
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    const int64_t first = sfid_lane_next(lane);
    const uint64_t after = word();
    unsigned wrong = 0;
    for (int i = 1; i < RUN; i++)
        wrong += sfid_lane_next(lane) != first + i;
    ok(first >= 0 && wrong == 0 && word() == after,
       "a lane by the second hands out a run as it is");
    is_i64(sfid_lane_next(lane), first + RUN, "then the next run begins");
    seconds_ahead = 1;
    fake_pass_ms(&f, 1000); /* two seconds by time(), of which the table sees one */
    is_u64(fake_tick_of(&f, sfid_lane_next(lane)), fake_tick(&f),
           "and none goes on in another second than its own");
    end();
    if (sizeof(time_t) < sizeof(int64_t)) /* the fake minutes lie behind its end */
        return;
    fake_open(&f, "36:4:12/60s", SFID_WAIT, 0, 10000);
    sfid__generator_use_seconds(&f.g);
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    seconds_ahead = 0;
    const int64_t minute = sfid_lane_next(lane);
    seconds_ahead = 59 - (int64_t)(fake_now(&f.clock).ms / 1000 % 60);
    is_i64(sfid_lane_next(lane), minute + 1, "one by the minute lasts for a minute");
    end();
}

int main(void) {
    by_second();
    whole_runs();
    only_in_its_tick();
    behind_its_tick();
    pid_lowest();
    at_the_limit();
    over_a_pid_change();
    other_layouts();
    return done_testing();
}
