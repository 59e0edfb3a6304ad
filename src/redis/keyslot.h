/* SPDX-License-Identifier: MIT */
/* keyslot.h - the slot of a Redis cluster in which a key lies (redis.io, "Redis cluster
 * specification"). */
#ifndef SFID_REDIS_KEYSLOT_H
#define SFID_REDIS_KEYSLOT_H

#include "base/compiler.h"

/* 0 to 16383: CRC-16 of the key, or of its hash tag, the text between the first { and the next },
 * unless that is empty. */
unsigned sfid__keyslot(const char *key);

bool sfid__has_hash_tag(const char *key);

#endif
