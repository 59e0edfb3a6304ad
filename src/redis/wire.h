/* SPDX-License-Identifier: MIT */
/*
 * wire.h - a stream of bytes to a server. No call waits past its deadline.
 *
 * The socket is non-blocking, close-on-exec, above the standard descriptors,
 * and raises no SIGPIPE. Its descriptor alone is not trusted: a daemon that
 * closes all descriptors closes this one, too, and may open its own file under
 * the same one. So the socket's own inode is compared before each use, and
 * before it is closed.
 *
 * If the URL says TLS, a session (tls.h) begins once the socket is connected,
 * and all bytes go through it.
 */
#ifndef SFID_REDIS_WIRE_H
#define SFID_REDIS_WIRE_H

#include "redis/resolve.h"
#include "redis/tls.h"
#include "redis/uri.h"

#include <sys/types.h>

struct sfid__wire {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    struct sfid__tls *tls;          /* NULL: none */
    enum sfid__address_class class; /* of the address that it leads to */
};

#define SFID__WIRE_NONE \
    (struct sfid__wire) { .fd = -1 }

/*
 * Connects, and shakes hands if the URL says TLS; uri has to stay where it is while the wire is
 * open. The addresses of a name are tried side by side, a quarter of a second apart (RFC 8305), or
 * less if time is short. The first is address `first_try` modulo their count; the first to answer
 * wins. SFID__REPLY_OK, or the reason in *why.
 *
 * Of a host that another server named, only addresses that are allowed are connected to
 * (allowed.h). SFID_EAUTH says if there is none.
 */
enum sfid__reply_class sfid__wire_open(struct sfid__wire *w, const struct sfid__uri *uri,
                                       struct sfid__resolver *resolver, unsigned first_try,
                                       struct sfid__deadline *deadline, struct sfid__error *why);

/*
 * Does the server of a URL without TLS speak TLS? This asks on a connection of its own: a server
 * without TLS is silent to a client with TLS, and the other way round, so silence alone proves
 * nothing.
 */
bool sfid__wire_speaks_tls(const struct sfid__uri *uri, struct sfid__resolver *resolver,
                           unsigned first_try, struct sfid__deadline *deadline);

/* Sends all bytes, or says why not. Looks at the deadline only if it has to wait. */
enum sfid__reply_class sfid__wire_send(const struct sfid__wire *w, const char *bytes, size_t n,
                                       struct sfid__deadline *deadline, struct sfid__error *why);

/* Receives at least one byte (*n), or says why not. */
enum sfid__reply_class sfid__wire_receive(const struct sfid__wire *w, char *bytes, size_t size,
                                          size_t *n, struct sfid__deadline *deadline,
                                          struct sfid__error *why);

/* True while the wire is open and the server has neither closed it nor sent anything. Never
 * waits. */
bool sfid__wire_is_quiet(const struct sfid__wire *w);

/* Closes the connection for all who share the socket: no child's copy keeps it open. Drops unsent
 * and unread bytes. */
void sfid__wire_close(struct sfid__wire *w);

/* Closes only this process's descriptor, as a forked child does. */
void sfid__wire_leave(struct sfid__wire *w);

#endif
