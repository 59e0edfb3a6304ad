/* SPDX-License-Identifier: MIT */
/* time_text.c - moments as the library's messages tell them, held to the C library's calendar. */
#include "base/clock.h"

#include "support/tap.h"

#include <time.h>

#define DAY_MS INT64_C(86400000)

static const char *text_of(int64_t unix_ms, int64_t now_ms) {
    static char text[SFID__TIME_TEXT];
    sfid__time_text(unix_ms, now_ms, text);
    return text;
}

/* True if a moment is told as the C library tells it, with its date and without. */
static bool is_right(int64_t unix_ms) {
    const time_t at = (time_t)(unix_ms / 1000 - (unix_ms % 1000 < 0));
    struct tm tm;
    char date[100], of_day[16];
    need(gmtime_r(&at, &tm) != NULL, "no date");
    strftime(of_day, sizeof of_day, "%H:%M:%SZ", &tm);
    snprintf(date, sizeof date, "%04d-%02d-%02dT%s", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
             of_day);
    return strcmp(text_of(unix_ms, unix_ms + DAY_MS), date) == 0 &&
           strcmp(text_of(unix_ms, unix_ms - DAY_MS), date) == 0 &&
           strcmp(text_of(unix_ms, unix_ms), of_day) == 0;
}

int main(void) {
    /* One round of the leap years, from 1870 on; a time_t of 32 bits ends in 2038. */
    const int64_t first_day = sizeof(time_t) == 4 ? -24854 : -36524,
                  last_day = sizeof(time_t) == 4 ? 24854 : 109573;
    const int step = 10 / tap_rounds(10), days = (int)(last_day - first_day) / step + 1;
    int wrong = 0;
    for (int64_t day = first_day; day <= last_day; day += step)
        wrong += !is_right(day * DAY_MS) || !is_right(day * DAY_MS - 1) ||
                 !is_right(day * DAY_MS + 18677123);
    is_i64(wrong, 0, "each of %d days: its first and its last moment, and one between", days);
    is_str(text_of(INT64_C(1772341877000), INT64_C(1772341877000)), "05:11:17Z",
           "a moment of today");
    is_str(text_of(INT64_C(1772341877000), INT64_C(1772323199999)), "2026-03-01T05:11:17Z",
           "one of another day");
    is_str(text_of(INT64_C(1772323200000), INT64_C(1772409599999)), "00:00:00Z",
           "a day begins at midnight");
    is_str(text_of(-1, 0), "1969-12-31T23:59:59Z", "before 1970");
    is_str(text_of(INT64_MAX, 0), "292278994-08-17T07:12:55Z", "the last one");
    is_str(text_of(INT64_MIN, 0), "-292275055-05-16T16:47:04Z", "the first one");
    return done_testing();
}
