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
 * A name as the linker sees it, then up to six errors that it may plausibly have. A name with one
 * error that every caller has to bear is here as well: an fstat of an open file never fails, but a
 * sandbox may forbid it. What syscall() asks for by number has names of its own.
 */
#define INJECT_LIST(X) \
    X(malloc, ENOMEM, 0, 0, 0, 0, 0) \
    X(calloc, ENOMEM, 0, 0, 0, 0, 0) \
    X(realloc, ENOMEM, 0, 0, 0, 0, 0) \
    X(strdup, ENOMEM, 0, 0, 0, 0, 0) \
    X(strndup, ENOMEM, 0, 0, 0, 0, 0) \
    X(posix_memalign, ENOMEM, 0, 0, 0, 0, 0) \
    X(aligned_alloc, ENOMEM, 0, 0, 0, 0, 0) \
    X(__asprintf_chk, ENOMEM, 0, 0, 0, 0, 0) \
    X(asprintf, ENOMEM, 0, 0, 0, 0, 0) \
    X(open64, EMFILE, EACCES, EIO, EPERM, ENFILE, EROFS) \
    X(openat64, EMFILE, EACCES, EIO, EPERM, ENOSPC, EROFS) \
    X(fopen64, EMFILE, EACCES, ENOMEM, 0, 0, 0) \
    X(fdopendir, ENOMEM, 0, 0, 0, 0, 0) \
    X(memfd_create, EMFILE, ENOSYS, EPERM, 0, 0, 0) \
    X(fcntl64, ENOLCK, EINVAL, EMFILE, EPERM, EIO, EOPNOTSUPP) \
    X(flock, ENOLCK, EINTR, EWOULDBLOCK, EPERM, EOPNOTSUPP, EIO) \
    X(fstat64, EIO, EACCES, EPERM, ENOSYS, ESTALE, 0) \
    X(stat64, EIO, EACCES, EPERM, ENOSYS, ENOMEM, 0) \
    X(lstat64, EIO, EACCES, EPERM, ENOSYS, 0, 0) \
    X(fstatat64, EIO, EACCES, EPERM, ENOSYS, ESTALE, ENOMEM) \
    X(statx, EPERM, ENOSYS, EIO, EACCES, EINVAL, ENOMEM) \
    X(fstatfs64, ENOSYS, EIO, EPERM, 0, 0, 0) \
    X(readlinkat, EIO, EACCES, EPERM, 0, 0, 0) \
    X(getxattr, EPERM, EIO, 0, 0, 0, 0) \
    X(fgetxattr, EPERM, EIO, 0, 0, 0, 0) \
    X(read, EIO, EINTR, INJECT_PART, EPERM, EINVAL, ENOMEM) \
    X(pread64, EIO, INJECT_PART, EPERM, EINVAL, ESTALE, ENOMEM) \
    X(write, ENOSPC, EIO, INJECT_PART, EDQUOT, EPERM, EINVAL) \
    X(pwrite64, ENOSPC, EIO, INJECT_PART, EDQUOT, EPERM, EINVAL) \
    X(pwritev64, ENOSPC, EIO, INJECT_PART, EDQUOT, EPERM, ENOSYS) \
    X(process_vm_readv, EPERM, ENOSYS, EFAULT, 0, 0, 0) \
    X(process_vm_writev, EPERM, ENOSYS, EFAULT, 0, 0, 0) \
    X(fsync, EIO, EROFS, ENOSPC, EDQUOT, EPERM, EINVAL) \
    X(fdatasync, EIO, ENOSPC, EDQUOT, EPERM, EINVAL, 0) \
    X(msync, EIO, ENOSPC, EINVAL, 0, 0, 0) \
    X(ftruncate64, ENOSPC, EFBIG, EIO, EPERM, EINVAL, 0) \
    X(fallocate64, ENOSPC, EOPNOTSUPP, EINTR, EIO, EPERM, ENOSYS) \
    X(lseek64, EIO, EINVAL, EPERM, 0, 0, 0) \
    X(mkdir, ENOSPC, EACCES, EROFS, EPERM, EIO, EDQUOT) \
    X(mkdirat, ENOSPC, EACCES, EROFS, EPERM, EIO, EDQUOT) \
    X(linkat, EPERM, ENOSPC, EEXIST, EOPNOTSUPP, EIO, EMLINK) \
    X(renameat2, EINVAL, ENOSYS, EIO, EEXIST, EPERM, ENOSPC) \
    X(renameat, ENOSPC, EACCES, EIO, EPERM, EROFS, EDQUOT) \
    X(unlinkat, EACCES, EROFS, ENOENT, EPERM, EIO, EBUSY) \
    X(mmap64, ENOMEM, EACCES, ENODEV, EPERM, EAGAIN, ENFILE) \
    X(mremap, ENOMEM, EINVAL, 0, 0, 0, 0) \
    X(madvise, EINVAL, EFAULT, ENOMEM, EPERM, 0, 0) \
    X(getcwd, ENOMEM, ENOENT, EACCES, 0, 0, 0) \
    X(gethostname, ENAMETOOLONG, EPERM, 0, 0, 0, 0) \
    X(getrandom, ENOSYS, EAGAIN, EPERM, 0, 0, 0) \
    X(clock_gettime, EINVAL, EPERM, 0, 0, 0, 0) \
    X(syscall, EINTR, EPERM, ENOSYS, 0, 0, 0) \
    X(pthread_create, EAGAIN, EPERM, EINVAL, ENOMEM, 0, 0) \
    X(pthread_atfork, ENOMEM, 0, 0, 0, 0, 0) \
    X(pthread_key_create, EAGAIN, ENOMEM, 0, 0, 0, 0) \
    X(pthread_attr_init, ENOMEM, 0, 0, 0, 0, 0) \
    X(pthread_mutexattr_init, ENOMEM, 0, 0, 0, 0, 0) \
    X(pthread_mutex_init, ENOMEM, 0, 0, 0, 0, 0) \
    X(pthread_cond_init, ENOMEM, 0, 0, 0, 0, 0) \
    X(getaddrinfo, EAI_MEMORY, EAI_AGAIN, EAI_NONAME, EAI_SYSTEM, EAI_FAIL, 0) \
    X(getifaddrs, ENOMEM, EMFILE, EPERM, 0, 0, 0) \
    X(socket, EMFILE, ENOBUFS, EAFNOSUPPORT, EPERM, EACCES, EINVAL) \
    X(connect, ECONNREFUSED, ETIMEDOUT, EINTR, EPERM, EACCES, ENETUNREACH) \
    X(setsockopt, ENOPROTOOPT, EPERM, 0, 0, 0, 0) \
    X(getsockopt, ENOBUFS, EPERM, 0, 0, 0, 0) \
    X(getsockname, ENOBUFS, EPERM, 0, 0, 0, 0) \
    X(getpeername, ENOTCONN, EPERM, 0, 0, 0, 0) \
    X(send, EPIPE, EINTR, INJECT_PART, EPERM, ENOBUFS, ENOMEM) \
    X(recv, ECONNRESET, EINTR, INJECT_PART, ETIMEDOUT, EPERM, ENOMEM) \
    X(poll, ENOMEM, EINTR, EPERM, EINVAL, 0, 0) \
    X(redisReaderCreateWithFunctions, ENOMEM, 0, 0, 0, 0, 0) \
    X(redisFormatCommandArgv, ENOMEM, 0, 0, 0, 0, 0) \
    X(redisReaderFeed, ENOMEM, 0, 0, 0, 0, 0) \
    X(redisReaderGetReply, ENOMEM, 0, 0, 0, 0, 0)

enum inject_kind {
#define INJECT_KIND(name, a, b, c, d, e, f) INJECT_##name,
    INJECT_LIST(INJECT_KIND)
#undef INJECT_KIND
        INJECT_KINDS
};

enum { INJECT_ERRORS = 6, INJECT_FIRST = 3 }; /* FIRST: those that whole trials have: trial.h */
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
    /* and each call to a file after it, with EIO: open(2) tells of descriptors and rights before it
     * asks the disk */
    bool dead;
};

/* In memory that all processes of a trial share. */
struct inject_shared {
    /* second: fails as well, after it; call 0: none */
    struct inject_plan plan, second;
    _Atomic uint32_t calls[INJECT_SIDES][INJECT_KINDS]; /* while armed */
    _Atomic uint32_t hits, second_hits;
    uint32_t before[INJECT_SIDES][INJECT_KINDS]; /* calls up to the first that failed */
    _Atomic int64_t clock_ns;                    /* added to the clocks that the library reads */
};
extern struct inject_shared *inject;

/* From here on this process keeps the list of what the library has, and its calls may fail while
 * armed. Others only use the clock. */
void inject_begin(void);

/* The calling thread is in the library, or no longer. */
void inject_enter(void);
void inject_leave(void);

/* Calls of this process count, and may fail. */
void inject_arm(void);
void inject_disarm(void);

/* What the library has. A page that it no longer uses stays mapped up to its last record, with a
 * note of it. */
struct inject_live {
    int blocks; /* but for those notes */
    int pages;  /* the notes */
    int map_bytes;
    int streams;
};
struct inject_live inject_live(void);

/* Writes what it has, with where it was got, for a reader. */
void inject_list(char *out, size_t size);

/* Forgets what it has: what stays for good in one trial is none of the next one's. */
void inject_forget(void);

/* How an error is shown: as in a message of the library, or in words of the test. */
const char *inject_shown(int error);

/* Some errors tell of no fault: go on, try again, others have it, it is gone. */
bool inject_is_fault(int error);

/* Whether a message says what failed, by a path or by a word for the call, and why. */
bool inject_is_told(const char *text, enum inject_kind kind, int error);

#endif
