/* SPDX-License-Identifier: MIT */
/**
 * resp.h - one connection to a server that talks the Redis protocol (RESP2), for tests.
 *
 * Of its own, so that a fault in what the library uses is not a fault in what
 * looks at it; and so that sending and reading are two steps: a test can lose
 * an answer, or have a request carried out much later than it was made.
 */
#ifndef SFID_TESTS_RESP_H
#define SFID_TESTS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resp; /* a connection */

struct reply {
    char type;          /* + - : $ * as on the wire; _ for nil */
    int64_t number;     /* : */
    size_t size;        /* of text, without the 0 behind it */
    char *text;         /* + - $ */
    size_t count;       /* of list */
    struct reply *list; /* * */
};

/** Connects; NULL when that fails (errno). */
struct resp *resp_unix(const char *path);

/** Over a connection that is there: requests can be read from it as replies are, a list of texts each. */
struct resp *resp_on(int fd);
void resp_close(struct resp *c);

/** Sends a command of n arguments; sizes NULL: they are strings. False when the connection is gone. */
bool resp_send(struct resp *c, size_t n, const char *const *args, const size_t *sizes);

/** Reads a reply; NULL when none came in time, or the connection is gone. For reply_free(). */
struct reply *resp_read(struct resp *c, unsigned limit_ms);

void reply_free(struct reply *r);

/** True for an error reply that begins with this word. */
bool reply_is_error(const struct reply *r, const char *word);

/**
 * The reply in one line: texts as they are, "-ERR text" for errors, "nil", lists with a space between, "(none)" for NULL.
 * Cut where it does not fit. Returns line.
 */
char *reply_line(const struct reply *r, char *line, size_t size);

#endif
