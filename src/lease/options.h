/* SPDX-License-Identifier: MIT */
/* options.h - reads and checks the options of a generator. */
#ifndef SFID_LEASE_OPTIONS_H
#define SFID_LEASE_OPTIONS_H

#include "lease/settings.h"

/*
 * Reads given into out, the defaults where an older header knew fewer members,
 * and checks every one. 0, or SFID_EINVAL or SFID_EUNSUPPORTED with a sentence
 * that names the value and what would be right.
 */
int sfid__options_read(const sfid_options *given, struct sfid__settings *out, struct sfid__error *err);

/* Makes a range that the store alone names as wide as it would be without: it is about what is leased, not what is looked at. */
void sfid__options_widen(struct sfid__settings *s);

/* Copies as many members as given has into opt, the defaults into the rest. 0 or SFID_EINVAL, SFID_EUNSUPPORTED. */
int sfid__options_copy(const sfid_options *given, sfid_options *opt, struct sfid__error *err);

#endif
