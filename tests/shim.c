/* SPDX-License-Identifier: MIT */
/*
 * shim.c - to be preloaded: another time of day, and an account of what was synced. See shim.h.
 *
 * Without its variables in the environment it changes nothing.
 */
#include "shim.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static struct shim_control *control; /* NULL: none */
static const char *state, *disk;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SFID_SHIM_CONTROL");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return;
    control = at;
    state = getenv("SFID_SHIM_STATE");
    disk = getenv("SFID_SHIM_DISK");
}

/* ---- the time of day ---------------------------------------------------- */

static bool is_time_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    const int rc = (int)syscall(SYS_clock_gettime, clock, t);
    if (rc < 0 || control == NULL || !is_time_of_day(clock))
        return rc;
    const int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec + atomic_load(&control->clock_offset_ns);
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
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

/* ---- syncs -------------------------------------------------------------- */

/* Whether a descriptor is of something in the state directory, or that itself. */
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
    if (control == NULL || disk == NULL || !is_state(fd, &mark) || !shim_note_begin(&note, fd, disk))
        return (int)syscall(call, fd);
    const int64_t ns = atomic_load(&control->sync_ns);
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
