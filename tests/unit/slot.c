/* SPDX-License-Identifier: MIT */
/* Slot files: taken again at the stored word, locked by their mapping, full at last, and left
 * without a trace. */
#include "slot_scene.h"

#include "support/locks.h"

#include <sys/file.h>

static int take_pid(struct sfid__slot *s, const char *name, uint64_t pid) {
    return take_as(s, name, &(struct sfid__slot_want){LAYOUT, pid, LIMIT, 0});
}

/* Lines of this process's list of mappings that have a word in them. */
static int mappings(const char *word) {
    int n = 0;
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    need(f != NULL, "cannot read the mappings");
    while (getline(&line, &room, f) > 0)
        n += strstr(line, word) != NULL;
    free(line);
    fclose(f);
    return n;
}

/* ---- taking ---------------------------------------------------------------- */

static void fresh(void) {
    struct sfid__slot s;
    struct stat st;
    const int fds = entries("/proc/self/fd");
    const mode_t mask = umask(0);
    ok(take(&s) == 0 && s.records == 0 && s.put_aside[0] == '\0',
       "a slot that was never there is made");
    umask(mask);
#ifdef STATX_BTIME
    struct statx sx;
    ok(statx(AT_FDCWD, path, 0, STATX_BTIME, &sx) == 0 &&
           (!(sx.stx_mask & STATX_BTIME) || (s.page->id.born_s == sx.stx_btime.tv_sec &&
                                             s.page->id.born_ns == sx.stx_btime.tv_nsec)),
       "it knows when its file was born");
#endif
    ok(stat(path, &st) == 0 && st.st_size == SFID__MAP_SIZE && (st.st_mode & 07777) == 0600 &&
           st.st_nlink == 1,
       "its file is private, and of full length");
    is_i64(entries("/proc/self/fd"), fds + 1 + fds_of_a_lock(tap_tmpdir()),
           "one descriptor is kept, of its directory");
    const int dir = open(s.dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok(dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK,
       "which is locked against cleaners");
    struct sfid__record *r = append(&s, 5);
    ok(sfid__page_current(s.page) == r && s.page->id.inode == st.st_ino, "it takes records");
    sfid__slot_drop(&s);
    ok(flock(dir, LOCK_EX | LOCK_NB) == 0, "dropped, it is free for cleaners");
    close(dir);
    is_i64(entries("/proc/self/fd"), fds, "and no descriptor is left");
    sfid__slot_drop(&s);
    ok(s.page == NULL && s.dir.path == NULL, "dropping twice does nothing");
}

static void again(void) {
    struct sfid__slot s;
    const ino_t file = inode(path);
    take_or_bail(&s);
    struct sfid__page *page = s.page;
    ok(s.records == 1 && s.put_aside[0] == '\0' &&
           sfid__record_position(last(&s)) == (UINT64_C(5000) << 12) + 5,
       "taken again it stands where it stood");
    atomic_fetch_add(&last(&s)->word, 7);
    sfid__slot_drop(&s);
    is_u64(sfid__record_position(&page->records[0]), (UINT64_C(5000) << 12) + 12,
           "the page stays readable after that");
    take_or_bail(&s);
    ok(s.page == page && sfid__record_position(last(&s)) == (UINT64_C(5000) << 12) + 12,
       "the next time it is mapped where it was");
    append(&s, 9);
    append(&s, 0);
    atomic_store(&s.page->current, 0);
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.records == 3 && sfid__page_current(s.page) == last(&s) &&
           sfid__record_position(last(&s)) == (UINT64_C(5000) << 12) + 21,
       "of many records the last is the current one, whatever the index says");
    ok(inode(path) == file, "all in the same file");
    sfid__slot_drop(&s);
}

static int take_by_another(void *unused) {
    (void)unused;
    static struct sfid__slot s;
    if (take(&s) != 0 || s.records != 3 || s.put_aside[0])
        return 1;
    atomic_fetch_add(&last(&s)->word, 100);
    return 0; /* dies with it */
}

static void locked(void) {
    struct sfid__slot s, second;
    take_or_bail(&s);
    is_i64(take(&second), SFID_EBUSY, "a slot that is held is refused");
    ok(strstr(err.text, path) && second.page == NULL && second.dir.path == NULL,
       "the text names the file: %s", err.text);
    is_i64(status_of(spawn(try_take, NULL)), 0, "to another process as well");
    const uint64_t stood = sfid__record_position(last(&s));
    sfid__slot_drop(&s);
    is_i64(status_of(spawn(take_by_another, NULL)), 0,
           "when it is dropped another process gets it");
    take_or_bail(&s);
    is_u64(sfid__record_position(last(&s)), stood + 100,
           "and when that dies its numbers are not lost");
    sfid__slot_drop(&s);
}

/* ---- room ------------------------------------------------------------------ */

/* With every descriptor closed, and then with its file gone. */
static void grows(struct sfid__slot *s) {
    struct stat st;
    close(s->dir.fd); /* as closefrom() does in a daemon */
    while (s->records < 22)
        append(s, 1);
    ok(s->page->current == 21,
       "records that need another block are appended with every descriptor closed");
    while ((sfid__page_bytes(s->records) + 4095) / 4096 ==
           (sfid__page_bytes(s->records + 1) + 4095) / 4096)
        append(s, 1);
    const off_t grown = ((off_t)sfid__page_bytes(s->records) + 4095) / 4096 * 4096;
    const int rc = sfid__mapping_populate(s->map, 0, 4096) ? 0 : SFID_ESTATE; /* Linux 5.14 */
    const int gone = open(path, O_RDWR | O_CLOEXEC);
    need(gone >= 0 && unlink(path) >= 0 && ftruncate(gone, grown) >= 0, "unlink");
    is_i64(sfid__slot_reserve(s, s->records, &err), SFID_ESTATE,
           "a file that is gone cannot grow beyond its end");
    need(ftruncate(gone, SFID__MAP_SIZE) >= 0, "ftruncate");
    is_i64(sfid__slot_reserve(s, s->records, &err), rc, "but up to there");
    ok(rc < 0 || lseek(gone, grown, SEEK_DATA) == grown, "where it has memory then");
    const int other = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    is_i64(sfid__slot_reserve(s, s->records, &err), rc, "also if another is in its place");
    ok(fstat(other, &st) == 0 && st.st_size == 0, "which is left alone");
    close(gone);
    close(other);
    unlink(path);
    sfid__slot_drop(s);
    is_i64(entries(run.path), 3, "nothing else is left in the run directory");
}

static void full_page(void) {
    struct sfid__slot s;
    unsigned thin = 0;
    take_or_bail(&s);
    while (s.records < SFID__PAGE_RECORDS) {
        append(&s, 1);
        const size_t used = sfid__page_bytes(s.records);
        if (used % BLOCK < sizeof(struct sfid__record)) { /* a block has just begun or ended */
            const int fd = open(path, O_RDONLY | O_CLOEXEC);
            thin += lseek(fd, 0, SEEK_HOLE) < (off_t)used;
            close(fd);
        }
    }
    is_u64(thin, 0, "every record has memory behind it, over all block borders");
    const uint64_t position = sfid__record_position(last(&s));
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.records == SFID__PAGE_RECORDS && sfid__record_position(last(&s)) == position,
       "a full page of %u records is taken again", s.records);

    const int maps = mappings("/pid-1");
    const ino_t file = inode(path);
    struct sfid__record *late = last(&s);
    is_i64(sfid__slot_replace(&s, LAYOUT, NULL, &err), 0, "a new one takes its place");
    ok(s.records == 0 && inode(path) != file && s.page->id.inode == inode(path), "in another file");
    ok(maps > 0 && mappings("/pid-1") == maps, "the old one is not mapped any more");
    ok((atomic_fetch_add(&late->word, 1) & SFID__CLOSED) &&
           sfid__record_position(late) == position + 1 && atomic_load(&late->limit) == 0 &&
           sfid__record_pid(late) == 1,
       "a thread that is late finds a closed copy in its place");
    is_i64(status_of(spawn(try_take, NULL)), 0, "it is locked from the begin");
    append(&s, 3);
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.records == 1 && s.put_aside[0] == '\0', "and good to be taken again");
    grows(&s);
}

/* ---- leaving with others about --------------------------------------------- */

struct child {
    struct sfid__page *page;
    int gate[2], done[2];
};

/* Inherits the page, draws 10 when it is told to, says so, and ends when it is told to. */
static int draw_when_told(void *arg) {
    struct child *c = arg;
    char byte;
    if (read(c->gate[0], &byte, 1) != 1)
        return 1;
    struct sfid__record *r = sfid__page_current(c->page);
    const uint64_t drawn = atomic_fetch_add(&r->word, 10);
    if (drawn & SFID__CLOSED || atomic_load(&r->limit) != LIMIT || write(c->done[1], "x", 1) != 1 ||
        read(c->gate[0], &byte, 1) != 1)
        return 2;
    return 0;
}

static pid_t begin_child(struct child *c, struct sfid__page *page) {
    c->page = page;
    need(pipe(c->gate) >= 0 && pipe(c->done) >= 0, "pipe");
    return spawn(draw_when_told, c);
}

static void let_draw(struct child *c) {
    char byte;
    need(write(c->gate[1], "x", 1) == 1 && read(c->done[0], &byte, 1) == 1, "the child is dead");
}

static int end_child(struct child *c, pid_t child) {
    need(write(c->gate[1], "x", 1) == 1, "the child is dead");
    const int status = status_of(child);
    for (int i = 0; i < 2; i++) {
        close(c->gate[i]);
        close(c->done[i]);
    }
    return status;
}

static void child_goes_on(void) {
    struct sfid__slot s, second;
    struct child c;
    take_or_bail(&s);
    struct sfid__page *page = s.page;
    struct sfid__record *r = append(&s, 5);
    const uint64_t stood = sfid__record_position(r);
    const pid_t child = begin_child(&c, page);
    sfid__slot_leave(&s);
    ok(s.page == NULL && take(&second) == SFID_EBUSY,
       "a child that inherited it keeps the slot when the parent leaves");
    let_draw(&c);
    is_u64(atomic_load(&r->word), stood + 10, "they still share the page");
    is_i64(end_child(&c, child), 0, "the child ends");
    sfid__slot_drop(&s);
    take_or_bail(&s);
    ok(s.page == page && sfid__record_position(last(&s)) == stood + 10,
       "then the parent may take it again, where it was and stood");
    sfid__slot_drop(&s);
}

static int take_numbered(struct sfid__slot *s) { return take_pid(s, "7", SFID__ANY_PID); }

/* Two rivals ask for the slot all the while: none of them passes for a child. */
static int try_until_told(void *gate) {
    struct sfid__slot s;
    char byte;
    close(((int *)gate)[1]);
    fcntl(((int *)gate)[0], F_SETFL, O_NONBLOCK);
    while (read(((int *)gate)[0], &byte, 1) < 0)
        if (take_numbered(&s) == 0)
            sfid__slot_drop(&s);
    return 0;
}

static void last_holder(void) {
    enum { ROUNDS = 1000 };
    struct sfid__slot s;
    struct child c;
    int gate[2], taken = 0, last_one = 0;
    need(take_numbered(&s) == 0, "%s", err.text);
    append(&s, 3);
    struct sfid__page *page = s.page;
    ok(sfid__slot_is_last(&s) && s.page == page, "who is alone is the last holder");
    struct sfid__slot second;
    is_i64(take_numbered(&second), SFID_EBUSY, "and goes on holding it");
    const pid_t child = begin_child(&c, page);
    ok(!sfid__slot_is_last(&s), "while a child shares it nobody is");
    sfid__slot_drop(&s);
    is_i64(take_numbered(&second), SFID_EBUSY, "the child holds it");
    let_draw(&c);
    is_i64(end_child(&c, child), 0, "until it ends");
    need(pipe(gate) >= 0, "pipe");
    const pid_t rivals[2] = {spawn(try_until_told, gate), spawn(try_until_told, gate)};
    for (struct patience p = {0}; taken < ROUNDS && patient(&p, TAP_WAIT_MS);) {
        if (take_numbered(&s) < 0)
            continue;
        taken++;
        last_one += sfid__slot_is_last(&s);
        sfid__slot_drop(&s);
    }
    close(gate[1]);
    close(gate[0]);
    ok(status_of(rivals[0]) == 0 && status_of(rivals[1]) == 0,
       "two others ask for it all the while");
    is_i64(taken, ROUNDS, "and so does this one");
    is_i64(last_one, taken, "whoever holds it alone knows that");
}

static void file_is_gone(void) {
    struct sfid__slot s, new_one;
    struct child c;
    take_or_bail(&s);
    append(&s, 1);
    struct sfid__page *page = s.page;
    struct sfid__record *r = last(&s);
    const uint64_t stood = sfid__record_position(r);
    const pid_t child = begin_child(&c, page);
    need(unlink(path) >= 0, "unlink");
    ok(take(&new_one) == 0 && new_one.page != page && new_one.records == 0,
       "a slot whose file is gone can be made anew");
    append(&new_one, 1);
    sfid__slot_drop(&new_one);
    sfid__slot_leave(&s); /* with the new one in its place */
    ok(sfid__record_position(r) == stood && sfid__record_pid(r) == 1,
       "left, the page without a file stays readable");
    ok((atomic_load(&r->word) & SFID__CLOSED) && atomic_load(&r->limit) == 0,
       "closed, and without a limit");
    let_draw(&c);
    is_u64(sfid__record_position(r), stood, "what the child draws is no longer seen here");
    atomic_fetch_add(&r->word, 3);
    is_i64(end_child(&c, child), 0, "nor what happens here by the child");
    sfid__slot_drop(&s);
    ok(take(&s) == 0 && s.page != page && s.records == 1, "the new one stays in another place");
    sfid__slot_drop(&s);
}

/* A daemon closed all descriptors and has opened its own under our number. */
static void descriptor_taken(void) {
    struct sfid__slot s;
    take_or_bail(&s);
    const int ours = s.dir.fd;
    close(ours);
    const int theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
    need(theirs == ours || dup2(theirs, ours) == ours, "dup2");
    sfid__slot_drop(&s);
    ok(fcntl(ours, F_GETFD) >= 0, "a descriptor that is somebody else's by now is not closed");
    close(ours);
    if (theirs != ours)
        close(theirs);
    take_or_bail(&s);
    close(s.dir.fd);
    sfid__slot_drop(&s);
    ok(take(&s) == 0 && s.records == 1, "and one that is closed does no harm");
    sfid__slot_drop(&s);
}

/* Late threads still look at the page of the first. */
static void pages_keep_their_places(void) {
    struct sfid__slot one, two;
    take_or_bail(&one);
    struct sfid__page *page = one.page;
    const uint64_t nonce = page->id.nonce;
    sfid__slot_drop(&one);
    need(take_pid(&two, "pid-2", 1) >= 0, "%s", err.text);
    ok(two.page != page && page->id.nonce == nonce,
       "another slot gets another place, when the first one is left as well");
    struct sfid__page *second = two.page;
    sfid__slot_drop(&two);
    take_or_bail(&one);
    /* But where the second lies in the room that the first gave up: valgrind places a mapping in
     * the first hole. */
    const bool in_the_way = (uintptr_t)second - (uintptr_t)page < SFID__MAP_SIZE;
    ok(take_pid(&two, "pid-2", 1) == 0 && (in_the_way || (one.page == page && two.page == second)),
       "and each its own ever after");
    sfid__slot_drop(&two);
    sfid__slot_drop(&one);
}

/* How many bytes are mapped from an address on, without a gap. */
static size_t mapped_from(const void *at) {
    uintptr_t end = (uintptr_t)at;
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    need(f != NULL, "cannot read the mappings");
    for (unsigned long from, to; getline(&line, &room, f) > 0;)
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= end && end < to)
            end = to;
    free(line);
    fclose(f);
    return end - (uintptr_t)at;
}

/* What a thread may draw from stays, and no more. */
static void narrow(void) {
    struct sfid__slot s, again;
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    const char *name = "pid-9";
    need(take_pid(&s, name, 1) >= 0, "%s", err.text);
    struct sfid__page *page = s.page;
    struct sfid__record *first = append(&s, 5);
    while (sfid__page_bytes(s.records) <= 3 * unit)
        append(&s, 5);
    void *fence = NULL; /* what lies behind may be adjacent, and anything */
    sfid__slot_drop(&s);
    const size_t kept = (sfid__page_bytes(page->current + 1) + unit - 1) / unit * unit;
    fence = mmap((char *)page + kept, unit, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ok(fence == (char *)page + kept, "left, nothing is mapped behind the last record");
    ok(mapped_from(page) >= kept && sfid__record_pid(&page->records[page->current]) == 1,
       "up to that it is");
    munmap(fence, unit);

    struct sfid__record *open = &page->records[page->current];
    ok(!(atomic_load(&open->word) & SFID__CLOSED), "what was not closed is not");
    need(take_pid(&s, name, 1) >= 0, "%s", err.text);
    ok(s.page == page && (atomic_load(&open->word) & SFID__CLOSED) &&
           s.records == page->current + 1,
       "taken again, it is: no handle draws from a record of one before it");
    append(&s, 2);
    sfid__slot_drop(&s);

    fence = mmap((char *)page + kept, unit, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    need(take_pid(&again, name, 1) >= 0, "%s", err.text);
    ok(fence == (char *)page + kept && again.page != page && again.page->id.nonce == page->id.nonce,
       "where other memory has the room behind it by now, the page is mapped elsewhere");
    ok(mapped_from(fence) >= unit && (atomic_load(&first->word) & SFID__CLOSED) &&
           sfid__record_pid(first) == 1,
       "that memory is left alone, and the old place readable and closed");
    append(&again, 1);
    ok(again.page->current == page->current, "it is the same page");
    struct sfid__page *second = again.page;
    sfid__slot_drop(&again);
    need(take_pid(&s, name, 1) >= 0, "%s", err.text);
    ok(s.page == second, "and its new place is its place from then on");
    sfid__slot_drop(&s);
    munmap(fence, unit);
}

static void cycles(void) {
    struct sfid__slot s;
    unsigned moved = 0;
    take_or_bail(&s);
    struct sfid__page *page = s.page;
    sfid__slot_drop(&s);
    const int maps = mappings(""), pages = mappings("/pid-1"), fds = entries("/proc/self/fd");
    for (int i = 0; i < 2000; i++) {
        take_or_bail(&s);
        moved += s.page != page;
        sfid__slot_drop(&s);
    }
    is_u64(moved, 0, "2000 times taken and left: always at the same address");
    is_i64(mappings("/pid-1"), pages, "its page is mapped once");
    ok(mappings("") < maps + 100, "and nothing else piles up: %d mappings, %d before", mappings(""),
       maps);
    is_i64(entries("/proc/self/fd"), fds, "and as many descriptors");
}

int main(void) {
    begin();
    fresh();
    again();
    locked();
    full_page();
    child_goes_on();
    last_holder();
    file_is_gone();
    descriptor_taken();
    pages_keep_their_places();
    narrow();
    cycles();
    sfid__dir_close(&run);
    return done_testing();
}
