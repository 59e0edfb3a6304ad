/* SPDX-License-Identifier: MIT */
#include "lease/shared_text.h"

#include <string.h>

void sfid__text_write(struct sfid__shared_text *text, const char *from) {
    uint64_t words[SFID__ERROR_TEXT / 8] = {0};
    memcpy(words, from, strnlen(from, sizeof words - 1));
    /*
     * A sequence lock: odd, then the words, then even. The release store pairs with the first acquire in
     * sfid__text_read; the fence pairs with the one there, and keeps the words behind the odd version.
     */
    const uint32_t version = atomic_load_explicit(&text->version, memory_order_relaxed) | 1;
    atomic_store_explicit(&text->version, version, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < sizeof words / 8; i++)
        atomic_store_explicit(&text->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&text->version, version + 1, memory_order_release);
}

bool sfid__text_read(const struct sfid__shared_text *text, char out[SFID__ERROR_TEXT]) {
    for (int round = 0; round < 1000; round++) {
        uint64_t words[SFID__ERROR_TEXT / 8];
        const uint32_t before = atomic_load_explicit(&text->version, memory_order_acquire);
        for (size_t i = 0; i < sizeof words / 8; i++)
            words[i] = atomic_load_explicit(&text->words[i], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if ((before & 1) == 0 && atomic_load_explicit(&text->version, memory_order_relaxed) == before) {
            memcpy(out, words, SFID__ERROR_TEXT);
            return true;
        }
    }
    return false;
}
