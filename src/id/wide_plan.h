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

struct sfid__wide_plan {
    sfid_layout engine;
    bool by_host;       /* the pid of the IDs belongs to the host, and processes lease a part of the sequence */
    uint64_t max_pid;   /* of the wide IDs */
    const char *prefix; /* if by_host: prefix of the app that stands for a worker */
};

/* Returns 0, or SFID_EINVAL for an unusable layout. */
int sfid__wide_plan(const sfid_wide_layout *l, struct sfid__wide_plan *plan);

/* The sequence of the wide ID, from the pid and the sequence of its engine. */
static inline uint64_t sfid__wide_seq(bool by_host, const sfid_layout *engine, uint64_t pid, uint64_t seq) {
    return by_host ? pid << engine->seq_bits | seq : seq;
}

/* The name of the wide layout with this engine, if the engine fits no 64-bit ID (uuid7); otherwise NULL. */
const char *sfid__wide_plan_name(const sfid_layout *engine);

#endif
