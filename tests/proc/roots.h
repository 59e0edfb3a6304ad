/* SPDX-License-Identifier: MIT */
/**
 * roots.h - what can happen to the directories under a process that generates,
 * one function each. Part of roots.c, and of turmoil.c.
 */
#ifndef SFID_TESTS_ROOTS_H
#define SFID_TESTS_ROOTS_H

#include "local.h"

#include "kernel_clock.h"

#include <grp.h>
#include <sys/time.h>

enum { SOMEBODY = 65534, WHERE = 120 };

/* The directories of one round, all below one of its own on /dev/shm. */
struct place {
    char base[80];
    char run[WHERE], state[WHERE];           /* what openers are given */
    char run_too[WHERE], state_too[WHERE];   /* second paths, or other directories for these places */
    char run_copy[WHERE], state_copy[WHERE]; /* as they were early */
    char jail[WHERE];
};

/* ---- a clock of one's own ----------------------------------------------- */

/* The library finds these in place of the C library's. */
static _Atomic int64_t *own_clock; /* nanoseconds that are added to the time of day; NULL: none */

static int64_t own_wall_ns(void) {
    struct timespec t = {0};
    kernel_clock(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + (own_clock ? atomic_load(own_clock) : 0);
}

int clock_gettime(clockid_t id, struct timespec *to) {
    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return kernel_clock(id, to);
    const int64_t ns = own_wall_ns();
    *to = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    (void)zone;
    const int64_t ns = own_wall_ns();
    *to = (struct timeval){ns / 1000000000, ns % 1000000000 / 1000};
    return 0;
}

time_t time(time_t *to) {
    const time_t now = own_wall_ns() / 1000000000;
    if (to)
        *to = now;
    return now;
}

/* ---- files -------------------------------------------------------------- */

UNUSED static void place_name(struct place *p, const char *name) {
    char *const paths[] = {p->run, p->state, p->run_too, p->state_too, p->run_copy, p->state_copy, p->jail};
    static const char *const names[] = {"run", "state", "run-too", "state-too", "run-copy", "state-copy", "jail"};
    snprintf(p->base, sizeof p->base, "%.50s/%.20s", dirs.shm, name);
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        snprintf(paths[i], WHERE, "%s/%s", p->base, names[i]);
}

UNUSED static void make_dir(const char *path) {
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        die("%s: %s", path, strerror(errno));
}

/* A directory with all it holds, as `cp -a` does it: as far as that goes while others make and remove files there. */
UNUSED static bool copy_as_it_goes(const char *from, const char *to) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDERR_FILENO);
        execlp("cp", "cp", "-aT", from, to, (char *)NULL);
        _exit(DIED);
    }
    return child > 0 && child_wait(child, patience(20000)) == 0;
}

UNUSED static void copy_tree(const char *from, const char *to) {
    if (!copy_as_it_goes(from, to))
        die("cannot copy %s", from);
}

UNUSED static void move(const char *from, const char *to) {
    if (rename(from, to) < 0)
        die("%s to %s: %s", from, to, strerror(errno));
}

/* Removed whatever a keeper makes there meanwhile. */
UNUSED static void remove_all(const char *path) {
    for (int i = 0; i < 100 && access(path, F_OK) == 0; i++)
        remove_tree(path);
}

/* ---- namespaces --------------------------------------------------------- */

static bool say(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Mounts made from here on are this process's own. Without root in a user namespace, in which it stays who it is. */
UNUSED static bool apart(void) {
    char map[60];
    const uid_t user = geteuid();
    const gid_t group = getegid();
    if (user == 0)
        return own_mounts();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !say("/proc/self/setgroups", "deny"))
        return false;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)user, (unsigned)user);
    if (!say("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)group, (unsigned)group);
    return say("/proc/self/gid_map", map) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

UNUSED static int try_apart(void *arg) {
    const char *where = arg;
    return apart() && mount_tmpfs(where, "size=64k") && umount(where) == 0 && chroot(where) == 0 ? 0 : 1;
}

UNUSED static bool can_be_apart(void) {
    char where[WHERE];
    snprintf(where, sizeof where, "%s/apart", dirs.shm);
    const bool can = child_run(try_apart, where, patience(10000)) == 0;
    remove_tree(where);
    return can;
}

UNUSED static bool bind_over(const char *from, const char *to) {
    mkdir(to, 0700);
    return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

UNUSED static bool jail_in(const char *jail) { return chroot(jail) == 0 && chdir("/") == 0; }

UNUSED static bool become_somebody(void) {
    return setgroups(0, NULL) == 0 && setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 && setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0;
}

/* As closefrom(3) of any program does it; a sanitizer takes what the keeper has just opened for a race. */
UNUSED static void close_all(void) {
    for (int fd = 3; fd < 200; fd++)
        syscall(SYS_close, fd);
}

/* All descriptors closed, and copies of a directory and of one in it opened under their numbers. */
UNUSED static void take_descriptors(const char *decoy, const char *inside) {
    char path[2 * WHERE + 2];
    snprintf(path, sizeof path, "%s/%s", decoy, inside);
    close_all();
    for (int fd = 3; fd < 60; fd++)
        if (syscall(SYS_openat, AT_FDCWD, fd % 2 ? path : decoy, O_RDONLY | O_DIRECTORY) <
            0) /* a host's own: not closed at an exec */
            die("%s: %s", path, strerror(errno));
}

#endif
