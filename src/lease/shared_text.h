/* SPDX-License-Identifier: MIT */
/* shared_text.h - a text that one thread at a time writes and any thread reads, without a lock: a child may be forked in a write. */
#ifndef SFID_LEASE_SHARED_TEXT_H
#define SFID_LEASE_SHARED_TEXT_H

#include "base/error.h"

struct sfid__shared_text {
    _Atomic uint32_t version; /* odd during a write */
    _Atomic uint64_t words[SFID__ERROR_TEXT / 8];
};

void sfid__text_write(struct sfid__shared_text *text, const char *from);

/* False if every try met a write (in a child forked at that moment: for ever). */
bool sfid__text_read(const struct sfid__shared_text *text, char out[SFID__ERROR_TEXT]);

#endif
