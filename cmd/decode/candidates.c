/* SPDX-License-Identifier: MIT */
/* candidates.c - reads the same IDs with every layout. */
#include "decode/all.h"

#define DAY INT64_C(86400000)

/* 2010, the year of Twitter's Snowflake, the first such IDs. */
#define BEFORE_ANY INT64_C(1262304000000)

static void begin_narrow(struct guess *guess, const sfid_layout *layout, sfid_form from) {
    struct candidate *c = &guess->candidate[guess->layouts++];
    sfid_layout_facts facts;
    memset(c, 0, sizeof *c);
    view_begin(&c->view, layout, VIEW_TEXT);
    reader_begin(&c->reader, from, false);
    c->max_pid = layout->max_pid;
    c->max_seq = layout->max_seq;
    if (sfid_layout_describe(layout, &facts) == 0)
        c->first_pid = facts.first_pid;
}

static void begin_wide(struct guess *guess, const sfid_wide_layout *layout) {
    struct candidate *c = &guess->candidate[guess->layouts++];
    sfid_wide_facts facts;
    memset(c, 0, sizeof *c);
    view_begin_wide(&c->view, layout, VIEW_TEXT);
    reader_begin_wide(&c->reader, layout);
    if (sfid_wide_layout_describe(layout, &facts) == 0) {
        c->max_pid = facts.max_pid;
        c->max_seq = facts.max_seq;
    }
}

void guess_begin(struct guess *guess, sfid_form from) {
    sfid_layout layout;
    sfid_wide_layout wide;
    memset(guess, 0, sizeof *guess);
    for (size_t i = 0; sfid_layout_preset(i) && guess->layouts < GUESS_LAYOUTS; i++)
        if (sfid_layout_parse(sfid_layout_preset(i), &layout) == 0)
            begin_narrow(guess, &layout, from);
    for (size_t i = 0; sfid_wide_layout_preset(i) && guess->layouts < GUESS_LAYOUTS; i++)
        if (sfid_wide_layout_parse(sfid_wide_layout_preset(i), &wide) == 0)
            begin_wide(guess, &wide);
}

/* ---- adding IDs ------------------------------------------------------------ */

static void add_pid(struct candidate *c, uint64_t pid) {
    c->low_pid |= pid < c->first_pid;
    for (unsigned i = 0; i < c->pid_count; i++)
        if (c->pids[i] == pid)
            return;
    if (c->pid_count < GUESS_PIDS)
        c->pids[c->pid_count++] = pid;
}

static int64_t epoch_of(const struct candidate *c) { return c->view.wide ? c->view.wide_layout.epoch_ms : c->view.layout.epoch_ms; }

bool guess_is_early(const struct candidate *c, const struct taken *taken) {
    return taken->unix_ms < BEFORE_ANY || taken->unix_ms < epoch_of(c) + DAY;
}

static void add(struct candidate *c, const struct taken *taken) {
    if (c->fits == 0 || taken->unix_ms < c->first)
        c->first = taken->unix_ms;
    if (c->fits == 0 || taken->unix_ms > c->last)
        c->last = taken->unix_ms;
    c->fits++;
    c->future += view_is_future(taken);
    c->early += guess_is_early(c, taken);
    c->seq_sum += (double)taken->seq;
    add_pid(c, taken->pid);
}

/* Any number could be a very early 128-bit ID, so these are recognised by their own form only. */
static bool takes(const struct candidate *c, size_t len) {
    return !c->view.wide || (len >= c->reader.least && len <= c->reader.most);
}

/* Keeps a random sample: the first IDs, then each later one replaces one with equal chances for all (reservoir sampling). */
static void keep(struct guess *guess, uint64_t id) {
    guess->random = guess->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX */
    const uint64_t place = guess->seen < GUESS_SAMPLE ? guess->seen : (guess->random >> 32) % (guess->seen + 1);
    guess->seen++;
    if (place < GUESS_SAMPLE)
        guess->sample[place] = id;
    if (guess->sampled < GUESS_SAMPLE)
        guess->sampled++;
}

bool guess_add(struct guess *guess, const char *text, size_t len) {
    bool any = false, kept = false;
    guess->count++;
    for (size_t i = 0; i < guess->layouts; i++) {
        struct candidate *c = &guess->candidate[i];
        struct taken taken;
        sfid_wide id;
        if (takes(c, len) && reader_read(&c->reader, text, len, &id) && view_take(&c->view, id, &taken)) {
            add(c, &taken);
            any = true;
            if (!kept && !c->view.wide)
                keep(guess, id.low);
            kept |= !c->view.wide;
        }
    }
    return any;
}
