/* SPDX-License-Identifier: MIT */
/**
 * shim.h - what tests tell the preloaded shim (shim.c).
 *
 * $SFID_SHIM_CONTROL names a file that holds a struct shim_control: the clock
 * of every process that has it in its environment can be moved at any time.
 * One file for each, and a server, its replica and their clients disagree.
 *
 * For scripts: $SFID_SHIM_AHEAD_S puts the clock ahead by so many seconds,
 * $SFID_SHIM_STEP_MS by so many milliseconds more once the program has slept,
 * and $SFID_SHIM_KERNEL is what adjtimex(2) says: kept, leap, unkept or denied.
 *
 * $SFID_SHIM_STATE and $SFID_SHIM_DISK: see shim_notes.h.
 */
#ifndef SFID_TESTS_SHIM_H
#define SFID_TESTS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shim_control {
    _Atomic int64_t clock_fixed_ns;  /* the time of day stands there; 0: it goes on */
    _Atomic int64_t clock_offset_ns; /* is added to it while it goes on */
    _Atomic int64_t sync_ns;         /* how long a sync takes, at least */
    _Atomic uint64_t syncs;          /* of files and directories below the state directory */
    _Atomic uint64_t mark_syncs;     /* of files pid-* among them */
    _Atomic uint64_t not_simulated;  /* msync calls */
    _Atomic uint64_t mark_begun;     /* syncs of marks that have begun */
    _Atomic uint64_t mark_hangs;     /* the one of that number never comes back; 0: each does */
};

/*
 * What this process starts from now on has the shim, told by this file. False when it was not built: it is
 * ./tests/.libs/shim.so, or what $SFID_SHIM names.
 */
bool shim_preload(const char *control);

#endif
