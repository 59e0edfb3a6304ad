/* SPDX-License-Identifier: MIT */
/* zone.h - time zones: how far local time is ahead of UTC. */
#ifndef CMD_IO_ZONE_H
#define CMD_IO_ZONE_H

#include "io/base.h"

/* The zone for all times that are shown. */
struct zone {
    enum { ZONE_UTC, ZONE_FIXED, ZONE_SYSTEM } kind; /* ZONE_SYSTEM: from localtime_r(3) */
    int32_t shift;                                   /* seconds ahead of UTC, whole minutes */
    /* ZONE_SYSTEM: the minute since 1970 that the shift is valid for */
    int64_t minute;
    bool known;
};

/* Reads "utc", "local", "+HH:MM" or a zone name. Returns NULL, or what is wrong, to follow the text
 * in a message. */
const char *zone_begin(struct zone *zone, const char *text);

/* Of a ZONE_SYSTEM, at a second since 1970. */
int32_t zone_shift(struct zone *zone, int64_t second);

#endif
