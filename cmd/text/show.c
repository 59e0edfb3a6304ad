/* SPDX-License-Identifier: MIT */
/* show.c - shows the parts of an ID as aligned text, a table, JSON, TSV or CSV. */
#include "text/show.h"

#include "io/say.h"

#include <stdio.h>

/* ---- parts ---------------------------------------------------------------- */

/* Returns the bits of a field. */
static uint64_t view_part(const sfid_field *field, sfid_wide id) {
    const uint64_t value = field->shift >= 64 ? id.high >> (field->shift - 64)
                           : field->shift == 0
                               ? id.low
                               : id.low >> field->shift | id.high << (64 - field->shift);
    return value & ((UINT64_C(1) << field->bits) - 1); /* safe: no such field has 64 bits */
}

const char *view_pid_label(const struct view *view) {
    return view->wide_layout.kind == SFID_AWSFLAKE ? "region_name" : "mac";
}

bool view_pid_name(const struct view *view, const struct taken *taken, char name[VIEW_PID_NAME]) {
    if (view->wide_layout.kind == SFID_AWSFLAKE)
        return sfid_aws_region_name((unsigned)(taken->pid >> 16), name, VIEW_PID_NAME) == 0;
    if (view->wide_layout.kind != SFID_FLAKE && view->wide_layout.kind != SFID_FLAKE_GO)
        return false;
    const unsigned long long mac = taken->pid;
    snprintf(name, VIEW_PID_NAME, "%02llx:%02llx:%02llx:%02llx:%02llx:%02llx", mac >> 40 & 255,
             mac >> 32 & 255, mac >> 24 & 255, mac >> 16 & 255, mac >> 8 & 255, mac & 255);
    return true;
}

/* ---- age ------------------------------------------------------------------ */

char *view_put_age(char *p, int64_t ms) {
    const uint64_t seconds = (ms < 0 ? -(uint64_t)ms : (uint64_t)ms) / 1000;
    const unsigned of_day = (unsigned)(seconds % 86400);
    if (ms < 0)
        *p++ = '-';
    if (seconds >= 86400)
        p = put_text(put_dec(p, seconds / 86400), "d ");
    p = put_text(put_two(p, of_day / 3600), ":");
    return put_two(put_text(put_two(p, of_day / 60 % 60), ":"), of_day % 60);
}

/* ---- columns -------------------------------------------------------------- */

/* Those from COLUMN_OWN on are the fields under their makers' names. */
enum {
    COLUMN_TIME,
    COLUMN_MS,
    COLUMN_TICK,
    COLUMN_PID,
    COLUMN_SEQ,
    COLUMN_AGE,
    COLUMN_PARTITION,
    COLUMN_OWN
};
static const char *const columns[] = {"time", "unix_ms", "tick",     "pid",
                                      "seq",  "age_ms",  "partition"};

static const char *column_name(const struct view *view, unsigned column) {
    return column < COLUMN_OWN ? columns[column] : view->own[column - COLUMN_OWN].name;
}

/* Returns the column with this name, or how many there are. */
static unsigned find_column(const struct view *view, const char *name, size_t len, unsigned count) {
    unsigned i = 0;
    while (i < count &&
           (strlen(column_name(view, i)) != len || memcmp(column_name(view, i), name, len) != 0))
        i++;
    return i;
}

static void say_columns(const struct view *view, const char *label, const char *name, size_t len,
                        unsigned count) {
    char all[400] = "";
    for (unsigned i = 0; i < count; i++) {
        const size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", i > 0 ? ", " : "", column_name(view, i));
    }
    say("%s: %s is not a column of layout %s; there are %s", label, quote(name, len).text,
        view->name, all);
}

bool view_choose(struct view *view, const char *label, const char *names) {
    const unsigned count = COLUMN_OWN + (unsigned)view->own_count;
    for (const char *p = names;; p++) {
        const size_t len = strcspn(p, ",");
        const unsigned column = find_column(view, p, len, count);
        if (column == count) {
            say_columns(view, label, p, len, count);
            return false;
        }
        if (view->chosen_count == VIEW_CHOSEN ||
            (column == COLUMN_PARTITION && view->partition == PARTITION_NONE))
            return refuse(view->chosen_count == VIEW_CHOSEN ? "%s: there can be 16 columns at most"
                                                            : "%s: partition needs --partition",
                          label);
        view->chosen[view->chosen_count++] = (unsigned char)column;
        p += len;
        if (*p == '\0')
            return true;
    }
}

static char *put_column(struct view *view, char *p, const struct taken *taken, unsigned column) {
    char date[DATE_ROOM];
    switch (column) {
    case COLUMN_TIME:
        return put_date(&view->date, p, taken->unix_ms);
    case COLUMN_MS:
        return put_int(p, taken->unix_ms);
    case COLUMN_TICK:
        return put_dec(p, taken->tick);
    case COLUMN_PID:
        return put_dec(p, taken->pid);
    case COLUMN_SEQ:
        return put_dec(p, taken->seq);
    case COLUMN_AGE:
        return put_int(p, view_age(taken));
    case COLUMN_PARTITION:
        put_date(&view->date, date, taken->unix_ms); /* the partition is that of the last date */
        return put_partition(&view->date, p, view->partition == PARTITION_HOUR);
    default:
        return put_dec(p, view_part(&view->own[column - COLUMN_OWN], taken->id));
    }
}

static char *put_chosen(struct view *view, char *p, const struct taken *taken, char separator) {
    for (unsigned i = 0; i < view->chosen_count; i++) {
        *p++ = separator;
        p = put_column(view, p, taken, view->chosen[i]);
    }
    return p;
}

char *view_put_id(const struct view *view, char *p, sfid_wide id) {
    if (!view->wide)
        return put_dec(p, id.low);
    const int n = sfid_wide_to_text(view->form, id, view->width, p, SFID_WIDE_TEXT_LEN);
    return p + (n > 0 ? n : 0);
}

char *view_put_names(const struct view *view, char *p, const char *prefix, char separator) {
    for (unsigned i = 0; i < view->chosen_count; i++)
        p += sprintf(p, "%c%s%s", separator, prefix, column_name(view, view->chosen[i]));
    if (view->chosen_count > 0)
        return p;
    for (size_t i = 0; i < COLUMN_AGE; i++)
        p += sprintf(p, "%c%s%s", separator, prefix, columns[i]);
    if (view->age)
        p += sprintf(p, "%c%sage_ms", separator, prefix);
    if (view->partition)
        p += sprintf(p, "%c%spartition", separator, prefix);
    return p;
}

/* The columns that follow from the tick, and the separators around them. */
static void keep_moment(struct view *view, const struct taken *taken, char separator) {
    char *p = view->moment.text;
    *p++ = separator;
    p = put_date(&view->date, p, taken->unix_ms);
    *p++ = separator;
    p = put_int(p, taken->unix_ms);
    *p++ = separator;
    p = put_dec(p, taken->tick);
    *p++ = separator;
    view->moment.tick = taken->tick;
    view->moment.len = (size_t)(p - view->moment.text);
}

char *view_put_columns(struct view *view, char *p, const struct taken *taken, char separator) {
    if (taken == NULL) {
        const unsigned all = COLUMN_AGE + view->age + (view->partition != PARTITION_NONE);
        const unsigned count = view->chosen_count > 0 ? view->chosen_count : all;
        memset(p, separator, count);
        return p + count;
    }
    if (view->chosen_count > 0)
        return put_chosen(view, p, taken, separator);
    if (view->moment.len == 0 || view->moment.tick != taken->tick)
        keep_moment(view, taken, separator);
    memcpy(p, view->moment.text, sizeof view->moment.text);
    p = put_dec(p + view->moment.len, taken->pid);
    *p++ = separator;
    p = put_dec(p, taken->seq);
    if (view->age) {
        *p++ = separator;
        p = put_int(p, view_age(taken));
    }
    if (view->partition) {
        *p++ = separator;
        p = put_partition(&view->date, p, view->partition == PARTITION_HOUR);
    }
    return p;
}

/* ---- members -------------------------------------------------------------- */

static char *put_member(char *p, const char *name, uint64_t value) {
    return put_dec(put_text(put_text(put_text(p, ",\""), name), "\":"), value);
}

static char *put_string(char *p, const char *name, const char *value) {
    p = put_text(put_text(p, ",\""), name);
    p = put_text(put_text(p, "\":\""), value);
    return put_text(p, "\"");
}

char *view_put_members(struct view *view, char *p, const struct taken *taken) {
    char name[VIEW_PID_NAME];
    p = put_date(&view->date, put_text(p, "\"time\":\""), taken->unix_ms);
    p = put_int(put_text(p, "\",\"unix_ms\":"), taken->unix_ms);
    p = put_dec(put_text(p, ",\"tick\":"), taken->tick);
    p = put_dec(put_text(p, ",\"pid\":"), taken->pid);
    p = put_dec(put_text(p, ",\"seq\":"), taken->seq);
    for (int i = 0; i < view->own_count; i++)
        p = put_member(p, view->own[i].name, view_part(&view->own[i], taken->id));
    if (view->wide && view_pid_name(view, taken, name))
        p = put_string(p, view_pid_label(view), name);
    if (view->random)
        p = put_member(p, "random", taken->random);
    if (view->age)
        p = put_int(put_text(p, ",\"age_ms\":"), view_age(taken));
    if (view->partition)
        p = put_text(put_partition(&view->date, put_text(p, ",\"partition\":\""),
                                   view->partition == PARTITION_HOUR),
                     "\"");
    if (view_is_future(taken))
        p = put_text(p, ",\"future\":true");
    return p;
}

/* ---- notes ---------------------------------------------------------------- */

char *view_put_note(struct view *view, char *p, const struct taken *taken) {
    p = put_date(&view->date, put_text(p, " ["), taken->unix_ms);
    p = put_dec(put_text(p, " pid "), taken->pid);
    p = put_dec(put_text(p, " seq "), taken->seq);
    if (view->age)
        p = view_put_age(put_text(p, " age "), view_age(taken));
    if (view->partition)
        p = put_partition(&view->date, put_text(p, " partition "),
                          view->partition == PARTITION_HOUR);
    return put_text(p, "]");
}

/* Copies all of the room, whose length is constant. */
static char *put_name(const struct view *view, char *p) {
    memcpy(p, view->name, sizeof view->name);
    return p + view->name_len;
}

/* ---- JSON ----------------------------------------------------------------- */

char *view_put_json(struct view *view, char *p, const struct taken *taken) {
    p = view_put_id(view, put_text(p, "{\"id\":\""), taken->id);
    p = put_name(view, put_text(p, "\",\"layout\":\""));
    p = view_put_members(view, put_text(p, "\","), taken);
    return put_text(p, "}\n");
}

/* ---- aligned text --------------------------------------------------------- */

static inline char *put_label(const struct view *view, char *p, const char *label) {
    memset(p, ' ', VIEW_LABEL);
    put_text(p, label);
    return p + view->label_width + 2;
}

static inline char *put_row(const struct view *view, char *p, const char *label, uint64_t value) {
    return put_text(put_dec(put_label(view, p, label), value), "\n");
}

/* Writes the fields of a kind under the names of their makers. */
static char *put_own_rows(const struct view *view, char *p, const struct taken *taken,
                          sfid_field_kind kind) {
    for (int i = 0; i < view->own_count; i++)
        if (view->own[i].kind == kind)
            p = put_row(view, p, view->own[i].name, view_part(&view->own[i], taken->id));
    return p;
}

static char *put_rows(struct view *view, char *p, const struct taken *taken) {
    char name[VIEW_PID_NAME];
    if (view->later)
        *p++ = '\n';
    p = put_text(view_put_id(view, put_label(view, p, "id"), taken->id), "\n");
    p = put_text(put_name(view, put_label(view, p, "layout")), "\n");
    p = put_date(&view->date, put_label(view, p, "time"), taken->unix_ms);
    p = put_text(p, view_is_future(taken) ? " (in the future)\n" : "\n");
    p = put_text(put_int(put_label(view, p, "unix_ms"), taken->unix_ms), "\n");
    p = put_own_rows(view, put_row(view, p, "tick", taken->tick), taken, SFID_FIELD_TIME);
    p = put_own_rows(view, put_row(view, p, "pid", taken->pid), taken, SFID_FIELD_PID);
    if (view->wide && view_pid_name(view, taken, name))
        p = put_text(put_text(put_label(view, p, view_pid_label(view)), name), "\n");
    p = put_own_rows(view, put_row(view, p, "seq", taken->seq), taken, SFID_FIELD_SEQ);
    if (view->random)
        p = put_row(view, p, "random", taken->random);
    if (view->age)
        p = put_text(view_put_age(put_label(view, p, "age"), view_age(taken)), "\n");
    if (view->partition)
        p = put_text(put_partition(&view->date, put_label(view, p, "partition"),
                                   view->partition == PARTITION_HOUR),
                     "\n");
    return p;
}

/* ---- TSV and CSV ---------------------------------------------------------- */

static char *put_columns(struct view *view, char *p, const struct taken *taken, char separator) {
    p = view_put_columns(view, view_put_id(view, p, taken->id), taken, separator);
    *p++ = '\n';
    return p;
}

/* ---- the table ------------------------------------------------------------ */

/* Moves the text at p to the right, so that it ends `width` bytes further on. */
static char *to_the_right(char *p, const char *end, int width) {
    const size_t len = (size_t)(end - p), room = (size_t)width > len ? (size_t)width - len : 0;
    memmove(p + room, p, len);
    memset(p, ' ', room);
    return p + room + len;
}

static int date_width(const struct view *view) {
    return view->date.zone.kind == ZONE_UTC ? 24 : 29;
}

static char *put_cells(struct view *view, char *p, const struct taken *taken) {
    p = to_the_right(p, view_put_id(view, p, taken->id), view->id_width);
    p = put_text(p, "  ");
    char *until = p + date_width(view);
    p = put_date(&view->date, p, taken->unix_ms);
    while (p < until)
        *p++ = ' ';
    p = put_text(p, "  ");
    p = to_the_right(p, put_dec(p, taken->pid), view->pid_width);
    p = put_text(p, "  ");
    p = to_the_right(p, put_dec(p, taken->seq), view->seq_width);
    if (view->partition)
        p = put_partition(&view->date, put_text(p, "  "), view->partition == PARTITION_HOUR);
    if (view->age)
        p = view_put_age(put_text(p, "  "), view_age(taken));
    return put_text(p, "\n");
}

static void table_header(const struct view *view) {
    out_print("%*s  %-*s  %*s  %*s", view->id_width, "id", date_width(view), "time",
              view->pid_width, "pid", view->seq_width, "seq");
    if (view->partition)
        out_print("  %-*s",
                  !view->age                          ? 0
                  : view->partition == PARTITION_HOUR ? 13
                                                      : 10,
                  "partition");
    out_print("%s\n", view->age ? "  age" : "");
}

/* ---- any format ----------------------------------------------------------- */

void view_header(const struct view *view) {
    if (view->format == VIEW_TABLE) {
        table_header(view);
        return;
    }
    if (view->format != VIEW_TSV && view->format != VIEW_CSV)
        return;
    char *p = put_text(out_room(OUT_ROOM), "id");
    out_until(put_text(view_put_names(view, p, "", view->format == VIEW_TSV ? '\t' : ','), "\n"));
}

void view_show(struct view *view, const struct taken *taken) {
    char *p = out_room(OUT_ROOM);
    switch (view->format) {
    case VIEW_JSON:
        p = view_put_json(view, p, taken);
        break;
    case VIEW_TSV:
        p = put_columns(view, p, taken, '\t');
        break;
    case VIEW_CSV:
        p = put_columns(view, p, taken, ',');
        break;
    case VIEW_TABLE:
        p = put_cells(view, p, taken);
        break;
    case VIEW_TEXT:
        p = put_rows(view, p, taken);
        break;
    }
    out_until(p);
    view->later = true;
}

bool view_id(struct view *view, int64_t id) {
    struct taken taken;
    if (!view_take(view, (sfid_wide){0, (uint64_t)id}, &taken))
        return false;
    view_show(view, &taken);
    return true;
}
