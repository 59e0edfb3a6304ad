/* SPDX-License-Identifier: MIT */
/*
 * wide_plan.h - what a wide ID is drawn as.
 *
 * A state word holds tick and sequence, never the pid; so a generator of wide
 * IDs is one of a layout whose word has their tick and their sequence, and
 * around each number drawn the wide ID is put together.
 *
 *   uuid7      48:16:14, which no 64-bit ID could hold: only its word and its pid are ever used
 *   flake      47:4:12. The worker is the host's; processes of a host lease a part of the sequence instead of a pid, which
 *   awsflake   41:3:12  are its highest bits
 */
#ifndef SFID_ID_WIDE_PLAN_H
#define SFID_ID_WIDE_PLAN_H

#include "base/compiler.h"

#include <sfid.h>

struct sfid__wide_plan {
    sfid_layout engine;
    bool by_host;       /* the pid of the IDs is the host's, and what is leased a part of the sequence */
    uint64_t max_pid;   /* of the IDs */
    const char *prefix; /* by_host: of the app that stands for a worker */
};

/* 0, or SFID_EINVAL for an unusable layout. */
int sfid__wide_plan(const sfid_wide_layout *l, struct sfid__wide_plan *plan);

/* Sequence number n of an engine's pid, as it stands in the ID. */
static inline uint64_t sfid__wide_seq(bool by_host, const sfid_layout *engine, uint64_t pid, uint64_t seq) {
    return by_host ? pid << engine->seq_bits | seq : seq;
}

/* The name of the wide layout that is drawn by a layout which is none of 64 bits; NULL for all others. */
const char *sfid__wide_plan_name(const sfid_layout *engine);

#endif
