/* SPDX-License-Identifier: MIT */
/* options.h - options as given, checked and made whole. */
#ifndef SFID_OPTIONS_H
#define SFID_OPTIONS_H

#include "error.h"

#include <sfid.h>

/*
 * Copies given into out, the defaults where an older header knew fewer
 * members, and checks every one. Pointers still are the caller's. 0, or
 * SFID_EINVAL or SFID_EUNSUPPORTED with a sentence that names the value.
 */
int sfid__options_read(const sfid_options *given, sfid_options *out, struct sfid__error *err);

#endif
