/* SPDX-License-Identifier: MIT */
/* options.h - reads and checks the options of a generator. */
#ifndef SFID_LEASE_OPTIONS_H
#define SFID_LEASE_OPTIONS_H

#include "lease/settings.h"

/*
 * Reads `given` into out, with defaults for members that an older header does not know, and checks every member. 0, or
 * SFID_EINVAL or SFID_EUNSUPPORTED with a sentence that names the value and what would be right.
 */
int sfid__options_read(const sfid_options *given, struct sfid__settings *out, struct sfid__error *err);

/* Widens a range that only the store gives to what it would be without it: the range says what to lease, not what to look at. */
void sfid__options_widen(struct sfid__settings *s);

/* Copies the members that `given` has into opt, and defaults into the rest. 0, SFID_EINVAL or SFID_EUNSUPPORTED. */
int sfid__options_copy(const sfid_options *given, sfid_options *opt, struct sfid__error *err);

/* Options with all that their pointers lead to, but for the callback's; the directories as the environment names them now. */
struct sfid__kept {
    sfid_options opt;
    sfid_layout layout;
    sfid_wide_layout wide;
};

/* Copies what settings were read from; NULL without memory. */
struct sfid__kept *sfid__options_keep(const sfid_options *given, const struct sfid__settings *settings);
void sfid__options_free(struct sfid__kept *kept);

#endif
