/* SPDX-License-Identifier: MIT */
/*
 * tls.h - a TLS session over a connected socket, none of whose steps waits.
 *
 * hiredis_ssl carries it (a context of hiredis around the socket, which stays
 * the caller's); what a session has to be before that can be said is told to
 * OpenSSL here: whom to believe, which name the certificate has to be for,
 * which client's certificate to show, TLS 1.2 at least. hiredis 1.2 checks no
 * name.
 *
 * A step that cannot go on says what to wait for, POLLIN or POLLOUT; 0: it is
 * done. Not for two threads at once. A forked child frees its copy with polite
 * false: not a byte goes to the server. tls_guard.h says what else holds.
 */
#ifndef SFID_REDIS_TLS_H
#define SFID_REDIS_TLS_H

#include "redis/replies.h"
#include "redis/uri.h"

struct sfid__tls; /* opaque */

#if SFID__TLS

/* Before the first use in a process, from where no other thread forks yet. */
void sfid__tls_prepare(void);

/* SFID__REPLY_OK, or why there is none in *why: a file of the URL, mostly. *out is NULL then. uri has to stay where it is. */
enum sfid__reply_class sfid__tls_new(struct sfid__tls **out, const struct sfid__uri *uri, int fd, struct sfid__error *why);

/* With *waits 0 the server is who it should be; what it thinks of us shows in what it answers. */
enum sfid__reply_class sfid__tls_shake_hands(struct sfid__tls *t, short *waits, struct sfid__error *why);

/* True while not a byte has come from the server. */
bool sfid__tls_is_unanswered(struct sfid__tls *t);

/* Takes bytes over to be sent; sfid__tls_flush sends them. */
enum sfid__reply_class sfid__tls_put(struct sfid__tls *t, const char *bytes, size_t n, struct sfid__error *why);
enum sfid__reply_class sfid__tls_flush(struct sfid__tls *t, short *waits, struct sfid__error *why);

/* With *waits 0 *n is at least 1. Look for bytes before waiting for the socket: a session may have taken them in already. */
enum sfid__reply_class sfid__tls_receive(struct sfid__tls *t, char *bytes, size_t size, size_t *n, short *waits,
                                         struct sfid__error *why);

/* True when the server has nothing to say: what is there to read is TLS's own business. */
bool sfid__tls_is_quiet(struct sfid__tls *t);

/* polite: says goodbye, where that can be said at once. Fine on NULL. */
void sfid__tls_free(struct sfid__tls *t, bool polite);

#else /* nothing comes here: such URLs are refused where they are read */

#include <sfid.h>

static inline void sfid__tls_prepare(void) {}

static inline enum sfid__reply_class sfid__tls_new(struct sfid__tls **out, const struct sfid__uri *uri, int fd,
                                                   struct sfid__error *why) {
    (void)uri, (void)fd;
    *out = NULL;
    sfid__fail(why, SFID_EUNSUPPORTED, "this libsfid was built without TLS");
    return SFID__REPLY_CONFIG;
}

static inline enum sfid__reply_class sfid__tls_shake_hands(struct sfid__tls *t, short *waits, struct sfid__error *why) {
    (void)t, (void)waits, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline bool sfid__tls_is_unanswered(struct sfid__tls *t) {
    (void)t;
    return false;
}

static inline enum sfid__reply_class sfid__tls_put(struct sfid__tls *t, const char *bytes, size_t n, struct sfid__error *why) {
    (void)t, (void)bytes, (void)n, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline enum sfid__reply_class sfid__tls_flush(struct sfid__tls *t, short *waits, struct sfid__error *why) {
    (void)t, (void)waits, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline enum sfid__reply_class sfid__tls_receive(struct sfid__tls *t, char *bytes, size_t size, size_t *n, short *waits,
                                                       struct sfid__error *why) {
    (void)t, (void)bytes, (void)size, (void)n, (void)waits, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline bool sfid__tls_is_quiet(struct sfid__tls *t) {
    (void)t;
    return false;
}

static inline void sfid__tls_free(struct sfid__tls *t, bool polite) { (void)t, (void)polite; }

#endif

#endif
