/* SPDX-License-Identifier: MIT */
/*
 * random.h - random bytes without a lock.
 *
 * libuuid's own generator calls srandom(). That changes the program's sequence
 * of random(), and takes a libc lock that a forked child may find held forever.
 * So the kernel supplies the bytes, and libuuid only formats them.
 */
#ifndef SFID_BASE_RANDOM_H
#define SFID_BASE_RANDOM_H

#include "base/compiler.h"

#define SFID__UUID_STR_LEN 37 /* with the NUL */

void sfid__random(void *bytes, size_t n);

/*
 * For copies of a machine. They have the kernel's random state in common until it gathers more, and
 * so might draw the same bytes. The clocks to the nanosecond and sign, which the machine shows,
 * tell most of them apart; a kernel that knows its generation (vmgenid) has done so already.
 */
void sfid__random_stirred(void *bytes, size_t n, uint64_t sign);

/* A random UUID (RFC 9562, version 4) as text in lower case. */
void sfid__random_uuid(char text[SFID__UUID_STR_LEN]);

#endif
