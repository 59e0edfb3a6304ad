/* SPDX-License-Identifier: MIT */
/* kinds.h - how a process opens a generator and draws from it, by the kinds of the run. */
#ifndef SIM_KINDS_H
#define SIM_KINDS_H

#include "sim.h"

#include <sfid.h>

#define RUN_DIR "/run/sfid"
#define STATE_DIR "/state/sfid"

/* Functions of the library: of the build that the process has whose turn it is, or else of the
 * first one. */
extern struct library {
    int (*open)(sfid **, const sfid_options *);
    int64_t (*next)(sfid *), (*try_next)(sfid *), (*next_n)(sfid *, int64_t *, size_t),
        (*pid)(const sfid *);
    void (*close)(sfid *);
    const char *(*last_error)(const sfid *);
    int (*next_wide)(sfid *, sfid_wide *), (*try_next_wide)(sfid *, sfid_wide *);
    int (*wide_parse)(const sfid_wide_layout *, sfid_wide, sfid_wide_parts *);
    int64_t (*min_at)(const sfid_layout *, int64_t);
    int (*layout_parse)(const char *, sfid_layout *);
    int (*lane_open)(sfid_lane **, sfid *);
    int64_t (*lane_next)(sfid_lane *);
    void (*lane_close)(sfid_lane *);
} library_of[BUILDS];
#define lib (library_of[me ? me->process->build : 0])

void kinds_begin(void);
/* crate.c: programs without a record, at the same server. */
void crates_begin(void);
/* A generator for the process whose turn it is, or NULL; it wants a pid since then. */
sfid *kind_open(int64_t wants_since);
void kind_close(sfid *g);

/* One thread that draws. */
struct drawer {
    sfid *g;
    sfid_lane *lane; /* NULL: it has none */
    int64_t pid;     /* at first */
    struct seen seen, seen_of_lane;
    int64_t *newest; /* ID of all threads of the process */
};
void drawer_begin(struct drawer *d, sfid *g, int64_t *newest);
/* Waits for a time at which others draw, too. */
void drawer_meet(void);
/* Draws once, and checks what comes. */
void drawer_draw(struct drawer *d);
void drawer_end(struct drawer *d);
/* How many threads of a process draw beside its first one. */
enum { HELPERS = 2 };
unsigned kind_helpers(void);

#endif
