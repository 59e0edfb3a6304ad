/* SPDX-License-Identifier: MIT */
/* inject_calls.c - the calls that come here in place of those of the C library and hiredis. */
#include "support/inject_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <ifaddrs.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FROM __builtin_return_address(0)

/* ---- memory ----------------------------------------------------------------- */

/* A call with these parameters, which returns `bad` if it fails. */
#define WRAP(type, name, parameters, arguments, bad) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { \
        return inject_fails(INJECT_##name) ? (bad) : __real_##name arguments; \
    }

/* One that returns something to give back. */
#define WRAP_GET(what, type, name, parameters, arguments, size) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { \
        return inject_fails(INJECT_##name) \
                   ? NULL \
                   : inject_keep(what, __real_##name arguments, (size), #name, FROM); \
    }

/* One that gives it back, with a result or none. */
#define WRAP_PUT(type, name, parameters, arguments, at) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { return inject_lose(at), __real_##name arguments; }
#define WRAP_FREE(name, parameters, arguments, at) \
    void __real_##name parameters; \
    void __wrap_##name parameters; \
    void __wrap_##name parameters { inject_lose(at), __real_##name arguments; }

WRAP_GET(INJECT_BLOCK, void *, malloc, (size_t n), (n), n)
WRAP_GET(INJECT_BLOCK, void *, calloc, (size_t n, size_t size), (n, size), n *size)
WRAP_GET(INJECT_BLOCK, void *, aligned_alloc, (size_t by, size_t n), (by, n), n)
WRAP_GET(INJECT_BLOCK, char *, strdup, (const char *s), (s), strlen(s))
WRAP_GET(INJECT_BLOCK, char *, strndup, (const char *s, size_t n), (s, n), n)
WRAP_GET(INJECT_BLOCK, char *, getcwd, (char *buf, size_t n), (buf, n), n)
WRAP_FREE(free, (void *at), (at), at)

WRAP_PUT(int, fclose, (FILE * f), (f), f)
WRAP_PUT(int, closedir, (DIR * d), (d), d)
WRAP_GET(INJECT_STREAM, FILE *, fopen64, (const char *path, const char *how), (path, how), 0)
WRAP_GET(INJECT_STREAM, DIR *, fdopendir, (int fd), (fd), 0)
WRAP_GET(INJECT_STREAM, redisReader *, redisReaderCreateWithFunctions,
         (redisReplyObjectFunctions * f), (f), 0)
WRAP_FREE(redisReaderFree, (redisReader * r), (r), r)
WRAP_FREE(redisFreeCommand, (char *s), (s), s)
WRAP_FREE(freeaddrinfo, (struct addrinfo * a), (a), a)
WRAP_FREE(freeifaddrs, (struct ifaddrs * a), (a), a)

void *__real_realloc(void *at, size_t n);
void *__wrap_realloc(void *at, size_t n);
void *__wrap_realloc(void *at, size_t n) {
    if (inject_fails(INJECT_realloc))
        return NULL;
    void *fresh = __real_realloc(at, n);
    if (fresh == NULL)
        return NULL;
    inject_lose(at);
    return inject_keep(INJECT_BLOCK, fresh, n, "realloc", FROM);
}

int __real_posix_memalign(void **out, size_t by, size_t n);
int __wrap_posix_memalign(void **out, size_t by, size_t n);
int __wrap_posix_memalign(void **out, size_t by, size_t n) {
    int rc = inject_fails(INJECT_posix_memalign);
    if (rc == 0 && (rc = __real_posix_memalign(out, by, n)) == 0)
        inject_keep(INJECT_BLOCK, *out, n, "posix_memalign", FROM);
    return rc;
}

/* The library is built with _FORTIFY_SOURCE or without. */
static int print(enum inject_kind kind, char **out, const char *format, va_list args,
                 const void *from) {
    if (inject_fails(kind))
        return -1;
    const int n = vasprintf(out, format, args);
    if (n >= 0)
        inject_keep(INJECT_BLOCK, *out, (size_t)n, "asprintf", from);
    return n;
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...) {
    va_list args;
    (void)flag;
    va_start(args, format);
    const int n = print(INJECT___asprintf_chk, out, format, args, FROM);
    va_end(args);
    return n;
}

int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = print(INJECT_asprintf, out, format, args, FROM);
    va_end(args);
    return n;
}

void *__real_mmap64(void *at, size_t n, int prot, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, int64_t offset) {
    void *map =
        inject_fails(INJECT_mmap64) ? MAP_FAILED : __real_mmap64(at, n, prot, flags, fd, offset);
    if (map != MAP_FAILED && inject_counts()) {
        inject_cut(map, n);
        inject_keep(INJECT_MAP, map, n, "mmap", FROM);
    }
    return map;
}

/* Always with a new address, over a mapping that is there already. */
void *__real_mremap(void *at, size_t old, size_t n, int flags, void *to);
void *__wrap_mremap(void *at, size_t old, size_t n, int flags, void *to);
void *__wrap_mremap(void *at, size_t old, size_t n, int flags, void *to) {
    if (inject_fails(INJECT_mremap))
        return MAP_FAILED;
    void *map = __real_mremap(at, old, n, flags, to);
    if (map != MAP_FAILED && inject_counts()) {
        inject_cut(at, old);
        inject_cut(map, n);
        inject_keep(INJECT_MAP, map, n, "mremap", FROM);
    }
    return map;
}

int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n) {
    inject_cut(at, n);
    return __real_munmap(at, n);
}

WRAP(int, madvise, (void *at, size_t n, int how), (at, n, how), -1)
WRAP(int, msync, (void *at, size_t n, int how), (at, n, how), -1)

/* ---- files ------------------------------------------------------------------ */

static unsigned mode_of(va_list args, int flags) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const unsigned mode = mode_of(args, flags);
    va_end(args);
    return inject_fails(INJECT_open64) ? -1 : __real_open64(path, flags, mode);
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const unsigned mode = mode_of(args, flags);
    va_end(args);
    return inject_fails(INJECT_openat64) ? -1 : __real_openat64(dir, path, flags, mode);
}

/* As the library calls it if it is built with _FORTIFY_SOURCE, and the flags are no constant. */
int __real___openat64_2(int dir, const char *path, int flags);
int __wrap___openat64_2(int dir, const char *path, int flags);
int __wrap___openat64_2(int dir, const char *path, int flags) {
    return inject_fails(INJECT_openat64) ? -1 : __real___openat64_2(dir, path, flags);
}

int __real_fcntl64(int fd, int what, ...);
int __wrap_fcntl64(int fd, int what, ...);
int __wrap_fcntl64(int fd, int what, ...) {
    va_list args;
    va_start(args, what);
    void *arg = va_arg(args, void *); /* a number or a pointer, as the C library reads it */
    va_end(args);
    return inject_fails(INJECT_fcntl64) ? -1 : __real_fcntl64(fd, what, arg);
}

WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(int, flock, (int fd, int how), (fd, how), -1)
WRAP(int, fstat64, (int fd, struct stat *st), (fd, st), -1)
WRAP(int, stat64, (const char *path, struct stat *st), (path, st), -1)
WRAP(int, lstat64, (const char *path, struct stat *st), (path, st), -1)
WRAP(int, fstatat64, (int fd, const char *path, struct stat *st, int flags), (fd, path, st, flags),
     -1)
WRAP(int, fstatfs64, (int fd, struct statfs *st), (fd, st), -1)
WRAP(int, fsync, (int fd), (fd), -1)
WRAP(int, fdatasync, (int fd), (fd), -1)
WRAP(int, ftruncate64, (int fd, int64_t n), (fd, n), -1)
WRAP(int, fallocate64, (int fd, int how, int64_t at, int64_t n), (fd, how, at, n), -1)
WRAP(int64_t, lseek64, (int fd, int64_t at, int from), (fd, at, from), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), -1)
WRAP(int, linkat, (int d, const char *from, int e, const char *to, int flags),
     (d, from, e, to, flags), -1)
WRAP(int, renameat, (int d, const char *from, int e, const char *to), (d, from, e, to), -1)
WRAP(int, unlinkat, (int d, const char *path, int flags), (d, path, flags), -1)

WRAP(ssize_t, readlinkat, (int d, const char *path, char *buf, size_t n), (d, path, buf, n), -1)
WRAP(ssize_t, getxattr, (const char *path, const char *name, void *buf, size_t n),
     (path, name, buf, n), -1)
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *buf, size_t n), (fd, name, buf, n), -1)
#define PEER \
    (pid_t process, const struct iovec *v, unsigned long n, const struct iovec *w, \
     unsigned long m, unsigned long flags)
WRAP(ssize_t, process_vm_readv, PEER, (process, v, n, w, m, flags), -1)
WRAP(ssize_t, process_vm_writev, PEER, (process, v, n, w, m, flags), -1)

/* Some of the bytes are moved where the plan says so. */
#define WRAP_MOVE(name, parameters, arguments, n) \
    ssize_t __real_##name parameters; \
    ssize_t __wrap_##name parameters; \
    ssize_t __wrap_##name parameters { \
        const int why = inject_fails(INJECT_##name); \
        if (why == INJECT_PART) \
            (n) = (n) > 1 ? (n) / 2 : (n); \
        return why && why != INJECT_PART ? -1 : __real_##name arguments; \
    }

WRAP_MOVE(read, (int fd, void *buf, size_t n), (fd, buf, n), n)
WRAP_MOVE(pread64, (int fd, void *buf, size_t n, int64_t at), (fd, buf, n, at), n)
WRAP_MOVE(write, (int fd, const void *buf, size_t n), (fd, buf, n), n)
WRAP_MOVE(pwrite64, (int fd, const void *buf, size_t n, int64_t at), (fd, buf, n, at), n)
WRAP_MOVE(pwritev64, (int fd, const struct iovec *v, int n, int64_t at), (fd, v, n, at), n)
WRAP_MOVE(recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags), n)
WRAP_MOVE(getrandom, (void *buf, size_t n, unsigned flags), (buf, n, flags), n)

/* ---- the process ------------------------------------------------------------ */

struct started {
    void *(*main)(void *);
    void *arg;
};

static void *start(void *arg) {
    const struct started s = *(const struct started *)arg;
    free(arg);
    inject_is_of_library();
    return s.main(s.arg);
}

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*main)(void *),
                          void *arg) {
    if (!inject_is_inside())
        return __real_pthread_create(out, attr, main, arg);
    int rc = inject_fails(INJECT_pthread_create);
    struct started *s = rc ? NULL : __real_malloc(sizeof *s);
    if (s == NULL)
        return rc ? rc : EAGAIN;
    *s = (struct started){main, arg};
    rc = __real_pthread_create(out, attr, start, s);
    if (rc != 0)
        __real_free(s);
    return rc;
}

/* One that returns its error. */
#define WRAP_CODE(name, parameters, arguments) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters { \
        const int why = inject_fails(INJECT_##name); \
        return why ? why : __real_##name arguments; \
    }

WRAP_CODE(pthread_atfork, (void (*a)(void), void (*b)(void), void (*c)(void)), (a, b, c))
WRAP_CODE(pthread_key_create, (pthread_key_t * key, void (*end)(void *)), (key, end))
WRAP_CODE(pthread_attr_init, (pthread_attr_t * a), (a))
WRAP_CODE(pthread_mutexattr_init, (pthread_mutexattr_t * a), (a))
WRAP_CODE(pthread_mutex_init, (pthread_mutex_t * m, const pthread_mutexattr_t *a), (m, a))
WRAP_CODE(pthread_cond_init, (pthread_cond_t * c, const pthread_condattr_t *a), (c, a))

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts) {
    const int64_t add = inject_clock_moved_ns();
    if (inject_fails(INJECT_clock_gettime))
        return -1;
    const int rc = __real_clock_gettime(clock, ts);
    const int64_t ns = (int64_t)ts->tv_nsec + add % 1000000000;
    ts->tv_sec += (time_t)(add / 1000000000 + ns / 1000000000);
    ts->tv_nsec = (long)(ns % 1000000000);
    return rc;
}

time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out) {
    struct timespec ts;
    __real_clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    const int64_t add = inject_clock_moved_ns();
    const time_t now = ts.tv_sec + (time_t)((add + ts.tv_nsec) / 1000000000);
    if (out)
        *out = now;
    return now;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    const bool five = number == SYS_statx || number == SYS_renameat2;
    const int given = five ? 5 : number == SYS_set_robust_list ? 2 : number == SYS_gettid ? 0 : 6;
    const enum inject_kind kind = number == SYS_statx       ? INJECT_statx
                                  : number == SYS_renameat2 ? INJECT_renameat2
                                                            : INJECT_syscall;
    long a[6] = {0};
    va_list args;
    va_start(args, number);
    for (int i = 0; i < given; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    return inject_fails(kind) ? -1 : __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

WRAP(int, gethostname, (char *name, size_t n), (name, n), -1)

/* ---- the net ---------------------------------------------------------------- */

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *want,
                       struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *want,
                       struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *want,
                       struct addrinfo **out) {
    int rc = inject_fails(INJECT_getaddrinfo);
    if (rc == 0 && (rc = __real_getaddrinfo(host, port, want, out)) == 0)
        inject_keep(INJECT_STREAM, *out, 0, "getaddrinfo", FROM);
    return rc;
}

int __real_getifaddrs(struct ifaddrs **out);
int __wrap_getifaddrs(struct ifaddrs **out);
int __wrap_getifaddrs(struct ifaddrs **out) {
    if (inject_fails(INJECT_getifaddrs))
        return -1;
    const int rc = __real_getifaddrs(out);
    if (rc == 0)
        inject_keep(INJECT_STREAM, *out, 0, "getifaddrs", FROM);
    return rc;
}

WRAP(int, socket, (int family, int type, int protocol), (family, type, protocol), -1)
WRAP(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n), -1)
WRAP(int, setsockopt, (int fd, int level, int what, const void *at, socklen_t n),
     (fd, level, what, at, n), -1)
WRAP(int, getsockopt, (int fd, int level, int what, void *at, socklen_t *n),
     (fd, level, what, at, n), -1)
WRAP(int, getsockname, (int fd, struct sockaddr *at, socklen_t *n), (fd, at, n), -1)
WRAP(int, getpeername, (int fd, struct sockaddr *at, socklen_t *n), (fd, at, n), -1)

/* A pipe breaks because the peer left: what it said before can be read, and then the end. */
ssize_t __real_send(int fd, const void *buf, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags) {
    const int why = inject_fails(INJECT_send);
    if (why == EPIPE)
        shutdown(fd, SHUT_RDWR);
    if (why == INJECT_PART && n > 1)
        n /= 2;
    errno = why > 0 ? why : errno;
    return why > 0 ? -1 : __real_send(fd, buf, n, flags);
}

WRAP(int, poll, (struct pollfd * all, nfds_t n, int ms), (all, n, ms), -1)

long long __real_redisFormatCommandArgv(char **out, int argc, const char **argv,
                                        const size_t *sizes);
long long __wrap_redisFormatCommandArgv(char **out, int argc, const char **argv,
                                        const size_t *sizes);
long long __wrap_redisFormatCommandArgv(char **out, int argc, const char **argv,
                                        const size_t *sizes) {
    if (inject_fails(INJECT_redisFormatCommandArgv))
        return -1;
    const long long n = __real_redisFormatCommandArgv(out, argc, argv, sizes);
    if (n >= 0)
        inject_keep(INJECT_BLOCK, *out, (size_t)n, "redisFormatCommandArgv", FROM);
    return n;
}

/* As hiredis does it: the reader has the error from then on. */
static bool reader_fails(enum inject_kind kind, redisReader *r) {
    if (!inject_fails(kind))
        return false;
    r->err = REDIS_ERR_OOM;
    snprintf(r->errstr, sizeof r->errstr, "Out of memory");
    return true;
}

int __real_redisReaderFeed(redisReader *r, const char *at, size_t n);
int __wrap_redisReaderFeed(redisReader *r, const char *at, size_t n);
int __wrap_redisReaderFeed(redisReader *r, const char *at, size_t n) {
    return reader_fails(INJECT_redisReaderFeed, r) ? REDIS_ERR : __real_redisReaderFeed(r, at, n);
}

int __real_redisReaderGetReply(redisReader *r, void **out);
int __wrap_redisReaderGetReply(redisReader *r, void **out);
int __wrap_redisReaderGetReply(redisReader *r, void **out) {
    return reader_fails(INJECT_redisReaderGetReply, r) ? REDIS_ERR
                                                       : __real_redisReaderGetReply(r, out);
}
