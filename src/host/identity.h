/* SPDX-License-Identifier: MIT */
/*
 * identity.h - who this host is, which boot it is in, and which layout an app has here.
 *
 * An identity only decides where to look for a pid. It proves nothing: rights come from locks and
 * marks.
 */
#ifndef SFID_HOST_IDENTITY_H
#define SFID_HOST_IDENTITY_H

#include "host/files.h"

#include <sfid.h>

#define SFID__MACHINE_ID 128 /* including the NUL */

/*
 * The machine ID of a state directory, "hostname-random". The first call makes
 * it, later calls read it. Returns 0, or SFID_ESTATE with the reason. If another
 * process is making it, waits for that, until until_ms (monotonic) at most.
 */
int sfid__machine_id(const struct sfid__dir *state, int64_t until_ms, char out[SFID__MACHINE_ID],
                     struct sfid__error *err);

/*
 * The kernel's boot ID; all zero if this host does not show it: then no page is trusted after its
 * process has ended. Returns 0, or an errno if only this process lacks a descriptor or memory now:
 * that is no reason to give up a page.
 */
int sfid__boot_id(uint8_t out[16]);

/*
 * Writes down the layout of an app in its state directory, or compares it with
 * the one written there. What it writes is durable once the directory is synced
 * (app->unsynced). If another process is writing it, waits for that, SFID__DOOR_MS
 * at most. Returns 0, SFID_ELAYOUT with both in the sentence, or
 * SFID_ESTATE.
 */
int sfid__app_layout(struct sfid__dir *app, const sfid_layout *layout, struct sfid__error *err);

#endif
