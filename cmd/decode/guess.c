/* SPDX-License-Identifier: MIT */
/*
 * guess.c - guesses which layout IDs have.
 *
 * An ID does not say, but most layouts make nonsense of it: a time in the
 * future, or before anybody generated such IDs. The others get points for
 * recent IDs, low sequences, and few processes with many IDs. The output gives
 * the reasons.
 */
#include "decode/all.h"

#include <stdarg.h>

#define DAY INT64_C(86400000)
#define YEAR (365 * DAY + DAY / 4)

/* ---- points, and why -------------------------------------------------------- */

static void points(struct candidate *c, int score, const char *fmt, ...) CLI_PRINTF(3, 4);
static void points(struct candidate *c, int score, const char *fmt, ...) {
    const size_t len = strlen(c->why);
    const int n = snprintf(c->why + len, sizeof c->why - len, "%s", len ? "; " : "");
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->why + len + n, sizeof c->why - len - (size_t)n, fmt, args);
    va_end(args);
    c->score += score;
}

static int share(uint64_t part, uint64_t whole) { return (int)(part * 100 / whole) + (part > 0); }

static void judge_times(struct candidate *c) {
    const struct taken last = {.unix_ms = c->last};
    char age[40];
    if (c->future > 0) {
        points(c, -20 - share(c->future, c->fits), "%llu dated in the future", (unsigned long long)c->future);
        return;
    }
    if (c->early > 0)
        points(c, -share(c->early, c->fits) / 2, "%llu dated before such IDs existed", (unsigned long long)c->early);
    const int64_t ms = view_age(&last);
    *view_put_age(age, ms) = '\0';
    points(c, ms < DAY ? 40 : ms < 30 * DAY ? 10 : 0, "the newest is %s old", age);
    if (c->fits >= GUESS_SOME && c->last - c->first > 10 * YEAR)
        points(c, -10, "they span %d years", (int)((c->last - c->first) / YEAR));
}

static void judge_sequences(struct candidate *c) {
    const double mean = c->seq_sum / (double)c->fits;
    if (c->view.wide || c->max_pid == 0)
        return; /* partly random, or the sequence is all there is below the time */
    if (mean * 16 < (double)c->max_seq)
        points(c, 10, "sequences are low, %.0f of %llu on average", mean, (unsigned long long)c->max_seq);
    else if (c->fits >= GUESS_SOME && mean * 4 > (double)c->max_seq)
        points(c, -10, "sequences are spread out, %.0f of %llu on average", mean, (unsigned long long)c->max_seq);
}

static void judge_pids(struct candidate *c) {
    if (c->low_pid)
        points(c, -20, "pid 0, which its makers do not use");
    if (c->fits < GUESS_SOME || c->max_pid == 0 || c->view.wide)
        return;
    if (c->pid_count == GUESS_PIDS)
        points(c, c->fits < GUESS_PIDS * 4 ? -10 : 0, "%u pids or more", c->pid_count);
    else if (c->pid_count * 4 <= c->fits)
        points(c, 10, "%u pid%s generated them all", c->pid_count, c->pid_count == 1 ? "" : "s");
    else if (c->pid_count * 2 > c->fits)
        points(c, -10, "%u pids among them", c->pid_count);
}

/* Returns whether both read the same from every ID: some layouts have two names. */
static bool is_alike(const struct candidate *a, const struct candidate *b) {
    return a == b || (a->fits == b->fits && a->first == b->first && a->last == b->last && a->seq_sum == b->seq_sum);
}

/* Returns the percentage of a mixture that has this layout, or 0. */
static unsigned share_of(const struct guess *guess, const struct candidate *c, const struct mixture *mixture) {
    for (size_t i = 0; i < mixture->parts; i++)
        if (is_alike(c, &guess->candidate[mixture->layout[i]]))
            return mixture->percent[i];
    return 0;
}

static void judge(const struct guess *guess, struct candidate *c, const struct mixture *mixture) {
    const uint64_t count = guess->count;
    c->score = 100;
    if (c->fits < count)
        points(c, -share(count - c->fits, count), "%llu of %llu do not fit", (unsigned long long)(count - c->fits),
               (unsigned long long)count);
    else
        points(c, 0, count == 1 ? "it fits" : "all %llu fit", (unsigned long long)count);
    const unsigned own = share_of(guess, c, mixture);
    if (own > 0) { /* how it reads the other IDs proves nothing */
        points(c, (int)own, "%u %% are likely of this layout", own);
        return;
    }
    if (mixture->parts > 0 && !c->view.wide)
        points(c, -100, "none is likely of this layout");
    judge_times(c);
    judge_sequences(c);
    judge_pids(c);
    if (c->score < 0)
        c->score = 0;
}

/* ---- output ------------------------------------------------------------------ */

static void show(const struct candidate *c, enum view_format format) {
    char first[DATE_ROOM], last[DATE_ROOM];
    date_text(first, c->first);
    date_text(last, c->last);
    if (format == VIEW_JSON) {
        json_open(NULL, '{');
        json_text("layout", c->view.name);
        json_int("score", c->score);
        json_uint("fits", c->fits);
        json_text("first", first);
        json_text("last", last);
        json_text("why", c->why);
        json_end();
    } else if (format == VIEW_TSV) {
        out_print("%s\t%d\t%s\t%s\t%s\n", c->view.name, c->score, first, last, c->why);
    } else if (format == VIEW_CSV) {
        out_print("%s,%d,%s,%s,\"%s\"\n", c->view.name, c->score, first, last, c->why);
    } else {
        out_print("%-11s  %5d  %-24s  %-24s  %s\n", c->view.name, c->score, first, last, c->why);
    }
}

static void show_header(enum view_format format, bool header) {
    if (format == VIEW_TEXT || format == VIEW_TABLE)
        out_print("%-11s  %5s  %-24s  %-24s  %s\n", "layout", "score", "first", "last", "why");
    else if (header)
        out_print(format == VIEW_TSV ? "layout\tscore\tfirst\tlast\twhy\n" : "layout,score,first,last,why\n");
}

static void tell_mixture(const struct guess *guess, const struct mixture *mixture) {
    char parts[200] = "", date[DATE_ROOM];
    for (size_t i = 0; i < mixture->parts; i++) {
        const size_t len = strlen(parts);
        const char *between = i == 0 ? "" : i + 1 < mixture->parts ? ", " : " and ";
        snprintf(parts + len, sizeof parts - len, "%s%s (%u %%)", between, guess->candidate[mixture->layout[i]].view.name,
                 mixture->percent[i]);
    }
    date_text(date, mixture->last);
    say("these look like IDs of several layouts: read as %s, all are from about %.10s; guess each kind separately", parts, date);
}

void guess_report(struct guess *guess, enum view_format format, bool header) {
    struct mixture mixture;
    if (guess_find_mixture(guess, &mixture))
        tell_mixture(guess, &mixture);
    for (size_t i = 0; i < guess->layouts; i++)
        if (guess->candidate[i].fits > 0)
            judge(guess, &guess->candidate[i], &mixture);
    show_header(format, header);
    for (int score = 1000; score >= 0; score--) /* equal scores: in the order of the list */
        for (size_t i = 0; i < guess->layouts; i++)
            if (guess->candidate[i].fits > 0 && guess->candidate[i].score == score)
                show(&guess->candidate[i], format);
}
