/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - fuzz targets.
 *
 * A target is a function of some bytes that aborts if a promise of a header is
 * broken. `make fuzz` builds each for libFuzzer (clang). tests/unit/corpus.c
 * contains all of them and replays fuzz/corpus.
 */
#ifndef SFID_FUZZ_H
#define SFID_FUZZ_H

#include <sfid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fuzz_answers(const uint8_t *data, size_t size);
int fuzz_files(const uint8_t *data, size_t size);
int fuzz_flakeid(const uint8_t *data, size_t size);
int fuzz_http(const uint8_t *data, size_t size);
int fuzz_layout(const uint8_t *data, size_t size);
int fuzz_parse(const uint8_t *data, size_t size);
int fuzz_replies(const uint8_t *data, size_t size);
int fuzz_resp(const uint8_t *data, size_t size);
int fuzz_streams(const uint8_t *data, size_t size);
int fuzz_text(const uint8_t *data, size_t size);
int fuzz_uri(const uint8_t *data, size_t size);
int fuzz_words(const uint8_t *data, size_t size);

#ifdef FUZZ_REPLAY
#define FUZZ_TARGET(name)
#else
#define FUZZ_TARGET(name) \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_##name(data, size); }
#endif

#define HOLDS(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* Copies the bytes (or makes room for them) without slack, so that any other access is caught. nul:
 * adds a NUL. */
static inline char *fuzz_copy(const uint8_t *data, size_t size, int nul) {
    char *copy = malloc(size + (size_t)nul + (size == 0));
    HOLDS(copy != NULL);
    if (size > 0 && data)
        memcpy(copy, data, size);
    if (nul)
        copy[size] = '\0';
    return copy;
}

/* Takes up to n bytes from the front. Missing bytes are zero. */
static inline uint64_t fuzz_take(const uint8_t **data, size_t *size, size_t n) {
    uint64_t value = 0;
    for (; n > 0; n--) {
        value <<= 8;
        if (*size > 0) {
            value |= **data;
            ++*data;
            --*size;
        }
    }
    return value;
}

#endif
