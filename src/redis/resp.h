/* SPDX-License-Identifier: MIT */
/*
 * resp.h - the protocol of Redis (RESP2): a command as bytes, and bytes as a reply.
 *
 * A reply is taken in whole or not at all, and has bounds. Of hiredis (0.14 and
 * 1.x) resp.c uses what turns a command into bytes and bytes into a reply, with
 * functions of its own for what a reply is made of; no other file knows these.
 */
#ifndef SFID_REDIS_RESP_H
#define SFID_REDIS_RESP_H

#include "redis/replies.h"
#include "redis/uri.h"

/* Bounds of a command, of a reply, and of what of it is read before it is whole. */
enum { SFID__COMMAND_ARGS = 24, SFID__REPLY_STRINGS = 272, SFID__REPLY_STRING = 256, SFID__REPLY_BYTES = 24576 };

/* Where a node of a cluster sends its clients. */
struct sfid__redirect {
    enum { SFID__STAY, SFID__MOVED, SFID__ASK } to;
    uint32_t slot;
    struct sfid__endpoint node; /* host "": the one that said so, with another port */
};

/*
 * A reply of at most one level: a status, a string, an integer as text, or an
 * array of those; nothing for nil and for an empty array. An error is its line,
 * cut off where it is long, with *** for user and password.
 */
struct sfid__redis_reply {
    enum sfid__reply_class class;
    struct sfid__redirect redirect; /* of MOVED and ASK */
    unsigned count;
    const char *strings[SFID__REPLY_STRINGS]; /* in bytes; ended by NUL, and without one inside: others are protocol errors */
    size_t used;
    char bytes[SFID__REPLY_BYTES];
};

/* Makes it a reply of nothing; its class stays. */
void sfid__reply_empty(struct sfid__redis_reply *reply);

/* What takes replies in, one after the other. */
struct sfid__resp {
    struct sfid__redis_reply *reply;    /* the last one */
    bool is_error;                      /* it is an error line, */
    struct sfid__reply_meaning meaning; /* and this is what it asks for */
    const char *why;                    /* after SFID__RESP_WRONG */
    bool leaves_out_deeper;             /* set it: arrays inside an array are no error, and left out */
    const struct sfid__uri *uri;        /* whose secrets stand in no reply */
    size_t received;
    void *reader; /* hiredis's */
};

/* reply and uri stay the caller's, and have to outlive it. False when out of memory. */
bool sfid__resp_begin(struct sfid__resp *r, struct sfid__redis_reply *reply, const struct sfid__uri *uri);

/* Fine on a zeroed one. */
void sfid__resp_end(struct sfid__resp *r);

/* Bytes that came. What goes wrong here the next sfid__resp_take() tells. */
void sfid__resp_feed(struct sfid__resp *r, const char *bytes, size_t n);

/* Begins a reply; then takes it in: whole (error replies included), or more bytes are wanted, or why not. */
void sfid__resp_next(struct sfid__resp *r);
enum sfid__resp_taken { SFID__RESP_WHOLE, SFID__RESP_MORE, SFID__RESP_WRONG, SFID__RESP_NO_MEMORY };
enum sfid__resp_taken sfid__resp_take(struct sfid__resp *r);

/* True when no byte is left over, which would be taken for the answer to the next command. */
bool sfid__resp_is_spent(const struct sfid__resp *r);

/*
 * A command of argc arguments, 1 to SFID__COMMAND_ARGS, with their lengths
 * (NULL: they end with NUL). The number of *bytes, for sfid__resp_free(); -1
 * when out of memory.
 */
long long sfid__resp_write(char **bytes, int argc, const char *const *argv, const size_t *lengths);
void sfid__resp_free(char *bytes);

#endif
