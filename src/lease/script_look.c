/* SPDX-License-Identifier: MIT */
#include "lease/script_look.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8 }; /* strings of the answer before the first pid */

static bool read_kind(struct sfid__part text, struct sfid__redis_pid *out) {
    static const char *const kinds[] = {"held", "released", "foreign", "ending", "unshown"};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (sfid__part_is(text, kinds[i])) {
            out->kind = i;
            return true;
        }
    return false;
}

static bool read_view(const struct sfid__redis_app *app, struct sfid__redis_view *view) {
    static const char *const known[] = {"none", "old", "current", "barred"};
    const char *text = app->reply.strings[2];
    *view = (struct sfid__redis_view){.known = SFID__APP_UNKNOWN};
    snprintf(view->state, sizeof view->state, "%s", app->reply.strings[6]);
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(text, known[i]) == 0) {
            view->known = i;
            return strcmp(app->reply.strings[4], "-") == 0 ||
                   sfid__redis_app_numbers(app, 4, 1, &view->open_tick);
        }
    return false;
}

/* The pids of one answer. False if it is not the script's; *more becomes false once the caller has
 * seen enough. */
static bool read_pids(const struct sfid__redis_app *app,
                      bool (*each)(void *user, const struct sfid__redis_pid *pid), void *user,
                      bool *more) {
    const struct sfid__redis_reply *r = &app->reply;
    for (unsigned i = HEAD; i < r->count && *more; i++) {
        struct sfid__part rest = {r->strings[i], strlen(r->strings[i])}, words[3];
        for (unsigned k = 0; k < 3; k++) {
            words[k] = sfid__part_cut(&rest, " ");
            rest = sfid__part_behind(rest, rest.len > 0);
        }
        struct sfid__redis_pid pid = {.who = strcmp(rest.at, "-") == 0 ? "" : rest.at};
        if (rest.len == 0 || !sfid__part_number(words[0], SFID__REDIS_PID_MAX, &pid.pid) ||
            !read_kind(words[1], &pid))
            return false;
        pid.timed = sfid__number(words[2].at, words[2].len, INT64_MAX, &pid.tick);
        *more = each(user, &pid);
    }
    return true;
}

static int look(struct sfid__redis_app *app, struct sfid__redis_view *view,
                bool (*each)(void *user, const struct sfid__redis_pid *pid), void *user,
                struct sfid__deadline until, struct sfid__error *err) {
    bool more = each != NULL, same = true;
    uint64_t next = more ? app->pid_min : app->pid_max + 1;
    char state[sizeof view->state] = "";
    do {
        char first[24];
        const uint64_t asked = next;
        snprintf(first, sizeof first, "%" PRIu64, asked);
        const struct sfid__question q = {1, (const char *const[]){first}, NULL, until.at_ms,
                                         until.stop};
        const int rc = sfid__redis_app_ask(app, "look", &q, HEAD, err);
        if (rc < 0)
            return rc;
        if (app->word != SFID__REDIS_OK || !read_view(app, view) ||
            !sfid__redis_app_numbers(app, 7, 1, &next) || !read_pids(app, each, user, &more) ||
            (next <= asked && next <= app->pid_max))
            return sfid__redis_app_nonsense(app, "look", err);
        same = same && (state[0] == '\0' || strcmp(state, view->state) == 0);
        snprintf(state, sizeof state, "%s", view->state);
    } while (more && next <= app->pid_max);
    if (!same)
        view->state[0] = '\0';
    return 0;
}

int sfid__redis_look(struct sfid__redis_app *app, struct sfid__redis_view *view,
                     bool (*each)(void *user, const struct sfid__redis_pid *pid), void *user,
                     struct sfid__deadline until, struct sfid__error *err) {
    if (app->reply.most > SFID__REPLY_FEW) /* an operator's */
        return look(app, view, each, user, until, err);
    struct sfid__reply_many *many = malloc(sizeof *many);
    app->reply.class = SFID__REPLY_RETRY;
    if (many == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    sfid__reply_of_many(&app->reply, many);
    const int rc = look(app, view, each, user, until, err);
    sfid__reply_of_few(&app->reply, &app->few);
    free(many);
    return rc;
}

/* q1 of the script is q, but for the difference of the windows. */
int64_t sfid__redis_open_ms(const struct sfid__redis_app *app,
                            const struct sfid__redis_view *view) {
    const int64_t earlier = app->short_ms ? (int64_t)(app->window_ms - app->short_ms) : 0;
    return view->open_tick ? sfid__redis_app_time(app, view->open_tick) - earlier : 0;
}

int64_t sfid__redis_wait_ms(const struct sfid__redis_app *app) {
    const bool brief = app->short_ms && !sfid__redis_app_is_ahead(app);
    return (int64_t)(brief ? app->short_ms : app->window_ms) + app->budget_ms;
}

/* ---- one pid --------------------------------------------------------------- */

void sfid__redis_pid_holder(const struct sfid__redis_pid *pid, char out[SFID__HOLDER]) {
    const char *token = pid->kind == SFID__PID_FOREIGN ? NULL : strrchr(pid->who, ':');
    const size_t len = token ? (size_t)(token - pid->who) : strlen(pid->who);
    sfid__printable(out, SFID__HOLDER, pid->who, len);
}

sfid_lease_kind sfid__redis_pid_kind(const struct sfid__redis_pid *pid, int64_t left_ms) {
    const bool over = pid->timed && left_ms <= 0;
    switch (pid->kind) {
    case SFID__PID_HELD:
        return over ? SFID_LEASE_RUN_OUT : SFID_LEASE_HELD;
    case SFID__PID_ENDING:
        return over ? SFID_LEASE_RUN_OUT : SFID_LEASE_ENDING;
    case SFID__PID_UNSHOWN:
        return over ? SFID_LEASE_RUN_OUT : SFID_LEASE_UNSHOWN;
    case SFID__PID_RELEASED:
        return SFID_LEASE_RELEASED;
    case SFID__PID_FOREIGN:
        break;
    }
    return SFID_LEASE_FOREIGN;
}

/* ---- holders --------------------------------------------------------------- */

enum { MACHINES = 64, MACHINE = 128, SHOWN = 4, SAMPLE = 256 };

struct tally {
    struct {
        char name[MACHINE];
        unsigned pids;
    } machines[MACHINES];
    unsigned count, others; /* others: pids of machines for which there is no room */
    /* SAMPLE at most: each waiting process asks, so the answer has to be cheap */
    unsigned seen;
};

/* The machine's name ends at the first colon. */
static bool count_holder(void *user, const struct sfid__redis_pid *pid) {
    struct tally *t = user;
    char name[MACHINE];
    const bool more = ++t->seen < SAMPLE;
    if (pid->kind == SFID__PID_RELEASED)
        return more;
    snprintf(name, sizeof name, "%.*s", (int)SFID__MIN(strcspn(pid->who, ":"), sizeof name - 1),
             pid->who);
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->machines[i].name, name) == 0) {
            t->machines[i].pids++;
            return more;
        }
    if (t->count == MACHINES) {
        t->others++;
        return more;
    }
    snprintf(t->machines[t->count].name, MACHINE, "%s", name);
    t->machines[t->count++].pids = 1;
    return more;
}

/* Takes the machine with the most pids out of the tally; returns its index, or -1. */
static int take_largest(const struct tally *t, bool taken[MACHINES]) {
    int largest = -1;
    for (unsigned i = 0; i < t->count; i++)
        if (!taken[i] && (largest < 0 || t->machines[i].pids > t->machines[largest].pids))
            largest = (int)i;
    if (largest >= 0)
        taken[largest] = true;
    return largest;
}

bool sfid__redis_holders(struct sfid__redis_app *app, char *out, size_t size,
                         struct sfid__deadline until) {
    struct tally t = {.count = 0};
    struct sfid__redis_view view;
    struct sfid__error ignored;
    bool taken[MACHINES] = {false};
    size_t used = 0;
    const bool all = sfid__redis_look(app, &view, count_holder, &t, until, &ignored) == 0;
    out[0] = '\0';
    for (int n = 0, i; n < SHOWN && (i = take_largest(&t, taken)) >= 0 && used < size; n++)
        used += (size_t)snprintf(out + used, size - used, "%s%.60s (%u)", n ? ", " : "",
                                 t.machines[i].name, t.machines[i].pids);
    unsigned rest = t.others;
    for (unsigned i = 0; i < t.count; i++)
        rest += taken[i] ? 0 : t.machines[i].pids;
    if (t.seen == SAMPLE && used < size)
        snprintf(out + used, size - used, " and others");
    else if (rest > 0 && used < size)
        snprintf(out + used, size - used, " and %u other%s", rest, rest == 1 ? "" : "s");
    return all;
}
