/* SPDX-License-Identifier: MIT */
/*
 * tls.h - a TLS session over a connected socket. No step waits.
 *
 * The session is OpenSSL's, over a socket that stays the caller's. It trusts
 * whom the URL says, wants a certificate for the URL's name, shows the client's
 * own, and speaks TLS 1.2 at least.
 *
 * A step that cannot go on says what to wait for, POLLIN or POLLOUT; 0: it is
 * done. Not for two threads at once. A forked child frees its copy with polite
 * false, so that no byte goes to the server. See also tls_guard.h.
 */
#ifndef SFID_REDIS_TLS_H
#define SFID_REDIS_TLS_H

#include "redis/replies.h"
#include "redis/uri.h"

struct sfid__tls; /* opaque */

#if SFID__TLS

/* OpenSSL's, as it is loaded; NULL without TLS. Any thread, any time: it reads a constant. */
const char *sfid__tls_version(void);

/* Call before the first use in a process, while no other thread forks. */
void sfid__tls_prepare(void);

/* SFID__REPLY_OK, or *out is NULL and *why says why: mostly a file of the URL. uri has to stay
 * where it is. */
enum sfid__reply_class sfid__tls_new(struct sfid__tls **out, const struct sfid__uri *uri, int fd,
                                     struct sfid__error *why);

/* Once *waits is 0 the server has proved its name. Whether it accepts us shows in its answers. */
enum sfid__reply_class sfid__tls_shake_hands(struct sfid__tls *t, short *waits,
                                             struct sfid__error *why);

/* True while no byte has come from the server. */
bool sfid__tls_is_unanswered(struct sfid__tls *t);

/* True once a step has failed for another reason than that nothing comes. No more steps are
 * possible; the first one told why. */
bool sfid__tls_has_failed(const struct sfid__tls *t);

/* Sends the first *sent bytes. If *waits is not 0 these are none: wait, and call again with the
 * same bytes. */
enum sfid__reply_class sfid__tls_send(struct sfid__tls *t, const char *bytes, size_t n,
                                      size_t *sent, short *waits, struct sfid__error *why);

/*
 * If *waits is 0, *n is at least 1. Call this before waiting for the socket: the session may
 * already have read the bytes. It takes in one record at most, so that the caller looks at its
 * deadline however much a server says of TLS itself.
 */
enum sfid__reply_class sfid__tls_receive(struct sfid__tls *t, char *bytes, size_t size, size_t *n,
                                         short *waits, struct sfid__error *why);

/* True if the server has said nothing: bytes that are there to read belong to TLS itself, and are
 * few. */
bool sfid__tls_is_quiet(struct sfid__tls *t);

/* polite: says goodbye if that needs no wait. NULL is fine. */
void sfid__tls_free(struct sfid__tls *t, bool polite);

#else /* never called: such URLs are refused when they are read */

#include <sfid.h>

static inline const char *sfid__tls_version(void) { return NULL; }

static inline void sfid__tls_prepare(void) {}

static inline enum sfid__reply_class sfid__tls_new(struct sfid__tls **out,
                                                   const struct sfid__uri *uri, int fd,
                                                   struct sfid__error *why) {
    (void)uri, (void)fd;
    *out = NULL;
    sfid__fail(why, SFID_EUNSUPPORTED, "this libsfid was built without TLS");
    return SFID__REPLY_CONFIG;
}

static inline enum sfid__reply_class sfid__tls_shake_hands(struct sfid__tls *t, short *waits,
                                                           struct sfid__error *why) {
    (void)t, (void)waits, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline bool sfid__tls_is_unanswered(struct sfid__tls *t) {
    (void)t;
    return false;
}

static inline bool sfid__tls_has_failed(const struct sfid__tls *t) {
    (void)t;
    return true;
}

static inline enum sfid__reply_class sfid__tls_send(struct sfid__tls *t, const char *bytes,
                                                    size_t n, size_t *sent, short *waits,
                                                    struct sfid__error *why) {
    (void)t, (void)bytes, (void)n, (void)sent, (void)waits, (void)why;
    return SFID__REPLY_CONFIG;
}

static inline enum sfid__reply_class sfid__tls_receive(struct sfid__tls *t, char *bytes,
                                                       size_t size, size_t *n, short *waits,
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
