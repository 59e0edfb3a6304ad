/* SPDX-License-Identifier: MIT */
/* IDs as text: both forms, their edges, and strict reading. */
#include "compiler.h"

#include "tap.h"

#include <inttypes.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    sfid_form form;
    int64_t id;
    const char *text;
} pairs[] = {
    {SFID_DEC, 0, "0"},
    {SFID_DEC, 9, "9"},
    {SFID_DEC, 10, "10"},
    {SFID_DEC, INT64_C(1541815603606036480), "1541815603606036480"},
    {SFID_DEC, INT64_MAX - 1, "9223372036854775806"},
    {SFID_DEC, INT64_MAX, "9223372036854775807"},
    {SFID_HEX, 0, "0000000000000000"},
    {SFID_HEX, 15, "000000000000000f"},
    {SFID_HEX, 16, "0000000000000010"},
    {SFID_HEX, INT64_C(0x123456789abcdef0), "123456789abcdef0"},
    {SFID_HEX, INT64_MAX, "7fffffffffffffff"},
};

static void both_ways(void) {
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char buf[SFID_TEXT_LEN];
        int64_t id = -1;
        const size_t len = strlen(pairs[i].text);
        is_i64(sfid_to_text(pairs[i].form, pairs[i].id, buf, sizeof buf), (int64_t)len, "%s: its length", pairs[i].text);
        is_str(buf, pairs[i].text, "%s is written", pairs[i].text);
        ok(sfid_from_text(pairs[i].form, pairs[i].text, len, &id) == 0 && id == pairs[i].id, "%s is read", pairs[i].text);

        /* On the heap, for the memory checkers: not a byte behind the end is touched. */
        char *exact = malloc(len + 1), *bare = malloc(len);
        if (exact == NULL || bare == NULL)
            bail("out of memory");
        memcpy(bare, pairs[i].text, len);
        id = -1;
        ok(sfid_to_text(pairs[i].form, pairs[i].id, exact, len + 1) == (int)len && strcmp(exact, pairs[i].text) == 0,
           "%s fits where it just fits", pairs[i].text);
        ok(sfid_from_text(pairs[i].form, bare, len, &id) == 0 && id == pairs[i].id, "%s is read without a NUL", pairs[i].text);
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
    {SFID_DEC, "09223372036854775807", INT64_MAX}, /* as many digits as any 64-bit number has */
    {SFID_HEX, "F", 15},
    {SFID_HEX, "aBcDeF", 0xabcdef},
    {SFID_HEX, "7FFFFFFFFFFFFFFF", INT64_MAX},
    {SFID_HEX, "0000000000000001", 1},
};

static const struct {
    sfid_form form;
    int rc;
    const char *text;
} refused[] = {
    {SFID_DEC, SFID_EINVAL, ""},
    {SFID_DEC, SFID_EINVAL, "-1"},
    {SFID_DEC, SFID_EINVAL, "+1"},
    {SFID_DEC, SFID_EINVAL, " 1"},
    {SFID_DEC, SFID_EINVAL, "1 "},
    {SFID_DEC, SFID_EINVAL, "1\n"},
    {SFID_DEC, SFID_EINVAL, "1\t"},
    {SFID_DEC, SFID_EINVAL, "1_000"},
    {SFID_DEC, SFID_EINVAL, "1.0"},
    {SFID_DEC, SFID_EINVAL, "1e3"},
    {SFID_DEC, SFID_EINVAL, "f"},
    {SFID_DEC, SFID_EINVAL, "0x1"},
    {SFID_DEC, SFID_EINVAL, "/"},
    {SFID_DEC, SFID_EINVAL, ":"},
    {SFID_DEC, SFID_EINVAL, "\xb2"},
    {SFID_DEC, SFID_EOVERFLOW, "9223372036854775808"},
    {SFID_DEC, SFID_EOVERFLOW, "9223372036854775810"},
    {SFID_DEC, SFID_EOVERFLOW, "10000000000000000000"},
    {SFID_DEC, SFID_EOVERFLOW, "18446744073709551615"},
    {SFID_DEC, SFID_EOVERFLOW, "18446744073709551616"}, /* 2^64, and 2^64 + 1: 0 and 1 in 64 bits */
    {SFID_DEC, SFID_EOVERFLOW, "18446744073709551617"},
    {SFID_DEC, SFID_EOVERFLOW, "100000000000000000000"}, /* 21 digits */
    {SFID_DEC, SFID_EOVERFLOW, "184467440737095516160"},
    {SFID_DEC, SFID_EOVERFLOW, "000000000000000000001"},
    {SFID_DEC, SFID_EINVAL, "00000000000000000000 1"},
    {SFID_DEC, SFID_EINVAL, "999999999999999999999x"}, /* what is no number is not too large a number */
    {SFID_DEC, SFID_EINVAL, "9223372036854775808-"},
    {SFID_HEX, SFID_EINVAL, ""},
    {SFID_HEX, SFID_EINVAL, "0x1"},
    {SFID_HEX, SFID_EINVAL, "g"},
    {SFID_HEX, SFID_EINVAL, "G"},
    {SFID_HEX, SFID_EINVAL, "@"},
    {SFID_HEX, SFID_EINVAL, "`"},
    {SFID_HEX, SFID_EINVAL, "-1"},
    {SFID_HEX, SFID_EINVAL, " f"},
    {SFID_HEX, SFID_EINVAL, "000000000000000f "},
    {SFID_HEX, SFID_EOVERFLOW, "8000000000000000"},
    {SFID_HEX, SFID_EOVERFLOW, "ffffffffffffffff"},
    {SFID_HEX, SFID_EOVERFLOW, "10000000000000000"},
    {SFID_HEX, SFID_EOVERFLOW, "10000000000000001"},
    {SFID_HEX, SFID_EOVERFLOW, "00000000000000001"}, /* 17 digits */
    {SFID_HEX, SFID_EINVAL, "ffffffffffffffffffffz"},
};

static void reading(void) {
    int64_t id = 0;
    for (size_t i = 0; i < COUNT(also_read); i++) {
        id = -1;
        ok(sfid_from_text(also_read[i].form, also_read[i].text, strlen(also_read[i].text), &id) == 0 && id == also_read[i].id,
           "%s is read", also_read[i].text);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        id = 77;
        is_i64(sfid_from_text(refused[i].form, refused[i].text, strlen(refused[i].text), &id), refused[i].rc,
               "form %d: \"%s\" is refused", (int)refused[i].form, refused[i].text);
        is_i64(id, 77, "and leaves the result alone");
    }
    id = 77;
    is_i64(sfid_from_text(SFID_DEC, "12\0003", 4, &id), SFID_EINVAL, "a NUL in the middle is no digit");
    is_i64(sfid_from_text(SFID_HEX, "12\0", 3, &id), SFID_EINVAL, "nor is one at the end");
    is_i64(id, 77, "and they leave the result alone");
    ok(sfid_from_text(SFID_DEC, "12345", 2, &id) == 0 && id == 12, "as many bytes are read as were asked for");
    is_i64(sfid_from_text(SFID_DEC, NULL, 1, &id), SFID_EINVAL, "no text");
    is_i64(sfid_from_text(SFID_DEC, "1", 1, NULL), SFID_EINVAL, "no place for the ID");
    is_i64(sfid_from_text((sfid_form)2, "1", 1, &id), SFID_EINVAL, "no such form");
    is_i64(sfid_from_text((sfid_form)-1, "1", 1, &id), SFID_EINVAL, "nor such");
}

static void writing(void) {
    char buf[SFID_TEXT_LEN];
    for (size_t i = 0; i < COUNT(pairs); i++) {
        unsigned taken = 0;
        memset(buf, '#', sizeof buf);
        for (size_t size = 0; size <= strlen(pairs[i].text); size++)
            taken += sfid_to_text(pairs[i].form, pairs[i].id, buf, size) != SFID_EINVAL || buf[0] != '#';
        is_u64(taken, 0, "%s is not written where it does not fit", pairs[i].text);
    }
    is_i64(sfid_to_text(SFID_DEC, -1, buf, sizeof buf), SFID_EINVAL, "a negative number is no ID");
    is_i64(sfid_to_text(SFID_HEX, INT64_MIN, buf, sizeof buf), SFID_EINVAL, "in any form");
    is_i64(sfid_to_text(SFID_DEC, 1, NULL, 24), SFID_EINVAL, "no room");
    is_i64(sfid_to_text((sfid_form)2, 1, buf, sizeof buf), SFID_EINVAL, "no such form");
    is_i64(sfid_to_text((sfid_form)-1, 1, buf, sizeof buf), SFID_EINVAL, "nor such");
}

/* Against the C library, whose decimal and hexadecimal forms are the same. */
static void random_ids(sfid_form form) {
    uint64_t x = 88172645463325252;
    unsigned lost = 0;
    for (int i = 0; i < 100000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const int64_t id = (int64_t)(x >> (1 + x % 63));
        char buf[SFID_TEXT_LEN], want[32];
        int64_t back = -1;
        snprintf(want, sizeof want, form == SFID_DEC ? "%" PRId64 : "%016" PRIx64, id);
        const int len = sfid_to_text(form, id, buf, sizeof buf);
        lost += len < 0 || strcmp(buf, want) != 0 || sfid_from_text(form, buf, (size_t)len, &back) != 0 || back != id;
    }
    is_u64(lost, 0, "100000 random IDs come back in form %d", (int)form);
}

int main(void) {
    both_ways();
    reading();
    writing();
    random_ids(SFID_DEC);
    random_ids(SFID_HEX);
    return done_testing();
}
