/* SPDX-License-Identifier: MIT */
/*
 * slot_share.c - a slot that any number of processes have at once.
 *
 * Each has LOCK_SH (held.h). A process that begins or ends the slot has LOCK_EX.
 * Inside the door of the slot's name LOCK_EX is tried, then LOCK_SH. So two
 * processes never take themselves for the only one.
 */
#include "host/slot.h"

#include "base/fd.h"
#include "draw/record.h"
#include "id/layout.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* Maps a page that others use. Nothing is put aside: it is theirs. */
static int attach_live(struct sfid__slot *slot, int fd, const struct stat *st,
                       const struct sfid__slot_want *want, struct sfid__error *err) {
    struct sfid__page_id id, found;
    const size_t bytes = sfid__slot_backed_bytes(fd, st);
    int why_not = bytes < SFID__SLOT_BLOCK ? ENODATA : sfid__slot_expect(fd, want->layout, &id);
    if (why_not == 0)
        why_not = sfid__fd_read_at(fd, &found, sizeof found, 0);
    if (why_not)
        return sfid__fail_errno(err, SFID_ESTATE, why_not, "cannot read %s/%s", slot->dir.path,
                                slot->name);
    slot->held.id = sfid__file_id(st);
    if (sfid__slot_map(slot, fd, found.nonce, err) < 0)
        return err->code;
    const char *bad = sfid__page_check_live(slot->page, &id, bytes, &slot->records);
    /* the keeper may have extended the file and published a record there since `bytes` were
     * counted */
    if (bad)
        bad =
            sfid__page_check_live(slot->page, &id, sfid__slot_backed_bytes(fd, st), &slot->records);
    /* Relaxed: the last process to close has ended its record, or a keeper is about to begin the
     * next one. */
    if (bad == NULL &&
        (atomic_load_explicit(&slot->page->records[slot->records - 1].word, memory_order_relaxed) &
         SFID__CLOSED))
        return sfid__fail(err, SFID_EBUSY, "%s/%s is being closed", slot->dir.path, slot->name);
    return bad ? sfid__fail(err, found.layout == want->layout ? SFID_ESTATE : SFID_ELAYOUT,
                            "%s/%s is in use by other processes and cannot be shared: %s",
                            slot->dir.path, slot->name, bad)
               : 0;
}

static int slot_join(struct sfid__slot *slot, const struct sfid__slot_want *want, bool *live,
                     struct sfid__error *err) {
    struct stat st;
    int rc = sfid__slot_take_inside(slot, want, err);
    if (rc != SFID_EBUSY)
        return rc;
    const int fd = sfid__file_lock(&slot->dir, slot->name, LOCK_SH, &st, err);
    if (fd < 0)
        return err->code ? err->code
                         : sfid__fail(err, SFID_EBUSY, "%s/%s is gone", slot->dir.path, slot->name);
    *live = true;
    rc = attach_live(slot, fd, &st, want, err);
    /* Relaxed: written before the lock was shared. */
    sfid__held_join(&slot->held, fd,
                    rc == 0 && (atomic_load_explicit(&slot->page->terms, memory_order_relaxed) &
                                SFID__TERM_PAGE_BY_FD));
    return rc;
}

int sfid__slot_join(struct sfid__slot *slot, struct sfid__dir *dir, const char *name,
                    const struct sfid__slot_want *want, bool *live, struct sfid__error *err) {
    *live = false;
    sfid__slot_begin(slot, dir, name);
    slot->held.kind = SFID__HELD_FIRST;
    const int door = sfid__slot_door(slot->name, &slot->dir, want->until_ms, err);
    const int rc = door < 0 ? err->code : slot_join(slot, want, live, err);
    sfid__door_leave(door);
    if (rc < 0)
        sfid__slot_drop(slot);
    return rc;
}

int sfid__slot_share(struct sfid__slot *slot, struct sfid__error *err) {
    /* Relaxed: alone with the page. */
    atomic_store_explicit(&slot->page->reserved, slot->records, memory_order_relaxed);
    if (slot->held.by_fd)
        atomic_fetch_or_explicit(&slot->page->terms, SFID__TERM_PAGE_BY_FD, memory_order_relaxed);
    const int door = sfid__slot_door(slot->name, &slot->dir, 0, err);
    int rc = door < 0 ? err->code : 0;
    if (rc == 0 && !sfid__held_share(&slot->held))
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot share %s/%s", slot->dir.path,
                              slot->name);
    sfid__door_leave(door);
    return rc;
}

int sfid__slot_name_begin(const struct sfid__slot *slot, const char *name,
                          const struct sfid__slot_want *want, struct sfid__slot_naming *n,
                          struct sfid__error *err) {
    struct stat st;
    *n = (struct sfid__slot_naming){
        .name = name, .door = sfid__slot_door(name, &slot->dir, want->until_ms, err), .other = -1};
    if (n->door < 0)
        return err->code;
    if (sfid__file_is(&slot->dir, name, &slot->held.id))
        return 0;
    n->other = sfid__file_lock(&slot->dir, name, LOCK_EX, &st, err);
    const int rc =
        n->other < 0 ? err->code : sfid__slot_judge(slot, n->other, &st, want, &n->found, err);
    if (rc < 0)
        sfid__slot_name_end(NULL, n, false, NULL);
    return rc;
}

static int name_inside(struct sfid__slot *slot, const struct sfid__slot_naming *n,
                       struct sfid__error *err) {
    char temp[SFID__TEMP_NAME];
    if (sfid__file_is(&slot->dir, n->name, &slot->held.id))
        return 0;
    sfid__file_maker_name(&slot->dir, temp, n->name);
    if (linkat(slot->dir.fd, slot->name, slot->dir.fd, temp, 0) < 0 ||
        renameat(slot->dir.fd, temp, slot->dir.fd, n->name) < 0) {
        sfid__fail_errno(err, SFID_ESTATE, errno, "cannot give %s/%s its name %s, a hard link",
                         slot->dir.path, slot->name, n->name);
        unlinkat(slot->dir.fd, temp, 0);
        return err->code;
    }
    if (!sfid__file_is(&slot->dir, n->name, &slot->held.id))
        return errno == ENOENT ? sfid__fail(err, SFID_ESTATE, "%s/%s was replaced meanwhile",
                                            slot->dir.path, slot->name)
                               : sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at %s/%s",
                                                  slot->dir.path, n->name);
    if (n->found.bad)
        snprintf(slot->put_aside, sizeof slot->put_aside, "%s", n->found.bad);
    return 0;
}

int sfid__slot_name_end(struct sfid__slot *slot, const struct sfid__slot_naming *n, bool take,
                        struct sfid__error *err) {
    const int rc = take ? name_inside(slot, n, err) : 0;
    if (n->other >= 0)
        close(n->other);
    sfid__door_leave(n->door);
    return rc;
}
