/* SPDX-License-Identifier: MIT */
/* flakeid.c - requests of flakeid's protocol: how many IDs, in four bytes. */
#include "serve/flakeid.h"

int flakeid_read(const char *bytes, size_t len, uint32_t *count) {
    enum { SIZE = 4 };
    if (len < SIZE)
        return len > 0 && bytes[0] != 0 ? -1 : 0;
    *count = 0;
    for (int i = 0; i < SIZE; i++)
        *count = *count << 8 | (unsigned char)bytes[i];
    return *count > FLAKEID_MOST ? -1 : SIZE;
}
