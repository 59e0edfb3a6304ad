/* SPDX-License-Identifier: MIT */
/* local_options.h - the options of the local store: what stands behind its name. As store.h says of
 * read. */
#ifndef SFID_LEASE_LOCAL_OPTIONS_H
#define SFID_LEASE_LOCAL_OPTIONS_H

#include "lease/settings.h"

int sfid__local_options_read(const char *text, struct sfid__settings *out, struct sfid__error *err);

#endif
