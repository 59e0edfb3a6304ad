/* SPDX-License-Identifier: MIT */
/* session.h - one call of somebody who looks after an app: what it was given, its own way to the server, and its deadline. */
#ifndef SFID_ADMIN_SESSION_H
#define SFID_ADMIN_SESSION_H

#include "base/guest.h"
#include "lease/script.h"

/* A reply is larger than what some threads have for a stack: on the heap, zeroed. */
struct sfid__visit {
    struct sfid__settings settings;
    struct sfid__redis_app app;
    int64_t deadline_ms;
    struct sfid__guest guest;
    bool begun;
    struct sfid__error error;
};

/* Reads the options and gets ready to ask. 0, or SFID_EINVAL, SFID_ENOMEM, or SFID_EUNSUPPORTED where no server keeps the leases. */
int sfid__visit_begin(struct sfid__visit *v, const sfid_options *opt);

static inline struct sfid__deadline sfid__visit_until(const struct sfid__visit *v) {
    return (struct sfid__deadline){v->deadline_ms, NULL, 0};
}

/*
 * Lets go of everything, and frees what v is the first member of; NULL where there was no memory for that. The caller gets
 * the sentence of rc, where he wants one. Returns rc.
 */
int sfid__visit_end(struct sfid__visit *v, int rc, char *why, size_t why_size);

/* One plain command, binary-safe, to the server that the app's exchanges go to. As sfid__route_exchange(). */
int sfid__visit_ask(struct sfid__visit *v, int argc, const char *const *argv, const size_t *lengths);

#endif
