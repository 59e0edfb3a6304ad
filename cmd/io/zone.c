/* SPDX-License-Identifier: MIT */
/* zone.c - time zones: how far local time is ahead of UTC. */
#include "io/zone.h"

#include "io/digits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Reads +HH:MM, in seconds. */
static bool read_shift(const char *p, int32_t *shift) {
    if ((p[0] != '+' && p[0] != '-') || !is_digit(p[1]) || !is_digit(p[2]) || p[3] != ':' ||
        !is_digit(p[4]) || !is_digit(p[5]) || p[6] != '\0')
        return false;
    const int hours = (p[1] - '0') * 10 + p[2] - '0', minutes = (p[4] - '0') * 10 + p[5] - '0';
    *shift = (hours * 60 + minutes) * (p[0] == '-' ? -60 : 60);
    return hours < 24 && minutes < 60;
}

/* tzset(3) silently takes UTC for an unknown zone. */
static bool is_known(const char *name) {
    const char *directory = getenv("TZDIR");
    char path[512];
    struct stat st;
    const int n = snprintf(path, sizeof path, "%s/%s",
                           directory && directory[0] ? directory : "/usr/share/zoneinfo", name);
    return name[0] != '/' && name[0] != '.' && strstr(name, "..") == NULL && n < (int)sizeof path &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

const char *zone_begin(struct zone *zone, const char *text) {
    *zone = (struct zone){.kind = ZONE_FIXED};
    if (strcmp(text, "utc") == 0 || strcmp(text, "UTC") == 0 || strcmp(text, "Z") == 0) {
        zone->kind = ZONE_UTC;
        return NULL;
    }
    if (text[0] == '+' || text[0] == '-')
        return read_shift(text, &zone->shift) ? NULL
                                              : "is not a zone; use an offset such as +01:00";
    zone->kind = ZONE_SYSTEM;
    if (strcmp(text, "local") == 0) {
        tzset();
        return NULL;
    }
    if (!is_known(text))
        return "is not a zone known on this host; use one such as Europe/Berlin, +01:00, local or utc";
    if (setenv("TZ", text, 1) < 0)
        return "cannot be set: out of memory";
    tzset();
    return NULL;
}

/*
 * Since February 1972 offsets have been whole minutes. Earlier ones may have
 * seconds, which RFC 3339 cannot express. They are cut off, and the time is
 * shown at the cut offset.
 */
int32_t zone_shift(struct zone *zone, int64_t second) {
    const int64_t february_1972 = 65750400, minute = second / 60;
    if (zone->known && zone->minute == minute && second >= february_1972)
        return zone->shift;
    const time_t at = (time_t)second;
    struct tm tm;
    zone->shift = localtime_r(&at, &tm) ? (int32_t)(tm.tm_gmtoff / 60 * 60) : 0;
    zone->minute = minute;
    zone->known = true;
    return zone->shift;
}
