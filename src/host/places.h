/* SPDX-License-Identifier: MIT */
/* places.h - where a generator keeps its files on this host, and what the host is called. */
#ifndef SFID_HOST_PLACES_H
#define SFID_HOST_PLACES_H

#include "host/identity.h"

/*
 * Opens the run directory and the state directory, and reads the machine ID
 * from the latter; makes both if they are missing. The caller closes *run and
 * *state with sfid__dir_close(), also after a failure. Returns 0 or SFID_ESTATE.
 *
 * If stateless is given, the state directory is optional. If none can be used,
 * the machine ID lives in the run directory, and *stateless says why; otherwise
 * its code is 0. Such a machine ID is new after each boot, and differs from
 * that of processes with a state directory. Neither matters to rights
 * (identity.h): slots are told apart by their locks in the one run directory,
 * and leases by their tokens. Only one thing is lost: a lease left behind is
 * not found again under the same name.
 *
 * A directory that others can put another one in the place of: without
 * stateless, marks in the state directory prove that IDs are unique, and such a
 * one is refused. In all other cases *untrusted tells of it, code 0 if there is
 * none: with the run directory, or with leases of a server, a pid is lost if
 * somebody does that, and no ID is issued twice.
 */
int sfid__places_open(struct sfid__dir *run, struct sfid__dir *state,
                      char machine[SFID__MACHINE_ID], const sfid_options *opt,
                      struct sfid__error *stateless, struct sfid__error *untrusted,
                      struct sfid__error *err);

#endif
