/* SPDX-License-Identifier: MIT */
/* 64-bit IDs as text: every form, its edges, strict reading, and where a bad text goes wrong. */
#include "support/naive.h"

#include "support/tap.h"

static const struct {
    sfid_form form;
    int64_t id;
    const char *text;
} pairs[] = {
    {SFID_DEC, 0, "0"},
    {SFID_DEC, 9, "9"},
    {SFID_DEC, 10, "10"},
    {SFID_DEC, 99999999, "99999999"},
    {SFID_DEC, 100000000, "100000000"},
    {SFID_DEC, INT64_C(9999999999999999), "9999999999999999"},
    {SFID_DEC, INT64_C(10000000000000000), "10000000000000000"},
    {SFID_DEC, INT64_C(1541815603606036480), "1541815603606036480"},
    {SFID_DEC, INT64_MAX - 1, "9223372036854775806"},
    {SFID_DEC, INT64_MAX, "9223372036854775807"},
    {SFID_HEX, 0, "0000000000000000"},
    {SFID_HEX, 15, "000000000000000f"},
    {SFID_HEX, 16, "0000000000000010"},
    {SFID_HEX, INT64_C(0x123456789abcdef0), "123456789abcdef0"},
    {SFID_HEX, INT64_MAX, "7fffffffffffffff"},
    {SFID_BASE62, 0, "00000000000"},
    {SFID_BASE62, 9, "00000000009"},
    {SFID_BASE62, 10, "0000000000A"},
    {SFID_BASE62, 35, "0000000000Z"},
    {SFID_BASE62, 36, "0000000000a"},
    {SFID_BASE62, 61, "0000000000z"},
    {SFID_BASE62, 62, "00000000010"},
    {SFID_BASE62, INT64_C(1541815603606036480), "1ptWyK4WgZU"},
    {SFID_BASE62, INT64_MAX, "AzL8n0Y58m7"},
    {SFID_BASE32, 0, "0000000000000"},
    {SFID_BASE32, 31, "000000000000Z"},
    {SFID_BASE32, INT64_C(517811994666), "00000F280001A"},
    {SFID_BASE32, INT64_MAX, "7ZZZZZZZZZZZZ"},
    {SFID_BASE58, 0, "11111111111"},
    {SFID_BASE58, 57, "1111111111z"},
    {SFID_BASE58, 58, "11111111121"},
    {SFID_BASE58, INT64_MAX, "NQm6nKp8qFC"},
};

static void both_ways(void) {
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char buf[SFID_TEXT_LEN];
        int64_t id = -1;
        const size_t len = strlen(pairs[i].text);
        is_i64(sfid_to_text(pairs[i].form, pairs[i].id, buf, sizeof buf), (int64_t)len,
               "%s: its length", pairs[i].text);
        is_str(buf, pairs[i].text, "%s is written", pairs[i].text);
        ok(sfid_from_text(pairs[i].form, pairs[i].text, len, &id) == 0 && id == pairs[i].id,
           "%s is read", pairs[i].text);

        /* On the heap, for the memory checkers: not a byte behind the end is touched. */
        char *exact = malloc(len + 1), *bare = malloc(len);
        need(exact != NULL && bare != NULL, "out of memory");
        memcpy(bare, pairs[i].text, len);
        id = -1;
        ok(sfid_to_text(pairs[i].form, pairs[i].id, exact, len + 1) == (int)len &&
               strcmp(exact, pairs[i].text) == 0,
           "%s fits where it just fits", pairs[i].text);
        ok(sfid_from_text(pairs[i].form, bare, len, &id) == 0 && id == pairs[i].id,
           "%s is read without a NUL", pairs[i].text);
        unsigned taken = 0;
        memset(buf, '#', sizeof buf);
        for (size_t size = 0; size <= len; size++)
            taken +=
                sfid_to_text(pairs[i].form, pairs[i].id, buf, size) != SFID_EINVAL || buf[0] != '#';
        is_u64(taken, 0, "%s is not written where it does not fit", pairs[i].text);
        free(exact);
        free(bare);
    }
}

static const struct {
    sfid_form form;
    const char *text;
    int64_t id;
} also_read[] = {
    {SFID_DEC, "007", 7},
    {SFID_DEC, "00000000", 0},
    {SFID_DEC, "09223372036854775807", INT64_MAX}, /* as many digits as any 64-bit number has */
    {SFID_HEX, "F", 15},
    {SFID_HEX, "aBcDeF", 0xabcdef},
    {SFID_HEX, "7FFFFFFFFFFFFFFF", INT64_MAX},
    {SFID_HEX, "0000000000000001", 1},
    {SFID_HEX, "123456789", INT64_C(0x123456789)},
    {SFID_BASE62, "0", 0},
    {SFID_BASE62, "z", 61},
    {SFID_BASE62, "zzzzzzzzzz", INT64_C(839299365868340223)},
    {SFID_BASE32, "A", 10},
    {SFID_BASE32, "oOiIlL", 0x8421}, /* 0 0 1 1 1 1 */
    {SFID_BASE32, "7zzzzzzzzzzzz", INT64_MAX},
    {SFID_BASE58, "1", 0},
    {SFID_BASE58, "2", 1},
};

static void reading(void) {
    for (size_t i = 0; i < COUNT(also_read); i++) {
        int64_t id = -1;
        size_t at = 77;
        ok(sfid_from_text_at(also_read[i].form, also_read[i].text, strlen(also_read[i].text), &id,
                             &at) == 0 &&
               id == also_read[i].id && at == 77,
           "%s %s is read", sfid_form_name(also_read[i].form), also_read[i].text);
    }
    int64_t id = 77;
    ok(sfid_from_text(SFID_DEC, "12345", 2, &id) == 0 && id == 12,
       "as many bytes are read as were asked for");
}

static const struct {
    sfid_form form;
    int rc;
    size_t at;
    const char *text;
} refused[] = {
    {SFID_DEC, SFID_EINVAL, 0, ""},
    {SFID_DEC, SFID_EINVAL, 0, "-1"},
    {SFID_DEC, SFID_EINVAL, 0, "+1"},
    {SFID_DEC, SFID_EINVAL, 0, " 1"},
    {SFID_DEC, SFID_EINVAL, 1, "1 "},
    {SFID_DEC, SFID_EINVAL, 1, "1\n"},
    {SFID_DEC, SFID_EINVAL, 1, "1\t"},
    {SFID_DEC, SFID_EINVAL, 1, "1_000"},
    {SFID_DEC, SFID_EINVAL, 1, "1.0"},
    {SFID_DEC, SFID_EINVAL, 1, "1e3"},
    {SFID_DEC, SFID_EINVAL, 0, "f"},
    {SFID_DEC, SFID_EINVAL, 1, "0x1"},
    {SFID_DEC, SFID_EINVAL, 0, "/"},
    {SFID_DEC, SFID_EINVAL, 0, ":"},
    {SFID_DEC, SFID_EINVAL, 0, "\xb2"},
    {SFID_DEC, SFID_EINVAL, 18, "123456789012345678x"},
    {SFID_DEC, SFID_EOVERFLOW, 18, "9223372036854775808"},
    {SFID_DEC, SFID_EOVERFLOW, 18, "9223372036854775810"},
    {SFID_DEC, SFID_EOVERFLOW, 19, "10000000000000000000"},
    {SFID_DEC, SFID_EOVERFLOW, 19, "18446744073709551615"},
    /* 2^64, and 2^64 + 1: 0 and 1 in 64 bits */
    {SFID_DEC, SFID_EOVERFLOW, 19, "18446744073709551616"},
    {SFID_DEC, SFID_EOVERFLOW, 19, "18446744073709551617"},
    {SFID_DEC, SFID_EOVERFLOW, 18, "99999999999999999999"},
    {SFID_DEC, SFID_EOVERFLOW, 19, "100000000000000000000"}, /* 21 digits */
    {SFID_DEC, SFID_EOVERFLOW, 20, "009223372036854775807"},
    {SFID_DEC, SFID_EOVERFLOW, 20, "000000000000000000001"},
    {SFID_DEC, SFID_EINVAL, 20, "00000000000000000000 1"},
    /* what is no number is not too large a number */
    {SFID_DEC, SFID_EINVAL, 21, "999999999999999999999x"},
    {SFID_DEC, SFID_EINVAL, 19, "9223372036854775808-"},
    {SFID_HEX, SFID_EINVAL, 0, ""},
    {SFID_HEX, SFID_EINVAL, 1, "0x1"},
    {SFID_HEX, SFID_EINVAL, 0, "-1"},
    {SFID_HEX, SFID_EINVAL, 0, " f"},
    {SFID_HEX, SFID_EINVAL, 16, "000000000000000f "},
    {SFID_HEX, SFID_EOVERFLOW, 16, "7fffffffffffffff0"},
    {SFID_HEX, SFID_EOVERFLOW, 15, "8000000000000000"},
    {SFID_HEX, SFID_EOVERFLOW, 15, "ffffffffffffffff"},
    {SFID_HEX, SFID_EOVERFLOW, 16, "10000000000000000"},
    {SFID_HEX, SFID_EOVERFLOW, 16, "00000000000000001"}, /* 17 digits */
    {SFID_HEX, SFID_EINVAL, 20, "ffffffffffffffffffffz"},
    {SFID_BASE62, SFID_EINVAL, 0, ""},
    {SFID_BASE62, SFID_EINVAL, 3, "abc-def"},
    {SFID_BASE62, SFID_EINVAL, 0, "_"},
    {SFID_BASE62, SFID_EOVERFLOW, 10, "AzL8n0Y58m8"}, /* 2^63 */
    {SFID_BASE62, SFID_EOVERFLOW, 10, "LygHa16AHYF"}, /* 2^64 - 1 */
    {SFID_BASE62, SFID_EOVERFLOW, 10, "LygHa16AHYG"},
    {SFID_BASE62, SFID_EOVERFLOW, 10, "zzzzzzzzzzz"},
    {SFID_BASE62, SFID_EOVERFLOW, 11, "000000000001"},
    {SFID_BASE32, SFID_EINVAL, 0, ""},
    {SFID_BASE32, SFID_EINVAL, 1, "1U"},
    {SFID_BASE32, SFID_EINVAL, 5, "01234-56789AB"},
    {SFID_BASE32, SFID_EINVAL, 2, "00*"},
    {SFID_BASE32, SFID_EOVERFLOW, 12, "8000000000000"},
    {SFID_BASE32, SFID_EOVERFLOW, 12, "FZZZZZZZZZZZZ"},
    {SFID_BASE32, SFID_EOVERFLOW, 12, "G000000000000"}, /* 2^64: 0 in 64 bits */
    {SFID_BASE32, SFID_EOVERFLOW, 12, "ZZZZZZZZZZZZZ"},
    {SFID_BASE32, SFID_EOVERFLOW, 13, "00000000000001"},
    {SFID_BASE58, SFID_EINVAL, 0, ""},
    {SFID_BASE58, SFID_EINVAL, 0, "0"},
    {SFID_BASE58, SFID_EINVAL, 1, "1O"},
    {SFID_BASE58, SFID_EINVAL, 1, "1I"},
    {SFID_BASE58, SFID_EINVAL, 1, "1l"},
    {SFID_BASE58, SFID_EOVERFLOW, 10, "NQm6nKp8qFD"}, /* 2^63 */
    {SFID_BASE58, SFID_EOVERFLOW, 10, "zzzzzzzzzzz"},
    {SFID_BASE58, SFID_EOVERFLOW, 11, "111111111112"},
    {SFID_BYTES, SFID_EINVAL, 0, ""},
    {SFID_BYTES, SFID_EINVAL, 7, "1234567"},
    {SFID_BYTES, SFID_EINVAL, 8, "123456789"},
    {SFID_BYTES, SFID_EOVERFLOW, 0, "\x80.......\0"},
    {SFID_UUID, SFID_EINVAL, 0, "00000000-0000-0000-0000-000000000001"},
};

static void refusing(void) {
    for (size_t i = 0; i < COUNT(refused); i++) {
        const char *name = sfid_form_name(refused[i].form);
        const size_t len = strlen(refused[i].text);
        int64_t id = 77;
        size_t at = 999;
        is_i64(sfid_from_text_at(refused[i].form, refused[i].text, len, &id, &at), refused[i].rc,
               "%s \"%s\" is refused", name, refused[i].text);
        is_u64(at, refused[i].at, "because of this character");
        ok(sfid_from_text(refused[i].form, refused[i].text, len, &id) == refused[i].rc && id == 77,
           "also where nobody asks for the place; and the result is left alone");
    }
    int64_t id = 77;
    size_t at = 999;
    ok(sfid_from_text_at(SFID_DEC, "12\0003", 4, &id, &at) == SFID_EINVAL && at == 2,
       "a NUL in the middle is no digit");
    ok(sfid_from_text_at(SFID_HEX, "12\0", 3, &id, &at) == SFID_EINVAL && at == 2,
       "nor is one at the end");
    ok(sfid_from_text_at(SFID_DEC, NULL, 1, &id, &at) == SFID_EINVAL && at == 0, "no text");
    ok(sfid_from_text_at(SFID_DEC, "1", 1, NULL, &at) == SFID_EINVAL && at == 0,
       "no place for the ID");
    ok(sfid_from_text((sfid_form)7, "1", 1, &id) == SFID_EINVAL &&
           sfid_from_text((sfid_form)-1, "1", 1, &id) == SFID_EINVAL,
       "no such form");
    is_i64(id, 77, "all of them leave the result alone");
}

/* Is what was read of a text right? Its digits are zero, but for one byte of any kind. */
static bool read_rightly(const struct naive_form *f, const char *text, size_t len, size_t place) {
    int64_t id = 77;
    size_t at = 999, over = len;
    const int value = naive_value(f->form, f->digits, text[place]);
    const int rc = sfid_from_text_at(f->form, text, len, &id, &at);
    if (value < 0)
        return rc == SFID_EINVAL && at == place && id == 77;
    sfid_wide want = {0, (uint64_t)value};
    for (size_t i = place; over == len && i < len; i++) {
        if (i > place)
            want = naive_times(want, (uint32_t)strlen(f->digits));
        if (want.high != 0 || want.low > INT64_MAX)
            over = i;
    }
    return over == len ? rc == 0 && id == (int64_t)want.low
                       : rc == SFID_EOVERFLOW && at == over && id == 77;
}

static void every_byte(const struct naive_form *f) {
    unsigned wrong = 0;
    char text[40];
    for (size_t len = 1; len <= f->narrow; len++)
        for (size_t place = 0; place < len; place++)
            for (int c = 0; c < 256; c++) {
                memset(text, f->digits[0], sizeof text);
                text[place] = (char)c;
                wrong += !read_rightly(f, text, len, place);
            }
    is_u64(wrong, 0, "%s: each byte at each place is read rightly or refused there",
           sfid_form_name(f->form));
}

static void padding(void) {
    char buf[SFID_TEXT_LEN];
    static const int64_t ids[] = {
        0, 1, 61, 62, 1000, 99999999, 100000000, INT64_C(517811994666), INT64_MAX};
    for (size_t f = 0; f < NAIVE_FORMS; f++) {
        unsigned wrong = 0;
        for (size_t i = 0; i < COUNT(ids); i++)
            for (unsigned width = 0; width <= naive_forms[f].narrow; width++) {
                char want[40];
                const sfid_wide v = {0, (uint64_t)ids[i]};
                const size_t len = naive_text(naive_forms[f].digits, v,
                                              width ? width : naive_forms[f].own_narrow, want);
                wrong += sfid_to_text_padded(naive_forms[f].form, ids[i], width, buf, sizeof buf) !=
                             (int)len ||
                         strcmp(buf, want) != 0;
                /* where it just fits, and nothing behind it is touched */
                memset(buf, '#', sizeof buf);
                wrong += sfid_to_text_padded(naive_forms[f].form, ids[i], width, buf, len + 1) !=
                             (int)len ||
                         strcmp(buf, want) != 0 || (len + 1 < sizeof buf && buf[len + 1] != '#');
                wrong += sfid_to_text_padded(naive_forms[f].form, ids[i], width, buf, len) !=
                         SFID_EINVAL;
            }
        const char *name = sfid_form_name(naive_forms[f].form);
        is_u64(wrong, 0, "%s: every width", name);
        is_i64(sfid_to_text_padded(naive_forms[f].form, 1, (unsigned)naive_forms[f].narrow + 1, buf,
                                   sizeof buf),
               SFID_EINVAL, "%s: no wider than it reads", name);
    }
}

/* The least and the greatest ID of each number of digits. */
static void decimal_lengths(void) {
    unsigned wrong = 0;
    for (uint64_t least = 1; least <= INT64_MAX / 10; least *= 10)
        for (uint64_t id = least * 10 - 1; id <= least * 10; id++) {
            /* and nothing in front of the text is touched */
            char buf[1 + SFID_TEXT_LEN] = "#", want[1 + SFID_TEXT_LEN];
            const int len = snprintf(want, sizeof want, "#%llu", (unsigned long long)id);
            wrong += sfid_to_text(SFID_DEC, (int64_t)id, buf + 1, SFID_TEXT_LEN) != len - 1 ||
                     strcmp(buf, want) != 0;
        }
    is_u64(wrong, 0, "9, 10, 99, 100 and so on are written with as many digits as they have");
}

static void bytes_and_names(void) {
    char buf[SFID_TEXT_LEN];
    int64_t id = 0;
    memset(buf, '#', sizeof buf);
    ok(sfid_to_text(SFID_BYTES, INT64_C(0x0102030405060708), buf, 8) == 8 &&
           memcmp(buf, "\1\2\3\4\5\6\7\10#", 9) == 0,
       "bytes are big-endian, and no NUL follows");
    ok(sfid_from_text(SFID_BYTES, buf, 8, &id) == 0 && id == INT64_C(0x0102030405060708),
       "and are read back");
    ok(sfid_to_text(SFID_BYTES, 1, buf, 7) == SFID_EINVAL &&
           sfid_to_text_padded(SFID_BYTES, 1, 7, buf, 24) == SFID_EINVAL &&
           sfid_to_text_padded(SFID_BYTES, 1, 8, buf, 24) == 8,
       "eight of them, no fewer");
    is_i64(sfid_to_text(SFID_UUID, 1, buf, sizeof buf), SFID_EINVAL, "64 bits are no UUID");
    is_i64(sfid_to_text(SFID_DEC, -1, buf, sizeof buf), SFID_EINVAL, "a negative number is no ID");
    is_i64(sfid_to_text(SFID_HEX, INT64_MIN, buf, sizeof buf), SFID_EINVAL, "in any form");
    is_i64(sfid_to_text(SFID_DEC, 1, NULL, 24), SFID_EINVAL, "no room");
    is_i64(sfid_to_text((sfid_form)7, 1, buf, sizeof buf), SFID_EINVAL, "no such form");
    is_i64(sfid_to_text((sfid_form)-1, 1, buf, sizeof buf), SFID_EINVAL, "nor such");

    static const char *const names[] = {"dec",    "hex",  "base62", "base32",
                                        "base58", "uuid", "bytes"};
    for (int i = 0; i < 7; i++)
        is_str(sfid_form_name((sfid_form)i), names[i], "form %d is %s", i, names[i]);
    ok(sfid_form_name((sfid_form)7) == NULL && sfid_form_name((sfid_form)-1) == NULL,
       "there are no others");
}

int main(void) {
    both_ways();
    reading();
    refusing();
    for (size_t f = 0; f < NAIVE_FORMS; f++)
        every_byte(&naive_forms[f]);
    padding();
    decimal_lengths();
    bytes_and_names();
    return done_testing();
}
