/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the keeper of a generator, in the background.
 *
 * The keeper drives the holder: it extends the window before it ends, and gets
 * another pid if one is lost. It reports events. Nothing else touches the
 * holder while it runs.
 *
 * The keepers of a process take turns in one thread, its crew (crew.h). Two
 * kinds of keeper have a thread of their own. A generator with on_event has one,
 * because a callback that blocks must not end other generators' windows. A page
 * that processes share has one, too.
 *
 * A fork family has one keeper. The page names the crew that serves it, or has
 * the seat that a thread of its own has. A forked child has no keeper; the
 * child whose calls find half of the window gone starts its own if the earlier
 * one is dead, does not answer, or could not renew and left the page (I9).
 *
 * Processes that share a page have one keeper among them. A process that joins one
 * has no thread. Its call that finds half of the window gone starts one if nobody
 * keeps, and that thread stays while it keeps. A thread with on_event stays for
 * good. Any process may replace a keeper that does not wake: it takes another
 * seat. So several seats of one page may be taken, and the keeper that sat down
 * last counts.
 */
#ifndef SFID_LEASE_KEEPER_H
#define SFID_LEASE_KEEPER_H

#include "lease/keeper_parts.h"

/* Starts this process's keeper unless it runs. 0, SFID_EAGAIN if another process keeps and no
 * on_event waits, or an errno. */
int sfid__keeper_start(struct sfid__keeper *k);

/* Ends this process's thread, if there is one, and waits for that. Not beside a start, and not from
 * the thread itself. */
void sfid__keeper_stop(struct sfid__keeper *k);

/* True in the keeper's own thread, that is, inside a callback. */
bool sfid__keeper_is_self(const struct sfid__keeper *k);

bool sfid__keeper_runs(const struct sfid__keeper *k);

/* True if this process's thread keeps the pid. */
bool sfid__keeper_keeps(const struct sfid__keeper *k);

#endif
