/* SPDX-License-Identifier: MIT */
/* look.c - reads files without changing their access times. */
#define _GNU_SOURCE /* O_NOATIME */
#include "io/look.h"

#include "io/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int look_open(const char *path, int flags) {
    flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int fd = open(path, flags | O_NOATIME);
    return fd < 0 && errno == EPERM ? open(path, flags) : fd; /* another user's file */
}

int look_read(const char *path, char *buf, size_t size) {
    const int fd = look_open(path, 0);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, size);
    const int why = n == (ssize_t)size ? EFBIG : errno;
    close(fd);
    if (n < 0 || n == (ssize_t)size) {
        errno = why;
        return -1;
    }
    while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
        n--;
    buf[n] = '\0';
    return (int)n;
}

void *grown(void *list, size_t count, size_t size) {
    if ((count & (count - 1)) != 0)
        return list; /* no growth: the room reaches to the next power of two */
    void *more = realloc(list, (count ? 2 * count : 1) * size);
    if (more)
        return more;
    say("%s", sfid_strerror(SFID_ENOMEM));
    _exit(close_output(STATUS_INTERNAL));
}
