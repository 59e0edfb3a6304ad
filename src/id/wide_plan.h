/* SPDX-License-Identifier: MIT */
/*
 * wide_plan.h - the engine of a wide ID: the layout that a generator runs on.
 *
 * A state word holds tick and sequence, never the pid. So the engine is a layout
 * whose word has the tick and the sequence of the wide ID. The generator puts the
 * wide ID together around each position that it takes.
 *
 *   uuid7      48:16:14. No 64-bit ID could hold it: only its word and its pid are used.
 *   flake, flake-go
 *              47:4:12. The worker belongs to the host. Its processes lease a part of
 *   awsflake   41:3:12  the sequence instead of a pid: the part is its highest bits.
 */
#ifndef SFID_ID_WIDE_PLAN_H
#define SFID_ID_WIDE_PLAN_H

#include "base/compiler.h"

#include <sfid.h>

/*
 * Where the parts of a position go: shifts and masks, so that a wide ID is put together without a
 * branch. A part that has no bits in a half is masked or shifted out there.
 */
struct sfid__wide_frame {
    uint64_t high, low; /* the same in every ID: version, variant, worker */
    /* masks: bits of the tick, and of the sequence, that go into the lower half */
    uint64_t low_tick, low_seq;
    uint64_t random;             /* mask of the random bits; 0: there are none */
    uint8_t tick_up, tick_down;  /* upper half: tick << tick_up >> tick_down */
    uint8_t tick_shift;          /* lower half */
    uint8_t seq_down, seq_shift; /* upper half: seq >> seq_down; lower half: seq << seq_shift */
    uint8_t pid_shift;           /* lower half; by host: of the part */
    uint8_t worker_shift;        /* by host: lower half */
};

struct sfid__wide_plan {
    sfid_layout engine;
    struct sfid__wide_frame frame; /* without the worker */
    /* the pid of the IDs belongs to the host, and processes lease a part of the sequence */
    bool by_host;
    uint64_t max_pid;   /* of the wide IDs */
    const char *prefix; /* if by_host: prefix of the app that stands for a worker */
};

/* Returns 0, or SFID_EINVAL for an unusable layout. */
int sfid__wide_plan(const sfid_wide_layout *l, struct sfid__wide_plan *plan);

/* The wide ID of a position of the engine: its tick and sequence, and the pid of its record. */
static inline sfid_wide sfid__wide_put(const struct sfid__wide_frame *f, uint64_t tick,
                                       uint64_t pid, uint64_t seq, uint64_t random) {
    return (sfid_wide){
        .high = f->high | tick << f->tick_up >> f->tick_down | seq >> f->seq_down,
        .low = f->low | (tick & f->low_tick) << f->tick_shift | pid << f->pid_shift |
               (seq & f->low_seq) << f->seq_shift | (random & f->random),
    };
}

/* The name of the wide layout with this engine, if the engine fits no 64-bit ID (uuid7); otherwise
 * NULL. */
const char *sfid__wide_plan_name(const sfid_layout *engine);

#endif
