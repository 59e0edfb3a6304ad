/* SPDX-License-Identifier: MIT */
/* date.c - RFC 3339 times as text and back, in the proleptic Gregorian calendar, and zones. */
#include "io/date.h"

#include "io/digits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DAYS_OF_400_YEARS INT64_C(146097)

/* Days from 0000-03-01 to 1970-01-01. Years that begin in March have their leap day at the end. */
#define MARCH_0_TO_1970 INT64_C(719468)

#define DAY_S (DAY / SECOND)

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

struct ymd {
    int64_t year;
    unsigned month, day;
};

static struct ymd date_of_day(int64_t day) {
    day += MARCH_0_TO_1970;
    const int64_t era = floor_div(day, DAYS_OF_400_YEARS);
    /* In quarters of a day a century is 36524.25 days, and a year of a century 365.25. Each day
     * ends with its last quarter. */
    const unsigned n = (unsigned)(day - era * DAYS_OF_400_YEARS) * 4 + 3,
                   of_century = n % 146097 | 3;
    const unsigned year = n / 146097 * 100 + of_century / 1461, of_year = of_century % 1461 / 4;
    /* 0: March. Any five months from March or August have 153 days */
    const unsigned month = (5 * of_year + 2) / 153;
    return (struct ymd){
        .year = era * 400 + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
}

static int64_t day_of_date(struct ymd d) {
    const int64_t year = d.year - (d.month <= 2);
    const unsigned month = d.month > 2 ? d.month - 3 : d.month + 9;
    const int64_t era = floor_div(year, 400), of_era = year - era * 400;
    const int64_t of_year = (153 * month + 2) / 5 + d.day - 1;
    return era * DAYS_OF_400_YEARS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           MARCH_0_TO_1970;
}

/* ---- zones: how far local time is ahead of UTC --------------------------- */

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
 * Returns the shift of a ZONE_SYSTEM at a second since 1970.
 *
 * Since February 1972 offsets have been whole minutes. Earlier ones may have
 * seconds, which RFC 3339 cannot express. They are cut off, and the time is
 * shown at the cut offset.
 */
static int32_t zone_shift(struct zone *zone, int64_t second) {
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

/* ---- writing ------------------------------------------------------------- */

static char *put_year(char *p, int64_t year) {
    if (year < 0 || year > 9999)
        *p++ = year < 0 ? '-' : '+';
    const uint64_t number = year < 0 ? -(uint64_t)year : (uint64_t)year;
    return number > 9999 ? put_dec(p, number) : put_four(p, (unsigned)number);
}

static void cache_day(struct date *cache, int64_t day) {
    const struct ymd d = date_of_day(day);
    char *p = put_text(put_year(cache->text, d.year), "-");
    p = put_text(put_two(p, d.month), "-");
    p = put_text(put_two(p, d.day), "T");
    cache->day = day;
    cache->day_len = (size_t)(p - cache->text);
}

static void cache_second(struct date *cache, int64_t second) {
    const int32_t shift =
        cache->zone.kind == ZONE_SYSTEM ? zone_shift(&cache->zone, second) : cache->zone.shift;
    const int64_t day = floor_div(second + shift, DAY_S);
    if (!cache->known || day != cache->day)
        cache_day(cache, day);
    const unsigned of_day = (unsigned)(second + shift - day * DAY_S);
    char *p = put_text(put_two(cache->text + cache->day_len, of_day / 3600), ":");
    p = put_text(put_two(p, of_day / 60 % 60), ":");
    p = put_two(p, of_day % 60);
    cache->len = (size_t)(p - cache->text);
    cache->second = second;
    cache->shift = shift;
    cache->known = true;
}

static char *put_shift(char *p, int32_t shift) {
    const unsigned minutes = (unsigned)(shift < 0 ? -shift : shift) / 60;
    *p++ = shift < 0 ? '-' : '+';
    return put_two(put_text(put_two(p, minutes / 60), ":"), minutes % 60);
}

char *put_date(struct date *cache, char *p, int64_t unix_ms) {
    const int64_t second = floor_div(unix_ms, 1000);
    if (!cache->known || second != cache->second)
        cache_second(cache, second);
    memcpy(p, cache->text, sizeof cache->text);
    p += cache->len;
    char *end = put_four(p, (unsigned)(unix_ms - second * 1000));
    *p = '.'; /* in place of the first of four digits */
    return cache->zone.kind == ZONE_UTC ? put_text(end, "Z") : put_shift(end, cache->shift);
}

char *put_partition(const struct date *cache, char *p, bool hour) {
    memcpy(p, cache->text, sizeof cache->text);
    return hour ? p + cache->day_len + 2 : p + cache->day_len - 1; /* without the T */
}

void date_text(char text[DATE_ROOM], int64_t unix_ms) {
    struct date cache = {.known = false};
    char room[DATE_ROOM * 2];
    *put_date(&cache, room, unix_ms) = '\0';
    memcpy(text, room, DATE_ROOM);
}

struct dated dated(int64_t unix_ms) {
    struct dated date;
    date_text(date.text, unix_ms);
    return date;
}

/* ---- reading ------------------------------------------------------------- */

static const char no_form[] =
    "is not a time; use one such as 2026-11-21T10:30:00Z, 2026-11-21, now, or -1h (s, m, h, d or w)";
static const char too_far[] = "is out of range";

/* Reads least to most digits, at most 18. Returns false if there are fewer. */
static bool take_number(const char **p, int least, int most, int64_t *value) {
    int n = 0;
    for (*value = 0; n < most && is_digit(**p); n++)
        *value = *value * 10 + (*(*p)++ - '0');
    return n >= least;
}

static bool take_letter(const char **p, char c) {
    if (**p != c)
        return false;
    ++*p;
    return true;
}

/* Reads a mark and two digits, at most max. */
static bool take_pair(const char **p, char mark, int64_t max, int64_t *value) {
    return take_letter(p, mark) && take_number(p, 2, 2, value) && *value <= max;
}

/* Reads four digits, or, with a sign, as many as put_year() writes. */
static bool take_year(const char **p, int64_t *year) {
    const bool minus = take_letter(p, '-'), plus = !minus && take_letter(p, '+');
    if (!take_number(p, plus ? 5 : 4, plus || minus ? 9 : 4, year))
        return false;
    *year = minus ? -*year : *year;
    return true;
}

/* Returns whether the day exists: an invalid one comes back as another day. */
static bool day_exists(struct ymd d) {
    const struct ymd back = date_of_day(day_of_date(d));
    return back.month == d.month && back.day == d.day;
}

/* Reads .123456 as milliseconds, and whether there is more. */
static bool take_fraction(const char **p, struct moment *out) {
    int64_t unit = 100;
    if (!take_letter(p, '.'))
        return true;
    if (!is_digit(**p))
        return false;
    for (; is_digit(**p); ++*p, unit /= 10) {
        out->unix_ms += (**p - '0') * unit;
        out->more |= unit == 0 && **p != '0';
    }
    return true;
}

/* Reads Z or +HH:MM, in seconds; also +HH, as PostgreSQL writes it. */
static bool take_zone(const char **p, int64_t *offset) {
    int64_t hours, minutes;
    *offset = 0;
    if (take_letter(p, 'Z') || take_letter(p, 'z'))
        return true;
    const char sign = **p;
    if ((sign != '+' && sign != '-') || !take_pair(p, sign, 23, &hours))
        return false;
    if (**p == '\0')
        minutes = 0;
    else if (!take_pair(p, ':', 59, &minutes))
        return false;
    *offset = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
    return true;
}

/* Returns whether second 60 may be a leap second: one ends a month of UTC. Unix time gives it the
 * number of the next. */
static bool is_leap_second(int64_t second) {
    return second % DAY_S == 0 && date_of_day(second / DAY_S).day == 1;
}

/* Reads T10:30:00.5+01:00. *seconds becomes that time in UTC, counted from `begin`; *out gets the
 * fraction. */
static const char *read_clock(const char *p, int64_t begin, int64_t *seconds, struct moment *out) {
    int64_t hour, minute, second, offset;
    if (!take_pair(&p, *p == 't' || *p == ' ' ? *p : 'T', 99, &hour) ||
        !take_pair(&p, ':', 99, &minute) || !take_pair(&p, ':', 99, &second))
        return no_form;
    if (!take_fraction(&p, out))
        return "has no digit after the decimal point";
    if (*p == '\0')
        return "has no zone; add Z for UTC, or an offset such as +01:00";
    if (!take_zone(&p, &offset) || *p != '\0')
        return "has an invalid zone; use Z for UTC, or an offset such as +01:00";
    *seconds = hour * 3600 + minute * 60 + second - offset;
    if (hour > 23 || minute > 59 || second > 60 ||
        (second == 60 && !is_leap_second(begin + *seconds)))
        return "has a time of day that does not exist";
    return NULL;
}

/* Reads a date. A date alone means its first moment in UTC. */
static const char *read_date(const char *p, struct moment *out) {
    int64_t year, month, day, sum, seconds = 0;
    if (!take_year(&p, &year) || !take_pair(&p, '-', 99, &month) || !take_pair(&p, '-', 99, &day))
        return no_form;
    const struct ymd date = {year, (unsigned)month, (unsigned)day};
    if (month < 1 || month > 12 || !day_exists(date))
        return "has a date that does not exist";
    *out = (struct moment){0, false};
    const int64_t begin = day_of_date(date) * DAY_S;
    const char *wrong = *p ? read_clock(p, begin, &seconds, out) : NULL;
    if (wrong)
        return wrong;
    if (__builtin_mul_overflow(begin + seconds, 1000, &sum) ||
        __builtin_add_overflow(sum, out->unix_ms, &out->unix_ms))
        return too_far;
    return NULL;
}

/* Reads a distance, such as -15m. */
static const char *read_distance(const char *text, struct moment now, struct moment *out) {
    static const char letters[] = "smhdw";
    static const int64_t lengths[] = {SECOND, MINUTE, HOUR, DAY, 7 * DAY};
    const char *p = text + 1;
    int64_t ms;
    if (!take_number(&p, 1, 18, &ms))
        return no_form;
    const char *letter = *p ? strchr(letters, *p) : NULL;
    if (letter == NULL || p[1] != '\0')
        return is_digit(*p) ? too_far : no_form;
    *out = now;
    if (__builtin_mul_overflow(ms, lengths[letter - letters], &ms) ||
        __builtin_add_overflow(now.unix_ms, text[0] == '-' ? -ms : ms, &out->unix_ms))
        return too_far;
    return NULL;
}

int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct moment moment_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (struct moment){(int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
                           now.tv_nsec % 1000000 != 0};
}

const char *read_time(const char *text, struct moment now, struct moment *out) {
    *out = now;
    if (strcmp(text, "now") == 0)
        return NULL;
    const bool sign = text[0] == '-' || text[0] == '+';
    const char *p = text + sign;
    while (is_digit(*p))
        p++;
    if (sign && *p != '-') /* years past 9999 have a sign as well */
        return read_distance(text, now, out);
    if (p > text && *p == '\0')
        return "could be seconds or milliseconds; use a time such as 2026-11-21T10:30:00Z, now or -1h";
    return read_date(text, out);
}
