/* SPDX-License-Identifier: MIT */
/*
 * sfid_ready(), and `open` in the status, which is the same, of generators of both widths: 1 while IDs are generated, while the
 * sequence is used up, and while the keeper rests; 0 once the window is over, while the clock is too far back, and when closed.
 */
#include "support/disk.h"
#include "support/wide.h"

#include <sys/resource.h>

static sfid_layout narrow;
static sfid_wide_layout flake;

static void move_clock(int64_t ms) { atomic_store(&disk.control->clock_offset_ns, ms * NS_PER_MS); }

/* A short window, no waiting, and nothing ahead of the clock. */
static sfid_options options(const char *app, bool wide) {
    sfid_options opt = wide ? wide_options(&kinds[0], &flake) : options_of(app, -1, &narrow);
    opt.store = "local?lead_ms=300";
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
    if ((wide ? sfid_next_n_wide(g, wides, COUNT_OF(wides)) : sfid_next_n(g, ids, COUNT_OF(ids))) < 0)
        nap_us(10);
}

/* Calls until one returns this code; 0 is any ID. */
static bool comes_to(sfid *g, bool wide, int64_t code) {
    for (const int64_t end = mono_ns() + (int64_t)TAP_WAIT_MS * NS_PER_MS; mono_ns() < end;) {
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
    for (const int64_t end = mono_ns() + (int64_t)TAP_WAIT_MS * NS_PER_MS; mono_ns() < end; (void)!try_next(g, wide))
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

/* Files may not be written meanwhile, and so nothing is printed: standard output may be one. */
static void window(const char *name, bool wide) {
    const sfid_options opt = options(name, wide);
    sfid_status_info st, idle;
    struct rlimit files;
    sfid *g = open_or_die(&opt);
    ok(comes_to(g, wide, 0), "%s: it generates IDs", name);
    is_said(g, 1, name, "open");
    must(getrlimit(RLIMIT_FSIZE, &files) >= 0 && setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, files.rlim_max}) >= 0, "setrlimit: %s",
         strerror(errno));
    const bool over = comes_to_fail(g, wide) && comes_to(g, wide, SFID_ELEASE);
    const int then = said(g, &st);
    setrlimit(RLIMIT_FSIZE, &files);
    ok(over && st.window_ms == 0, "%s: its mark cannot be written: the window ends", name);
    is_i64(then, 0, "%s: the window is over", name);
    ok(comes_to(g, wide, 0), "%s: it generates IDs again", name);
    is_said(g, 1, name, "renewed");
    int wrong = 0;
    const int64_t end = mono_ns() + (int64_t)TAP_WAIT_MS * NS_PER_MS;
    while (sfid_status(g, &idle) == 0 && idle.window_ms > 0 && mono_ns() < end)
        wrong += sfid_ready(g) != 1 && sfid_status(g, &idle) == 0 && idle.window_ms > 0; /* else it ended in between */
    for (int i = 0; i < 2000 && sfid_ready(g) != 1; i++)
        nap_us(1000); /* the keeper may be about to rest */
    ok(idle.window_ms == 0 && wrong == 0, "%s: idle, it lets the window run out", name);
    is_said(g, 1, name, "the keeper rests");
    ok(comes_to(g, wide, 0), "%s: and the next calls get IDs", name);
    sfid_close(g);
    is_said(g, 0, name, "closed");
}

static void clock_back(const char *name, bool wide) {
    const sfid_options opt = options(name, wide);
    sfid *g = open_or_die(&opt);
    ok(comes_to(g, wide, 0) && comes_to(g, wide, SFID_EAGAIN), "%s: the sequence is used up", name);
    is_said(g, 1, name, "used up for the moment");
    move_clock(-5000);
    ok(comes_to(g, wide, SFID_ECLOCK), "%s: the clock goes back 5 s: refused", name);
    is_said(g, 0, name, "refused for the clock");
    move_clock(0);
    ok(comes_to(g, wide, 0), "%s: the clock is right again", name);
    is_said(g, 1, name, "again");
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
