/* SPDX-License-Identifier: MIT */
/**
 * sfid/layout.h - how an ID is cut into fields.
 *
 * An ID is a non-negative 64-bit number that holds three fields: a tick (time
 * in units since an epoch), a process ID (pid) and a sequence number (seq). A
 * layout says how wide each field is and where it stands. As a constant it
 * costs nothing: all of these functions' arithmetic folds into shifts and
 * masks by constants in the inline form (sfid/inline.h).
 */
#ifndef SFID_LAYOUT_H
#define SFID_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define SFID_API __attribute__((visibility("default")))
#define SFID_MUST_CHECK __attribute__((warn_unused_result))
#define SFID__UNUSED __attribute__((unused))
#else
#define SFID_API
#define SFID_MUST_CHECK
#define SFID__UNUSED
#endif

/**
 * A layout. Transparent and plain, but made by SFID_LAYOUT() or
 * sfid_layout_parse() only: the derived members have to agree with the widths.
 */
typedef struct sfid_layout {
    int64_t epoch_ms;    /**< tick 0 begins here, Unix milliseconds */
    uint32_t unit_ms;    /**< length of a tick, milliseconds, at least 1 */
    uint8_t time_bits;   /**< width of the tick field */
    uint8_t pid_bits;    /**< width of the pid field */
    uint8_t seq_bits;    /**< width of the sequence field */
    uint8_t time_shift;  /**< place of the tick's lowest bit in the ID */
    uint8_t pid_shift;   /**< place of the pid's lowest bit */
    uint8_t seq_shift;   /**< place of the sequence's lowest bit */
    uint8_t pid_low;     /**< for presets: how many low bits of the pid have a name of their own; else 0 */
    uint8_t reserved[5]; /**< zero */
    uint64_t max_tick;   /**< last tick that keeps an ID non-negative */
    uint64_t max_pid;    /**< highest pid, also its mask */
    uint64_t max_seq;    /**< highest sequence number, also its mask */
} sfid_layout;

/** 2025-12-22T00:00:00Z in Unix milliseconds; the epoch of the Rust crate sfid, kept for its IDs. */
#define SFID_EPOCH_MS INT64_C(1766361600000)

/* A field as wide as the ID has its top bit forced to 0, or IDs would turn negative. */
#define SFID__ONES(bits) ((UINT64_C(1) << (bits)) - 1)
#define SFID__MAX_TICK(t, p, s) SFID__ONES((t) + (p) + (s) == 64 ? (t)-1 : (t))

/* Years 0001 to 9999, what RFC 3339 can write. */
#define SFID__EPOCH_MIN (-INT64_C(62135596800000))
#define SFID__EPOCH_MAX INT64_C(253402300799999)

#define SFID__LAYOUT_OK(t, p, s, unit, epoch) \
    ((t) >= 2 && (t) <= 63 && (p) >= 0 && (p) <= 32 && (s) >= 0 && (s) <= 61 && (t) + (p) + (s) <= 64 && (unit) >= 1 && \
     (unit) <= UINT32_MAX && (epoch) >= SFID__EPOCH_MIN && (epoch) <= SFID__EPOCH_MAX && \
     SFID__MAX_TICK(t, p, s) < ((uint64_t)INT64_MAX - (uint64_t)SFID__EPOCH_MAX) / (uint64_t)(unit))

#ifdef __cplusplus
template <bool valid> struct sfid__this_layout_is_invalid;
template <> struct sfid__this_layout_is_invalid<true> {};
#define SFID__ASSERT_LAYOUT(ok) (0 * sizeof(sfid__this_layout_is_invalid<(ok)>))
#else
#define SFID__ASSERT_LAYOUT(ok) (0 * sizeof(struct { unsigned this_layout_is_invalid : (ok) ? 1 : -1; }))
#endif

/**
 * Initialiser of a layout: tick above pid above seq, right-aligned.
 *
 *     static const sfid_layout l = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
 *
 * time_bits 2 to 63, pid_bits 0 to 32, seq_bits 0 to 61, together at most 64
 * (with 64 the top tick bit stays 0, which halves the layout's life); unit_ms
 * at least 1; epoch_ms between the years 1 and 9999. All must be integer
 * constants; a layout that breaks a rule does not compile.
 */
#define SFID_LAYOUT(time_bits, pid_bits, seq_bits, unit_ms, epoch_ms) \
    { \
        (int64_t)(epoch_ms), (uint32_t)(unit_ms), (uint8_t)(time_bits), (uint8_t)(pid_bits), (uint8_t)(seq_bits), \
            (uint8_t)((pid_bits) + (seq_bits)), (uint8_t)(seq_bits), 0, \
            (uint8_t)SFID__ASSERT_LAYOUT(SFID__LAYOUT_OK(time_bits, pid_bits, seq_bits, unit_ms, epoch_ms)), {0, 0, 0, 0, 0}, \
            SFID__MAX_TICK(time_bits, pid_bits, seq_bits), SFID__ONES(pid_bits), SFID__ONES(seq_bits) \
    }

/** Highest pid of a layout (a value, not a pointer). */
#define SFID_MAX_PID(l) ((l).max_pid)

/** The default: 36 bits of seconds, 11 of pid, 17 of seq; ends in 3114. As the Rust crate sfid has it. */
static const sfid_layout SFID_LAYOUT_DEFAULT SFID__UNUSED = SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS);

/** What an ID is made of. */
typedef struct sfid_parts {
    uint64_t tick;   /**< units since the epoch */
    uint64_t pid;    /**< process ID, split fields as one number */
    uint64_t seq;    /**< sequence number */
    int64_t unix_ms; /**< begin of the tick, Unix milliseconds */
} sfid_parts;

/** What a field holds. Numbers are fixed; later versions add to them. */
typedef enum sfid_field_kind {
    SFID_FIELD_RESERVED = 0, /**< always 0 */
    SFID_FIELD_TIME,         /**< the tick */
    SFID_FIELD_PID,          /**< the pid, or a part of it */
    SFID_FIELD_SEQ,          /**< the sequence, or a part of it */
    SFID_FIELD_FIXED,        /**< the same in every ID: version and variant of a UUID */
    SFID_FIELD_RANDOM        /**< random bits */
} sfid_field_kind;

/** One field of a layout, as sfid_layout_fields() tells it. */
typedef struct sfid_field {
    const char *name;     /**< static: "reserved", "time", "pid", "seq", or the preset's own word, of [a-z_] */
    unsigned shift;       /**< place of the lowest bit */
    unsigned bits;        /**< width */
    sfid_field_kind kind; /**< what it is, whatever its name */
} sfid_field;

/** Room that sfid_layout_fields() and sfid_wide_layout_fields() need at most. */
#define SFID_LAYOUT_FIELDS 8

/** By what IDs sort, as numbers: always by time first. */
typedef enum sfid_order {
    SFID_ORDER_PID_SEQ = 0, /**< then by pid, then by sequence: the IDs of one process and tick lie side by side */
    SFID_ORDER_SEQ_PID      /**< then by sequence, then by pid: those of different processes alternate (Sonyflake) */
} sfid_order;

/** What follows from a layout, as sfid_layout_describe() tells it. */
typedef struct sfid_layout_facts {
    const char *name;          /**< static: the preset's name, or NULL */
    int64_t last_ms;           /**< Unix milliseconds at which the last tick ends (exclusive) */
    uint64_t ids_per_tick;     /**< of one process */
    uint64_t ids_per_second;   /**< of one process, rounded down */
    uint64_t processes;        /**< how many pids there are, from first_pid on */
    uint64_t fleet_per_second; /**< of all processes, saturating at UINT64_MAX */
    uint64_t fingerprint;      /**< differs for layouts that differ in anything that makes an ID */
    uint64_t first_pid;        /**< lowest pid its makers use: 0, or 1 (Icicle). IDs with lower ones are still read and composed */
    sfid_order order;          /**< which field decides between IDs of one tick */
} sfid_layout_facts;

/** Buffer size that holds any text of sfid_layout_format(), the NUL included. */
#define SFID_LAYOUT_STR_LEN 64

#endif
