/* SPDX-License-Identifier: MIT */
/* credentials.h - where the file of a secret lies that a URL names. */
#ifndef SFID_REDIS_CREDENTIALS_H
#define SFID_REDIS_CREDENTIALS_H

#include "redis/uri_text.h"

/*
 * An absolute name stays as it is. A relative one lies below $CREDENTIALS_DIRECTORY (systemd.exec(5)) and never leaves it
 * by "..". The variable is read here, in the thread of the caller, so that no other thread reads the environment later.
 * 0 with the absolute path in out, or SFID_EINVAL; an error shows the parameter, never the name: it may be a password
 * that was given in the place of a name.
 */
int sfid__credential_path(const struct sfid__uri_place *place, const char *parameter, const char *name, char *out, size_t size);

#endif
