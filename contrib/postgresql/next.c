/* SPDX-License-Identifier: MIT */
/*
 * next.c - sfid_next(): a backend joins the keeper's page and generates from it.
 *
 * A call takes an ID by one atomic add. If it has to wait (the sequence of this
 * tick is used up, the window is being extended, the keeper has not started yet)
 * it waits by latch, so that it can be cancelled, and tries again.
 */
#include "pgsfid.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/wait_event.h"

#define JOIN_TIMEOUT_MS 200 /* no cancellation is heard for so long */
#define NAP_LONGEST_MS 1000

static sfid *generator;
static uint32 joined; /* the keeper's life then */

/* ---- errors -------------------------------------------------------------------- */

/* None of class 08 or 28: drivers take those for the state of the client's own connection. */
static int sqlstate_of(int code) {
    switch (code) {
    case SFID_EINVAL:
    case SFID_ELAYOUT:
        return ERRCODE_INVALID_PARAMETER_VALUE;
    case SFID_ENOMEM:
        return ERRCODE_OUT_OF_MEMORY;
    case SFID_EAGAIN:
        return ERRCODE_INSUFFICIENT_RESOURCES;
    case SFID_EBUSY:
        return ERRCODE_OBJECT_IN_USE;
    case SFID_ECLOCK:
    case SFID_ELEASE:
        return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    case SFID_EOVERFLOW:
        return ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED;
    case SFID_ENOPID:
        return ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
    case SFID_EREDIS:
    case SFID_EAUTH:
        return ERRCODE_SYSTEM_ERROR;
    case SFID_ESTATE:
        return ERRCODE_IO_ERROR;
    case SFID_EUNSUPPORTED:
        return ERRCODE_FEATURE_NOT_SUPPORTED;
    default:
        return ERRCODE_INTERNAL_ERROR;
    }
}

/* What the keeper reports; *code becomes its error, if it has one. */
static char *why_of_keeper(int *code) {
    char *why;
    LWLockAcquire(pgsfid_keeper->lock, LW_SHARED);
    if (pgsfid_keeper->code)
        *code = pgsfid_keeper->code;
    why = pstrdup(pgsfid_keeper->why);
    LWLockRelease(pgsfid_keeper->lock);
    return why;
}

static void fail(int code, const char *why) {
    int because = code;
    const char *of_keeper = why_of_keeper(&because);
    const bool awaited = code == SFID_EAGAIN || code == SFID_ELEASE;
    sfid_status_info status;
    if (awaited && generator && sfid_status(generator, &status) == 0 && status.window_ms == 0) {
        because = because == code ? SFID_ELEASE : because;
        why =
            "the window of the process ID is over, and the sfid keeper has not extended it in time";
    }
    ereport(ERROR, (errcode(sqlstate_of(awaited ? because : code)),
                    errmsg("cannot generate an ID: %s", why),
                    *of_keeper ? errdetail("The sfid keeper reports: %s", of_keeper) : 0));
}

/* ---- the page ------------------------------------------------------------------- */

static void leave(int code, Datum arg) {
    sfid_close(generator);
    generator = NULL;
}

/* 0, or a code with the reason. */
static int join(uint32 life, const char **why) {
    static bool first = true;
    static char text[512];
    if (first) {
        on_proc_exit(leave, 0);
        ReserveExternalFD(); /* the run directory's */
        first = false;
    }
    leave(0, 0);
    const int rc = pgsfid_open(&generator, 2, JOIN_TIMEOUT_MS, NULL);
    if (rc == 0) {
        joined = life;
        return 0;
    }
    strlcpy(text, generator ? sfid_last_error(generator) : sfid_strerror(rc), sizeof text);
    *why = text;
    leave(0, 0);
    return rc;
}

/* Keeps to the page while the keeper restarts, and joins the page of the next one, which may be
 * another. */
static int64 take(const char **why) {
    const uint32 life = pg_atomic_read_u32(&pgsfid_keeper->life);
    if ((life & 1) && (generator == NULL || joined != life)) {
        const int rc = join(life, why);
        if (rc < 0)
            return rc;
    }
    if (generator == NULL) {
        *why = "the sfid keeper has no process ID yet";
        return SFID_ELEASE;
    }
    const int64 id = sfid_try_next(generator);
    if (id < 0)
        *why = sfid_strerror((int)id);
    return id;
}

/* ---- waiting ---------------------------------------------------------------------- */

/* True if time may help. */
static bool may_pass(int code) {
    if (code == SFID_ECLOCK)
        return generator && sfid_retry_ms(generator) >= 0;
    return code == SFID_EAGAIN || code == SFID_ELEASE || code == SFID_EBUSY;
}

/* Sleeps until another attempt makes sense, or fails. *nap_ms: 0 at first. */
static void wait_or_fail(int code, const char *why, instr_time *began, long *nap_ms) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    if (*nap_ms == 0)
        *began = now;
    INSTR_TIME_SUBTRACT(now, *began);
    const long left_ms = pgsfid_max_wait_ms - (long)INSTR_TIME_GET_MILLISEC(now);
    if (!may_pass(code) || left_ms <= 0)
        fail(code, why);
    *nap_ms = *nap_ms ? Min(*nap_ms * 2, NAP_LONGEST_MS) : 1;
    const int retry_ms = generator ? sfid_retry_ms(generator) : 0;
    long ms = Min(*nap_ms, left_ms);
    if (retry_ms > 0)
        ms = Min(ms, retry_ms);
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

PG_FUNCTION_INFO_V1(pgsfid_next);
Datum pgsfid_next(PG_FUNCTION_ARGS) {
    const char *why = "";
    instr_time began;
    long nap_ms = 0;
    int64 id;
    if (pgsfid_keeper == NULL)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("sfid_next() needs the sfid keeper, which does not run"),
                        errhint("Add sfid to shared_preload_libraries and restart the server.")));
    PreventCommandDuringRecovery("sfid_next()");
    INSTR_TIME_SET_ZERO(began);
    while ((id = take(&why)) < 0)
        wait_or_fail((int)id, why, &began, &nap_ms);
    PG_RETURN_INT64(id);
}
