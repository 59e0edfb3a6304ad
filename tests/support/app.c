/* SPDX-License-Identifier: MIT */
#include "support/app.h"

#include "lease/script.h"
#include "support/tap.h"

enum { COMMON = 15, NUMBERS = COMMON - 3, OP_ARGS = 9 };

static char *file_text(const char *path) {
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "re");
    need(f && getdelim(&text, &room, '\0', f) > 0, "%s: %s", path, strerror(errno));
    fclose(f);
    return text;
}

const char *app_script(void) {
    static const char *text;
    const char *path = getenv("SFID_TEST_SCRIPT");
    if (!text)
        text = path ? file_text(path) : sfid__lease_lua;
    return text;
}

struct app app_new(struct redis *r) {
    struct app a = {.redis = r,
                    .about = "",
                    .key = "sfid:{app}",
                    .bits = "36:11:17",
                    .epoch = INT64_C(1766361600000),
                    .unit = 1000,
                    .window = 10000,
                    .slack = 2000,
                    .pid_max = 2};
    redis_do(r, "FLUSHALL", NULL);
    app_at(&a, T0, 0);
    return a;
}

struct app app_ready(struct redis *r) {
    struct app a = app_new(r);
    need(strcmp(app_say(&a, "init", "", NULL), "OK") == 0, "init: %s", a.said);
    return a;
}

struct app app_today(struct redis *r) {
    struct app a = app_new(r);
    a.window = 600000, a.slack = 15000, a.short_ms = 30000, a.share = 8, a.pid_max = 2047,
    a.registration = 1;
    app_at(&a, ((int64_t)time(NULL) * 1000 - a.epoch) / a.unit, 0);
    return a;
}

void app_at(struct app *a, int64_t tick, int64_t ms) {
    a->now = a->epoch + tick * a->unit + ms;
    if (a->redis->clock)
        redis_clock_fix(a->redis, a->now);
}

/* ---- asking -------------------------------------------------------------- */

static struct reply *eval(struct app *a, const char *op, va_list rest) {
    char numbers[NUMBERS][24], *both = NULL;
    const int64_t values[NUMBERS] = {
        a->epoch,    a->unit,    a->window,  a->slack,        a->now + a->host_ahead,
        a->max_skew, a->pid_min, a->pid_max, a->registration, a->short_ms,
        a->share,    a->min_good};
    const char *args[4 + COMMON + OP_ARGS + 1] = {
        "EVAL", a->script ? a->script : app_script(), "1", a->key, op, a->bits};
    size_t n = 6;
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, values[i]);
        args[n++] = numbers[i];
    }
    args[n++] = a->witness ? a->witness : "";
    while (n < sizeof args / sizeof args[0] && (args[n] = va_arg(rest, const char *)) != NULL)
        n++;
    need(n < sizeof args / sizeof args[0], "more than %d arguments for %s", OP_ARGS, op);
    if (a->prelude && asprintf(&both, "%s\n%s", a->prelude, args[1]) > 0)
        args[1] = both;
    struct reply *reply = redis_ask_n(a->redis, n, args, NULL);
    free(both);
    return reply;
}

struct reply *app_ask(struct app *a, const char *op, ...) {
    va_list rest;
    va_start(rest, op);
    struct reply *reply = eval(a, op, rest);
    va_end(rest);
    return reply;
}

/* ---- answers ------------------------------------------------------------- */

static bool strings_only(const struct reply *r) {
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].type != '$' || r->list[i].size > 200)
            return false;
    return r->type == '*' && r->count >= 2;
}

/* The place of `era` in an answer; 0: it has none. After it a claim names a pid that a stranger has
 * registered. */
static size_t era_at(const char *op, const char *word) {
    static const char *const words[] = {"RETRY", "MOVED", "GONE", "LOST", "FOREIGN", "TAKEN"};
    static const size_t places[] = {5, 5, 3, 2, 2, 2};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(word, words[i]) == 0)
            return places[i];
    if (strcmp(word, "OK") != 0 || strcmp(op, "look") == 0)
        return 0;
    return strcmp(op, "claim") == 0 || strcmp(op, "renew") == 0 ? 5
           : strcmp(op, "finish") == 0                          ? 3
                                                                : 2;
}

static void keep_era(struct app *a, const char *text) {
    const size_t whole = strcspn(text, " ");
    const char *n = strrchr(text, '-');
    snprintf(a->latest, sizeof a->latest, "%.*s", (int)whole, text);
    snprintf(a->era, sizeof a->era, "%.*s", n ? (int)(n - text) : 0, text);
    snprintf(a->why, sizeof a->why, "%s", text + whole + (text[whole] == ' '));
}

/* Keeps what differs from run to run, and how long to wait. Returns whether that is at this place
 * of the answer. */
static bool is_kept(struct app *a, const char *op, const struct reply *r, size_t i) {
    const char *word = r->list[0].text, *text = r->list[i].text;
    if (i == 1)
        return true;
    if (i == 6 && strcmp(op, "look") == 0)
        return snprintf(a->state, sizeof a->state, "%s", text) >= 0;
    if (i == 3 && strcmp(word, "RETRY") == 0) {
        a->poll = strtoll(text, NULL, 10);
        return true;
    }
    if (i == 0 || i != era_at(op, word))
        return false;
    keep_era(a, text);
    return true;
}

static const char *line_of(struct app *a, const char *op, const struct reply *r) {
    size_t n = 0;
    if (r->type == '-')
        return reply_line(r, a->said, sizeof a->said);
    if (!strings_only(r)) {
        snprintf(a->said, sizeof a->said, "no array of short strings: type %c", r->type);
        return a->said;
    }
    for (size_t i = 0; i < r->count; i++)
        if (!is_kept(a, op, r, i) && n < sizeof a->said)
            n += (size_t)snprintf(a->said + n, sizeof a->said - n, "%s%s", n > 0 ? " " : "",
                                  r->list[i].text);
    return a->said;
}

static const char *say(struct app *a, const char *op, va_list rest) {
    struct reply *reply = eval(a, op, rest);
    line_of(a, op, reply);
    reply_free(reply);
    return a->said;
}

const char *app_say(struct app *a, const char *op, ...) {
    va_list rest;
    va_start(rest, op);
    say(a, op, rest);
    va_end(rest);
    return a->said;
}

bool says(struct app *a, const char *want, const char *name, const char *op, ...) {
    va_list rest;
    va_start(rest, op);
    say(a, op, rest);
    va_end(rest);
    const size_t known = strcspn(want, "*");
    if (want[known] == '*' && strncmp(a->said, want, known) == 0)
        return ok(true, "%s%s", a->about, name);
    return is_str(a->said, want, "%s%s", a->about, name);
}

bool has(struct app *a, const char *key, const char *field, const char *want, const char *name) {
    return is_str(redis_text(a->redis, field ? "HGET" : "GET", key, field, NULL), want, "%s%s",
                  a->about, name);
}

static int by_field(const void *a, const void *b) {
    return strcmp(((const struct reply *)a)->text, ((const struct reply *)b)->text);
}

/* DUMP shows the order in memory, which reading changes. */
char *app_contents(struct app *a) {
    char *text = NULL;
    size_t size = 0;
    struct reply *reply = redis_ask(a->redis, "HGETALL", a->key, NULL);
    FILE *f = open_memstream(&text, &size);
    need(f, "open_memstream: %s", strerror(errno));
    if (reply->type == '*')
        qsort(reply->list, reply->count / 2, 2 * sizeof *reply->list, by_field);
    for (size_t i = 0; i < reply->count; i++)
        fprintf(f, "%s%s", reply->list[i].text, i % 2 ? "; " : " = ");
    fclose(f);
    reply_free(reply);
    return text;
}

bool app_is_as(struct app *a, char *before, const char *name) {
    char *after = app_contents(a);
    const bool same = is_str(after, before, "%s%s", a->about, name);
    free(before);
    free(after);
    return same;
}

int for_each_server(unsigned flags, void (*test)(struct redis *r)) {
    const char *programs[8];
    const size_t n = redis_installed_ones(programs, 8);
    for (size_t i = 0; i < n; i++) {
        struct redis r;
        diag("%s", programs[i]);
        redis_start(&r, programs[i], "server", flags, NULL);
        test(&r);
        redis_kill(&r);
    }
    return done_testing();
}
