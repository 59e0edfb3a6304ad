/* SPDX-License-Identifier: MIT */
/* lockers.c - which processes hold locks, by /proc/locks (proc(5)). */
#include "host/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

/* A process in the list with a flock(2) lock on a file; 0: none. */
static long look_for(FILE *list, const struct stat *st) {
    char line[256];
    rewind(list);
    while (fgets(line, sizeof line, list)) {
        unsigned major, minor;
        uint64_t inode;
        long process;
        if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%" SCNu64, &process, &major, &minor, &inode) == 4 && inode == st->st_ino &&
            makedev(major, minor) == st->st_dev && process > 0)
            return process;
    }
    return 0;
}

/* The kernel hands the list out in parts. What is locked and unlocked between two of them makes it leave lines out. */
static long locker_of(FILE *list, const struct stat *st) {
    long process = 0;
    for (int look = 0; look < 3 && process == 0; look++)
        process = look_for(list, st);
    return process;
}

long sfid__file_locker(const struct stat *st) {
    FILE *list = fopen("/proc/locks", "re");
    if (list == NULL)
        return -1;
    long process = locker_of(list, st);
    if (process == 0 && ferror(list))
        process = -1;
    fclose(list);
    return process;
}

enum { LOCKERS = 12, LOOKS = 255 }; /* a look reads the whole list */

static bool is_among(long process, const long *seen, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (seen[i] == process)
            return true;
    return false;
}

void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first, uint64_t last, char *out,
                             size_t size) {
    long seen[LOCKERS];
    unsigned count = 0;
    size_t used = 0;
    FILE *list = fopen("/proc/locks", "re");
    out[0] = '\0';
    for (uint64_t n = first; list && count < LOCKERS && used + 40 < size; n++) {
        char name[64];
        struct stat st;
        snprintf(name, sizeof name, "%s%" PRIu64, prefix, n);
        const long process = fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? locker_of(list, &st) : 0;
        if (process && !is_among(process, seen, count)) {
            used += (size_t)snprintf(out + used, size - used, "%s%ld", used ? ", " : "", process);
            seen[count++] = process;
        }
        if (n == last || n - first == LOOKS)
            break;
    }
    if (list)
        fclose(list);
}
