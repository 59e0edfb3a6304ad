/* SPDX-License-Identifier: MIT */
#include "host/dirs.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void sfid__dir_close(struct sfid__dir *dir) {
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    free(dir->doubt);
    *dir = (struct sfid__dir)SFID__DIR_NONE;
}

/* Appends what the user can do. NULL: nothing, of a directory inside the run or state directory. */
static void say_cure(struct sfid__error *err, const char *cure) {
    const size_t used = strlen(err->text);
    if (cure)
        snprintf(err->text + used, sizeof err->text - used, "; %s", cure);
}

static int belongs_to_other(struct sfid__error *err, const char *path, unsigned owner) {
    return sfid__fail(
        err, SFID_ESTATE,
        "directory %s belongs to user %u, not to user %u who runs this process: user %u or root can remove it",
        path, owner, (unsigned)geteuid(), owner);
}

/* In a place like /dev/shm another user may have made something first. The message then says who
 * can remove it. */
static int cannot_open(struct sfid__error *err, const char *path, int errnum) {
    struct stat st;
    const bool others = lstat(path, &st) == 0 && st.st_uid != geteuid();
    if ((errnum == ELOOP || errnum == ENOTDIR) && others)
        return sfid__fail(
            err, SFID_ESTATE,
            "%s is not a directory (symbolic links are not followed): user %u, who owns it, or root can remove it",
            path, (unsigned)st.st_uid);
    if (errnum == ELOOP || errnum == ENOTDIR)
        return sfid__fail(err, SFID_ESTATE,
                          "%s is not a directory (symbolic links are not followed)", path);
    if (errnum == EACCES && others)
        return belongs_to_other(err, path, st.st_uid);
    return sfid__fail_errno(err, SFID_ESTATE, errnum, "cannot use directory %s", path);
}

/* Moves fd, just opened or -1 with errno, and path into dir if the directory can be trusted. Frees
 * path if not. */
static int adopt(struct sfid__dir *dir, int fd, char *path, const char *cure,
                 struct sfid__error *err) {
    struct stat st;
    *dir = (struct sfid__dir){.fd = sfid__fd_above_standard(fd), .path = path};
    int rc = 0;
    if (fd < 0)
        rc = cannot_open(err, path, errno);
    else if (dir->fd < 0 || fstat(dir->fd, &st) < 0)
        rc = sfid__fail_errno(err, SFID_ESTATE, errno, "cannot look at directory %s", path);
    else if (st.st_uid != geteuid())
        rc = belongs_to_other(err, path, st.st_uid);
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        rc = sfid__fail(err, SFID_ESTATE,
                        "directory %s has mode %04o: others may write to it; it should be 0700",
                        path, (unsigned)st.st_mode & 07777);
    if (rc < 0) {
        say_cure(err, cure);
        sfid__dir_close(dir);
        return rc;
    }
    dir->device = st.st_dev;
    dir->inode = st.st_ino;
    return 0;
}

/* An absolute copy of path: a daemon changes its working directory. NULL with err filled in on
 * failure. */
static char *absolute(const char *path, size_t len, struct sfid__error *err) {
    char *out = NULL;
    /* open(2) follows a link with a slash behind it, even with O_NOFOLLOW */
    while (len > 1 && path[len - 1] == '/')
        len--;
    char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && cwd == NULL && errno != ENOMEM) {
        sfid__fail_errno(err, SFID_ESTATE, errno, "cannot determine the working directory");
        return NULL;
    }
    if (path[0] == '/')
        out = strndup(path, len);
    else if (cwd && asprintf(&out, "%s/%.*s", cwd, (int)len, path) < 0)
        out = NULL;
    free(cwd);
    if (out == NULL)
        sfid__fail(err, SFID_ENOMEM, "out of memory");
    return out;
}

/*
 * Sets *out to the option or, without one, to the environment variable; to NULL if there is
 * neither, or the option is "". A variable that is set and empty is somebody's mistake: in the
 * default directory the processes of an app would not meet. Then false.
 */
static bool choose(const char **out, const char *option, const char *variable,
                   struct sfid__error *err) {
    const char *value = option ? option : secure_getenv(variable);
    *out = value && *value ? value : NULL;
    if (*out || value == NULL || option)
        return true;
    sfid__fail(err, SFID_EINVAL,
               "the variable %s is set and empty; unset it, or name a directory in it", variable);
    return false;
}

/*
 * A set-group-ID program, or one with file capabilities, has rights that its user lacks, but its
 * files belong to that user, who may write to them. To name a directory in the options is the
 * consent of whoever made the program.
 */
static bool is_users_own(const char *option, const char *what, struct sfid__error *err) {
    if (option || !getauxval(AT_SECURE) || getuid() != geteuid() || geteuid() == 0)
        return false;
    sfid__fail(
        err, SFID_ESTATE,
        "this program has rights that its user lacks, and user %u may write to its %s: give both directories in the "
        "options, or use "
        "a fixed pid and no app",
        (unsigned)geteuid(), what);
    return true;
}

char *sfid__dir_name_run(const char *option, struct sfid__error *err) {
    const char *given;
    if (is_users_own(option, "run directory", err) || !choose(&given, option, "SFID_RUN_DIR", err))
        return NULL;
    char name[40];
    snprintf(name, sizeof name, "/dev/shm/sfid-%u", (unsigned)geteuid());
    given = given ? given : name;
    return absolute(given, strlen(given), err);
}

char *sfid__dir_name_state(const char *option, struct sfid__error *err) {
    const char *given;
    if (is_users_own(option, "state directory", err) ||
        !choose(&given, option, "SFID_STATE_DIR", err))
        return NULL;
    if (given)
        return absolute(given, strlen(given), err);
    /* systemd.exec(5): a list with colons in between */
    const char *systemd = secure_getenv("STATE_DIRECTORY");
    if (systemd && *systemd && *systemd != ':')
        return absolute(systemd, strcspn(systemd, ":"), err);
    if (geteuid() == 0)
        return absolute("/var/lib/sfid", strlen("/var/lib/sfid"), err);
    const char *home = secure_getenv("HOME");
    char *path = NULL;
    if (home == NULL)
        sfid__fail(err, SFID_ESTATE,
                   "no state directory: HOME is not set; give state_dir or SFID_STATE_DIR");
    else if (home[0] != '/')
        sfid__fail(
            err, SFID_ESTATE,
            "no state directory: HOME is \"%.200s\", not an absolute path; give state_dir or SFID_STATE_DIR",
            home);
    else if (asprintf(&path, "%s/.local/state/sfid", home) < 0) {
        sfid__fail(err, SFID_ENOMEM, "out of memory");
        path = NULL;
    }
    return path;
}

static int make_brief(int parent, const char *name) {
    return mkdirat(parent, name, 0700) < 0 && errno != EEXIST ? errno : 0;
}

/* Opens a directory, and makes it if it is missing. brief: its name need not be durable. -1 with
 * errno. */
static int open_made(int parent, const char *name, bool brief) {
    const int fd = openat(parent, name, OPEN_FLAGS);
    if (fd >= 0 || errno != ENOENT ||
        (errno = (brief ? make_brief : sfid__trust_make)(parent, name)) != 0)
        return fd;
    return openat(parent, name, OPEN_FLAGS);
}

/* Takes over path and frees it. If path is NULL, err already says why. */
static int open_path(struct sfid__dir *dir, char *path, const char *cure, struct sfid__error *err) {
    if (path == NULL)
        return err->code;
    const char *name;
    struct sfid__error doubt;
    const int parent = sfid__trust_parent(path, true, &name, &doubt);
    const int fd = parent < 0 ? -1 : open_made(parent, name, false), why = errno;
    if (parent >= 0)
        close(parent);
    errno = why;
    const int rc = adopt(dir, fd, path, cure, err);
    if (rc == 0 && doubt.code && (dir->doubt = strdup(doubt.text)) == NULL) {
        sfid__dir_close(dir);
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    }
    return rc;
}

int sfid__dir_refuse_doubt(const struct sfid__dir *dir, struct sfid__error *err) {
    return dir->doubt ? sfid__fail(err, SFID_ESTATE, "directory %.150s: %s", dir->path, dir->doubt)
                      : 0;
}

int sfid__dir_open_run(struct sfid__dir *dir, const char *option, struct sfid__error *err) {
    const char *cure = "or give another directory in memory as run_dir or SFID_RUN_DIR";
    const int rc = open_path(dir, sfid__dir_name_run(option, err), cure, err);
    dir->brief = true;
    return rc;
}

int sfid__dir_open_state(struct sfid__dir *dir, const char *option, struct sfid__error *err) {
    return open_path(dir, sfid__dir_name_state(option, err),
                     "or give another persistent directory as state_dir or SFID_STATE_DIR", err);
}

int sfid__dir_go_on_state(struct sfid__dir *dir, struct sfid__dir **opened, const char *option,
                          struct sfid__error *err) {
    struct sfid__dir *was = *opened;
    *opened = NULL;
    if (was == NULL)
        return sfid__dir_open_state(dir, option, err);
    *dir = *was;
    *was = (struct sfid__dir)SFID__DIR_NONE;
    return 0;
}

int sfid__dir_open_sub(struct sfid__dir *dir, const struct sfid__dir *in, const char *name,
                       struct sfid__error *err) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", in->path, name) < 0)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    const bool brief = in->brief; /* *dir may be *in */
    const int rc = adopt(dir, open_made(in->fd, name, brief), path, NULL, err);
    dir->brief = brief;
    return rc;
}

int sfid__dir_reopen(struct sfid__dir *dir, const char *path, struct sfid__error *err) {
    char *copy = strdup(path);
    if (copy == NULL)
        return sfid__fail(err, SFID_ENOMEM, "out of memory");
    return adopt(dir, open(path, OPEN_FLAGS), copy, NULL, err);
}

bool sfid__dir_is_tmpfs(const struct sfid__dir *dir) {
    struct statfs fs;
    return fstatfs(dir->fd, &fs) == 0 &&
           ((uint32_t)fs.f_type == TMPFS_MAGIC || (uint32_t)fs.f_type == RAMFS_MAGIC);
}
