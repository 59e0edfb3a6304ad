/* SPDX-License-Identifier: MIT */
/*
 * Hosts that lack something, under the "local" store: file systems that are full or read-only, no
 * /dev/shm, no home, a read-only root with one place to write to. Each time a clear error that
 * names the path, or it works as documented; and it works when there is room again.
 *
 * One size: file systems that are full but for 0 to 10 pages. They are mounted in a namespace of
 * their own, which takes root.
 */
#include "support/user.h"
#include "support/visit.h"

#include <sys/syscall.h>

/* a mark has eight, a slot file one or more, and each file and directory takes some */
enum { PAGES_MOST = 16 };

static char where[100], run[140], state[140];

/* ---- full --------------------------------------------------------------- */

/* A small file system, full but for some pages. */
static bool mount_full(const struct visit *v) {
    static const char page[4096];
    char path[120];
    if (!own_mounts() || !mount_tmpfs(v->where, "size=128k"))
        return false;
    snprintf(path, sizeof path, "%s/filler", v->where);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) == (ssize_t)sizeof page)
        ;
    const off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END),
                room = (off_t)v->pages * (off_t)sizeof page;
    const bool good = fd >= 0 && ftruncate(fd, size > room ? size - room : 0) == 0;
    close(fd);
    return good;
}

/* In one namespace: opened while it is full, then again with room. */
static int full_then_roomy(void *arg) {
    const struct visit *v = arg;
    char path[120];
    snprintf(path, sizeof path, "%s/filler", v->where);
    if (!mount_full(v))
        return DIED;
    const bool good = visit_open(v);
    const int rc = told->rc;
    if (!good || (rc != 0 && rc != SFID_ESTATE) || (rc != 0 && !strstr(told->text, v->where)))
        return 1;
    snprintf(path, sizeof path, "%s/filler", v->where);
    if (unlink(path) < 0 || !visit_open(v) || told->rc != 0)
        return 2;
    told->rc = rc;
    return 0;
}

static void test_full(const char *run_dir, const char *state_dir, const char *what) {
    unsigned refused = 0, worked = 0;
    for (unsigned pages = 0; pages <= PAGES_MOST; pages++) {
        struct visit v = {
            .run_dir = run_dir, .state_dir = state_dir, .where = where, .pages = pages};
        memset(told, 0, sizeof *told);
        const int status = child_run(full_then_roomy, &v, TAP_WAIT_MS);
        refused += told->rc != 0;
        worked += told->rc == 0;
        if (status != 0) {
            ok(false, "%s but for %u pages: a clear error, or it works; with room it works", what,
               pages);
            diag("status %d, open %d: %s %s", status, told->rc, told->text, told->problem);
        }
        remove_tree(dirs.run);
        remove_tree(dirs.state);
    }
    ok(refused + worked == PAGES_MOST + 1 && worked > 0 && refused > 0,
       "%s but for some pages: %u times a clear error, %u times it works; with room it always does",
       what, refused, worked);
}

/* ---- read-only ---------------------------------------------------------- */

static bool mount_read_only(const struct visit *v) {
    return own_mounts() && mount_tmpfs(v->where, "size=128k") &&
           mount(NULL, v->where, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

static void test_read_only(void) {
    struct visit v = {
        .run_dir = run, .state_dir = dirs.state, .before = mount_read_only, .where = where};
    visit(&v, false, run, "run directory on a read-only file system");
    v.run_dir = dirs.run;
    v.state_dir = state;
    visit(&v, false, state, "state directory on a read-only file system");
}

/* ---- no /dev/shm -------------------------------------------------------- */

/* A /dev as a bare container may have it. */
static bool mount_bare_dev(const struct visit *v) {
    (void)v;
    return own_mounts() && mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_RDONLY, "size=64k") == 0;
}

static void test_no_shm(void) {
    char elsewhere[4300], elsewhere_state[4300];
    snprintf(elsewhere, sizeof elsewhere, "%s/run", dirs.tmp);
    snprintf(elsewhere_state, sizeof elsewhere_state, "%s/elsewhere", dirs.tmp);
    struct visit v = {.run_dir = NULL, .state_dir = elsewhere_state, .before = mount_bare_dev};
    visit(&v, false, "/dev/shm/sfid-0", "no /dev/shm, and no other run directory given");
    v.run_dir = elsewhere;
    visit(&v, false, NULL, "no /dev/shm, but another run directory");
    memset(told->highest, 0, sizeof told->highest);
}

/* ---- no home, nowhere to write ------------------------------------------ */

struct attributes {
    uint64_t set, clear, propagation, userns;
};

/* All that is mounted becomes read-only, but for what is mounted after. mount_setattr(2): Linux
 * 5.12. */
static bool all_read_only(void) {
#ifdef SYS_mount_setattr
    const struct attributes read_only = {.set = 1}; /* MOUNT_ATTR_RDONLY */
    return own_mounts() && syscall(SYS_mount_setattr, -1, "/", 0x8000 /* AT_RECURSIVE */,
                                   &read_only, sizeof read_only) == 0;
#else
    return false;
#endif
}

static bool read_only_root(const struct visit *v) {
    return all_read_only() &&
           mount("tmpfs", v->where, "tmpfs", MS_NOSUID | MS_NODEV, "size=512k") == 0 &&
           chown(v->where, NOBODY, NOBODY) == 0 && chmod(v->where, 0700) == 0;
}

static bool no_home(const struct visit *v) {
    (void)v;
    return unsetenv("HOME") == 0;
}

static bool relative_home(const struct visit *v) {
    (void)v;
    return setenv("HOME", "here", 1) == 0;
}

static bool read_only_home(const struct visit *v) {
    return read_only_root(v) && setenv("HOME", "/nowhere", 1) == 0;
}

static int probe_read_only(void *arg) {
    (void)arg;
    return all_read_only() ? 0 : 1;
}

static void test_read_only_root(void) {
    struct visit v = {.run_dir = run,
                      .state_dir = state,
                      .before = read_only_root,
                      .where = where,
                      .user = NOBODY};
    char own_run[160];
    snprintf(own_run, sizeof own_run, "%s/run", state);
    mkdir(where, 0700);
    memset(told->highest, 0, sizeof told->highest);
    visit(&v, false, NULL, "a read-only root, a writable place for run and state");
    memset(told->highest, 0, sizeof told->highest); /* it goes with its namespace */
    v.run_dir = own_run;
    visit(&v, false, NULL, "a read-only root, the run directory in the state directory");
    memset(told->highest, 0, sizeof told->highest);
    v.run_dir = state;
    visit(&v, false, NULL, "a read-only root, one directory for both");
    memset(told->highest, 0, sizeof told->highest);
    v.run_dir = NULL;
    visit(&v, false, "/dev/shm/sfid-65534", "a read-only root, no run directory given");
    v.run_dir = run;
    v.state_dir = NULL;
    v.before = read_only_home;
    visit(&v, false, "/nowhere/.local/state/sfid", "a read-only root, a home that is not there");
}

static void test_no_home(void) {
    char theirs[100];
    struct visit v = {.run_dir = theirs, .state_dir = NULL, .before = no_home, .user = NOBODY};
    if (!may_be_another_user()) {
        skip(2, "takes root to be another user");
        return;
    }
    snprintf(theirs, sizeof theirs, "%s/theirs", dirs.shm);
    need(chmod(dirs.shm, 0755) >= 0 && mkdir(theirs, 0700) >= 0 &&
             chown(theirs, NOBODY, NOBODY) >= 0,
         "%s: %s", theirs, strerror(errno));
    visit(&v, false, "HOME", "HOME is not set");
    v.before = relative_home;
    visit(&v, false, "HOME", "HOME is \"here\", not an absolute path");
}

int main(void) {
    dirs_make();
    told = shared_memory(sizeof *told);
    snprintf(where, sizeof where, "%s/mounted", dirs.shm);
    snprintf(run, sizeof run, "%s/run", where);
    snprintf(state, sizeof state, "%s/state", where);
    test_no_home();
    if (can_mount()) {
        test_full(run, dirs.state, "the run directory is full");
        test_full(dirs.run, state, "the state directory is full");
        test_full(run, state, "both are full");
        test_read_only();
        test_no_shm();
    } else {
        skip(7, "cannot mount a file system here");
    }
    if (may_be_another_user() && child_run(probe_read_only, NULL, TAP_WAIT_MS) == 0)
        test_read_only_root();
    else
        skip(5, "cannot make the root read-only here");
    is_i64(count_locked(dirs.shm, ""), 0, "no lock is left");
    return done_testing();
}
