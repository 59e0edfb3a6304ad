/* SPDX-License-Identifier: MIT */
/**
 * visit.h - a child opens a generator of the "local" store under difficult
 * conditions. In time, it gets a clear error, or IDs above all earlier ones;
 * and it leaves nothing behind.
 */
#ifndef SFID_TESTS_VISIT_H
#define SFID_TESTS_VISIT_H

#include "support/local.h"

#include <grp.h>
#include <sys/file.h>
#include <sys/resource.h>

/* OPEN_GRACE_MS: what an open does once its time is over. */
enum { NOBODY = 65534, OPEN_TIMEOUT_MS = 1000, OPEN_GRACE_MS = 200 };

/* The result of a visit. */
struct told {
    int rc;
    int64_t pid, highest[16]; /* for each pid of the layout, over all visits */
    struct took open;
    char text[500];
    char problem[200]; /* "": none */
};

extern struct told *told;

struct visit {
    const char *run_dir, *state_dir; /* NULL: not given */
    const sfid_layout
        *layout;     /* NULL: one with 16 pids; another one is for an app "wide" of its own */
    int64_t pid;     /* fixed, without a store, unless 0 */
    unsigned user;   /* become this user, unless 0 */
    int descriptors; /* limit of descriptors, unless 0 */
    bool (*before)(const struct visit *v); /* called first, in the child */
    const char *where;                     /* for before() */
    unsigned pages;                        /* for before() */
};

bool problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Opens, generates and closes, and checks that no descriptor or thread is left. */
bool visit_open(const struct visit *v);
int visit_child(void *arg);

/*
 * Makes one visit, as one check. path: the open has to fail with SFID_ESTATE and name that path;
 * NULL: it has to work. With "either", both are right.
 */
bool visit(const struct visit *v, bool either, const char *path, const char *what);

#endif
