/* SPDX-License-Identifier: MIT */
#include "host/mark_entries.h"

#include "base/hash.h"

#include <errno.h>
#include <sfid.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* headers before Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static const char magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '2'};
static const char older_magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '1'};

static uint64_t checksum(const struct sfid__mark_entry *e) {
    return sfid__hash(SFID__HASH_SEED, e, offsetof(struct sfid__mark_entry, checksum));
}

static uint64_t known_sum(const struct sfid__mark_entry *e) {
    const uint64_t both[] = {e->checksum, e->known};
    return sfid__hash(SFID__HASH_SEED, both, sizeof both);
}

static bool is_good(const struct sfid__mark_entry *e, const char format[8]) {
    return memcmp(e->magic, format, sizeof e->magic) == 0 && e->checksum == checksum(e);
}

bool sfid__mark_entry_good(const struct sfid__mark_entry *e) { return is_good(e, magic); }

void sfid__mark_entry_seal(struct sfid__mark_entry *e) {
    memcpy(e->magic, magic, sizeof magic);
    e->checksum = checksum(e);
    e->known_sum = known_sum(e);
}

bool sfid__mark_blank(const void *from, size_t n) {
    const char *bytes = from;
    for (size_t i = 0; i < n; i++) /* from may be NULL if n is 0 */
        if (bytes[i])
            return false;
    return true;
}

void sfid__mark_gather(const void *blocks, size_t size,
                       struct sfid__mark_entry all[SFID__MARK_ENTRIES]) {
    memset(all, 0, SFID__MARK_ENTRIES * sizeof *all);
    for (size_t i = 0, at = 0; i < SFID__MARK_ENTRIES && at < size; i++, at += SFID__MARK_BLOCK)
        memcpy(&all[i], (const char *)blocks + at, SFID__MIN(sizeof *all, size - at));
}

/* Power loss spoils one entry of a seat, and leaves both blank if it comes before the first one is
 * durable. This is worse. */
static bool is_spoilt(const struct sfid__mark_entry *all, unsigned seat) {
    bool written = false;
    for (unsigned i = 2 * seat; i < 2 * seat + 2; i++) {
        if (sfid__mark_entry_good(&all[i]))
            return false;
        written = written || !sfid__mark_blank(&all[i], sizeof all[i]);
    }
    return written;
}

static bool counts_before(const struct sfid__mark_entry *a, const struct sfid__mark_entry *b) {
    if (a->life >> 1 != b->life >> 1)
        return a->life >> 1 > b->life >> 1;
    return a->position != b->position ? a->position > b->position : a->serial > b->serial;
}

static void count_in(struct sfid__mark_said *said, const struct sfid__mark_entry *e, int at,
                     bool *any) {
    if (!*any || counts_before(e, &said->top)) {
        said->top = *e;
        said->top_at = at;
    }
    said->serial = SFID__MAX(said->serial, e->serial);
    *any = true;
}

/*
 * The newer of two entries of the format before. Its `exact` lies where `life` does, so it is an
 * entry of life 0. An older library may go on with a file that was being written anew when the
 * power failed. Then both formats are in the file, and the higher position counts.
 */
static void read_older(const struct sfid__mark_entry *all, struct sfid__mark_said *said,
                       bool *any) {
    const struct sfid__mark_entry *a = &all[0], *b = &all[1];
    const bool a_good = is_good(a, older_magic), b_good = is_good(b, older_magic);
    if (!a_good && !b_good)
        return;
    const int at = a_good && (!b_good || a->serial > b->serial) ? 0 : 1;
    struct sfid__mark_entry e = all[at];
    e.life = e.life != 0;
    said->older = true;
    said->damaged =
        (!a_good && !sfid__mark_entry_good(a)) || (!b_good && !sfid__mark_entry_good(b));
    count_in(said, &e, at, any);
}

/* A mark that says 0 bounds nothing: no entry is needed, and its maker may have synced nothing. */
static void read_known(struct sfid__mark_said *said, const struct sfid__mark_entry *newest) {
    const bool noted = newest && newest->known_sum == known_sum(newest);
    said->unnamed = said->top.position == 0 && said->top.life == 0;
    if (said->unnamed)
        said->spare = said->serial + 1;
    else if (noted) {
        said->spare = newest->known >> 1;
        said->unnamed = newest->known & 1;
    }
}

bool sfid__mark_read(const struct sfid__mark_entry all[SFID__MARK_ENTRIES],
                     struct sfid__mark_said *said) {
    bool any = false;
    const struct sfid__mark_entry *newest = NULL;
    *said = (struct sfid__mark_said){.damaged = false};
    for (int i = 0; i < SFID__MARK_ENTRIES; i++) {
        if (!sfid__mark_entry_good(&all[i])) {
            said->damaged = true;
            continue;
        }
        count_in(said, &all[i], i, &any);
        newest = newest == NULL || all[i].serial > newest->serial ? &all[i] : newest;
    }
    read_older(all, said, &any);
    read_known(said, newest);
    for (unsigned seat = 0; any && !said->older && seat < SFID__MARK_SEATS; seat++)
        any = !is_spoilt(all, seat);
    return any;
}

int sfid__mark_newest_of(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], unsigned seat) {
    const int a = (int)(2 * seat), b = a + 1;
    const struct sfid__mark_entry *in_a = &all[a], *in_b = &all[b];
    /* the other one is damaged, or the file would have been written anew */
    if (is_good(in_a, older_magic))
        return a;
    return sfid__mark_entry_good(in_a) &&
                   (!sfid__mark_entry_good(in_b) || in_a->serial > in_b->serial)
               ? a
               : b;
}

/*
 * A power loss may tear each block that was written since it was last durable. IDs stay bounded
 * while the entry stays that bounded them last. That one is durable, and no process knows which it
 * is that opens the mark. But it has the serial `spare` or a higher one: the entry `spare` was
 * known to be durable, and bounds what all entries below it do. The other entry of the seat must
 * not be later than that: if both were torn, the mark could not be read.
 */
int sfid__mark_spare(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], uint64_t spare) {
    int oldest = -1;
    for (int i = 0; i < SFID__MARK_ENTRIES; i++)
        if (all[i].serial < spare && all[i ^ 1].serial <= spare &&
            (oldest < 0 || all[i].serial < all[oldest].serial))
            oldest = i;
    return oldest;
}

void sfid__mark_fill(struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_entry e,
                     int n) {
    for (int i = 0; i < n; i++, e.serial++) {
        sfid__mark_entry_seal(&e);
        all[i] = e;
    }
}

/*
 * The kernel copies, as it would for another process: where the file system has failed, or the file
 * ends before the entry, it says so. A load or a store would be SIGBUS, in the program that the
 * library is a guest of. A sandbox may refuse the call; then the kernel is asked to get the page
 * first (ENOSYS: before Linux 5.14 it does not know how). No right is needed for memory of one's
 * own, nor a descriptor.
 */
int sfid__mark_entry_copy(void *there, struct sfid__mark_entry *e, bool into) {
    const struct iovec here = {e, sizeof *e}, far = {there, sizeof *e};
    const ssize_t n = into ? process_vm_writev(getpid(), &here, 1, &far, 1, 0)
                           : process_vm_readv(getpid(), &here, 1, &far, 1, 0);
    if (n == (ssize_t)sizeof *e)
        return 0;
    if (n >= 0 || (errno != EPERM && errno != ENOSYS))
        return n >= 0 || errno == EFAULT ? EIO : errno;
    if (madvise(there, SFID__MARK_BLOCK, into ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) < 0)
        return errno == EFAULT || errno == EHWPOISON ? EIO : errno == EINVAL ? ENOSYS : errno;
    memcpy(into ? there : e, into ? e : there, sizeof *e);
    return 0;
}

int sfid_mark_check(const void *content, size_t size) {
    struct sfid__mark_entry all[SFID__MARK_ENTRIES];
    struct sfid__mark_said said;
    if (content == NULL && size > 0)
        return SFID_EINVAL;
    size = SFID__MIN(size, SFID__MARK_SIZE);
    sfid__mark_gather(content, size, all);
    return sfid__mark_blank(content, size) || sfid__mark_read(all, &said) ? 0 : SFID_ESTATE;
}
