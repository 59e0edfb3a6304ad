/* SPDX-License-Identifier: MIT */
/*
 * resp.h - the protocol of Redis (RESP2): turns a command into bytes, and bytes
 * into a reply.
 *
 * A reply has bounds, and is taken in as a whole or not at all. resp.c uses the
 * formatter and the reader of hiredis (0.14 and 1.x), with its own functions
 * for the parts of a reply. No other file knows these.
 */
#ifndef SFID_REDIS_RESP_H
#define SFID_REDIS_RESP_H

#include "redis/replies.h"
#include "redis/uri.h"

/* Bounds of a command, of a reply, and of the bytes that are read until a reply is whole. */
enum {
    SFID__COMMAND_ARGS = 32,
    SFID__REPLY_STRINGS = 272,
    SFID__REPLY_STRING = 256,
    SFID__REPLY_BYTES = 24576
};

/* Where a node of a cluster sends its clients. */
struct sfid__redirect {
    enum { SFID__STAY, SFID__MOVED } to;
    uint32_t hash_slot;
    struct sfid__endpoint node; /* host "": the node that said so, at another port */
};

/*
 * Room for the strings of a reply. Few: what a holder of a lease asks for. The lease script answers
 * a claim, a renewal or a release with seven strings at most, all but one of them numbers, words or
 * an era; what a server refuses with, three texts at most and a number. ROLE has five strings
 * besides arrays. Many: what `look` and check.lua answer, for who has the memory.
 */
enum { SFID__REPLY_FEW = 8 };
struct sfid__reply_few {
    const char *strings[SFID__REPLY_FEW];
    char bytes[4 * SFID__REPLY_STRING];
};
struct sfid__reply_many {
    const char *strings[SFID__REPLY_STRINGS];
    char bytes[SFID__REPLY_BYTES];
};

/*
 * A reply of at most one level: a status, a string, an integer as text, or an array of those. Nil
 * and an empty array give no string. An error is its line, cut if it is long, with *** for user and
 * password. It has room before it is used: sfid__reply_of_few() or sfid__reply_of_many(), which
 * empty it.
 */
struct sfid__redis_reply {
    enum sfid__reply_class class;
    struct sfid__redirect redirect; /* for MOVED and ASK */
    unsigned count, most;
    /* `most` of them: point into bytes, end with NUL; a NUL inside is a protocol error */
    const char **strings;
    char *bytes;
    size_t used, size;
    /* counted up for each time that the command went out and no whole reply came; the caller sets
     * it to 0 */
    unsigned unanswered;
};

void sfid__reply_of_few(struct sfid__redis_reply *reply, struct sfid__reply_few *few);
void sfid__reply_of_many(struct sfid__redis_reply *reply, struct sfid__reply_many *many);

/* Removes all strings; the class stays. */
void sfid__reply_empty(struct sfid__redis_reply *reply);

enum sfid__resp_taken { SFID__RESP_WHOLE, SFID__RESP_MORE, SFID__RESP_WRONG, SFID__RESP_NO_MEMORY };

/* A command as bytes, and a reader that takes in one reply after another. */
struct sfid__resp {
    char *command; /* hiredis's */
    size_t length;
    enum sfid__resp_taken last;         /* what the last call of sfid__resp_take() returned */
    struct sfid__redis_reply *reply;    /* the last one */
    bool is_error;                      /* it is an error line */
    struct sfid__reply_meaning meaning; /* if so, what it asks for */
    const char *why;                    /* the reason for SFID__RESP_WRONG */
    /* input: leave out arrays inside an array, instead of failing */
    bool leaves_out_deeper;
    /* input: an error has no line and no meaning: it does not matter */
    bool leaves_out_errors;
    const struct sfid__uri *uri; /* its secrets never appear in a reply */
    size_t received;             /* since the reply began */
    /* taken in behind the last reply: the begin of the next one */
    size_t rest;
    void *reader; /* hiredis's */
};

/*
 * Empties the reply and writes the command of 1 to SFID__COMMAND_ARGS arguments with their lengths
 * (NULL: they end with NUL). The caller keeps reply and uri, which have to outlive r, and ends r in
 * either case. False if out of memory.
 */
bool sfid__resp_begin(struct sfid__resp *r, struct sfid__redis_reply *reply,
                      const struct sfid__uri *uri, int argc, const char *const *argv,
                      const size_t *lengths);
void sfid__resp_end(struct sfid__resp *r);

/*
 * Takes n bytes from the server, or 0 to look only at the rest. Returns: a reply is whole (error
 * replies, too), more bytes are needed, or it is wrong. The call after a whole reply begins the
 * next one.
 */
enum sfid__resp_taken sfid__resp_take(struct sfid__resp *r, const char *bytes, size_t n);

/* Of hiredis, as its header tells it. */
const char *sfid__resp_version(void);

#endif
