/* SPDX-License-Identifier: MIT */
/*
 * tls.h - servers that speak TLS, with certificates of the test's own.
 *
 * tests/tls/certificates makes them, NAME.pem and NAME.key for each name that
 * it lists. A server gets a port for TLS beside its socket, and may be given
 * another certificate, or be told to want one, at any time.
 */
#ifndef SFID_TESTS_TLS_H
#define SFID_TESTS_TLS_H

#include "support/opens.h"

enum { URL = 260 };

extern char certificates[96]; /* the directory */

/* A server of which these tests use the port for TLS. */
struct tls_server {
    struct redis r;
    int port;
    char name[24]; /* "localhost:port", as in an error */
};

/* From now on the server shows this certificate. */
void tls_show(struct tls_server *s, const char *certificate);
void tls_set(struct tls_server *s, const char *name, const char *value);

/* False: the server was built without TLS. */
bool tls_listen(struct tls_server *s, const char *certificate);

/* Its URL: the authority that is known, by its file, and further parameters ("&cert=…"); %c in them is the directory. */
const char *tls_url(const struct tls_server *s, const char *more, char url[URL]);

/* How many connections were made to it so far, the test's own among them. */
int64_t tls_connections(struct tls_server *s);

/* Opens with time to spare, draws, and closes: 0 or a code, with what there is to say. *pid is that which was held, or -1. */
int tls_open(const char *url, const char *app, int64_t *pid, char text[600]);
void tls_each(void (*test)(struct tls_server *s));

/* For what hangs on us more than on the server. */
void tls_first(void (*test)(struct tls_server *s));

#endif
