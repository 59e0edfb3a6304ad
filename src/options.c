/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "layout.h"

#include <inttypes.h>
#include <string.h>

#define APP_MAX 64
#define AHEAD_MAX_MS 86400000

static int bad(struct sfid__error *err, const char *what) { return sfid__fail(err, SFID_EINVAL, "%s", what); }

/* Bytes of text made safe to print: what is not graphic ASCII becomes '?'. */
static void printable(const char *text, char *out, size_t size) {
    size_t i = 0;
    for (; i + 1 < size && text[i]; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = '\0';
}

static int check_app(const char *app, struct sfid__error *err) {
    char shown[80];
    printable(app, shown, sizeof shown);
    const size_t len = strlen(app);
    if (len == 0 || len > APP_MAX)
        return sfid__fail(err, SFID_EINVAL, "app name \"%s\" has %zu characters: it should have 1 to %d", shown, len, APP_MAX);
    if (app[0] == '.')
        return sfid__fail(err, SFID_EINVAL, "app name \"%s\" begins with a dot", shown);
    for (size_t i = 0; i < len; i++)
        if (!sfid__is_ascii_alnum(app[i]) && strchr("_.{}-", app[i]) == NULL)
            return sfid__fail(err, SFID_EINVAL, "app name \"%s\" has a character at %zu that is none of A-Z a-z 0-9 _ . { } -",
                              shown, i + 1);
    return 0;
}

static int check_pid(const sfid_options *o, const sfid_layout *l, struct sfid__error *err) {
    if (o->store)
        return sfid__fail(err, SFID_EUNSUPPORTED, "store is given, but this version leases from none: leave it NULL and give pid");
    if (o->pid == -1)
        return bad(err,
                   "pid is not given: this version leases none, so set pid to a number that no other process of this app uses");
    if (o->pid < -1 || (uint64_t)o->pid > l->max_pid)
        return sfid__fail(err, SFID_EINVAL, "pid %" PRId64 " is out of range: the layout has 0 to %" PRIu64, o->pid, l->max_pid);
    return 0;
}

static int check_policy(const sfid_options *o, const sfid_layout *l, struct sfid__error *err) {
    if ((unsigned)o->exhaustion > SFID_FAIL)
        return sfid__fail(err, SFID_EINVAL, "exhaustion %d is none of SFID_WAIT, SFID_BORROW, SFID_FAIL", (int)o->exhaustion);
    if (o->exhaustion == SFID_WAIT && o->max_wait_ms < l->unit_ms)
        return sfid__fail(err, SFID_EINVAL,
                          "max_wait_ms %" PRIu32 " is less than one tick of the layout (%" PRIu32
                          " ms), so SFID_WAIT could never succeed",
                          o->max_wait_ms, l->unit_ms);
    if (o->max_ahead_ms > AHEAD_MAX_MS)
        return sfid__fail(err, SFID_EINVAL, "max_ahead_ms %" PRIu32 " is over a day (%d)", o->max_ahead_ms, AHEAD_MAX_MS);
    const uint64_t half = (l->max_seq + 1) / 2;
    if (o->random_start > half)
        return sfid__fail(err, SFID_EINVAL, "random_start %" PRIu64 " is over half the sequence (%" PRIu64 ")", o->random_start,
                          half);
    return 0;
}

static int check_dir(const char *name, const char *dir, struct sfid__error *err) {
    if (dir && *dir == '\0')
        return sfid__fail(err, SFID_EINVAL, "%s is empty: give a directory, or NULL for the default", name);
    if (dir && strlen(dir) > 3000)
        return sfid__fail(err, SFID_EINVAL, "%s is longer than 3000 characters", name);
    return 0;
}

int sfid__options_read(const sfid_options *given, sfid_options *out, struct sfid__error *err) {
    *out = (sfid_options)SFID_OPTIONS_INIT;
    if (given == NULL)
        return bad(err, "no options are given");
    const size_t least = offsetof(sfid_options, app) + sizeof given->app;
    if (given->size < least || given->size > 4096 || given->size % _Alignof(sfid_options) != 0)
        return sfid__fail(
            err, SFID_EINVAL,
            "options have size %zu: begin with SFID_OPTIONS_INIT (and leave the layout NULL in a form made by SFID_DEFINE)",
            given->size);
    for (size_t i = sizeof *out; i < given->size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return sfid__fail(err, SFID_EUNSUPPORTED, "an option is set that this version (" SFID_VERSION_STRING ") does not know");
    memcpy(out, given, SFID__MIN(given->size, sizeof *out));
    out->size = sizeof *out;

    const sfid_layout *l = out->layout = sfid__layout_or_default(out->layout);
    if (sfid_layout_check(l) < 0)
        return bad(err, "the layout breaks a rule: make it by SFID_LAYOUT or sfid_layout_parse");
    if (out->app && check_app(out->app, err) < 0)
        return err->code;
    if (check_pid(out, l, err) < 0 || check_policy(out, l, err) < 0 || check_dir("run_dir", out->run_dir, err) < 0 ||
        check_dir("state_dir", out->state_dir, err) < 0)
        return err->code;
    return 0;
}
