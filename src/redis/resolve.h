/* SPDX-License-Identifier: MIT */
/*
 * resolve.h - the addresses of a host, by a deadline.
 *
 * getaddrinfo() may take half a minute if name servers are silent, and cannot
 * be ended. So:
 *
 * - The caller itself reads a numeric address.
 * - A thread looks up a name. It lives for that one lookup, with all signals
 *   blocked. Thread and caller share the lookup's memory; the last of the two
 *   frees it. At the deadline the caller goes on without the answer.
 * - The next call waits for the same thread while its lookup is open. So a
 *   resolver has one thread at most, and the answer of a name server that is
 *   slower than the deadline is still used. A thread that nobody waits for any
 *   more ends when the system's resolver gives up.
 * - A forked child drops its parent's lookup and starts its own. If fork()
 *   caught the system's resolver in the middle of something, the child's thread
 *   hangs, and the child's call fails at its deadline.
 *
 * Not used: getaddrinfo_a(), whose pool of threads does not know of fork; and a
 * resolver of our own, which would know neither nsswitch.conf nor its modules.
 */
#ifndef SFID_REDIS_RESOLVE_H
#define SFID_REDIS_RESOLVE_H

#include "base/clock.h"
#include "base/error.h"
#include "redis/replies.h"

#include <sys/socket.h>

#define SFID__ADDRESSES 16 /* per name; the rest is not tried */

struct sfid__address {
    struct sockaddr_storage at;
    socklen_t len;
};

struct sfid__addresses {
    unsigned count;
    bool literal; /* the host is an address itself, in any form that the system knows */
    struct sfid__address list[SFID__ADDRESSES];
};

struct sfid__lookup;

struct sfid__resolver {
    struct sfid__lookup *open; /* a lookup whose answer nobody has taken yet, or NULL */
};

/*
 * Looks up the stream addresses of host and port, within the deadline. SFID__REPLY_OK with at least
 * one address, or the reason in *why. One resolver always gets the same host and port.
 */
enum sfid__reply_class sfid__resolve(struct sfid__resolver *r, const char *host, uint16_t port,
                                     struct sfid__deadline *deadline, struct sfid__addresses *out,
                                     struct sfid__error *why);

/* Gives an open lookup up. */
void sfid__resolver_drop(struct sfid__resolver *r);

/* After fork(), in the child: drops the parent's lookup. */
void sfid__resolver_forget(struct sfid__resolver *r);

#endif
