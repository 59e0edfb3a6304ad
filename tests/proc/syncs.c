/* SPDX-License-Identifier: MIT */
/*
 * How many syncs an open and a close take: each can take a third of a second, and a service that
 * starts with a hundred processes waits for all of them. Fewer would lose something with the power:
 * unit/mark_syncs, proc/marks, proc/powerloss and the simulation.
 *
 * One size. The program has a fsync() and a fdatasync() of its own, which the library calls instead
 * of the system's. They count, and look at what is there to become durable: the names of an app's
 * layout and mark.
 *
 * Nor does an open look for its state directory twice.
 */
#include "support/local.h"

#include <sys/inotify.h>
#include <sys/syscall.h>

static struct {
    unsigned files, dirs, layouts; /* syncs; of a layout's content */
    bool layout_named; /* the name "layout" was there when the app's directory was synced last */
} disk;

static sfid_layout layout;

static int note(int fd, long call) {
    char link[64], path[PATH_MAX] = "";
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    must(fstat(fd, &st) == 0 && readlink(link, path, sizeof path - 1) > 0, "a sync of no file");
    const bool dir = S_ISDIR(st.st_mode);
    *(dir ? &disk.dirs : &disk.files) += 1;
    disk.layouts += strstr(path, "/.layout.") != NULL;
    if (dir)
        disk.layout_named = faccessat(fd, "layout", F_OK, 0) == 0;
    return (int)syscall(call, fd);
}

int fsync(int fd) { return note(fd, SYS_fsync); }
int fdatasync(int fd) { return note(fd, SYS_fdatasync); }

static void counts(const char *store, const char *what, unsigned files, unsigned folders) {
    ok(disk.files == files && disk.dirs == folders,
       "%s: %s: %u syncs of files and %u of directories, %u and %u are", store, what, files,
       folders, disk.files, disk.dirs);
    memset(&disk, 0, sizeof disk);
}

static sfid *open_one(const char *app, const char *store) {
    sfid_options opt = local_options(app, store, &layout);
    sfid *g = NULL;
    const int rc = sfid_open(&g, &opt);
    must(rc == 0 && sfid_next(g) >= 0, "no ID: %s", sfid_last_error(g));
    return g;
}

static void close_counted(sfid *g, const char *store, const char *what, unsigned files) {
    sfid_close(g);
    counts(store, what, files, 0);
}

static void remove_layout(const char *app) {
    char path[PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s/layout", dirs.state, app);
    must(unlink(path) == 0, "%s: %s", path, strerror(errno));
}

/* synced: 1, or 0 with mark=none. */
static void counted(const char *app, const char *store, unsigned synced) {
    sfid *g = open_one(app, store);
    ok(disk.layouts == 1 && disk.layout_named,
       "%s: a new app: its layout is durable before the first ID, and so is the name", store);
    counts(store, "a new app", 1 + synced, 2);
    close_counted(g, store, "a close", synced);
    g = open_one(app, store);
    counts(store, "again", synced, 0);
    close_counted(g, store, "a close", synced);
    remove_layout(app);
    g = open_one(app, store);
    ok(disk.layout_named, "%s: its layout was removed: it is there again, and durable", store);
    counts(store, "its layout was removed", 1 + synced, 1);
    close_counted(g, store, "a close", synced);
}

static void second_pid(const char *app, const char *store, unsigned synced) {
    sfid *g = open_one(app, store);
    memset(&disk, 0, sizeof disk);
    sfid *h = open_one(app, store);
    counts(store, "a new pid", synced, synced);
    close_counted(h, store, "its close", synced);
    sfid_close(g);
    memset(&disk, 0, sizeof disk);
}

/* How often the watched directory itself was opened since the last call. Events of files bear their
 * names. */
static unsigned times_opened(int watch) {
    _Alignas(struct inotify_event) char all[16384];
    unsigned times = 0;
    const ssize_t n = read(watch, all, sizeof all);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(const void *)(all + at);
        times += (e->mask & IN_OPEN) != 0 && e->len == 0;
        at += (ssize_t)(sizeof *e + e->len);
    }
    return times;
}

static void finds_it_once(const char *app, const char *store) {
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    must(watch >= 0 && inotify_add_watch(watch, dirs.state, IN_OPEN | IN_CLOSE) >= 0, "inotify: %s",
         strerror(errno));
    sfid *g = open_one(app, store);
    is_u64(times_opened(watch), 1, "%s: an open opens the state directory once", store);
    sfid_close(g);
    close(watch);
}

int main(void) {
    dirs_make();
    layout = layout_of("41:10:12/1ms");
    sfid_close(open_one("first", "local")); /* makes what all apps have */
    memset(&disk, 0, sizeof disk);
    counted("plain", "local", 1);
    second_pid("plain", "local", 1);
    counted("shared", "local?share=1", 1);
    counted("unsynced", "local?mark=none", 0);
    second_pid("unsynced", "local?mark=none", 0);
    finds_it_once("plain", "local");
    finds_it_once("shared", "local?share=1");
    return done_testing();
}
