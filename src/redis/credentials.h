/* SPDX-License-Identifier: MIT */
/* credentials.h - the path of a file with a secret that a URL names. */
#ifndef SFID_REDIS_CREDENTIALS_H
#define SFID_REDIS_CREDENTIALS_H

#include "redis/uri_text.h"

/*
 * An absolute name stays as it is. A relative one lies below $CREDENTIALS_DIRECTORY
 * (systemd.exec(5)) and never leaves it by "..". The caller's thread reads the variable here, so no
 * other thread reads the environment later. 0 with the absolute path in out, or SFID_EINVAL. An
 * error shows the parameter but never the name, which may be a password given by mistake.
 */
int sfid__credential_path(const struct sfid__uri_place *place, const char *parameter,
                          const char *name, char *out, size_t size);

#endif
