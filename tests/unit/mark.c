/* SPDX-License-Identifier: MIT */
/* The durable mark: what is written is read back, and a write that was torn leaves the one
 * before. */
#include "host/mark.h"

#include "id/layout.h"

#include "base/hash.h"
#include "support/locks.h"
#include "support/marks.h"
#include "support/scene.h"

#include <sfid.h>

/* The format, as this test has to know it to damage it. */
#define BLOCK 4096
#define ENTRY 64

static void patch(off_t at, const void *from, size_t n) {
    const int fd = open(mark_path, O_WRONLY);
    need(fd >= 0 && pwrite(fd, from, n, at) == (ssize_t)n, "cannot write %s", mark_path);
    close(fd);
}

static void peek(off_t at, void *to, size_t n) {
    const int fd = open(mark_path, O_RDONLY);
    need(fd >= 0 && pread(fd, to, n, at) == (ssize_t)n, "cannot read %s", mark_path);
    close(fd);
}

/* ---- what is written ----------------------------------------------------- */

static void write_and_read(void) {
    struct sfid__mark m;
    struct stat st;
    const mode_t mask = umask(0);
    const int fds = entries("/proc/self/fd");
    ok(take(&m) == 0 && mark_said.word == 0 && mark_said.page_nonce == 0 && !mark_said.exact &&
           !mark_said.damaged,
       "a pid never used here begins at 0");
    umask(mask);
    is_i64(entries("/proc/self/fd"), fds + fds_of_a_lock(mark_app.path),
           "its lock takes no descriptor where the mapping keeps it");
    ok(stat(mark_path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == 8 * BLOCK,
       "its file is private, and whole at once");
    sfid__mark_drop(&m);
    ok(found() == 0 && !mark_said.damaged, "so it does when nothing was written");
    static const struct sfid__position positions[] = {
        {.word = 100, .page_nonce = 1},
        {.word = 200, .page_nonce = 1, .exact = true},
        {.word = 250, .page_nonce = UINT64_MAX},
        {.word = UINT64_MAX, .page_nonce = 2, .exact = true},
        {.word = 0, .exact = true},
        {.word = 0, .page_nonce = 3}};
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        take_or_bail(&m);
        ok(sfid__mark_write(&m, positions[i], &mark_err) == 0, "a position is written");
        sfid__mark_drop(&m);
        ok(take(&m) == 0 && mark_said.word == positions[i].word &&
               mark_said.page_nonce == positions[i].page_nonce &&
               mark_said.exact == positions[i].exact,
           "and read by the next holder");
        sfid__mark_drop(&m);
    }
    take_or_bail(&m);
    for (uint64_t i = 0; i < 5; i++)
        write_to(&m, 1000 + i);
    sfid__mark_drop(&m);
    is_i64(found(), 1004, "of many the last counts");
    sfid__mark_drop(&m);
    is_i64(entries("/proc/self/fd"), fds, "and no descriptor is left");
}

/* ---- damage ---------------------------------------------------------------- */

/* A life that begins behind all that was written before: marks go back by a clean close alone. */
static void begin_at(struct sfid__mark *m, uint64_t word) {
    take_or_bail(m);
    need(sfid__mark_write(m, (struct sfid__position){.word = word, .page_nonce = 5, .exact = true},
                          &mark_err) == 0,
         "cannot write the mark: %s", mark_err.text);
}

/* Two writers of one page, of which one knows less. */
static void never_back(void) {
    struct sfid__mark m;
    begin_at(&m, 100);
    write_to(&m, 900);
    write_to(&m, 800);
    write_to(&m, 850);
    sfid__mark_drop(&m);
    is_i64(found(), 900, "bounds that come late do not set the mark back");
    take_or_bail(&m);
    ok(sfid__mark_write(&m, (struct sfid__position){.word = 850, .page_nonce = 5, .exact = true},
                        &mark_err) == 0,
       "a clean close");
    sfid__mark_drop(&m);
    is_i64(found(), 850, "does");
}

/* Each clean close sets the mark back a little, as after borrowing. Not synced: a slow disk takes
 * long for thousands of syncs. */
static void many_lives(void) {
    enum { LIVES = 1000, LIFE_AT = 48 };
    const struct sfid__mark_want want = {1, 77, false, false, 0};
    struct sfid__mark m;
    unsigned wrong = 0;
    unlink(mark_path);
    for (uint64_t i = 0; i < LIVES; i++) {
        need(sfid__mark_take(&m, &mark_app, &want, &mark_said, &mark_err) == 0,
             "cannot take the mark: %s", mark_err.text);
        wrong += i > 0 && (mark_said.word != 5001 - i || !mark_said.exact);
        write_to(&m, 9000);
        need(sfid__mark_write(
                 &m, (struct sfid__position){.word = 5000 - i, .page_nonce = 5, .exact = true},
                 &mark_err) == 0,
             "%s", mark_err.text);
        sfid__mark_drop(&m);
    }
    is_u64(wrong, 0, "each of %d holders finds where the one before closed", LIVES);
    uint64_t life[2];
    for (int i = 0; i < 2; i++)
        peek((off_t)i * BLOCK + LIFE_AT, &life[i], sizeof life[i]);
    is_u64(SFID__MAX(life[0], life[1]) >> 1, LIVES, "and each close begins the next life");
    unlink(mark_path);
}

/* What a mark in use says. */
static int64_t found_beside(const struct sfid__mark *m) {
    struct sfid__position at;
    return sfid__mark_in_place(m, &at) ? (int64_t)at.word : -1;
}

/* Where the entry is that was written last. */
static off_t newest_at(void) {
    uint64_t serials[8];
    int newest = 0;
    for (int i = 0; i < 8; i++) {
        peek((off_t)i * BLOCK + 24, &serials[i], sizeof serials[i]);
        newest = serials[i] > serials[newest] ? i : newest;
    }
    return (off_t)newest * BLOCK;
}

/* The same; leaves `older` in the other entry of the seat. */
static off_t newest_after(uint64_t older, uint64_t newer) {
    struct sfid__mark m;
    begin_at(&m, 0);
    write_to(&m, older);
    write_to(&m, newer);
    sfid__mark_drop(&m);
    return newest_at();
}

static void flipped(off_t at, int64_t older, int64_t newer) {
    unsigned char entry[ENTRY];
    unsigned wrong = 0;
    peek(at, entry, ENTRY);
    for (int i = 0; i < ENTRY * 8; i++) {
        unsigned char bad = (unsigned char)(entry[i / 8] ^ 1 << i % 8);
        patch(at + i / 8, &bad, 1);
        wrong += found() != older || !mark_said.damaged;
        patch(at + i / 8, &entry[i / 8], 1);
    }
    is_u64(wrong, 0,
           "entry at %lld: with any bit changed the older one counts, and the damage is told",
           (long long)at);
    ok(found() == newer && !mark_said.damaged, "and with all as it was the newer");
}

/* Power went in the middle of the write: its first n bytes have arrived, the rest is as before. */
static void torn(void) {
    struct sfid__mark m;
    unsigned char block[2][2 * BLOCK], mixed[ENTRY];
    unsigned wrong = 0;
    begin_at(&m, 0);
    write_to(&m, 400);
    peek(0, block[0], sizeof block[0]);
    write_to(&m, 500);
    peek(0, block[1], sizeof block[1]);
    sfid__mark_drop(&m);
    const off_t at = memcmp(block[0], block[1], ENTRY) ? 0 : BLOCK;
    for (size_t n = 0; n <= ENTRY; n++) {
        memcpy(mixed, block[0] + at, ENTRY);
        memcpy(mixed, block[1] + at, n);
        patch(at, mixed, ENTRY);
        const bool before = memcmp(mixed, block[0] + at, ENTRY) == 0,
                   after = memcmp(mixed, block[1] + at, ENTRY) == 0;
        wrong += found() != (after ? 500 : 400) || mark_said.damaged != (!before && !after);
    }
    is_u64(wrong, 0, "a write torn anywhere leaves the one before");
    is_i64(found(), 500, "and a whole one counts");
}

static void newer_entry_lost(void) {
    off_t at = newest_after(100, 200);
    flipped(at, 100, 200);
    struct sfid__mark m;
    take_or_bail(&m);
    write_to(&m, 300);
    sfid__mark_drop(&m);
    flipped(newest_at(), 200, 300);
    at = newest_after(310, 320);
    const unsigned char zero[ENTRY] = {0};
    patch(at, zero, ENTRY);
    ok(found() == 310 && mark_said.damaged,
       "a newer entry that is blank: the older one counts, and the damage is told");
    take_or_bail(&m);
    write_to(&m, 330);
    write_to(&m, 340);
    sfid__mark_drop(&m);
    is_i64(found(), 340, "and the file is used on");
}

static void both_lost(void) {
    newest_after(100, 200);
    const unsigned char bad = 0xee;
    patch(9, &bad, 1);
    patch(BLOCK + 9, &bad, 1);
    is_i64(found(), SFID_ESTATE, "with both entries damaged the position is not known");
    ok(strstr(mark_err.text, mark_path) && strstr(mark_err.text, "damaged"),
       "the text names the file: %s", mark_err.text);
    unsigned char entry[ENTRY];
    peek(BLOCK, entry, ENTRY);
    memcpy(entry, "sfidmrk0", 8);
    const uint64_t sum = sfid__hash(SFID__HASH_SEED, entry, ENTRY - 8);
    memcpy(entry + ENTRY - 8, &sum, 8);
    patch(BLOCK, entry, ENTRY);
    is_i64(found(), SFID_ESTATE, "nor by an entry of another format");
    static const char *const rests[] = {"x", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"};
    for (size_t i = 0; i < 2; i++) {
        need(truncate(mark_path, 0) >= 0, "cannot truncate %s", mark_path);
        patch(0, rests[i], i ? 24 : 1);
        is_i64(found(), SFID_ESTATE, "nor with a file too short for an entry");
    }
}

static void says_nothing(void) {
    static const off_t sizes[] = {0, 1, ENTRY, BLOCK, 2 * BLOCK, 3 * BLOCK + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sfid__mark m;
        need(truncate(mark_path, 0) >= 0 && truncate(mark_path, sizes[i]) >= 0,
             "cannot truncate %s", mark_path);
        ok(found() == 0 && mark_said.damaged, "a file of %lld zeros says nothing of what was used",
           (long long)sizes[i]);
        ok(take(&m) == 0 && mark_said.word == 0 && mark_said.damaged,
           "nor does it to the next, when nothing was written");
        write_to(&m, 7);
        sfid__mark_drop(&m);
        ok(found() == 7 && !mark_said.damaged, "a window that was written makes it good");
    }
}

static void of_another(void) {
    struct sfid__mark m;
    newest_after(100, 200);
    is_i64(sfid__mark_take(&m, &mark_app, &(struct sfid__mark_want){1, 78, true, false, 0},
                           &mark_said, &mark_err),
           SFID_ELAYOUT, "the mark of another layout is refused");
    ok(strstr(mark_err.text, mark_path) != NULL && m.map == NULL,
       "the text names the file, and nothing is held");
    is_i64(found(), 200, "for its own it is good");
    char other[4300];
    snprintf(other, sizeof other, "%s/pid-2", mark_app.path);
    need(rename(mark_path, other) >= 0, "cannot rename %s", mark_path);
    is_i64(sfid__mark_take(&m, &mark_app, &(struct sfid__mark_want){2, 77, true, false, 0},
                           &mark_said, &mark_err),
           SFID_ESTATE, "and so is that of another pid");
    ok(mark_err.one_file && strstr(mark_err.text, "mark of pid 1:"),
       "which rules out one pid alone: %s", mark_err.text);
    need(rename(other, mark_path) >= 0, "cannot rename %s", other);
}

/* Cut off by a full disk or a restored copy: it is refused or made whole, and never a SIGBUS
 * later. */
static int take_and_write_twice(void *unused) {
    (void)unused;
    struct sfid__mark m;
    if (take(&m) < 0)
        return mark_err.code == SFID_ESTATE ? 0 : 1;
    const bool written =
        sfid__mark_write(&m, (struct sfid__position){.word = 500, .page_nonce = 5}, &mark_err) ==
            0 &&
        sfid__mark_write(&m, (struct sfid__position){.word = 600, .page_nonce = 5, .exact = true},
                         &mark_err) == 0;
    sfid__mark_drop(&m);
    return written ? 0 : 1;
}

static void cut_off(void) {
    static const off_t sizes[] = {ENTRY, 4095, BLOCK, BLOCK + 1, BLOCK + ENTRY, 2 * BLOCK - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        need(newest_after(100, 200) >= 0 && truncate(mark_path, sizes[i]) >= 0,
             "cannot truncate %s", mark_path);
        is_i64(status_of(spawn(take_and_write_twice, NULL)), 0,
               "a file cut to %lld bytes is refused, or written well", (long long)sizes[i]);
        unlink(mark_path);
    }
}

/* ---- keepers of one mark --------------------------------------------------- */

/* Bytes of all entries, as the file has them. */
static void read_all(unsigned char all[8][ENTRY]) {
    for (int i = 0; i < 8; i++)
        peek((off_t)i * BLOCK, all[i], ENTRY);
}

static void seats(void) {
    struct sfid__mark m;
    unsigned char before[8][ENTRY], after[8][ENTRY];
    unsigned others = 0, own = 0;
    begin_at(&m, 1000);
    m.held.kind = SFID__HELD_SHARED; /* beside others */
    for (unsigned i = 0; i < 4; i++) {
        static const unsigned order[] = {2, 0, 1, 3};
        m.seat = order[i];
        m.settled = 0;
        read_all(before);
        write_to(&m, 2000 + m.seat);
        write_to(&m, 2010 + m.seat);
        read_all(after);
        for (unsigned at = 0; at < 8; at++)
            *(at / 2 == m.seat ? &own : &others) += memcmp(before[at], after[at], ENTRY) != 0;
    }
    ok(others == 0 && own == 8, "each keeper writes the two entries of its own seat");
    is_i64(found_beside(&m), 2013, "and the furthest of all counts");
    read_all(before);
    m.seat = 2; /* as if its write came now, after those of another */
    for (int i = 0; i < 2; i++)
        write_to(&m, 3000);
    patch(4 * BLOCK, before[4], ENTRY);
    patch(5 * BLOCK, before[5], ENTRY);
    m.seat = 0;
    write_to(&m, 2500);
    read_all(before);
    m.seat = 1;
    write_to(&m, 2600);
    patch(0, before[0], ENTRY);
    patch(BLOCK, before[1], ENTRY);
    is_i64(found_beside(&m), 2600, "a late write of another seat covers nothing");
    ok(sfid__mark_write(&m, (struct sfid__position){.word = 2550, .page_nonce = 5, .exact = true},
                        &mark_err) == 0,
       "a clean close");
    is_i64(found_beside(&m), 2550, "a clean close begins a life, in which the mark may be lower");
    sfid__mark_drop(&m);
    ok(found() == 2550 && mark_said.exact && !mark_said.damaged, "the next holder finds that");
}

/* ---- the format before ------------------------------------------------------ */

static void old_entry(int i, uint64_t serial, uint64_t position, uint64_t exact,
                      const char *format) {
    uint64_t e[8] = {0, 77, 1, serial, position, 5, exact};
    memcpy(e, format, 8);
    e[7] = sfid__hash(SFID__HASH_SEED, e, ENTRY - 8);
    patch((off_t)i * BLOCK, e, ENTRY);
}

static void old_file(uint64_t first, uint64_t second, uint64_t exact) {
    static const char zero[BLOCK] = {0};
    need(truncate(mark_path, 0) >= 0, "cannot truncate %s", mark_path);
    patch(BLOCK, zero, BLOCK);
    old_entry(0, 7, first, 0, "sfidmrk1");
    old_entry(1, 8, second, exact, "sfidmrk1");
}

static unsigned entries_of(const char *format) {
    unsigned char all[8][ENTRY];
    unsigned n = 0;
    read_all(all);
    for (int i = 0; i < 8; i++)
        n += memcmp(all[i], format, 8) == 0;
    return n;
}

static void older_format(void) {
    struct sfid__mark m;
    old_file(900, 700, 1);
    ok(found() == 700 && mark_said.exact && mark_said.page_nonce == 5 && !mark_said.damaged,
       "a file of the format before is read");
    ok(entries_of("sfidmrk2") == 8, "and written anew: its library finds no entry, and refuses");
    ok(found() == 700 && mark_said.exact && !mark_said.damaged, "and says the same");
    take_or_bail(&m);
    write_to(&m, 800);
    sfid__mark_drop(&m);
    ok(found() == 800 && !mark_said.exact, "and is used on");
    old_file(900, 1100, 0);
    /* power failed in the middle, and an older library went on */
    old_entry(4, 9, 1000, 0, "sfidmrk2");
    is_i64(found(), 1100, "of two formats the higher position counts");
    old_file(900, 1000, 0);
    old_entry(0, 7, 900, 1, "damaged!");
    ok(found() == 1000 && mark_said.damaged, "a damaged one is known as damaged");
    ok(entries_of("sfidmrk1") == 1, "and is not written anew before its bound is");
    take_or_bail(&m);
    write_to(&m, 2000);
    sfid__mark_drop(&m);
    ok(found() == 2000 && !mark_said.damaged && entries_of("sfidmrk2") == 8, "but with it");
    unlink(mark_path);
}

int main(void) {
    marks_begin();
    write_and_read();
    never_back();
    many_lives();
    seats();
    older_format();
    newer_entry_lost();
    torn();
    both_lost();
    says_nothing();
    of_another();
    cut_off();
    sfid__dir_close(&mark_app);
    return done_testing();
}
