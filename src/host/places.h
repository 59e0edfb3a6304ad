/* SPDX-License-Identifier: MIT */
/* places.h - where a generator keeps things on this host, and what the host is called. */
#ifndef SFID_HOST_PLACES_H
#define SFID_HOST_PLACES_H

#include "host/identity.h"

/*
 * Opens the run directory and reads the machine ID from the state directory;
 * both are made where they are missing. *run wants sfid__dir_close(), also
 * after a failure. 0 or SFID_ESTATE.
 *
 * Where stateless is given, a state directory is not needed: if there is none
 * that can be used, the machine ID lives in the run directory, and *stateless
 * says why; else its code is 0. That machine ID is new after each boot, and
 * another one than that of processes which have a state directory. Neither
 * matters to rights (identity.h): slots are still told apart by their locks in
 * the one run directory, and leases by their tokens. What is lost is that a
 * lease left behind is found again under the same name.
 */
int sfid__places_open(struct sfid__dir *run, char machine[SFID__MACHINE_ID], const sfid_options *opt, struct sfid__error *stateless,
                      struct sfid__error *err);

#endif
