/* SPDX-License-Identifier: MIT */
/*
 * text.c - any bytes as an ID in the form that the first byte says. Accepted
 * text is written again with as many digits. Refused text is wrong at the
 * reported place, and not before. With the first byte's top bit set, the rest
 * is a number, a width and the room for writing it.
 */
#include "fuzz.h"

/* Returns whether characters are the same, apart from case and Crockford's variants. */
static int alike(sfid_form form, char a, char b) {
    if (form == SFID_DEC || form == SFID_BASE62 || form == SFID_BASE58 || form == SFID_BYTES)
        return a == b;
    if (a >= 'A' && a <= 'Z')
        a = (char)(a + 32);
    if (b >= 'A' && b <= 'Z')
        b = (char)(b + 32);
    if (form == SFID_BASE32)
        a = a == 'o' ? '0' : a == 'i' || a == 'l' ? '1' : a;
    return a == b;
}

static void comes_back(sfid_form form, const char *text, const char *written, int len,
                       size_t size) {
    HOLDS(len == (int)size);
    for (size_t i = 0; i < size; i++)
        HOLDS(alike(form, text[i], written[i]));
}

/* Checks a refused text: up to the place it is good, or only too short; with one byte more it is
 * not. */
static void goes_wrong_there(sfid_form form, const char *text, size_t size, int rc, size_t at,
                             int is_wide) {
    HOLDS(rc == SFID_EINVAL || rc == SFID_EOVERFLOW);
    HOLDS(at <= size);
    if (form == SFID_UUID || form == SFID_BYTES || sfid_form_name(form) == NULL)
        return;
    int64_t id;
    sfid_wide wide;
    if (at > 0) {
        const int before = is_wide ? sfid_wide_from_text(form, text, at, &wide, NULL)
                                   : sfid_from_text(form, text, at, &id);
        HOLDS(rc == SFID_EINVAL ? before != SFID_EINVAL : before == 0);
    }
    if (at < size) {
        const int with = is_wide ? sfid_wide_from_text(form, text, at + 1, &wide, NULL)
                                 : sfid_from_text(form, text, at + 1, &id);
        HOLDS(with == rc);
    } else {
        HOLDS(size == 0);
    }
}

/* Writes with any width into any room. Text that fits is written, and nothing after the room is
 * touched. */
static void writes(sfid_form form, int64_t id, sfid_wide wide, unsigned width, size_t room) {
    char *buf = fuzz_copy(NULL, room, 0), full[SFID_WIDE_TEXT_LEN];
    const size_t nul = form != SFID_BYTES;
    int64_t back;
    sfid_wide wide_back;
    int len = sfid_to_text_padded(form, id, width, full, sizeof full);
    HOLDS(len < 0 ? len == SFID_EINVAL
                  : sfid_from_text(form, full, (size_t)len, &back) == 0 && back == id);
    HOLDS(sfid_to_text_padded(form, id, width, buf, room) ==
          (len >= 0 && (size_t)len + nul <= room ? len : SFID_EINVAL));
    len = sfid_wide_to_text(form, wide, width, full, sizeof full);
    HOLDS(len < 0 ? len == SFID_EINVAL
                  : sfid_wide_from_text(form, full, (size_t)len, &wide_back, NULL) == 0 &&
                        sfid_wide_compare(wide_back, wide) == 0);
    HOLDS(sfid_wide_to_text(form, wide, width, buf, room) ==
          (len >= 0 && (size_t)len + nul <= room ? len : SFID_EINVAL));
    HOLDS(sfid_to_text(form, id, NULL, 99) == SFID_EINVAL &&
          sfid_wide_to_text(form, wide, 0, NULL, 99) == SFID_EINVAL);
    free(buf);
}

int fuzz_text(const uint8_t *data, size_t size) {
    const unsigned first = (unsigned)fuzz_take(&data, &size, 1);
    const sfid_form form = (sfid_form)(first & 7);
    if (first & 128) {
        const unsigned width = (unsigned)fuzz_take(&data, &size, 1) & 63,
                       room = (unsigned)fuzz_take(&data, &size, 1) & 63;
        const int64_t id = (int64_t)fuzz_take(&data, &size, 8);
        const uint64_t high = fuzz_take(&data, &size, 8);
        writes(form, id, (sfid_wide){high, fuzz_take(&data, &size, 8)}, width, room);
        return 0;
    }
    char *text = fuzz_copy(data, size, 0);
    char written[SFID_WIDE_TEXT_LEN], narrow_written[SFID_TEXT_LEN];
    int64_t id = -77;
    sfid_wide wide = {77, 77};
    size_t at = 0, wide_at = 0;
    const int rc = sfid_from_text_at(form, text, size, &id, &at);
    const int wide_rc = sfid_wide_from_text(form, text, size, &wide, &wide_at);
    if (rc == 0) {
        HOLDS(id >= 0);
        comes_back(
            form, text, narrow_written,
            sfid_to_text_padded(form, id, (unsigned)size, narrow_written, sizeof narrow_written),
            size);
        HOLDS(form == SFID_BYTES || (wide_rc == 0 && wide.high == 0 && wide.low == (uint64_t)id));
    } else {
        HOLDS(id == -77);
        goes_wrong_there(form, text, size, rc, at, 0);
    }
    if (wide_rc == 0) {
        comes_back(form, text, written,
                   sfid_wide_to_text(form, wide, (unsigned)size, written, sizeof written), size);
    } else {
        HOLDS(wide.high == 77 && wide.low == 77);
        goes_wrong_there(form, text, size, wide_rc, wide_at, 1);
    }
    HOLDS(sfid_from_text(form, NULL, size, &id) == SFID_EINVAL &&
          sfid_from_text(form, text, size, NULL) == SFID_EINVAL &&
          sfid_wide_from_text(form, text, size, NULL, NULL) == SFID_EINVAL);
    free(text);
    return 0;
}

FUZZ_TARGET(text)
