/* SPDX-License-Identifier: MIT */
/**
 * visit.h - a child that opens a generator of the "local" store where that is
 * made hard: it gets a clear error or IDs above all before, in time, and
 * leaves nothing behind.
 */
#ifndef SFID_TESTS_VISIT_H
#define SFID_TESTS_VISIT_H

#include "support/local.h"

#include <grp.h>
#include <sys/file.h>
#include <sys/resource.h>

enum { NOBODY = 65534, OPEN_TIMEOUT_MS = 1000 };

/* What a visit came to. */
struct told {
    int rc;
    int64_t pid, highest[16]; /* of the pids of the layout: over all visits */
    int64_t open_ns;
    char text[500];
    char problem[200]; /* "": none */
};

extern struct told *told;

struct visit {
    const char *run_dir, *state_dir;       /* NULL: none is given */
    const sfid_layout *layout;             /* NULL: of 16 pids; another is for an app "wide" of its own */
    unsigned user;                         /* to become, unless 0 */
    int descriptors;                       /* to have, unless 0 */
    bool (*before)(const struct visit *v); /* done first, in the child */
    const char *where;                     /* for that */
    unsigned pages;                        /* for that */
};

bool problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Descriptors are counted when they are to be had again. */
bool visit_open(const struct visit *v);
int visit_child(void *arg);

/*
 * One visit, one check. path: it is refused with SFID_ESTATE, and the text names that; NULL: it works. But with "either"
 * it may do the one or the other.
 */
bool visit(const struct visit *v, bool either, const char *path, const char *what);

#endif
