/* SPDX-License-Identifier: MIT */
/*
 * far.c - a mark that was written under a wrong clock.
 *
 * Let A be max_ahead_ms, S skew_budget_ms, and w a window of the local store: lead_ms, A and one
 * tick. While the clock c never goes back:
 *
 *   - A renewal writes c + w, or leaves a mark that is further ahead as it is.
 *   - A pid of which a mark is missing that another host may have used, or of which a mark is
 *     damaged, begins at c + w + S; its mark stays there until c + w has come so far
 *     (store_local.c, guess).
 *   - A position is drawn below the end of a window, and a word lies one tick behind it at most: so
 *     does the mark of a close.
 *
 * So no mark is further ahead than w + S and one tick. A clock that is set back by up to 2 A is not
 * called wrong: IDs go on after that (slow.c, row 5). With one tick for what rounding takes, that
 * is lead_ms + S + 3 A + 3 ticks: the reach.
 *
 * Each of the three counts as its default at least: doctor and init may not know what the processes
 * of the app are given. So they find no mark wrong that these would accept, unless these are given
 * more than a default.
 */
#include "lease/far.h"

#include "base/clock.h"
#include "id/layout.h"

#include <inttypes.h>
#include <stdio.h>

static const sfid_options defaults = SFID_OPTIONS_INIT;

static uint64_t ticks(const struct sfid__settings *s, uint32_t ms, uint32_t least) {
    return sfid__ms_to_ticks(s->opt.layout, SFID__MAX(ms, least));
}

struct sfid__far sfid__far_of(const struct sfid__settings *s) {
    const sfid_options *o = &s->opt;
    const uint64_t ahead = ticks(s, o->max_ahead_ms, defaults.max_ahead_ms);
    const uint64_t reach = ticks(s, s->lead_ms, SFID__MARK_LEAD_MS) +
                           ticks(s, o->skew_budget_ms, defaults.skew_budget_ms);
    return (struct sfid__far){o->layout, o->app, reach + 3 * ahead + 3, o->max_ahead_ms,
                              o->pid >= 0 || s->strict};
}

int sfid__mark_refuse_far(const struct sfid__far *far, const char *what, const char *dir,
                          uint64_t pid, uint64_t tick, uint64_t now, struct sfid__error *err) {
    char then[SFID__TIME_TEXT], here[SFID__TIME_TEXT], more[40] = "";
    sfid__time_text(sfid__tick_begin_ms(far->layout, tick), SFID__ANOTHER_DAY, then);
    sfid__time_text(sfid__tick_begin_ms(far->layout, now), SFID__ANOTHER_DAY, here);
    if (far->max_ahead_ms > defaults.max_ahead_ms)
        snprintf(more, sizeof more, " --max-ahead-ms %" PRIu32, far->max_ahead_ms);
    return sfid__fail(
        err, SFID_ECLOCK,
        "the %s %.160s/pid-%" PRIu64
        " says %s, and this host's clock %s: that is further ahead than a right clock "
        "writes it. Correct the clock; if it was wrong when the %s was written, run `sfid init --app %s --pid %" PRIu64
        "%s --clock-was-wrong`",
        what, dir, pid, then, here, what, far->app, pid, more);
}
