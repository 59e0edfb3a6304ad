/* SPDX-License-Identifier: MIT */
/* replies.h - what to do about an error of a Redis server. */
#ifndef SFID_REDIS_REPLIES_H
#define SFID_REDIS_REPLIES_H

#include "base/compiler.h"

enum sfid__reply_class {
    SFID__REPLY_OK,
    /* try the same server later: LOADING, BUSY, MISCONF, OOM, NOREPLICAS, TRYAGAIN, timeouts,
     * EOF */
    SFID__REPLY_RETRY,
    SFID__REPLY_RESOLVE, /* try another server: READONLY, MOVED, MASTERDOWN, refused, no route */
    /* a person has to act: NOAUTH, WRONGPASS, NOPERM, unknown command, wrong type, protocol
     * errors */
    SFID__REPLY_CONFIG
};

struct sfid__reply_meaning {
    enum sfid__reply_class class;
    int code;          /* SFID_EREDIS or SFID_EAUTH */
    const char *known; /* the beginning of the line, from our own table; "" if it is not there */
};

/* The meaning of an error reply, from its first line without '-'. */
struct sfid__reply_meaning sfid__reply_classify(const char *line);

/* Does it say that the server, or a proxy, does not offer the command? */
bool sfid__reply_is_unknown(const char *text);

#endif
