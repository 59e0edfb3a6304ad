/* SPDX-License-Identifier: MIT */
/* hot.h - the hot path: how a generator is opened and stopped, and one number of it. */
#ifndef SFID_DRAW_HOT_H
#define SFID_DRAW_HOT_H

#include "draw/slow.h"

/* Makes a generator that answers SFID_ECLOSED to everything; widen: one of wide IDs, that has room for them. */
void sfid__generator_init(struct sfid__generator *g);
void sfid__generator_widen(struct sfid__generator *g);

/* Opens it: from here on threads may draw from r. All other members are set before. */
void sfid__generator_start(struct sfid__generator *g, struct sfid__record *r);

/* Turns away every call that begins from here on; calls under way may finish with an ID drawn before. */
void sfid__generator_stop(struct sfid__generator *g);

/* The answer to a call for IDs of the other width: SFID_EINVAL, noted as the last error; or SFID_ECLOSED. */
int sfid__wrong_width(struct sfid__generator *g);

/*
 * Draws one number for a wide ID, as sfid_next() does for one of 64 bits: 0
 * with call->from and call->n set, or a negative code.
 */
int sfid__next_number(struct sfid__generator *g, bool may_sleep, struct sfid__call *call);

#endif
