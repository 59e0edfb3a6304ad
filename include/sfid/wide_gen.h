/* SPDX-License-Identifier: MIT */
/**
 * sfid/wide_gen.h - generators of IDs of up to 128 bits: flake, awsflake, UUID
 * version 7.
 *
 *     sfid_wide_layout uuid7;
 *     sfid_wide_gen *g = NULL;
 *     sfid_wide id;
 *     sfid_options opt = SFID_OPTIONS_INIT;
 *     if (sfid_wide_layout_parse("uuid7", &uuid7) < 0) return 1;
 *     opt.wide = &uuid7;
 *     opt.app = "orders";
 *     opt.store = "local";
 *     if (sfid_wide_open(&g, &opt) < 0) { puts(sfid_wide_last_error(g)); sfid_wide_close(g); return 1; }
 *     if (sfid_wide_next(g, &id) < 0) return 1;
 *     sfid_wide_close(g);
 *
 * Tick and sequence number are drawn as those of any generator, from a page
 * that outlives the process, within a window, by the same rules when the
 * sequence is used up or the clock steps back; around them an ID is put
 * together as its layout wants it. What sfid.h promises of IDs, their order and
 * of forked children holds here as well; "increasing" is by sfid_wide_compare()
 * and as text of the layout's own form.
 *
 *   uuid7      as any other layout: a pid leased from opt.store, or opt.pid; app, range of pids, exhaustion and max_ahead_ms
 *              as they are given. UUIDs of one app differ by tick, pid and sequence alone; 44 random bits come on top, so
 *              that those of other makers and of other apps are unlikely to be equal: a keyed hash, whose key each handle gets
 *              from the kernel
 *   flake      opt.pid is the worker, a MAC address as a number; -1: that of sfid_mac_address() without an interface
 *   awsflake   opt.pid is the region and the two last octets of the host's address, SFID_AWS_PID()
 *
 * A worker of flake or awsflake belongs to a host, and its processes share it:
 * each takes a part of the sequence, the lowest that no other process of this
 * user holds, by lock and durable mark in the state directory. The part's
 * number stands in the highest bits of the sequence (flake: 16 parts, awsflake:
 * 8) and leaves each process 4096 IDs a millisecond. So there is no app (it has
 * to be NULL: whoever uses a worker shares it), and no store but "local" with
 * its parameters, or NULL for that; pid_min and pid_max stay 0. Nothing is
 * issued ahead of the clock: max_ahead_ms counts as 0, and SFID_BORROW is
 * refused. sfid_wide_open() refuses where the mark of the part says that the
 * clock has been further ahead than a mark ever lies (30 s, or lead_ms of the
 * store): SFID_ECLOCK. When the clock goes back later, what is left of the tick it
 * was in is used up; then it is waited for as long as a call may sleep, else it
 * is SFID_ECLOCK as well. Two user accounts, or two
 * containers with one address, know nothing of one another: give them different
 * workers.
 *
 * Nothing here asks a cloud's metadata service.
 */
#ifndef SFID_WIDE_GEN_H
#define SFID_WIDE_GEN_H

#include "../sfid.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator of wide IDs. Opaque; made by sfid_wide_open(), ended by sfid_wide_close(). */
typedef struct sfid_wide_gen sfid_wide_gen;

/** opt.pid of awsflake: a region (sfid_aws_region(), 0 to 31) and an IPv4 address in the host's byte order, of which 16 bits count. */
#define SFID_AWS_PID(region, ip) ((int64_t)(((uint64_t)(region) << 16) | ((uint64_t)(ip)&0xffff)))

/**
 * Opens a generator of wide IDs, of layout opt->wide.
 *
 * All is as with sfid_open() (*out, directories, the background thread, going
 * on where a process died), but for what the head of this file says.
 *
 * Returns 0, or the codes of sfid_open(); of these have a meaning of their own here
 *   SFID_EINVAL       also opt->wide NULL or opt->layout not; of flake and awsflake what the head of this file rules out; of
 *                     awsflake a pid of -1
 *   SFID_ENOPID       of flake and awsflake: other processes hold all parts of the sequence
 *   SFID_ECLOCK       of flake and awsflake also: the mark lies further ahead than it ever should
 *   SFID_ELAYOUT      of awsflake also: another epoch was used with this worker on this host
 *   SFID_EUNSUPPORTED of flake also: pid is -1 and no interface has a MAC address
 * Threads: any (different out). Fork: the handle is shared with children. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_open(sfid_wide_gen **out, const sfid_options *opt);

/**
 * Draws one ID into *id, which is set on success only. Sleeps as sfid_next().
 *
 * Returns 0, the codes of sfid_next(), or
 *   SFID_EINVAL    g or id is NULL
 * Threads: any, also while another thread closes g. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_next(sfid_wide_gen *g, sfid_wide *id);

/**
 * The same without ever sleeping, as sfid_try_next().
 *
 * Returns as sfid_wide_next(), with SFID_EAGAIN (see sfid_wide_retry_ms()) where that would sleep.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_try_next(sfid_wide_gen *g, sfid_wide *id);

/**
 * Draws up to n IDs, increasing, into ids[0..n-1], as sfid_next_n().
 *
 * Returns how many were written; where none were, and n is not 0, the error of sfid_wide_next(), or
 *   SFID_EINVAL    g or ids is NULL
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_wide_next_n(sfid_wide_gen *g, sfid_wide *ids, size_t n);

/** As sfid_retry_ms(), of sfid_wide_try_next(). Threads: any. Fork: shared. Signals: async-safe. */
SFID_API int sfid_wide_retry_ms(const sfid_wide_gen *g);

/**
 * What stands as pid in the IDs, as sfid_wide_parts has it: worker, region and
 * address, or the pid held.
 *
 * Returns it, or SFID_ECLOSED.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API int64_t sfid_wide_pid(const sfid_wide_gen *g);

/**
 * As sfid_status(). Of flake and awsflake the pid there, and in events, is the
 * number of the part of the sequence that is held.
 */
SFID_API int sfid_wide_status(const sfid_wide_gen *g, sfid_status_info *out);

/** As sfid_last_error(). */
SFID_API const char *sfid_wide_last_error(const sfid_wide_gen *g);

/** Closes a generator of wide IDs, as sfid_close(). NULL is fine. */
SFID_API void sfid_wide_close(sfid_wide_gen *g);

/* ---- what a host goes by -------------------------------------------------- */

/**
 * The MAC address of a network interface by its name, as a number: the first
 * octet is the highest of 48 bits. NULL: of the first interface that is up and
 * has one, in the kernel's order; where none is up, of the first that has one.
 * The loopback interface has none.
 *
 * Returns 0, or (*mac is then left alone)
 *   SFID_EINVAL       mac is NULL, or there is no such interface, or it has no such address
 *   SFID_EUNSUPPORTED interface is NULL, and none has one
 *   SFID_ENOMEM       out of memory
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_mac_address(const char *interface, uint64_t *mac);

/** The same for its (first) IPv4 address, in the host's byte order. */
SFID_API SFID_MUST_CHECK int sfid_ipv4_address(const char *interface, uint32_t *ip);

#ifdef __cplusplus
}
#endif

#endif
