/* SPDX-License-Identifier: MIT */
#include "host/hints.h"

#include "base/fd.h"
#include "base/random.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HINTS (UINT64_C(1) << 18) /* numbers from this one on have none */
#define FEW 64
#define AT_RANDOM 2
#define AHEAD 1024 /* bytes of a search behind those of the file */

/* WAS: tried in this search; LATER: its door was shut */
enum { FREE = 0, TAKEN = 1, WAS_FREE, WAS_TAKEN, LATER };
enum { FIRST, UNREAD, SOME_TAKEN, NOT_TAKEN, REST };

/* The doors' file holds no lock of ours here, so that a descriptor of it can be opened and closed
 * at will. */
static int open_hints(const struct sfid__dir *dir) {
    struct stat st;
    const int fd = sfid__fd_above_standard(
        openat(dir->fd, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A byte a number: two processes that write at the same time lose nothing of each other's. */
static void write_hint(const struct sfid__dir *dir, uint64_t number, unsigned char hint) {
    unsigned char is = FREE;
    const int fd = number < HINTS ? open_hints(dir) : -1;
    if (fd < 0)
        return;
    if ((pread(fd, &is, 1, (off_t)number) == 1 || hint != FREE) && is != hint &&
        pwrite(fd, &hint, 1, (off_t)number) < 0)
        is = hint; /* the file is full or gone: one hint less */
    close(fd);
}

void sfid__hint_free(const char *path, uint64_t number) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    if (sfid__dir_reopen(&dir, path, &ignored) < 0)
        return;
    write_hint(&dir, number, FREE);
    sfid__dir_close(&dir);
}

/* ---- a search --------------------------------------------------------------- */

void sfid__search_begin(struct sfid__search *s, const struct sfid__dir *dir, uint64_t first,
                        uint64_t last) {
    *s = (struct sfid__search){.dir = dir, .first = first, .last = last};
}

/* Makes room for the bytes of the file, and for some behind them, where others may take numbers
 * meanwhile. */
static void make_room(struct sfid__search *s, uint64_t size) {
    const uint64_t numbers = SFID__MIN(s->last + 1, HINTS) - s->first,
                   room = SFID__MIN(numbers, 2 * size + AHEAD);
    unsigned char *grown = room > s->room ? realloc(s->taken, (size_t)room) : NULL;
    if (grown == NULL)
        return;
    memset(grown + s->room, FREE, (size_t)(room - s->room));
    if (s->beyond > s->room)
        memset(grown + s->room, WAS_FREE, (size_t)(SFID__MIN(s->beyond, room) - s->room));
    s->taken = grown;
    s->room = room;
}

/* Reads the hints: only a search that goes beyond its first number needs them. What was tried stays
 * so. */
static void load_hints(struct sfid__search *s) {
    unsigned char bytes[4096]; /* whatever somebody wrote there */
    struct stat st;
    const int fd = s->first < SFID__MIN(s->last, HINTS) ? open_hints(s->dir) : -1;
    ssize_t got = fd >= 0 && fstat(fd, &st) == 0 ? 1 : 0;
    if (got > 0)
        make_room(s, (uint64_t)st.st_size > s->first
                         ? SFID__MIN((uint64_t)st.st_size, HINTS) - s->first
                         : 0);
    for (uint64_t at = 0; got > 0 && at < s->room; at += (uint64_t)got) {
        got =
            pread(fd, bytes, (size_t)SFID__MIN(sizeof bytes, s->room - at), (off_t)(s->first + at));
        for (ssize_t i = 0; i < got; i++)
            if (bytes[i] != FREE && s->taken[at + (uint64_t)i] == FREE) {
                s->taken[at + (uint64_t)i] = TAKEN;
                s->taken_count++;
            }
        s->known = SFID__MAX(s->known, at + (uint64_t)SFID__MAX(got, 0));
    }
    if (fd >= 0)
        close(fd);
}

/* The first place from `from` on whose byte is this one; s->room: there is none. */
static uint64_t find(const struct sfid__search *s, uint64_t from, int hint) {
    const unsigned char *at =
        from < s->room ? memchr(s->taken + from, hint, (size_t)(s->room - from)) : NULL;
    return at ? (uint64_t)(at - s->taken) : s->room;
}

/* Few taken numbers are all tried, ascending, so that the lowest free one is found; of many some,
 * each at random. */
static bool some_taken(struct sfid__search *s, uint64_t *place) {
    uint64_t from = 0;
    if ((s->known == 0 && !s->first_again) || (s->taken_count > FEW && s->tries++ == AT_RANDOM))
        return false;
    if (s->taken_count > FEW) {
        sfid__random(&from, sizeof from);
        from %= s->known;
    }
    *place = find(s, from, TAKEN);
    if (*place == s->room)
        *place = find(s, 0, TAKEN);
    return *place < s->room;
}

/*
 * The lowest number that was not taken. Where that one was refused, others search, too, and find
 * the same: then it is one of the next four, then of sixteen, and so on, by hints that are read
 * anew. So a thousand that begin at once need some six tries each, not a thousand, and leave few
 * numbers out. Two, four and so on would leave out half as many, but take half as many tries again.
 */
static bool not_taken(struct sfid__search *s, uint64_t *place) {
    uint64_t skip = 0;
    if (s->refused > 0) {
        load_hints(s);
        sfid__random(&skip, sizeof skip);
        skip %= SFID__MIN(UINT64_C(1) << SFID__MIN(2 * s->refused, 32), AHEAD);
    }
    s->refused++;
    const uint64_t lowest = find(s, 0, FREE);
    for (*place = lowest; skip > 0 && *place < s->room; skip--)
        *place = find(s, *place + 1, FREE);
    if (*place < s->room)
        return true;
    s->beyond = SFID__MAX(s->beyond, SFID__MAX(s->room, 1));
    const bool more = s->beyond <= s->last - s->first;
    *place = more ? s->beyond++ : lowest;
    return more || lowest < s->room;
}

bool sfid__search_next(struct sfid__search *s, uint64_t *number) {
    uint64_t place = 0;
    bool found = s->stage == FIRST;
    if (s->stage == UNREAD) {
        load_hints(s);
        if (s->room > 0)
            s->taken[0] = s->first_again ? TAKEN : s->taken[0] == TAKEN ? WAS_TAKEN : WAS_FREE;
        s->stage = SOME_TAKEN;
    }
    if (s->stage == SOME_TAKEN && !(found = some_taken(s, &place)))
        s->stage = NOT_TAKEN;
    if (s->stage == NOT_TAKEN && !(found = not_taken(s, &place)))
        s->stage = REST;
    if (s->stage == REST) {
        place = find(s, 0, TAKEN);
        place = place < s->room ? place : find(s, 0, LATER);
        found = place < s->room || (s->room == 0 && s->first_again);
        s->first_again = false;
    }
    if (s->stage == FIRST)
        s->stage = UNREAD;
    else if (found && place < s->room)
        s->taken[place] = s->taken[place] == FREE ? WAS_FREE : WAS_TAKEN;
    *number = s->first + place;
    return found;
}

bool sfid__search_may_pass(const struct sfid__search *s, uint64_t number) {
    return (s->stage == SOME_TAKEN || s->stage == NOT_TAKEN) && number - s->first < s->room;
}

void sfid__search_again(struct sfid__search *s, uint64_t number) {
    s->first_again = s->first_again || number == s->first;
    if (number - s->first < s->room)
        s->taken[number - s->first] = LATER;
}

void sfid__search_taken(struct sfid__search *s, uint64_t number) {
    if (number != s->first &&
        !(number - s->first < s->room && s->taken[number - s->first] == WAS_TAKEN))
        write_hint(s->dir, number, TAKEN);
}

void sfid__search_end(struct sfid__search *s) {
    free(s->taken);
    s->taken = NULL;
}
