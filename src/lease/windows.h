/* SPDX-License-Identifier: MIT */
/* windows.h - how long leases from Redis last: whole and short windows. */
#ifndef SFID_LEASE_WINDOWS_H
#define SFID_LEASE_WINDOWS_H

#include "lease/settings.h"

/*
 * Sets window_ms, short_ms and short_every from the options. 0, or SFID_EINVAL if holders would not
 * survive that the server forgets the app; the sentence names what is needed.
 */
int sfid__windows_choose(struct sfid__settings *out, struct sfid__error *err);

#endif
