/* SPDX-License-Identifier: MIT */
/*
 * sql.c - writes the parts of an ID as SQL expressions, the lowest ID of a time for a range of the
 * primary key, and the ID of a row of an earlier time.
 *
 * An index, a generated column or a partition may use any of them: none depends
 * on the session's time zone.
 *
 * As in sfid range, a time between two ticks means the later tick. So "at or
 * above the bound of since, and below that of until" selects the IDs whose time
 * is in the span, and adjacent spans share none. A time before the epoch means
 * the first tick, one past the end the last tick: nothing overflows.
 */
#include "layout/sql.h"

#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define YEAR_1_US INT64_C(62135596800000000) /* before 1970 */

/* What is written: of a layout, for a database, over a column. */
struct sql {
    const struct shown *shown;
    enum sql_dialect dialect;
    const char *id;
    bool json;
};

static void put_expression(const struct sql *sql, const char *name, const char *expression) {
    if (sql->json) {
        json_text(name, expression);
        return;
    }
    out_print("%s\t", name);
    out_bytes(expression, strlen(expression));
    out_bytes("\n", 1);
}

static void write_form(const struct sql *sql, char text[SQL_ROOM], enum sql_form which,
                       struct sql_meant meant) {
    sql_write(text, sql->dialect, sql_form(sql->dialect, which), meant);
}

static void join(const struct sql *sql, char text[SQL_ROOM], const char *form, const char *a,
                 const char *c) {
    sql_write(text, sql->dialect, form, (struct sql_meant){.a = a, .c = c});
}

static bool is_warehouse(const struct sql *sql) { return sql->dialect >= SQL_WAREHOUSES; }

/* A number behind an operator. Warehouses have also one that changes nothing, and a sign behind the
 * operator. */
static const char *term(const struct sql *sql, char text[SQL_NUMBER + 4], char sign, int64_t n,
                        int64_t idle) {
    char number[SQL_NUMBER];
    const bool turns = n < 0 && !is_warehouse(sql);
    sql_number(number, sql->dialect, turns ? -n : n);
    snprintf(text, SQL_NUMBER + 4, " %c %s", !turns ? sign : sign == '+' ? '-' : '+', number);
    return n == idle && !is_warehouse(sql) ? "" : text;
}

/* ---- fields of 64 bits -------------------------------------------------------- */

static void masked(const struct sql *sql, char text[SQL_ROOM], unsigned shift, unsigned bits) {
    char shifted[SQL_ROOM];
    if (shift > 0)
        write_form(sql, shifted, FORM_SHIFT,
                   (struct sql_meant){.a = sql->id, .b = shift, .n = INT64_C(1) << shift});
    const int64_t size = INT64_C(1) << bits;
    if (bits == 0)
        snprintf(text, SQL_ROOM, "0");
    else
        write_form(sql, text, FORM_MASK,
                   (struct sql_meant){
                       .a = shift > 0 ? shifted : sql->id, .b = bits, .n = size, .m = size - 1});
}

/* Unix milliseconds. The time is the top field, so it needs no mask. */
static void milliseconds(const struct sql *sql, char text[SQL_ROOM]) {
    const sfid_layout *l = &sql->shown->layout;
    char tick[SQL_ROOM], unit[SQL_NUMBER + 4], epoch[SQL_NUMBER + 4], factors[SQL_ROOM];
    join(sql, tick, "$a", sql->id, NULL);
    if (l->time_shift > 0 || !is_warehouse(sql))
        write_form(
            sql, tick, FORM_TICK,
            (struct sql_meant){.a = sql->id, .b = l->time_shift, .n = INT64_C(1) << l->time_shift});
    join(sql, factors, "$a$c", tick, term(sql, unit, '*', l->unit_ms, 1));
    join(sql, text, "($a$c)", factors, term(sql, epoch, '+', l->epoch_ms, 0));
}

/* ---- fields of 128 bits, from hex digits --------------------------------------- */

/*
 * IDs of flake, flake-go and UUIDs are stored as text, or can be cast to it. Their fields
 * are whole hex digits, except for two bits of a sequence.
 */
static bool is_uuid(const struct sql *sql) { return sql->shown->kind == SFID_UUID7; }

/* Where no form reads hex: shifts each digit to its place, and skips hyphens. */
static void added_up(char text[SQL_ROOM], bool uuid, const char *id, unsigned first,
                     unsigned count) {
    size_t len = (size_t)snprintf(text, SQL_ROOM, "(");
    for (unsigned i = 0; i < count; i++) {
        const unsigned digit = first + i, place = uuid ? digit + (digit > 8) + (digit > 12) +
                                                             (digit > 16) + (digit > 20)
                                                       : digit;
        len +=
            (size_t)snprintf(text + len, SQL_ROOM - len,
                             "%s((instr('0123456789abcdef', lower(substr(%s, %u, 1))) - 1) << %u)",
                             i > 0 ? " + " : "", id, place, 4 * (count - 1 - i));
    }
    snprintf(text + len, SQL_ROOM - len, ")");
}

static void hex_field(const struct sql *sql, char text[SQL_ROOM], const sfid_field *field) {
    char digits[SQL_ROOM], number[SQL_ROOM];
    const unsigned from = field->shift / 4 * 4, to = (field->shift + field->bits + 3u) / 4 * 4;
    const unsigned count = (to - from) / 4, first = (128 - to) / 4 + 1;
    sql_write(digits, sql->dialect, is_uuid(sql) ? sql_form(sql->dialect, FORM_UUID_DIGITS) : "$a",
              (struct sql_meant){.a = sql->id});
    if (sql_form(sql->dialect, FORM_HEX))
        write_form(sql, number, FORM_HEX,
                   (struct sql_meant){.a = digits, .b = count * 4, .n = first, .m = count});
    else
        added_up(number, is_uuid(sql), digits, first, count);
    if (to - from == field->bits)
        join(sql, text, "$a", number, NULL);
    else
        write_form(sql, text, FORM_MASK,
                   (struct sql_meant){.a = number, .m = (INT64_C(1) << field->bits) - 1});
}

/* Joins all fields of a kind into one number. */
static void hex_fields(const struct sql *sql, char text[SQL_ROOM], sfid_field_kind kind) {
    char one[SQL_ROOM], all[SQL_ROOM] = "";
    for (int i = 0; i < sql->shown->count; i++) {
        const sfid_field *field = &sql->shown->fields[i];
        if (field->kind != kind)
            continue;
        hex_field(sql, one, field);
        if (all[0] == '\0')
            join(sql, text, "$a", one, NULL);
        else
            write_form(sql, text, FORM_JOIN,
                       (struct sql_meant){.a = all, .c = one, .b = field->bits});
        memcpy(all, text, SQL_ROOM);
    }
}

/* ---- milliseconds of a time ------------------------------------------------------ */

/*
 * Rounded up where the database knows more. Division rounds towards 0, so years before 1970 are
 * shifted above it; without such years in the layout it does not matter where they end up.
 */
static void milliseconds_of(const struct sql *sql, char text[SQL_ROOM], const char *moment) {
    const bool shifts = sql->shown->layout.epoch_ms < 0 &&
                        strstr(sql_form(sql->dialect, FORM_MOMENT), "$n") != NULL;
    const int64_t from_us = shifts ? YEAR_1_US : 0;
    char ms[SQL_ROOM];
    write_form(sql, ms, FORM_MOMENT, (struct sql_meant){.a = moment, .n = from_us + 999});
    sql_write(text, sql->dialect,
              !shifts             ? "$a"
              : is_warehouse(sql) ? "($a - $n)"
                                  : "$a - $n",
              (struct sql_meant){.a = ms, .n = from_us / 1000});
}

/* The same, not before the layout's first tick, nor after the beginning of its last. */
static void milliseconds_within(const struct sql *sql, char text[SQL_ROOM], const char *moment) {
    const sfid_layout *l = &sql->shown->layout;
    char ms[SQL_ROOM];
    milliseconds_of(sql, ms, moment);
    write_form(
        sql, text, FORM_WITHIN,
        (struct sql_meant){.a = ms, .n = l->epoch_ms, .m = sql->shown->facts.last_ms - l->unit_ms});
}

/* Whole units since a time, of milliseconds that are not before it. */
static void units_since(const struct sql *sql, char text[SQL_ROOM], const char *ms, int64_t time) {
    const uint32_t unit_ms = sql->shown->layout.unit_ms;
    char since[SQL_ROOM], back[SQL_NUMBER + 4];
    const char *distance = term(sql, back, '-', time, 0);
    join(sql, since, distance[0] ? "($a$c)" : "$a", ms, distance);
    sql_write(text, sql->dialect, unit_ms == 1 ? "$a" : sql_form(sql->dialect, FORM_QUOTIENT),
              (struct sql_meant){.a = since, .n = unit_ms});
}

/* ---- the lowest ID of a time -------------------------------------------------------- */

/* Writes a product, not a shift: the result of a shift is unsigned in MySQL, and 2^63 is not
 * reached. */
static void lowest(const struct sql *sql, char text[SQL_ROOM], const char *moment) {
    const sfid_layout *l = &sql->shown->layout;
    char ms[SQL_ROOM], tick[SQL_ROOM];
    milliseconds_within(sql, ms, moment);
    /* rounded up to a tick */
    units_since(sql, tick, ms, l->epoch_ms - (l->unit_ms - 1));
    sql_write(text, sql->dialect, "($a * $n)",
              (struct sql_meant){.a = tick, .n = INT64_C(1) << l->time_shift});
}

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

/* The first 8 and 4 digits of a UUID are the time, and hyphens are in between. */
static void lowest_wide(const struct sql *sql, char text[SQL_ROOM], const char *moment) {
    char ms[SQL_ROOM], tail[SFID_WIDE_TEXT_LEN] = "", end[SFID_WIDE_TEXT_LEN];
    unsigned count;
    milliseconds_within(sql, ms, moment);
    lowest_tail(sql->shown, &count, tail);
    snprintf(end, sizeof end, "-%.4s-%.4s-%.12s", tail, tail + 4, tail + 8);
    write_form(sql, text, is_uuid(sql) ? FORM_UUID : FORM_DIGITS,
               (struct sql_meant){.a = ms,
                                  .b = count,
                                  .c = is_uuid(sql) && sql->dialect != SQL_POSTGRES ? end : tail});
}

/* The lowest ID whose tick does not begin before a time, which is an SQL expression. */
static void bound(const struct sql *sql, char text[SQL_ROOM], const char *moment) {
    if (sql->shown->wide)
        lowest_wide(sql, text, moment);
    else
        lowest(sql, text, moment);
}

/* ---- rows of earlier times ------------------------------------------------------ */

/*
 * The product of a field and its place, which may need 64 bits. NULL where a part does not fit:
 * SQLite would take that for a number of its own in an INTEGER PRIMARY KEY, so there it is an
 * overflow, which depends on n: a constant might be computed ahead.
 */
static void import(const struct sql *sql, char text[SQL_ROOM], const char *ms, const char *tick) {
    const sfid_layout *l = &sql->shown->layout;
    const unsigned shifts[3] = {l->time_shift, l->pid_shift, l->seq_shift};
    char place[3][SQL_ROOM];
    for (int i = 0; i < 3; i++)
        write_form(sql, place[i], FORM_PLACE, (struct sql_meant){.n = INT64_C(1) << shifts[i]});
    snprintf(text, SQL_ROOM,
             "CASE WHEN %.600s >= %" PRId64 " AND %.600s < %" PRId64
             " AND pid BETWEEN 0 AND %" PRIu64 " AND n BETWEEN 0 AND %" PRIu64
             " THEN %.800s * %.48s + pid * %.48s + n * %.48s%s END",
             ms, l->epoch_ms, ms, sql->shown->facts.last_ms, l->max_pid, l->max_seq, tick, place[0],
             place[1], place[2],
             sql->dialect == SQL_SQLITE ? " ELSE abs(n * 0 - 9223372036854775807 - 1)" : "");
}

/* ---- output ------------------------------------------------------------------ */

/* A field as a whole under its general name, then its parts, or the whole, under the names of the
 * layout's makers. */
static void put_fields(const struct sql *sql, sfid_field_kind kind) {
    const struct shown *shown = sql->shown;
    const sfid_layout *l = &shown->layout;
    const bool pid = kind == SFID_FIELD_PID;
    const char *general = pid ? "pid" : "seq";
    char text[SQL_ROOM];
    if (shown->wide)
        hex_fields(sql, text, kind);
    else
        masked(sql, text, pid ? l->pid_shift : l->seq_shift, pid ? l->pid_bits : l->seq_bits);
    put_expression(sql, general, text);
    for (int i = 0; i < shown->count; i++) {
        const sfid_field *field = &shown->fields[i];
        /* a part of a sequence has no name of its own */
        if (field->kind != kind || strcmp(field->name, general) == 0 ||
            !(pid || field->bits == l->seq_bits))
            continue;
        if (shown->wide)
            hex_field(sql, text, field);
        else
            masked(sql, text, field->shift, field->bits);
        put_expression(sql, field->name, text);
    }
}

/* The condition for the IDs from "since" to before "until". ClickHouse sorts UUIDs by their second
 * half, so there they are compared as text. */
static void put_range(const struct sql *sql) {
    char key[SQL_COLUMN + 16], limit[SQL_ROOM], since[SQL_ROOM], until[SQL_ROOM], text[SQL_ROOM];
    const bool as_text = sql->dialect == SQL_CLICKHOUSE && sql->shown->wide && is_uuid(sql);
    snprintf(key, sizeof key, as_text ? "toString(%s)" : "%s", sql->id);
    bound(sql, limit, "since");
    join(sql, since, "$a >= $c", key, limit);
    bound(sql, limit, "until");
    join(sql, until, "$a < $c", key, limit);
    join(sql, text, "$a AND $c", since, until);
    put_expression(sql, "range", text);
}

/* The tick of "moment", and the ID of "moment", "pid" and "n", for rows of earlier times. */
static void put_import(const struct sql *sql) {
    char ms[SQL_ROOM], whole[SQL_ROOM], tick[SQL_ROOM], text[SQL_ROOM];
    milliseconds_of(sql, ms, "moment");
    write_form(sql, whole, FORM_WHOLE, (struct sql_meant){.a = ms});
    units_since(sql, tick, whole, sql->shown->layout.epoch_ms);
    put_expression(sql, "tick", tick);
    import(sql, text, whole, tick);
    put_expression(sql, "import", text);
}

void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json) {
    const struct sql sql = {shown, dialect, id, json};
    const bool old =
        !shown->wide && shown->layout.epoch_ms < 0 && sql_form(dialect, FORM_OLD_TIME) != NULL;
    char ms[SQL_ROOM], time[SQL_ROOM], text[SQL_ROOM];
    if (shown->wide)
        hex_fields(&sql, ms, SFID_FIELD_TIME); /* since 1970 for all but awsflake */
    else
        milliseconds(&sql, ms);
    if (json)
        json_open(NULL, '{');
    if (sql_form(dialect, FORM_NOTE))
        put_expression(&sql, "note", sql_form(dialect, FORM_NOTE));
    write_form(&sql, time, old ? FORM_OLD_TIME : FORM_TIME, (struct sql_meant){.a = ms});
    put_expression(&sql, "time", time);
    put_expression(&sql, "unix_ms", ms);
    put_fields(&sql, SFID_FIELD_PID);
    put_fields(&sql, SFID_FIELD_SEQ);
    write_form(&sql, text, old ? FORM_OLD_DAY : FORM_DAY, (struct sql_meant){.a = ms, .c = time});
    put_expression(&sql, "day", text);
    bound(&sql, text, "moment");
    put_expression(&sql, "bound", text);
    put_range(&sql);
    if (!shown->wide && !is_warehouse(&sql))
        put_import(&sql);
    if (json)
        json_end();
}
