/* SPDX-License-Identifier: MIT */
/* app.c - what an operator asks about an app at its server, and sfid_app_init(). */
#include "admin/session.h"
#include "lease/script_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(((sfid_app_info *)0)->server) >= SFID__URI_SHOWN,
              "a URL fits where the header says so");

enum { NAMED = 3, TRIES = 5 };

/* One call. */
struct app_survey {
    struct sfid__visit visit; /* first */
    struct sfid__redis_view view;
    sfid_app_info info;
    int (*each)(void *user, const sfid_lease_info *lease);
    void *user;
    char holders[300];          /* the first ones that hold a pid, as a list */
    struct sfid__error unheard; /* of the first server that did not answer */
};

/* ---- one pid --------------------------------------------------------------- */

static uint64_t busy(const sfid_app_info *info) {
    return info->held + info->foreign + info->unshown;
}

/* Adds a holder to the list in the sentence that refuses. */
static void name_in_list(struct app_survey *s, const sfid_lease_info *lease) {
    char until[SFID__TIME_TEXT] = "";
    const size_t used = strlen(s->holders);
    if (busy(&s->info) > NAMED)
        return;
    if (lease->until_unix_ms >= 0)
        sfid__redis_app_clock(&s->visit.app, lease->until_unix_ms, until);
    snprintf(s->holders + used, sizeof s->holders - used, "%spid %" PRIu64 " %s by %.50s %s%s",
             used ? ", " : "", lease->pid,
             lease->kind == SFID_LEASE_FOREIGN   ? "is registered"
             : lease->kind == SFID_LEASE_UNSHOWN ? "may be in use"
                                                 : "is held",
             lease->holder, until[0] ? "until " : "without end", until);
}

static void count(struct app_survey *s, const sfid_lease_info *lease) {
    sfid_app_info *info = &s->info;
    switch (lease->kind) {
    case SFID_LEASE_RUN_OUT:
        info->run_out++;
        return;
    case SFID_LEASE_RELEASED:
        info->released++;
        return;
    case SFID_LEASE_HELD:
    case SFID_LEASE_ENDING:
        info->held++;
        break;
    case SFID_LEASE_FOREIGN:
        info->foreign++;
        break;
    case SFID_LEASE_UNSHOWN:
        info->unshown++;
    }
    name_in_list(s, lease);
    if (lease->until_unix_ms < 0 || info->held_until_unix_ms < 0)
        info->held_until_unix_ms = -1;
    else
        info->held_until_unix_ms = SFID__MAX(info->held_until_unix_ms, lease->until_unix_ms);
}

static bool see_pid(void *survey, const struct sfid__redis_pid *pid) {
    struct app_survey *s = survey;
    char holder[SFID__HOLDER];
    const int64_t until = pid->timed ? sfid__redis_app_time(&s->visit.app, pid->tick) : -1;
    sfid_lease_info lease = {.pid = pid->pid, .until_unix_ms = until, .holder = holder};
    lease.left_ms = pid->timed ? until - s->visit.app.now_ms : 0;
    lease.kind = sfid__redis_pid_kind(pid, lease.left_ms);
    sfid__redis_pid_holder(pid, holder);
    count(s, &lease);
    if (s->each && s->each(s->user, &lease) != 0)
        s->each = NULL;
    return true;
}

/* ---- the app --------------------------------------------------------------- */

/* Adds what the server showed to what those before it in the pool did. */
static void app_describe(struct app_survey *s) {
    sfid_app_info *info = &s->info;
    const struct sfid__redis_app *app = &s->visit.app;
    static const sfid_app_state states[] = {SFID_APP_UNKNOWN, SFID_APP_FORGOTTEN, SFID_APP_KNOWN,
                                            SFID_APP_BARRED};
    const bool first = info->server[0] == '\0';
    const sfid_app_state state = states[s->view.known];
    const bool barred = state == SFID_APP_BARRED || info->state == SFID_APP_BARRED;
    const int64_t open = state == SFID_APP_KNOWN ? sfid__redis_open_ms(app, &s->view) : -1;
    const int64_t known = state != SFID_APP_KNOWN ? -1
                          : s->view.open_tick     ? sfid__redis_app_time(app, s->view.open_tick)
                                                  : 0;
    const size_t used = strlen(info->server);
    info->state = first ? state : barred ? SFID_APP_BARRED : SFID__MIN(info->state, state);
    info->known_unix_ms =
        first || (known < 0 || known > info->known_unix_ms) ? known : info->known_unix_ms;
    info->server_unix_ms = app->now_ms;
    if (first || (info->skew_ms < 0 ? -info->skew_ms : info->skew_ms) <
                     (app->skew_ms < 0 ? -app->skew_ms : app->skew_ms))
        info->skew_ms = app->skew_ms;
    info->open_unix_ms = first || info->open_unix_ms < 0 || (open >= 0 && open < info->open_unix_ms)
                             ? open
                             : info->open_unix_ms;
    info->wait_ms = sfid__redis_wait_ms(app);
    info->pid_min = first ? app->pid_min : SFID__MIN(info->pid_min, app->pid_min);
    info->pid_max = SFID__MAX(info->pid_max, app->pid_max);
    snprintf(info->server + used, sizeof info->server - used, "%s%s", first ? "" : ", ",
             app->shown);
}

static int app_look(struct app_survey *s) {
    const int rc = sfid__redis_look(&s->visit.app, &s->view, see_pid, s,
                                    sfid__visit_until(&s->visit), &s->visit.error);
    if (rc == 0)
        app_describe(s);
    return rc;
}

/* Ends the call: copies the result and the sentence to the caller. */
static int app_end(struct app_survey *s, int rc, sfid_app_info *out, char *why, size_t why_size) {
    if (s && out && (rc == 0 || rc == SFID_EBUSY || s->info.server[0]))
        *out = s->info;
    return sfid__visit_end(s ? &s->visit : NULL, rc, why, why_size);
}

int sfid_app_look(const sfid_options *opt, sfid_app_info *out,
                  int (*each)(void *user, const sfid_lease_info *lease), void *user, char *why,
                  size_t why_size) {
    struct app_survey *s = calloc(1, sizeof *s);
    if (s == NULL)
        return app_end(s, SFID_ENOMEM, out, why, why_size);
    s->each = each;
    s->user = user;
    int rc = sfid__visit_begin(&s->visit, opt);
    if (rc == SFID_EUNSUPPORTED && out && s->visit.whole.elsewhere)
        *out = (sfid_app_info){.pid_min = (uint64_t)s->visit.whole.opt.pid,
                               .pid_max = (uint64_t)s->visit.whole.opt.pid};
    /* a server that is away does not hide the others */
    for (unsigned i = 0; rc == 0 && i < s->visit.servers; i++) {
        const int one = sfid__visit_server(&s->visit, i);
        if ((one < 0 || app_look(s) < 0) && s->unheard.code == 0)
            s->unheard = s->visit.error;
    }
    if (rc == 0 && s->unheard.code) {
        s->visit.error = s->unheard;
        rc = s->unheard.code;
    }
    return app_end(s, rc, out, why, why_size);
}

/* ---- init ------------------------------------------------------------------ */

static int app_refuse(struct app_survey *s) {
    char others[120] = "", last[SFID__TIME_TEXT] = "";
    const uint64_t all = busy(&s->info);
    if (s->info.held_until_unix_ms > 0)
        sfid__redis_app_clock(&s->visit.app, s->info.held_until_unix_ms, last);
    if (all > NAMED)
        snprintf(others, sizeof others, ", and %" PRIu64 " more%s%s", all - NAMED,
                 last[0] ? ", the last until " : "", last);
    return sfid__fail(
        &s->visit.error, SFID_EBUSY,
        "%.120s: app \"%s\" is in use: %s%s%s. Nothing was changed; run init only if no process of the app is running anywhere",
        s->visit.app.shown, s->visit.app.name, s->holders, others,
        s->info.unshown ? " (who may use one has not shown its lease since the server began anew)"
                        : "");
}

static bool is_refused(const struct app_survey *s, int flags) {
    return !(flags & SFID_INIT_FORCE) && busy(&s->info) > 0;
}

/* *done: the server did it, or has nothing to upgrade. Otherwise it is no longer in the state that
 * was looked at. */
static int try_init(struct app_survey *s, const sfid_app_info *before, int flags, bool *done) {
    s->info = *before;
    s->holders[0] = '\0';
    int rc = app_look(s);
    if (rc < 0)
        return rc;
    *done = (flags & SFID_INIT_UPGRADE) && s->view.known != SFID__APP_BARRED;
    if (!*done && is_refused(s, flags))
        return app_refuse(s);
    if (*done || s->view.state[0] == '\0')
        return 0;
    const char *const argv[] = {s->view.state, "1"};
    const struct sfid__question q = {flags & SFID_INIT_UPGRADE ? 2 : 1, argv, NULL,
                                     s->visit.deadline_ms, NULL};
    rc = sfid__redis_app_ask(&s->visit.app, "init", &q, 2, &s->visit.error);
    *done = rc == 0 && s->visit.app.word == SFID__REDIS_OK;
    if (rc == 0 && !*done && s->visit.app.word != SFID__REDIS_CHANGED)
        return sfid__redis_app_nonsense(&s->visit.app, "init", &s->visit.error);
    return rc;
}

/* The script itself refuses while a pid that would go may be in use. */
static int set_range(struct app_survey *s) {
    const struct sfid__question q = {2, (const char *const[]){"", "2"}, NULL, s->visit.deadline_ms,
                                     NULL};
    const int rc = sfid__redis_app_ask(&s->visit.app, "init", &q, 2, &s->visit.error);
    if (rc == 0 && s->visit.app.word != SFID__REDIS_OK)
        return sfid__redis_app_nonsense(&s->visit.app, "init", &s->visit.error);
    return rc < 0 ? rc : app_look(s);
}

static int init_server(struct app_survey *s, int flags) {
    if (flags & SFID_INIT_RANGE)
        return set_range(s);
    const sfid_app_info before = s->info;
    bool done = false;
    int rc = 0;
    for (int i = 0; i < TRIES && rc == 0 && !done; i++)
        rc = try_init(s, &before, flags, &done);
    if (rc < 0 || done)
        return rc;
    return sfid__fail(
        &s->visit.error, SFID_EAGAIN,
        "%s: the state of app \"%s\" changed on each of %d attempts; is the server restarting or failing over?",
        s->visit.app.shown, s->visit.app.name, TRIES);
}

/* Of a pool nothing is changed before all servers have answered, and nobody holds a pid of any. */
static int look_at_all(struct app_survey *s, int flags) {
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < s->visit.servers; i++) {
        rc = sfid__visit_server(&s->visit, i);
        rc = rc < 0 ? rc : app_look(s);
        if (rc == 0 && is_refused(s, flags))
            rc = app_refuse(s);
    }
    if (rc == 0)
        s->info = (sfid_app_info){.server = ""};
    return rc;
}

int sfid_app_init(const sfid_options *opt, int flags, sfid_app_info *out, char *why,
                  size_t why_size) {
    struct app_survey *s = calloc(1, sizeof *s);
    if (s == NULL)
        return app_end(s, SFID_ENOMEM, out, why, why_size);
    int rc = sfid__visit_begin(&s->visit, opt);
    if (rc == 0 && s->visit.servers > 1 && !(flags & SFID_INIT_RANGE))
        rc = look_at_all(s, flags);
    for (unsigned i = 0; rc == 0 && i < s->visit.servers; i++) {
        rc = sfid__visit_server(&s->visit, i);
        rc = rc < 0 ? rc : init_server(s, flags);
    }
    return app_end(s, rc, out, why, why_size);
}
