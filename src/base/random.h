/* SPDX-License-Identifier: MIT */
/*
 * random.h - random bytes without a lock.
 *
 * libuuid's own generator calls srandom(): that changes the program's sequence
 * of random(), and takes a lock of libc's that a forked child may find held for
 * ever. So the bytes come from the kernel, and libuuid gives them their form.
 */
#ifndef SFID_BASE_RANDOM_H
#define SFID_BASE_RANDOM_H

#include "base/compiler.h"

#include <uuid/uuid.h>

void sfid__random(void *bytes, size_t n);

/* A random UUID (RFC 9562, version 4) as text in lower case. */
void sfid__random_uuid(char text[UUID_STR_LEN]);

/*
 * Bits that nobody can tell from random ones who does not know the key, the
 * same for the same number. Async-signal-safe.
 */
uint64_t sfid__random_of(const uint64_t key[2], uint64_t n);

#endif
