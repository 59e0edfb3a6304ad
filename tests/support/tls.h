/* SPDX-License-Identifier: MIT */
/*
 * tls.h - servers with TLS and the test's own certificates.
 *
 * tests/tls/certificates makes NAME.pem and NAME.key for each name that it
 * lists. A server has a TLS port beside its socket. A test can change its
 * certificate, or have it require one, at any time.
 */
#ifndef SFID_TESTS_TLS_H
#define SFID_TESTS_TLS_H

#include "support/opens.h"

enum { URL = 400 };

extern char certificates[96]; /* their directory */

/* Makes them. more: NULL, or "attacks". */
void certificates_make(const char *more);

/* A server, used through its TLS port. */
struct tls_server {
    struct redis r;
    int port;
    char name[24]; /* "localhost:port", as in errors */
};

/* Makes the server show this certificate from now on. */
void tls_show(struct tls_server *s, const char *certificate);
void tls_set(struct tls_server *s, const char *name, const char *value);

/* Returns false if the server was built without TLS. */
bool tls_listen(struct tls_server *s, const char *certificate);

/* Returns its URL with the file of the known authority, and further parameters ("&cert=…"). In
 * them, %c is the directory. */
const char *tls_url(const struct tls_server *s, const char *more, char url[URL]);

/* Returns how many connections it has accepted, including the test's own. */
int64_t tls_connections(struct tls_server *s);

struct sfid__connection;
struct sfid__error;
struct sfid__connection *tls_connection(const char *url);

/* Asks PING: 0 or a code. */
int tls_ask(struct sfid__connection *c, struct sfid__error *err);

/* The same over a connection of its own. */
int tls_ping(const char *url, struct sfid__error *err);

/*
 * One check: memory is as before after hundreds of connections to these URLs, in turn. "+URL -URL
 * …": those of + have to succeed, those of - to fail. Call it in a main() that gives
 * tls_count_memory() its argument behind "memory".
 */
void tls_memory(const char *urls);
int tls_count_memory(char *urls);

/* Opens with time to spare, generates, and closes. Returns 0 or a code, with its text. *pid is the
 * pid that was held, or -1. */
int tls_open(const char *url, const char *app, int64_t *pid, char text[600]);
void tls_each(void (*test)(struct tls_server *s));

/* Runs the test for one server, if the library matters more than the server. */
void tls_first(void (*test)(struct tls_server *s));

#endif
