/* SPDX-License-Identifier: MIT */
/*
 * allowed.h - which addresses of a host that another server named may be connected to.
 *
 * Such a host would get the password. So only these may:
 *   with named_hosts             those that an item fits; all, if an item fits the name
 *   without, and without TLS     those of the class of the address that named it
 *   without, with TLS            all: each has to prove the name before it gets a byte
 */
#ifndef SFID_REDIS_ALLOWED_H
#define SFID_REDIS_ALLOWED_H

#include "redis/resolve.h"
#include "redis/uri.h"

/* Leaves of the addresses of the URL's first node those that are allowed. SFID__REPLY_OK; or
 * SFID_EAUTH in *why if there is none. */
enum sfid__reply_class sfid__addresses_keep_allowed(const struct sfid__uri *uri,
                                                    struct sfid__addresses *a,
                                                    struct sfid__error *why);

#endif
