/* SPDX-License-Identifier: MIT */
/* fixed_store.h - the store of a pid that the caller has fixed: a lock and a durable mark on this host. */
#ifndef SFID_FIXED_STORE_H
#define SFID_FIXED_STORE_H

#include "dirs.h"
#include "store.h"

#include <sfid.h>

/*
 * Makes the store of a pid in the app's state directory, which it takes over
 * only when it succeeds. max_ahead: ticks that may be borrowed; the window
 * covers them. *out wants ops->drop. 0 or SFID_ENOMEM.
 */
int sfid__fixed_store_new(struct sfid__store **out, const char *app_dir, const sfid_layout *layout, uint64_t pid,
                          uint64_t max_ahead, struct sfid__error *err);

#endif
