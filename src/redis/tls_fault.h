/* SPDX-License-Identifier: MIT */
/* tls_fault.h - why we do not trust a server, or it does not trust us: one sentence each, with the
 * cure. */
#ifndef SFID_REDIS_TLS_FAULT_H
#define SFID_REDIS_TLS_FAULT_H

#include "redis/replies.h"
#include "redis/uri.h"

#include <openssl/ssl.h>

/* What the handshake noticed. */
struct sfid__tls_fault {
    int verify;       /* the first X509_V_ERR_…; 0: none */
    char detail[160]; /* its names, or a date */
    bool nameless;    /* the certificate has only a common name, which is the detail then */
    bool authority;   /* an authority's certificate is at fault, not the server's */
    bool asked;       /* the server asked for a client certificate, and there was none */
    bool heard;       /* the server has sent data */
};

/* Notes why a certificate is not trusted. The first of several reasons counts. */
void sfid__tls_fault_note(struct sfid__tls_fault *f, X509_STORE_CTX *at);

/* The name or numeric address that the server's certificate has to be for. */
const char *sfid__tls_name(const struct sfid__uri *uri);

/* Makes a sentence of what was noted and of OpenSSL's queue of errors; of errnum if nothing else is
 * known. */
enum sfid__reply_class sfid__tls_fault_explain(const struct sfid__tls_fault *f,
                                               const struct sfid__uri *uri, int errnum,
                                               struct sfid__error *why);

#endif
