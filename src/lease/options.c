/* SPDX-License-Identifier: MIT */
#include "lease/options.h"

#include "host/dirs.h"
#include "id/layout.h"
#include "id/presets.h"
#include "lease/store.h"
#include "redis/uri_hint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list of options ------------------------------------------------- */

struct listed {
    size_t size;
#define NUMBER(name, type, initial, least, most, stores) type name;
#define POINTER(name, stores) void *name;
    SFID_OPTION_LIST(NUMBER, POINTER)
#undef NUMBER
#undef POINTER
};
#define NUMBER(name, type, initial, least, most, stores) \
    _Static_assert(__builtin_types_compatible_p(type, __typeof__(((sfid_options *)0)->name)), \
                   "SFID_OPTION_LIST: the type of " #name); \
    POINTER(name, stores)
#define POINTER(name, stores) \
    _Static_assert(offsetof(struct listed, name) == offsetof(sfid_options, name), \
                   "SFID_OPTION_LIST: the place of " #name);
SFID_OPTION_LIST(NUMBER, POINTER)
_Static_assert(sizeof(struct listed) == sizeof(sfid_options),
               "SFID_OPTION_LIST lacks a member of sfid_options");
#undef NUMBER
#undef POINTER

enum {
#define NUMBER(name, type, initial, least, most, stores) \
    LEAST_##name = (least), MOST_##name = (most),
#define POINTER(name, stores)
    SFID_OPTION_LIST(NUMBER, POINTER)
#undef NUMBER
};

static int bad(struct sfid__error *err, const char *what) {
    return sfid__fail(err, SFID_EINVAL, "%s", what);
}

static int check_app(struct sfid__settings *out, struct sfid__error *err) {
    char shown[80];
    const char *app = out->opt.app;
    const size_t len = strlen(app), good = strspn(app, SFID__ALNUM "_.{}-");
    if (len > 0 && len <= SFID__APP_MAX && app[0] != '.' && good == len) {
        out->opt.app = memmove(out->app, app, len + 1);
        return 0;
    }
    sfid__printable(shown, sizeof shown, app, len);
    if (len == 0 || len > SFID__APP_MAX)
        return sfid__fail(err, SFID_EINVAL,
                          "app name \"%s\" has %zu characters: it should have 1 to %d", shown, len,
                          SFID__APP_MAX);
    if (app[0] == '.')
        return sfid__fail(err, SFID_EINVAL, "app name \"%s\" begins with a dot", shown);
    return sfid__fail(
        err, SFID_EINVAL,
        "app name \"%s\" has an invalid character at position %zu; use A-Z a-z 0-9 _ . { } -",
        shown, good + 1);
}

static int check_pid(const sfid_options *o, const sfid_layout *l, struct sfid__error *err) {
    if (o->pid < -1 || (o->pid >= 0 && (uint64_t)o->pid > l->max_pid))
        return sfid__fail(err, SFID_EINVAL,
                          "pid %" PRId64 " is out of range: the layout has 0 to %" PRIu64, o->pid,
                          l->max_pid);
    return 0;
}

/* ---- the range of pids ----------------------------------------------------- */

static int64_t first_pid(const sfid_layout *l) {
    const struct sfid__preset *preset = sfid__preset_of(l);
    return preset ? (int64_t)preset->first_pid : 0;
}

static void set_range(sfid_options *o, int64_t min, int64_t max) {
    o->pid_min = min;
    o->pid_max = max;
}

static int bad_range(const char *store, const char *name, int64_t pid, const sfid_layout *l,
                     struct sfid__error *err) {
    return sfid__fail(err, SFID_EINVAL,
                      "%s: %s %" PRId64 " is out of range; the layout has pids 0 to %" PRIu64,
                      store, name, pid, l->max_pid);
}

/* Takes the range from the store; an end that it does not name is the layout's. Options may give
 * the same range, but no other. */
static int range_of_store(struct sfid__settings *out, bool given, struct sfid__error *err) {
    sfid_options *o = &out->opt;
    const char *store = out->store->title;
    const int64_t top = (int64_t)o->layout->max_pid,
                  max = out->store_max >= 0 ? out->store_max : top;
    const int64_t min = out->store_min >= 0 ? out->store_min : SFID__MIN(first_pid(o->layout), max);
    if (out->plan.by_host)
        return sfid__fail(err, SFID_EINVAL, "%s has pid_min or pid_max, but %s leases no pids",
                          store, out->plan.prefix);
    if (min > top)
        return bad_range(store, "pid_min", min, o->layout, err);
    if (max > top)
        return bad_range(store, "pid_max", max, o->layout, err);
    if (min > max)
        return sfid__fail(err, SFID_EINVAL, "%s: pid_min %" PRId64 " is above pid_max %" PRId64,
                          store, min, max);
    if (given && (o->pid_min != min || o->pid_max != max))
        return sfid__fail(err, SFID_EINVAL,
                          "pid_min %" PRId64 " and pid_max %" PRId64
                          " differ from %s, which has %" PRId64 " to %" PRId64 "; give one of them",
                          o->pid_min, o->pid_max, store, min, max);
    out->ranged = !given;
    set_range(o, min, max);
    return 0;
}

static int choose_range(struct sfid__settings *out, struct sfid__error *err) {
    sfid_options *o = &out->opt;
    const bool given = o->pid_min != 0 || o->pid_max != 0;
    if (!given)
        set_range(o, first_pid(o->layout), (int64_t)o->layout->max_pid);
    if (o->pid_min < 0 || o->pid_max < o->pid_min || (uint64_t)o->pid_max > o->layout->max_pid)
        return sfid__fail(err, SFID_EINVAL,
                          "pid_min %" PRId64 " and pid_max %" PRId64
                          " are not a range within the layout's 0 to %" PRIu64,
                          o->pid_min, o->pid_max, o->layout->max_pid);
    return out->store_min >= 0 || out->store_max >= 0 ? range_of_store(out, given, err) : 0;
}

/* ---- store --------------------------------------------------------------- */

#define STORE(kind) &kind,
static const struct sfid__store_kind *const stores[] = {SFID__STORES(STORE)};
#undef STORE

static bool is_meant(const struct sfid__store_kind *kind, const char *text) {
    const size_t n = kind->word ? strlen(kind->word) : 0;
    if (n == 0)
        return strstr(text, "://") != NULL;
    return strncmp(text, kind->word, n) == 0 &&
           (kind->word[n - 1] == ':' || text[n] == '\0' || text[n] == '?');
}

/* An error shows only a word of what is given: the rest may hold a password. */
static int read_store(const char *store, struct sfid__settings *out, struct sfid__error *err) {
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        if (is_meant(stores[i], store)) {
            out->store = stores[i];
            return out->store->read(store, out, err);
        }
    char shown[40], hint[SFID__URI_HINT];
    const char *from = sfid__behind_password(store, strlen(store));
    sfid__printable(shown, sizeof shown, from, strcspn(from, ":?"));
    sfid__uri_hint(store, hint);
    return sfid__fail(
        err, SFID_EINVAL, "unknown store \"%s\"%s", shown,
        hint[0] ? hint
                : "; expected \"local\", \"ordinal:\", \"pool:\" or the URL of a Redis server");
}

/* Cuts a range that reaches to the layout's end down to the pids that the store can name. */
static void keep_to_names(struct sfid__settings *s) {
    sfid_options *o = &s->opt;
    if (o->pid_max > s->store->pid_most && (uint64_t)o->pid_max == o->layout->max_pid &&
        o->pid_min <= s->store->pid_most)
        o->pid_max = s->store->pid_most;
}

void sfid__options_widen(struct sfid__settings *s) {
    if (!s->ranged || s->lends_range)
        return;
    set_range(&s->opt, first_pid(s->opt.layout), (int64_t)s->opt.layout->max_pid);
    keep_to_names(s);
}

static int choose_store(struct sfid__settings *out, struct sfid__error *err) {
    const sfid_options *o = &out->opt;
    out->lead_ms = SFID__MARK_LEAD_MS;
    out->synced = true;
    out->shared = o->share != 0;
    out->joins = o->share == 2;
    out->store_min = out->store_max = -1;
    if (o->pid >= 0 && o->store)
        return sfid__fail(
            err, SFID_EINVAL,
            "pid %" PRId64
            " and a store are both given: a store chooses the pid, so give one of them",
            o->pid);
    if (o->pid >= 0) {
        /* its lock shows other processes of this host that the pid is taken */
        out->store = o->app ? &sfid__store_local : NULL;
        return 0;
    }
    if (o->store == NULL)
        return bad(
            err,
            "neither store nor pid is given: give store \"local\" when only this host issues IDs for the app, "
            "or a pid that no other process of the app uses");
    if (o->app == NULL)
        return bad(err, "app is not given: a store leases pids under the name of an app");
    return read_store(o->store, out, err);
}

static int finish_store(struct sfid__settings *out, struct sfid__error *err) {
    if (out->shared && out->store == NULL)
        return sfid__fail(err, SFID_EINVAL,
                          "share is %" PRIu64
                          ", but app is not given: processes share the page of an app",
                          out->opt.share);
    if (out->store == NULL)
        return 0;
    keep_to_names(out);
    return out->store->finish ? out->store->finish(out, err) : 0;
}

/* ---- how it works -------------------------------------------------------- */

static int check_range(const char *name, uint64_t value, uint64_t least, uint64_t most,
                       struct sfid__error *err) {
    if (most == 0 || (value >= least && value <= most))
        return 0;
    return sfid__fail(err, SFID_EINVAL, "%s %" PRIu64 " is out of range: %" PRIu64 " %s %" PRIu64,
                      name, value, least, most - least == 1 ? "or" : "to", most);
}

static int check_lease(const sfid_options *o, struct sfid__error *err) {
    if (check_range("ttl_ms", o->ttl_ms, LEAST_ttl_ms, MOST_ttl_ms, err) < 0)
        return err->code;
    if (o->heartbeat_ms < LEAST_heartbeat_ms || o->heartbeat_ms > o->ttl_ms / 3)
        return sfid__fail(err, SFID_EINVAL,
                          "heartbeat_ms %" PRIu32
                          " is out of range: %d to a third of ttl_ms (%" PRIu32 ")",
                          o->heartbeat_ms, LEAST_heartbeat_ms, o->ttl_ms / 3);
#define NUMBER(name, type, initial, least, most, stores) \
    if (check_range(#name, (uint64_t)o->name, LEAST_##name, MOST_##name, err) < 0) \
        return err->code;
    SFID_OPTION_LIST(NUMBER, POINTER)
#undef NUMBER
#undef POINTER
    if (o->open_timeout_ms < LEAST_open_timeout_ms)
        return bad(err, "open_timeout_ms is 0: give at least 1");
    if ((unsigned)o->on_unknown > SFID_TRUST)
        return sfid__fail(err, SFID_EINVAL, "on_unknown %d is not one of SFID_WAIT_OUT, SFID_TRUST",
                          (int)o->on_unknown);
    return 0;
}

static int check_policy(const sfid_options *o, const sfid_layout *l, struct sfid__error *err) {
    if ((unsigned)o->exhaustion > SFID_FAIL)
        return sfid__fail(err, SFID_EINVAL,
                          "exhaustion %d is not one of SFID_WAIT, SFID_BORROW, SFID_FAIL",
                          (int)o->exhaustion);
    if (o->exhaustion == SFID_WAIT && o->max_wait_ms < l->unit_ms)
        return sfid__fail(err, SFID_EINVAL,
                          "max_wait_ms %" PRIu32 " is less than one tick of the layout (%" PRIu32
                          " ms), so SFID_WAIT could never succeed",
                          o->max_wait_ms, l->unit_ms);
    if (o->max_ahead_ms > MOST_max_ahead_ms)
        return sfid__fail(err, SFID_EINVAL, "max_ahead_ms %" PRIu32 " is over a day (%d)",
                          o->max_ahead_ms, MOST_max_ahead_ms);
    const uint64_t half = (l->max_seq + 1) / 2;
    if (o->share > MOST_share)
        return sfid__fail(err, SFID_EINVAL, "share %" PRIu64 " is not 0, 1 or 2", o->share);
    if (o->share == 2 && o->on_event)
        return bad(
            err,
            "share is 2, so there is no thread to call on_event; leave it NULL, or give share 1");
    if (o->random_start > half)
        return sfid__fail(err, SFID_EINVAL,
                          "random_start %" PRIu64 " is over half the sequence (%" PRIu64 ")",
                          o->random_start, half);
    return 0;
}

static int check_dir(const char *name, const char *dir, struct sfid__error *err) {
    if (dir && *dir == '\0')
        return sfid__fail(err, SFID_EINVAL,
                          "%s is empty: give a directory, or NULL for the default", name);
    if (dir && strlen(dir) > 3000)
        return sfid__fail(err, SFID_EINVAL, "%s is longer than 3000 characters", name);
    return 0;
}

/* ---- wide IDs ------------------------------------------------------------ */

/* Refuses what makes no sense if the worker is the host's and its processes share the sequence. */
static int check_host(const sfid_options *o, const char *kind, struct sfid__error *err) {
    if (o->app)
        return sfid__fail(
            err, SFID_EINVAL,
            "%s takes no app: all processes of a host share its worker; leave app at NULL", kind);
    if (o->pid_min != 0 || o->pid_max != 0)
        return sfid__fail(err, SFID_EINVAL,
                          "pid_min %" PRId64 " and pid_max %" PRId64
                          " are given, but %s leases no pids",
                          o->pid_min, o->pid_max, kind);
    if (o->store && strcmp(o->store, "local") != 0 && strncmp(o->store, "local?", 6) != 0)
        return sfid__fail(err, SFID_EINVAL,
                          "%s supports only the store \"local\", because its worker is this host's",
                          kind);
    if (o->exhaustion == SFID_BORROW)
        return sfid__fail(err, SFID_EINVAL,
                          "exhaustion is SFID_BORROW, but %s is never ahead of the clock", kind);
    return 0;
}

/* The worker is the given one, or the host's own MAC address. */
static int choose_worker(struct sfid__settings *out, struct sfid__error *err) {
    const sfid_options *o = &out->opt;
    const char *kind = out->plan.prefix;
    out->worker = (uint64_t)o->pid;
    if (o->pid == -1 && out->wide.kind == SFID_AWSFLAKE)
        return sfid__fail(err, SFID_EINVAL,
                          "pid is not given; %s needs a region and an address, SFID_AWS_PID()",
                          kind);
    if (o->pid == -1) {
        const int rc = sfid_mac_address(NULL, &out->worker);
        return rc < 0
                   ? sfid__fail(err, rc, "no network interface has a MAC address: give one as pid")
                   : 0;
    }
    if (o->pid < 0 || out->worker > out->plan.max_pid)
        return sfid__fail(err, SFID_EINVAL, "pid %" PRId64 " is out of range: %s has 0 to %" PRIu64,
                          o->pid, kind, out->plan.max_pid);
    return 0;
}

/* The processes of a worker lease its parts: pids of an app that stands for it. */
static int share_worker(struct sfid__settings *out, struct sfid__error *err) {
    sfid_options *o = &out->opt;
    if (check_host(o, out->plan.prefix, err) < 0 || choose_worker(out, err) < 0)
        return err->code;
    snprintf(out->app, sizeof out->app, "%s-%012" PRIx64, out->plan.prefix, out->worker);
    o->app = out->app;
    o->store = o->store ? o->store : "local";
    o->pid = -1;
    o->max_ahead_ms = 0;
    out->strict = true;
    return 0;
}

static int read_wide(struct sfid__settings *out, struct sfid__error *err) {
    sfid_options *o = &out->opt;
    if (o->layout)
        return bad(err, "layout and wide are both given; give one of them");
    if (o->wide->kind == SFID_AWSFLAKE &&
        (o->wide->epoch_ms < SFID__EPOCH_MIN || o->wide->epoch_ms > SFID__EPOCH_MAX))
        return sfid__fail(err, SFID_EINVAL,
                          "wide has epoch_ms %" PRId64 ", which is out of range: %" PRId64
                          " to %" PRId64,
                          o->wide->epoch_ms, SFID__EPOCH_MIN, SFID__EPOCH_MAX);
    if (sfid__wide_plan(o->wide, &out->plan) < 0)
        return bad(err, "wide is not a valid layout; make it with sfid_wide_layout_parse");
    out->wide = *o->wide;
    o->wide = &out->wide;
    o->layout = &out->plan.engine;
    return out->plan.by_host ? share_worker(out, err) : 0;
}

int sfid__options_copy(const sfid_options *given, sfid_options *opt, struct sfid__error *err) {
    *opt = (sfid_options)SFID_OPTIONS_INIT;
    if (given == NULL)
        return bad(err, "no options are given");
    const size_t least = offsetof(sfid_options, app) + sizeof given->app;
    if (given->size < least || given->size > 4096 || given->size % _Alignof(sfid_options) != 0)
        return sfid__fail(
            err, SFID_EINVAL,
            "options have size %zu; use SFID_OPTIONS_INIT (and leave the layout NULL in a form made by SFID_DEFINE)",
            given->size);
    for (size_t i = sizeof *opt; i < given->size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return sfid__fail(err, SFID_EUNSUPPORTED,
                              "an option is set that this version (" SFID_VERSION_STRING
                              ") does not know");
    memcpy(opt, given, SFID__MIN(given->size, sizeof *opt));
    opt->size = sizeof *opt;
    return 0;
}

/* ---- the whole ----------------------------------------------------------- */

static int read_all(const sfid_options *given, struct sfid__settings *out,
                    struct sfid__error *err) {
    sfid_options *o = &out->opt;
    if (sfid__options_copy(given, o, err) < 0)
        return err->code;
    if (o->wide && read_wide(out, err) < 0)
        return err->code;
    const sfid_layout *l = sfid__layout_or_default(o->layout);
    if (o->wide == NULL && sfid_layout_check(l) < 0)
        return bad(err, "the layout is invalid; make it with SFID_LAYOUT or sfid_layout_parse");
    out->plan.engine = *l;
    o->layout = l = &out->plan.engine;
    out->fingerprint = out->of_pages = sfid__layout_fingerprint(l);
    if (o->app && check_app(out, err) < 0)
        return err->code;
    if (check_pid(o, l, err) < 0 || choose_store(out, err) < 0 || choose_range(out, err) < 0 ||
        check_policy(o, l, err) < 0 || check_lease(o, err) < 0 || finish_store(out, err) < 0 ||
        check_dir("run_dir", o->run_dir, err) < 0 || check_dir("state_dir", o->state_dir, err) < 0)
        return err->code;
    return 0;
}

int sfid__options_read(const sfid_options *given, struct sfid__settings *out,
                       struct sfid__error *err) {
    *out = (struct sfid__settings){.store = NULL};
    if (read_all(given, out, err) == 0)
        return err->code = 0;
    sfid__options_end(out);
    return err->code;
}

void sfid__options_keep(struct sfid__settings *s) {
    struct sfid__error ignored;
    s->run_dir = sfid__dir_name_run(s->opt.run_dir, &ignored);
    s->state_dir = sfid__dir_name_state(s->opt.state_dir, &ignored);
    if (s->run_dir == NULL || s->state_dir == NULL)
        return;
    s->opt.run_dir = s->run_dir;
    s->opt.state_dir = s->state_dir;
    s->opt.store = NULL;
    s->kept = true;
}

void sfid__options_end(struct sfid__settings *s) {
    for (unsigned i = 0; i < s->count; i++)
        sfid__options_end(&s->servers[i]);
    free(s->servers);
    sfid__uri_drop(s->uri);
    free(s->shown);
    free(s->run_dir);
    free(s->state_dir);
    *s = (struct sfid__settings){.store = NULL};
}
