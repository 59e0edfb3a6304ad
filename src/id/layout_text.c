/* SPDX-License-Identifier: MIT */
/* layout_text.c - the text form of a layout, and the facts that follow from a layout. */
#include "id/layout_text.h"

#include "base/number.h"
#include "id/presets.h"

#include <stdio.h>
#include <string.h>

const char *sfid_layout_preset(size_t i) {
    const struct sfid__preset *preset = sfid__preset(i);
    return preset ? preset->name : NULL;
}

static const char *read_number(const char *p, uint64_t max, uint64_t *out) {
    return sfid__digits(p, p + strlen(p), max, out);
}

static const char *read_unit(const char *p, uint64_t *unit_ms) {
    p = read_number(p, UINT32_MAX, unit_ms);
    if (p && strncmp(p, "ms", 2) == 0)
        return p + 2;
    if (p && *p == 's' && *unit_ms <= UINT32_MAX / 1000) {
        *unit_ms *= 1000;
        return p + 1;
    }
    return NULL;
}

const char *sfid__read_epoch(const char *p, int64_t *epoch_ms) {
    const bool negative = *p == '-';
    uint64_t value;
    p = read_number(negative ? p + 1 : p, (uint64_t)SFID__EPOCH_MAX, &value);
    if (p)
        *epoch_ms = negative ? -(int64_t)value : (int64_t)value;
    return p;
}

static int parse_widths(const char *p, sfid_layout *out) {
    uint64_t bits[3] = {0, 0, 0}, unit_ms = 1;
    int64_t epoch_ms = SFID_EPOCH_MS;
    for (int i = 0; i < 3; i++) {
        p = read_number(p, 64, &bits[i]);
        if (p == NULL || (i < 2 && *p++ != ':'))
            return SFID_EINVAL;
    }
    if (*p == '/' && (p = read_unit(p + 1, &unit_ms)) == NULL)
        return SFID_EINVAL;
    if (*p == '@' && (p = sfid__read_epoch(p + 1, &epoch_ms)) == NULL)
        return SFID_EINVAL;
    if (*p != '\0' || bits[0] < 2 || bits[0] + bits[1] + bits[2] > 64)
        return SFID_EINVAL;
    const sfid_layout l = sfid__layout_make((unsigned)bits[0], (unsigned)bits[1], (unsigned)bits[2],
                                            (uint32_t)unit_ms, epoch_ms);
    if (sfid_layout_check(&l) < 0)
        return SFID_EINVAL;
    *out = l;
    return 0;
}

/* Returns whether numbers cannot tell the order of the fields: the sequence stands above the
 * pid. */
static bool is_crossed(const sfid_layout *l) {
    return l->seq_shift != 0 || l->pid_shift != l->seq_bits ||
           l->time_shift != l->pid_bits + l->seq_bits;
}

/* Finds the preset of that order that differs by its epoch at most: sonyflake. */
static const struct sfid__preset *find_crossed(const sfid_layout *l) {
    for (size_t i = 0; sfid__preset(i); i++) {
        sfid_layout moved = *l;
        moved.epoch_ms = sfid__preset(i)->layout.epoch_ms;
        if (sfid__preset_of(&moved) == sfid__preset(i))
            return sfid__preset(i);
    }
    return NULL;
}

/* Reads NAME@EPOCH_MS: sonyflake with another epoch. Makers' words for fields are those of the
 * preset alone. */
static int parse_crossed(const char *text, sfid_layout *out) {
    const char *at = strchr(text, '@');
    for (size_t i = 0; at && sfid__preset(i); i++) {
        const struct sfid__preset *preset = sfid__preset(i);
        sfid_layout l = preset->layout;
        if (!is_crossed(&l) || strncmp(text, preset->name, (size_t)(at - text)) != 0 ||
            preset->name[at - text] != '\0')
            continue;
        const char *end = sfid__read_epoch(at + 1, &l.epoch_ms);
        l.pid_low = l.epoch_ms == preset->layout.epoch_ms ? l.pid_low : 0;
        if (end == NULL || *end != '\0' || sfid_layout_check(&l) < 0)
            return SFID_EINVAL;
        *out = l;
        return 0;
    }
    return SFID_EINVAL;
}

int sfid_layout_parse(const char *text, sfid_layout *out) {
    if (text == NULL || out == NULL)
        return SFID_EINVAL;
    const struct sfid__preset *preset = sfid__preset_named(text);
    if (preset == NULL)
        return parse_widths(text, out) == 0 ? 0 : parse_crossed(text, out);
    *out = preset->layout;
    return 0;
}

/* Finds the preset that means the same; NULL: there is none. What a preset has to the last bit is
 * valid. */
static int check(const sfid_layout *l, const struct sfid__preset **preset) {
    *preset = sfid__preset_of(l);
    return *preset && memcmp(l, &(*preset)->layout, sizeof *l) == 0 ? 0 : sfid_layout_check(l);
}

int sfid_layout_format(const sfid_layout *l, char *buf, size_t size) {
    const struct sfid__preset *preset;
    l = sfid__layout_or_default(l);
    if (buf == NULL || check(l, &preset) < 0)
        return SFID_EINVAL;
    int n;
    if (preset)
        n = snprintf(buf, size, "%s", preset->name);
    else if (is_crossed(l))
        n = (preset = find_crossed(l))
                ? snprintf(buf, size, "%s@%lld", preset->name, (long long)l->epoch_ms)
                : -1;
    else
        n = snprintf(buf, size, "%d:%d:%d/%u%s@%lld", l->time_bits, l->pid_bits, l->seq_bits,
                     l->unit_ms % 1000 ? l->unit_ms : l->unit_ms / 1000,
                     l->unit_ms % 1000 ? "ms" : "s", (long long)l->epoch_ms);
    return n >= 0 && (size_t)n < size ? 0 : SFID_EINVAL;
}

static uint64_t saturating_mul(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* n * 1000 / unit_ms, rounded down, without an overflow in between. */
static uint64_t per_second(uint64_t n, uint32_t unit_ms) {
    uint64_t sum;
    return __builtin_add_overflow(saturating_mul(n / unit_ms, 1000), n % unit_ms * 1000 / unit_ms,
                                  &sum)
               ? UINT64_MAX
               : sum;
}

int sfid_layout_describe(const sfid_layout *l, sfid_layout_facts *out) {
    const struct sfid__preset *preset;
    l = sfid__layout_or_default(l);
    if (out == NULL || check(l, &preset) < 0)
        return SFID_EINVAL;
    *out = (sfid_layout_facts){
        .name = preset ? preset->name : NULL,
        .last_ms = sfid__tick_begin_ms(l, l->max_tick + 1),
        .ids_per_tick = l->max_seq + 1,
        .ids_per_second = per_second(l->max_seq + 1, l->unit_ms),
        .processes = l->max_pid + 1 - (preset ? preset->first_pid : 0),
        .fingerprint = sfid__layout_fingerprint(l),
        .first_pid = preset ? preset->first_pid : 0,
        .order =
            l->pid_bits && l->seq_shift > l->pid_shift ? SFID_ORDER_SEQ_PID : SFID_ORDER_PID_SEQ,
    };
    out->fleet_per_second = saturating_mul(out->ids_per_second, out->processes);
    return 0;
}

static void insert_by_shift(sfid_field *fields, int *count, sfid_field field) {
    if (field.bits == 0)
        return;
    int i = (*count)++;
    for (; i > 0 && fields[i - 1].shift < field.shift; i--)
        fields[i] = fields[i - 1];
    fields[i] = field;
}

/* A preset's own word for a field, or the general one. */
static const char *word(const char *own, const char *general) { return own ? own : general; }

int sfid_layout_fields(const sfid_layout *l, sfid_field *fields, size_t max) {
    static const struct sfid__preset nameless;
    const struct sfid__preset *preset;
    l = sfid__layout_or_default(l);
    if (fields == NULL || check(l, &preset) < 0)
        return SFID_EINVAL;
    sfid_field all[SFID_LAYOUT_FIELDS];
    int count = 0;
    if (preset == NULL)
        preset = &nameless;
    const unsigned low = preset->layout.pid_low, high = l->pid_bits - low;
    insert_by_shift(
        all, &count,
        (sfid_field){word(preset->time, "time"), l->time_shift, l->time_bits, SFID_FIELD_TIME});
    insert_by_shift(
        all, &count,
        (sfid_field){word(preset->seq, "seq"), l->seq_shift, l->seq_bits, SFID_FIELD_SEQ});
    insert_by_shift(
        all, &count,
        (sfid_field){word(preset->pid_high, "pid"), l->pid_shift + low, high, SFID_FIELD_PID});
    insert_by_shift(all, &count, (sfid_field){preset->pid_low, l->pid_shift, low, SFID_FIELD_PID});
    const unsigned top = all[0].shift + all[0].bits;
    insert_by_shift(all, &count, (sfid_field){"reserved", top & 63, 64 - top, SFID_FIELD_RESERVED});
    if ((size_t)count > max)
        return SFID_EINVAL;
    memcpy(fields, all, (size_t)count * sizeof *fields);
    return count;
}
