/* SPDX-License-Identifier: MIT */
/*
 * edges.c - windows at their edge, on a clock that the test moves: the first tick past a limit, a
 * lead that no clock explains, a number in hand, and the run of a lane when its tick, its record or
 * its window has gone.
 */
#include "base/process.h"
#include "draw/hot.h"
#include "draw/slow.h"

#include "support/fake.h"
#include "sfid/lane.h"
#include "support/tap.h"

#include <sys/mman.h>

#define START 100000000
#define SEQ_BITS 12
#define SEQ_MAX 4095
#define RUN 64 /* numbers that a lane takes at once of such a layout */

static struct fake f;

static uint64_t number(uint64_t tick, uint64_t seq) { return tick << SEQ_BITS | seq; }

static int64_t pid_of(int64_t id) {
    sfid_parts p;
    return sfid_parse(&f.g.layout, id, &p) < 0 ? -1 : (int64_t)p.pid;
}

/* ---- the limit ----------------------------------------------------------- */

static void clock_at_the_limit(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    atomic_store(&fake_record(&f)->limit, START + 10);
    fake_pass_ms(&f, 9);
    is_u64(fake_tick_of(&f, fake_try(&f)), START + 9, "the last tick of the window gives an ID");
    fake_close(&f);
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    atomic_store(&fake_record(&f)->limit, START + 10);
    fake_pass_ms(&f, 10);
    const uint64_t before = atomic_load(&fake_record(&f)->word);
    is_i64(fake_try(&f), SFID_ELEASE,
           "the clock at the limit, the word behind it: no ID of the tick at the limit");
    is_u64(atomic_load(&fake_record(&f)->word), before, "and the word stays");
    is_i64(fake_settle(&f, fake_record(&f), number(START + 10, 0), false), SFID_ELEASE,
           "nor by a number in hand");
    fake_close(&f);
}

/* Clock and word are of one tick, which the limit has reached meanwhile. */
static void hot_path_at_the_limit(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    is_u64(fake_tick_of(&f, fake_try(&f)), START, "a tick below the limit");
    atomic_store(&fake_record(&f)->limit, START);
    is_i64(fake_try(&f), SFID_ELEASE, "the hot path does not pass the limit");
    fake_close(&f);
}

static void in_hand_at_the_limit(void) {
    fake_open(&f, NULL, SFID_BORROW, 0, 10000);
    atomic_store(&fake_record(&f)->limit, START + 2);
    fake_set_word(&f, START + 2, 1);
    is_u64(fake_tick_of(&f, fake_settle(&f, fake_record(&f), number(START + 1, 9), false)),
           START + 1, "borrowing: a number in hand of the window's last tick is issued");
    is_i64(fake_settle(&f, fake_record(&f), number(START + 2, 0), false), SFID_ELEASE,
           "one of the tick at the limit is not, though it is due");
    fake_close(&f);
}

static void word_past_the_limit(void) {
    fake_open(&f, NULL, SFID_WAIT, 20, 0);
    atomic_store(&fake_record(&f)->limit, START + 2);
    fake_set_word(&f, START + 2, 5);
    const uint64_t before = atomic_load(&fake_record(&f)->word);
    is_i64(fake_next(&f), SFID_ELEASE,
           "a word beyond the limit, not due yet: no number is drawn to wait with");
    is_u64(atomic_load(&fake_record(&f)->word), before, "and the word stays");
    fake_close(&f);
}

/* ---- the lead ------------------------------------------------------------ */

/* With the word so far ahead of the clock, and that lead in the page: whether an ID is issued. */
static bool is_issued(sfid_exhaustion policy, uint64_t max_skew, uint64_t lead, uint64_t ahead) {
    fake_open(&f, NULL, policy, 0, 1000);
    f.g.max_skew = max_skew;
    atomic_store(&fake_record(&f)->lead, lead);
    fake_set_word(&f, START + ahead, 0);
    const bool retry = sfid_retry_ms(fake_handle(&f)) > 0;
    const int64_t id = fake_try(&f);
    if (retry != (id < 0))
        ok(false, "sfid_retry_ms() says what a call does");
    fake_close(&f);
    return id >= 0;
}

static void lead_of_a_damaged_page(void) {
    const uint64_t huge = UINT64_C(1) << 50;
    ok(is_issued(SFID_WAIT, 0, huge, 1000) && !is_issued(SFID_WAIT, 0, huge, 1001),
       "a lead above max_ahead counts as max_ahead");
    ok(is_issued(SFID_BORROW, 0, huge, 1000) && !is_issued(SFID_BORROW, 0, huge, 1001),
       "when borrowing, too");
    ok(is_issued(SFID_WAIT, 3000, huge, 3000) && !is_issued(SFID_WAIT, 3000, huge, 3001),
       "or as max_skew, where the store's clock may be further ahead");
    ok(is_issued(SFID_WAIT, 500, huge, 1000) && !is_issued(SFID_WAIT, 500, huge, 1001),
       "and the larger of the two counts");
    ok(is_issued(SFID_WAIT, 0, 700, 700) && !is_issued(SFID_WAIT, 0, 700, 701),
       "a smaller lead counts as it is");
}

/* ---- the inline form's number in hand --------------------------------------- */

static void in_hand_of_the_inline_form(void) {
    fake_open(&f, NULL, SFID_WAIT, 2000, 10000);
    struct sfid__record *r = fake_record(&f);
    fake_set_word(&f, START + 1, 1);
    const int64_t id = sfid__next_in_hand(fake_handle(&f), r, number(START + 1, 0));
    is_i64(id, sfid__compose(r, number(START + 1, 0)),
           "inline: the number in hand is the one that is issued");
    is_i64(f.slept_ns, 1000000, "inline: when its tick has begun");
    sfid__record_close(r);
    fake_switch(&f, 9, 0, f.g.end);
    const int64_t newer =
        sfid__next_in_hand(fake_handle(&f), r, number(START + 1, 2) | SFID__CLOSED);
    ok(pid_of(newer) == 9 && newer > id,
       "inline: a number of a closed record is dropped for one of the newer");
    is_i64(fake_try(&f), newer + 1, "inline: which is taken then");
    fake_close(&f);
}

static void both_paths(void) {
    int64_t ids[3];
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    fake_pass_ms(&f, 5); /* the slow path has to move the word */
    const int64_t first = fake_try(&f);
    is_i64(first, sfid__compose(fake_record(&f), number(START + 5, 0)),
           "a new tick begins with its first number");
    is_i64(fake_try(&f), first + 1, "slow path and hot path go on where the other stopped");
    ok(sfid_next_n(fake_handle(&f), ids, 3) == 3 && ids[0] == first + 2 && ids[2] == first + 4 &&
           fake_try(&f) == first + 5,
       "and so does a batch between the two");
    fake_close(&f);
}

static void lane_of_pid_lowest(int64_t first, int64_t step) {
    sfid_lane *lane = NULL;
    const struct sfid__record *r = fake_record(&f);
    if (sfid_lane_open(&lane, fake_handle(&f)) != 0)
        bail("no lane");
    const uint64_t before = sfid__record_issued(r);
    ok(sfid_lane_next(lane) == first && sfid_lane_next(lane) == first + step &&
           sfid_lane_next(lane) == first + 2 * step,
       "a lane of a layout with the pid lowest");
    sfid_lane_close(lane);
    is_u64(sfid__record_issued(r), before + 3, "and has issued three");
}

static void pid_lowest(void) {
    int64_t ids[3];
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    need(sfid_layout_parse("sonyflake", &f.g.layout) >= 0, "no such layout");
    f.g.layout.epoch_ms = FAKE_EPOCH;
    f.g.end = sfid__layout_end(&f.g.layout);
    f.records = 0;
    sfid__generator_start(&f.g, fake_switch(&f, 7, fake_tick(&f) << f.g.layout.seq_bits, f.g.end));
    const int64_t step = INT64_C(1) << f.g.layout.seq_shift, first = fake_try(&f);
    ok(step > 1 && sfid_next_n(fake_handle(&f), ids, 3) == 3 && ids[0] == first + step &&
           ids[1] == first + 2 * step && pid_of(ids[2]) == 7,
       "a batch of a layout with the pid lowest");
    lane_of_pid_lowest(ids[2] + step, step);
    f.g.exhaustion = SFID_FAIL;
    fake_set_word(&f, fake_tick(&f), f.g.layout.max_seq);
    const int64_t highest = fake_try(&f);
    fake_set_word(&f, fake_tick(&f), f.g.layout.max_seq - 1);
    ok(sfid_next_n(fake_handle(&f), ids, 3) == 2 && ids[1] == highest && ids[0] == highest - step,
       "and a part of a batch of a layout with the pid lowest");
    fake_close(&f);
}

/* ---- a handle that is closed ------------------------------------------------ */

/* A call reads the clock for the hint first, and then for the look. */
static int readings;
static void (*on_look)(void);

static struct sfid__time count_readings(const struct sfid__clock *clock) {
    if (++readings == 2 && on_look)
        on_look();
    return fake_now(clock);
}

static void at_look(void (*happens)(void)) {
    readings = 0;
    on_look = happens;
    f.clock.now = count_readings;
}

static void stop(void) { sfid__generator_stop(&f.g); }
/* Between a call's look at its record and its step to the newer one. */
static void closed_meanwhile(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    sfid__record_close(fake_record(&f));
    fake_switch(&f, 9, 0, f.g.end);
    at_look(stop);
    is_i64(sfid_try_next(fake_handle(&f)), SFID_ECLOSED,
           "a handle closed meanwhile stays closed, though there is a newer record");
    is_i64(sfid_pid(fake_handle(&f)), SFID_ECLOSED, "for good");
    fake_close(&f);
}

static void other_width(void) {
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    is_i64(sfid__wrong_width(&f.g), SFID_EINVAL, "a call for IDs of the other width is wrong");
    is_i64(atomic_load(&f.g.last_code), SFID_EINVAL, "and noted");
    sfid__generator_stop(&f.g);
    is_i64(sfid__wrong_width(&f.g), SFID_ECLOSED, "unless the handle is closed");
    fake_close(&f);
}

/* The number of a wide ID, by the hot path and by the slow one. */
static void numbers(void) {
    struct sfid__call call = {.n = 0};
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    sfid__generator_widen(&f.g);
    sfid__generator_start(&f.g, fake_record(&f));
    ok(sfid__next_number(&f.g, false, &call) == 0 && call.from == fake_record(&f) &&
           call.n == number(START, 0),
       "a number is told with its record");
    call = (struct sfid__call){.n = 0};
    fake_pass_ms(&f, 5);
    ok(sfid__next_number(&f.g, false, &call) == 0 && call.from == fake_record(&f) &&
           call.n == number(START + 5, 0),
       "so is the first of a tick");
    fake_close(&f);
}

/* Before it is started, a generator of each kind answers, and is closed. */
static void not_started(void) {
    for (int kind = 0; kind < 4; kind++) {
        struct sfid__generator *g = aligned_alloc(SFID__LINE, sizeof *g);
        if (g == NULL)
            bail("out of memory");
        memset((void *)g, 0, sizeof *g);
        sfid__generator_init(g);
        if (kind & 1)
            sfid__generator_widen(g);
        if (kind & 2)
            sfid__generator_share(g);
        const bool wide = kind & 1, shared = kind & 2;
        ok(sfid__is_closed(g) && sfid__is_wide(g) == wide && g->shared == shared,
           "%s%s: closed before it is started", wide ? "wide" : "narrow", shared ? ", shared" : "");
        struct sfid__record *hot = atomic_load(wide ? &g->wide_record : &g->record);
        ok(hot == (shared ? &sfid__shared_only : &sfid__no_record),
           "%s: and its hot path finds a closed record", wide ? "wide" : "narrow");
        free(g);
    }
}

/* ---- lanes --------------------------------------------------------------- */

/* A lane with the first number of a run drawn. */
static sfid_lane *lane_begin(sfid_exhaustion policy, int64_t *first) {
    sfid_lane *lane = NULL;
    fake_open(&f, NULL, policy, 0, 10000);
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    *first = sfid_lane_next(lane);
    is_u64(sfid__record_position(fake_record(&f)), number(START, RUN), "a lane takes a run of %d",
           RUN);
    return lane;
}

static void lane_end(sfid_lane *lane) {
    sfid_lane_close(lane);
    fake_close(&f);
}

static uint64_t issued(const struct sfid__record *r) { return sfid__record_issued(r); }

static void lane_over_a_pid_change(void) {
    int64_t first;
    sfid_parts p;
    sfid_lane *lane = lane_begin(SFID_WAIT, &first);
    const struct sfid__record *old = fake_record(&f);
    is_i64(sfid_lane_next(lane), first + 1, "and hands it out");
    /* the pid is lost, another one is had: from the next tick on */
    struct sfid__record *r = fake_switch(&f, 9, 0, f.g.end);
    sfid__generator_start(&f.g, r);
    const int64_t id = sfid_lane_next(lane);
    ok(sfid_parse(&f.g.layout, id, &p) == 0 && p.pid == 9 && p.tick >= r->floor && id > first + 1,
       "another pid: what is left of the run goes out under neither");
    is_u64(issued(old), 2, "and is not counted as issued");
    lane_end(lane);
}

static void lane_at_the_limit(void) {
    int64_t first;
    sfid_lane *lane = lane_begin(SFID_WAIT, &first);
    atomic_store(&fake_record(&f)->limit, START);
    is_i64(sfid_lane_next(lane), SFID_ELEASE,
           "a run in a tick that may not be issued any more gives nothing");
    lane_end(lane);
    lane = lane_begin(SFID_WAIT, &first);
    atomic_store(&fake_record(&f)->limit, START + 1);
    is_i64(sfid_lane_next(lane), first + 1, "in the last tick of a window a run goes on");
    fake_pass_ms(&f, 1);
    is_i64(sfid_lane_next(lane), SFID_ELEASE, "and ends with it");
    is_u64(issued(fake_record(&f)), 2,
           "its rest is dropped then, whether or not there is a new run");
    fake_step_ms(&f, -1);
    const int64_t id = sfid_lane_next(lane);
    is_i64(id, first + RUN, "a clock that steps back does not bring it back");
    lane_end(lane);
}

static void switch_past_the_limit(void) {
    fake_switch(&f, 9, 0, f.g.end);
    atomic_store(&f.page->records[0].limit, START + 3);
}

static void lane_ahead_of_the_clock(void) {
    int64_t first;
    sfid_lane *lane = lane_begin(SFID_BORROW, &first);
    fake_set_word(&f, START + 3, 0);
    fake_pass_ms(&f, 1);
    const int64_t a = sfid_lane_next(lane), b = sfid_lane_next(lane);
    is_u64(fake_tick_of(&f, a), START + 3, "borrowing: a run of a tick ahead of the clock");
    ok(b == a + 1 && sfid_lane_next(lane) == a + 2,
       "each of its numbers is looked at by itself, and none is left out");
    const struct sfid__record *old = fake_record(&f);
    const uint64_t before = issued(old);
    at_look(switch_past_the_limit);
    const int64_t id = sfid_lane_next(lane);
    ok(pid_of(id) == 9 && id > b,
       "its record closed during the call, and it past the limit: one of the newer record");
    ok(before - issued(old) >= RUN - 4, "and the rest of the run is not counted as issued");
    is_i64(sfid_lane_next(lane), id + 1, "and the lane goes on with the newer record");
    lane_end(lane);
}

/* In a tick that a call has begun, the hint is enough. */
static void lane_without_the_table(void) {
    int64_t first;
    sfid_lane *lane = lane_begin(SFID_WAIT, &first);
    at_look(NULL);
    int64_t last = first;
    unsigned wrong = 0;
    for (int i = 1; i < 4 * RUN; i++) {
        const int64_t id = sfid_lane_next(lane);
        wrong += id != last + 1;
        last = id;
    }
    ok(wrong == 0 && readings == 4 * RUN - 1,
       "the clock is not looked at for another run of the tick (%d readings)", readings);
    lane_end(lane);
}

/* Two lanes in turn through several runs: every number once. */
static void lanes_share_a_tick(void) {
    static bool seen[4 * RUN];
    unsigned twice = 0, outside = 0;
    sfid_lane *lanes[2] = {NULL, NULL};
    fake_open(&f, NULL, SFID_WAIT, 0, 10000);
    need(sfid_lane_open(&lanes[0], fake_handle(&f)) == 0 &&
             sfid_lane_open(&lanes[1], fake_handle(&f)) == 0,
         "no lane");
    const int64_t first = sfid__compose(fake_record(&f), number(START, 0));
    for (int i = 0; i < 4 * RUN; i++) {
        const int64_t at = sfid_lane_next(lanes[i % 2]) - first;
        if (at < 0 || at >= 4 * RUN) {
            outside++;
            continue;
        }
        twice += seen[at];
        seen[at] = true;
    }
    ok(twice == 0 && outside == 0, "all numbers of a run go out, each once (%u twice, %u others)",
       twice, outside);
    is_i64(sfid_lane_next(lanes[0]), first + 4 * RUN, "then the next run begins");
    sfid_lane_close(lanes[0]);
    sfid_lane_close(lanes[1]);
    is_u64(issued(fake_record(&f)), 4 * RUN + 1,
           "the rest of a closed lane is not counted as issued");
    fake_close(&f);
}

static void lane_of_a_short_sequence(void) {
    sfid_lane *lane = NULL;
    fake_open(&f, "41:10:3/1ms", SFID_WAIT, 0, 10000);
    need(sfid_lane_open(&lane, fake_handle(&f)) == 0, "no lane");
    const int64_t first = sfid_lane_next(lane);
    is_i64(sfid_lane_next(lane), first + 1,
           "a lane of a short sequence takes one number at a time");
    is_u64(sfid__record_position(fake_record(&f)), (uint64_t)START << 3 | 2, "and no more");
    sfid_lane_close(lane);
    fake_close(&f);
}

static void lane_with_more_time(void) {
    int64_t first;
    sfid_lane *lane = lane_begin(SFID_WAIT, &first);
    fake_pass_ms(&f, 3);
    const int64_t id = sfid_lane_next(lane);
    is_u64(fake_tick_of(&f, id), START + 3, "the rest of a run whose tick is over is not issued");
    is_i64(sfid_lane_next(lane), id + 1, "but a run of the new tick");
    lane_end(lane);
}

static void lane_waits(void) {
    sfid_lane *lane = NULL;
    fake_open(&f, NULL, SFID_WAIT, 2000, 0);
    if (sfid_lane_open(&lane, fake_handle(&f)) != 0)
        bail("no lane");
    fake_set_word(&f, START + 1, 0);
    const int64_t first = sfid_lane_next(lane);
    is_u64(fake_tick_of(&f, first), START + 1, "a lane waits for the tick of its run");
    is_i64(f.slept_ns, 1000000, "until that begins");
    lane_end(lane);

    int64_t id;
    lane = lane_begin(SFID_BORROW, &id);
    fake_set_word(&f, START + 3, 0);
    fake_pass_ms(&f, 1);
    id = sfid_lane_next(lane);
    f.g.exhaustion = SFID_WAIT; /* as if the lead that let it have the run had shrunk since */
    f.g.max_wait_ms = 2000;
    is_i64(sfid_lane_next(lane), id + 1, "and for that of a number that it has");
    is_i64(f.slept_ns, 2000000, "as long");
    lane_end(lane);
}

/* Pages of memory that the process has mapped. */
static long mapped(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%ld", &pages) != 1)
        bail("cannot read /proc/self/statm");
    fclose(statm);
    return pages;
}

static void lanes_open_and_close(void) {
    sfid_lane *lane = NULL;
    long before = 0;
    fake_open(&f, NULL, SFID_WAIT, 0, 0);
    is_i64(sfid_lane_open(NULL, fake_handle(&f)), SFID_EINVAL, "a lane has to go somewhere");
    lane = (sfid_lane *)(void *)&f;
    ok(sfid_lane_open(&lane, NULL) == SFID_EINVAL && lane == NULL,
       "and come from somewhere, or there is none");
    for (int i = 0; i < 2048; i++) {
        if (i == 1024)
            before = mapped();
        if (sfid_lane_open(&lane, fake_handle(&f)) != 0)
            bail("no lane");
        sfid_lane_close(lane);
    }
    const long more = mapped() - before;
    ok(more < 512, "1024 lanes that were closed leave nothing mapped (%ld pages)", more);
    fake_close(&f);
}

/* What is left of a run must not reach a forked child: where the kernel wipes no memory on fork, a
 * run is one number. */
static void lanes_with_runs(void) {
    void *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool wipes = page != MAP_FAILED && sfid__process_wipes(page, 65536);
    if (page != MAP_FAILED)
        munmap(page, 65536);
    if (!wipes) {
        skip(1, "no MADV_WIPEONFORK");
        return;
    }
    lane_with_more_time();
    lane_over_a_pid_change();
    lane_at_the_limit();
    lane_ahead_of_the_clock();
    lane_waits();
}

int main(void) {
    clock_at_the_limit();
    hot_path_at_the_limit();
    in_hand_at_the_limit();
    word_past_the_limit();
    lead_of_a_damaged_page();
    in_hand_of_the_inline_form();
    both_paths();
    pid_lowest();
    closed_meanwhile();
    other_width();
    numbers();
    not_started();
    lanes_open_and_close();
    lane_without_the_table();
    lanes_share_a_tick();
    lane_of_a_short_sequence();
    lanes_with_runs();
    return done_testing();
}
