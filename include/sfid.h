/* SPDX-License-Identifier: MIT */
/**
 * sfid.h - unique, time-ordered 64-bit IDs without a round trip.
 *
 *     sfid *g = NULL;
 *     if (sfid_open_app(&g, "orders", "local") < 0) { puts(sfid_last_error(g)); sfid_close(g); return 1; }
 *     int64_t id = sfid_next(g);
 *     sfid_close(g);
 *
 * Under one app name no two IDs are ever equal: over threads, forked children,
 * processes and restarts; doc/design.md has the assumptions. Where the right
 * to issue IDs cannot be shown, calls return an error and no ID.
 *
 * Three words stand in each description below. Threads: "any" means that any
 * number of threads may call it at once on one handle. Fork: "shared" means
 * that the child may use the handle it inherited, and draws from the same
 * sequence as its parent; not, however, a handle that another thread was just
 * opening or closing, nor after a fork in a signal handler that interrupted a
 * call on it, nor after one in on_event. A child shares the hold on the pid
 * from the fork on, until it closes, execs or ends. Signals: "async-safe" calls may be made in a signal
 * handler; all others must not.
 *
 * A thread that is cancelled (pthread_cancel) inside a call finishes it first:
 * the cancellation takes effect at the caller's next cancellation point. Only
 * a call that generates IDs is such a point itself, while it sleeps; it leaves
 * no lock or descriptor behind, and loses at most the IDs it had generated. No
 * SIGXFSZ or SIGPIPE of the library's own writes arrives. A handle of NULL is
 * answered as one that is closed, or as the description says.
 */
#ifndef SFID_H
#define SFID_H

#include <stddef.h>
#include <stdint.h>

#include "sfid/error.h"
#include "sfid/event.h"
#include "sfid/lane.h"
#include "sfid/layout.h"
#include "sfid/text.h"
#include "sfid/version.h"
#include "sfid/wide.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator. Opaque; made by sfid_open(), ended by sfid_close(). */
typedef struct sfid sfid;

/* ---- options ------------------------------------------------------------ */

/** What a call does when the sequence of the current tick is used up. */
typedef enum sfid_exhaustion {
    SFID_WAIT = 0, /**< sleep until the tick of the next number, at most max_wait_ms */
    SFID_BORROW,   /**< issue ahead of the clock, at most max_ahead_ms; beyond that as SFID_WAIT */
    SFID_FAIL      /**< return SFID_EAGAIN */
} sfid_exhaustion;

/** What sfid_open() does when Redis does not know the app. */
typedef enum sfid_on_unknown {
    SFID_WAIT_OUT = 0, /**< wait until every window that could have been granted before has ended */
    SFID_TRUST         /**< take it for new: no process of this app is running anywhere */
} sfid_on_unknown;

/**
 * Options of sfid_open(). Start from SFID_OPTIONS_INIT, which sets every
 * member; the size tells the library which version of this struct it reads.
 * Strings and the layout are copied: they need not outlive the call.
 */
typedef struct sfid_options {
    size_t size;                /**< sizeof(sfid_options), set by SFID_OPTIONS_INIT */
    const char *app;            /**< names the pid space: 1 to 64 of [A-Za-z0-9_.{}-], no dot first. NULL only with pid
                                     and without store: then uniqueness ends with the process, and with this copy of the
                                     library in it, see sfid_open() */
    const char *store;          /**< where pids are leased, see sfid_open(); NULL with pid, and only then */
    int64_t pid;                /**< -1: lease one; else this pid, fixed by the caller */
    int64_t pid_min, pid_max;   /**< the part of the layout's pids to lease from, both inclusive; both 0: all of them, from the
                                     first that the makers of a preset use (icicle: 1). A store
                                     may name them instead; see sfid_open() */
    const sfid_layout *layout;  /**< NULL: SFID_LAYOUT_DEFAULT */
    const char *run_dir;        /**< slot files; NULL: $SFID_RUN_DIR, else /dev/shm/sfid-UID */
    const char *state_dir;      /**< locks and durable marks; NULL: $SFID_STATE_DIR, else $STATE_DIRECTORY, else
                                     /var/lib/sfid for root, ~/.local/state/sfid for others. With a Redis store none is
                                     needed, see SFID_EVENT_NO_STATE_DIR */
    sfid_exhaustion exhaustion; /**< SFID_WAIT */
    uint32_t max_wait_ms;       /**< 2000: how long one call may sleep in all. 0: never. SFID_WAIT wants at least one unit */
    uint32_t max_ahead_ms;      /**< 10000: how far ahead of the clock IDs may be issued (borrowing, regressions). 0: never.
                                     At most 86400000 */
    uint64_t random_start;      /**< 0: each tick starts at sequence 0; N: at a random number below N, at most half the
                                     sequence, so that low bits spread at low rates */
    uint32_t ttl_ms;            /**< 600000: how long a lease from Redis lasts without renewal. 1000 to 86400000 */
    uint32_t heartbeat_ms;      /**< 180000: how often it is renewed. At least 100, at most ttl_ms / 3 */
    uint32_t open_timeout_ms;   /**< 5000: how long sfid_open() may wait for a lease, at least 1 */
    uint32_t max_skew_ms;       /**< 300000: how far this host's clock may be from that of Redis; half of ttl_ms at most
                                     counts. 0: half of ttl_ms */
    uint32_t skew_budget_ms;    /**< 15000: how far the clocks of an app's Redis servers may differ, and for how long a
                                     superseded one may go on granting. At most 3600000; the same for all of an app */
    sfid_on_unknown on_unknown; /**< SFID_WAIT_OUT */
    void (*on_event)(void *user, const sfid_event *event); /**< NULL, or called from the background thread only, in order;
                                     sfid_status, sfid_parse and sfid_next may be called inside, sfid_open not;
                                     sfid_close of this generator does nothing there */
    void *user;                                            /**< handed to on_event */
    const sfid_wide_layout *wide; /**< NULL; or, instead of layout, that of IDs of up to 128 bits: sfid_next_wide() and its
                                     like generate them, see wide.h. Copied as well */
} sfid_options;

#define SFID_OPTIONS_INIT \
    { \
        sizeof(sfid_options), NULL, NULL, -1, 0, 0, NULL, NULL, NULL, SFID_WAIT, 2000, 10000, 0, 600000, 180000, 5000, 300000, \
            15000, SFID_WAIT_OUT, NULL, NULL, NULL \
    }

/* ---- a generator -------------------------------------------------------- */

/**
 * Opens a generator.
 *
 * *out is set in every case: to the generator on success, else to a handle
 * that sfid_last_error() explains and that wants sfid_close(); to NULL when
 * memory ran out. Directories are created (mode 0700) where they are missing.
 * With an app one thread is started, with all signals blocked and not to be cancelled. A generator
 * that died on this boot is continued at the very number where it stopped.
 *
 * Where its pid comes from:
 *
 *   opt->pid          the caller says so. With an app the pid's lock and durable
 *                     mark in the state directory keep this host's processes apart.
 *                     Without an app, handles of one pid know of each other only
 *                     if they are of the same copy of the library: a plugin with
 *                     a copy of its own (linked statically, or loaded from another
 *                     file) generates the same IDs. With an app, any name, the
 *                     second copy gets SFID_EBUSY
 *   store "local"     a pid that no other process of this user on this host holds:
 *                     unique among all that share the state directory, and nowhere
 *                     else. Parameters behind a '?', joined by '&':
 *                       mark=none      the mark is written, but never synced: no
 *                                      waiting for a disk, and after a power loss
 *                                      IDs may repeat (SFID_EVENT_NOT_DURABLE)
 *                       lead_ms=N      how far ahead of use the mark lies: 30000;
 *                                      100 to 86400000. A longer one is synced less
 *                                      often and waited for longer after power loss
 *                       pid_min=N, pid_max=N
 *                                      the lowest and the highest pid to lease; an end
 *                                      that is not given is the layout's. opt->pid_min
 *                                      and pid_max are 0 then, or the very same range
 *   store "redis://…" leased from a Redis or Valkey server: unique over all hosts
 *                     that lease from it under this app name. Also valkey://,
 *                     and unix:///path/of/socket?db=N
 *                       redis://[user:password@]host[:port][/db][?name=value&…]
 *                       redis+sentinel://[user:password@]host[:port],…/master[/db][?…]
 *                         the master that these sentinels name; sentinel_user and
 *                         sentinel_password are for them
 *                       redis+cluster://[user:password@]host[:port],…[?…]
 *                         the node that has the app's keys; app needs a part in
 *                         braces, "{orders}", unless registration=off
 *                       rediss://…, rediss+sentinel://…, rediss+cluster://…
 *                         TLS, where this build has it: parameters ca (a file or
 *                         directory; the system's), cert and key (a client's), sni (the
 *                         server's name where that is not the host)
 *                       password_file=FILE
 *                         in place of a password before the host: the
 *                         file holds it (255 bytes at most; one newline at its end is
 *                         dropped) and is read again for each connection, so that an
 *                         exchanged password is taken up. Before the host there may be
 *                         user@ then. A relative FILE lies below $CREDENTIALS_DIRECTORY
 *                         (systemd.exec(5)), which is read here. For the sentinels
 *                         there is sentinel_password_file
 *                     Parameters: connect_timeout (1000) and timeout (2000) in
 *                     milliseconds, db, client_name, registration=off, pid_min and
 *                     pid_max (as of "local", 65535 at most), replicas=N
 *                     (a claim waits to reach so many, and an event tells when it
 *                     does not). The server is asked here, by the background
 *                     thread and by sfid_close(), and by no other call
 *
 * Returns 0, or
 *   SFID_EINVAL       out or opt NULL; an option out of range (the text names it); both layout and wide are set
 *   SFID_ENOMEM       out of memory
 *   SFID_EBUSY        another process of this host, or another handle, holds opt->pid
 *   SFID_ENOPID       all pids are taken, or the server does not know the app (the text
 *                     says by whom, and until when)
 *   SFID_EREDIS       the server cannot be reached, or answers something else
 *   SFID_EAUTH        user, password, or a permission of the user (it is named); with TLS a
 *                     certificate, the server's or one that it wants
 *   SFID_ECLOCK       the clock is before the layout's epoch, or further from the server's than max_skew_ms
 *   SFID_EOVERFLOW    the clock is past the layout's end
 *   SFID_ELAYOUT      this app has another layout on this host, or another layout, ttl_ms or
 *                     skew_budget_ms on the server
 *   SFID_ESTATE       a directory or file cannot be used (the text says which and why), or RLIMIT_FSIZE is below 1 MiB
 *   SFID_EUNSUPPORTED the store is one that this build cannot use
 * Threads: any (different out). Fork: the handle is shared with children. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_open(sfid **out, const sfid_options *opt);

/**
 * Opens a generator with the default layout and options: the common case.
 * app and store as in sfid_options; returns, and is safe, as sfid_open().
 */
SFID_API SFID_MUST_CHECK int sfid_open_app(sfid **out, const char *app, const char *store);

/**
 * Draws one ID.
 *
 * Sleeps at most max_wait_ms, and only when the sequence is used up
 * (SFID_WAIT, SFID_BORROW), the clock stands far back, or the window has to be
 * renewed first. A failing call uses up no number, but for one that it may
 * have drawn in advance.
 *
 * Returns an ID >= 0, or
 *   SFID_EAGAIN    no number within max_wait_ms (SFID_FAIL: none now)
 *   SFID_ECLOCK    the clock is before the epoch, or went back further than waiting helps
 *   SFID_EOVERFLOW the layout has ended
 *   SFID_ELEASE    the window is over and could not be renewed in time
 *   SFID_ECLOSED   the generator is closed or was never open
 *   SFID_EINVAL    the IDs of g have up to 128 bits: sfid_next_wide() generates them
 * Threads: any, also while another thread closes g. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_next(sfid *g);

/**
 * Draws one ID without ever sleeping.
 *
 * Returns as sfid_next(), with SFID_EAGAIN (see sfid_retry_ms()) where that
 * would sleep. It starts nothing: a forked child that outlives its parent has
 * its window extended only if it calls sfid_next() or sfid_next_n() as well.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_try_next(sfid *g);

/**
 * Draws up to n IDs, increasing, into ids[0..n-1].
 *
 * Numbers are taken in runs, so that other threads' IDs may stand between
 * them. May sleep as sfid_next(), max_wait_ms in all.
 *
 * Returns how many were written: fewer than n only when max_wait_ms, the
 * window, the clock or a close ended the call; 0 when n is 0. Where none were
 * written the error of sfid_next(), or
 *   SFID_EINVAL    ids is NULL and n is not 0, or the IDs of g have up to 128 bits
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_next_n(sfid *g, int64_t *ids, size_t n);

/**
 * How long until sfid_try_next() may succeed again.
 *
 * Returns milliseconds, rounded up, at most INT_MAX; 0 when it may now; or
 * SFID_ECLOSED, SFID_EOVERFLOW, SFID_ECLOCK when waiting will not help.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int sfid_retry_ms(const sfid *g);

/**
 * The pid in the IDs: the pid held; for flake and awsflake the worker.
 *
 * Returns it, or SFID_ECLOSED.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int64_t sfid_pid(const sfid *g);

/** What a generator is doing; sfid_status() fills it. */
typedef struct sfid_status_info {
    int open;                      /**< 1 while IDs may be drawn */
    int last_code;                 /**< the last error any call on this handle returned in this process, or 0 */
    int64_t pid;                   /**< the pid held, or -1 */
    int64_t window_ms;             /**< what is left of the window; 0: over. INT64_MAX: it ends with the layout */
    int64_t ahead_ms;              /**< how far the next ID's tick lies past the clock; 0: not at all */
    uint64_t issued;               /**< IDs drawn since sfid_open(), by this handle's whole fork family */
    uint64_t waits;                /**< calls of this process that slept */
    uint64_t refused;              /**< calls of this process refused with SFID_EAGAIN or SFID_ECLOCK */
    uint64_t regressions;          /**< backward steps over 1 s seen on this page */
    int64_t largest_regression_ms; /**< the largest of them */
    uint64_t losses;               /**< times this process found the pid lost */
    uint64_t renewals;             /**< windows extended, by this handle's whole fork family */
    uint64_t renew_failures;       /**< renewals that failed in this process since the last that did not */
    int keeper_here;               /**< 1 when this process runs the background thread of the generator */
    int connected;                 /**< 1 while the store's server answers this process; 0 without a server */
    char identity[160];            /**< machine_id:slot, or empty without an app */
    int64_t skew_ms;               /**< how far this host's clock was ahead of the server's at this process's last renewal */
    uint64_t first_tick;           /**< the window: IDs may have this tick, */
    uint64_t limit_tick;           /**< and those up to this one, exclusive */
    int64_t replicas;              /**< replicas that had this process's last claim; -1: not known, or replicas=N not in the URL */
    uint64_t reserved[11];         /**< zero */
} sfid_status_info;

/**
 * Tells what the generator is doing, as of about now, without a lock.
 *
 * Returns 0, or SFID_EINVAL when g or out is NULL.
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API int sfid_status(const sfid *g, sfid_status_info *out);

/**
 * The last error of a handle in one sentence for the operator.
 *
 * Returns a copy of the calling thread's own, valid until its next call of
 * this function; never NULL, and "" where nothing went wrong. g may be NULL
 * (after SFID_ENOMEM, or to be safe).
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API const char *sfid_last_error(const sfid *g);

/**
 * Closes a generator: ends its thread and, when no forked child goes on with
 * it, gives the pid back with the exact position reached.
 *
 * Writes to the state directory once, and waits for what its thread is writing
 * there: milliseconds, unless that disk hangs; or asks the server once, and
 * waits for a second at most. Calls of other threads that are under way
 * return an ID drawn before or SFID_ECLOSED; so do later ones (sfid_next,
 * sfid_try_next, sfid_next_n, sfid_pid, sfid_retry_ms, sfid_status,
 * sfid_last_error): some 200 bytes of a handle that was open stay behind for
 * that (400 with ticks below a second, 500 of wide IDs), and the page up to its
 * last record, 192 bytes for each open. g may be NULL. Closing a handle again
 * does nothing. Closing it inside its on_event does nothing, from the first
 * event on. A handle that sfid_open() did not open is freed.
 * Threads: once per handle and process. Fork: parent and child each close their own. Signals: not safe.
 */
SFID_API void sfid_close(sfid *g);

/* ---- layouts and IDs: pure functions ------------------------------------ */
/* In all of these a layout of NULL means SFID_LAYOUT_DEFAULT. Threads: any. Fork: safe. Signals: async-safe. */

/**
 * Takes an ID apart.
 *
 * Returns 0, or SFID_EINVAL when out is NULL, id is negative, or a bit above
 * the layout's fields is set (out is then left alone).
 */
SFID_API SFID_MUST_CHECK int sfid_parse(const sfid_layout *l, int64_t id, sfid_parts *out);

/**
 * Takes n IDs apart into out[0..n-1].
 *
 * Returns 0, or SFID_EINVAL when ids or out is NULL with n > 0, or an ID is
 * not of the layout: the others are still taken apart, its own entry is all
 * zero but for tick, which is UINT64_MAX.
 */
SFID_API SFID_MUST_CHECK int sfid_parse_n(const sfid_layout *l, const int64_t *ids, size_t n, sfid_parts *out);

/**
 * Puts an ID together from in->tick, in->pid and in->seq (unix_ms is not read).
 * Such an ID is outside the promise of uniqueness.
 *
 * Returns 0, or SFID_EINVAL when in or id is NULL or pid or seq is too large
 * for the layout, SFID_EOVERFLOW when tick is.
 */
SFID_API SFID_MUST_CHECK int sfid_compose(const sfid_layout *l, const sfid_parts *in, int64_t *id);

/**
 * The tick that contains a moment, unix_ms in Unix milliseconds.
 *
 * Returns 0, or
 *   SFID_EINVAL    tick is NULL, or the layout unusable
 *   SFID_ECLOCK    the moment is before the layout's epoch
 *   SFID_EOVERFLOW it is past the layout's end
 * *tick is set on success only.
 */
SFID_API SFID_MUST_CHECK int sfid_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick);

/**
 * The lowest and the highest ID of the tick that contains a moment, for range
 * queries (SQL BETWEEN). unix_ms: Unix milliseconds; a moment outside the
 * layout's range counts as its nearer end.
 *
 * Returns an ID, or SFID_EINVAL for an unusable layout.
 */
SFID_API int64_t sfid_min_at(const sfid_layout *l, int64_t unix_ms);
SFID_API int64_t sfid_max_at(const sfid_layout *l, int64_t unix_ms);

/**
 * Reads a layout: a preset's name (sfid_layout_preset() lists them), or
 * TIME:PID:SEQ[/UNIT][@EPOCH_MS] with UNIT like 1ms, 10ms, 1s; without UNIT
 * 1ms, without EPOCH_MS SFID_EPOCH_MS.
 *
 * Returns 0, or SFID_EINVAL (out is then left alone).
 */
SFID_API SFID_MUST_CHECK int sfid_layout_parse(const char *text, sfid_layout *out);

/**
 * Writes a layout as text that sfid_layout_parse() reads back: a preset's
 * name, else TIME:PID:SEQ/UNIT@EPOCH_MS. buf has size bytes; SFID_LAYOUT_STR_LEN
 * is always enough.
 *
 * Returns 0, or SFID_EINVAL when buf is NULL or too small or the layout unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_format(const sfid_layout *l, char *buf, size_t size);

/**
 * Checks that a layout could have been made by SFID_LAYOUT() or
 * sfid_layout_parse(), or is as good: fields apart and inside the ID, the tick
 * above the others, derived members that agree with the widths.
 *
 * Returns 0 or SFID_EINVAL.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_check(const sfid_layout *l);

/**
 * Tells what follows from a layout: last date, rates, number of processes.
 *
 * Returns 0, or SFID_EINVAL when out is NULL or the layout unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_describe(const sfid_layout *l, sfid_layout_facts *out);

/**
 * Lists the fields of a layout under their own names, highest bits first,
 * which is also the order in which they decide how IDs sort. fields has room
 * for max of them; SFID_LAYOUT_FIELDS are always enough. Where a preset splits
 * the pid, its parts are listed.
 *
 * Returns how many there are, or SFID_EINVAL when fields is NULL or too short or the layout unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_fields(const sfid_layout *l, sfid_field *fields, size_t max);

/** The i-th preset's name, from 0; NULL past the last. */
SFID_API const char *sfid_layout_preset(size_t i);

/* ---- directories -------------------------------------------------------- */

/**
 * Tells which directories a generator with these options would use, without
 * making or opening them: sfid_options.run_dir and state_dir, or what stands
 * in for them. opt may be NULL. Each buffer has size bytes; NULL: not wanted.
 *
 * Returns 0, or
 *   SFID_EINVAL a buffer is too small, or the options are of an unknown size
 *   SFID_ESTATE there is no such directory to name (HOME is not set), or the working directory cannot be told
 *   SFID_ENOMEM out of memory
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_directories(const sfid_options *opt, char *run, size_t run_size, char *state, size_t state_size);

/* ---- about -------------------------------------------------------------- */

/** The text of an error code, static; "unknown error" for a number that is none. Threads: any. Signals: async-safe. */
SFID_API const char *sfid_strerror(int code);

/** The library's version, as SFID_VERSION_STRING; static. Threads: any. Signals: async-safe. */
SFID_API const char *sfid_version(void);

#ifdef __cplusplus
}
#endif

#include "sfid/admin.h"
#include "sfid/inline.h"

#endif
