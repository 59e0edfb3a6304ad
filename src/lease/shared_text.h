/* SPDX-License-Identifier: MIT */
/* shared_text.h - a text that one thread at a time writes and any thread reads, without a lock: a
 * child may be forked in a write. */
#ifndef SFID_LEASE_SHARED_TEXT_H
#define SFID_LEASE_SHARED_TEXT_H

#include "base/error.h"

struct sfid__text_memory;

/* All zero: no text. Most generators never have one, so the first write makes room for it. */
struct sfid__shared_text {
    _Atomic(struct sfid__text_memory *) memory;
};

/* False if there is no memory for the first text. */
bool sfid__text_write(struct sfid__shared_text *text, const char *from);

/*
 * False if there is no text, or every try met a write (in a child forked at that moment: for ever).
 * What tells the reader that there is one has to be an acquire load of what the writer released
 * after the first write.
 */
bool sfid__text_read(const struct sfid__shared_text *text, char out[SFID__ERROR_TEXT]);

/* No thread reads or writes it any more. */
void sfid__text_drop(struct sfid__shared_text *text);

#endif
