/* SPDX-License-Identifier: MIT */
/* compare.h - whether one layout can take over from another. */
#ifndef CMD_LAYOUT_COMPARE_H
#define CMD_LAYOUT_COMPARE_H

#include "args/args.h"
#include "layout/show.h"

/* Its options, of which layout_compare() wants the first. */
#define COMPARE_OPTIONS(first) \
    [first] = {"old-since", 0, "TIME", NULL, "with compare: when OLD has begun (its epoch)"}, \
    [(first) + 1] = {"old-until", 0, "TIME", NULL, "with compare: when OLD ends (now)"}, \
    [(first) + 2] = {"old-pids", 0, "MIN-MAX", NULL, "with compare: the pids of OLD (all)"}, \
    [(first) + 3] = {"new-since", 0, "TIME", NULL, \
                     "with compare: when NEW begins (when OLD ends)"}, \
    [(first) + 4] = {"new-until", 0, "TIME", NULL, \
                     "with compare: when NEW ends (at its last tick)"}, \
    [(first) + 5] = {"new-pids", 0, "MIN-MAX", NULL, "with compare: the pids of NEW (all)"}
#define COMPARE_COUNT 6

/* Compares the IDs of two layouts. Returns the exit status. */
int layout_compare(const struct args *args, int first, const struct shown *old_shown,
                   const struct shown *next_shown, bool json);

#endif
