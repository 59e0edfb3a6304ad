/* SPDX-License-Identifier: MIT */
/*
 * lockers.c - which processes hold locks, by /proc/locks (proc(5)).
 *
 * Each read(2) of that list stops all locks of the host for a moment. 16 processes that read it
 * without a pause made flock(2) 320 times slower. So one look serves all files that are asked for,
 * and reads pieces as large as the kernel makes them.
 */
#include "host/files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
    FILES = 256,
    LOCKERS = 12,
    PIECE = 4096,
    /* What is locked and unlocked between two pieces makes the kernel leave lines out. */
    LOOKS = 3,
    LOOKS_AT_ONE = 12 /* a lock that is not found keeps a pid from others until its window ends */
};

struct lockers {
    struct sfid__file_id file[FILES];
    long process[FILES]; /* with a flock(2) lock on the file; 0: none was seen */
    unsigned files;
    char piece[PIECE];
};

static struct lockers *lockers_new(void) { return calloc(1, sizeof(struct lockers)); }

/* Returns how many files of the look have a process. */
static unsigned read_once(struct lockers *of, FILE *list) {
    char line[256];
    unsigned seen = 0;
    rewind(list);
    while (seen < of->files && fgets(line, sizeof line, list)) {
        unsigned major, minor;
        uint64_t inode;
        long process;
        if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%" SCNu64, &process, &major, &minor,
                   &inode) != 4 ||
            process <= 0)
            continue;
        for (unsigned i = 0; i < of->files; i++)
            if (of->process[i] == 0 && inode == of->file[i].inode &&
                makedev(major, minor) == of->file[i].device) {
                of->process[i] = process;
                seen++;
            }
    }
    return seen;
}

/* False if the list cannot be read. Nothing may be seen even so. */
static bool read_locks(struct lockers *of, int looks) {
    FILE *list = fopen("/proc/locks", "re");
    if (list == NULL)
        return false;
    setvbuf(list, of->piece, _IOFBF, sizeof of->piece);
    unsigned seen = 0;
    for (int i = 0; i < looks && seen == 0; i++)
        seen = read_once(of, list);
    const bool whole = seen > 0 || !ferror(list);
    fclose(list);
    return whole;
}

long sfid__file_locker(const struct stat *st) {
    struct lockers *of = lockers_new();
    if (of == NULL)
        return -1;
    of->file[of->files++] = sfid__file_id(st);
    const long process = read_locks(of, LOOKS_AT_ONE) ? of->process[0] : -1;
    free(of);
    return process;
}

static bool is_among(long process, const long *others, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (others[i] == process)
            return true;
    return false;
}

static void add_files(struct lockers *of, const struct sfid__dir *dir, const char *prefix,
                      uint64_t first, uint64_t last) {
    for (uint64_t n = first; of->files < FILES; n++) {
        char name[64];
        struct stat st;
        snprintf(name, sizeof name, "%s%" PRIu64, prefix, n);
        if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            of->file[of->files++] = sfid__file_id(&st);
        if (n == last || n - first == FILES - 1)
            break;
    }
}

void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first,
                             uint64_t last, char *out, size_t size) {
    struct lockers *of = lockers_new();
    unsigned count = 0;
    size_t used = 0;
    out[0] = '\0';
    if (of == NULL)
        return;
    add_files(of, dir, prefix, first, last);
    read_locks(of, LOOKS);
    for (unsigned i = 0; i < of->files && count < LOCKERS && used + 40 < size; i++) {
        const long process = of->process[i];
        if (process == 0 || is_among(process, of->process, i))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%ld", used ? ", " : "", process);
        count++;
    }
    free(of);
}
