/* SPDX-License-Identifier: MIT */
/*
 * pgsfid.h - what the files of the extension share.
 *
 * settings.c has the parameters, keeper.c loading and the background worker,
 * next.c what a backend generates with, ids.c the functions that only read IDs.
 *
 * The library runs in two kinds of process. The keeper opens the page with
 * share 1, and its threads extend the window. Backends join that page with share
 * 2: they start no thread, never ask a server, and generate from the same word.
 * The postmaster opens nothing, so no child of it inherits a generator.
 */
#ifndef PGSFID_H
#define PGSFID_H

#include "postgres.h"

#include "fmgr.h"
#include "port/atomics.h"
#include "storage/lwlock.h"

#include <sfid.h>

#if PG_VERSION_NUM < 150000
#error "PostgreSQL 15 or later is needed"
#endif

/* ---- settings.c ------------------------------------------------------------ */

extern sfid_layout pgsfid_layout; /* sfid.layout */
extern int pgsfid_max_wait_ms;    /* sfid.max_wait */

extern void pgsfid_define_settings(bool preloaded);

/* Opens a generator as the settings say. Returns as sfid_open(). Not for the postmaster. */
extern int pgsfid_open(sfid **out, uint64 share, uint32 timeout_ms,
                       void (*on_event)(void *, const sfid_event *));

/* ---- keeper.c -------------------------------------------------------------- */

/* In shared memory. */
typedef struct PgsfidKeeper {
    /* odd while the keeper has the page; it rises by one whenever that changes */
    pg_atomic_uint32 life;
    LWLock *lock; /* guards what follows */
    int code;     /* why the keeper cannot do its part: SFID_E…; 0: it can */
    char why[512];
} PgsfidKeeper;

extern PgsfidKeeper *pgsfid_keeper; /* NULL: sfid is not in shared_preload_libraries */

extern PGDLLEXPORT void pgsfid_keeper_main(Datum arg);

#endif
