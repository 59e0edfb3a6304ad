/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - loading, and the background worker that keeps the page for all backends.
 *
 * It opens the generator, and then only waits: the library's threads extend the
 * window. They call on_event, where nothing of PostgreSQL may be called. So an
 * event goes through a pipe to the worker's main thread, which logs it.
 */
#include "pgsfid.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/shmem.h"
#include "utils/wait_event.h"

#include <fcntl.h>
#include <unistd.h>

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

#define OPEN_LONGEST_MS 5000
#define PAUSE_FIRST_MS 250 /* after an open that failed */
#define PAUSE_LONGEST_MS 30000

PgsfidKeeper *pgsfid_keeper;

static shmem_request_hook_type next_request;
static shmem_startup_hook_type next_startup;

/* ---- in the postmaster -------------------------------------------------------- */

static void request(void) {
    if (next_request)
        next_request();
    RequestAddinShmemSpace(MAXALIGN(sizeof(PgsfidKeeper)));
    RequestNamedLWLockTranche("sfid", 1);
}

static void startup(void) {
    bool found;
    if (next_startup)
        next_startup();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    pgsfid_keeper = ShmemInitStruct("sfid", sizeof(PgsfidKeeper), &found);
    if (!found) {
        memset(pgsfid_keeper, 0, sizeof *pgsfid_keeper);
        pg_atomic_init_u32(&pgsfid_keeper->life, 0);
        pgsfid_keeper->lock = &GetNamedLWLockTranche("sfid")->lock;
    }
    LWLockRelease(AddinShmemInitLock);
}

/* The worker starts when recovery is over: before, nobody may generate. */
static void register_keeper(void) {
    BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS,
                               .bgw_start_time = BgWorkerStart_RecoveryFinished,
                               .bgw_restart_time = 1,
                               .bgw_library_name = "sfid",
                               .bgw_function_name = "pgsfid_keeper_main",
                               .bgw_name = "sfid keeper",
                               .bgw_type = "sfid keeper"};
    next_request = shmem_request_hook;
    shmem_request_hook = request;
    next_startup = shmem_startup_hook;
    shmem_startup_hook = startup;
    RegisterBackgroundWorker(&worker);
}

/* The extension is loaded: with the server, or by a backend. */
void _PG_init(void) {
    pgsfid_define_settings(process_shared_preload_libraries_in_progress);
    if (process_shared_preload_libraries_in_progress)
        register_keeper();
}

/* ---- events --------------------------------------------------------------------- */

/* Below PIPE_BUF, so that each is written whole. */
typedef struct Note {
    sfid_event_kind kind;
    int code;
    int64 pid;
    char text[480];
} Note;

static int notes[2]; /* a pipe */

/* In a thread of the library. A full pipe loses the event: the worker is stopped, or has no
 * time. */
static void on_event(void *user, const sfid_event *e) {
    Note note = {.kind = e->kind, .code = e->code, .pid = e->pid};
    strlcpy(note.text, e->text, sizeof note.text);
    if (write(notes[1], &note, sizeof note) < 0)
        return;
}

static void set_why(int code, const char *why) {
    LWLockAcquire(pgsfid_keeper->lock, LW_EXCLUSIVE);
    pgsfid_keeper->code = code;
    strlcpy(pgsfid_keeper->why, why, sizeof pgsfid_keeper->why);
    LWLockRelease(pgsfid_keeper->lock);
}

static void log_notes(void) {
    Note note;
    while (read(notes[0], &note, sizeof note) == sizeof note) {
        const bool usual = note.kind == SFID_EVENT_RENEWED || note.kind == SFID_EVENT_KEEPS ||
                           note.kind == SFID_EVENT_CONNECTED;
        const bool good = note.kind == SFID_EVENT_RENEWED || note.kind == SFID_EVENT_LEASED ||
                          note.kind == SFID_EVENT_LEASED_AGAIN;
        if (good)
            set_why(0, "");
        else if (note.kind == SFID_EVENT_RENEW_FAILED || note.kind == SFID_EVENT_LOST)
            set_why(note.code ? note.code : SFID_ELEASE, note.text);
        ereport(usual ? DEBUG1 : LOG, (errmsg("sfid keeper, pid " INT64_FORMAT ": %s: %s", note.pid,
                                              sfid_event_name(note.kind), note.text)));
    }
}

/* ---- the worker ------------------------------------------------------------------- */

static sfid *generator;

static bool has_page(void) { return pg_atomic_read_u32(&pgsfid_keeper->life) & 1; }

/* Backends that have the page may use up its window. */
static void leave(int code, Datum arg) {
    if (has_page())
        pg_atomic_fetch_add_u32(&pgsfid_keeper->life, 1);
    sfid_close(generator);
    generator = NULL;
}

/* The first attempts are short, so that backends soon hear why they wait. Returns the pause until
 * the next one; -1: none is needed. */
static long try_to_open(long pause_ms) {
    const int rc = pgsfid_open(&generator, 1, Min(4 * pause_ms, OPEN_LONGEST_MS), on_event);
    if (rc == 0) {
        set_why(0, "");
        pg_atomic_fetch_add_u32(&pgsfid_keeper->life, 1);
        return -1;
    }
    const char *why = generator ? sfid_last_error(generator) : sfid_strerror(rc);
    set_why(rc, why);
    ereport(LOG, (errmsg("sfid keeper cannot open its generator: %s", why),
                  errdetail("It tries again in %ld ms.", pause_ms)));
    sfid_close(generator);
    generator = NULL;
    return pause_ms;
}

void pgsfid_keeper_main(Datum arg) {
    long next_pause_ms = PAUSE_FIRST_MS;
    pqsignal(SIGHUP, SIG_IGN);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    if (pipe2(notes, O_CLOEXEC | O_NONBLOCK) < 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("sfid keeper cannot make a pipe: %m")));
    before_shmem_exit(leave, 0);
    while (!ShutdownRequestPending) {
        const long pause_ms = generator ? -1 : try_to_open(next_pause_ms);
        const int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_SOCKET_READABLE |
                           (pause_ms < 0 ? 0 : WL_TIMEOUT);
        if (pause_ms >= 0)
            next_pause_ms = Min(next_pause_ms * 2, PAUSE_LONGEST_MS);
        WaitLatchOrSocket(MyLatch, events, notes[0], pause_ms, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        log_notes();
    }
    proc_exit(1); /* 0 would mean: never start it again, also after pg_terminate_backend() */
}
