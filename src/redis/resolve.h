/* SPDX-License-Identifier: MIT */
/*
 * resolve.h - the addresses of a host, by a deadline.
 *
 * getaddrinfo() takes as long as it likes (half a minute where name servers are
 * silent) and cannot be ended. So:
 *
 * - An address written in numbers is read by the caller itself.
 * - A name is looked up by a thread that lives for that one question, with all
 *   signals blocked. It owns what it works on together with whoever asked; the
 *   last of the two frees it. At the deadline the asker goes on without it.
 * - A question that is still open is not asked again: the next call waits for
 *   the same thread. So there is one at most for each resolver, and a name
 *   server that is slower than the deadline still is of use at the next try.
 *   A thread that nobody waits for any more ends by itself, when the system's
 *   resolver gives up.
 * - A forked child forgets its parent's question and asks its own. The system's
 *   resolver may have been forked in the middle of something; then the child's
 *   thread hangs, and the child is told at its deadline.
 *
 * Not done: getaddrinfo_a(), whose pool of threads does not know of fork; a
 * resolver of our own, which would know neither nsswitch.conf nor its modules.
 */
#ifndef SFID_REDIS_RESOLVE_H
#define SFID_REDIS_RESOLVE_H

#include "base/deadline.h"
#include "base/error.h"
#include "redis/replies.h"

#include <sys/socket.h>

#define SFID__ADDRESSES 16 /* of one name: others are not tried */

struct sfid__address {
    struct sockaddr_storage at;
    socklen_t len;
};

struct sfid__addresses {
    unsigned count;
    struct sfid__address list[SFID__ADDRESSES];
};

struct sfid__lookup;

struct sfid__resolver {
    struct sfid__lookup *open; /* a question that nobody has the answer of yet, or NULL */
};

/*
 * Looks up a host for streams to a port, within the deadline. SFID__REPLY_OK
 * with at least one address, or why not in *why. The same resolver is always
 * asked for the same host and port.
 */
enum sfid__reply_class sfid__resolve(struct sfid__resolver *r, const char *host, uint16_t port, struct sfid__deadline *deadline,
                                     struct sfid__addresses *out, struct sfid__error *why);

/* Ends waiting for good. */
void sfid__resolver_drop(struct sfid__resolver *r);

/* After fork(), in the child: the question is the parent's. */
void sfid__resolver_forget(struct sfid__resolver *r);

#endif
