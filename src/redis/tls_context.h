/* SPDX-License-Identifier: MIT */
/*
 * tls_context.h - makes what the URL says about TLS ready for OpenSSL.
 *
 * Each connection reads the files anew, so a renewed certificate needs no
 * restart. This code reads them, not OpenSSL, which does not know
 * close-on-exec, asks for passphrases on a terminal, and is held by one thread
 * at a time.
 */
#ifndef SFID_REDIS_TLS_CONTEXT_H
#define SFID_REDIS_TLS_CONTEXT_H

#include "redis/replies.h"
#include "redis/uri.h"

#include <openssl/ssl.h>

/* The content of the URL's files; NULL if it names none. ca_directory: ca is a directory, and
 * OpenSSL looks there itself. */
struct sfid__tls_files {
    char *ca, *cert, *key;
    bool ca_directory;
};

/* SFID__REPLY_OK; or a parameter is wrong, or memory is short. The caller frees *out in each
 * case. */
enum sfid__reply_class sfid__tls_files_read(const struct sfid__uri *uri,
                                            struct sfid__tls_files *out, struct sfid__error *why);
void sfid__tls_files_free(struct sfid__tls_files *files);

/* Call inside tls_guard.h. Makes a context that trusts whom the URL says, and accepts nothing below
 * TLS 1.2. */
enum sfid__reply_class sfid__tls_context_new(SSL_CTX **out, const struct sfid__uri *uri,
                                             const struct sfid__tls_files *files,
                                             struct sfid__error *why);

#endif
