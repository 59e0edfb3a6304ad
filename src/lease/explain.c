/* SPDX-License-Identifier: MIT */
#include "lease/explain.h"

#include "lease/script_look.h"

#include <inttypes.h>
#include <stdio.h>

/* The server knows nothing of pids without a record, and grants none of them before `open`: short
 * ones before the others. */
static void explain_unknown(const struct sfid__redis_app *app, uint64_t tick, uint64_t open,
                            const char *holders, struct sfid__error *err) {
    char when[SFID__TIME_TEXT], till[SFID__TIME_TEXT], brief[200] = "", same[SFID__REDIS_SAME];
    sfid__redis_app_clock(app, sfid__redis_app_time(app, tick), when);
    sfid__redis_app_clock(app, sfid__redis_app_time(app, open), till);
    if (sfid__redis_app_is_ahead(app))
        snprintf(brief, sizeof brief,
                 "; the short pids that come earlier are not for this host: its clock is %" PRId64
                 " s ahead of the server's, more than half of short_ms; correct the clock",
                 app->skew_ms / 1000);
    else if (tick < open)
        snprintf(brief, sizeof brief, "; the first comes free at %s", when);
    sfid__fail(
        err, SFID_ENOPID,
        "%s does not know app \"%.64s\", or has forgotten it%s%s; holders of its %spids may go on until %s%s. If no process of "
        "this app is running anywhere, run `sfid init --app %.64s%s --store %s`",
        app->shown, app->name, holders[0] ? "; some pids are taken, by " : "", holders,
        holders[0] ? "other " : "", till, brief, app->name, sfid__redis_app_same(app, same),
        sfid__redis_app_url(app));
}

void sfid__redis_explain(struct sfid__redis_app *app, uint64_t tick, uint64_t open,
                         struct sfid__deadline until, struct sfid__error *err) {
    char when[SFID__TIME_TEXT], holders[300] = "";
    const bool unknown = sfid__redis_app_time(app, open) > app->now_ms;
    const bool listed = sfid__redis_holders(app, holders, sizeof holders, until);
    if (!listed && err->code == SFID_ENOPID)
        return;
    if (unknown) {
        explain_unknown(app, tick, open, holders, err);
        return;
    }
    sfid__redis_app_clock(app, sfid__redis_app_time(app, tick), when);
    sfid__fail(err, SFID_ENOPID,
               "%s: every pid of app \"%s\" from %" PRIu64 " to %" PRIu64
               " is taken%s%s; the first becomes free at %s, unless its holder renews it",
               app->shown, app->name, app->pid_min, app->pid_max, holders[0] ? ", by " : "",
               holders, when);
}

/* Earlier renewals make up for a clock that is ahead, but an eighth of a heartbeat stays between
 * two. */
void sfid__redis_explain_skew(const struct sfid__redis_app *app, uint32_t heartbeat_ms, char *out,
                              size_t size) {
    const int64_t lost_ms = app->skew_ms - (int64_t)(heartbeat_ms - heartbeat_ms / 8);
    char outage[60] = "", loss[80] = "";
    if (lost_ms > 0)
        snprintf(outage, sizeof outage, "; it costs %" PRId64 " s of each outage",
                 (lost_ms + 999) / 1000);
    if (sfid__redis_app_is_ahead(app))
        snprintf(loss, sizeof loss, "; after a loss a new process here waits %" PRId64 " s",
                 (sfid__redis_wait_ms(app) + 999) / 1000);
    snprintf(out, size,
             "this host's clock is %" PRId64
             " ms %s the server's: IDs of different hosts are out of order by as much%s%s",
             app->skew_ms < 0 ? -app->skew_ms : app->skew_ms,
             app->skew_ms < 0 ? "behind" : "ahead of", outage, loss);
}
