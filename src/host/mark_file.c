/* SPDX-License-Identifier: MIT */
#include "host/mark_file.h"

#include <sfid.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct sfid__mark_entry entry;

static char *mapped(struct sfid__disk *map, int which) {
    return (char *)map + (size_t)which * SFID__MARK_BLOCK;
}

/* Reads an entry, on where a read had a part. What the last read returned: 0 at the end. */
static ssize_t read_at(int fd, entry *e, off_t at) {
    size_t got = 0;
    ssize_t n = 1;
    while (n > 0 && got < sizeof *e) {
        n = pread(fd, (char *)e + got, sizeof *e - got, at + (off_t)got);
        got += n > 0 ? (size_t)n : 0;
    }
    return n;
}

/* Reads the entries of the file, not its blocks: a program may open with a small stack. */
static int read_entries(int fd, entry all[SFID__MARK_ENTRIES]) {
    memset(all, 0, SFID__MARK_ENTRIES * sizeof *all);
    ssize_t n = 1;
    /* behind the end there is nothing more to read */
    for (int i = 0; i < SFID__MARK_ENTRIES && n > 0; i++)
        n = read_at(fd, &all[i], (off_t)i * SFID__MARK_BLOCK);
    return n < 0 ? errno : 0;
}

int sfid__mark_file_read(int fd, struct sfid__disk *map, entry all[SFID__MARK_ENTRIES]) {
    int why = fd < 0 ? 0 : read_entries(fd, all);
    for (int i = 0; fd < 0 && why == 0 && i < SFID__MARK_ENTRIES; i++)
        why = sfid__mark_entry_copy(mapped(map, i), &all[i], false);
    return why;
}

int sfid__mark_file_blank(int fd, bool *blank) {
    char part[512];
    ssize_t n = 0;
    *blank = true;
    for (off_t at = 0; *blank && at < SFID__MARK_SIZE && (n = pread(fd, part, sizeof part, at)) > 0;
         at += n)
        *blank = sfid__mark_blank(part, (size_t)n);
    return n < 0 ? errno : 0;
}

int sfid__mark_file_fill(int fd, entry all[SFID__MARK_ENTRIES], bool synced) {
    static char zero[SFID__MARK_BLOCK - sizeof(entry)];
    struct iovec parts[2 * SFID__MARK_ENTRIES];
    for (int i = 0; i < SFID__MARK_ENTRIES; i++) {
        parts[2 * i] = (struct iovec){&all[i], sizeof all[i]};
        parts[2 * i + 1] = (struct iovec){zero, sizeof zero};
    }
    const ssize_t n = pwritev(fd, parts, 2 * SFID__MARK_ENTRIES, 0);
    if (n != SFID__MARK_SIZE)
        return n < 0 ? errno : ENOSPC;
    return synced && fsync(fd) < 0 ? errno : 0;
}

int sfid__mark_file_make(const struct sfid__dir *app, const char *name, entry first,
                         struct sfid__error *err) {
    entry all[SFID__MARK_ENTRIES];
    char temp[SFID__TEMP_NAME];
    struct stat st;
    bool links = true;
    sfid__mark_fill(all, first, SFID__MARK_ENTRIES);
    sfid__file_maker_name(app, temp, name);
    const int fd = sfid__file_open(app, temp, O_RDWR | O_CREAT | O_EXCL, &st, err);
    if (fd < 0) {
        unlinkat(app->fd, temp, 0);
        return err->code ? err->code
                         : sfid__fail(err, SFID_EBUSY, "%s/%s is being made", app->path, name);
    }
    int why = sfid__mark_file_fill(fd, all, false);
    close(fd);
    if (why == 0)
        why = sfid__file_name_new(app, temp, name, &links);
    unlinkat(app->fd, temp, 0);
    return why == 0 || why == EEXIST
               ? 0
               : sfid__fail_errno(err, SFID_ESTATE, why, "cannot write file %s/%s%s", app->path,
                                  name, links ? "" : ": hard links are refused there");
}

int sfid__mark_file_put(int fd, struct sfid__disk *map, int which, const entry *e, bool synced) {
    if (fd < 0) {
        entry copy = *e;
        const int why = sfid__mark_entry_copy(mapped(map, which), &copy, true);
        return why == 0 && synced && msync(mapped(map, which), SFID__MARK_BLOCK, MS_SYNC) < 0
                   ? errno
                   : why;
    }
    const ssize_t n = pwrite(fd, e, sizeof *e, (off_t)which * SFID__MARK_BLOCK);
    if (n != (ssize_t)sizeof *e)
        return n < 0 ? errno : ENOSPC;
    return synced && fdatasync(fd) < 0 ? errno : 0;
}
