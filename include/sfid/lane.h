/* SPDX-License-Identifier: MIT */
/**
 * sfid/lane.h - a thread's own run of IDs, for threads that generate at the
 * limit of the machine.
 *
 * Threads that share a generator share one word, and every ID moves it from core to core. A lane
 * takes a run of IDs of the current tick at once: a 64th of the sequence (a 1024th on a page that
 * processes share), at most 512. It hands these out without touching the word. The price is order:
 * the IDs of one lane increase, but IDs of different lanes are in order by tick only. While the
 * generator is ahead of the clock (max_ahead_ms), a lane that still has a run of the clock's tick
 * is behind the others by as much. When the tick ends, the rest of the run is dropped. A lane that
 * generates few IDs wastes most of its runs. NAME_lane_next() of sfid/inline.h hands out IDs of a
 * lane inside the caller.
 */
#ifndef SFID_LANE_H
#define SFID_LANE_H

#include "error.h"
#include "layout.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sfid;

/** A lane, for one thread at a time. Opaque. */
typedef struct sfid_lane sfid_lane;

/**
 * Makes a lane of a generator, which must stay open while the lane is used. A
 * lane takes a page of memory of its own; sfid_lane_close() frees it.
 *
 * Returns 0, or one of these, with *out set to NULL
 *   SFID_EINVAL  out or g is NULL, or the IDs of g have up to 128 bits
 *   SFID_ENOMEM  out of memory
 * Threads: any. Fork: the child has the lane as well, but without a run. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_lane_open(sfid_lane **out, struct sfid *g);

/**
 * Generates one ID. Sleeps as sfid_next().
 *
 * Returns as sfid_next(), or SFID_ECLOSED if lane is NULL. Threads: one at a time per lane. Fork:
 * parent and child go on, each with IDs of its own. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_lane_next(sfid_lane *lane);

/**
 * Frees a lane, before or after its generator is closed. lane may be NULL.
 * Threads: one. Fork: parent and child each free their own. Signals: not safe.
 */
SFID_API void sfid_lane_close(sfid_lane *lane);

#ifdef __cplusplus
}
#endif

#endif
