/* SPDX-License-Identifier: MIT */
#include "base/trust.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKS 40                       /* as many as the kernel follows */
#define LIST "system.posix_acl_access" /* acl(5) */

/* On the heap: a program may open with a small stack. Only what stands before the texts begins with
 * zeros: those are three pages. */
struct walk {
    int at;         /* the directory so far */
    struct stat st; /* of it */
    uid_t top;      /* owner of / */
    int links;
    bool make, to_file; /* make what is missing; go to a file, and not into a directory */
    struct sfid__error *doubt;
    /* in that directory, where the walk is to go next; one that is too long is left too long */
    char name[NAME_MAX + 2];
    char *left;                              /* the way behind it: the end of `room` */
    char seen[PATH_MAX], room[2 * PATH_MAX]; /* seen: the way so far, without links */
};

/* ---- the rule ---------------------------------------------------------------- */

static bool is_ours(uid_t owner, uid_t top) {
    return owner == 0 || owner == geteuid() || owner == top;
}

static bool group_is_ours(const struct stat *st) {
    return st->st_gid == 0 || (st->st_gid == getegid() && st->st_gid == geteuid());
}

/* By the mode alone. */
static bool others_write(const struct stat *st) {
    return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && !group_is_ours(st));
}

/*
 * The group's bits are the mask of an access control list, so that a write entry of it may hide
 * behind a group that is ours. n: what getxattr() returned. What cannot be told is taken for one.
 */
static bool is_list(ssize_t n) { return n > 0 || (n < 0 && errno != ENODATA && errno != ENOTSUP); }

/* Is the directory so far one of the list, or below one? */
static bool is_consented(const char *dir) {
    const char *list = secure_getenv("SFID_TRUST_PARENTS");
    for (size_t n; list && *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        size_t used = n;
        while (used > 1 && list[used - 1] == '/')
            used--;
        if (list[0] == '/' && strncmp(dir, list, used) == 0 &&
            (used == 1 || dir[used] == '/' || dir[used] == '\0'))
            return true;
    }
    return false;
}

/* What is taken from it belongs to this owner: in a sticky directory that counts, and the mode does
 * not. */
static void distrust(struct walk *w, const char *dir, uid_t owner) {
    const unsigned mode = w->st.st_mode & 07777, user = geteuid();
    const bool ours = is_ours(w->st.st_uid, w->top);
    char own[40] = "root";
    if (user)
        snprintf(own, sizeof own, "root or of user %u", user);
    if (ours && (mode & S_ISVTX) == 0)
        sfid__fail(
            w->doubt, SFID_ESTATE,
            "%.200s, on the way, has mode %04o and group %u: others can put another directory in its place. chmod %s it, "
            "choose another path, or, if only programs that you trust see it, name it in SFID_TRUST_PARENTS",
            dir, mode, (unsigned)w->st.st_gid, (mode & S_IWOTH) ? "o-w" : "g-w");
    else
        sfid__fail(
            w->doubt, SFID_ESTATE,
            "%.200s%s%.60s, on the way, belongs to user %u, who can put another directory in its place: choose a path below "
            "directories of %s%s",
            dir, ours ? "/" : "", ours ? w->name : "", (unsigned)(ours ? owner : w->st.st_uid), own,
            ours ? "" : ", or, if you trust that user, name it in SFID_TRUST_PARENTS");
}

/* If others may move what this owner has in the directory, the walk has a doubt. It tells only the
 * first. */
static void walk_judge(struct walk *w, uid_t owner) {
    const char *dir = w->seen[0] ? w->seen : "/";
    const bool sticky = (w->st.st_mode & S_ISVTX) && is_ours(owner, w->top);
    const bool written = others_write(&w->st) ||
                         ((w->st.st_mode & S_IWGRP) && is_list(getxattr(dir, LIST, NULL, 0)));
    const bool good = is_ours(w->st.st_uid, w->top) && (sticky || !written);
    if (!good && w->doubt->code == 0 && !is_consented(dir))
        distrust(w, dir, owner);
}

/* ---- the walk ---------------------------------------------------------------- */

/* The directory so far is this one. 0 or an errno. */
static int go_to(struct walk *w, int fd) {
    if (fd < 0)
        return errno;
    if (w->at >= 0)
        close(w->at);
    w->at = fd;
    return fstat(fd, &w->st) < 0 ? errno : 0;
}

static int go_to_root(struct walk *w) {
    w->seen[0] = '\0';
    const int why = go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    w->top = w->st.st_uid;
    return why;
}

/* Puts the target of the link w->name before the way that is left. */
static int follow(struct walk *w) {
    const size_t before = (size_t)(w->left - w->room);
    const ssize_t n = readlinkat(w->at, w->name, w->room, before);
    if (n < 0)
        return errno;
    if (w->links++ == LINKS)
        return ELOOP;
    if ((size_t)n == before)
        return ENAMETOOLONG;
    w->left -= n;
    memmove(w->left, w->room, (size_t)n);
    return w->left[0] == '/' ? go_to_root(w) : 0;
}

int sfid__trust_make(int parent, const char *name) {
    if (mkdirat(parent, name, 0700) < 0)
        return errno == EEXIST ? 0 : errno;
    const int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) { /* if we may not open or sync it, somebody else has to keep it */
        fsync(fd);
        close(fd);
    }
    return 0;
}

/* Looks at what has the name w->name, and makes it if it is missing and w->make says so. */
static int walk_look(struct walk *w, struct stat *st) {
    int why = fstatat(w->at, w->name, st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
    if (why == ENOENT && w->make && (why = sfid__trust_make(w->at, w->name)) == 0 &&
        fstatat(w->at, w->name, st, AT_SYMLINK_NOFOLLOW) < 0)
        why = errno;
    if (why == 0)
        walk_judge(w, st->st_uid);
    return why;
}

/* Nobody but root and us can change what the name is by now. The dot behind it gets a file system
 * that is mounted when it is asked for. */
static int enter(struct walk *w) {
    char path[sizeof w->name + 2];
    const size_t used = strlen(w->seen);
    snprintf(path, sizeof path, "%s/.", w->name);
    const int why = go_to(w, openat(w->at, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (why)
        return why;
    if (strcmp(w->name, "..") == 0)
        w->seen[used ? strrchr(w->seen, '/') - w->seen : 0] = '\0';
    else if (strcmp(w->name, ".") != 0 && snprintf(w->seen + used, sizeof w->seen - used, "/%s",
                                                   w->name) >= (int)(sizeof w->seen - used))
        return ENAMETOOLONG;
    return 0;
}

/* Takes the next name off the way that is left; false if there is none. */
static bool next_name(struct walk *w) {
    w->left += strspn(w->left, "/");
    const size_t n = strcspn(w->left, "/");
    snprintf(w->name, sizeof w->name, "%.*s", (int)n, w->left);
    w->left += n;
    return n > 0;
}

/* A link in /proc leads to an open file of this process, not to a path. */
static bool is_proc(int dir) {
    struct statfs fs;
    return fstatfs(dir, &fs) == 0 && (uint32_t)fs.f_type == PROC_SUPER_MAGIC;
}

/* Goes all the way; to the directory of the file w->name if w->to_file says so. 0 or an errno. */
static int run(struct walk *w) {
    struct stat st;
    int why = go_to_root(w);
    while (why == 0 && next_name(w)) {
        const bool last = w->to_file && w->left[0] == '\0';
        why = walk_look(w, &st);
        if (why == 0 && S_ISLNK(st.st_mode) && !(last && is_proc(w->at)))
            why = follow(w);
        else if (why == 0 && last)
            return 0;
        else if (why == 0)
            why = enter(w);
    }
    return why;
}

/* Begins a walk along the first n bytes of a path. NULL with errno. */
static struct walk *walk_begin(const char *path, size_t n, struct sfid__error *doubt) {
    struct walk *w = malloc(sizeof *w);
    doubt->code = 0;
    if (w == NULL)
        return NULL;
    memset(w, 0, offsetof(struct walk, name));
    w->at = -1;
    w->doubt = doubt;
    w->left = w->room + PATH_MAX;
    w->name[0] = w->seen[0] = w->left[0] = '\0';
    const bool placed = path[0] == '/' || getcwd(w->left, PATH_MAX) != NULL;
    const size_t used = strlen(w->left);
    if (placed && used + n + 1 < PATH_MAX) {
        snprintf(w->left + used, PATH_MAX - used, "/%.*s", (int)n, path);
        return w;
    }
    free(w);
    errno = placed ? ENAMETOOLONG : errno;
    return NULL;
}

static void walk_end(struct walk *w) {
    if (w->at >= 0)
        close(w->at);
    free(w);
}

int sfid__trust_parent(const char *path, bool make, const char **name, struct sfid__error *doubt) {
    int at = -1;
    *name = strrchr(path, '/') + 1;
    struct walk *w = walk_begin(path, (size_t)(*name - path), doubt);
    if (w == NULL)
        return -1;
    w->make = make;
    const int why = run(w);
    if (why == 0) {
        walk_judge(w, geteuid()); /* what is to be made there, or belongs to us */
        at = w->at;
        w->at = -1;
    }
    walk_end(w);
    errno = why;
    return at;
}

/* ---- files ------------------------------------------------------------------- */

/* The file that the walk came to. -1 with errno. */
static int open_file(const struct walk *w) {
    const int flags =
        O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (is_proc(w->at) ? 0 : O_NOFOLLOW);
    return sfid__fd_above_standard(openat(w->at, w->name[0] ? w->name : ".", flags));
}

/* 0 or an errno. */
static int judge_file(struct walk *w, int fd) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return errno;
    const bool written =
        (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
        (others_write(&st) || ((st.st_mode & S_IWGRP) && is_list(fgetxattr(fd, LIST, NULL, 0))));
    if ((!is_ours(st.st_uid, w->top) || written) && !is_consented(w->seen))
        sfid__fail(
            w->doubt, SFID_ESTATE,
            "it belongs to user %u and has mode %04o, so that others may write to it; chmod go-w it, or use a file of user %u",
            (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, (unsigned)geteuid());
    return 0;
}

int sfid__trust_open(const char *path, struct sfid__error *err) {
    struct sfid__error doubt;
    int fd = -1;
    err->code = 0;
    struct walk *w = walk_begin(path, strlen(path), &doubt);
    if (w == NULL)
        return -1;
    w->to_file = true;
    int why = run(w);
    if (why == 0 && doubt.code == 0) {
        fd = open_file(w);
        why = fd < 0 ? errno : judge_file(w, fd);
    }
    if (doubt.code)
        sfid__fail(err, SFID_ESTATE, "is not used: %s", doubt.text);
    if (fd >= 0 && (why || doubt.code)) {
        close(fd);
        fd = -1;
    }
    walk_end(w);
    errno = why;
    return fd;
}
