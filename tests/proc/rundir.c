/* SPDX-License-Identifier: MIT */
/*
 * Directories that are full, read-only, a symbolic link, or removed while a process draws from a
 * page in them. Each time a clear error with nothing left behind, or a generator that works: never
 * a signal, never a link followed, never a second owner of a pid. Other users' directories, and too
 * few descriptors: proc/hostile.
 *
 * One size. File systems of its own are mounted in a private mount namespace, which takes root.
 */
#include "support/local.h"

static const sfid_layout *const layout = &SFID_LAYOUT_DEFAULT;
static struct told {
    int64_t highest;
    int rc;
    char text[300];
    atomic_int drawn, go_on;
} * told;

/* Opens app "dir" under these directories; draws above all before, or says why not. Leaves nothing
 * behind. */
static int visit(const char *run_dir, const char *state_dir) {
    sfid_options opt = options_of("dir", 1, layout);
    opt.exhaustion = SFID_BORROW; /* a mark that lies ahead is not waited for */
    opt.max_ahead_ms = 3600000;
    opt.run_dir = run_dir;
    opt.state_dir = state_dir;
    const int fds = count_fds();
    int threads = count_threads();
    sfid *g = NULL;
    told->rc = sfid_open(&g, &opt);
    snprintf(told->text, sizeof told->text, "%s", sfid_last_error(g));
    bool good = told->rc == 0 || strlen(told->text) > 10;
    const bool waits = told->rc == 0 && postponed(g, sfid_try_next(g));
    for (int i = 0; told->rc == 0 && !waits && i < 10; i++) {
        const int64_t id = next_within(g, TAP_WAIT_MS);
        good = good && id > told->highest;
        told->highest = id;
    }
    sfid_close(g);
    if (count_fds() != fds || !tap_wait_until(threads_are, &threads, TAP_WAIT_MS)) {
        fprintf(stderr, "# %d descriptors, %d threads left behind\n", count_fds() - fds,
                count_threads() - threads);
        return 2;
    }
    return good ? 0 : 1;
}

/* What a child does: in its own mount namespace, or just so. */
struct plan {
    const char *run_dir, *state_dir, *where, *flags;
    unsigned pages;
};

static void expect(int (*how)(void *), struct plan *p, bool may_work, const char *what) {
    told->rc = 1;
    const int status = child_run(how, p, TAP_WAIT_MS);
    const bool refused = told->rc == SFID_ESTATE;
    if (!ok(status == 0 && (refused || (may_work && told->rc == 0)), "%s: %s", what,
            may_work ? "a clear error, or it works" : "a clear error"))
        diag("status %d, open %d %s", status, told->rc, told->text);
    else if (refused)
        diag("%s", told->text);
}

static int plainly(void *arg) {
    const struct plan *p = arg;
    return visit(p->run_dir, p->state_dir);
}

/* ---- file systems ------------------------------------------------------- */

static bool mount_there(const char *where, const char *flags) {
    return own_mounts() && mount_tmpfs(where, flags);
}

/* Fills the file system up but for some pages. */
static int fill_but(const char *where, unsigned pages) {
    static const char page[4096];
    char path[200];
    snprintf(path, sizeof path, "%s/filler", where);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, page, sizeof page) == (ssize_t)sizeof page)
        ;
    struct stat st;
    must(fstat(fd, &st) >= 0 &&
             ftruncate(fd, st.st_size > (off_t)pages * 4096 ? st.st_size - (off_t)pages * 4096
                                                            : 0) >= 0,
         "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

static int on_full(void *arg) {
    const struct plan *p = arg;
    char path[200];
    if (!mount_there(p->where, "size=64k"))
        return DIED;
    fill_but(p->where, p->pages);
    const int status = visit(p->run_dir, p->state_dir);
    const int rc = told->rc;
    char text[sizeof told->text];
    memcpy(text, told->text, sizeof text);
    snprintf(path, sizeof path, "%s/filler", p->where);
    unlink(path);
    const int after = visit(p->run_dir, p->state_dir);
    if (status || after || told->rc != 0) {
        fprintf(stderr, "# full: status %d open %d; then with room: status %d open %d %s\n", status,
                rc, after, told->rc, told->text);
        return 1;
    }
    told->rc = rc;
    memcpy(told->text, text, sizeof text);
    return 0;
}

/* The file system fills up under a generator that is open: its page is there already. */
static int on_filling(void *arg) {
    const struct plan *p = arg;
    sfid_options opt = options_of("dir", 1, layout);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 3600000;
    opt.run_dir = p->run_dir;
    opt.state_dir = p->state_dir;
    if (!mount_there(p->where, "size=256k"))
        return DIED;
    sfid *g = open_or_die(&opt);
    fill_but(p->where, 0);
    bool good = true;
    for (int i = 0; i < 100000; i++) {
        const int64_t id = sfid_next(g);
        good = good && id > told->highest;
        told->highest = id;
    }
    sfid_close(g);
    told->rc = 0;
    return good ? 0 : 1;
}

static int on_read_only(void *arg) {
    const struct plan *p = arg;
    if (!mount_there(p->where, "size=256k") ||
        mount(NULL, p->where, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return DIED;
    return visit(p->run_dir, p->state_dir);
}

static void test_file_systems(void) {
    char where[100], inside[120];
    if (!can_mount()) {
        skip(25, "cannot mount a file system here");
        return;
    }
    snprintf(where, sizeof where, "%s/mounted", dirs.shm);
    snprintf(inside, sizeof inside, "%s/inside", where);
    for (unsigned pages = 0; pages <= 10; pages++) {
        struct plan run = {
            .where = where, .run_dir = inside, .state_dir = dirs.state, .pages = pages};
        struct plan state = {
            .where = where, .run_dir = dirs.run, .state_dir = inside, .pages = pages};
        expect(on_full, &run, true, "run directory full but for a few pages");
        const int64_t highest = told->highest;
        /* another state directory each time: nothing is known of IDs before, nor of its IDs
         * later */
        told->highest = 0;
        expect(on_full, &state, true, "state directory full but for a few pages");
        told->highest = highest;
    }
    struct plan p = {.where = where, .run_dir = inside, .state_dir = dirs.state};
    told->highest = 0;
    expect(on_filling, &p, true, "run directory fills up while in use");
    expect(on_read_only, &p, false, "run directory on a read-only file system");
    p = (struct plan){.where = where, .run_dir = dirs.run, .state_dir = inside};
    expect(on_read_only, &p, false, "state directory on a read-only file system");
}

/* ---- links -------------------------------------------------------------- */

/* The target of a link holds one file that nobody is to touch. */
static void test_link(const char *link, const char *run_dir, bool may_work, const char *what) {
    char target[120], victim[140];
    struct stat st;
    snprintf(target, sizeof target, "%s/target", dirs.shm);
    snprintf(victim, sizeof victim, "%s/victim", target);
    mkdir(target, 0700);
    const int fd = open(victim, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, "victim", 6) == 6 && close(fd) >= 0 &&
             symlink(link[0] == '!' ? victim : target, link + (link[0] == '!')) >= 0,
         "%s: %s", link, strerror(errno));
    struct plan p = {.run_dir = run_dir, .state_dir = dirs.state};
    expect(plainly, &p, may_work, what);
    ok(count_entries(target) == 1 && stat(victim, &st) == 0 && st.st_size == 6,
       "%s: nothing happens behind it", what);
    unlink(link + (link[0] == '!'));
}

/* The file the app's run directory holds. */
static void slot_path(char *path, size_t size) {
    char dir[100];
    snprintf(dir, sizeof dir, "%s/dir", dirs.run);
    DIR *d = opendir(dir);
    path[0] = '\0';
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            snprintf(path, size, "%s/%.60s", dir, e->d_name);
    if (d)
        closedir(d);
}

static void test_links(void) {
    char link[120], slot[200], name[220];
    struct plan p = {.run_dir = dirs.run, .state_dir = dirs.state};
    snprintf(link, sizeof link, "%s/link", dirs.shm);
    test_link(link, link, false, "run directory is a symbolic link");
    remove_tree(dirs.run);
    mkdir(dirs.run, 0700);
    snprintf(name, sizeof name, "%s/dir", dirs.run);
    test_link(name, dirs.run, false, "app's run directory is a symbolic link");
    told->highest = 0;
    expect(plainly, &p, true, "the link is gone");
    slot_path(slot, sizeof slot);
    ok(slot[0] && unlink(slot) == 0, "there is a slot file");
    snprintf(name, sizeof name, "!%s", slot);
    test_link(name, dirs.run, true, "slot file is a symbolic link to a file");
    unlink(slot);
    test_link(slot, dirs.run, true, "slot file is a symbolic link to a directory");
    unlink(slot);
    ok(mkfifo(slot, 0600) == 0, "a pipe in its place");
    expect(plainly, &p, true, "slot file is a pipe");
    unlink(slot);
    rmdir(slot);
    ok(mkdir(slot, 0700) == 0, "a directory in its place");
    expect(plainly, &p, true, "slot file is a directory");
    remove_tree(slot);
    expect(plainly, &p, true, "it is gone");
}

/* ---- removed while in use ----------------------------------------------- */

static int draw_on(void *arg) {
    const struct plan *p = arg;
    const sfid_options opt = options_of("gone", 1, layout);
    sfid *g = open_or_die(&opt);
    for (;;) {
        for (int i = 0; i < 100; i++) {
            const int64_t id = sfid_next(g);
            if (id <= told->highest)
                return 1;
            told->highest = id;
        }
        atomic_fetch_add(&told->drawn, 1);
        if (atomic_load(&told->go_on))
            break;
        nap_us(1000);
    }
    if (p->flags)
        sfid_close(g);
    return 0;
}

static int come_after(void *arg) {
    (void)arg;
    sfid_options opt = options_of("gone", 1, layout);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = 3600000;
    sfid *g = open_or_die(&opt);
    const int64_t id = sfid_next(g);
    sfid_close(g);
    if (id <= told->highest)
        fprintf(stderr, "# got %" PRId64 ", issued before %" PRId64 "\n", id, told->highest);
    told->highest = id > told->highest ? id : told->highest;
    return id == told->highest ? 0 : 1;
}

/* rm -r under a process: it goes on, nobody else gets its pid, and who comes after it goes on
 * above. */
static void test_removed(bool closing, const char *what) {
    const sfid_options opt = options_of("gone", 1, layout);
    struct plan p = {.flags = closing ? "close" : NULL};
    atomic_store(&told->drawn, 0);
    atomic_store(&told->go_on, 0);
    told->highest = closing ? 0 : told->highest; /* first the one, then the other, on one app */
    const pid_t child = child_start(draw_on, &p);
    ok(flag_wait(&told->drawn, 1, TAP_WAIT_MS), "%s: a process draws", what);
    remove_tree(dirs.run);
    is_i64(try_open(&opt), SFID_EBUSY, "%s: the pid is still taken", what);
    remove_tree(dirs.run);
    ok(flag_wait(&told->drawn, atomic_load(&told->drawn) + 20, TAP_WAIT_MS),
       "%s: the process draws on", what);
    atomic_store(&told->go_on, 1);
    is_i64(child_wait(child, TAP_WAIT_MS), 0, "%s: it ends well", what);
    is_i64(child_run(come_after, NULL, TAP_WAIT_MS), 0, "%s: the next one goes on above", what);
}

/* ---- the machine's name -------------------------------------------------- */

/* Files in the state directory itself, which all apps share: cut off, garbled, removed. */
static void test_shared_files(void) {
    static const char garbage[300] = "\xff\n../..";
    struct plan p = {.run_dir = dirs.run, .state_dir = dirs.state};
    struct dirent **names = NULL;
    struct stat st;
    char path[4600];
    told->highest = 0;
    expect(plainly, &p, true, "nothing wrong with shared files");
    const int n = scandir(dirs.state, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dirs.state, names[i]->d_name);
        free(names[i]);
        for (int way = 0; lstat(path, &st) == 0 && S_ISREG(st.st_mode) && way < 4; way++) {
            const int fd = open(path, O_WRONLY | O_CLOEXEC);
            must(fd >= 0 && ftruncate(fd, way < 2 ? way * st.st_size / 2 : 0) >= 0 &&
                     !(way == 2 && write(fd, garbage, sizeof garbage) < 0),
                 "%s: %s", path, strerror(errno));
            close(fd);
            if (way == 3)
                unlink(path);
            expect(plainly, &p, true, "a shared file spoilt");
            if (told->rc != 0)
                unlink(path); /* as the operator would, told so */
            expect(plainly, &p, true, "a shared file made anew");
            is_i64(told->rc, 0, "a shared file is made anew");
        }
    }
    free(names);
}

/* ---- descriptors -------------------------------------------------------- */

/* One directory for both, as where only one can be written. */
static void test_one_directory(void) {
    char both[120];
    snprintf(both, sizeof both, "%s/both", dirs.shm);
    struct plan p = {.run_dir = both, .state_dir = both};
    told->highest = 0;
    for (int i = 0; i < 3; i++) {
        expect(plainly, &p, true, "one directory for run and state");
        is_i64(told->rc, 0, "it works");
    }
}

/* ---- a cleaner ------------------------------------------------------------ */

static void clean(const char *conf) {
    char command[200];
    snprintf(command, sizeof command, "systemd-tmpfiles --clean '%s'", conf);
    if (system(command) != 0)
        die("%s", command);
}

/* systemd-tmpfiles removes all that is old, here at once, but keeps out of directories that are in
 * use. */
static void test_cleaner(void) {
    char run[100], app[120], conf[120];
    if (system("command -v systemd-tmpfiles >/dev/null") != 0) {
        skip(1, "no systemd-tmpfiles");
        return;
    }
    snprintf(run, sizeof run, "%s/cleaned", dirs.shm);
    snprintf(app, sizeof app, "%s/dir", run);
    snprintf(conf, sizeof conf, "%s/cleaned.conf", dirs.shm);
    FILE *f = fopen(conf, "we");
    if (f == NULL || fprintf(f, "d %s 0700 - - 0\n", run) < 0 || fclose(f) != 0)
        die("%s: %s", conf, strerror(errno));
    sfid_options opt = options_of("dir", 1, layout);
    opt.run_dir = run;
    sfid *g = open_or_die(&opt);
    const int files = count_entries(app);
    const int64_t id = sfid_next(g);
    clean(conf);
    is_i64(count_entries(app), files, "a cleaner removes nothing from a directory that is in use");
    ok(id >= 0 && sfid_next(g) > id, "IDs go on");
    sfid_close(g);
    clean(conf);
    ok(count_entries(app) < files, "after the close it would have removed files");
}

int main(void) {
    dirs_make();
    told = shared_memory(sizeof *told);
    struct plan p = {.run_dir = dirs.run, .state_dir = dirs.state};
    expect(plainly, &p, true, "nothing there yet");
    is_i64(told->rc, 0, "directories are made");
    test_shared_files();
    test_links();
    test_removed(true, "run directory removed, then closed");
    test_removed(false, "run directory removed, then ended without close");
    told->highest = 0; /* directories of their own */
    test_file_systems();
    test_one_directory();
    test_cleaner();
    return done_testing();
}
