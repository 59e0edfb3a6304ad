/* SPDX-License-Identifier: MIT */
/*
 * sfid_ready(), and `open` in the status, which is the same, of generators of both widths: 1 while
 * IDs are generated, while the sequence is used up, and while the keeper rests; 0 once the window
 * is over, while the clock is too far back, and when closed. And how long the window lasts, and how
 * far IDs are ahead of the clock, to the millisecond.
 *
 * What is asked for stays as it is: the clock of a preloaded shim stands meanwhile.
 */
#include "support/disk.h"
#include "support/wide.h"

#include <sys/resource.h>

static sfid_layout narrow;
static sfid_wide_layout flake;

enum { LEAD_MS = 300, BACK_MS = 5000 };

/* The clock stands from now on; so many ms further on than it did; and runs. */
static void stop_clock(void) { atomic_store(&disk.control->clock_fixed_ns, wall_ns()); }
static void move_clock(int64_t ms) {
    atomic_fetch_add(&disk.control->clock_fixed_ns, ms * NS_PER_MS);
}
static void start_clock(void) { atomic_store(&disk.control->clock_fixed_ns, 0); }

/* Both have ticks of a millisecond; those of flake begin with the time of Unix. */
static int64_t clock_tick(bool wide) {
    return wall_ns() / NS_PER_MS - (wide ? 0 : narrow.epoch_ms);
}

/* A short window, no waiting, and nothing ahead of the clock. */
static sfid_options options(const char *app, bool wide) {
    sfid_options opt = wide ? wide_options(&kinds[0], &flake) : options_of(app, -1, &narrow);
    opt.store = "local?lead_ms=300"; /* LEAD_MS */
    opt.max_ahead_ms = 0;
    opt.exhaustion = SFID_FAIL;
    return opt;
}

static int64_t try_next(sfid *g, bool wide) {
    sfid_wide id;
    return wide ? sfid_try_next_wide(g, &id) : sfid_try_next(g);
}

/* Uses a tick up at once: calls for one ID may be too slow for that. */
static void use_up(sfid *g, bool wide) {
    static sfid_wide wides[4096];
    static int64_t ids[4096];
    if ((wide ? sfid_next_n_wide(g, wides, COUNT_OF(wides)) : sfid_next_n(g, ids, COUNT_OF(ids))) <
        0)
        nap_us(10);
}

/* Calls until one returns this code; 0 is any ID. */
static bool comes_to(sfid *g, bool wide, int64_t code) {
    for (struct patience p = {0}; patient(&p, TAP_WAIT_MS);) {
        if (code == SFID_EAGAIN)
            use_up(g, wide);
        const int64_t rc = try_next(g, wide);
        if (code == 0 ? rc >= 0 : rc == code)
            return true;
    }
    return false;
}

/* Calls until a renewal has failed: one that began before may still have extended the window. */
static bool comes_to_fail(sfid *g, bool wide) {
    sfid_status_info st;
    for (struct patience p = {0}; patient(&p, TAP_WAIT_MS); (void)!try_next(g, wide))
        if (sfid_status(g, &st) == 0 && st.renew_failures > 0)
            return true;
    return false;
}

/* What both say: 0 or 1; 2 if they differ. */
static int said(const sfid *g, sfid_status_info *st) {
    const int rc = sfid_status(g, st), ready = sfid_ready(g);
    return rc == 0 && st->open == ready ? ready : 2;
}

static void is_said(const sfid *g, int want, const char *name, const char *when) {
    sfid_status_info st;
    is_i64(said(g, &st), want, "%s: %s", name, when);
}

/* The clock stands. */
static void tells_window(const sfid *g, bool wide, const char *name) {
    sfid_status_info st = {.window_ms = -1};
    const int rc = sfid_status(g, &st);
    ok(rc == 0 && st.window_ms > 0 && st.window_ms <= LEAD_MS + 1,
       "%s: the window lasts for %d ms at most (%" PRId64 ")", name, LEAD_MS + 1, st.window_ms);
    is_i64(st.window_ms, (int64_t)st.limit_tick - clock_tick(wide), "%s: until its limit", name);
}

static void tells_ahead(const sfid *g, int64_t want, const char *name, const char *when) {
    sfid_status_info st = {.ahead_ms = -1};
    const int rc = sfid_status(g, &st);
    is_i64(rc == 0 ? st.ahead_ms : rc, want, "%s: %s: so many ms ahead of the clock", name, when);
}

/* Generates with the clock stopped, so that its window cannot end meanwhile. */
static void generates(sfid *g, bool wide, const char *name, const char *when) {
    stop_clock();
    ok(comes_to(g, wide, 0), "%s: %s: it generates IDs", name, when);
    is_said(g, 1, name, when);
    tells_window(g, wide, name);
    tells_ahead(g, 0, name, when);
    start_clock();
}

/* Files may not be written meanwhile, and so nothing is printed: standard output may be one. */
static void ends(sfid *g, bool wide, const char *name) {
    sfid_status_info st;
    struct rlimit files;
    must(getrlimit(RLIMIT_FSIZE, &files) >= 0 &&
             setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, files.rlim_max}) >= 0,
         "setrlimit: %s", strerror(errno));
    const bool over = comes_to_fail(g, wide) && comes_to(g, wide, SFID_ELEASE);
    const int then = said(g, &st);
    setrlimit(RLIMIT_FSIZE, &files);
    ok(over && st.window_ms == 0, "%s: its mark cannot be written: the window ends", name);
    is_i64(then, 0, "%s: the window is over", name);
}

static bool is_ready(void *g) { return sfid_ready(g) == 1; }

/* True if it was not ready within a window, which had the same limit before and after that. */
static bool denies_a_window(const sfid *g, int64_t *window_ms) {
    sfid_status_info before = {.window_ms = 0}, after = before;
    const bool looked = sfid_status(g, &before) == 0;
    const int ready = sfid_ready(g);
    *window_ms = looked && sfid_status(g, &after) == 0 ? after.window_ms : -1;
    return ready != 1 && *window_ms > 0 && after.limit_tick == before.limit_tick;
}

static void rests(sfid *g, const char *name) {
    int64_t window_ms = 1;
    int wrong = 0;
    for (struct patience p = {0}; window_ms > 0 && patient(&p, TAP_WAIT_MS);)
        wrong += denies_a_window(g, &window_ms);
    ok(window_ms == 0 && wrong == 0, "%s: idle, it lets the window run out", name);
    tap_wait_until(is_ready, g, TAP_WAIT_MS); /* the keeper may be about to rest */
    is_said(g, 1, name, "the keeper rests");
}

static void window(const char *name, bool wide) {
    const sfid_options opt = options(name, wide);
    sfid *g = open_or_die(&opt);
    generates(g, wide, name, "open");
    ends(g, wide, name);
    generates(g, wide, name, "renewed");
    rests(g, name);
    ok(comes_to(g, wide, 0), "%s: and the next calls get IDs", name);
    sfid_close(g);
    is_said(g, 0, name, "closed");
}

static void clock_back(const char *name, bool wide) {
    const sfid_options opt = options(name, wide);
    sfid *g = open_or_die(&opt);
    stop_clock();
    ok(comes_to(g, wide, 0) && comes_to(g, wide, SFID_EAGAIN), "%s: the sequence is used up", name);
    is_said(g, 1, name, "used up for the moment");
    tells_ahead(g, 1, name, "used up");
    move_clock(-BACK_MS);
    ok(comes_to(g, wide, SFID_ECLOCK), "%s: the clock goes back 5 s: refused", name);
    is_said(g, 0, name, "refused for the clock");
    tells_ahead(g, 1 + BACK_MS, name, "the clock is back");
    move_clock(BACK_MS + 1);
    ok(comes_to(g, wide, 0), "%s: the clock is right again", name);
    is_said(g, 1, name, "again");
    start_clock();
    sfid_close(g);
}

static void not_opened(void) {
    sfid_status_info st;
    sfid_options opt = options("never", false);
    sfid *g = NULL;
    opt.random_start = UINT64_MAX;
    is_i64(sfid_ready(NULL), 0, "no handle");
    is_i64(sfid_open(&g, &opt), SFID_EINVAL, "one that does not open");
    is_i64(said(g, &st), 0, "is not ready");
    sfid_close(g);
}

int main(void) {
    uint64_t rng = 0;
    dirs_make();
    disk_begin(&rng);
    go_on_with_shim();
    signal(SIGXFSZ, SIG_IGN);
    narrow = layout_of("41:5:6/1ms");
    flake = wide_layout("flake");
    not_opened();
    window("narrow", false);
    window("wide", true);
    clock_back("narrow-clock", false);
    clock_back("wide-clock", true);
    return done_testing();
}
