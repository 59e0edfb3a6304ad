/* SPDX-License-Identifier: MIT */
/* keyslot.h - in which slot of a Redis cluster a key lies (redis.io, "Redis cluster specification"). */
#ifndef SFID_REDIS_KEYSLOT_H
#define SFID_REDIS_KEYSLOT_H

#include "base/compiler.h"

/* 0 to 16383: CRC-16 of the key, or of its hash tag: what stands between the first { and the next }, where that is not empty. */
unsigned sfid__keyslot(const char *key);

bool sfid__has_hash_tag(const char *key);

#endif
