/* SPDX-License-Identifier: MIT */
/*
 * count.c - generates N IDs in one way; bench/instructions counts the instructions.
 *
 *     count floor|inline|next-s|next-ms|try|next_n|lane N
 */
#include "floor.h"

#include <sfid/inline.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SFID_DEFINE(inlined, SFID_LAYOUT(30, 2, 31, 1000, SFID_EPOCH_MS))
static const sfid_layout millis = SFID_LAYOUT(41, 2, 20, 1, SFID_EPOCH_MS);

static sfid *g;
static sfid_lane *lane;
static int64_t batch[64];
static _Atomic uint64_t word;

static int64_t by_floor(void) { return floor_next(&word); }
static int64_t by_inline(void) { return inlined_next((inlined *)(void *)g); }
static int64_t by_next(void) { return sfid_next(g); }
static int64_t by_try(void) { return sfid_try_next(g); }
static int64_t by_batch(void) { return sfid_next_n(g, batch, 64); }
static int64_t by_lane(void) { return sfid_lane_next(lane); }

static const struct way {
    const char *name;
    int64_t (*draw)(void);
    const sfid_layout *layout;
} ways[] = {{"floor", by_floor, &inlined_layout}, {"inline", by_inline, &inlined_layout}, {"next-s", by_next, &inlined_layout},
            {"next-ms", by_next, &millis},        {"try", by_try, &inlined_layout},       {"next_n", by_batch, &inlined_layout},
            {"lane", by_lane, &inlined_layout}};

int main(int argc, char **argv) {
    const struct way *way = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            way = &ways[i];
    if (way == NULL) {
        fputs("usage: count floor|inline|next-s|next-ms|try|next_n|lane N\n", stderr);
        return 2;
    }
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.pid = 1; /* no app: counts nothing but generating */
    opt.layout = way->layout;
    if (sfid_open(&g, &opt) < 0 || sfid_lane_open(&lane, g) < 0)
        return 1;
    int64_t sum = 0;
    for (long n = atol(argv[2]); n > 0; n--)
        sum |= way->draw();
    sfid_lane_close(lane);
    sfid_close(g);
    return sum < 0;
}
