/* SPDX-License-Identifier: MIT */
/*
 * pool.h - the store "pool:1-1023=redis://a:…@host/0 1024-2047=redis://b:…@host/0".
 *
 * Each server lends a range of pids, and knows nothing of the others. What
 * keeps a server from lending another's range, after a list was reordered or
 * an address was given to another machine: each range has a user of its own,
 * which exists on the one server that lends it.
 */
#ifndef SFID_LEASE_POOL_H
#define SFID_LEASE_POOL_H

#include "lease/settings.h"

#define SFID__POOL_MOST 16

/* How many servers the settings name; 1 if their store is not a pool. */
unsigned sfid__pool_count(const struct sfid__settings *s);

/* The settings of one of them, as if its URL and its range were given alone. 0 or SFID_EINVAL. For a store that is no pool: a copy. */
int sfid__pool_member(const struct sfid__settings *s, unsigned i, struct sfid__settings *out, struct sfid__error *err);

#endif
