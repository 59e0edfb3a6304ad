/* SPDX-License-Identifier: MIT */
/*
 * wire.h - a stream of bytes to a server, none of whose calls waits past its deadline.
 *
 * The socket is non-blocking, close-on-exec, above the standard descriptors and
 * raises no SIGPIPE. Its number alone is not trusted: a daemon that closes all
 * descriptors closes this one as well, and the number may be somebody else's
 * file by now. So the socket's own inode is compared before each use, and
 * before it is closed.
 *
 * Where the URL says TLS, a session (tls.h) is made once the socket is
 * connected, and what is sent and received goes through it.
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
    struct sfid__tls *tls; /* NULL: none */
};

#define SFID__WIRE_NONE \
    (struct sfid__wire) { -1, 0, 0, NULL }

/*
 * Connects, and shakes hands where the URL says TLS; uri has to stay where it
 * is while the wire is open. Addresses of a name are tried side by side, a quarter of a second
 * apart (RFC 8305) or closer where time is short, beginning with number `turn`
 * modulo their count; the first to answer is taken. SFID__REPLY_OK, or why not
 * in *why.
 */
enum sfid__reply_class sfid__wire_open(struct sfid__wire *w, const struct sfid__uri *uri, struct sfid__resolver *resolver,
                                       unsigned turn, struct sfid__deadline *deadline, struct sfid__error *why);

/*
 * Does the server of a URL without TLS speak TLS? It asks on a connection of its
 * own: to one that speaks TLS, a server is silent that does not, and the other
 * way round, which alone tells nobody anything.
 */
bool sfid__wire_speaks_tls(const struct sfid__uri *uri, struct sfid__resolver *resolver, unsigned turn,
                           struct sfid__deadline *deadline);

/* Sends all of it, or tells why not. */
enum sfid__reply_class sfid__wire_send(const struct sfid__wire *w, const char *bytes, size_t n, struct sfid__deadline *deadline,
                                       struct sfid__error *why);

/* Receives something: *n is at least 1. Or tells why not. */
enum sfid__reply_class sfid__wire_receive(const struct sfid__wire *w, char *bytes, size_t size, size_t *n,
                                          struct sfid__deadline *deadline, struct sfid__error *why);

/* True while it is open and the server neither closed it nor sent anything. Never waits. */
bool sfid__wire_is_quiet(const struct sfid__wire *w);

/* Closes for all who share the socket: a child's copy does not keep the server waiting. Unsent and unread bytes are dropped. */
void sfid__wire_close(struct sfid__wire *w);

/* Closes this process's descriptor alone, as a forked child does. */
void sfid__wire_leave(struct sfid__wire *w);

#endif
