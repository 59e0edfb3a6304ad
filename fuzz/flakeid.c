/* SPDX-License-Identifier: MIT */
/* flakeid.c - any bytes as frames of flakeid's protocol: each of four bytes, or refused, whatever
 * part of it has come. */
#include "serve/request.h"

#include "fuzz.h"

int fuzz_flakeid(const uint8_t *data, size_t size) {
    char *bytes = fuzz_copy(data, size, 0);
    for (size_t at = 0;;) {
        uint32_t count = 0, again = 0;
        const size_t left = size - at;
        const int used = flakeid_read(bytes + at, left, &count);
        HOLDS(used == -1 || used == 0 || used == 4);
        if (used == 0)
            HOLDS(left < 4);
        if (used <= 0)
            break;
        HOLDS(count <= FLAKEID_MOST && flakeid_read(bytes + at, 4, &again) == 4 && again == count);
        for (size_t part = 0; part < 4; part++)
            HOLDS(flakeid_read(bytes + at, part, &again) == 0);
        at += 4;
    }
    free(bytes);
    return 0;
}

FUZZ_TARGET(flakeid)
