/* SPDX-License-Identifier: MIT */
/* options.h - reads and checks the options of a generator. */
#ifndef SFID_LEASE_OPTIONS_H
#define SFID_LEASE_OPTIONS_H

#include "lease/settings.h"

/*
 * Reads `given` into out, with defaults for members that an older header does not know, and checks
 * every member. 0, or SFID_EINVAL, SFID_EUNSUPPORTED or SFID_ENOMEM with a sentence that names the
 * value and what would be right. Settings lead to the memory of `given`, and into themselves: they
 * stay where they are. On success sfid__options_end() frees what they own.
 */
int sfid__options_read(const sfid_options *given, struct sfid__settings *out,
                       struct sfid__error *err);

/* Lets settings outlive `given`, with the directories as the environment names them now; not if it
 * names none, or without memory. */
void sfid__options_keep(struct sfid__settings *s);

/* Zeroed settings are fine. */
void sfid__options_end(struct sfid__settings *s);

/* How many servers the settings name: 1 if their store is no pool. */
static inline unsigned sfid__options_servers(const struct sfid__settings *s) {
    return s->count ? s->count : 1;
}

/* The settings of one of them: of a pool's server as if its URL and its range were given alone,
 * else s itself. */
static inline const struct sfid__settings *sfid__options_server(const struct sfid__settings *s,
                                                                unsigned i) {
    return s->count ? &s->servers[i] : s;
}

/* Widens a range that only the store gives to what it would be without it: the range says what to
 * lease, not what to look at. */
void sfid__options_widen(struct sfid__settings *s);

/* Copies the members that `given` has into opt, and defaults into the rest. 0, SFID_EINVAL or
 * SFID_EUNSUPPORTED. */
int sfid__options_copy(const sfid_options *given, sfid_options *opt, struct sfid__error *err);

#endif
