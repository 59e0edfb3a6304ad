/* SPDX-License-Identifier: MIT */
/* unix.c - Unix sockets with a path: one server at a time, and no file of others is removed. */
#include "serve/unix.h"

#include "io/date.h"
#include "io/look.h"
#include "io/say.h"
#include "serve/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_MS = 5000, NAP_MS = 10 }; /* how long another server that starts may have the lock */

/* Whether others can lead the lock elsewhere, or write to it. They could keep this server from
 * starting, or let two start. */
static bool lock_is_ours(const char *lock, int fd) {
    char why[SFID_WHY_LEN], whole[PATH_ROOM];
    struct stat st;
    if (lock[0] != '/' && getcwd(whole, sizeof whole) == NULL)
        return false;
    const size_t used = lock[0] == '/' ? 0 : strlen(whole);
    snprintf(whole + used, sizeof whole - used, "%s%s", used ? "/" : "", lock);
    if (sfid_path_check(whole, why, sizeof why) < 0) {
        say("%s: %s", lock, why);
        return false;
    }
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return true;
    say("%s belongs to user %u and has mode %04o: it has to belong to user %u, and nobody else may write to it; remove it, or use "
        "another path",
        lock, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, (unsigned)geteuid());
    return false;
}

static bool lock_in_time(const char *lock, int fd) {
    const struct timespec nap = {0, NAP_MS * 1000000};
    for (const int64_t end = monotonic_ms() + LOCK_MS; flock(fd, LOCK_EX | LOCK_NB) < 0;
         nanosleep(&nap, NULL))
        if ((errno != EWOULDBLOCK && errno != EINTR) || monotonic_ms() >= end) {
            say("%s: %s", lock,
                errno == EWOULDBLOCK ? "another process has had this lock for five seconds"
                                     : strerror(errno));
            return false;
        }
    return true;
}

/* Holds PATH.lock while the path is tested, removed and bound. The file stays: removing it would
 * let two servers hold one each. */
static int lock_path(const char *path) {
    char lock[sizeof((struct sockaddr_un *)0)->sun_path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        say("unix:%s: the lock %s cannot be opened: %s", path, lock, strerror(errno));
    if (fd < 0 || (lock_is_ours(lock, fd) && lock_in_time(lock, fd)))
        return fd;
    close(fd);
    return -1;
}

/* Removes a socket that nobody listens on. */
static int make_way(const struct listen_address *address) {
    const char *path = address->un.sun_path;
    struct stat st;
    if (lstat(path, &st) < 0)
        return STATUS_GOOD; /* bind(2) says what else is wrong */
    if (!S_ISSOCK(st.st_mode)) {
        say("unix:%s: the file there is not a socket; remove it, or use another path", path);
        return STATUS_STATE;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int rc = fd < 0 ? -1 : connect(fd, &address->any, address->len), why = errno;
    if (fd >= 0)
        close(fd);
    if (rc < 0 && why == ECONNREFUSED && unlink(path) == 0)
        return STATUS_GOOD;
    if (rc == 0 || why == EAGAIN || why == EPROTOTYPE) {
        say("unix:%s: another server is listening there", path);
        return STATUS_BUSY;
    }
    say("unix:%s: the socket there cannot be replaced: %s", path,
        strerror(why == ECONNREFUSED ? errno : why));
    return STATUS_STATE;
}

static int bind_path(const struct listen_address *address, struct listener *listener) {
    struct stat st;
    const mode_t mask = umask((mode_t)(0777 & ~settings.mode));
    const int rc = bind(listener->fd, &address->any, address->len), why = errno;
    umask(mask);
    if (rc < 0) {
        say("unix:%s: %s", address->un.sun_path, strerror(why));
        return why == EADDRINUSE ? STATUS_BUSY : STATUS_STATE;
    }
    if (stat(address->un.sun_path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    return STATUS_GOOD;
}

int unix_bind(const struct listen_address *address, struct listener *listener) {
    const int lock = lock_path(address->un.sun_path);
    if (lock < 0)
        return STATUS_STATE;
    int status = make_way(address);
    if (status == STATUS_GOOD)
        status = bind_path(address, listener);
    if (status == STATUS_GOOD && listen(listener->fd, SOMAXCONN) < 0)
        /* before the lock is given up: until now a connection would be refused */
        status = STATUS_STATE;
    close(lock);
    return status;
}
