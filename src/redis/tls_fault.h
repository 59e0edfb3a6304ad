/* SPDX-License-Identifier: MIT */
/* tls_fault.h - why a server was not believed, or did not believe us: one sentence each, with the cure. */
#ifndef SFID_REDIS_TLS_FAULT_H
#define SFID_REDIS_TLS_FAULT_H

#include "redis/replies.h"
#include "redis/uri.h"

#include <openssl/ssl.h>

/* What was noticed on the way. */
struct sfid__tls_fault {
    int verify;       /* X509_V_ERR_…, the first; 0: none */
    char detail[160]; /* of it: names, or a date */
    bool nameless;    /* it has a common name alone, which is the detail then */
    bool authority;   /* it is about the certificate of an authority, not about the server's */
    bool asked;       /* the server asked for a client's certificate, and there was none to give */
    bool heard;       /* it has sent data already */
};

/* Notes why a certificate was not believed. Of several the first is kept. */
void sfid__tls_fault_note(struct sfid__tls_fault *f, X509_STORE_CTX *at);

/* The name, or address in numbers, that the server's certificate has to be for. */
const char *sfid__tls_name(const struct sfid__uri *uri);

/* Makes a sentence of what was noted, of OpenSSL's queue of errors and of errnum, for when nothing else is known. */
enum sfid__reply_class sfid__tls_fault_explain(const struct sfid__tls_fault *f, const struct sfid__uri *uri, int errnum,
                                               struct sfid__error *why);

#endif
