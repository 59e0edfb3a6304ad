/* SPDX-License-Identifier: MIT */
#include "support/shim_notes.h"

/* Lists the names in a directory, one a line. */
static size_t shim_list(int fd, char *bytes, size_t room) {
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        const int n = snprintf(bytes + size, room - size, "%" PRIu64 " %c %s\n",
                               (uint64_t)st.st_ino, S_ISDIR(st.st_mode) ? 'd' : 'f', e->d_name);
        size = n > 0 && (size_t)n < room - size ? size + (size_t)n : size;
    }
    if (dir)
        closedir(dir);
    return size;
}

bool shim_note_begin(struct shim_note *note, int fd, const char *disk) {
    struct stat st;
    char path[SHIM_PATH];
    *note = (struct shim_note){.lock = -1};
    if (fstat(fd, &st) < 0 || (note->bytes = malloc(SHIM_FILE_MAX)) == NULL)
        return false;
    const bool dir = S_ISDIR(st.st_mode);
    snprintf(note->name, sizeof note->name, "%s-%" PRIu64, dir ? "dir" : "data",
             (uint64_t)st.st_ino);
    if (!dir) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* the descriptor may be write-only */
        const int again = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t n = again < 0 ? 0 : pread(again, note->bytes, SHIM_FILE_MAX, 0);
        note->size = n > 0 ? (size_t)n : 0;
        close(again);
        return true;
    }
    snprintf(path, sizeof path, "%s/lock", disk);
    note->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (note->lock >= 0)
        flock(note->lock, LOCK_EX);
    note->size = shim_list(fd, note->bytes, SHIM_FILE_MAX);
    return true;
}

void shim_note_end(struct shim_note *note, const char *disk, bool synced) {
    char path[SHIM_PATH], temporary[SHIM_PATH + 20];
    snprintf(path, sizeof path, "%s/%s", disk, note->name);
    snprintf(temporary, sizeof temporary, "%s.%d", path, (int)gettid());
    const int fd = synced ? open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        const bool good = write(fd, note->bytes, note->size) == (ssize_t)note->size;
        close(fd);
        if (good)
            rename(temporary, path);
    }
    if (note->lock >= 0)
        close(note->lock);
    free(note->bytes);
}
