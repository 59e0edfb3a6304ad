/* SPDX-License-Identifier: MIT */
#include "support/roots.h"

#include <sys/syscall.h>

/* ---- files -------------------------------------------------------------- */

void place_name(struct place *p, const char *name) {
    char *const paths[] = {p->run,      p->state,      p->run_too, p->state_too,
                           p->run_copy, p->state_copy, p->jail};
    static const char *const names[] = {"run",      "state",      "run-too", "state-too",
                                        "run-copy", "state-copy", "jail"};
    snprintf(p->base, sizeof p->base, "%.50s/%.20s", dirs.shm, name);
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        snprintf(paths[i], WHERE, "%s/%s", p->base, names[i]);
}

void make_dir(const char *path) {
    must(mkdir(path, 0700) >= 0 || errno == EEXIST, "%s: %s", path, strerror(errno));
}

bool copy_as_it_goes(const char *from, const char *to) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDERR_FILENO);
        execlp("cp", "cp", "-aT", from, to, (char *)NULL);
        _exit(DIED);
    }
    return child > 0 && child_wait(child, TAP_WAIT_MS) == 0;
}

/* A process that is running may remove a temporary file between cp's look and its read. */
void copy_tree(const char *from, const char *to) {
    struct patience p = {0};
    while (!copy_as_it_goes(from, to))
        must(patient(&p, TAP_WAIT_MS), "cannot copy %s", from);
}

void move(const char *from, const char *to) {
    must(rename(from, to) >= 0, "%s to %s: %s", from, to, strerror(errno));
}

void remove_all(const char *path) {
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

bool apart(void) {
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

static int try_apart(void *arg) {
    const char *where = arg;
    return apart() && mount_tmpfs(where, "size=64k") && umount(where) == 0 && chroot(where) == 0
               ? 0
               : 1;
}

bool can_be_apart(void) {
    char where[WHERE];
    snprintf(where, sizeof where, "%s/apart", dirs.shm);
    const bool can = child_run(try_apart, where, TAP_WAIT_MS) == 0;
    remove_tree(where);
    return can;
}

bool bind_over(const char *from, const char *to) {
    mkdir(to, 0700);
    return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

bool jail_in(const char *jail) { return chroot(jail) == 0 && chdir("/") == 0; }

bool become_somebody(void) {
    return setgroups(0, NULL) == 0 && setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
           setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0;
}

void close_all(void) {
    for (int fd = 3; fd < 200; fd++)
        syscall(SYS_close, fd);
}

void take_descriptors(const char *decoy, const char *inside) {
    char path[2 * WHERE + 2];
    snprintf(path, sizeof path, "%s/%s", decoy, inside);
    close_all();
    for (int fd = 3; fd < 60; fd++)
        if (syscall(SYS_openat, AT_FDCWD, fd % 2 ? path : decoy, O_RDONLY | O_DIRECTORY) <
            0) /* a host's own: stays open at an exec */
            die("%s: %s", path, strerror(errno));
}
