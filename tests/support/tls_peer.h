/* SPDX-License-Identifier: MIT */
/*
 * tls_peer.h - a test's own server (peer.h) behind TLS, which shows what no honest server does.
 *
 *     tls_face((struct tls_face){.certificate = "expired", .serve = serve_words});
 *     struct peer p = start_peer(true, serve_behind_tls);
 */
#ifndef SFID_TESTS_TLS_PEER_H
#define SFID_TESTS_TLS_PEER_H

#include "support/peer.h"

#include <openssl/ssl.h>

struct tls_face {
    /* NAME.pem, with those of authorities in between, and NAME.key; NULL: none */
    const char *certificate;
    int most;              /* the newest version; 0: any */
    const char *ciphers;   /* of TLS 1.2; NULL: OpenSSL's, strong or not */
    unsigned padding;      /* shows its certificate so many times more */
    bool asks;             /* for a client certificate, but does not insist */
    serve_function *serve; /* what is behind TLS; NULL: serve_words */
    bool rude;             /* ends without a word of TLS */
};

/* Makes NAME.pem and NAME.key: a server's certificate, which so many authorities lead to ca. */
void tls_chain(const char *name, unsigned authorities);

/* What peers show that start from now on. */
void tls_face(struct tls_face face);

/* For a serve_function of one's own. Ends the process if the client does not like the face. */
SSL *tls_accept(int fd);

/* Runs the face's serve_function behind TLS. step counts the sessions that were resumed, or offered
 * for that. */
void serve_behind_tls(int fd, struct resp *in, struct peer_shared *s);

#endif
