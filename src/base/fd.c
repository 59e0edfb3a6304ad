/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sfid__fd_above_standard(int fd) {
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    /* EINVAL: the limit lies below what was asked for */
    const int why = errno == EINVAL ? EMFILE : errno;
    close(fd);
    errno = why;
    return above;
}

ssize_t sfid__fd_read(int fd, char *out, size_t size) {
    size_t n = 0;
    while (n < size) {
        const ssize_t got = read(fd, out + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

int sfid__fd_read_at(int fd, void *out, size_t size, off_t at) {
    const ssize_t n = pread(fd, out, size, at);
    return n == (ssize_t)size ? 0 : n < 0 ? errno : EIO;
}
