/* SPDX-License-Identifier: MIT */
/*
 * calls.c - descriptors, as open(2) and its like make and use them.
 *
 * A call first takes its time, in which others may have turns, and then does its work at once.
 * Meanwhile it keeps the open file description that it uses, since another thread may close the
 * descriptor.
 */
#include "sim.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>

/* ---- open file descriptions ----------------------------------------------------------- */

struct file *file_new(struct node *n, int flags) {
    struct file *f = memory(sizeof *f);
    *f = (struct file){.refs = 1, .node = n, .flags = flags, .pid = me->process->pid};
    if (n)
        n->refs++;
    return f;
}

static void unlock(struct file *f) {
    struct node *n = f->node;
    if (n->exclusive == f)
        n->exclusive = NULL;
    for (unsigned i = 0; i < n->sharers; i++)
        if (n->sharer[i] == f)
            n->sharer[i--] = n->sharer[--n->sharers];
}

/* Its locks go with the last descriptor or mapping. */
void file_put(struct file *f) {
    if (--f->refs)
        return;
    if (f->node) {
        unlock(f);
        for (int i = 0; i < RANGES; i++)
            if (f->node->range[i].file == f)
                f->node->range[i].file = NULL;
        f->node->refs--;
        node_put(f->node);
    }
    if (f->socket)
        socket_free(f->socket);
    free(f);
}

static struct file *file_of(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS && me->process->file[fd])
        return me->process->file[fd];
    errno = EBADF;
    return NULL;
}

struct file *file_use(int fd) {
    struct file *f = file_of(fd);
    if (f) {
        f->refs++;
        me->held = f;
    }
    return f;
}

void file_done(void) {
    struct file *f = me->held;
    me->held = NULL;
    if (f)
        file_put(f);
}

int descriptor_new(struct file *f, int from, bool cloexec) {
    for (int fd = from; fd < DESCRIPTORS; fd++)
        if (me->process->file[fd] == NULL) {
            me->process->file[fd] = f;
            me->process->cloexec[fd] = cloexec;
            return fd;
        }
    file_put(f);
    errno = EMFILE;
    return -1;
}

int descriptor_of_socket(struct socket *s) {
    struct file *f = file_new(NULL, O_RDWR);
    f->socket = s;
    return descriptor_new(f, 3, true);
}

struct socket *socket_of(int fd) {
    const struct file *f = file_of(fd);
    return f ? f->socket : NULL;
}

/* ---- open and close --------------------------------------------------------------------- */

/* Where a name of *at(2) begins. False: errno says why. */
static bool begins(int dirfd, const char *path, struct node **from) {
    *from = here()->root;
    if (*path == '/' || dirfd == AT_FDCWD)
        return true;
    const struct file *f = file_of(dirfd);
    *from = f ? f->node : NULL;
    if (f && f->node == NULL)
        errno = ENOTDIR;
    return *from != NULL;
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode) {
    struct node *from;
    struct place at;
    disk_takes(NULL, 0);
    if (now_ns < here()->files_gone_till) {
        errno = ENFILE;
        return -1;
    }
    if (!begins(dirfd, path, &from))
        return -1;
    struct node *n = path_find(from, path, &at) ? at.node : NULL;
    if (n == NULL && (!(flags & O_CREAT) || at.dir == NULL))
        return -1;
    const int why = n && (flags & O_CREAT) && (flags & O_EXCL)                 ? EEXIST
                    : n && (flags & O_DIRECTORY) && !S_ISDIR(n->mode)          ? ENOTDIR
                    : n && S_ISDIR(n->mode) && (flags & O_ACCMODE) != O_RDONLY ? EISDIR
                                                                               : 0;
    if (why) {
        errno = why;
        return -1;
    }
    if (disk_is_bad(n ? n : at.dir) || (n == NULL && disk_is_full(at.dir)))
        return -1;
    if (n == NULL)
        entry_add(at.dir, at.name, at.len,
                  n = node_new(here(), S_IFREG | (mode & 0777), at.dir->tmp));
    return descriptor_new(file_new(n, flags), 3, flags & O_CLOEXEC);
}

static mode_t mode_of(int flags, va_list ap) { return flags & O_CREAT ? va_arg(ap, mode_t) : 0; }

IMPORT(int, openat, int dirfd, const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return open_at(dirfd, path, flags, mode);
}

IMPORT(int, open, const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return open_at(AT_FDCWD, path, flags, mode);
}

/* As a hardened build calls them. */
IMPORT(int, __openat64_2, int dirfd, const char *path, int flags) {
    return open_at(dirfd, path, flags, 0);
}
IMPORT(int, __open64_2, const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }

IMPORT(int, close, int fd) {
    struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    me->process->file[fd] = NULL;
    file_put(f);
    point(100);
    return 0;
}

IMPORT(int, memfd_create, const char *name, unsigned flags) {
    (void)name;
    point(300);
    return descriptor_new(file_new(node_new(here(), S_IFREG | 0600, true), O_RDWR), 3, flags & 1);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* A range is known by where it begins. */
static int range_lock(struct file *f, const struct flock *l) {
    struct node *n = f->node;
    int unused = -1;
    for (int i = 0; i < RANGES; i++) {
        struct file *holder = n->range[i].file;
        if (l->l_type == F_UNLCK && holder == f && (l->l_len == 0 || n->range[i].at == l->l_start))
            n->range[i].file = NULL;
        else if (holder == NULL)
            unused = i;
        else if (l->l_type != F_UNLCK && n->range[i].at == l->l_start) {
            errno = EAGAIN;
            return holder == f ? 0 : -1;
        }
    }
    if (l->l_type == F_UNLCK)
        return 0;
    if (unused < 0)
        broken("too many locks of one file");
    n->range[unused].file = f;
    n->range[unused].at = l->l_start;
    return 0;
}

IMPORT(int, fcntl, int fd, int what, ...) {
    va_list ap;
    va_start(ap, what);
    const intptr_t arg = va_arg(ap, intptr_t);
    va_end(ap);
    point(100);
    struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    switch (what) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        f->refs++;
        return descriptor_new(f, (int)arg, what == F_DUPFD_CLOEXEC);
    case F_GETFD:
        return me->process->cloexec[fd] ? FD_CLOEXEC : 0;
    case F_SETFD:
        me->process->cloexec[fd] = arg & FD_CLOEXEC;
        return 0;
    case F_GETFL:
        return f->flags;
    case F_SETFL:
        return 0;
    case F_OFD_SETLK:
        return range_lock(f, (const struct flock *)arg);
    default:
        broken("fcntl %d is not simulated", what);
    }
}

IMPORT(int, flock, int fd, int how) {
    point(100);
    struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    struct node *n = f->node;
    if (how & LOCK_UN) {
        unlock(f);
        return 0;
    }
    bool others = n->exclusive && n->exclusive != f;
    for (unsigned i = 0; (how & LOCK_EX) && i < n->sharers; i++)
        others = others || n->sharer[i] != f;
    if (others && !(how & LOCK_NB))
        broken("a flock that waits is not simulated");
    unlock(f); /* the one it had goes first, even if it gets none */
    if (others) {
        errno = EWOULDBLOCK;
        return -1;
    }
    if (how & LOCK_EX)
        n->exclusive = f;
    else if (n->sharers == SHARERS)
        broken("too many share a lock");
    else
        n->sharer[n->sharers++] = f;
    return 0;
}

/* ---- what a file is
 * ------------------------------------------------------------------------------ */

static int tell(const struct node *n, struct stat *st) {
    *st = (struct stat){.st_dev = n->dev,
                        .st_ino = n->inode,
                        .st_mode = n->mode,
                        .st_nlink = n->links,
                        .st_size = n->size,
                        .st_blksize = 4096,
                        .st_blocks = n->size / 512};
    st->st_mtim.tv_sec = st->st_ctim.tv_sec = n->born_ns / SECOND;
    return 0;
}

IMPORT(int, fstat, int fd, struct stat *st) {
    point(100);
    const struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    if (f->socket) {
        *st = (struct stat){.st_dev = 7, .st_ino = (ino_t)fd, .st_mode = S_IFSOCK | 0777};
        return 0;
    }
    return tell(f->node, st);
}

IMPORT(int, fstatat, int dirfd, const char *path, struct stat *st, int flags) {
    struct node *from;
    struct place at;
    (void)flags;
    point(300);
    if (!begins(dirfd, path, &from) || !path_find(from, path, &at))
        return -1;
    return tell(at.node, st);
}

IMPORT(int, stat, const char *path, struct stat *st) { return sim_fstatat(AT_FDCWD, path, st, 0); }
IMPORT(int, lstat, const char *path, struct stat *st) { return sim_fstatat(AT_FDCWD, path, st, 0); }

int file_born(int fd, struct statx *told) {
    point(100);
    const struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    memset(told, 0, sizeof *told);
    told->stx_mask = STATX_BTIME;
    told->stx_btime.tv_sec = f->node->born_ns / SECOND;
    told->stx_btime.tv_nsec = (uint32_t)(f->node->born_ns % SECOND);
    return 0;
}

IMPORT(int, fstatfs, int fd, struct statfs *fs) {
    point(100);
    const struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    memset(fs, 0, sizeof *fs);
    fs->f_type = f->node->tmp ? TMPFS_MAGIC : EXT4_SUPER_MAGIC;
    fs->f_bsize = 4096;
    fs->f_bavail = 1000000;
    return 0;
}

static ssize_t no_attribute(void) {
    point(100);
    errno = ENODATA;
    return -1;
}

IMPORT(ssize_t, fgetxattr, int fd, const char *name, void *value, size_t size) {
    (void)fd, (void)name, (void)value, (void)size;
    return no_attribute();
}

IMPORT(ssize_t, getxattr, const char *path, const char *name, void *value, size_t size) {
    (void)path, (void)name, (void)value, (void)size;
    return no_attribute();
}

IMPORT(ssize_t, readlinkat, int dirfd, const char *path, char *to, size_t size) {
    (void)dirfd, (void)path, (void)to, (void)size;
    point(100);
    errno = EINVAL; /* there are no links */
    return -1;
}

/* ---- read and write
 * --------------------------------------------------------------------------------- */

static ssize_t read_at(struct file *f, void *to, size_t n, int64_t at) {
    disk_takes(f->node, 0);
    if (disk_is_bad(f->node))
        return -1;
    if (at >= f->node->size)
        return 0;
    if ((int64_t)n > f->node->size - at)
        n = (size_t)(f->node->size - at);
    memcpy(to, node_bytes(f->node) + at, n);
    return (ssize_t)n;
}

static ssize_t write_at(struct file *f, const void *from, size_t n, int64_t at) {
    struct node *node = f->node;
    const int64_t end = at + (int64_t)n;
    disk_takes(node, 100000);
    if (disk_is_bad(node) || (end > node->size && disk_is_full(node)))
        return -1;
    if (end > EXTENT) {
        errno = EFBIG;
        return -1;
    }
    memcpy(node_bytes(node) + at, from, n);
    if (end > node->size)
        node->size = end;
    return (ssize_t)n;
}

IMPORT(ssize_t, pread, int fd, void *to, size_t n, off_t at) {
    struct file *f = file_use(fd);
    const ssize_t got = f ? read_at(f, to, n, at) : -1;
    file_done();
    return got;
}

IMPORT(ssize_t, read, int fd, void *to, size_t n) {
    struct file *f = file_use(fd);
    const ssize_t got = f ? read_at(f, to, n, f->at) : -1;
    if (got > 0)
        f->at += got;
    file_done();
    return got;
}

IMPORT(ssize_t, pwrite, int fd, const void *from, size_t n, off_t at) {
    struct file *f = file_use(fd);
    const ssize_t put = f ? write_at(f, from, n, at) : -1;
    file_done();
    return put;
}

IMPORT(ssize_t, write, int fd, const void *from, size_t n) {
    struct file *f = file_use(fd);
    const ssize_t put = f ? write_at(f, from, n, f->at) : -1;
    if (put > 0)
        f->at += put;
    file_done();
    return put;
}

IMPORT(ssize_t, pwritev, int fd, const struct iovec *part, int parts, off_t at) {
    struct file *f = file_use(fd);
    ssize_t sum = f ? 0 : -1;
    for (int i = 0; f && i < parts; i++) {
        const ssize_t put = write_at(f, part[i].iov_base, part[i].iov_len, at + sum);
        if (put < 0) {
            sum = sum ? sum : put;
            break;
        }
        sum += put;
    }
    file_done();
    return sum;
}

IMPORT(int, ftruncate, int fd, off_t size) {
    struct file *f = file_use(fd);
    int rc = -1;
    if (f) {
        disk_takes(f->node, 0);
        if (!disk_is_bad(f->node)) {
            if (size < f->node->size)
                memset(node_bytes(f->node) + size, 0, (size_t)(f->node->size - size));
            f->node->size = size;
            rc = 0;
        }
    }
    file_done();
    return rc;
}

IMPORT(int, fallocate, int fd, int mode, off_t at, off_t len) {
    struct file *f = file_use(fd);
    int rc = -1;
    (void)mode;
    if (f) {
        disk_takes(f->node, 100000);
        if (!disk_is_full(f->node)) {
            if (at + len > f->node->size)
                f->node->size = at + len;
            rc = 0;
        }
    }
    file_done();
    return rc;
}

IMPORT(off_t, lseek, int fd, off_t at, int how) {
    struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    if (how == SEEK_HOLE)
        return f->node->size;
    f->at = how == SEEK_SET ? at : how == SEEK_END ? f->node->size : f->at + at;
    return f->at;
}

IMPORT(int, fsync, int fd) {
    struct file *f = file_use(fd);
    int rc = -1;
    if (f) {
        disk_takes(f->node, 3 * MS);
        if (!disk_is_bad(f->node)) {
            node_sync(f->node);
            rc = 0;
        }
    }
    file_done();
    return rc;
}

IMPORT(int, fdatasync, int fd) { return sim_fsync(fd); }
