/* SPDX-License-Identifier: MIT */
/* wide.c - layouts of up to 128 bits. */
#include "id/layout_text.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Every field is in one piece, but for the sequence: its lowest seq_low bits
 * are at seq_low_shift (in a UUID the variant is in between).
 */
static const struct shape {
    const char *name;
    uint64_t max_tick;
    uint8_t bits, time_shift, pid_bits, pid_shift, seq_bits, seq_shift, seq_low, seq_low_shift, random_bits;
    sfid_wide fixed, fixed_mask; /* which bits are the same in every ID, and their values */
    sfid_form form;
    uint8_t width;
    bool any_epoch;
    uint8_t count;
    sfid_field fields[SFID_LAYOUT_FIELDS];
} shapes[] = {
    /* github.com/boundary/flake: time 64, worker 48, sequence 16. */
    {
        .name = "flake",
        .max_tick = INT64_MAX, /* the largest value of unix_ms */
        .bits = 128,
        .time_shift = 64,
        .pid_bits = 48,
        .pid_shift = 16,
        .seq_bits = 16,
        .form = SFID_HEX,
        .width = 32,
        .count = 3,
        .fields = {{"time", 64, 64, SFID_FIELD_TIME}, {"worker", 16, 48, SFID_FIELD_PID}, {"seq", 0, 16, SFID_FIELD_SEQ}},
    },
    /* github.com/ccampo133/awsflake. */
    {
        .name = "awsflake",
        .max_tick = (UINT64_C(1) << 41) - 1,
        .bits = 77,
        .time_shift = 36,
        .pid_bits = 21,
        .pid_shift = 15,
        .seq_bits = 15,
        .form = SFID_BASE62,
        .width = 1,
        .any_epoch = true,
        .count = 5,
        .fields = {{"reserved", 77, 51, SFID_FIELD_RESERVED},
                   {"time", 36, 41, SFID_FIELD_TIME},
                   {"region", 31, 5, SFID_FIELD_PID},
                   {"ip", 15, 16, SFID_FIELD_PID},
                   {"seq", 0, 15, SFID_FIELD_SEQ}},
    },
    /*
     * RFC 9562, section 5.7: unix_ts_ms 48, ver 4, rand_a 12, var 2, rand_b 62. The sequence follows the time, as in section
     * 6.2 (method 1). Its 14 bits let the pid and the random bits begin with a hex digit:
     *     tttttttt-tttt-7sss-Sppp-prrrrrrrrrrr     S: the variant and two bits of the sequence
     */
    {
        .name = "uuid7",
        .max_tick = (UINT64_C(1) << 48) - 1,
        .bits = 128,
        .time_shift = 80,
        .pid_bits = 16,
        .pid_shift = 44,
        .seq_bits = 14,
        .seq_shift = 64,
        .seq_low = 2,
        .seq_low_shift = 60,
        .random_bits = 44,
        .fixed = {UINT64_C(0x7000), UINT64_C(0x8000000000000000)},
        .fixed_mask = {UINT64_C(0xf000), UINT64_C(0xc000000000000000)},
        .form = SFID_UUID,
        .width = 36,
        .count = 7,
        .fields = {{"time", 80, 48, SFID_FIELD_TIME},
                   {"version", 76, 4, SFID_FIELD_FIXED},
                   {"seq", 64, 12, SFID_FIELD_SEQ},
                   {"variant", 62, 2, SFID_FIELD_FIXED},
                   {"seq_low", 60, 2, SFID_FIELD_SEQ},
                   {"pid", 44, 16, SFID_FIELD_PID},
                   {"random", 0, 44, SFID_FIELD_RANDOM}},
    },
    /* github.com/casualjim/flakeid, the Go program: its README has flake's widths, its IDs have these. */
    {
        .name = "flake-go",
        .max_tick = (UINT64_C(1) << 48) - 1,
        .bits = 128,
        .time_shift = 80,
        .pid_bits = 48,
        .pid_shift = 16,
        .seq_bits = 16,
        .fixed_mask = {UINT64_C(0xffff), 0},
        .form = SFID_HEX,
        .width = 32,
        .count = 4,
        .fields = {{"time", 80, 48, SFID_FIELD_TIME},
                   {"zero", 64, 16, SFID_FIELD_FIXED},
                   {"worker", 16, 48, SFID_FIELD_PID},
                   {"seq", 0, 16, SFID_FIELD_SEQ}},
    },
};

static uint64_t ones(unsigned bits) { return (UINT64_C(1) << bits) - 1; } /* bits < 64 */

/* The shape of a layout; NULL if the layout is unusable. */
static const struct shape *shape_of(const sfid_wide_layout *l) {
    if (l == NULL || l->kind < SFID_FLAKE || l->kind > SFID_FLAKE_GO || l->reserved != 0)
        return NULL;
    const struct shape *shape = &shapes[l->kind - SFID_FLAKE];
    const bool epoch_fits = shape->any_epoch ? l->epoch_ms >= SFID__EPOCH_MIN && l->epoch_ms <= SFID__EPOCH_MAX : l->epoch_ms == 0;
    return epoch_fits ? shape : NULL;
}

/* ---- IDs ------------------------------------------------------------------ */

int sfid_wide_compare(sfid_wide a, sfid_wide b) {
    const uint64_t x = a.high != b.high ? a.high : a.low, y = a.high != b.high ? b.high : b.low;
    return (x > y) - (x < y);
}

/* The 64 bits of v from bit `shift` up. */
static uint64_t from(sfid_wide v, unsigned shift) {
    if (shift >= 64)
        return v.high >> (shift - 64);
    return shift == 0 ? v.low : v.low >> shift | v.high << (64 - shift);
}

static void put(sfid_wide *v, uint64_t value, unsigned shift) {
    if (shift >= 64) {
        v->high |= value << (shift - 64);
        return;
    }
    v->low |= value << shift;
    v->high |= shift == 0 ? 0 : value >> (64 - shift);
}

int sfid_wide_parse(const sfid_wide_layout *l, sfid_wide id, sfid_wide_parts *out) {
    const struct shape *s = shape_of(l);
    if (s == NULL || out == NULL || (s->bits < 128 && from(id, s->bits) != 0))
        return SFID_EINVAL;
    if ((id.high & s->fixed_mask.high) != s->fixed.high || (id.low & s->fixed_mask.low) != s->fixed.low)
        return SFID_EINVAL;
    const uint64_t tick = from(id, s->time_shift);
    if (tick > s->max_tick)
        return SFID_EOVERFLOW;
    const uint64_t high = from(id, s->seq_shift) & ones(s->seq_bits - s->seq_low);
    *out = (sfid_wide_parts){
        .tick = tick,
        .pid = from(id, s->pid_shift) & ones(s->pid_bits),
        .seq = high << s->seq_low | (from(id, s->seq_low_shift) & ones(s->seq_low)),
        .random = id.low & ones(s->random_bits),
        .unix_ms = l->epoch_ms + (int64_t)tick,
    };
    return 0;
}

int sfid_wide_compose(const sfid_wide_layout *l, const sfid_wide_parts *in, sfid_wide *id) {
    const struct shape *s = shape_of(l);
    if (s == NULL || in == NULL || id == NULL || in->pid > ones(s->pid_bits) || in->seq > ones(s->seq_bits) ||
        in->random > ones(s->random_bits))
        return SFID_EINVAL;
    if (in->tick > s->max_tick)
        return SFID_EOVERFLOW;
    *id = s->fixed;
    put(id, in->tick, s->time_shift);
    put(id, in->pid, s->pid_shift);
    put(id, in->seq >> s->seq_low, s->seq_shift);
    put(id, in->seq & ones(s->seq_low), s->seq_low_shift);
    id->low |= in->random;
    return 0;
}

/* ---- ranges --------------------------------------------------------------- */

/* The tick of a moment; for a moment out of range, the nearer end of the range. */
static uint64_t nearest_tick(const sfid_wide_layout *l, const struct shape *s, int64_t unix_ms) {
    const uint64_t tick = unix_ms < l->epoch_ms ? 0 : (uint64_t)unix_ms - (uint64_t)l->epoch_ms;
    return tick < s->max_tick ? tick : s->max_tick;
}

int sfid_wide_min_at(const sfid_wide_layout *l, int64_t unix_ms, sfid_wide *id) {
    const struct shape *s = shape_of(l);
    if (s == NULL)
        return SFID_EINVAL;
    return sfid_wide_compose(l, &(sfid_wide_parts){.tick = nearest_tick(l, s, unix_ms)}, id);
}

int sfid_wide_max_at(const sfid_wide_layout *l, int64_t unix_ms, sfid_wide *id) {
    const struct shape *s = shape_of(l);
    if (s == NULL)
        return SFID_EINVAL;
    const sfid_wide_parts highest = {
        .tick = nearest_tick(l, s, unix_ms), .pid = ones(s->pid_bits), .seq = ones(s->seq_bits), .random = ones(s->random_bits)};
    return sfid_wide_compose(l, &highest, id);
}

/* ---- layouts -------------------------------------------------------------- */

const char *sfid_wide_layout_preset(size_t i) { return i < sizeof shapes / sizeof shapes[0] ? shapes[i].name : NULL; }

int sfid_wide_layout_parse(const char *text, sfid_wide_layout *out) {
    if (text == NULL || out == NULL)
        return SFID_EINVAL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const size_t len = strlen(shapes[i].name);
        if (strncmp(text, shapes[i].name, len) != 0)
            continue;
        sfid_wide_layout l = {(sfid_wide_kind)(SFID_FLAKE + i), 0, shapes[i].any_epoch ? SFID_AWSFLAKE_EPOCH_MS : 0};
        if (text[len] == '@' && shapes[i].any_epoch) {
            const char *end = sfid__read_epoch(text + len + 1, &l.epoch_ms);
            if (end == NULL || *end != '\0' || shape_of(&l) == NULL)
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
    const struct shape *s = shape_of(l);
    if (s == NULL || buf == NULL)
        return SFID_EINVAL;
    const bool plain = !s->any_epoch || l->epoch_ms == SFID_AWSFLAKE_EPOCH_MS;
    const int n = plain ? snprintf(buf, size, "%s", s->name) : snprintf(buf, size, "%s@%" PRId64, s->name, l->epoch_ms);
    return n >= 0 && (size_t)n < size ? 0 : SFID_EINVAL;
}

/* If pids are leased (uuid7): the fingerprint of the layout that IDs are generated in (wide_plan.h), which the app has noted. */
static uint64_t fingerprint(const sfid_wide_layout *l, const struct shape *s) {
    const uint64_t what[] = {(uint64_t)l->epoch_ms, s->bits, s->time_shift, s->pid_bits, s->pid_shift, s->seq_bits, s->seq_shift};
    const sfid_layout drawn = sfid__layout_make(48, s->pid_bits, s->seq_bits, 1, l->epoch_ms);
    return l->kind == SFID_UUID7 ? sfid__layout_fingerprint(&drawn)
                                 : sfid__hash_words(SFID__HASH_SEED, what, sizeof what / sizeof what[0]);
}

int sfid_wide_layout_describe(const sfid_wide_layout *l, sfid_wide_facts *out) {
    const struct shape *s = shape_of(l);
    if (s == NULL || out == NULL)
        return SFID_EINVAL;
    const int64_t last = s->max_tick < INT64_MAX ? l->epoch_ms + (int64_t)s->max_tick + 1 : INT64_MAX;
    const uint64_t per_second = (ones(s->seq_bits) + 1) * 1000;
    uint64_t fleet;
    *out = (sfid_wide_facts){
        .facts = {.name = s->name,
                  .last_ms = last,
                  .ids_per_tick = ones(s->seq_bits) + 1,
                  .ids_per_second = per_second,
                  .processes = ones(s->pid_bits) + 1,
                  .fingerprint = fingerprint(l, s),
                  .order = s->seq_shift > s->pid_shift ? SFID_ORDER_SEQ_PID : SFID_ORDER_PID_SEQ},
        .max_tick = s->max_tick,
        .max_pid = ones(s->pid_bits),
        .max_seq = ones(s->seq_bits),
        .max_random = ones(s->random_bits),
        .bits = s->bits,
        .form = s->form,
        .width = s->width,
    };
    out->facts.fleet_per_second = __builtin_mul_overflow(per_second, out->facts.processes, &fleet) ? UINT64_MAX : fleet;
    return 0;
}

int sfid_wide_layout_fields(const sfid_wide_layout *l, sfid_field *fields, size_t max) {
    const struct shape *s = shape_of(l);
    if (s == NULL || fields == NULL || s->count > max)
        return SFID_EINVAL;
    memcpy(fields, s->fields, s->count * sizeof *fields);
    return s->count;
}

/* ---- regions -------------------------------------------------------------- */

/* awsflake's AWSRegion.kt, by ordinal. */
static const char *const regions[] = {"us-east-1",      "us-east-2",      "us-west-1",      "us-west-2",
                                      "eu-west-1",      "eu-central-1",   "ap-northeast-1", "ap-northeast-2",
                                      "ap-southeast-1", "ap-southeast-2", "ap-south-1",     "sa-east-1"};

#define REGIONS 32
#define NAMED_REGIONS (sizeof regions / sizeof regions[0])

int sfid_aws_region_name(unsigned region, char *buf, size_t size) {
    if (region >= REGIONS || buf == NULL)
        return SFID_EINVAL;
    const int n = region < NAMED_REGIONS ? snprintf(buf, size, "%s", regions[region]) : snprintf(buf, size, "region-%u", region);
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
