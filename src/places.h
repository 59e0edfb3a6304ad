/* SPDX-License-Identifier: MIT */
/* places.h - where a generator keeps things on this host, and what the host is called. */
#ifndef SFID_PLACES_H
#define SFID_PLACES_H

#include "identity.h"

/*
 * Opens the run directory and reads the machine ID from the state directory;
 * both are made where they are missing. *run wants sfid__dir_close(), also
 * after a failure. 0 or SFID_ESTATE.
 */
int sfid__places_open(struct sfid__dir *run, char machine[SFID__MACHINE_ID], const sfid_options *opt, struct sfid__error *err);

#endif
