/* SPDX-License-Identifier: MIT */
/*
 * A process that closes and starts again within one tick gets its pid back, and goes on at the
 * exact position: the rest of the tick in which its page was closed was never given back, and
 * nobody else is ever granted it. Twenty restarts in a row with ticks of a second: the first call
 * of each has an ID, without a wait. Where another slot held the pid in between, the first one goes
 * on in that tick only if the other one used nothing; else above it. No ID comes twice, and those
 * of a pid increase.
 *
 * Sizes: 20 restarts, 5 rounds of handing over.
 */
#include "draw/page.h"
#include "support/fleet.h"

#define LAYOUT "36:11:17/1s"
#define SMALL "36:11:4/1s"

enum {
    RESTARTS = 20,
    MOST_RESTARTS = 60,
    DRAWN = 3,
    ROUNDS = 5,
    PAST_TTL = 3000,
    PAST_TIMEOUT = 400
};

/* One life: opens, draws so many, closes. Shared with the test. */
struct life {
    sfid_options opt;
    struct redis *server;
    int drawn; /* 0: opens and closes only */
    uint64_t number;
    int rc;
    char text[300];
    int64_t first;    /* what sfid_try_next() says right behind open */
    int64_t first_ns; /* from there to the first ID */
    int64_t pid, last;
};

static int live(void *arg) {
    struct life *life = arg;
    struct idlog log;
    sfid *g = NULL;
    life->rc = sfid_open(&g, &life->opt);
    snprintf(life->text, sizeof life->text, "%s", sfid_last_error(g));
    life->pid = sfid_pid(g);
    if (life->rc == 0 && life->drawn > 0) {
        const int64_t begin = mono_ns();
        life->first = sfid_try_next(g);
        log_start(&log, DRAWN, life->number, IDLOG_ANY_PID, "ids-%03" PRIu64, life->number);
        for (int i = 0; i < life->drawn; i++) {
            life->last = i == 0 && life->first >= 0 ? life->first : next_within(g, TAP_WAIT_MS);
            life->first_ns = i == 0 ? mono_ns() - begin : life->first_ns;
            idlog_put(&log, life->last);
        }
        idlog_close(&log);
    }
    sfid_close(g);
    return life->rc;
}

static void live_one(struct life *life, int drawn) {
    static uint64_t number;
    life->drawn = drawn;
    life->number = ++number;
    life->first = life->last = 0;
    must(child_run(live, life, 2 * TAP_WAIT_MS) == 0, "life %" PRIu64 ": %d: %s", life->number,
         life->rc, life->text);
}

/* ---- the same slot ---------------------------------------------------------- */

static void test_restarts(struct redis *r) {
    struct life *life = shared_memory(sizeof *life);
    int64_t waits[MOST_RESTARTS], last = 0, pid = -1;
    int refused = 0, back = 0, others = 0, in_same_tick = 0, n = 0;
    life->opt = fleet_options(r, "again", &layout);
    for (; n < RESTARTS || (in_same_tick == 0 && n < MOST_RESTARTS);
         n++) { /* a restart may take a tick on a machine that is late */
        live_one(life, DRAWN);
        refused += life->first < 0;
        others += n > 0 && life->pid != pid;
        back += life->first >= 0 && life->first <= last;
        in_same_tick +=
            n > 0 && life->first >= 0 && id_tick(&layout, life->first) == id_tick(&layout, last);
        waits[n] = life->first_ns;
        pid = life->pid;
        last = life->last;
    }
    const int64_t middle = median(waits, (size_t)n);
    diag(
        "figure: %d restarts, %d in the tick of the one before; to the first ID: median %.3f ms, worst %.3f ms",
        n, in_same_tick, (double)middle / 1e6, (double)waits[n - 1] / 1e6);
    is_i64(others, 0, "each restart gets the pid of the one before");
    is_i64(refused, 0, "each has an ID at once");
    is_i64(back, 0, "above the last one before");
    ok(in_same_tick > 0, "and some of them in the same tick");
    judge(LAYOUT, "pid", (uint64_t)n * DRAWN, "restarts");
}

/* ---- another slot in between ------------------------------------------------- */

/* The pid goes to another host's slot and comes back; there it is drawn from or not. */
static void hand_over(struct life *here, struct life *there, int drawn, int *at_once, int *low) {
    live_one(here, DRAWN);
    const int64_t before = here->last;
    live_one(there, drawn);
    live_one(here, DRAWN);
    *at_once += here->first >= 0;
    if (here->first >= 0)
        *low += here->first <= before || (drawn > 0 && here->first <= there->last);
}

static void test_in_between(struct redis *r) {
    struct life *here = shared_memory(sizeof *here), *there = shared_memory(sizeof *there);
    int at_once[2] = {0}, low = 0;
    here->opt = fleet_options(r, "between", &layout);
    here->opt.pid_max = 1;
    there->opt = here->opt;
    on_host(&here->opt, 1);
    on_host(&there->opt, 2);
    for (int i = 0; i < ROUNDS; i++) {
        hand_over(here, there, 0, &at_once[0], &low);
        hand_over(here, there, DRAWN, &at_once[1], &low);
    }
    diag(
        "figure: %d hand-overs each way: ID at once after a holder that used nothing %d, after one that used something %d",
        ROUNDS, at_once[0], at_once[1]);
    is_i64(low, 0, "none begins below an ID of the pid");
    is_i64(at_once[0], ROUNDS, "the other slot used nothing: the first goes on in its tick");
    judge(LAYOUT, "pid", UINT64_MAX, "in between");
}

/* ---- a word past its window ---------------------------------------------------- */

/* Leaves the word there where threads that race for the last numbers of a window push it now and
 * then: past the limit. */
static int push_word(const struct life *life, uint64_t limit) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s/0", life->opt.run_dir, life->opt.app);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct sfid__page *page =
        fd < 0 ? MAP_FAILED : mmap(NULL, SFID__MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 3;
    struct sfid__record *r = sfid__page_current(page);
    const bool fits =
        atomic_load(&r->limit) == limit && (atomic_load(&r->word) & SFID__CLOSED) != 0;
    atomic_store(&r->word, SFID__CLOSED | (limit << r->seq_bits | 1));
    munmap(page, SFID__MAP_SIZE);
    close(fd);
    return fits ? 0 : 4;
}

/* Uses the window up while the server does not answer. Its limit is known then: nothing renews it
 * any more. */
static int use_up(void *arg) {
    struct life *life = arg;
    sfid *g = open_or_die(&life->opt);
    sfid_status_info st;
    struct patience p = {0};
    int64_t id;
    if (next_within(g, TAP_WAIT_MS) < 0)
        return 1;
    redis_pause(life->server);
    do
        id = sfid_next(g);
    while (id != SFID_ELEASE && patient(&p, TAP_WAIT_MS));
    const bool known = sfid_status(g, &st) == 0;
    sfid_close(g);
    redis_resume(life->server);
    return id == SFID_ELEASE && known ? push_word(life, st.limit_tick) : 2;
}

/* What lies there is not the slot's: another one gets that tick, and then the first one the pid
 * again. */
static void test_past_window(struct redis *r) {
    struct life *here = shared_memory(sizeof *here), *there = shared_memory(sizeof *there);
    static sfid_layout small;
    small = layout_of(SMALL);
    here->opt = fleet_options(r, "past", &small);
    here->opt.pid_max = 1;
    here->opt.ttl_ms = PAST_TTL;
    fleet_timeout(&here->opt, r, PAST_TIMEOUT);
    /* a number of the next tick, drawn at the end of the last one, is given up in that tick */
    here->opt.max_wait_ms = 1030;
    there->opt = here->opt;
    on_host(&here->opt, 1);
    on_host(&there->opt, 2);
    here->server = r;
    is_i64(child_run(use_up, here, 2 * TAP_WAIT_MS), 0, "a window is used up to its end");
    live_one(there, DRAWN);
    live_one(here, DRAWN);
    ok(here->pid == there->pid && here->last > there->last,
       "another slot has the pid, then the first again, above it");
    judge(SMALL, "pid", 2 * DRAWN, "past the window");
}

static void test_again(struct redis *r) {
    test_restarts(r);
    test_in_between(r);
    test_past_window(r);
}

int main(void) { return fleet_main(LAYOUT, 0, 0, test_again); }
