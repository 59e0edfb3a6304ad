/* SPDX-License-Identifier: MIT */
/*
 * holder.h - the holder of a pid: it runs the lease machine, the store, the
 * slot and its records together.
 *
 * The holder carries out what the machine wants: it asks the store, begins
 * records and raises limits. One thread at a time drives it: the one that opens
 * the handle, then the keeper, then the one that closes. A forked child has a
 * copy that is out of date; sfid__holder_resume() brings it up to the page.
 */
#ifndef SFID_LEASE_HOLDER_H
#define SFID_LEASE_HOLDER_H

#include "lease/holder_parts.h"

/*
 * Gets a pid and a record on a page of its own, and sets generator->page. Waits until deadline_ms
 * (monotonic) at most. Returns 0, or a code with the sentence in h->error. The caller drops the
 * holder in either case.
 */
int sfid__holder_open(struct sfid__holder *h, struct sfid__generator *g,
                      const struct sfid__settings *settings, int64_t deadline_ms);

/* Brings the machine up to the page, in a process whose machine does not follow it. Otherwise does
 * nothing. */
void sfid__holder_resume(struct sfid__holder *h);

/* This process keeps from now on, and has this reign of a page that others may use. */
void sfid__holder_sit(struct sfid__holder *h, uint64_t reign);

/*
 * True if half of the window of a lease that processes share has gone, and it lies with a server:
 * there another process gets the pid once the window is over, whether or not an ID was wanted
 * meanwhile. From any thread.
 */
bool sfid__holder_is_due(const struct sfid__holder *h);

/*
 * True if the window of a pid of this host is over. If this process cannot renew it, another one of
 * its fork family perhaps can: one that sees another directory, or has the lock of a mark that was
 * made anew.
 */
bool sfid__holder_is_stuck(const struct sfid__holder *h);

/*
 * For holder_open.c, as are those below. feed gives an event to the machine, then the events that
 * result, until the machine wants to sleep, and returns until when. found_on_page is the lease that
 * the page's current record describes.
 */
int64_t sfid__holder_feed(struct sfid__holder *h, struct sfid__lease_event e);
struct sfid__lease_event sfid__holder_found_on_page(struct sfid__holder *h);

/* The lease of the record r is taken up. */
void sfid__holder_follow_signs(struct sfid__holder *h, const struct sfid__record *r);

/* Reads the sign of the present boot. begin takes it from the slot's page if there is one: the slot
 * was checked a moment ago. */
void sfid__holder_look_at_boot(struct sfid__holder *h);
void sfid__holder_begin_boot(struct sfid__holder *h);

/* Does what is due. Returns when to call again, in monotonic milliseconds; SFID__FOREVER: when
 * poked. */
int64_t sfid__holder_step(struct sfid__holder *h, bool poked);

/*
 * Leaves the pid, and releases it unless a forked child goes on with it. True if a successor may go
 * on with the lease instead. No thread generates IDs any more.
 */
bool sfid__holder_close(struct sfid__holder *h);

/* A keeper listens from now on. A store does not keep it waiting once *stop is set. */
void sfid__holder_attend(struct sfid__holder *h, sfid__teller *tell, void *listener,
                         const _Atomic int *stop);

/* For the thread that drives the holder: has it a pid; does it pause after a failure; does it
 * pause, then or until a pid may be free, even if poked? */
static inline bool sfid__holder_has_pid(const struct sfid__holder *h) {
    return h->lease.state == SFID__LEASE_HELD;
}
static inline bool sfid__holder_backs_off(const struct sfid__holder *h) {
    return h->lease.retry_ms != 0;
}
static inline bool sfid__holder_pauses(const struct sfid__holder *h) {
    return h->lease.retry_ms != 0 || (h->lease.state == SFID__LEASE_WANTED && !h->lease.gave_up);
}

/* True if page and mark alone say where a pid continues. If the page is lost, that is a bound ahead
 * of the exact position. */
static inline bool sfid__holder_goes_by_mark(const struct sfid__holder *h) {
    return !h->lease.terms.testifies;
}

/* Frees everything but the error. A zeroed holder is fine. */
void sfid__holder_drop(struct sfid__holder *h);

#endif
