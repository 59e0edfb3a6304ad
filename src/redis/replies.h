/* SPDX-License-Identifier: MIT */
/* replies.h - what an error of a Redis server asks for. */
#ifndef SFID_REDIS_REPLIES_H
#define SFID_REDIS_REPLIES_H

#include "base/compiler.h"

enum sfid__reply_class {
    SFID__REPLY_OK,
    SFID__REPLY_RETRY,   /* the same server later: LOADING, BUSY, MISCONF, OOM, NOREPLICAS, TRYAGAIN, timeouts, EOF */
    SFID__REPLY_RESOLVE, /* another server is the one now: READONLY, MOVED, MASTERDOWN, refused, no route */
    SFID__REPLY_CONFIG   /* a person has to act: NOAUTH, WRONGPASS, NOPERM, unknown command, wrong type, protocol errors */
};

struct sfid__reply_meaning {
    enum sfid__reply_class class;
    int code;          /* SFID_EREDIS or SFID_EAUTH */
    const char *known; /* how the line begins, in words of our own table; "" where it is none of those */
};

/* Of an error reply, its first line without '-'. */
struct sfid__reply_meaning sfid__reply_classify(const char *line);

#endif
