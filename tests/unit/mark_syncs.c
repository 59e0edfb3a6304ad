/* SPDX-License-Identifier: MIT */
/*
 * What the syncs of a mark are good for, and that there are no more of them than it takes.
 *
 * The program has an fsync() and an fdatasync() of its own, which the library calls instead of the
 * system's. They note what is durable: the blocks of the file, and its name. They may fail, as the
 * last thing that a process sees before it is killed. After each step the power may go: each block
 * is as it was durable, or as it is now, whichever says less, or torn, and a name that is not
 * durable is gone. What is left has to bound all that was allowed.
 */
#include "host/mark.h"

#include "host/mark_entries.h"
#include "support/marks.h"

#include <errno.h>
#include <sfid.h>
#include <string.h>
#include <sys/stat.h>

typedef struct sfid__mark_entry entry;

static struct {
    entry blocks[SFID__MARK_ENTRIES]; /* durable */
    bool named;                       /* so is the name */
    unsigned files, dirs;             /* syncs */
    unsigned files_fail, dirs_fail;   /* how many of the next ones fail */
} disk;

static void read_blocks(entry all[SFID__MARK_ENTRIES]) {
    static char content[SFID__MARK_SIZE];
    const int fd = open(mark_path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, content, sizeof content);
    sfid__mark_gather(content, n < 0 ? 0 : (size_t)n, all);
    if (fd >= 0)
        close(fd);
}

static int note(int fd) {
    struct stat st;
    need(fstat(fd, &st) == 0, "a sync of no file");
    const bool dir = S_ISDIR(st.st_mode);
    *(dir ? &disk.dirs : &disk.files) += 1;
    unsigned *fail = dir ? &disk.dirs_fail : &disk.files_fail;
    if (*fail > 0) {
        --*fail;
        errno = EIO;
        return -1;
    }
    if (dir)
        disk.named = access(mark_path, F_OK) == 0;
    else
        read_blocks(disk.blocks);
    return 0;
}

int fsync(int fd) { return note(fd); }
int fdatasync(int fd) { return note(fd); }

static void begin(void) {
    unlink(mark_path);
    memset(&disk, 0, sizeof disk);
}

/* ---- what a power loss leaves --------------------------------------------- */

static bool says_less(const entry *a, const entry *b) {
    const bool a_good = sfid__mark_entry_good(a), b_good = sfid__mark_entry_good(b);
    if (!a_good || !b_good)
        return !a_good;
    return a->life >> 1 != b->life >> 1 ? a->life >> 1 < b->life >> 1 : a->position < b->position;
}

/* Whether what is left bounds an entry that was allowed to be used. torn: nothing of the blocks
 * that are under way. */
static bool what_is_left_bounds(const entry *allowed, bool torn) {
    entry now[SFID__MARK_ENTRIES], left[SFID__MARK_ENTRIES];
    struct sfid__mark_said said;
    if (allowed->position == 0)
        return true;
    if (!disk.named)
        return false;
    read_blocks(now);
    for (int i = 0; i < SFID__MARK_ENTRIES; i++) {
        left[i] = says_less(&disk.blocks[i], &now[i]) ? disk.blocks[i] : now[i];
        left[i].position ^= torn && memcmp(&disk.blocks[i], &now[i], sizeof now[i]) != 0;
    }
    return sfid__mark_read(left, &said) && !says_less(&said.top, allowed);
}

static bool bounds(const entry *allowed) {
    return what_is_left_bounds(allowed, false) && what_is_left_bounds(allowed, true);
}

/* A process opens the mark, and writes one position after the other until a sync fails, which kills
 * it, or it closes. */
static unsigned live(entry *allowed, uint64_t *position, unsigned writes, bool closes) {
    struct sfid__mark m;
    unsigned wrong = 0;
    if (take(&m) < 0)
        return disk.dirs_fail == 0 ? 0 : 1;
    for (unsigned i = 0; i < writes; i++) {
        const bool exact = closes && i + 1 == writes;
        *position += exact ? 3 : 100;
        const struct sfid__position at = {
            .word = exact ? *position - 90 : *position, .page_nonce = 5, .exact = exact};
        const bool written = sfid__mark_write(&m, at, &mark_err) == 0;
        wrong += !bounds(allowed);
        if (!written)
            break;
        allowed->life += exact ? 2 : 0;
        allowed->position = at.word;
        sfid__mark_entry_seal(allowed);
        wrong += !bounds(allowed);
        *position = at.word;
    }
    sfid__mark_drop(&m);
    return wrong;
}

/* All that a number says: how many syncs pass before some fail, how many positions are written,
 * whether the process closes. */
static void lives(void) {
    enum { STEPS = 6000 };
    unsigned wrong = 0;
    uint32_t random = 1;
    entry allowed = {.life = 0};
    uint64_t position = 0;
    begin();
    for (unsigned step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223; /* Numerical Recipes, ch. 7.1 */
        const uint32_t how = random >> 8;
        if (how % 97 == 0) {
            begin();
            allowed = (entry){.life = 0};
            position = 0;
        }
        disk.files_fail = how / 97 % 3 == 0 ? how / 291 % 4 : 0;
        disk.dirs_fail = how / 1164 % 5 == 0;
        wrong += live(&allowed, &position, 1 + how / 5820 % 4, how / 23280 % 2);
    }
    is_u64(wrong, 0,
           "of %d processes, many of them killed in a sync, none leaves less than what was allowed",
           STEPS);
}

/* ---- how many they are ------------------------------------------------------ */

static void counts(unsigned files, unsigned dirs, const char *what) {
    ok(disk.files == files && disk.dirs == dirs,
       "%s: %u and %u syncs of the file and the directory, %u and %u are", what, files, dirs,
       disk.files, disk.dirs);
    disk.files = disk.dirs = 0;
}

static void take_counted(struct sfid__mark *m, uint64_t to) {
    take_or_bail(m);
    write_to(m, to);
}

static void close_counted(struct sfid__mark *m, uint64_t at) {
    need(sfid__mark_write(m, (struct sfid__position){.word = at, .page_nonce = 5, .exact = true},
                          &mark_err) == 0,
         "%s", mark_err.text);
    sfid__mark_drop(m);
}

static void counted(void) {
    struct sfid__mark m;
    begin();
    take_counted(&m, 100);
    counts(1, 1, "a pid that is new here");
    write_to(&m, 200);
    counts(1, 0, "the next window");
    close_counted(&m, 150);
    counts(1, 0, "a close");
    for (uint64_t i = 1; i <= 3; i++) {
        take_counted(&m, i * 1000);
        counts(1, 0, "another process");
        close_counted(&m, i * 1000 - 10);
        counts(1, 0, "its close");
    }
    for (uint64_t i = 4; i <= 7; i++) {
        take_counted(&m, i * 1000);
        sfid__mark_drop(&m);
        counts(i < 7 ? 1 : 2, 0,
               "one after a kill: at the fourth all seats have an entry that may be needed");
    }
    begin();
    take_counted(&m, 100);
    sfid__mark_drop(&m);
    counts(1, 1, "a pid that is new here again");
    take_counted(&m, 200);
    counts(
        1, 1,
        "one after a kill in the first window, of which nobody knows whether the name is durable");
    write_to(&m, 300);
    sfid__mark_drop(&m);
    counts(1, 0, "its next window");
    take_counted(&m, 400);
    counts(1, 0, "then that is known");
    sfid__mark_drop(&m);
}

/* Some in a row are killed before their sync is over: then the entry that counts is synced
 * first. */
static void killed_in_a_row(void) {
    struct sfid__mark m;
    begin();
    take_counted(&m, 100);
    write_to(&m, 200);
    sfid__mark_drop(&m);
    disk.files = disk.dirs = 0;
    for (uint64_t i = 3; i < 7; i++) {
        disk.files_fail = 1;
        take_or_bail(&m);
        sfid__mark_write(&m, (struct sfid__position){.word = i * 100, .page_nonce = 5}, &mark_err);
        sfid__mark_drop(&m);
    }
    counts(4, 0, "four that are killed");
    take_counted(&m, 1000);
    counts(2, 0, "then no entry is needless");
    sfid__mark_drop(&m);
    take_counted(&m, 1100);
    counts(1, 0, "and then there are some again");
    sfid__mark_drop(&m);
}

/* A library that knows no notes leaves 64 bytes of another entry before one. */
static void of_an_older_library(void) {
    struct sfid__mark m;
    begin();
    take_counted(&m, 100);
    write_to(&m, 200);
    sfid__mark_drop(&m);
    for (int i = 0; i < SFID__MARK_ENTRIES; i++) {
        static const char none[16];
        const int fd = open(mark_path, O_WRONLY | O_CLOEXEC);
        need(fd >= 0 &&
                 pwrite(fd, none, sizeof none, (off_t)i * SFID__MARK_BLOCK + 64) == sizeof none,
             "cannot write %s", mark_path);
        close(fd);
    }
    disk.files = disk.dirs = 0;
    take_counted(&m, 300);
    counts(2, 0, "entries without a note");
    sfid__mark_drop(&m);
    take_counted(&m, 400);
    counts(1, 0, "the next process has one");
    sfid__mark_drop(&m);
}

static void not_synced(void) {
    struct sfid__mark m;
    begin();
    for (uint64_t i = 1; i <= 3; i++) {
        need(sfid__mark_take(&m, &mark_app, &(struct sfid__mark_want){1, 77, false, false, 0},
                             &mark_said, &mark_err) == 0,
             "%s", mark_err.text);
        write_to(&m, i * 100);
        write_to(&m, i * 100 + 50);
        sfid__mark_drop(&m);
    }
    counts(0, 0, "mark=none");
    take_counted(&m, 1000);
    counts(2, 1, "the first that syncs takes nothing for durable, nor the name");
    sfid__mark_drop(&m);
    take_counted(&m, 2000);
    counts(1, 0, "the second does");
    sfid__mark_drop(&m);
}

/* A child has a copy of its parent's mark, and wrote since. What its parent saw synced is not the
 * newest any more. */
static void relatives(void) {
    struct sfid__mark parent, child;
    entry allowed = {.position = 400};
    begin();
    take_counted(&parent, 100);
    child = parent;
    child.settled = 0;
    for (uint64_t to = 200; to <= 400; to += 100)
        write_to(&child, to);
    disk.files_fail = 2;
    sfid__mark_write(&child, (struct sfid__position){.word = 500, .page_nonce = 5}, &mark_err);
    sfid__mark_write(&parent, (struct sfid__position){.word = 600, .page_nonce = 5}, &mark_err);
    sfid__mark_entry_seal(&allowed);
    ok(disk.files_fail == 0 && bounds(&allowed), "what a relative wrote since is not overwritten");
    sfid__mark_drop(&parent);
}

/* The name of the app's layout, which somebody had removed, is durable before an ID. */
static void beside_a_layout(void) {
    struct sfid__mark m;
    begin();
    take_counted(&m, 100);
    write_to(&m, 200);
    sfid__mark_drop(&m);
    disk.files = disk.dirs = 0;
    mark_app.unsynced = true;
    take_counted(&m, 300);
    mark_app.unsynced = false;
    counts(1, 1, "beside a name that was just made");
    sfid__mark_drop(&m);
}

int main(void) {
    marks_begin();
    counted();
    killed_in_a_row();
    of_an_older_library();
    not_synced();
    relatives();
    beside_a_layout();
    lives();
    sfid__dir_close(&mark_app);
    return done_testing();
}
