/* SPDX-License-Identifier: MIT */
/**
 * sfid/layout.h - how an ID is cut into fields.
 *
 * An ID is a non-negative 64-bit integer with three fields: a tick (time in
 * units since an epoch), a process ID (pid) and a sequence (seq). A layout says
 * how wide each field is and where it stands. A constant layout costs nothing:
 * in the inline form (sfid/inline.h) the compiler folds it into constant shifts
 * and masks.
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
#if defined(__cplusplus) && __cplusplus >= 201703L
#undef SFID__UNUSED
#define SFID__UNUSED [[maybe_unused]] /* clang lets this one be used */
#endif

/*
 * What C and C++ write differently. These headers, and what their macros
 * expand to, must stay free of warnings under -Wold-style-cast,
 * -Wuseless-cast and -Wzero-as-null-pointer-constant. SFID__AT() casts a
 * pointer, SFID__CONST begins a constant, SFID__TABLE one that functions in
 * headers point into, SFID__PURE such a function.
 */
#if defined(__cplusplus) && __cplusplus >= 201103L
template <class To, class From> constexpr To sfid__to(From value) { return static_cast<To>(value); }
#define SFID__TO(type, value) (sfid__to<type>(value))
#define SFID__AT(type, pointer) (static_cast<type>(static_cast<void *>(pointer)))
#define SFID__NULL nullptr
#define SFID__CONST static constexpr
#else
#define SFID__TO(type, value) ((type)(value))
#define SFID__AT(type, pointer) ((type)(void *)(pointer))
#define SFID__NULL NULL
#define SFID__CONST static const
#endif
#if defined(__cplusplus) && __cplusplus >= 201703L
/* one for the program, or these functions would differ from file to file */
#define SFID__TABLE inline constexpr
#else
#define SFID__TABLE SFID__CONST
#endif
#if defined(__cplusplus) && __cplusplus >= 201402L
#define SFID__PURE constexpr
#elif defined(__cplusplus)
#define SFID__PURE inline
#else
#define SFID__PURE SFID__UNUSED static inline
#endif

/**
 * A layout. A plain struct, but only SFID_LAYOUT() and sfid_layout_parse() should
 * make one: the derived members must agree with the widths.
 */
typedef struct sfid_layout {
    int64_t epoch_ms;    /**< tick 0 begins here, Unix milliseconds */
    uint32_t unit_ms;    /**< length of a tick, milliseconds, at least 1 */
    uint8_t time_bits;   /**< width of the tick */
    uint8_t pid_bits;    /**< width of the pid */
    uint8_t seq_bits;    /**< width of the sequence */
    uint8_t time_shift;  /**< place of the tick's lowest bit in the ID */
    uint8_t pid_shift;   /**< place of the pid's lowest bit */
    uint8_t seq_shift;   /**< place of the sequence's lowest bit */
    uint8_t pid_low;     /**< in presets: how many low bits of the pid have a name of their own;
                              else 0 */
    uint8_t reserved[5]; /**< zero */
    uint64_t max_tick;   /**< last tick for which an ID is not negative */
    uint64_t max_pid;    /**< highest pid, also its mask */
    uint64_t max_seq;    /**< highest sequence, also its mask */
} sfid_layout;

/** 2025-12-22T00:00:00Z in Unix milliseconds: the epoch of the Rust crate sfid, kept so that its
 * IDs stay readable. */
#define SFID_EPOCH_MS INT64_C(1766361600000)

/* If the fields fill all 64 bits, the top bit of the tick stays 0, or IDs would turn negative. */
#define SFID__ONES(bits) ((UINT64_C(1) << (bits)) - 1)
#define SFID__MAX_TICK(t, p, s) SFID__ONES((t) + (p) + (s) == 64 ? (t)-1 : (t))
/* from the latest epoch to the last moment of an int64_t */
#define SFID__ALL_MS (UINT64_MAX / 2 - UINT64_C(253402300799999))

/* Years 0001 to 9999: what RFC 3339 can write. */
#define SFID__EPOCH_MIN (-INT64_C(62135596800000))
#define SFID__EPOCH_MAX INT64_C(253402300799999)

#define SFID__LAYOUT_OK(t, p, s, unit, epoch) \
    ((t) >= 2 && (t) <= 63 && (p) >= 0 && (p) <= 32 && (s) >= 0 && (s) <= 61 && \
     (t) + (p) + (s) <= 64 && (unit) >= 1 && (unit) <= UINT32_MAX && (epoch) >= SFID__EPOCH_MIN && \
     (epoch) <= SFID__EPOCH_MAX && SFID__MAX_TICK(t, p, s) < SFID__ALL_MS / (unit))

#ifdef __cplusplus
template <bool valid> struct sfid__this_layout_is_invalid;
template <> struct sfid__this_layout_is_invalid<true> {};
#define SFID__ASSERT_LAYOUT(ok) (0 * sizeof(sfid__this_layout_is_invalid<(ok)>))
#else
#define SFID__ASSERT_LAYOUT(ok) \
    (0 * sizeof(struct { unsigned this_layout_is_invalid : (ok) ? 1 : -1; }))
#endif

/**
 * Initialiser of a layout: tick above pid above sequence, right-aligned.
 *
 *     static const sfid_layout l = SFID_LAYOUT(41, 10, 12, 1, SFID_EPOCH_MS);
 *
 * time_bits is 2 to 63, pid_bits 0 to 32, seq_bits 0 to 61, and their sum at
 * most 64. (With 64 the top bit of the tick stays 0, which halves the layout's
 * life.) unit_ms is at least 1, epoch_ms between the years 1 and 9999. All must
 * be integer constants. A layout that breaks a rule does not compile.
 */
#define SFID_LAYOUT(time_bits, pid_bits, seq_bits, unit_ms, epoch_ms) \
    { \
        (epoch_ms), (unit_ms), (time_bits), (pid_bits), (seq_bits), (pid_bits) + (seq_bits), \
            (seq_bits), 0, \
            SFID__ASSERT_LAYOUT( \
                SFID__LAYOUT_OK(time_bits, pid_bits, seq_bits, unit_ms, epoch_ms)), \
            {0, 0, 0, 0, 0}, SFID__MAX_TICK(time_bits, pid_bits, seq_bits), SFID__ONES(pid_bits), \
            SFID__ONES(seq_bits) \
    }

/** The highest pid of a layout, which is passed by value, not by pointer. */
#define SFID_MAX_PID(l) ((l).max_pid)

/**
 * The default, as in the Rust crate sfid: 36 bits of seconds, 11 of pid, 17 of
 * sequence; ends in 3114. A constant expression in C++.
 *
 * IDs pass 2^53 on 2027-01-14T08:40:32Z: from then on, JavaScript numbers, jq 1.6
 * and every double round them. Write them as strings in JSON, or use the preset
 * js53, which stays below. On 2027-02-26T04:01:42Z they get a 17th digit: shorter
 * and longer decimal texts do not sort as text, and patterns for 16 digits fail.
 * Base32 sorts, and so does decimal padded to 19 digits.
 */
SFID__CONST sfid_layout SFID_LAYOUT_DEFAULT SFID__UNUSED =
    SFID_LAYOUT(36, 11, 17, 1000, SFID_EPOCH_MS);

/** What an ID is made of. */
typedef struct sfid_parts {
    uint64_t tick;   /**< units since the epoch */
    uint64_t pid;    /**< process ID; split fields as one value */
    uint64_t seq;    /**< sequence */
    int64_t unix_ms; /**< start of the tick, Unix milliseconds */
} sfid_parts;

/** What a field holds. Values are fixed; later versions add more. */
typedef enum sfid_field_kind {
    SFID_FIELD_RESERVED = 0, /**< always 0 */
    SFID_FIELD_TIME,         /**< the tick */
    SFID_FIELD_PID,          /**< the pid or a part of it */
    SFID_FIELD_SEQ,          /**< the sequence or a part of it */
    SFID_FIELD_FIXED,        /**< the same in every ID: version and variant of a UUID */
    SFID_FIELD_RANDOM        /**< random bits */
} sfid_field_kind;

/** One field of a layout, from sfid_layout_fields(). */
typedef struct sfid_field {
    const char *name;     /**< static: "reserved", "time", "pid", "seq" or the preset's own word,
                               all in [a-z_] */
    unsigned shift;       /**< place of the lowest bit */
    unsigned bits;        /**< width */
    sfid_field_kind kind; /**< what it holds, whatever its name */
} sfid_field;

/** The most fields that sfid_layout_fields() and sfid_wide_layout_fields() write. */
#define SFID_LAYOUT_FIELDS 8

/** How IDs sort by value: always by time first. */
typedef enum sfid_order {
    SFID_ORDER_PID_SEQ = 0, /**< then by pid, then by sequence: IDs of one process and tick lie side
                                 by side */
    SFID_ORDER_SEQ_PID      /**< then by sequence, then by pid: IDs of different processes alternate
                                 (Sonyflake) */
} sfid_order;

/** Facts about a layout, from sfid_layout_describe(). */
typedef struct sfid_layout_facts {
    const char *name;          /**< static: the preset's name, or NULL */
    int64_t last_ms;           /**< end of the last tick (exclusive), Unix milliseconds */
    uint64_t ids_per_tick;     /**< for one process */
    uint64_t ids_per_second;   /**< for one process, rounded down */
    uint64_t processes;        /**< how many pids there are, counted from first_pid */
    uint64_t fleet_per_second; /**< for all processes, at most UINT64_MAX */
    uint64_t fingerprint;      /**< different for layouts that would make different IDs */
    uint64_t first_pid;        /**< lowest pid its makers use: 0, or 1 (Icicle). IDs with a lower
                                    pid can be read and composed */
    sfid_order order;          /**< which field comes first within a tick */
} sfid_layout_facts;

/** Buffer size that holds any text of sfid_layout_format(), the NUL included. */
#define SFID_LAYOUT_STR_LEN 64

/* ---- layouts: pure functions -------------------------------------------- */
/* A layout of NULL means SFID_LAYOUT_DEFAULT. Threads: any. Fork: safe. Signals: async-safe. */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads a layout: a preset's name (sfid_layout_preset() lists them), or
 * TIME:PID:SEQ[/UNIT][@EPOCH_MS] with UNIT like 1ms, 10ms, 1s. UNIT defaults to
 * 1ms, EPOCH_MS to SFID_EPOCH_MS. sonyflake@EPOCH_MS has another epoch: its order
 * of fields cannot be said by numbers.
 *
 * Returns 0, or SFID_EINVAL. On failure *out is unchanged.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_parse(const char *text, sfid_layout *out);

/**
 * Writes a layout as text that sfid_layout_parse() reads back: a preset's name,
 * else TIME:PID:SEQ/UNIT@EPOCH_MS, or sonyflake@EPOCH_MS. buf has size bytes;
 * SFID_LAYOUT_STR_LEN is always enough.
 *
 * Returns 0, or SFID_EINVAL if buf is NULL or too small, or the layout is unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_format(const sfid_layout *l, char *buf, size_t size);

/**
 * Checks that a layout is as good as one from SFID_LAYOUT() or
 * sfid_layout_parse(). Its fields lie apart and inside the ID, the tick lies
 * above the others, and derived members agree with the widths.
 *
 * Returns 0 or SFID_EINVAL.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_check(const sfid_layout *l);

/**
 * Works out what follows from a layout: last date, rates, how many processes.
 *
 * Returns 0, or SFID_EINVAL if out is NULL or the layout is unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_describe(const sfid_layout *l, sfid_layout_facts *out);

/**
 * Lists the fields of a layout under their own names, highest bits first. IDs
 * sort by their fields in this order. fields has room for max of them;
 * SFID_LAYOUT_FIELDS is always enough. If a preset splits the pid, the parts are
 * listed.
 *
 * Returns how many there are, or SFID_EINVAL if fields is NULL or too short, or the layout is
 * unusable.
 */
SFID_API SFID_MUST_CHECK int sfid_layout_fields(const sfid_layout *l, sfid_field *fields,
                                                size_t max);

/** The name of preset i, counted from 0; NULL past the last. */
SFID_API const char *sfid_layout_preset(size_t i);

#ifdef __cplusplus
}
#endif

#endif
