/* SPDX-License-Identifier: MIT */
/* marks.h - the mark of pid 1, for tests of its content and of its lock. */
#ifndef SFID_TESTS_MARKS_H
#define SFID_TESTS_MARKS_H

#include "host/mark.h"
#include "support/tap.h"

extern struct sfid__dir mark_app;
extern char mark_path[4200];
extern struct sfid__error mark_err;
extern struct sfid__position mark_said;

/* Makes a state directory and the app, and sets mark_path. */
void marks_begin(void);

/* Takes the mark of pid 1, at mark_path. */
int take(struct sfid__mark *m);
void write_to(struct sfid__mark *m, uint64_t to);
void take_or_bail(struct sfid__mark *m);

/* Returns the position that a new holder finds, or its error code. The holder leaves at once. */
int64_t found(void);

#endif
