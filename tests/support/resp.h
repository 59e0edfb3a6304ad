/* SPDX-License-Identifier: MIT */
/**
 * resp.h - a connection to a server of the Redis protocol (RESP2), for tests.
 *
 * It shares no code with the library, so that the same fault cannot be in both.
 * Sending and reading are separate: a test can lose an answer, or have a
 * request carried out much later.
 */
#ifndef SFID_TESTS_RESP_H
#define SFID_TESTS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resp;

struct reply {
    char type;          /* + - : $ * as on the wire; _ for nil */
    int64_t number;     /* : */
    size_t size;        /* of text, without the final 0 */
    char *text;         /* + - $ */
    size_t count;       /* of list */
    struct reply *list; /* * */
};

/**
 * Returns a private directory for sockets and links to them: tap_tmpdir(), or
 * one elsewhere if that is too long for the address of a socket, or has
 * characters that mean something in a URL or in the list of a pool.
 */
const char *socket_dir(void);

/** Connects. Returns NULL with errno on failure. */
struct resp *resp_unix(const char *path);

/** Uses an open connection. Requests are read from it as replies are, as a list of texts. */
struct resp *resp_on(int fd);
void resp_close(struct resp *c);

/** Sends a command of n arguments. sizes NULL: they are strings. Returns false if the connection is
 * gone. */
bool resp_send(struct resp *c, size_t n, const char *const *args, const size_t *sizes);

/** Reads a reply, for reply_free(). Returns NULL if none comes in time or the connection is
 * gone. */
struct reply *resp_read(struct resp *c, unsigned limit_ms);

void reply_free(struct reply *r);

/** Returns whether it is an error reply that begins with this word. */
bool reply_is_error(const struct reply *r, const char *word);

/**
 * Writes the reply as one line: texts unchanged, "-ERR text" for errors, "nil", lists separated by
 * spaces, "(none)" for NULL. It is cut to fit. Returns line.
 */
char *reply_line(const struct reply *r, char *line, size_t size);

#endif
