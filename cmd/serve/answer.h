/* SPDX-License-Identifier: MIT */
/* answer.h - one connection's answers, without its socket. */
#ifndef CMD_SERVE_ANSWER_H
#define CMD_SERVE_ANSWER_H

#include "serve/request.h"
#include "serve/settings.h"

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

/* ---- HTTP: heads, errors, the page ---------------------------------------------- */

#define HEAD_ROOM 384
#define LENGTH_NONE (-1) /* no Content-Length */

/* Writes the head of an answer at p. extra: more lines, each with its CRLF, or "". */
char *http_head(char *p, struct client *client, int status, const char *type, int64_t length,
                const char *extra);

/* Each writes a whole answer to a request; to HEAD its head alone. */
void http_answer(struct client *client, const struct http_request *r, const char *type,
                 struct slice body);

/* Made of page.html. What the page may do is a Content-Security-Policy. */
extern const char page_html[], page_policy[];

/* The page, with a head that lets it load nothing and stand in no frame. */
void http_page(struct client *client, const struct http_request *r);

/* An error as JSON, with the target of the request, escaped. */
void http_error(struct client *client, const struct http_request *r, int status, const char *code,
                const char *fmt, ...) CLI_PRINTF(5, 6);

/* Begins with the next second; sets what Date says. */
void http_clock(void);

/* ---- answers with IDs ------------------------------------------------------------ */

/* Begins the answer to a request for IDs; answer_go() then makes it. */
void answer_begin(struct client *client, enum answer answer, uint32_t n, unsigned least);

enum progress {
    PROGRESS_DONE,
    PROGRESS_TURN,
    PROGRESS_DRY,
    PROGRESS_MEMORY,
    PROGRESS_LEASE,
    PROGRESS_CLOCK
};

/*
 * Draws at most SOURCE_TURN IDs. TURN: more are wanted. DRY: there are none for
 * now. MEMORY: too many answers are under way. LEASE, CLOCK: to be refused.
 */
enum progress answer_go(struct client *client);

/* Refuses the job. request: its bytes. */
void answer_refuse(struct client *client, enum refusal why, struct slice request);

#endif
