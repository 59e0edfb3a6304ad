/* SPDX-License-Identifier: MIT */
/*
 * identity.h - who this host is, what boot it is in, and which layout an app has here.
 *
 * An identity chooses where to look for a pid. It proves nothing: rights come
 * from locks and marks.
 */
#ifndef SFID_HOST_IDENTITY_H
#define SFID_HOST_IDENTITY_H

#include "host/files.h"

#include <sfid.h>

#define SFID__MACHINE_ID 128 /* the NUL included */

/*
 * The machine ID of a state directory, "hostname-random", made at the first
 * call and read ever after. 0, or SFID_ESTATE with the reason.
 */
int sfid__machine_id(const struct sfid__dir *state, char out[SFID__MACHINE_ID], struct sfid__error *err);

/* The kernel's boot ID; all zero where it cannot be read, and then no page is believed after its process has ended. */
void sfid__boot_id(uint8_t out[16]);

/*
 * Notes the layout of an app in its state directory, or compares with what was
 * noted. 0, SFID_ELAYOUT naming both, or SFID_ESTATE.
 */
int sfid__app_layout(const struct sfid__dir *app, const sfid_layout *layout, struct sfid__error *err);

#endif
