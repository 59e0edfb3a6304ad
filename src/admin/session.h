/* SPDX-License-Identifier: MIT */
/* session.h - one call of an operator's: its options, its own route to the server, and its
 * deadline. */
#ifndef SFID_ADMIN_SESSION_H
#define SFID_ADMIN_SESSION_H

#include "base/guest.h"
#include "lease/options.h"
#include "lease/script.h"

/* On the heap, zeroed: a reply is larger than the stack of some threads. */
struct sfid__visit {
    struct sfid__settings whole;
    const struct sfid__settings *settings; /* of the server that is asked */
    unsigned servers;                      /* of a pool; 1 for any other store */
    struct sfid__redis_app app;
    struct sfid__reply_many many; /* of app */
    int64_t deadline_ms;
    struct sfid__guest guest;
    bool begun;
    struct sfid__error error;
};

/* Reads the options. 0, SFID_EINVAL, SFID_ENOMEM, or SFID_EUNSUPPORTED if no server keeps the
 * leases. */
int sfid__visit_begin(struct sfid__visit *v, const sfid_options *opt);

/* Prepares to ask server i from now on. 0, SFID_EINVAL or SFID_ENOMEM. */
int sfid__visit_server(struct sfid__visit *v, unsigned i);

static inline struct sfid__deadline sfid__visit_until(const struct sfid__visit *v) {
    return (struct sfid__deadline){.at_ms = v->deadline_ms};
}

/*
 * Ends everything, and frees the struct of which v is the first member; v is NULL if there was no
 * memory for that. Writes the sentence of rc to why, if the caller wants one. Returns rc.
 */
int sfid__visit_end(struct sfid__visit *v, int rc, char *why, size_t why_size);

/* One plain command, binary-safe, to the server of the app's exchanges. As
 * sfid__route_exchange(). */
int sfid__visit_ask(struct sfid__visit *v, int argc, const char *const *argv,
                    const size_t *lengths);

#endif
