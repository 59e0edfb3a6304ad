/* SPDX-License-Identifier: MIT */
/**
 * sfid.h - unique, time-ordered 64-bit IDs without a round trip.
 *
 *     sfid *g = NULL;
 *     if (sfid_open_app(&g, "orders", "local") < 0) {
 *         puts(sfid_last_error(g));
 *         sfid_close(g);
 *         return 1;
 *     }
 *     int64_t id = sfid_next(g);
 *     sfid_close(g);
 *
 * No two IDs of one app name are ever equal, over threads, forked children,
 * processes and restarts. doc/safety.md lists the assumptions. A call that
 * cannot prove its right to issue an ID returns an error instead.
 *
 * Each description below uses three terms.
 *
 * Threads: "any" means that any number of threads may call it at once on one
 * handle.
 *
 * Fork: "shared" means that the child may use the handle it inherited, and
 * generates from the same sequence as its parent. The child may not use the
 * handle if another thread was opening or closing it at the fork, or if the fork
 * was made in on_event or in a signal handler that interrupted a call on the
 * handle. From the fork on the child holds the pid as well, until it closes,
 * execs or ends. If the keeper had a file open at the fork, the child has that
 * descriptor until it execs or ends; it uses it for nothing.
 *
 * Signals: "async-safe" calls may be made in a signal handler. No other call may.
 *
 * A thread that is cancelled (pthread_cancel) inside a call finishes the call.
 * The cancellation takes effect at the caller's next cancellation point. Only a
 * call that generates IDs is itself such a point, while it sleeps. Such a call
 * leaves no lock or descriptor behind, and loses at most the IDs it has generated. The
 * library's own writes raise no SIGXFSZ or SIGPIPE in the program. A handle of
 * NULL counts as a closed one, unless the description says otherwise.
 *
 * This holds for deferred cancellation, which is the default. A thread that is
 * cancelled asynchronously (PTHREAD_CANCEL_ASYNCHRONOUS) while it generates, or
 * leaves such a call by siglongjmp() out of a signal handler, may keep the lock
 * of the handle's hint: with layouts of ticks below a second each call then reads
 * the clock, which costs about ten times as much, until the handle is closed. IDs
 * stay unique. No other call may be left so.
 */
#ifndef SFID_H
#define SFID_H

#include <stddef.h>
#include <stdint.h>

#include "sfid/error.h"
#include "sfid/event.h"
#include "sfid/lane.h"
#include "sfid/layout.h"
#include "sfid/options.h"
#include "sfid/text.h"
#include "sfid/version.h"
#include "sfid/wide.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator. Opaque: sfid_open() makes it, sfid_close() ends it. */
typedef struct sfid sfid;

/* ---- a generator -------------------------------------------------------- */

/**
 * Opens a generator.
 *
 * *out is always set. On success it is the generator. On failure it is a handle
 * for sfid_last_error(), which sfid_close() must free, or NULL if memory ran out.
 * The call makes missing directories with mode 0700. If a process dies, the next
 * one continues at the next ID. One thread renews the leases of a process, or up to
 * five while it waits for servers or disks. A handle with on_event has its own. Of
 * the processes that share a page, only the one that keeps it has a thread for it.
 * One more runs while a call with share has the process open another page.
 *
 * Where its pid comes from:
 *
 *   opt->pid          the caller fixes it. With an app, a lock and a durable mark
 *                     in the state directory keep this host's processes apart.
 *                     Without an app, handles of one pid know of each other only
 *                     within one copy of the library. A plugin with its own copy
 *                     (linked statically, or loaded from another file) generates
 *                     the same IDs. With an app of any name, the second copy
 *                     gets SFID_EBUSY
 *   store "local"     a pid that no other process of this user on this host holds.
 *                     It is unique among processes that share the state directory,
 *                     and nowhere else. Parameters follow a '?', joined by '&':
 *                       mark=none      the mark is written, but never synced. No call
 *                                      waits for a disk, but IDs may repeat after a
 *                                      power loss (SFID_EVENT_NOT_DURABLE)
 *                       lead_ms=N      how far the mark lies ahead of use: 100 to
 *                                      86400000, default 30000. A longer lead means
 *                                      fewer syncs, a longer wait after a power loss
 *                       share=1        as opt->share
 *                       pid_min=N, pid_max=N
 *                                      the lowest and the highest pid to lease; the
 *                                      default is the layout's. opt->pid_min and
 *                                      pid_max must then be 0 or the same range
 *   store "ordinal:"  a fixed pid that the platform numbers: the number at the end of
 *                     the host's name (app-3), of a variable (ordinal:env=NAME) or
 *                     of a file (ordinal:file=/PATH). No other process may have it at
 *                     the same time. Parameters as for "local". Without a mark here,
 *                     it begins lead_ms, max_ahead_ms and skew_budget_ms from now, as
 *                     another host may have used it (on_unknown; doc/deploy.md)
 *   store "redis://…" a lease from a Redis or Valkey server: unique over all hosts
 *                     that lease from it under this app name. Also valkey://,
 *                     and unix:///path/of/socket?db=N
 *                       redis://[user:password@]host[:port][/db][?name=value&…]
 *                       redis+sentinel://[user:password@]host[:port],…/master[/db][?…]
 *                         the master that these sentinels name; sentinel_user and
 *                         sentinel_password are for the sentinels
 *                       redis+cluster://[user:password@]host[:port],…[?…]
 *                         the node that has the app's keys; the app's name needs a
 *                         part in braces, "{orders}", unless registration=off
 *                       named_hosts=LIST
 *                         the hosts that sentinels and nodes may name: addresses,
 *                         networks (10.0.0.0/8) and names (redis-*.example), with
 *                         commas between them. Default: with TLS any; without it
 *                         those of the class (loopback, link-local, private,
 *                         public) of the server that names them
 *                       rediss://…, rediss+sentinel://…, rediss+cluster://…
 *                         TLS, if this build has it. Parameters: ca (a file or
 *                         directory; default: the system's), cert and key (the
 *                         client's), sni (the server's name, if it is not the host)
 *                     More parameters:
 *                       password_file=FILE, sentinel_password_file=FILE
 *                         a file of at most 255 bytes with the password, read for
 *                         each connection; one newline at its end is dropped. user@
 *                         may stand before the host. A relative FILE lies below
 *                         $CREDENTIALS_DIRECTORY (systemd.exec(5)) at sfid_open().
 *                         Prefer this: root and this user can read a password in a URL
 *                         that came by the environment in /proc/PID/environ, and
 *                         everybody one on a command line. A core dump holds either.
 *                       connect_timeout=MS, timeout=MS
 *                         how long connecting (1000) and a whole exchange (2000) may take
 *                       db=N, client_name=NAME
 *                         the database, and the name that the server shows for us
 *                       share=1, pid_min=N, pid_max=N
 *                         as for "local"; pids are 65535 at most
 *                       pids=MIN-MAX
 *                         the same, and the server keeps it with the app: it refuses
 *                         processes that may go beyond (doc/relocate.md)
 *                       registration=on|off|mixed
 *                         off: only the app's key is written. mixed: programs without a
 *                         record (the Rust crate sfid) lease here, too. There are then
 *                         no short pids; ttl_ms + skew_budget_ms must be 200000 at least
 *                       replicas=N     a claim waits until N replicas have it; if not
 *                                      in time, an event reports that
 *                       min_good=N
 *                         the server grants nothing unless N replicas are good by its
 *                         min-replicas settings. An app's processes need the same N
 *                       idle=close     keep no connection between heartbeats
 *                     Only sfid_open(), sfid_close(), the keeper and, with
 *                     share, the thread that opens the next page ask the server
 *   store "pool:MIN-MAX=URL MIN-MAX=URL…"
 *                     2 to 16 independent servers, each with a range of pids and a
 *                     user of its own, which no other server knows (doc/pool.md).
 *                     A URL is as above, without pids, pid_min and pid_max
 *
 * Returns 0, or
 *   SFID_EINVAL       out or opt is NULL; an option is out of range (the text names it); layout and
 *                     wide are both set
 *   SFID_ENOMEM       out of memory, or no thread could be made (RLIMIT_NPROC)
 *   SFID_EBUSY        another process of this host, or another handle, holds opt->pid; the app is
 *                     shared with other settings
 *   SFID_ENOPID       all pids are taken, or the server does not know the app (the text says who
 *                     holds them, and until when)
 *   SFID_ELEASE       share is 2, and no process shares the app now
 *   SFID_EREDIS       the server cannot be reached, or does not answer as it should
 *   SFID_EAUTH        the user or password is wrong, or the user lacks a permission (the text names
 *                     it); with TLS, the server's certificate fails a check, or the server wants
 *                     one from the client; a sentinel or node names a host that it may not name
 *   SFID_ECLOCK       the clock is before the layout's epoch, or more than max_skew_ms from the
 *                     server's; or a fixed pid's mark is further ahead than a right clock writes it
 *                     (sfid_mark_look(); the text has the cure)
 *   SFID_EOVERFLOW    the clock is past the layout's end
 *   SFID_ELAYOUT      this app has another layout on this host, or another layout, ttl_ms,
 *                     skew_budget_ms, short_ms or min_good on the server, or not all of these pids
 *                     there
 *   SFID_ESTATE       a directory or file cannot be used (the text says which and why), or
 *                     RLIMIT_FSIZE is below 256 KiB
 *   SFID_EUNSUPPORTED this build cannot use the store
 * Threads: any (different out). Fork: the handle is shared with children. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_open(sfid **out, const sfid_options *opt);

/**
 * Opens a generator with the default layout and options: the common case. app
 * and store are as in sfid_options.
 *
 * Returns as sfid_open().
 * Threads: any (different out). Fork: the handle is shared with children. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_open_app(sfid **out, const char *app, const char *store);

/**
 * Generates one ID.
 *
 * Sleeps at most max_wait_ms, and only if the sequence is used up (SFID_WAIT,
 * SFID_BORROW), the clock stepped far back, or the window must be renewed first.
 * A call that fails uses up one ID at most.
 *
 * Returns an ID >= 0, or
 *   SFID_EAGAIN    no ID is free within max_wait_ms (with SFID_FAIL: now)
 *   SFID_ECLOCK    the clock is before the epoch, or stepped back so far that waiting does not help
 *   SFID_EOVERFLOW the layout has ended
 *   SFID_ELEASE    the window is over and could not be renewed in time
 *   SFID_ECLOSED   the generator is closed or was never open
 *   SFID_EINVAL    the IDs of g have up to 128 bits; sfid_next_wide() generates them
 * Threads: any, also while another thread closes g. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_next(sfid *g);

/**
 * Generates one ID without ever sleeping.
 *
 * The call starts no keeper. If the keeper's process ends (a parent, or one that shares the
 * page), IDs go on only if this process also calls sfid_next(), sfid_next_n() or sfid_status().
 *
 * Returns as sfid_next(), but where that would sleep (see sfid_retry_ms())
 *   SFID_EAGAIN    the sequence is used up, or the window is about to be renewed
 *   SFID_ECLOCK    the clock stepped back
 *   SFID_ELEASE    the window is over
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_try_next(sfid *g);

/**
 * Generates up to n IDs, increasing, into ids[0..n-1].
 *
 * IDs are taken in runs, so IDs of other threads may lie between them. Sleeps as
 * sfid_next(), max_wait_ms in all. If it wakes up in a copy of the machine, it begins
 * anew: the other copy has the IDs of before.
 *
 * Returns how many IDs were written. That is less than n only if max_wait_ms, a
 * used-up sequence (with SFID_FAIL), the window, the clock, the layout's end or a
 * close ended the call. If n is 0, that is 0. If none of n > 0 were written, returns
 * the error of sfid_next(), or
 *   SFID_EINVAL    ids is NULL and n is not 0, or the IDs of g have up to 128 bits
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_next_n(sfid *g, int64_t *ids, size_t n);

/**
 * How long until sfid_try_next() may succeed again.
 *
 * Returns milliseconds, rounded up, at most INT_MAX; 0 if it may succeed now; or
 * SFID_ECLOSED, SFID_EOVERFLOW or SFID_ECLOCK if waiting does not help.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int sfid_retry_ms(const sfid *g);

/**
 * Whether IDs may be generated now: for a readiness probe. sfid_status() does not count this call.
 *
 * Returns 1 if sfid_try_next() or sfid_try_next_wide() would return an ID, or SFID_EAGAIN
 * because the sequence is used up or the generator was idle; 0 if the window is over, or
 * ahead of the clock (a page was lost), the clock is off, the layout has ended, or g is not open.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int sfid_ready(const sfid *g);

/**
 * The pid in the IDs: the pid held, or for flake, flake-go and awsflake the worker.
 *
 * Returns the pid, or SFID_ECLOSED.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int64_t sfid_pid(const sfid *g);

/** What a generator is doing, from sfid_status(). */
typedef struct sfid_status_info {
    int open;                      /**< 1 while IDs may be generated, as sfid_ready(); otherwise
                                        0 */
    int last_code;                 /**< the last error of any call on this handle in this process,
                                        or 0 */
    int64_t pid;                   /**< the pid held, or last held; -1 before the first */
    int64_t window_ms;             /**< time left in the window; 0: it is over; INT64_MAX: it ends
                                        with the layout */
    int64_t ahead_ms;              /**< how far the next ID's tick is ahead of the clock, or 0 */
    uint64_t issued;               /**< IDs generated since sfid_open() by this handle's whole fork
                                        family */
    uint64_t waits;                /**< calls of this process that slept */
    uint64_t refused;              /**< calls of this process refused: sequence used up, or clock
                                        set back */
    uint64_t regressions;          /**< clock steps back of over 1 s, seen on this page */
    int64_t largest_regression_ms; /**< the largest such step */
    uint64_t losses;               /**< how often this process found the pid lost */
    uint64_t renewals;             /**< how often the window of this pid was extended; another pid
                                        begins at 0 */
    uint64_t renew_failures;       /**< failed renewals of this process since the last one that
                                        succeeded */
    int keeper_here;               /**< 1 if this process runs the generator's keeper; with share,
                                        one process at most does */
    int connected;                 /**< 1 while the store's server answers this process; 0 without
                                        one, or before it was asked */
    char identity[160];            /**< machine_id:slot; empty without an app */
    int64_t skew_ms;               /**< how far this host's clock was ahead of the server's at this
                                        process's last renewal */
    uint64_t first_tick;           /**< first tick of the window */
    uint64_t limit_tick;           /**< end of the window, exclusive */
    int64_t replicas;              /**< replicas that had this process's last claim; -1: not known,
                                        or the URL has no replicas=N */
    int64_t shared;                /**< 1 if other processes may share the page: then counts include
                                        theirs, on that page */
    int64_t left;                  /**< 1 after a close in this process that left the pid resumable,
                                        as SFID_EVENT_LEFT says */
    uint64_t reserved[9];          /**< zero */
} sfid_status_info;

/**
 * Shows what the generator is doing, as of about now, without a lock.
 *
 * Returns 0, or SFID_EINVAL if g or out is NULL.
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API int sfid_status(const sfid *g, sfid_status_info *out);

/**
 * The last error of a handle, in one sentence for the operator.
 *
 * Returns the calling thread's own copy, valid until that thread calls this
 * function again; "" if nothing went wrong, never NULL. g may be NULL (after
 * SFID_ENOMEM, or to be safe).
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API const char *sfid_last_error(const sfid *g);

/**
 * Closes a generator. This ends the keeper and, unless a forked child still uses
 * the generator, releases the pid with the exact position reached.
 *
 * The call writes to the state directory once and waits for what the keeper is
 * writing there: milliseconds, unless that disk hangs. With a Redis store it looks
 * for 0.3 s whether the server answers (0.5 s if it has to connect), then gives the pid
 * back. It waits at most 1.3 s in all, and half a second more if the keeper is asking.
 * With share it does so for each page that the process uses, of four at most, and waits
 * up to two seconds for one that is being opened.
 *
 * If the server does not answer, has not answered the last renewal, or says that it
 * cannot write now, the pid is left resumable: a process that starts on this host within
 * the window goes on with it, as after a kill. SFID_EVENT_LEFT says so, in the thread
 * that closes, and the member `left` of sfid_status() on the closed handle. If the server
 * is sent the release, and no whole answer comes, nobody knows, and the pid stays taken until
 * its window ends; so it does if the user lacks a permission by then.
 *
 * Calls of other threads that are under way return an ID generated before, or
 * SFID_ECLOSED. Later calls find the handle closed (sfid_next, sfid_try_next,
 * sfid_next_n, sfid_pid, sfid_retry_ms, sfid_ready, sfid_status, sfid_last_error). So
 * some 200 bytes of a handle that was open stay in memory (400 with ticks below
 * a second, 500 for wide IDs or with share). The page stays up to its last
 * record, 192 bytes for each open.
 *
 * g may be NULL. Closing a handle again does nothing. Closing it inside its own on_event does
 * nothing either. If sfid_open() failed, the handle is freed. Threads: once per handle and process.
 * Fork: parent and child each close their own. Signals: not safe.
 */
SFID_API void sfid_close(sfid *g);

/* ---- IDs: pure functions ------------------------------------------------ */
/* A layout of NULL means SFID_LAYOUT_DEFAULT. Threads: any. Fork: safe. Signals: async-safe. */

/**
 * Takes an ID apart.
 *
 * Returns 0, or SFID_EINVAL if out is NULL, id is negative, or a bit above the
 * layout's fields is set. On failure *out is unchanged.
 */
SFID_API SFID_MUST_CHECK int sfid_parse(const sfid_layout *l, int64_t id, sfid_parts *out);

/**
 * Takes n IDs apart into out[0..n-1].
 *
 * Returns 0, or SFID_EINVAL if ids or out is NULL with n > 0, or if an ID does
 * not fit the layout. The other IDs are still taken apart. The entry of such an
 * ID is zero, except that its tick is UINT64_MAX.
 */
SFID_API SFID_MUST_CHECK int sfid_parse_n(const sfid_layout *l, const int64_t *ids, size_t n,
                                          sfid_parts *out);

/**
 * Puts an ID together from in->tick, in->pid and in->seq; in->unix_ms is not
 * read. The promise of uniqueness does not cover such an ID.
 *
 * Returns 0, SFID_EINVAL if in or id is NULL or pid or seq is too large for the
 * layout, or SFID_EOVERFLOW if tick is.
 */
SFID_API SFID_MUST_CHECK int sfid_compose(const sfid_layout *l, const sfid_parts *in, int64_t *id);

/**
 * Finds the tick that contains a moment; unix_ms is in Unix milliseconds.
 *
 * Returns 0, or
 *   SFID_EINVAL    tick is NULL, or the layout is unusable
 *   SFID_ECLOCK    the moment is before the layout's epoch
 *   SFID_EOVERFLOW the moment is past the layout's end
 * *tick is set on success only.
 */
SFID_API SFID_MUST_CHECK int sfid_tick_at(const sfid_layout *l, int64_t unix_ms, uint64_t *tick);

/**
 * The lowest and the highest ID of the tick that contains a moment, for range
 * queries (SQL BETWEEN). unix_ms is in Unix milliseconds. A moment outside the
 * layout's range counts as its nearer end.
 *
 * Returns an ID, or SFID_EINVAL if the layout is unusable.
 */
SFID_API int64_t sfid_min_at(const sfid_layout *l, int64_t unix_ms);
SFID_API int64_t sfid_max_at(const sfid_layout *l, int64_t unix_ms);

/* ---- directories -------------------------------------------------------- */

/**
 * Finds the directories that a generator with these options would use, without
 * making or opening them: sfid_options.run_dir and state_dir, or their defaults.
 * opt may be NULL. run and state have room for run_size and state_size bytes;
 * NULL: not wanted.
 *
 * Returns 0, or
 *   SFID_EINVAL a buffer is too small, or the options have an unknown size
 *   SFID_ESTATE no directory can be named (HOME is not set), or the working directory cannot be
 *               found
 *   SFID_ENOMEM out of memory
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_directories(const sfid_options *opt, char *run, size_t run_size,
                                              char *state, size_t state_size);

/**
 * Looks whether others can put something else in the place of what lies at an
 * absolute path. They cannot if each directory on the way belongs to root, to
 * this process's user or to the owner of /, and nobody else may write to it; or
 * it is sticky, and what is taken from it belongs to one of those. The group may
 * write if it is 0, or the process's own with the number of its user. Symbolic
 * links are followed by the same rule. What lies in a place that the variable
 * SFID_TRUST_PARENTS names (a list with colons) is taken. A part that is missing
 * ends the look. The library looks so at the directories and files that it
 * opens. why has room for size bytes, and gets one sentence on failure, cut off
 * where it is too long; NULL: not wanted.
 *
 * Returns 0, or
 *   SFID_ESTATE others can, or the path cannot be looked at
 *   SFID_EINVAL path is NULL or not absolute
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_path_check(const char *path, char *why, size_t size);

/* ---- about -------------------------------------------------------------- */

/** The text of an error code, static; "unknown error" for any other value. Threads: any. Signals:
 * async-safe. */
SFID_API const char *sfid_strerror(int code);

/** The library's version, static; the headers' are SFID_VERSION_STRING and _NUMBER. Threads: any.
 * Signals: async-safe. */
SFID_API const char *sfid_version(void);

/**
 * The version of a library that this one uses, static: "hiredis" and "libuuid" as it was built,
 * "OpenSSL" as the process has it. NULL: another name, or none; or OpenSSL, if this library was
 * built without TLS. Threads: any. Signals: async-safe.
 */
SFID_API const char *sfid_version_of(const char *library);

#ifdef __cplusplus
}
#endif

#include "sfid/admin.h"
#include "sfid/inline.h"
#include "sfid/parse_wide.h"

#endif
