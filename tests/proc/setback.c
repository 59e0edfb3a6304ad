/* SPDX-License-Identifier: MIT */
/*
 * Page and mark of a pid that do not belong together: the state directory was restored from a copy
 * of some earlier moment, or the run directory is one that was used before another one. Each life
 * begins above all before, in the same tick, whichever of the two is out of date, and whether it
 * was closed or killed.
 */
#include "support/local.h"

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;
static sfid_options opt;

static struct life {
    bool killed;
    int64_t first, last, highest; /* highest: of all lives */
    char text[300];
} * life;

/* As many IDs as make a difference, all within the tick where the numbers stand. */
static int live(void *arg) {
    (void)arg;
    sfid *g = open_or_die(&opt);
    life->first = life->last = next_within(g, TAP_WAIT_MS);
    for (int i = 0; i < 100 && life->last >= 0; i++)
        life->last = sfid_next(g);
    snprintf(life->text, sizeof life->text, "%s", sfid_last_error(g));
    if (life->killed)
        raise(SIGKILL);
    sfid_close(g);
    return 0;
}

static void lives(bool killed) {
    life->killed = killed;
    child_run(live, NULL, TAP_WAIT_MS);
    life->highest = life->last > life->highest ? life->last : life->highest;
}

/* The next life, after what was done to the directories. */
static void next_is_above(bool killed, const char *what) {
    const int64_t before = life->highest;
    lives(killed);
    if (!ok(life->first > before && life->last > life->first,
            "%s: the next IDs are above all before", what))
        diag("%" PRId64 " after %" PRId64 ", %s", life->first, before, life->text);
}

static void copy(const char *from, const char *to) {
    char command[9000];
    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s' '%s'", to, from, to);
    must(system(command) == 0, "cannot copy %s", from);
}

static void state_is_set_back(bool before, bool between, const char *what) {
    char aside[4300];
    snprintf(aside, sizeof aside, "%s.copy", dirs.state);
    lives(before);
    copy(dirs.state, aside);
    lives(between);
    copy(aside, dirs.state);
    next_is_above(false, what);
    remove_tree(aside);
}

/* The copy names a page that is not the one at its path any more. */
static void state_names_another_page(void) {
    char aside[4300];
    snprintf(aside, sizeof aside, "%s.copy", dirs.state);
    lives(false);
    copy(dirs.state, aside);
    remove_tree(dirs.run);
    lives(false);
    copy(aside, dirs.state);
    next_is_above(false, "a mark that names a page before the present one");
    remove_tree(aside);
}

/* The page left behind in the first is older than the mark, and open. */
static void run_directories_in_turn(bool killed, const char *what) {
    char other[4300];
    snprintf(other, sizeof other, "%s.other", dirs.run);
    lives(true);
    opt.run_dir = other;
    lives(killed);
    opt.run_dir = dirs.run;
    next_is_above(false, what);
    remove_tree(other);
}

int main(void) {
    dirs_make();
    life = shared_memory(sizeof *life);
    opt = local_options("back", "local?lead_ms=1000", layout);
    opt.pid_min = opt.pid_max = 3;
    opt.max_ahead_ms = 0;
    opt.max_wait_ms = TAP_WAIT_MS; /* a keeper may be late */
    state_is_set_back(false, false, "a mark of an earlier close, after a close");
    state_is_set_back(false, true, "a mark of an earlier close, after a kill");
    state_is_set_back(true, false, "a mark of an earlier kill, after a close");
    state_is_set_back(true, true, "a mark of an earlier kill, after a kill");
    state_names_another_page();
    run_directories_in_turn(false, "back from another run directory, after a close");
    run_directories_in_turn(true, "back from another run directory, after a kill");
    return done_testing();
}
