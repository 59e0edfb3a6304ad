/* SPDX-License-Identifier: MIT */
/*
 * sql_bound.c - writes the lowest ID of a time as an SQL expression, for a range of the primary
 * key; and the ID of a row of an earlier time.
 *
 * As in sfid range, a time between two ticks means the later tick. So "at or
 * above the bound of since, and below that of until" selects the IDs whose time
 * is in the span, and adjacent spans share none. A time before the epoch means
 * the first tick, one past the end the last tick: nothing overflows.
 */
#include "layout/sql_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION SQL_EXPRESSION
#define YEAR_1_US INT64_C(62135596800000000) /* before 1970 */

/* ---- milliseconds of a time -------------------------------------------------- */

/*
 * Microseconds, rounded up to milliseconds. Division rounds towards 0, so years before 1970 are
 * shifted above it; without such years in the layout it does not matter where they end up.
 */
static void rounded_up(char text[EXPRESSION], enum sql_dialect dialect, const char *us,
                       bool before_1970) {
    const int64_t more = before_1970 ? YEAR_1_US : 0;
    char back[40] = "";
    if (more)
        snprintf(back, sizeof back, " - %" PRId64, more / 1000);
    if (dialect == SQL_CLICKHOUSE)
        snprintf(text, EXPRESSION, "intDiv(%.200s + %" PRId64 ", 1000)%s", us, more + 999, back);
    else
        snprintf(text, EXPRESSION, "(%.200s + %" PRId64 ") // 1000%s", us, more + 999, back);
}

/* Unix milliseconds of a time, rounded up where the database knows more. SQLite's times have
 * milliseconds. */
static void milliseconds_of(char text[EXPRESSION], enum sql_dialect dialect, const char *moment,
                            bool before_1970) {
    char us[EXPRESSION];
    switch (dialect) {
    /* until PostgreSQL 13 the seconds are a double, whose first 15 digits are the microseconds' */
    case SQL_POSTGRES:
        snprintf(text, EXPRESSION,
                 "ceil(extract(epoch FROM CAST(%.100s AS timestamptz))::numeric * 1000)", moment);
        break;
    case SQL_MYSQL:
        snprintf(
            text, EXPRESSION,
            "CEILING(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', %.100s) / 1000)",
            moment);
        break;
    case SQL_SQLITE: /* a day's fraction is exact to 0.04 ms */
        snprintf(text, EXPRESSION,
                 "CAST(round((julianday(%.100s) - 2440587.5) * 86400000) AS INTEGER)", moment);
        break;
    case SQL_DUCKDB:
        snprintf(us, sizeof us, "epoch_us(%.100s)", moment);
        rounded_up(text, dialect, us, before_1970);
        break;
    case SQL_CLICKHOUSE:
        snprintf(us, sizeof us, "toUnixTimestamp64Micro(toDateTime64(%.100s, 6, 'UTC'))", moment);
        rounded_up(text, dialect, us, before_1970);
        break;
    }
}

/* The same, not before the layout's first tick, nor after the beginning of its last. */
static void milliseconds_within(char text[EXPRESSION], const struct shown *shown,
                                enum sql_dialect dialect, const char *moment) {
    static const char *const forms[] = {
        [SQL_POSTGRES] = "CAST(LEAST(GREATEST(%.600s, %" PRId64 "), %" PRId64 ") AS bigint)",
        [SQL_MYSQL] = "CAST(LEAST(GREATEST(%.600s, %" PRId64 "), %" PRId64 ") AS SIGNED)",
        [SQL_SQLITE] = "min(max(%.600s, %" PRId64 "), %" PRId64 ")",
        [SQL_DUCKDB] = "least(greatest(%.600s, %" PRId64 "), %" PRId64 ")",
        [SQL_CLICKHOUSE] = "least(greatest(%.600s, toInt64(%" PRId64 ")), toInt64(%" PRId64 "))",
    };
    char ms[EXPRESSION];
    const int64_t epoch = shown->layout.epoch_ms, end = shown->facts.last_ms;
    milliseconds_of(ms, dialect, moment, epoch < 0);
    snprintf(text, EXPRESSION, forms[dialect], ms, epoch, end - shown->layout.unit_ms);
}

/* ---- 64 bits ------------------------------------------------------------------ */

/* Whole units since a time, of milliseconds that are not before it. */
static void units_since(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
                        const char *ms, int64_t time) {
    static const char *const quotients[] = {[SQL_POSTGRES] = "(%.900s / %" PRIu32 ")",
                                            [SQL_MYSQL] = "(%.900s DIV %" PRIu32 ")",
                                            [SQL_SQLITE] = "(%.900s / %" PRIu32 ")",
                                            [SQL_DUCKDB] = "(%.900s // %" PRIu32 ")",
                                            [SQL_CLICKHOUSE] = "intDiv(%.900s, %" PRIu32 ")"};
    char since[EXPRESSION];
    if (time == 0)
        snprintf(since, sizeof since, "%.800s", ms);
    else
        snprintf(since, sizeof since, "(%.800s %c %" PRId64 ")", ms, time < 0 ? '+' : '-',
                 time < 0 ? -time : time);
    if (shown->layout.unit_ms == 1)
        snprintf(text, EXPRESSION, "%.900s", since);
    else
        snprintf(text, EXPRESSION, quotients[dialect], since, shown->layout.unit_ms);
}

/* Writes a product, not a shift: the result of a shift is unsigned in MySQL, and 2^63 is not
 * reached. */
static void number(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
                   const char *moment) {
    const sfid_layout *l = &shown->layout;
    char ms[EXPRESSION], tick[EXPRESSION];
    milliseconds_within(ms, shown, dialect, moment);
    /* rounded up to a tick */
    units_since(tick, shown, dialect, ms, l->epoch_ms - (l->unit_ms - 1));
    snprintf(text, EXPRESSION, "(%.1000s * %" PRIu64 ")", tick, UINT64_C(1) << l->time_shift);
}

/* ---- rows of earlier times ------------------------------------------------------ */

/* Milliseconds as an integer, which they are not everywhere. */
static void whole_milliseconds(char text[EXPRESSION], const struct shown *shown,
                               enum sql_dialect dialect) {
    char ms[EXPRESSION];
    milliseconds_of(ms, dialect, "moment", shown->layout.epoch_ms < 0);
    if (dialect == SQL_POSTGRES || dialect == SQL_MYSQL)
        snprintf(text, EXPRESSION, "CAST(%.600s AS %s)", ms,
                 dialect == SQL_MYSQL ? "SIGNED" : "bigint");
    else
        snprintf(text, EXPRESSION, "(%.600s)", ms);
}

void sql_tick(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect) {
    char ms[EXPRESSION];
    whole_milliseconds(ms, shown, dialect);
    units_since(text, shown, dialect, ms, shown->layout.epoch_ms);
}

/*
 * The product of a field and its place, which may need 64 bits. NULL where a part does not fit:
 * SQLite would take that for a number of its own in an INTEGER PRIMARY KEY, so there it is an
 * overflow, which depends on n: a constant might be computed ahead.
 */
void sql_import(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect) {
    static const char *const places[] = {[SQL_POSTGRES] = "CAST(%" PRIu64 " AS bigint)",
                                         [SQL_MYSQL] = "%" PRIu64,
                                         [SQL_SQLITE] = "%" PRIu64,
                                         [SQL_DUCKDB] = "CAST(%" PRIu64 " AS BIGINT)",
                                         [SQL_CLICKHOUSE] = "toInt64(%" PRIu64 ")"};
    const sfid_layout *l = &shown->layout;
    const unsigned shifts[3] = {l->time_shift, l->pid_shift, l->seq_shift};
    char ms[EXPRESSION], tick[EXPRESSION], place[3][48];
    whole_milliseconds(ms, shown, dialect);
    sql_tick(tick, shown, dialect);
    for (int i = 0; i < 3; i++)
        snprintf(place[i], sizeof place[i], places[dialect], UINT64_C(1) << shifts[i]);
    snprintf(
        text, EXPRESSION,
        "CASE WHEN %.600s >= %" PRId64 " AND %.600s < %" PRId64 " AND pid BETWEEN 0 AND %" PRIu64
        " AND n BETWEEN 0 AND %" PRIu64 " THEN %.800s * %s + pid * %s + n * %s%s END",
        ms, l->epoch_ms, ms, shown->facts.last_ms, l->max_pid, l->max_seq, tick, place[0], place[1],
        place[2], dialect == SQL_SQLITE ? " ELSE abs(n * 0 - 9223372036854775807 - 1)" : "");
}

/* ---- 128 bits ----------------------------------------------------------------- */

/* The hex digits of the lowest ID: how many are the time, and those behind them. */
static void lowest_tail(const struct shown *shown, unsigned *count, char tail[SFID_WIDE_TEXT_LEN]) {
    const sfid_wide_layout layout = {shown->kind, 0, shown->layout.epoch_ms};
    char hex[SFID_WIDE_TEXT_LEN] = "";
    sfid_wide id;
    *count = shown->layout.time_bits / 4u;
    if (sfid_wide_min_at(&layout, INT64_MIN, &id) < 0 ||
        sfid_wide_to_text(SFID_HEX, id, 32, hex, sizeof hex) < 0)
        hex[0] = '\0'; /* impossible: the layout was accepted */
    snprintf(tail, SFID_WIDE_TEXT_LEN, "%s", strlen(hex) == 32 ? hex + *count : "");
}

/* A UUID: the first 8 and 4 digits are the time, and hyphens are in between. */
static void uuid(char text[EXPRESSION], enum sql_dialect dialect, const char *ms,
                 const char *tail) {
    char end[SFID_WIDE_TEXT_LEN];
    snprintf(end, sizeof end, "-%.4s-%.4s-%.12s", tail, tail + 4, tail + 8);
    switch (dialect) {
    case SQL_POSTGRES:
        snprintf(text, EXPRESSION, "CAST(lpad(to_hex(%.800s), 12, '0') || '%s' AS uuid)", ms, tail);
        break;
    case SQL_MYSQL:
        snprintf(text, EXPRESSION,
                 "CONCAT(INSERT(LPAD(LOWER(HEX(%.800s)), 12, '0'), 9, 0, '-'), '%s')", ms, end);
        break;
    case SQL_SQLITE:
        snprintf(text, EXPRESSION, "printf('%%08x-%%04x%s', %.800s >> 16, %.800s & 65535)", end, ms,
                 ms);
        break;
    case SQL_DUCKDB:
        snprintf(text, EXPRESSION,
                 "CAST(printf('%%08x-%%04x%s', %.800s >> 16, %.800s & 65535) AS UUID)", end, ms,
                 ms);
        break;
    case SQL_CLICKHOUSE:
        snprintf(text, EXPRESSION,
                 "concat(leftPad(lower(hex(toUInt64(intDiv(%.800s, 65536)))), 8, '0'), '-', "
                 "leftPad(lower(hex(toUInt64(bitAnd(%.800s, 65535)))), 4, '0'), '%s')",
                 ms, ms, end);
        break;
    }
}

static void digits(char text[EXPRESSION], enum sql_dialect dialect, const char *ms, unsigned count,
                   const char *tail) {
    static const char *const forms[] = {
        [SQL_POSTGRES] = "(lpad(to_hex(%.800s), %u, '0') || '%s')",
        [SQL_MYSQL] = "CONCAT(LPAD(LOWER(HEX(%.800s)), %u, '0'), '%s')",
        [SQL_SQLITE] = "(substr(printf('%%016x', %.800s), -%u) || '%s')",
        [SQL_DUCKDB] = "(lpad(lower(to_hex(%.800s)), %u, '0') || '%s')",
        [SQL_CLICKHOUSE] = "concat(leftPad(lower(hex(toUInt64(%.800s))), %u, '0'), '%s')",
    };
    snprintf(text, EXPRESSION, forms[dialect], ms, count, tail);
}

/* ---- output ------------------------------------------------------------------- */

void sql_bound(char text[SQL_EXPRESSION], const struct shown *shown, enum sql_dialect dialect,
               const char *moment) {
    char ms[EXPRESSION], tail[SFID_WIDE_TEXT_LEN] = "";
    unsigned count;
    if (!shown->wide) {
        number(text, shown, dialect, moment);
        return;
    }
    milliseconds_within(ms, shown, dialect, moment);
    lowest_tail(shown, &count, tail);
    if (shown->kind == SFID_UUID7)
        uuid(text, dialect, ms, tail);
    else
        digits(text, dialect, ms, count, tail);
}

/* ClickHouse sorts UUIDs by their second half, so there they are compared as text. */
void sql_range(char text[SQL_RANGE], const struct shown *shown, enum sql_dialect dialect,
               const char *id) {
    static char since[SQL_EXPRESSION], until[SQL_EXPRESSION];
    char key[SQL_COLUMN + 16];
    const bool as_text = dialect == SQL_CLICKHOUSE && shown->wide && shown->kind == SFID_UUID7;
    snprintf(key, sizeof key, as_text ? "toString(%s)" : "%s", id);
    sql_bound(since, shown, dialect, "since");
    sql_bound(until, shown, dialect, "until");
    snprintf(text, SQL_RANGE, "%s >= %s AND %s < %s", key, since, key, until);
}
