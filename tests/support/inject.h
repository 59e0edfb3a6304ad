/* SPDX-License-Identifier: MIT */
/**
 * inject.h - makes one call of the library to the C library, the kernel or
 * hiredis fail.
 *
 * A program is linked with --wrap for each name of INJECT_LIST, and with the
 * library's objects (libsfidcore). So the calls of the library come here first.
 * The calls of the program itself do too, but count only between inject_enter()
 * and inject_leave(). Calls of threads that the library made always count.
 *
 * The program runs a piece of work once between inject_arm() and
 * inject_disarm(), reads how many calls of each kind it made, and runs it again
 * for each of them, with a plan that lets that one fail.
 *
 * It also keeps a list of what the library has and has not given back: memory,
 * mappings, streams.
 */
#ifndef SFID_TESTS_INJECT_H
#define SFID_TESTS_INJECT_H

#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In place of an error: the call moves only a part of its bytes. */
#define INJECT_PART (-1000)

/*
 * A name as the linker sees it, then up to three errors that it may plausibly have. A name with one error that every caller
 * has to bear is here as well: an fstat of an open file never fails, but a sandbox may forbid it.
 */
#define INJECT_LIST(X) \
    X(malloc, ENOMEM, 0, 0) \
    X(calloc, ENOMEM, 0, 0) \
    X(realloc, ENOMEM, 0, 0) \
    X(strdup, ENOMEM, 0, 0) \
    X(strndup, ENOMEM, 0, 0) \
    X(posix_memalign, ENOMEM, 0, 0) \
    X(__asprintf_chk, ENOMEM, 0, 0) \
    X(asprintf, ENOMEM, 0, 0) \
    X(open64, EMFILE, EACCES, EIO) \
    X(openat64, EMFILE, EACCES, EIO) \
    X(fopen64, EMFILE, EACCES, ENOMEM) \
    X(fdopendir, ENOMEM, 0, 0) \
    X(memfd_create, EMFILE, ENOSYS, 0) \
    X(fcntl64, ENOLCK, EINVAL, EMFILE) \
    X(flock, ENOLCK, EINTR, EWOULDBLOCK) \
    X(fstat64, EIO, EACCES, 0) \
    X(stat64, EIO, EACCES, 0) \
    X(lstat64, EIO, EACCES, 0) \
    X(fstatat64, EIO, EACCES, 0) \
    X(fstatfs64, ENOSYS, EIO, 0) \
    X(read, EIO, EINTR, INJECT_PART) \
    X(pread64, EIO, INJECT_PART, 0) \
    X(write, ENOSPC, EIO, INJECT_PART) \
    X(pwrite64, ENOSPC, EIO, INJECT_PART) \
    X(pwritev64, ENOSPC, EIO, INJECT_PART) \
    X(fsync, EIO, EROFS, ENOSPC) \
    X(fdatasync, EIO, ENOSPC, 0) \
    X(msync, EIO, 0, 0) \
    X(ftruncate64, ENOSPC, EFBIG, EIO) \
    X(fallocate64, ENOSPC, EOPNOTSUPP, EINTR) \
    X(lseek64, EIO, 0, 0) \
    X(mkdir, ENOSPC, EACCES, EROFS) \
    X(mkdirat, ENOSPC, EACCES, EROFS) \
    X(linkat, EPERM, ENOSPC, EEXIST) \
    X(renameat, ENOSPC, EACCES, EIO) \
    X(unlinkat, EACCES, EROFS, ENOENT) \
    X(mmap64, ENOMEM, EACCES, ENODEV) \
    X(mremap, ENOMEM, 0, 0) \
    X(madvise, EINVAL, 0, 0) \
    X(getcwd, ENOMEM, ENOENT, 0) \
    X(gethostname, ENAMETOOLONG, 0, 0) \
    X(getrandom, ENOSYS, EAGAIN, 0) \
    X(clock_gettime, EINVAL, 0, 0) \
    X(syscall, EINTR, 0, 0) \
    X(pthread_create, EAGAIN, EPERM, 0) \
    X(pthread_atfork, ENOMEM, 0, 0) \
    X(pthread_key_create, EAGAIN, 0, 0) \
    X(pthread_attr_init, ENOMEM, 0, 0) \
    X(pthread_mutexattr_init, ENOMEM, 0, 0) \
    X(pthread_mutex_init, ENOMEM, 0, 0) \
    X(pthread_cond_init, ENOMEM, 0, 0) \
    X(getaddrinfo, EAI_MEMORY, EAI_AGAIN, EAI_NONAME) \
    X(getifaddrs, ENOMEM, EMFILE, 0) \
    X(socket, EMFILE, ENOBUFS, EAFNOSUPPORT) \
    X(connect, ECONNREFUSED, ETIMEDOUT, EINTR) \
    X(setsockopt, ENOPROTOOPT, 0, 0) \
    X(getsockopt, ENOBUFS, 0, 0) \
    X(getsockname, ENOBUFS, 0, 0) \
    X(getpeername, ENOTCONN, 0, 0) \
    X(send, EPIPE, EINTR, INJECT_PART) \
    X(recv, ECONNRESET, EINTR, INJECT_PART) \
    X(poll, ENOMEM, EINTR, 0) \
    X(redisReaderCreateWithFunctions, ENOMEM, 0, 0) \
    X(redisFormatCommandArgv, ENOMEM, 0, 0) \
    X(redisReaderFeed, ENOMEM, 0, 0) \
    X(redisReaderGetReply, ENOMEM, 0, 0)

enum inject_kind {
#define INJECT_KIND(name, a, b, c) INJECT_##name,
    INJECT_LIST(INJECT_KIND)
#undef INJECT_KIND
        INJECT_KINDS
};

enum { INJECT_ERRORS = 3 };
extern const char *const inject_names[INJECT_KINDS];
extern const int inject_errors[INJECT_KINDS][INJECT_ERRORS];

/* Who calls: the test's thread inside the library, or a thread of the library. */
enum inject_side { INJECT_CALLER, INJECT_KEEPER, INJECT_SIDES };

struct inject_plan {
    enum inject_side side;
    enum inject_kind kind;
    uint32_t call; /* the first one that fails, from 1; 0: none */
    int error;
    bool all; /* and all of the kind after it */
};

/* In memory that all processes of a trial share. */
struct inject_shared {
    struct inject_plan plan;
    _Atomic uint32_t calls[INJECT_SIDES][INJECT_KINDS]; /* while armed */
    _Atomic uint32_t hits;
    _Atomic int64_t clock_ns; /* added to the clocks that the library reads */
};
extern struct inject_shared *inject;

/* From here on this process keeps the list of what the library has, and its calls may fail while armed. Others only use the clock. */
void inject_begin(void);

/* The calling thread is in the library, or no longer. */
void inject_enter(void);
void inject_leave(void);

/* Calls of this process count, and may fail. */
void inject_arm(void);
void inject_disarm(void);

/* What the library has. A page that it no longer uses stays mapped up to its last record, with a note of it. */
struct inject_live {
    int blocks; /* but for those notes */
    int pages;  /* the notes */
    int map_bytes;
    int streams;
};
struct inject_live inject_live(void);

/* Writes what it has, with where it was got, for a reader. */
void inject_list(char *out, size_t size);

#endif
