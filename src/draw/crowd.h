/* SPDX-License-Identifier: MIT */
/*
 * crowd.h - calls of a generator whose page processes share.
 *
 * A page has one pid's rate. A process that finds its ticks used up by others
 * moves on to the next page: its calls go on with another generator, which has
 * that page. The old one stays open beside it.
 *
 * IDs of one process go on increasing, in the order in which its calls follow
 * one another. A call that took positions looks at `next` only after that, and
 * drops them if the process is moving on. The mover sets `next`; then it, or a
 * call that has seen `next`, looks at the highest tick that a call has issued.
 * may_issue() and the fence [move] let one of them see the other. So every tick
 * issued from the pages before lies below `from`, where the new page begins for
 * this process.
 */
#ifndef SFID_DRAW_CROWD_H
#define SFID_DRAW_CROWD_H

#include "draw/slow.h"

/* As sfid__draw(), from the page that this process uses now. */
int sfid__draw_front(struct sfid__generator *g, struct sfid__call *call);

/* Makes all calls of g go on with `next`. Once for each generator. */
void sfid__draw_move(struct sfid__generator *g, struct sfid__generator *next);

#endif
