/* SPDX-License-Identifier: MIT */
/*
 * store_redis.h - pids leased from Redis: the store port (store.h) over the
 * lease script. doc/protocol.md tells why no two holders are ever granted the
 * same tick of a pid.
 */
#ifndef SFID_LEASE_STORE_REDIS_H
#define SFID_LEASE_STORE_REDIS_H

#include "lease/settings.h"
#include "lease/store.h"

/*
 * Makes the store of one slot of this host. identity: "machine:slot", which
 * chooses where to look for a pid, and tells others who has it. Nothing is
 * asked yet. *out wants ops->drop. 0 or SFID_ENOMEM.
 */
int sfid__redis_store_new(struct sfid__store **out, const struct sfid__settings *settings, const char *identity,
                          struct sfid__error *err);

#endif
