/* SPDX-License-Identifier: MIT */
#include "redis/resolve.h"

#include "base/futex.h"
#include "base/thread.h"
#include "redis/uri.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <sfid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sfid__lookup {
    _Atomic uint32_t done;    /* a futex */
    _Atomic uint32_t holders; /* the thread and the caller */
    char host[SFID__URI_TEXT];
    char port[6];
    int rc, errnum;
    bool literal;
    struct addrinfo *found;
};

static void lookup_let_go(struct sfid__lookup *l) {
    /* Acquire and release: the one that frees it sees all that the other did with it. */
    if (atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel) != 1)
        return;
    if (l->found)
        freeaddrinfo(l->found);
    free(l);
}

static void look_up(struct sfid__lookup *l, int flags) {
    const struct addrinfo hints = {
        .ai_flags = flags | AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    l->found = NULL;
    l->rc = getaddrinfo(l->host, l->port, &hints, &l->found);
    l->errnum = errno;
}

static void *resolve_main(void *arg) {
    struct sfid__lookup *l = arg;
    pthread_setname_np(pthread_self(), "sfid-resolve");
    look_up(l, 0);
    /* with the acquire in is_done: the answer is there */
    atomic_store_explicit(&l->done, 1, memory_order_release);
    sfid__futex_wake(&l->done, SFID__FUTEX_PRIVATE, INT_MAX);
    lookup_let_go(l);
    return NULL;
}

static int start_thread(struct sfid__lookup *l) {
    /* before there is another thread to see it */
    atomic_store_explicit(&l->holders, 2, memory_order_relaxed);
    const int rc = sfid__thread_start(NULL, resolve_main, l);
    if (rc != 0)
        atomic_store_explicit(&l->holders, 1, memory_order_relaxed);
    return rc;
}

static bool is_done(const struct sfid__lookup *l) {
    return atomic_load_explicit(&l->done, memory_order_acquire) != 0;
}

static bool wait_for(struct sfid__lookup *l, struct sfid__deadline *deadline) {
    int ms;
    while (!is_done(l) && (ms = sfid__deadline_left_ms(deadline)) > 0) {
        sfid__futex_wait(&l->done, SFID__FUTEX_PRIVATE, 0, ms);
        if (!is_done(l))
            sfid__thread_hangs();
    }
    return is_done(l);
}

/* A name that does not exist now may exist in a minute; it counts like an address at which nobody
 * listens. */
static enum sfid__reply_class failed(const struct sfid__lookup *l, struct sfid__error *why) {
    if (l->rc == EAI_SYSTEM)
        sfid__fail_errno(why, SFID_EREDIS, l->errnum, "cannot look up %s", l->host);
    else
        sfid__fail(why, SFID_EREDIS, "cannot look up %s: %s", l->host, gai_strerror(l->rc));
    return l->rc == EAI_NONAME || l->rc == EAI_FAIL ? SFID__REPLY_RESOLVE : SFID__REPLY_RETRY;
}

static enum sfid__reply_class answer(const struct sfid__lookup *l, struct sfid__addresses *out,
                                     struct sfid__error *why) {
    out->count = 0;
    out->literal = l->literal;
    if (l->rc != 0)
        return failed(l, why);
    for (const struct addrinfo *a = l->found; a && out->count < SFID__ADDRESSES; a = a->ai_next) {
        if (a->ai_addrlen > sizeof out->list[0].at)
            continue;
        memcpy(&out->list[out->count].at, a->ai_addr, a->ai_addrlen);
        out->list[out->count++].len = a->ai_addrlen;
    }
    if (out->count > 0)
        return SFID__REPLY_OK;
    sfid__fail(why, SFID_EREDIS, "%s has no address", l->host);
    return SFID__REPLY_RESOLVE;
}

/* Makes a lookup that the caller holds; NULL without memory. */
static struct sfid__lookup *new_lookup(const char *host, uint16_t port) {
    struct sfid__lookup *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    atomic_init(&l->done, 0);
    atomic_init(&l->holders, 1);
    snprintf(l->host, sizeof l->host, "%s", host);
    snprintf(l->port, sizeof l->port, "%u", (unsigned)port);
    return l;
}

/* Starts a lookup. 0, or an errno. */
static int resolve_ask(struct sfid__resolver *r, const char *host, uint16_t port) {
    struct sfid__lookup *l = new_lookup(host, port);
    if (l == NULL)
        return ENOMEM;
    look_up(l, AI_NUMERICHOST); /* asks nobody and reads no file */
    int rc = 0;
    l->literal = l->rc == 0;
    if (l->rc == EAI_NONAME)
        rc = start_thread(l);
    else
        atomic_store_explicit(&l->done, 1, memory_order_relaxed); /* this thread's own */
    if (rc == 0)
        r->open = l;
    else
        lookup_let_go(l);
    return rc;
}

enum sfid__reply_class sfid__resolve(struct sfid__resolver *r, const char *host, uint16_t port,
                                     struct sfid__deadline *deadline, struct sfid__addresses *out,
                                     struct sfid__error *why) {
    const int rc = r->open ? 0 : resolve_ask(r, host, port);
    if (rc != 0) {
        sfid__fail_errno(why, SFID_ENOMEM, rc, "cannot start the thread that looks up %s", host);
        return SFID__REPLY_RETRY;
    }
    if (!wait_for(r->open, deadline)) {
        sfid__fail(why, SFID_EREDIS,
                   "cannot look up %s: the system's resolver has not answered yet", host);
        return SFID__REPLY_RETRY;
    }
    const enum sfid__reply_class class = answer(r->open, out, why);
    sfid__resolver_drop(r);
    return class;
}

void sfid__resolver_drop(struct sfid__resolver *r) {
    struct sfid__lookup *open = r->open;
    r->open = NULL; /* first: a child that is forked now shall not use it again */
    if (open)
        lookup_let_go(open);
}

/* No thread of this process could still need the lookup. An unfinished result of the parent's is
 * not looked at. */
void sfid__resolver_forget(struct sfid__resolver *r) {
    if (r->open == NULL)
        return;
    if (is_done(r->open) && r->open->found)
        freeaddrinfo(r->open->found);
    free(r->open);
    r->open = NULL;
}
