/* SPDX-License-Identifier: MIT */
/*
 * makers.c - recognises IDs of other makers by their form, and takes them apart.
 *
 * A form is an alphabet, a length, and bits that are always the same. That is
 * strong for a UUID, and weak for 24 hex digits; so a form with a time counts
 * only if the time is one at which such IDs have been generated.
 *
 * Sources: UUIDs: RFC 9562. ULID: github.com/ulid/spec. KSUID:
 * github.com/segmentio/ksuid. ObjectId: the manual of MongoDB, "ObjectId()".
 * xid: github.com/rs/xid. TSID: github.com/f4b6a3/tsid-creator.
 */
#include "decode/makers.h"

#include "io/json.h"
#include "io/say.h"
#include "text/show.h"

#include <inttypes.h>
#include <stdio.h>

#define BYTES 20 /* of the longest, a KSUID */

static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
                  base32hex[] = "0123456789abcdefghijklmnopqrstuv",
                  base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                  hex[] = "0123456789abcdef";

/* Appends a digit to a number. Returns false if it no longer fits. */
static bool append(uint8_t number[BYTES], unsigned base, unsigned digit) {
    for (size_t i = BYTES; i-- > 0; digit >>= 8) {
        digit += number[i] * base;
        number[i] = (uint8_t)digit;
    }
    return digit == 0;
}

/* Reads digits of an alphabet. Those without one of the two cases are read in both. */
static bool read_number(const char *alphabet, const char *text, size_t len, uint8_t number[BYTES]) {
    const size_t base = strlen(alphabet);
    memset(number, 0, BYTES);
    for (size_t i = 0; i < len; i++) {
        const bool upper = text[i] >= 'A' && text[i] <= 'Z',
                   lower = text[i] >= 'a' && text[i] <= 'z';
        const char other = upper && alphabet == hex         ? (char)(text[i] + 32)
                           : lower && alphabet == crockford ? (char)(text[i] - 32)
                                                            : text[i];
        const char *at = memchr(alphabet, other, base);
        if (at == NULL || !append(number, (unsigned)base, (unsigned)(at - alphabet)))
            return false;
    }
    return true;
}

/* Bits of a number, counted from its lowest one. */
static uint64_t bits_of(const uint8_t number[BYTES], unsigned shift, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = shift + count; i-- > shift;)
        value = value << 1 | (number[BYTES - 1 - i / 8] >> i % 8 & 1);
    return value;
}

/* ---- parts ----------------------------------------------------------------- */

static void add_number(struct made *made, const char *name, uint64_t value) {
    made->part[made->parts].name = name;
    snprintf(made->part[made->parts++].value, MAKER_VALUE, "%" PRIu64, value);
}

/* Writes bytes as hex digits, from a byte of the number, with a separator between them if there is
 * one. */
static void add_bytes(struct made *made, const char *name, const uint8_t *bytes, size_t count,
                      const char *between) {
    char *p = made->part[made->parts].value;
    made->part[made->parts++].name = name;
    for (size_t i = 0; i < count; i++)
        p += sprintf(p, "%s%02x", i > 0 ? between : "", bytes[i]);
}

static void set(struct made *made, const char *name, const char *what, const char *note) {
    *made = (struct made){.name = name, .what = what, .note = note};
}

/* since_ms: when the first such IDs were generated; ANY_TIME: the form says enough. */
#define ANY_TIME INT64_MIN

static void set_time(struct made *made, int64_t unix_ms, int64_t since_ms) {
    made->timed = true;
    made->unix_ms = unix_ms;
    made->odd =
        since_ms != ANY_TIME && (unix_ms < since_ms || unix_ms > moment_now().unix_ms + DAY);
}

/* ---- forms without hyphens --------------------------------------------------- */

static bool find_ulid(const char *text, size_t len, struct made *made) {
    uint8_t n[BYTES];
    if (!read_number(crockford, text, len, n) || bits_of(n, 128, 2) != 0)
        return false;
    set(made, "ulid", "a ULID", NULL);
    set_time(made, (int64_t)bits_of(n, 80, 48), 0);
    add_bytes(made, "random", n + BYTES - 10, 10, "");
    return true;
}

static bool find_ksuid(const char *text, size_t len, struct made *made) {
    const int64_t epoch_s = 1400000000;
    uint8_t n[BYTES];
    if (!read_number(base62, text, len, n))
        return false;
    set(made, "ksuid", "a KSUID", NULL);
    set_time(made, ((int64_t)bits_of(n, 128, 32) + epoch_s) * 1000, 0);
    add_bytes(made, "payload", n + BYTES - 16, 16, "");
    return true;
}

/* Such IDs have been generated since 2009; MongoDB's first release was in that year. */
#define OBJECT_ID_SINCE INT64_C(1230768000000)

static bool find_object_id(const char *text, size_t len, struct made *made) {
    uint8_t n[BYTES];
    if (!read_number(hex, text, len, n))
        return false;
    set(made, "objectid", "an ObjectId of MongoDB", NULL);
    set_time(made, (int64_t)bits_of(n, 64, 32) * 1000, OBJECT_ID_SINCE);
    add_bytes(made, "random", n + BYTES - 8, 5, "");
    add_number(made, "counter", bits_of(n, 0, 24));
    return true;
}

/* 96 bits in 20 digits of 5: the last four bits are 0. */
static bool find_xid(const char *text, size_t len, struct made *made) {
    uint8_t n[BYTES];
    if (all_decimal(text, len) || !read_number(base32hex, text, len, n) || bits_of(n, 0, 4) != 0)
        return false;
    set(made, "xid", "an xid", NULL);
    set_time(made, (int64_t)bits_of(n, 68, 32) * 1000, OBJECT_ID_SINCE);
    (void)append(n, 16, 0); /* to a whole byte, which fits */
    add_bytes(made, "machine", n + BYTES - 9, 3, "");
    add_number(made, "pid", bits_of(n, 32, 16));
    add_number(made, "counter", bits_of(n, 8, 24));
    return true;
}

static bool find_tsid(const char *text, size_t len, struct made *made) {
    const int64_t epoch_ms = INT64_C(1577836800000);
    uint8_t n[BYTES];
    if (all_decimal(text, len) || !read_number(crockford, text, len, n) || bits_of(n, 64, 1) != 0)
        return false;
    set(made, "tsid", "a TSID",
        "if its epoch is 2020; any 64-bit ID may be written so: --from base32");
    set_time(made, (int64_t)bits_of(n, 22, 42) + epoch_ms, 0);
    add_number(made, "random", bits_of(n, 0, 22));
    return true;
}

/* ---- UUIDs ------------------------------------------------------------------- */

/* Gregorian ticks of 100 ns, since 1582-10-15. */
static int64_t gregorian_ms(uint64_t ticks) {
    return (int64_t)(ticks / 10000) - INT64_C(12219292800000);
}

static void add_clock(struct made *made, const uint8_t n[BYTES], uint64_t ticks) {
    set_time(made, gregorian_ms(ticks), ANY_TIME);
    add_number(made, "clock_seq", bits_of(n, 48, 14));
    add_bytes(made, "node", n + BYTES - 6, 6, ":");
    if (bits_of(n, 40, 1))
        made->note = "the node is random, not a MAC address";
}

static void find_version(struct made *made, const uint8_t n[BYTES]) {
    static const char *const versions[][3] = {
        {"uuid", "a UUID", "no standard defines its version"},
        {"uuid1", "a UUID of version 1", NULL},
        {"uuid2", "a UUID of version 2",
         "of DCE security: the lowest 32 bits of its time are a user or group"},
        {"uuid3", "a UUID of version 3", "the MD5 sum of a name: it holds no time"},
        {"uuid4", "a UUID of version 4", "random: it holds no time"},
        {"uuid5", "a UUID of version 5", "the SHA-1 sum of a name: it holds no time"},
        {"uuid6", "a UUID of version 6", NULL},
        {"uuid7", "a UUID of version 7", "if libsfid made it: --layout uuid7 shows pid and seq"},
        {"uuid8", "a UUID of version 8", "its maker alone knows what it holds"},
    };
    const uint64_t version = bits_of(n, 76, 4);
    const char *const *texts = versions[version < COUNT_OF(versions) ? version : 0];
    set(made, texts[0], texts[1], texts[2]);
    if (version == 1)
        add_clock(made, n,
                  bits_of(n, 64, 12) << 48 | bits_of(n, 80, 16) << 32 | bits_of(n, 96, 32));
    if (version == 6)
        add_clock(made, n, bits_of(n, 80, 48) << 12 | bits_of(n, 64, 12));
    if (version != 7)
        return;
    set_time(made, (int64_t)bits_of(n, 80, 48), ANY_TIME);
    add_number(made, "rand_a", bits_of(n, 64, 12));
    add_number(made, "rand_b", bits_of(n, 0, 62));
}

/* 8-4-4-4-12 hex digits. The four hyphens make it a UUID, whatever its bits are. */
static bool find_uuid(const char *text, struct made *made) {
    static const unsigned groups[] = {8, 4, 4, 4, 12};
    char digits[32];
    uint8_t n[BYTES];
    size_t at = 0, count = 0;
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        if (i > 0 && text[at++] != '-')
            return false;
        memcpy(digits + count, text + at, groups[i]);
        count += groups[i];
        at += groups[i];
    }
    if (!read_number(hex, digits, count, n))
        return false;
    const uint64_t high = bits_of(n, 64, 64), low = bits_of(n, 0, 64), variant = bits_of(n, 62, 2);
    if (variant == 2)
        find_version(made, n);
    else if (high == 0 && low == 0)
        set(made, "uuid", "the nil UUID", "all bits are 0: it stands for none");
    else if (high == UINT64_MAX && low == UINT64_MAX)
        set(made, "uuid", "the max UUID", "all bits are 1: it stands for an end");
    else
        set(made, "uuid", "a UUID",
            "its variant is not that of RFC 9562, so its version and time mean nothing here");
    return true;
}

bool maker_find(const char *text, size_t len, struct made *made) {
    switch (len) {
    case 13:
        return find_tsid(text, len, made);
    case 20:
        return find_xid(text, len, made);
    case 24:
        return find_object_id(text, len, made);
    case 26:
        return find_ulid(text, len, made);
    case 27:
        return find_ksuid(text, len, made);
    case 36:
        return find_uuid(text, made);
    case 38: /* as Microsoft writes it */
        return text[0] == '{' && text[37] == '}' && find_uuid(text + 1, made);
    case 45:
        return strncasecmp(text, "urn:uuid:", 9) == 0 && find_uuid(text + 9, made);
    default:
        return false;
    }
}

/* ---- output ------------------------------------------------------------------ */

static void show_part(bool json, const char *name, const char *value) {
    if (json)
        json_text(name, value);
    else
        out_print("%-10s  %s\n", name, value);
}

static void show_time(struct view *view, bool json, const struct taken *taken) {
    char text[DATE_ROOM + 20], number[DEC_ROOM];
    char *end = put_date(&view->date, text, taken->unix_ms);
    strcpy(end, !json && view_is_future(taken) ? " (in the future)" : "");
    show_part(json, "time", text);
    *put_int(number, taken->unix_ms) = '\0';
    if (json)
        json_int("unix_ms", taken->unix_ms);
    else
        show_part(json, "unix_ms", number);
}

/* What follows the parts. */
static void show_age(struct view *view, bool json, const struct taken *taken) {
    char age[40] = "", day[40];
    *view_put_age(age, view_age(taken)) = '\0';
    if (view->age && json)
        json_int("age_ms", view_age(taken));
    else if (view->age)
        show_part(json, "age", age);
    *put_partition(&view->date, day, view->partition == PARTITION_HOUR) = '\0';
    if (view->partition)
        show_part(json, "partition", day);
    if (json && view_is_future(taken))
        json_bool("future", true);
}

bool maker_show(struct view *view, const char *text, size_t len, const struct made *made) {
    const struct taken taken = {.unix_ms = made->unix_ms};
    const bool json = view->format == VIEW_JSON;
    char id[64];
    if (!json && view->format != VIEW_TEXT)
        return false;
    snprintf(id, sizeof id, "%.*s", (int)len, text);
    if (json)
        json_open(NULL, '{');
    else
        out_bytes("\n", view->later);
    show_part(json, "id", id);
    show_part(json, "maker", made->name);
    if (made->timed)
        show_time(view, json, &taken);
    for (unsigned i = 0; i < made->parts; i++)
        show_part(json, made->part[i].name, made->part[i].value);
    if (!json && made->note)
        show_part(json, "note", made->note);
    if (made->timed)
        show_age(view, json, &taken);
    if (json)
        json_end();
    view->later = true;
    return true;
}

/* ---- messages ---------------------------------------------------------------- */

void maker_explain(const struct made *made, const char *layout, char why[READER_WHY]) {
    char date[DATE_ROOM];
    date_text(date, made->unix_ms);
    if (made->odd)
        snprintf(why, READER_WHY,
                 "is not an ID of layout %s; it has the form of %s, but then its time would be %s",
                 layout, made->what, date);
    else
        snprintf(why, READER_WHY, "is not an ID of layout %s, but %s by its form%s%s", layout,
                 made->what, made->timed ? ", of " : "", made->timed ? date : "");
}

/* A word of their lengths, which nothing else explains. */
bool maker_is_word(const char *text, size_t len) {
    if (len < 13 || len > 45)
        return false;
    for (size_t i = 0; i < len; i++)
        if (memchr(base62, text[i], sizeof base62 - 1) == NULL && text[i] != '-')
            return false;
    return true;
}

void makers_add(struct makers *makers, const struct made *made) {
    struct maker_count *m = makers->list;
    while (m->count > 0 && strcmp(m->what, made->what) != 0)
        m++; /* there are fewer kinds than places */
    if (m->count++ == 0)
        *m = (struct maker_count){made->what, 1, made->timed, made->unix_ms, made->unix_ms};
    m->first = made->unix_ms < m->first ? made->unix_ms : m->first;
    m->last = made->unix_ms > m->last ? made->unix_ms : m->last;
    makers->all++;
}

void makers_tell(const struct makers *makers, uint64_t others) {
    for (const struct maker_count *m = makers->list; m->count > 0; m++) {
        say("%" PRIu64 " of %" PRIu64
            " IDs: each is %s by its form%s%s%s%s; without --guess they are taken apart",
            m->count, makers->all + others, m->what, m->timed ? ", from " : "",
            m->timed ? DATED(m->first) : "", m->timed ? " to " : "",
            m->timed ? DATED(m->last) : "");
    }
}
