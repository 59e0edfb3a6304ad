/* SPDX-License-Identifier: MIT */
/* check_app.c - finds what is wrong with an app's clock, records and pids on its server. */
#include "admin/survey.h"

#include "base/clock.h"
#include "lease/explain.h"
#include "lease/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKEW_TOLD_MS 1000

enum { NAMED = 3 };

static bool count(void *survey, const struct sfid__redis_pid *pid) {
    struct sfid__survey *s = survey;
    const size_t used = strlen(s->foreigners);
    const int64_t left =
        pid->timed ? sfid__redis_app_time(&s->visit.app, pid->tick) - s->visit.app.now_ms : 0;
    const sfid_lease_kind kind = sfid__redis_pid_kind(pid, left);
    const struct sfid__redis_app *app = &s->visit.app;
    const bool held = kind == SFID_LEASE_HELD || kind == SFID_LEASE_ENDING;
    s->held += held;
    s->held_short += held && sfid__lease_is_short(app->short_every, pid->pid);
    s->unshown += kind == SFID_LEASE_UNSHOWN;
    if (kind == SFID_LEASE_UNSHOWN && !pid->timed)
        s->endless++;
    else if (kind == SFID_LEASE_UNSHOWN)
        s->unshown_ms = SFID__MAX(s->unshown_ms, app->now_ms + left);
    if (kind == SFID_LEASE_FOREIGN && s->foreign++ < NAMED)
        snprintf(s->foreigners + used, sizeof s->foreigners - used, "%s%" PRIu64 " by %.60s",
                 used ? ", " : "", pid->pid, pid->who);
    return true;
}

static void tell_refusal(struct sfid__survey *s, int rc) {
    if (rc == SFID_EAUTH && s->denied)
        return; /* reported already */
    if (rc == SFID_ECLOCK)
        sfid__survey_cure(
            s,
            "correct the wrong clock, and let a time service (chrony, systemd-timesyncd) keep both right");
    else if (rc == SFID_ELAYOUT)
        sfid__survey_cure(
            s,
            "give all processes of the app the same layout, ttl_ms, short_ms and skew_budget_ms; or use another app name");
    sfid__survey_tell(s,
                      rc == SFID_ECLOCK    ? SFID_CHECK_CLOCK
                      : rc == SFID_ELAYOUT ? SFID_CHECK_LAYOUT
                      : rc == SFID_EAUTH   ? SFID_CHECK_PERMISSIONS
                                           : SFID_CHECK_SERVER,
                      SFID_CHECK_ERROR, rc, "%s", s->visit.error.text);
}

static void check_skew(struct sfid__survey *s) {
    const struct sfid__redis_app *app = &s->visit.app;
    char text[300];
    if (llabs(app->skew_ms) <= SKEW_TOLD_MS + app->round_ms) {
        sfid__survey_tell(s, SFID_CHECK_CLOCK, SFID_CHECK_FINE, 0,
                          "it differs from the server's by %lld ms, give or take %" PRId64 " ms",
                          llabs(app->skew_ms), app->round_ms / 2 + 1);
        return;
    }
    sfid__redis_explain_skew(app, s->visit.settings->opt.heartbeat_ms, text, sizeof text);
    sfid__survey_cure(s, "let a time service (chrony, systemd-timesyncd) keep both right");
    sfid__survey_tell(s, SFID_CHECK_CLOCK, SFID_CHECK_WARNING, 0, "%s", text);
}

static void check_state(struct sfid__survey *s) {
    const struct sfid__redis_app *app = &s->visit.app;
    const char *url = sfid__redis_app_url(app);
    char when[SFID__TIME_TEXT] = "", same[SFID__REDIS_SAME];
    sfid__redis_app_same(app, same);
    if (s->view.known == SFID__APP_UNKNOWN) {
        sfid__survey_cure(
            s, "if no process of the app is running anywhere: sfid init --app %s%s --store %s",
            app->name, same, url);
        sfid__survey_tell(
            s, SFID_CHECK_APP, SFID_CHECK_WARNING, 0,
            "the server does not know app \"%s\", or has forgotten it: new processes wait for %" PRIu64
            " s",
            app->name, (uint64_t)(sfid__redis_wait_ms(app) + 999) / 1000);
    } else if (s->view.known == SFID__APP_BARRED) {
        sfid__survey_cure(
            s, "end all processes of the app, then: sfid init --upgrade --app %s%s --store %s",
            app->name, same, url);
        sfid__survey_tell(
            s, SFID_CHECK_APP, SFID_CHECK_ERROR, SFID_ELAYOUT,
            "the records of app \"%s\" are of an older version of libsfid, whose rules differ: this version gets no pid",
            app->name);
    } else if (s->view.known == SFID__APP_CURRENT &&
               sfid__redis_open_ms(app, &s->view) > app->now_ms) {
        sfid__redis_app_clock(app, sfid__redis_open_ms(app, &s->view), when);
        sfid__survey_cure(
            s,
            "wait; or, if no process of the app is running anywhere: sfid init --app %s%s --store %s",
            app->name, same, url);
        sfid__survey_tell(
            s, SFID_CHECK_APP, SFID_CHECK_WARNING, 0,
            "pids of app \"%s\" that the server has no record of are granted from %s on", app->name,
            when);
    }
}

/* Pids that programs without records hold. */
static void check_foreign(struct sfid__survey *s) {
    if (s->foreign == 0)
        return;
    const bool mixed = s->visit.settings->uri->registration == SFID__REGISTRATION_MIXED;
    sfid__survey_cure(
        s,
        mixed
            ? "give that program another app name, or its own part of the pids (pid_min, pid_max)"
            : "set registration=mixed in the store URL of every process, or give that program another app name");
    sfid__survey_tell(s, SFID_CHECK_APP, mixed ? SFID_CHECK_WARNING : SFID_CHECK_ERROR,
                      mixed ? 0 : SFID_EINVAL,
                      "pids registered by programs that ignore the server's records: %" PRIu64
                      " (%s); only those programs can keep their IDs apart from the app's",
                      s->foreign, s->foreigners);
}

/* Holders that have not shown their lease, and records that are none. */
static void check_unshown(struct sfid__survey *s) {
    const struct sfid__redis_app *app = &s->visit.app;
    if (s->unshown > s->endless) {
        char last[SFID__TIME_TEXT] = "";
        const uint64_t n = s->unshown - s->endless;
        sfid__redis_app_clock(app, s->unshown_ms, last);
        sfid__survey_cure(
            s,
            "wait: each shows it at its next heartbeat; a pid that nobody shows comes free when its window ends");
        sfid__survey_tell(
            s, SFID_CHECK_APP, SFID_CHECK_WARNING, 0,
            "%" PRIu64
            " holder%s not shown %s since the server began anew; the last window ends at %s",
            n, n == 1 ? " has" : "s have", n == 1 ? "its lease" : "their leases", last);
    }
    if (s->endless > 0) {
        sfid__survey_cure(
            s,
            "wait for %" PRIu64
            " s, then delete the fields of hash sfid:%s that are no lease; `sfid lease ls` lists their pids",
            (app->window_ms + app->budget_ms + 999) / 1000, app->name);
        sfid__survey_tell(s, SFID_CHECK_APP, SFID_CHECK_WARNING, 0,
                          "%" PRIu64 " record%s damaged, so no process gets %s", s->endless,
                          s->endless == 1 ? " is" : "s are",
                          s->endless == 1 ? "that pid" : "those pids");
    }
}

/* How many pids are left. */
static void check_room(struct sfid__survey *s) {
    const struct sfid__redis_app *app = &s->visit.app;
    const uint64_t all = app->pid_max - app->pid_min + 1, taken = s->held + s->foreign + s->unshown;
    char until[SFID__TIME_TEXT] = "";
    if (s->view.known == SFID__APP_CURRENT && s->view.open_tick)
        sfid__redis_app_clock(app, sfid__redis_app_time(app, s->view.open_tick), until);
    const bool full = taken > all / 10 * 9 && all > 1;
    const char *unknown = until[0] ? "; the holders of the others are unknown until " : "",
               *few = taken < all ? "; a killed process blocks one until its lease ends"
                                  : "; another process gets none";
    if (full)
        sfid__survey_cure(
            s,
            "end processes, or use another app name, with a layout that has more bits for the pid");
    sfid__survey_tell(s, SFID_CHECK_APP, full ? SFID_CHECK_WARNING : SFID_CHECK_FINE, 0,
                      "%" PRIu64 " of %" PRIu64 " pids are taken%s%s", taken, all,
                      full ? few : unknown, full ? "" : until);
    if (s->held_short > 0 && s->view.known == SFID__APP_CURRENT &&
        sfid__redis_app_time(app, s->view.open_tick) <= app->now_ms) {
        sfid__survey_cure(s, "use another app name, with a layout that has more bits for the pid");
        sfid__survey_tell(
            s, SFID_CHECK_APP, SFID_CHECK_WARNING, 0,
            "%" PRIu64
            " short pid%s held although ordinary ones are granted: all of those are taken",
            s->held_short, s->held_short == 1 ? " is" : "s are");
    }
}

void sfid__survey_app(struct sfid__survey *s) {
    const int rc = sfid__redis_look(&s->visit.app, &s->view, count, s, sfid__visit_until(&s->visit),
                                    &s->visit.error);
    if (rc < 0) {
        tell_refusal(s, rc);
        return;
    }
    check_skew(s);
    check_state(s);
    check_foreign(s);
    check_unshown(s);
    check_room(s);
}
