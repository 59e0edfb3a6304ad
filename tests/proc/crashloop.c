/* SPDX-License-Identifier: MIT */
/*
 * A service whose run directory is gone at each start (a container with a /dev/shm of its own) and
 * that gives up when it gets no ID. After a life that ended by SIGKILL the mark lies ahead of the
 * clock, and the next lives are too short to see it pass. None of them moves the mark, so that one
 * of them comes up when it has passed. But a mark that lies below the next ID, since it was lost or
 * damaged, is made good at once.
 *
 * The time of day is the test's own, and stands still but for what the test adds: no life is late.
 */
#include "support/local.h"
#include "support/own_clock.h"

enum { LEAD_MS = 6000, STEP_MS = 110, ASKS = 50 };
enum end { EXIT, CLOSE, KILL };

static sfid_layout layout;
static struct life {
    sfid_options opt;
    enum end end;
    int asks;
    int64_t id;
    int retry_ms;
    char text[400];
    _Atomic int64_t now_ns; /* the time of day */
} * life;

/* Starts, asks for an ID without waiting for it, so many times, ends. */
static int live(void *arg) {
    (void)arg;
    sfid *g = NULL;
    must(sfid_open(&g, &life->opt) >= 0, "cannot open: %s", sfid_last_error(g));
    life->id = sfid_try_next(g);
    for (int i = 1; i < life->asks && life->id < 0; i++) {
        nap_us(2000); /* each call wakes the keeper, which has its turn in between */
        life->id = sfid_try_next(g);
    }
    life->retry_ms = sfid_retry_ms(g);
    snprintf(life->text, sizeof life->text, "%s", sfid_last_error(g));
    if (life->end == KILL)
        raise(SIGKILL);
    if (life->end == CLOSE)
        sfid_close(g);
    return 0;
}

static void start(enum end end) {
    life->end = end;
    life->id = 0; /* of one that crashes */
    child_run(live, NULL, TAP_WAIT_MS);
}

/* As a container that is made anew: what lies in memory is gone. */
static void lose_run_dir(void) { remove_tree(dirs.run); }

static void read_mark(char content[2 * MARK_BLOCK]) {
    memset(content, 0, 2 * MARK_BLOCK);
    const int fd = mark_open(life->opt.app, 7);
    must(fd >= 0 && pread(fd, content, 2 * MARK_BLOCK, 0) >= 0, "cannot read the mark");
    close(fd);
}

/* A life without an ID leaves the newest entry as it is; a clean close may say in the other that it
 * was clean. A page that processes share is named in it before others are let in. */
static void ends_without_an_id(enum end end, const char *how) {
    char before[2 * MARK_BLOCK], after[2 * MARK_BLOCK];
    const uint64_t tick = mark_tick(life->opt.app, 7, &layout);
    read_mark(before);
    lose_run_dir();
    life->asks = ASKS;
    start(end);
    life->asks = 1;
    read_mark(after);
    is_i64(life->id, SFID_EAGAIN, "a start before the mark has passed: no ID so far, and %s", how);
    ok(mark_tick(life->opt.app, 7, &layout) == tick &&
           (end == CLOSE || shares() || memcmp(before, after, sizeof after) == 0),
       "the mark stays where it is");
    ok(life->retry_ms > 0 && life->retry_ms <= LEAD_MS + 1, "sfid_retry_ms says %d",
       life->retry_ms);
}

static void says_when(void) {
    char until[32];
    const time_t passed =
        (time_t)((int64_t)(mark_tick(life->opt.app, 7, &layout) + (uint64_t)layout.epoch_ms) /
                 1000);
    struct tm tm;
    strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&passed, &tm));
    /* the day only if it is another one */
    const char *said = strstr(life->text, strchr(until, 'T') + 1);
    ok(strncmp(life->text, "IDs up to ", 10) == 0 && said &&
           (said == life->text + 10 || strncmp(life->text + 10, until, strlen(until)) == 0) &&
           strstr(
               said,
               "Z may have been issued before the run directory or the mark was lost; the next one can be") !=
               NULL,
       "it says \"%s\"", life->text);
}

/* What lies ahead is the page alone: when that is lost as well, the mark has to know. */
static void makes_a_lost_mark_good(void) {
    char path[4400];
    const uint64_t tick = mark_tick(life->opt.app, 7, &layout);
    lose_run_dir();
    start(KILL);
    snprintf(path, sizeof path, "%s/%s/pid-7", dirs.state, life->opt.app);
    is_i64(unlink(path), 0, "the mark is lost, and the page is ahead of the clock");
    start(KILL);
    ok(mark_tick(life->opt.app, 7, &layout) >= tick,
       "the mark is made anew, no lower than the page");
}

/* The newest entry of two is lost. The bound that is waited for then is in the mark, or each start
 * would find one further on. */
static void makes_a_damaged_mark_good(void) {
    char path[4400], content[2 * MARK_BLOCK];
    struct mark_entry two[2];
    read_mark(content);
    for (int i = 0; i < 2; i++)
        memcpy(&two[i], content + i * MARK_BLOCK, sizeof two[i]);
    snprintf(path, sizeof path, "%s/%s/pid-7", dirs.state, life->opt.app);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    ok(pwrite(fd, "damaged!", 8, two[1].serial > two[0].serial ? MARK_BLOCK : 0) == 8 &&
           close(fd) == 0,
       "the mark is damaged");
    lose_run_dir();
    const uint64_t bound = tick_now(&layout) + LEAD_MS;
    start(KILL);
    is_i64(life->id, SFID_EAGAIN,
           "no ID before the longest window that it may have said has passed");
    ok(mark_tick(life->opt.app, 7, &layout) >= bound, "that bound is in the mark");
}

/*
 * Starts without an ID do not move the mark: the first that starts when it has passed has one. None
 * starts in the last tick before that, where a keeper asks for the window that begins with the
 * next.
 */
static void comes_up(int64_t first) {
    const uint64_t passes = mark_tick(life->opt.app, 7, &layout);
    unsigned lives = 0, early = 0, wrong = 0;
    bool passed;
    do {
        atomic_fetch_add(&life->now_ns, STEP_MS * (int64_t)NS_PER_MS);
        passed = tick_now(&layout) > passes;
        lose_run_dir();
        start((enum end)(lives++ % 3));
        early += !passed && life->id >= 0;
        wrong += !passed && mark_tick(life->opt.app, 7, &layout) != passes;
    } while (!passed && early == 0);
    is_u64(early, 0, "no start of %u before the mark has passed has an ID", lives - 1);
    is_u64(wrong, 0, "and none moves the mark");
    if (!ok(life->id > first, "the first start after that comes up"))
        diag("%s", life->text);
}

int main(void) {
    dirs_make();
    layout = layout_of("41:10:12/1ms");
    life = shared_memory(sizeof *life);
    life->now_ns = wall_ns();
    own_clock = &life->now_ns;
    own_clock_stands = true;
    life->opt = local_options("loop", "local?lead_ms=6000", &layout);
    life->opt.pid_min = life->opt.pid_max = 7;
    life->opt.max_ahead_ms = 0;
    start(KILL);
    const int64_t first = life->id;
    ok(first > 0, "the first life has an ID and is killed");
    ends_without_an_id(EXIT, "it exits");
    says_when();
    ends_without_an_id(KILL, "it is killed");
    ends_without_an_id(CLOSE, "it closes");
    makes_a_lost_mark_good();
    makes_a_damaged_mark_good();
    comes_up(first);
    return done_testing();
}
