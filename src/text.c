/* SPDX-License-Identifier: MIT */
/* text.c - IDs as text, strictly: no sign, no space, no leftover. */
#include <sfid.h>
#include <string.h>

static int digit_of(sfid_form form, char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (form == SFID_HEX && c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (form == SFID_HEX && c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int sfid_from_text(sfid_form form, const char *text, size_t len, int64_t *id) {
    if (text == NULL || id == NULL || len == 0 || (form != SFID_DEC && form != SFID_HEX))
        return SFID_EINVAL;
    const uint64_t base = form == SFID_DEC ? 10 : 16;
    uint64_t value = 0;
    int rc = len > (form == SFID_DEC ? 20u : 16u) ? SFID_EOVERFLOW : 0; /* leading zeros or not */
    for (size_t i = 0; i < len; i++) {
        const int digit = digit_of(form, text[i]);
        if (digit < 0)
            return SFID_EINVAL; /* a wrong byte outranks an overflow before it */
        if (rc == 0 && value > ((uint64_t)INT64_MAX - (uint64_t)digit) / base)
            rc = SFID_EOVERFLOW;
        value = value * base + (uint64_t)digit; /* once it has overflowed its value is of no matter */
    }
    if (rc == 0)
        *id = (int64_t)value;
    return rc;
}

int sfid_to_text(sfid_form form, int64_t id, char *buf, size_t size) {
    if (buf == NULL || id < 0 || (form != SFID_DEC && form != SFID_HEX))
        return SFID_EINVAL;
    char text[SFID_TEXT_LEN];
    size_t at = sizeof text;
    uint64_t value = (uint64_t)id;
    if (form == SFID_DEC)
        do
            text[--at] = (char)('0' + value % 10);
        while ((value /= 10) != 0);
    else
        for (int i = 0; i < 16; i++, value >>= 4)
            text[--at] = "0123456789abcdef"[value & 15];
    const size_t len = sizeof text - at;
    if (len + 1 > size)
        return SFID_EINVAL;
    memcpy(buf, text + at, len);
    buf[len] = '\0';
    return (int)len;
}
