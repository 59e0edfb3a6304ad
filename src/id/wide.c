/* SPDX-License-Identifier: MIT */
/* wide.c - layouts of up to 128 bits. */
#include "id/layout_text.h"

#include "base/hash.h"

#include <inttypes.h>
#include <sfid/parse_wide.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What the shapes of parse_wide.h are called, in their order. */
static const struct words {
    const char *name;
    int count;
    sfid_field fields[SFID_LAYOUT_FIELDS];
} all_words[] = {
    {"flake",
     3,
     {{"time", 64, 64, SFID_FIELD_TIME},
      {"worker", 16, 48, SFID_FIELD_PID},
      {"seq", 0, 16, SFID_FIELD_SEQ}}},
    {"awsflake",
     5,
     {{"reserved", 77, 51, SFID_FIELD_RESERVED},
      {"time", 36, 41, SFID_FIELD_TIME},
      {"region", 31, 5, SFID_FIELD_PID},
      {"ip", 15, 16, SFID_FIELD_PID},
      {"seq", 0, 15, SFID_FIELD_SEQ}}},
    {"uuid7",
     7,
     {{"time", 80, 48, SFID_FIELD_TIME},
      {"version", 76, 4, SFID_FIELD_FIXED},
      {"seq", 64, 12, SFID_FIELD_SEQ},
      {"variant", 62, 2, SFID_FIELD_FIXED},
      {"seq_low", 60, 2, SFID_FIELD_SEQ},
      {"pid", 44, 16, SFID_FIELD_PID},
      {"random", 0, 44, SFID_FIELD_RANDOM}}},
    {"flake-go",
     4,
     {{"time", 80, 48, SFID_FIELD_TIME},
      {"zero", 64, 16, SFID_FIELD_FIXED},
      {"worker", 16, 48, SFID_FIELD_PID},
      {"seq", 0, 16, SFID_FIELD_SEQ}}},
};

#define LAYOUTS (sizeof all_words / sizeof all_words[0])

static bool usable_wide(const sfid_wide_layout *l) {
    return l != NULL && sfid_inline_wide_layout_check(l) == 0;
}

static const struct words *words_of(const sfid_wide_layout *l) {
    return &all_words[l->kind - SFID_FLAKE];
}

/* ---- IDs ------------------------------------------------------------------ */

int sfid_wide_compare(sfid_wide a, sfid_wide b) {
    const uint64_t x = a.high != b.high ? a.high : a.low, y = a.high != b.high ? b.high : b.low;
    return (x > y) - (x < y);
}

int sfid_wide_parse(const sfid_wide_layout *l, sfid_wide id, sfid_wide_parts *out) {
    return usable_wide(l) ? sfid_inline_wide_parse(l, id, out) : SFID_EINVAL;
}

int sfid_wide_compose(const sfid_wide_layout *l, const sfid_wide_parts *in, sfid_wide *id) {
    return usable_wide(l) ? sfid_inline_wide_compose(l, in, id) : SFID_EINVAL;
}

int sfid_wide_min_at(const sfid_wide_layout *l, int64_t unix_ms, sfid_wide *id) {
    if (!usable_wide(l) || id == NULL)
        return SFID_EINVAL;
    *id = sfid_inline_wide_min_at(l, unix_ms);
    return 0;
}

int sfid_wide_max_at(const sfid_wide_layout *l, int64_t unix_ms, sfid_wide *id) {
    if (!usable_wide(l) || id == NULL)
        return SFID_EINVAL;
    *id = sfid_inline_wide_max_at(l, unix_ms);
    return 0;
}

/* ---- layouts -------------------------------------------------------------- */

const char *sfid_wide_layout_preset(size_t i) { return i < LAYOUTS ? all_words[i].name : NULL; }

int sfid_wide_layout_parse(const char *text, sfid_wide_layout *out) {
    if (text == NULL || out == NULL)
        return SFID_EINVAL;
    for (size_t i = 0; i < LAYOUTS; i++) {
        const size_t len = strlen(all_words[i].name);
        if (strncmp(text, all_words[i].name, len) != 0)
            continue;
        sfid_wide_layout l = {(sfid_wide_kind)(SFID_FLAKE + i), 0, 0};
        if (l.kind == SFID_AWSFLAKE)
            l.epoch_ms = SFID_AWSFLAKE_EPOCH_MS;
        if (text[len] == '@' && l.kind == SFID_AWSFLAKE) {
            const char *end = sfid__read_epoch(text + len + 1, &l.epoch_ms);
            if (end == NULL || *end != '\0' || !usable_wide(&l))
                return SFID_EINVAL;
        } else if (text[len] != '\0') {
            continue;
        }
        *out = l;
        return 0;
    }
    return SFID_EINVAL;
}

int sfid_wide_layout_format(const sfid_wide_layout *l, char *buf, size_t size) {
    if (!usable_wide(l) || buf == NULL)
        return SFID_EINVAL;
    const char *name = words_of(l)->name;
    const bool plain = l->kind != SFID_AWSFLAKE || l->epoch_ms == SFID_AWSFLAKE_EPOCH_MS;
    const int n = plain ? snprintf(buf, size, "%s", name)
                        : snprintf(buf, size, "%s@%" PRId64, name, l->epoch_ms);
    return n >= 0 && (size_t)n < size ? 0 : SFID_EINVAL;
}

/* If pids are leased (uuid7): the fingerprint of the layout that IDs are generated in
 * (wide_plan.h), which the app has noted. */
static uint64_t fingerprint(const sfid_wide_layout *l, const struct sfid__wide_shape *s) {
    const uint64_t what[] = {(uint64_t)l->epoch_ms, s->bits,    s->time_shift, s->pid_bits,
                             s->pid_shift,          s->seq_low, s->seq_shift};
    const sfid_layout drawn = sfid__layout_make(48, 16, 14, 1, 0);
    return l->kind == SFID_UUID7
               ? sfid__layout_fingerprint(&drawn)
               : sfid__hash_words(SFID__HASH_SEED, what, sizeof what / sizeof what[0]);
}

int sfid_wide_layout_describe(const sfid_wide_layout *l, sfid_wide_facts *out) {
    if (!usable_wide(l) || out == NULL)
        return SFID_EINVAL;
    const struct sfid__wide_shape *s = sfid__wide_shape_of(l);
    const uint64_t per_tick = UINT64_C(1) << (s->seq_high + s->seq_low), processes = UINT64_C(1)
                                                                                     << s->pid_bits;
    *out = (sfid_wide_facts){
        .facts = {.name = words_of(l)->name,
                  .last_ms =
                      s->max_tick < INT64_MAX ? l->epoch_ms + (int64_t)s->max_tick + 1 : INT64_MAX,
                  .ids_per_tick = per_tick,
                  .ids_per_second = per_tick * 1000,
                  .processes = processes,
                  .fingerprint = fingerprint(l, s),
                  .order = s->seq_high != 0 ? SFID_ORDER_SEQ_PID : SFID_ORDER_PID_SEQ},
        .max_tick = s->max_tick,
        .max_pid = processes - 1,
        .max_seq = per_tick - 1,
        .max_random = sfid__ones(s->random_bits),
        .bits = s->bits,
        .form = s->form,
        .width = s->width,
    };
    if (__builtin_mul_overflow(per_tick * 1000, processes, &out->facts.fleet_per_second))
        out->facts.fleet_per_second = UINT64_MAX;
    return 0;
}

int sfid_wide_layout_fields(const sfid_wide_layout *l, sfid_field *fields, size_t max) {
    if (!usable_wide(l) || fields == NULL || (size_t)words_of(l)->count > max)
        return SFID_EINVAL;
    const struct words *w = words_of(l);
    memcpy(fields, w->fields, (size_t)w->count * sizeof *fields);
    return w->count;
}

/* ---- regions -------------------------------------------------------------- */

/* awsflake's AWSRegion.kt, by ordinal. */
static const char *const regions[] = {"us-east-1",      "us-east-2",      "us-west-1",
                                      "us-west-2",      "eu-west-1",      "eu-central-1",
                                      "ap-northeast-1", "ap-northeast-2", "ap-southeast-1",
                                      "ap-southeast-2", "ap-south-1",     "sa-east-1"};

#define REGIONS 32
#define NAMED_REGIONS (sizeof regions / sizeof regions[0])

int sfid_aws_region_name(unsigned region, char *buf, size_t size) {
    if (region >= REGIONS || buf == NULL)
        return SFID_EINVAL;
    const int n = region < NAMED_REGIONS ? snprintf(buf, size, "%s", regions[region])
                                         : snprintf(buf, size, "region-%u", region);
    return n >= 0 && (size_t)n < size ? 0 : SFID_EINVAL;
}

int sfid_aws_region(const char *name) {
    char known[SFID_AWS_REGION_LEN];
    if (name == NULL)
        return SFID_EINVAL;
    for (unsigned i = 0; i < REGIONS; i++)
        if (sfid_aws_region_name(i, known, sizeof known) == 0 && strcasecmp(name, known) == 0)
            return (int)i;
    return SFID_EINVAL;
}
