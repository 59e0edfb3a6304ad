/* SPDX-License-Identifier: MIT */
#include "lease/script.h"

#include "base/number.h"
#include "id/layout.h"
#include "id/wide_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- questions ------------------------------------------------------------- */

enum { NUMBERS = 11, NUMBER = 24, BITS = 64 };

/* EVALSHA, SHA-1, 1, key and the fifteen arguments of every operation; `numbers` has the text of
 * those that are numbers. */
struct question {
    const char *argv[SFID__COMMAND_ARGS];
    int argc;
    char key[80], bits[BITS], numbers[NUMBERS][NUMBER];
    unsigned written;
};

static void add(struct question *q, const char *text) { q->argv[q->argc++] = text; }

static void add_number(struct question *q, int64_t n) {
    char *out = q->numbers[q->written++];
    snprintf(out, NUMBER, "%" PRId64, n);
    q->argv[q->argc++] = out;
}

/* The widths of the fields, and their places unless they are time, pid, sequence from the top. */
static void describe_bits(const struct sfid__redis_app *app, char out[BITS]) {
    const sfid_layout *l = &app->layout;
    int n = snprintf(out, BITS, "%u:%u:%u", (unsigned)l->time_bits, (unsigned)l->pid_bits,
                     (unsigned)l->seq_bits);
    if (l->seq_shift != 0 || l->pid_shift != l->seq_bits ||
        l->time_shift != l->seq_bits + l->pid_bits)
        n += snprintf(out + n, (size_t)(BITS - n), ":%u,%u,%u", (unsigned)l->time_shift,
                      (unsigned)l->pid_shift, (unsigned)l->seq_shift);
    snprintf(out + n, (size_t)(BITS - n), "%s", app->lent);
}

/* Half of a window at most: a clock further ahead would be past the granted window. */
static int64_t skew_allowed(const struct sfid__redis_app *app) {
    const uint64_t half = app->window_ms / 2;
    return (int64_t)(app->max_skew_ms == 0 ? half : SFID__MIN(app->max_skew_ms, half));
}

static void ask_with(struct question *q, const struct sfid__redis_app *app, const char *op,
                     int64_t host_ms) {
    const sfid_layout *l = &app->layout;
    q->argc = 0;
    q->written = 0;
    snprintf(q->key, sizeof q->key, "sfid:%s", app->name);
    describe_bits(app, q->bits);
    add(q, app->eval_only ? "EVAL" : "EVALSHA");
    add(q, app->eval_only ? sfid__lease_lua : sfid__lease_sha);
    add(q, "1");
    add(q, q->key);
    add(q, op);
    add(q, q->bits);
    add_number(q, l->epoch_ms);
    add_number(q, l->unit_ms);
    add_number(q, (int64_t)app->window_ms);
    add_number(q, app->budget_ms);
    add_number(q, host_ms);
    add_number(q, skew_allowed(app));
    add_number(q, (int64_t)app->pid_min);
    add_number(q, (int64_t)app->pid_max);
    add(q, sfid__redis_app_registers(app) ? "1" : "0");
    add_number(q, (int64_t)app->short_ms);
    add_number(q, app->short_every);
    add_number(q, app->uri->min_good);
    add(q, app->witness);
}

/* ---- answers --------------------------------------------------------------- */

bool sfid__redis_app_numbers(const struct sfid__redis_app *app, unsigned i, unsigned n,
                             uint64_t *out) {
    return i + n <= app->reply.count &&
           sfid__numbers(app->reply.strings + i, n, 999999999999999999, out);
}

int64_t sfid__redis_app_time(const struct sfid__redis_app *app, uint64_t tick) {
    return sfid__tick_begin_ms(&app->layout, tick);
}

void sfid__redis_app_clock(const struct sfid__redis_app *app, int64_t unix_ms,
                           char out[SFID__TIME_TEXT]) {
    sfid__time_text(unix_ms, sfid__now(app->clock).ms, out);
}

/* An error that a person has to see to: asking again soon changes nothing. */
#define REFUSED(app, err, code, ...) \
    ((app)->reply.class = SFID__REPLY_CONFIG, sfid__fail(err, code, __VA_ARGS__))

int sfid__redis_app_nonsense(struct sfid__redis_app *app, const char *op, struct sfid__error *err) {
    return REFUSED(
        app, err, SFID_EREDIS,
        "%s: %s of app \"%s\": the answer \"%.40s\" with %u part%s is not the lease script's",
        app->shown, op, app->name, app->reply.strings[0], app->reply.count,
        app->reply.count == 1 ? "" : "s");
}

/*
 * The script compares its clock with this host's time in the question, which is old if the question
 * was long under way. The clocks differ by what the script found, or by up to the whole exchange
 * more. One of them is wrong only if all of that is too much.
 */
static int fail_skew(struct sfid__redis_app *app, struct sfid__error *err) {
    char here[SFID__TIME_TEXT], there[SFID__TIME_TEXT];
    const int64_t least_ms = app->skew_ms - app->round_ms / 2;
    if (least_ms <= skew_allowed(app) && least_ms + app->round_ms >= -skew_allowed(app)) {
        app->reply.class = SFID__REPLY_RETRY;
        return sfid__fail(err, SFID_EREDIS,
                          "%s: the exchange took %" PRId64
                          " ms, too long to compare the clocks: at most %" PRId64
                          " ms of difference are allowed (max_skew_ms, at most half of ttl_ms)",
                          app->shown, app->round_ms, skew_allowed(app));
    }
    sfid__time_text(app->now_ms + app->skew_ms, app->now_ms, here);
    sfid__time_text(app->now_ms, app->now_ms + app->skew_ms, there);
    return REFUSED(app, err, SFID_ECLOCK,
                   "%s: this host's clock says %s, the server's %s; %" PRId64
                   " ms %s is more than the %" PRId64
                   " allowed (max_skew_ms, at most half of ttl_ms); correct the wrong clock",
                   app->shown, here, there, app->skew_ms < 0 ? -app->skew_ms : app->skew_ms,
                   app->skew_ms < 0 ? "behind" : "ahead", skew_allowed(app));
}

/* The number of the rules that the layout of a hash begins with; 1 if it has none. *settings: what
 * stands behind it. */
static uint64_t rules_of(const char *layout, const char **settings) {
    const size_t n = strcspn(layout, " ");
    uint64_t rules;
    const bool numbered = layout[n] == ' ' && sfid__number(layout, n, INT64_MAX, &rules);
    *settings = numbered ? layout + n + 1 : layout;
    return numbered ? rules : 1;
}

const char *sfid__redis_app_same(const struct sfid__redis_app *app, char out[SFID__REDIS_SAME]) {
    static const sfid_options usual = SFID_OPTIONS_INIT;
    const uint64_t unit = app->layout.unit_ms;
    const struct {
        const char *option;
        uint64_t is, usual;
    } all[] = {{"ttl-ms", app->window_ms, (usual.ttl_ms + unit - 1) / unit * unit},
               {"skew-budget-ms", app->budget_ms, usual.skew_budget_ms},
               {"short-ms", app->short_ms, (usual.short_ms + unit - 1) / unit * unit}};
    char text[SFID_LAYOUT_STR_LEN];
    const char *layout = sfid__wide_plan_name(&app->layout);
    int n = 0;
    if (layout == NULL && sfid_layout_format(&app->layout, text, sizeof text) >= 0)
        layout = text;
    out[0] = '\0';
    if (layout &&
        sfid__layout_fingerprint(&app->layout) != sfid__layout_fingerprint(&SFID_LAYOUT_DEFAULT))
        n = snprintf(out, SFID__REDIS_SAME, " --layout %s", layout);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is != all[i].usual)
            n += snprintf(out + n, SFID__REDIS_SAME - (size_t)n, " --%s %" PRIu64, all[i].option,
                          all[i].is);
    return out;
}

static int fail_rules(struct sfid__redis_app *app, uint64_t rules, struct sfid__error *err) {
    char same[SFID__REDIS_SAME];
    if (rules > SFID__REDIS_RULES)
        return REFUSED(app, err, SFID_ELAYOUT,
                       "%s: app \"%s\" is used by a newer version of libsfid (lease rules %" PRIu64
                       ", here %d); use that version in all of its processes",
                       app->shown, app->name, rules, SFID__REDIS_RULES);
    return REFUSED(
        app, err, SFID_ELAYOUT,
        "%s: app \"%s\" is used by an older version of libsfid (lease rules %" PRIu64
        ", here %d); end all of its processes, then run `sfid init --upgrade --app %s%s --store %s`",
        app->shown, app->name, rules, SFID__REDIS_RULES, app->name, sfid__redis_app_same(app, same),
        sfid__redis_app_url(app));
}

/* Both without the number of the rules: are they equal but for the range of pids, which # precedes
 * and / ends? */
static bool differ_in_range(const char *theirs, const char *ours) {
    const size_t n = strcspn(theirs, "#/");
    return n == strcspn(ours, "#/") && memcmp(theirs, ours, n) == 0 &&
           strcmp(theirs + strcspn(theirs, "/"), ours + strcspn(ours, "/")) == 0;
}

static int fail_range(struct sfid__redis_app *app, const char *theirs, struct sfid__error *err) {
    const char *range = theirs + strcspn(theirs, "#/");
    const int n = *range == '#' ? (int)strcspn(++range, "/") : 0;
    return REFUSED(
        app, err, SFID_ELAYOUT,
        "%s: app \"%s\" has pids %.*s at this server, not all of %" PRIu64 "-%" PRIu64
        "; give all of its processes pids=%.*s, or change the range by `sfid init --range`",
        app->shown, app->name, n, range, app->pid_min, app->pid_max, n, range);
}

static int fail_layout(struct sfid__redis_app *app, struct sfid__error *err) {
    char bits[BITS], brief[2 * NUMBER] = "", good[NUMBER] = "", ours[BITS + 6 * NUMBER];
    const char *theirs;
    const uint64_t rules = rules_of(app->reply.strings[2], &theirs);
    if (rules != SFID__REDIS_RULES)
        return fail_rules(app, rules, err);
    describe_bits(app, bits);
    if (app->short_ms)
        snprintf(brief, sizeof brief, " %" PRIu64 "/%" PRIu32, app->short_ms, app->short_every);
    if (app->uri->min_good)
        snprintf(good, sizeof good, " min %" PRIu32, app->uri->min_good);
    snprintf(ours, sizeof ours, "%s/%" PRIu32 "@%" PRId64 " %" PRIu64 " %" PRIu32 "%s%s", bits,
             app->layout.unit_ms, app->layout.epoch_ms, app->window_ms, app->budget_ms, brief,
             good);
    if (differ_in_range(theirs, ours))
        return fail_range(app, theirs, err);
    return REFUSED(
        app, err, SFID_ELAYOUT,
        "%s: app \"%s\" is used with %.100s (bits/unit@epoch, ttl_ms, skew_budget_ms, short_ms/one pid in, min_good), not "
        "with %s; give the same to all of its processes, or give this app another name",
        app->shown, app->name, theirs, ours);
}

static int fail_denied(struct sfid__redis_app *app, struct sfid__error *err) {
    const char *command = app->reply.strings[2];
    if (strcmp(app->reply.strings[3], "key") == 0)
        return REFUSED(
            app, err, SFID_EAUTH,
            "%s: the user may not use key \"sfid:%s\" with %.20s: it needs the permission ~sfid:*",
            app->shown, app->name, command);
    return REFUSED(app, err, SFID_EAUTH,
                   "%s: the user may not use the command %.20s: it needs the permission +%.20s",
                   app->shown, command, command);
}

/* The server refused EVAL itself for its key, which its words do not name. */
static int fail_key(struct sfid__redis_app *app, struct sfid__error *err) {
    return REFUSED(
        app, err, SFID_EAUTH,
        "%s: the user may not use key \"sfid:%s\": it needs the permission ~sfid:* (EVAL: %.100s)",
        app->shown, app->name, app->reply.strings[0]);
}

/* The owner says it, too, of a registration that is not there while the hash still is: it might be
 * at the other node. */
static int fail_moving(struct sfid__redis_app *app, struct sfid__error *err) {
    app->reply.class = SFID__REPLY_RETRY;
    return sfid__fail(err, SFID_EREDIS,
                      "%s: the cluster is moving the slot of app \"%s\" to another node",
                      app->shown, app->name);
}

static int fail_by_word(struct sfid__redis_app *app, const char *op, struct sfid__error *err) {
    const char *word = app->reply.strings[0];
    char there[SFID__TIME_TEXT];
    uint64_t tick;
    if (strcmp(word, "SKEW") == 0)
        return fail_skew(app, err);
    if (strcmp(word, "LAYOUT") == 0 && app->reply.count == 3)
        return fail_layout(app, err);
    if (strcmp(word, "DENIED") == 0 && app->reply.count == 4)
        return fail_denied(app, err);
    if (strcmp(word, "EPOCH") == 0) {
        char epoch[SFID__TIME_TEXT];
        sfid__redis_app_clock(app, app->now_ms, there);
        sfid__time_text(app->layout.epoch_ms, SFID__ANOTHER_DAY, epoch);
        return REFUSED(app, err, SFID_ECLOCK,
                       "%s: the server's clock says %s, before the layout's epoch (%s)", app->shown,
                       there, epoch);
    }
    if (strcmp(word, "HELD") == 0 && sfid__redis_app_numbers(app, 3, 1, &tick)) {
        const bool unknown = strcmp(app->reply.strings[2], "-") == 0;
        sfid__redis_app_clock(app, sfid__redis_app_time(app, tick), there);
        return REFUSED(
            app, err, SFID_EBUSY,
            "%s: app \"%s\": %s%.5s may be in use until %s; end its process, or wait until then. Nothing was changed",
            app->shown, app->name, unknown ? "a pid that the server does not know" : "pid ",
            unknown ? "" : app->reply.strings[2], there);
    }
    if (strcmp(word, "TAG") == 0)
        return REFUSED(
            app, err, SFID_EINVAL,
            "%s: in a cluster the keys of app \"%s\" have to lie in one hash slot; put a part of the name in braces, "
            "such as \"{%.60s}\", or add registration=off to the URL",
            app->shown, app->name, app->name);
    if (strcmp(word, "MOVING") == 0)
        return fail_moving(app, err);
    if (strcmp(word, "NOINFO") == 0)
        return REFUSED(
            app, err, SFID_EREDIS,
            "%s: INFO does not show run_id, role and master_replid2, so a server that forgot its keys could not be noticed; "
            "if a proxy is in between, give the server's own address",
            app->shown);
    return sfid__redis_app_nonsense(app, op, err);
}

/* Reads the answer's word; false if it is an error's. */
static bool read_word(struct sfid__redis_app *app) {
    static const char *const words[] = {"OK",      "RETRY", "LOST",    "GONE",
                                        "CHANGED", "MOVED", "FOREIGN", "TAKEN"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(app->reply.strings[0], words[i]) == 0) {
            app->word = (enum sfid__redis_word)i;
            return true;
        }
    return false;
}

/* ---- one exchange ---------------------------------------------------------- */

static bool says(const struct sfid__redis_app *app, const char *word) {
    return app->reply.count > 0 && strncmp(app->reply.strings[0], word, strlen(word)) == 0;
}

/* Neither an ACL without evalsha nor a proxy that does not know it says anything of EVAL. */
static bool offers_no_evalsha(const struct sfid__redis_app *app) {
    const char *line = app->reply.strings[0];
    return app->reply.count > 0 && strcasestr(line, "evalsha") &&
           (says(app, "NOPERM") || sfid__reply_is_unknown(line));
}

/*
 * Sends the script's SHA-1. If the server does not have the script, sends it all, on the same
 * connection and within the same deadline. NOSCRIPT comes before anything runs, so even a release,
 * which is sent once, may be sent again then.
 */
static int exchange(struct sfid__redis_app *app, struct question *q,
                    const struct sfid__question *question, struct sfid__error *err) {
    int rc = sfid__route_exchange(&app->route, question, &app->reply, err);
    const bool denied = rc < 0 && !app->eval_only && offers_no_evalsha(app);
    if (rc == 0 || !(denied || says(app, "NOSCRIPT")))
        return rc;
    app->eval_only = denied;
    q->argv[0] = "EVAL";
    q->argv[1] = sfid__lease_lua;
    return sfid__route_exchange(&app->route, question, &app->reply, err);
}

int sfid__redis_app_ask(struct sfid__redis_app *app, const char *op,
                        const struct sfid__question *arguments, unsigned strings,
                        struct sfid__error *err) {
    struct question q;
    const int64_t host_ms = sfid__now(app->clock).ms, began = sfid__deadline_now_ms();
    uint64_t now_ms;
    app->eval_only = app->eval_only && sfid__route_is_up(&app->route);
    ask_with(&q, app, op, host_ms);
    for (int i = 0; i < arguments->argc; i++)
        add(&q, arguments->argv[i]);
    const int64_t deadline_ms = SFID__MIN(arguments->deadline_ms, began + app->uri->timeout_ms);
    const struct sfid__question question = {q.argc, q.argv, NULL, deadline_ms, arguments->stop};
    const int rc = exchange(app, &q, &question, err);
    app->round_ms = sfid__deadline_now_ms() - began;
    if (rc == SFID_EAUTH && app->reply.count > 0 && strstr(app->reply.strings[0], " key"))
        return fail_key(app, err);
    if (rc < 0 && app->reply.count > 0 && strstr(app->reply.strings[0], "non local key"))
        return fail_moving(app, err);
    if (rc < 0)
        return rc;
    const bool known = read_word(app);
    if (!sfid__redis_app_numbers(app, 1, 1, &now_ms))
        return sfid__redis_app_nonsense(app, op, err);
    app->now_ms = (int64_t)now_ms;
    app->skew_ms = host_ms + app->round_ms / 2 - app->now_ms;
    if (!known)
        return fail_by_word(app, op, err);
    return app->reply.count >= strings || app->word != SFID__REDIS_OK
               ? 0
               : sfid__redis_app_nonsense(app, op, err);
}

int sfid__redis_app_wait(struct sfid__redis_app *app, uint32_t replicas, int64_t wait_ms,
                         struct sfid__deadline until, uint64_t *have, struct sfid__error *err) {
    char wanted[NUMBER], ms[NUMBER];
    snprintf(wanted, sizeof wanted, "%" PRIu32, replicas);
    snprintf(ms, sizeof ms, "%" PRId64, wait_ms);
    if (!sfid__route_is_up(&app->route))
        return sfid__fail(err, SFID_EREDIS, "%s: WAIT: the connection is closed", app->shown);
    const struct sfid__question q = {3, (const char *const[]){"WAIT", wanted, ms}, NULL,
                                     until.at_ms, until.stop};
    const int rc = sfid__route_exchange(&app->route, &q, &app->reply, err);
    if (rc == 0 && !sfid__redis_app_numbers(app, 0, 1, have))
        return sfid__redis_app_nonsense(app, "WAIT", err);
    return rc;
}

/* ---- making one ------------------------------------------------------------ */

int sfid__redis_app_begin(struct sfid__redis_app *app, const struct sfid__settings *settings,
                          struct sfid__error *err) {
    const sfid_options *opt = &settings->opt;
    *app = (struct sfid__redis_app){.clock = &sfid__system_clock,
                                    .layout = *opt->layout,
                                    .window_ms = settings->window_ms,
                                    .budget_ms = opt->skew_budget_ms,
                                    .max_skew_ms = opt->max_skew_ms,
                                    .pid_min = (uint64_t)opt->pid_min,
                                    .pid_max = (uint64_t)opt->pid_max,
                                    .short_ms = settings->short_ms,
                                    .short_every = settings->short_every};
    sfid__reply_of_few(&app->reply, &app->few);
    if (settings->lends_range)
        snprintf(app->lent, sizeof app->lent, "#%" PRId64 "-%" PRId64, opt->pid_min, opt->pid_max);
    snprintf(app->name, sizeof app->name, "%s", opt->app);
    app->uri = sfid__uri_share(settings->uri);
    app->shown = strdup(settings->shown);
    if (app->uri == NULL || app->shown == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    return sfid__route_begin(&app->route, app->uri, app->name, err);
}

void sfid__redis_app_end(struct sfid__redis_app *app) {
    sfid__route_end(&app->route);
    sfid__uri_drop(app->uri);
    free(app->shown);
}
