/* SPDX-License-Identifier: MIT */
/* date.c - Unix milliseconds as RFC 3339 in UTC, in the Gregorian calendar run back and forth without end. */
#include "cli.h"

#include <string.h>

#define DAY INT64_C(86400)
#define DAYS_OF_400_YEARS INT64_C(146097)

/* Days from 0000-03-01 to 1970-01-01. A year that begins in March has its leap day at the end. */
#define MARCH_0_TO_1970 INT64_C(719468)

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

struct ymd {
    int64_t year;
    unsigned month, day;
};

static struct ymd date_of_day(int64_t day) {
    day += MARCH_0_TO_1970;
    const int64_t era = floor_div(day, DAYS_OF_400_YEARS);
    const unsigned n = (unsigned)(day - era * DAYS_OF_400_YEARS); /* 0 to 146096 */
    /* Take out the leap days: the days that end 4 years (1460), centuries (36524) and the era (146096) are extra. */
    const unsigned year = (n - n / 1460 + n / 36524 - n / 146096) / 365;
    const unsigned of_year = n - (365 * year + year / 4 - year / 100);
    const unsigned month = (5 * of_year + 2) / 153; /* 0: March. Five months from March or August have 153 days */
    return (struct ymd){
        .year = era * 400 + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
}

static char *put_two(char *p, unsigned value) {
    *p++ = (char)('0' + value / 10);
    *p++ = (char)('0' + value % 10);
    return p;
}

static char *put_year(char *p, int64_t year) {
    if (year < 0 || year > 9999)
        *p++ = year < 0 ? '-' : '+';
    uint64_t left = year < 0 ? -(uint64_t)year : (uint64_t)year;
    char digits[DEC_ROOM];
    size_t at = sizeof digits;
    while (left > 0 || at > sizeof digits - 4) {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    }
    memcpy(p, digits + at, sizeof digits - at);
    return p + sizeof digits - at;
}

static void cache_day(struct date *cache, int64_t day) {
    const struct ymd d = date_of_day(day);
    char *p = put_year(cache->text, d.year);
    *p++ = '-';
    p = put_two(p, d.month);
    *p++ = '-';
    p = put_two(p, d.day);
    *p++ = 'T';
    cache->day = day;
    cache->day_len = (size_t)(p - cache->text);
}

static void cache_second(struct date *cache, int64_t second) {
    const int64_t day = floor_div(second, DAY);
    if (!cache->known || day != cache->day)
        cache_day(cache, day);
    const unsigned of_day = (unsigned)(second - day * DAY);
    char *p = put_two(cache->text + cache->day_len, of_day / 3600);
    *p++ = ':';
    p = put_two(p, of_day / 60 % 60);
    *p++ = ':';
    p = put_two(p, of_day % 60);
    *p++ = '.';
    cache->len = (size_t)(p - cache->text);
    cache->second = second;
    cache->known = true;
}

char *put_date(struct date *cache, char *p, int64_t unix_ms) {
    const int64_t second = floor_div(unix_ms, 1000);
    if (!cache->known || second != cache->second)
        cache_second(cache, second);
    memcpy(p, cache->text, DATE_ROOM);
    p += cache->len;
    const unsigned ms = (unsigned)(unix_ms - second * 1000);
    *p++ = (char)('0' + ms / 100);
    p = put_two(p, ms % 100);
    *p++ = 'Z';
    return p;
}
