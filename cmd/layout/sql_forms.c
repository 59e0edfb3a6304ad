/* SPDX-License-Identifier: MIT */
/*
 * sql_forms.c - how each database writes what SQL has to say of an ID.
 *
 * Shifts and masks always have brackets, since databases disagree about their
 * precedence. MySQL's shifts are unsigned, and a negative result is then an
 * error. PostgreSQL multiplies intervals as doubles: milliseconds would be exact
 * only until 4253. SQLite's division rounds towards 0, which is wrong before
 * 1970. Neither SQLite nor DuckDB can read hex, so they have no form for it.
 *
 * No test runs those that have a note. They follow the documents of their
 * makers. ClickHouse has functions in place of most operators. SQL Server shifts
 * only since 2022, so there it divides; a literal above 2^31 is no integer there
 * unless it is cast; and an index on a computed column needs a style with each
 * time that is read from text.
 *
 * Sources: cloud.google.com/bigquery/docs/reference/standard-sql;
 * docs.snowflake.com/en/sql-reference; docs.aws.amazon.com/redshift/latest/dg;
 * learn.microsoft.com/en-us/sql/t-sql.
 */
#include "layout/sql_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const sql_dialects[] = {"postgres", "mysql",     "sqlite",   "duckdb",    "clickhouse",
                                    "bigquery", "snowflake", "redshift", "sqlserver", NULL};

static const char *const usual[FORMS] = {
    [FORM_NUMBER] = "$n",          [FORM_TICK] = "($a >> $b)",
    [FORM_SHIFT] = "($a >> $b)",   [FORM_MASK] = "($a & $m)",
    [FORM_WHOLE] = "($a)",         [FORM_WITHIN] = "LEAST(GREATEST($a, $n), $m)",
    [FORM_QUOTIENT] = "($a / $n)", [FORM_PLACE] = "$n",
    [FORM_UUID_DIGITS] = "$a",     [FORM_JOIN] = "(($a << $b) | $c)",
};

static const char *const forms[][FORMS] = {
    [SQL_POSTGRES] =
        {
            [FORM_TIME] =
                "(timestamp 'epoch' + $a / 1000 * interval '1 second' + $a % 1000 * interval '1 millisecond') AT TIME ZONE 'UTC'",
            [FORM_DAY] =
                "(timestamp 'epoch' + $a / 1000 * interval '1 second' + $a % 1000 * interval '1 millisecond')::date",
            /* until version 13 the seconds are a double: 15 digits, down to microseconds */
            [FORM_MOMENT] = "ceil(extract(epoch FROM CAST($a AS timestamptz))::numeric * 1000)",
            [FORM_WHOLE] = "CAST($a AS bigint)",
            [FORM_WITHIN] = "CAST(LEAST(GREATEST($a, $n), $m) AS bigint)",
            [FORM_PLACE] = "CAST($n AS bigint)",
            [FORM_UUID_DIGITS] = "replace($a::text, '-', '')",
            [FORM_HEX] = "('x' || substr($a, $n, $m))::bit($b)::bigint",
            [FORM_UUID] = "CAST(lpad(to_hex($a), 12, '0') || '$c' AS uuid)",
            [FORM_DIGITS] = "(lpad(to_hex($a), $b, '0') || '$c')",
        },
    [SQL_MYSQL] =
        {
            [FORM_TICK] = "CAST($a >> $b AS SIGNED)",
            [FORM_TIME] = "TIMESTAMPADD(MICROSECOND, $a * 1000, TIMESTAMP '1970-01-01 00:00:00')",
            [FORM_DAY] = "DATE($c)",
            [FORM_MOMENT] =
                "CEILING(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', $a) / 1000)",
            [FORM_WHOLE] = "CAST($a AS SIGNED)",
            [FORM_WITHIN] = "CAST(LEAST(GREATEST($a, $n), $m) AS SIGNED)",
            [FORM_QUOTIENT] = "($a DIV $n)",
            [FORM_UUID_DIGITS] = "REPLACE($a, '-', '')",
            [FORM_HEX] = "CAST(CONV(SUBSTR($a, $n, $m), 16, 10) AS SIGNED)",
            [FORM_UUID] = "CONCAT(INSERT(LPAD(LOWER(HEX($a)), 12, '0'), 9, 0, '-'), '$c')",
            [FORM_DIGITS] = "CONCAT(LPAD(LOWER(HEX($a)), $b, '0'), '$c')",
        },
    [SQL_SQLITE] =
        {
            [FORM_TIME] =
                "strftime('%Y-%m-%dT%H:%M:%S', $a / 1000, 'unixepoch') || printf('.%03dZ', $a % 1000)",
            [FORM_DAY] = "date($a / 1000, 'unixepoch')",
            [FORM_OLD_TIME] =
                "strftime('%Y-%m-%dT%H:%M:%S', ($a - (($a % 1000 + 1000) % 1000)) / 1000, 'unixepoch') || "
                "printf('.%03dZ', (($a % 1000 + 1000) % 1000))",
            [FORM_OLD_DAY] = "date(($a - (($a % 1000 + 1000) % 1000)) / 1000, 'unixepoch')",
            /* a day's fraction is exact to 0.04 ms */
            [FORM_MOMENT] = "CAST(round((julianday($a) - 2440587.5) * 86400000) AS INTEGER)",
            [FORM_WITHIN] = "min(max($a, $n), $m)",
            [FORM_UUID] = "printf('%08x-%04x$c', $a >> 16, $a & 65535)",
            [FORM_DIGITS] = "(substr(printf('%016x', $a), -$b) || '$c')",
        },
    [SQL_DUCKDB] =
        {
            /* without a zone, in UTC */
            [FORM_TIME] = "make_timestamp($a * 1000)",
            [FORM_DAY] = "CAST($c AS DATE)",
            [FORM_MOMENT] = "(epoch_us($a) + $n) // 1000",
            [FORM_WITHIN] = "least(greatest($a, $n), $m)",
            [FORM_QUOTIENT] = "($a // $n)",
            [FORM_PLACE] = "CAST($n AS BIGINT)",
            [FORM_UUID_DIGITS] = "CAST($a AS VARCHAR)",
            [FORM_UUID] = "CAST(printf('%08x-%04x$c', $a >> 16, $a & 65535) AS UUID)",
            [FORM_DIGITS] = "(lpad(lower(to_hex($a)), $b, '0') || '$c')",
        },
    [SQL_CLICKHOUSE] =
        {
            [FORM_NOTE] = "/* from the documents of ClickHouse; not tested on a server */",
            [FORM_TICK] = "toInt64(bitShiftRight($a, $b))",
            [FORM_SHIFT] = "bitShiftRight($a, $b)",
            [FORM_MASK] = "bitAnd($a, $m)",
            [FORM_TIME] = "fromUnixTimestamp64Milli($a, 'UTC')",
            [FORM_DAY] = "toDate32($c)",
            [FORM_MOMENT] = "intDiv(toUnixTimestamp64Micro(toDateTime64($a, 6, 'UTC')) + $n, 1000)",
            [FORM_WITHIN] = "least(greatest($a, toInt64($n)), toInt64($m))",
            [FORM_QUOTIENT] = "intDiv($a, $n)",
            [FORM_PLACE] = "toInt64($n)",
            [FORM_UUID_DIGITS] = "replaceAll(toString($a), '-', '')",
            [FORM_HEX] =
                "toInt64(reinterpretAsUInt64(reverse(unhex(leftPad(substring($a, $n, $m), 16, '0')))))",
            [FORM_JOIN] = "bitOr(bitShiftLeft($a, $b), $c)",
            [FORM_UUID] = "concat(leftPad(lower(hex(toUInt64(intDiv($a, 65536)))), 8, '0'), '-', "
                          "leftPad(lower(hex(toUInt64(bitAnd($a, 65535)))), 4, '0'), '$c')",
            [FORM_DIGITS] = "concat(leftPad(lower(hex(toUInt64($a))), $b, '0'), '$c')",
        },
    [SQL_BIGQUERY] =
        {
            [FORM_NOTE] = "/* from the documents of BigQuery; not tested on a server */",
            [FORM_TIME] = "TIMESTAMP_MILLIS($a)",
            [FORM_DAY] = "DATE($c)",
            [FORM_MOMENT] = "DIV((UNIX_MICROS($a) + $n), 1000)",
            [FORM_QUOTIENT] = "DIV($a, $n)",
        },
    [SQL_SNOWFLAKE] =
        {
            [FORM_NOTE] = "/* from the documents of Snowflake; not tested on a server */",
            [FORM_TICK] = "BITSHIFTRIGHT($a, $b)",
            [FORM_SHIFT] = "BITSHIFTRIGHT($a, $b)",
            [FORM_MASK] = "BITAND($a, $m)",
            [FORM_TIME] = "TO_TIMESTAMP_NTZ($a, 3)",
            [FORM_DAY] = "TO_DATE($c)",
            [FORM_MOMENT] = "(((DATE_PART(EPOCH_MICROSECOND, $a) + $n) - "
                            "MOD((DATE_PART(EPOCH_MICROSECOND, $a) + $n), 1000)) / 1000)",
            [FORM_QUOTIENT] = "(($a - MOD($a, $n)) / $n)",
        },
    [SQL_REDSHIFT] =
        {
            [FORM_NOTE] = "/* from the documents of Redshift; not tested on a server */",
            [FORM_TIME] =
                "DATEADD(ms, CAST($a % 86400000 AS int), DATEADD(day, CAST($a / 86400000 AS int), TIMESTAMP '1970-01-01 00:00:00'))",
            [FORM_DAY] = "CAST($c AS date)",
            [FORM_MOMENT] =
                "((DATEDIFF(microsecond, TIMESTAMP '1970-01-01 00:00:00', $a) + $n) / 1000)",
        },
    [SQL_SQLSERVER] =
        {
            [FORM_NOTE] = "/* from the documents of SQL Server; not tested on a server */",
            [FORM_NUMBER] = "CAST($n AS bigint)",
            [FORM_TICK] = "($a / $n)",
            [FORM_SHIFT] = "($a / $n)",
            [FORM_MASK] = "($a % $n)",
            [FORM_TIME] =
                "DATEADD(MILLISECOND, CAST($a % 86400000 AS int), DATEADD(DAY, CAST($a / 86400000 AS int), CONVERT("
                "datetime2(3), '1970-01-01T00:00:00', 126)))",
            [FORM_DAY] = "CAST($c AS date)",
            [FORM_MOMENT] =
                "((DATEDIFF_BIG(MICROSECOND, CONVERT(datetime2(6), '1970-01-01T00:00:00', 126), $a) + $n) / CAST(1000 AS bigint))",
            [FORM_WITHIN] = "CASE WHEN $a < $n THEN $n WHEN $a > $m THEN $m ELSE $a END",
        },
};

const char *sql_form(enum sql_dialect dialect, enum sql_form which) {
    return forms[dialect][which] ? forms[dialect][which] : usual[which];
}

void sql_number(char text[SQL_NUMBER], enum sql_dialect dialect, int64_t value) {
    const char *form = sql_form(dialect, FORM_NUMBER), *at = strstr(form, "$n");
    snprintf(text, SQL_NUMBER, "%.*s%" PRId64 "%s", (int)(at - form), form, value, at + 2);
}

void sql_write(char text[SQL_ROOM], enum sql_dialect dialect, const char *form,
               struct sql_meant meant) {
    char n[SQL_NUMBER], m[SQL_NUMBER], b[12];
    size_t len = 0;
    sql_number(n, dialect, meant.n);
    sql_number(m, dialect, meant.m);
    snprintf(b, sizeof b, "%u", meant.b);
    for (const char *p = form; *p && len + 1 < SQL_ROOM; p++) {
        const bool named = p[0] == '$' && p[1];
        const char c[2] = {*p, '\0'};
        const char *what = !named        ? c
                           : p[1] == 'a' ? meant.a
                           : p[1] == 'c' ? meant.c
                           : p[1] == 'b' ? b
                           : p[1] == 'n' ? n
                                         : m;
        len += (size_t)snprintf(text + len, SQL_ROOM - len, "%s", what);
        p += named;
    }
}
