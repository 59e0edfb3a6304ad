/* SPDX-License-Identifier: MIT */
/* any_layout.c - an option that takes a layout of 64 or 128 bits. */
#include "args/any_layout.h"


#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- $AWSFLAKE_EPOCH ------------------------------------------------------- */

/*
 * Reads a time as Instant.parse() of Java 8 does: with seconds, a fraction of up to 9 digits, which
 * is cut to milliseconds, and no zone but Z. 24:00:00 is the next midnight, 23:59:60 is 23:59:59.
 * Other years than 0 to 9999 have a sign, and no use here.
 */
static bool read_instant(const char *text, int64_t *unix_ms) {
    static const char shape[] = "0000-00-00T00:00:00";
    char utc[] = "0000-00-00T00:00:00Z";
    int64_t ms = 0;
    bool fraction = false;
    size_t i = 0;
    for (; shape[i]; i++) {
        const char c = shape[i] == 'T' && text[i] == 't' ? 'T' : text[i];
        if (shape[i] == '0' ? c < '0' || c > '9' : c != shape[i])
            return false;
        utc[i] = c;
    }
    const char *p = text + i;
    if (*p == '.')
        for (int unit = 100, n = 0; *++p >= '0' && *p <= '9' && n < 9; unit /= 10, n++) {
            ms += (*p - '0') * unit;
            fraction |= *p != '0';
        }
    if ((*p != 'Z' && *p != 'z') || p[1] != '\0')
        return false;
    if (strcmp(utc + 11, "23:59:60Z") == 0)
        memcpy(utc + 17, "59", 2);
    const bool midnight = strcmp(utc + 11, "24:00:00Z") == 0 && !fraction;
    if (midnight)
        memcpy(utc + 11, "00", 2);
    struct moment moment;
    if (read_time(utc, moment_now(), &moment) != NULL)
        return false;
    *unix_ms = moment.unix_ms + ms + (midnight ? DAY : 0);
    return true;
}

/* $AWSFLAKE_EPOCH sets the epoch of layout awsflake. An epoch in the layout's text outranks it. */
static const char *epoch_from_outside(const char *text) {
    const char *epoch = getenv("AWSFLAKE_EPOCH");
    return text && strcmp(text, "awsflake") == 0 ? epoch : NULL;
}

/* A time, or Unix milliseconds. */
static bool read_epoch(const char *epoch, sfid_wide_layout *layout) {
    char text[SFID_LAYOUT_STR_LEN];
    int64_t unix_ms;
    const char *wrong = NULL;
    if (read_instant(epoch, &unix_ms))
        snprintf(text, sizeof text, "awsflake@%lld", (long long)unix_ms);
    else
        snprintf(text, sizeof text, "awsflake@%s", epoch);
    if (sfid_wide_layout_parse(text, layout) < 0)
        wrong = "is neither a time such as 2016-01-01T00:00:00Z nor one in Unix milliseconds";
    else if (layout->epoch_ms > moment_now().unix_ms)
        wrong = "is in the future";
    if (wrong == NULL)
        return true;
    say("$AWSFLAKE_EPOCH: %s %s", QUOTE(epoch), wrong);
    end_with(STATUS_CONFIG);
    return false;
}

/* ---- the option -------------------------------------------------------------- */

/* The presets of 64 bits, then those of more. */
static const char *any_preset(size_t i) {
    size_t narrow = 0;
    while (sfid_layout_preset(narrow))
        narrow++;
    return i < narrow ? sfid_layout_preset(i) : sfid_wide_layout_preset(i - narrow);
}

bool read_any_layout(const char *label, const char *text, struct any_layout *any) {
    const char *epoch = epoch_from_outside(text);
    any->layout = SFID_LAYOUT_DEFAULT;
    any->wide = text && sfid_wide_layout_parse(text, &any->wide_layout) == 0;
    if (epoch)
        return read_epoch(epoch, &any->wide_layout);
    return any->wide || text == NULL || read_layout(label, text, any_preset, &any->layout);
}

bool args_any_layout(const struct args *args, int i, struct any_layout *any) {
    return read_any_layout(args->label[i], args->value[i], any);
}

bool any_layout_parse(const char *text, struct any_layout *any) {
    any->layout = SFID_LAYOUT_DEFAULT;
    any->wide = sfid_wide_layout_parse(text, &any->wide_layout) == 0;
    return any->wide || sfid_layout_parse(text, &any->layout) == 0;
}

void any_layout_option(const struct any_layout *any, sfid_options *opt) {
    opt->layout = any->wide ? NULL : &any->layout;
    opt->wide = any->wide ? &any->wide_layout : NULL;
}

int any_layout_describe(const struct any_layout *any, sfid_wide_facts *facts) {
    const sfid_layout *l = &any->layout;
    if (any->wide)
        return sfid_wide_layout_describe(&any->wide_layout, facts);
    *facts = (sfid_wide_facts){.max_tick = l->max_tick,
                               .max_pid = l->max_pid,
                               .max_seq = l->max_seq,
                               .form = SFID_DEC,
                               .width = 1};
    return sfid_layout_describe(l, &facts->facts);
}

int64_t any_layout_epoch_ms(const struct any_layout *any) {
    return any->wide ? any->wide_layout.epoch_ms : any->layout.epoch_ms;
}

uint32_t any_layout_unit_ms(const struct any_layout *any) {
    return any->wide ? 1 : any->layout.unit_ms;
}

uint64_t option_max_pid(const sfid_options *opt) {
    sfid_wide_facts facts;
    if (opt->layout)
        return opt->layout->max_pid;
    return sfid_wide_layout_describe(opt->wide, &facts) < 0 ? 0 : facts.max_pid;
}

uint64_t any_layout_max_pid(const struct any_layout *any) {
    sfid_options opt;
    any_layout_option(any, &opt);
    return option_max_pid(&opt);
}
