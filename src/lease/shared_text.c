/* SPDX-License-Identifier: MIT */
#include "lease/shared_text.h"

#include <stdlib.h>
#include <string.h>

struct sfid__text_memory {
    _Atomic uint32_t version; /* odd during a write */
    _Atomic uint64_t words[SFID__ERROR_TEXT / 8];
};

/* Relaxed: a reader knows by an acquire load of its own that there is a text, and the writer is the
 * only one that sets this. */
static struct sfid__text_memory *memory_of(const struct sfid__shared_text *text) {
    return atomic_load_explicit(&text->memory, memory_order_relaxed);
}

static struct sfid__text_memory *make_memory(struct sfid__shared_text *text) {
    struct sfid__text_memory *fresh = calloc(1, sizeof *fresh);
    atomic_store_explicit(&text->memory, fresh, memory_order_relaxed); /* as above */
    return fresh;
}

void sfid__text_drop(struct sfid__shared_text *text) {
    free(memory_of(text));
    atomic_store_explicit(&text->memory, NULL, memory_order_relaxed); /* nobody else has it */
}

bool sfid__text_write(struct sfid__shared_text *shared, const char *from) {
    struct sfid__text_memory *text = memory_of(shared);
    if (text == NULL && (text = make_memory(shared)) == NULL)
        return false;
    uint64_t words[SFID__ERROR_TEXT / 8] = {0};
    memcpy(words, from, strnlen(from, sizeof words - 1));
    /*
     * A sequence lock: odd, then the words, then even. The release store pairs with the first
     * acquire in sfid__text_read; the fence pairs with the one there, and keeps the words behind
     * the odd version.
     */
    const uint32_t version = atomic_load_explicit(&text->version, memory_order_relaxed) | 1;
    atomic_store_explicit(&text->version, version, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < sizeof words / 8; i++)
        atomic_store_explicit(&text->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&text->version, version + 1, memory_order_release);
    return true;
}

bool sfid__text_read(const struct sfid__shared_text *shared, char out[SFID__ERROR_TEXT]) {
    const struct sfid__text_memory *text = memory_of(shared);
    for (int round = 0; round < 1000 && text; round++) {
        uint64_t words[SFID__ERROR_TEXT / 8];
        const uint32_t before = atomic_load_explicit(&text->version, memory_order_acquire);
        for (size_t i = 0; i < sizeof words / 8; i++)
            words[i] = atomic_load_explicit(&text->words[i], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if ((before & 1) == 0 &&
            atomic_load_explicit(&text->version, memory_order_relaxed) == before) {
            memcpy(out, words, SFID__ERROR_TEXT);
            return true;
        }
    }
    return false;
}
