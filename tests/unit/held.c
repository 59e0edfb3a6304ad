/* SPDX-License-Identifier: MIT */
/*
 * The lock of a mapped file, as its type has it: by the mapping or by a descriptor, of one process,
 * of the first of several, and of several; and a descriptor whose number the program has taken.
 */
#include "host/held.h"

#include "support/locks.h"
#include "support/scene.h"

#include <signal.h>
#include <sys/file.h>

#define SIZE 4096

static struct sfid__dir dir;
static struct sfid__error err;
static int fds;

/* Whether a process without the lock could have it: LOCK_EX or LOCK_SH. */
static bool is_free(int how) {
    const int fd = openat(dir.fd, "file", O_RDWR | O_CLOEXEC);
    const bool got = fd >= 0 && flock(fd, how | LOCK_NB) == 0;
    close(fd);
    return got;
}

static int fds_more(void) { return entries("/proc/self/fd") - fds; }

static void *map_by(int fd, void *at) {
    void *map = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    need(map != MAP_FAILED, "mmap: %s", strerror(errno));
    return map;
}

/* A file that is locked and mapped, and begun with. */
static void *begin(struct sfid__held *h, enum sfid__held_kind kind, int *reader) {
    struct stat st;
    fds = entries("/proc/self/fd");
    close(sfid__file_open(&dir, "file", O_RDWR | O_CREAT, &st, &err));
    const int fd = sfid__file_lock(&dir, "file", LOCK_EX, &st, &err);
    need(fd >= 0 && ftruncate(fd, SIZE) == 0, "no lock: %s", err.text);
    void *map = map_by(fd, NULL);
    *h = (struct sfid__held){.id = sfid__file_id(&st), .kind = kind};
    is_i64(sfid__held_begin(h, &dir, "file", fd, reader, &err), 0, "begins");
    return map;
}

static void *join(struct sfid__held *h, bool by_fd) {
    struct stat st;
    const int fd = sfid__file_lock(&dir, "file", LOCK_SH, &st, &err);
    need(fd >= 0, "no shared lock: %s", err.text);
    void *map = map_by(fd, NULL);
    *h = (struct sfid__held){.id = sfid__file_id(&st)};
    sfid__held_join(h, fd, by_fd);
    return map;
}

/* Gives up the mapping's share, and asks. */
static bool is_last(struct sfid__held *h, void *map, bool unlocks) {
    const int fd = sfid__held_open(h, dir.fd, "file");
    need(fd >= 0, "cannot be opened again: %s", strerror(errno));
    map_by(fd, map);
    return sfid__held_is_last(h, fd, unlocks, 0);
}

static int stay(void *unused) {
    (void)unused;
    pause();
    return 0;
}

static void end(pid_t child) {
    kill(child, SIGKILL);
    status_of(child);
}

static void own(void) {
    struct sfid__held h;
    int reader = -1;
    void *map = begin(&h, SFID__HELD_OWN, &reader);
    ok(reader >= 0 && sfid__held_alone(&h), "there is a descriptor to read by");
    if (reader != h.fd)
        close(reader);
    is_i64(fds_more(), fds_of_a_lock(dir.path),
           "else none is left where the mapping keeps the lock");
    ok(!is_free(LOCK_SH), "and the lock is kept");
    const pid_t child = spawn(stay, NULL);
    ok(!is_last(&h, map, false), "with a child nobody is the last");
    end(child);
    is_i64(fds_more(), 0, "and has no descriptor of it");
    ok(is_last(&h, map, false) && !is_free(LOCK_SH),
       "without one this process is, and has the lock");
    is_i64(fds_more(), h.by_fd, "and no descriptor more");
    const pid_t late = spawn(stay, NULL);
    munmap(map, SIZE);
    sfid__held_drop(&h);
    ok(!is_free(LOCK_SH), "a child that came then keeps the lock");
    end(late);
    ok(is_free(LOCK_EX) && fds_more() == 0, "until it ends");
    sfid__held_drop(&h);
    ok(fds_more() == 0, "dropping twice does nothing");
}

static void first(void) {
    struct sfid__held h, other;
    void *map = begin(&h, SFID__HELD_FIRST, NULL);
    ok(h.fd > 0 && sfid__held_alone(&h) && !is_free(LOCK_SH),
       "the first one is alone, with a descriptor");
    is_i64(h.by_fd, fds_of_a_lock(dir.path), "and knows whether the mapping keeps the lock");
    const pid_t child = spawn(stay, NULL);
    munmap(map, SIZE);
    sfid__held_drop(&h);
    ok(is_free(LOCK_EX) && fds_more() == 0, "who was first unlocks, for its children, too");
    end(child);

    map = begin(&h, SFID__HELD_SHARED, NULL);
    ok(sfid__held_alone(&h), "who begins anew is the first again");
    ok(sfid__held_share(&h) && !sfid__held_alone(&h) && fds_more() == h.by_fd,
       "it lets others in, and needs no descriptor more");
    ok(is_free(LOCK_SH) && !is_free(LOCK_EX), "they can share the lock");
    ok(!sfid__held_share(&h) && errno == ESTALE && is_free(LOCK_SH), "which is done once");
    void *beside = join(&other, h.by_fd);
    ok(!sfid__held_alone(&other) && fds_more() == 2 * h.by_fd,
       "one that joins is not alone, and needs none either");
    ok(!is_last(&h, map, true) && !sfid__held_alone(&h) && h.fd == 0,
       "beside another one it is not the last");
    ok(is_last(&other, beside, true) && sfid__held_alone(&other) && other.fd > 0,
       "the other one then is, and alone again");
    ok(is_last(&other, beside, true) && !is_free(LOCK_SH), "also if it asks twice");
    const pid_t kin = spawn(stay, NULL);
    ok(!is_last(&other, beside, true) && !sfid__held_alone(&other), "with a child it is not");
    end(kin);
    ok(is_last(&other, beside, true), "without one it is again");
    const pid_t late = spawn(stay, NULL);
    munmap(map, SIZE);
    munmap(beside, SIZE);
    sfid__held_drop(&h);
    sfid__held_drop(&other);
    ok(is_free(LOCK_EX) && fds_more() == 0, "and takes the lock from a child that came meanwhile");
    end(late);
}

/* As on a stacked file system. */
static void by_descriptor(void) {
    struct sfid__held h;
    void *map = begin(&h, SFID__HELD_FIRST, NULL);
    h.by_fd = true;
    munmap(map, SIZE);
    ok(sfid__held_share(&h) && fds_more() == 1 && is_free(LOCK_SH) && !is_free(LOCK_EX),
       "a lock that a descriptor keeps is shared");
    ok(!sfid__held_share(&h) && fds_more() == 1, "which is done once");
    const int fd = sfid__held_open(&h, dir.fd, "file");
    ok(sfid__held_is_last(&h, fd, false, 0) && fds_more() == 1 && !is_free(LOCK_SH),
       "who is the last keeps it by another one");
    sfid__held_drop(&h);
    ok(is_free(LOCK_EX) && fds_more() == 0, "and closes that");
    struct sfid__held joined;
    munmap(join(&joined, true), SIZE);
    ok(fds_more() == 1 && !is_free(LOCK_EX) && is_free(LOCK_SH), "so does one that joins");
    const pid_t child = spawn(stay, NULL);
    sfid__held_drop(&joined);
    ok(fds_more() == 0 && !is_free(LOCK_EX), "it unlocks nothing: a child has its part");
    end(child);
    ok(is_free(LOCK_EX), "until it ends");
}

static void taken_number(void) {
    struct sfid__held h;
    struct stat st;
    const int theirs = openat(dir.fd, "theirs", O_RDWR | O_CREAT | O_CLOEXEC, 0600),
              rival = openat(dir.fd, "theirs", O_RDWR | O_CLOEXEC);
    need(flock(theirs, LOCK_EX | LOCK_NB) == 0, "flock: %s", strerror(errno));
    void *map = begin(&h, SFID__HELD_FIRST, NULL);
    const int number = h.fd;
    need(dup2(theirs, number) == number, "dup2: %s", strerror(errno));
    ok(!sfid__held_share(&h) && errno == ESTALE && fstat(number, &st) == 0,
       "a number that is another file's is no lock");
    h.fd = number;
    h.kind = SFID__HELD_FIRST;
    sfid__held_drop(&h);
    ok(fstat(number, &st) == 0 && h.fd == 0 && flock(rival, LOCK_EX | LOCK_NB) < 0,
       "and stays open, and locked");
    ok(h.by_fd || !is_free(LOCK_SH), "the mapping has kept the lock, and lets nobody in");
    munmap(map, SIZE);
    close(number);
    close(theirs);
    close(rival);
}

static void replaced(void) {
    struct sfid__held h;
    int reader = -1;
    void *map = begin(&h, SFID__HELD_OWN, NULL);
    is_i64(fds_more(), h.by_fd, "nobody reads, no descriptor");
    const int kept = h.by_fd ? h.fd : -1;
    h.by_fd = true;
    need(renameat(dir.fd, "file", dir.fd, "gone") == 0, "rename: %s", strerror(errno));
    ok(sfid__held_open(&h, dir.fd, "file") < 0 && errno == ENOENT,
       "a file that is gone cannot be opened");
    const int other = openat(dir.fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600),
              fd = openat(dir.fd, "gone", O_RDWR | O_CLOEXEC);
    ok(sfid__held_open(&h, dir.fd, "file") < 0 && errno == ESTALE, "nor one that was replaced");
    ok(sfid__held_begin(&h, &dir, "file", fd, &reader, &err) == 0 && reader == -1 && !h.by_fd,
       "nor read: who begins with it learns that later");
    close(other);
    if (kept >= 0)
        close(kept);
    is_i64(fds_more(), 0, "no descriptor is left");
    munmap(map, SIZE);
    sfid__held_drop(&h);
}

/* As if the mapping were of the file below: the lock goes with the descriptor. */
static void not_mapped(void) {
    struct sfid__held h = {.kind = SFID__HELD_OWN};
    struct stat st;
    int reader = -1;
    fds = entries("/proc/self/fd");
    close(sfid__file_open(&dir, "file", O_RDWR | O_CREAT, &st, &err));
    const int fd = sfid__file_lock(&dir, "file", LOCK_EX, &st, &err);
    h.id = sfid__file_id(&st);
    ok(sfid__held_begin(&h, &dir, "file", fd, &reader, &err) == 0 && h.by_fd && reader == h.fd &&
           fds_more() == 1 && !is_free(LOCK_SH),
       "a lock that is not kept is taken again, by one descriptor");
    sfid__held_drop(&h);
    ok(fds_more() == 0 && is_free(LOCK_EX), "which goes with it");
}

static void inside(void) {
    const int door = sfid__door_enter(&dir, 7, 0, &err);
    const pid_t child = spawn(stay, NULL);
    sfid__door_leave(door);
    const int again = sfid__door_enter(&dir, 7, SFID__DOOR_LOOK, &err);
    ok(door >= 0 && again >= 0, "a child that was forked inside a door does not keep it shut");
    sfid__door_leave(again);
    end(child);
}

int main(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/d", tap_tmpdir());
    need(mkdir(path, 0700) == 0 && sfid__dir_open_run(&dir, path, &err) == 0, "no directory: %s",
         err.text);
    own();
    first();
    by_descriptor();
    taken_number();
    replaced();
    not_mapped();
    inside();
    sfid__dir_close(&dir);
    return done_testing();
}
