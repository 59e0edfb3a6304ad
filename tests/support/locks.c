/* SPDX-License-Identifier: MIT */
#include "support/locks.h"

#include "support/tap.h"

#include <sys/file.h>
#include <sys/mman.h>

int fds_of_a_lock(const char *dir) {
    enum { SIZE = 4096 };
    char path[4300];
    snprintf(path, sizeof path, "%s/locked-XXXXXX", dir);
    const int locked = mkstemp(path), other = open(path, O_RDWR | O_CLOEXEC);
    need(locked >= 0 && other >= 0 && ftruncate(locked, SIZE) == 0 &&
             flock(locked, LOCK_EX | LOCK_NB) == 0,
         "%s: %s", path, strerror(errno));
    void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, locked, 0);
    need(at != MAP_FAILED, "mmap: %s", strerror(errno));
    close(locked);
    const bool is_free = flock(other, LOCK_EX | LOCK_NB) == 0;
    munmap(at, SIZE);
    close(other);
    unlink(path);
    return is_free;
}
