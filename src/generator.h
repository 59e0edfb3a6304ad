/* SPDX-License-Identifier: MIT */
/* generator.h - setting up the part of a handle that the hot path reads. */
#ifndef SFID_GENERATOR_H
#define SFID_GENERATOR_H

#include "draw.h"

/* Makes a generator that answers SFID_ECLOSED to everything. */
void sfid__generator_init(struct sfid__generator *g);

/* Opens it: from here on threads may draw from r. All other members are set before. */
void sfid__generator_start(struct sfid__generator *g, struct sfid__record *r);

/* Turns away every call that begins from here on; calls under way may finish with an ID drawn before. */
void sfid__generator_stop(struct sfid__generator *g);

/*
 * Draws one number as sfid_next() does, without making an ID of it: 0 with
 * call->from and call->n set, or a negative code.
 */
int sfid__next_number(struct sfid__generator *g, bool may_sleep, struct sfid__call *call);

#endif
