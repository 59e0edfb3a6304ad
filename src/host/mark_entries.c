/* SPDX-License-Identifier: MIT */
#include "host/mark_entries.h"

#include "base/hash.h"

#include <sfid.h>
#include <string.h>

static const char magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '2'};
static const char older_magic[8] = {'s', 'f', 'i', 'd', 'm', 'r', 'k', '1'};

static uint64_t checksum(const struct sfid__mark_entry *e) {
    return sfid__hash(SFID__HASH_SEED, e, offsetof(struct sfid__mark_entry, checksum));
}

static bool is_good(const struct sfid__mark_entry *e, const char format[8]) {
    return memcmp(e->magic, format, sizeof e->magic) == 0 && e->checksum == checksum(e);
}

bool sfid__mark_entry_good(const struct sfid__mark_entry *e) { return is_good(e, magic); }

void sfid__mark_entry_seal(struct sfid__mark_entry *e) {
    memcpy(e->magic, magic, sizeof magic);
    e->checksum = checksum(e);
}

bool sfid__mark_blank(const void *from, size_t n) {
    const char *bytes = from;
    for (size_t i = 0; i < n; i++) /* from may be NULL if n is 0 */
        if (bytes[i])
            return false;
    return true;
}

void sfid__mark_gather(const void *blocks, size_t size, struct sfid__mark_entry all[SFID__MARK_ENTRIES]) {
    memset(all, 0, SFID__MARK_ENTRIES * sizeof *all);
    for (size_t i = 0, at = 0; i < SFID__MARK_ENTRIES && at < size; i++, at += SFID__MARK_BLOCK)
        memcpy(&all[i], (const char *)blocks + at, SFID__MIN(sizeof *all, size - at));
}

/* Power loss spoils one entry of a seat, and leaves both blank if it comes before the first one is durable. This is worse. */
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

static void count_in(struct sfid__mark_said *said, const struct sfid__mark_entry *e, bool *any) {
    if (!*any || counts_before(e, &said->top))
        said->top = *e;
    said->serial = SFID__MAX(said->serial, e->serial);
    *any = true;
}

/*
 * The newer of two entries of the format before. Its `exact` lies where `life` does, so it is an entry of life 0. An
 * older library may go on with a file that was being written anew when the power failed. Then both formats are in the
 * file, and the higher position counts.
 */
static void read_older(const struct sfid__mark_entry *all, struct sfid__mark_said *said, bool *any) {
    const struct sfid__mark_entry *a = &all[0], *b = &all[1];
    const bool a_good = is_good(a, older_magic), b_good = is_good(b, older_magic);
    if (!a_good && !b_good)
        return;
    struct sfid__mark_entry e = a_good && (!b_good || a->serial > b->serial) ? *a : *b;
    e.life = e.life != 0;
    said->older = true;
    said->damaged = (!a_good && !sfid__mark_entry_good(a)) || (!b_good && !sfid__mark_entry_good(b));
    count_in(said, &e, any);
}

bool sfid__mark_read(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_said *said) {
    bool any = false;
    *said = (struct sfid__mark_said){.damaged = false};
    for (int i = 0; i < SFID__MARK_ENTRIES; i++) {
        if (sfid__mark_entry_good(&all[i]))
            count_in(said, &all[i], &any);
        else
            said->damaged = true;
    }
    read_older(all, said, &any);
    for (unsigned seat = 0; any && !said->older && seat < SFID__MARK_SEATS; seat++)
        any = !is_spoilt(all, seat);
    return any;
}

int sfid__mark_newest_of(const struct sfid__mark_entry all[SFID__MARK_ENTRIES], unsigned seat) {
    const int a = (int)(2 * seat), b = a + 1;
    const struct sfid__mark_entry *in_a = &all[a], *in_b = &all[b];
    if (is_good(in_a, older_magic)) /* the other one is damaged, or the file would have been written anew */
        return a;
    return sfid__mark_entry_good(in_a) && (!sfid__mark_entry_good(in_b) || in_a->serial > in_b->serial) ? a : b;
}

void sfid__mark_fill(struct sfid__mark_entry all[SFID__MARK_ENTRIES], struct sfid__mark_entry e) {
    for (int i = 0; i < SFID__MARK_ENTRIES; i++, e.serial++) {
        sfid__mark_entry_seal(&e);
        all[i] = e;
    }
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
