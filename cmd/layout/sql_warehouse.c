/* SPDX-License-Identifier: MIT */
/*
 * sql_warehouse.c - writes the parts of an ID as SQL of BigQuery, Snowflake, Redshift and SQL
 * Server.
 *
 * These follow the documents of their makers; no test runs them. Each is a list
 * of forms. SQL Server shifts only since 2022, so there it divides; a literal
 * above 2^31 is no integer there unless it is cast; and an index on a computed
 * column needs a style with each time that is read from text.
 *
 * Sources: cloud.google.com/bigquery/docs/reference/standard-sql;
 * docs.snowflake.com/en/sql-reference; docs.aws.amazon.com/redshift/latest/dg;
 * learn.microsoft.com/en-us/sql/t-sql.
 */
#include "layout/sql_warehouse.h"

#include "io/json.h"
#include "layout/sql.h"
#include "layout/sql_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION SQL_EXPRESSION
#define YEAR_1_US INT64_C(62135596800000000) /* before 1970 */

/* In each form, $a is an expression, $n and $m are numbers. */
static const struct warehouse {
    const char *label;
    const char *number;     /* a literal */
    const char *shift;      /* $a over $n, which is 2^$b */
    const char *mask;       /* $a modulo $n, a power of 2; $m is $n - 1 */
    const char *time, *day; /* of milliseconds */
    const char *us;         /* microseconds since 1970 of a time */
    const char *quotient;   /* $a over $n, rounded down; neither is negative */
    const char *within;     /* $a, not below $n nor above $m */
} warehouses[] = {
    {"BigQuery", "$n", "($a >> $b)", "($a & $m)", "TIMESTAMP_MILLIS($a)",
     "DATE(TIMESTAMP_MILLIS($a))", "UNIX_MICROS($a)", "DIV($a, $n)", "LEAST(GREATEST($a, $n), $m)"},
    {"Snowflake", "$n", "BITSHIFTRIGHT($a, $b)", "BITAND($a, $m)", "TO_TIMESTAMP_NTZ($a, 3)",
     "TO_DATE(TO_TIMESTAMP_NTZ($a, 3))", "DATE_PART(EPOCH_MICROSECOND, $a)",
     "(($a - MOD($a, $n)) / $n)", "LEAST(GREATEST($a, $n), $m)"},
    {"Redshift", "$n", "($a >> $b)", "($a & $m)",
     "DATEADD(ms, CAST($a % 86400000 AS int), DATEADD(day, CAST($a / 86400000 AS int), TIMESTAMP '1970-01-01 00:00:00'))",
     "CAST(DATEADD(ms, CAST($a % 86400000 AS int), DATEADD(day, CAST($a / 86400000 AS int), TIMESTAMP '1970-01-01 00:00:00')) AS "
     "date)",
     "DATEDIFF(microsecond, TIMESTAMP '1970-01-01 00:00:00', $a)", "($a / $n)",
     "LEAST(GREATEST($a, $n), $m)"},
    {"SQL Server", "CAST($n AS bigint)", "($a / $n)", "($a % $n)",
     "DATEADD(MILLISECOND, CAST($a % 86400000 AS int), DATEADD(DAY, CAST($a / 86400000 AS int), CONVERT("
     "datetime2(3), '1970-01-01T00:00:00', 126)))",
     "CAST(DATEADD(MILLISECOND, CAST($a % 86400000 AS int), DATEADD(DAY, CAST($a / 86400000 AS int), CONVERT("
     "datetime2(3), '1970-01-01T00:00:00', 126))) AS date)",
     "DATEDIFF_BIG(MICROSECOND, CONVERT(datetime2(6), '1970-01-01T00:00:00', 126), $a)",
     "($a / $n)", "CASE WHEN $a < $n THEN $n WHEN $a > $m THEN $m ELSE $a END"},
};

/* What $a, $b, $n and $m stand for. */
struct meant {
    const char *a;
    unsigned b;
    int64_t n, m;
};

static void literal(const struct warehouse *w, char text[48], int64_t value) {
    const char *at = strstr(w->number, "$n");
    snprintf(text, 48, "%.*s%" PRId64 "%s", (int)(at - w->number), w->number, value, at + 2);
}

static void write_form(const struct warehouse *w, char text[EXPRESSION], const char *form,
                       struct meant meant) {
    char n[48], m[48], b[12];
    size_t len = 0;
    literal(w, n, meant.n);
    literal(w, m, meant.m);
    snprintf(b, sizeof b, "%u", meant.b);
    for (const char *p = form; *p && len + 1 < EXPRESSION; p++) {
        const bool named = p[0] == '$' && p[1];
        const char c[2] = {*p, '\0'};
        const char *what = !named        ? c
                           : p[1] == 'a' ? meant.a
                           : p[1] == 'b' ? b
                           : p[1] == 'n' ? n
                                         : m;
        const int written = snprintf(text + len, EXPRESSION - len, "%s", what);
        len += (size_t)written;
        p += named;
    }
}

/* ---- from an ID --------------------------------------------------------------- */

static void field(const struct warehouse *w, char text[EXPRESSION], const char *id, unsigned shift,
                  unsigned bits) {
    char shifted[EXPRESSION];
    if (bits == 0) {
        snprintf(text, EXPRESSION, "0");
        return;
    }
    snprintf(shifted, sizeof shifted, "%s", id);
    if (shift > 0)
        write_form(w, shifted, w->shift, (struct meant){id, shift, INT64_C(1) << shift, 0});
    write_form(w, text, w->mask,
               (struct meant){shifted, bits, INT64_C(1) << bits, (INT64_C(1) << bits) - 1});
}

/* Unix milliseconds. The time is the top field, so it needs no mask. */
static void milliseconds(const struct warehouse *w, char text[EXPRESSION], const sfid_layout *l,
                         const char *id) {
    char tick[EXPRESSION], unit[48], epoch[48];
    snprintf(tick, sizeof tick, "%s", id);
    if (l->time_shift > 0)
        write_form(w, tick, w->shift,
                   (struct meant){id, l->time_shift, INT64_C(1) << l->time_shift, 0});
    literal(w, unit, l->unit_ms);
    literal(w, epoch, l->epoch_ms);
    snprintf(text, EXPRESSION, "(%.900s * %s + %s)", tick, unit, epoch);
}

/* ---- from a time --------------------------------------------------------------- */

/*
 * The lowest ID whose tick does not begin before a time, as sql_bound(): microseconds rounded up to
 * milliseconds, and these up to a tick. Quotients are of numbers that are not negative, so a layout
 * from before 1970 counts from the year 1.
 */
static void bound(const struct warehouse *w, char text[EXPRESSION], const struct shown *shown,
                  const char *moment) {
    const sfid_layout *l = &shown->layout;
    const int64_t from_us = l->epoch_ms < 0 ? YEAR_1_US : 0;
    char us[EXPRESSION], ms[EXPRESSION], within[EXPRESSION], since[EXPRESSION], tick[EXPRESSION],
        place[48], up[48], first[48];
    write_form(w, us, w->us, (struct meant){moment, 0, 0, 0});
    literal(w, up, from_us + 999);
    literal(w, first, from_us / 1000);
    snprintf(since, sizeof since, "(%.600s + %s)", us, up);
    write_form(w, ms, w->quotient, (struct meant){since, 0, 1000, 0});
    if (from_us > 0) {
        snprintf(since, sizeof since, "(%.900s - %s)", ms, first);
        snprintf(ms, sizeof ms, "%.1000s", since);
    }
    write_form(w, within, w->within,
               (struct meant){ms, 0, l->epoch_ms, shown->facts.last_ms - l->unit_ms});
    literal(w, first, l->epoch_ms - (l->unit_ms - 1));
    snprintf(since, sizeof since, "(%.2000s - %s)", within, first);
    if (l->unit_ms == 1)
        snprintf(tick, sizeof tick, "%.2100s", since);
    else
        write_form(w, tick, w->quotient, (struct meant){since, 0, l->unit_ms, 0});
    literal(w, place, INT64_C(1) << l->time_shift);
    snprintf(text, EXPRESSION, "(%.2300s * %s)", tick, place);
}

/* ---- output --------------------------------------------------------------------- */

static void put_parts(const struct warehouse *w, const struct shown *shown, const char *id,
                      bool json, sfid_field_kind kind) {
    const sfid_layout *l = &shown->layout;
    const bool pid = kind == SFID_FIELD_PID;
    char text[EXPRESSION];
    field(w, text, id, pid ? l->pid_shift : l->seq_shift, pid ? l->pid_bits : l->seq_bits);
    sql_put(json, pid ? "pid" : "seq", text);
    for (int i = 0; i < shown->count; i++) {
        const sfid_field *f = &shown->fields[i];
        if (f->kind != kind || strcmp(f->name, pid ? "pid" : "seq") == 0 ||
            !(pid || f->bits == l->seq_bits))
            continue;
        field(w, text, id, f->shift, f->bits);
        sql_put(json, f->name, text);
    }
}

void sql_warehouse(const struct shown *shown, unsigned which, const char *id, bool json) {
    const struct warehouse *w = &warehouses[which];
    char note[128], ms[EXPRESSION], text[EXPRESSION], since[EXPRESSION], range[SQL_RANGE];
    snprintf(note, sizeof note, "/* from the documents of %s; not tested on a server */", w->label);
    if (json)
        json_open(NULL, '{');
    sql_put(json, "note", note);
    milliseconds(w, ms, &shown->layout, id);
    write_form(w, text, w->time, (struct meant){ms, 0, 0, 0});
    sql_put(json, "time", text);
    sql_put(json, "unix_ms", ms);
    put_parts(w, shown, id, json, SFID_FIELD_PID);
    put_parts(w, shown, id, json, SFID_FIELD_SEQ);
    write_form(w, text, w->day, (struct meant){ms, 0, 0, 0});
    sql_put(json, "day", text);
    bound(w, text, shown, "moment");
    sql_put(json, "bound", text);
    bound(w, since, shown, "since");
    bound(w, text, shown, "until");
    snprintf(range, sizeof range, "%s >= %s AND %s < %s", id, since, id, text);
    sql_put(json, "range", range);
    if (json)
        json_end();
}
