/* SPDX-License-Identifier: MIT */
#include "support/user.h"

#include "support/tap.h"

#include <grp.h>

enum { ANOTHER = 65534 };

/* And use them all the same, as root does. */
static bool may_give(void) {
    char path[4300];
    snprintf(path, sizeof path, "%s/given-XXXXXX", tap_tmpdir());
    const int fd = mkstemp(path);
    need(fd >= 0 && close(fd) == 0, "%s: %s", path, strerror(errno));
    const bool gave = chown(path, ANOTHER, ANOTHER) == 0 && chmod(path, 0600) == 0;
    const int theirs = gave ? open(path, O_RDWR | O_CLOEXEC) : -1;
    const bool took_back = theirs >= 0 && close(theirs) == 0 && chown(path, 0, 0) == 0;
    unlink(path);
    return took_back;
}

/* In a child, since there is no way back. */
static bool may_become(void) {
    int status = -1;
    const pid_t child = fork();
    need(child >= 0, "fork: %s", strerror(errno));
    if (child == 0)
        _exit(setgroups(0, NULL) < 0 || setresgid(ANOTHER, ANOTHER, ANOTHER) < 0 ||
              setresuid(ANOTHER, ANOTHER, ANOTHER) < 0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

bool may_be_another_user(void) { return geteuid() == 0 && may_give() && may_become(); }
