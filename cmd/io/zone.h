/* SPDX-License-Identifier: MIT */
/* zone.h - how far clocks are ahead of UTC. */
#ifndef CMD_IO_ZONE_H
#define CMD_IO_ZONE_H

#include <stdbool.h>
#include <stdint.h>

/* What times are told in. */
struct zone {
    enum { ZONE_UTC, ZONE_FIXED, ZONE_SYSTEM } kind; /* ZONE_SYSTEM: of localtime_r(3) */
    int32_t shift;                                   /* seconds ahead of UTC, whole minutes */
    int64_t minute;                                  /* ZONE_SYSTEM: since 1970, that shift is of */
    bool known;
};

/* "utc", "local", "+HH:MM" or a name of the time zone database. NULL, or what is wrong, to stand behind the text in a message. */
const char *zone_begin(struct zone *zone, const char *text);
int32_t zone_shift(struct zone *zone, int64_t second);

#endif
