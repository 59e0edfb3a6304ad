/* SPDX-License-Identifier: MIT */
/* about.c - the libraries that this one uses. */
#include "redis/resp.h"
#include "redis/tls.h"

#include <sfid.h>
#include <string.h>

/* Neither its header nor the library tells its version. */
#ifndef UUID_VERSION
#define UUID_VERSION unknown
#endif

const char *sfid_version_of(const char *library) {
    if (library == NULL)
        return NULL;
    if (strcmp(library, "hiredis") == 0)
        return sfid__resp_version();
    if (strcmp(library, "libuuid") == 0)
        return SFID__TEXT_OF(UUID_VERSION);
    return strcmp(library, "OpenSSL") == 0 ? sfid__tls_version() : NULL;
}
