/* SPDX-License-Identifier: MIT */
/* show.c - shows the parts of an ID as aligned text, a table, JSON, TSV or CSV. */
#include "text/all.h"

#include <string.h>

/* ---- one ID --------------------------------------------------------------- */

static char *put_json(struct view *view, char *p, const struct taken *taken) {
    p = view_put_id(view, put_text(p, "{\"id\":\""), taken->id);
    p = put_text(p, "\",\"layout\":\"");
    p = put_text(p, view->name);
    p = view_put_members(view, put_text(p, "\","), taken);
    return put_text(p, "}\n");
}

static char *put_rows(struct view *view, char *p, const struct taken *taken) {
    char name[VIEW_PID_NAME];
    if (view->later)
        *p++ = '\n';
    p = view_put_id(view, put_label(p, "id"), taken->id);
    p = put_text(put_label(put_text(p, "\n"), "layout"), view->name);
    p = put_date(&view->date, put_label(put_text(p, "\n"), "time"), taken->unix_ms);
    if (view_is_future(taken))
        p = put_text(p, " (in the future)");
    p = put_int(&view->unix_ms, put_label(put_text(p, "\n"), "unix_ms"), taken->unix_ms);
    *p++ = '\n';
    p = put_row(&view->rest, p, "tick", taken->tick);
    p = put_row(&view->rest, p, "pid", taken->pid);
    for (int i = 0; i < view->part_count; i++)
        p = put_row(&view->rest, p, view->parts[i].name, view_part(&view->parts[i], taken->id));
    if (view->wide && view_pid_name(view, taken, name))
        p = put_text(put_text(put_label(p, view_pid_label(view)), name), "\n");
    p = put_row(&view->rest, p, "seq", taken->seq);
    if (view->random)
        p = put_row(&view->rest, p, "random", taken->random);
    if (view->age)
        p = put_text(view_put_age(put_label(p, "age"), view_age(taken)), "\n");
    if (view->partition)
        p = put_text(put_partition(&view->date, put_label(p, "partition"), view->partition == PARTITION_HOUR), "\n");
    return p;
}

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

static int date_width(const struct view *view) { return view->date.zone.kind == ZONE_UTC ? 24 : 29; }

static char *put_cells(struct view *view, char *p, const struct taken *taken) {
    p = to_the_right(p, view_put_id(view, p, taken->id), view->id_width);
    p = put_text(p, "  ");
    char *until = p + date_width(view);
    p = put_text(put_spaces(put_date(&view->date, p, taken->unix_ms), until), "  ");
    p = to_the_right(p, put_dec(&view->pid, p, taken->pid), view->pid_width);
    p = put_text(p, "  ");
    p = to_the_right(p, put_dec(&view->seq, p, taken->seq), view->seq_width);
    if (view->partition)
        p = put_partition(&view->date, put_text(p, "  "), view->partition == PARTITION_HOUR);
    if (view->age)
        p = view_put_age(put_text(p, "  "), view_age(taken));
    return put_text(p, "\n");
}

static void table_header(const struct view *view) {
    out_print("%*s  %-*s  %*s  %*s", view->id_width, "id", date_width(view), "time", view->pid_width, "pid", view->seq_width,
              "seq");
    if (view->partition)
        out_print("  %-*s", !view->age ? 0 : view->partition == PARTITION_HOUR ? 13 : 10, "partition");
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
        p = put_json(view, p, taken);
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
