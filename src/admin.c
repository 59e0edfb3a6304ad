/* SPDX-License-Identifier: MIT */
/* admin.c - what an operator asks of an app's server. */
#include "deadline.h"
#include "options.h"
#include "redis_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(SFID__ERROR_TEXT <= SFID_WHY_LEN, "a sentence fits where the header says so");
static_assert(sizeof(((sfid_app_info *)0)->server) >= SFID__URI_SHOWN, "so does a URL");

enum { HOLDER = 256, NAMED = 3, TRIES = 5 };

/* One call. On the heap: a reply is larger than what some threads have for a stack. */
struct survey {
    struct sfid__settings settings;
    struct sfid__redis_app app;
    struct sfid__redis_view view;
    int64_t deadline_ms;
    sfid_app_info info;
    int (*each)(void *user, const sfid_lease_info *lease);
    void *user;
    char holders[300]; /* the first of those that hold a pid, as a list */
    struct sfid__error error;
};

/* ---- one pid --------------------------------------------------------------- */

/* Whoever may write into the server may have put anything there. A token is between a holder and the server. */
static void name_holder(const struct sfid__redis_pid *pid, char out[HOLDER]) {
    const char *token = pid->kind == SFID__PID_HELD ? strrchr(pid->who, ':') : NULL;
    const size_t len = token ? (size_t)(token - pid->who) : strlen(pid->who);
    size_t i = 0;
    for (; i < len && i < HOLDER - 1; i++)
        out[i] = pid->who[i] >= ' ' && pid->who[i] <= '~' ? pid->who[i] : '?';
    out[i] = '\0';
}

static sfid_lease_kind kind_of(const struct sfid__redis_pid *pid, int64_t left_ms) {
    if (pid->kind == SFID__PID_HELD)
        return pid->timed && left_ms <= 0 ? SFID_LEASE_RUN_OUT : SFID_LEASE_HELD;
    return pid->kind == SFID__PID_RELEASED ? SFID_LEASE_RELEASED : SFID_LEASE_FOREIGN;
}

/* For the sentence that refuses. */
static void name_in_list(struct survey *s, const sfid_lease_info *lease) {
    char until[SFID__TIME_TEXT] = "";
    const size_t used = strlen(s->holders);
    if (s->info.held + s->info.foreign > NAMED)
        return;
    if (lease->until_unix_ms >= 0)
        sfid__redis_app_clock(&s->app, lease->until_unix_ms, until);
    snprintf(s->holders + used, sizeof s->holders - used, "%spid %" PRIu64 " %s by %.50s %s%s", used ? ", " : "", lease->pid,
             lease->kind == SFID_LEASE_HELD ? "is held" : "is registered", lease->holder, until[0] ? "until " : "without end",
             until);
}

static void count(struct survey *s, const sfid_lease_info *lease) {
    sfid_app_info *info = &s->info;
    switch (lease->kind) {
    case SFID_LEASE_RUN_OUT:
        info->run_out++;
        return;
    case SFID_LEASE_RELEASED:
        info->released++;
        return;
    case SFID_LEASE_HELD:
        info->held++;
        break;
    case SFID_LEASE_FOREIGN:
        info->foreign++;
    }
    name_in_list(s, lease);
    if (lease->until_unix_ms < 0 || info->held_until_unix_ms < 0)
        info->held_until_unix_ms = -1;
    else
        info->held_until_unix_ms = SFID__MAX(info->held_until_unix_ms, lease->until_unix_ms);
}

static bool see_pid(void *survey, const struct sfid__redis_pid *pid) {
    struct survey *s = survey;
    char holder[HOLDER];
    const int64_t until = pid->timed ? sfid__redis_app_time(&s->app, pid->tick) : -1;
    sfid_lease_info lease = {.pid = pid->pid, .until_unix_ms = until, .holder = holder};
    lease.left_ms = pid->timed ? until - s->app.now_ms : 0;
    lease.kind = kind_of(pid, lease.left_ms);
    name_holder(pid, holder);
    count(s, &lease);
    if (s->each && s->each(s->user, &lease) != 0)
        s->each = NULL;
    return true;
}

/* ---- the app --------------------------------------------------------------- */

/* Where it is said that there is no such thing to ask, also what there is. */
static int begin(struct survey *s, const sfid_options *opt) {
    struct sfid__error *err = &s->error;
    int rc = sfid__options_read(opt, &s->settings, err);
    if (rc < 0)
        return rc;
    if (s->settings.store == SFID__STORE_LOCAL)
        return sfid__fail(err, SFID_EUNSUPPORTED,
                          "store \"local\" keeps its leases as locks of this host, which `sfid doctor --app %s` lists: give the "
                          "URL of a Redis server",
                          s->settings.opt.app);
    if (s->settings.store != SFID__STORE_REDIS)
        return sfid__fail(err, SFID_EUNSUPPORTED, "a fixed pid is not leased: leave it at -1, and give the URL of a Redis server");
    s->deadline_ms = sfid__deadline_now_ms() + s->settings.opt.open_timeout_ms;
    return sfid__redis_app_begin(&s->app, &s->settings, err);
}

static void describe(struct survey *s) {
    sfid_app_info *info = &s->info;
    const struct sfid__redis_app *app = &s->app;
    static const sfid_app_state states[] = {SFID_APP_UNKNOWN, SFID_APP_FORGOTTEN, SFID_APP_KNOWN};
    info->state = states[s->view.known];
    info->server_unix_ms = app->now_ms;
    info->skew_ms = app->skew_ms;
    info->open_unix_ms = -1;
    if (info->state == SFID_APP_KNOWN)
        info->open_unix_ms = s->view.open_tick ? sfid__redis_app_time(app, s->view.open_tick) : 0;
    info->wait_ms = (int64_t)app->window_ms + app->budget_ms;
    info->pid_min = app->pid_min;
    info->pid_max = app->pid_max;
    snprintf(info->server, sizeof info->server, "%s", app->shown);
}

static int look(struct survey *s) {
    memset(&s->info, 0, sizeof s->info);
    s->holders[0] = '\0';
    const int rc = sfid__redis_look(&s->app, &s->view, see_pid, s, s->deadline_ms, NULL, &s->error);
    if (rc == 0)
        describe(s);
    return rc;
}

/* What is left of it, and the sentence for the caller. */
static int end(struct survey *s, int rc, sfid_app_info *out, char *why, size_t why_size) {
    if (s && out && (rc == 0 || rc == SFID_EBUSY))
        *out = s->info;
    if (why && why_size > 0)
        snprintf(why, why_size, "%s", rc == 0 ? "" : s && s->error.code == rc ? s->error.text : sfid_strerror(rc));
    if (s)
        sfid__redis_app_end(&s->app);
    free(s);
    return rc;
}

int sfid_app_look(const sfid_options *opt, sfid_app_info *out, int (*each)(void *user, const sfid_lease_info *lease), void *user,
                  char *why, size_t why_size) {
    struct survey *s = calloc(1, sizeof *s);
    if (s == NULL)
        return end(s, SFID_ENOMEM, out, why, why_size);
    s->each = each;
    s->user = user;
    int rc = begin(s, opt);
    if (rc == 0)
        rc = look(s);
    return end(s, rc, out, why, why_size);
}

/* ---- init ------------------------------------------------------------------ */

static int refuse(struct survey *s) {
    char others[120] = "", last[SFID__TIME_TEXT] = "";
    const uint64_t busy = s->info.held + s->info.foreign;
    if (s->info.held_until_unix_ms > 0)
        sfid__redis_app_clock(&s->app, s->info.held_until_unix_ms, last);
    if (busy > NAMED)
        snprintf(others, sizeof others, ", and %" PRIu64 " others are%s%s", busy - NAMED, last[0] ? ", the last until " : "", last);
    return sfid__fail(
        &s->error, SFID_EBUSY,
        "%.120s: app \"%s\" is in use: %s%s. Nothing was changed: init is to say that no process of the app is running "
        "anywhere",
        s->app.shown, s->app.name, s->holders, others);
}

/* *done: the server did it. Otherwise it found something else than was looked at. */
static int try_init(struct survey *s, bool force, bool *done) {
    int rc = look(s);
    if (rc < 0)
        return rc;
    if (!force && s->info.held + s->info.foreign > 0)
        return refuse(s);
    if (s->view.state[0] == '\0')
        return 0;
    rc = sfid__redis_app_ask(&s->app, "init", 1, (const char *const[]){s->view.state}, 2, s->deadline_ms, NULL, &s->error);
    *done = rc == 0 && s->app.word == SFID__REDIS_OK;
    if (rc == 0 && !*done && s->app.word != SFID__REDIS_CHANGED)
        return sfid__redis_app_nonsense(&s->app, "init", &s->error);
    return rc;
}

int sfid_app_init(const sfid_options *opt, int force, sfid_app_info *out, char *why, size_t why_size) {
    struct survey *s = calloc(1, sizeof *s);
    if (s == NULL)
        return end(s, SFID_ENOMEM, out, why, why_size);
    bool done = false;
    int rc = begin(s, opt);
    for (int i = 0; i < TRIES && rc == 0 && !done; i++)
        rc = try_init(s, force != 0, &done);
    if (rc == 0 && !done)
        rc = sfid__fail(&s->error, SFID_EAGAIN,
                        "%s: app \"%s\" was another each of the %d times it was looked at: is the server "
                        "restarted, or failing over, again and again?",
                        s->app.shown, s->app.name, TRIES);
    return end(s, rc, out, why, why_size);
}
