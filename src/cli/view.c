/* SPDX-License-Identifier: MIT */
/* view.c - an ID taken apart, as aligned text, JSON or TSV. */
#include "cli.h"

#include <string.h>
#include <time.h>

/* An ID later than this past now was not made by a sane clock. */
#define FUTURE_MS 60000

void view_begin(struct view *view, const sfid_layout *layout, enum view_format format) {
    memset(view, 0, sizeof *view);
    view->layout = *layout;
    view->format = format;
    if (sfid_layout_format(layout, view->name, sizeof view->name) < 0)
        view->name[0] = '\0'; /* a layout without a text form has none to show */

    sfid_field fields[SFID_LAYOUT_FIELDS];
    const int count = sfid_layout_fields(layout, fields, COUNT_OF(fields));
    for (int i = 0; i < count; i++) {
        const unsigned low = layout->pid_shift, high = low + layout->pid_bits;
        const bool in_pid = fields[i].shift >= low && fields[i].shift + fields[i].bits <= high;
        if (in_pid && fields[i].bits < layout->pid_bits)
            view->parts[view->part_count++] = fields[i];
    }
}

static bool is_future(int64_t unix_ms) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return unix_ms - FUTURE_MS > (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t part_of(const sfid_field *field, int64_t id) {
    return (uint64_t)id >> field->shift & ((UINT64_C(1) << field->bits) - 1);
}

static char *put_json(struct view *view, char *p, int64_t id, const sfid_parts *parts) {
    p = put_text(p, "{\"id\":\"");
    p = put_dec(&view->id, p, (uint64_t)id);
    p = put_text(p, "\",\"layout\":\"");
    p = put_text(p, view->name);
    p = put_text(p, "\",\"time\":\"");
    p = put_date(&view->date, p, parts->unix_ms);
    p = put_text(p, "\",\"unix_ms\":");
    p = put_int(&view->unix_ms, p, parts->unix_ms);
    p = put_text(p, ",\"tick\":");
    p = put_dec(&view->tick, p, parts->tick);
    p = put_text(p, ",\"pid\":");
    p = put_dec(&view->rest, p, parts->pid);
    p = put_text(p, ",\"seq\":");
    p = put_dec(&view->rest, p, parts->seq);
    for (int i = 0; i < view->part_count; i++) {
        p = put_text(p, ",\"");
        p = put_text(p, view->parts[i].name);
        p = put_text(p, "\":");
        p = put_dec(&view->rest, p, part_of(&view->parts[i], id));
    }
    if (is_future(parts->unix_ms))
        p = put_text(p, ",\"future\":true");
    return put_text(p, "}\n");
}

static char *put_label(char *p, const char *label) {
    char *value = p + 12;
    p = put_text(p, label);
    do
        *p++ = ' ';
    while (p < value);
    return p;
}

static char *put_row(struct view *view, char *p, const char *label, uint64_t value) {
    p = put_dec(&view->rest, put_label(p, label), value);
    *p++ = '\n';
    return p;
}

static char *put_rows(struct view *view, char *p, int64_t id, const sfid_parts *parts) {
    if (view->later)
        *p++ = '\n';
    p = put_row(view, p, "id", (uint64_t)id);
    p = put_text(put_label(p, "layout"), view->name);
    p = put_label(put_text(p, "\n"), "time");
    p = put_date(&view->date, p, parts->unix_ms);
    if (is_future(parts->unix_ms))
        p = put_text(p, " (in the future)");
    p = put_label(put_text(p, "\n"), "unix_ms");
    p = put_int(&view->unix_ms, p, parts->unix_ms);
    *p++ = '\n';
    p = put_row(view, p, "tick", parts->tick);
    p = put_row(view, p, "pid", parts->pid);
    for (int i = 0; i < view->part_count; i++)
        p = put_row(view, p, view->parts[i].name, part_of(&view->parts[i], id));
    return put_row(view, p, "seq", parts->seq);
}

static char *put_columns(struct view *view, char *p, int64_t id, const sfid_parts *parts) {
    p = put_dec(&view->id, p, (uint64_t)id);
    *p++ = '\t';
    p = put_date(&view->date, p, parts->unix_ms);
    *p++ = '\t';
    p = put_int(&view->unix_ms, p, parts->unix_ms);
    *p++ = '\t';
    p = put_dec(&view->tick, p, parts->tick);
    *p++ = '\t';
    p = put_dec(&view->rest, p, parts->pid);
    *p++ = '\t';
    p = put_dec(&view->rest, p, parts->seq);
    *p++ = '\n';
    return p;
}

void view_header(void) { out_print("id\ttime\tunix_ms\ttick\tpid\tseq\n"); }

bool view_id(struct view *view, int64_t id) {
    sfid_parts parts;
    if (sfid_parse(&view->layout, id, &parts) < 0)
        return false;
    char *p = out_room(OUT_ROOM);
    if (view->format == VIEW_JSON)
        p = put_json(view, p, id, &parts);
    else if (view->format == VIEW_TSV)
        p = put_columns(view, p, id, &parts);
    else
        p = put_rows(view, p, id, &parts);
    out_until(p);
    view->later = true;
    return true;
}
