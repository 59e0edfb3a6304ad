/* SPDX-License-Identifier: MIT */
/*
 * interrupts.c - a library to preload: calls that a signal interrupts, or that would have to wait.
 *
 * $SFID_INTERRUPTED names calls, such as "recv send". The first, the third and every other one of
 * each fails: with EAGAIN if that is named, too, else with EINTR. What is tried again comes
 * through. The names are among: accept, close (of standard output, which is closed all the same),
 * flock and poll (that wait), read, recv, send, write.
 *
 * It is not a part of the shim, since each call looks up the one that it stands for. The prototypes
 * are written out: those of the system's headers depend on what is defined before them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>

static bool is_interrupted(const char *call, atomic_uint *calls) {
    const char *names = getenv("SFID_INTERRUPTED");
    if (names == NULL || strstr(names, call) == NULL || atomic_fetch_add(calls, 1) % 2 != 0)
        return false;
    errno = strstr(names, "EAGAIN") ? EAGAIN : EINTR;
    return true;
}

/* name: as in $SFID_INTERRUPTED; call: what the compiler makes of it, where it knows how large a
 * buffer is. */
#define INTERRUPT(type, call, name, may_be, parameters, arguments) \
    type call parameters; \
    type call parameters { \
        static atomic_uint calls; \
        type(*real) parameters; \
        *(void **)&real = dlsym(RTLD_NEXT, #call); \
        return (may_be) && is_interrupted(name, &calls) ? -1 : real arguments; \
    }

INTERRUPT(int, accept, "accept", true, (int fd, void *from, void *size), (fd, from, size))
INTERRUPT(int, flock, "flock", (how & LOCK_NB) == 0, (int fd, int how), (fd, how))
INTERRUPT(int, poll, "poll", ms != 0, (void *fds, unsigned long count, int ms), (fds, count, ms))
INTERRUPT(int, __poll_chk, "poll", ms != 0, (void *fds, unsigned long count, int ms, size_t room),
          (fds, count, ms, room))
INTERRUPT(ssize_t, read, "read", true, (int fd, void *at, size_t size), (fd, at, size))
INTERRUPT(ssize_t, __read_chk, "read", true, (int fd, void *at, size_t size, size_t room),
          (fd, at, size, room))
INTERRUPT(ssize_t, recv, "recv", true, (int fd, void *at, size_t size, int flags),
          (fd, at, size, flags))
INTERRUPT(ssize_t, __recv_chk, "recv", true,
          (int fd, void *at, size_t size, size_t room, int flags), (fd, at, size, room, flags))
INTERRUPT(ssize_t, send, "send", true, (int fd, const void *at, size_t size, int flags),
          (fd, at, size, flags))
INTERRUPT(ssize_t, write, "write", true, (int fd, const void *at, size_t size), (fd, at, size))

int close(int fd);
int close(int fd) {
    static atomic_uint calls;
    int (*real)(int fd);
    *(void **)&real = dlsym(RTLD_NEXT, "close");
    const int rc = real(fd);
    return fd == 1 && is_interrupted("close", &calls) ? -1 : rc;
}
