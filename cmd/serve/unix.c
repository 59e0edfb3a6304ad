/* SPDX-License-Identifier: MIT */
/* unix.c - Unix sockets with a path: one server at a time, and no file of others is removed. */
#include "serve/all.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Holds PATH.lock while the path is tested, removed and bound. The file stays: removing it would let two servers hold one each. */
static int lock_path(const char *path) {
    char lock[sizeof((struct sockaddr_un *)0)->sun_path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        say("unix:%s: the lock %s cannot be opened: %s", path, lock, strerror(errno));
    else
        while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
            ;
    return fd;
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
    say("unix:%s: the socket there cannot be replaced: %s", path, strerror(why == ECONNREFUSED ? errno : why));
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
        status = STATUS_STATE; /* before the lock is given up: until now a connection would be refused */
    close(lock);
    return status;
}
