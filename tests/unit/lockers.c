/* SPDX-License-Identifier: MIT */
/*
 * Who holds locks, as the kernel lists them: of numbered files, each process once; and of a page
 * whose file is gone. The kernel shows its list in pieces, and a lock may slip from one to the next
 * while others come and go: what is not seen is looked for again.
 */
#include "slot_scene.h"

#include <signal.h>
#include <sys/sysmacros.h>

#define ALONE "alone-"

enum { TRIES = 100 };

static struct sfid__dir app;

/* The lock of a numbered file, until this process ends. */
static int lock(uint64_t n) {
    char name[32];
    struct stat st;
    snprintf(name, sizeof name, ALONE "%" PRIu64, n);
    close(sfid__file_open(&app, name, O_RDWR | O_CREAT, &st, &err));
    return sfid__file_lock(&app, name, LOCK_EX, &st, &err);
}

struct lock {
    uint64_t file;
    long process;
};

static bool is_shown(void *arg) {
    const struct lock *l = arg;
    char name[32];
    struct stat st;
    snprintf(name, sizeof name, ALONE "%" PRIu64, l->file);
    return fstatat(app.fd, name, &st, 0) == 0 && sfid__file_locker(&st) == l->process;
}

/* Asked without the library. A sandbox may hide it, and some file systems have another number
 * there. */
static bool kernel_shows(int fd) {
    struct stat st;
    char line[256], file[60], process[32];
    FILE *list = fopen("/proc/locks", "re");
    bool shown = false;
    need(fstat(fd, &st) == 0, "fstat: %s", strerror(errno));
    snprintf(file, sizeof file, " %02x:%02x:%" PRIu64 " ", major(st.st_dev), minor(st.st_dev),
             (uint64_t)st.st_ino);
    snprintf(process, sizeof process, " %ld ", (long)getpid());
    while (list && !shown && fgets(line, sizeof line, list))
        shown = strstr(line, file) && strstr(line, process);
    if (list)
        fclose(list);
    return shown;
}

/* Has two locks until it is killed. */
static int have_two(void *files) {
    const uint64_t *n = files;
    while (lock(n[0]) >= 0 && lock(n[1]) >= 0)
        pause();
    return 0;
}

static void listed(uint64_t first, uint64_t last, size_t size, const char *want, const char *what) {
    char got[160] = "";
    for (int i = 0; i < TRIES && (i == 0 || strcmp(got, want) != 0); i++)
        sfid__file_list_lockers(&app, ALONE, first, last, got, size);
    is_str(got, want, "%s", what);
}

static void numbered(void) {
    uint64_t theirs[] = {2, 5};
    char both[60], own[24];
    need(lock(0) >= 0 && lock(1) >= 0, "no locks: %s", err.text);
    const pid_t child = spawn(have_two, theirs);
    need(tap_wait_until(is_shown, &(struct lock){5, child}, TAP_WAIT_MS), "a child has no locks");
    need(lock(3) >= 0 && lock(4) >= 0, "no locks: %s", err.text);
    const int not_locked = openat(app.fd, ALONE "6", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    snprintf(own, sizeof own, "%ld", (long)getpid());
    snprintf(both, sizeof both, "%s, %ld", own, (long)child);
    listed(0, 9, sizeof both, both,
           "each process stands there once, in the order of its first lock");
    listed(0, 1, sizeof both, own, "also one that has the lock before, too");
    listed(2, 2, sizeof both, both + strlen(own) + 2, "of one file one");
    listed(6, 9, sizeof both, "", "nobody for a file without a lock, or none");
    listed(0, 9, 42, own, "one where there is room for no more");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    listed(0, 9, sizeof both, own, "and none that has ended");
    close(not_locked);
}

static bool last_without_file(struct sfid__slot *s, const char *page) {
    append(s, 1);
    need(unlink(page) == 0 && inode(page) == 0, "unlink");
    const bool last = sfid__slot_is_last(s);
    sfid__slot_drop(s);
    return last;
}

/* Then nothing but a lock of its own shows whether a child has it. A page that belongs to a pid
 * needs none: the pid's mark shows it. */
static void page_is_gone(void) {
    struct sfid__slot s;
    char page[4300];
    bool last = false;
    snprintf(page, sizeof page, "%s/orders/0", run.path);
    for (int i = 0; i < TRIES && !last; i++) {
        need(take_as(&s, "0", &(struct sfid__slot_want){LAYOUT, SFID__ANY_PID, LIMIT, 0}) == 0,
             "no slot: %s", err.text);
        last = last_without_file(&s, page);
    }
    ok(last, "without the file of its page, who is alone knows that it is the last one");
    take_or_bail(&s);
    ok(!last_without_file(&s, path), "without that of a pid's page it does not");
}

int main(void) {
    begin();
    need(sfid__dir_open_sub(&app, &run, "orders", &err) == 0, "%s", err.text);
    const int own = lock(100), fds = entries("/proc/self/fd");
    need(own >= 0, "no lock: %s", err.text);
    int tries = TRIES;
    while (!kernel_shows(own) && tries > 0)
        tries--;
    if (tries == 0)
        skip_all("the kernel does not show who took a lock");
    ok(tap_wait_until(is_shown, &(struct lock){100, getpid()}, TAP_WAIT_MS),
       "this process has a lock");
    is_i64(entries("/proc/self/fd"), fds, "and the list is closed");
    numbered();
    page_is_gone();
    sfid__dir_close(&app);
    sfid__dir_close(&run);
    return done_testing();
}
