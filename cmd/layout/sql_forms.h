/* SPDX-License-Identifier: MIT */
/* sql_forms.h - how each database writes what SQL has to say of an ID. */
#ifndef CMD_LAYOUT_SQL_FORMS_H
#define CMD_LAYOUT_SQL_FORMS_H

#include "io/base.h"

enum sql_dialect {
    SQL_POSTGRES,
    SQL_MYSQL,
    SQL_SQLITE,
    SQL_DUCKDB,
    SQL_CLICKHOUSE,
    SQL_BIGQUERY,
    SQL_SNOWFLAKE,
    SQL_REDSHIFT,
    SQL_SQLSERVER
};
#define SQL_WAREHOUSES SQL_BIGQUERY      /* from here on only layouts of 64 bits */
extern const char *const sql_dialects[]; /* for args_choice() */

enum sql_form {
    FORM_NOTE,     /* that no test runs it */
    FORM_NUMBER,   /* $n as a literal */
    FORM_TICK,     /* $a over 2^$b, which is $n, as a signed number */
    FORM_SHIFT,    /* the same, for a mask */
    FORM_MASK,     /* $a modulo $n, a power of 2; $m is $n - 1 */
    FORM_TIME,     /* of $a milliseconds */
    FORM_DAY,      /* likewise; $c is the time */
    FORM_OLD_TIME, /* of $a milliseconds that may be before 1970, where that differs */
    FORM_OLD_DAY,  /* likewise */
    FORM_MOMENT,   /* Unix milliseconds of a time, rounded up by adding $n to microseconds */
    FORM_WHOLE,    /* these as an integer */
    FORM_WITHIN,   /* $a, not below $n nor above $m */
    FORM_QUOTIENT, /* $a over $n, rounded down; neither is negative */
    FORM_PLACE,    /* $n as a factor of 64 bits */
    /* of 128 bits */
    FORM_UUID_DIGITS, /* the hex digits of a UUID */
    FORM_HEX,         /* the number of $m hex digits, or $b bits, of $a from $n on, from 1 */
    FORM_JOIN,        /* $a above the $b bits of $c */
    FORM_UUID,        /* of $a milliseconds, with the digits $c behind them */
    FORM_DIGITS,      /* the same for $b hex digits */
    FORMS
};

/* Returns NULL if the database has none. */
const char *sql_form(enum sql_dialect dialect, enum sql_form which);

/* What $a, $c, $b, $n and $m stand for. The last two are literals. */
struct sql_meant {
    const char *a, *c;
    unsigned b;
    int64_t n, m;
};

#define SQL_ROOM 8192
#define SQL_NUMBER 48
void sql_write(char text[SQL_ROOM], enum sql_dialect dialect, const char *form,
               struct sql_meant meant);
void sql_number(char text[SQL_NUMBER], enum sql_dialect dialect, int64_t value);

#endif
