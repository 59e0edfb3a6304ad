/* SPDX-License-Identifier: MIT */
/**
 * shim.h - how tests control the preloaded shim (shim.c).
 *
 * $SFID_SHIM_CONTROL names a file that holds a struct shim_control. It can move
 * the clocks of all processes with this variable at any time. With a file for
 * each, a server, its replica and their clients disagree.
 *
 * For scripts: $SFID_SHIM_AHEAD_S sets the clock ahead by that many seconds,
 * $SFID_SHIM_STEP_MS by further milliseconds once the program has slept, and
 * $SFID_SHIM_KERNEL sets what adjtimex(2) says: kept, leap, unkept or denied.
 * With $SFID_SHIM_SILENT_RESOLVER, no look-up of a name ends;
 * $SFID_SHIM_FIRST_ADDRESS comes before the addresses that one finds.
 *
 * $SFID_SHIM_STATE and $SFID_SHIM_DISK: see shim_notes.h.
 */
#ifndef SFID_TESTS_SHIM_H
#define SFID_TESTS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shim_control {
    _Atomic int64_t clock_fixed_ns;  /* the clock stands at this time; 0: it runs */
    _Atomic int64_t clock_offset_ns; /* added while it runs */
    _Atomic int64_t sync_ns;         /* least duration of a sync */
    _Atomic uint64_t syncs;          /* of files and directories below the state directory */
    _Atomic uint64_t mark_syncs;     /* those of files pid-* */
    _Atomic uint64_t not_simulated;  /* msync calls */
    _Atomic uint64_t mark_begun;     /* syncs of marks that have begun */
    /* the sync of a mark with this number never returns; 0: all return */
    _Atomic uint64_t mark_hangs;
};

/*
 * Preloads the shim into all that this process starts, with this control file. The shim is
 * ./tests/.libs/shim.so, or $SFID_SHIM. Returns false if it was not built.
 */
bool shim_preload(const char *control);

#endif
