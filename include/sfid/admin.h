/* SPDX-License-Identifier: MIT */
/**
 * sfid/admin.h - look after an app at its Redis server: see who holds which pid,
 * let a new app begin at once, end a lease, and find what is wrong. Look after the
 * marks of a host.
 *
 * These calls need no generator, and may be made while generators run.
 * Each call opens a connection of its own and has closed it when it returns. It
 * uses the options app, store, layout, ttl_ms, skew_budget_ms, short_ms,
 * max_skew_ms and the range of pids, as sfid_open() does. All but the last two
 * must have the values that the app's processes use. A call returns within
 * open_timeout_ms, however many exchanges it takes; with a pool, within that time
 * per server (sfid_app_init(): twice that).
 */
#ifndef SFID_ADMIN_H
#define SFID_ADMIN_H

#include "../sfid.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the server knows of an app. Values are fixed. */
typedef enum sfid_app_state {
    SFID_APP_UNKNOWN = 0, /**< nothing: the app is new to the server, or its records are lost */
    SFID_APP_FORGOTTEN,   /**< records from before a restart or a failover: the next change drops
                               them all */
    SFID_APP_KNOWN,       /**< who holds which pid */
    SFID_APP_BARRED       /**< records that an older version of this library made: its rules differ,
                               so nothing is granted before sfid_app_init() with
                               SFID_INIT_UPGRADE */
} sfid_app_state;

/** The state of an app, from sfid_app_look() and sfid_app_init(). Times are Unix milliseconds by
 * the server's clock. */
typedef struct sfid_app_info {
    sfid_app_state state;
    int64_t server_unix_ms;     /**< the server's clock */
    int64_t skew_ms;            /**< how far this host's clock is ahead of it, as exact as the time
                                     of the exchange allows */
    int64_t open_unix_ms;       /**< when pids without a record can first be claimed; 0: now; -1:
                                     not known yet */
    int64_t wait_ms;            /**< how long such pids wait if the server has forgotten the app:
                                     short_ms + skew_budget_ms, or ttl_ms + skew_budget_ms if the
                                     app has no short pids */
    uint64_t pid_min, pid_max;  /**< the pids looked at, both inclusive */
    uint64_t held;              /**< how many of them have a holder whose lease has not run out
                                     (also SFID_LEASE_ENDING) */
    uint64_t foreign;           /**< how many are registered by a program that the server's records
                                     do not know */
    uint64_t run_out;           /**< how many had a holder that did not renew */
    uint64_t released;          /**< how many were released */
    int64_t held_until_unix_ms; /**< end of the last held, foreign or unshown pid; 0: there is none;
                                     -1: one has no end */
    char server[320];           /**< the server's URL, without user, password, and parameters other
                                     than db */
    int64_t known_unix_ms;      /**< before then the holders of pids without a record are unknown:
                                     the server has forgotten the app, or it is new; 0: they have
                                     none; -1: not known yet */
    uint64_t unshown;           /**< how many are SFID_LEASE_UNSHOWN */
    uint64_t reserved[6];       /**< zero */
} sfid_app_info;

/** What a pid is to the server. Values are fixed; later versions add more. */
typedef enum sfid_lease_kind {
    SFID_LEASE_HELD = 1, /**< leased, and the lease has not run out */
    SFID_LEASE_RUN_OUT,  /**< leased, but not renewed in time: the next claim may get it, and its
                              holder cannot use it */
    SFID_LEASE_RELEASED, /**< released */
    SFID_LEASE_FOREIGN,  /**< registered without a record, by a program that does not use this
                              library. Claims skip it */
    SFID_LEASE_ENDING,   /**< leased, but no longer renewed after sfid_pid_finish(): its holder may
                              use it to the end */
    SFID_LEASE_UNSHOWN   /**< registered by a process of ours whose lease the server has forgotten,
                              and which has not shown it since: it does so at its next heartbeat,
                              and may use it to the end; or its record is damaged */
} sfid_lease_kind;

/** One pid that has, or had, a holder. Valid during the callback only; later versions add members
 * at the end. */
typedef struct sfid_lease_info {
    sfid_lease_kind kind;
    uint64_t pid;
    int64_t until_unix_ms; /**< when the lease ends unless renewed; if released, start of the first
                                unused tick; -1: not known */
    int64_t left_ms;       /**< how far that is ahead of the server's clock; negative: behind; 0:
                                not known */
    const char *holder;    /**< machine_id:slot, as in sfid_status_info; if foreign, what was
                                registered, with ? for characters that cannot be printed; if
                                released, "" */
} sfid_lease_info;

/** The most room that why needs, including the NUL. */
#define SFID_WHY_LEN 512

/**
 * Looks at an app and its pids; changes nothing. A range of pids in the store's
 * URL limits claims only; this call looks at all pids unless opt names a range.
 *
 * each (may be NULL) is called with user as its first argument, for every pid
 * from opt->pid_min to opt->pid_max that is held, run out, released, foreign or unshown,
 * in ascending order. It returns 0 to go on. After any other value it is not
 * called again, but the other pids are still looked at and counted. It may call
 * any function of the library.
 *
 * *out (may be NULL) is written on success; and on failure, if some servers of a pool answered,
 * with what these know. With the store "ordinal:" the call fails with SFID_EUNSUPPORTED, but
 * pid_min and pid_max become the pid that the store names. why (may be NULL) has room for why_size
 * bytes. On failure it gets one sentence, cut if it is too long; on success it gets "". The server
 * is asked about 256 pids at a time, so neighbours may have changed in between.
 *
 * Returns 0, or
 *   SFID_EINVAL       opt is NULL; an option is out of range; no app; in a cluster, an app name
 *                     that cannot be used there
 *   SFID_ENOMEM       out of memory
 *   SFID_EUNSUPPORTED the store keeps no leases of this kind ("local", "ordinal:", a fixed pid), or
 *                     this build cannot use it
 *   SFID_EREDIS       the server cannot be reached, or does not answer in time or as it should
 *   SFID_EAUTH        user or password is wrong, or the user lacks a permission
 *   SFID_ECLOCK       the clocks of host and server are too far apart, or the server's is before
 *                     the layout's epoch
 *   SFID_ELAYOUT      the app is used with another layout, ttl_ms, skew_budget_ms, short_ms or
 *                     min_good
 * Threads: any. Fork: safe, but not inside each. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_look(const sfid_options *opt, sfid_app_info *out,
                                           int (*each)(void *user, const sfid_lease_info *lease),
                                           void *user, char *why, size_t why_size);

/** Flags of sfid_app_init(). */
enum {
    SFID_INIT_FORCE = 1,   /**< go ahead even if pids are held: IDs may then repeat */
    SFID_INIT_UPGRADE = 2, /**< discard the records of an older version's rules */
    SFID_INIT_RANGE = 4    /**< change the range of pids alone, while processes run */
};

/**
 * Lets a new app begin at once. The caller states that no process of this app is
 * running anywhere. The caller also states that each host with a run directory in which
 * the app was used within ttl_ms is told about its lease by the server within 0.3 s,
 * connecting included, when it starts the next process, and that the server loses nothing
 * again before. Without an answer, or with an error that passes, such a process goes on
 * with the lease of one that was killed, or could not give its pid back; otherwise it
 * asks first. Pids without a record can then be claimed at once. Otherwise they wait
 * until every window that may have been granted before has ended: sfid_app_info.wait_ms
 * after the server was first asked. The statements also hold if none of these processes
 * has reached the server for that long. If they are false, IDs may repeat.
 *
 * The call first looks at all pids from opt->pid_min to opt->pid_max. It refuses
 * while any of them is held, foreign or unshown, unless flags has SFID_INIT_FORCE. It changes only
 * the state it looked at: after a restart or failover in between it looks again.
 * Leases that the server knows stay as they are. Calling it twice does no harm.
 *
 * With SFID_INIT_UPGRADE it does something else, at a server whose state is
 * SFID_APP_BARRED, and nothing at any other: all records are discarded, and from
 * then on this version grants the pids and refuses processes of the older one.
 * It refuses while a window, or a released pid's first unused tick, is ahead of
 * the server's clock; SFID_INIT_FORCE does not change that. If the server may have
 * forgotten holders before, pids without a record still have to wait.
 *
 * With SFID_INIT_RANGE it only changes which pids the app has at the server: those of
 * pids= in opt->store, or without it all of the layout. Processes may go on. It refuses
 * while a pid that is not among them may be in use, or was within skew_budget_ms. Of
 * pids that are added the caller states that no other server of the app has lent them
 * since skew_budget_ms before all of their windows ended. *out is the state after.
 *
 * *out (may be NULL) is the state found before, written as soon as a server has
 * answered, also on an error. why and why_size are as in sfid_app_look(). With
 * SFID_EBUSY the sentence says who holds what, and until when.
 *
 * Returns 0, or as sfid_app_look(), or
 *   SFID_EBUSY   pids are held, foreign or unshown; or one may be in use that would leave the range
 *   SFID_ELAYOUT as above, or the state is SFID_APP_BARRED and flags lacks SFID_INIT_UPGRADE
 *   SFID_EAGAIN  the server restarted or failed over each time it was looked at
 *   SFID_EREDIS  as above, or the server accepts no writes. If its answer was lost, the change may
 *                have been made
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_init(const sfid_options *opt, int flags, sfid_app_info *out,
                                           char *why, size_t why_size);

/* ---- one pid ------------------------------------------------------------ */

/** All that the server knows of a pid. Times are Unix milliseconds by its clock. */
typedef struct sfid_pid_info {
    int there;            /**< 0: the server does not know it; kind, times and texts have no
                               meaning */
    sfid_lease_kind kind; /**< what it is to the server */
    uint64_t pid;
    int64_t server_unix_ms;   /**< the server's clock */
    int64_t until_unix_ms;    /**< as in sfid_lease_info */
    int64_t left_ms;          /**< as in sfid_lease_info */
    int64_t renewed_unix_ms;  /**< when it was last granted or renewed, worked out from its end; -1:
                                   not known */
    int64_t free_unix_ms;     /**< when a claim may first get it, unless it is renewed; 0: at once;
                                   -1: not known */
    char holder[256];         /**< as in sfid_lease_info */
    char nonce[64];           /**< the last renewal that reached the server; "": not known, or none
                                   counts any more */
    char registered[192];     /**< what other programs see, with ? for what cannot be printed; "":
                                   nothing or not known */
    int64_t registered_until; /**< until when they see it; 0: they do not; -1: without end or not
                                   known */
    char server[320];         /**< the server's URL, as in sfid_app_info */
    uint64_t reserved[8];     /**< zero */
} sfid_pid_info;

/**
 * Looks at one pid; changes nothing. *out is written on success. why and why_size
 * are as in sfid_app_look().
 *
 * Returns 0, or as sfid_app_look(), or
 *   SFID_EINVAL  also: out is NULL, or the pid is not from opt->pid_min to opt->pid_max
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_pid_look(const sfid_options *opt, uint64_t pid,
                                           sfid_pid_info *out, char *why, size_t why_size);

/**
 * Lets the lease of a pid run out: the server no longer renews it.
 *
 * The pid does not become free at once. Its holder may be using what was
 * granted, and nobody else can take that back. So the holder may go on to the
 * end of its window. Then the pid can be claimed (out->free_unix_ms), no sooner
 * and no later than if the holder had died now. A live holder learns of the end at
 * its next renewal, at most one heartbeat from now, and goes on with another pid.
 * So this call makes no ID repeat. If the server forgets the app meanwhile, it
 * also forgets this call, and the holder keeps its pid.
 *
 * holder is the holder that the pid must have, from sfid_pid_look(); NULL: any.
 * *out (may be NULL) is the state of the pid afterwards. why and why_size are as
 * in sfid_app_look().
 *
 * Returns 0, also if an earlier call did the same, or as sfid_pid_look(), or
 *   SFID_ELEASE  nobody holds the pid: the server does not know it, or it was released
 *   SFID_EBUSY   it is registered without a record: by a program that alone can end that
 *                (SFID_LEASE_FOREIGN), or by a process that has yet to show its lease
 *                (SFID_LEASE_UNSHOWN)
 *   SFID_EAGAIN  another holder than the given one has it, or the server's records are from before
 *                a restart or failover
 *   SFID_EREDIS  also: the server accepts no writes. If its answer was lost, the change may have
 *                been made
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_pid_finish(const sfid_options *opt, uint64_t pid,
                                             const char *holder, sfid_pid_info *out, char *why,
                                             size_t why_size);

/* ---- what is wrong ------------------------------------------------------- */

/** What a finding is about. Values are fixed; later versions add more. */
typedef enum sfid_check_kind {
    SFID_CHECK_SERVER = 1,  /**< whether the server can be reached, admits the user, and can grant
                                 leases */
    SFID_CHECK_PERMISSIONS, /**< what the user may do there */
    SFID_CHECK_MEMORY,      /**< whether the server may evict the app's records */
    SFID_CHECK_REPLICATION, /**< whether two servers may grant one pid, and whether a promotion is
                                 noticed */
    SFID_CHECK_CLOCK,       /**< how far the clocks of host and server are apart */
    SFID_CHECK_LEASE,       /**< whether window, heartbeat and timeouts fit together */
    SFID_CHECK_LAYOUT,      /**< when the layout ends, and whether the app uses it */
    SFID_CHECK_APP          /**< what the server knows of the app, and who holds its pids */
} sfid_check_kind;

/** How serious a finding is. */
typedef enum sfid_check_grade {
    SFID_CHECK_FINE = 0, /**< as it should be, or unknown */
    SFID_CHECK_WARNING,  /**< it works, but a process will have to wait, or will stop later */
    SFID_CHECK_ERROR     /**< no pid can be leased, or IDs may repeat */
} sfid_check_grade;

/** One finding. Valid during the callback only; later versions add members at the end. */
typedef struct sfid_finding {
    sfid_check_kind kind;
    sfid_check_grade grade;
    int code;         /**< of an error, what sfid_open() returns, or SFID_EINVAL if settings let IDs
                           repeat; else 0 */
    const char *text; /**< one sentence, which may quote the server */
    const char *cure; /**< what would help; NULL: nothing would, or nothing is wrong */
} sfid_finding;

/**
 * Finds what keeps an app's processes from leasing pids, or soon will, or lets
 * IDs repeat. It leaves nothing changed. To see what the user may write, one
 * script writes a key of its own, sfid:APP:trial, which is gone when the script
 * ends.
 *
 * each is called for every finding, with user as its first argument. It may call
 * any function of the library. The option heartbeat_ms counts as well: one that is
 * too long is a finding. Settings that the user may not see, or the server does
 * not show (CONFIG GET), are findings too, but not errors. why and why_size are as
 * in sfid_app_look().
 *
 * Returns 0 whatever was found, or
 *   SFID_EINVAL       opt or each is NULL; an option is out of range; no app
 *   SFID_ENOMEM       out of memory
 *   SFID_EUNSUPPORTED the store keeps no leases of this kind ("local", "ordinal:", a fixed pid), or
 *                     this build cannot use it
 * Threads: any. Fork: safe, but not inside each. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_check(const sfid_options *opt,
                                            void (*each)(void *user, const sfid_finding *finding),
                                            void *user, char *why, size_t why_size);

/**
 * Checks the content of a mark's file, STATE/APP/pid-N, as a generator would, for
 * an operator of the host. The call opens and changes nothing.
 *
 * content is the file from its start. It has size bytes, of which 32768 count; a
 * size of 0 is an empty file.
 *
 * Returns 0 if a generator can use the mark, also a blank one: then it begins a window later, since
 * nothing says what was used; or
 *   SFID_ESTATE  the mark is damaged: no generator uses this pid until the file is removed
 *   SFID_EINVAL  content is NULL, and size is not 0
 * Threads: any. Fork: safe. Signals: async-safe.
 */
SFID_API int sfid_mark_check(const void *content, size_t size);

/** What a host knows of a pid that no server leases, from sfid_mark_look() and sfid_mark_lower().
 * Unix milliseconds. */
typedef struct sfid_mark_info {
    int64_t until_unix_ms; /**< IDs dated before may have been generated: by the mark or, if that is
                                more, by the page */
    int64_t clock_unix_ms; /**< this host's clock */
    int64_t reach_ms;      /**< how far ahead of a right clock a mark of this app lies at most, with
                                the given options */
    int there;             /**< 0: there is neither a mark nor a page */
    int far;               /**< 1: the mark is further ahead than that: the clock was wrong when it
                                was written, or is now */
    uint64_t reserved[4];  /**< zero */
} sfid_mark_info;

/**
 * Looks at the mark of a pid on this host: STATE/APP/pid-N. Changes nothing.
 *
 * opt has the app, its directories, and lead_ms (in the store), max_ahead_ms and
 * skew_budget_ms if they are above their defaults. store is NULL, "local" or
 * "ordinal:", and pid -1: the pid is an argument. If layout and wide are NULL, the
 * layout is the one that the app has on this host. why and why_size are as in
 * sfid_app_look().
 *
 * Returns 0 with *out set, or
 *   SFID_ECLOCK       with *out set: out->far. sfid_open() refuses the pid then, but store "local"
 *                     takes another one
 *   SFID_EINVAL       opt or out is NULL, no app is given, an option or the pid is out of range
 *   SFID_ESTATE       a directory or file cannot be read, or the mark is damaged
 *   SFID_ELAYOUT      the mark is of another layout
 *   SFID_ENOMEM       out of memory
 *   SFID_EUNSUPPORTED the pids of a server have no mark
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_mark_look(const sfid_options *opt, uint64_t pid,
                                            sfid_mark_info *out, char *why, size_t why_size);

/**
 * Lowers a mark that was written under a wrong clock, so that the pid can be used
 * again. The caller states that the clock was wrong then: and that of the IDs of
 * this pid dated after out->clock_unix_ms + out->reach_ms none is kept, or the pid
 * is not used when that time comes. If the clock was right, IDs repeat.
 *
 * The mark then says the clock's time plus reach_ms, which is more than any process
 * used under a right clock, and the page of the pid is put aside. max_ahead_ms has
 * to be at least what the app's processes have. Arguments are as in sfid_mark_look().
 *
 * Returns 0 with *out set to what holds now, or as sfid_mark_look(), or
 *   SFID_EBUSY   a process holds the pid
 *   SFID_EAGAIN  the mark is not too far ahead, or there is none: nothing was changed
 *   SFID_ESTATE  a file cannot be written, too
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_mark_lower(const sfid_options *opt, uint64_t pid,
                                             sfid_mark_info *out, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif

#endif
