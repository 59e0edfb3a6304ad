/* SPDX-License-Identifier: MIT */
#include "host/family.h"

#include "base/fd.h"
#include "host/files.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 4096 /* nobody reads or writes them */
/* the kernel lists many locks in pieces, and a lock may slip from one piece to the next
 * meanwhile */
#define LOOKS 3

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* Newer kernels want a flag that says that the file is no program; older ones reject the flag. */
static int nameless_file(void) {
    const int fd = memfd_create("sfid-family", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return sfid__fd_above_standard(
        fd < 0 && errno == EINVAL ? memfd_create("sfid-family", MFD_CLOEXEC) : fd);
}

void sfid__family_begin(struct sfid__family *family) {
    *family = (struct sfid__family){.map = NULL};
    const int fd = nameless_file();
    if (fd < 0)
        return;
    void *map = MAP_FAILED;
    if (fstat(fd, &family->st) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        map = mmap(NULL, BYTES, PROT_NONE, MAP_SHARED, fd, 0);
    family->map = map == MAP_FAILED ? NULL : map;
    close(fd);
}

void sfid__family_leave(struct sfid__family *family) {
    if (family->map)
        munmap(family->map, BYTES);
    family->map = NULL;
}

static bool is_alive(long process) { return kill((pid_t)process, 0) == 0 || errno == EPERM; }

bool sfid__family_is_last(struct sfid__family *family) {
    /*
     * A PID namespace other than the first hides a lock if the process that took it has ended. So
     * the lock must be visible first. If its taker is alive before and after, the lock was visible
     * all the time. If a lock is visible without its taker, no lock is hidden.
     */
    const long taker = family->map ? sfid__file_locker(&family->st) : -1;
    const bool shows_all = taker > 0 && !is_alive(taker) && sfid__file_locker(&family->st) > 0;
    sfid__family_leave(family);
    bool last = taker > 0;
    for (int i = 0; last && i < LOOKS; i++)
        last = sfid__file_locker(&family->st) == 0;
    return last && (shows_all || is_alive(taker));
}
