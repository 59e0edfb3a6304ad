/* SPDX-License-Identifier: MIT */
/* about.c - the libraries that this one uses. */
#include "redis/resp.h"
#include "redis/tls.h"

#include <sfid.h>
#include <string.h>

#define TEXT(words) #words
#define TEXT_OF(words) TEXT(words)

/* Neither its header nor the library tells its version. */
#ifndef UUID_VERSION
#define UUID_VERSION unknown
#endif

const char *sfid_version_of(const char *library) {
    if (strcmp(library, "hiredis") == 0)
        return sfid__resp_version();
    if (strcmp(library, "libuuid") == 0)
        return TEXT_OF(UUID_VERSION);
    return strcmp(library, "OpenSSL") == 0 ? sfid__tls_version() : NULL;
}
