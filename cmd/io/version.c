/* SPDX-License-Identifier: MIT */
/* version.c - the versions of the library and of those that it uses. */
#include "io/version.h"

#include "io/base.h"

#include <stdio.h>

const char *version_text(void) {
    static char text[200];
    const char *tls = sfid_version_of("OpenSSL");
    snprintf(text, sizeof text, "%s (hiredis %s, libuuid %s, %s%s)", sfid_version(),
             sfid_version_of("hiredis"), sfid_version_of("libuuid"), tls ? "OpenSSL " : "no TLS",
             tls ? tls : "");
    return text;
}
