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

enum { FREE = 0, TAKEN = 1, WAS_FREE, WAS_TAKEN }; /* WAS: tried in this search */
enum { FIRST, UNREAD, SOME_TAKEN, NOT_TAKEN, REST };

/* The doors' file holds no lock of ours here, so that a descriptor of it can be opened and closed at will. */
static int open_hints(const struct sfid__dir *dir) {
    struct stat st;
    const int fd = sfid__fd_above_standard(openat(dir->fd, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
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
    if ((pread(fd, &is, 1, (off_t)number) == 1 || hint != FREE) && is != hint && pwrite(fd, &hint, 1, (off_t)number) < 0)
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

void sfid__search_begin(struct sfid__search *s, const struct sfid__dir *dir, uint64_t first, uint64_t last) {
    *s = (struct sfid__search){.dir = dir, .first = first, .last = last, .next = first};
}

/* Reads the hints: only a search that goes beyond its first number needs them. */
static void load(struct sfid__search *s) {
    struct stat st;
    const int fd = s->first < s->last ? open_hints(s->dir) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        const size_t n = (size_t)SFID__MIN(SFID__MIN((uint64_t)st.st_size, HINTS), s->last + 1);
        s->taken = malloc(n);
        const ssize_t got = s->taken ? pread(fd, s->taken, n, 0) : 0;
        s->known = got > 0 ? (uint64_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    for (uint64_t i = 0; i < s->known; i++) /* whatever somebody wrote there */
        s->taken_count += s->taken[i] = s->taken[i] != FREE;
    if (s->first < s->known)
        s->taken[s->first] = s->taken[s->first] == TAKEN ? WAS_TAKEN : WAS_FREE;
    else
        s->next = s->first + 1;
}

/* The next number from s->next on whose byte is this one; last + 1: there is none. */
static uint64_t find(const struct sfid__search *s, int hint) {
    const unsigned char *at = s->next < s->known ? memchr(s->taken + s->next, hint, (size_t)(s->known - s->next)) : NULL;
    if (at)
        return (uint64_t)(at - s->taken);
    return hint == FREE ? SFID__MAX(s->next, s->known) : s->last + 1;
}

/* Few taken numbers are all tried, ascending, so that the lowest free one is found; of many some, each at random. */
static uint64_t some_taken(struct sfid__search *s) {
    uint64_t place;
    if (s->known <= s->first || (s->taken_count > FEW && s->tries++ == AT_RANDOM))
        return s->last + 1;
    if (s->taken_count > FEW) {
        sfid__random(&place, sizeof place);
        s->next = s->first + place % (s->known - s->first);
    }
    const uint64_t found = find(s, TAKEN);
    s->next = s->first;
    return found <= s->last ? found : find(s, TAKEN);
}

bool sfid__search_next(struct sfid__search *s, uint64_t *number) {
    uint64_t n = s->last + 1;
    if (s->stage == FIRST) {
        s->stage = UNREAD;
        *number = s->first;
        return true;
    }
    if (s->stage == UNREAD) {
        load(s);
        s->stage = SOME_TAKEN;
    }
    if (s->stage == SOME_TAKEN && (n = some_taken(s)) > s->last)
        s->stage = NOT_TAKEN;
    if (s->stage == NOT_TAKEN && (n = find(s, FREE)) > s->last) {
        s->stage = REST;
        s->next = s->first;
    }
    if (s->stage == REST && (n = find(s, TAKEN)) > s->last)
        return false;
    if (n < s->known)
        s->taken[n] = s->taken[n] == TAKEN ? WAS_TAKEN : WAS_FREE;
    if (s->stage >= NOT_TAKEN)
        s->next = n + 1;
    *number = n;
    return true;
}

void sfid__search_taken(struct sfid__search *s, uint64_t number) {
    if (number != s->first && !(number < s->known && s->taken[number] == WAS_TAKEN))
        write_hint(s->dir, number, TAKEN);
}

void sfid__search_end(struct sfid__search *s) {
    free(s->taken);
    s->taken = NULL;
}
