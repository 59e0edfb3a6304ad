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

#define LINKS 40 /* as many as the kernel follows */

/* On the heap: a program may open with a small stack. */
struct walk {
    int at;         /* the directory so far */
    struct stat st; /* of it */
    uid_t top;      /* owner of / */
    int links;
    bool make;
    struct sfid__error *doubt, *err;
    char seen[PATH_MAX], left[PATH_MAX], target[PATH_MAX]; /* the way to it, without links; the way from it; of a link */
};

/* ---- the rule ---------------------------------------------------------------- */

static bool is_ours(uid_t owner, uid_t top) { return owner == 0 || owner == geteuid() || owner == top; }

static bool group_is_ours(const struct stat *st) { return st->st_gid == 0 || (st->st_gid == getegid() && st->st_gid == geteuid()); }

/* The group's bits are the mask of an access control list, so that a write entry of it hides behind a group that is ours. */
static bool has_list(int fd) { return fgetxattr(fd, "system.posix_acl_access", NULL, 0) > 0; }

/* fd: to ask for a list; a descriptor of a path alone cannot. */
static bool others_write(const struct stat *st, int fd) {
    if ((st->st_mode & S_IWOTH) || !(st->st_mode & S_IWGRP) || !group_is_ours(st))
        return st->st_mode & (S_IWOTH | S_IWGRP);
    const int dir = S_ISDIR(st->st_mode) ? openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const bool hides = has_list(dir < 0 ? fd : dir);
    if (dir >= 0)
        close(dir);
    return hides;
}

/* Is the directory so far one of the list, or below one? */
static bool is_consented(const char *dir) {
    const char *list = secure_getenv("SFID_TRUST_PARENTS");
    for (size_t n; list && *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        size_t used = n;
        while (used > 1 && list[used - 1] == '/')
            used--;
        if (list[0] == '/' && strncmp(dir, list, used) == 0 && (used == 1 || dir[used] == '/' || dir[used] == '\0'))
            return true;
    }
    return false;
}

static int distrust(const struct walk *w, const char *dir, struct sfid__error *err) {
    const unsigned mode = w->st.st_mode & 07777, user = geteuid();
    if (!is_ours(w->st.st_uid, w->top))
        return sfid__fail(err, SFID_ESTATE,
                          "%.200s, on the way, belongs to user %u, who can put another directory in its place: choose a path below "
                          "directories of root or of user %u",
                          dir, (unsigned)w->st.st_uid, user);
    return sfid__fail(
        err, SFID_ESTATE,
        "%.200s, on the way, has mode %04o and group %u: others can put another directory in its place. chmod %s it, choose "
        "another path, or, if only programs that you trust see it, name it in SFID_TRUST_PARENTS",
        dir, mode, (unsigned)w->st.st_gid, (mode & S_IWOTH) ? "o-w" : "g-w");
}

/* Whether what belongs to this owner, at a name in the directory so far, stays there. 0, or EPERM with w->err. */
static int judge(struct walk *w, uid_t owner) {
    const char *dir = w->seen[0] ? w->seen : "/";
    const bool kept = (w->st.st_mode & S_ISVTX) && is_ours(owner, w->top);
    if (is_ours(w->st.st_uid, w->top) && (kept || !others_write(&w->st, w->at)))
        return 0;
    if (is_consented(dir))
        return 0;
    if (w->doubt == NULL)
        return distrust(w, dir, w->err) < 0 ? EPERM : 0;
    if (w->doubt->code == 0)
        distrust(w, dir, w->doubt);
    return 0;
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
    return go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Puts the target of a link in the place of its name, before what is left at `rest`. */
static int follow(struct walk *w, const char *name, const char *rest) {
    const ssize_t n = readlinkat(w->at, name, w->target, sizeof w->target - 1);
    const size_t len = strlen(rest);
    if (n < 0)
        return errno;
    if (w->links++ == LINKS)
        return ELOOP;
    if ((size_t)n + len >= sizeof w->left)
        return ENAMETOOLONG;
    memmove(w->left + n, rest, len + 1);
    memcpy(w->left, w->target, (size_t)n);
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

/* Looks at a name in the directory so far, and makes it if it is missing and w->make says so. */
static int look(struct walk *w, const char *name, struct stat *st) {
    if (fstatat(w->at, name, st, AT_SYMLINK_NOFOLLOW) == 0)
        return judge(w, st->st_uid);
    if (errno != ENOENT || !w->make)
        return errno;
    int why = judge(w, geteuid());
    if (why == 0)
        why = sfid__trust_make(w->at, name);
    return why == 0 && fstatat(w->at, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : why;
}

/* Nobody but root and us can change what the name is by now. The dot behind it gets a file system that is mounted when it is asked for. */
static int enter(struct walk *w, const char *name) {
    char path[NAME_MAX + 3];
    const size_t used = strlen(w->seen);
    snprintf(path, sizeof path, "%s/.", name);
    const int why = go_to(w, openat(w->at, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (why)
        return why;
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(w->seen, '/');
        if (slash)
            *slash = '\0';
    } else if (strcmp(name, ".") != 0) {
        if (used + strlen(name) + 2 > sizeof w->seen)
            return ENAMETOOLONG;
        snprintf(w->seen + used, sizeof w->seen - used, "/%s", name);
    }
    return 0;
}

/* Takes the first name off w->left and goes there. 0 or an errno. */
static int step(struct walk *w) {
    char name[NAME_MAX + 1];
    struct stat st;
    const size_t n = strcspn(w->left, "/");
    if (n > NAME_MAX)
        return ENAMETOOLONG;
    memcpy(name, w->left, n);
    name[n] = '\0';
    const int why = look(w, name, &st);
    if (why)
        return why;
    if (S_ISLNK(st.st_mode))
        return follow(w, name, w->left + n);
    memmove(w->left, w->left + n, strlen(w->left + n) + 1);
    return enter(w, name);
}

/* To the directory that w->left names, from / or, if it is relative, from the directory so far. */
static int run(struct walk *w) {
    int why = 0;
    if (w->at < 0) {
        why = go_to_root(w);
        w->top = w->st.st_uid;
    }
    for (size_t slashes; why == 0 && (slashes = strspn(w->left, "/"), w->left[slashes] != '\0');) {
        memmove(w->left, w->left + slashes, strlen(w->left + slashes) + 1);
        why = step(w);
    }
    return why;
}

static struct walk *begin(const char *path, bool make, struct sfid__error *doubt, struct sfid__error *err, int *why) {
    struct walk *w = malloc(sizeof *w);
    err->code = 0;
    if (doubt)
        doubt->code = 0;
    *why = w == NULL ? ENOMEM : strlen(path) < sizeof w->left ? 0 : ENAMETOOLONG;
    if (w == NULL)
        return NULL;
    w->at = -1;
    w->links = 0;
    w->make = make;
    w->doubt = doubt;
    w->err = err;
    if (*why == 0) /* from the first slash to the last: the directory */
        snprintf(w->left, sizeof w->left, "%.*s", (int)(strrchr(path, '/') - path), path);
    return w;
}

/* Returns the directory, or -1 with errno. */
static int end(struct walk *w, int why) {
    const int at = w ? w->at : -1;
    if (why && at >= 0)
        close(at);
    free(w);
    errno = why;
    return why ? -1 : at;
}

int sfid__trust_parent(const char *path, bool make, const char **name, struct sfid__error *doubt, struct sfid__error *err) {
    int why;
    struct walk *w = begin(path, make, doubt, err, &why);
    *name = strrchr(path, '/') + 1;
    if (why == 0)
        why = run(w);
    if (why == 0)
        why = judge(w, geteuid()); /* what is to be made there, or belongs to us */
    return end(w, why);
}

/* ---- files ------------------------------------------------------------------- */

/* A link in /proc leads to an open file of this process, not to a path. */
static bool is_proc(int dir) {
    struct statfs fs;
    return fstatfs(dir, &fs) == 0 && (uint32_t)fs.f_type == PROC_SUPER_MAGIC;
}

/* Opens a name in the directory so far, and follows links. The descriptor, or -1 with errno. */
static int open_last(struct walk *w, char name[NAME_MAX + 1]) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    for (int why;;) {
        if ((why = look(w, name, &st)) == 0 && (!S_ISLNK(st.st_mode) || is_proc(w->at)))
            return sfid__fd_above_standard(openat(w->at, name, S_ISLNK(st.st_mode) ? flags : flags | O_NOFOLLOW));
        if (why == 0)
            why = follow(w, name, "");
        char *slash = strrchr(w->left, '/'), *last = slash ? slash + 1 : w->left;
        if (why == 0 && strlen(last) > NAME_MAX)
            why = ENAMETOOLONG;
        if (why == 0) {
            memcpy(name, last, strlen(last) + 1);
            *(slash ? slash : w->left) = '\0';
            why = run(w);
        }
        if (why) {
            errno = why;
            return -1;
        }
    }
}

static int check_file(struct walk *w, int fd) {
    struct stat st;
    if (fstat(fd, &st) < 0)
        return errno;
    const bool written = (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && others_write(&st, fd);
    if ((is_ours(st.st_uid, w->top) && !written) || is_consented(w->seen))
        return 0;
    sfid__fail(w->err, SFID_ESTATE,
               "it belongs to user %u and has mode %04o, so that others may write to it; chmod go-w it, or use a file of user %u",
               (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, (unsigned)geteuid());
    return EPERM;
}

int sfid__trust_open(const char *path, struct sfid__error *err) {
    char whole[PATH_MAX], name[NAME_MAX + 1];
    int why = 0, fd = -1;
    whole[0] = '\0';
    err->code = 0;
    if (path[0] != '/' && getcwd(whole, sizeof whole) == NULL)
        return -1;
    const size_t used = strlen(whole);
    if ((size_t)snprintf(whole + used, sizeof whole - used, "/%s", path) >= sizeof whole - used) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const char *full = path[0] == '/' ? path : whole;
    struct walk *w = begin(full, false, NULL, err, &why);
    const char *last = strrchr(full, '/') + 1;
    if (why == 0 && strlen(last) > NAME_MAX)
        why = ENAMETOOLONG;
    if (why == 0)
        why = run(w);
    if (why == 0) {
        snprintf(name, sizeof name, "%s", *last ? last : ".");
        fd = open_last(w, name);
        why = fd < 0 ? errno : check_file(w, fd);
    }
    if (why && fd >= 0)
        close(fd);
    const int at = end(w, why);
    if (at >= 0)
        close(at);
    errno = why;
    return why ? -1 : fd;
}
