/* SPDX-License-Identifier: MIT */
/*
 * Directories and files that are somebody else's, links, pipes, locked by others; and too few
 * descriptors; under the "local" store. Each time a clear error that names the path, or it works as
 * documented; in time, nothing left behind, no link followed, no ID repeated.
 *
 * One size.
 */
#include "support/user.h"
#include "support/visit.h"

enum { PIDS = 16 };

static char other[120]; /* a place for what is not ours */

static void place(char *path, size_t size, const char *name) {
    snprintf(path, size, "%s/%s", dirs.shm, name);
}

static void own_dir(const char *path, uid_t user, mode_t mode) {
    must((mkdir(path, mode) >= 0 || errno == EEXIST) && chown(path, user, user) >= 0 &&
             chmod(path, mode) >= 0,
         "%s: %s", path, strerror(errno));
}

/* All is well: what a test has left does not stand in the next one's way. */
static void fresh(void) {
    const struct visit plain = {.run_dir = dirs.run, .state_dir = dirs.state};
    visit(&plain, false, NULL, "as it should be");
    is_i64(told->pid, 0, "with the lowest pid");
}

/* ---- other users -------------------------------------------------------- */

static void test_owners(void) {
    char theirs[120], ours[120], open_to_all[120], mine[140], mine_too[140], app[120];
    if (!may_be_another_user()) {
        skip(10, "takes root to be another user");
        return;
    }
    place(theirs, sizeof theirs, "theirs");
    place(ours, sizeof ours, "ours");
    place(open_to_all, sizeof open_to_all, "all");
    chmod(dirs.shm, 0755);
    own_dir(theirs, NOBODY, 0700);
    own_dir(ours, 0, 0755);
    own_dir(open_to_all, 0, 01777);
    snprintf(mine, sizeof mine, "%s/run", theirs);
    snprintf(mine_too, sizeof mine_too, "%s/state", theirs);
    visit(&(struct visit){.run_dir = theirs, .state_dir = dirs.state}, false, theirs,
          "root in another user's run directory");
    visit(&(struct visit){.run_dir = dirs.run, .state_dir = theirs}, false, theirs,
          "root in another user's state directory");
    visit(&(struct visit){.run_dir = ours, .state_dir = mine, .user = NOBODY}, false, ours,
          "another user in root's run directory");
    visit(&(struct visit){.run_dir = mine, .state_dir = ours, .user = NOBODY}, false, ours,
          "another user in root's state directory");
    visit(&(struct visit){.run_dir = open_to_all, .state_dir = mine, .user = NOBODY}, false,
          open_to_all, "a run directory of root's for all");
    visit(&(struct visit){.run_dir = open_to_all, .state_dir = dirs.state}, false, open_to_all,
          "the same, by root");
    visit(&(struct visit){.run_dir = dirs.run, .state_dir = open_to_all}, false, open_to_all,
          "a state directory for all, by root");
    is_i64(count_entries(ours) + count_entries(open_to_all), 0, "nothing is left in them");
    memset(told->highest, 0, sizeof told->highest);
    visit(&(struct visit){.run_dir = mine, .state_dir = mine_too, .user = NOBODY}, false, NULL,
          "another user in directories of its own");
    memset(told->highest, 0, sizeof told->highest);
    for (int i = 0; i < 2; i++) {
        snprintf(app, sizeof app, "%.80s/hostile", i ? dirs.state : dirs.run);
        own_dir(app, NOBODY, 0700);
        visit(&(struct visit){.run_dir = dirs.run, .state_dir = dirs.state}, false, app,
              "the app's directory is another user's");
        own_dir(app, 0, 0700);
    }
    fresh();
    chmod(dirs.shm, 0700);
}

/* Files of another user below directories of ours: they are not used. */
static void test_owned_files(void) {
    static const char *const names[] = {"machine_id", "hostile/layout", "hostile/lock",
                                        "hostile/pid-0"};
    char path[4400];
    if (!may_be_another_user()) {
        skip(5, "takes root to be another user");
        return;
    }
    for (size_t i = 0; i <= COUNT_OF(names); i++) {
        const bool page = i == COUNT_OF(names);
        snprintf(path, sizeof path, "%s/%s", page ? dirs.run : dirs.state,
                 page ? "hostile/pid-0" : names[i]);
        must(chown(path, NOBODY, NOBODY) >= 0, "%s: %s", path, strerror(errno));
        visit(&(struct visit){.run_dir = dirs.run, .state_dir = dirs.state}, true, path,
              strrchr(path, '/') + 1);
        ok(told->rc != 0 || page || told->pid != 0, "a file of another user is not used");
        if (chown(path, 0, 0) < 0)
            diag("%s: %s", path, strerror(errno));
    }
    fresh();
}

/* ---- links -------------------------------------------------------------- */

/* A file behind the link, or one in the directory behind it, that nobody is to touch. */
static void victim_make(void) {
    char path[140];
    mkdir(other, 0700);
    snprintf(path, sizeof path, "%s/victim", other);
    FILE *f = fopen(path, "we");
    must(f && fputs("victim", f) >= 0 && fclose(f) == 0, "%s: %s", path, strerror(errno));
}

static bool victim_unharmed(void) {
    char path[140], text[20] = "";
    snprintf(path, sizeof path, "%s/victim", other);
    FILE *f = fopen(path, "re");
    const bool same = f && fgets(text, sizeof text, f) && strcmp(text, "victim") == 0;
    if (f)
        fclose(f);
    return same && count_entries(other) == 1;
}

static void test_link_to_directory(const char *link, const char *what) {
    char aside[4500];
    snprintf(aside, sizeof aside, "%s-aside", link);
    const bool there = rename(link, aside) == 0;
    victim_make();
    must(symlink(other, link) >= 0, "%s: %s", link, strerror(errno));
    visit(&(struct visit){.run_dir = dirs.run, .state_dir = dirs.state}, false, link, what);
    ok(victim_unharmed(), "%s: nothing happens behind it", what);
    unlink(link);
    must(!there || rename(aside, link) >= 0, "%s: %s", link, strerror(errno));
}

static void test_links(void) {
    char path[4400];
    test_link_to_directory(dirs.run, "the run directory is a link");
    test_link_to_directory(dirs.state, "the state directory is a link");
    snprintf(path, sizeof path, "%s/hostile", dirs.run);
    test_link_to_directory(path, "the app's run directory is a link");
    snprintf(path, sizeof path, "%s/hostile", dirs.state);
    test_link_to_directory(path, "the app's state directory is a link");
    fresh();
}

/* Above the directories that are named links are the administrator's own: a /home may well be
 * one. */
static void test_links_above(void) {
    char link[120], real[120], run[140], state[140];
    place(real, sizeof real, "real");
    place(link, sizeof link, "link");
    mkdir(real, 0700);
    must(symlink(real, link) >= 0, "%s: %s", link, strerror(errno));
    snprintf(run, sizeof run, "%s/run", link);
    snprintf(state, sizeof state, "%s/state", link);
    memset(told->highest, 0, sizeof told->highest);
    visit(&(struct visit){.run_dir = run, .state_dir = state}, false, NULL,
          "a link above run and state directory");
    is_i64(count_entries(real), 2, "both are made behind it");
    memset(told->highest, 0, sizeof told->highest);
    fresh();
}

enum kind { LINK, DANGLING, PIPE, DIRECTORY, KINDS };

static const char *const kinds[] = {"a link to a file", "a link to nothing", "a pipe",
                                    "a directory"};

static bool put_in_place(enum kind kind, const char *path) {
    char target[140];
    snprintf(target, sizeof target, "%s/%s", other, kind == LINK ? "victim" : "nothing");
    if (kind == PIPE)
        return mkfifo(path, 0600) == 0;
    return kind == DIRECTORY ? mkdir(path, 0700) == 0 : symlink(target, path) == 0;
}

static void test_file(const char *path, bool page, enum kind kind) {
    char aside[4500], what[200];
    snprintf(aside, sizeof aside, "%s-aside", dirs.shm);
    snprintf(what, sizeof what, "%s %.40s is %s", page ? "page" : "file", strrchr(path, '/') + 1,
             kinds[kind]);
    victim_make();
    must(rename(path, aside) >= 0 && put_in_place(kind, path), "%s: %s", path, strerror(errno));
    visit(&(struct visit){.run_dir = dirs.run, .state_dir = dirs.state}, true, path, what);
    ok(victim_unharmed() && (told->rc != 0 || page || told->pid != 0), "%s: it is not used", what);
    remove(path); /* or what has replaced it */
    must(rename(aside, path) >= 0, "%s: %s", path, strerror(errno));
}

static void test_files(void) {
    static const char *const names[] = {"machine_id", "hostile/layout", "hostile/lock",
                                        "hostile/pid-0"};
    char path[4400];
    for (enum kind kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            snprintf(path, sizeof path, "%s/%s", dirs.state, names[i]);
            test_file(path, false, kind);
        }
        snprintf(path, sizeof path, "%s/hostile/pid-0", dirs.run);
        test_file(path, true, kind);
    }
}

/* ---- locks -------------------------------------------------------------- */

static int lock_file(const char *path, bool make) {
    const int fd = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
    must(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) >= 0, "%s: %s", path, strerror(errno));
    return fd;
}

static void test_locked_pids(void) {
    const struct visit plain = {.run_dir = dirs.run, .state_dir = dirs.state};
    char path[4400];
    int fds[PIDS];
    for (int i = 0; i < PIDS; i++) {
        snprintf(path, sizeof path, "%s/hostile/pid-%d", dirs.state, i);
        fds[i] = lock_file(path, true);
        if (i == 2) {
            visit(&plain, false, NULL, "locks of pids 0 to 2 are held by another process");
            ok(told->pid > 2 && told->pid < PIDS, "another pid is taken");
        }
    }
    struct visit all = plain;
    told->rc = 1;
    is_i64(child_run(visit_child, &all, TAP_WAIT_MS), 0,
           "all locks are held by another process: that is told");
    is_i64(told->rc, SFID_ENOPID, "by its code, too");
    for (int i = 0; i < PIDS; i++)
        close(fds[i]);
    snprintf(path, sizeof path, "%s/hostile/pid-0", dirs.run);
    const int page = lock_file(path, false);
    visit(&plain, false, NULL, "the page of pid 0 is held by another process");
    is_i64(told->pid, 1, "another pid is taken");
    close(page);
    fresh();
}

/* The doors are held for a moment each; somebody who stays inside must not keep others for ever, be
 * there 2048 of them. */
static void test_locked_doors(void) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET},
                 first = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct visit v = {.run_dir = dirs.run, .state_dir = dirs.state, .layout = &SFID_LAYOUT_DEFAULT};
    char path[4400];
    visit(&v, false, NULL, "a wide layout");
    snprintf(path, sizeof path, "%s/wide/lock", dirs.state);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ok(fd >= 0 && fcntl(fd, F_OFD_SETLK, &first) == 0,
       "another process stays in the door of pid 0");
    visit(&v, false, NULL, "it is passed by");
    ok(fcntl(fd, F_OFD_SETLK, &all) == 0, "another process stays in all doors");
    for (int i = 0; i < 2; i++) {
        v.pid = i;
        told->rc = 1;
        is_i64(child_run(visit_child, &v, TAP_WAIT_MS), 0, "that is told to who wants %s",
               i ? "pid 1" : "any pid");
        ok(told->rc < 0, "an error: %d: %s", told->rc, told->text);
        in_time(told->open, OPEN_TIMEOUT_MS + OPEN_GRACE_MS, "when open_timeout_ms is over");
        lasted(told->open, OPEN_TIMEOUT_MS, "and not before: a door may be left at any moment");
    }
    close(fd);
    fresh();
}

static void test_locked_directories(void) {
    const struct visit plain = {.run_dir = dirs.run, .state_dir = dirs.state};
    char path[4400];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/hostile", i ? dirs.state : dirs.run);
        const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0, "a cleaner holds the lock of %s",
           i ? "the marks" : "the pages");
        visit(&plain, true, NULL, "a directory is locked by another process");
        close(fd);
    }
    fresh();
}

/* ---- descriptors -------------------------------------------------------- */

static void test_descriptors(void) {
    struct visit v = {.run_dir = dirs.run, .state_dir = dirs.state};
    bool refused = false, worked = false;
    for (v.descriptors = 3; v.descriptors < 40 && !worked; v.descriptors++) {
        told->rc = 1;
        told->problem[0] = '\0';
        const int status = child_run(visit_child, &v, TAP_WAIT_MS);
        if (status != 0 || (told->rc != 0 && told->rc != SFID_ESTATE)) {
            ok(false, "%d descriptors: a clear error, or it works", v.descriptors);
            diag("status %d, open %d: %s %s", status, told->rc, told->text, told->problem);
        }
        refused = refused || told->rc != 0;
        worked = told->rc == 0;
    }
    ok(refused && worked,
       "one descriptor more each time: clear errors, nothing left behind, and in the end it works");
    fresh();
}

int main(void) {
    dirs_make();
    snprintf(dirs.state, sizeof dirs.state, "%s/state", dirs.shm); /* where locks are counted */
    place(other, sizeof other, "other");
    told = shared_memory(sizeof *told);
    fresh();
    test_owners();
    test_owned_files();
    test_links();
    test_links_above();
    test_files();
    fresh();
    test_locked_pids();
    test_locked_doors();
    test_locked_directories();
    test_descriptors();
    is_i64(count_locked(dirs.shm, ""), 0, "no lock is left");
    return done_testing();
}
