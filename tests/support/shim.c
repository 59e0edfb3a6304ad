/* SPDX-License-Identifier: MIT */
/*
 * shim.c - a library to preload: changes the time of day, and records syncs. See shim.h.
 *
 * Without its environment variables it changes nothing. Monotonic clocks stay as they are, as when
 * somebody sets the clock.
 */
#include "support/shim.h"

#include "support/kernel_clock.h"
#include "support/shim_notes.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timex.h>

enum { NS = 1000000000 };

static struct shim_control *control; /* NULL: none */
static const char *state, *disk, *kernel;
static int64_t ahead_ns, step_ns; /* from the environment */
static _Atomic int slept;

static int64_t number(const char *name) {
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

static void *map_control(const char *path) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SFID_SHIM_CONTROL");
    ahead_ns = number("SFID_SHIM_AHEAD_S") * NS;
    step_ns = number("SFID_SHIM_STEP_MS") * (NS / 1000);
    kernel = getenv("SFID_SHIM_KERNEL");
    control = path ? map_control(path) : NULL;
    state = getenv("SFID_SHIM_STATE");
    disk = getenv("SFID_SHIM_DISK");
}

/* ---- the time of day ---------------------------------------------------- */

static bool is_time_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

/* Returns the time of day to show for the kernel's ns. */
static int64_t shown(int64_t ns) {
    const int64_t fixed = control ? atomic_load(&control->clock_fixed_ns) : 0;
    if (fixed != 0)
        return fixed;
    return ns + ahead_ns + (atomic_load(&slept) ? step_ns : 0) +
           (control ? atomic_load(&control->clock_offset_ns) : 0);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    const int rc = kernel_clock(clock, t);
    if (rc < 0 || !is_time_of_day(clock))
        return rc;
    const int64_t ns = shown((int64_t)t->tv_sec * NS + t->tv_nsec);
    t->tv_sec = ns / NS;
    t->tv_nsec = ns % NS;
    return rc;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    struct timespec t;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &t) < 0)
        return -1;
    tv->tv_sec = t.tv_sec;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec t = {0};
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    atomic_store(&slept, 1);
    const int why = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
    errno = why ? why : errno;
    return why ? -1 : 0;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **out) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    while (getenv("SFID_SHIM_SILENT_RESOLVER") &&
           (hints == NULL || (hints->ai_flags & AI_NUMERICHOST) == 0))
        pause();
    const char *first =
        hints && (hints->ai_flags & AI_NUMERICHOST) ? NULL : getenv("SFID_SHIM_FIRST_ADDRESS");
    if (first && real(first, port, hints, out) == 0)
        out = &(*out)->ai_next;
    return real(host, port, hints, out);
}

int adjtimex(struct timex *t) {
    if (kernel == NULL)
        return clock_adjtime(CLOCK_REALTIME, t);
    memset(t, 0, sizeof *t);
    t->maxerror = 1500;
    if (strcmp(kernel, "denied") == 0) {
        errno = EPERM;
        return -1;
    }
    if (strcmp(kernel, "unkept") != 0)
        return strcmp(kernel, "leap") == 0 ? TIME_INS : TIME_OK;
    t->status = STA_UNSYNC;
    return TIME_ERROR;
}

/* ---- syncs -------------------------------------------------------------- */

/* Returns whether a descriptor refers to the state directory or to something in it. */
static bool is_state(int fd, bool *mark) {
    char link[64], path[SHIM_PATH];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    const size_t len = state ? strlen(state) : 0;
    if (n < (ssize_t)len || len == 0 || strncmp(path, state, len) != 0)
        return false;
    path[n] = '\0';
    const char *name = strrchr(path, '/');
    *mark = name && strncmp(name, "/pid-", 5) == 0;
    return path[len] == '/' || path[len] == '\0';
}

static int sync_and_note(int fd, long call) {
    struct shim_note note;
    bool mark = false;
    if (control == NULL || disk == NULL || !is_state(fd, &mark) ||
        !shim_note_begin(&note, fd, disk))
        return (int)syscall(call, fd);
    const int64_t ns = atomic_load(&control->sync_ns);
    if (mark && atomic_fetch_add(&control->mark_begun, 1) + 1 == atomic_load(&control->mark_hangs))
        for (;;)
            pause();
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
    const int rc = (int)syscall(call, fd);
    shim_note_end(&note, disk, rc == 0);
    atomic_fetch_add(&control->syncs, 1);
    atomic_fetch_add(&control->mark_syncs, mark);
    return rc;
}

int fsync(int fd) { return sync_and_note(fd, SYS_fsync); }

int fdatasync(int fd) { return sync_and_note(fd, SYS_fdatasync); }

int msync(void *at, size_t size, int flags) {
    if (control)
        atomic_fetch_add(&control->not_simulated, 1);
    return (int)syscall(SYS_msync, at, size, flags);
}
