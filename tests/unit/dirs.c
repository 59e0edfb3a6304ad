/* SPDX-License-Identifier: MIT */
/* Run and state directory: which one is chosen, how a missing one is made, and which are
 * refused. */
#include "host/dirs.h"

#include "support/scene.h"
#include "support/user.h"

#include <sched.h>
#include <sfid.h>
#include <sys/auxv.h>
#include <sys/mount.h>

#define NOBODY 65534

typedef int opener(struct sfid__dir *dir, const char *option, struct sfid__error *err);

static struct sfid__error err;
static char tmp[2048];

/* tmp/NAME; good until the eighth call from here. */
static const char *in_tmp(const char *name) {
    static char paths[8][4200];
    static unsigned n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", tmp, name);
    return path;
}

static int mode_of(const char *path) {
    struct stat st;
    return lstat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

static void must(bool done, const char *what) { need(done, "%s: %s", what, strerror(errno)); }

static void no_environment(void) {
    unsetenv("SFID_RUN_DIR");
    unsetenv("SFID_STATE_DIR");
    unsetenv("STATE_DIRECTORY");
}

/* Opens, compares and closes again. */
static bool chosen(opener *open_it, const char *option, const char *want) {
    struct sfid__dir dir = SFID__DIR_NONE;
    err = (struct sfid__error){.code = 0};
    const int rc = open_it(&dir, option, &err);
    const bool good = rc == 0 && strcmp(dir.path, want) == 0 &&
                      (fcntl(dir.fd, F_GETFD) & FD_CLOEXEC) && mode_of(want) == 0700;
    if (!good)
        diag("%s: rc %d, path %s, %s", want, rc, dir.path ? dir.path : "none", err.text);
    sfid__dir_close(&dir);
    return good && dir.fd == -1 && dir.path == NULL;
}

/* ---- which one ------------------------------------------------------------- */

static void by_option_and_environment(opener *open_it, const char *name, const char *variable) {
    no_environment();
    ok(chosen(open_it, in_tmp("option"), in_tmp("option")), "%s: by option", name);
    setenv(variable, in_tmp("environment"), 1);
    ok(chosen(open_it, NULL, in_tmp("environment")), "%s: by %s", name, variable);
    ok(chosen(open_it, in_tmp("option"), in_tmp("option")), "%s: the option goes first", name);
    setenv(variable, in_tmp("a:b"), 1);
    ok(chosen(open_it, NULL, in_tmp("a:b")), "%s: it is one path, colons and all", name);
    struct sfid__dir none = SFID__DIR_NONE;
    setenv(variable, "", 1);
    is_i64(open_it(&none, NULL, &err), SFID_EINVAL, "%s: %s empty is an error", name, variable);
    ok(strstr(err.text, variable) && strstr(err.text, "empty"), "%s: which names it: %s", name,
       err.text);

    char want[4200];
    must(chdir(tmp) == 0 && getcwd(want, sizeof want - 20) != NULL, "chdir");
    snprintf(want + strlen(want), 20, "/rel/ative");
    ok(chosen(open_it, "rel/ative", want), "%s: a relative option is made absolute", name);
    setenv(variable, "rel/ative", 1);
    ok(chosen(open_it, NULL, want), "%s: and so is a relative %s", name, variable);
    must(chdir("/") == 0, "chdir");
    no_environment();
}

static void systemd_list(void) {
    char list[9000];
    setenv("STATE_DIRECTORY", in_tmp("systemd"), 1);
    ok(chosen(sfid__dir_open_state, NULL, in_tmp("systemd")), "state: by STATE_DIRECTORY");
    snprintf(list, sizeof list, "%s:%s", in_tmp("first"), in_tmp("second"));
    setenv("STATE_DIRECTORY", list, 1);
    ok(chosen(sfid__dir_open_state, NULL, in_tmp("first")), "state: of a list the first");
    ok(mode_of(in_tmp("second")) == -1, "state: and no other");
    setenv("SFID_STATE_DIR", in_tmp("ours"), 1);
    ok(chosen(sfid__dir_open_state, NULL, in_tmp("ours")), "state: SFID_STATE_DIR goes first");
    setenv("SFID_STATE_DIR", "", 1);
    ok(chosen(sfid__dir_open_state, "", in_tmp("first")), "state: unless the option is empty");
    no_environment();
}

/* Shared with the child that changes its user and what is mounted. */
static struct seen {
    bool mounted, root_run, root_state, empty_run, empty_state, user_run, user_state, parents,
        user_tmpfs, not_tmpfs;
    int no_home, relative_home;
    char no_home_text[SFID__ERROR_TEXT];
} * seen;

static void look_as_user(const char *home) {
    char path[4200];
    snprintf(path, sizeof path, "/dev/shm/sfid-%u", (unsigned)geteuid());
    const bool was_there = mode_of(path) >= 0;
    seen->user_run = chosen(sfid__dir_open_run, NULL, path);
    if (!was_there)
        rmdir(path);
    unsetenv("HOME");
    struct sfid__dir dir;
    if (chdir(home) < 0)
        return;
    seen->no_home = sfid__dir_open_state(&dir, NULL, &err);
    memcpy(seen->no_home_text, err.text, sizeof err.text);
    setenv("HOME", "home", 1);
    seen->relative_home = sfid__dir_open_state(&dir, NULL, &err);
    setenv("HOME", home, 1);
    snprintf(path, sizeof path, "%s/.local/state/sfid", home);
    umask(0);
    seen->user_state = chosen(sfid__dir_open_state, NULL, path);
    *strrchr(path, '/') = '\0';
    seen->parents = mode_of(path) == 0700;
    *strrchr(path, '/') = '\0';
    seen->parents = seen->parents && mode_of(path) == 0700;
}

/* In file systems of its own, so that this machine's directories stay as they are. */
static void look_as_root(void) {
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, "") < 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") < 0 ||
        mount("none", "/var/lib", "tmpfs", 0, "mode=0755") < 0)
        return;
    seen->mounted = true;
    setenv("HOME", "/dev/shm/nowhere", 1);
    seen->root_run = chosen(sfid__dir_open_run, NULL, "/dev/shm/sfid-0");
    seen->root_state = chosen(sfid__dir_open_state, NULL, "/var/lib/sfid");
    setenv("STATE_DIRECTORY", "", 1);
    seen->empty_run = chosen(sfid__dir_open_run, "", "/dev/shm/sfid-0");
    seen->empty_state = chosen(sfid__dir_open_state, NULL, "/var/lib/sfid");
    no_environment();
    struct sfid__dir dir = {.fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
                     proc = {.fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    seen->user_tmpfs = sfid__dir_is_tmpfs(&dir);
    seen->not_tmpfs = !sfid__dir_is_tmpfs(&proc);
    if (mkdir("/dev/shm/home", 0700) < 0 || chown("/dev/shm/home", NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0)
        return;
    look_as_user("/dev/shm/home");
}

static int look(void *unused) {
    (void)unused;
    geteuid() == 0 ? look_as_root() : look_as_user(in_tmp("home"));
    return 0;
}

static void defaults(void) {
    const bool root = geteuid() == 0;
    seen = shared_memory(sizeof *seen);
    must(mkdir(in_tmp("home"), 0755) == 0, "the place of the defaults");
    is_i64(status_of(spawn(look, NULL)), 0, "a process looks for its default directories");
    if (root && !seen->mounted) {
        skip(9, "cannot mount a file system here");
        return;
    }
    if (root) {
        ok(seen->root_run && seen->root_state,
           "root: /dev/shm/sfid-0 and /var/lib/sfid, wherever HOME is");
        ok(seen->empty_run && seen->empty_state,
           "root: also where the environment has empty names");
        ok(seen->user_tmpfs && seen->not_tmpfs, "a tmpfs is told from what is none");
    } else {
        skip(3, "takes root to be another user");
    }
    if (root && !may_be_another_user()) {
        skip(6, "takes root to be another user");
        return;
    }
    ok(seen->user_run, "a user: /dev/shm/sfid-UID");
    ok(seen->user_state, "a user: below HOME");
    ok(seen->parents, "a user: what is missing on the way is private, whatever the umask");
    is_i64(seen->no_home, SFID_ESTATE, "a user: without HOME there is none");
    ok(strstr(seen->no_home_text, "HOME") && strstr(seen->no_home_text, "SFID_STATE_DIR"),
       "the text tells a way: %s", seen->no_home_text);
    is_i64(seen->relative_home, SFID_ESTATE, "a user: nor with a relative HOME");
}

/* ---- missing ones ---------------------------------------------------------- */

static void made(void) {
    struct sfid__dir dir;
    const mode_t mask = umask(0);
    must(mkdir(in_tmp("given"), 0755) == 0, "mkdir");
    ok(chosen(sfid__dir_open_state, in_tmp("given/a/b/c"), in_tmp("given/a/b/c")),
       "missing parents are made");
    ok(mode_of(in_tmp("given/a")) == 0700 && mode_of(in_tmp("given/a/b")) == 0700,
       "each of them private, whatever the umask");
    ok(mode_of(in_tmp("given")) == 0755, "and the one that was there is as it was");
    umask(mask);
    ok(sfid__dir_open_run(&dir, in_tmp("slash/es//"), &err) == 0, "slashes at the end do no harm");
    sfid__dir_close(&dir);
    ok(mode_of(in_tmp("slash/es")) == 0700, "and make the same directory");
}

static void subdirectories(void) {
    struct sfid__dir in, sub, again;
    must(sfid__dir_open_run(&in, in_tmp("in"), &err) == 0, "open");
    ok(sfid__dir_open_sub(&sub, &in, "app", &err) == 0 && strcmp(sub.path, in_tmp("in/app")) == 0 &&
           mode_of(sub.path) == 0700,
       "a directory inside one is made");
    ok(sfid__dir_reopen(&again, sub.path, &err) == 0 && strcmp(again.path, sub.path) == 0,
       "and opened again by its path");
    sfid__dir_close(&again);
    must(rmdir(sub.path) == 0, "rmdir");
    is_i64(sfid__dir_reopen(&again, sub.path, &err), SFID_ESTATE, "which never makes it");
    sfid__dir_close(&sub);
    must(symlink(tmp, in_tmp("in/link")) == 0 && mkdir(in_tmp("in/open"), 0700) == 0 &&
             chmod(in_tmp("in/open"), 0770) == 0,
         "what is bad");
    ok(sfid__dir_open_sub(&sub, &in, "link", &err) == SFID_ESTATE && strstr(err.text, "in/link"),
       "a link is refused: %s", err.text);
    ok(sfid__dir_open_sub(&sub, &in, "open", &err) == SFID_ESTATE && strstr(err.text, "in/open"),
       "and so is an open one: %s", err.text);
    is_i64(sfid__dir_reopen(&again, in_tmp("in/link"), &err), SFID_ESTATE,
           "also when they are opened again: a link");
    is_i64(sfid__dir_reopen(&again, in_tmp("in/open"), &err), SFID_ESTATE, "an open one");
    sfid__dir_close(&in);
}

/* Where a program has closed the standard descriptors, none of ours may sit there. */
static int open_without_standard(void *unused) {
    (void)unused;
    struct sfid__dir dir = SFID__DIR_NONE, sub = SFID__DIR_NONE;
    close(0);
    close(2);
    const bool high = sfid__dir_open_run(&dir, in_tmp("high"), &err) == 0 && dir.fd > 2 &&
                      sfid__dir_open_sub(&sub, &dir, "sub", &err) == 0 && sub.fd > 2;
    sfid__dir_close(&sub);
    sfid__dir_close(&dir);
    return high && fcntl(0, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0 ? 0 : 1;
}

static void above_standard(void) {
    is_i64(status_of(spawn(open_without_standard, NULL)), 0,
           "no directory is opened under a number below 3");
}

/* ---- bad ones -------------------------------------------------------------- */

static void refused(const char *name, const char *why) {
    struct sfid__dir dir = SFID__DIR_NONE;
    char shown[4200];
    snprintf(shown, sizeof shown, "%s", in_tmp(name));
    if (shown[strlen(shown) - 1] == '/')
        shown[strlen(shown) - 1] = '\0';
    const int fds = entries("/proc/self/fd");
    opener *const both[] = {sfid__dir_open_run, sfid__dir_open_state};
    for (int i = 0; i < 2; i++) {
        err = (struct sfid__error){.code = 0};
        const int rc = both[i](&dir, in_tmp(name), &err);
        ok(rc == SFID_ESTATE && strstr(err.text, shown) && strstr(err.text, why), "%s: \"%s\"",
           name, err.text);
        ok(strstr(err.text,
                  i == 0 ? "as run_dir or SFID_RUN_DIR" : "as state_dir or SFID_STATE_DIR"),
           "which names a way out");
        if (rc == 0)
            sfid__dir_close(&dir);
    }
    is_i64(entries("/proc/self/fd"), fds, "%s: no descriptor is left", name);
}

static void bad(void) {
    must(mkdir(in_tmp("bad"), 0700) == 0 && mkdir(in_tmp("bad/group"), 0700) == 0 &&
             chmod(in_tmp("bad/group"), 0770) == 0 && mkdir(in_tmp("bad/all"), 0700) == 0 &&
             chmod(in_tmp("bad/all"), 01702) == 0 && mkdir(in_tmp("bad/good"), 0700) == 0 &&
             symlink("good", in_tmp("bad/link")) == 0 &&
             symlink("nowhere", in_tmp("bad/dangling")) == 0,
         "what is bad");
    const int fd = open(in_tmp("bad/file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0, "a file");
    close(fd);
    refused("bad/group", "0770");
    refused("bad/all", "1702");
    refused("bad/link", "symbolic link");
    refused("bad/dangling", "symbolic link");
    ok(mode_of(in_tmp("bad/nowhere")) == -1, "nothing is made behind a link");
    refused("bad/link/", "symbolic link");
    refused("bad/file", "not a directory");
    refused("bad/file/below", "not a directory");
    if (may_be_another_user()) {
        must(mkdir(in_tmp("bad/theirs"), 0700) == 0 &&
                 chown(in_tmp("bad/theirs"), NOBODY, NOBODY) == 0,
             "chown");
        refused(
            "bad/theirs",
            "belongs to user 65534, not to user 0 who runs this process: user 65534 or root can remove it");
        must(symlink("good", in_tmp("bad/their-link")) == 0 &&
                 lchown(in_tmp("bad/their-link"), NOBODY, NOBODY) == 0,
             "lchown");
        refused("bad/their-link", "user 65534, who owns it, or root can remove it");
    } else {
        skip(10, "takes root to be another user");
    }
    must(chmod(in_tmp("bad/good"), 0755) == 0, "chmod");
    struct sfid__dir dir;
    ok(sfid__dir_open_run(&dir, in_tmp("bad/good"), &err) == 0, "one that others may read is good");
    sfid__dir_close(&dir);
}

/* A relative path has no meaning where the working directory is gone. */
static void gone(void) {
    struct sfid__dir dir;
    must(mkdir(in_tmp("gone"), 0700) == 0 && chdir(in_tmp("gone")) == 0 &&
             rmdir(in_tmp("gone")) == 0,
         "a directory that goes");
    is_i64(sfid__dir_open_run(&dir, "run", &err), SFID_ESTATE,
           "a working directory that is gone: %s", err.text);
    must(chdir("/") == 0, "chdir");
}

/* ---- a program with rights that its user lacks ----------------------------------- */

enum { REFUSED, NAMED, NOT_SECURE, ROOM = 65536 };

/* What such a program finds; it is this one, with another group, run as a user. */
static int name_in_secure(void) {
    if (!getauxval(AT_SECURE))
        return NOT_SECURE;
    char *run = sfid__dir_name_run(NULL, &err), *state = sfid__dir_name_state(NULL, &err);
    char *given = sfid__dir_name_run("/given", &err);
    const bool both = run || state;
    free(run), free(state);
    const int rc =
        both ? NAMED
        : given && strcmp(given, "/given") == 0 && strstr(err.text, "rights that its user lacks")
            ? REFUSED
            : 9;
    free(given);
    return rc;
}

static int run_as_user(void *program) {
    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 9;
    execl(program, program, "secure", (char *)NULL);
    return NOT_SECURE;
}

static bool copy_of_this(const char *to) {
    static char bytes[ROOM];
    const int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
              out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t n = 0;
    while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0 &&
           write(out, bytes, (size_t)n) == n)
        ;
    close(in);
    return close(out) == 0 && n == 0 && chown(to, 0, 4) == 0 && chmod(to, 02755) == 0;
}

static void borrowed_rights(void) {
    char program[4200];
    snprintf(program, sizeof program, "%s", in_tmp("secure"));
    if (!may_be_another_user() || chmod(tmp, 0755) < 0 || !copy_of_this(program)) {
        skip(1, "not root");
        return;
    }
    if (SANITIZED) { /* it does not start such a program */
        skip(1, "no program here has the rights of a group");
        return;
    }
    const int got = status_of(spawn(run_as_user, program));
    if (got == NOT_SECURE)
        skip(1, "no program here has the rights of a group");
    else
        is_i64(got, REFUSED, "a set-group-ID program has no directories but those in its options");
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1)
        return name_in_secure();
    snprintf(tmp, sizeof tmp, "%s", tap_tmpdir());
    by_option_and_environment(sfid__dir_open_run, "run", "SFID_RUN_DIR");
    by_option_and_environment(sfid__dir_open_state, "state", "SFID_STATE_DIR");
    systemd_list();
    defaults();
    made();
    subdirectories();
    above_standard();
    bad();
    gone();
    borrowed_rights();
    return done_testing();
}
