/* SPDX-License-Identifier: MIT */
/*
 * sfid.c - a loadable extension of SQLite: IDs made and read in SQL.
 *
 * Each connection has a generator, or none until sfid_open(). Functions that are
 * given a layout are deterministic, so indexes and generated columns may use
 * them. Those without go by the layout that the connection opened, and are not.
 */
#include <sfid.h>
#include <sqlite3ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

SQLITE_EXTENSION_INIT1

#ifdef _WIN32
#error "libsfid is for Linux"
#endif

/* What a connection has. */
struct own {
    sfid *generator;
    sfid_layout layout;
};

static void end(void *own) {
    struct own *o = own;
    sfid_close(o->generator);
    free(o);
}

/* ---- errors and arguments ------------------------------------------------------ */

static void fail(sqlite3_context *ctx, char *text) {
    if (text)
        sqlite3_result_error(ctx, text, -1);
    else
        sqlite3_result_error_nomem(ctx);
    sqlite3_free(text);
}

/* True if an argument is NULL: then so is the result. */
static int any_null(int n, sqlite3_value **arg) {
    for (int i = 0; i < n; i++)
        if (sqlite3_value_type(arg[i]) == SQLITE_NULL)
            return 1;
    return 0;
}

static const char *text_of(sqlite3_value *value) {
    const char *text = (const char *)sqlite3_value_text(value);
    return text ? text : "";
}

static int read_layout(sqlite3_context *ctx, sqlite3_value *value, sfid_layout *out) {
    if (sfid_layout_parse(text_of(value), out) == 0)
        return 1;
    fail(
        ctx,
        sqlite3_mprintf(
            "%Q is not a layout; give a preset, such as 'sfid' or 'twitter', or TIME:PID:SEQ[/UNIT][@EPOCH_MS]",
            text_of(value)));
    return 0;
}

/* The second argument, read once if it is constant, or the connection's layout. NULL: it is no
 * layout, as the result says. */
static const sfid_layout *layout_of(sqlite3_context *ctx, int n, sqlite3_value **arg,
                                    sfid_layout *room) {
    const sfid_layout *known =
        n > 1 ? sqlite3_get_auxdata(ctx, 1) : &((struct own *)sqlite3_user_data(ctx))->layout;
    if (known)
        return known;
    if (!read_layout(ctx, arg[1], room))
        return NULL;
    sfid_layout *kept = sqlite3_malloc(sizeof *kept);
    if (kept)
        sqlite3_set_auxdata(ctx, 1, memcpy(kept, room, sizeof *kept), sqlite3_free);
    return room;
}

static int read_parts(sqlite3_context *ctx, int n, sqlite3_value **arg, sfid_parts *out) {
    sfid_layout room;
    if (any_null(n, arg))
        return 0;
    if (sqlite3_value_numeric_type(arg[0]) != SQLITE_INTEGER) {
        fail(ctx, sqlite3_mprintf("%Q is not an ID: it is not an integer", text_of(arg[0])));
        return 0;
    }
    const sfid_layout *l = layout_of(ctx, n, arg, &room);
    if (l == NULL)
        return 0;
    if (sfid_parse(l, sqlite3_value_int64(arg[0]), out) == 0)
        return 1;
    char name[SFID_LAYOUT_STR_LEN] = "";
    if (sfid_layout_format(l, name, sizeof name) < 0)
        name[0] = '\0';
    fail(ctx,
         sqlite3_mprintf("%lld is not an ID of layout '%s'", sqlite3_value_int64(arg[0]), name));
    return 0;
}

/* ---- times ------------------------------------------------------------------------ */

/* SQLite's own reader of times. 'now' is refused: the result would not be deterministic. */
static int read_text_time(sqlite3 *db, const char *text, sqlite3_int64 *ms) {
    sqlite3_stmt *ask = NULL;
    int good = 0;
    if (*text < '0' || *text > '9' ||
        sqlite3_prepare_v2(
            db, "SELECT CAST(round((julianday(?1) - 2440587.5) * 86400000.0) AS INTEGER)", -1, &ask,
            NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(ask, 1, text, -1, SQLITE_TRANSIENT);
    if (sqlite3_step(ask) == SQLITE_ROW && sqlite3_column_type(ask, 0) == SQLITE_INTEGER) {
        *ms = sqlite3_column_int64(ask, 0);
        good = 1;
    }
    sqlite3_finalize(ask);
    return good;
}

static int read_time(sqlite3_context *ctx, sqlite3_value *value, sqlite3_int64 *ms) {
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        *ms = sqlite3_value_int64(value);
        return 1;
    }
    if (sqlite3_value_type(value) == SQLITE_TEXT &&
        read_text_time(sqlite3_context_db_handle(ctx), text_of(value), ms))
        return 1;
    fail(
        ctx,
        sqlite3_mprintf(
            "%Q is not a time; give one like '2026-01-31 23:59:59.999', in UTC, or Unix milliseconds",
            text_of(value)));
    return 0;
}

static void write_time(sqlite3_context *ctx, sqlite3_int64 unix_ms) {
    const sqlite3_int64 ms = (unix_ms % 1000 + 1000) % 1000;
    const time_t seconds = (time_t)((unix_ms - ms) / 1000);
    struct tm tm;
    char day[32], text[64];
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year < -1900 || tm.tm_year > 8099 ||
        strftime(day, sizeof day, "%m-%dT%H:%M:%S", &tm) == 0) {
        fail(ctx, sqlite3_mprintf("the time of the ID, %lld ms, is not within the years 0 to 9999",
                                  unix_ms));
        return;
    }
    snprintf(text, sizeof text, "%04d-%s.%03dZ", tm.tm_year + 1900, day, (int)ms);
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* ---- IDs made ------------------------------------------------------------------------ */

/* sfid_open(app, store [, layout]): the connection generates from now on. Returns the process
 * ID. */
static void sql_open(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    struct own *o = sqlite3_user_data(ctx);
    sfid_options opt = SFID_OPTIONS_INIT;
    sfid_layout layout = SFID_LAYOUT_DEFAULT;
    sfid *g = NULL;
    if (any_null(n, arg)) {
        fail(
            ctx,
            sqlite3_mprintf(
                "an argument is NULL; give an app, a store and, if it is another than 'sfid', a layout"));
        return;
    }
    if (n > 2 && !read_layout(ctx, arg[2], &layout))
        return;
    opt.app = text_of(arg[0]);
    opt.store = text_of(arg[1]);
    opt.layout = &layout;
    if (opt.max_wait_ms < layout.unit_ms)
        opt.max_wait_ms = layout.unit_ms;
    const int rc = sfid_open(&g, &opt);
    if (rc < 0) {
        fail(ctx, sqlite3_mprintf("%s", g ? sfid_last_error(g) : sfid_strerror(rc)));
        sfid_close(g);
        return;
    }
    sfid_close(o->generator);
    o->generator = g;
    o->layout = layout;
    sqlite3_result_int64(ctx, sfid_pid(g));
}

static void sql_next(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    const struct own *o = sqlite3_user_data(ctx);
    (void)n, (void)arg;
    if (o->generator == NULL) {
        fail(ctx,
             sqlite3_mprintf(
                 "this connection has no generator; call sfid_open('APP', 'local?share=1') first"));
        return;
    }
    const int64_t id = sfid_next(o->generator);
    if (id < 0)
        fail(ctx, sqlite3_mprintf("no ID: %s", sfid_last_error(o->generator)));
    else
        sqlite3_result_int64(ctx, id);
}

/* ---- IDs read -------------------------------------------------------------------------- */

static void sql_time(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    sfid_parts parts;
    if (read_parts(ctx, n, arg, &parts))
        write_time(ctx, parts.unix_ms);
}

static void sql_unix_ms(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    sfid_parts parts;
    if (read_parts(ctx, n, arg, &parts))
        sqlite3_result_int64(ctx, parts.unix_ms);
}

static void sql_pid(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    sfid_parts parts;
    if (read_parts(ctx, n, arg, &parts))
        sqlite3_result_int64(ctx, (sqlite3_int64)parts.pid);
}

static void sql_seq(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    sfid_parts parts;
    if (read_parts(ctx, n, arg, &parts))
        sqlite3_result_int64(ctx, (sqlite3_int64)parts.seq);
}

static void bound(sqlite3_context *ctx, int n, sqlite3_value **arg,
                  int64_t (*bound_at)(const sfid_layout *, int64_t)) {
    sfid_layout room;
    sqlite3_int64 ms;
    const sfid_layout *l;
    if (!any_null(n, arg) && read_time(ctx, arg[0], &ms) &&
        (l = layout_of(ctx, n, arg, &room)) != NULL)
        sqlite3_result_int64(ctx, bound_at(l, ms));
}

static void sql_min(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    bound(ctx, n, arg, sfid_min_at);
}

static void sql_max(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    bound(ctx, n, arg, sfid_max_at);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void to_text(sqlite3_context *ctx, sqlite3_value *id, sfid_form form) {
    char buf[SFID_TEXT_LEN];
    if (sqlite3_value_type(id) == SQLITE_NULL)
        return;
    if (sqlite3_value_numeric_type(id) != SQLITE_INTEGER ||
        sfid_to_text(form, sqlite3_value_int64(id), buf, sizeof buf) < 0)
        fail(ctx, sqlite3_mprintf("%Q is not an ID: it is not an integer from 0", text_of(id)));
    else
        sqlite3_result_text(ctx, buf, -1, SQLITE_TRANSIENT);
}

static void from_text(sqlite3_context *ctx, sqlite3_value *value, sfid_form form) {
    int64_t id;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return;
    const char *text = text_of(value);
    if (sfid_from_text(form, text, (size_t)sqlite3_value_bytes(value), &id) < 0)
        fail(ctx, sqlite3_mprintf("%Q is not an ID in %s", text, sfid_form_name(form)));
    else
        sqlite3_result_int64(ctx, id);
}

#define FORM(name, form) \
    static void sql_to_##name(sqlite3_context *ctx, int n, sqlite3_value **arg) { \
        (void)n, to_text(ctx, arg[0], form); \
    } \
    static void sql_from_##name(sqlite3_context *ctx, int n, sqlite3_value **arg) { \
        (void)n, from_text(ctx, arg[0], form); \
    }

FORM(hex, SFID_HEX)
FORM(base32, SFID_BASE32)
FORM(base62, SFID_BASE62)

/* ---- UUIDs of version 7
 * ------------------------------------------------------------------------ */

#define UUID7_LAST_MS ((INT64_C(1) << 48) - 1)

/* All bits beside time, version and variant are as in `fill`. A moment outside the range counts as
 * its nearer end. */
static void uuid7_at(sqlite3_context *ctx, sqlite3_value *moment, uint64_t fill) {
    char buf[SFID_WIDE_TEXT_LEN];
    sqlite3_int64 ms;
    if (sqlite3_value_type(moment) == SQLITE_NULL || !read_time(ctx, moment, &ms))
        return;
    ms = ms < 0 ? 0 : ms > UUID7_LAST_MS ? UUID7_LAST_MS : ms;
    const sfid_wide id = {(uint64_t)ms << 16 | 0x7000 | (fill & 0xfff),
                          UINT64_C(1) << 63 | fill >> 2};
    if (sfid_wide_to_text(SFID_UUID, id, 0, buf, sizeof buf) < 0)
        fail(ctx, sqlite3_mprintf("the UUID cannot be written"));
    else
        sqlite3_result_text(ctx, buf, -1, SQLITE_TRANSIENT);
}

static void sql_uuid7_min(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    (void)n, uuid7_at(ctx, arg[0], 0);
}

static void sql_uuid7_max(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    (void)n, uuid7_at(ctx, arg[0], UINT64_MAX);
}

static void sql_uuid7_time(sqlite3_context *ctx, int n, sqlite3_value **arg) {
    static const sfid_wide_layout uuid7 = {SFID_UUID7, 0, 0};
    sfid_wide_parts parts;
    sfid_wide id;
    (void)n;
    if (sqlite3_value_type(arg[0]) == SQLITE_NULL)
        return;
    const char *text = text_of(arg[0]);
    if (sfid_wide_from_text(SFID_UUID, text, (size_t)sqlite3_value_bytes(arg[0]), &id, NULL) < 0 ||
        sfid_wide_parse(&uuid7, id, &parts) < 0)
        fail(ctx, sqlite3_mprintf("%Q is not a UUID of version 7", text));
    else
        write_time(ctx, parts.unix_ms);
}

/* ---- the list
 * --------------------------------------------------------------------------------------- */

#define READS (SQLITE_UTF8 | SQLITE_INNOCUOUS)
#define PURE (READS | SQLITE_DETERMINISTIC)

static const struct {
    const char *name;
    int args, flags;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
    {"sfid_open", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, sql_open},
    {"sfid_open", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, sql_open},
    {"sfid_next", 0, SQLITE_UTF8, sql_next},
    {"sfid_time", 1, READS, sql_time},
    {"sfid_time", 2, PURE, sql_time},
    {"sfid_unix_ms", 1, READS, sql_unix_ms},
    {"sfid_unix_ms", 2, PURE, sql_unix_ms},
    {"sfid_pid", 1, READS, sql_pid},
    {"sfid_pid", 2, PURE, sql_pid},
    {"sfid_seq", 1, READS, sql_seq},
    {"sfid_seq", 2, PURE, sql_seq},
    {"sfid_min", 1, READS, sql_min},
    {"sfid_min", 2, PURE, sql_min},
    {"sfid_max", 1, READS, sql_max},
    {"sfid_max", 2, PURE, sql_max},
    {"sfid_to_hex", 1, PURE, sql_to_hex},
    {"sfid_to_base32", 1, PURE, sql_to_base32},
    {"sfid_to_base62", 1, PURE, sql_to_base62},
    {"sfid_from_hex", 1, PURE, sql_from_hex},
    {"sfid_from_base32", 1, PURE, sql_from_base32},
    {"sfid_from_base62", 1, PURE, sql_from_base62},
    {"sfid_uuid7_min", 1, PURE, sql_uuid7_min},
    {"sfid_uuid7_max", 1, PURE, sql_uuid7_max},
    {"sfid_uuid7_time", 1, PURE, sql_uuid7_time},
};

__attribute__((visibility("default"))) int sqlite3_sfid_init(sqlite3 *db, char **error,
                                                             const sqlite3_api_routines *api);

int sqlite3_sfid_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
    struct own *o = calloc(1, sizeof *o);
    int rc = o ? SQLITE_OK : SQLITE_NOMEM;
    (void)error;
    SQLITE_EXTENSION_INIT2(api)
    if (rc == SQLITE_OK)
        o->layout = SFID_LAYOUT_DEFAULT;
    /* The first one has what the connection owns, and ends it, also if this call fails. */
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof functions[0]; i++)
        rc =
            sqlite3_create_function_v2(db, functions[i].name, functions[i].args, functions[i].flags,
                                       o, functions[i].call, NULL, NULL, i == 0 ? end : NULL);
    return rc;
}
