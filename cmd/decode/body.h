/* SPDX-License-Identifier: MIT */
/* body.h - IDs that are judged together. */
#ifndef CMD_DECODE_BODY_H
#define CMD_DECODE_BODY_H

#include "io/base.h"

/* IDs in order; strays and what lies beyond a gap are not among them. */
struct body {
    const sfid_wide *id;
    size_t count, strays;
};

/* Leaves out strays: up to a twentieth of the IDs, if all others lie close together. */
void body_leave_strays(struct body *body);

/* Finds a gap of more than half of all, which chance hardly leaves. Returns where it ends; 0: there
 * is none. */
size_t body_find_gap(const struct body *body);

#endif
