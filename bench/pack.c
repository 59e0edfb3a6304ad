/* SPDX-License-Identifier: MIT */
/* pack.c - composing and parsing with a layout known to the compiler, compared with shifts written
 * by hand. */
#include "rows.h"
#include "subjects.h"

#include <sfid/inline.h>

SFID_DEFINE(packed, SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS))

enum { IDS = 4096, PASSES = 5000 };

static int64_t ids[IDS];

static double floor_parse(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < IDS; k++) {
            const uint64_t id = (uint64_t)ids[k];
            if ((int64_t)id < 0)
                continue;
            sum += (id >> 22) + (id >> 12 & 1023) + (id & 4095) +
                   (uint64_t)(SFID_EPOCH_MS + (int64_t)(id >> 22));
        }
        KEEP(sum);
    }
    return (now_ns() - begin) / (double)(n * IDS);
}

static double parse(void *none, uint64_t n) {
    uint64_t sum = 0;
    (void)none;
    const double begin = now_ns();
    for (uint64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < IDS; k++) {
            sfid_parts p;
            if (packed_parse(ids[k], &p) < 0)
                continue;
            sum += p.tick + p.pid + p.seq + (uint64_t)p.unix_ms;
        }
        KEEP(sum);
    }
    return (now_ns() - begin) / (double)(n * IDS);
}

void bench_pack(void) {
    for (size_t k = 0; k < IDS; k++)
        ids[k] = (int64_t)(k * UINT64_C(0x9e3779b97f4a7c15) >> 1);
    run_row(&(struct row){"parse, layout known to the compiler", "shifts by hand", floor_parse,
                          parse, NULL, NULL, PASSES, 1.05, "ID"});
}
