/* SPDX-License-Identifier: MIT */
/* redis_options.h - the options of the Redis store: its URL, and what follows from the others. As
 * store.h says of read and finish. */
#ifndef SFID_LEASE_REDIS_OPTIONS_H
#define SFID_LEASE_REDIS_OPTIONS_H

#include "lease/settings.h"

int sfid__redis_options_read(const char *url, struct sfid__settings *out, struct sfid__error *err);
int sfid__redis_options_finish(struct sfid__settings *out, struct sfid__error *err);

#endif
