/* SPDX-License-Identifier: MIT */
/*
 * sql.c - writes the parts of an ID as SQL expressions, and sql_bound.c the way back.
 *
 * An index, a generated column or a partition may use any of them: none depends
 * on the session's time zone. Shifts and masks always have brackets, since
 * databases disagree about their precedence.
 *
 * ClickHouse has functions in place of most operators. Its expressions follow
 * its documents; no test runs them.
 */
#include "layout/sql.h"

#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION SQL_EXPRESSION

const char *const sql_dialects[] = {[SQL_POSTGRES] = "postgres",
                                    [SQL_MYSQL] = "mysql",
                                    [SQL_SQLITE] = "sqlite",
                                    [SQL_DUCKDB] = "duckdb",
                                    [SQL_CLICKHOUSE] = "clickhouse",
                                    [SQL_WAREHOUSES] = "bigquery",
                                    "snowflake",
                                    "redshift",
                                    "sqlserver",
                                    NULL};

/* ---- fields ---------------------------------------------------------------- */

/* MySQL's shifts are unsigned, and a negative result is then an error. */
static void shifted(char text[EXPRESSION], enum sql_dialect dialect, const char *id,
                    unsigned shift) {
    if (dialect == SQL_MYSQL)
        snprintf(text, EXPRESSION, "CAST(%s >> %u AS SIGNED)", id, shift);
    else if (dialect == SQL_CLICKHOUSE)
        snprintf(text, EXPRESSION, "toInt64(bitShiftRight(%s, %u))", id, shift);
    else
        snprintf(text, EXPRESSION, "(%s >> %u)", id, shift);
}

static void masked(char text[EXPRESSION], enum sql_dialect dialect, const char *id, unsigned shift,
                   unsigned bits) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    if (bits == 0)
        snprintf(text, EXPRESSION, "0");
    else if (dialect == SQL_CLICKHOUSE && shift == 0)
        snprintf(text, EXPRESSION, "bitAnd(%s, %" PRIu64 ")", id, mask);
    else if (dialect == SQL_CLICKHOUSE)
        snprintf(text, EXPRESSION, "bitAnd(bitShiftRight(%s, %u), %" PRIu64 ")", id, shift, mask);
    else if (shift == 0)
        snprintf(text, EXPRESSION, "(%s & %" PRIu64 ")", id, mask);
    else
        snprintf(text, EXPRESSION, "((%s >> %u) & %" PRIu64 ")", id, shift, mask);
}

/* Unix milliseconds. The time is the top field, so it needs no mask. */
static void milliseconds(char text[EXPRESSION], enum sql_dialect dialect, const sfid_layout *l,
                         const char *id) {
    char tick[EXPRESSION], unit[24] = "", epoch[32] = "";
    shifted(tick, dialect, id, l->time_shift);
    if (l->unit_ms != 1)
        snprintf(unit, sizeof unit, " * %" PRIu32, l->unit_ms);
    if (l->epoch_ms != 0)
        snprintf(epoch, sizeof epoch, " %c %" PRId64, l->epoch_ms < 0 ? '-' : '+',
                 l->epoch_ms < 0 ? -l->epoch_ms : l->epoch_ms);
    snprintf(text, EXPRESSION, "(%.180s%s%s)", tick, unit, epoch);
}

/* ---- fields of 128 bits, from hex digits ------------------------------------- */

/*
 * IDs of flake, flake-go and UUIDs are stored as text, or can be cast to it. Their fields
 * are whole hex digits, except for two bits of a sequence. SQLite cannot read
 * hex, nor can DuckDB, so digits are added up there.
 */
static const char *digits_of(const struct shown *shown, enum sql_dialect dialect, const char *id,
                             char text[EXPRESSION]) {
    const bool uuid = shown->kind == SFID_UUID7;
    if (uuid && dialect == SQL_POSTGRES)
        snprintf(text, EXPRESSION, "replace(%s::text, '-', '')", id);
    else if (uuid && dialect == SQL_MYSQL)
        snprintf(text, EXPRESSION, "REPLACE(%s, '-', '')", id);
    else if (uuid && dialect == SQL_CLICKHOUSE)
        snprintf(text, EXPRESSION, "replaceAll(toString(%s), '-', '')", id);
    else if (uuid && dialect == SQL_DUCKDB)
        snprintf(text, EXPRESSION, "CAST(%s AS VARCHAR)", id);
    else
        snprintf(text, EXPRESSION, "%s", id);
    return text;
}

/* For SQLite and DuckDB: shifts each digit to its place, and skips hyphens. */
static void added_up(char text[EXPRESSION], bool uuid, const char *id, unsigned first,
                     unsigned count) {
    size_t len = (size_t)snprintf(text, EXPRESSION, "(");
    for (unsigned i = 0; i < count; i++) {
        const unsigned digit = first + i, place = uuid ? digit + (digit > 8) + (digit > 12) +
                                                             (digit > 16) + (digit > 20)
                                                       : digit;
        len +=
            (size_t)snprintf(text + len, EXPRESSION - len,
                             "%s((instr('0123456789abcdef', lower(substr(%s, %u, 1))) - 1) << %u)",
                             i > 0 ? " + " : "", id, place, 4 * (count - 1 - i));
    }
    snprintf(text + len, EXPRESSION - len, ")");
}

static void hex_field(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
                      const char *id, const sfid_field *field) {
    char digits[EXPRESSION], number[EXPRESSION];
    const unsigned from = field->shift / 4 * 4, to = (field->shift + field->bits + 3u) / 4 * 4;
    const unsigned count = (to - from) / 4, first = (128 - to) / 4 + 1;
    digits_of(shown, dialect, id, digits);
    if (dialect == SQL_POSTGRES)
        snprintf(number, sizeof number, "('x' || substr(%.200s, %u, %u))::bit(%u)::bigint", digits,
                 first, count, count * 4);
    else if (dialect == SQL_MYSQL)
        snprintf(number, sizeof number, "CAST(CONV(SUBSTR(%.200s, %u, %u), 16, 10) AS SIGNED)",
                 digits, first, count);
    else if (dialect == SQL_CLICKHOUSE)
        snprintf(
            number, sizeof number,
            "toInt64(reinterpretAsUInt64(reverse(unhex(leftPad(substring(%.200s, %u, %u), 16, '0')))))",
            digits, first, count);
    else
        added_up(number, shown->kind == SFID_UUID7, digits, first, count);
    if (to - from == field->bits)
        snprintf(text, EXPRESSION, "%s", number);
    else
        snprintf(text, EXPRESSION,
                 dialect == SQL_CLICKHOUSE ? "bitAnd(%.2500s, %u)" : "(%.2500s & %u)", number,
                 (1u << field->bits) - 1);
}

/* Joins all fields of a kind into one number. */
static void hex_fields(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
                       const char *id, sfid_field_kind kind) {
    char one[EXPRESSION], all[EXPRESSION] = "";
    for (int i = 0; i < shown->count; i++) {
        if (shown->fields[i].kind != kind)
            continue;
        hex_field(one, shown, dialect, id, &shown->fields[i]);
        if (all[0] == '\0')
            snprintf(text, EXPRESSION, "%s", one);
        else
            snprintf(text, EXPRESSION,
                     dialect == SQL_CLICKHOUSE ? "bitOr(bitShiftLeft(%.1200s, %u), %.1200s)"
                                               : "((%.1200s << %u) | %.1200s)",
                     all, shown->fields[i].bits, one);
        memcpy(all, text, EXPRESSION);
    }
}

/* ---- times ------------------------------------------------------------------ */

struct times {
    char ms[EXPRESSION], time[EXPRESSION * 6], day[EXPRESSION * 7];
};

/* PostgreSQL multiplies intervals as doubles: milliseconds would be exact only until 4253. */
static void postgres(struct times *t) {
    char local[EXPRESSION * 3];
    snprintf(
        local, sizeof local,
        "(timestamp 'epoch' + %s / 1000 * interval '1 second' + %s %% 1000 * interval '1 millisecond')",
        t->ms, t->ms);
    snprintf(t->time, sizeof t->time, "%s AT TIME ZONE 'UTC'", local);
    snprintf(t->day, sizeof t->day, "%s::date", local);
}

static void mysql(struct times *t) {
    snprintf(t->time, sizeof t->time,
             "TIMESTAMPADD(MICROSECOND, %s * 1000, TIMESTAMP '1970-01-01 00:00:00')", t->ms);
    snprintf(t->day, sizeof t->day, "DATE(%s)", t->time);
}

/* SQLite's division rounds towards 0, which is wrong before 1970. */
static void sqlite(struct times *t, bool before_1970) {
    char rest[EXPRESSION + 64], second[EXPRESSION * 3];
    snprintf(rest, sizeof rest, before_1970 ? "((%s %% 1000 + 1000) %% 1000)" : "%s %% 1000",
             t->ms);
    if (before_1970)
        snprintf(second, sizeof second, "(%s - %s) / 1000", t->ms, rest);
    else
        snprintf(second, sizeof second, "%s / 1000", t->ms);
    snprintf(t->time, sizeof t->time,
             "strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %s, 'unixepoch') || printf('.%%03dZ', %s)",
             second, rest);
    snprintf(t->day, sizeof t->day, "date(%s, 'unixepoch')", second);
}

/* Times without a zone, in UTC. */
static void duckdb(struct times *t) {
    snprintf(t->time, sizeof t->time, "make_timestamp(%s * 1000)", t->ms);
    snprintf(t->day, sizeof t->day, "CAST(%s AS DATE)", t->time);
}

static void clickhouse(struct times *t) {
    snprintf(t->time, sizeof t->time, "fromUnixTimestamp64Milli(%s, 'UTC')", t->ms);
    snprintf(t->day, sizeof t->day, "toDate32(%s)", t->time);
}

static void find_times(struct times *t, const struct shown *shown, enum sql_dialect dialect,
                       const char *id) {
    if (shown->wide)
        /* since 1970 for all but awsflake */
        hex_fields(t->ms, shown, dialect, id, SFID_FIELD_TIME);
    else
        milliseconds(t->ms, dialect, &shown->layout, id);
    switch (dialect) {
    case SQL_POSTGRES:
        postgres(t);
        break;
    case SQL_MYSQL:
        mysql(t);
        break;
    case SQL_SQLITE:
        sqlite(t, !shown->wide && shown->layout.epoch_ms < 0);
        break;
    case SQL_DUCKDB:
        duckdb(t);
        break;
    case SQL_CLICKHOUSE:
        clickhouse(t);
        break;
    }
}

/* ---- output ------------------------------------------------------------------ */

void sql_put(bool json, const char *name, const char *expression) {
    if (json) {
        json_text(name, expression);
        return;
    }
    out_print("%s\t", name);
    out_bytes(expression, strlen(expression));
    out_bytes("\n", 1);
}

static void put_field(const struct shown *shown, enum sql_dialect dialect, const char *id,
                      bool json, const sfid_field *field) {
    char text[EXPRESSION];
    if (shown->wide)
        hex_field(text, shown, dialect, id, field);
    else
        masked(text, dialect, id, field->shift, field->bits);
    sql_put(json, field->name, text);
}

/* A field as a whole under its general name, then its parts, or the whole, under the names of the
 * layout's makers. */
static void put_fields(const struct shown *shown, enum sql_dialect dialect, const char *id,
                       bool json, sfid_field_kind kind) {
    const sfid_layout *l = &shown->layout;
    const bool pid = kind == SFID_FIELD_PID;
    char whole[EXPRESSION];
    if (shown->wide)
        hex_fields(whole, shown, dialect, id, kind);
    else
        masked(whole, dialect, id, pid ? l->pid_shift : l->seq_shift,
               pid ? l->pid_bits : l->seq_bits);
    sql_put(json, pid ? "pid" : "seq", whole);
    for (int i = 0; i < shown->count; i++) {
        const sfid_field *field = &shown->fields[i];
        const bool named = field->kind == kind && strcmp(field->name, pid ? "pid" : "seq") != 0;
        /* a part of a sequence has no name of its own */
        if (named && (pid || field->bits == l->seq_bits))
            put_field(shown, dialect, id, json, field);
    }
}

static void put_bounds(const struct shown *shown, enum sql_dialect dialect, const char *id,
                       bool json) {
    static char bound[SQL_EXPRESSION], range[SQL_RANGE];
    sql_bound(bound, shown, dialect, "moment");
    sql_range(range, shown, dialect, id);
    sql_put(json, "bound", bound);
    sql_put(json, "range", range);
}

static void put_import(const struct shown *shown, enum sql_dialect dialect, bool json) {
    static char text[SQL_EXPRESSION];
    sql_tick(text, shown, dialect);
    sql_put(json, "tick", text);
    sql_import(text, shown, dialect);
    sql_put(json, "import", text);
}

void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json) {
    static struct times times;
    find_times(&times, shown, dialect, id);
    if (json)
        json_open(NULL, '{');
    if (dialect == SQL_CLICKHOUSE)
        sql_put(json, "note", "/* from the documents of ClickHouse; not tested on a server */");
    sql_put(json, "time", times.time);
    sql_put(json, "unix_ms", times.ms);
    put_fields(shown, dialect, id, json, SFID_FIELD_PID);
    put_fields(shown, dialect, id, json, SFID_FIELD_SEQ);
    sql_put(json, "day", times.day);
    put_bounds(shown, dialect, id, json);
    if (!shown->wide)
        put_import(shown, dialect, json);
    if (json)
        json_end();
}
