/* SPDX-License-Identifier: MIT */
/*
 * sql.c - writes the parts of an ID as SQL expressions.
 *
 * An index, a generated column or a partition may use any of them: none depends
 * on the session's time zone. Shifts and masks always have brackets, since
 * databases disagree about their precedence.
 */
#include "layout/all.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION 2560

const char *const sql_dialects[] = {[SQL_POSTGRES] = "postgres", [SQL_MYSQL] = "mysql", [SQL_SQLITE] = "sqlite", NULL};

/* ---- fields ---------------------------------------------------------------- */

/* MySQL's shifts are unsigned, and a negative result is then an error. */
static void shifted(char text[EXPRESSION], enum sql_dialect dialect, const char *id, unsigned shift) {
    if (dialect == SQL_MYSQL)
        snprintf(text, EXPRESSION, "CAST(%s >> %u AS SIGNED)", id, shift);
    else
        snprintf(text, EXPRESSION, "(%s >> %u)", id, shift);
}

static void masked(char text[EXPRESSION], const char *id, unsigned shift, unsigned bits) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    if (bits == 0)
        snprintf(text, EXPRESSION, "0");
    else if (shift == 0)
        snprintf(text, EXPRESSION, "(%s & %" PRIu64 ")", id, mask);
    else
        snprintf(text, EXPRESSION, "((%s >> %u) & %" PRIu64 ")", id, shift, mask);
}

/* Unix milliseconds. The time is the top field, so it needs no mask. */
static void milliseconds(char text[EXPRESSION], enum sql_dialect dialect, const sfid_layout *l, const char *id) {
    char tick[EXPRESSION], unit[24] = "", epoch[32] = "";
    shifted(tick, dialect, id, l->time_shift);
    if (l->unit_ms != 1)
        snprintf(unit, sizeof unit, " * %" PRIu32, l->unit_ms);
    if (l->epoch_ms != 0)
        snprintf(epoch, sizeof epoch, " %c %" PRId64, l->epoch_ms < 0 ? '-' : '+', l->epoch_ms < 0 ? -l->epoch_ms : l->epoch_ms);
    snprintf(text, EXPRESSION, "(%.180s%s%s)", tick, unit, epoch);
}

/* ---- fields of 128 bits, from hex digits ------------------------------------- */

/*
 * IDs of flake, flake-go and UUIDs are stored as text, or can be cast to it. Their fields
 * are whole hex digits, except for two bits of a sequence. SQLite cannot read
 * hex, so digits are added up there.
 */
static const char *digits_of(const struct shown *shown, enum sql_dialect dialect, const char *id, char text[EXPRESSION]) {
    const bool uuid = shown->kind == SFID_UUID7;
    if (uuid && dialect == SQL_POSTGRES)
        snprintf(text, EXPRESSION, "replace(%s::text, '-', '')", id);
    else if (uuid && dialect == SQL_MYSQL)
        snprintf(text, EXPRESSION, "REPLACE(%s, '-', '')", id);
    else
        snprintf(text, EXPRESSION, "%s", id);
    return text;
}

/* For SQLite: shifts each digit to its place, and skips hyphens. */
static void added_up(char text[EXPRESSION], bool uuid, const char *id, unsigned first, unsigned count) {
    size_t len = (size_t)snprintf(text, EXPRESSION, "(");
    for (unsigned i = 0; i < count; i++) {
        const unsigned digit = first + i, place = uuid ? digit + (digit > 8) + (digit > 12) + (digit > 16) + (digit > 20) : digit;
        len += (size_t)snprintf(text + len, EXPRESSION - len, "%s((instr('0123456789abcdef', lower(substr(%s, %u, 1))) - 1) << %u)",
                                i > 0 ? " + " : "", id, place, 4 * (count - 1 - i));
    }
    snprintf(text + len, EXPRESSION - len, ")");
}

static void hex_field(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect, const char *id,
                      const sfid_field *field) {
    char digits[EXPRESSION], number[EXPRESSION];
    const unsigned from = field->shift / 4 * 4, to = (field->shift + field->bits + 3u) / 4 * 4;
    const unsigned count = (to - from) / 4, first = (128 - to) / 4 + 1;
    digits_of(shown, dialect, id, digits);
    if (dialect == SQL_POSTGRES)
        snprintf(number, sizeof number, "('x' || substr(%.200s, %u, %u))::bit(%u)::bigint", digits, first, count, count * 4);
    else if (dialect == SQL_MYSQL)
        snprintf(number, sizeof number, "CAST(CONV(SUBSTR(%.200s, %u, %u), 16, 10) AS SIGNED)", digits, first, count);
    else
        added_up(number, shown->kind == SFID_UUID7, id, first, count);
    if (to - from == field->bits)
        snprintf(text, EXPRESSION, "%s", number);
    else
        snprintf(text, EXPRESSION, "(%.2500s & %u)", number, (1u << field->bits) - 1);
}

/* Joins all fields of a kind into one number. */
static void hex_fields(char text[EXPRESSION], const struct shown *shown, enum sql_dialect dialect, const char *id,
                       sfid_field_kind kind) {
    char one[EXPRESSION], all[EXPRESSION] = "";
    for (int i = 0; i < shown->count; i++) {
        if (shown->fields[i].kind != kind)
            continue;
        hex_field(one, shown, dialect, id, &shown->fields[i]);
        if (all[0] == '\0')
            snprintf(text, EXPRESSION, "%s", one);
        else
            snprintf(text, EXPRESSION, "((%.1200s << %u) | %.1200s)", all, shown->fields[i].bits, one);
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
    snprintf(local, sizeof local, "(timestamp 'epoch' + %s / 1000 * interval '1 second' + %s %% 1000 * interval '1 millisecond')",
             t->ms, t->ms);
    snprintf(t->time, sizeof t->time, "%s AT TIME ZONE 'UTC'", local);
    snprintf(t->day, sizeof t->day, "%s::date", local);
}

static void mysql(struct times *t) {
    snprintf(t->time, sizeof t->time, "TIMESTAMPADD(MICROSECOND, %s * 1000, TIMESTAMP '1970-01-01 00:00:00')", t->ms);
    snprintf(t->day, sizeof t->day, "DATE(%s)", t->time);
}

/* SQLite's division rounds towards 0, which is wrong before 1970. */
static void sqlite(struct times *t, bool before_1970) {
    char rest[EXPRESSION + 64], second[EXPRESSION * 3];
    snprintf(rest, sizeof rest, before_1970 ? "((%s %% 1000 + 1000) %% 1000)" : "%s %% 1000", t->ms);
    if (before_1970)
        snprintf(second, sizeof second, "(%s - %s) / 1000", t->ms, rest);
    else
        snprintf(second, sizeof second, "%s / 1000", t->ms);
    snprintf(t->time, sizeof t->time, "strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %s, 'unixepoch') || printf('.%%03dZ', %s)", second,
             rest);
    snprintf(t->day, sizeof t->day, "date(%s, 'unixepoch')", second);
}

/* ---- output ------------------------------------------------------------------ */

static void put(bool json, const char *name, const char *expression) {
    if (json) {
        json_text(name, expression);
        return;
    }
    out_print("%s\t", name);
    out_bytes(expression, strlen(expression));
    out_bytes("\n", 1);
}

/* The fields of 64-bit IDs: the pid, its parts, and the sequence. */
static void put_fields(const struct shown *shown, const char *id, bool json) {
    const sfid_layout *l = &shown->layout;
    char field[EXPRESSION];
    masked(field, id, l->pid_shift, l->pid_bits);
    put(json, "pid", field);
    for (int i = 0; i < shown->count; i++)
        if (shown->fields[i].kind == SFID_FIELD_PID && shown->fields[i].bits < l->pid_bits) {
            masked(field, id, shown->fields[i].shift, shown->fields[i].bits);
            put(json, shown->fields[i].name, field);
        }
    masked(field, id, l->seq_shift, l->seq_bits);
    put(json, "seq", field);
}

static void put_hex_fields(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json) {
    char field[EXPRESSION];
    hex_fields(field, shown, dialect, id, SFID_FIELD_PID);
    put(json, "pid", field);
    hex_fields(field, shown, dialect, id, SFID_FIELD_SEQ);
    put(json, "seq", field);
}

void layout_sql(const struct shown *shown, enum sql_dialect dialect, const char *id, bool json) {
    static struct times times;
    if (shown->wide)
        hex_fields(times.ms, shown, dialect, id, SFID_FIELD_TIME); /* since 1970 for all but awsflake */
    else
        milliseconds(times.ms, dialect, &shown->layout, id);
    if (dialect == SQL_POSTGRES)
        postgres(&times);
    else if (dialect == SQL_MYSQL)
        mysql(&times);
    else
        sqlite(&times, !shown->wide && shown->layout.epoch_ms < 0);

    if (json)
        json_open(NULL, '{');
    put(json, "time", times.time);
    put(json, "unix_ms", times.ms);
    if (shown->wide)
        put_hex_fields(shown, dialect, id, json);
    else
        put_fields(shown, id, json);
    put(json, "day", times.day);
    if (json) {
        json_end();
    }
}
