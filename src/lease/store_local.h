/* SPDX-License-Identifier: MIT */
/*
 * store_local.h - pids of this host: the right to one is the lock of its mark,
 * the window is what the mark covers. A pid that the caller has fixed is a
 * range of one.
 *
 * The mark is durable before the window it allows is used, so after a power
 * loss everything below it counts as used. Once a pid was held no other is
 * taken: the page bears its name, and its lock is what keeps a process apart
 * that came to the pid by a mark made anew.
 */
#ifndef SFID_LEASE_STORE_LOCAL_H
#define SFID_LEASE_STORE_LOCAL_H

#include "lease/settings.h"
#include "lease/store.h"

/*
 * Makes the store. max_ahead: ticks that may be borrowed; the window covers
 * them. *out wants ops->drop. 0, SFID_ESTATE or SFID_ENOMEM.
 */
int sfid__local_store_new(struct sfid__store **out, const struct sfid__settings *settings, uint64_t max_ahead,
                          struct sfid__error *err);

#endif
