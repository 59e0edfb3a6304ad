/* SPDX-License-Identifier: MIT */
/*
 * Slot files that another takes the place of: a page carries on in a new one; what is damaged,
 * copied, of another boot or layout is put aside. What is no file of ours is refused.
 */
#include "slot_scene.h"

#include "host/numbered.h"
#include "support/user.h"

/* ---- a new page in place of a good one ----------------------------------- */

/* What the old page knew stands in the new one before that has the name. */
static void carried(void) {
    struct sfid__slot s;
    unlink(path);
    take_or_bail(&s);
    append(&s, 4);
    atomic_store(&append(&s, 5)->hi, 6000);
    const uint64_t stood = sfid__record_position(last(&s));
    const struct sfid__record *late = last(&s);
    const ino_t file = inode(path);
    is_i64(sfid__slot_replace(&s, LAYOUT, last(&s), &err), 0, "a page is replaced, and carries on");
    ok(inode(path) != file && s.records == 1 && s.page->current == 0, "it begins with one record");
    ok(sfid__record_position(last(&s)) == stood && (last(&s)->word & SFID__CLOSED) &&
           last(&s)->hi == 6000 && sfid__record_pid(last(&s)) == 1,
       "which is the last one, closed");
    ok((late->word & SFID__CLOSED) != 0, "as it is in the old page");
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.records == 1 && s.put_aside[0] == '\0' && sfid__record_position(last(&s)) == stood,
       "another one finds it good");
    append(&s, 0);
    ok(sfid__record_position(last(&s)) == stood && last(&s)->hi == 6000, "and goes on there");
    sfid__slot_drop(&s);
}

/* The page stays, with its lock, and takes records. */
static void stays(struct sfid__slot *s, const char *why) {
    const struct sfid__slot before = *s;
    const int fds = entries("/proc/self/fd"), files = entries(s->dir.path);
    is_i64(sfid__slot_replace(s, LAYOUT, last(s), &err), SFID_ESTATE,
           "%s: a page is not replaced (%s)", why, err.text);
    ok(s->page == before.page && s->map == before.map && s->records == before.records &&
           s->held.id.inode == before.held.id.inode,
       "%s: the slot has the old one still", why);
    ok(entries("/proc/self/fd") == fds && entries(s->dir.path) == files, "%s: nothing is left over",
       why);
    append(s, 1);
    ok((last(s)->word & SFID__CLOSED) == 0, "%s: and goes on in it", why);
}

static void not_replaced(void) {
    struct sfid__slot s;
    char other[4400];
    unlink(path);
    take_or_bail(&s);
    append(&s, 4);
    snprintf(other, sizeof other, "%s/orders/.pid-1.new", run.path);
    need(mkdir(other, 0700) == 0, "mkdir");
    stays(&s, "no new file");
    is_i64(status_of(spawn(try_take, NULL)), 0, "no new file: it is locked all the time");
    rmdir(other);
    snprintf(other, sizeof other, "%s/orders/aside", run.path);
    need(rename(path, other) == 0 && mkdir(path, 0700) == 0, "mkdir");
    stays(&s, "no name for it");
    need(rmdir(path) == 0 && rename(other, path) == 0, "rename");
    is_i64(status_of(spawn(try_take, NULL)), 0,
           "no name for it: the old one is locked all the time");
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.records == 3 && s.put_aside[0] == '\0', "and is good when it was left");
    sfid__slot_drop(&s);
    unlink(path);
}

/* ---- in place of what is damaged, or of no use ------------------------ */

static char aside[4300];

static void cut(off_t size) { need(truncate(path, size) >= 0, "truncate"); }

/* Changes the header of the file so that its checksum still fits. */
static void edit(void (*change)(struct sfid__page_id *id)) {
    struct sfid__page_id id;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    need(fd >= 0 && pread(fd, &id, sizeof id, 0) == (ssize_t)sizeof id, "cannot read %s", path);
    change(&id);
    sfid__page_id_seal(&id);
    need(pwrite(fd, &id, sizeof id, 0) == (ssize_t)sizeof id, "cannot write %s", path);
    close(fd);
}

static void store_word(uint64_t word) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const off_t at =
        (off_t)(offsetof(struct sfid__page, records) + offsetof(struct sfid__record, word));
    need(fd >= 0 && pwrite(fd, &word, sizeof word, at) == (ssize_t)sizeof word, "cannot write %s",
         path);
    close(fd);
}

static void another_boot(struct sfid__page_id *id) { id->boot_id[3] ^= 1; }

static void no_boot(struct sfid__page_id *id) { memset(id->boot_id, 0, sizeof id->boot_id); }

static void another_layout(struct sfid__page_id *id) { id->layout++; }

static void copy_over(void) {
    static char bytes[SFID__MAP_SIZE];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    need(fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes, "cannot read %s", path);
    close(fd);
    fd = open(aside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes &&
             rename(aside, path) >= 0,
         "cannot copy %s", path);
    close(fd);
}

/* clang-format off */
static void cut_to_0(void) { cut(0); }
static void cut_to_100(void) { cut(100); }
static void cut_to_block(void) { cut(BLOCK); }
static void cut_by_1(void) { cut(SFID__MAP_SIZE - 1); }
static void grown(void) { cut(SFID__MAP_SIZE + 1); }
static void all_hole(void) { cut(0), cut(SFID__MAP_SIZE); }
static void short_header(void) { cut(100), cut(SFID__MAP_SIZE); }
static void hole_behind(void) { cut(BLOCK), cut(SFID__MAP_SIZE); }
static void boot(void) { edit(another_boot); }
static void blank_boot(void) { edit(no_boot); }
static void header_layout(void) { edit(another_layout); }
static void word_below(void) { store_word((UINT64_C(5000) << 12) - 1); }
static void word_above(void) { store_word(((uint64_t)LIMIT + 1) << 12); }
/* clang-format on */

static const struct damage {
    const char *what;
    void (*make)(void);
    uint32_t records; /* in the file before */
} damages[] = {
    {"cut to nothing", cut_to_0, 1},
    {"cut to 100 bytes", cut_to_100, 1},
    {"cut to a block", cut_to_block, 1},
    {"cut by a byte", cut_by_1, 1},
    {"a byte too long", grown, 1},
    {"one hole", all_hole, 1},
    {"cut inside its header and grown again", short_header, 1},
    {"a hole where its last records were", hole_behind, 30},
    {"of another boot", boot, 1},
    {"of an unknown boot", blank_boot, 1},
    {"of another layout", header_layout, 1},
    {"a word below its window", word_below, 1},
    {"a word above its window", word_above, 1},
    {"a copy", copy_over, 1},
};

static void put_aside(const struct damage *d) {
    struct sfid__slot s;
    unlink(path);
    take_or_bail(&s);
    while (s.records < d->records)
        append(&s, 1);
    sfid__slot_drop(&s);
    d->make();
    /* keeps its inode number from being used again */
    const int old = open(path, O_RDONLY | O_CLOEXEC);
    const ino_t file = inode(path);
    ok(take(&s) == 0 && s.put_aside[0] && s.records == 0 && inode(path) != file,
       "%s: put aside, \"%s\"", d->what, s.put_aside);
    append(&s, 1);
    sfid__slot_drop(&s);
    ok(take(&s) == 0 && s.put_aside[0] == '\0' && s.records == 1, "%s: the new one is good",
       d->what);
    sfid__slot_drop(&s);
    close(old);
}

/* The file is as it should be, but not what the caller may believe. */
static void not_wanted(const char *what, struct sfid__slot_want want) {
    struct sfid__slot s;
    take_or_bail(&s);
    if (s.records == 0)
        append(&s, 1);
    sfid__slot_drop(&s);
    ok(take_as(&s, "pid-1", &want) == 0 && s.put_aside[0] && s.records == 0,
       "%s: put aside, \"%s\"", what, s.put_aside);
    sfid__slot_drop(&s);
}

static void not_what_is_wanted(void) {
    struct sfid__slot s;
    take_or_bail(&s);
    const uint64_t nonce = s.page->id.nonce;
    append(&s, 1);
    sfid__slot_drop(&s);
    ok(take_as(&s, "pid-1", &(struct sfid__slot_want){LAYOUT, 1, LIMIT, 0}) == 0 &&
           s.put_aside[0] == '\0' && s.page->id.nonce == nonce,
       "the very page that is asked for is taken");
    sfid__slot_drop(&s);
    not_wanted("another pid", (struct sfid__slot_want){LAYOUT, 2, LIMIT, 0});
    not_wanted("another layout", (struct sfid__slot_want){LAYOUT + 1, 1, LIMIT, 0});
    not_wanted("a window past what was granted", (struct sfid__slot_want){LAYOUT, 1, LIMIT - 1, 0});
}

/* Who was killed while making a new file has left that under its first name, or, long ago, under
 * both. */
static void left_behind(void) {
    struct sfid__slot s;
    struct stat st;
    char there[4500], other[4500];
    unlink(path);
    snprintf(there, sizeof there, "%s/orders/.pid-1.new", run.path);
    snprintf(other, sizeof other, "%s/orders/.pid-2.new", run.path);
    const int a = open(there, O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
              b = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ok(a >= 0 && b >= 0 && take(&s) == 0 && s.put_aside[0] == '\0',
       "a file left by who was killed does no harm");
    ok(stat(there, &st) < 0 && stat(other, &st) == 0,
       "it is removed, and one of another slot is not");
    append(&s, 1);
    sfid__slot_drop(&s);
    unlink(other);
    close(a);
    close(b);
    need(link(path, there) >= 0, "link");
    ok(take(&s) == 0 && s.put_aside[0] == '\0' && s.records == 1,
       "nor does a second name of the slot");
    sfid__slot_drop(&s);
    unlink(there);
}

static void refused(const char *what, const char *why) {
    struct sfid__slot s;
    const int rc = take(&s);
    ok(rc == SFID_ESTATE && strstr(err.text, path) && strstr(err.text, why) && s.page == NULL,
       "%s: %s", what, err.text);
}

static void not_a_file_of_ours(void) {
    struct sfid__slot s;
    chmod(path, 0660);
    refused("writable by the group", "0600");
    chmod(path, 0600);
    if (may_be_another_user()) {
        need(chown(path, 65534, 65534) >= 0, "chown");
        refused("somebody else's", "another user");
        need(chown(path, 0, 0) >= 0, "chown");
    } else {
        skip(1, "takes root to be another user");
    }
    unlink(path);
    need(symlink("/etc/passwd", path) >= 0, "symlink");
    refused("a symbolic link", "symbolic link");
    unlink(path);
    need(mkdir(path, 0700) >= 0, "mkdir");
    refused("a directory", "not a plain file");
    rmdir(path);
    ok(take(&s) == 0 && s.records == 0, "with the place free again a new one is made");
    append(&s, 0);
    sfid__slot_drop(&s);
    is_i64(entries(run.path), 3, "and nothing else is left");
}

/* Slots of processes whose pid comes from a server: any will do. */
static void slots_of_no_use(void) {
    enum { SLOTS = 3 };
    const struct sfid__slot_want want = {LAYOUT, SFID__ANY_PID, LIMIT, INT64_MAX};
    struct sfid__passed_over over = {.count = 4711};
    struct sfid__slot s;
    struct sfid__numbered row = {
        .run = &run, .app = "numbers", .pids = SLOTS, .number = 4711, .over = &over};
    char name[SLOTS][4400];
    for (int i = 0; i < SLOTS; i++)
        snprintf(name[i], sizeof name[i], "%s/numbers/%d", run.path, i);
    struct sfid__dir app = SFID__DIR_NONE;
    need(sfid__dir_open_sub(&app, &run, "numbers", &err) >= 0 && mkdir(name[0], 0700) >= 0 &&
             symlink("nowhere", name[1]) >= 0,
         "cannot make slots of no use");
    sfid__dir_close(&app);
    is_i64(sfid__numbered_take(&s, &row, &want, &err), 0, "a slot that is a directory, or a link");
    ok(row.number == 2 && over.count == 2 && strstr(over.first.text, name[0]), "is passed over: %s",
       over.first.text);
    sfid__slot_drop(&s);
    unlink(name[2]);
    mkfifo(name[2], 0600);
    is_i64(sfid__numbered_take(&s, &row, &want, &err), SFID_ESTATE, "with all of no use");
    ok(over.count == 3 && strstr(err.text, name[0]), "the first is named: %s", err.text);
}

static bool is_mapped(const void *at) {
    const uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char in_core;
    return mincore((void *)((uintptr_t)at / unit * unit), 1, &in_core) == 0;
}

/* Somebody writes the index of a page that is in use. A late thread may have any record that a call
 * went on with. */
static void index_lies(uint32_t index, bool gone) {
    struct sfid__slot s;
    char name[100];
    snprintf(name, sizeof name, "index %u, %s", index, gone ? "file gone" : "file there");
    unlink(path);
    take_or_bail(&s);
    while (s.records < 50)
        append(&s, 1);
    struct sfid__page *page = s.page;
    struct sfid__record *used = &page->records[s.records - 1],
                        *highest = &page->records[SFID__PAGE_RECORDS - 1];
    atomic_store(&page->current, index);
    if (gone)
        unlink(path);
    sfid__slot_leave(&s);
    ok(is_mapped(used) && sfid__record_pid(used) == 1, "%s: what was used stays mapped", name);
    ok(is_mapped(highest) == (index != 0), "%s: and what was read", name);
    if (gone)
        ok((atomic_load(&used->word) & SFID__CLOSED) && atomic_load(&used->limit) == 0,
           "%s: closed", name);
    sfid__slot_drop(&s);
    if (gone)
        return;
    atomic_store(&page->current, 49);
    take_or_bail(&s);
    ok(s.page == page && s.records == 50, "%s: the next one is good", name);
    sfid__slot_drop(&s);
    ok(is_mapped(highest) == (index != 0), "%s: nor is less kept than before", name);
}

int main(void) {
    begin();
    snprintf(aside, sizeof aside, "%s/orders.aside", run.path);
    carried();
    not_replaced();
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
        put_aside(&damages[i]);
    not_what_is_wanted();
    left_behind();
    not_a_file_of_ours();
    slots_of_no_use();
    static const uint32_t index[] = {0, SFID__PAGE_RECORDS, 40000, UINT32_MAX - 15, UINT32_MAX};
    for (unsigned n = 0; n < 2 * COUNT(index); n++)
        index_lies(index[n / 2], n % 2);
    sfid__dir_close(&run);
    return done_testing();
}
