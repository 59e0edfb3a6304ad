/* SPDX-License-Identifier: MIT */
/* view.c - takes an ID apart. */
#include "text/view.h"

#include <time.h>

/* A later ID came from a wrong clock. */

/* How wide a column is whose largest value this is. */
static int width_of(uint64_t value) {
    const int least = 3;
    int n = 1;
    while (value >= 10) {
        value /= 10;
        n++;
    }
    return n < least ? least : n;
}

static int at_least(int least, int n) { return n < least ? least : n; }

/* Returns whether the field's makers have a word for it. A part of the sequence has a name only
 * because it is not in one piece. */
static bool is_named(const sfid_field *field, unsigned seq_bits) {
    if (field->kind == SFID_FIELD_SEQ)
        return field->bits == seq_bits && strcmp(field->name, "seq") != 0;
    return (field->kind == SFID_FIELD_TIME && strcmp(field->name, "time") != 0) ||
           (field->kind == SFID_FIELD_PID && strcmp(field->name, "pid") != 0);
}

static void find_own(struct view *view, const sfid_field *fields, int count, unsigned seq_bits) {
    enum { LEAST = 10 };
    view->label_width = LEAST;
    for (int i = 0; i < count; i++)
        if (is_named(&fields[i], seq_bits)) {
            view->own[view->own_count++] = fields[i];
            view->label_width = at_least((int)strlen(fields[i].name), view->label_width);
        }
}

void view_begin(struct view *view, const sfid_layout *layout, enum view_format format) {
    sfid_field fields[SFID_LAYOUT_FIELDS];
    memset(view, 0, sizeof *view);
    view->layout = *layout;
    view->format = format;
    if (sfid_layout_format(layout, view->name, sizeof view->name) < 0)
        view->name[0] = '\0'; /* the layout has no text form */
    view->name_len = strlen(view->name);
    find_own(view, fields, sfid_layout_fields(layout, fields, COUNT_OF(fields)), layout->seq_bits);
    view->id_width = width_of(INT64_MAX);
    view->pid_width = width_of(layout->max_pid);
    view->seq_width = width_of(layout->max_seq);
}

void view_begin_wide(struct view *view, const sfid_wide_layout *layout, enum view_format format) {
    enum { AWSFLAKE_DIGITS = 13 };
    sfid_wide_facts facts;
    sfid_field fields[SFID_LAYOUT_FIELDS];
    memset(view, 0, sizeof *view);
    view->wide = true;
    view->wide_layout = *layout;
    view->format = format;
    if (sfid_wide_layout_describe(layout, &facts) < 0 ||
        sfid_wide_layout_format(layout, view->name, sizeof view->name) < 0)
        return; /* impossible: the layout was accepted */
    view->name_len = strlen(view->name);
    view->form = facts.form;
    view->width = facts.width;
    view->random = facts.max_random > 0;
    view->id_width = at_least(AWSFLAKE_DIGITS, (int)facts.width);
    view->pid_width = width_of(facts.max_pid);
    view->seq_width = width_of(facts.max_seq);
    const unsigned seq_bits = 64 - (unsigned)__builtin_clzll(facts.max_seq | 1);
    find_own(view, fields, sfid_wide_layout_fields(layout, fields, COUNT_OF(fields)), seq_bits);
}

bool view_take(const struct view *view, sfid_wide id, struct taken *taken) {
    sfid_parts parts;
    if (view->wide) {
        sfid_wide_parts wide;
        if (sfid_wide_parse(&view->wide_layout, id, &wide) < 0)
            return false;
        *taken = (struct taken){id, wide.tick, wide.pid, wide.seq, wide.random, wide.unix_ms};
        return true;
    }
    if (sfid_inline_parse(&view->layout, (int64_t)id.low, &parts) < 0)
        return false;
    *taken = (struct taken){id, parts.tick, parts.pid, parts.seq, 0, parts.unix_ms};
    return true;
}

static int64_t ms_since(int64_t unix_ms, clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - unix_ms;
}

int64_t view_age(const struct taken *taken) { return ms_since(taken->unix_ms, CLOCK_REALTIME); }

/* Asks the clock only about times after the last answer, and one that costs a fifth and is a few
 * milliseconds late. */
bool view_is_future(const struct taken *taken) {
    static int64_t now;
    if (taken->unix_ms - MINUTE <= now)
        return false;
    now = taken->unix_ms + ms_since(taken->unix_ms, CLOCK_REALTIME_COARSE);
    return taken->unix_ms - MINUTE > now;
}
