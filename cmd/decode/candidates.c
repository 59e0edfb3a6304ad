/* SPDX-License-Identifier: MIT */
/* candidates.c - the layouts that IDs may have, and a sample of the IDs. */
#include "decode/candidates.h"

#include "decode/order.h"
#include "io/say.h"

/* ---- families of layouts ----------------------------------------------------- */

static bool is_alike(const struct family *family, const sfid_layout *b) {
    const sfid_layout *a = &family->shape;
    return !family->wide && a->time_shift == b->time_shift && a->unit_ms == b->unit_ms &&
           a->max_tick == b->max_tick && a->pid_shift == b->pid_shift &&
           a->pid_bits == b->pid_bits && a->seq_shift == b->seq_shift && a->seq_bits == b->seq_bits;
}

static size_t family_of(struct guess *guess, const sfid_layout *layout) {
    for (size_t i = 0; i < guess->families; i++)
        if (is_alike(&guess->family[i], layout))
            return i;
    struct family *family = &guess->family[guess->families];
    family->shape = *layout;
    family->time_bits = 63 - layout->time_shift; /* as many as a number of 63 bits has there */
    family->pid_bits = layout->pid_bits;
    family->seq_bits = layout->seq_bits;
    family->unit_ms = layout->unit_ms;
    return guess->families++;
}

/* Each wide layout is a family of its own. */
static size_t wide_family(struct guess *guess, const struct view *view) {
    struct family *family = &guess->family[guess->families];
    sfid_field field[SFID_LAYOUT_FIELDS];
    *family = (struct family){
        .wide = true, .unit_ms = 1, .fixed_epoch = view->wide_layout.kind != SFID_AWSFLAKE};
    const int fields = sfid_wide_layout_fields(&view->wide_layout, field, COUNT_OF(field));
    for (int i = 0; i < fields; i++) {
        unsigned none = 0;
        unsigned *bits = field[i].kind == SFID_FIELD_TIME       ? &family->time_bits
                         : field[i].kind == SFID_FIELD_FIXED    ? &family->fixed_bits
                         : field[i].kind == SFID_FIELD_RESERVED ? &family->fixed_bits
                         /* what another maker puts there is anything */
                         : view->random                    ? &none
                         : field[i].kind == SFID_FIELD_PID ? &family->pid_bits
                                                           : &family->seq_bits;
        *bits += field[i].bits;
    }
    return guess->families++;
}

static void add_candidate(struct guess *guess, const char *name) {
    struct any_layout any;
    if (guess->layouts == GUESS_LAYOUTS || !any_layout_parse(name, &any))
        return;
    struct candidate *c = &guess->candidate[guess->layouts++];
    memset(c, 0, sizeof *c);
    view_begin(&c->view, &any, VIEW_TEXT);
    if (any.wide)
        reader_begin_wide(&c->reader, &any.wide_layout);
    c->epoch_ms = any_layout_epoch_ms(&any);
    c->family = any.wide ? wide_family(guess, &c->view) : family_of(guess, &any.layout);
    guess->family[c->family].layouts++;
}

/* Epochs that are in use, but have no name here. ClickHouse's generateSnowflakeID() (its
 * documentation) counts from 1970. */
static const char *const nameless[] = {"41:10:12/1ms@0"};

void guess_begin(struct guess *guess, sfid_form from) {
    memset(guess, 0, sizeof *guess);
    reader_begin(&guess->reader, from, false);
    for (size_t i = 0; sfid_layout_preset(i); i++)
        add_candidate(guess, sfid_layout_preset(i));
    for (size_t i = 0; i < COUNT_OF(nameless); i++)
        add_candidate(guess, nameless[i]);
    for (size_t i = 0; sfid_wide_layout_preset(i); i++)
        add_candidate(guess, sfid_wide_layout_preset(i));
}

/* ---- adding IDs ------------------------------------------------------------ */

/* Keeps a random sample: the first IDs, then each later one replaces one with equal chances for all
 * (reservoir sampling). */
static void add_to_sample(struct guess *guess, struct sample *sample, sfid_wide id) {
    /* Knuth's MMIX */
    guess->random = guess->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t place =
        sample->seen < GUESS_SAMPLE ? sample->seen : (guess->random >> 32) % (sample->seen + 1);
    if (sample->seen == 0 || is_below(id, sample->least))
        sample->least = id;
    if (sample->seen == 0 || is_below(sample->most, id))
        sample->most = id;
    sample->seen++;
    if (place < GUESS_SAMPLE)
        sample->id[place] = id;
    if (sample->count < GUESS_SAMPLE)
        sample->count++;
}

/* Any number could be a very early 128-bit ID, so these are recognised by their own form only. */
static bool add_wide(struct guess *guess, const char *text, size_t len) {
    bool any = false;
    for (size_t i = 0; i < guess->layouts; i++) {
        struct candidate *c = &guess->candidate[i];
        struct taken taken;
        sfid_wide id;
        if (!c->view.wide || len < c->reader.least || len > c->reader.most ||
            !reader_read(&c->reader, text, len, &id) || !view_take(&c->view, id, &taken))
            continue;
        c->fits++;
        if (!any)
            add_to_sample(guess, &guess->wide, id);
        any = true;
    }
    return any;
}

bool guess_add(struct guess *guess, const char *text, size_t len) {
    sfid_wide id;
    guess->count++;
    if (!reader_read(&guess->reader, text, len, &id))
        return add_wide(guess, text, len);
    add_to_sample(guess, &guess->narrow, id);
    return true;
}

/* ---- IDs whose time is known, from the table or log that has them ---- */

/* Returns how long a time lasts that is written like this: "2026-11-23" is a day, "-2h" an hour
 * more or less. */
static int64_t length_of(const char *text) {
    static const char letters[] = "mhdw";
    static const int64_t lengths[] = {MINUTE, HOUR, DAY, 7 * DAY};
    const size_t len = strlen(text);
    const char *letter =
        len > 0 && (text[0] == '-' || text[0] == '+') ? strchr(letters, text[len - 1]) : NULL;
    if (letter && *letter)
        return lengths[letter - letters];
    if (strchr(text, ':') == NULL)
        return strchr(text, '-') && text[0] != '-' ? DAY : SECOND;
    return strchr(text, '.') ? 0 : SECOND;
}

bool guess_know(struct guess *guess, const char *text) {
    const char *equals = strchr(text, '=');
    struct known *known = &guess->known[guess->knowns];
    struct moment time;
    sfid_wide id;
    if (equals == NULL || !reader_read(&guess->reader, text, (size_t)(equals - text), &id))
        return refuse("--known: %s is not ID=TIME, with an ID of 64 bits", QUOTE(text));
    const char *wrong = read_time(equals + 1, moment_now(), &time);
    if (wrong)
        return refuse("--known: %s %s", QUOTE(equals + 1), wrong);
    const int64_t length = length_of(equals + 1);
    known->id = id.low;
    /* a second may have been rounded up */
    known->from = time.unix_ms - (length < DAY || equals[1] == '-' ? length : 0);
    known->to = time.unix_ms + length;
    guess->knowns++;
    return guess_add(guess, text, (size_t)(equals - text));
}
