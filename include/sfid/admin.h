/* SPDX-License-Identifier: MIT */
/**
 * sfid/admin.h - an app at its Redis server, for whoever looks after it: who
 * holds which pid, that a new app may begin at once, that a lease is to end,
 * and what is wrong with any of it.
 *
 * No generator is needed, and none that runs is in the way. Each call makes a
 * connection of its own and has ended it when it returns. Of the options, app,
 * store, layout, ttl_ms, skew_budget_ms, max_skew_ms and the range of pids
 * count, as in sfid_open(): all but the last two have to be those that the
 * app's processes use. A call is back within open_timeout_ms, however many
 * exchanges it takes.
 */
#ifndef SFID_ADMIN_H
#define SFID_ADMIN_H

#include "../sfid.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the server knows of an app. Numbers are fixed. */
typedef enum sfid_app_state {
    SFID_APP_UNKNOWN = 0, /**< nothing: the app is new here, or what was known is gone */
    SFID_APP_FORGOTTEN,   /**< what is left from before a restart or a failover: the next change will forget all of it */
    SFID_APP_KNOWN        /**< who holds what */
} sfid_app_state;

/** An app, as sfid_app_look() and sfid_app_init() find it. Times are in Unix milliseconds, by the server's clock. */
typedef struct sfid_app_info {
    sfid_app_state state;
    int64_t server_unix_ms;     /**< the server's clock */
    int64_t skew_ms;            /**< how far this host's clock is ahead of it, as far as the time of the exchange tells */
    int64_t open_unix_ms;       /**< from when on pids without a record are handed out; 0: always. Not known yet: -1 */
    int64_t wait_ms;            /**< how long they wait when the server has forgotten the app: ttl_ms and skew_budget_ms */
    uint64_t pid_min, pid_max;  /**< the pids looked at, both included */
    uint64_t held;              /**< how many of them have a holder whose window lies ahead (also SFID_LEASE_ENDING), */
    uint64_t foreign;           /**< are registered by somebody that the server's records do not know, */
    uint64_t run_out;           /**< had a holder that did not renew, */
    uint64_t released;          /**< or were given back */
    int64_t held_until_unix_ms; /**< until when the last of those held or foreign is; 0: there is none; -1: some without end */
    char server[320];           /**< its URL, without user, password and parameters but db */
    uint64_t reserved[8];       /**< zero */
} sfid_app_info;

/** What a pid is to the server. Numbers are fixed; later versions add to them. */
typedef enum sfid_lease_kind {
    SFID_LEASE_HELD = 1, /**< leased, and the lease has not run out */
    SFID_LEASE_RUN_OUT,  /**< leased, and not renewed in time: the next claim may have it, and its holder cannot use it */
    SFID_LEASE_RELEASED, /**< given back */
    SFID_LEASE_FOREIGN,  /**< registered, without a record: by a program that is not of this library, or by one of this library
                              that the server has forgotten. Claims pass over it */
    SFID_LEASE_ENDING    /**< leased, and not renewed any more, after sfid_pid_finish(): its holder may go on to the end */
} sfid_lease_kind;

/** One pid that somebody has, or had. Valid during the callback only; later versions add members at the end. */
typedef struct sfid_lease_info {
    sfid_lease_kind kind;
    uint64_t pid;
    int64_t
        until_unix_ms; /**< when it ends unless renewed; when given back, begin of the first tick that was not used; -1: not known */
    int64_t left_ms;   /**< how far that lies ahead of the server's clock, negative: behind; 0 where it is not known */
    const char *holder; /**< machine_id:slot, as sfid_status_info has it; of a foreign one what it registered, with ? for
                                what cannot be printed; "" when given back */
} sfid_lease_info;

/** Room that why needs at most, the NUL included. */
#define SFID_WHY_LEN 512

/**
 * Looks at an app and its pids; changes nothing. A range of pids that the
 * store's URL names is for those who lease; here all pids count, unless opt
 * names a range.
 *
 * each (may be NULL) is called for every pid from opt->pid_min to opt->pid_max
 * that is held, run out, released or foreign, ascending, with user as its first
 * argument; it returns 0 to go on, or anything else to hear of no further pid
 * (they still are looked at and counted). It may call any function of the
 * library. *out (may be NULL) is written on success only. why, with room for
 * why_size bytes, gets one sentence on failure, cut where it is longer, and ""
 * on success; NULL: not wanted. The server tells of 64 pids at a time, so that
 * neighbours may have changed in between.
 *
 * Returns 0, or
 *   SFID_EINVAL       opt NULL; an option out of range; no app; in a cluster, a name that cannot be used there
 *   SFID_ENOMEM       out of memory
 *   SFID_EUNSUPPORTED the store keeps no leases of this kind ("local", a fixed pid), or this build cannot use it
 *   SFID_EREDIS       the server cannot be reached, does not answer in time, or not as it should
 *   SFID_EAUTH        user or password is wrong, or the user lacks a permission
 *   SFID_ECLOCK       the clocks of host and server are too far apart, or the server's is before the layout's epoch
 *   SFID_ELAYOUT      the app is used with another layout, ttl_ms or skew_budget_ms
 * Threads: any. Fork: safe, but not inside each. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_look(const sfid_options *opt, sfid_app_info *out,
                                           int (*each)(void *user, const sfid_lease_info *lease), void *user, char *why,
                                           size_t why_size);

/**
 * Says that no process of this app is running anywhere, and that none will go
 * on with a lease that it left behind on its host, by a kill or without
 * sfid_close(), and that has not run out. Pids without a record are then handed
 * out at once, instead of when every window that may have been granted before
 * has ended (sfid_app_info.wait_ms after the server was asked first). It holds
 * as well where the server has been out of reach of all of them for that long.
 * Where it does not hold, IDs may repeat.
 *
 * It looks first, at all pids from opt->pid_min to opt->pid_max, and refuses
 * while any of them is held or foreign; not so with force (not 0). What is
 * changed is what was looked at: where a restart or failover came in between,
 * it looks again. Leases that the server knows of stay as they are. Doing it
 * twice does no harm.
 *
 * *out (may be NULL) is what was found before, written on success and with
 * SFID_EBUSY. why and why_size are as in sfid_app_look(); with SFID_EBUSY the
 * sentence tells who holds what, and until when.
 *
 * Returns 0, or as sfid_app_look(), or
 *   SFID_EBUSY   pids are held or foreign
 *   SFID_EAGAIN  the server was restarted or failed over whenever it was looked at
 *   SFID_EREDIS  as above, and also for a server that accepts no writes. Where the answer was lost it may have been done
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_init(const sfid_options *opt, int force, sfid_app_info *out, char *why, size_t why_size);

/* ---- one pid ------------------------------------------------------------ */

/** All that the server knows of a pid. Times are in Unix milliseconds, by its clock. */
typedef struct sfid_pid_info {
    int there;            /**< 0: nothing is known of it, and kind, times and texts mean nothing */
    sfid_lease_kind kind; /**< what it is */
    uint64_t pid;
    int64_t server_unix_ms;   /**< the server's clock */
    int64_t until_unix_ms;    /**< as in sfid_lease_info */
    int64_t left_ms;          /**< likewise */
    int64_t renewed_unix_ms;  /**< when it was granted or renewed last, as far as its end tells; -1: not known */
    int64_t free_unix_ms;     /**< from when on a claim may have it, unless it is renewed: 0: at once; -1: not known */
    char holder[256];         /**< as in sfid_lease_info */
    char nonce[64];           /**< which renewal the server heard of last; "": not known, or none counts any more */
    char registered[192];     /**< what other programs see, with ? for what cannot be printed; "": nothing, or not known */
    int64_t registered_until; /**< until when they do; 0: they do not; -1: without end, or not known */
    char server[320];         /**< the server's URL, as in sfid_app_info */
    uint64_t reserved[8];     /**< zero */
} sfid_pid_info;

/**
 * Looks at one pid; changes nothing. *out is written on success.
 *
 * Returns 0, or as sfid_app_look(), or
 *   SFID_EINVAL  also: out is NULL, or the pid is not from opt->pid_min to opt->pid_max
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_pid_look(const sfid_options *opt, uint64_t pid, sfid_pid_info *out, char *why, size_t why_size);

/**
 * Takes a pid out of its holder's hands: the server renews its lease no more.
 *
 * It does not come free at once. What was granted may be in use, and nobody but
 * the holder could take it back: it may go on to the end of its window, which
 * is when the pid can be claimed (out->free_unix_ms), and neither sooner nor
 * later than if it had died now. A holder that lives hears of it at its next
 * renewal, at most a heartbeat from now, and goes on with another pid. So no ID
 * can repeat by this. Where the server forgets the app meanwhile, it forgets
 * this as well, and the holder keeps its pid.
 *
 * holder (NULL: whoever it is) is who has to have it, as sfid_pid_look() told.
 * *out (may be NULL) is how the pid stands then. why and why_size are as in
 * sfid_app_look().
 *
 * Returns 0, also when it was done before, or as sfid_pid_look(), or
 *   SFID_ELEASE  nobody holds it: it is not known, or was given back
 *   SFID_EBUSY   it is registered without a record (SFID_LEASE_FOREIGN): only the program that did so can end that
 *   SFID_EAGAIN  another than holder has it; or what is known of it is from before a restart or failover
 *   SFID_EREDIS  also for a server that accepts no writes. Where the answer was lost it may have been done
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_pid_finish(const sfid_options *opt, uint64_t pid, const char *holder, sfid_pid_info *out,
                                             char *why, size_t why_size);

/* ---- what is wrong ------------------------------------------------------- */

/** What a finding is about. Numbers are fixed; later versions add to them. */
typedef enum sfid_check_kind {
    SFID_CHECK_SERVER = 1,  /**< whether it can be reached, lets the user in, and is one that grants leases */
    SFID_CHECK_PERMISSIONS, /**< what the user may do there */
    SFID_CHECK_MEMORY,      /**< whether the server may throw the app's records away */
    SFID_CHECK_REPLICATION, /**< whether two servers may grant one pid, and whether a promotion is seen as one */
    SFID_CHECK_CLOCK,       /**< how far apart the clocks of host and server are */
    SFID_CHECK_LEASE,       /**< whether window, heartbeat and timeouts go together */
    SFID_CHECK_LAYOUT,      /**< when it ends, and whether the app is used with this one */
    SFID_CHECK_APP          /**< what the server knows of the app, and who has its pids */
} sfid_check_kind;

/** How grave it is. */
typedef enum sfid_check_grade {
    SFID_CHECK_FINE = 0, /**< as it should be, or not to be told */
    SFID_CHECK_WARNING,  /**< it works, and somebody will have to wait, or will stop later */
    SFID_CHECK_ERROR     /**< no pid can be leased, or IDs may repeat */
} sfid_check_grade;

/** One finding. Valid during the callback only; later versions add members at the end. */
typedef struct sfid_finding {
    sfid_check_kind kind;
    sfid_check_grade grade;
    int code; /**< SFID_E… of an error: what sfid_open() returns, SFID_EINVAL for settings under which IDs may repeat; else 0 */
    const char *text; /**< one sentence, which may have what the server said */
    const char *cure; /**< what would help; NULL: nothing, or nothing is wrong */
} sfid_finding;

/**
 * Looks for what keeps an app's processes from leasing pids, or will, or lets
 * IDs repeat; changes nothing in the end: what the user may write is tried on a
 * key of its own, sfid:APP:trial, which is gone when the one script that does
 * so has ended.
 *
 * each is called for every finding with user as its first argument; it may call
 * any function of the library. Of the options heartbeat_ms counts as well, and
 * may be too long: that is a finding. Settings that the user or the server does
 * not show (CONFIG GET) are told as such, and are no error. why and why_size
 * are as in sfid_app_look().
 *
 * Returns 0 whatever was found, or
 *   SFID_EINVAL       opt or each NULL; an option out of range; no app
 *   SFID_ENOMEM       out of memory
 *   SFID_EUNSUPPORTED the store keeps no leases of this kind ("local", a fixed pid), or this build cannot use it
 * Threads: any. Fork: safe, but not inside each. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_app_check(const sfid_options *opt, void (*each)(void *user, const sfid_finding *finding),
                                            void *user, char *why, size_t why_size);

/**
 * Checks what lies in the file of a mark, STATE/APP/pid-N, as a generator would.
 * For an operator of the host. Nothing is opened or changed.
 *
 * content is the file from its begin, and has size bytes, of which 8192 count;
 * 0 is an empty file.
 *
 * Returns 0 when a generator can use it, or
 *   SFID_ESTATE  it is damaged: no generator uses this pid until the file is removed
 *   SFID_EINVAL  content is NULL, and size is not 0
 * Threads: any. Fork: safe. Signals: async-safe.
 */
SFID_API int sfid_mark_check(const void *content, size_t size);

#ifdef __cplusplus
}
#endif

#endif
