/* SPDX-License-Identifier: MIT */
/* compare.c - sfid layout compare: whether one layout can take over from another while IDs live. */
#include "layout/compare.h"

#include "args/any_layout.h"
#include "io/digits.h"
#include "io/json.h"
#include "io/report.h"
#include "io/say.h"
#include "layout/id_set.h"
#include "text/reader.h"
#include "text/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* the order in COMPARE_OPTIONS */
enum { OLD_SINCE, OLD_UNTIL, OLD_PIDS, NEW_SINCE, NEW_UNTIL, NEW_PIDS };

/* OLD or NEW: a layout, its IDs, and those of them that count. */
struct side {
    const struct shown *shown;
    struct view view;
    struct id_set all;          /* of OLD, from --old-since on */
    struct id_set given;        /* from since until until */
    bool gives;                 /* there are IDs in given */
    struct moment since, until; /* when it begins and ends */
};

#define LINE 400
#define LONG_WAIT_MS INT64_C(3600000) /* for a longer one, another layout is worth a thought */

/* ---- IDs of any layout ---------------------------------------------------------- */

/* Writes an ID as users of its layout know it. */
static const char *id_text(const struct side *side, sfid_wide id, char text[SFID_WIDE_TEXT_LEN]) {
    *view_put_id(&side->view, text, id) = '\0';
    return text;
}

static void begin_side(struct side *side, const struct shown *shown) {
    static const sfid_wide_parts none;
    const struct any_layout any = {
        shown->wide, shown->layout, {.kind = shown->kind, .epoch_ms = shown->layout.epoch_ms}};
    struct id_set *set = &side->all;
    sfid_wide zero = {0, 0};
    *side = (struct side){.shown = shown};
    view_begin(&side->view, &any, VIEW_JSON);
    if (shown->wide && sfid_wide_compose(&any.wide_layout, &none, &zero) < 0)
        zero = (sfid_wide){0, 0}; /* cannot be: the layout was read */
    *set = (struct id_set){.epoch_ms = shown->layout.epoch_ms, .unit_ms = shown->layout.unit_ms};
    id_set_fields(set, shown->fields, shown->count, shown->facts.last_ms, zero);
    id_set_pids(set, shown->facts.first_pid, shown->facts.first_pid + shown->facts.processes - 1);
}

/* ---- options -------------------------------------------------------------------- */

/* Reads MIN-MAX or one pid. Returns false, with a message, if that is no span of pids of the
 * layout. */
static bool read_pids(const struct args *args, int i, struct side *side) {
    const struct shown *shown = side->shown;
    const uint64_t highest = shown->facts.first_pid + shown->facts.processes - 1;
    const char *text = args->value[i];
    if (text == NULL)
        return true;
    char first[24] = "";
    const char *hyphen = strchr(text, '-');
    const size_t len = hyphen ? (size_t)(hyphen - text) : strlen(text);
    uint64_t least, most;
    if (len < sizeof first)
        memcpy(first, text, len);
    if (!read_u64(first, highest, &least) ||
        !read_u64(hyphen ? hyphen + 1 : text, highest, &most) || least > most)
        return refuse(
            "%s: %s is not a range of pids of %s; expected MIN-MAX, such as 0-7, in 0 to %" PRIu64,
            args->label[i], QUOTE(text), shown->name, highest);
    id_set_pids(&side->all, least, most);
    return true;
}

/* Reads when a side begins and ends. Moments that are not given stay. Returns false, with a
 * message, if one is invalid. */
static bool read_span(const struct args *args, int since, int until, struct moment now,
                      struct side *side) {
    if ((args->value[since] && !args_time(args, since, now, &side->since)) ||
        (args->value[until] && !args_time(args, until, now, &side->until)))
        return false;
    if (args->value[since] == NULL || side->since.unix_ms <= side->until.unix_ms)
        return true;
    if (args->value[until])
        say("%s: %s is later than %s %s", args->label[since], QUOTE(args->value[since]),
            args->label[until], QUOTE(args->value[until]));
    else
        /* NEW has no end */
        say("%s: %s is later than now; give --old-until, too", args->label[since],
            QUOTE(args->value[since]));
    return false;
}

static bool read_sides(const struct args *args, int first, struct side *old, struct side *next) {
    const struct moment now = moment_now();
    old->since.unix_ms = old->shown->layout.epoch_ms;
    old->until = now;
    if (!read_span(args, first + OLD_SINCE, first + OLD_UNTIL, now, old))
        return false;
    next->since = old->until;
    next->until.unix_ms = INT64_MAX;
    return read_span(args, first + NEW_SINCE, first + NEW_UNTIL, now, next) &&
           read_pids(args, first + OLD_PIDS, old) && read_pids(args, first + NEW_PIDS, next);
}

static bool is_awsflake(const struct shown *shown) {
    return shown->wide && shown->kind == SFID_AWSFLAKE;
}

/* Returns whether the IDs of both are numbers of one width. If not, prints a message. */
static bool are_comparable(const struct shown *old, const struct shown *next) {
    if (old->wide != next->wide)
        say("layout compare: IDs of %s have 64 bits, those of %s have 128 and another text form, so they cannot be equal; expected "
            "two layouts of 64 bits, or two of 128",
            old->wide ? next->name : old->name, old->wide ? old->name : next->name);
    else if (is_awsflake(old) != is_awsflake(next))
        say("layout compare: IDs of awsflake have 77 bits and are written in base62, those of %s have 128; expected two layouts of "
            "one width, such as awsflake and awsflake@0",
            is_awsflake(old) ? next->name : old->name);
    else
        return true;
    return false;
}

/* ---- findings --------------------------------------------------------------------- */

static void find_old(struct report *report, const struct side *old) {
    char widths[LAYOUT_WIDTHS], id[SFID_WIDE_TEXT_LEN], until[DATE_ROOM];
    date_text(until, old->until.unix_ms);
    report_topic(report, "old");
    if (report->json) {
        layout_json(old->shown);
        json_text("until", until);
        if (old->gives)
            json_text("highest", id_text(old, id_set_highest(&old->given), id));
    }
    if (old->gives)
        report_fine(report, "%s: %s; until %s it gives IDs up to %s", old->shown->name,
                    layout_widths(old->shown, widths), until,
                    id_text(old, id_set_highest(&old->given), id));
    else
        report_problem(report, STATUS_GOOD,
                       "compare them the other way round, if OLD is to replace NEW",
                       "%s: %s; until %s it gives no ID: it begins at %s", old->shown->name,
                       layout_widths(old->shown, widths), until, old->shown->epoch);
}

static void find_new(struct report *report, const struct side *next) {
    char widths[LAYOUT_WIDTHS], id[SFID_WIDE_TEXT_LEN], since[DATE_ROOM];
    date_text(since, next->since.unix_ms);
    report_topic(report, "new");
    if (report->json) {
        layout_json(next->shown);
        json_text("since", since);
        if (next->gives)
            json_text("lowest", id_text(next, id_set_lowest(&next->given), id));
    }
    layout_widths(next->shown, widths);
    if (!next->gives)
        report_problem(report, STATUS_CONFIG, "use a layout that lasts longer",
                       "%s: %s; from %s on it gives no ID: its ticks begin between %s and %s",
                       next->shown->name, widths, since, next->shown->epoch, next->shown->last);
    else if (next->since.unix_ms < next->shown->layout.epoch_ms)
        report_problem(report, STATUS_GOOD, NULL,
                       "%s: %s; it gives no ID before %s, then IDs from %s up", next->shown->name,
                       widths, next->shown->epoch, id_text(next, id_set_lowest(&next->given), id));
    else
        report_fine(report, "%s: %s; from %s on it gives IDs from %s up", next->shown->name, widths,
                    since, id_text(next, id_set_lowest(&next->given), id));
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Finds when NEW may begin at the earliest: from then on its IDs are above all that OLD has
 * given. */
static bool earliest(const struct side *old, const struct side *next, int64_t *ms) {
    return id_set_above(&next->all, id_set_highest(&old->given), ms);
}

/*
 * Writes NEW with an epoch so much earlier that its first IDs are those that would begin at this
 * moment. Returns false if that is no layout, or has no text form.
 */
static bool earlier_epoch(const struct side *next, int64_t ms, char name[SFID_LAYOUT_STR_LEN]) {
    sfid_layout layout = next->shown->layout;
    const int64_t unit_ms = layout.unit_ms,
                  wait_ms = ms - later(next->since.unix_ms, layout.epoch_ms);
    if (next->shown->wide || next->since.unix_ms < layout.epoch_ms || wait_ms < LONG_WAIT_MS)
        return false;
    layout.epoch_ms -= (wait_ms + unit_ms - 1) / unit_ms * unit_ms;
    layout.pid_low = 0; /* no preset has this epoch */
    return sfid_layout_format(&layout, name, SFID_LAYOUT_STR_LEN) == 0;
}

static const char *cure_of(const struct side *old, const struct side *next, char text[LINE]) {
    char name[SFID_LAYOUT_STR_LEN];
    int64_t ms;
    if (!earliest(old, next, &ms))
        return "use a layout with higher IDs: NEW ends before its own get above those of OLD";
    const int n = snprintf(text, LINE, "let NEW begin at %s, or later", DATED(ms));
    if (earlier_epoch(next, ms, name))
        snprintf(text + n, (size_t)(LINE - n), "; or use the layout %s", name);
    return text;
}

static void put_parts(const char *key, const struct side *side, sfid_wide id, char text[LINE]) {
    char date[DATE_ROOM], form[SFID_WIDE_TEXT_LEN];
    struct taken parts = {.unix_ms = 0};
    (void)view_take(&side->view, id, &parts); /* it is an ID of both */
    date_text(date, parts.unix_ms);
    if (key) {
        json_open(key, '{');
        json_text("id", id_text(side, id, form));
        json_text("time", date);
        json_int("unix_ms", parts.unix_ms);
        json_uint("pid", parts.pid);
        json_uint("seq", parts.seq);
        json_close('}');
    }
    snprintf(text, LINE, "%s, pid %" PRIu64 ", seq %" PRIu64, date, parts.pid, parts.seq);
}

/* Writes where the IDs meet: "at 2027-10-25T…: 7813… is (time, pid, seq) in OLD and (…) in NEW". In
 * JSON also as facts. */
static void meeting_text(const struct side *old, const struct side *next, sfid_wide id, bool json,
                         char text[LINE]) {
    char date[DATE_ROOM], form[SFID_WIDE_TEXT_LEN], in_old[LINE], in_new[LINE];
    const int64_t begins = later(id_set_time(&old->all, id), id_set_time(&next->all, id));
    const int64_t at_ms = later(begins, later(old->since.unix_ms, next->since.unix_ms));
    date_text(date, at_ms);
    if (json) {
        json_text("at", date);
        json_int("at_ms", at_ms);
    }
    put_parts(json ? "in_old" : NULL, old, id, in_old);
    put_parts(json ? "in_new" : NULL, next, id, in_new);
    snprintf(text, LINE, "at %s: %s is (%.100s) in OLD and (%.100s) in NEW", date,
             id_text(next, id, form), in_old, in_new);
}

static void find_equal(struct report *report, const struct side *old, const struct side *next) {
    sfid_wide id;
    char text[LINE], cure[LINE];
    report_topic(report, "equal");
    const bool meets = old->gives && next->gives && id_sets_meet(&old->given, &next->given, &id);
    if (report->json)
        json_bool("possible", meets);
    if (!meets) {
        report_fine(report, "no ID that NEW gives is one that OLD has given");
        return;
    }
    meeting_text(old, next, id, report->json, text);
    report_problem(report, STATUS_CONFIG, cure_of(old, next, cure),
                   "NEW gives IDs that OLD has given, first %s", text);
}

static void find_order(struct report *report, const struct side *old, const struct side *next) {
    char cure[LINE], low[SFID_WIDE_TEXT_LEN], high[SFID_WIDE_TEXT_LEN];
    int64_t ms;
    const bool both = old->gives && next->gives;
    const sfid_wide lowest = id_set_lowest(&next->given), highest = id_set_highest(&old->given);
    const bool in_order = !both || sfid_wide_compare(lowest, highest) > 0;
    report_topic(report, "order");
    if (report->json) {
        json_bool("in_order", in_order);
        if (both && earliest(old, next, &ms))
            json_text("earliest", DATED(ms));
    }
    if (!both)
        report_fine(report, "one of the two gives no ID");
    else if (in_order)
        report_fine(
            report,
            "each ID that NEW gives is above all that OLD has given: %s and above are NEW's",
            id_text(next, lowest, low));
    else
        report_problem(
            report, STATUS_BAD_INPUT, cure_of(old, next, cure),
            "NEW gives IDs below some that OLD has given: from %s, while OLD has reached %s",
            id_text(next, lowest, low), id_text(old, highest, high));
}

/* When OLD ends at the moment at which NEW begins: whether that is in order, at which moments. */
static void find_switch(struct report *report, const struct side *old, const struct side *next) {
    char date[DATE_ROOM];
    int64_t ms;
    report_topic(report, "switch");
    const bool ever_wrong = id_sets_order_from(&old->all, &next->all, &ms);
    const bool for_good = !ever_wrong || ms < next->shown->facts.last_ms;
    date_text(date, ever_wrong ? ms : next->shown->layout.epoch_ms);
    if (report->json && for_good)
        json_text("in_order_from", date);
    if (!ever_wrong) {
        report_fine(report, "at any moment NEW may begin where OLD ends");
        return;
    }
    if (for_good) {
        report_fine(report, "from %s on, NEW may begin at any moment at which OLD ends", date);
        return;
    }
    struct id_set given = old->all, coming = next->all;
    const int64_t at_ms = next->since.unix_ms;
    const bool in_order = !id_set_span(&given, INT64_MIN, at_ms) ||
                          !id_set_span(&coming, at_ms, INT64_MAX) ||
                          sfid_wide_compare(id_set_lowest(&coming), id_set_highest(&given)) > 0;
    if (in_order && id_sets_order_until(&old->all, &next->all, at_ms, &ms)) {
        date_text(date, ms);
        if (report->json)
            json_text("in_order_until", date);
        report_problem(report, STATUS_GOOD, "begin NEW before that",
                       "until %s, NEW may begin where OLD ends; later not always", date);
        return;
    }
    report_fine(
        report,
        "there is no moment from which on NEW may always begin where OLD ends: it has to begin later");
}

static void find_together(struct report *report, const struct side *old, const struct side *next) {
    sfid_wide id;
    char text[LINE];
    report_topic(report, "side by side");
    const bool meets = next->gives && id_sets_meet(&old->all, &next->given, &id);
    if (report->json)
        json_bool("possible", meets);
    if (!meets) {
        report_fine(report, "if OLD goes on to its end, no ID of NEW is ever equal to one of OLD");
        return;
    }
    meeting_text(old, next, id, report->json, text);
    if (old->gives && sfid_wide_compare(id, id_set_highest(&old->given)) <= 0)
        snprintf(text, sizeof text, "as above");
    report_problem(report, STATUS_GOOD, NULL, "if OLD goes on, IDs are first equal %s", text);
}

/* An ID of OLD that is read in NEW has a time, too: nothing in an ID shows its layout. */
static void find_reading(struct report *report, const struct side *old, const struct side *next) {
    struct taken in_old, in_new;
    char was[DATE_ROOM], reads[DATE_ROOM];
    report_topic(report, "reading");
    if (old->shown->facts.fingerprint == next->shown->facts.fingerprint) {
        report_fine(report, "both read an ID alike");
        return;
    }
    struct id_set last = old->all;
    if (!old->gives || !id_set_span(&last, old->until.unix_ms, INT64_MAX)) {
        report_fine(report, "OLD gives no ID at its end");
        return;
    }
    const sfid_wide id = id_set_lowest(&last);
    const bool reads_as_new =
        view_take(&next->view, id, &in_new) && view_take(&old->view, id, &in_old);
    if (!reads_as_new) {
        report_fine(report, "the last IDs of OLD are none in NEW: decode refuses them");
        return;
    }
    date_text(was, in_old.unix_ms);
    date_text(reads, in_new.unix_ms);
    if (report->json) {
        json_text("time_in_old", was);
        json_text("time_in_new", reads);
    }
    report_problem(
        report, STATUS_GOOD,
        "read each ID in the layout that made it: nothing in an ID shows which one that is",
        "an ID of OLD of %s is, in NEW, one of %s", was, reads);
}

int layout_compare(const struct args *args, int first, const struct shown *old_shown,
                   const struct shown *next_shown, bool json) {
    struct side old, next;
    struct report report;
    if (!are_comparable(old_shown, next_shown))
        return STATUS_USAGE;
    begin_side(&old, old_shown);
    begin_side(&next, next_shown);
    if (!read_sides(args, first, &old, &next))
        return STATUS_USAGE;
    next.given = next.all;
    next.gives = id_set_span(&next.given, next.since.unix_ms, next.until.unix_ms);
    if (!id_set_span(&old.all, old.since.unix_ms, INT64_MAX))
        return fail(STATUS_USAGE, "--old-since: %s ends before that, at %s", old_shown->name,
                    old_shown->last);
    old.given = old.all;
    old.gives = id_set_span(&old.given, INT64_MIN, old.until.unix_ms);

    report_begin(&report, json);
    find_old(&report, &old);
    find_new(&report, &next);
    find_equal(&report, &old, &next);
    find_order(&report, &old, &next);
    find_switch(&report, &old, &next);
    find_together(&report, &old, &next);
    find_reading(&report, &old, &next);
    return report_end(&report);
}
