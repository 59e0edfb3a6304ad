/* SPDX-License-Identifier: MIT */
/* uri_hint.h - the URL that a text was probably meant to be. */
#ifndef SFID_REDIS_URI_HINT_H
#define SFID_REDIS_URI_HINT_H

#include "base/compiler.h"

#define SFID__URI_HINT 160

/*
 * Finds the URL behind a text that is none: without a scheme (127.0.0.1:6379), with one that others
 * use (tls://host), or with three slashes before the host (redis:///host). Writes a sentence that
 * follows an error message, or "" if nothing is certain.
 *
 * Errors may be logged. So a hint repeats only a host, a port, a database or the path of a socket,
 * and nothing of a text that has an @ or parameters.
 */
void sfid__uri_hint(const char *text, char out[SFID__URI_HINT]);

#endif
