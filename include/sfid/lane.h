/* SPDX-License-Identifier: MIT */
/**
 * sfid/lane.h - a thread's own run of numbers, for threads that draw at the
 * limit of the machine.
 *
 * Threads that share a generator share one word, and every ID moves it from
 * core to core. A lane takes a run of numbers of the current tick at once (a
 * 64th of the sequence, 512 at most) and hands them out without touching that
 * word. The price is order: IDs of one lane increase, those of two lanes of one
 * generator are in order by tick only. What is left of a run when its tick is
 * over is dropped, so a lane that draws little wastes the rest of its run.
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

/** A lane; opaque. For one thread at a time. */
typedef struct sfid_lane sfid_lane;

/**
 * Makes a lane of a generator, which stays open as long as it is wanted; takes
 * a page of memory of its own.
 *
 * Returns 0, or (*out is NULL then)
 *   SFID_EINVAL  out or g is NULL, or the IDs of g have up to 128 bits
 *   SFID_ENOMEM  out of memory
 * Threads: any. Fork: the child has the lane as well, with no run in it. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_lane_open(sfid_lane **out, struct sfid *g);

/**
 * Draws one ID. Returns and sleeps as sfid_next(); SFID_ECLOSED for a lane of NULL.
 * Threads: one at a time per lane. Fork: both go on, each with numbers of its own. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_lane_next(sfid_lane *lane);

/**
 * Frees a lane, before or after its generator is closed. NULL is fine.
 * Threads: one. Fork: parent and child each free their own. Signals: not safe.
 */
SFID_API void sfid_lane_close(sfid_lane *lane);

#ifdef __cplusplus
}
#endif

#endif
