/* SPDX-License-Identifier: MIT */
/* known.c - IDs whose time is known, from the table or log that has them. */
#include "decode/all.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)

/* Returns how long a time lasts that is written like this: "2026-11-23" is a day, "-2h" an hour more or less. */
static int64_t length_of(const char *text) {
    static const char letters[] = "mhdw";
    static const int64_t lengths[] = {60 * SECOND, 3600 * SECOND, DAY, 7 * DAY};
    const size_t len = strlen(text);
    const char *letter = len > 0 && (text[0] == '-' || text[0] == '+') ? strchr(letters, text[len - 1]) : NULL;
    if (letter && *letter)
        return lengths[letter - letters];
    if (strchr(text, ':') == NULL)
        return strchr(text, '-') && text[0] != '-' ? DAY : SECOND;
    return strchr(text, '.') ? 0 : SECOND;
}

bool guess_know(struct guess *guess, const char *text) {
    const char *equals = strchr(text, '=');
    struct known *known = &guess->known[guess->knowns];
    struct moment time;
    sfid_wide id;
    if (equals == NULL || !reader_read(&guess->reader, text, (size_t)(equals - text), &id)) {
        say("--known: %s is not ID=TIME, with an ID of 64 bits", QUOTE(text));
        return false;
    }
    const char *wrong = read_time(equals + 1, moment_now(), &time);
    if (wrong) {
        say("--known: %s %s", QUOTE(equals + 1), wrong);
        return false;
    }
    const int64_t length = length_of(equals + 1);
    known->id = id.low;
    known->from = time.unix_ms - (length < DAY || equals[1] == '-' ? length : 0); /* a second may have been rounded up */
    known->to = time.unix_ms + length;
    guess->knowns++;
    return guess_add(guess, text, (size_t)(equals - text));
}
