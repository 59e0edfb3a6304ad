/* SPDX-License-Identifier: MIT */
/*
 * guess.c - guesses which layout IDs have.
 *
 * First the widths, then the epoch: layouts that differ by their epoch alone
 * are one family, and one line. What is not certain is told, has a layout that
 * no command takes, and an exit status of its own.
 */
#include "decode/guess.h"

#include "decode/mixture.h"
#include "decode/score.h"
#include "io/json.h"
#include "io/say.h"
#include "text/show.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* What counts as evidence against chance, in bits: a thousand to one. */
#define AGAINST_CHANCE 10
#define FAR_BEHIND 16 /* not worth a line */

/* ---- ranking -------------------------------------------------------------------- */

/* Known times may be off by the time that a row takes to be written. More is allowed only if
 * nothing fits. */
static size_t rank_all(struct guess *guess, bool wide, const struct body *body,
                       size_t order[GUESS_LAYOUTS]) {
    static const int64_t slacks[] = {2 * SECOND, MINUTE, HOUR};
    size_t n = 0;
    for (size_t i = 0; i < (guess->knowns ? COUNT_OF(slacks) : 1) && n == 0; i++) {
        guess->slack = slacks[i];
        n = guess_rank(guess, wide, body->id, body->count, order);
    }
    return n;
}

/* ---- text ------------------------------------------------------------------------- */

#define WHY 600

static void add(char why[WHY], const char *between, const char *fmt, ...) CLI_PRINTF(3, 4);
static void add(char why[WHY], const char *between, const char *fmt, ...) {
    const size_t len = strlen(why);
    const int n = snprintf(why + len, WHY - len, "%s", len ? between : "");
    va_list args;
    va_start(args, fmt);
    if (len + (size_t)n < WHY)
        vsnprintf(why + len + n, WHY - len - (size_t)n, fmt, args);
    va_end(args);
}

static const struct candidate *first_candidate(const struct guess *guess,
                                               const struct family *family) {
    size_t i = 0;
    while (&guess->family[guess->candidate[i].family] != family)
        i++;
    return &guess->candidate[i];
}

#define NAME (SFID_LAYOUT_STR_LEN + 2)

/* Writes the text of the layout. It ends in a question mark, so that no command takes it, unless
 * all is certain. */
static void name_of(const struct guess *guess, const struct family *family, bool sure,
                    char name[NAME]) {
    sfid_layout layout = family->shape;
    layout.pid_low = 0;
    layout.epoch_ms = family->epoch.sure ? family->epoch.ms : 1;
    if (family->epoch.sure && family->epoch.own)
        snprintf(name, NAME, "%s", family->epoch.own->view.name);
    else if (family->wide || sfid_layout_format(&layout, name, SFID_LAYOUT_STR_LEN) < 0)
        snprintf(name, NAME, "%s@", first_candidate(guess, family)->view.name);
    char *end = family->epoch.sure ? name + strlen(name) : strchr(name, '@') + 1;
    strcpy(end, family->epoch.sure && sure ? "" : "?");
}

/* Lists what the newest ID would be in the layouts of the family that have a name, the latest time
 * first. */
static void add_readings(const struct guess *guess, const struct family *family, char why[WHY]) {
    const char *between = "; ";
    for (int64_t below = INT64_MAX, next; below != INT64_MIN; below = next) {
        next = INT64_MIN;
        bool any = false;
        for (size_t i = 0; i < guess->layouts; i++) {
            const struct candidate *c = &guess->candidate[i];
            if (&guess->family[c->family] != family ||
                !guess_makes_sense(guess, family, c->epoch_ms))
                continue;
            if (c->epoch_ms < below && c->epoch_ms > next)
                next = c->epoch_ms;
            if (c->epoch_ms != below)
                continue;
            if (any)
                add(why, " or ", "%s", c->view.name);
            else
                add(why, between,
                    between[0] == ';' ? "the newest is of %.10s as %s" : "of %.10s as %s",
                    DATED(below + family->newest), c->view.name);
            between = ", ";
            any = true;
        }
    }
    if (between[0] == ';')
        add(why, between, "no layout with a name has a possible epoch");
}

static void add_epoch(const struct guess *guess, const struct family *family, char why[WHY]) {
    const struct epoch *epoch = &family->epoch;
    char text[DATE_ROOM];
    if (guess->knowns && !family->wide) {
        date_text(text, epoch->ms);
        add(why, "; ", "by the known time%s the epoch is %s", guess->knowns > 1 ? "s" : "", text);
        if (epoch->own)
            add(why, ", ", "that of %s", epoch->own->view.name);
        *view_put_age(text, epoch->within) = '\0';
        add(why, ", ", epoch->round ? "which is within %s" : "or up to %s off", text);
    } else if (epoch->sure) {
        *view_put_age(text, guess->now - epoch->ms - family->newest) = '\0';
        add(why, "; ", "the newest is %s old", text);
    } else {
        add_readings(guess, family, why);
    }
}

static void explain(const struct guess *guess, const struct family *family, const struct body *body,
                    char why[WHY]) {
    const double max_seq = (double)((UINT64_C(1) << family->seq_bits) - 1);
    why[0] = '\0';
    if (body->strays)
        add(why, "; ", "%zu of %zu lie far from the others", body->strays,
            body->strays + body->count);
    if (family->pid_bits && family->ids >= GUESS_SOME)
        add(why, "; ", "%u pid%s in %zu IDs", family->pids, family->pids == 1 ? "" : "s",
            family->ids);
    if (family->seq_bits && family->pid_bits && family->seq_mean * 16 < max_seq)
        add(why, "; ", "sequences are low, %.0f of %.0f on average", family->seq_mean, max_seq);
    else if (family->seq_bits && family->ids >= GUESS_SOME && family->seq_mean * 4 > max_seq)
        add(why, "; ", "sequences are spread out, %.0f of %.0f on average", family->seq_mean,
            max_seq);
    add_epoch(guess, family, why);
}

/* ---- lines -------------------------------------------------------------------------- */

static void show_family(const struct guess *guess, const struct family *family,
                        const struct body *body, bool sure, enum view_format format) {
    const int score = family->bits < 0 ? 0 : (int)family->bits;
    char name[NAME], why[WHY], first[DATE_ROOM] = "", last[DATE_ROOM] = "";
    name_of(guess, family, sure, name);
    explain(guess, family, body, why);
    if (family->epoch.sure) {
        date_text(first, family->epoch.ms + family->oldest);
        date_text(last, family->epoch.ms + family->newest);
    }
    if (format == VIEW_JSON) {
        json_open(NULL, '{');
        json_text("layout", name);
        json_int("score", score);
        if (family->epoch.sure) {
            json_text("first", first);
            json_text("last", last);
        }
        json_text("why", why);
        json_end();
    } else if (format == VIEW_TSV) {
        out_print("%s\t%d\t%s\t%s\t%s\n", name, score, first, last, why);
    } else if (format == VIEW_CSV) {
        out_print("%s,%d,%s,%s,\"%s\"\n", name, score, first, last, why);
    } else {
        out_print("%-28s  %6d  %-24s  %-24s  %s\n", name, score, first[0] ? first : "?",
                  last[0] ? last : "?", why);
    }
}

static void show_header(enum view_format format, bool header) {
    if (format == VIEW_TEXT || format == VIEW_TABLE)
        out_print("%-28s  %6s  %-24s  %-24s  %s\n", "layout", "score", "first", "last", "why");
    else if (header)
        out_print(format == VIEW_TSV ? "layout\tscore\tfirst\tlast\twhy\n"
                                     : "layout,score,first,last,why\n");
}

/* ---- mixtures -------------------------------------------------------------------------- */

static void tell_mixture(const struct guess *guess, const struct mixture *mixture) {
    char parts[200] = "";
    for (size_t i = 0; i < mixture->parts; i++) {
        const size_t len = strlen(parts);
        const char *between = i == 0 ? "" : i + 1 < mixture->parts ? ", " : " and ";
        snprintf(parts + len, sizeof parts - len, "%s%s (%u %%)", between,
                 guess->candidate[mixture->layout[i]].view.name, mixture->percent[i]);
    }
    say("these look like IDs of several layouts: read as %s, all are from about %.10s; guess each kind separately",
        parts, DATED(mixture->last));
}

/* Shows each layout of a mixture with its own IDs. */
static void show_mixture(struct guess *guess, const struct mixture *mixture,
                         enum view_format format) {
    static sfid_wide own[GUESS_ROOM];
    bool gone[GUESS_ROOM] = {false};
    for (size_t part = 0; part < mixture->parts; part++) {
        const struct candidate *c = &guess->candidate[mixture->layout[part]];
        struct body body = {.id = own};
        for (size_t i = 0; i < guess->narrow.count; i++) {
            struct taken taken;
            if (gone[i] || !view_take(&c->view, guess->narrow.id[i], &taken) ||
                taken.unix_ms < mixture->from || taken.unix_ms > mixture->to)
                continue;
            own[body.count++] = guess->narrow.id[i];
            gone[i] = true;
        }
        struct family *family = &guess->family[c->family];
        guess_judge(guess, c->family, own, body.count);
        family->epoch = (struct epoch){.sure = true, .ms = c->epoch_ms, .own = c};
        show_family(guess, family, &body, false, format);
    }
}

/* Judges IDs below and above a gap by themselves, each with the known IDs among them. */
static int report_groups(struct guess *guess, const struct body *body, size_t gap,
                         enum view_format format, bool header) {
    const struct body half[2] = {{body->id, gap, 0}, {body->id + gap, body->count - gap, 0}};
    const size_t knowns = guess->knowns;
    struct known known[ARGS_LIST];
    size_t order[GUESS_LAYOUTS];
    memcpy(known, guess->known, sizeof known);
    say("the IDs lie in two groups far apart, %zu below %" PRIu64
        " and %zu from it on: a pause, or two layouts; each is judged by itself",
        gap, body->id[gap].low, body->count - gap);
    show_header(format, header);
    for (int i = 0; i < 2; i++) {
        guess->knowns = 0;
        for (size_t k = 0; k < knowns; k++)
            if ((known[k].id >= body->id[gap].low) == (i == 1))
                guess->known[guess->knowns++] = known[k];
        if (rank_all(guess, false, &half[i], order) > 0)
            show_family(guess, &guess->family[order[0]], &half[i], false, format);
    }
    return STATUS_UNSURE;
}

/* Returns whether a known time on either side of the gap says that one layout made all. */
static bool is_bridged(const struct guess *guess, const struct body *body, size_t gap) {
    bool below = false, above = false;
    for (size_t i = 0; i < guess->knowns; i++) {
        below |= guess->known[i].id < body->id[gap].low;
        above |= guess->known[i].id >= body->id[gap].low;
    }
    return below && above;
}

/* ---- what is certain ------------------------------------------------------------------- */

static void tell_nothing(const struct guess *guess, const struct body *body) {
    if (guess->count == 0)
        say("there are no IDs to guess from");
    else if (body->count == 0)
        return; /* what was read instead is told already */
    else if (guess->knowns)
        say("no layout gives the known IDs their times");
    else
        say("no layout makes sense of these: numbers that are too small, as a counter's, or spread over too many years");
}

/* Returns whether one family stands out. */
static bool tell_family(const struct guess *guess, const size_t *order, size_t n) {
    const struct family *best = &guess->family[order[0]];
    double tried = 0;
    for (size_t i = 0; i < guess->families; i++)
        tried += guess->family[i].wide == best->wide;
    const double against_chance = best->bits - log2_of(tried);
    char names[WHY] = "", name[NAME];
    if (against_chance < AGAINST_CHANCE && best->fixed_bits == 0) { /* some forms show themselves */
        double percent = 100;
        for (double bits = against_chance; bits >= 1; bits--)
            percent /= 2;
        return refuse("nothing is better than chance: %.*f %% of random numbers would fit as well",
                      percent < 1 ? 2 : 0, percent);
    }
    size_t tie = 1;
    const double margin = guess_shows_end(best) ? AGAINST_OTHERS : AGAINST_CHANCE;
    while (tie < n && guess->family[order[tie]].bits > best->bits - margin)
        tie++;
    if (tie == 1)
        return true;
    for (size_t i = 0; i < tie; i++) {
        name_of(guess, &guess->family[order[i]], true, name);
        add(names, i + 1 < tie ? ", " : " and ", "%s", name);
    }
    return refuse("a tie: %s explain the IDs about as well; more IDs%s may tell", names,
                  best->wide ? "" : ", or times of some by --known ID=TIME,");
}

/* Finds a layout with a name whose epoch is whole quarters of an hour away, as times are that were
 * taken for those of another zone. */
static const struct candidate *in_other_zone(const struct guess *guess, const struct family *family,
                                             int64_t *away) {
    const int64_t quarter = 15 * MINUTE, most = 14 * HOUR, off = family->epoch.within;
    for (size_t i = 0; i < guess->layouts; i++) {
        const struct candidate *c = &guess->candidate[i];
        const int64_t distance = family->epoch.ms - c->epoch_ms,
                      size = distance < 0 ? -distance : distance;
        *away = (distance < 0 ? -1 : 1) * (size + quarter / 2) / quarter * quarter;
        if (&guess->family[c->family] == family && *away != 0 && size <= most &&
            distance - *away <= off && *away - distance <= off)
            return c;
    }
    return NULL;
}

/* Midnights in UTC are chosen often enough. */
static bool tell_zone(const struct guess *guess, const struct family *best) {
    char text[DATE_ROOM];
    int64_t away;
    const bool open = guess->knowns && !best->wide && best->epoch.sure && !best->epoch.own &&
                      best->epoch.ms % DAY != 0 && best->epoch.within <= MINUTE;
    const struct candidate *c = open ? in_other_zone(guess, best, &away) : NULL;
    if (c == NULL)
        return false;
    *view_put_age(text, away < 0 ? -away : away) = '\0';
    say("the epoch is %s %s that of %s: has the known time the zone that it was given with?", text,
        away < 0 ? "before" : "after", c->view.name);
    return true;
}

static bool tell_epoch(const struct guess *guess, const struct family *best) {
    enum { ENOUGH = 20 };
    char name[NAME], text[DATE_ROOM];
    if (tell_zone(guess, best))
        return false;
    name_of(guess, best, true, name);
    if (best->epoch.sure && guess->knowns && !best->epoch.round && best->still &&
        best->ids >= ENOUGH)
        return refuse(
            "the last %u bits of all times are the same, so the widths of %s are likely not the right ones",
            best->still, name);
    if (best->epoch.sure && best->epoch.future)
        return refuse(
            "%s puts IDs into the future: the clock of this host, or a known time, may be wrong",
            name);
    if (best->epoch.sure && guess->knowns && guess->slack > 2 * SECOND) {
        *view_put_age(text, guess->slack) = '\0';
        say("the known times agree only if they may be off by up to %s", text);
    }
    if (best->epoch.sure)
        return true;
    *view_put_age(text, best->epoch.within) = '\0';
    if (guess->knowns)
        say("%s: the known times leave the epoch open, up to %s either way; give a more exact one",
            name, text);
    else
        say("%s: these widths, but nothing in the IDs tells the epoch%s", name,
            best->wide ? "" : "; give the time of one or two by --known ID=TIME");
    return false;
}

/* Tells about IDs of two kinds that lie among one another. Returns whether they are likely of two
 * layouts. */
static bool tell_pair(struct guess *guess, size_t best, const struct body *body) {
    struct pair pair;
    char name[2][NAME], kinds[100];
    if (guess->family[best].wide || !guess_find_pair(guess, best, body->id, body->count, &pair) ||
        (pair.known && pair.kind != PAIR_LAYOUTS))
        return false;
    snprintf(kinds, sizeof kinds, "%u %% such as %" PRIu64 ", the others such as %" PRIu64,
             pair.percent, pair.example[0], pair.example[1]);
    if (pair.kind == PAIR_HABITS)
        return refuse(
            "the IDs are of two kinds, %s: one layout explains both, as of busy and idle processes; if another program may have "
            "made some, give the time of one of each kind by --known ID=TIME",
            kinds);
    for (int i = 0; i < 2; i++) {
        guess->family[pair.family[i]].epoch.sure = false;
        name_of(guess, &guess->family[pair.family[i]], true, name[i]);
    }
    if (pair.kind == PAIR_EITHER)
        say("the IDs are of two kinds, %s: of %s alone, or some of %s; the time of one of each kind by --known ID=TIME may tell",
            kinds, name[0], name[1]);
    else
        say("these look like IDs of two layouts, among one another, %s: of %s and of %s; guess each kind separately",
            kinds, name[0], name[1]);
    return true;
}

static int report_mixture(struct guess *guess, const struct mixture *mixture,
                          enum view_format format, bool header) {
    tell_mixture(guess, mixture);
    show_header(format, header);
    show_mixture(guess, mixture, format);
    return STATUS_UNSURE;
}

/* Shows what is not far behind the best. */
static void show_all(const struct guess *guess, const size_t *order, size_t n,
                     const struct body *body, bool sure, enum view_format format) {
    for (size_t i = 0; i < n; i++)
        if (guess->family[order[i]].bits > guess->family[order[0]].bits - FAR_BEHIND)
            show_family(guess, &guess->family[order[i]], body, sure, format);
}

int guess_report(struct guess *guess, enum view_format format, bool header) {
    const bool wide = guess->wide.seen > guess->narrow.seen;
    const struct sample *sample = wide ? &guess->wide : &guess->narrow;
    struct mixture mixture;
    size_t order[GUESS_LAYOUTS];
    if (guess->now == 0)
        guess->now = moment_now().unix_ms;
    guess_sort(&guess->narrow, guess->known, guess->knowns);
    guess_sort(&guess->wide, NULL, 0);
    bool sure = guess->wide.seen == 0 || guess->narrow.seen == 0;
    if (!sure)
        say("these are IDs of 64 and of 128 bits; guess each kind separately");
    if (!wide && guess->knowns == 0 && guess_find_mixture(guess, &mixture))
        return report_mixture(guess, &mixture, format, header);
    struct body body = {sample->id, sample->count, 0};
    body_leave_strays(&body);
    const size_t gap = wide ? 0 : body_find_gap(&body);
    const size_t n = rank_all(guess, wide, &body, order);
    if (gap > 0 && (n == 0 || !is_bridged(guess, &body, gap)))
        return report_groups(guess, &body, gap, format, header);
    if (n == 0)
        tell_nothing(guess, &body);
    sure = sure && n > 0 && tell_family(guess, order, n) &&
           tell_epoch(guess, &guess->family[order[0]]) && !tell_pair(guess, order[0], &body);
    show_header(format, header);
    show_all(guess, order, n, &body, sure, format);
    return sure || (guess->count > 0 && body.count == 0) ? STATUS_GOOD : STATUS_UNSURE;
}
