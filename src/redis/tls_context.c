/* SPDX-License-Identifier: MIT */
#include "redis/tls_context.h"

#include "base/fd.h"
#include "base/trust.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sfid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* of a file: a system's list of all authorities has a quarter of a megabyte */
#define LONGEST (4 << 20)

/* ---- files ---------------------------------------------------------------- */

static enum sfid__reply_class no_memory(struct sfid__error *why) {
    sfid__fail(why, SFID_ENOMEM, "out of memory");
    return SFID__REPLY_RETRY;
}

static enum sfid__reply_class cannot_read(const char *name, const char *path, int errnum,
                                          struct sfid__error *why) {
    if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM) {
        sfid__fail_errno(why, SFID_EREDIS, errnum, "cannot read the file of %s=", name);
        return SFID__REPLY_RETRY;
    }
    sfid__fail_errno(why, SFID_EINVAL, errnum, "parameter %s: %.150s cannot be read", name, path);
    return SFID__REPLY_CONFIG;
}

static enum sfid__reply_class no_good(const char *name, const char *path, const char *what,
                                      struct sfid__error *why) {
    sfid__fail(why, SFID_EINVAL, "parameter %s: %.150s %s", name, path, what);
    return SFID__REPLY_CONFIG;
}

static enum sfid__reply_class read_open(int fd, off_t size, const char *name, const char *path,
                                        char **out, struct sfid__error *why) {
    if (size > LONGEST)
        return no_good(name, path, "is longer than 4 MB", why);
    *out = malloc((size_t)size + 1);
    if (*out == NULL)
        return no_memory(why);
    const ssize_t n = sfid__fd_read(fd, *out, (size_t)size);
    (*out)[SFID__MAX(n, 0)] = '\0';
    return n < 0 ? cannot_read(name, path, errno, why) : SFID__REPLY_OK;
}

/* *directory: the path is one; NULL if it must not be. */
static enum sfid__reply_class read_file(const char *name, const char *path, char **out,
                                        bool *directory, struct sfid__error *why) {
    struct stat st;
    struct sfid__error untrusted;
    const int fd = sfid__trust_open(path, &untrusted);
    if (fd < 0 && untrusted.code)
        return no_good(name, path, untrusted.text, why);
    if (fd < 0 || fstat(fd, &st) < 0) {
        const int errnum = errno;
        if (fd >= 0)
            close(fd);
        return cannot_read(name, path, errnum, why);
    }
    enum sfid__reply_class class;
    if (directory && S_ISDIR(st.st_mode)) {
        *directory = true;
        class = SFID__REPLY_OK;
    } else if (S_ISREG(st.st_mode)) {
        class = read_open(fd, st.st_size, name, path, out, why);
    } else {
        class = no_good(name, path,
                        directory ? "is neither a file nor a directory" : "is not a file", why);
    }
    close(fd);
    return class;
}

enum sfid__reply_class sfid__tls_files_read(const struct sfid__uri *uri,
                                            struct sfid__tls_files *out, struct sfid__error *why) {
    *out = (struct sfid__tls_files){NULL, NULL, NULL, false};
    enum sfid__reply_class class = SFID__REPLY_OK;
    if (uri->ca[0])
        class = read_file("ca", uri->ca, &out->ca, &out->ca_directory, why);
    if (class == SFID__REPLY_OK && uri->cert[0])
        class = read_file("cert", uri->cert, &out->cert, NULL, why);
    if (class == SFID__REPLY_OK && uri->key[0])
        class = read_file("key", uri->key, &out->key, NULL, why);
    return class;
}

void sfid__tls_files_free(struct sfid__tls_files *files) {
    free(files->ca);
    free(files->cert);
    if (files->key)
        explicit_bzero(files->key, strlen(files->key));
    free(files->key);
    *files = (struct sfid__tls_files){NULL, NULL, NULL, false};
}

/* ---- the context ------------------------------------------------------------ */

/* Takes the place of OpenSSL's own function, which asks on the terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *asked) {
    (void)buffer, (void)size, (void)writing;
    *(bool *)asked = true;
    return -1;
}

/*
 * Adds each certificate of a text, and each revocation list: if there is one, every authority needs
 * one. Returns how many certificates there were. One part that is damaged spoils all: it could be
 * the list.
 */
static unsigned add_authorities(X509_STORE *store, BIO *text) {
    bool asked = false;
    unsigned n = 0;
    STACK_OF(X509_INFO) *parts = PEM_X509_INFO_read_bio(text, NULL, no_passphrase, &asked);
    bool good = parts != NULL;
    for (int i = 0; good && i < sk_X509_INFO_num(parts); i++) {
        const X509_INFO *part = sk_X509_INFO_value(parts, i);
        n += part->x509 != NULL;
        good = part->x509 == NULL || X509_STORE_add_cert(store, part->x509) == 1;
        if (good && part->crl)
            good =
                X509_STORE_add_crl(store, part->crl) == 1 &&
                X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
    }
    sk_X509_INFO_pop_free(parts, X509_INFO_free);
    ERR_clear_error();
    return good ? n : 0;
}

static enum sfid__reply_class trust(SSL_CTX *ctx, const struct sfid__uri *uri,
                                    const struct sfid__tls_files *files, struct sfid__error *why) {
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    if (uri->ca[0] == '\0')
        return SSL_CTX_set_default_verify_paths(ctx) == 1 ? SFID__REPLY_OK : no_memory(why);
    /* Trusts every certificate that the user names, an authority's own or one that it has
     * signed. */
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    if (files->ca_directory)
        return SSL_CTX_load_verify_dir(ctx, uri->ca) == 1 ? SFID__REPLY_OK : no_memory(why);
    BIO *text = BIO_new_mem_buf(files->ca, -1);
    if (text == NULL)
        return no_memory(why);
    const unsigned n = add_authorities(store, text);
    BIO_free(text);
    return n > 0
               ? SFID__REPLY_OK
               : no_good(
                     "ca", uri->ca,
                     "has no certificate that can be read, or something damaged beside it: it has to be in PEM",
                     why);
}

/* The client's certificate, then those that lead to its authority. */
static bool use_certificates(SSL_CTX *ctx, BIO *text) {
    bool asked = false, good = false;
    for (X509 *cert; (cert = PEM_read_bio_X509_AUX(text, NULL, no_passphrase, &asked)) != NULL;) {
        const bool added =
            (good ? SSL_CTX_add1_chain_cert(ctx, cert) : SSL_CTX_use_certificate(ctx, cert)) == 1;
        X509_free(cert);
        if (!added)
            return false;
        good = true;
    }
    ERR_clear_error();
    return good;
}

static bool use_key(SSL_CTX *ctx, BIO *text, bool *locked) {
    EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, no_passphrase, locked);
    const bool good = key && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    return good;
}

static enum sfid__reply_class show_ourselves(SSL_CTX *ctx, const struct sfid__uri *uri,
                                             const struct sfid__tls_files *files,
                                             struct sfid__error *why) {
    bool locked = false;
    BIO *cert = BIO_new_mem_buf(files->cert, -1), *key = BIO_new_mem_buf(files->key, -1);
    enum sfid__reply_class class = SFID__REPLY_OK;
    if (cert == NULL || key == NULL)
        class = no_memory(why);
    else if (!use_certificates(ctx, cert))
        class = no_good("cert", uri->cert,
                        "has no certificate that can be used: it has to be in PEM", why);
    else if (!use_key(ctx, key, &locked) && locked)
        class = no_good(
            "key", uri->key,
            "is protected by a passphrase; give a key without one, in a file that others cannot read",
            why);
    else if (SSL_CTX_check_private_key(ctx) != 1)
        class = no_good("key", uri->key, "is not the key of the certificate in cert=, in PEM", why);
    BIO_free(cert);
    BIO_free(key);
    return class;
}

enum sfid__reply_class sfid__tls_context_new(SSL_CTX **out, const struct sfid__uri *uri,
                                             const struct sfid__tls_files *files,
                                             struct sfid__error *why) {
    SSL_CTX *ctx = *out = SSL_CTX_new(TLS_client_method());
    /* the system's settings may want more */
    if (ctx == NULL || (SSL_CTX_get_min_proto_version(ctx) < TLS1_2_VERSION &&
                        SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1))
        return no_memory(why);
    /* the server's name is checked once, for all that follows */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* each context has one session */
    const enum sfid__reply_class class = trust(ctx, uri, files, why);
    return class == SFID__REPLY_OK && files->cert ? show_ourselves(ctx, uri, files, why) : class;
}
