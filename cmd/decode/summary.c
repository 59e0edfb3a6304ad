/* SPDX-License-Identifier: MIT */
/* summary.c - writes statistics of IDs as text and JSON. */
#include "decode/summary.h"

#include "io/json.h"
#include "text/show.h"

#include <inttypes.h>

/* A pid with more than this many times its share is hot. */
#define HOT 2

static bool is_hot(const struct summary *s, const struct pid_count *pid) {
    return pid->count * s->pids > s->count * HOT;
}

/* Thousandths, so that JSON and text agree to the digit. */
static unsigned per_mille(const struct summary *s, size_t count) {
    return (unsigned)((uint64_t)count * 1000 / s->count);
}

static void age_text(char text[40], int64_t ms) { *view_put_age(text, ms) = '\0'; }

static int64_t ms_of(const struct view *view, sfid_wide id) {
    struct taken taken = {.unix_ms = 0};
    return view_take(view, id, &taken) ? taken.unix_ms : 0;
}

static void id_text(struct view *view, char text[SFID_WIDE_TEXT_LEN], sfid_wide id) {
    *view_put_id(view, text, id) = '\0';
}

/* Writes the common name of a pid. Returns false if it has none. */
static bool pid_name(const struct view *view, uint64_t pid, char name[VIEW_PID_NAME]) {
    return view->wide && view_pid_name(view, &(struct taken){.pid = pid}, name);
}

/* ---- text ------------------------------------------------------------------ */

static void show_lists(struct view *view, const struct summary *s) {
    char date[DATE_ROOM], to[DATE_ROOM], span[40], id[SFID_WIDE_TEXT_LEN], name[VIEW_PID_NAME];
    for (size_t i = 0; i < s->hot; i++) {
        const struct pid_count *pid = &s->hottest[i];
        const unsigned share = per_mille(s, pid->count);
        const bool named = pid_name(view, pid->pid, name);
        out_print("%-14s  %" PRIu64 "%s%s%s: %zu IDs, %u.%u %%%s\n", "pid", pid->pid,
                  named ? " (" : "", named ? name : "", named ? ")" : "", pid->count, share / 10,
                  share % 10, is_hot(s, pid) ? ", hot" : "");
    }
    for (size_t i = 0; i < s->gaps; i++) {
        date_text(date, s->gap[i].from);
        date_text(to, s->gap[i].to);
        age_text(span, s->gap[i].to - s->gap[i].from);
        out_print("%-14s  %s, from %s to %s\n", "gap", span, date, to);
    }
    for (size_t i = 0; i < s->repeats; i++) {
        id_text(view, id, s->repeat[i].id);
        out_print("%-14s  %s, %zu times\n", "duplicate", id, s->repeat[i].count);
    }
    for (size_t i = 0; i < s->order.shown; i++) {
        const struct misplaced *m = &s->order.list[i];
        date_text(date, ms_of(view, m->id));
        id_text(view, id, m->id);
        out_print("%-14s  %s of %s, ID number %zu, is %zu place%s out of order\n", "order break",
                  id, date, m->number, m->places, m->places == 1 ? "" : "s");
    }
}

static void show_summary_text(struct view *view, const struct summary *s) {
    char date[DATE_ROOM], span[40];
    out_print("%-14s  %zu\n", "IDs", s->count);
    if (s->count == 0)
        return;
    date_text(date, s->first);
    out_print("%-14s  %s\n", "first", date);
    date_text(date, s->last);
    out_print("%-14s  %s\n", "last", date);
    age_text(span, s->last - s->first);
    out_print("%-14s  %s\n", "span", span);
    out_print("%-14s  %zu\n", "duplicates", s->count - s->distinct);
    out_print("%-14s  %zu", "order breaks", s->breaks);
    if (s->breaks > 0)
        out_print(", the farthest by %zu place%s", s->order.farthest.places,
                  s->order.farthest.places == 1 ? "" : "s");
    date_text(date, s->second_peak_at);
    out_print("\n%-14s  %zu on average over %zu seconds with IDs, %zu at most, at %s\n",
              "IDs per second", s->count / s->seconds, s->seconds, s->second_peak, date);
    out_print("%-14s  %zu seconds with over 4 times the average\n", "bursts", s->bursts);
    date_text(date, s->pid_second_peak_at);
    out_print("%-14s  %zu on average, %zu at most, pid %" PRIu64 " at %s\n", "pid and second",
              s->count / s->pid_seconds, s->pid_second_peak, s->pid_second_peak_pid, date);
    date_text(date, s->tick_peak_at);
    out_print("%-14s  %zu of %" PRIu64 " at most, pid %" PRIu64 " at %s\n", "pid and tick",
              s->tick_peak, s->max_seq + 1, s->tick_peak_pid, date);
    out_print("%-14s  %zu\n", "pids", s->pids);
    show_lists(view, s);
}

/* ---- JSON ------------------------------------------------------------------ */

static void put_time(const char *key, int64_t unix_ms) {
    char date[DATE_ROOM];
    date_text(date, unix_ms);
    json_text(key, date);
}

static void put_id(struct view *view, const char *key, sfid_wide id) {
    char text[SFID_WIDE_TEXT_LEN];
    id_text(view, text, id);
    json_text(key, text);
}

static void put_peaks(const struct summary *s) {
    json_uint("seconds", s->seconds);
    json_uint("ids_per_second", s->count / s->seconds);
    json_open("second_peak", '{');
    json_uint("ids", s->second_peak);
    put_time("time", s->second_peak_at);
    json_close('}');
    json_uint("bursts", s->bursts);
    json_uint("ids_per_pid_and_second", s->count / s->pid_seconds);
    json_open("pid_second_peak", '{');
    json_uint("ids", s->pid_second_peak);
    json_uint("pid", s->pid_second_peak_pid);
    put_time("time", s->pid_second_peak_at);
    json_close('}');
    json_open("tick_peak", '{');
    json_uint("ids", s->tick_peak);
    json_uint("of", s->max_seq + 1);
    json_uint("pid", s->tick_peak_pid);
    put_time("time", s->tick_peak_at);
    json_close('}');
}

static void put_pids(const struct view *view, const struct summary *s) {
    char name[VIEW_PID_NAME];
    json_uint("pids", s->pids);
    json_open("hottest", '[');
    for (size_t i = 0; i < s->hot; i++) {
        json_open(NULL, '{');
        json_uint("pid", s->hottest[i].pid);
        if (pid_name(view, s->hottest[i].pid, name))
            json_text(view_pid_label(view), name);
        json_uint("ids", s->hottest[i].count);
        json_bool("hot", is_hot(s, &s->hottest[i]));
        json_close('}');
    }
    json_close(']');
}

static void put_lists(struct view *view, const struct summary *s) {
    json_open("gaps", '[');
    for (size_t i = 0; i < s->gaps; i++) {
        json_open(NULL, '{');
        put_time("from", s->gap[i].from);
        put_time("to", s->gap[i].to);
        json_int("ms", s->gap[i].to - s->gap[i].from);
        json_close('}');
    }
    json_close(']');
    json_open("duplicate_ids", '[');
    for (size_t i = 0; i < s->repeats; i++) {
        json_open(NULL, '{');
        put_id(view, "id", s->repeat[i].id);
        json_uint("times", s->repeat[i].count);
        json_close('}');
    }
    json_close(']');
    json_open("misplaced_ids", '[');
    for (size_t i = 0; i < s->order.shown; i++) {
        json_open(NULL, '{');
        put_id(view, "id", s->order.list[i].id);
        json_uint("number", s->order.list[i].number);
        json_uint("places", s->order.list[i].places);
        json_close('}');
    }
    json_close(']');
}

static void show_summary_json(struct view *view, const struct summary *s) {
    json_open(NULL, '{');
    if (view->name[0])
        json_text("layout", view->name);
    json_uint("ids", s->count);
    if (s->count > 0) {
        put_time("first", s->first);
        put_time("last", s->last);
        json_int("span_ms", s->last - s->first);
        json_uint("duplicates", s->count - s->distinct);
        json_uint("order_breaks", s->breaks);
        json_uint("farthest_break", s->order.farthest.places);
        put_peaks(s);
        put_pids(view, s);
        put_lists(view, s);
    }
    json_end();
}

void stats_show(struct view *view, const struct summary *summary, enum view_format format) {
    if (format == VIEW_JSON)
        show_summary_json(view, summary);
    else
        show_summary_text(view, summary);
}
