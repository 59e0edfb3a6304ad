/* SPDX-License-Identifier: MIT */
/* date.h - times as text and back, in any zone. */
#ifndef CMD_IO_DATE_H
#define CMD_IO_DATE_H

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

/* In milliseconds; a year on the average of the calendar. */
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (DAY * 146097 / 400)

/* put_date() writes RFC 3339 with milliseconds, for all of int64_t. Years past 9999 have a plus
 * sign, years before 0 a minus. */
#define DATE_ROOM 48
struct date {
    bool known;
    struct zone zone;
    int64_t second, day; /* since 1970: those that the text shows */
    int32_t shift;
    size_t len, day_len;
    char text[32]; /* YYYY-MM-DDTHH:MM:SS */
};
char *put_date(struct date *cache, char *p, int64_t unix_ms);
void date_text(char text[DATE_ROOM], int64_t unix_ms);

/* The text of a time in a message; it lasts as long as the call that DATED() stands in. */
struct dated {
    char text[DATE_ROOM];
};
struct dated dated(int64_t unix_ms);
#define DATED(unix_ms) (dated(unix_ms).text)

/* Writes YYYY-MM-DD of the last time written; with hour, YYYY-MM-DDTHH. */
char *put_partition(const struct date *cache, char *p, bool hour);

/* Two times, in milliseconds since 1970 or an epoch. */
struct span {
    int64_t from, to;
};

struct moment {
    int64_t unix_ms;
    bool more; /* plus less than a millisecond */
};
struct moment moment_now(void);
int64_t monotonic_ms(void);

/*
 * Reads RFC 3339 with any zone and fraction (years as put_date() writes them),
 * a date (its midnight in UTC), "now", or a distance from now such as -1h.
 * Returns NULL, or what is wrong, to follow the text in a message.
 */
const char *read_time(const char *text, struct moment now, struct moment *out);

#endif
