/* SPDX-License-Identifier: MIT */
/* client.h - one connection's answers, without its socket. */
#ifndef CMD_SERVE_CLIENT_H
#define CMD_SERVE_CLIENT_H

#include "io/base.h"

struct bytes {
    char *at;
    size_t sent, len, size; /* at[sent..len) is to be sent */
};

enum answer {
    ANSWER_NONE,
    ANSWER_FLAKEID,
    ANSWER_ID,
    ANSWER_LINES,
    ANSWER_JSON,
    ANSWER_BULK,
    ANSWER_ARRAY,
    ANSWER_INTEGER
};

/* A request for IDs whose answer is being made. Nothing of it is sent before it is complete. */
struct job {
    enum answer answer;
    unsigned least;    /* digits */
    uint32_t n, drawn; /* n IDs are wanted */
    size_t start;      /* of the answer in out */
    bool begun;        /* there is room for all of it */
};

struct client {
    struct bytes out;
    struct job job;
    uint64_t id;
    uint8_t protocol; /* enum protocol */
    /* HTTP: the current request's version, and whether the connection stays open */
    bool old, keep;
    bool resp3;
    bool local;   /* it has to ask for this host by a local name */
    bool closing; /* no further request is read; close once the answers are sent */
    bool linger;  /* the client may still be sending */
    int status;   /* HTTP: of the last answer */
};

/* Makes room for n bytes behind the answers, and returns it; client_end() sets where they end. Ends
 * the program without memory. */
char *client_room(struct client *client, size_t n);
void client_end(struct client *client, const char *end);
void client_write(struct client *client, const char *text, size_t len);
/* at most 2048 bytes */
void client_print(struct client *client, const char *fmt, ...) CLI_PRINTF(2, 3);

/* Drops bytes that were sent. */
void client_sent(struct client *client, size_t n);
void client_free(struct client *client);

/* Returns how many bytes may be sent now: those of a job may not. */
size_t client_pending(const struct client *client);

#endif
