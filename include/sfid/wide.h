/* SPDX-License-Identifier: MIT */
/**
 * sfid/wide.h - IDs of up to 128 bits: flake, awsflake, UUID version 7, flake-go.
 *
 *     sfid_wide_layout uuid7;
 *     sfid_options opt = SFID_OPTIONS_INIT;
 *     sfid *g = NULL;
 *     sfid_wide id;
 *     if (sfid_wide_layout_parse("uuid7", &uuid7) < 0) return 1;
 *     opt.wide = &uuid7;
 *     opt.app = "orders";
 *     opt.store = "local";
 *     if (sfid_open(&g, &opt) < 0 || sfid_next_wide(g, &id) < 0) puts(sfid_last_error(g));
 *     sfid_close(g);
 *
 * The calls that read, write and compare such IDs are pure and allocate
 * nothing. The calls that generate IDs, or ask for the host's addresses, state
 * their own safety. All others: Threads: any. Fork: safe. Signals: async-safe.
 */
#ifndef SFID_WIDE_H
#define SFID_WIDE_H

#include "layout.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sfid;

/** A 128-bit ID: high * 2^64 + low. A 64-bit ID has high 0. */
typedef struct sfid_wide {
    uint64_t high;
    uint64_t low;
} sfid_wide;

/** Compares two IDs, in the order of their full-width texts: negative, 0 or positive, as a is
 * below, equal to or above b. */
SFID_API int sfid_wide_compare(sfid_wide a, sfid_wide b);

/* ---- text --------------------------------------------------------------- */

/** Size of a buffer for a wide ID in any form, including the NUL. */
#define SFID_WIDE_TEXT_LEN 40

/**
 * Reads a wide ID from exactly len bytes of text, as sfid_from_text_at() reads a
 * 64-bit ID. SFID_UUID needs the 36 characters of 8-4-4-4-12 and takes a UUID of
 * any version; sfid_wide_parse() checks the version.
 *
 * Returns 0, or
 *   SFID_EINVAL    text or id is NULL, the form is unknown, the text is empty, a byte is out of
 *                  place, or len is not 36 (SFID_UUID) or 16 (SFID_BYTES)
 *   SFID_EOVERFLOW the value is 2^128 or more, or there are more digits than the form has
 * *id is set on success only, *at (may be NULL) on failure only.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_from_text(sfid_form form, const char *text, size_t len,
                                                 sfid_wide *id, size_t *at);

/**
 * Writes a wide ID as text into buf, which has size bytes. SFID_WIDE_TEXT_LEN is
 * always enough. The text ends in a NUL, but SFID_BYTES writes 16 bytes and no
 * NUL. width is the least number of digits, as in sfid_to_text_padded(): 0 is the
 * form's own (1, 32, 22, 26, 22 digits; the others have one width), 1 pads nothing.
 *
 * Returns the length without the NUL, or SFID_EINVAL if buf is NULL, size is too
 * small, the form is unknown, or width is above what the form reads.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_to_text(sfid_form form, sfid_wide id, unsigned width,
                                               char *buf, size_t size);

/* ---- layouts ------------------------------------------------------------ */

/** The wide layouts. Values are fixed; later versions add more. */
typedef enum sfid_wide_kind {
    SFID_FLAKE = 1, /**< 128 bits, as Boundary's flake: 64 of milliseconds since 1970, worker 48 (a
                         MAC address), sequence 16. Text form: SFID_HEX */
    SFID_AWSFLAKE,  /**< 77 bits: 41 of milliseconds since the epoch, region 5 and IP 16 (the last
                         two octets) as the pid, sequence 15. Text form: SFID_BASE62 without
                         padding */
    SFID_UUID7,     /**< UUID version 7 (RFC 9562, section 5.7): 48 of milliseconds since 1970,
                         then, around version and variant, sequence 14, pid 16, random 44.
                         Generators with different pids never make the same UUID, and the UUIDs of
                         one generator increase. UUIDs of other makers are read alike: their time is
                         valid, the rest has no meaning. Text form: SFID_UUID */
    SFID_FLAKE_GO   /**< 128 bits, as the Go program flakeid makes them: 48 of milliseconds since
                         1970, 16 of zero, worker 48 (a MAC address), sequence 16. Text form:
                         SFID_HEX. IDs of SFID_FLAKE sort below all of these */
} sfid_wide_kind;

/** A wide layout. A plain struct, made by sfid_wide_layout_parse(), or by hand with reserved 0. */
typedef struct sfid_wide_layout {
    sfid_wide_kind kind;
    uint32_t reserved; /**< zero */
    int64_t epoch_ms;  /**< tick 0 begins here, Unix milliseconds; years 1 to 9999 for
                            SFID_AWSFLAKE, else 0 */
} sfid_wide_layout;

/** 2020-01-01T00:00:00Z in Unix milliseconds: the default epoch of awsflake. */
#define SFID_AWSFLAKE_EPOCH_MS INT64_C(1577836800000)

/** What a wide ID is made of. */
typedef struct sfid_wide_parts {
    uint64_t tick;   /**< milliseconds since the epoch */
    uint64_t pid;    /**< worker (flake, flake-go), region << 16 | IP (awsflake), pid (uuid7) */
    uint64_t seq;    /**< sequence; split fields as one value */
    uint64_t random; /**< random bits (uuid7), else 0 */
    int64_t unix_ms; /**< start of the tick, Unix milliseconds */
} sfid_wide_parts;

/** Facts about a wide layout, from sfid_wide_layout_describe(). */
typedef struct sfid_wide_facts {
    sfid_layout_facts facts; /**< as for a 64-bit layout */
    uint64_t max_tick;       /**< the last tick */
    uint64_t max_pid;        /**< the highest pid */
    uint64_t max_seq;        /**< the highest sequence */
    uint64_t max_random;     /**< all random bits set; 0: the layout has none */
    unsigned bits;           /**< width of an ID; the bits above are 0 */
    sfid_form form;          /**< the usual form of its IDs as text */
    unsigned width;          /**< the least number of digits in that form, for
                                  sfid_wide_to_text() */
} sfid_wide_facts;

/**
 * Reads a wide layout: "flake", "awsflake", "uuid7", "flake-go", or
 * "awsflake@EPOCH_MS" with Unix milliseconds.
 *
 * Returns 0, or SFID_EINVAL. On failure *out is unchanged.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_layout_parse(const char *text, sfid_wide_layout *out);

/**
 * Writes a wide layout as text that sfid_wide_layout_parse() reads back. buf has
 * size bytes; SFID_LAYOUT_STR_LEN is always enough.
 *
 * Returns 0, or SFID_EINVAL if l or buf is NULL, buf is too small, or the layout
 * is unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_layout_format(const sfid_wide_layout *l, char *buf,
                                                     size_t size);

/** The name of wide layout i, counted from 0; NULL past the last. */
SFID_API const char *sfid_wide_layout_preset(size_t i);

/**
 * Works out what follows from a wide layout.
 *
 * Returns 0, or SFID_EINVAL if l or out is NULL or the layout is unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_layout_describe(const sfid_wide_layout *l,
                                                       sfid_wide_facts *out);

/**
 * Lists the fields of a wide layout under their own names, highest bits first,
 * as sfid_layout_fields() does.
 *
 * Returns how many there are, or SFID_EINVAL if l or fields is NULL, fields is
 * too short, or the layout is unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_layout_fields(const sfid_wide_layout *l, sfid_field *fields,
                                                     size_t max);

/* ---- IDs ---------------------------------------------------------------- */

/**
 * Takes a wide ID apart.
 *
 * Returns 0, or one of these, with *out unchanged
 *   SFID_EINVAL    l or out is NULL, the layout is unusable, a bit above its width is set
 *                  (awsflake), version and variant are not those of UUID version 7 (uuid7), or the
 *                  bits between time and worker are not zero (flake-go)
 *   SFID_EOVERFLOW the tick begins past what unix_ms can hold (flake)
 */
SFID_API SFID_MUST_CHECK int sfid_wide_parse(const sfid_wide_layout *l, sfid_wide id,
                                             sfid_wide_parts *out);

/**
 * Puts a wide ID together from in->tick, in->pid, in->seq and in->random;
 * in->unix_ms is not read. The promise of uniqueness does not cover such an ID.
 *
 * Returns 0, or
 *   SFID_EINVAL    l, in or id is NULL, the layout is unusable, or pid, seq or random is too large
 *                  for it
 *   SFID_EOVERFLOW tick is too large
 */
SFID_API SFID_MUST_CHECK int sfid_wide_compose(const sfid_wide_layout *l, const sfid_wide_parts *in,
                                               sfid_wide *id);

/**
 * The lowest and the highest ID of a millisecond, for range queries, as
 * sfid_min_at() and sfid_max_at(). unix_ms is in Unix milliseconds. A moment
 * outside the layout's range counts as its nearer end. UUIDs of other makers
 * lie between these bounds as well.
 *
 * Returns 0, or SFID_EINVAL if l or id is NULL or the layout is unusable. *id is
 * set on success only.
 */
SFID_API SFID_MUST_CHECK int sfid_wide_min_at(const sfid_wide_layout *l, int64_t unix_ms,
                                              sfid_wide *id);
SFID_API SFID_MUST_CHECK int sfid_wide_max_at(const sfid_wide_layout *l, int64_t unix_ms,
                                              sfid_wide *id);

/* ---- regions of awsflake ------------------------------------------------ */

/** Size of a buffer for a region's name, including the NUL. */
#define SFID_AWS_REGION_LEN 16

/**
 * Writes the name of an awsflake region, 0 to 31. The twelve regions that
 * awsflake knows have names such as "us-east-1"; the others get "region-NN".
 *
 * Returns 0, or SFID_EINVAL if region is above 31, buf is NULL, or size is too small.
 */
SFID_API SFID_MUST_CHECK int sfid_aws_region_name(unsigned region, char *buf, size_t size);

/** The region, 0 to 31, that has such a name, in letters of either case; SFID_EINVAL if there is
 * none, or name is NULL. */
SFID_API int sfid_aws_region(const char *name);

/** opt.pid for awsflake: a region (sfid_aws_region(), 0 to 31) and the low 16 bits of an IPv4
 * address in the host's byte order. */
#define SFID_AWS_PID(region, ip) \
    SFID__TO(int64_t, (SFID__TO(uint64_t, region) << 16) | (SFID__TO(uint64_t, ip) & 0xffff))

/* ---- addresses of the host ---------------------------------------------- */

/**
 * Finds the MAC address of a network interface, given by its name. The first
 * octet becomes the highest of 48 bits. With interface NULL, the first interface
 * that is up and has an address is taken, in the kernel's order; if none is up,
 * the first that has one. The loopback interface has none.
 *
 * Returns 0, or one of these, with *mac unchanged
 *   SFID_EINVAL       mac is NULL, there is no such interface, or it has no such address
 *   SFID_EUNSUPPORTED interface is NULL, and no interface has an address
 *   SFID_ENOMEM       out of memory
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_mac_address(const char *interface, uint64_t *mac);

/**
 * Finds the (first) IPv4 address of an interface, in the host's byte order. The
 * interface is chosen as by sfid_mac_address().
 *
 * Returns as sfid_mac_address(), with *ip in place of *mac.
 * Threads: any. Fork: safe. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_ipv4_address(const char *interface, uint32_t *ip);

/* ---- generating --------------------------------------------------------- */

/*
 * sfid_open() with opt.wide set opens a generator of wide IDs. It follows the
 * same rules as any generator, and every call of sfid.h takes it, except those
 * that generate 64-bit IDs: sfid_next(), sfid_try_next(), sfid_next_n() and
 * sfid_lane_open() return SFID_EINVAL. The calls below return SFID_EINVAL for a
 * generator of 64-bit IDs. "Increasing" means: by sfid_wide_compare(), and as
 * text in the layout's own form.
 *
 *   uuid7      options as for a 64-bit layout. Tick, pid and sequence keep the UUIDs of one app
 *              apart. The 44 random bits make it unlikely that such a UUID equals one of another
 *              app or maker; what they are good for stands below
 *   flake      opt.pid is the worker, a MAC address as an integer; -1: the address from
 *              sfid_mac_address(NULL, …)
 *   flake-go   as flake
 *   awsflake   opt.pid is SFID_AWS_PID(): the region and the two last octets of the host's address
 *
 * The random bits of a UUID are a keyed function of its time and sequence: AES-128 where the
 * processor has instructions for it, SipHash-2-4 elsewhere. The kernel gives each process its
 * key. Somebody who sees any number of UUIDs cannot tell the random bits of another from chance,
 * and so guesses one UUID of a known millisecond, pid and sequence in 2^43 tries on average.
 * These three parts can be read from any UUID, and guessed. After a fork, parent and child
 * cannot compute each other's bits: the child has a key of its own. Somebody who reads the
 * memory of a process can compute the random bits of all its UUIDs, earlier and later ones. A
 * core dump does not have the key. So a UUID may name what others must not find by counting. It
 * is no password. Where a filter refuses getrandom(2), the bits differ, but can be guessed.
 *
 * A worker of flake, flake-go or awsflake is a host. The processes of a host share
 * the worker, and each process holds a part of the sequence: the lowest part that no
 * other process of this user holds. A lock and a durable mark in the state directory
 * keep the parts apart. The highest bits of the sequence are the part (flake and
 * flake-go have 16 parts, awsflake 8); a part has 4096 IDs a millisecond. sfid_pid()
 * returns the worker; the pid in sfid_status() and in events is the part. Two
 * users, or two containers with one address, do not know of each other: give
 * them different workers. Nothing here asks a cloud's metadata service.
 *
 * With these three layouts opt.app is NULL, opt.store is NULL or "local" with
 * its parameters, and pid_min and pid_max are 0. No tick is begun ahead of the
 * clock: max_ahead_ms counts as 0, and SFID_BORROW is refused. When the clock
 * steps back, calls use up the latest tick, then wait for as long as a call may
 * sleep, then return SFID_ECLOCK. Some codes of sfid_open() mean more here:
 *   SFID_EINVAL       an option is set that these layouts do not have; for awsflake, pid is -1
 *   SFID_ENOPID       other processes hold all parts of the sequence
 *   SFID_ECLOCK       a mark is further ahead than a right clock writes it, as for a fixed pid in
 *                     sfid_open()
 *   SFID_ELAYOUT      awsflake: this worker was used with another epoch on this host
 *   SFID_EUNSUPPORTED flake, flake-go: pid is -1, and no interface has a MAC address
 */

/**
 * Generates one wide ID. Sleeps as sfid_next(). *id is set on success only.
 *
 * Returns 0, the codes of sfid_next(), or
 *   SFID_EINVAL    id is NULL, or the IDs of g have 64 bits
 * Threads: any, also while another thread closes g. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int sfid_next_wide(struct sfid *g, sfid_wide *id);

/**
 * Generates one wide ID without ever sleeping, as sfid_try_next().
 *
 * Returns as sfid_next_wide(), but the errors of sfid_try_next() where that would sleep.
 * Threads: any. Fork: shared. Signals: async-safe.
 */
SFID_API SFID_MUST_CHECK int sfid_try_next_wide(struct sfid *g, sfid_wide *id);

/**
 * Generates up to n wide IDs, increasing, into ids[0..n-1], as sfid_next_n().
 *
 * Returns how many IDs were written; 0 if n is 0. If none were written, returns
 * the error of sfid_next_wide(), or
 *   SFID_EINVAL    ids is NULL and n is not 0, or the IDs of g have 64 bits
 * Threads: any. Fork: shared. Signals: not safe.
 */
SFID_API SFID_MUST_CHECK int64_t sfid_next_n_wide(struct sfid *g, sfid_wide *ids, size_t n);

#ifdef __cplusplus
}
#endif

#endif
