/* SPDX-License-Identifier: MIT */
#include "redis/credentials.h"

#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "CREDENTIALS_DIRECTORY"

/* Is one of the name's parts ".."? */
static bool leaves(const char *name) {
    for (const char *part = name; *part;) {
        const size_t len = strcspn(part, "/");
        if (len == 2 && memcmp(part, "..", 2) == 0)
            return true;
        part += len + strspn(part + len, "/");
    }
    return false;
}

static int check_length(const struct sfid__uri_place *place, const char *parameter, size_t len,
                        size_t size) {
    return len < size ? 0
                      : SFID__URI_BAD(place, "parameter %s: the path is longer than %zu bytes",
                                      parameter, size - 1);
}

int sfid__credential_path(const struct sfid__uri_place *place, const char *parameter,
                          const char *name, char *out, size_t size) {
    if (name[0] == '/')
        return check_length(place, parameter, (size_t)snprintf(out, size, "%s", name), size);
    if (leaves(name))
        return SFID__URI_BAD(
            place,
            "parameter %s: a relative name must not contain \"..\"; give a name below $" DIRECTORY,
            parameter);
    const char *directory = secure_getenv(DIRECTORY);
    if (directory == NULL || directory[0] == '\0')
        return SFID__URI_BAD(place,
                             "parameter %s: a relative name needs $" DIRECTORY
                             ", which is not set; give a path that begins with /",
                             parameter);
    if (directory[0] != '/')
        return SFID__URI_BAD(
            place, "parameter %s: $" DIRECTORY " is not an absolute path; it has to begin with /",
            parameter);
    return check_length(place, parameter, (size_t)snprintf(out, size, "%s/%s", directory, name),
                        size);
}
