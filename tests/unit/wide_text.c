/* SPDX-License-Identifier: MIT */
/* 128-bit IDs as text: every form, its edges, strict reading, and where a bad text goes wrong. */
#include "support/naive.h"

#include "support/tap.h"

#define ONES UINT64_MAX

static const struct {
    sfid_form form;
    sfid_wide id;
    unsigned width;
    const char *text;
} pairs[] = {
    {SFID_DEC, {0, 0}, 0, "0"},
    {SFID_DEC, {0, ONES}, 0, "18446744073709551615"},
    {SFID_DEC, {1, 0}, 0, "18446744073709551616"},
    {SFID_DEC, {ONES, ONES}, 0, "340282366920938463463374607431768211455"},
    {SFID_DEC, {0, 7}, 39, "000000000000000000000000000000000000007"},
    {SFID_HEX, {0, 0}, 0, "00000000000000000000000000000000"},
    {SFID_HEX,
     {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)},
     0,
     "0123456789abcdeffedcba9876543210"},
    {SFID_HEX, {ONES, ONES}, 0, "ffffffffffffffffffffffffffffffff"},
    {SFID_HEX, {0, 1}, 1, "1"},
    {SFID_HEX, {1, 0}, 1, "10000000000000000"},
    {SFID_BASE62, {0, ONES}, 11, "LygHa16AHYF"},
    {SFID_BASE62, {0, ONES}, 1, "LygHa16AHYF"},
    {SFID_BASE62, {0, ONES}, 0, "00000000000LygHa16AHYF"},
    {SFID_BASE62, {1, 0}, 1, "LygHa16AHYG"},
    {SFID_BASE62, {ONES, ONES}, 0, "7n42DGM5Tflk9n8mt7Fhc7"},
    {SFID_BASE62, {0, 0}, 1, "0"},
    {SFID_BASE32, {0, 0}, 0, "00000000000000000000000000"},
    {SFID_BASE32, {ONES, ONES}, 0, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
    {SFID_BASE32, {0, ONES}, 13, "FZZZZZZZZZZZZ"},
    {SFID_BASE58, {0, 0}, 0, "1111111111111111111111"},
    {SFID_BASE58, {0, ONES}, 1, "jpXCZedGfVQ"},
    {SFID_BASE58, {ONES, ONES}, 0, "YcVfxkQb6JRzqk5kF2tNLv"},
    {SFID_UUID, {0, 0}, 0, "00000000-0000-0000-0000-000000000000"},
    {SFID_UUID,
     {UINT64_C(0x017f22e279b07cc3), UINT64_C(0x98c4dc0c0c07398f)},
     36,
     "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"},
    {SFID_UUID, {ONES, ONES}, 0, "ffffffff-ffff-ffff-ffff-ffffffffffff"},
};

static void both_ways(void) {
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const sfid_wide want = pairs[i].id;
        sfid_wide id = {1, 2};
        size_t at = 999;
        const size_t len = strlen(pairs[i].text);
        char *exact = malloc(len + 1), *bare = malloc(len); /* for the memory checkers */
        need(exact != NULL && bare != NULL, "out of memory");
        memcpy(bare, pairs[i].text, len);
        ok(sfid_wide_to_text(pairs[i].form, want, pairs[i].width, exact, len + 1) == (int)len &&
               strcmp(exact, pairs[i].text) == 0,
           "%s is written where it just fits", pairs[i].text);
        is_i64(sfid_wide_to_text(pairs[i].form, want, pairs[i].width, exact, len), SFID_EINVAL,
               "and nowhere smaller");
        ok(sfid_wide_from_text(pairs[i].form, bare, len, &id, &at) == 0 &&
               sfid_wide_compare(id, want) == 0 && at == 999,
           "%s is read", pairs[i].text);
        free(exact);
        free(bare);
    }
}

static const struct {
    sfid_form form;
    const char *text;
    sfid_wide id;
} also_read[] = {
    {SFID_DEC, "000000000000000000000000000000000000001", {0, 1}},
    {SFID_HEX, "ABCDEF", {0, 0xabcdef}},
    {SFID_HEX, "FfFfFfFfFfFfFfFf", {0, ONES}},
    {SFID_BASE62, "57NO5HEVlVCa", {0xe, UINT64_C(0x70b05e3000010000)}},
    {SFID_BASE62, "057NO5HEVlVCa", {0xe, UINT64_C(0x70b05e3000010000)}},
    {SFID_BASE32,
     "01ARZ3NDEKTSV4RRFFQ69G5FAV",
     {UINT64_C(0x01563e3ab5d3d676), UINT64_C(0x4c61efb99302bd5b)}},
    {SFID_BASE32,
     "oiarz3ndektsv4rrffq69g5fav",
     {UINT64_C(0x01563e3ab5d3d676), UINT64_C(0x4c61efb99302bd5b)}},
    {SFID_UUID,
     "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
     {UINT64_C(0x017f22e279b07cc3), UINT64_C(0x98c4dc0c0c07398f)}},
};

static const struct {
    sfid_form form;
    int rc;
    size_t at;
    const char *text;
} refused[] = {
    {SFID_DEC, SFID_EINVAL, 0, ""},
    {SFID_DEC, SFID_EINVAL, 0, "-1"},
    {SFID_DEC, SFID_EINVAL, 38, "34028236692093846346337460743176821145x"},
    {SFID_DEC, SFID_EOVERFLOW, 38, "340282366920938463463374607431768211456"}, /* 2^128 */
    {SFID_DEC, SFID_EOVERFLOW, 38, "999999999999999999999999999999999999999"},
    {SFID_DEC, SFID_EOVERFLOW, 39, "0000000000000000000000000000000000000000"},
    {SFID_HEX, SFID_EINVAL, 8, "017f22e2-79b07cc398c4dc0c0c07398f"},
    {SFID_HEX, SFID_EINVAL, 31, "0000000000000000000000000000000g"},
    {SFID_HEX, SFID_EINVAL, 15, "000000000000000g"},
    {SFID_HEX, SFID_EOVERFLOW, 32, "000000000000000000000000000000001"},
    {SFID_BASE62, SFID_EOVERFLOW, 21, "7n42DGM5Tflk9n8mt7Fhc8"}, /* 2^128 */
    {SFID_BASE62, SFID_EOVERFLOW, 21, "zzzzzzzzzzzzzzzzzzzzzz"},
    {SFID_BASE62, SFID_EOVERFLOW, 22, "00000000000000000000001"},
    {SFID_BASE62, SFID_EINVAL, 12, "57NO5HEVlVCa\n"},
    {SFID_BASE32, SFID_EOVERFLOW, 25, "80000000000000000000000000"}, /* a ULID past its end */
    {SFID_BASE32, SFID_EOVERFLOW, 25, "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"},
    {SFID_BASE32, SFID_EINVAL, 0, "U1ARZ3NDEKTSV4RRFFQ69G5FAV"},
    {SFID_BASE58, SFID_EOVERFLOW, 21, "YcVfxkQb6JRzqk5kF2tNLw"}, /* 2^128 */
    {SFID_BASE58, SFID_EINVAL, 3, "abc0"},
    {SFID_UUID, SFID_EINVAL, 0, ""},
    {SFID_UUID, SFID_EINVAL, 0, "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}"},
    {SFID_UUID, SFID_EINVAL, 36, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f "},
    {SFID_UUID, SFID_EINVAL, 35, "017f22e2-79b0-7cc3-98c4-dc0c0c07398"},
    {SFID_UUID, SFID_EINVAL, 8, "017f22e279b07cc398c4dc0c0c07398f"},
    {SFID_UUID, SFID_EINVAL, 8, "017f22e2_79b0-7cc3-98c4-dc0c0c07398f"},
    {SFID_UUID, SFID_EINVAL, 23, "017f22e2-79b0-7cc3-98c4+dc0c0c07398f"},
    {SFID_UUID, SFID_EINVAL, 9, "017f22e2-g9b0-7cc3-98c4-dc0c0c07398f"},
    {SFID_UUID, SFID_EINVAL, 35, "017f22e2-79b0-7cc3-98c4-dc0c0c07398-"},
    {SFID_BYTES, SFID_EINVAL, 15, "123456789012345"},
    {SFID_BYTES, SFID_EINVAL, 16, "12345678901234567"},
};

static void reading(void) {
    for (size_t i = 0; i < COUNT(also_read); i++) {
        sfid_wide id = {1, 2};
        ok(sfid_wide_from_text(also_read[i].form, also_read[i].text, strlen(also_read[i].text), &id,
                               NULL) == 0 &&
               sfid_wide_compare(id, also_read[i].id) == 0,
           "%s is read", also_read[i].text);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        sfid_wide id = {1, 2};
        size_t at = 999;
        is_i64(sfid_wide_from_text(refused[i].form, refused[i].text, strlen(refused[i].text), &id,
                                   &at),
               refused[i].rc, "%s \"%s\" is refused", sfid_form_name(refused[i].form),
               refused[i].text);
        is_u64(at, refused[i].at, "because of this character");
        ok(id.high == 1 && id.low == 2, "and the result left alone");
    }
    sfid_wide id;
    size_t at = 999;
    ok(sfid_wide_from_text(SFID_DEC, NULL, 1, &id, &at) == SFID_EINVAL && at == 0, "no text");
    ok(sfid_wide_from_text(SFID_DEC, "1", 1, NULL, &at) == SFID_EINVAL, "no place for the ID");
    ok(sfid_wide_from_text((sfid_form)7, "1", 1, &id, &at) == SFID_EINVAL &&
           sfid_wide_from_text((sfid_form)-1, "1", 1, &id, NULL) == SFID_EINVAL,
       "no such form");
}

/* Is a text of zeros, but for one byte of any kind, read rightly? */
static bool read_rightly(const struct naive_form *f, const char *text, size_t len, size_t place) {
    sfid_wide id = {1, 2};
    size_t at = 999;
    const int value = naive_value(f->form, f->digits, text[place]);
    const int rc = sfid_wide_from_text(f->form, text, len, &id, &at);
    if (value < 0)
        return rc == SFID_EINVAL && at == place;
    char back[SFID_WIDE_TEXT_LEN], want[60];
    if (rc == 0) /* the naive text of what was read has the same digits */
        return naive_text(f->digits, id, len, back) == len && memcmp(back, text, place) == 0 &&
               naive_value(f->form, f->digits, back[place]) == value &&
               memcmp(back + place + 1, text + place + 1, len - place - 1) == 0;
    /* Refused for its value: then it lies, of so many digits, above the highest number's. */
    return rc == SFID_EOVERFLOW && place == 0 && len == f->wide && at == len - 1 &&
           naive_text(f->digits, (sfid_wide){ONES, ONES}, len, want) == len &&
           value > naive_value(f->form, f->digits, want[0]);
}

static void every_byte(const struct naive_form *f) {
    unsigned wrong = 0;
    char text[60];
    for (size_t len = 1; len <= f->wide; len++)
        for (size_t place = 0; place < len; place++)
            for (int c = 0; c < 256; c++) {
                memset(text, f->digits[0], sizeof text);
                text[place] = (char)c;
                wrong += !read_rightly(f, text, len, place);
            }
    is_u64(wrong, 0, "%s: each byte at each place is read rightly or refused there",
           sfid_form_name(f->form));
}

static void beginning_of_a_uuid(void) {
    sfid_wide id;
    size_t at = 99;
    ok(sfid_wide_from_text(SFID_UUID, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 5, &id, &at) ==
               SFID_EINVAL &&
           at == 5,
       "of a text that is told to be short, the rest is not looked at");
}

static void every_byte_of_a_uuid(void) {
    unsigned wrong = 0;
    for (size_t place = 0; place < 36; place++)
        for (int c = 0; c < 256; c++) {
            char text[] = "00000000-0000-0000-0000-000000000000", back[SFID_WIDE_TEXT_LEN];
            sfid_wide id = {1, 2};
            size_t at = 999;
            const bool good = text[place] == '-'
                                  ? c == '-'
                                  : naive_value(SFID_UUID, "0123456789abcdef", (char)c) >= 0;
            text[place] = (char)c;
            const int rc = sfid_wide_from_text(SFID_UUID, text, 36, &id, &at);
            text[place] = (char)(c >= 'A' && c <= 'F' ? c + 32 : c);
            if (good)
                wrong += rc != 0 || sfid_wide_to_text(SFID_UUID, id, 0, back, sizeof back) != 36 ||
                         strcmp(back, text) != 0;
            else
                wrong += rc != SFID_EINVAL || at != place || id.high != 1;
        }
    is_u64(wrong, 0, "uuid: each byte at each place is read rightly or refused there");
}

static void padding(void) {
    static const sfid_wide ids[] = {{0, 0},    {0, 1}, {0, 99999999}, {0, 100000000},
                                    {0, ONES}, {1, 0}, {77, 5},       {ONES, ONES}};
    for (size_t f = 0; f < NAIVE_FORMS; f++) {
        unsigned wrong = 0;
        const sfid_form form = naive_forms[f].form;
        for (size_t i = 0; i < COUNT(ids); i++)
            for (unsigned width = 0; width <= naive_forms[f].wide; width++) {
                char buf[SFID_WIDE_TEXT_LEN], want[SFID_WIDE_TEXT_LEN];
                const size_t len = naive_text(naive_forms[f].digits, ids[i],
                                              width ? width : naive_forms[f].own_wide, want);
                wrong += sfid_wide_to_text(form, ids[i], width, buf, sizeof buf) != (int)len ||
                         strcmp(buf, want) != 0;
                memset(buf, '#', sizeof buf);
                wrong += sfid_wide_to_text(form, ids[i], width, buf, len + 1) != (int)len ||
                         strcmp(buf, want) != 0 || (len + 1 < sizeof buf && buf[len + 1] != '#');
                wrong += sfid_wide_to_text(form, ids[i], width, buf, len) != SFID_EINVAL;
            }
        is_u64(wrong, 0, "%s: every width", sfid_form_name(form));
        char buf[64];
        is_i64(sfid_wide_to_text(form, ids[0], (unsigned)naive_forms[f].wide + 1, buf, sizeof buf),
               SFID_EINVAL, "%s: no wider than it reads", sfid_form_name(form));
    }
}

static void odd_ones(void) {
    char buf[SFID_WIDE_TEXT_LEN];
    const sfid_wide id = {UINT64_C(0x0102030405060708), UINT64_C(0x090a0b0c0d0e0f10)};
    sfid_wide back = {0, 0};
    memset(buf, '#', sizeof buf);
    ok(sfid_wide_to_text(SFID_BYTES, id, 0, buf, 16) == 16 &&
           memcmp(buf, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20#", 17) == 0,
       "bytes are big-endian, and no NUL follows");
    ok(sfid_wide_from_text(SFID_BYTES, buf, 16, &back, NULL) == 0 &&
           sfid_wide_compare(back, id) == 0,
       "and are read back");
    ok(sfid_wide_to_text(SFID_BYTES, id, 0, buf, 15) == SFID_EINVAL &&
           sfid_wide_to_text(SFID_BYTES, id, 8, buf, 40) == SFID_EINVAL,
       "sixteen of them, no fewer");
    is_i64(sfid_wide_to_text(SFID_UUID, id, 1, buf, 40), SFID_EINVAL, "a UUID has one width");
    ok(sfid_wide_to_text(SFID_DEC, id, 0, NULL, 40) == SFID_EINVAL &&
           sfid_wide_to_text((sfid_form)7, id, 0, buf, 40) == SFID_EINVAL &&
           sfid_wide_to_text((sfid_form)-1, id, 0, buf, 40) == SFID_EINVAL,
       "no room and no such form");
}

static void comparing(void) {
    static const sfid_wide rising[] = {{0, 0}, {0, 1},    {0, ONES},   {1, 0},
                                       {1, 1}, {ONES, 0}, {ONES, ONES}};
    unsigned wrong = 0;
    for (int i = 0; i < (int)COUNT(rising); i++)
        for (int j = 0; j < (int)COUNT(rising); j++) {
            const int got = sfid_wide_compare(rising[i], rising[j]);
            wrong += (got > 0) - (got < 0) != (i > j) - (i < j);
        }
    is_u64(wrong, 0, "IDs compare as numbers");
}

int main(void) {
    both_ways();
    reading();
    for (size_t f = 0; f < NAIVE_FORMS; f++)
        every_byte(&naive_forms[f]);
    beginning_of_a_uuid();
    every_byte_of_a_uuid();
    padding();
    odd_ones();
    comparing();
    return done_testing();
}
