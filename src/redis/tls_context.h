/* SPDX-License-Identifier: MIT */
/*
 * tls_context.h - what the URL says about TLS, made ready for OpenSSL.
 *
 * The files are read anew for each connection: whoever renews a certificate
 * has to tell nobody. They are read here and not by OpenSSL, which knows no
 * close-on-exec, asks for passphrases on a terminal, and is held by one thread
 * at a time.
 */
#ifndef SFID_REDIS_TLS_CONTEXT_H
#define SFID_REDIS_TLS_CONTEXT_H

#include "redis/replies.h"
#include "redis/uri.h"

#include <openssl/ssl.h>

/* The files of the URL, as read; empty where it names none. ca_directory: ca is one, and OpenSSL looks there itself. */
struct sfid__tls_files {
    char *ca, *cert, *key;
    bool ca_directory;
};

/* SFID__REPLY_OK; or a parameter that is no good, or no memory. *out is to be freed in each case. */
enum sfid__reply_class sfid__tls_files_read(const struct sfid__uri *uri, struct sfid__tls_files *out, struct sfid__error *why);
void sfid__tls_files_free(struct sfid__tls_files *files);

/* Inside of tls_guard.h: a context that believes whom the URL says, and nothing below TLS 1.2. */
enum sfid__reply_class sfid__tls_context_new(SSL_CTX **out, const struct sfid__uri *uri, const struct sfid__tls_files *files,
                                             struct sfid__error *why);

#endif
