/* SPDX-License-Identifier: MIT */
/*
 * A storm on one shared page: 64 short lives a second, of which a quarter is killed with SIGKILL at
 * any moment, in sfid_open() and sfid_close() too. The window is short, so that keepers are needed
 * again and again, and die with their processes. All lives have one pid; no duplicate; each ID is
 * above every one that any process had got before it was asked for; no call and no open of a life
 * that is left alone fails; files do not grow in number.
 *
 * Sizes: 8 s (long: 300 s; with a sanitizer 16 lives a second for 5 s).
 */
#include "support/lives.h"

#define LAYOUT "41:10:12/1ms"
#define APP "crowd"

static sfid_layout layout;

static sfid_options options(void) {
    sfid_options opt = local_options(APP, "local?lead_ms=200&share=1", &layout);
    opt.max_ahead_ms = 0;
    /* after a fifth of it a page that is being begun counts as stuck, and the next is begun */
    opt.open_timeout_ms = TAP_WAIT_MS;
    return opt;
}

static int live(uint64_t random) {
    dirs_make();
    layout = layout_of(LAYOUT);
    const sfid_options opt = options();
    return lives_live(lives_begin(), random, &opt);
}

int main(int argc, char **argv) {
    if (argc > 2)
        return live(strtoull(argv[2], NULL, 10));
    static struct lives_tally t;
    char state[4300], run[200];
    uint64_t rng = seed();
    dirs_make();
    layout = layout_of(LAYOUT);
    struct lives_report *report = lives_begin();
    const sfid_options opt = options();
    /* publishes the layout: whoever is killed at that leaves one more file, see killsteps.c */
    sfid_close(open_or_die(&opt));
    lives_rage((int64_t)sized(8, 300, 5) * 1000 * NS_PER_MS,
               1000 * (int64_t)NS_PER_MS / (SANITIZED ? 16 : 64), &rng, NULL, NULL, NULL, &t);
    lives_judge(report, &t);
    is_i64(report->other_pids, 0, "all have one pid");
    ok(report->keepers > 0, "some kept the pid");
    snprintf(state, sizeof state, "%s/" APP, dirs.state);
    snprintf(run, sizeof run, "%s/" APP, dirs.run);
    is_i64(count_entries(state), 3, "the state directory has one mark, the layout and the doors");
    is_i64(count_entries(run), 3, "the run directory has one page under two names, and the doors");
    judge(LAYOUT, "per-file", UINT64_MAX, "storm");
    return done_testing();
}
