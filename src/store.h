/* SPDX-License-Identifier: MIT */
/*
 * store.h - the port to whatever says which pid may issue which ticks.
 *
 * A store grants a pid and a window that ends at a limit, extends the window,
 * and takes the pid back. It is called by one thread at a time: who opens the
 * handle, its keeper, who closes it. After fork() a child has a copy, and the
 * same calls work in it once its own keeper runs; nothing here may depend on
 * a lock or a descriptor of the parent's.
 */
#ifndef SFID_STORE_H
#define SFID_STORE_H

#include "error.h"

struct sfid__grant {
    uint64_t pid;
    uint64_t position; /* word: every number of this pid below it may have been issued */
    bool exact;        /* the position is where the pid was given back, not a bound ahead of it */
    uint64_t page;     /* nonce of the page the pid was last used with: any other is out of date. 0: none so far.
                          Set to the page in use before renew() */
    uint64_t limit;    /* tick: the end of the window, exclusive. What acquire() sets is a bound for what a page of an
                          earlier life may allow; a new window begins with renew() */
};

struct sfid__store;

struct sfid__store_ops {
    /* Gets a pid at clock tick `now`. 0 with *grant set, or a code. */
    int (*acquire)(struct sfid__store *store, uint64_t now, struct sfid__grant *grant, struct sfid__error *err);

    /* Extends the window at clock tick `now`. 0 with grant->limit raised (never lowered), or a code: try again. */
    int (*renew)(struct sfid__store *store, uint64_t now, struct sfid__grant *grant, struct sfid__error *err);

    /*
     * Gives up this process's share of the pid, before anything is released.
     * True when no other process (a forked child) shares it: then release() has to follow.
     */
    bool (*leave)(struct sfid__store *store);

    /* Gives the pid back: every number below position may have been issued, none from there on. */
    int (*release)(struct sfid__store *store, uint64_t position, struct sfid__error *err);

    /* Frees the store, whatever state it is in. */
    void (*drop)(struct sfid__store *store);
};

struct sfid__store {
    const struct sfid__store_ops *ops;
    uint64_t window; /* ticks: what renew() grants from now on */
};

#endif
