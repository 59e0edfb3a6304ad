/* SPDX-License-Identifier: MIT */
/* marks.h - the mark of pid 1, as the tests of its content and of its lock take it. */
#ifndef SFID_TESTS_MARKS_H
#define SFID_TESTS_MARKS_H

#include "host/mark.h"
#include "tap.h"

static struct sfid__dir app;
static char path[4200];
static struct sfid__error err;
static struct sfid__position said;

/* The file of pid 1, whose path is in `path`. */
static inline int take(struct sfid__mark *m) {
    said = (struct sfid__position){.word = 4711, .page = 4711, .exact = true};
    err = (struct sfid__error){.code = 0};
    return sfid__mark_take(m, &app, 1, 77, true, &said, &err);
}

static inline void write_to(struct sfid__mark *m, uint64_t to) {
    if (sfid__mark_write(m, (struct sfid__position){.word = to, .page = 5}, &err) != 0)
        bail("cannot write the mark: %s", err.text);
}

static inline void take_or_bail(struct sfid__mark *m) {
    if (take(m) != 0)
        bail("cannot take the mark: %s", err.text);
}

/* Position found by a new holder, who leaves at once; its code when it is refused. */
static inline int64_t found(void) {
    struct sfid__mark m;
    const int rc = take(&m);
    if (rc < 0)
        return rc;
    sfid__mark_drop(&m);
    return (int64_t)said.word;
}

#endif
