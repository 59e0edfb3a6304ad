/* SPDX-License-Identifier: MIT */
/**
 * sfid/text.h - IDs as text, and back.
 *
 * Reading is strict: every byte must be a digit of the form. Signs, spaces and
 * trailing bytes are errors. All calls here are pure and allocate nothing. Their
 * time is bounded by the bytes they get. Threads: any. Fork: safe. Signals:
 * async-safe.
 */
#ifndef SFID_TEXT_H
#define SFID_TEXT_H

#include "layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How an ID is written. Each form but SFID_DEC is written at full width, so
 * texts of one form sort as their IDs do. That holds byte by byte, not in a
 * locale's collation, which may mix capitals with small letters. If it ignores
 * case, different IDs in SFID_BASE62 or SFID_BASE58 are equal. Values are fixed;
 * later versions add more.
 */
typedef enum sfid_form {
    SFID_DEC = 0, /**< decimal without leading zeros: sorts as text only when padded. Reads up to 20
                       digits (wide: 39) */
    SFID_HEX,     /**< 16 digits (wide: 32) of 0-9a-f; reads either case, and fewer */
    SFID_BASE62,  /**< 11 digits (wide: 22) of 0-9A-Za-z, in this order; reads fewer */
    SFID_BASE32,  /**< 13 digits (wide: 26, as a ULID) of Douglas Crockford's alphabet, in capitals;
                       reads fewer, either case, O as 0, I and L as 1; no hyphens and no check
                       symbol */
    SFID_BASE58,  /**< 11 digits (wide: 22) of Bitcoin's alphabet, 1-9A-HJ-NP-Za-km-z; reads fewer.
                       '1' means zero */
    SFID_UUID,    /**< wide only: 32 digits of 0-9a-f as 8-4-4-4-12 (RFC 9562, section 4); reads
                       either case */
    SFID_BYTES    /**< 8 bytes (wide: 16), big-endian; written without a NUL, read at exactly this
                       length */
} sfid_form;

/** Size of a buffer for a 64-bit ID in any form, including the NUL. */
#define SFID_TEXT_LEN 24

/** A form's name: "dec", "hex", "base62", "base32", "base58", "uuid", "bytes"; NULL for an unknown
 * form. */
SFID_API const char *sfid_form_name(sfid_form form);

/**
 * Reads an ID from exactly len bytes of text.
 *
 * Returns 0, or
 *   SFID_EINVAL    text or id is NULL, the form is unknown or SFID_UUID, the text is empty, a byte
 *                  is not a digit of the form, or (SFID_BYTES) len is not 8
 *   SFID_EOVERFLOW the value is above INT64_MAX, or there are more digits than the form has
 * If both apply, the code is SFID_EINVAL. *id is set on success only.
 */
SFID_API SFID_MUST_CHECK int sfid_from_text(sfid_form form, const char *text, size_t len,
                                            int64_t *id);

/**
 * Reads an ID as sfid_from_text() does, and finds where the text goes wrong. On
 * failure *at is the place, counted from 0, of the first byte that is not a
 * digit, or of the digit that makes the value too large. If something is
 * missing, *at is len. at may be NULL.
 *
 * Returns as sfid_from_text().
 */
SFID_API SFID_MUST_CHECK int sfid_from_text_at(sfid_form form, const char *text, size_t len,
                                               int64_t *id, size_t *at);

/**
 * Writes an ID as text into buf, which has size bytes. SFID_TEXT_LEN is always
 * enough. The text ends in a NUL, but SFID_BYTES writes 8 bytes and no NUL. Bytes
 * of buf behind the NUL may be overwritten.
 *
 * Returns the length without the NUL, or SFID_EINVAL if id is negative, buf is
 * NULL, size is too small, or the form is unknown or SFID_UUID.
 */
SFID_API SFID_MUST_CHECK int sfid_to_text(sfid_form form, int64_t id, char *buf, size_t size);

/**
 * Writes an ID as sfid_to_text() does, padded with the form's zero to at least
 * width digits. A width of 1 pads nothing; 0 is the form's own width. SFID_DEC
 * with a width of 19 sorts as text. SFID_BYTES has one width: 0 or 8.
 *
 * Returns as sfid_to_text(), and SFID_EINVAL if width is above what the form
 * reads.
 */
SFID_API SFID_MUST_CHECK int sfid_to_text_padded(sfid_form form, int64_t id, unsigned width,
                                                 char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
