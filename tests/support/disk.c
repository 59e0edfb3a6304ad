/* SPDX-License-Identifier: MIT */
#include "support/disk.h"

struct disk disk;

void disk_begin(uint64_t *rng) {
    char control[200];
    snprintf(control, sizeof control, "%s/control", dirs.shm);
    if (!shim_preload(control))
        skip_all("no shared library is built");
    disk.rng = rng;
    disk.control = shared_file("control", sizeof *disk.control);
    snprintf(disk.notes, sizeof disk.notes, "%s/disk", dirs.shm);
    mkdir(disk.notes, 0700);
    setenv("SFID_SHIM_STATE", dirs.state, 1);
    setenv("SFID_SHIM_DISK", disk.notes, 1);
}

static int disk_note(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    struct shim_note note;
    (void)st, (void)kind, (void)walk;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && shim_note_begin(&note, fd, disk.notes), "%s: %s", path, strerror(errno));
    shim_note_end(&note, disk.notes, true);
    close(fd);
    return 0;
}

void disk_settle(void) {
    remove_tree(disk.notes);
    mkdir(disk.notes, 0700);
    mkdir(dirs.state, 0700);
    nftw(dirs.state, disk_note, 16, FTW_PHYS);
}

void disk_read(struct disk_bytes *b, const char *path) {
    memset(b, 0, sizeof *b);
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, b->at, sizeof b->at);
    b->size = n > 0 ? (size_t)n : 0;
    if (fd >= 0)
        close(fd);
}

/* Each block is the synced one, the last one written, or the begin of the one and the rest of the
 * other. */
static void disk_restore_file(uint64_t inode, const char *lost, const char *to) {
    static struct disk_bytes synced, last;
    char path[SHIM_PATH];
    snprintf(path, sizeof path, "%s/data-%" PRIu64, disk.notes, inode);
    disk_read(&synced, path);
    disk_read(&last, lost);
    if (!disk.loses_all && last.size > synced.size && draw_random(disk.rng) % 2)
        synced.size = last.size;
    for (size_t at = 0; !disk.loses_all && at < synced.size; at += DISK_BLOCK) {
        const uint64_t fate = draw_random(disk.rng) % 8;
        if (fate < 4)
            memcpy(synced.at + at, last.at + at, DISK_BLOCK);
        else if (fate == 4)
            memcpy(synced.at + at, last.at + at, 8 * (1 + draw_random(disk.rng) % 7));
    }
    const int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, synced.at, synced.size) == (ssize_t)synced.size, "%s: %s", to,
         strerror(errno));
    close(fd);
}

static void disk_restore_entry(uint64_t inode, bool is_dir, const char *name, const char *lost,
                               const char *to) {
    char lost_path[SHIM_PATH], to_path[SHIM_PATH];
    snprintf(lost_path, sizeof lost_path, "%s/%s", lost, name);
    snprintf(to_path, sizeof to_path, "%s/%s", to, name);
    if (is_dir)
        disk_restore_dir(inode, lost_path, to_path);
    else
        disk_restore_file(inode, lost_path, to_path);
}

/* Adds some of the names that were not synced. The synced ones are already there. */
static void disk_restore_late(const char *lost, const char *to) {
    DIR *dir = disk.loses_all ? NULL : opendir(lost);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char path[SHIM_PATH];
        struct stat st, there;
        snprintf(path, sizeof path, "%s/%s", to, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            lstat(path, &there) == 0 || draw_random(disk.rng) % 2)
            continue;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            disk_restore_entry(st.st_ino, S_ISDIR(st.st_mode), e->d_name, lost, to);
    }
    if (dir)
        closedir(dir);
}

void disk_restore_dir(uint64_t inode, const char *lost, const char *to) {
    char path[SHIM_PATH], line[600], name[300], kind;
    uint64_t entry;
    snprintf(path, sizeof path, "%s/dir-%" PRIu64, disk.notes, inode);
    must(mkdir(to, 0700) >= 0, "%s: %s", to, strerror(errno));
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNu64 " %c %299s", &entry, &kind, name) == 3)
            disk_restore_entry(entry, kind == 'd', name, lost, to);
    if (f)
        fclose(f);
    disk_restore_late(lost, to);
}
