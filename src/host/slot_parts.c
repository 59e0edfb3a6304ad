/* SPDX-License-Identifier: MIT */
/* slot_parts.c - makes the file of a slot, and finds it again. slot.c has the argument. */
#include "host/slot_parts.h"

#include "base/fd.h"
#include "base/random.h"
#include "draw/record.h"
#include "host/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK SFID__SLOT_BLOCK

/* ---- identity of a file -------------------------------------------------- */

/*
 * What statx(2) tells, as in linux/stat.h, which does not go with every C library's header. It is
 * not asked through the C library: all that share a page have to find the same, and musl has
 * statx() since 1.2.5. A kernel before 4.11 has none (ENOSYS), and a sandbox that is older than the
 * call refuses it (EPERM): then nothing is known, as on a file system that notes no such time.
 */
struct told {
    uint32_t mask, before[19];
    int64_t born_s;
    uint32_t born_ns, behind[41];
};

#define BORN 0x800

static_assert(offsetof(struct told, born_s) == 80 && sizeof(struct told) == 256,
              "as the kernel has it");

/* The header that this file should have, but for nonce and checksum. */
int sfid__slot_expect(int fd, uint64_t layout, struct sfid__page_id *id) {
    struct stat st;
    struct told told = {.mask = 0};
    if (fstat(fd, &st) < 0)
        return errno;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, BORN, &told) < 0 && errno != ENOSYS &&
        errno != EPERM)
        return errno;
    *id = (struct sfid__page_id){.layout = layout, .device = st.st_dev, .inode = st.st_ino};
    if (told.mask & BORN) {
        id->born_s = told.born_s;
        id->born_ns = told.born_ns;
    }
    return sfid__boot_id(id->boot_id);
}

int sfid__slot_map(struct sfid__slot *slot, int fd, uint64_t nonce, struct sfid__error *err) {
    slot->map = sfid__mapping_take(fd, nonce, &slot->mapped_before);
    if (slot->map == NULL)
        return sfid__fail_errno(err, errno == ENOMEM ? SFID_ENOMEM : SFID_ESTATE, errno,
                                "cannot map %s/%s", slot->dir.path, slot->name);
    slot->page = slot->map->page;
    return 0;
}

/* ---- a new file ---------------------------------------------------------- */

int sfid__slot_write_blocks(int fd, off_t from, off_t to) {
    static const char zero[BLOCK];
    for (; from < to; from += BLOCK) {
        const ssize_t n = pwrite(fd, zero, BLOCK, from);
        if (n != BLOCK)
            return n < 0 ? errno : ENOSPC;
    }
    return 0;
}

static int fill_new(struct sfid__slot *slot, int fd, uint64_t layout, struct sfid__record *last,
                    struct sfid__error *err) {
    struct sfid__page_id id;
    int why = sfid__slot_write_blocks(fd, 0, BLOCK);
    if (why == 0 && ftruncate(fd, SFID__MAP_SIZE) < 0)
        why = errno;
    if (why == 0)
        why = sfid__slot_expect(fd, layout, &id);
    if (why == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        why = errno;
    if (why)
        return sfid__fail_errno(err, SFID_ESTATE, why, "cannot make slot file %s/%s",
                                slot->dir.path, slot->name);
    sfid__random(&id.nonce, sizeof id.nonce);
    id.nonce |= 1; /* never 0 */
    slot->held.id = (struct sfid__file_id){id.device, id.inode};
    slot->records = 0;
    if (sfid__slot_map(slot, fd, id.nonce, err) < 0)
        return err->code;
    sfid__page_init(slot->page, &id);
    if (last) {
        sfid__record_carry(slot->page, last);
        slot->records = 1;
    }
    return 0;
}

static void undo_new(struct sfid__slot *slot, const char *temp) {
    unlinkat(slot->dir.fd, temp, 0);
    if (slot->map)
        sfid__mapping_discard(slot->map);
    sfid__held_drop(&slot->held);
    slot->map = NULL;
    slot->page = NULL;
}

/*
 * Makes a new file under a name of its own, and renames it to the slot's name,
 * over an old one: the caller has the right to the name. That is the last step,
 * so the name never leads to a file that is not complete. First it removes the
 * file of a process that was killed in here.
 */
int sfid__slot_make_file(struct sfid__slot *slot, uint64_t layout, struct sfid__record *last,
                         struct sfid__error *err) {
    char temp[SFID__TEMP_NAME];
    sfid__file_maker_name(&slot->dir, temp, slot->name);
    const int fd = sfid__fd_above_standard(
        openat(slot->dir.fd, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return sfid__fail_errno(err, SFID_ESTATE, errno, "cannot make slot file %s/%s",
                                slot->dir.path, slot->name);
    int rc = fill_new(slot, fd, layout, last, err);
    if (rc < 0)
        close(fd);
    else
        rc = sfid__held_begin(&slot->held, &slot->dir, temp, fd, NULL, err);
    if (rc == 0 && renameat(slot->dir.fd, temp, slot->dir.fd, slot->name) < 0)
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot rename the new slot file to %s/%s",
                              slot->dir.path, slot->name);
    if (rc < 0)
        undo_new(slot, temp);
    return rc;
}

/* ---- a file that is there ------------------------------------------------ */

/* How many bytes, from the beginning of the file, have memory behind them. */
size_t sfid__slot_backed_bytes(int fd, const struct stat *st) {
    if (st->st_size != SFID__MAP_SIZE)
        return 0;
    const off_t hole = lseek(fd, 0, SEEK_HOLE);
    return hole < 0 ? 0 : (size_t)hole / BLOCK * BLOCK;
}

/* Says why a page cannot be used; NULL if it can. */
static const char *judge_page(const struct sfid__page *page, size_t bytes,
                              const struct sfid__page_id *id, const struct sfid__slot_want *want,
                              struct sfid__slot_found *found) {
    const char *why = sfid__page_check(page, id, bytes, &found->records);
    const uint32_t n = why ? 0 : found->records;
    if (n > 0 && want->pid != SFID__ANY_PID && sfid__record_pid(&page->records[n - 1]) != want->pid)
        return "it has another pid";
    for (uint32_t i = 0; i < n && why == NULL; i++)
        why = sfid__record_check_range(&page->records[i], want->max_limit);
    if (why)
        return why;
    found->nonce = page->id.nonce;
    found->position = sfid__record_furthest(page, n, want->pid);
    return NULL;
}

/* Judges a locked file by a copy, before any mapping. Returns 0, or an error that is not due to the
 * file. */
int sfid__slot_judge(const struct sfid__slot *slot, int fd, const struct stat *st,
                     const struct sfid__slot_want *want, struct sfid__slot_found *found,
                     struct sfid__error *err) {
    struct sfid__page_id id;
    const size_t bytes = sfid__slot_backed_bytes(fd, st);
    *found = (struct sfid__slot_found){.bad = st->st_size == SFID__MAP_SIZE
                                                  ? "it is too short"
                                                  : "it has another version or size"};
    if (bytes < BLOCK)
        return 0;
    int why_not = sfid__slot_expect(fd, want->layout, &id);
    void *copy = why_not ? NULL : aligned_alloc(_Alignof(struct sfid__page), bytes);
    if (why_not == 0 && copy == NULL)
        why_not = ENOMEM;
    if (why_not == 0)
        why_not = sfid__fd_read_at(fd, copy, bytes, 0);
    if (why_not == 0)
        found->bad = judge_page(copy, bytes, &id, want, found);
    free(copy);
    return why_not ? sfid__fail_errno(err, SFID_ESTATE, why_not, "cannot read %s/%s",
                                      slot->dir.path, slot->name)
                   : 0;
}

/*
 * Opens the slot's file by the path of its directory, because the program may
 * have closed the descriptor in slot->dir. Returns -1 with errno: ESTALE if
 * another file lies in its place.
 */
int sfid__slot_open_again(const struct sfid__slot *slot) {
    struct sfid__error ignored;
    struct sfid__dir dir;
    errno = ENOENT;
    if (slot->dir.path == NULL || sfid__dir_reopen(&dir, slot->dir.path, &ignored) < 0)
        return -1;
    const int fd = sfid__held_open(&slot->held, dir.fd, slot->name), why = errno;
    sfid__dir_close(&dir);
    errno = why;
    return fd;
}

/* Maps the file through a new description, not locked yet. Returns its descriptor, or -1. */
int sfid__slot_map_again(struct sfid__slot *slot) {
    const int fd = sfid__slot_open_again(slot);
    if (fd < 0 || sfid__mapping_replace(slot->map, fd))
        return fd;
    close(fd);
    return -1;
}
