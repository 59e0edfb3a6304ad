/* SPDX-License-Identifier: MIT */
/* slot_scene.h - slots of an app in a run directory of the test's own. */
#ifndef SFID_TESTS_SLOT_SCENE_H
#define SFID_TESTS_SLOT_SCENE_H

#include "host/slot.h"

#include "draw/record.h"
#include "id/layout.h"

#include "support/scene.h"

#define BLOCK 4096
#define LAYOUT 77
#define LIMIT 9000 /* of every record here, and what take is told to allow */

static const sfid_layout layout = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
static struct sfid__dir run;
static char path[4300]; /* of pid-1 */
static struct sfid__error err;

static void begin(void) {
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/run", tap_tmpdir());
    need(sfid__dir_open_run(&run, dir, &err) >= 0, "%s", err.text);
    snprintf(path, sizeof path, "%s/orders/pid-1", run.path);
}

static int take_as(struct sfid__slot *s, const char *name, const struct sfid__slot_want *want) {
    struct sfid__dir app = SFID__DIR_NONE;
    err = (struct sfid__error){.code = 0};
    need(sfid__dir_open_sub(&app, &run, "orders", &err) >= 0, "%s", err.text);
    const int rc = sfid__slot_take(s, &app, name, want, &err);
    need(app.fd == -1 && !app.path, "the directory was not taken over");
    return rc;
}

static int take(struct sfid__slot *s) {
    return take_as(s, "pid-1", &(struct sfid__slot_want){LAYOUT, 1, LIMIT, 0});
}

static void take_or_bail(struct sfid__slot *s) {
    need(take(s) == 0, "cannot take the slot: %s", err.text);
}

/* The next record of a slot, of pid 1, which has drawn n numbers. */
static struct sfid__record *append(struct sfid__slot *s, uint64_t n) {
    const struct sfid__start start = {&layout, 1, UINT64_C(5000) << 12, LIMIT, 5000, 10, 0, 0, NULL,
                                      false,   0};
    need(sfid__slot_reserve(s, s->records, &err) >= 0, "%s", err.text);
    struct sfid__record *r = sfid__record_append(s->page, s->records++, &start);
    atomic_fetch_add(&r->word, n);
    return r;
}

/* The slot's newest record. */
static inline struct sfid__record *last(const struct sfid__slot *s) {
    return &s->page->records[s->records - 1];
}

static ino_t inode(const char *name) {
    struct stat st;
    return stat(name, &st) < 0 ? 0 : st.st_ino;
}

/* For a child: 0 if somebody holds pid-1. */
static inline int try_take(void *unused) {
    (void)unused;
    struct sfid__slot s;
    return take(&s) == SFID_EBUSY ? 0 : 1;
}

#endif
