/* SPDX-License-Identifier: MIT */
#include "support/shim.h"

#include <limits.h>
#include <stdlib.h>

bool shim_preload(const char *control) {
    const char *given = getenv("SFID_SHIM");
    char path[PATH_MAX];
    if (realpath(given ? given : "./tests/.libs/shim.so", path) == NULL)
        return false;
    setenv("SFID_SHIM_CONTROL", control, 1);
    setenv("LD_PRELOAD", path, 1);
    return true;
}
