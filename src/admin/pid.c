/* SPDX-License-Identifier: MIT */
/* pid.c - what an operator asks about one pid, and sfid_pid_finish(). */
#include "admin/session.h"
#include "lease/machine.h"
#include "lease/script_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 24 };

static_assert(sizeof(((sfid_pid_info *)0)->server) >= SFID__URI_SHOWN,
              "a URL fits where the header says so");
static_assert(sizeof(((sfid_pid_info *)0)->holder) >= SFID__HOLDER, "so does a holder");

struct pid_survey {
    struct sfid__visit visit; /* first */
    struct sfid__redis_view view;
    sfid_pid_info info;
    char base[SFID__HOLDER]; /* the holder's; "": nobody holds the pid */
};

/* ---- looking --------------------------------------------------------------- */

/* With little left, an ordinary pid was renewed long ago, or claimed for a short window just
 * now. */
static int64_t renewed(const struct sfid__redis_app *app, const sfid_pid_info *info) {
    if (sfid__lease_is_short(app->short_every, info->pid))
        return info->until_unix_ms - (int64_t)app->short_ms;
    return info->left_ms > (int64_t)app->short_ms ? info->until_unix_ms - (int64_t)app->window_ms
                                                  : -1;
}

static bool see(void *survey, const struct sfid__redis_pid *pid) {
    struct pid_survey *s = survey;
    sfid_pid_info *info = &s->info;
    const struct sfid__redis_app *app = &s->visit.app;
    const bool held = pid->kind == SFID__PID_HELD || pid->kind == SFID__PID_ENDING;
    info->there = 1;
    info->until_unix_ms = pid->timed ? sfid__redis_app_time(app, pid->tick) : -1;
    info->left_ms = pid->timed ? info->until_unix_ms - app->now_ms : 0;
    info->kind = sfid__redis_pid_kind(pid, info->left_ms);
    sfid__redis_pid_holder(pid, info->holder);
    if (held && pid->timed)
        info->renewed_unix_ms = renewed(app, info);
    if (held)
        snprintf(s->base, sizeof s->base, "%s", pid->who);
    return false;
}

/* Reads the second word of a record. A failure is no error: the user may lack the permission. */
static void read_nonce(struct pid_survey *s) {
    char key[80], field[NUMBER];
    const struct sfid__redis_reply *r = &s->visit.app.reply;
    struct sfid__error kept = s->visit.error;
    snprintf(key, sizeof key, "sfid:%s", s->visit.app.name);
    snprintf(field, sizeof field, "%" PRIu64, s->info.pid);
    if (sfid__visit_ask(&s->visit, 3, (const char *const[]){"HGET", key, field}, NULL) == 0 &&
        r->count == 1 && sscanf(r->strings[0], "%*u %63s", s->info.nonce) == 1 &&
        strcmp(s->info.nonce, "~") == 0)
        s->info.nonce[0] = '\0';
    s->visit.error = kept;
}

/* A holder's own registration is shown without its token, which is not for others. */
static void show_registration(struct pid_survey *s, const char *text) {
    sfid_pid_info *info = &s->info;
    text = strcmp(text, s->base) == 0 ? info->holder : text;
    sfid__printable(info->registered, sizeof info->registered, text, strlen(text));
}

static void read_registration(struct pid_survey *s) {
    char key[96];
    const struct sfid__redis_reply *r = &s->visit.app.reply;
    struct sfid__error kept = s->visit.error;
    const int n = snprintf(key, sizeof key - 2, "sfid:%s:", s->visit.app.name);
    key[n] = (char)(s->info.pid & 0xff);
    key[n + 1] = (char)(s->info.pid >> 8 & 0xff);
    const size_t lengths[] = {4, (size_t)n + 2};
    if (sfid__visit_ask(&s->visit, 2, (const char *const[]){"GET", key},
                        (const size_t[]){3, lengths[1]}) == 0 &&
        r->count == 1) {
        show_registration(s, r->strings[0]);
        s->info.registered_until = -1;
        if (sfid__visit_ask(&s->visit, 2, (const char *const[]){"PTTL", key}, lengths) == 0 &&
            r->count == 1 && strtoll(r->strings[0], NULL, 10) > 0)
            s->info.registered_until = s->info.server_unix_ms + strtoll(r->strings[0], NULL, 10);
    }
    s->visit.error = kept;
}

/* By the script's rules: a released pid is free from its first unused tick, any other once it has
 * run out and q has passed. */
static int64_t free_from(const struct pid_survey *s) {
    const struct sfid__redis_app *app = &s->visit.app;
    int64_t open = sfid__redis_open_ms(app, &s->view);
    if (open && !sfid__lease_is_short(app->short_every, s->info.pid))
        open = sfid__redis_app_time(app, s->view.open_tick);
    if (s->view.known != SFID__APP_CURRENT || s->info.until_unix_ms < 0)
        return -1;
    const int64_t from = s->info.kind == SFID_LEASE_RELEASED
                             ? s->info.until_unix_ms
                             : SFID__MAX(s->info.until_unix_ms, open);
    return from <= s->info.server_unix_ms ? 0 : from;
}

static int pid_look(struct pid_survey *s, uint64_t pid) {
    struct sfid__redis_app *app = &s->visit.app;
    if (pid < app->pid_min || pid > app->pid_max)
        return sfid__fail(&s->visit.error, SFID_EINVAL,
                          "pid %" PRIu64 " is out of range; app \"%s\" has %" PRIu64 " to %" PRIu64,
                          pid, app->name, app->pid_min, app->pid_max);
    s->info = (sfid_pid_info){.pid = pid, .until_unix_ms = -1, .renewed_unix_ms = -1};
    s->base[0] = '\0';
    const uint64_t first = app->pid_min, last = app->pid_max;
    app->pid_min = app->pid_max = pid;
    const int rc =
        sfid__redis_look(app, &s->view, see, s, sfid__visit_until(&s->visit), &s->visit.error);
    app->pid_min = first;
    app->pid_max = last;
    if (rc < 0)
        return rc;
    s->info.server_unix_ms = app->now_ms;
    s->info.free_unix_ms = free_from(s);
    snprintf(s->info.server, sizeof s->info.server, "%s", app->shown);
    if (s->base[0])
        read_nonce(s);
    if (sfid__redis_app_registers(app) && s->info.there)
        read_registration(s);
    return 0;
}

/* ---- ending ---------------------------------------------------------------- */

/* Is there a lease to end, and is it the given holder's? */
static int may_finish(struct pid_survey *s, const char *holder) {
    struct sfid__error *err = &s->visit.error;
    const struct sfid__redis_app *app = &s->visit.app;
    const sfid_pid_info *info = &s->info;
    if (info->there && info->kind == SFID_LEASE_FOREIGN)
        return sfid__fail(
            err, SFID_EBUSY,
            "%s: pid %" PRIu64
            " of app \"%s\" is registered by %.60s, which has no record; only the program that "
            "registered it can show whether it is in use, and release it",
            app->shown, info->pid, app->name, info->holder);
    if (info->there && info->kind == SFID_LEASE_UNSHOWN)
        return sfid__fail(
            err, SFID_EBUSY,
            "%s: pid %" PRIu64
            " of app \"%s\" may be in use by %.80s, which has not shown its lease since the "
            "server began anew; look again after its next heartbeat",
            app->shown, info->pid, app->name, info->holder);
    if (s->base[0] == '\0')
        return sfid__fail(err, SFID_ELEASE, "%s: nobody holds pid %" PRIu64 " of app \"%s\"",
                          app->shown, info->pid, app->name);
    if (holder && strcmp(holder, info->holder) != 0)
        return sfid__fail(err, SFID_EAGAIN,
                          "%s: pid %" PRIu64 " of app \"%s\" is held by %.80s, not by %.80s",
                          app->shown, info->pid, app->name, info->holder, holder);
    if (s->view.known != SFID__APP_CURRENT)
        return sfid__fail(
            err, SFID_EAGAIN,
            "%s: the records of app \"%s\" are from before a restart or failover and will be dropped; look again "
            "after its processes have renewed",
            app->shown, app->name);
    return 0;
}

static int pid_finish(struct pid_survey *s) {
    struct sfid__redis_app *app = &s->visit.app;
    char pid[NUMBER], base[SFID__HOLDER];
    snprintf(pid, sizeof pid, "%" PRIu64, s->info.pid);
    memcpy(base, s->base, sizeof base);
    const struct sfid__question q = {2, (const char *const[]){pid, base}, NULL,
                                     s->visit.deadline_ms, NULL};
    const int rc = sfid__redis_app_ask(app, "finish", &q, 2, &s->visit.error);
    if (rc < 0 || app->word == SFID__REDIS_OK)
        return rc;
    if (app->word != SFID__REDIS_CHANGED)
        return sfid__redis_app_nonsense(app, "finish", &s->visit.error);
    return sfid__fail(&s->visit.error, SFID_EAGAIN,
                      "%s: pid %s of app \"%s\" changed its holder meanwhile; nothing was done",
                      app->shown, pid, app->name);
}

/* ---- calls ----------------------------------------------------------------- */

/* Goes to the server that lends the pid. */
static int pid_begin(struct pid_survey *s, const sfid_options *opt, uint64_t pid) {
    struct sfid__visit *v = &s->visit;
    int rc = sfid__visit_begin(v, opt);
    unsigned at = v->servers > 1 ? v->servers : 0;
    for (unsigned i = 0; rc == 0 && v->servers > 1 && i < v->servers; i++) {
        const sfid_options *one = &sfid__options_server(&v->whole, i)->opt;
        if (pid >= (uint64_t)one->pid_min && pid <= (uint64_t)one->pid_max)
            at = i;
    }
    if (rc == 0 && at == v->servers)
        rc = sfid__fail(&v->error, SFID_EINVAL, "pid %" PRIu64 " is in no range of the pool", pid);
    return rc < 0 ? rc : sfid__visit_server(v, at);
}

static int pid_end(struct pid_survey *s, int rc, sfid_pid_info *out, char *why, size_t why_size) {
    if (s && out && rc == 0)
        *out = s->info;
    return sfid__visit_end(s ? &s->visit : NULL, rc, why, why_size);
}

int sfid_pid_look(const sfid_options *opt, uint64_t pid, sfid_pid_info *out, char *why,
                  size_t why_size) {
    struct pid_survey *s = calloc(1, sizeof *s);
    int rc = s == NULL ? SFID_ENOMEM : out == NULL ? SFID_EINVAL : 0;
    if (rc == 0)
        rc = pid_begin(s, opt, pid);
    if (rc == 0)
        rc = pid_look(s, pid);
    return pid_end(s, rc, out, why, why_size);
}

int sfid_pid_finish(const sfid_options *opt, uint64_t pid, const char *holder, sfid_pid_info *out,
                    char *why, size_t why_size) {
    struct pid_survey *s = calloc(1, sizeof *s);
    int rc = s == NULL ? SFID_ENOMEM : pid_begin(s, opt, pid);
    if (rc == 0)
        rc = pid_look(s, pid);
    if (rc == 0)
        rc = may_finish(s, holder);
    if (rc == 0)
        rc = pid_finish(s);
    if (rc == 0)
        rc = pid_look(s, pid);
    return pid_end(s, rc, out, why, why_size);
}
