/* SPDX-License-Identifier: MIT */
/*
 * Which directories above a file are trusted: run by root as an ordinary user, in trees with every
 * owner, group and mode that such a place may have; links, and names that change while they are
 * walked.
 */
#include "base/trust.h"

#include "support/scene.h"
#include "support/user.h"

#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sfid.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/xattr.h>

enum { USER = 12346, OTHER = 12345, USERS = 100, VOLUME = 2000, TURNS = 3000 };

static char top[4200]; /* the tree: root's, 0755 */

static const char *in_top(const char *name) {
    static char paths[4][4400];
    static unsigned used;
    char *path = paths[used++ % COUNT(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", top, name);
    return path;
}

static void make(const char *name, uid_t owner, gid_t group, mode_t mode) {
    need(mkdir(in_top(name), 0700) == 0 && chown(in_top(name), owner, group) == 0 &&
             chmod(in_top(name), mode) == 0,
         "%s: %s", name, strerror(errno));
}

static void make_link(const char *name, const char *to, uid_t owner) {
    need(symlink(in_top(to), in_top(name)) == 0 && lchown(in_top(name), owner, owner) == 0,
         "%s: %s", name, strerror(errno));
}

/* ---- the rule ---------------------------------------------------------------- */

static const char *consent; /* SFID_TRUST_PARENTS; NULL: unset */
static bool in_volume;      /* the user is in the volume's group as well */

static void become_user(void) {
    const gid_t groups[] = {VOLUME};
    if (setgroups(in_volume, groups) < 0 || setresgid(USER, USER, USER) < 0 ||
        setresuid(USER, USER, USER) < 0)
        _exit(9);
    if (consent)
        setenv("SFID_TRUST_PARENTS", consent, 1);
    else
        unsetenv("SFID_TRUST_PARENTS");
}

enum { TAKEN, REFUSED, CANNOT, TOLD };

/* What becomes of a file below this directory. A walk goes on where it is not trusted, and tells of
 * that. */
static int walks(void *path) {
    struct sfid__error doubt;
    const char *name;
    become_user();
    const int fd = sfid__trust_parent(path, true, &name, &doubt), why = errno;
    if (fd < 0)
        return why == ENOENT || why == EACCES ? CANNOT : 8;
    return doubt.code ? REFUSED : TAKEN;
}

static void is_walked(const char *dir, int want, const char *what) {
    char path[4500];
    snprintf(path, sizeof path, "%s/s", in_top(dir));
    is_i64(status_of(spawn(walks, path)), want, "%s: %s", what,
           want == TAKEN ? "taken" : "refused");
}

/* The sentence for the operator; root asks, to whom the same is not trusted. */
static void is_told(const char *dir, const char *want, const char *what) {
    char path[4500];
    struct sfid__error doubt;
    const char *name;
    snprintf(path, sizeof path, "%s/s", in_top(dir));
    const int fd = sfid__trust_parent(path, false, &name, &doubt);
    ok(fd >= 0 && doubt.code && strstr(doubt.text, want), "it is told %s: %s", what,
       doubt.code ? doubt.text : "nothing");
    close(fd);
}

static void owners_and_modes(void) {
    make("own", USER, USER, 0755);
    is_walked("own", TAKEN, "own, 0755");
    make("other", OTHER, OTHER, 0755);
    is_walked("other", REFUSED, "another user's, 0755");
    make("other/own", USER, USER, 0700);
    is_walked("other/own", REFUSED, "own, below another user's");
    make("sticky", 0, 0, 01777);
    is_walked("sticky", TAKEN, "root's, 1777");
    make("sticky/own", USER, USER, 0700);
    is_walked("sticky/own", TAKEN, "own in root's, 1777");
    make("sticky/other", OTHER, OTHER, 0755);
    is_walked("sticky/other", REFUSED, "another user's in root's, 1777");
    is_told("sticky/other", "sticky/other, on the way, belongs to user 12345",
            "whose it is, and not the mode of /tmp");
    is_told("other", "other, on the way, belongs to user 12345", "another user's directory");
    is_told("other", "or, if you trust that user, name it in SFID_TRUST_PARENTS",
            "which may be named as one that is trusted");
    make("open", 0, 0, 0777);
    is_walked("open", REFUSED, "root's, 0777, as an emptyDir");
    is_told("open", "open, on the way, has mode 0777 and group 0",
            "a mode, with what to do: chmod o-w");
    make("open/own", USER, USER, 0700);
    is_walked("open/own", REFUSED, "own, below root's, 0777");
    make("setgid", 0, VOLUME, 02777);
    is_walked("setgid", REFUSED, "root's, 2777");
    make("mine", USER, USER, 0777);
    is_walked("mine", REFUSED, "own, 0777");
    make("home", USER, USER, 0775);
    is_walked("home", TAKEN, "a home of 0775 whose group has the user's number");
    make("users", USER, USERS, 0775);
    is_walked("users", REFUSED, "a home of 0775 whose group has others");
    make("roots-users", 0, USERS, 0775);
    is_told("roots-users", "chmod g-w it", "a group's right, with what to do");
    make("private", 0, USER, 02775);
    is_walked("private", TAKEN, "root's with the user's own group, 2775");
    make("assigned", 0, 0, 02775);
    is_walked("assigned", TAKEN,
              "root's with group 0, 2775, as OpenShift mounts a volume for a user it has chosen");
    make("zero", USER, 0, 0770);
    is_walked("zero", TAKEN, "group 0, 0770");
    make("wheel", 0, 0, 0775);
    is_walked("wheel", TAKEN, "root's with group 0, 0775");
}

static void by_consent(void) {
    char list[9000];
    make("volume", 0, VOLUME, 02775);
    in_volume = true;
    is_walked("volume", REFUSED, "root's with a group that the user is also in, 2775");
    snprintf(list, sizeof list, "%s", in_top("volume"));
    consent = list;
    is_walked("volume", TAKEN, "the same, named in SFID_TRUST_PARENTS");
    make("volume/deep", USER, VOLUME, 02775);
    is_walked("volume/deep", TAKEN, "and below it");
    in_volume = false;
    make("volumes", 0, 0, 0777);
    is_walked("volumes", REFUSED, "a longer name");
    is_walked("open", REFUSED, "another directory");
    snprintf(list, sizeof list, "relative::%s//:%s", in_top("volumes"), in_top("open"));
    consent = list;
    is_walked("volumes", TAKEN, "the third of a list, with slashes");
    is_walked("open", TAKEN, "the last of a list");
    is_walked("users", REFUSED, "none of a list");
    make("by-dots", 0, 0, 0755);
    snprintf(list, sizeof list, "%s", in_top("volumes"));
    is_walked("volumes/../users", REFUSED, "two dots lead out of one that is named");
    is_walked("by-dots/.././volumes/.", TAKEN, "dots lead into it");
    consent = "/";
    is_walked("users", TAKEN, "all of them");
    consent = NULL;
}

/* ---- what a kernel can do to a directory ------------------------------------------ */

/* An access control list that lets another user write, as setfacl(1) makes it. False where there
 * are none. */
static bool let_write(const char *path) {
    const struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entry[5];
    } list = {2,
              {{1, 7, UINT32_MAX},
               {2, 7, OTHER},
               {4, 5, UINT32_MAX},
               {16, 7, UINT32_MAX},
               {32, 5, UINT32_MAX}}};
    return setxattr(path, "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

static void access_lists(void) {
    make("listed", USER, USER, 0755);
    if (!let_write(in_top("listed"))) {
        skip(4, "no access control lists here");
        return;
    }
    struct stat st;
    need(stat(in_top("listed"), &st) == 0, "stat");
    is_i64(st.st_mode & 07777, 0775, "an access control list shows in the bits of the group");
    is_walked("listed", REFUSED,
              "own, 0775 of its own group, with a list that lets another user write");
    make("unread", 0, 0, 0711);
    make("unread/s", USER, USER, 0700);
    is_walked("unread", TAKEN, "root's, which we may not read");
    need(let_write(in_top("unread")) && chmod(in_top("unread"), 0771) == 0, "a list");
    is_walked("unread", REFUSED, "the same with a list that lets another user write");
}

/* In a namespace of mounts: a bind mount and an overlay are judged by what is mounted. */
static int mounts(void *arg) {
    const char *const options = arg;
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(in_top("other"), in_top("bound"), "none", MS_BIND, NULL) < 0)
        return 6;
    const bool layered = mount("overlay", in_top("layered"), "overlay", 0, options) == 0;
    char bound[4500], over[4500];
    snprintf(bound, sizeof bound, "%s/s", in_top("bound"));
    snprintf(over, sizeof over, "%s/s", in_top("layered"));
    if (status_of(spawn(walks, bound)) != REFUSED)
        return 5;
    return !layered ? TOLD : status_of(spawn(walks, over)) == TAKEN ? TAKEN : 4;
}

/* As an emptyDir in memory, at /dev/shm or elsewhere: a tmpfs of root's that all may write to. */
static int in_memory(void *unused) {
    (void)unused;
    char below[4500];
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", in_top("memory"), "tmpfs", 0, "mode=0777") < 0)
        return 6;
    snprintf(below, sizeof below, "%s/run", in_top("memory"));
    if (status_of(spawn(walks, below)) != REFUSED)
        return 5;
    consent = in_top("memory");
    if (status_of(spawn(walks, below)) != TAKEN)
        return 4;
    consent = NULL;
    return chmod(in_top("memory"), 01777) < 0 ? 3 : status_of(spawn(walks, below));
}

static void memory(void) {
    make("memory", 0, 0, 0755);
    const int got = status_of(spawn(in_memory, NULL));
    if (got == 6)
        skip(1, "cannot mount a file system here");
    else
        is_i64(
            got, TAKEN,
            "a tmpfs, 0777: refused, but taken where SFID_TRUST_PARENTS names it, or with a sticky bit");
}

static void mounted(void) {
    char options[14000];
    make("bound", USER, USER, 0755);
    make("layered", 0, 0, 0755);
    make("lower", 0, 0, 0755), make("upper", USER, USER, 0755), make("work", 0, 0, 0755);
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,", in_top("lower"), in_top("upper"));
    snprintf(options + strlen(options), sizeof options - strlen(options), "workdir=%s",
             in_top("work"));
    const int got = status_of(spawn(mounts, options));
    if (got == 6) {
        skip(1, "cannot mount a file system here");
        return;
    }
    ok(got == TAKEN || got == TOLD, "another user's directory, mounted over ours: refused%s",
       got == TOLD ? "; no overlay can be mounted here" : "; ours as an overlay: taken");
}

/* In a namespace of users that has only this one: / and all of root's belong to nobody there. */
static int alone(void *path) {
    char map[40];
    struct sfid__error err;
    const char *name;
    become_user();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* or /proc/self is root's since the change of user */
    if (unshare(CLONE_NEWUSER) < 0)
        return 6;
    snprintf(map, sizeof map, "%d %d 1", USER, USER);
    const int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, strlen(map)) < 0)
        return 6;
    close(fd);
    struct stat st;
    if (stat("/", &st) < 0 || st.st_uid == 0)
        return 5;
    return sfid__trust_parent(path, true, &name, &err) < 0 ? 4 : err.code ? REFUSED : TAKEN;
}

static void in_namespace(const char *dir, int want, const char *what) {
    char path[4500];
    snprintf(path, sizeof path, "%s/s", in_top(dir));
    const int got = status_of(spawn(alone, path));
    if (got == 6)
        skip(1, "cannot make a user namespace here");
    else
        is_i64(got, want, "in a user namespace without root: %s", what);
}

/* ---- links ------------------------------------------------------------------- */

static void links(void) {
    make("roots", 0, 0, 0755);
    make_link("link", "own", 0);
    is_walked("link", TAKEN, "root's link");
    make_link("sticky/mine", "own", USER);
    is_walked("sticky/mine", TAKEN, "own link in 1777");
    make_link("sticky/theirs", "own", OTHER);
    is_walked("sticky/theirs", REFUSED, "another user's link in 1777");
    make_link("to-other", "other", 0);
    is_walked("to-other", REFUSED, "root's link to another user's");
    need(symlink("../own/../link", in_top("own/up")) == 0, "no link");
    is_walked("own/up", TAKEN, "a relative link to a link");
    need(symlink("loop", in_top("loop")) == 0, "no link");
    struct sfid__error err;
    const char *name;
    errno = 0;
    ok(sfid__trust_parent(in_top("loop/s"), false, &name, &err) < 0 && err.code == 0 &&
           errno == ELOOP,
       "a link to itself: %s", strerror(errno));
    char last[32] = "roots", next[32];
    for (int i = 0; i <= 40; i++) {
        snprintf(next, sizeof next, "chain-%d", i);
        need(symlink(last, in_top(next)) == 0, "no link");
        memcpy(last, next, sizeof last);
    }
    const int fd = sfid__trust_parent(in_top("chain-39/s"), false, &name, &err);
    ok(fd >= 0, "forty links");
    close(fd);
    ok(sfid__trust_parent(in_top("chain-40/s"), false, &name, &err) < 0 && errno == ELOOP,
       "and no more");
    char *path = malloc(PATH_MAX + 10);
    need(path != NULL, "no memory");
    memset(path, '/', PATH_MAX + 9);
    path[PATH_MAX + 9] = '\0';
    ok(sfid__trust_parent(path, false, &name, &err) < 0 && errno == ENAMETOOLONG,
       "a path of PATH_MAX");
    free(path);
    char longest[4700];
    snprintf(longest, sizeof longest, "%s/%0*d/s", top, NAME_MAX + 1, 7);
    ok(sfid__trust_parent(longest, false, &name, &err) < 0 && errno == ENAMETOOLONG,
       "a name of more than NAME_MAX");
}

/* ---- changes ----------------------------------------------------------------- */

static atomic_int stop;

/* One name leads to two directories in turn: by a rename, and by a link. */
static void *swap(void *unused) {
    while (!atomic_load(&stop)) {
        rename(in_top("turn"), in_top("turn-b"));
        rename(in_top("turn-a"), in_top("turn"));
        rename(in_top("turn"), in_top("turn-a"));
        rename(in_top("turn-b"), in_top("turn"));
    }
    return unused;
}

static void renamed(void) {
    pthread_t thread;
    struct stat a, b, st;
    struct sfid__error err;
    char path[4500];
    unsigned ends = 0, gone = 0, wrong = 0;
    make("turn", 0, 0, 0755), make("turn/x", 0, 0, 0755);
    make("turn-a", 0, 0, 0755), make("turn-a/x", 0, 0, 0755);
    need(stat(in_top("turn/x"), &a) == 0 && stat(in_top("turn-a/x"), &b) == 0, "no directories");
    snprintf(path, sizeof path, "%s/turn/x/s", top);
    need(pthread_create(&thread, NULL, swap, NULL) == 0, "no thread");
    for (int i = 0; i < TURNS || ends == 0; i++) {
        const char *name;
        const int fd = sfid__trust_parent(path, false, &name, &err);
        if (fd < 0) {
            gone += err.code == 0 && errno == ENOENT;
            wrong += err.code != 0 || errno != ENOENT;
            continue;
        }
        need(fstat(fd, &st) == 0, "fstat");
        const bool one = (st.st_ino == a.st_ino && st.st_dev == a.st_dev) ||
                         (st.st_ino == b.st_ino && st.st_dev == b.st_dev);
        ends += one;
        wrong += !one;
        close(fd);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    ok(ends > 0 && wrong == 0,
       "a name that changes: each walk ends in one of the two directories (%u), or finds none (%u)",
       ends, gone);
}

/* ---- files ------------------------------------------------------------------- */

static int opens(void *path) {
    struct sfid__error err;
    become_user();
    const int fd = sfid__trust_open(path, &err);
    char byte;
    if (fd >= 0)
        return read(fd, &byte, 1) == 1 && byte == 'p' ? TAKEN : 8;
    return err.code ? REFUSED : CANNOT;
}

static void make_file(const char *name, uid_t owner, gid_t group, mode_t mode) {
    const int fd = open(in_top(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, "p", 1) == 1 && fchown(fd, owner, group) == 0 &&
             fchmod(fd, mode) == 0,
         "%s: %s", name, strerror(errno));
    close(fd);
}

static void is_read(const char *name, int want, const char *what) {
    char path[4500];
    snprintf(path, sizeof path, "%s", in_top(name));
    is_i64(status_of(spawn(opens, path)), want, "a file that is %s: %s", what,
           want == TAKEN    ? "read"
           : want == CANNOT ? "not opened"
                            : "refused");
}

static void files(void) {
    make_file("own/good", USER, USER, 0600);
    is_read("own/good", TAKEN, "own, 0600");
    make_file("own/roots", 0, USER, 0440);
    is_read("own/roots", TAKEN, "root's, 0440");
    make_file("own/theirs", OTHER, OTHER, 0644);
    is_read("own/theirs", REFUSED, "another user's");
    make_file("own/open", USER, USER, 0666);
    is_read("own/open", REFUSED, "own, 0666");
    make_file("own/group", USER, USERS, 0660);
    is_read("own/group", REFUSED, "own, 0660 with a group of others");
    make_file("open/good", USER, USER, 0600);
    is_read("open/good", REFUSED, "own, in root's 0777");
    make_file("sticky/theirs-too", OTHER, OTHER, 0644);
    is_read("sticky/theirs-too", REFUSED, "another user's in 1777");
    make_link("own/link-to-good", "own/good", USER);
    is_read("own/link-to-good", TAKEN, "behind a link");
    make_link("own/link-to-open", "open/good", USER);
    is_read("own/link-to-open", REFUSED, "behind a link into 0777");
    /* As Kubernetes has secrets: each name is a link to ..data/NAME, and that a link to a directory
     * with a date. */
    make("secret", 0, USER, 01777);
    make("secret/..2026", 0, USER, 0755);
    make_file("secret/..2026/password", 0, USER, 0440);
    need(symlink("..2026", in_top("secret/..data")) == 0 &&
             symlink("..data/password", in_top("secret/password")) == 0,
         "no links");
    is_read("secret/password", TAKEN, "a secret in a volume");
    is_read("own/none", CANNOT, "missing");
    char list[4400];
    snprintf(list, sizeof list, "%s", in_top("open"));
    consent = list;
    is_read("open/good", TAKEN, "below SFID_TRUST_PARENTS");
    consent = NULL;
}

/* Of the process itself: /dev/fd/N, and a relative path. */
static void own_files(void) {
    struct sfid__error err;
    char path[40], byte = 0;
    const int fd = open(in_top("own/roots"), O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    int again = sfid__trust_open(path, &err);
    ok(again >= 0 && read(again, &byte, 1) == 1 && byte == 'p',
       "a file that is open already, by %s", path);
    close(again), close(fd);
    need(chdir(top) == 0, "chdir");
    make_file("roots/file", 0, 0, 0600);
    again = sfid__trust_open("roots/file", &err);
    ok(again >= 0, "a relative path");
    close(again);
    need(chdir("/") == 0, "chdir");
}

int main(void) {
    snprintf(top, sizeof top, "%s", tap_tmpdir());
    if (!may_be_another_user() || chown(top, 0, 0) < 0)
        skip_all("not root");
    unsetenv("SFID_TRUST_PARENTS");
    umask(022);
    need(chmod(top, 0755) == 0, "chmod");
    owners_and_modes();
    by_consent();
    access_lists();
    mounted();
    memory();
    in_namespace("own", TAKEN, "own: taken");
    in_namespace("other", TAKEN, "another user's, which cannot be told from root's: taken");
    in_namespace("mine", REFUSED, "own, 0777: refused");
    links();
    renamed();
    files();
    own_files();
    return done_testing();
}
