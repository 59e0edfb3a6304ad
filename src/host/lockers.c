/* SPDX-License-Identifier: MIT */
/*
 * lockers.c - which processes hold locks, by /proc/locks (proc(5)).
 *
 * Each read(2) of that list stops all locks of the host for a moment. 16 processes that read it without a pause made flock(2) 320
 * times slower. So one look serves all files that are asked for, and reads pieces as large as the kernel makes them.
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
    LOOKS = 3 /* what is locked and unlocked between two pieces makes the kernel leave lines out */
};

struct look {
    struct sfid__file_id file[FILES];
    long process[FILES]; /* with a flock(2) lock on the file; 0: none was seen */
    unsigned files;
    char piece[PIECE];
};

static struct look *look_begin(void) { return calloc(1, sizeof(struct look)); }

/* Returns how many files of the look have a process. */
static unsigned look_once(struct look *look, FILE *list) {
    char line[256];
    unsigned seen = 0;
    rewind(list);
    while (seen < look->files && fgets(line, sizeof line, list)) {
        unsigned major, minor;
        uint64_t inode;
        long process;
        if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%" SCNu64, &process, &major, &minor, &inode) != 4 || process <= 0)
            continue;
        for (unsigned i = 0; i < look->files; i++)
            if (look->process[i] == 0 && inode == look->file[i].inode && makedev(major, minor) == look->file[i].device) {
                look->process[i] = process;
                seen++;
            }
    }
    return seen;
}

/* False if the list cannot be read. Nothing may be seen even so. */
static bool look_at_locks(struct look *look) {
    FILE *list = fopen("/proc/locks", "re");
    if (list == NULL)
        return false;
    setvbuf(list, look->piece, _IOFBF, sizeof look->piece);
    unsigned seen = 0;
    for (int i = 0; i < LOOKS && seen == 0; i++)
        seen = look_once(look, list);
    const bool whole = seen > 0 || !ferror(list);
    fclose(list);
    return whole;
}

long sfid__file_locker(const struct stat *st) {
    struct look *look = look_begin();
    if (look == NULL)
        return -1;
    look->file[look->files++] = sfid__file_id(st);
    const long process = look_at_locks(look) ? look->process[0] : -1;
    free(look);
    return process;
}

static bool is_among(long process, const long *others, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (others[i] == process)
            return true;
    return false;
}

static void add_files(struct look *look, const struct sfid__dir *dir, const char *prefix, uint64_t first, uint64_t last) {
    for (uint64_t n = first; look->files < FILES; n++) {
        char name[64];
        struct stat st;
        snprintf(name, sizeof name, "%s%" PRIu64, prefix, n);
        if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            look->file[look->files++] = sfid__file_id(&st);
        if (n == last || n - first == FILES - 1)
            break;
    }
}

void sfid__file_list_lockers(const struct sfid__dir *dir, const char *prefix, uint64_t first, uint64_t last, char *out,
                             size_t size) {
    struct look *look = look_begin();
    unsigned count = 0;
    size_t used = 0;
    out[0] = '\0';
    if (look == NULL)
        return;
    add_files(look, dir, prefix, first, last);
    look_at_locks(look);
    for (unsigned i = 0; i < look->files && count < LOCKERS && used + 40 < size; i++) {
        const long process = look->process[i];
        if (process == 0 || is_among(process, look->process, i))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%ld", used ? ", " : "", process);
        count++;
    }
    free(look);
}
