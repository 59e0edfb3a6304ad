/* SPDX-License-Identifier: MIT */
/*
 * holder.h - a pid being held: lease machine, store, slot and records put to
 * work together.
 *
 * It carries out what the machine wants: asks the store, begins records,
 * raises limits. One thread at a time drives it: who opens the handle, its
 * keeper, who closes it. In a forked child it is a copy that is out of date;
 * sfid__holder_resume() brings it up to the page.
 */
#ifndef SFID_LEASE_HOLDER_H
#define SFID_LEASE_HOLDER_H

#include "lease/holding.h"

/*
 * Gets a pid, and a record to draw from on a page of its own: generator->page
 * is set. Waits until deadline_ms (monotonic) at most. 0 or a code, with the
 * sentence in h->error; then sfid__holder_drop() remains to be called.
 */
int sfid__holder_open(struct sfid__holder *h, struct sfid__generator *g, const struct sfid__settings *settings,
                      int64_t deadline_ms);

/* Goes on where the page stands, in a process that did not follow it so far; nothing where it did. */
void sfid__holder_resume(struct sfid__holder *h);

/* Another process's keeper has the page: what the machine knows of it gets out of date. */
void sfid__holder_unfollow(struct sfid__holder *h);

/* Does what is due. Returns when to be called again, monotonic milliseconds; SFID__FOREVER: when poked. */
int64_t sfid__holder_step(struct sfid__holder *h, bool poked);

/* Leaves the pid, and gives it back where no forked child goes on with it. No thread draws any more. */
void sfid__holder_close(struct sfid__holder *h);

/* A keeper listens from now on, which is not to be kept waiting once *stop is set. */
void sfid__holder_attend(struct sfid__holder *h, sfid__teller *tell, void *listener, const _Atomic int *stop);

/* Tells what opening noticed, while nobody listened. */
void sfid__holder_tell_opened(const struct sfid__holder *h);

/* What a status says of the store, and what this process is called. From any thread. */
void sfid__holder_status(const struct sfid__holder *h, sfid_status_info *out);

/* For the thread that drives it: whether a pid is held; whether it waits since something failed, whoever pokes. */
static inline bool sfid__holder_has_pid(const struct sfid__holder *h) { return h->lease.state == SFID__LEASE_HELD; }
static inline bool sfid__holder_backs_off(const struct sfid__holder *h) { return h->lease.retry_ms != 0; }

/* Where a pid stands is known of its page and its mark: of a bound ahead of it, where the page is lost. */
static inline bool sfid__holder_goes_by_mark(const struct sfid__holder *h) { return !h->lease.terms.testifies; }

/* Frees everything but the error. Fine on a zeroed one. */
void sfid__holder_drop(struct sfid__holder *h);

#endif
